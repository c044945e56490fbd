//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplayBackend.h"
#include "llvm/Mneme/Farm/MessageRules.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

/// Maximum number of kernels that a run process keeps loaded. There are few if
/// only launches differ.
static constexpr size_t MaxLoaded = 64;

ReplayBackend::ReplayBackend(ReplayOptions Options,
                             std::vector<std::unique_ptr<ReplayPlan>> P,
                             CodeTarget Target)
    : Base(std::move(Options)), Plans(std::move(P)), Target(Target) {}

Expected<std::unique_ptr<ReplayPlan>>
ReplayBackend::vary(const EvaluationRequest &R, bool WillCompile,
                    std::optional<unsigned> Compared) const {
  if (R.Instance >= Plans.size())
    return createStringError(
        formatv("no recorded launch {0}", R.Instance).str());
  ReplayOptions O = Base;
  if (R.AppCode) {
    O = getBaselineOptions(Base);
    O.App = Base.App;
    O.Cache = Base.Cache;
    O.Timer = Base.Timer;
    O.Counters = Base.Counters;
    O.PairedCounters = Base.PairedCounters;
    O.Iterations = Base.Iterations;
    O.Warmup = Base.Warmup;
    O.Adaptive = Base.Adaptive;
  } else if (Error E = applySide(R.Config, O)) {
    return std::move(E);
  }
  if (!R.Measure) {
    O.Iterations = 0;
    O.Counters = {};
  }
  if (!R.Counters)
    O.PairedCounters = {};
  if (R.OtherCache) {
    if (Target != CodeTarget::GPU)
      return createStringError("the host device has no other cache state");
    O.Cache = getOtherCacheMode(O.Cache.value_or(CacheMode::Cold));
  }
  if (R.LaunchTimeout > 0)
    O.LaunchTimeout = R.LaunchTimeout;
  O.StopAbove = R.StopAbove;
  O.ComparedLaunches = Compared;
  // Good candidates are measured again, in turns. The host takes few samples in
  // any case.
  O.Quick = Target == CodeTarget::GPU;
  return Plans[R.Instance]->vary(std::move(O), WillCompile);
}

static std::string printDims(const Dim3 &D) {
  return formatv("{0},{1},{2}", D.X, D.Y, D.Z).str();
}

Expected<FarmKeys> ReplayBackend::keys(const EvaluationRequest &R) const {
  Expected<std::unique_ptr<ReplayPlan>> V = vary(R, /*WillCompile=*/false);
  if (!V)
    return V.takeError();
  FarmKeys K;
  K.Compile = R.AppCode ? "app" : getCompileDigest(**V);
  if (R.Attempt)
    K.Compile += "#" + std::to_string(R.Attempt);
  for (const LLVMOption &O : (*V)->options().LLVMOptions)
    if (isLasting(O))
      K.Process += toString(O) + "\n";
  // Debug counters are never reset: each compilation needs its own process.
  if (any_of((*V)->options().LLVMOptions,
             [](const LLVMOption &O) { return O.Name == "debug-counter"; }))
    K.Process += std::to_string(R.Id);
  K.Launch = printDims((*V)->grid()) + ";" + printDims((*V)->block()) + ";" +
             std::to_string((*V)->sharedMem()) + ";" +
             (*V)->schedule().toString();
  if (!R.Measure)
    K.Launch += ";unmeasured";
  return K;
}

//===----------------------------------------------------------------------===//
// Compile processes
//===----------------------------------------------------------------------===//

/// Returns the result of a version of a source that does not compile. Other
/// errors remain errors.
static Expected<FarmCode> makeRejected(Error E) {
  FarmCode Code;
  if (Error Other = handleErrors(std::move(E), [&](const SourceError &S) {
        Code.Failure = FailureKind::CompileError;
        Code.Error = S.Text;
        Code.Diagnostics.assign(
            S.Diagnostics.begin(),
            S.Diagnostics.begin() +
                std::min(S.Diagnostics.size(), MaxDiagnostics));
      }))
    return std::move(Other);
  return Code;
}

