//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a self-contained page. Tables and charts are generated here; a small
// script sorts tables and shows details. The page also has the numbers as JSON.
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "ReportParts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Report/Summary.h"
#include "llvm/Mneme/Samplers/Sampler.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class Report {
public:
  Report(const StudyRecord &R, raw_ostream &OS)
      : R(R), O(R.Outcome), Winner(R.winner()), OS(OS),
        Metric(R.Space.study().Objectives[0].Metric),
        Importance(computeImportance(R.Space, R.Trials)) {}

  void write();

private:
  void writeHead();
  void writeVerdict();
  void writeHistory();
  std::string describeCanaries() const;
  void writeRetest();
  void writeDistribution();
  void writeImportance();
  void writeChoices();
  void writeWinner();
  void writeCommands();
  void writeExplanation();
  void writeResources();
  void writeInstructions();
  void writeOccupancy();
  void writeRoofline();
  void writeInstances();
  void writeFailures();
  void writeDuplicates();
  void writeFarm();
  void writeTrials();
  void writeStudy();
  void writeData();

  // Elements. These functions escape their text.
  void begin(StringRef Title, StringRef Id) {
    OS << "<section id=\"" << Id << "\">\n<h2>" << escapeHTML(Title)
       << "</h2>\n";
  }
  void end() { OS << "</section>\n"; }
  void paragraph(const Twine &Text, StringRef Class = "note") {
    OS << "<p class=\"" << Class << "\">" << escapeHTML(Text.str())
       << "</p>\n";
  }
  void fact(StringRef Name, const Twine &Value) {
    OS << "<div><dt>" << escapeHTML(Name) << "</dt><dd>"
       << escapeHTML(Value.str()) << "</dd></div>\n";
  }
  void beginTable(ArrayRef<StringRef> Heads) {
    OS << "<table>\n<tr>";
    for (StringRef H : Heads)
      OS << "<th>" << escapeHTML(H) << "</th>";
    OS << "</tr>\n";
  }
  void cell(const Twine &Text, StringRef Class = "") {
    OS << "<td" << (Class.empty() ? "" : " class=\"") << Class
       << (Class.empty() ? "" : "\"") << '>' << escapeHTML(Text.str())
       << "</td>";
  }
  void code(StringRef Text) {
    OS << "<td><code>" << escapeHTML(Text) << "</code></td>";
  }
  void endTable() { OS << "</table>\n"; }

  /// Returns true if a canary is off.
  bool hasNoise() const {
    return any_of(R.Trials, [](const Trial &T) {
      return T.Kind == TrialKind::Canary && isOff(T);
    });
  }
  std::string describeBaseline() const {
    return O.AppCode ? "the application's own code" : "the baseline";
  }
  json::Object winnerConfig() const {
    return Winner ? json::Object(Winner->Config) : json::Object();
  }

  const StudyRecord &R;
  const StudyOutcome &O;
  const Trial *Winner;
  raw_ostream &OS;
  std::string Metric; ///< Metric of the first objective.
  std::vector<ParameterImportance> Importance;
};
} // namespace

static std::string print(const json::Value &V) {
  if (std::optional<StringRef> Text = V.getAsString())
    return Text->str();
  return formatv("{0}", V).str();
}

