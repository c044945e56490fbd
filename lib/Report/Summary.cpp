//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/Summary.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/Printable.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Largest number of characters printed of an error.
static constexpr size_t MaxError = 160;

std::string mneme::describeExhaustion(const StudyRecord &R) {
  DenseSet<uint64_t> Tried;
  for (const Trial &T : R.Trials)
    if (T.Kind != TrialKind::Canary && R.Space.isValid(T.P))
      Tried.insert(R.Space.digest(T.P));
  std::optional<APInt> Count = R.Space.countValid();
  if (Count && *Count == Tried.size())
    return formatv("the space is exhausted: all {0} valid points were tried",
                   Tried.size())
        .str();
  if (R.Outcome.End != StudyEnd::Exhausted)
    return "";
  return formatv("the sampler '{0}' has no more points to try", R.Sampler)
      .str();
}

namespace {
class SummaryPrinter {
public:
  SummaryPrinter(raw_ostream &OS, const StudyRecord &R)
      : OS(OS), R(R), O(R.Outcome) {}
  void print();

private:
  raw_ostream &OS;
  const StudyRecord &R;
  const StudyOutcome &O;

  /// Begins a line of text with a column for \p Label.
  raw_ostream &line(StringRef Label = "") {
    return OS << formatv("{0,-12}  ", Label);
  }
  void printSearch();
  void printFailures();
  void printBaseline();
  std::string describeDifference(const RetestedTrial &T) const;
  void printBest();
  void printTrial(const RetestedTrial &T);
  void printParetoSet();
  void printFinalTest();
  void printRegrets();
  void printExplanation();
  void printInstructions();
};
} // namespace

void SummaryPrinter::printSearch() {
  auto &Out = line("search");
  Out << formatv("{0} trials", O.Complete + O.Pruned + O.Failed);
  if (O.Resumed)
    Out << formatv(" ({0} of them in earlier runs)", O.Resumed);
  Out << formatv(" in {0:f1} s: {1} complete, {2} stopped early, {3} failed",
                 O.SearchSeconds, O.Complete, O.Pruned, O.Failed);
  StringRef Separator = " (";
  for (const auto &[Kind, Count] : O.Failures) {
    Out << Separator << Count << ' ' << Kind;
    Separator = ", ";
  }
  if (!O.Failures.empty())
    Out << ')';
  Out << formatv("; {0} duplicates", O.Duplicates);
  if (O.Suspect)
    Out << formatv("; {0} suspect", O.Suspect);
  Out << '\n';
  if (O.End == StudyEnd::Interrupted)
    line() << "interrupted; --resume continues\n";
  if (std::string Text = describeExhaustion(R); !Text.empty())
    line() << Text << '\n';
  if (O.End == StudyEnd::SpeedOfLight)
    line() << "ended: " << O.EndReason << '\n';
  if (O.End == StudyEnd::Lost)
    line() << "ended early: " << O.EndReason << '\n';
  if (O.Unlogged)
    line() << formatv("{0} trials could not be logged\n", O.Unlogged);
}

/// Prints one example per kind: failures of a kind usually have the same
/// reason.
void SummaryPrinter::printFailures() {
  std::set<FailureKind> Seen;
  for (const Trial &T : R.Trials) {
    if (T.State != TrialState::Failed || T.Error.empty() ||
        !Seen.insert(T.Failure).second)
      continue;
    StringRef Error = StringRef(T.Error).split('\n').first;
    line() << T.Failure << ", as trial " << T.Number << ": "
           << Error.take_front(MaxError)
           << (Error.size() > MaxError ? "..." : "") << '\n';
  }
}

void SummaryPrinter::printBaseline() {
  for (const InstanceOutcome &I : O.Instances) {
    SampleSummary S = summarize(I.Samples);
    line("baseline") << formatNanoseconds(S.Median) << " ["
                     << formatNanoseconds(S.Low) << ", "
                     << formatNanoseconds(S.High) << "]  "
                     << (O.AppCode ? "the application's own code"
                                   : "the recorded configuration");
    if (O.Instances.size() > 1)
      OS << formatv("  {0}, weight {1:f3}", I.Id, I.Weight);
    OS << '\n';
  }
}

