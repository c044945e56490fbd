//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main function of llvm-mneme-replay: options of a replay, and dispatch to
// the subcommands.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Deploy/JudgeFlags.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/StringSaver.h"

using namespace llvm;
using namespace llvm::mneme;

cl::OptionCategory &mneme::getReplayCategory() {
  static cl::OptionCategory Category("Replay options");
  return Category;
}

static cl::OptionCategory &Category = getReplayCategory();
static cl::OptionCategory &CompilationCat =
    getCategory(OptionGroup::Compilation);
static cl::OptionCategory &DeviceCat = getCategory(OptionGroup::Device);
static cl::OptionCategory &MeasurementCat =
    getCategory(OptionGroup::Measurement);
static cl::OptionCategory &OutputCat = getCategory(OptionGroup::Output);
static cl::OptionCategory &VerificationCat =
    getCategory(OptionGroup::Verification);
static ReplayFlags CommonFlags;

/// Returns the categories of the tool's options.
static std::vector<const cl::OptionCategory *> getToolCategories() {
  std::vector<const cl::OptionCategory *> All = getCategories();
  All.push_back(&Category);
  return All;
}

cl::SubCommand &mneme::getListPassesCommand() {
  static cl::SubCommand Command("list-passes",
                                "List the pass executions of the compilation");
  return Command;
}

// Options without cl::sub() apply to plain replays only.
static const cl::sub OfAll(cl::SubCommand::getAll());

//===----------------------------------------------------------------------===//
// Recordings
//===----------------------------------------------------------------------===//

static cl::list<std::string>
    Positional(cl::Positional, cl::desc("[database] [pipeline]"),
               cl::sub(cl::SubCommand::getTopLevel()),
               cl::sub(getAssessCommand()), cl::sub(getBisectCommand()),
               cl::sub(getCompareCommand()), cl::sub(getGuardCommand()),
               cl::sub(getListPassesCommand()), cl::sub(getReduceCommand()),
               cl::sub(getServeCommand()), cl::sub(getWriteReproducerCommand()),
               cl::cat(Category));
static cl::opt<std::string> Database(
    "rdb",
    cl::desc(
        "Kernel's JSON file, or a folder that holds one (also positional)"),
    cl::value_desc("path"), OfAll, cl::cat(Category));
static cl::opt<std::string>
    RecordId("record-id",
             cl::desc("Dynamic hash of the launch to replay; optional if "
                      "there is only one. serve takes several, separated by "
                      "commas, or all"),
             cl::value_desc("id"), OfAll, cl::cat(Category));
static cl::alias RecordIdShort("rid", cl::desc("Alias for --record-id"),
                               cl::aliasopt(RecordId), cl::cat(Category));
static cl::opt<std::string>
    Config("config",
           cl::desc("Replay the configuration in a file, as llvm-mneme-tune "
                    "writes it; command-line options take precedence"),
           cl::value_desc("file"), OfAll, cl::cat(Category));

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static cl::opt<uint32_t>
    Fill("fill", cl::desc("Initialize local and shared memory with this byte"),
         cl::value_desc("byte"), OfAll, cl::cat(CompilationCat));
static cl::opt<std::string> CompareWithApp(
    "compare-with-app",
    cl::desc("Compare the machine code with that of the application"),
    cl::value_desc("file"), cl::cat(OutputCat));
static cl::opt<std::string> OutputIR("output-ll",
                                     cl::desc("Write the optimized IR"),
                                     cl::value_desc("file"),
                                     cl::cat(OutputCat));
static cl::opt<std::string> OutputAsm("output-asm",
                                      cl::desc("Write the GPU's assembly"),
                                      cl::value_desc("file"),
                                      cl::cat(OutputCat));
static cl::opt<std::string> OutputObject(
    "output-obj",
    cl::desc("Write the GPU's machine code: a cubin or code object"),
    cl::value_desc("file"), cl::cat(OutputCat));
