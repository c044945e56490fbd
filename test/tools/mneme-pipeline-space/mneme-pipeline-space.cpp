//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Says everything about a pipeline space: the driver of its tests.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Compile/PipelineSpaceCheck.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<std::string> InputFile(cl::Positional, cl::init("-"),
                                      cl::desc("<file with a space>"));
static cl::opt<std::string> Passes("passes", cl::desc("A space, not a file"));
static cl::opt<bool> PrintSpace("print", cl::desc("The normal form"));
static cl::opt<bool>
    Lines("lines", cl::desc("Each line is a space; print what is wrong"));
static cl::opt<bool> Count("count", cl::desc("How many points there are"));
static cl::opt<bool> Decisions("decisions", cl::desc("What a point chooses"));
static cl::opt<unsigned> Enumerate("enumerate", cl::desc("The first N points"));
static cl::opt<unsigned> Sample("sample", cl::desc("N points at random"));
static cl::opt<unsigned> Mutate("mutate", cl::desc("N steps at random"));
static cl::opt<unsigned> Seed("seed", cl::desc("Of everything random"));
static cl::opt<std::string> At("at", cl::desc("The point with this number"));
static cl::opt<std::string> Find("find", cl::desc("The number of a pipeline"));
static cl::opt<std::string>
    Neighbours("neighbours", cl::desc("What is around a pipeline"));
static cl::opt<bool> Probes("probes", cl::desc("What is checked"));
static cl::opt<bool> Check("check", cl::desc("Does LLVM know the passes?"));
static cl::opt<bool>
    Parse("parse", cl::desc("Have LLVM parse each point that is printed"));
static cl::opt<std::string> TripleName("mtriple",
                                       cl::init("nvptx64-nvidia-cuda"));
static cl::opt<std::string> CPU("mcpu", cl::init("sm_90"));

static ExitOnError ExitOnErr("mneme-pipeline-space: ");

static std::unique_ptr<TargetMachine> createTargetMachine() {
  initializeTargets();
  Triple TT(TripleName);
  std::string Message;
  const auto *T = TargetRegistry::lookupTarget(TT, Message);
  if (!T)
    ExitOnErr(createStringError(Message));
  return std::unique_ptr<TargetMachine>(
      T->createTargetMachine(TT, CPU, "", TargetOptions(), std::nullopt));
}

static std::string toString(const APInt &N) {
  return llvm::toString(N, 10, /*Signed=*/false);
}

static StringRef nameOf(PipelineDecision::KindTy Kind) {
  static constexpr StringLiteral Names[] = {"alternative", "optional",
                                            "integer", "rank", "length"};
  return Names[Kind];
}

static void printDecisions(const PipelineSpace &S) {
  for (const PipelineDecision &D : S.decisions()) {
    outs() << D.Name << ": " << nameOf(D.Kind) << " of " << D.Count;
    if (D.Kind == PipelineDecision::Integer)
      outs() << " from " << D.Low << " by " << D.Step;
    if (D.Kind == PipelineDecision::Length)
      outs() << " from " << D.Low;
    for (const std::string &Label : D.Labels)
      outs() << " '" << Label << "'";
    for (const PipelineDecision::Condition &C : D.ActiveIf)
      outs() << " if " << S.decisions()[C.Decision].Name << " in [" << C.From
             << ", " << C.To << ")";
    outs() << '\n';
  }
}

/// What is not right in each line that is not a comment.
static void printErrors(StringRef Text, TargetMachine *TM) {
  for (StringRef Line : split(Text, '\n')) {
    if (Line.empty() || Line.starts_with("#"))
      continue;
    Expected<PipelineSpace> S = PipelineSpace::parse(Line);
    Error E = S ? Error::success() : S.takeError();
    if (!E && TM)
      E = checkPipelineSpace(*TM, *S);
    outs() << (E ? toString(std::move(E)) : "no error") << '\n';
  }
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "pipeline spaces\n");
  std::string Text = Passes;
  if (!Passes.getNumOccurrences())
    Text = ExitOnErr(errorOrToExpected(MemoryBuffer::getFileOrSTDIN(InputFile)))
               ->getBuffer()
               .str();
  std::unique_ptr<TargetMachine> TM;
  if (Check || Parse)
    TM = createTargetMachine();
  if (Lines) {
    printErrors(Text, TM.get());
    return 0;
  }
  PipelineSpace S = ExitOnErr(PipelineSpace::parse(Text));

  unsigned Parsed = 0;
  auto PrintPoint = [&](const PipelinePoint &P) {
    std::string Pipeline = S.print(P);
    outs() << toString(S.indexOf(P)) << ": " << Pipeline << '\n';
    if (!Parse)
      return;
    ExitOnErr(checkPipeline(*TM, Pipeline));
    ++Parsed;
  };
  auto MustFind = [&](StringRef Pipeline) {
    std::optional<PipelinePoint> P = S.find(Pipeline);
    if (!P)
      ExitOnErr(createStringError("no point prints as '" + Pipeline + "'"));
    return *P;
  };

  RandomEngine Random(Seed);
  if (PrintSpace)
    outs() << S.print() << '\n';
  if (Count)
    outs() << toString(S.count()) << '\n';
  if (Decisions)
    printDecisions(S);
  if (Enumerate)
    S.enumerate([&, Left = Enumerate.getValue()](auto &P) mutable {
      PrintPoint(P);
      return --Left != 0;
    });
  for (unsigned I = 0; I != Sample; ++I)
    PrintPoint(S.sample(Random));
  PipelinePoint Walker = S.at(APInt(64, 0));
  for (unsigned I = 0; I != Mutate; ++I)
    PrintPoint(Walker = S.mutate(Walker, Random));
  if (!At.empty()) {
    APInt Index(S.count().getBitWidth() + 64, At, 10);
    if (Index.uge(S.count().zext(Index.getBitWidth())))
      ExitOnErr(createStringError("no point has the number " + At));
    PrintPoint(S.at(Index));
  }
  if (Find.getNumOccurrences())
    PrintPoint(MustFind(Find));
  if (Neighbours.getNumOccurrences())
    for (const PipelinePoint &P : S.neighbours(MustFind(Neighbours)))
      PrintPoint(P);
  if (Probes)
    for (const PipelineProbe &P : S.probes())
      outs() << P.Path.back().Line << ':' << P.Path.back().Column << ": "
             << P.Pipeline << '\n';
  if (Check)
    ExitOnErr(checkPipelineSpace(*TM, S));
  if (Parse)
    outs() << Parsed << " parsed\n";
}
