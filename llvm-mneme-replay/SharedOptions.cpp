//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options that several subcommands share.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Judge.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Reduce/Differential.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Config.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &SharedCat = getCategory(OptionGroup::Comparison);

cl::opt<std::string> mneme::GoodSide(
    "good",
    cl::desc("Good side: options, a pipeline, a compiler's path or a "
             "--config file, applied on top of the command line. Default: "
             "--run-passes=none"),
    cl::value_desc("side"), cl::sub(getBisectCommand()),
    cl::sub(getCompareCommand()), cl::sub(getGuardCommand()),
    cl::sub(getReduceCommand()), cl::sub(getWriteReproducerCommand()),
    cl::cat(SharedCat));
cl::opt<std::string> mneme::CriterionText(
    "criterion",
    cl::desc("Criterion for a bad replay: verify (default), or a metric worse "
             "than the good side's: time, regs, size, spills, ..."),
    cl::value_desc("verify|time|regs|size|spills|METRIC"), cl::init("verify"),
    cl::sub(getBisectCommand()), cl::sub(getCompareCommand()),
    cl::sub(getReduceCommand()), cl::cat(SharedCat));
static cl::opt<std::string> ThresholdText(
    "threshold",
    cl::desc("Smallest difference from the good side that counts as bad, for "
             "all metrics but verify (default: 2%)"),
    cl::value_desc("share"), cl::init("2%"), cl::sub(getBisectCommand()),
    cl::sub(getCompareCommand()), cl::sub(getGuardCommand()),
    cl::sub(getReduceCommand()), cl::cat(SharedCat));
static cl::opt<std::string>
    VerdictText("verdict",
                cl::desc("Verdict that the bad side must get. Default: "
                         "Mismatch, Crash or Timeout"),
                cl::value_desc("verdict"), cl::sub(getCompareCommand()),
                cl::sub(getReduceCommand()),
                cl::sub(getWriteReproducerCommand()), cl::cat(SharedCat));
cl::opt<std::string> mneme::Culprit(
    "culprit",
    cl::desc("Pass executions without which the bad side must be good, in "
             "the syntax of --skip-passes"),
    cl::value_desc("set"), cl::sub(getCompareCommand()),
    cl::sub(getReduceCommand()), cl::sub(getWriteReproducerCommand()),
    cl::cat(SharedCat));
cl::opt<std::string> mneme::CrossChecks(
    "cross-checks",
    cl::desc("Variations under which the good side must be unchanged: fill0, "
             "fill255, no-passes, O1, finish (default: all), or none"),
    cl::value_desc("list"), cl::sub(getCompareCommand()),
    cl::sub(getReduceCommand()), cl::sub(getWriteReproducerCommand()),
    cl::cat(SharedCat));
cl::opt<std::string>
    mneme::OutputFolder("output", cl::desc("Folder for a report"),
                        cl::value_desc("dir"), cl::sub(getBisectCommand()),
                        cl::sub(getGuardCommand()), cl::sub(getReduceCommand()),
                        cl::sub(getWriteReproducerCommand()),
                        cl::cat(SharedCat));
cl::opt<std::string> mneme::BadSide(
    "bad",
    cl::desc("Bad side, in the forms of --good. Default: the command line"),
    cl::value_desc("side"), cl::sub(getBisectCommand()),
    cl::sub(getCompareCommand()), cl::sub(getGuardCommand()),
    cl::cat(SharedCat));
static cl::opt<unsigned>
    Workers("workers",
            cl::desc("Processes that run kernels on the host device and share "
                     "its cores (default 1)"),
            cl::value_desc("n"), cl::init(1), cl::sub(getBisectCommand()),
            cl::sub(getGuardCommand()), cl::sub(getServeCommand()),
            cl::cat(SharedCat));
static cl::opt<unsigned>
    CompileJobs("compile-jobs",
                cl::desc("Compile processes. Default: all cores but one per "
                         "device"),
                cl::value_desc("n"), cl::sub(getBisectCommand()),
                cl::sub(getGuardCommand()), cl::sub(getServeCommand()),
                cl::cat(SharedCat));

Error mneme::readProcessCounts(FarmResources &R) {
  if (Workers == 0)
    return createStringError("impossible --workers=0");
  if (CompileJobs.getNumOccurrences() && CompileJobs == 0)
    return createStringError("impossible --compile-jobs=0");
  R.HostWorkers = Workers;
  if (CompileJobs.getNumOccurrences())
    R.CompileJobs = CompileJobs;
  return Error::success();
}

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

Expected<ReplayOptions> mneme::makeSide(const cl::opt<std::string> &Side,
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

Expected<DifferentialOptions> mneme::readDifference(const ReplayPlan &Plan,
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
