//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay compare and reduce: compares two sides, and reduces a
// kernel while they still differ.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Judge.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Reduce/Reducer.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &ReduceCat = getCategory(OptionGroup::Comparison);

cl::SubCommand &mneme::getCompareCommand() {
  static cl::SubCommand Command(
      "compare", "Compare a replay with the good side instead of with the "
                 "recorded launch");
  return Command;
}

cl::SubCommand &mneme::getReduceCommand() {
  static cl::SubCommand Command(
      "reduce", "Reduce the kernel while the two sides still differ");
  return Command;
}

cl::opt<std::string> mneme::GoodSide(
    "good",
    cl::desc("Good side: options, a pipeline or a --config file, applied on "
             "top of the command line. Default: --run-passes=none"),
    cl::value_desc("side"), cl::sub(getBisectCommand()),
    cl::sub(getCompareCommand()), cl::sub(getReduceCommand()),
    cl::cat(ReduceCat));
cl::opt<std::string> mneme::CriterionText(
    "criterion",
    cl::desc("Criterion for a bad replay: verify (default), or a metric worse "
             "than the good side's: time, regs, size, spills, ..."),
    cl::value_desc("verify|time|regs|size|spills|METRIC"), cl::init("verify"),
    cl::sub(getBisectCommand()), cl::sub(getCompareCommand()),
    cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<std::string> ThresholdText(
    "threshold",
    cl::desc("Smallest difference from the good side that counts as bad, for "
             "all metrics but verify (default: 2%)"),
    cl::value_desc("share"), cl::init("2%"), cl::sub(getBisectCommand()),
    cl::sub(getCompareCommand()), cl::sub(getReduceCommand()),
    cl::cat(ReduceCat));
static cl::opt<std::string>
    VerdictText("verdict",
                cl::desc("Verdict that the bad side must get. Default: "
                         "Mismatch, Crash or Timeout"),
                cl::value_desc("verdict"), cl::sub(getCompareCommand()),
                cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<std::string> Culprit(
    "culprit",
    cl::desc("Pass executions without which the bad side must be good, in "
             "the syntax of --skip-passes"),
    cl::value_desc("set"), cl::sub(getCompareCommand()),
    cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<std::string> CrossChecks(
    "cross-checks",
    cl::desc("Variations under which the good side must be unchanged: fill0, "
             "fill255, no-passes, O1, finish (default: all), or none"),
    cl::value_desc("list"), cl::sub(getCompareCommand()),
    cl::sub(getReduceCommand()), cl::cat(ReduceCat));
cl::opt<std::string>
    mneme::OutputFolder("output", cl::desc("Folder for a report"),
                        cl::value_desc("dir"), cl::sub(getBisectCommand()),
                        cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<std::string> LLVMReduce(
    "llvm-reduce", cl::desc("llvm-reduce program. Default: that of this LLVM"),
    cl::value_desc("file"), cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<unsigned>
    Jobs("jobs",
         cl::desc("Parallel tests. Default: one per core, one for a GPU and "
                  "for times"),
         cl::value_desc("n"), cl::sub(getReduceCommand()), cl::cat(ReduceCat));
static cl::opt<double>
    Limit("limit",
          cl::desc("Time limit in seconds; the report is then of the smallest "
                   "kernel found so far (default: no limit)"),
          cl::value_desc("seconds"), cl::sub(getReduceCommand()),
          cl::cat(ReduceCat));

namespace {
enum class ExitCodes { Default, Interesting, Bisect };
} // namespace
static EnumOption<ExitCodes> ExitCode(
    "exit-code", cl::desc("Meaning of exit codes"),
    cl::init(ExitCodes::Default),
    cl::values(clEnumValN(ExitCodes::Default, "default",
                          "0 good, 2 bad, 3 undecided, 1 error (default)"),
               clEnumValN(ExitCodes::Interesting, "interesting",
                          "for llvm-reduce: 0 bad, 1 anything else"),
               clEnumValN(ExitCodes::Bisect, "bisect",
                          "for git bisect run: 0 good, 1 bad, 125 undecided")),
    cl::sub(cl::SubCommand::getTopLevel()), cl::sub(getCompareCommand()),
    cl::cat(ReduceCat));

//===----------------------------------------------------------------------===//
// Exit codes
//===----------------------------------------------------------------------===//

static int makeExitCode(Difference D) {
  switch (ExitCode) {
  case ExitCodes::Default:
    return D == Difference::None ? 0 : D == Difference::Present ? 2 : 3;
  case ExitCodes::Interesting:
    return D == Difference::Present ? 0 : 1;
  case ExitCodes::Bisect:
    return D == Difference::None ? 0 : D == Difference::Present ? 1 : 125;
  }
  llvm_unreachable("unknown meaning of exit codes");
}

int mneme::translateExitCode(int Code, Verdict V) {
  if (ExitCode == ExitCodes::Default)
    return Code;
  bool CannotTell = V == Verdict::CompileError || V == Verdict::Unsupported;
  return makeExitCode(Code == 0    ? Difference::None
                      : CannotTell ? Difference::Untestable
                                   : Difference::Present);
}

int mneme::getErrorExitCode() {
  return ExitCode == ExitCodes::Bisect ? 125 : 1;
}

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

Expected<double> mneme::readThreshold() {
  StringRef Text = ThresholdText;
  bool Percent = Text.consume_back("%");
  double Value;
  if (Text.trim().getAsDouble(Value) || !(Value >= 0) || !std::isfinite(Value))
    return createStringError("invalid --threshold=" + ThresholdText +
                             ": must be a share like 2% or 0.02");
  return Percent ? Value / 100 : Value;
}

/// Returns true if both sides share the setting \p Key: the kernel and, in a
/// reduction, its launch and the host's own pipeline.
static bool isCommon(StringRef Key) {
  return Key == "ir" || (getReduceCommand() &&
                         (Key.starts_with("grid.") ||
                          Key.starts_with("block.") || Key == HostFinishKey));
}

static Expected<ReplayOptions> makeSide(const cl::opt<std::string> &Side,
                                        StringRef RecordId,
                                        ReplayOptions Base) {
  Expected<json::Object> Config = parseSide(Side, RecordId, allowsPrograms());
  if (!Config)
    return Config.takeError();
  for (auto &[Key, Value] : *Config)
    if (isCommon(Key))
      return createStringError("--" + Side.ArgStr +
                               ": both sides have the same '" +
                               makeOptions(json::Object{{Key, Value}}).front() +
                               "': give it on the command line");
  if (Error E = applySide(*Config, Base))
    return std::move(E);
  return Base;
}

/// \p Bad is the plan of the bad side, \p Base the options of the command line.
static Expected<ReplayOptions> makeGoodSide(const ReplayPlan &Bad,
                                            const ReplayOptions &Base) {
  if (!GoodSide.empty())
    return makeSide(GoodSide, Bad.instance().DynamicHash, Base);
  ReplayOptions Good = Bad.options();
  Good.RunPasses = "none";
  return Good;
}

static Error readVerdict(std::optional<Verdict> &Out) {
  if (VerdictText.empty())
    return Error::success();
  Out = parseVerdict(VerdictText);
  if (Out)
    return Error::success();
  return createStringError("unknown verdict in --verdict=" + VerdictText);
}

/// \p Plan is that of the bad side, \p Base the options of the command line.
static Expected<DifferentialOptions> readDifference(const ReplayPlan &Plan,
                                                    const ReplayOptions &Base) {
  DifferentialOptions D;
  D.Resources = Base.Resources;
  if (Error E = readThreshold().moveInto(D.Threshold))
    return std::move(E);
  Expected<Criterion> What = Criterion::parse(CriterionText, D.Threshold);
  if (!What)
    return What.takeError();
  if (!What->isVerify())
    D.By = What->Metric;
  if (Error E = makeGoodSide(Plan, Base).moveInto(D.Good))
    return std::move(E);
  if (Culprit.getNumOccurrences()) {
    if (Error E = PassSet::parse(Culprit).takeError())
      return createStringError("--culprit: " + toString(std::move(E)));
    D.Cured = Plan.options();
    D.Cured->SkipPasses = Culprit;
  }
  if (Error E = readVerdict(D.Expected))
    return std::move(E);
  if (CrossChecks.getNumOccurrences())
    if (Error E = parseCrossChecks(CrossChecks).moveInto(D.Checks))
      return std::move(E);
  return D;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static json::Value makeReport(const DifferentialResult &R) {
  json::Object O{{"difference", getDifferenceName(R.D)},
                 {"reason", R.Reason},
                 {"good", R.GoodValue},
                 {"bad", R.BadValue},
                 {"ratio", nullptr}};
  if (R.Ratio)
    O["ratio"] = toArray(*R.Ratio);
  return O;
}

Expected<int> mneme::runCompare(const ReplayPlan &Plan, bool Text) {
  std::unique_ptr<ReplayPlan> Good, Bad;
  Expected<ReplayOptions> BadOptions =
      makeSide(BadSide, Plan.instance().DynamicHash, Plan.options());
  if (!BadOptions)
    return BadOptions.takeError();
  if (Error E = Plan.vary(std::move(*BadOptions)).moveInto(Bad))
    return std::move(E);
  Expected<DifferentialOptions> D = readDifference(*Bad, Plan.options());
  if (!D)
    return D.takeError();
  if (Error E = Plan.vary(D->Good).moveInto(Good))
    return std::move(E);
  D->Resources |= isCodeShown() && canBuildImage(*Bad);
  Expected<DifferentialResult> R = CrossChecks.getNumOccurrences()
                                       ? compareSides(*Bad, *D)
                                       : compareWithRecorded(*Bad, *D);
  if (!R)
    return R.takeError();
  if (Text)
    textOuts() << "difference      " << getDifferenceName(R->D)
               << "\nreason          " << R->Reason << '\n';
  else
    jsonOuts() << formatv("{0:2}\n", ::makeReport(*R));
  if (isCodeShown())
    if (Error E = showCode(*Good, *Bad, *R))
      return std::move(E);
  return makeExitCode(R->D);
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

static json::Value toJSON(const ReducedSize &S) {
  auto Dim = [](const Dim3 &D) { return json::Array{D.X, D.Y, D.Z}; };
  return json::Object{{"kernel_instructions", S.KernelInstructions},
                      {"instructions", S.Instructions},
                      {"functions", S.Functions},
                      {"grid", Dim(S.Grid)},
                      {"block", Dim(S.Block)},
                      {"buffers", S.Regions},
                      {"buffer_bytes", S.RegionBytes},
                      {"stored_bytes", S.StoredBytes}};
}

static void printOutcome(const ReduceOutcome &Outcome, bool Text) {
  const ReducedSize &A = Outcome.Before, &B = Outcome.After;
  if (!Text) {
    json::Array Notes;
    for (const std::string &Note : Outcome.Notes)
      Notes.push_back(Note);
    jsonOuts() << formatv(
        "{0:2}\n",
        json::Value(json::Object{{"output", OutputFolder.getValue()},
                                 {"difference", makeReport(Outcome.Difference)},
                                 {"before", toJSON(A)},
                                 {"after", toJSON(B)},
                                 {"tests", Outcome.Tests},
                                 {"seconds", Outcome.Seconds},
                                 {"notes", std::move(Notes)}}));
    return;
  }
  textOuts() << "report          " << OutputFolder << "\ndifference      "
             << Outcome.Difference.Reason
             << formatv(
                    "\ninstructions    {0} -> {1} in the kernel, {2} -> {3} in "
                    "all\nthreads         {4} -> {5}\nmemory          {6} -> "
                    "{7} bytes, {8} -> {9} in pages that are not zero\n"
                    "tests           {10} in "
                    "{11:f1} s\n",
                    A.KernelInstructions, B.KernelInstructions, A.Instructions,
                    B.Instructions, A.Grid.count() * A.Block.count(),
                    B.Grid.count() * B.Block.count(), A.RegionBytes,
                    B.RegionBytes, A.StoredBytes, B.StoredBytes, Outcome.Tests,
                    Outcome.Seconds);
  for (const std::string &Note : Outcome.Notes)
    textOuts() << "note            " << Note << '\n';
}

/// Replaces numbers in \p Text, the value of --culprit, by names, because
/// numbers change with the IR.
static Expected<std::string> namePasses(const ReplayPlan &Plan,
                                        StringRef Text) {
  Expected<PassSet> Set = PassSet::parse(Text);
  if (!Set)
    return Set.takeError();
  // Numbers refer to a compilation in which all passes run.
  ReplayOptions All = Plan.options();
  All.RunPasses.reset();
  All.SkipPasses.reset();
  Expected<std::unique_ptr<ReplayPlan>> Numbered = Plan.vary(std::move(All));
  if (!Numbered)
    return Numbered.takeError();
  PassListOptions Wanted;
  Wanted.Details = false;
  Wanted.Limit = Plan.options().Timeout;
  Expected<PassListing> Listing = listPasses(**Numbered, Wanted);
  if (!Listing)
    return Listing.takeError();
  if (Error E = PassSelection{std::nullopt, *Set}.check(*Listing)) {
    std::string Reason = toString(std::move(E));
    return createStringError(
        "--culprit" + StringRef(Reason).substr(StringRef(Reason).find(':')));
  }
  if (!Set->hasNumbers())
    return Text.str();
  std::vector<std::string> Names;
  for (const PassExecution &E : Listing->Executions)
    if (E.Number && (Set->contains(E.Number) || Set->names(E)))
      Names.push_back(E.spec());
  if (Names.empty())
    return createStringError("no pass execution matches '" + Text + "'");
  return join(Names, ",");
}

/// Rejects numbers in --run-passes and --skip-passes: replacing them would take
/// too many names.
static Error checkPassNames(const ReplayOptions &O) {
  for (const std::optional<std::string> &Text : {O.RunPasses, O.SkipPasses}) {
    if (!Text)
      continue;
    Expected<PassSet> Set = PassSet::parse(*Text);
    if (!Set)
      return Set.takeError();
    if (Set->hasNumbers())
      return createStringError(
          "reduction renumbers pass executions: give names instead of '" +
          *Text + "', such as gvn@kernel#2");
  }
  return Error::success();
}

Expected<int> mneme::runReduce(const ReplayPlan &Plan, const char *Argv0,
                               bool Text) {
  if (OutputFolder.empty())
    return createStringError("reduce needs a folder for its report: --output");
  ReduceOptions O;
  Expected<DifferentialOptions> D = readDifference(Plan, Plan.options());
  if (!D)
    return D.takeError();
  O.Difference = std::move(*D);
  O.Output = OutputFolder;
  O.LLVMReduce = LLVMReduce;
  if (Culprit.getNumOccurrences())
    if (Error E = namePasses(Plan, Culprit).moveInto(O.Culprit))
      return std::move(E);
  if (Error E = checkPassNames(Plan.options()))
    return std::move(E);
  if (Error E = checkPassNames(O.Difference.Good))
    return std::move(E);
  O.Tool = sys::fs::getMainExecutable(
      Argv0, reinterpret_cast<void *>(&mneme::runReduce));
  // Measurements must not run concurrently.
  StringRef Device = Plan.options().Device;
  bool Alone = (Device == "auto" ? chooseDevice(Plan) : Device) != "host" ||
               CriterionText == "time";
  O.Jobs = Jobs    ? Jobs.getValue()
           : Alone ? 1
                   : std::max(std::thread::hardware_concurrency(), 1u);
  if (Jobs.getNumOccurrences() && Jobs == 0)
    return createStringError("impossible --jobs=0");
  if (Limit.getNumOccurrences() && !(Limit > 0))
    return createStringError(
        formatv("impossible --limit={0}", Limit.getValue()).str());
  O.Limit = Limit;
  O.Say = [](StringRef Line) {
    errs() << "reduce: " << printableLines(Line) << '\n';
  };
  Expected<ReduceOutcome> Outcome = reduce(Plan, std::move(O));
  if (!Outcome)
    return Outcome.takeError();
  printOutcome(*Outcome, Text);
  return 0;
}
