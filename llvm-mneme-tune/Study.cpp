//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/IRUtils/KernelFeatures.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Report/Summary.h"
#include "llvm/Mneme/StudyLog/Journal.h"
#include "llvm/Mneme/StudyLog/WarmStart.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Mneme/Tune/Progress.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace llvm::mneme;

/// Time limit for looking at the packages of a Python.
static constexpr double PythonSeconds = 60;

//===----------------------------------------------------------------------===//
// The parts of a study
//===----------------------------------------------------------------------===//

StringRef mneme::getNamedDevice(const TuneOptions &O) {
  StringRef Device = O.Resources.Devices.front();
  return Device == "auto" || Device == "none" ? "" : Device;
}

std::string mneme::makeFileName(StringRef Kernel) {
  std::string Name = Kernel.take_front(64).str();
  for (char &C : Name)
    if (!isAlnum(C) && C != '_' && C != '-' && C != '.')
      C = '_';
  return Name;
}

static JournalHeader makeHeader(const TuneOptions &O, const TunedKernel &K,
                                const Study &S, const SearchSpace &Space,
                                const json::Value &Features) {
  JournalHeader H;
  H.Name = K.Kernel.displayName();
  H.Objectives = S.Objectives;
  H.Identity = makeIdentity(O, K, Space);
  H.Info = json::Object{{"sampler", O.Sampler},
                        {"seed", std::to_string(O.Tuner.Seed)},
                        {"mneme_version", getVersion()},
                        {"study", getStudyText(S)}};
  if (Features.getAsObject())
    H.Info[FeaturesKey.str()] = Features;
  return H;
}

/// Uses the sampler and seed of the resumed study unless others are given.
static Error takeSettings(TuneOptions &O, StringRef Path) {
  Expected<JournalHeader> H = readJournalHeader(Path, O.Repair);
  if (!H)
    return H.takeError();
  StringRef Name = H->Info.getString("sampler").value_or(O.Sampler);
  uint64_t Seed = O.Tuner.Seed;
  if (std::optional<StringRef> Text = H->Info.getString("seed"))
    Text->getAsInteger(10, Seed);
  bool IsProgram = Name.starts_with("external");
  if (!O.SamplerGiven && !O.AllowPrograms &&
      (IsProgram || Name.starts_with("file")))
    return createFileError(
        Path, createStringError(
                  "its sampler '" + Name + "' " +
                  (IsProgram ? "runs a program" : "reads another file") +
                  ": if you trust the journal, name the sampler again with "
                  "--sampler, or give --allow-programs"));
  if (!O.SamplerGiven)
    O.Sampler = Name.str();
  if (!O.SeedGiven)
    O.Tuner.Seed = Seed;
  if (O.Sampler != Name || O.Tuner.Seed != Seed)
    printNote(formatv("continuing with --sampler={0} --seed={1} instead of "
                      "--sampler={2} --seed={3}",
                      O.Sampler, O.Tuner.Seed, Name, Seed));
  return Error::success();
}

static Expected<std::unique_ptr<Journal>>
openJournal(TuneOptions &O, StringRef Dir, const TunedKernel &K, const Study &S,
            const SearchSpace &Space, const json::Value &Features) {
  std::string Path = pathIn(Dir, "study.log");
  if (O.Resume)
    if (Error E = takeSettings(O, Path))
      return std::move(E);
  JournalHeader Header = makeHeader(O, K, S, Space, Features);
  if (O.Repair) {
    Expected<JournalRepair> R = repairJournal(Path, Header, Space);
    if (!R)
      return R.takeError();
    if (R->NumDropped)
      printWarning(
          formatv("{0}: {1} damaged line(s) left out; the old file is {2}",
                  Path, R->NumDropped, R->Backup));
  }
  Expected<std::unique_ptr<Journal>> J =
      O.Resume ? Journal::resume(Path, Header, Space)
               : Journal::create(Path, Header, Space);
  if (J)
    for (const std::string &Text : (*J)->takeWarnings())
      printWarning(Text);
  return J;
}

