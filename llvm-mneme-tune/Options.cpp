//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/JudgeFlags.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/StudyLog/WarmStart.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory Cat("Tuning options");
static cl::OptionCategory SpaceCat("Search space options");
static cl::OptionCategory RetestCat("Re-test options");
static cl::OptionCategory WorkerCat("Worker options");
static cl::OptionCategory &OutputCat = getCategory(OptionGroup::Output);
static cl::OptionCategory &VerificationCat =
    getCategory(OptionGroup::Verification);

//===----------------------------------------------------------------------===//
// Recordings
//===----------------------------------------------------------------------===//

static cl::list<std::string> Positional(cl::Positional, cl::desc("[database]"),
                                        cl::cat(Cat));
static cl::opt<std::string> Database(
    "rdb",
    cl::desc(
        "Kernel's JSON file, or a folder that holds one (also positional)"),
    cl::value_desc("path"), cl::cat(Cat));
static cl::list<std::string>
    RecordIds("record-id", cl::CommaSeparated,
              cl::desc("Dynamic hash of a launch to tune for; repeat to tune "
                       "for several together; optional if there is only one"),
              cl::value_desc("id"), cl::cat(Cat));
static cl::alias RecordIdShort("rid", cl::desc("Alias for --record-id"),
                               cl::aliasopt(RecordIds), cl::cat(Cat));
static cl::opt<bool>
    AllInstances("all-instances",
                 cl::desc("Tune for all recorded launches of the kernel"),
                 cl::cat(Cat));
static cl::opt<bool> AllKernels(
    "all-kernels",
    cl::desc("Tune all kernels of the recording, each for all its launches, "
             "and write one package. --budget is for everything. With an "
             "application after '--': record it, if no recording is given, and "
             "prove the package on it"),
    cl::cat(Cat));
static cl::list<std::string>
    Weights("weight", cl::CommaSeparated,
            cl::desc("Weight of a launch when tuning for several. Default: "
                     "how often the application launched it"),
            cl::value_desc("id:weight"), cl::cat(Cat));

//===----------------------------------------------------------------------===//
// Search space
//===----------------------------------------------------------------------===//

static cl::opt<std::string>
    PresetName("preset",
               cl::desc("Built-in search space (--list-presets), which other "
                        "options modify. Default: standard, unless another "
                        "option defines the space"),
               cl::value_desc("name"), cl::cat(SpaceCat));
static cl::opt<std::string>
    StudyFile("study",
              cl::desc("File with the search space, in the dialect "
                       "mneme"),
              cl::value_desc("file.mlir"), cl::cat(SpaceCat));

namespace {
/// An option of a search space. All of them accept repetition, so that a single
/// place rejects repetition where it is not allowed.
struct SpaceFlag {
  StringRef Name;
  std::unique_ptr<cl::list<std::string>> Values;
};
} // namespace

static std::vector<SpaceFlag> &getSpaceFlags() {
  static std::vector<SpaceFlag> Flags;
  return Flags;
}

static ReplayFlags *CommonFlags;
static JudgeFlags *Judging;

void mneme::takeApplication(SmallVectorImpl<const char *> &Arguments) {
  Judging->takeCommand(Arguments, AllKernels.ArgStr);
}

