//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/ReplayBisect.h"
#include "Alive.h"
#include "BisectFarm.h"
#include "Evidence.h"
#include "PlainCommand.h"
#include "RewriteReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Deploy/ApplicationJudge.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Triple.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

namespace {
class ReplayBisection {
public:
  ReplayBisection(const ReplayPlan &Plan, const ReplayBisectOptions &O)
      : Plan(Plan), O(O) {}

  Expected<BisectReport> run();

private:
  const ReplayPlan &Plan;
  const ReplayBisectOptions &O;
  std::unique_ptr<ApplicationJudge> App; ///< If the application judges.
  std::unique_ptr<Evaluator> Farm;
  std::unique_ptr<ReplayFarm> HostFarm;
  BisectReport R;
  PrivateFolder Spliced; ///< IR files with a part of a pass's change.
  unsigned NumSpliced = 0;
  std::vector<PrivateFolder> Snapshots; ///< Of IR within pipelines.

  const Criterion &what() const { return O.Bisect.Judge.What; }
  void say(const Twine &Text) const {
    if (O.Say)
      O.Say(Text.str());
  }
  Error startEvaluator();
  Expected<ReplayOptions> applyTo(const json::Object &Config) const;
  BisectSubject makeSubject();
  Expected<std::pair<std::string, std::string>>
  readChange(const json::Object &Config, const PassExecution &E);
  Expected<json::Object> withIR(const json::Object &Config, StringRef IR);
  Expected<std::vector<PipelineStep>> takeSteps(const json::Object &Config);
  Error addRequiredEvidence();
  Expected<PassListing> countRewrites(const json::Object &Config,
                                      PassStage Stage);
  bool canSchedule() const;
  Expected<PassListing> listPassesOf(const json::Object &Config,
                                     PassListOptions L = {});
  Expected<std::optional<Evaluation>> runOnHost(const json::Object &Config,
                                                unsigned Attempt);

  // Evidence.
  Error addEvidence();
  void noteUninitialized(const json::Object *Result);
  void checkEvidence();
  void noteMissingFiles();
  Error check(BisectCommand &C, ArrayRef<std::string> Words, double Limit);
  Error addProof(BisectCommand C, const json::Object &Config);
  Error addCommand(StringRef Name, const Twine &What,
                   const json::Object &Config, Answer Wanted);
  Error addRewriteCommands();
  Error addCommands();
  Error addPTX();
  BisectSides makeSides() const;
};
} // namespace

//===----------------------------------------------------------------------===//
// Evaluating
//===----------------------------------------------------------------------===//

Expected<ReplayOptions>
ReplayBisection::applyTo(const json::Object &Config) const {
  ReplayOptions Options = Plan.options();
  if (Error E = applySide(Config, Options))
    return std::move(E);
  return Options;
}

/// Returns false if the user chose a schedule, or a strategy that has only one.
bool ReplayBisection::canSchedule() const {
  HostStrategy S = Plan.options().Host.Strategy;
  return !App && isOnHost(*Farm) && Plan.options().HostSchedule.empty() &&
         S != HostStrategy::Loop && S != HostStrategy::Region;
}

Expected<PassListing> ReplayBisection::listPassesOf(const json::Object &Config,
                                                    PassListOptions L) {
  Expected<ReplayOptions> Options = applyTo(Config);
  if (!Options)
    return Options.takeError();
  // On the host device, the code generator's passes only affect the machine
  // code that metrics are read from, and whether there is any.
  L.CodeGen =
      !isOnHost(*Farm) || Options->Resources || needsResources(what().Metric);
  L.Limit = Options->Timeout;
  Expected<std::unique_ptr<ReplayPlan>> Variant =
      Plan.vary(std::move(*Options));
  if (!Variant)
    return Variant.takeError();
  return listPasses(**Variant, L);
}

