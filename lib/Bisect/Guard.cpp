//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Guard.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <poll.h>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

Expected<std::vector<std::string>> mneme::findRecordings(StringRef Path) {
  if (!sys::fs::is_directory(Path))
    return std::vector<std::string>{Path.str()};
  Expected<std::vector<std::string>> Files = findKernelFiles(Path);
  if (Files)
    return Files;
  std::vector<std::string> All;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Path, EC), End; !EC && It != End;
       It.increment(EC)) {
    if (!sys::fs::is_directory(It->path()))
      continue;
    Expected<std::vector<std::string>> Below = findKernelFiles(It->path());
    if (Below)
      append_range(All, *Below);
    else
      consumeError(Below.takeError());
  }
  if (All.empty())
    return Files.takeError();
  consumeError(Files.takeError());
  llvm::sort(All);
  return std::move(All);
}

namespace {
/// The code of one side for one launch.
struct GuardCode {
  bool IsSetUp = false; ///< The side could be set up.
  std::string Failure;  ///< The verdict; empty if it compiles.
  std::string Error;
  std::string IRHash, CodeHash;
  StringMap<double> Metrics;
  std::string ObjectFile; ///< Machine code; exists while it is screened.

  bool isMade() const { return IsSetUp && Failure.empty(); }
};

/// A launch in both sides.
struct GuardedLaunch {
  std::string RecordId;
  GuardCode Good, Bad;
  bool IsSame = false; ///< Both sides have the same machine code.

  bool compiles() const { return Good.isMade() && Bad.isMade(); }
};

class Guard {
public:
  explicit Guard(const GuardOptions &O) : O(O) {}
  Expected<GuardReport>
  run(function_ref<bool(const GuardedKernel &, const Regression &)> Accepted);

private:
  const GuardOptions &O;
  GuardReport Report;
  std::vector<std::vector<GuardedLaunch>> Launches; ///< Of each kernel.
  /// Whether the device is the host; unset: not known yet.
  std::optional<bool> OnHost;

  Expected<json::Object> parse(bool IsBad, StringRef RecordId) const;
  Error checkSides() const;
  Error screen();
  Error checkSetUp() const;
  void compareCode(GuardedKernel &K, ArrayRef<GuardedLaunch> L) const;
  bool mustReplay(const GuardedLaunch &L) const;
  Error replay(GuardedKernel &K, ArrayRef<GuardedLaunch> L);
  void judge(GuardedKernel &K, const GuardedLaunch &L, const Evaluation &Good,
             const Evaluation &Bad) const;
  Error compareTimes(ReplayFarm &Farm, GuardedKernel &K, StringRef RecordId,
                     ArrayRef<EvaluationRequest> Requests);
  void bisect(GuardedKernel &K, Regression &R, double Seconds) const;

  const Criterion *find(StringRef Metric) const {
    auto It = find_if(O.Criteria,
                      [&](const Criterion &C) { return C.Metric == Metric; });
    return It == O.Criteria.end() ? nullptr : &*It;
  }
  bool verifies() const { return O.Base.Execute && find(""); }
  bool measures() const {
    return O.Base.Execute && find("time") && (O.TimesOnHost || OnHost == false);
  }
};
} // namespace

Expected<json::Object> Guard::parse(bool IsBad, StringRef RecordId) const {
  Expected<json::Object> Side =
      parseSide(IsBad ? O.Bad : O.Good, RecordId, O.AllowPrograms);
  StringRef Name = IsBad ? "--bad" : "--good";
  if (!Side)
    return createStringError(Name + ": " + toString(Side.takeError()));
  for (StringRef Key : {"ir", "source", "run_passes", "skip_passes"})
    if (Side->get(Key))
      return createStringError(Name + ": a compiler has no '--" +
                               getOptionName(Key) + "': leave it out");
  return Side;
}

