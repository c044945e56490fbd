//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alive.h"
#include "PlainCommand.h"
#include "Questions.h"
#include "RewriteReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Report.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

const BisectCommand *BisectReport::findCommand(StringRef Name) const {
  auto It = find_if(Commands, [&](const auto &C) { return C.Name == Name; });
  return It == Commands.end() ? nullptr : &*It;
}

bool BisectReport::isConfirmed() const {
  return all_of(Commands, [&](const BisectCommand &C) {
    return C.shows(What, Outcome.Good.Value);
  });
}

bool BisectReport::isContradicted() const {
  return What.isVerify() && any_of(Commands, [](const BisectCommand &C) {
           return C.ExitCode == (C.Expected == Answer::Good ? 2 : 0);
         });
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static StringRef getEndName(BisectOutcome::EndKind End) {
  switch (End) {
  case BisectOutcome::FoundPasses:
    return "passes";
  case BisectOutcome::FoundMissing:
    return "missing_passes";
  case BisectOutcome::FoundSettings:
    return "settings";
  case BisectOutcome::NothingToFind:
    return "nothing";
  case BisectOutcome::NotFound:
    return "not_found";
  }
  llvm_unreachable("no such end");
}

static json::Value getHalfName(FaultyHalf Half) {
  switch (Half) {
  case FaultyHalf::Unknown:
    return nullptr;
  case FaultyHalf::Pipeline:
    return "pipeline";
  case FaultyHalf::BackEnd:
    return "back_end";
  }
  llvm_unreachable("no such half");
}

json::Value mneme::toJSON(const Judgement &J) {
  json::Object Metrics;
  for (const auto &M : J.Metrics)
    Metrics[M.first().str()] = M.second;
  json::Object O{{"answer", getAnswerName(J.A)},
                 {"failure", J.Failure.name()},
                 {"error", json::fixUTF8(J.Error)},
                 {"value", orNull(J.Value)},
                 {"certain", J.Certain},
                 {"replays", J.Replays},
                 {"failures", J.Failures},
                 {"metrics", std::move(Metrics)},
                 {"code", J.CodeHash}};
  if (J.Ratio)
    O["ratio"] = mneme::toJSON(*J.Ratio);
  return std::move(O);
}

static json::Value toJSON(const JudgeCounts &C) {
  return json::Object{{"steps", C.Steps},
                      {"compilations", C.Compilations},
                      {"launches", C.Launches},
                      {"duplicates", C.Duplicates},
                      {"rounds", C.Rounds}};
}

static json::Value toJSON(const BisectSetting &S) {
  return json::Object{
      {"key", S.Key}, {"good", orNull(S.Good)}, {"bad", orNull(S.Bad)}};
}

static json::Value toJSON(const BisectCommand &C, const BisectReport &R) {
  return json::Object{{"name", C.Name},
                      {"what", C.What},
                      {"command", json::fixUTF8(C.Text)},
                      {"exit_code", orNull(C.ExitCode)},
                      {"value", orNull(C.Value)},
                      {"runs", C.Runs},
                      {"shows", C.shows(R.What, R.Outcome.Good.Value)}};
}

static json::Value toJSON(const PassEvidence &E) {
  return json::Object{{"number", E.Number ? json::Value(E.Number) : nullptr},
                      {"of", E.IsAssembly ? "assembly" : "ir"},
                      {"before", json::fixUTF8(E.BeforeFile)},
                      {"after", json::fixUTF8(E.AfterFile)},
                      {"diff", json::fixUTF8(E.Diff)},
                      {"missing", json::fixUTF8(E.Missing)},
                      {"remarks", json::Array(E.Remarks)}};
}

static json::Value culpritToJSON(const BisectCulprit &C) {
  json::Value V = toJSON(C.Execution);
  json::Object &O = *V.getAsObject();
  O["spec"] = C.Execution.spec();
  O["in_skip_set"] = C.InSkipSet;
  O["in_run_set"] = C.InRunSet;
  O["exploiter"] = C.IsExploiter;
  O["heals_alone"] = orNull(C.HealsAlone);
  return V;
}

template <typename T> static json::Array listToJSON(ArrayRef<T> List) {
  json::Array A;
  for (const T &V : List)
    A.push_back(toJSON(V));
  return A;
}

json::Value mneme::toJSON(const BisectReport &R) {
  const BisectOutcome &Out = R.Outcome;
  json::Array Culprits;
  for (const BisectCulprit &C : Out.Culprits)
    Culprits.push_back(culpritToJSON(C));
  json::Array Commands;
  for (const BisectCommand &C : R.Commands)
    Commands.push_back(::toJSON(C, R));
  bool HasPasses = Out.End == BisectOutcome::FoundPasses;
  json::Object Passes{{"executions", Out.NumExecutions},
                      {"candidates", Out.NumCandidates},
                      {"last_good", orNull(Out.LastGood)},
                      {"first_bad", orNull(Out.FirstBad)},
                      {"prefix_only", Out.PrefixOnly},
                      {"accepted", orNull(Out.Accepted)},
                      {"skip_set", json::Array(Out.SkipSet)},
                      {"run_set", json::Array(Out.RunSet)},
                      {"culprits", std::move(Culprits)},
                      {"missing", listToJSON<PassExecution>(Out.Missing)},
                      {"spoiled_config", orNull(Out.SpoiledConfig)},
                      {"healed_config", orNull(Out.HealedConfig)},
                      {"smallest_config", orNull(Out.SmallestConfig)},
                      {"evidence", listToJSON<PassEvidence>(R.Evidence)},
                      {"rewrites", rewritesToJSON(R)},
                      {"change", changeToJSON(Out.Change)}};
  if (HasPasses)
    Passes["healed"] = toJSON(Out.Healed);
  if (HasPasses && Out.SmallestConfig)
    Passes["smallest"] = toJSON(Out.Smallest);
  return json::Object{
      {"kernel", json::fixUTF8(R.Kernel)},
      {"static_hash", R.StaticHash},
      {"record_id", R.RecordId},
      {"device", json::fixUTF8(R.Device)},
      {"by", R.What.isVerify() ? "verify" : R.What.Metric},
      {"threshold", R.What.isVerify() ? json::Value(nullptr)
                                      : json::Value(R.What.Threshold)},
      {"found", getEndName(Out.End)},
      {"reason", json::fixUTF8(Out.Reason)},
      {"good", json::Object{{"config", json::Object(Out.Sides.Good)},
                            {"result", toJSON(Out.Good)}}},
      {"bad", json::Object{{"config", json::Object(Out.Sides.Bad)},
                           {"result", toJSON(Out.Bad)}}},
      {"bad_config", json::Object(Out.BadConfig)},
      {"settings",
       json::Object{{"differ", Out.NumSettings},
                    {"responsible", listToJSON<BisectSetting>(Out.Settings)}}},
      {"passes", std::move(Passes)},
      {"half", getHalfName(Out.Half)},
      {"half_reason", json::fixUTF8(Out.HalfReason)},
      {"blamed", json::Array(Out.Blamed)},
      {"required", listToJSON<PassExecution>(Out.Required)},
      {"schedule", orNull(Out.Schedule)},
      {"schedule_reason", Out.ScheduleReason},
      {"random", Out.Random ? json::Value(json::Object{
                                  {"rate", Out.Rate}, {"repeats", Out.Repeats}})
                            : json::Value(nullptr)},
      {"ptx", R.PTX ? toJSON(*R.PTX) : json::Value(nullptr)},
      {"complete", Out.Complete},
      {"confirmed", R.isConfirmed()},
      {"reads_uninitialized", orNull(R.ReadsUninitialized)},
      {"counts", ::toJSON(Out.Counts)},
      {"seconds", R.Seconds},
      {"notes", json::Array(Out.Notes)},
      {"commands", std::move(Commands)},
      {"alive", listToJSON<AliveCheck>(R.Alive)},
      {"plain", R.Plain ? toJSON(*R.Plain) : json::Value(nullptr)}};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static raw_ostream &printName(raw_ostream &OS, StringRef Name) {
  return OS << left_justify(Name, 15) << ' ';
}

/// "4.42 us", "25 registers", "25 VGPRs".
static std::string formatWithUnit(const BisectReport &R, StringRef Metric,
                                  double Value) {
  const MetricInfo *M = findMetric(Metric);
  StringRef Unit = !M ? "" : StringRef(R.IsForAMD ? M->AMDUnit : M->Unit);
  if (Unit == "ns")
    return formatNanoseconds(Value);
  std::string Text;
  raw_string_ostream(Text) << format("%.6g", Value);
  return Unit.empty() ? Text : Text + " " + Unit.str();
}

static void printSide(raw_ostream &OS, StringRef Name, const Judgement &J,
                      const BisectReport &R) {
  const Criterion &What = R.What;
  bool IsPart = What.Accepted && J.A == Answer::Good && Name != "good side";
  printName(OS, Name) << (IsPart ? "better" : getAnswerName(J.A));
  if (!J.Failure.empty())
    OS << ": " << J.Failure;
  if (!J.Error.empty())
    OS << ": " << StringRef(J.Error).split('\n').first;
  if (J.Replays > 1)
    OS << " (" << describeReplays(J) << ')';
  if (!What.isVerify() && J.Value)
    OS << ", " << What.Metric << ' '
       << formatWithUnit(R, What.Metric, *J.Value);
  if (!What.isVerify() && J.Ratio && Name != "good side") {
    OS << formatv(", {0}{1:f3} times the good side's",
                  What.isTime() ? "in pairs " : "", J.Ratio->Value);
    if (J.Ratio->Low != J.Ratio->High)
      OS << " (95 %: " << describeInterval(*J.Ratio) << ')';
  }
  if (!J.Certain)
    OS << ", not significant";
  OS << '\n';
}

/// Returns the values of a setting on both sides. Long values (pipelines) are
/// cut to the part that differs.
static std::pair<std::string, std::string>
printSetting(const BisectSetting &Setting) {
  static constexpr size_t Short = 100, Context = 20;
  auto Print = [](const std::optional<json::Value> &V) {
    return V ? formatv("{0}", *V).str() : "not given";
  };
  std::string Good = Print(Setting.Good), Bad = Print(Setting.Bad);
  size_t Least = std::min(Good.size(), Bad.size());
  if (Least < Short)
    return {Good, Bad};
  // The first and the last character are quotes.
  size_t First = 1, Last = 1;
  while (First != Least - 1 && Good[First] == Bad[First])
    ++First;
  while (Last != Least - First &&
         Good[Good.size() - 1 - Last] == Bad[Bad.size() - 1 - Last])
    ++Last;
  First = std::max(First, 1 + Context) - Context;
  Last = std::max(Last, 1 + Context) - Context;
  auto Cut = [&](StringRef Text) {
    return ("\"" + StringRef(First > 1 ? "..." : "") +
            Text.drop_front(First).drop_back(Last) + (Last > 1 ? "..." : "") +
            "\"")
        .str();
  };
  return {Cut(Good), Cut(Bad)};
}

static std::string printNumber(const PassExecution &E) {
  return E.Number ? utostr(E.Number) : "-";
}

static void printCulprit(raw_ostream &OS, const BisectOutcome &Out,
                         const BisectCulprit &C) {
  const PassExecution &E = C.Execution;
  OS << formatv("  {0,5}  {1} on {2}", printNumber(E), E.Pass,
                E.Unit.empty() ? "?" : E.Unit);
  if (E.Required)
    OS << ", required; good before it, bad after it";
  if (E.Stage == PassStage::CodeGen)
    OS << ", code generator";
  if (Out.PrefixOnly)
    OS << (Out.SkipSet.size() == 1
               ? "; good with all before it, bad with it"
               : "; one of these: good with all before them, bad with them");
  if (C.HealsAlone)
    OS << (!*C.HealsAlone ? "; still bad if only it is skipped"
           : Out.Accepted ? "; equally better without it"
                          : "; good without it");
  if (C.IsExploiter)
    OS << "; exploits what " << Out.SkipSet.front() << " did";
  else if (!E.Required && (Out.Culprits.front().Execution.Required ||
                           (C.InRunSet && !C.InSkipSet)))
    OS << "; takes part";
  // Skipping the others instead is not enough, though the smallest bad set does
  // without this one.
  if (C.InSkipSet && !C.InRunSet && Out.SkipSet.size() > 1 &&
      !Out.RunSet.empty())
    OS << "; must be skipped together with the others";
  OS << '\n';
}

static std::string printList(ArrayRef<unsigned> Numbers) {
  return join(map_range(Numbers, [](unsigned N) { return std::to_string(N); }),
              ",");
}

static void printPrefix(raw_ostream &OS, const BisectOutcome &Out) {
  if (!Out.FirstBad)
    return;
  printName(OS, "prefix");
  if (*Out.LastGood)
    OS << formatv("1-{0} is good, ", *Out.LastGood);
  OS << formatv("1-{0} is bad\n", *Out.FirstBad);
}

/// "range-wrong on f (10) -> simplifycfg on f (20)"
static void printChain(raw_ostream &OS, const BisectOutcome &Out) {
  std::string Chain;
  for (const BisectCulprit &C : Out.Culprits)
    if (C.InSkipSet || C.IsExploiter)
      Chain +=
          formatv("{0}{1} on {2} ({3})", Chain.empty() ? "" : " -> ",
                  C.Execution.Pass, C.Execution.Unit,
                  C.Execution.Required ? "required" : printNumber(C.Execution))
              .str();
  if (any_of(Out.Culprits, [](const auto &C) { return C.IsExploiter; }))
    printName(OS, "chain") << Chain << '\n';
}

static void printFoundPasses(raw_ostream &OS, const BisectReport &R) {
  const BisectOutcome &Out = R.Outcome;
  printName(OS, "passes") << formatv(
      "{0} of {1} skippable executions ({2} changed something)\n",
      count_if(Out.Culprits,
               [](const auto &C) { return !C.Execution.Required; }),
      Out.NumExecutions, Out.NumCandidates);
  for (const BisectCulprit &C : Out.Culprits)
    printCulprit(OS, Out, C);
  printChain(OS, Out);
  printPrefix(OS, Out);
  if (Out.PrefixOnly)
    return;
  printSide(OS, "without " + printList(Out.SkipSet), Out.Healed, R);
  if (Out.SmallestConfig)
    printSide(OS, "only " + printList(Out.RunSet), Out.Smallest, R);
  printRewrites(OS, Out.Rewrites);
}

static void printMissing(raw_ostream &OS, const BisectReport &R) {
  const BisectOutcome &Out = R.Outcome;
  printName(OS, "missing") << formatCount(Out.Missing.size(), "execution")
                           << " of the good side\n";
  for (const PassExecution &E : Out.Missing)
    OS << formatv("  {0,5}  {1} on {2}\n", E.Number, E.Pass,
                  E.Unit.empty() ? "?" : E.Unit);
  printSide(OS, "good without", Out.Smallest, R);
}

/// Prints the metrics of both sides and of the bad side without the culprits.
static void printMetrics(raw_ostream &OS, const BisectReport &R) {
  const BisectOutcome &Out = R.Outcome;
  std::set<std::string> Names;
  for (const Judgement *J : {&Out.Good, &Out.Bad, &Out.Healed})
    for (const auto &M : J->Metrics)
      Names.insert(M.first().str());
  Names.erase("compile_time");
  if (Names.empty())
    return;
  OS << '\n';
  printName(OS, "") << formatv("{0,14} {1,14} {2,14}\n", "good side",
                               "bad side", "without them");
  for (const std::string &Name : Names) {
    printName(OS, Name);
    for (const Judgement *J : {&Out.Good, &Out.Bad, &Out.Healed}) {
      auto It = J->Metrics.find(Name);
      std::string Cell =
          It == J->Metrics.end() ? "-" : formatWithUnit(R, Name, It->second);
      OS << right_justify(Cell, 14) << ' ';
    }
    OS << '\n';
  }
}

static void printEvidence(raw_ostream &OS, const PassEvidence &E) {
  static constexpr size_t MaxLines = 60, MaxRemarks = 10;
  OS << '\n'
     << (E.Number ? "execution " + utostr(E.Number) : "required execution")
     << ", " << (E.IsAssembly ? "assembly" : "IR") << " before and after";
  if (!E.BeforeFile.empty() && !E.AfterFile.empty())
    OS << ": " << E.BeforeFile << ", " << E.AfterFile;
  else if (!E.BeforeFile.empty())
    OS << ": " << E.BeforeFile;
  OS << '\n';
  if (!E.Missing.empty())
    OS << E.Missing << '\n';
  std::vector<StringRef> Lines = splitLines(E.Diff);
  for (StringRef Line : ArrayRef(Lines).take_front(MaxLines))
    OS << Line << '\n';
  if (Lines.size() > MaxLines)
    OS << formatv("... {0} more lines\n", Lines.size() - MaxLines);
  for (StringRef Remark : ArrayRef(E.Remarks).take_front(MaxRemarks))
    OS << "remark: " << Remark << '\n';
  if (E.Remarks.size() > MaxRemarks)
    OS << formatv("... {0} more remarks\n", E.Remarks.size() - MaxRemarks);
}

void mneme::printReport(raw_ostream &OS, const BisectReport &R) {
  const BisectOutcome &Out = R.Outcome;
  printName(OS, "kernel") << R.Kernel << '\n';
  printName(OS, "device") << R.Device << '\n';
  printName(OS, "bisected by")
      << (R.What.isVerify() ? "verify" : R.What.Metric);
  if (!R.What.isVerify())
    OS << format(", worse by more than %g %%", 100 * R.What.Threshold);
  OS << '\n';
  printSide(OS, "good side", Out.Good, R);
  printSide(OS, "bad side", Out.Bad, R);
  if (Out.Random)
    printName(OS, "at random") << formatv(
        "fails in {0:f0} % of replays; good means no failure in {1}\n",
        100 * Out.Rate, Out.Repeats);
  if (!Out.ScheduleReason.empty())
    printName(OS, "schedule")
        << (Out.Schedule.empty() ? "" : Out.Schedule + ": ")
        << Out.ScheduleReason << '\n';
  if (!Out.Settings.empty()) {
    printName(OS, "settings") << formatv("{0} of {1} that differ\n",
                                         Out.Settings.size(), Out.NumSettings);
    for (const BisectSetting &S : Out.Settings) {
      auto [Good, Bad] = printSetting(S);
      OS << formatv("  {0}: good {1}, bad {2}\n", S.Key, Good, Bad);
    }
  }
  if (!Out.HalfReason.empty())
    printName(OS, "half") << (Out.Half == FaultyHalf::Unknown ? "unknown: "
                              : Out.Half == FaultyHalf::Pipeline
                                  ? "the IR passes: "
                                  : "the back end: ")
                          << Out.HalfReason << '\n';
  if (Out.End == BisectOutcome::FoundPasses)
    printFoundPasses(OS, R);
  else if (Out.End == BisectOutcome::FoundMissing)
    printMissing(OS, R);
  else
    printPrefix(OS, Out);
  if (!Out.Reason.empty())
    printName(OS, "found") << Out.Reason << '\n';
  for (const PassExecution &E : Out.Required)
    printName(OS, "required")
        << E.Pass << " on " << E.Unit
        << (Out.WrongStep       ? ": good before it, bad after it"
            : E.Changed == true ? ", which changed something"
                                : ", in which the compilation fails")
        << '\n';
  for (const std::string &Name : Out.Blamed)
    printName(OS, "good without") << Name << '\n';
  if (R.PTX)
    printAnswer(OS, *R.PTX);
  for (const std::string &Note : Out.Notes)
    printName(OS, "note") << Note << '\n';
  printName(OS, "effort") << formatv(
      "{0} steps: {1} compilations, {2} of known code, {3} launched, {4} pairs "
      "timed; {5:f1} s\n",
      Out.Counts.Steps, Out.Counts.Compilations, Out.Counts.Duplicates,
      Out.Counts.Launches, Out.Counts.Rounds, R.Seconds);
  if (Out.End == BisectOutcome::FoundPasses)
    printMetrics(OS, R);
  static constexpr size_t MaxShown = 3;
  for (const PassEvidence &E : ArrayRef(R.Evidence).take_front(MaxShown))
    printEvidence(OS, E);
  printRewriteEvidence(OS, R);
  for (const AliveCheck &C : R.Alive)
    printAlive(OS, C);
  for (const BisectCommand &C : R.Commands) {
    OS << "\n# " << C.What;
    if (C.ExitCode)
      OS << "; exit code " << *C.ExitCode;
    if (C.Value)
      OS << ", " << R.What.Metric << ' '
         << formatWithUnit(R, R.What.Metric, *C.Value);
    if (!C.shows(R.What, Out.Good.Value))
      OS << "; NOT CONFIRMED";
    OS << '\n' << C.Text << '\n';
  }
  if (R.Plain)
    printPlainCommand(OS, *R.Plain);
}