void SummaryPrinter::printTrial(const RetestedTrial &T) {
  OS << formatNanoseconds(T.Nanoseconds) << "  " << formatSpeedup(T.Speedup)
     << "  trial " << T.Number << ", confirmed in "
     << O.Final.Rounds * FinalTestResult::ConfirmFactor
     << " fresh pairs with a baseline of "
     << formatNanoseconds(T.BaselineNanoseconds) << '\n';
}

std::string mneme::describeOtherCache(const FinalTestResult &F) {
  if (!F.Confirmed || !F.Confirmed->OtherCacheSpeedup)
    return "";
  const RatioEstimate &R = *F.Confirmed->OtherCacheSpeedup;
  return "with a " + F.OtherCache + " cache: " + formatSpeedup(R) + ", " +
         getComparisonText(compareWithBaseline(R, F.MinEffect)).str();
}

/// Returns why there was no re-test: it was not wanted, or there was nothing to
/// test.
std::string mneme::describeUntested(const StudyRecord &R) {
  const StudyOutcome &O = R.Outcome;
  if (O.Best.empty() && O.Complete)
    return "only the baseline's own code was measured";
  const Trial *T = O.Best.empty() ? nullptr : R.findTrial(O.Best.front());
  double Time = T ? T->Metrics.lookup("time") : 0;
  if (Time == 0)
    return "nothing was measured";
  double Speedup = T->BaselineNanoseconds / Time;
  if (Speedup <= 1)
    return "nothing was faster than the baseline";
  return formatv("trial {0} looked {1:f3} times as fast as the baseline, but "
                 "was not re-tested",
                 T->Number, Speedup)
      .str();
}

/// Compares a candidate that is not the winner with the baseline.
std::string SummaryPrinter::describeDifference(const RetestedTrial &T) const {
  if (!T.Failure.empty())
    return formatv("the re-test of trial {0} failed: {1}", T.Number, T.Failure)
        .str();
  Comparison C = O.Final.compare(T);
  StringRef Than = C == Comparison::Slower ? "than" : "from";
  std::string Limit = C == Comparison::Negligible
                          ? formatv(" (--min-effect={0})",
                                    formatMetric(100 * O.Final.MinEffect))
                                .str()
                          : "";
  return formatv("{0} {1} the baseline{2}: {3} (trial {4})",
                 getComparisonText(C), Than, Limit, formatSpeedup(T.Speedup),
                 T.Number)
      .str();
}

void SummaryPrinter::printBest() {
  if (!O.TimeIsObjective) {
    const Trial *T = R.winner();
    auto &Out = line("best");
    if (!T) {
      Out << "nothing is better than the baseline\n";
      return;
    }
    Out << R.Space.study().Objectives[0].Metric << ' '
        << formatMetric(T->Values[0]) << "  trial " << T->Number << '\n';
    line() << formatConfig(T->Config) << '\n';
    return;
  }
  if (O.Final.isSignificant()) {
    line("best");
    printTrial(*O.Final.Confirmed);
    if (std::string Text = describeOtherCache(O.Final); !Text.empty())
      line() << Text << '\n';
    line() << formatConfig(O.Final.Confirmed->config()) << '\n';
    return;
  }
  auto &Out = line("best");
  if (O.Final.Candidates.empty()) {
    Out << describeUntested(R) << '\n';
    return;
  }
  const std::optional<RetestedTrial> &C = O.Final.Confirmed;
  if (!C && !O.Final.Winner) {
    Out << "no candidate passed the re-test\n";
    return;
  }
  const RetestedTrial &T = C ? *C : O.Final.Candidates[*O.Final.Winner];
  Out << describeDifference(T) << '\n';
}

