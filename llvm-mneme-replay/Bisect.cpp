//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm-mneme-replay bisect: finds the cause of a wrong or slow kernel.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "Over.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Bisect/ReplayBisect.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Deploy/JudgeFlags.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory &BisectCat = getCategory(OptionGroup::Comparison);

cl::SubCommand &mneme::getBisectCommand() {
  static cl::SubCommand Command(
      "bisect", "Find the settings and the passes that make a replay worse "
                "than the good side");
  return Command;
}

static cl::opt<std::string>
    GoodTool("good-tool",
             cl::desc("opt, clang, llc or ptxas of the good side, or a folder "
                      "that holds them"),
             cl::value_desc("path"), cl::sub(getBisectCommand()),
             cl::cat(BisectCat));
static cl::opt<std::string> BadTool("bad-tool",
                                    cl::desc("Like --good-tool, for the bad "
                                             "side"),
                                    cl::value_desc("path"),
                                    cl::sub(getBisectCommand()),
                                    cl::cat(BisectCat));
static cl::opt<unsigned>
    MaxSteps("max-steps",
             cl::desc("Limit of steps, after which the best result so far is "
                      "reported (default 2000)"),
             cl::value_desc("n"), cl::init(2000), cl::sub(getBisectCommand()),
             cl::cat(BisectCat));
static EnumOption<BisectDepth>
    Depth("depth",
          cl::desc("How far the search for passes goes (default full)"),
          cl::values(clEnumValN(BisectDepth::First, "first",
                                "the first bad execution, like opt-bisect"),
                     clEnumValN(BisectDepth::Heal, "heal",
                                "the executions without which it is good"),
                     clEnumValN(BisectDepth::Full, "full",
                                "also the executions that make it bad alone")),
          cl::init(BisectDepth::Full), cl::sub(getBisectCommand()),
          cl::cat(BisectCat));
static cl::opt<bool>
    AllowVacuous("allow-vacuous",
                 cl::desc("Allow a launch whose verification an empty kernel "
                          "would pass"),
                 cl::sub(getBisectCommand()), cl::cat(BisectCat));
static cl::opt<bool>
    NoReuse("no-reuse",
            cl::desc("Launch identical code again instead of reusing an "
                     "earlier result, to measure what reuse saves"),
            cl::sub(getBisectCommand()), cl::cat(BisectCat));

static cl::opt<std::string>
    AliveTV("alive-tv",
            cl::desc("Alive2's alive-tv, which checks the IR before and after "
                     "the blamed passes. Default: alive-tv in PATH, if found"),
            cl::value_desc("file"), cl::sub(getBisectCommand()),
            cl::cat(BisectCat));

JudgeFlags &mneme::getJudgeFlags() {
  static JudgeFlags Flags(getBisectCommand(),
                          getCategory(OptionGroup::Verification));
  return Flags;
}
/// Registers the options before the command line is parsed.
static const JudgeFlags &Judging = getJudgeFlags();

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

static Expected<json::Object> readSide(const cl::opt<std::string> &Side,
                                       const cl::opt<std::string> &Tool,
                                       StringRef RecordId) {
  auto Name = [](const cl::opt<std::string> &O, Error E) {
    return createStringError(
        formatv("--{0}: {1}", O.ArgStr, toString(std::move(E))).str());
  };
  Expected<json::Object> Config = parseSide(Side, RecordId, allowsPrograms());
  if (!Config)
    return Name(Side, Config.takeError());
  if (Tool.empty())
    return Config;
  Expected<json::Object> Program = parseTool(Tool);
  if (!Program)
    return Name(Tool, Program.takeError());
  for (const auto &KV : *Program)
    (*Config)[KV.first] = KV.second;
  return Config;
}