static std::string print(const json::Object &O) {
  return formatv("{0}", json::Value(json::Object(O))).str();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void Report::writeHead() {
  StringRef Name = R.DemangledName.empty() ? R.Kernel : R.DemangledName;
  beginPage(OS, Name);
  std::map<std::string, std::string> Sorted;
  for (const auto &[Key, V] : R.Toolchain)
    if (V.kind() != json::Value::Null)
      Sorted[StringRef(Key).str()] = print(V);
  std::string Line = R.Device;
  for (const auto &[Key, V] : Sorted)
    Line += (Line.empty() ? "" : " · ") + Key + " " + V;
  paragraph(Line);
  paragraph("study " + Twine(R.Name));
  OS << "</header>\n";
}

void Report::writeVerdict() {
  const std::optional<RetestedTrial> &C = O.Final.Confirmed;
  bool Multi = R.Space.study().Objectives.size() > 1;
  OS << "<section id=\"verdict\" class=\"verdict" << (Winner ? " win" : "")
     << "\">\n";
  auto Say = [&](const Twine &Large, const Twine &Small) {
    OS << "<strong>" << escapeHTML(Large.str()) << "</strong>\n";
    paragraph(Small);
  };
  unsigned Rounds = O.Final.Rounds * FinalTestResult::ConfirmFactor;
  std::string Pairs = (Twine(Rounds) + " fresh pairs").str();
  std::string OtherCache = describeOtherCache(O.Final);
  if (!OtherCache.empty())
    OtherCache = " W" + OtherCache.substr(1) + ".";
  if (O.Final.isSignificant())
    Say(formatv("{0:f3} times as fast", C->Speedup.Value),
        "than " + describeBaseline() +
            formatv(": 95 % interval {0:f3} to {1:f3}, ", C->Speedup.Low,
                    C->Speedup.High)
                .str() +
            "confirmed in " + Pairs + " side by side. The search estimated " +
            formatNumber(C->RawSpeedup) + "." + OtherCache);
  else if (C && C->Failure.empty())
    Say(getComparisonText(O.Final.compare(*C)),
        "The best trial of the search was measured again beside " +
            describeBaseline() + " in " + Pairs + ": " +
            formatRatio(C->Speedup) +
            " times as fast. The search estimated " +
            formatNumber(C->RawSpeedup) + ".");
  else if (!O.Final.Candidates.empty())
    Say("nothing better was found",
        "No candidate of " + Twine(O.Final.Candidates.size()) +
            " was significantly faster than " + describeBaseline() +
            " in the re-test.");
  else if (Winner)
    Say("best " + Metric + ": " +
            formatMetric(Metric,
                         Winner->Values.empty() ? 0 : Winner->Values[0]),
        Multi ? "One of the Pareto-optimal configurations."
              : "As measured in the search.");
  else
    Say("nothing was re-tested", "Of the search: " + describeUntested(R) + ".");

  for (const std::string &Text : R.Caveats)
    paragraph("Caveat: " + Text + ".", "caveat");
  OS << "<dl class=\"facts\">\n";
  // Times measured hours apart are not comparable.
  bool InPairs = Metric == "time" && C && C->Failure.empty();
  if (InPairs)
    fact("baseline time", formatMetric(Metric, C->BaselineNanoseconds));
  else if (!O.Instances.empty())
    if (auto It = O.Instances[0].Metrics.find(Metric);
        It != O.Instances[0].Metrics.end())
      fact("baseline " + Metric, formatMetric(Metric, It->second));
  if (Winner) {
    if (InPairs)
      fact("best time", formatMetric(Metric, C->Nanoseconds));
    else if (!Winner->Values.empty())
      fact("best " + Metric, formatMetric(Metric, Winner->Values[0]));
    fact("trial", Twine(Winner->Number));
  }
  if (!R.Verification.Text.empty())
    fact("verification", R.Verification.Text);
  if (!R.Verification.Envelope.empty())
    fact("envelope", R.Verification.Envelope);
  if (!R.Verification.Bound.empty())
    fact("bound", R.Verification.Bound);
  fact("trials", Twine(O.Complete + O.Pruned + O.Failed));
  fact("stopped early", Twine(O.Pruned));
  fact("failed", Twine(O.Failed));
  fact("equal code", Twine(O.Duplicates));
  fact("search", formatMetric("compile_time", O.SearchSeconds));
  if (uint64_t Own = O.Complete + O.Pruned + O.Failed - O.Resumed;
      Own && O.SearchSeconds > 0)
    fact("trials a second", formatNumber(Own / O.SearchSeconds));
  fact("sampler", R.Sampler + ", seed " + Twine(R.Seed));
  fact("end", getStudyEndName(O.End));
  OS << "</dl>\n";
  if (std::string Text = describeExhaustion(R); !Text.empty())
    paragraph("Note: " + Text + ".");
  for (const std::string &Note : O.Notes)
    paragraph("Note: " + Note);
  if (!O.EndReason.empty())
    paragraph(O.EndReason);
  end();
}

void Report::writeHistory() {
  begin("History", "history");
  drawHistory(OS, R);
  if (std::string Text = describeCanaries(); !Text.empty())
    paragraph(Text, hasNoise() ? "caveat" : "note");
  end();
  if (R.Space.study().Objectives.size() < 2)
    return;
  begin("Objectives", "objectives");
  drawFront(OS, R);
  end();
}

/// Describes the noise that the canaries show; empty if there were none.
std::string Report::describeCanaries() const {
  uint64_t Off = 0, Count = 0, Suspects = 0;
  std::vector<double> Ratios;
  for (const Trial &T : R.Trials) {
    Suspects += T.Suspect && T.Kind != TrialKind::Canary;
    if (T.Kind != TrialKind::Canary || T.State == TrialState::Running)
      continue;
    ++Count;
    Off += isOff(T);
    if (T.BaselineNanoseconds && !T.Samples.empty())
      Ratios.push_back(summarize(T.Samples).Median / T.BaselineNanoseconds);
  }
  // With several launches, canaries are measured, but not judged.
  if (!Count || O.Instances.size() > 1)
    return "";
  std::string Range;
  if (!Ratios.empty())
    Range = formatv(" They took {0:f3} to {1:f3} times the baseline's time.",
                    *min_element(Ratios), *max_element(Ratios))
                .str();
  if (!Off)
    return formatv("Canaries: {0}, none of which failed or differs from the "
                   "baseline by more than three standard deviations.{1}",
                   Count, Range)
        .str();
  return formatv("Warning: noise. {0} of {1} canaries failed or differ from "
                 "the baseline by more than three standard deviations.{2} "
                 "Trials that were measured around them are suspect ({3}) and "
                 "win only if the re-test confirms them; small differences "
                 "between other trials may be "
                 "noise, too.",
                 Off, Count, Range, Suspects)
      .str();
}

void Report::writeDistribution() {
  const std::optional<RetestedTrial> &C = O.Final.Confirmed;
  std::vector<SampleSet> Sets;
  bool InPairs = C && !C->Samples.empty() && !C->BaselineSamples.empty();
  if (InPairs)
    Sets = {{"baseline", "reference", C->BaselineSamples},
            {"trial " + std::to_string(C->Number), "winner", C->Samples}};
  else if (Winner && !Winner->Samples.empty() && !O.Instances.empty() &&
           !O.Instances[0].Samples.empty())
    Sets = {
        {"baseline", "reference", O.Instances[0].Samples},
        {"trial " + std::to_string(Winner->Number), "winner", Winner->Samples}};
  else
    return;
  begin("Distribution of times", "distribution");
  drawDistribution(OS, Sets);
  paragraph(Twine(InPairs ? "Samples of the re-test, measured in pairs"
                          : "Samples of the search, measured at different "
                            "times") +
            (O.Instances.size() > 1 ? ", of launch " + O.Instances[0].Id
                                    : std::string()) +
            ". In parentheses: the 95 % interval of the median. Samples far "
            "slower than most lie at the right edge.");
  end();
}

void Report::writeRetest() {
  if (O.Final.Candidates.empty())
    return;
  begin("Re-test of the best", "retest");
  beginTable({"trial", "search estimate", "re-test", "result", "configuration"});
  for (const RetestedTrial &T : O.Final.Candidates) {
    OS << "<tr data-trial=\"" << T.Number << "\">";
    cell(Twine(T.Number), "n");
    cell(formatNumber(T.RawSpeedup), "n");
    if (T.Failure.empty()) {
      cell(formatRatio(T.Speedup));
      Comparison C = O.Final.compare(T);
      cell(getComparisonText(C), C == Comparison::Faster   ? "good"
                                 : C == Comparison::Slower ? "bad"
                                                           : "");
    } else {
      cell("");
      cell(T.Failure.str() + ": " + T.Error, "bad");
    }
    code(print(T.config()));
    OS << "</tr>\n";
  }
  endTable();
  paragraph(formatv("{0} of {1} are significantly faster than {2}: the 95 % "
                    "interval is above 1, and the speed-up at least {3} %. "
                    "Speed-ups are measured in turns with it.{4}",
                    O.Final.countSurvivors(), O.Final.Candidates.size(),
                    describeBaseline(), formatNumber(100 * O.Final.MinEffect),
                    O.Final.isSignificant()
                        ? " The re-test selects the winner; its speed-up is "
                          "the confirmed one above, from fresh pairs."
                        : "")
                .str());
  end();
}

//===----------------------------------------------------------------------===//
// Explanation
//===----------------------------------------------------------------------===//

void Report::writeImportance() {
  begin("What matters", "importance");
  if (Importance.empty()) {
    paragraph("Too few trials were measured, or no parameter has an effect "
              "that can be distinguished from chance.");
    return end();
  }
  std::vector<std::pair<std::string, double>> Shares;
  for (const ParameterImportance &P : Importance)
    Shares.emplace_back(P.Name, P.Share);
  drawBars(OS, Shares);
  paragraph("How much each parameter helps a random forest to separate the "
            "better half of the trials from the other half.");
  end();
}

void Report::writeChoices() {
  begin("Choices", "choices");
  drawParallelCoordinates(OS, R, Importance);
  end();
}

void Report::writeWinner() {
  if (!Winner)
    return;
  begin("The best configuration", "best");
  OS << "<pre>"
     << escapeHTML(formatv("{0:2}", json::Value(winnerConfig())).str())
     << "</pre>\n";
  std::optional<StringRef> Passes = Winner->Config.getString("passes");
  if (Passes && !R.RecordedPipeline.empty()) {
    OS << "<h3>Pipeline: <del>recorded</del> and <ins>best</ins></h3>\n";
    writeWordDiff(OS, R.RecordedPipeline, *Passes);
  }
  writeCommands();
  end();
}

void Report::writeCommands() {
  if (R.ReplayCommand.empty())
    return;
  OS << "<h3>Replay it</h3>\n<pre>" << escapeHTML(R.ReplayCommand)
     << "</pre>\n";
  paragraph("Without best.json:");
  OS << "<pre>" << escapeHTML(R.FullReplayCommand) << "</pre>\n";
  paragraph("From the folder in which the study was started.");
}

void Report::writeExplanation() {
  if (!O.Why)
    return;
  const Explanation &E = *O.Why;
  begin("The smallest sufficient change", "explanation");
  beginTable({"key", "in the best", "in the smallest change"});
  for (const ExplainedChange &C : E.Changes) {
    OS << "<tr>";
    cell(C.From.empty() ? C.Key : C.Key + " (from " + join(C.From, ", ") + ")");
    code(print(C.Found));
    code(print(C.Minimal));
    OS << "</tr>\n";
  }
  endTable();
  std::string Text =
      formatv("Keeps {0:f0} % of the win", E.Kept * 100).str();
  if (E.Speedup)
    Text += ": " + formatRatio(*E.Speedup) +
            " times as fast as the baseline, in pairs of its own";
  Text += formatv(". {0} configurations were tried, {1} of them with new code.",
                  E.Evaluations, E.Measured)
              .str();
  if (!E.Complete)
    Text += " The search for it ended early: a smaller change may exist.";
  paragraph(Text);
  if (!E.Dropped.empty())
    paragraph("Does not matter: " + join(E.Dropped, ", ") + ".");
  if (!E.Counters.empty())
    paragraph("Hardware counters that changed by more than the noise: " +
              join(map_range(E.Counters, formatCounterChange), ", ") + ".");
  end();
}

void Report::writeResources() {
  if (!Winner || O.Instances.empty())
    return;
  StringMap<double> Before = O.Instances[0].Metrics;
  StringMap<double> After = Winner->Metrics;
  if (const auto &C = O.Final.Confirmed; C && C->Failure.empty()) {
    Before["time"] = C->BaselineNanoseconds;
    After["time"] = C->Nanoseconds;
  }
  begin("Before and after", "resources");
  beginTable({"", "baseline", "best", "", ""});
  auto WriteRow = [&](StringRef Name, StringRef Description) {
    auto B = Before.find(Name), A = After.find(Name);
    if (B == Before.end() || A == After.end())
      return;
    auto [Change, Class] = describeChange(Name, B->second, A->second);
    OS << "<tr>";
    cell(Name);
    cell(formatMetric(Name, B->second), "n");
    cell(formatMetric(Name, A->second), "n");
    cell(Change, Class.empty() ? "n" : "n " + Class);
    cell(Description);
    OS << "</tr>\n";
  };
  for (const MetricInfo &M : getMetricInfos())
    WriteRow(M.Name, M.Description);
  endTable();
  writeInstructions();
  end();
}

void Report::writeInstructions() {
  if (R.BaselineInstructions.empty() || R.BestInstructions.empty())
    return;
  OS << "<h3>Machine instructions</h3>\n";
  std::map<std::string, std::pair<uint64_t, uint64_t>> Rows;
  for (const auto &[Name, Count] : R.BaselineInstructions)
    Rows[Name].first = Count;
  for (const auto &[Name, Count] : R.BestInstructions)
    Rows[Name].second = Count;
  beginTable({"", "baseline", "best"});
  for (const auto &[Name, Counts] : Rows) {
    OS << "<tr>";
    cell(Name);
    cell(Twine(Counts.first), "n");
    cell(Twine(Counts.second), "n");
    OS << "</tr>\n";
  }
  endTable();
}

void Report::writeOccupancy() {
  std::string Chart;
  raw_string_ostream Out(Chart);
  if (!drawOccupancy(Out, R))
    return;
  begin("Occupancy and block size", "occupancy");
  OS << Chart;
  paragraph(
      "Theoretical occupancy of a multiprocessor. The area of a dot grows "
      "with the number of trials; the green dot contains the winner.");
  end();
}

void Report::writeRoofline() {
  std::string Chart;
  raw_string_ostream Out(Chart);
  if (!drawRoofline(Out, R))
    return;
  begin("Roofline", "roofline");
  OS << Chart;
  paragraph("The recorded code's operations of the kind that could limit it "
            "most, by the bytes that the launch has to move. Lines are "
            "measured peaks; the distance to them is what is left to win.");
  end();
}

void Report::writeInstances() {
  if (O.Regrets.empty())
    return;
  begin("Recorded launches", "instances");
  beginTable({"record", "weight", "best trial for it", "its re-test",
              "re-test of the common winner", "regret"});
  for (const InstanceRegret &G : O.Regrets) {
    const InstanceOutcome &I = O.Instances[G.Instance];
    OS << "<tr data-trial=\"" << G.BestTrial << "\">";
    cell(I.Id);
    cell(formatv("{0:f0} %", I.Weight * 100).str(), "n");
    cell(Twine(G.BestTrial), "n");
    cell(formatNumber(G.BestSpeedup), "n");
    cell(formatNumber(G.CommonSpeedup), "n");
    cell(formatv("{0:f1} %", G.regret() * 100).str(), "n");
    OS << "</tr>\n";
  }
  endTable();
  end();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

void Report::writeFailures() {
  std::map<std::string, std::pair<uint64_t, const Trial *>> Kinds;
  for (const Trial &T : R.Trials)
    if (T.State == TrialState::Failed) {
      auto &[Count, Example] = Kinds[T.Failure.str()];
      ++Count;
      if (!Example)
        Example = &T;
    }
  begin("Failures", "failures");
  if (Kinds.empty()) {
    paragraph("None.");
    return end();
  }
  beginTable({"kind", "trials", "for example", ""});
  for (const auto &[Kind, Entry] : Kinds) {
    OS << "<tr data-trial=\"" << Entry.second->Number << "\">";
    cell(Kind, "bad");
    cell(Twine(Entry.first), "n");
    cell("trial " + Twine(Entry.second->Number));
    code(Entry.second->Error);
    OS << "</tr>\n";
  }
  endTable();
  end();
}

void Report::writeDuplicates() {
  static constexpr std::pair<Duplicate, StringLiteral> Levels[] = {
      {Duplicate::Config, "the same configuration"},
      {Duplicate::IR, "the same IR after the pipeline"},
      {Duplicate::Assembly, "the same assembly"},
      {Duplicate::Code, "the same machine code"}};
  begin("Equal code", "duplicates");
  beginTable({"found by", "trials", ""});
  for (auto [Level, Text] : Levels) {
    OS << "<tr>";
    cell(getDuplicateName(Level));
    cell(Twine(count_if(R.Trials,
                        [L = Level](const Trial &T) {
                          return T.DuplicateKind == L;
                        })),
         "n");
    cell(Text);
    OS << "</tr>\n";
  }
  endTable();
  paragraph("Such trials have the measurement of the earlier one.");
  end();
}

/// Describes the work of a farm; keys as in FarmStatistics (Farm/Farm.h).
static std::string describeFarm(const json::Object &Farm) {
  auto Get = [&](StringRef Key) {
    return static_cast<uint64_t>(Farm.getInteger(Key).value_or(0));
  };
  std::string Text =
      formatv("{0} of {1} ended. The farm started {2}, which took {3} in all "
              "compile processes, and launched, verified and measured {4}.",
              Get("results"),
              formatCount(Get("requests"), "requested evaluation"),
              formatCount(Get("compiles"), "compilation"),
              formatMetric("compile_time",
                           Farm.getNumber("compile_seconds").value_or(0)),
              formatCount(Get("runs"), "kernel"))
          .str();
  if (uint64_t Reused = Get("reused"))
    Text +=
        formatv(" {0} needed no launch, as the result for the same code was "
                "known.",
                formatCount(Reused, "evaluation"))
            .str();
  SmallVector<std::string> Known;
  for (auto [Key, What] :
       {std::pair("same_config", "configuration"), std::pair("same_ir", "IR"),
        std::pair("same_assembly", "assembly"),
        std::pair("same_code", "machine code")})
    if (uint64_t N = Get(Key))
      Known.push_back(formatv("{0} by {1}", N, What).str());
  if (!Known.empty())
    Text += " Known code was not generated again (" + join(Known, ", ") +
            "), canaries and re-tests included.";
  uint64_t Compilers = Get("compiler_deaths"), Runners = Get("runner_deaths");
  if (Compilers || Runners)
    Text += formatv(" {0} and {1} died or were killed; {2} requeued.",
                    formatCount(Compilers, "compile process"),
                    formatCount(Runners, "run process"),
                    formatCount(Get("requeued"), "job") +
                        (Get("requeued") == 1 ? " was" : " were"))
                .str();
  if (uint64_t Starts = Get("starts"))
    Text +=
        formatv(" {0} of the farm received {1} and sent {2}.",
                formatCount(Starts, "process"), formatBytes(Get("bytes_sent")),
                formatBytes(Get("bytes_received")))
            .str();
  return Text;
}

void Report::writeFarm() {
  if (R.Farm.empty())
    return;
  begin("The farm", "farm");
  paragraph(describeFarm(R.Farm), "text");
  const json::Array *Runners = R.Farm.getArray("runners");
  if (!Runners || Runners->empty())
    return end();
  beginTable({"device", "jobs", "busy", "available", "idle"});
  for (const json::Value &V : *Runners) {
    const json::Object *Runner = V.getAsObject();
    if (!Runner)
      continue;
    auto Get = [&](StringRef Key) {
      return Runner->getNumber(Key).value_or(0);
    };
    OS << "<tr>";
    cell(Runner->getString("name").value_or(""));
    cell(formatNumber(Get("runs")), "n");
    cell(formatMetric("compile_time", Get("busy_seconds")), "n");
    cell(formatMetric("compile_time", Get("open_seconds")), "n");
    cell(formatv("{0:f0} %", Get("idle_share") * 100).str(), "n");
    OS << "</tr>\n";
  }
  endTable();
  end();
}

void Report::writeTrials() {
  ArrayRef<Objective> Objectives = R.Space.study().Objectives;
  begin("All trials", "all");
  paragraph("Click a heading to sort, or a trial for all its values.");
  OS << "<div id=\"trials\"><table class=\"sortable\">\n<thead><tr>"
        "<th data-sort=\"number\" class=\"n\">trial</th>"
        "<th data-sort=\"text\">state</th>";
  for (const Objective &Obj : Objectives)
    OS << "<th data-sort=\"number\" class=\"n\">" << escapeHTML(Obj.Metric)
       << "</th>";
  OS << "<th data-sort=\"number\" class=\"n\">search estimate</th>"
        "<th data-sort=\"text\">equal code</th>"
        "<th data-sort=\"number\" class=\"n\">compile</th>";
  for (const Parameter &P : R.Space.study().Parameters)
    OS << "<th data-sort=\"" << (P.Kind == Parameter::Int ||
                                         P.Kind == Parameter::Real
                                     ? "number"
                                     : "text")
       << "\">" << escapeHTML(P.Name) << "</th>";
  OS << "</tr></thead>\n<tbody>\n";
  auto Number = [&](double V, const Twine &Text) {
    OS << "<td class=\"n\" data-value=\"" << json::Value(V) << "\">"
       << escapeHTML(Text.str()) << "</td>";
  };
  for (const Trial &T : R.Trials) {
    if (T.State == TrialState::Running)
      continue;
    OS << "<tr data-trial=\"" << T.Number << "\">";
    cell(Twine(T.Number), "n");
    std::string State =
        T.Failure.empty() ? getTrialStateName(T.State).str() : T.Failure.str();
    if (T.Kind != TrialKind::Search)
      State += (" (" + getTrialKindName(T.Kind) + ")").str();
    if (T.Suspect)
      State += " (suspect)";
    cell(State, T.State == TrialState::Failed ? "bad" : "");
    for (auto [I, Obj] : enumerate(Objectives))
      if (I < T.Values.size())
        Number(T.Values[I], formatMetric(Obj.Metric, T.Values[I]));
      else
        cell("");
    auto Time = T.Metrics.find("time");
    if (T.BaselineNanoseconds && Time != T.Metrics.end() && Time->second)
      Number(T.BaselineNanoseconds / Time->second,
             formatv("{0:f3}", T.BaselineNanoseconds / Time->second).str());
    else
      cell("");
    cell(T.DuplicateKind == Duplicate::None
             ? std::string()
             : (getDuplicateName(T.DuplicateKind) +
                (T.DuplicateOf ? " of " + Twine(*T.DuplicateOf) : Twine()))
                   .str());
    Number(T.CompileSeconds, formatMetric("compile_time", T.CompileSeconds));
    StringMap<Value> Values = R.Space.values(T.P);
    for (const Parameter &P : R.Space.study().Parameters) {
      auto It = Values.find(P.Name);
      std::string Text =
          It == Values.end() ? std::string() : print(toJSON(It->second));
      if (Text.size() <= 48) {
        cell(Text);
        continue;
      }
      OS << "<td title=\"" << escapeHTML(Text) << "\">"
         << escapeHTML(StringRef(Text).take_front(46)) << "…</td>";
    }
    OS << "</tr>\n";
  }
  OS << "</tbody></table></div>\n<pre id=\"detail\"></pre>\n";
  end();
}

void Report::writeStudy() {
  if (R.StudyText.empty())
    return;
  begin("The study", "text");
  OS << "<details><summary>as text</summary><pre>" << escapeHTML(R.StudyText)
     << "</pre></details>\n";
  end();
}

/// Returns a trial's data for the JSON in the page, similar to a journal's.
static json::Object makeTrialData(const Trial &T) {
  json::Object Metrics;
  for (const auto &[Name, V] : T.Metrics)
    Metrics[Name.str()] = V;
  json::Object O{{"number", T.Number},
                 {"kind", getTrialKindName(T.Kind)},
                 {"state", getTrialStateName(T.State)},
                 {"config", json::Object(T.Config)}};
  if (!T.Metrics.empty())
    O["metrics"] = std::move(Metrics);
  if (!T.Failure.empty())
    O["failure"] = T.Failure.name();
  if (!T.Error.empty())
    O["error"] = json::fixUTF8(T.Error);
  if (!T.CodeHash.empty())
    O["code_hash"] = T.CodeHash;
  if (!T.Worker.empty())
    O["worker"] = json::fixUTF8(T.Worker);
  if (!T.Samples.empty())
    O["samples_ns"] = json::Array(T.Samples);
  return O;
}

void Report::writeData() {
  json::Array Trials;
  for (const Trial &T : R.Trials)
    if (T.State != TrialState::Running)
      Trials.push_back(makeTrialData(T));
  json::Array Shares;
  for (const ParameterImportance &P : Importance)
    Shares.push_back(json::Object{{"name", P.Name}, {"share", P.Share}});
  std::string Text = print(json::Object{{"best", makeBest(R)},
                                        {"outcome", toJSON(O)},
                                        {"importance", std::move(Shares)},
                                        {"trials", std::move(Trials)}});
  // The text must neither end the element nor begin a comment.
  OS << "<script type=\"application/json\" id=\"study\">";
  for (char C : Text)
    if (C == '<')
      OS << "\\u003c";
    else
      OS << C;
  OS << "</script>\n<script>" << ReportScript << "</script>\n";
}

void Report::write() {
  writeHead();
  writeVerdict();
  writeHistory();
  writeRetest();
  writeDistribution();
  writeWinner();
  writeExplanation();
  writeResources();
  writeOccupancy();
  writeRoofline();
  writeImportance();
  writeChoices();
  writeInstances();
  writeFailures();
  writeDuplicates();
  writeFarm();
  writeTrials();
  writeStudy();
  writeData();
  OS << "</body>\n</html>\n";
}

Error mneme::writeReport(const StudyRecord &R, StringRef Path) {
  return writeFileAtomically(Path, [&](raw_ostream &OS) {
    Report(R, OS).write();
    return Error::success();
  });
}