Expected<FarmCode> ReplayBackend::compile(const EvaluationRequest &R,
                                          KnownFn Known,
                                          function_ref<void(StringRef)> Stage) {
  auto Begin = std::chrono::steady_clock::now();
  if (R.Config.get("source"))
    Stage("the front end");
  Expected<std::unique_ptr<ReplayPlan>> V = vary(R, /*WillCompile=*/!R.AppCode);
  if (!V)
    return makeRejected(V.takeError());
  auto Report = [&](ReplayStage S) { Stage(describeStage(S)); };
  auto Ask = [&](CodeStage S, StringRef Hash) {
    return Known(S == CodeStage::IR ? Duplicate::IR : Duplicate::Assembly,
                 Hash);
  };
  Expected<CompiledKernel> Made =
      R.AppCode ? readAppCode(**V, Base.appFile())
                : compileVariant(**V, Target, Report, Ask);
  if (!Made)
    return Made.takeError();
  FarmCode Code;
  Code.IRHash = Made->IRHash;
  Code.AssemblyHash = Made->AssemblyHash;
  Code.Suspicions = (*V)->suspicions().take_front(MaxSuspicions).vec();
  Code.Stopped = Made->StoppedAt.has_value();
  if (Made->failed()) {
    Code.Failure = FailureKind(Made->V);
    Code.Error = std::move(Made->Error);
  } else if (!Code.Stopped) {
    Code.CodeHash = Made->CodeHash;
    Code.Bytes = serialize(*Made);
  }
  Code.CompileSeconds = secondsSince(Begin);
  return Code;
}

//===----------------------------------------------------------------------===//
// Run processes
//===----------------------------------------------------------------------===//

Expected<FarmBackend::Opened> ReplayBackend::openDevice(StringRef Name,
                                                        StageFn Stage) {
  Stage(describeStage(ReplayStage::Open),
        getStageLimit(*Plans[0], ReplayStage::Open));
  DeviceName = Name.str();
  if (!Base.Execute) {
    Opened Nothing;
    Nothing.Info.Name = "none";
    return std::move(Nothing);
  }
  HeldAddresses Held;
  if (Error E = mneme::openDevice(Name, Plans[0]->state().regions(), Held)
                    .moveInto(Keeper))
    return std::move(E);
  if (Error E = openSession(0))
    return std::move(E);
  Session->hold(std::move(Held));
  // An evaluation without them would be of no use.
  if (GPUDevice *GPU = Session->device()->asGPU())
    if (Error E = GPU->checkCounters(Base.Counters))
      return createStringError("counters cannot be read: " +
                               toString(std::move(E)));
  Opened Result;
  Result.Info.Name = Keeper->getName();
  Result.Info.Arch = Keeper->getArch();
  if (GPUDevice *GPU = Keeper->asGPU()) {
    const GPUInfo &Info = GPU->info();
    Result.Info.GPU = Info.Name;
    Result.Info.Driver = Info.Driver;
    Result.Info.UUID = Info.UUID;
    Result.Exclusive = "gpu-" + (Info.UUID.empty() ? DeviceName : Info.UUID);
  }
  return std::move(Result);
}

Error ReplayBackend::openSession(unsigned Instance) {
  if (Session && SessionInstance == Instance)
    return Error::success();
  // The arena becomes free when the other session ends.
  Session.reset();
  Expected<std::unique_ptr<Device>> D = mneme::openDevice(DeviceName);
  if (!D)
    return D.takeError();
  Expected<std::unique_ptr<ReplaySession>> Created =
      ReplaySession::create(*Plans[Instance], std::move(*D));
  if (!Created)
    return Created.takeError();
  Session = std::move(*Created);
  SessionInstance = Instance;
  return Error::success();
}

Expected<const CompiledKernel *> ReplayBackend::load(const FarmCode &Code) {
  auto Known = Loaded.find(Code.CodeHash);
  if (Known != Loaded.end())
    return &Known->second;
  Expected<CompiledKernel> Kernel = deserializeCompiledKernel(Code.Bytes);
  if (!Kernel)
    return Kernel.takeError();
  return &Loaded.emplace(Code.CodeHash, std::move(*Kernel)).first->second;
}