static Expected<BisectSides> readBisectSides(StringRef RecordId) {
  BisectSides Sides;
  if (Error E = readSide(BadSide, BadTool, RecordId).moveInto(Sides.Bad))
    return std::move(E);
  if (Error E = readSide(GoodSide, GoodTool, RecordId).moveInto(Sides.Good))
    return std::move(E);
  Sides.GoodIsNoPass = GoodSide.empty() && GoodTool.empty();
  if (!Sides.GoodIsNoPass)
    return Sides;
  Sides.Good = Sides.Bad;
  Sides.Good["run_passes"] = "none";
  return Sides;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Returns true for options that belong to the bisection instead of the replay.
static bool isOfBisection(StringRef Option) {
  static const StringSet<> Names = {CriterionText.ArgStr,
                                    GoodSide.ArgStr,
                                    BadSide.ArgStr,
                                    GoodTool.ArgStr,
                                    BadTool.ArgStr,
                                    "workers",
                                    MaxSteps.ArgStr,
                                    Depth.ArgStr,
                                    NoReuse.ArgStr,
                                    "compile-jobs",
                                    OutputFolder.ArgStr,
                                    "format",
                                    "threshold",
                                    "config",
                                    "rdb",
                                    "record-id",
                                    "rid",
                                    "allow-programs",
                                    AllowVacuous.ArgStr,
                                    "judge-by",
                                    "check",
                                    "output-file",
                                    "app-timeout",
                                    "exit-code",
                                    AliveTV.ArgStr};
  return Names.contains(Option) || is_contained(getOverOptions(), Option) ||
         is_contained(getGuardOptions(), Option);
}

static bool isSubcommand(StringRef Word) {
  return any_of(cl::getRegisteredSubcommands(),
                [&](const cl::SubCommand *S) { return S->getName() == Word; });
}

std::vector<std::string>
mneme::makeCommonWords(ArrayRef<const char *> Arguments, StringRef Database,
                       StringRef RecordId) {
  // A path that cannot be mistaken for an option or a subcommand.
  bool IsPlain = !Database.starts_with("-") && !isSubcommand(Database);
  std::vector<std::string> Words{(IsPlain ? "" : "--rdb=") + Database.str(),
                                 ("--record-id=" + RecordId).str()};
  auto Find = [](StringRef Name) -> const cl::Option * {
    cl::SubCommand *Subs[] = {&getBisectCommand(), &getGuardCommand()};
    for (cl::SubCommand *Sub : Subs)
      if (const cl::Option *O = cl::getRegisteredOptions(*Sub).lookup(Name))
        return O;
    return cl::getRegisteredOptions().lookup(Name);
  };
  for (size_t I = 0; I != Arguments.size(); ++I) {
    StringRef Word = Arguments[I];
    if (Word == "--")
      break;
    if (!Word.starts_with("-"))
      continue; // The database and the pipeline.
    auto [Name, Value] = Word.ltrim('-').split('=');
    const cl::Option *O = Find(Name);
    bool Separate = O && !Word.contains('=') &&
                    O->getValueExpectedFlag() == cl::ValueRequired &&
                    I + 1 != Arguments.size();
    bool IsKept = !isOfBisection(Name) && getOptionKey(Name).empty() &&
                  Name != "host-finish"; // as a setting
    if (IsKept)
      Words.push_back(Word.str());
    if (Separate)
      ++I;
    if (Separate && IsKept)
      Words.push_back(Arguments[I]);
  }
  return Words;
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

static Expected<ReplayBisectOptions> readOptions(const Invocation &I) {
  ReplayBisectOptions O;
  O.Database = I.Database;
  Expected<double> Threshold = readThreshold();
  if (!Threshold)
    return Threshold.takeError();
  if (Error E = Criterion::parse(CriterionText, *Threshold)
                    .moveInto(O.Bisect.Judge.What))
    return std::move(E);
  if (Error E = checkOverOptions())
    return std::move(E);
  if (!isBisectedOverCompilers())
    if (Error E =
            readBisectSides(I.Plan->instance().DynamicHash).moveInto(O.Sides))
      return std::move(E);
  const ReplayOptions &Base = I.Plan->options();
  bool OfCode = needsResources(O.Bisect.Judge.What.Metric);
  if (!Base.Execute && !OfCode)
    return createStringError("--criterion=" + CriterionText +
                             " and --no-execute are mutually exclusive");
  if (!Base.Verify && O.Bisect.Judge.What.isVerify())
    return createStringError(
        "--criterion=verify and --no-verify are mutually exclusive");
  if (Base.RunPasses || Base.SkipPasses)
    return createStringError("bisect selects passes itself: leave out "
                             "--run-passes and --skip-passes");
  if (Error E = readProcessCounts(O.Resources))
    return std::move(E);
  if (MaxSteps == 0)
    return createStringError("impossible --max-steps=0");
  if (Error E = Judging.read(Base, I.Args.front()).moveInto(O.App))
    return std::move(E);
  if (O.App && !O.Bisect.Judge.What.isVerify())
    return createStringError("--criterion=" + CriterionText +
                             " and --judge-by=app are mutually exclusive");
  if (O.App && isBisectedOverCompilers())
    return createStringError("--over and --judge-by=app are mutually "
                             "exclusive");
  O.AllowVacuous = AllowVacuous;
  O.Bisect.MaxSteps = MaxSteps;
  O.Bisect.Depth = Depth;
  O.Bisect.Judge.Reuse = !NoReuse;
  // Their passes may keep state from one compilation to the next.
  O.Bisect.Judge.OwnProcesses = !Base.Plugins.empty();
  // The default limit is meant for hangs; a bisection that waits for it at each
  // step would take too long.
  if (Base.LaunchTimeout || Base.Timeout != ReplayOptions().Timeout)
    O.Bisect.Judge.LaunchTimeout = Base.launchTimeout();
  O.Resources.Devices = {Base.Device};
  O.Resources.CompileTimeout = Base.Timeout;
  O.Resources.Message = [](StringRef Text) { printWarning(Text); };
  O.Output = OutputFolder;
  if (ErrorOr<std::string> Path = sys::findProgramByName(
          AliveTV.empty() ? StringRef("alive-tv") : StringRef(AliveTV)))
    O.AliveTV = *Path;
  if (!AliveTV.empty() && !sys::fs::can_execute(O.AliveTV))
    return createStringError("--alive-tv: '" + AliveTV +
                             "' is not an executable file");
  static int Anchor;
  O.Program = sys::fs::getMainExecutable(I.Args.front(), &Anchor);
  O.CommonWords = makeCommonWords(I.Args.drop_front(), I.Database,
                                  I.Plan->instance().DynamicHash);
  if (OfCode && Base.Execute)
    O.CommonWords.push_back("--no-execute");
  O.Say = [](StringRef Text) {
    errs() << "bisect: " << printableLines(Text) << '\n';
  };
  return std::move(O);
}

Expected<int> mneme::runBisect(const Invocation &I) {
  Expected<ReplayBisectOptions> O = readOptions(I);
  if (!O)
    return O.takeError();
  if (isBisectedOverCompilers())
    return runBisectOver(*I.Plan, *O);
  Expected<BisectReport> R = bisectReplay(*I.Plan, *O);
  if (!R)
    return R.takeError();
  if (printsText())
    printReport(textOuts(), *R);
  else
    jsonOuts() << formatv("{0:2}\n", toJSON(*R));
  bool Found = R->Outcome.found() || (R->PTX && !R->PTX->Instructions.empty());
  return Found && R->isConfirmed() ? 0 : 2;
}