Expected<std::optional<Evaluation>>
ReplayBisection::runOnHost(const json::Object &Config, unsigned Attempt) {
  if (App || isOnHost(*Farm))
    return std::nullopt;
  if (!HostFarm) {
    FarmOptions F = makeFarmOptions(Plan, O);
    F.Devices = {"host"};
    F.HostWorkers = 1;
    if (Error E = ReplayFarm::create(std::move(F)).moveInto(HostFarm)) {
      Evaluation V;
      V.Failure = FailureKind::Unsupported;
      V.Error = toString(std::move(E));
      return V;
    }
  }
  EvaluationRequest Request;
  Request.Config = Config;
  Request.Attempt = Attempt;
  Request.Fresh = true;
  Request.OwnProcess = true;
  if (Error E = HostFarm->submit(std::move(Request)))
    return std::move(E);
  while (true) {
    Expected<std::vector<Evaluation>> Some = HostFarm->wait(1);
    if (!Some) {
      // The host device cannot run this launch.
      Evaluation V;
      V.Failure = FailureKind::Unsupported;
      V.Error = toString(Some.takeError());
      return V;
    }
    if (!Some->empty())
      return std::move(Some->front());
  }
}

/// Lists the pass executions with their queries of debug counters. Fails if the
/// counters are already in use, or are those of an external tool.
Expected<PassListing> ReplayBisection::countRewrites(const json::Object &Config,
                                                     PassStage Stage) {
  Expected<ReplayOptions> Options = applyTo(Config);
  if (!Options)
    return Options.takeError();
  if (any_of(Options->LLVMOptions,
             [](const LLVMOption &O) { return O.Name == "debug-counter"; }))
    return createStringError("the command line sets -debug-counter itself");
  bool IsTools = !Options->OptTool.empty() || !Options->LlcTool.empty();
  if (IsTools)
    return createStringError(
        "the debug counters of an external opt or llc are not searched");
  PassListOptions L;
  L.Counters = true;
  L.Details = Stage == PassStage::CodeGen;
  return listPassesOf(Config, L);
}

Expected<std::pair<std::string, std::string>>
ReplayBisection::readChange(const json::Object &Config,
                            const PassExecution &E) {
  Expected<ReplayOptions> Options = applyTo(Config);
  if (!Options)
    return Options.takeError();
  if (Error Failed = PrivateFolder::createTemporary().moveInto(Spliced))
    return std::move(Failed);
  std::string NamedIR = Spliced.pathOf("named.bc");
  if (Error Failed = writeNamedIR(Plan, NamedIR))
    return std::move(Failed);
  std::pair<std::string, std::string> Texts;
  for (bool After : {false, true}) {
    ReplayOptions One = *Options;
    One.RunPasses = After ? std::to_string(E.Number) : "none";
    Expected<std::string> Text =
        emitCode(Plan, std::move(One), NamedIR, /*Assembly=*/false,
                 Spliced.pathOf(After ? "after.ll" : "before.ll"));
    if (!Text)
      return Text.takeError();
    (After ? Texts.second : Texts.first) = std::move(*Text);
  }
  return Texts;
}

/// Writes each IR to a new file: evaluations distinguish IR by its path.
Expected<json::Object> ReplayBisection::withIR(const json::Object &Config,
                                               StringRef IR) {
  std::string Path =
      Spliced.pathOf(("spliced-" + Twine(++NumSpliced) + ".ll").str());
  if (Error E = writeFileAtomically(Path, IR))
    return std::move(E);
  json::Object Changed = Config;
  Changed["ir"] = Path;
  Changed["run_passes"] = "none";
  return Changed;
}

/// Keeps the folders of IR: evaluations distinguish IR by its path.
Expected<std::vector<PipelineStep>>
ReplayBisection::takeSteps(const json::Object &Config) {
  Expected<ReplayOptions> Options = applyTo(Config);
  if (!Options)
    return Options.takeError();
  Expected<PrivateFolder> Folder = PrivateFolder::createTemporary();
  if (!Folder)
    return Folder.takeError();
  std::string NamedIR = Folder->pathOf("named.bc");
  Expected<std::unique_ptr<ReplayPlan>> Variant = Plan.vary(*Options);
  if (!Variant)
    return Variant.takeError();
  if (Error E = writeNamedIR(**Variant, NamedIR))
    return std::move(E);
  PassListOptions L;
  L.CodeGen = false;
  L.Limit = Options->Timeout;
  L.Snapshots = Folder->path();
  Options->IRFile = NamedIR;
  Expected<std::unique_ptr<ReplayPlan>> Named =
      (*Variant)->vary(std::move(*Options));
  if (!Named)
    return Named.takeError();
  Expected<PassListing> All = listPasses(**Named, L);
  if (!All)
    return All.takeError();
  PipelineStep Step;
  Step.Config = Config;
  Step.Config.erase("run_passes");
  Step.Config.erase("skip_passes");
  Step.Config["passes"] = "";
  Step.Config["ir"] = NamedIR;
  std::vector<PipelineStep> Steps = {Step};
  for (auto [I, E] : enumerate(All->Executions)) {
    if (E.Stage != PassStage::IR || !E.Ran || E.Changed != true)
      continue;
    Step.Execution = E;
    Step.Config["ir"] = getSnapshotPath(Folder->path(), I);
    Steps.push_back(Step);
  }
  Snapshots.push_back(std::move(*Folder));
  return Steps;
}