/// Returns the features of the recorded kernel; null without IR.
static json::Value getFeatures(const ReplayPlan &Plan) {
  if (!Plan.hasIR() || !Plan.hasOwnModule())
    return nullptr;
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  const Function *F = M ? M->getFunction(Plan.kernel().KernelName) : nullptr;
  if (!F || F->isDeclaration())
    return nullptr;
  return getKernelFeatures(*M, *F);
}

/// Begins the search with the best points of earlier studies. A resumed study
/// has begun with them.
static Error warmUp(TuneOptions &O, const TunedKernel &K,
                    const SearchSpace &Space, const json::Value &Features) {
  if (O.Resume || (O.WarmFrom.empty() && O.StudyStore.empty()))
    return Error::success();
  WarmStartOptions W;
  W.Folders = O.WarmFrom;
  W.Store = O.StudyStore;
  W.StaticHash = K.Kernel.StaticHash;
  W.Features = Features;
  W.MinEffect = O.Tuner.MinEffect;
  if (O.Tuner.Trials)
    W.Limit = std::min<uint64_t>(W.Limit, O.Tuner.Trials / 4);
  Expected<WarmStart> Start = findWarmStart(Space, W);
  if (!Start)
    return Start.takeError();
  for (const std::string &Text : Start->Warnings)
    printWarning(Text);
  unsigned Same =
      count_if(Start->Points, [](const WarmPoint &P) { return P.SameKernel; });
  for (WarmPoint &P : Start->Points)
    O.Tuner.Warm.push_back(std::move(P.P));
  unsigned Others = O.Tuner.Warm.size() - Same;
  if (!O.Quiet && (!O.Tuner.Warm.empty() || !O.WarmFrom.empty()))
    printNote(formatv("beginning with {0} of earlier studies: {1} of this "
                      "kernel, {2} of similar ones",
                      formatCount(O.Tuner.Warm.size(), "configuration"), Same,
                      Others));
  return Error::success();
}

/// Returns the Python that speaks to the cluster, or an error if it lacks a
/// package: a worker that cannot start would be restarted several times.
static Expected<std::string> findEngine(const TuneOptions &O) {
  std::string Python = sys::Process::GetEnv("MNEME_PYTHON").value_or("python3");
  std::string Engine = "--engine=" + O.Engine;
  ErrorOr<std::string> File = sys::findProgramByName(Python);
  if (!File)
    return createStringError(
        formatv("{0} needs Python, and there is no '{1}': set MNEME_PYTHON",
                Engine, Python)
            .str());
  std::vector<StringRef> Args = {*File, "-m", "llvm_mneme.engine", "--check",
                                 Engine};
  append_range(Args, O.EngineOptions);
  std::string Log;
  if (Error E = runProgram(Args, Log, PythonSeconds)) {
    std::string Text = toString(std::move(E));
    if (StringRef(Log).contains("No module named 'llvm_mneme'"))
      Text = formatv("'{0}' has no package llvm_mneme: pip install "
                     "'llvm-mneme[{1}]', or set MNEME_PYTHON to a Python that "
                     "has it",
                     *File, O.Engine)
                 .str();
    return createStringError(formatv("{0}: {1}", Engine, Text).str());
  }
  return *File;
}

/// Returns the command of the worker that evaluates on a cluster.
static WorkerCommand makeEngineCommand(const TuneOptions &O,
                                       const TunedKernel &K, StringRef Python,
                                       const ReplayOptions &Base) {
  WorkerCommand C{O.Engine,
                  {Python.str(), "-m", "llvm_mneme.engine",
                   "--engine=" + O.Engine, "--recording=" + K.File}};
  for (const std::string &Id : K.recordIds())
    C.Words.push_back("--record-id=" + Id);
  append_range(C.Words, O.EngineOptions);
  C.Words.push_back("--");
  append_range(C.Words, O.ServeOptions);
  if (Base.Resources)
    C.Words.push_back("--resources");
  if (!Base.Counters.empty())
    C.Words.push_back("--counters=" + Base.Counters.print());
  return C;
}