void SummaryPrinter::printParetoSet() {
  ArrayRef<Objective> Objectives = R.Space.study().Objectives;
  if (Objectives.size() < 2)
    return;
  line("Pareto set") << formatv("{0} trials\n", O.Best.size());
  for (uint64_t Number : O.Best) {
    const Trial *T = R.findTrial(Number);
    if (!T)
      continue;
    line() << "trial " << Number;
    for (const auto &[Obj, V] : zip_equal(Objectives, T->Values))
      OS << "  " << Obj.Metric << ' '
         << (Obj.Metric == "time" ? formatNanoseconds(V)
                                  : formatMetric(V));
    OS << "  " << formatConfig(T->Config) << '\n';
  }
}

/// The best results of a search are mostly luck: prints how much of them
/// remains. The speed-up of the winner is that of the confirmation, which had no
/// part in its choice.
void SummaryPrinter::printFinalTest() {
  const FinalTestResult &F = O.Final;
  if (F.Candidates.empty() || !O.TimeIsObjective)
    return;
  line("re-test") << formatv(
      "{0} of the {1} best trials are significantly faster than the baseline "
      "(95 % CI above 1, by at least {2} %; {3} pairs each){4}\n",
      F.countSurvivors(), F.Candidates.size(), formatMetric(100 * F.MinEffect),
      F.Rounds,
      F.isSignificant() ? "; it selects the winner, whose speed-up is the "
                          "confirmed one"
                        : "");
  for (const RetestedTrial &T : F.Candidates) {
    line() << formatv("trial {0}: search estimate {1:f3}x, ", T.Number,
                      T.RawSpeedup);
    if (T.Failure.empty())
      OS << "re-test " << formatSpeedup(T.Speedup) << ", "
         << getComparisonText(F.compare(T)) << '\n';
    else
      OS << "failed: " << T.Failure << '\n';
  }
}

void SummaryPrinter::printRegrets() {
  for (const InstanceRegret &G : O.Regrets)
    line(&G == &O.Regrets.front() ? "instances" : "")
        << formatv("{0}: re-test {1:f3}x with the common best, {2:f3}x with "
                   "its own (trial {3}), regret {4:f1} %\n",
                   O.Instances[G.Instance].Id, G.CommonSpeedup, G.BestSpeedup,
                   G.BestTrial, 100 * G.regret());
}

/// Returns "block.x=64 (grid.x=400 from block.x) maxnreg=32".
static std::string formatReason(const Explanation &W) {
  if (W.Changes.empty())
    return "the recorded configuration, compiled again";
  std::vector<std::string> Parts;
  for (const ExplainedChange &C : W.Changes) {
    std::string Text = C.Key + "=" + formatValue(C.Minimal);
    Parts.push_back(C.From.empty()
                        ? Text
                        : "(" + Text + " from " + join(C.From, ", ") + ")");
  }
  return join(Parts, " ");
}

void SummaryPrinter::printExplanation() {
  if (!O.Why)
    return;
  const Explanation &W = *O.Why;
  line("reason") << formatReason(W);
  if (W.Speedup)
    OS << formatv("  keeps {0:f0} % of the win: {1} in pairs of its own",
                  100 * W.Kept, formatSpeedup(*W.Speedup));
  OS << '\n';
  if (!W.Dropped.empty())
    line() << "does not matter: " << join(W.Dropped, " ") << '\n';
  SmallVector<std::string> Resources;
  for (StringRef Metric : {"reg_usage", "spills", "local_mem_usage",
                           "shared_mem_usage", "occupancy", "code_size"}) {
    auto Before = W.Before.find(Metric), After = W.After.find(Metric);
    if (Before != W.Before.end() && After != W.After.end())
      Resources.push_back(Metric.str() + " " + formatMetric(Before->second) +
                          " -> " + formatMetric(After->second));
  }
  if (!Resources.empty())
    line() << llvm::join(Resources, ", ") << '\n';
  for (const CounterChange &C : W.Counters)
    line(&C == &W.Counters.front() ? "counters" : "")
        << formatCounterChange(C) << '\n';
  line() << formatv(
      "found with {0} configurations, {1} of them with new code{2}\n",
      W.Evaluations, W.Measured, W.Complete ? "" : "; the search ended early");
}