static cl::opt<bool> Resources(
    "resources",
    cl::desc("Also compile for the GPU, and report registers, spills and "
             "memory"),
    cl::sub(cl::SubCommand::getTopLevel()), cl::sub(getBisectCommand()),
    cl::sub(getCompareCommand()), cl::sub(getReduceCommand()),
    cl::sub(getServeCommand()), cl::cat(OutputCat));

//===----------------------------------------------------------------------===//
// Launch and measurement
//===----------------------------------------------------------------------===//

static cl::opt<std::string> Iterations(
    "iterations",
    cl::desc("Number of timed launches; auto launches until the median is "
             "precise. Default: auto on a GPU, 3 on the host"),
    cl::value_desc("n"), OfAll, cl::cat(MeasurementCat));
static cl::opt<unsigned>
    Warmup("warmup",
           cl::desc("Launches between the verified and the timed ones. "
                    "Default: automatic on a GPU, 1 on the host"),
           cl::value_desc("n"), OfAll, cl::cat(MeasurementCat));
static cl::opt<std::string>
    Hot("hot",
        cl::desc("Sample where the launch spends its time, and print the "
                 "instructions of the IR with most samples (default: 10)"),
        cl::value_desc("n"), cl::ValueOptional, cl::cat(MeasurementCat));
static EnumOption<Baseline> Compared(
    "baseline",
    cl::desc("Measure a baseline in alternation with the kernel, "
             "and compare their times"),
    cl::init(Baseline::None),
    cl::values(clEnumValN(Baseline::None, "none", "nothing (default)"),
               clEnumValN(Baseline::Recompiled, "recompiled",
                          "the recorded IR at the application's -O level"),
               clEnumValN(Baseline::App, "app",
                          "the application's own machine code")),
    cl::cat(MeasurementCat));
static cl::opt<std::string>
    App("app",
        cl::desc("The application, for --baseline=app (default: the file of "
                 "--compare-with-app) and for clients of serve"),
        cl::value_desc("file"), cl::sub(cl::SubCommand::getTopLevel()),
        cl::sub(getServeCommand()), cl::cat(MeasurementCat));
static cl::opt<double>
    Timeout("timeout",
            cl::desc("Limit for reading the IR, for each step of the "
                     "compilation and for each launch; 0 for none (default "
                     "300)"),
            cl::value_desc("seconds"), cl::init(300), OfAll, cl::cat(Category));
static cl::opt<double>
    LaunchTimeout("launch-timeout",
                  cl::desc("Limit for each launch; default: --timeout"),
                  cl::value_desc("seconds"), OfAll, cl::cat(Category));
static cl::opt<bool> NoExecute("no-execute",
                               cl::desc("Compile for the GPU only"),
                               cl::sub(cl::SubCommand::getTopLevel()),
                               cl::sub(getBisectCommand()),
                               cl::sub(getGuardCommand()), cl::cat(Category));
static cl::opt<bool>
    NoIsolation("no-isolation",
                cl::desc("Compile and run in this process, for debuggers"),
                OfAll, cl::cat(Category));
static cl::opt<bool>
    ListDevices("list-devices",
                cl::desc("Print the devices of this machine and exit"),
                cl::cat(DeviceCat));

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static cl::opt<bool> NoVerify("no-verify",
                              cl::desc("Do not compare the memory afterwards"),
                              cl::sub(cl::SubCommand::getTopLevel()),
                              cl::sub(getBisectCommand()),
                              cl::cat(VerificationCat));
namespace {
enum class OutputFormat { Default, JSON, Text };
} // namespace
static EnumOption<OutputFormat>
    Format("format",
           cl::desc("Format of the output (default: text on a terminal and for "
                    "list-passes, else json)"),
           cl::init(OutputFormat::Default),
           cl::values(clEnumValN(OutputFormat::JSON, "json", "for programs"),
                      clEnumValN(OutputFormat::Text, "text", "for people")),
           OfAll, cl::cat(OutputCat));

