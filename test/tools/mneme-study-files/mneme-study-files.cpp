//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes every file that is made of a study, for tests with the programs that
// read them. The study is the one of the unit tests: nothing is replayed.
//
//===----------------------------------------------------------------------===//

#include "SampleStudy.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<std::string>
    Format(cl::Positional, cl::Required,
           cl::desc("journal|resume|best|report|a format of exports"));
static cl::opt<std::string> Output(cl::Positional, cl::Required,
                                   cl::desc("<file>"));
static cl::opt<unsigned> Count("trials", cl::init(40),
                               cl::desc("Trials that ended"));
static cl::opt<unsigned> Running("running", cl::init(2),
                                 cl::desc("Trials of a journal that run"));
static cl::opt<bool> Two("two-objectives", cl::desc("Time and registers"));
static cl::opt<bool> NoWin("no-win", cl::desc("Nothing beats the baseline"));

static ExitOnError ExitOnErr;

static void writeJournal(const SearchSpace &Space) {
  std::unique_ptr<Journal> J =
      ExitOnErr(Journal::create(Output, makeSampleHeader(Two), Space));
  for (unsigned I = 0; I < Count + Running; ++I) {
    Trial T = makeSampleTrial(Space, I);
    ExitOnErr(J->beginTrials(T));
    if (I < Count)
      ExitOnErr(J->addTrial(endSampleTrial(Space, std::move(T))));
  }
}

/// Says what is there, and runs what is enqueued.
static void resumeJournal(const SearchSpace &Space) {
  std::unique_ptr<Journal> J =
      ExitOnErr(Journal::resume(Output, makeSampleHeader(Two), Space));
  uint64_t Next = 0;
  for (const Trial &T : J->takeTrials()) {
    outs() << "trial " << T.Number << ' ' << getTrialKindName(T.Kind) << ' '
           << getTrialStateName(T.State);
    for (double V : T.Values)
      outs() << ' ' << json::Value(V);
    outs() << '\n';
    Next = std::max(Next, T.Number + 1);
  }
  for (Point &P : ExitOnErr(J->takeEnqueued())) {
    Trial T;
    T.Number = Next++;
    T.Kind = TrialKind::Enqueued;
    T.Config = ExitOnErr(Space.configure(P));
    T.P = std::move(P);
    outs() << "enqueued " << json::Value(json::Object(T.Config)) << '\n';
    ExitOnErr(J->beginTrials(T));
    T.State = TrialState::Complete;
    T.Values.assign(Two ? 2 : 1, getSampleTime(Space, T.P));
    ExitOnErr(J->addTrial(T));
  }
  for (const std::string &W : J->takeWarnings())
    outs() << "warning: " << W << '\n';
}

int main(int Argc, char **Argv) {
  InitLLVM X(Argc, Argv);
  cl::ParseCommandLineOptions(Argc, Argv, "files of a study, for tests\n");
  ExitOnErr.setBanner("mneme-study-files: ");
  SearchSpace Space = makeSampleSpace(Two);
  if (Format == "journal") {
    writeJournal(Space);
    return 0;
  }
  if (Format == "resume") {
    resumeJournal(Space);
    return 0;
  }
  std::vector<Trial> Trials = makeSampleTrials(Space, Count);
  StudyOutcome Outcome = makeSampleOutcome(Trials, !NoWin);
  StudyRecord Record = makeSampleRecord(Space, Trials, Outcome);
  if (Format == "best")
    ExitOnErr(writeBest(Record, Output));
  else if (Format == "report")
    ExitOnErr(writeReport(Record, Output));
  else
    ExitOnErr(exportStudy(Format, Record, Output));
  return 0;
}
