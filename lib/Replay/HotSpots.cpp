//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/HotSpots.h"
#include "InstrumentedKernel.h"
#include "ReplayRun.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Mneme/Transforms/Number.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Returns "b.h:3:5 @ a.cu:12:7" for an instruction of a function in b.h that
/// was inlined.
static std::string formatLocation(const DILocation *L) {
  std::string Text;
  raw_string_ostream OS(Text);
  ListSeparator At(" @ ");
  for (; L; L = L->getInlinedAt())
    OS << At << sys::path::filename(L->getFilename()) << ':' << L->getLine()
       << ':' << L->getColumn();
  return Text;
}

std::vector<NumberedInstruction> mneme::listInstructions(Module &M) {
  std::vector<NumberedInstruction> List(1);
  ModuleSlotTracker Slots(&M);
  forEachNumbered(M, [&](Instruction &I, unsigned) {
    NumberedInstruction N;
    N.Function = I.getFunction()->getName().str();
    if (const DILocation *L = I.getDebugLoc().get(); L && L->getLine())
      N.Source = formatLocation(L);
    I.dropUnknownNonDebugMetadata();
    I.setDebugLoc(DebugLoc());
    Slots.incorporateFunction(*I.getFunction());
    raw_string_ostream OS(N.Text);
    I.print(OS, Slots);
    N.Text = StringRef(N.Text).trim().str();
    List.push_back(std::move(N));
  });
  return List;
}

HotSpots mneme::findHotSpots(ArrayRef<NumberedInstruction> Instructions,
                             const PCReading &Reading) {
  HotSpots H;
  H.Dropped = Reading.Dropped;
  H.Launches = Reading.Launches;
  H.PeriodCycles = Reading.PeriodCycles;
  H.Problem = Reading.Problem;
  std::map<unsigned, HotInstruction> ByNumber;
  for (const PCSamples &S : Reading.Samples) {
    unsigned Number = S.Line < Instructions.size() ? S.Line : 0;
    HotInstruction &Hot = ByNumber[Number];
    static_cast<NumberedInstruction &>(Hot) = Instructions[Number];
    if (!Number)
      Hot.Function = S.Function;
    for (const auto &[Reason, Count] : S.Stalls) {
      Hot.Stalls[Reason.str()] += Count;
      Hot.Samples += Count;
      H.Samples += Count;
    }
    Hot.Offsets.push_back(S.Offset);
  }
  for (auto &[Number, Hot] : ByNumber)
    H.Instructions.push_back(std::move(Hot));
  stable_sort(H.Instructions, [](const auto &A, const auto &B) {
    return A.Samples > B.Samples;
  });
  return H;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Compiles once more, as instructions of the compilation that runs would have
/// to outlive it.
static Expected<std::vector<NumberedInstruction>>
listOptimized(const ReplayPlan &Plan) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  CompileResult Compiled;
  if (Error E = Plan.compiler().optimize(M, Compiled))
    return std::move(E);
  return listInstructions(*M);
}