/// Returns true for an external program that can only run prefixes.
static bool runsOnlyPrefixes(const ReplayOptions &Options) {
  return any_of(ArrayRef<StringRef>{Options.OptTool, Options.LlcTool},
                [](StringRef Program) {
                  if (Program.empty())
                    return false;
                  Expected<ToolInfo> Tool = identifyTool(Program);
                  if (Tool)
                    return runsOnlyPrefixes(*Tool);
                  consumeError(Tool.takeError());
                  return false;
                });
}

BisectSubject ReplayBisection::makeSubject() {
  BisectSubject S;
  S.ListPasses = [this](const json::Object &Config) {
    return listPassesOf(Config);
  };
  S.OnlyPrefixes = [this](const json::Object &Config) {
    Expected<ReplayOptions> Options = applyTo(Config);
    if (Options)
      return runsOnlyPrefixes(*Options);
    consumeError(Options.takeError());
    return false;
  };
  S.RunOnHost = [this](const json::Object &Config, unsigned Attempt) {
    return runOnHost(Config, Attempt);
  };
  S.ClassifyChange = [this](const json::Object &Config,
                            const PassExecution &E) -> Expected<ChangeKind> {
    Expected<ReplayOptions> Options = applyTo(Config);
    if (!Options)
      return Options.takeError();
    Expected<std::unique_ptr<ReplayPlan>> Variant =
        Plan.vary(std::move(*Options));
    if (!Variant)
      return Variant.takeError();
    return classifyChange(**Variant, E);
  };
  S.CanSchedule = [this] { return canSchedule(); };
  S.Say = O.Say;
  S.ReadChange = [this](const json::Object &Config, const PassExecution &E) {
    return readChange(Config, E);
  };
  S.WithIR = [this](const json::Object &Config, StringRef IR) {
    return withIR(Config, IR);
  };
  S.TakeSteps = [this](const json::Object &Config) {
    return takeSteps(Config);
  };
  S.CountRewrites = [this](const json::Object &Config, PassStage Stage) {
    return countRewrites(Config, Stage);
  };
  if (!Triple(Plan.kernel().Triple).isNVPTX() || isOnHost(*Farm))
    return S;
  // Append to the user's options: the last -O wins.
  std::vector<std::string> Unoptimized = Plan.options().PtxasOptions;
  Unoptimized.push_back("-O0");
  ReplayOptions Only;
  Only.PtxasOptions = std::move(Unoptimized);
  S.Probes.push_back({makeConfig(Only), "the optimizations of ptxas"});
  S.Probes.push_back({json::Object{{"codegen_opt", 0}},
                      "the optimizations of the code generator and ptxas"});
  return S;
}

//===----------------------------------------------------------------------===//
// Evidence
//===----------------------------------------------------------------------===//

/// Returns the executions whose code the report shows: the cause, its
/// exploiter, and then the others that take part.
static std::vector<PassExecution> orderEvidence(const BisectOutcome &Out) {
  std::vector<PassExecution> Shown = Out.Missing;
  auto Add = [&](auto Wanted) {
    for (const BisectCulprit &C : Out.Culprits)
      if (Wanted(C) && !C.Execution.Required)
        Shown.push_back(C.Execution);
  };
  Add([](const BisectCulprit &C) { return C.InSkipSet; });
  Add([](const BisectCulprit &C) { return C.IsExploiter; });
  Add([](const BisectCulprit &C) { return !C.InSkipSet && !C.IsExploiter; });
  return Shown;
}

/// Adds the change of a required execution, whose IR was kept.
Error ReplayBisection::addRequiredEvidence() {
  const auto &[Before, After] = *R.Outcome.WrongStep;
  std::unique_ptr<ReplayPlan> Plans[2];
  for (auto [Step, Side] :
       {std::pair(&Before, &Plans[0]), {&After, &Plans[1]}}) {
    Expected<ReplayOptions> Options = applyTo(Step->Config);
    if (!Options)
      return Options.takeError();
    if (Error E = Plan.vary(std::move(*Options)).moveInto(*Side))
      return E;
  }
  R.Evidence.push_back(
      makeStepEvidence(*Plans[0], *Plans[1], After.Execution, O.Output));
  return Error::success();
}