static Expected<std::unique_ptr<ReplayFarm>>
openFarm(const TuneOptions &O, const TunedKernel &K, const Study &S) {
  FarmOptions F;
  static_cast<FarmResources &>(F) = O.Resources;
  F.Database = K.File;
  F.RecordIds = K.recordIds();
  F.Base = O.Replay;
  // Other counters than objectives are only compared.
  F.Base.PairedCounters = std::exchange(F.Base.Counters, {});
  for (const Objective &Obj : S.Objectives) {
    F.Base.Resources |= needsResources(Obj.Metric);
    if (const CounterInfo *C = findCounter(Obj.Metric))
      F.Base.Counters.add(*C);
  }
  F.Controls = O.Controls;
  F.Workers = O.Workers;
  if (!O.Engine.empty()) {
    Expected<std::string> Python = findEngine(O);
    if (!Python)
      return Python.takeError();
    F.Workers.push_back(makeEngineCommand(O, K, *Python, F.Base));
  }
  return ReplayFarm::create(std::move(F));
}

static ProgressPrinter::Style getProgressStyle(const TuneOptions &O) {
  ProgressPrinter::Style Style;
  Style.Terminal = sys::Process::StandardErrIsDisplayed();
  // An application's study prints a line per kernel.
  Style.Quiet = O.Quiet || (O.OfApplication && !Style.Terminal);
  if (unsigned Columns = sys::Process::StandardErrColumns())
    Style.Columns = Columns;
  return Style;
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

/// Output that needs no device.
static Expected<int> runDry(const TuneOptions &O, const TunedKernel &K,
                            const Study &S, const SearchSpace &Space) {
  printSpace(textOuts(), Space);
  if (O.Mode == TuneMode::PrintSpace)
    return 0;
  ReplayOptions Replay = O.Replay;
  Replay.RecordId = K.Instances.front().DynamicHash;
  Expected<std::unique_ptr<ReplayPlan>> Plan =
      ReplayPlan::create(K.File, std::move(Replay));
  if (!Plan)
    return Plan.takeError();
  if (Error E = checkSpaces(O, Space, (*Plan)->compiler()))
    return std::move(E);
  if (Error E = printFirstPoints(textOuts(), O, Space))
    return std::move(E);
  return 0;
}

/// Returns warnings about vacuous launches and about times of the host device.
/// Each device that measured has a baseline.
static std::vector<std::string> getCaveats(const TuneOptions &O,
                                           const StudyVerification &V,
                                           const StudyOutcome &Outcome) {
  std::vector<std::string> Caveats;
  for (const std::string &Id : V.Vacuous)
    Caveats.push_back(
        "verification of launch " + Id +
        " is vacuous: an empty kernel would verify, and look fast");
  auto IsHost = [](const BaselineSample &S) {
    return StringRef(S.Device).ends_with("/host");
  };
  if (O.Judge)
    Caveats.push_back(
        "the application judged results, not a comparison of memory: those of "
        "trials that became the fastest, and of all that were re-tested");
  if (any_of(Outcome.Baselines, IsHost))
    Caveats.push_back(
        formatv("times are those of CPU code, measured on the host device "
                "with --host-finish={0}; a speed-up here is a reason to "
                "measure on a GPU, and says nothing about a GPU's times",
                getHostFinishName(O.Replay.Host.Finish))
            .str());
  return Caveats;
}

/// The search ends close to the bound, unless the bound is another device's.
static double chooseSolStop(const TuneOptions &O, const ReplayFarm &Farm) {
  constexpr double Default = 0.95;
  if (O.SolStop)
    return *O.SolStop;
  bool IsMeasured = all_of(Farm.powers(), [](const VerificationPower &P) {
    return P.Bound && P.Bound->Peaks.IsMeasured;
  });
  return IsMeasured && O.Workers.empty() && O.Engine.empty() ? Default : 0;
}

/// Describes the bound of the first launch, and the time of the best trial,
/// which the re-test may have measured.
static std::string describeBounds(const TuneOptions &O, const ReplayFarm &Farm,
                                  const StudyRecord &R) {
  if (Farm.powers().empty() || !Farm.powers().front().Bound)
    return "";
  const LaunchBound &B = *Farm.powers().front().Bound;
  bool IsHost = B.Peaks.IsHost;
  CacheMode Cache =
      O.Replay.Cache.value_or(IsHost ? CacheMode::Warm : CacheMode::Cold);
  double Bound = B.nanoseconds(Cache);
  std::string Text =
      formatSeconds(Bound * 1e-9) + ": " + describeBound(B, Cache);
  auto Add = [&](StringRef Name, double Nanoseconds) {
    if (Nanoseconds > 0)
      Text +=
          formatv("; {0}: {1:f1} % of the speed of light, limited by {2}", Name,
                  100 * Bound / Nanoseconds, B.limiter(Cache, Nanoseconds))
              .str();
  };
  if (!R.Outcome.Instances.empty())
    Add("baseline", R.Outcome.Instances[0].Metrics.lookup("time"));
  if (const Trial *Winner = R.winner())
    Add("best", Winner->Metrics.lookup("time"));
  return Text;
}

static StudyRecord makeRecord(const TuneOptions &O, const TunedKernel &K,
                              const SearchSpace &Space, const Tuner &T,
                              const StudyOutcome &Outcome,
                              const ReplayFarm &Farm, StudyVerification V) {
  StudyRecord R{{T.trials(), Outcome}, Space};
  R.setRecording(K.Kernel, K.Instances);
  R.Name = K.Kernel.displayName();
  R.Device = describeDevices(Farm.describe());
  R.Sampler = O.Sampler;
  R.Seed = O.Tuner.Seed;
  R.StudyText = getStudyText(Space.study());
  R.RecordedPipeline = Farm.plans().front()->compiler().pipeline().str();
  json::Value Statistics = toJSON(Farm.statistics());
  R.Farm = std::move(*Statistics.getAsObject());
  R.Caveats = getCaveats(O, V, Outcome);
  R.Verification = std::move(V);
  R.Verification.Bound = describeBounds(O, Farm, R);
  R.Base = makeConfig(O.Replay);
  R.Controls = O.Controls;
  R.IsJudgedByApp = O.Judge.has_value();
  for (const auto &Plan : Farm.plans())
    R.Level = std::max(R.Level, Plan->comparison().level());
  // Other machines have envelopes of their own.
  if (const Trial *Winner = R.winner())
    R.Level = std::max(R.Level, Winner->Level);
  return R;
}

/// Returns true if the winner, or without a winner the baseline, was measured
/// on a host device, possibly that of another machine.
static bool isOnHost(const StudyRecord &R) {
  if (const Trial *Winner = R.winner())
    return StringRef(Winner->Device).ends_with("/host");
  return !R.Outcome.Baselines.empty() &&
         StringRef(R.Outcome.Baselines.back().Device).ends_with("/host");
}

/// Adds the commands that replay the winner with the study's options.
static void addCommands(const TuneOptions &O, const TunedKernel &K,
                        StringRef Dir, StudyRecord &R) {
  const Trial *Winner = R.winner();
  json::Object Settings = R.withBase(Winner ? Winner->Config : json::Object());
  ReplayOptions Base = O.Replay;
  Base.Device = ReplayOptions().Device;
  if (StringRef Device = getNamedDevice(O); !Device.empty())
    Base.Device = Device.str();
  if (!isOnHost(R))
    Base.Host = HostOptions();
  std::vector<std::string> Words{"llvm-mneme-replay", K.File,
                                 "--record-id=" +
                                     K.Instances.front().DynamicHash};
  append_range(Words, makeFlags(Base));
  if (Winner && R.Outcome.TimeIsObjective) {
    Words.push_back(R.Outcome.AppCode ? "--baseline=app"
                                      : "--baseline=recompiled");
    if (R.Outcome.AppCode && !Base.App.empty())
      Words.push_back("--app=" + Base.App);
  }
  std::vector<std::string> Short = Words;
  Short.push_back((Twine("--config=") + Dir + "/best.json").str());
  // Needed if best.json has settings with side effects.
  if (!findSideEffects(R.withControls(Winner ? Winner->Config : json::Object()))
           .empty())
    Short.push_back("--allow-programs");
  R.ReplayCommand = quoteCommand(Short);
  if (!Winner)
    return;
  append_range(Words, makeOptions(Settings));
  R.FullReplayCommand = quoteCommand(Words);
}

/// Returns 1 if the journal is incomplete or all devices were lost, 2 if no
/// candidate verified.
static int getExitCode(const StudyOutcome &O) {
  if (O.Unlogged || O.End == StudyEnd::Lost)
    return 1;
  return O.Complete + O.Pruned == 0 && O.Failed != 0 ? 2 : 0;
}

/// Writes the results first, so that they exist if counting instructions fails.
static Expected<std::vector<std::string>>
writeAndCount(const TuneOptions &O, StringRef Dir, const ReplayPlan &Plan,
              StudyRecord &R, StudyOutcome &Outcome) {
  Expected<std::vector<std::string>> Files = writeResults(O, Dir, R);
  if (!Files || *O.Tuner.Interrupts > 1 ||
      !canCountInstructions(Plan, isOnHost(R), R))
    return Files;
  if (Error E = countInstructions(Plan, R))
    Outcome.Notes.push_back("instructions were not counted: " +
                            toString(std::move(E)));
  if (Error E = writeSummary(O, Dir, R))
    return std::move(E);
  return Files;
}

static Expected<int> report(const TuneOptions &O, StringRef Dir,
                            const ReplayPlan &Plan, StudyRecord &R,
                            StudyOutcome &Outcome) {
  Expected<std::vector<std::string>> Files =
      writeAndCount(O, Dir, Plan, R, Outcome);
  if (O.OfApplication)
    return Files ? Expected<int>(getExitCode(R.Outcome)) : Files.takeError();
  // Print the results even if they could not be written.
  if (O.JSON)
    jsonOuts() << formatv("{0:2}\n", makeSummary(R));
  else
    printSummary(textOuts(), R);
  if (!Files)
    return Files.takeError();
  if (O.JSON)
    return getExitCode(R.Outcome);
  textOuts() << formatv("{0,-12}  {1}: study.log", "files", Dir);
  // Files at a path of their own are not in the folder.
  auto IsElsewhere = [&](StringRef File) {
    return any_of(O.Exports,
                  [&](const TuneOptions::Export &X) { return X.Path == File; });
  };
  for (const std::string &File : *Files)
    if (!IsElsewhere(File))
      textOuts() << ' ' << File;
  textOuts() << '\n';
  for (const std::string &File : *Files)
    if (IsElsewhere(File))
      textOuts() << formatv("{0,-12}  {1}\n", "exported", File);
  textOuts() << formatv("{0,-12}  {1}\n", "replay", R.ReplayCommand);
  return getExitCode(R.Outcome);
}

/// Fails before any file is written if the sampler cannot be created. External
/// samplers are not checked, because that would start them.
static Error checkSampler(const TuneOptions &O, const SearchSpace &Space) {
  if (StringRef(O.Sampler).starts_with("external"))
    return Error::success();
  std::vector<Trial> History;
  DenseSet<uint64_t> Proposed;
  std::vector<Direction> Directions;
  for (const Objective &Obj : Space.study().Objectives)
    Directions.push_back(Obj.Dir);
  SamplerContext Context{Space, Directions, O.Tuner.Seed, History, Proposed};
  return createSampler(O.Sampler, Context).takeError();
}

/// Removes the journal of a study that did not begin, which must not be
/// resumed.
static void discardJournal(std::unique_ptr<Journal> Log, StringRef Dir) {
  Log.reset();
  sys::fs::remove(pathIn(Dir, "study.log"));
}

static double getBestSpeedup(ArrayRef<Trial> Trials, const StudyOutcome &O) {
  for (const Trial &T : Trials)
    if (is_contained(O.Best, T.Number))
      return std::max(1.0, T.BaselineNanoseconds / T.Metrics.lookup("time"));
  return 1;
}

static Expected<StudyResult>
tune(TuneOptions &O, const TunedKernel &K, StringRef Dir, ReplayFarm &Farm,
     Evaluator &E, std::unique_ptr<Journal> Log, StudyVerification Verification,
     ArrayRef<std::unique_ptr<SearchSpace>> Spaces) {
  std::vector<StudyInstance> Instances;
  for (size_t I = 0; I != Spaces.size(); ++I)
    Instances.push_back({K.Instances[I].DynamicHash, K.Weights[I], *Spaces[I]});
  O.Tuner.MakeSampler = [&](const SamplerContext &Context) {
    return createSampler(O.Sampler, Context);
  };
  O.Tuner.SolStop = chooseSolStop(O, Farm);
  ProgressPrinter Progress(errs(), getProgressStyle(O), steadySeconds);
  Tuner T(Instances, E, Log.get(), &Progress, O.Tuner);
  Expected<StudyOutcome> Outcome = T.run();
  Progress.clear();
  if (!Outcome) {
    if (T.trials().empty() && !O.Resume)
      discardJournal(std::move(Log), Dir);
    return Outcome.takeError();
  }
  if (Outcome->End == StudyEnd::SpeedOfLight)
    if (Error Failed = Log->setAttribute("end_reason", Outcome->EndReason))
      printWarning(toString(std::move(Failed)));
  if (Error Failed = Log->sync())
    printWarning(toString(std::move(Failed)));
  if (!O.StudyStore.empty())
    if (Error Failed = rememberStudy(O.StudyStore, Dir))
      printWarning("the study will not be found by later ones: " +
                   toString(std::move(Failed)));
  StudyRecord R = makeRecord(O, K, *Spaces.front(), T, *Outcome, Farm,
                             std::move(Verification));
  // An application's kernels have the same.
  if (!O.Quiet && !O.OfApplication)
    for (const std::string &Text : R.Caveats)
      printWarning(Text);
  R.Options = makeResultOptions(O.Replay, isOnHost(R));
  addCommands(O, K, Dir, R);
  if (const Trial *Winner = R.winner(); Winner && !isOnHost(R))
    R.GPU = findGPUName(Farm.describe(), Winner->Device);
  StudyResult Result;
  R.WritePackage = [&](StringRef Path) {
    Error E = writeWinner(O, Dir, Farm.plans(), R, Path);
    Result.IsPackaged |= !E;
    return handleErrors(std::move(E), [&](std::unique_ptr<PackRefusal> No) {
      Result.NoPackage = No->message();
      return Error(std::move(No));
    });
  };
  if (Error Failed = report(O, Dir, *Farm.plans().front(), R, *Outcome)
                         .moveInto(Result.ExitCode))
    return std::move(Failed);
  Result.Trials = Outcome->Complete + Outcome->Pruned + Outcome->Failed;
  Result.SearchSeconds = Outcome->SearchSeconds;
  Result.IsExhausted = Outcome->End == StudyEnd::Exhausted;
  Result.IsOutOfTime = Outcome->End == StudyEnd::Budget;
  if (Outcome->TimeIsObjective)
    Result.Best = getBestSpeedup(T.trials(), *Outcome);
  if (Outcome->Final.isSignificant()) {
    const RetestedTrial &Winner = *Outcome->Final.Confirmed;
    RatioEstimate Speedup = Winner.Speedup;
    if (const auto &Other = Winner.OtherCacheSpeedup) {
      Speedup.Low = std::min(Speedup.Low, Other->Low);
      Speedup.High = std::max(Speedup.High, Other->High);
    }
    Result.Speedup = Speedup;
  }
  return Result;
}

static Expected<StudyResult>
tune(TuneOptions &O, const TunedKernel &K, const Study &S,
     ArrayRef<std::unique_ptr<SearchSpace>> Spaces) {
  std::string Dir = O.ResultsDir.empty()
                        ? "mneme-study." + makeFileName(K.Kernel.KernelName)
                        : O.ResultsDir;
  if (Error E = checkSampler(O, *Spaces.front()))
    return std::move(E);
  if (Error E = prepareResults(O, Dir))
    return std::move(E);
  Expected<std::unique_ptr<ReplayFarm>> Farm = openFarm(O, K, S);
  if (!Farm)
    return Farm.takeError();
  if (Error E =
          checkSpaces(O, *Spaces.front(), (*Farm)->plans().front()->compiler()))
    return std::move(E);
  // The first interrupt ends the search, the second the re-test.
  O.Tuner.Interrupts = &countInterrupts();
  Expected<StudyVerification> Verification =
      checkVerification(O, K, **Farm, *O.Tuner.Interrupts);
  if (!Verification)
    return Verification.takeError();
  std::unique_ptr<ApplicationJudge> Judge;
  std::optional<JudgedEvaluator> Judged;
  if (O.Judge) {
    if (Error E = ApplicationJudge::create(*O.Judge).moveInto(Judge))
      return std::move(E);
    Judged.emplace(**Farm, *Judge, (*Farm)->plans());
    if (Error E = Judged->begin())
      return std::move(E);
  }
  json::Value Features = getFeatures(*(*Farm)->plans().front());
  if (Error E = warmUp(O, K, *Spaces.front(), Features))
    return std::move(E);
  Expected<std::unique_ptr<Journal>> Log =
      openJournal(O, Dir, K, S, *Spaces.front(), Features);
  if (!Log)
    return Log.takeError();
  bool OnHost =
      StringRef(describeDevices((*Farm)->describe())).starts_with("host");
  if (!O.Replay.App.empty() && OnHost)
    printNote("--app has no effect on the host device: the baseline is the "
              "recorded configuration");
  // The image for which IR was registered is the application's own code.
  const ReplayPlan &First = *(*Farm)->plans().front();
  O.Tuner.AppCode = !OnHost && (!O.Replay.App.empty() ||
                                (First.hasIR() && First.hasRecordedImage()));
  // The nodes of an engine know one.
  if (!OnHost && O.Replay.Execute && O.Engine.empty())
    O.Tuner.OtherCache =
        getCacheModeName(
            getOtherCacheMode(O.Replay.Cache.value_or(CacheMode::Cold)))
            .str();
  Evaluator &E = Judged ? static_cast<Evaluator &>(*Judged) : **Farm;
  return tune(O, K, Dir, **Farm, E, std::move(*Log), std::move(*Verification),
              Spaces);
}

Expected<StudyResult> mneme::runStudy(TuneOptions O) {
  if (O.Budget)
    O.Tuner.Deadline = steadySeconds() + O.Budget;
  Expected<Study> S = makeStudy(O);
  if (!S)
    return S.takeError();
  if (O.Mode == TuneMode::PrintStudy) {
    if (Error E = printStudyText(textOuts(), *S))
      return std::move(E);
    return StudyResult();
  }
  if (Error E = readControls(*S).moveInto(O.Controls))
    return std::move(E);
  Expected<TunedKernel> K = chooseRecording(O);
  if (!K)
    return K.takeError();
  Expected<std::vector<std::unique_ptr<SearchSpace>>> Spaces =
      bindStudy(*S, *K);
  if (!Spaces)
    return Spaces.takeError();
  if (O.Mode != TuneMode::Run) {
    StudyResult Result;
    if (Error E = runDry(O, *K, *S, *Spaces->front()).moveInto(Result.ExitCode))
      return std::move(E);
    return Result;
  }
  return tune(O, *K, *S, *Spaces);
}
