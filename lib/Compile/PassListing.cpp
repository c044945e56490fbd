//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module to see which pass executions there are: in a process of its
// own, which tells of each when it begins, so that one that dies has a list,
// too.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Support/ChildProcess.h"
#include "llvm/Mneme/Support/CopyModule.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Lines between processes
//===----------------------------------------------------------------------===//

namespace {
/// {"index": 5, "execution": {...}} for each execution, in the end {"end": {the
/// listing without executions}}.
class ListingReader {
public:
  explicit ListingReader(PassListing &L) : L(L) {}

  void add(StringRef Bytes) {
    Pending += Bytes;
    StringRef Rest = Pending;
    while (Rest.contains('\n')) {
      auto [Line, Behind] = Rest.split('\n');
      readLine(Line);
      Rest = Behind;
    }
    Pending.erase(0, Pending.size() - Rest.size());
  }
  bool hasEnded() const { return Ended; }

private:
  PassListing &L;
  std::string Pending;
  bool Ended = false;

  void readLine(StringRef Line) {
    json::Value V = cantFail(json::parse(Line));
    const json::Object &O = *V.getAsObject();
    if (const json::Object *End = O.getObject("end")) {
      L.Failure = End->getString("failure").value_or("").str();
      L.NumIR = *End->getInteger("num_ir");
      L.NumAll = *End->getInteger("num_all");
      Ended = true;
      return;
    }
    PassExecution E;
    json::Path::Root Root;
    bool Good = fromJSON(*O.get("execution"), E, Root);
    assert(Good && "not an execution");
    (void)Good;
    size_t Index = *O.getInteger("index");
    L.NumAll = std::max(L.NumAll, E.Number);
    if (E.Stage == PassStage::IR)
      L.NumIR = std::max(L.NumIR, E.Number);
    if (Index == L.Executions.size())
      L.Executions.push_back(std::move(E));
    else
      L.Executions[Index] = std::move(E);
  }
};
} // namespace

/// In one piece: the process may die right behind it.
static void writeLine(raw_ostream &OS, json::Object O) {
  std::string Line;
  raw_string_ostream(Line) << json::Value(std::move(O)) << '\n';
  OS << Line;
}

/// In the child of \p Parent: a crash is the parent's to tell, and what the
/// compiler prints the compilation that counts prints, too.
static void becomeQuiet(pid_t Parent) {
  for (int Signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGTERM,
                     SIGINT, SIGHUP, SIGQUIT})
    std::signal(Signal, SIG_DFL);
  sigset_t None;
  sigemptyset(&None);
  sigprocmask(SIG_SETMASK, &None, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != Parent)
    ::_exit(1);
  rlimit NoCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &NoCore);
  int Null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(Null, STDIN_FILENO);
  ::dup2(Null, STDOUT_FILENO);
  ::dup2(Null, STDERR_FILENO);
}