Error ReplayBisection::addEvidence() {
  static constexpr size_t MaxEvidence = 8;
  const BisectOutcome &Out = R.Outcome;
  if (Out.WrongStep)
    if (Error E = addRequiredEvidence())
      return E;
  Expected<ReplayOptions> Options =
      applyTo(Out.SpoiledConfig ? Out.Sides.Good : Out.BadConfig);
  if (!Options)
    return Options.takeError();
  Expected<std::unique_ptr<ReplayPlan>> Side = Plan.vary(std::move(*Options));
  if (!Side)
    return Side.takeError();
  std::vector<PassExecution> Shown = orderEvidence(Out);
  if (Shown.size() > MaxEvidence)
    Shown.resize(MaxEvidence);
  for (const PassExecution &E : Shown)
    R.Evidence.push_back(makeEvidence(**Side, E, Out.Repeats, O.Output));
  for (const BlamedRewrite &W : R.Outcome.Rewrites)
    R.RewriteEvidence.push_back(
        makeRewriteEvidence(Plan, R.Outcome, W, O.Output));
  return Error::success();
}

/// Checks each execution with Alive2, or only its blamed rewrite if known.
void ReplayBisection::checkEvidence() {
  if (O.AliveTV.empty() || R.Evidence.empty())
    return;
  say("running alive-tv");
  for (const PassEvidence &Pass : R.Evidence) {
    const PassEvidence *Step = &Pass;
    for (const PassEvidence &Rewrite : R.RewriteEvidence)
      if (Rewrite.Number == Pass.Number && !Rewrite.BeforeText.empty())
        Step = &Rewrite;
    auto C = find_if(R.Outcome.Culprits, [&](const BisectCulprit &C) {
      return C.Execution.Number == Pass.Number;
    });
    R.Alive.push_back(runAlive(O.AliveTV, C->Execution, *Step));
    R.Alive.back().IsRewrite = Step != &Pass;
  }
}

/// Notes that code is missing in the folder of --output.
void ReplayBisection::noteMissingFiles() {
  for (const std::vector<PassEvidence> *All : {&R.Evidence, &R.RewriteEvidence})
    for (const PassEvidence &E : *All)
      if (StringRef Reason = E.Missing; Reason.consume_front(NotKeptPrefix)) {
        R.Outcome.Notes.push_back("files are missing in '" + O.Output +
                                  "': " + Reason.str());
        return;
      }
}

static std::vector<std::string> makeWords(ArrayRef<std::string> Common,
                                          const ReplayOptions &Options) {
  std::vector<std::string> Words = Common.vec();
  append_range(Words, makeOptions(makeSideConfig(Options)));
  return Words;
}

/// Time limit of a command, in replay timeouts: each of its stages may take
/// one.
static constexpr double CheckSlowerThan = 10;

/// Factor for the runs of a command that should show a random fault. The fault
/// is missed in all repeats with a probability of up to 1 %. The runs end with
/// the first failure, so more of them cost little.
static constexpr unsigned MoreRunsOfBad = 3;

/// Notes if a replay that did not match found reads of uninitialized memory,
/// since then no pass need be wrong. \p Result may be null.
void ReplayBisection::noteUninitialized(const json::Object *Result) {
  std::optional<bool> Reads =
      Result ? Result->getBoolean("reads_uninitialized") : std::nullopt;
  if (!Reads || R.ReadsUninitialized)
    return;
  R.ReadsUninitialized = Reads;
  if (*Reads)
    R.Outcome.Notes.push_back(
        "the recorded kernel reads local or shared memory that it has not "
        "written: a pass that changes the result need not be wrong");
}

