//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file lists the pass executions of a compilation. It takes place in a
// separate process that reports each execution when it begins, so that a
// compilation that crashes has a list, too.
//
//===----------------------------------------------------------------------===//

#include "CounterWatch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>
#include <mutex>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Lines between the processes
//===----------------------------------------------------------------------===//

namespace {
/// Reads {"index": 5, "execution": {...}, "counters": [["early-cse", 0, 3]]} for
/// each execution, {"program": true} when a program starts, and at the end
/// {"end": {the listing without executions}}.
class ListingReader {
public:
  explicit ListingReader(PassListing &L) : L(L) {}

  /// Returns true if a program starts.
  bool add(StringRef Line) {
    json::Value V = cantFail(json::parse(Line));
    const json::Object &O = *V.getAsObject();
    if (O.get("program"))
      return true;
    if (const json::Object *End = O.getObject("end")) {
      L.Failure = End->getString("failure").value_or("").str();
      L.Unnumbered = End->getString("unnumbered").value_or("").str();
      L.NumIR = *End->getInteger("num_ir");
      L.NumAll = *End->getInteger("num_all");
      Ended = true;
      return false;
    }
    PassExecution E;
    json::Path::Root Root;
    bool Good = fromJSON(*O.get("execution"), E, Root);
    assert(Good && "not an execution");
    (void)Good;
    for (const json::Value &Range : *O.getArray("counters")) {
      const json::Array &R = *Range.getAsArray();
      E.Counters.push_back({R[0].getAsString()->str(), *R[1].getAsInteger(),
                            *R[2].getAsInteger()});
    }
    size_t Index = *O.getInteger("index");
    L.NumAll = std::max(L.NumAll, E.Number);
    if (E.Stage == PassStage::IR)
      L.NumIR = std::max(L.NumIR, E.Number);
    if (Index == L.Executions.size())
      L.Executions.push_back(std::move(E));
    else
      L.Executions[Index] = std::move(E);
    return false;
  }
  bool hasEnded() const { return Ended; }

private:
  PassListing &L;
  bool Ended = false;
};
} // namespace

std::string mneme::getSnapshotPath(StringRef Folder, size_t Index) {
  return pathIn(Folder, utostr(Index) + ".bc");
}

