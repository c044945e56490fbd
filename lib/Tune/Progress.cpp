//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Progress.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static std::string formatBest(const StudyProgress &P) {
  if (!P.BestTrial)
    return "";
  // That a search has no interval yet would be said in each line.
  std::string Text = P.BestSpeedup && !P.BestSpeedup->hasInterval()
                         ? formatv("{0:f3}x", P.BestSpeedup->Value).str()
                     : P.BestSpeedup ? formatSpeedup(*P.BestSpeedup)
                     : P.Metric == "time"
                         ? formatNanoseconds(P.BestValue)
                         : P.Metric + " " + formatMetric(P.BestValue);
  return formatv("best {0} (#{1})", Text, *P.BestTrial).str();
}

static std::string formatFailures(const StudyProgress &P) {
  if (!P.Failed)
    return "";
  std::string Text = formatv("{0} failed", P.Failed).str();
  StringRef Separator = ": ";
  if (P.Failures)
    for (const auto &[Kind, Count] : *P.Failures) {
      Text += formatv("{0}{1} {2}", Separator, Count, Kind).str();
      Separator = ", ";
    }
  return Text;
}

/// Estimates the time until the first limit is reached, if possible.
static std::string formatTimeLeft(const StudyProgress &P) {
  std::optional<double> Left = P.SecondsLeft;
  if (P.TrialLimit > P.Trials && P.InThisRun > 0) {
    double Needed = P.Seconds / P.InThisRun * (P.TrialLimit - P.Trials);
    Left = Left ? std::min(*Left, Needed) : Needed;
  }
  return Left ? formatv("{0:f0} s left", *Left).str() : "";
}

static std::string getPhaseText(const StudyProgress &P) {
  static constexpr StringLiteral Texts[] = {"measuring the baseline",
                                            "",
                                            "waiting for running trials",
                                            "re-testing the best trials",
                                            "searching for the smallest change",
                                            "done"};
  std::string Text = Texts[P.Phase].str();
  constexpr double Long = 5;
  if (P.Phase == StudyProgress::FinalTest && P.PhaseSeconds > Long)
    Text += formatv(", about {0:f0} s", P.PhaseSeconds).str();
  return Text;
}

std::string mneme::formatProgress(const StudyProgress &P) {
  SmallVector<std::string> Parts;
  auto Add = [&](std::string Text) {
    if (!Text.empty())
      Parts.push_back(std::move(Text));
  };
  bool Search = P.Phase == StudyProgress::Search;
  if (P.Phase != StudyProgress::Baseline)
    Add(formatv("{0:f1} s", P.Seconds));
  if (P.TrialLimit)
    Add(formatv("{0}/{1} trials", P.Trials, P.TrialLimit));
  else
    Add(formatv("{0} trials", P.Trials));
  if (P.Seconds > 0 && P.InThisRun)
    Add(formatv("{0:f1}/s", P.InThisRun / P.Seconds));
  Add(formatBest(P));
  if (P.Duplicates)
    Add(formatv("{0} duplicates", P.Duplicates));
  Add(formatFailures(P));
  Add(Search ? formatTimeLeft(P) : getPhaseText(P));
  return join(Parts, "  ");
}

ProgressPrinter::ProgressPrinter(raw_ostream &OS, Style S,
                                 std::function<double()> Clock)
    : OS(OS), S(S), Clock(std::move(Clock)) {}

ProgressPrinter::~ProgressPrinter() { clear(); }

void ProgressPrinter::clear() {
  if (!Drawn)
    return;
  OS << "\r\033[K";
  OS.flush();
  Drawn = false;
}

void ProgressPrinter::update(const StudyProgress &P) {
  if (S.Quiet)
    return;
  double Now = Clock();
  bool News = P.Phase != LastPhase ||
              (!S.Terminal && P.BestTrial && P.BestTrial != LastBest);
  if (!News && Now - LastPrinted < (S.Terminal ? S.DrawSeconds : S.LineSeconds))
    return;
  LastPrinted = Now;
  LastPhase = P.Phase;
  LastBest = P.BestTrial;
  std::string Text = formatProgress(P);
  if (!S.Terminal) {
    OS << Text << '\n';
    OS.flush();
    return;
  }
  if (P.Phase == StudyProgress::Done)
    return clear();
  // A wrapped line could not be redrawn.
  OS << '\r' << StringRef(Text).take_front(S.Columns - 1) << "\033[K";
  OS.flush();
  Drawn = true;
}

void ProgressPrinter::note(StringRef Text) {
  clear();
  OS << "note: " << printableLines(Text) << '\n';
  OS.flush();
}