std::vector<const cl::OptionCategory *> mneme::registerOptions() {
  static ReplayFlags Flags(/*OfStudy=*/true);
  CommonFlags = &Flags;
  static JudgeFlags Judge(cl::SubCommand::getTopLevel(), VerificationCat);
  Judging = &Judge;
  for (const SpaceOptionInfo &O : getSpaceOptions())
    getSpaceFlags().push_back(
        {O.Name, std::make_unique<cl::list<std::string>>(
                     O.Name, cl::desc(O.Help), cl::value_desc("space"),
                     cl::cat(SpaceCat))});
  std::vector<const cl::OptionCategory *> Shown = getCategories();
  Shown.insert(Shown.end(), {&Cat, &SpaceCat, &RetestCat, &WorkerCat});
  return Shown;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

static cl::opt<std::string>
    SamplerName("sampler", cl::desc("Search strategy (--list-samplers)"),
                cl::value_desc("name"), cl::init("lfbo"), cl::cat(Cat));
static cl::opt<uint64_t>
    Seed("seed", cl::desc("Seed of the sampler's random numbers (default 0)"),
         cl::value_desc("n"), cl::cat(Cat));
static cl::list<std::string> WarmFrom(
    "warm-from",
    cl::desc("Also begin with the fastest configurations of the earlier "
             "studies in this folder: of the same kernel, and of similar "
             "ones; repeatable"),
    cl::value_desc("folder"), cl::cat(Cat));
static cl::opt<std::string> StudyStore(
    "study-store",
    cl::desc("Folder that remembers finished studies, to begin with their "
             "fastest configurations (default: MNEME_STUDY_STORE, or "
             "~/.local/state/mneme/studies), or off"),
    cl::value_desc("folder|off"), cl::cat(Cat));
static cl::opt<uint64_t>
    Trials("trials",
           cl::desc("Number of configurations to try. Default: 200, unless "
                    "--budget or --until-exhausted is given"),
           cl::value_desc("n"), cl::cat(Cat));
static cl::opt<double> Budget("budget",
                              cl::desc("Time limit of the run in seconds: "
                                       "baseline, search, re-test and "
                                       "explanation"),
                              cl::value_desc("seconds"), cl::cat(Cat));
static cl::opt<bool>
    UntilExhausted("until-exhausted",
                   cl::desc("Search until no configuration is left"),
                   cl::cat(Cat));
static cl::opt<std::string> App(
    "app",
    cl::desc("The application; its own machine code is the baseline on a GPU. "
             "Default: the image of a kernel whose IR was registered, else the "
             "recorded IR at the application's -O level"),
    cl::value_desc("file"), cl::cat(RetestCat));
static cl::opt<unsigned>
    Retest("retest",
           cl::desc("Number of best configurations to re-test (default 5); "
                    "0: none, and no winner"),
           cl::value_desc("n"), cl::init(5), cl::cat(RetestCat));
static cl::opt<unsigned>
    Pairs("pairs",
          cl::desc("Pairs of measurements with the baseline per re-test "
                   "(default 30)"),
          cl::value_desc("n"), cl::init(30), cl::cat(RetestCat));
static cl::opt<double>
    MinEffect("min-effect",
              cl::desc("Minimum speed-up of a winner in percent (default 0.5)"),
              cl::value_desc("percent"), cl::init(0.5), cl::cat(RetestCat));
static cl::opt<double>
    SolStop("sol-stop",
            cl::desc("Share of the bound in the best trial's time that ends "
                     "the search (default 0.95 if the bound is measured on the "
                     "device that runs trials, else 0); 0: never"),
            cl::value_desc("share"), cl::cat(Cat));
static EnumOption<OnOff>
    Explain("explain",
            cl::desc("Find the smallest change that is as fast as the winner"),
            cl::init(OnOff::On), makeOnOffValues(), cl::cat(RetestCat));
static EnumOption<OnOff> Assess(
    "assess",
    cl::desc("Plant faults in the recorded kernel before the search, and "
             "report how many verification catches"),
    cl::init(OnOff::On), makeOnOffValues(), cl::cat(VerificationCat));
static cl::opt<bool> AllowVacuous(
    "allow-vacuous",
    cl::desc("Also tune for launches whose verification an empty kernel "
             "would pass"),
    cl::cat(VerificationCat));
static cl::opt<unsigned>
    ExplainLimit("explain-limit",
                 cl::desc("Number of configurations to try for --explain "
                          "(default 200)"),
                 cl::value_desc("n"), cl::init(200), cl::cat(RetestCat));
static cl::opt<bool>
    Resources("resources",
              cl::desc("On the host device, also compile for the GPU, and "
                       "report registers, spills and memory"),
              cl::cat(OutputCat));

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

static cl::opt<unsigned>
    HostWorkers("workers",
                cl::desc("Processes that run kernels on the host device and "
                         "share its cores (default 1); each GPU has one"),
                cl::value_desc("n"), cl::init(1), cl::cat(WorkerCat));
static cl::opt<unsigned>
    CompileJobs("compile-jobs",
                cl::desc("Compile processes. Default: all cores but one per "
                         "device"),
                cl::value_desc("n"), cl::cat(WorkerCat));
static cl::opt<double>
    CompileTimeout("compile-timeout",
                   cl::desc("Time limit for compiling a candidate (default "
                            "60); 0: none"),
                   cl::value_desc("seconds"), cl::init(60), cl::cat(WorkerCat));
static cl::opt<double>
    LaunchTimeout("launch-timeout",
                  cl::desc("Time limit for a launch. Default: ten times the "
                           "baseline's, at least 2 s"),
                  cl::value_desc("seconds"), cl::cat(WorkerCat));
static cl::opt<uint64_t>
    CompileMemory("compile-memory",
                  cl::desc("Memory limit of a compile process; 0: none. "
                           "Default: an equal share of the machine's memory"),
                  cl::value_desc("MiB"), cl::cat(WorkerCat));
static cl::list<std::string>
    Hosts("hosts", cl::CommaSeparated,
          cl::desc("Additional hosts that evaluate candidates, each with one "
                   "worker, or with N"),
          cl::value_desc("name[*N]"), cl::cat(WorkerCat));
static cl::opt<std::string> WorkerLauncher(
    "launcher",
    cl::desc("Command that starts a worker on {host}, quoted as in a response "
             "file. {command} is replaced by the worker's command, quoted for "
             "a shell; without it, the worker's command is appended. Default: "
             "'ssh -o BatchMode=yes {host}'"),
    cl::value_desc("command"), cl::cat(WorkerCat));
static cl::opt<std::string>
    WorkerTool("worker-tool",
               cl::desc("Path of llvm-mneme-tune on the hosts. Default: the "
                        "path of this one"),
               cl::value_desc("path"), cl::cat(WorkerCat));
static cl::opt<std::string>
    WorkerFlags("worker-options",
                cl::desc("Options of workers, quoted as in a response file: "
                         "'--device=cuda:0 --compile-jobs=8'"),
                cl::value_desc("options"), cl::cat(WorkerCat));
static cl::opt<std::string> Engine(
    "engine",
    cl::desc("Evaluate on a cluster of this engine, through the Python "
             "package llvm-mneme: ray or dask. On this machine then only "
             "with --device"),
    cl::value_desc("ray|dask"), cl::cat(WorkerCat));
static cl::opt<std::string> EngineFlags(
    "engine-options",
    cl::desc("Options of the engine, quoted as in a response file: "
             "--address=ADDRESS, --nodes=N (default: all). --worker-options has "
             "those of the nodes"),
    cl::value_desc("options"), cl::cat(WorkerCat));
static cl::opt<std::string> Worker(
    "worker",
    cl::desc("'-': evaluate for the study that started this process, over "
             "standard input and output"),
    cl::value_desc("-"), cl::cat(WorkerCat));
static cl::opt<std::string>
    WorkerShare("worker-share",
                cl::desc("Use the GPU share of worker I (from 0) of N on this "
                         "host"),
                cl::value_desc("I/N"), cl::cat(WorkerCat));
static cl::opt<double>
    WorkerTimeout("worker-timeout",
                  cl::desc("Drop a worker after this many seconds of silence "
                           "(default 60); in a worker: exit after this many "
                           "seconds of silence from the study (default 600)"),
                  cl::value_desc("seconds"), cl::cat(WorkerCat));

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static cl::opt<std::string>
    ResultsDir("results-dir",
               cl::desc("Folder of the results. Default: "
                        "mneme-study.<kernel>"),
               cl::value_desc("folder"), cl::cat(OutputCat));
static cl::alias ResultsDirShort("o", cl::desc("Alias for --results-dir"),
                                 cl::aliasopt(ResultsDir), cl::cat(OutputCat));
static cl::opt<bool> Resume("resume",
                            cl::desc("Resume the study in the results folder"),
                            cl::cat(OutputCat));
static cl::opt<bool>
    Repair("repair",
           cl::desc("With --resume, drop damaged lines of the journal; the old "
                    "journal is kept as study.log.damaged"),
           cl::cat(OutputCat));
static cl::list<std::string>
    Exports("export",
            cl::desc("Also write the study in this format (--list-exports)"),
            cl::value_desc("format[:file]"), cl::cat(OutputCat));
static cl::opt<std::string>
    Scope("scope",
          cl::desc("Launches that an exported package serves: recorded (with "
                   "the recorded grid and block, default), or kernel (all for "
                   "which the code is correct)"),
          cl::value_desc("recorded|kernel"), cl::init("recorded"),
          cl::cat(OutputCat));
static cl::opt<std::string> LaunchShape(
    "launch-shape",
    cl::desc("Changed launches in an exported package: proven correct for all "
             "data (default), verified for the recorded shape and scalars, or "
             "unproven"),
    cl::value_desc("proven|verified|unproven"), cl::init("proven"),
    cl::cat(OutputCat));
static cl::opt<std::string>
    Code("code",
         cl::desc("Other sources in an exported package: proven to mean the "
                  "same, tested on launches that were made for it, verified "
                  "for launches like the recorded one (default), or unproven"),
         cl::value_desc("proven|tested|verified|unproven"), cl::init("verified"), cl::cat(OutputCat));
static cl::opt<std::string>
    Accept("accept",
           cl::desc("Most lenient comparison of the results in an exported "
                    "package: exact (default), tolerance, envelope or "
                    "unordered"),
           cl::value_desc("exact|tolerance|envelope|unordered"),
           cl::cat(OutputCat));
static cl::opt<std::string> DeviceMatch(
    "device-match",
    cl::desc("GPUs that an exported package serves: those with the name of "
             "the measured one (default), or all that its code runs on"),
    cl::value_desc("name|arch"), cl::init("name"), cl::cat(OutputCat));
static cl::opt<bool> Report("report", cl::desc("Write report.html (default)"),
                            cl::init(true), cl::cat(OutputCat));
static cl::opt<bool> Quiet("quiet", cl::desc("Print no progress"),
                           cl::cat(OutputCat));
enum class OutputFormat { Text, JSON };
static EnumOption<OutputFormat> Format(
    "format", cl::desc("Format of the result"), cl::init(OutputFormat::Text),
    cl::values(clEnumValN(OutputFormat::Text, "text", "for people (default)"),
               clEnumValN(OutputFormat::JSON, "json", "for programs")),
    cl::cat(OutputCat));
static EnumOption<TuneMode> Mode(
    cl::desc("Instead of tuning:"), cl::init(TuneMode::Run),
    cl::values(
        clEnumValN(TuneMode::PrintStudy, "print-study",
                   "print the search space as a file for --study"),
        clEnumValN(TuneMode::PrintSpace, "print-space",
                   "print the dimensions and the number of points"),
        clEnumValN(TuneMode::DryRun, "dry-run",
                   "check everything and print the first configurations"),
        clEnumValN(TuneMode::ListSamplers, "list-samplers",
                   "print the samplers"),
        clEnumValN(TuneMode::ListPresets, "list-presets", "print the presets"),
        clEnumValN(TuneMode::ListExports, "list-exports",
                   "print the formats of --export"),
        clEnumValN(TuneMode::ListDevices, "list-devices",
                   "print the devices of this machine")),
    cl::cat(Cat));

//===----------------------------------------------------------------------===//
// Reading the options
//===----------------------------------------------------------------------===//

static Error readWeights(TuneOptions &O) {
  for (const std::string &Text : Weights) {
    auto [Id, Number] = StringRef(Text).rsplit(':');
    double Weight = 0;
    if (Id.empty() || Number.getAsDouble(Weight) || !(Weight > 0))
      return createStringError(
          formatv("invalid --weight={0}: must be id:weight", Text).str());
    O.InstanceWeights[Id] = Weight;
  }
  return Error::success();
}

static Error readPositional(TuneOptions &O) {
  O.Database = Database;
  for (const std::string &Argument : Positional) {
    if (!O.Database.empty())
      return createStringError((sys::fs::exists(Argument)
                                    ? "expected one recording, got also '"
                                    : "unexpected argument '") +
                               Argument + "'");
    O.Database = Argument;
  }
  bool NeedsNone = O.Mode >= TuneMode::ListSamplers ||
                   O.Mode == TuneMode::Worker || O.Mode == TuneMode::PrintStudy;
  if (O.Database.empty() && !NeedsNone && !O.Application)
    return createStringError(
        "no recording: give a kernel's JSON file or its folder");
  return Error::success();
}

static void readSpace(TuneOptions &O) {
  O.Preset = PresetName;
  O.StudyFile = StudyFile;
  for (const SpaceFlag &Flag : getSpaceFlags())
    for (const std::string &Text : *Flag.Values)
      O.Space.push_back({Flag.Name.str(), Text});
}

/// Returns the options that this study shares with its workers: plugins and
/// programs.
static std::vector<std::string> getSharedOptions(const ReplayOptions &R) {
  std::vector<std::string> Options;
  for (const std::string &Plugin : R.Plugins)
    Options.push_back("--load-pass-plugin=" + Plugin);
  json::Object Programs;
  for (const auto &KV : makeConfig(R))
    if (const SettingInfo *S = findSetting(KV.first);
        S && S->Reach == SettingReach::RunsPrograms)
      Programs[KV.first] = KV.second;
  append_range(Options, makeOptions(Programs));
  return Options;
}

static Error readWorkers(TuneOptions &O) {
  if (!Worker.empty() && Worker != "-")
    return createStringError(
        formatv("invalid --worker={0}: expected '-'; workers are started by "
                "the study, see --hosts and --launcher",
                Worker.getValue())
            .str());
  if (WorkerShare.getNumOccurrences()) {
    auto [Index, Count] = StringRef(WorkerShare).split('/');
    DeviceShare Share;
    if (!to_integer(Index, Share.Index, 10) ||
        !to_integer(Count, Share.Count, 10) || Share.Index >= Share.Count)
      return createStringError(
          formatv("invalid --worker-share={0}: expected I/N, I less than N",
                  WorkerShare.getValue())
              .str());
    O.Resources.Share = Share;
  }
  if (Hosts.empty() && WorkerLauncher.empty())
    return Error::success();
  std::string Tool = WorkerTool;
  if (Tool.empty())
    Tool = O.ToolPath;
  std::string Launcher = WorkerLauncher;
  if (Launcher.empty())
    Launcher = "ssh -o BatchMode=yes {host}";
  std::vector<std::string> Options = getSharedOptions(O.Replay);
  append_range(Options, splitWords(WorkerFlags));
  return makeWorkerCommands(Hosts, Launcher, Tool, Options).moveInto(O.Workers);
}

/// Reads the options of a cluster, whose worker is started with the recording.
static Error readEngine(TuneOptions &O) {
  if (Engine.empty())
    return EngineFlags.empty()
               ? Error::success()
               : createStringError("--engine-options needs --engine");
  if (Engine != "ray" && Engine != "dask")
    return createStringError(
        formatv("invalid --engine={0}: expected ray or dask", Engine.getValue())
            .str());
  if (!O.Workers.empty())
    return createStringError("--engine and --hosts are mutually exclusive");
  O.Engine = Engine;
  O.EngineOptions = splitWords(EngineFlags);
  ReplayOptions Nodes = O.Replay;
  Nodes.Device = ReplayOptions().Device;
  Nodes.Counters = {}; // those of the objectives follow
  O.ServeOptions = makeFlags(Nodes);
  append_range(O.ServeOptions, makeOptions(makeConfig(Nodes)));
  if (!App.empty()) {
    SmallString<128> Path(App.getValue());
    sys::fs::make_absolute(Path);
    O.ServeOptions.push_back(("--app=" + Path).str());
  }
  O.ServeOptions.push_back(
      formatv("--compile-timeout={0}", CompileTimeout.getValue()).str());
  if (LaunchTimeout > 0)
    O.ServeOptions.push_back(
        formatv("--launch-timeout={0}", LaunchTimeout.getValue()).str());
  append_range(O.ServeOptions, splitWords(WorkerFlags));
  // The devices of this machine are of the cluster, or none of the study's.
  if (O.Replay.Device == ReplayOptions().Device)
    O.Resources.Devices = {"none"};
  return Error::success();
}

static Error readFarm(TuneOptions &O) {
  for (StringRef Name : split(O.Replay.Device, ','))
    O.Resources.Devices.push_back(Name.str());
  O.Resources.HostWorkers = HostWorkers;
  if (CompileJobs.getNumOccurrences())
    O.Resources.CompileJobs = CompileJobs;
  O.Resources.CompileTimeout = CompileTimeout;
  O.Resources.LaunchTimeout = LaunchTimeout;
  if (WorkerTimeout.getNumOccurrences())
    O.Resources.SilenceSeconds = WorkerTimeout;
  if (CompileMemory.getNumOccurrences())
    O.Resources.CompileMemory = CompileMemory << 20;
  O.Resources.Message = [](StringRef Text) { printWarning(Text); };
  O.Resources.Note = [](StringRef Text) { printNote(Text); };
  if (Error E = readWorkers(O))
    return E;
  if (Error E = readEngine(O))
    return E;
  if (HostWorkers == 0)
    return createStringError("impossible --workers=0");
  if (WorkerTimeout.getNumOccurrences() && !(WorkerTimeout > 0))
    return createStringError(
        formatv("impossible --worker-timeout={0}", WorkerTimeout.getValue())
            .str());
  if (CompileJobs.getNumOccurrences() && CompileJobs == 0)
    return createStringError("impossible --compile-jobs=0");
  return Error::success();
}

static Error readExports(TuneOptions &O) {
  for (const std::string &Text : Exports) {
    auto [Name, Path] = StringRef(Text).split(':');
    if (!getExportExtension(Name)) {
      std::string Formats;
      raw_string_ostream OS(Formats);
      listExports(OS);
      return createStringError(
          formatv("no format '{0}' for --export; there are:\n{1}", Name,
                  StringRef(Formats).rtrim())
              .str());
    }
    if (Error E = checkOutputFile("--export", Path))
      return E;
    // The winner is added to a package, so it must be one.
    if (Name == "package" && sys::fs::exists(Path))
      if (Error E = readPackage(Path).takeError())
        return E;
    O.Exports.push_back({Name.str(), Path.str()});
  }
  for (auto [Given, Own] : {std::pair(&Scope, &O.Serve.Scope),
                            {&LaunchShape, &O.Serve.LaunchShape},
                            {&Code, &O.Serve.Code},
                            {&DeviceMatch, &O.Serve.DeviceMatch}})
    if (Given->getNumOccurrences())
      *Own = *Given;
  if (Error E = parseScope(Scope, O.Pack))
    return E;
  if (Error E = parseLaunchShape(LaunchShape, O.Pack))
    return E;
  if (Error E = parseCode(Code, O.Pack))
    return E;
  if (Error E = parseDeviceMatch(DeviceMatch, O.Pack))
    return E;
  return Accept.empty() ? Error::success() : parseAccept(Accept, O.Pack);
}

/// Fails before the study begins if the application cannot be read.
static Error readApp(TuneOptions &O) {
  O.Replay.App = App;
  if (App.empty())
    return Error::success();
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(App);
  if (!File)
    return createStringError("--app: " + toString(File.takeError()));
  O.AppDigest = utohexstr(xxh3_64bits((*File)->getBuffer()), true, 16);
  return Error::success();
}

/// Per comparison; the farm may take a few more.
static constexpr uint64_t MaxSamples = 100000;

static Error readLimits(TuneOptions &O) {
  TunerOptions &T = O.Tuner;
  if (Budget.getNumOccurrences() && !(Budget > 0))
    return createStringError("impossible --budget: must be more than 0");
  if (Trials.getNumOccurrences() && Trials == 0)
    return createStringError("impossible --trials=0");
  if (Pairs < MinIntervalSamples)
    return createStringError(
        formatv("impossible --pairs={0}: a confidence interval needs {1}",
                Pairs.getValue(), MinIntervalSamples)
            .str());
  if (!(MinEffect >= 0 && MinEffect <= 100))
    return createStringError(
        formatv("invalid --min-effect={0}: must be from 0 to 100 percent",
                MinEffect.getValue())
            .str());
  if (std::max<uint64_t>(Retest + 1, 2 * FinalTestResult::ConfirmFactor) *
          Pairs >
      MaxSamples)
    return createStringError(
        formatv("impossible --pairs={0} with --retest={1}: more than {2} "
                "samples in one comparison",
                Pairs.getValue(), Retest.getValue(), MaxSamples)
            .str());
  if (!(SolStop >= 0 && SolStop <= 1))
    return createStringError(
        formatv("invalid --sol-stop={0}: must be from 0 to 1",
                SolStop.getValue())
            .str());
  if (SolStop.getNumOccurrences())
    O.SolStop = SolStop;
  O.Budget = Budget;
  O.WarmFrom.assign(WarmFrom.begin(), WarmFrom.end());
  if (StudyStore.getNumOccurrences() && StudyStore.empty())
    return createStringError("--study-store: expected a folder or off");
  O.StudyStore = StudyStore.getNumOccurrences() ? StudyStore.getValue()
                                                : getDefaultStudyStore();
  if (O.StudyStore == "off")
    O.StudyStore.clear();
  T.Trials = Trials;
  if (!Trials && !Budget.getNumOccurrences() && !UntilExhausted)
    T.Trials = 200;
  T.Seed = Seed;
  T.AppCode = !App.empty();
  if (LaunchTimeout > 0) {
    T.MinLaunchTimeout = LaunchTimeout;
    T.LaunchTimeoutFactor = 0;
  }
  T.FinalCandidates = Retest;
  T.FinalRounds = Pairs;
  T.MinEffect = MinEffect / 100;
  T.ExplainLimit = Explain == OnOff::On ? ExplainLimit : 0;
  return Error::success();
}

static Error readJudge(TuneOptions &O) {
  if (Error E = Judging->read(O.Replay, O.ToolPath.c_str()).moveInto(O.Judge))
    return E;
  if (!O.Judge)
    return Error::success();
  O.Replay.Verify = false;
  // A resumed study must have the same judge.
  O.ReplayText += "--judge-by=app " + quoteCommand(O.Judge->Command) +
                  "\n--check=" + O.Judge->Check + "\n";
  for (const std::string &File : O.Judge->OutputFiles)
    O.ReplayText += "--output-file=" + File + "\n";
  return Error::success();
}

/// Finds the source folder of the versions.
static Error findSources(TuneOptions &O) {
  for (const SpaceOption &S : O.Space)
    if (S.Name == "source" && O.Replay.SourceDir.empty())
      return findSourceFolder(StringRef(S.Text).split('|').first)
          .moveInto(O.Replay.SourceDir);
  return Error::success();
}

/// Refuses options that concern one kernel.
static Error checkAllKernels(const TuneOptions &O) {
  auto Refuse = [](StringRef Option) {
    return createStringError("--all-kernels and --" + Option +
                             " are mutually exclusive");
  };
  if (!RecordIds.empty())
    return Refuse("record-id");
  if (!Weights.empty())
    return Refuse("weight");
  if (O.Mode != TuneMode::Run)
    return createStringError("--all-kernels tunes: leave out the option that "
                             "prints instead");
  for (const std::string &Text : Exports)
    if (StringRef(Text).contains(':'))
      return createStringError(
          formatv("--export={0} with --all-kernels: leave out the file, each "
                  "kernel's is in its folder",
                  Text)
              .str());
  return Error::success();
}

Expected<TuneOptions> mneme::readOptions(StringRef ToolPath) {
  TuneOptions O;
  O.ToolPath = ToolPath.str();
  O.Mode = Worker.empty() ? TuneMode(Mode) : TuneMode::Worker;
  O.RecordIds.assign(RecordIds.begin(), RecordIds.end());
  O.AllInstances = AllInstances;
  if (AllInstances && !RecordIds.empty())
    return createStringError(
        "--all-instances and --record-id are mutually exclusive");
  O.AllKernels = AllKernels;
  if (AllKernels)
    if (Error E = checkAllKernels(O))
      return std::move(E);
  if (Error E = readWeights(O))
    return std::move(E);
  readSpace(O);
  O.Sampler = SamplerName;
  O.SamplerGiven = SamplerName.getNumOccurrences();
  O.SeedGiven = Seed.getNumOccurrences();
  if (Error E = readLimits(O))
    return std::move(E);
  if (Error E = CommonFlags->apply(O.Replay))
    return std::move(E);
  if (Error E = findSources(O))
    return std::move(E);
  if (Error E = readApp(O))
    return std::move(E);
  O.AllowPrograms = CommonFlags->allowsPrograms();
  O.ReplayText = CommonFlags->describe();
  O.Tuner.ReadCounters = !O.Replay.Counters.empty();
  if (Error E = readJudge(O))
    return std::move(E);
  if (AllKernels)
    if (Error E = Judging->readApplication(O.Replay, O.ToolPath.c_str())
                      .moveInto(O.Application))
      return std::move(E);
  if (Error E = readPositional(O))
    return std::move(E);
  O.Replay.Resources = Resources;
  if (Error E = readFarm(O))
    return std::move(E);
  if (ResultsDir.getNumOccurrences() && ResultsDir.empty())
    return createStringError("-o: expected the name of a folder");
  O.ResultsDir = ResultsDir;
  O.Resume = Resume || Repair;
  O.Repair = Repair;
  if (Error E = readExports(O))
    return std::move(E);
  O.Assess = Assess == OnOff::On;
  O.AllowVacuous = AllowVacuous;
  O.Report = Report;
  O.Quiet = Quiet;
  O.JSON = Format == OutputFormat::JSON;
  return O;
}