/// Reads the output of \p C from \p FD until its end or for \p Limit seconds. A
/// program has its own limit of \p ProgramLimit seconds in addition. \p Died:
/// set if \p C crashed.
/// \returns the reason if it did not end properly; empty otherwise.
static std::string readListing(int FD, Child &C, double Limit,
                               double ProgramLimit, PassListing &L,
                               bool &Died) {
  Deadline End = Deadline::ofLimit(Limit);
  ListingReader Reader(L);
  LineReader Lines(FD);
  while (!Reader.hasEnded() && !End.hasPassed()) {
    Expected<std::string> Line = Lines.next(End);
    if (!Line) {
      consumeError(Line.takeError());
      break;
    }
    if (!Reader.add(*Line))
      continue;
    observeProgram();
    bool IsLimited = Limit > 0 && ProgramLimit > 0;
    End = Deadline::ofLimit(IsLimited ? Limit + ProgramLimit : 0);
  }
  if (Reader.hasEnded())
    return L.Failure;
  if (End.hasPassed())
    return formatv("the compiler did not end within {0} s", Limit).str();
  Died = true;
  return "the compiler " + describeExit(C.wait());
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// \returns the compiler's error message; empty on success.
std::string KernelCompiler::compileForListing(const Module &M, PassGate &Gate,
                                              const PassListOptions &O) const {
  LLVMContext Context;
  Context.setDiscardValueNames(M.getContext().shouldDiscardValueNames());
  std::unique_ptr<Module> Copy = copyModule(M, Context);
  CompileResult Scratch;
  Error E = ExternalOpt
                ? runTool(Copy, Gate, O.ToolLimit.value_or(Options.ToolSeconds))
                : runGated(*Copy, Scratch, &Gate);
  if (E)
    return toString(std::move(E));
  const PassListing &L = Gate.listing();
  if (!O.CodeGen && !Selection.needsCodeGen(L))
    return "";
  Expected<SmallVector<char, 0>> Text =
      emit(*Copy, /*Object=*/!M.getTargetTriple().isNVPTX(), &Gate);
  return Text ? "" : toString(Text.takeError());
}

PassListing KernelCompiler::collectPasses(const Module &M, PassGate::Options GO,
                                          const PassListOptions &O,
                                          bool &Died) const {
  if (!O.Snapshots.empty())
    GO.SeeChange = [&](size_t Index, const Module &Changed) {
      // A reader reports that it is missing.
      std::error_code EC;
      raw_fd_ostream OS(getSnapshotPath(O.Snapshots, Index), EC);
      if (!EC)
        WriteBitcodeToFile(Changed, OS);
    };
  auto CollectHere = [&] {
    PassGate Gate(std::move(GO));
    std::string Failure = compileForListing(M, Gate, O);
    PassListing L = Gate.listing();
    L.Failure = std::move(Failure);
    return L;
  };
  PassListing L;
  if (!O.Isolate)
    return CollectHere();
  Expected<Pipe> Lines = Pipe::create();
  if (!Lines) {
    L.Failure = toString(Lines.takeError());
    return L;
  }
  int FD = Lines->Write.get();
  // Discard the output: the actual compilation prints the same.
  ChildOptions CO;
  CO.Out = CO.Err = NullStream;
  CO.Kept = {FD};
  Expected<Child> C = Child::fork(
      [&] {
        // The parent's observer uses the parent's connections.
        ProgramObserver Relay(
            [&] { writeLineOrExit(FD, json::Object{{"program", true}}); });
        if (O.AllRewrites)
          runAllRewrites();
        std::optional<CounterWatch> Watch;
        if (O.Counters)
          Watch.emplace();
        GO.Observe = [&](size_t Index, const PassExecution &E) {
          json::Array Counters;
          if (Watch)
            for (const CounterRange &R : Watch->observe(Index))
              Counters.push_back(json::Array{R.Counter, R.Begin, R.End});
          writeLineOrExit(FD, json::Object{{"index", int64_t(Index)},
                                           {"execution", toJSON(E)},
                                           {"counters", std::move(Counters)}});
        };
        PassListing All = CollectHere();
        All.Executions.clear();
        writeLineOrExit(FD, json::Object{{"end", toJSON(All)}});
      },
      CO);
  Lines->Write.reset();
  if (!C) {
    L.Failure = toString(C.takeError());
    return L;
  }
  L.Failure = readListing(Lines->Read.get(), *C, O.Limit,
                          O.ToolLimit.value_or(Options.ToolSeconds), L, Died);
  return L;
}

/// Lists a compilation that skips nothing but executions in which the compiler
/// dies: those behind them have numbers, too.
PassListing KernelCompiler::collectAll(const Module &M,
                                       const PassListOptions &O) const {
  static constexpr size_t MaxDeaths = 8;
  std::vector<PassDeath> Deaths;
  while (true) {
    PassGate::Options GO;
    GO.Details = O.Details;
    if (!Deaths.empty())
      GO.Selection.Skip = cantFail(PassSet::parse(
          join(map_range(Deaths,
                         [](const PassDeath &D) { return utostr(D.Number); }),
               ",")));
    bool Died = false;
    PassListing L = collectPasses(M, std::move(GO), O, Died);
    const PassExecution *Last =
        L.Executions.empty() ? nullptr : &L.Executions.back();
    bool Continues =
        Died && Last && Last->Number && Last->Ran && Deaths.size() != MaxDeaths;
    if (!Continues) {
      L.Deaths = std::move(Deaths);
      return L;
    }
    Deaths.push_back({Last->Number, L.Failure});
  }
}

/// Counts the executions of collectAll().
/// \param IsLate  set if the time limit ended it, so that another attempt may
/// get further.
PassListing KernelCompiler::countPasses(const Module &M, bool CodeGen,
                                        bool &IsLate) const {
  PassListOptions O;
  O.CodeGen = CodeGen;
  O.Details = false;
  O.Limit = Options.NumberingLimit;
  // A program that does not end must leave time for the compilation itself.
  if (O.Limit > 0)
    O.ToolLimit = O.Limit;
  // A rewrite that is skipped must not renumber the executions behind it.
  O.AllRewrites = true;
  auto Start = std::chrono::steady_clock::now();
  PassListing L = collectAll(M, O);
  std::chrono::duration<double> Spent =
      std::chrono::steady_clock::now() - Start;
  IsLate = O.Limit > 0 && Spent.count() >= O.Limit && !L.Failure.empty();
  return L;
}

/// Returns true unless \p L lacks code generation although it is needed.
bool KernelCompiler::isSufficient(const PassListing &L, bool CodeGen) const {
  return !L.Failure.empty() || L.NumAll != L.NumIR ||
         (!CodeGen && !Selection.needsCodeGen(L));
}

namespace {
/// The numbering of the last module that was compiled: a process usually
/// compiles the same module repeatedly.
struct KnownNumbers {
  std::mutex Mutex;
  std::string Key;
  std::shared_ptr<const PassListing> Listing;

  static KnownNumbers &get() {
    static KnownNumbers Known;
    return Known;
  }
};
} // namespace

/// Returns a key of everything that the numbers of executions depend on.
std::string KernelCompiler::numbersKey(const Module &M) const {
  CompileOptions All = Options;
  All.RunPasses.reset();
  All.SkipPasses.reset();
  SmallVector<char, 0> Bitcode = writeExactBitcode(M);
  return getKey(All) +
         toHexString(digest128(StringRef(Bitcode.data(), Bitcode.size())));
}

/// Returns the numbering of executions in a compilation of \p M. It includes
/// code generation if \p CodeGen is set or the selection refers to it.
Expected<std::shared_ptr<const PassListing>>
KernelCompiler::findNumbers(const Module &M, bool CodeGen) const {
  std::string Key = numbersKey(M);
  KnownNumbers &Known = KnownNumbers::get();
  std::lock_guard<std::mutex> Lock(Known.Mutex);
  if (Key != Known.Key || !isSufficient(*Known.Listing, CodeGen)) {
    bool IsLate = false;
    Known.Listing =
        std::make_shared<const PassListing>(countPasses(M, CodeGen, IsLate));
    Known.Key = IsLate ? "" : std::move(Key);
  }
  if (Error E = Selection.check(*Known.Listing))
    return std::move(E);
  return Known.Listing;
}

Expected<PassListing>
KernelCompiler::listPasses(const Module &M, const PassListOptions &O) const {
  LLVMOptionScope Scope;
  if (Error E = enterLLVMOptions(Scope))
    return std::move(E);
  if (!Selection.empty()) {
    PassGate::Options GO;
    GO.Details = O.Details;
    GO.Selection = Selection;
    if (Error E = findNumbers(M, O.CodeGen).moveInto(GO.Numbers))
      return std::move(E);
    bool Died = false;
    return collectPasses(M, std::move(GO), O, Died);
  }
  PassListing L = collectAll(M, O);
  // Processes forked from here need not count again.
  if (L.Failure.empty()) {
    KnownNumbers &Known = KnownNumbers::get();
    std::lock_guard<std::mutex> Lock(Known.Mutex);
    Known.Key = numbersKey(M);
    Known.Listing = std::make_shared<const PassListing>(L);
  }
  return std::move(L);
}