/// Prints the kinds that changed most, as there are many.
void SummaryPrinter::printInstructions() {
  constexpr size_t MaxKinds = 6;
  if (R.BaselineInstructions.empty() || R.BestInstructions.empty())
    return;
  struct Counts {
    uint64_t Before = 0, After = 0;
    uint64_t difference() const {
      return std::max(Before, After) - std::min(Before, After);
    }
  };
  std::map<StringRef, Counts> Kinds;
  Counts Total;
  for (const auto &[Name, Count] : R.BaselineInstructions) {
    Kinds[Name].Before = Count;
    Total.Before += Count;
  }
  for (const auto &[Name, Count] : R.BestInstructions) {
    Kinds[Name].After = Count;
    Total.After += Count;
  }
  std::vector<std::pair<StringRef, Counts>> Changed;
  for (const auto &Kind : Kinds)
    if (Kind.second.difference())
      Changed.push_back(Kind);
  llvm::sort(Changed, [](const auto &A, const auto &B) {
    uint64_t ByA = A.second.difference(), ByB = B.second.difference();
    return ByA != ByB ? ByA > ByB : A.first < B.first;
  });
  Changed.resize(std::min(Changed.size(), MaxKinds));
  line("instructions") << formatv("{0} -> {1}", Total.Before, Total.After);
  if (Changed.empty())
    OS << ", with equal counts of each kind";
  for (const auto &[Name, C] : Changed)
    OS << (Name == Changed.front().first ? ": " : ", ")
       << formatv("{0} {1} -> {2}", Name, C.Before, C.After);
  OS << '\n';
}

void SummaryPrinter::print() {
  line("kernel") << printable(R.DemangledName.empty() ? R.Kernel
                                                      : R.DemangledName)
                 << '\n';
  line("device") << R.Device << '\n';
  if (!R.Verification.Text.empty())
    line("verification") << R.Verification.Text << '\n';
  if (!R.Verification.Envelope.empty())
    line("envelope") << R.Verification.Envelope << '\n';
  if (!R.Verification.Bound.empty())
    line("bound") << R.Verification.Bound << '\n';
  printSearch();
  printFailures();
  printBaseline();
  printBest();
  printParetoSet();
  printFinalTest();
  printRegrets();
  printExplanation();
  printInstructions();
  for (const std::string &Text : R.Caveats)
    line("caveat") << Text << '\n';
}

void mneme::printSummary(raw_ostream &OS, const StudyRecord &R) {
  SummaryPrinter(OS, R).print();
}

static json::Object
makeCounts(const std::map<std::string, uint64_t> &Counts) {
  json::Object O;
  for (const auto &[Name, Count] : Counts)
    O[Name] = Count;
  return O;
}

json::Value mneme::makeSummary(const StudyRecord &R) {
  json::Object S{{"format", "mneme-summary"},
                 {"version", 1},
                 {"kernel", R.Kernel},
                 {"demangled_name", R.DemangledName},
                 {"static_hash", R.StaticHash},
                 {"device", R.Device},
                 {"sampler", R.Sampler},
                 {"seed", std::to_string(R.Seed)},
                 {"toolchain", json::Object(R.Toolchain)},
                 {"farm", json::Object(R.Farm)},
                 {"verification", json::Array(R.Verification.Launches)},
                 {"caveats", json::Array(R.Caveats)},
                 {"outcome", toJSON(R.Outcome)}};
  if (!R.BaselineInstructions.empty() && !R.BestInstructions.empty())
    S["instructions"] =
        json::Object{{"baseline", makeCounts(R.BaselineInstructions)},
                     {"best", makeCounts(R.BestInstructions)}};
  return S;
}