Error ReplayRun::sample(const CompiledKernel &Code, double Nanoseconds) {
  R.Hot.emplace();
  auto Tell = [&] { Report(ReplayStage::Launch); };
  auto Run = [&]() -> Expected<HotSpots> {
    if (!Plan.hasIR())
      return createStringError("the kernel was recorded without IR");
    InstrumentedKernel Kernel(Session.Plan, D, *Session.Memory, Tell);
    if (Error E = Kernel.compile(Options, "mneme-number"))
      return std::move(E);
    PCReading Reading;
    Expected<LaunchOutcome> Outcome = Kernel.sample(Nanoseconds, Reading);
    if (!Outcome)
      return Outcome.takeError();
    if (Outcome->Status != LaunchStatus::Ok)
      return createStringError("a sampled launch fails: " +
                               Outcome->describe());
    if (!Reading.Problem.empty())
      return createStringError(Reading.Problem);
    Expected<std::vector<NumberedInstruction>> Instructions =
        listOptimized(Plan);
    if (!Instructions)
      return Instructions.takeError();
    HotSpots H = findHotSpots(*Instructions, Reading);
    if (!H.Samples)
      return createStringError("no warp was sampled in " +
                               formatCount(H.Launches, "launch"));
    StringRef Timed(Code.Image.Object.data(), Code.Image.Object.size());
    Expected<CodeComparison> Compared =
        compareKernelCode(Kernel.image(), Timed, Plan.kernel().KernelName);
    if (!Compared)
      return Compared.takeError();
    H.SameCode = Compared->Identical;
    return std::move(H);
  };
  Expected<HotSpots> H = Run();
  Session.Memory->markAllDirty();
  if (H) {
    R.Hot = std::move(*H);
    return Error::success();
  }
  R.Hot->Problem = toString(H.takeError());
  Session.noteFailure();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static std::string formatShare(uint64_t Part, uint64_t All) {
  return formatv("{0:f1} %", 100.0 * Part / All).str();
}

void mneme::print(const HotSpots &H, unsigned Max, raw_ostream &OS) {
  if (!H.Samples)
    return;
  OS << left_justify("hot", 16) << H.Samples << " samples of "
     << formatCount(H.Launches, "more launch") << ", one per " << H.PeriodCycles
     << " cycles";
  if (H.Dropped)
    OS << ", " << H.Dropped << " dropped";
  if (!H.SameCode)
    OS << "; the line tables changed the code";
  OS << '\n';
  for (const HotInstruction &I : ArrayRef(H.Instructions).take_front(Max)) {
    constexpr size_t Width = 96;
    std::string Text = I.Text.empty() ? "(no instruction of the IR)" : I.Text;
    if (Text.size() > Width)
      Text = Text.substr(0, Width - 3) + "...";
    OS << formatv("{0,9}  {1}\n", formatShare(I.Samples, H.Samples), Text)
       << std::string(11, ' ');
    if (!I.Source.empty())
      OS << I.Source << "  ";
    std::vector<std::pair<uint64_t, StringRef>> Stalls;
    for (const auto &[Reason, Count] : I.Stalls)
      Stalls.push_back({Count, Reason});
    llvm::sort(Stalls, std::greater<>());
    constexpr size_t Named = 3;
    ListSeparator LS;
    for (auto [Count, Reason] : ArrayRef(Stalls).take_front(Named))
      OS << LS << Reason << ' ' << formatShare(Count, I.Samples);
    OS << '\n';
  }
}

json::Value mneme::toJSON(const HotSpots &H) {
  json::Array Instructions;
  for (const HotInstruction &I : H.Instructions) {
    json::Object Stalls;
    for (const auto &[Reason, Count] : I.Stalls)
      Stalls[Reason] = Count;
    Instructions.push_back(json::Object{
        {"ir", orNull(I.Text)},
        {"function", orNull(I.Function)},
        {"source", orNull(I.Source)},
        {"samples", I.Samples},
        {"share", double(I.Samples) / std::max<uint64_t>(H.Samples, 1)},
        {"stalls", std::move(Stalls)},
        {"offsets", json::Array(I.Offsets)}});
  }
  return json::Object{{"instructions", std::move(Instructions)},
                      {"samples", H.Samples},
                      {"dropped", H.Dropped},
                      {"launches", H.Launches},
                      {"period_cycles", H.PeriodCycles},
                      {"same_code", H.SameCode},
                      {"problem", orNull(H.Problem)}};
}

bool mneme::fromJSON(const json::Value &V, HotInstruction &I, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Text, Function, Source;
  if (!O || !O.map("ir", Text) || !O.map("function", Function) ||
      !O.map("source", Source) || !O.map("samples", I.Samples) ||
      !O.map("stalls", I.Stalls) || !O.map("offsets", I.Offsets))
    return false;
  I.Text = Text.value_or("");
  I.Function = Function.value_or("");
  I.Source = Source.value_or("");
  return true;
}

bool mneme::fromJSON(const json::Value &V, HotSpots &H, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Problem;
  if (!O || !O.map("instructions", H.Instructions) ||
      !O.map("samples", H.Samples) || !O.map("dropped", H.Dropped) ||
      !O.map("launches", H.Launches) ||
      !O.map("period_cycles", H.PeriodCycles) ||
      !O.map("same_code", H.SameCode) || !O.map("problem", Problem))
    return false;
  H.Problem = Problem.value_or("");
  return true;
}