/// Runs the command \p Words, repeatedly for a random fault, and stores its
/// exit code and metric in \p C.
Error ReplayBisection::check(BisectCommand &C, ArrayRef<std::string> Words,
                             double Limit) {
  std::vector<StringRef> Args(Words.begin(), Words.end());
  std::string Text;
  unsigned Runs = R.Outcome.Repeats;
  if (R.Outcome.Random && C.Expected == Answer::Bad)
    Runs *= MoreRunsOfBad;
  for (unsigned Run = 0; Run != Runs; ++Run) {
    Expected<std::optional<int>> Code = askProgram(Args, Text, Limit);
    ++C.Runs;
    if (!Code && Code.errorIsA<ToolTimeout>()) {
      consumeError(Code.takeError()); // the next run may end in time
      continue;
    }
    if (!Code)
      return Code.takeError();
    if (!*Code)
      continue;
    // An error, and no verdict: repeated for its message.
    if (**Code == 1)
      if (Error E = runProgram(Args, Text, Limit)) {
        consumeError(std::move(E));
        size_t At = StringRef(Text).rfind("error: ");
        return createStringError(At == StringRef::npos
                                     ? "exit code 1"
                                     : StringRef(Text).substr(At).trim());
      }
    C.ExitCode = **Code;
    if (**Code != 0)
      break;
  }
  Expected<json::Value> Report = json::parse(Text);
  if (!Report) {
    consumeError(Report.takeError()); // the exit code suffices
    return Error::success();
  }
  const json::Object *Whole = Report->getAsObject();
  const json::Object *Result = Whole ? Whole->getObject("Result") : nullptr;
  noteUninitialized(Result);
  if (Result && !what().isVerify())
    if (std::optional<double> Value = Result->getNumber(what().Metric))
      C.Value = *Value;
  return Error::success();
}

Error ReplayBisection::addCommand(StringRef Name, const Twine &What,
                                  const json::Object &Config, Answer Wanted) {
  Expected<ReplayOptions> Options = applyTo(Config);
  if (!Options)
    return Options.takeError();
  BisectCommand C;
  C.Name = Name.str();
  C.What = What.str();
  C.Expected = Wanted;
  if (App)
    return addProof(std::move(C), Config);
  std::vector<std::string> Words = makeWords(O.CommonWords, *Options);
  C.Text = "llvm-mneme-replay " + quoteCommand(Words);
  // The answer stands if the command cannot be run.
  if (!O.Program.empty()) {
    Words.insert(Words.begin(), O.Program);
    Words.push_back("--format=json");
    if (Error E =
            check(C, Words, CheckSlowerThan * std::max(0.0, Options->Timeout)))
      R.Outcome.Notes.push_back(
          "the command of '" + C.What +
          "' could not be run: " + toString(std::move(E)));
    else if (!C.shows(R.What, R.Outcome.Good.Value))
      R.Outcome.Notes.push_back("the command of '" + C.What +
                                "' did not reproduce the result");
  }
  R.Commands.push_back(std::move(C));
  return Error::success();
}

/// Writes a package with the code of a configuration, and adds the command that
/// proves it in the application.
Error ReplayBisection::addProof(BisectCommand C, const json::Object &Config) {
  Expected<TunedPackage> Package = App->pack(Plan, Config);
  if (!Package)
    return Package.takeError();
  std::string Path = pathIn(O.Output, C.Name + ".mneme");
  if (Error E = writePackage(Path, *Package))
    return E;
  std::vector<std::string> Words = {
      "llvm-mneme-deploy", "prove",
      "--runs=1",          "--kernel-runs=0",
      "--scope=kernel",    "--launch-shape=unproven",
      "--code=unproven",   App->isOnHost() ? "--device=host" : "--device=cuda"};
  if (!O.App->Check.empty())
    Words.push_back("--check=" + O.App->Check);
  for (const std::string &File : O.App->OutputFiles)
    Words.push_back("--output-file=" + File);
  append_range(Words, ArrayRef<std::string>{Path, "--"});
  append_range(Words, O.App->Command);
  C.Text = quoteCommand(Words);
  Words.front() = pathIn(sys::path::parent_path(O.Program), Words.front());
  // Three runs without packages, and one with it.
  if (!O.Program.empty())
    if (Error E = check(C, Words, 4 * O.App->Timeout))
      R.Outcome.Notes.push_back(
          "the command of '" + C.What +
          "' could not be run: " + toString(std::move(E)));
  R.Commands.push_back(std::move(C));
  return Error::success();
}

Error ReplayBisection::addRewriteCommands() {
  for (const BlamedRewrite &W : R.Outcome.Rewrites) {
    if (!W.Missing.empty())
      continue;
    std::string Name = formatv("count {0} of {1} in execution {2}", W.Count,
                               W.Counter, W.Number)
                           .str();
    if (Error E = addCommand("rewrite", "bad: with " + Name, W.BadConfig,
                             Answer::Bad))
      return E;
    if (Error E = addCommand("no_rewrite", "good: without " + Name,
                             W.GoodConfig, Answer::Good))
      return E;
  }
  return Error::success();
}