/// Sets \p Out to the option's value if the option was given.
template <typename T, typename U>
static void setIfGiven(T &Out, const cl::opt<U> &O) {
  if (O.getNumOccurrences())
    Out = O.getValue();
}

static Error readIterations(ReplayOptions &O) {
  StringRef Text = Iterations;
  O.Adaptive = Text == "auto";
  if (Text.empty() || O.Adaptive)
    return Error::success();
  unsigned Count;
  if (Text.getAsInteger(10, Count))
    return createStringError(
        formatv("invalid --iterations={0}: must be a number or auto", Text)
            .str());
  O.Iterations = Count;
  return Error::success();
}

static Error readHot(ReplayOptions &O) {
  if (!Hot.getNumOccurrences())
    return Error::success();
  constexpr unsigned Default = 10;
  O.Hot = Default;
  if (!Hot.empty() && (StringRef(Hot).getAsInteger(10, O.Hot) || !O.Hot))
    return createStringError("invalid --hot=" + Hot +
                             ": must be a positive number");
  if (NoExecute)
    return createStringError("--hot and --no-execute are mutually exclusive");
  return Error::success();
}

bool mneme::printsText() {
  return Format == OutputFormat::Default ? outs().is_displayed()
                                         : Format == OutputFormat::Text;
}

bool mneme::printsTextByDefault() { return Format != OutputFormat::JSON; }

bool mneme::allowsPrograms() { return CommonFlags.allowsPrograms(); }

static Error readOptions(ReplayOptions &O) {
  setIfGiven(O.RecordId, RecordId);
  O.CompareWithApp = CompareWithApp;
  O.OutputIR = OutputIR;
  O.OutputAsm = OutputAsm;
  O.OutputObject = OutputObject;
  O.Resources = Resources;
  if (Fill > UINT8_MAX)
    return createStringError(
        formatv("invalid --fill={0}: must be a byte, 0 to 255", Fill.getValue())
            .str());
  setIfGiven(O.Fill, Fill);
  if (Error E = readIterations(O))
    return E;
  setIfGiven(O.Warmup, Warmup);
  if (Error E = readHot(O))
    return E;
  O.Compared = Compared;
  O.App = App;
  if (Compared != Baseline::App && !App.empty() && !getServeCommand())
    return createStringError("--app needs --baseline=app");
  O.Timeout = Timeout;
  setIfGiven(O.LaunchTimeout, LaunchTimeout);
  O.Execute = !NoExecute;
  O.Isolate = !NoIsolation;
  O.Verify = !NoVerify;
  if (Error E = CommonFlags.apply(O))
    return E;
  // The metric of bisect, compare and reduce.
  if (const CounterInfo *C = findCounter(CriterionText))
    O.Counters.add(*C);
  if (NoExecute && !O.Counters.empty())
    return createStringError(
        "counters and --no-execute are mutually exclusive");
  // 0 is valid in a configuration, where it means "as recorded".
  if (CommonFlags.isGiven("maxnreg") && O.MaxRegisters == 0)
    return createStringError("impossible --maxnreg=0");
  return Error::success();
}

/// With compare, two arguments after the database are the sides.
static Error readSides(ArrayRef<std::string> Words) {
  cl::opt<std::string> *Sides[] = {&GoodSide, &BadSide};
  for (auto [Side, Word] : zip_equal(Sides, Words)) {
    if (Side->getNumOccurrences())
      return createStringError(
          formatv("'{0}' and --{1} name the same side: leave one out", Word,
                  Side->ArgStr)
              .str());
    Side->setValue(Word);
  }
  return Error::success();
}