/// Reads what \p Child writes to \p FD until its end, or until \p Limit seconds
/// are over.
/// \returns why it did not come to its end; empty when it did.
static std::string readListing(int FD, pid_t Child, double Limit,
                               PassListing &L) {
  using Clock = std::chrono::steady_clock;
  auto Start = Clock::now();
  ListingReader Reader(L);
  bool IsLate = false;
  char Chunk[1 << 14];
  while (true) {
    std::chrono::duration<double> Spent = Clock::now() - Start;
    int Wait = -1;
    if (Limit > 0) {
      IsLate = Spent.count() >= Limit;
      Wait = std::min((Limit - Spent.count()) * 1000 + 1, 1e9);
    }
    if (IsLate)
      break;
    pollfd P = {FD, POLLIN, 0};
    int Ready = ::poll(&P, 1, Wait);
    if (Ready == 0 || (Ready < 0 && errno == EINTR))
      continue;
    ssize_t N = sys::RetryAfterSignal(
        -1, ::read, FD, static_cast<void *>(Chunk), sizeof(Chunk));
    if (N <= 0)
      break;
    Reader.add(StringRef(Chunk, N));
  }
  // It may hang where nothing but that ends it.
  if (!Reader.hasEnded())
    ::kill(Child, IsLate ? SIGKILL : SIGCONT);
  int Status = waitForChild(Child);
  if (Reader.hasEnded())
    return L.Failure;
  return IsLate ? formatv("the compiler did not end within {0} s", Limit).str()
                : "the compiler " + describeExit(Status);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// \returns what the compiler says; empty when it is content.
std::string KernelCompiler::compileForListing(const Module &M, PassGate &Gate,
                                              const PassListOptions &O) const {
  LLVMContext Context;
  Context.setDiscardValueNames(M.getContext().shouldDiscardValueNames());
  std::unique_ptr<Module> Copy = copyModule(M, Context);
  CompileResult Scratch;
  if (Error E = runGated(*Copy, Scratch, &Gate))
    return toString(std::move(E));
  const PassListing &L = Gate.listing();
  if (!O.CodeGen && !Selection.needsCodeGen(L))
    return "";
  Expected<SmallVector<char, 0>> Text =
      emit(*Copy, /*Object=*/!M.getTargetTriple().isNVPTX(), &Gate);
  return Text ? "" : toString(Text.takeError());
}

PassListing KernelCompiler::collectPasses(const Module &M, PassGate::Options GO,
                                          const PassListOptions &O) const {
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
  int Pipe[2];
  if (::pipe2(Pipe, O_CLOEXEC) != 0) {
    L.Failure = "cannot make a pipe: " + errnoAsErrorCode().message();
    return L;
  }
  outs().flush(); // not to be written twice
  pid_t Parent = ::getpid(), Child = ::fork();
  if (Child == 0) {
    becomeQuiet(Parent);
    raw_fd_ostream OS(Pipe[1], /*shouldClose=*/false, /*unbuffered=*/true);
    GO.Observe = [&](size_t Index, const PassExecution &E) {
      writeLine(OS, json::Object{{"index", int64_t(Index)},
                                 {"execution", toJSON(E)}});
    };
    PassListing All = CollectHere();
    All.Executions.clear();
    writeLine(OS, json::Object{{"end", toJSON(All)}});
    ::_exit(0);
  }
  std::error_code EC = errnoAsErrorCode();
  ::close(Pipe[1]);
  scope_exit Close([&] { ::close(Pipe[0]); });
  if (Child < 0) {
    L.Failure = "cannot create a process: " + EC.message();
    return L;
  }
  L.Failure = readListing(Pipe[0], Child, O.Limit, L);
  return L;
}

/// Counts the executions of a compilation of \p M that skips none.
/// \param IsLate  is set where another attempt may see more of it.
PassListing KernelCompiler::countPasses(const Module &M, bool CodeGen,
                                        bool &IsLate) const {
  PassListOptions O;
  O.CodeGen = CodeGen;
  O.Details = false;
  O.Limit = Options.NumberingLimit;
  auto Start = std::chrono::steady_clock::now();
  PassListing L = collectPasses(M, PassGate::Options(), O);
  std::chrono::duration<double> Spent =
      std::chrono::steady_clock::now() - Start;
  IsLate = O.Limit > 0 && Spent.count() >= O.Limit && !L.Failure.empty();
  return L;
}

/// Is \p L all that can be known, or does it lack code generation that is
/// wanted?
bool KernelCompiler::isSufficient(const PassListing &L, bool CodeGen) const {
  return ExternalOpt || !L.Failure.empty() || L.NumAll != L.NumIR ||
         (!CodeGen && !Selection.needsCodeGen(L));
}

/// What numbers mean in a compilation of \p M, its code generation included if
/// \p CodeGen is set or the selection says something about it. Where another
/// program counts, \p M is ready for the pipeline, and there is no code
/// generation.
Expected<std::shared_ptr<const PassListing>>
KernelCompiler::findNumbers(const Module &M, bool CodeGen) const {
  CompileOptions All = Options;
  All.RunPasses.reset();
  All.SkipPasses.reset();
  SmallVector<char, 0> Bitcode = writeExactBitcode(M);
  std::string Key =
      getKey(All) +
      toHexString(digest128(StringRef(Bitcode.data(), Bitcode.size())));

  // A process compiles one module again and again as a rule.
  static std::mutex Mutex;
  static std::string LastKey;
  static std::shared_ptr<const PassListing> Last;
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Key != LastKey || !isSufficient(*Last, CodeGen)) {
    bool IsLate = false;
    Expected<PassListing> L =
        ExternalOpt ? ExternalOpt->list(M) : countPasses(M, CodeGen, IsLate);
    if (!L)
      return L.takeError();
    Last = std::make_shared<const PassListing>(std::move(*L));
    LastKey = IsLate ? "" : std::move(Key);
  }
  if (Error E = Selection.check(*Last))
    return std::move(E);
  return Last;
}

Expected<PassListing> KernelCompiler::listPassesOfTool(const Module &M) const {
  LLVMContext Context;
  std::unique_ptr<Module> Copy = copyModule(M, Context);
  preprocess(*Copy);
  if (Selection.empty())
    return ExternalOpt->list(*Copy);
  Expected<std::shared_ptr<const PassListing>> Numbers = findNumbers(*Copy);
  if (!Numbers)
    return Numbers.takeError();
  return ExternalOpt->list(*Copy, Selection, **Numbers);
}

Expected<PassListing>
KernelCompiler::listPasses(const Module &M, const PassListOptions &O) const {
  if (ExternalOpt)
    return listPassesOfTool(M);
  LLVMOptionScope Scope;
  if (Error E = Scope.enter(Options.LLVMOptions))
    return std::move(E);
  PassGate::Options GO;
  GO.Details = O.Details;
  if (!Selection.empty()) {
    GO.Selection = Selection;
    if (Error E = findNumbers(M, O.CodeGen).moveInto(GO.Numbers))
      return std::move(E);
  }
  return collectPasses(M, std::move(GO), O);
}