Error ReplayBisection::addCommands() {
  const BisectOutcome &Out = R.Outcome;
  // Bad even without optional passes: the replay may find uninitialized reads.
  if (Out.Good.A == Answer::Bad && Out.Good.Failure == FailureKind::Mismatch)
    return addCommand("bad", "bad", Out.BadConfig, Answer::Bad);
  if (!Out.found())
    return Error::success();
  say("running the commands that reproduce it");
  if (Error E = addCommand("bad", "bad", Out.BadConfig, Answer::Bad))
    return E;
  if (Out.End != BisectOutcome::FoundPasses)
    if (Error E = addCommand("good", "good: the good side", Out.Sides.Good,
                             Answer::Good))
      return E;
  if (Out.End == BisectOutcome::FoundSettings)
    return Error::success();
  if (Out.End == BisectOutcome::FoundMissing)
    return addCommand("spoiled", "bad: the good side without these executions",
                      *Out.SpoiledConfig, Answer::Bad);
  if (Error E =
          addCommand("healed",
                     Out.PrefixOnly ? "good: with only the executions before it"
                     : Out.Accepted ? "better: without the culprits"
                                    : "good: without the culprits",
                     *Out.HealedConfig, Answer::Good))
    return E;
  if (Out.SmallestConfig)
    if (Error E = addCommand("smallest",
                             Out.PrefixOnly ? "bad: with no execution after it"
                                            : "bad: with only these executions",
                             *Out.SmallestConfig, Answer::Bad))
      return E;
  return addRewriteCommands();
}