/// Reads positional arguments: the database, unless --rdb gave it, then the
/// pipeline or the two sides of a comparison.
static Error readPositional(std::string &Path, ReplayOptions &O) {
  Path = Database;
  ArrayRef<std::string> Words = Positional;
  if (getCompareCommand() && Words.size() == (Path.empty() ? 3 : 2)) {
    if (Path.empty())
      Path = Words.front();
    return readSides(Words.take_back(2));
  }
  bool HasPasses = CommonFlags.isGiven("passes");
  for (const std::string &Argument : Positional) {
    if (Path.empty())
      Path = Argument;
    else if (sys::fs::exists(Argument))
      return createStringError("expected one recording, got also '" + Argument +
                               "': give the folder and --all to replay all");
    else if (std::exchange(HasPasses, true))
      return createStringError(
          formatv("unexpected argument '{0}'", Argument).str());
    else
      O.Passes = Argument;
  }
  if (Path.empty())
    return createStringError(
        "no recording: give a kernel's JSON file or its folder");
  return Error::success();
}

/// Removes the settings that the command line overrides, and checks the others.
static Error dropOverridden(ConfigFile &File) {
  ReplayOptions Own;
  std::string Database;
  if (Error E = readOptions(Own))
    return E;
  if (Error E = readPositional(Database, Own))
    return E;
  SmallVector<json::Object *, 4> Configs{&File.Config};
  for (auto &[Id, Config] : File.OfLaunches)
    Configs.push_back(&Config);
  for (json::Object *Config : Configs) {
    for (const auto &KV : makeConfig(Own))
      Config->erase(KV.first);
    if (allowsPrograms())
      continue;
    if (Error E = refuseSideEffects(File.Path, findSideEffects(*Config)))
      return E;
  }
  return Error::success();
}

namespace {
/// The requests of the command line and --config.
struct Request {
  std::string Path; ///< Path of the recording.
  ReplayOptions Options;
  std::optional<ConfigFile> File;
};
} // namespace

static Expected<Request> readRequest() {
  Request R;
  if (!Config.empty()) {
    Expected<ConfigFile> Read = readConfigFile(Config);
    if (!Read)
      return Read.takeError();
    R.File = std::move(*Read);
    R.Options.RecordId = R.File->RecordId;
    // As a study without a winner writes it.
    if (R.File->Config.empty())
      printNote("'" + Config.getValue() +
                "' has no settings: the recorded configuration is replayed");
    if (Error E = applyConfig(R.File->configOf(RecordId.getNumOccurrences()
                                                   ? RecordId.getValue()
                                                   : R.File->RecordId),
                              R.Options))
      return createFileError(Config, std::move(E));
  }
  if (Error E = readOptions(R.Options))
    return std::move(E);
  if (R.File)
    if (Error E = CommonFlags.applyFile(R.File->Options, R.Options))
      return createFileError(Config, std::move(E));
  R.Options.Instruments = takeInstruments();
  if (Error E = readPositional(R.Path, R.Options))
    return std::move(E);
  if (R.File)
    if (Error E = dropOverridden(*R.File))
      return std::move(E);
  return std::move(R);
}

static Expected<std::unique_ptr<ReplayPlan>> makePlan(Request R) {
  Expected<std::unique_ptr<ReplayPlan>> Plan =
      ReplayPlan::create(R.Path, std::move(R.Options));
  if (!Plan)
    return Plan;
  if (std::string Text = getFormatWarning((*Plan)->kernel()); !Text.empty())
    printWarning(Text);
  if (R.File)
    if (Error E = checkConfigFile(*R.File, (*Plan)->kernel()))
      return std::move(E);
  return Plan;
}

Expected<int> mneme::runListPasses(const Invocation &I) {
  const ReplayPlan &Plan = *I.Plan;
  PassListOptions O;
  O.Isolate = Plan.options().Isolate;
  O.Limit = Plan.options().Timeout;
  Expected<PassListing> L = listPasses(Plan, O);
  if (!L)
    return L.takeError();
  if (printsTextByDefault())
    printPasses(textOuts(), *L);
  else
    jsonOuts() << formatv(
        "{0:2}\n",
        json::Value(json::Object{{"kernel", Plan.kernel().KernelName},
                                 {"static_hash", Plan.kernel().StaticHash},
                                 {"record_id", Plan.instance().DynamicHash},
                                 {"config", makeConfig(Plan.options())},
                                 {"passes", Plan.compiler().pipeline()},
                                 {"listing", toJSON(*L)}}));
  return L->Failure.empty() && L->Deaths.empty() ? 0 : 2;
}