Expected<Evaluation> ReplayBackend::run(const EvaluationRequest &R,
                                        const FarmCode &Code, StageFn Stage) {
  Expected<std::unique_ptr<ReplayPlan>> V = vary(R, /*WillCompile=*/false);
  if (!V)
    return V.takeError();
  if (Loaded.size() >= MaxLoaded)
    Loaded.clear();
  Expected<const CompiledKernel *> Kernel = load(Code);
  if (!Kernel)
    return Kernel.takeError();
  if (!Base.Execute) {
    ReplayResult Described;
    describeCode(**Kernel, Described);
    Evaluation E;
    E.Metrics = getMetrics(**V, Described);
    return std::move(E);
  }
  auto Report = [&](ReplayStage S) {
    Stage(describeStage(S), getStageLimit(**V, S));
  };
  // Report only when needed: each report wakes the coordinator.
  if (!Session || SessionInstance != R.Instance)
    Report(ReplayStage::Prepare);
  if (Error E = openSession(R.Instance))
    return std::move(E);
  Expected<ReplayResult> Result = Session->run(**V, **Kernel, Report);
  Evaluation E;
  if (!Result) {
    if (!Session->isLost())
      return Result.takeError();
    E.Failure = FailureKind(Verdict::Crash);
    E.Error = toString(Result.takeError());
    return E;
  }
  if (!FailureKind(Result->V).empty()) {
    E.Failure = FailureKind(Result->V);
    E.Error = Result->Error;
  }
  E.Level = Session->power().Level;
  E.Metrics = getMetrics(**V, *Result);
  E.Samples = Result->nanoseconds();
  E.Stopped = Result->Measured && Result->Measured->Stop == StopReason::Slower;
  return E;
}

Expected<PairedEvaluation>
ReplayBackend::compare(ArrayRef<EvaluationRequest> Requests,
                       ArrayRef<const FarmCode *> Codes, unsigned Rounds,
                       StageFn Stage) {
  Loaded.clear();
  std::vector<std::unique_ptr<ReplayPlan>> Variants;
  std::vector<Contestant> Contestants;
  std::string Seed;
  double Limit = 0;
  for (size_t I = 0; I != Requests.size(); ++I) {
    if (Requests[I].Instance != Requests.front().Instance)
      return createStringError("launches of several recordings cannot be "
                               "compared");
    // The recorded code is the measure of what varies.
    bool IsOwn = Requests[I].AppCode || Requests[I].Config.empty();
    Expected<std::unique_ptr<ReplayPlan>> V =
        vary(Requests[I], /*WillCompile=*/false,
             IsOwn ? std::optional(1u) : std::nullopt);
    if (!V)
      return V.takeError();
    Expected<const CompiledKernel *> Kernel = load(*Codes[I]);
    if (!Kernel)
      return Kernel.takeError();
    Limit = std::max(Limit, (*V)->options().launchTimeout());
    Seed += std::to_string(Requests[I].Id) + "," + Codes[I]->CodeHash + ";";
    Variants.push_back(std::move(*V));
    Contestants.push_back({Variants.back().get(), *Kernel});
  }
  auto Report = [&](ReplayStage S) {
    Stage(describeStage(S),
          S == ReplayStage::Launch ? Limit : getStageLimit(*Plans[0], S));
  };
  Report(ReplayStage::Prepare);
  if (Error E = openSession(Requests.front().Instance))
    return std::move(E);
  Expected<PairedResult> Result =
      Session->compare(Contestants, Rounds, digest64(Seed), Report);
  PairedEvaluation P;
  if (!Result) {
    if (!Session->isLost())
      return Result.takeError();
    P.Failure = FailureKind(Verdict::Crash);
    P.Error = toString(Result.takeError());
    return P;
  }
  if (Result->Failed) {
    P.Failure = FailureKind(Result->V);
    P.Error = Result->Error;
    return P;
  }
  for (const Measurement &M : Result->Measured)
    P.Samples.push_back(M.Nanoseconds);
  for (const FarmCode *Code : Codes)
    P.CodeHashes.push_back(Code->CodeHash);
  P.Counters = std::move(Result->Counters);
  P.CounterProblem = std::move(Result->CounterProblem);
  return P;
}

bool ReplayBackend::isSpent() const { return Session && Session->isSpent(); }