/// Adds the command for the isolated PTX and reduces the PTX. Both need files,
/// which only --output keeps.
Error ReplayBisection::addPTX() {
  if (!R.PTX)
    return Error::success();
  json::Object Config = R.Outcome.BadConfig;
  Config["ptx"] = R.PTX->IsolatedFile;
  if (!R.PTX->IsolatedFile.empty())
    if (Error E =
            addCommand("isolated", "good: with these instructions isolated",
                       Config, Answer::Good))
      return E;
  return reducePTX(Plan, O, R.Outcome, *R.PTX);
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

/// Returns the sides. A setting of only one side gets the command line's value
/// in the other.
BisectSides ReplayBisection::makeSides() const {
  BisectSides Sides = O.Sides;
  json::Object Base = makeSideConfig(Plan.options());
  Base.try_emplace(HostFinishKey, getHostFinishName(HostOptions().Finish));
  auto Complete = [&](json::Object &Side, const json::Object &Other) {
    for (const auto &KV : Other)
      if (const json::Value *V = Base.get(KV.first); V && !Side.get(KV.first))
        Side[KV.first] = *V;
  };
  Complete(Sides.Good, O.Sides.Bad);
  Complete(Sides.Bad, O.Sides.Good);
  return Sides;
}

Error ReplayBisection::startEvaluator() {
  if (!O.App) {
    Expected<std::unique_ptr<ReplayFarm>> Started = startFarm(Plan, O);
    if (!Started)
      return Started.takeError();
    Farm = std::move(*Started);
    return Error::success();
  }
  say("running the application twice without candidates");
  if (Error E = ApplicationJudge::create(*O.App).moveInto(App))
    return E;
  Farm = std::make_unique<ApplicationEvaluator>(*App, Plan);
  return Error::success();
}

/// Creates the folder and checks that files can be written there, which a long
/// search should not find out at its end.
static Error prepareOutput(StringRef Folder) {
  if (Folder.empty())
    return Error::success();
  // Succeeds for a file of this name.
  std::error_code EC = sys::fs::create_directories(Folder);
  if (!EC && !sys::fs::is_directory(Folder))
    EC = std::make_error_code(std::errc::not_a_directory);
  if (EC)
    return createFileError(Folder, EC);
  std::string Probe = pathIn(Folder, ".mneme-probe");
  Error E = writeFileAtomically(Probe, "writable\n");
  sys::fs::remove(Probe);
  return E;
}

Expected<BisectReport> ReplayBisection::run() {
  auto Begin = std::chrono::steady_clock::now();
  if (Error E = prepareOutput(O.Output))
    return std::move(E);
  for (const json::Object *Side : {&O.Sides.Good, &O.Sides.Bad}) {
    Expected<ReplayOptions> Options = applyTo(*Side);
    if (!Options)
      return Options.takeError();
    if (Error E = Plan.vary(std::move(*Options)).takeError())
      return std::move(E);
  }
  if (Error E = startEvaluator())
    return std::move(E);
  Expected<BisectOutcome> Outcome =
      bisect(*Farm, makeSides(), makeSubject(), O.Bisect);
  if (!Outcome)
    return Outcome.takeError();
  R.Outcome = std::move(*Outcome);
  R.What = what();
  R.What.Accepted = R.Outcome.Accepted;
  R.Kernel = Plan.kernel().displayName();
  R.StaticHash = Plan.kernel().StaticHash;
  R.IsForAMD = Triple(Plan.kernel().Triple).isAMDGPU();
  R.RecordId = Plan.instance().DynamicHash;
  R.Device = describeDevice(*Farm, what());
  if (!App && !O.Program.empty() && blamesPtxas(Plan, R.Outcome))
    if (Error E = searchPTX(Plan, O, *Farm, R.Outcome).moveInto(R.PTX))
      return std::move(E);
  // The farms hold the device, which the commands need.
  Farm.reset();
  HostFarm.reset();
  if (Error E = addEvidence())
    return std::move(E);
  checkEvidence();
  noteMissingFiles();
  // A replay compares memory, so the commands are for packages, which are
  // files.
  if (App)
    R.Outcome.Notes.push_back(
        formatv("the application judged, in {0} runs with candidates: {1}",
                App->numRuns(), quoteCommand(O.App->Command)));
  if (!App || !O.Output.empty())
    if (Error E = addCommands())
      return std::move(E);
  if (R.Outcome.End == BisectOutcome::FoundPasses)
    R.Plain = makePlainCommand(Plan, R.Outcome, O.Output);
  if (Error E = addPTX())
    return std::move(E);
  R.Seconds = secondsSince(Begin);
  return std::move(R);
}

/// Returns whether the GPU's code generator fails for the bad side and not for
/// the good side. The host device does without it.
static Expected<bool> failsForGPU(const ReplayPlan &Plan,
                                  const BisectSides &Sides) {
  std::optional<bool> Fails[2];
  for (auto [Side, Out] :
       {std::pair(&Sides.Good, &Fails[0]), {&Sides.Bad, &Fails[1]}}) {
    ReplayOptions Options = Plan.options();
    if (Error E = applySide(*Side, Options))
      return std::move(E);
    Options.Resources = true;
    Expected<std::unique_ptr<ReplayPlan>> Variant =
        Plan.vary(std::move(Options));
    if (!Variant)
      return Variant.takeError();
    Expected<ReplayResult> Made = compileOnly(**Variant);
    if (!Made)
      return Made.takeError();
    *Out = Made->V == Verdict::CompileError;
  }
  return !*Fails[0] && *Fails[1];
}

Expected<BisectReport> mneme::bisectReplay(const ReplayPlan &Plan,
                                           const ReplayBisectOptions &O) {
  Expected<BisectReport> R = ReplayBisection(Plan, O).run();
  if (!R)
    return R;
  ReplayOptions Options = Plan.options();
  ReplayBisectOptions Again = O;
  if (R->Outcome.End == BisectOutcome::NothingToFind && R->What.isVerify() &&
      R->Device == "host" && !Options.Resources && canBuildImage(Plan)) {
    Expected<bool> Fails = failsForGPU(Plan, R->Outcome.Sides);
    if (!Fails)
      return Fails.takeError();
    if (!*Fails)
      return R;
    if (O.Say)
      O.Say("the GPU's code generator fails for the bad side: searching with "
            "--resources");
    Options.Resources = true;
    Again.CommonWords.push_back("--resources");
  } else if (!R->Outcome.Random && R->isContradicted()) {
    // The result depends on something that changes slowly, such as the time.
    if (O.Say)
      O.Say("the result varies: searching again with repeated replays");
    Again.Bisect.Judge.AssumeRandom = true;
  } else {
    return R;
  }
  Expected<std::unique_ptr<ReplayPlan>> Variant = Plan.vary(std::move(Options));
  if (!Variant)
    return Variant.takeError();
  return ReplayBisection(**Variant, Again).run();
}