/// Checks what does not depend on a launch, before hours of work.
Error Guard::checkSides() const {
  Expected<json::Object> Good = parse(false, ""), Bad = parse(true, "");
  if (!Good || !Bad)
    return joinErrors(Good.takeError(), Bad.takeError());
  // The processes that compile inherit what is known about programs: to run and
  // hash them takes longer than many compilations. Errors come up there.
  for (const json::Object *Side : {&*Good, &*Bad})
    for (ToolKind Kind : {ToolKind::Opt, ToolKind::Llc, ToolKind::Ptxas})
      if (std::optional<StringRef> Path =
              Side->getString(getToolConfigKey(Kind)))
        consumeError(identifyTool(*Path).takeError());
  if (json::Value(std::move(*Good)) == json::Value(std::move(*Bad)))
    return createStringError("--good and --bad are the same compiler");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Screening: code, without a device
//===----------------------------------------------------------------------===//

static json::Value toJSON(const GuardCode &C) {
  json::Object Metrics;
  for (const auto &M : C.Metrics)
    Metrics[M.first().str()] = M.second;
  return json::Object{{"set_up", C.IsSetUp},
                      {"failure", C.Failure},
                      {"error", json::fixUTF8(C.Error)},
                      {"ir_hash", C.IRHash},
                      {"code_hash", C.CodeHash},
                      {"metrics", std::move(Metrics)}};
}

// Found by argument-dependent lookup.
namespace {
bool fromJSON(const json::Value &V, GuardCode &C, json::Path P) {
  json::ObjectMapper O(V, P);
  std::map<std::string, double> Metrics;
  if (!O || !O.map("set_up", C.IsSetUp) || !O.map("failure", C.Failure) ||
      !O.map("error", C.Error) || !O.map("ir_hash", C.IRHash) ||
      !O.map("code_hash", C.CodeHash) || !O.map("metrics", Metrics))
    return false;
  for (const auto &[Name, Value] : Metrics)
    C.Metrics[Name] = Value;
  return true;
}

bool fromJSON(const json::Value &V, GuardedLaunch &L, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("record_id", L.RecordId) && O.map("same", L.IsSame) &&
         O.map("good", L.Good) && O.map("bad", L.Bad);
}
} // namespace

static json::Value toJSON(const GuardedLaunch &L) {
  return json::Object{{"record_id", L.RecordId},
                      {"same", L.IsSame},
                      {"good", toJSON(L.Good)},
                      {"bad", toJSON(L.Bad)}};
}

namespace {
/// Compiles the launches of one kernel, in a process of its own.
class Screening {
public:
  explicit Screening(PrivateFolder Folder) : Folder(std::move(Folder)) {}
  GuardCode compile(const ReplayPlan &Plan, const json::Object &Side);

private:
  PrivateFolder Folder; ///< For machine code.
  /// By digest of the compilation: most launches of a kernel have one.
  std::map<std::string, Expected<ReplayResult>> Known;
};
} // namespace

GuardCode Screening::compile(const ReplayPlan &Plan, const json::Object &Side) {
  GuardCode C;
  auto Fail = [&](Error E) {
    C.Error = toString(std::move(E));
    return C;
  };
  ReplayOptions Options = Plan.options();
  if (Error E = applySide(Side, Options))
    return Fail(std::move(E));
  if (Plan.isNVPTX())
    if (Error E = checkPTXCompiler(Options.Assembler, Options.CudaPath,
                                   Options.Ptxas))
      return Fail(std::move(E));
  Expected<std::unique_ptr<ReplayPlan>> Variant =
      Plan.vary(Options, /*WillCompile=*/false);
  if (!Variant)
    return Fail(Variant.takeError());
  std::string Digest = getCompileDigest(**Variant);
  C.ObjectFile = Folder.pathOf(Digest);
  auto It = Known.find(Digest);
  if (It == Known.end()) {
    Options.OutputObject = C.ObjectFile;
    Expected<std::unique_ptr<ReplayPlan>> Compiled =
        Plan.vary(std::move(Options));
    if (!Compiled)
      return Fail(Compiled.takeError());
    It = Known.emplace(Digest, runIsolatedReplay(**Compiled)).first;
  }
  if (!It->second) {
    std::string Text = toString(It->second.takeError());
    It->second = createStringError(Text);
    C.Error = Text;
    return C;
  }
  const ReplayResult &R = *It->second;
  C.IsSetUp = true;
  if (R.failed())
    C.Failure = getVerdictName(R.V).str();
  C.Error = R.Error;
  C.IRHash = R.IRHash;
  C.CodeHash = R.CodeHash;
  // The occupancy depends on the launch.
  C.Metrics = getMetrics(**Variant, R);
  return C;
}

/// Returns true if the instructions of both sides are equal. The rest of the
/// images has notes of the compilers.
static bool haveSameCode(const GuardedLaunch &L, StringRef Kernel) {
  if (!L.compiles() || L.Good.CodeHash == L.Bad.CodeHash)
    return L.compiles();
  Expected<std::unique_ptr<MemoryBuffer>> Good = readFile(L.Good.ObjectFile),
                                          Bad = readFile(L.Bad.ObjectFile);
  if (!Good || !Bad) { // none was made
    consumeError(joinErrors(Good.takeError(), Bad.takeError()));
    return false;
  }
  Expected<CodeComparison> C =
      compareKernelCode((*Good)->getBuffer(), (*Bad)->getBuffer(), Kernel);
  if (C)
    return C->Identical;
  consumeError(C.takeError());
  return false;
}

/// Waits until one of the tasks has ended. \returns its index.
static size_t waitForOne(MutableArrayRef<std::pair<size_t, ChildTask>> Tasks) {
  while (true) {
    std::vector<pollfd> Waiting;
    for (auto &[Index, Task] : Tasks)
      Waiting.push_back({Task.fd(), POLLIN, 0});
    ::poll(Waiting.data(), Waiting.size(), -1);
    for (auto [I, W] : enumerate(Waiting))
      if (W.revents && Tasks[I].second.poll())
        return I;
  }
}

Error Guard::screen() {
  size_t Jobs = O.Resources.CompileJobs.value_or(
      std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::pair<size_t, ChildTask>> Tasks;
  auto Start = [&](size_t Index) -> Error {
    const std::string &File = Report.Kernels[Index].File;
    Expected<ChildTask> Task =
        ChildTask::start("the compilation", [&]() -> Expected<std::string> {
          Expected<RecordedKernel> K = readKernelFile(File);
          if (!K)
            return K.takeError();
          Expected<PrivateFolder> Folder = PrivateFolder::createTemporary();
          if (!Folder)
            return Folder.takeError();
          Screening S(std::move(*Folder));
          json::Array All;
          for (const RecordedInstance &I : K->Instances) {
            ReplayOptions Options = O.Base;
            Options.RecordId = I.DynamicHash;
            Options.Execute = false;
            Options.ShowsOutput = false;
            Expected<json::Object> Good = parse(false, I.DynamicHash),
                                   Bad = parse(true, I.DynamicHash);
            if (!Good || !Bad)
              return joinErrors(Good.takeError(), Bad.takeError());
            Expected<std::unique_ptr<ReplayPlan>> Plan =
                ReplayPlan::create(File, std::move(Options));
            if (!Plan)
              return Plan.takeError();
            GuardedLaunch L;
            L.RecordId = I.DynamicHash;
            L.Good = S.compile(**Plan, *Good);
            L.Bad = S.compile(**Plan, *Bad);
            L.IsSame = haveSameCode(L, K->KernelName);
            All.push_back(::toJSON(L));
          }
          return formatv("{0}", json::Value(std::move(All))).str();
        });
    if (!Task)
      return Task.takeError();
    Tasks.emplace_back(Index, std::move(*Task));
    return Error::success();
  };
  for (size_t Next = 0, End = Report.Kernels.size();
       Next < End || !Tasks.empty();) {
    if (Next < End && Tasks.size() < Jobs) {
      if (Error E = Start(Next++))
        return E;
      continue;
    }
    if (O.Status)
      O.Status(
          formatv("compiling: {0} of {1} kernels", Next - Tasks.size(), End));
    size_t Ended = waitForOne(Tasks);
    size_t Index = Tasks[Ended].first;
    Expected<std::string> Text = Tasks[Ended].second.finish();
    Tasks.erase(Tasks.begin() + Ended);
    if (!Text) {
      Report.Kernels[Index].Undecided = toString(Text.takeError());
      continue;
    }
    Expected<std::vector<GuardedLaunch>> L =
        json::parse<std::vector<GuardedLaunch>>(*Text);
    if (!L)
      return L.takeError();
    Launches[Index] = std::move(*L);
  }
  return Error::success();
}

/// Fails if a side could not be set up for any kernel, which is an error in the
/// command line rather than in all kernels.
Error Guard::checkSetUp() const {
  for (auto [Name, Member] : {std::pair("--good", &GuardedLaunch::Good),
                              std::pair("--bad", &GuardedLaunch::Bad)}) {
    const GuardCode *First = nullptr;
    bool IsSetUp = false;
    for (ArrayRef<GuardedLaunch> OfKernel : Launches)
      for (const GuardedLaunch &L : OfKernel) {
        IsSetUp |= (L.*Member).IsSetUp;
        First = First ? First : &(L.*Member);
      }
    if (First && !IsSetUp)
      return createStringError(
          StringRef(Name) + " compiles none of the kernels: " + First->Error);
  }
  return Error::success();
}

/// Adds \p R, or replaces a regression of the same metric of another launch if
/// that is smaller.
static void addRegression(GuardedKernel &K, Regression R, bool Maximize) {
  auto Old = find_if(K.Regressions, [&](const Regression &Other) {
    return Other.Metric == R.Metric;
  });
  auto Badness = [&](const Regression &X) {
    return Maximize ? X.GoodValue * R.BadValue - R.GoodValue * X.BadValue
                    : X.BadValue * R.GoodValue - R.BadValue * X.GoodValue;
  };
  if (Old == K.Regressions.end())
    K.Regressions.push_back(std::move(R));
  else if (R.isMetric() && Badness(*Old) < 0)
    *Old = std::move(R);
}

/// Sets what follows from the code alone.
void Guard::compareCode(GuardedKernel &K, ArrayRef<GuardedLaunch> All) const {
  if (All.empty() && K.Undecided.empty())
    K.Undecided = "no recorded launch";
  for (const GuardedLaunch &L : All) {
    if (!L.Good.isMade()) {
      K.Undecided = "the good side does not compile it: " + L.Good.Error;
      continue;
    }
    if (!L.Bad.isMade()) {
      Regression R;
      R.Metric = "compile";
      R.RecordId = L.RecordId;
      R.GoodVerdict = "ok";
      R.BadVerdict = L.Bad.IsSetUp ? L.Bad.Failure : "Unsupported";
      R.Error = L.Bad.Error;
      addRegression(K, std::move(R), false);
      continue;
    }
    K.Code = L.IsSame && K.Code != GuardedKernel::Different
                 ? GuardedKernel::Same
                 : GuardedKernel::Different;
    for (const Criterion &C : O.Criteria) {
      auto Good = L.Good.Metrics.find(C.Metric),
           Bad = L.Bad.Metrics.find(C.Metric);
      if (Good == L.Good.Metrics.end() || Bad == L.Bad.Metrics.end() ||
          !C.isWorse(Bad->second, Good->second))
        continue;
      Regression R;
      R.Metric = C.Metric;
      R.RecordId = L.RecordId;
      R.GoodValue = Good->second;
      R.BadValue = Bad->second;
      addRegression(K, std::move(R), C.Maximize);
    }
  }
}

//===----------------------------------------------------------------------===//
// Replays: verdicts and times
//===----------------------------------------------------------------------===//

/// Returns false if a replay would run the same code twice. The host device
/// compiles the optimized IR with this LLVM's code generator.
bool Guard::mustReplay(const GuardedLaunch &L) const {
  return L.compiles() && !L.IsSame &&
         !(OnHost == true && L.Good.IRHash == L.Bad.IRHash);
}

void Guard::judge(GuardedKernel &K, const GuardedLaunch &L,
                  const Evaluation &Good, const Evaluation &Bad) const {
  auto Describe = [](const Evaluation &E) {
    return E.Failure.str() + ": " + E.Error;
  };
  if (!Good.Failure.empty()) {
    K.Undecided = "the good side does not verify: " + Describe(Good);
    return;
  }
  if (Bad.Failure.empty())
    return;
  if (Bad.Failure == FailureKind::Invalid ||
      Bad.Failure == FailureKind::WorkerLost ||
      Bad.Failure == FailureKind::Unsupported) {
    K.Undecided = "the bad side cannot be replayed: " + Describe(Bad);
    return;
  }
  Regression R;
  R.Metric = "verify";
  R.RecordId = L.RecordId;
  R.GoodVerdict = getVerdictName(getVerdict(Good.Level)).str();
  R.BadVerdict = Bad.Failure.str();
  R.Error = Bad.Error;
  addRegression(K, std::move(R), false);
}

Error Guard::compareTimes(ReplayFarm &Farm, GuardedKernel &K,
                          StringRef RecordId,
                          ArrayRef<EvaluationRequest> Requests) {
  static constexpr unsigned Rounds = 30;
  Expected<PairedEvaluation> P = Farm.comparePaired(Requests, Rounds);
  if (!P)
    return P.takeError();
  if (!P->Failure.empty()) {
    K.Undecided = "no times: " + P->Failure.str() + ": " + P->Error;
    return Error::success();
  }
  const Criterion &C = *find("time");
  RatioEstimate Ratio = estimatePairedRatio(P->Samples[1], P->Samples[0]);
  if (!(Ratio.Low > 1 + C.Threshold))
    return Error::success();
  Regression R;
  R.Metric = "time";
  R.RecordId = RecordId.str();
  R.GoodValue = summarize(P->Samples[0]).Median;
  R.BadValue = summarize(P->Samples[1]).Median;
  R.Ratio = Ratio;
  addRegression(K, std::move(R), false);
  return Error::success();
}

Error Guard::replay(GuardedKernel &K, ArrayRef<GuardedLaunch> All) {
  FarmOptions F;
  static_cast<FarmResources &>(F) = O.Resources;
  F.Devices = {O.Base.Device};
  F.Message = [&](StringRef Text) {
    Report.Warnings.push_back(K.Name + ": " + Text.str());
  };
  F.Database = K.File;
  F.Base = O.Base;
  F.Base.Resources = false;
  // With its index among the farm's launches.
  std::vector<std::pair<const GuardedLaunch *, unsigned>> Chosen;
  for (const GuardedLaunch &L : All)
    if (mustReplay(L)) {
      Chosen.emplace_back(&L, Chosen.size());
      F.RecordIds.push_back(L.RecordId);
    }
  if (Chosen.empty())
    return Error::success();
  Expected<std::unique_ptr<ReplayFarm>> Farm = ReplayFarm::create(std::move(F));
  if (!Farm)
    return Farm.takeError();
  if (!OnHost) {
    OnHost = getFirstDevice(**Farm) == "host";
    erase_if(Chosen, [&](const auto &C) { return !mustReplay(*C.first); });
  }
  for (const VerificationPower &P : (*Farm)->powers())
    if (P.isVacuous())
      Report.Warnings.push_back(K.Name + ": " + describePower(P));
  std::vector<EvaluationRequest> Requests;
  for (auto [L, Instance] : Chosen)
    for (bool IsBad : {false, true}) {
      EvaluationRequest &R = Requests.emplace_back();
      R.Id = Requests.size() - 1;
      R.Instance = Instance;
      R.Measure = false;
      if (Error E = parse(IsBad, L->RecordId).moveInto(R.Config))
        return E;
      if (Error E = (*Farm)->submit(R))
        return E;
    }
  std::vector<Evaluation> Results(Requests.size());
  for (size_t Left = Results.size(); Left;) {
    Expected<std::vector<Evaluation>> Some = (*Farm)->wait(/*Seconds=*/1);
    if (!Some)
      return Some.takeError();
    Left -= Some->size();
    for (Evaluation &E : *Some)
      Results[E.Id] = std::move(E);
  }
  for (size_t I = 0; I != Chosen.size(); ++I) {
    const GuardedLaunch &L = *Chosen[I].first;
    const Evaluation &Good = Results[2 * I], &Bad = Results[2 * I + 1];
    if (verifies())
      judge(K, L, Good, Bad);
    if (measures() && Good.Failure.empty() && Bad.Failure.empty())
      if (Error E = compareTimes(**Farm, K, L.RecordId,
                                 ArrayRef(Requests).slice(2 * I, 2)))
        return E;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Bisection
//===----------------------------------------------------------------------===//

static std::string describe(const PassExecution &E) {
  return E.Unit.empty() ? E.Pass : E.Pass + " on " + E.Unit;
}

/// Returns the cause in one line, and its first pass and function.
static json::Object summarizeCause(const BisectReport &R) {
  const BisectOutcome &Out = R.Outcome;
  std::vector<std::string> Parts;
  const PassExecution *First = nullptr;
  auto Add = [&](const PassExecution &E, StringRef Before) {
    First = First ? First : &E;
    Parts.push_back(Before.str() + describe(E));
  };
  for (const BisectCulprit &C : Out.Culprits)
    Add(C.Execution, "");
  for (const PassExecution &E : Out.Missing)
    Add(E, "missing: ");
  if (Parts.empty() && Out.found()) {
    for (const PassExecution &E : Out.Required)
      Add(E, "");
    for (const std::string &Name : Out.Blamed)
      Parts.push_back(Name);
  }
  if (Parts.empty() && Out.found())
    for (const BisectSetting &S : Out.Settings)
      Parts.push_back("setting " + S.Key);
  static constexpr size_t MaxParts = 3;
  if (Parts.size() > MaxParts) {
    std::string More = formatv("{0} more", Parts.size() - MaxParts + 1);
    Parts.resize(MaxParts - 1);
    Parts.push_back(More);
  }
  return json::Object{
      {"cause", json::fixUTF8(join(Parts, ", "))},
      {"pass", First ? json::fixUTF8(First->Pass) : ""},
      {"function", First ? json::fixUTF8(First->Function) : ""},
      {"no_cause", Parts.empty() ? json::fixUTF8(Out.Reason) : ""}};
}

/// Writes the report of a bisection next to the IR that it keeps.
static Error writeReport(StringRef Folder, const BisectReport &R) {
  if (Error E = writeFileAtomically(pathIn(Folder, "bisect.json"),
                                    formatv("{0:2}\n", toJSON(R)).str()))
    return E;
  return writeFileAtomically(pathIn(Folder, "report.txt"),
                             [&](raw_ostream &OS) {
                               printReport(OS, R);
                               return Error::success();
                             });
}

void Guard::bisect(GuardedKernel &K, Regression &R, double Seconds) const {
  std::string Folder;
  if (!O.Output.empty())
    Folder = pathIn(O.Output, K.StaticHash + "-" + R.Metric);
  auto Work = [&]() -> Expected<std::string> {
    ReplayOptions Options = O.Base;
    Options.RecordId = R.RecordId;
    Expected<std::unique_ptr<ReplayPlan>> Plan =
        ReplayPlan::create(K.File, std::move(Options));
    if (!Plan)
      return Plan.takeError();
    ReplayBisectOptions B;
    B.Database = K.File;
    B.Resources = O.Resources;
    B.Resources.Devices = {O.Base.Device};
    if (R.isMetric())
      B.Bisect.Judge.What = *find(R.Metric);
    if (Error E = parse(false, R.RecordId).moveInto(B.Sides.Good))
      return std::move(E);
    if (Error E = parse(true, R.RecordId).moveInto(B.Sides.Bad))
      return std::move(E);
    B.Bisect.Judge.OwnProcesses = !O.Base.Plugins.empty();
    B.Output = Folder;
    B.Program = O.Program;
    B.CommonWords = O.MakeCommonWords(K.File, R.RecordId);
    if (needsResources(R.Metric) && O.Base.Execute)
      B.CommonWords.push_back("--no-execute");
    Expected<BisectReport> Found = bisectReplay(**Plan, B);
    if (!Found)
      return Found.takeError();
    if (!Folder.empty())
      if (Error E = writeReport(Folder, *Found))
        return std::move(E);
    return formatv("{0}", json::Value(summarizeCause(*Found))).str();
  };
  ChildLimits Limits;
  Limits.Seconds = Seconds;
  Expected<std::string> Text = runInChild("the bisection", Work, Limits);
  if (!Text) {
    R.NoCause = toString(Text.takeError());
    return;
  }
  Expected<json::Value> V = json::parse(*Text);
  if (!V) {
    R.NoCause = toString(V.takeError());
    return;
  }
  const json::Object &Found = *V->getAsObject();
  R.Cause = Found.getString("cause")->str();
  R.Pass = Found.getString("pass")->str();
  R.Function = Found.getString("function")->str();
  R.NoCause = Found.getString("no_cause")->str();
  R.Report = Folder;
}

//===----------------------------------------------------------------------===//
// Everything
//===----------------------------------------------------------------------===//

Expected<GuardReport> Guard::run(
    function_ref<bool(const GuardedKernel &, const Regression &)> Accepted) {
  if (Error E = checkSides())
    return std::move(E);
  Report.Good = O.Good;
  Report.Bad = O.Bad;
  if (O.Base.Device == "host")
    OnHost = true;
  for (const std::string &File : O.Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    if (!K)
      return K.takeError();
    GuardedKernel &G = Report.Kernels.emplace_back();
    G.File = File;
    G.Name = K->displayName();
    G.StaticHash = K->StaticHash;
  }
  Launches.resize(Report.Kernels.size());

  auto Begin = std::chrono::steady_clock::now();
  if (Error E = screen())
    return std::move(E);
  Report.ScreenSeconds = secondsSince(Begin);
  if (Error E = checkSetUp())
    return std::move(E);
  Begin = std::chrono::steady_clock::now();
  for (auto [I, K] : enumerate(Report.Kernels)) {
    compareCode(K, Launches[I]);
    if (!verifies() && !measures())
      continue;
    if (O.Status)
      O.Status(formatv("replaying: kernel {0} of {1}: {2}", I + 1,
                       Report.Kernels.size(), K.Name));
    if (Error E = replay(K, Launches[I]))
      K.Undecided = toString(std::move(E));
  }
  Report.ReplaySeconds = secondsSince(Begin);

  auto Rank = [&](const Regression &R) -> ptrdiff_t {
    if (R.Metric == "compile")
      return -1;
    return find(R.Metric == "verify" ? "" : R.Metric) - O.Criteria.data();
  };
  for (GuardedKernel &K : Report.Kernels) {
    stable_sort(K.Regressions, [&](const auto &A, const auto &B) {
      return Rank(A) < Rank(B);
    });
    for (Regression &R : K.Regressions)
      R.IsKnown = Accepted && Accepted(K, R);
  }
  Begin = std::chrono::steady_clock::now();
  for (GuardedKernel &K : Report.Kernels) {
    auto R =
        find_if(K.Regressions, [](const Regression &R) { return !R.IsKnown; });
    if (!O.Bisects || R == K.Regressions.end())
      continue;
    double Left = O.Budget ? O.Budget - secondsSince(Begin) : 0;
    if (Left < 0) {
      R->NoCause = "the budget of bisections was spent";
      continue;
    }
    if (O.Status)
      O.Status("bisecting " + K.Name);
    bisect(K, *R, Left);
  }
  Report.BisectSeconds = secondsSince(Begin);
  return std::move(Report);
}

Expected<GuardReport> mneme::guardCompiler(
    const GuardOptions &O,
    function_ref<bool(const GuardedKernel &, const Regression &)> Accepted) {
  return Guard(O).run(Accepted);
}