static Expected<int> print(const ReplayPlan &Plan, const ReplayResult &Result) {
  if (printsText())
    printReport(textOuts(), Plan, Result);
  else
    jsonOuts() << formatv("{0:2}\n", makeReport(Plan, Result));
  return translateExitCode(getExitCode(Plan, Result), Result.V);
}

/// Reports that the source was rejected, which is a verdict like others.
static Expected<int> reportRejected(StringRef Path,
                                    const ReplayOptions &Options,
                                    const SourceError &Rejected) {
  ReplayOptions Recorded = Options;
  Recorded.Source.clear();
  Recorded.Defines.clear();
  Expected<std::unique_ptr<ReplayPlan>> Plan =
      ReplayPlan::create(Path, std::move(Recorded));
  if (!Plan)
    return Plan.takeError();
  Expected<std::unique_ptr<ReplayPlan>> Wanted =
      (*Plan)->vary(Options, /*WillCompile=*/false);
  if (!Wanted)
    return Wanted.takeError();
  ReplayResult R;
  R.V = Verdict::CompileError;
  R.Error = Rejected.Text;
  R.Diagnostics = Rejected.Diagnostics;
  R.StartTime = R.EndTime = epochSeconds();
  return print(**Wanted, R);
}

static Expected<int> runReplay(const ReplayPlan &Plan) {
  ReplayOptions Options = Plan.options();
  Options.TriesGPUCode = Options.Isolate;
  Expected<std::unique_ptr<ReplayPlan>> Trying = Plan.vary(std::move(Options));
  if (!Trying)
    return Trying.takeError();
  Expected<ReplayResult> Result = replay(**Trying);
  if (!Result)
    return Result.takeError();
  if (!Result->GPUFailure.empty())
    printWarning("the GPU's code generator fails for this code, which only the "
                 "host device can run: " +
                 Result->GPUFailure);
  if (!Result->Counters.Problem.empty())
    printNote("not all counters were read: " + Result->Counters.Problem);
  if (Result->Hot && !Result->Hot->Problem.empty())
    printNote("nothing was sampled: " + Result->Hot->Problem);
  else if (Result->Hot &&
           none_of(Result->Hot->Instructions,
                   [](const HotInstruction &I) { return !I.Source.empty(); }))
    printNote("the recorded IR has no debug locations: compile the application "
              "with -gline-tables-only to see source lines");
  if (Result->Power.isVacuous() && Result->verified())
    printWarning(describePower(Result->Power));
  if (Error E = appendToDataset(Plan, *Result))
    return std::move(E);
  return print(Plan, *Result);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static Expected<int> runServeCommand(ToolArgs) {
  if (isServeDescribed())
    return printServeTables();
  Expected<Request> R = readRequest();
  if (!R)
    return R.takeError();
  // Times should reflect the pipelines, as in a study.
  if (!CommonFlags.hasHostFinish())
    R->Options.Host.Finish = HostFinish::None;
  return runServe(R->Path, std::move(R->Options));
}

static Expected<int> runGuardCommand(ToolArgs Args) {
  for (const cl::opt<std::string> *O : {&Config, &RecordId})
    if (O->getNumOccurrences())
      return createStringError("guard replays all launches: leave out --" +
                               O->ArgStr);
  ReplayOptions O;
  if (Error E = readOptions(O))
    return std::move(E);
  std::vector<std::string> Paths(Positional.begin(), Positional.end());
  if (!Database.empty())
    Paths.insert(Paths.begin(), Database);
  return runGuard(Paths, std::move(O), Args);
}

/// Replays the launch, or several.
static Expected<int> runPlain(ToolArgs) {
  if (ListDevices) {
    listDevices(textOuts());
    return 0;
  }
  Expected<Request> R = readRequest();
  if (!R)
    return R.takeError();
  if (isTableWanted()) {
    // Times should reflect the pipelines here, too.
    if (!CommonFlags.hasHostFinish() &&
        !(R->File && R->File->Options.get(HostFinishKey)))
      R->Options.Host.Finish = HostFinish::None;
    return runTable(R->Path, std::move(R->Options), R->File, printsText());
  }
  std::string Path = R->Path;
  ReplayOptions Options = R->Options;
  Expected<std::unique_ptr<ReplayPlan>> Plan = makePlan(std::move(*R));
  if (Plan)
    return runReplay(**Plan);
  std::optional<Expected<int>> Reported;
  if (Error E = handleErrors(Plan.takeError(), [&](const SourceError &S) {
        Reported.emplace(reportRejected(Path, Options, S));
      }))
    return std::move(E);
  return std::move(*Reported);
}

/// Runs a subcommand for one launch and one configuration.
template <Expected<int> (*Run)(const Invocation &)>
static Expected<int> runPlanned(ToolArgs Args) {
  Expected<Request> R = readRequest();
  if (!R)
    return R.takeError();
  if (isCodePrinted() && Format == OutputFormat::JSON)
    return createStringError("--side-by-side prints text: leave out "
                             "--format=json, or write a page with --html");
  if (isTableWanted())
    return createStringError("--passes is given more than once");
  // Its errors say more than those of the plan.
  if (getBisectCommand())
    if (Error E = getJudgeFlags().read(R->Options, Args.front()).takeError())
      return std::move(E);
  Invocation I;
  I.Database = R->Path;
  I.Args = Args;
  if (Error E = makePlan(std::move(*R)).moveInto(I.Plan))
    return std::move(E);
  return Run(I);
}

/// Rejects -O3 and the like, which are options of opt.
static Error refuseLevels(ToolArgs Args) {
  StringRef Before;
  for (StringRef Word : Args.drop_front()) {
    if (Word == "--")
      break;
    const cl::Option *O = cl::getRegisteredOptions().lookup(Before.ltrim('-'));
    Before = Word;
    if (O && O->getValueExpectedFlag() == cl::ValueRequired)
      continue;
    std::string Passes = expandLevel(Word.ltrim('-'));
    if (Word.starts_with("-") && !Passes.empty())
      return createStringError("unknown option '" + Word +
                               "': give --passes='" + Passes + "'");
  }
  return Error::success();
}

/// Replaces response files, which may name a subcommand, and takes the words of
/// the application that judges.
static Error prepare(SmallVectorImpl<const char *> &Args) {
  static BumpPtrAllocator Storage;
  StringSaver Saver(Storage);
  SmallVector<const char *, 0> Expanded;
  if (!cl::expandResponseFiles(Args.size(), Args.data(), /*EnvVar=*/nullptr,
                               Saver, Expanded))
    std::exit(1);
  Args.resize(1);
  append_range(Args, Expanded);
  if (Error E = refuseLevels(Args))
    return E;
  getJudgeFlags().takeCommand(Args);
  return Error::success();
}

int main(int argc, char **argv) {
  showLLVMPrinters();
  collectPipelines();
  const Tool::Command Commands[] = {
      {&getAssessCommand(), runPlanned<runAssess>},
      {&getBisectCommand(), runPlanned<runBisect>},
      {&getCompareCommand(), runPlanned<runCompare>},
      {&getGuardCommand(), runGuardCommand},
      {&getListPassesCommand(), runPlanned<runListPasses>},
      {&getReduceCommand(), runPlanned<runReduce>},
      {&getServeCommand(), runServeCommand},
      {&getWriteReproducerCommand(), runPlanned<runWriteReproducer>},
  };
  Tool T = {"llvm-mneme-replay",
            "Mneme: replay a recorded kernel launch under any pass pipeline\n",
            getHelp()};
  T.Categories = getToolCategories();
  T.CommandCategories = T.Categories;
  T.Commands = Commands;
  T.Run = runPlain;
  T.Prepare = prepare;
  T.GetExitCode = getErrorExitCode;
  return runTool(argc, argv, T);
}
