//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file implements the state that evaluations share: the device, the
// recorded memory and the loaded kernels.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Session.h"
#include "ElementTypes.h"
#include "InstrumentedKernel.h"
#include "ReplayRun.h"
#include "ScopedTimer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

/// Bytes that a process may leak before it should be replaced.
static constexpr uint64_t MaxLeakedBytes = uint64_t(1) << 30;

/// Traced launches up to these times in nanoseconds are launched once more to
/// count what they compute, which takes up to a hundred times as long where
/// blocks wait for each other's counters.
static constexpr double MaxCountedOnGPU = 5e7, MaxCountedOnHost = 1e9;

namespace {
/// Elapsed time, and a GPU's clock.
class DeviceMachine final : public SampleMachine {
public:
  explicit DeviceMachine(Device &D) : GPU(D.asGPU()) {}

  Expected<double> measureClock() override {
    return GPU ? GPU->measureClock() : 0.0;
  }

private:
  GPUDevice *GPU;
};
} // namespace

ReplaySession::ReplaySession(const ReplayPlan &Plan) : Plan(Plan) {}
ReplaySession::~ReplaySession() = default;

bool ReplaySession::isSpent() const {
  GPUDevice *GPU = D ? D->asGPU() : nullptr;
  return Lost || (GPU && GPU->leakedBytes() > MaxLeakedBytes);
}

Expected<std::unique_ptr<ReplaySession>>
ReplaySession::create(const ReplayPlan &Plan, StageFn Report) {
  if (!Plan.options().Execute)
    return create(Plan, std::unique_ptr<Device>());
  Report(ReplayStage::Open);
  HeldAddresses Held;
  double OpenTime = 0;
  Expected<std::unique_ptr<Device>> D = [&] {
    ScopedTimer Timer(OpenTime);
    const std::string &Name = Plan.options().Device;
    return openDevice(Name == "auto" ? chooseDevice(Plan) : Name,
                      Plan.state().regions(), Held);
  }();
  if (!D)
    return D.takeError();
  Expected<std::unique_ptr<ReplaySession>> Session =
      create(Plan, std::move(*D));
  if (Session) {
    (*Session)->OpenTime = OpenTime;
    (*Session)->hold(std::move(Held));
  }
  return Session;
}

Expected<ReplayResult> ReplaySession::runIsolated(
    const ReplayPlan &Plan,
    function_ref<Expected<ReplayResult>(ReplaySession &, StageFn)> Body) {
  auto Run = [&](StageFn Report) -> Expected<ReplayResult> {
    Expected<std::unique_ptr<ReplaySession>> Session = create(Plan, Report);
    if (!Session)
      return Session.takeError();
    return Body(**Session, Report);
  };
  return mneme::runIsolated(Plan, Run);
}

Expected<std::unique_ptr<ReplaySession>>
ReplaySession::create(const ReplayPlan &Plan, std::unique_ptr<Device> D) {
  std::unique_ptr<ReplaySession> Session(new ReplaySession(Plan));
  Session->D = std::move(D);
  if (!Session->D)
    return std::move(Session);
  Session->Machine = std::make_unique<DeviceMachine>(*Session->D);
  Session->TheMeasurer = std::make_unique<Measurer>(*Session->Machine);
  // If a specific timer was requested, report at once whether it is available.
  GPUTimer Timer = Plan.options().Timer;
  if (Timer != GPUTimer::Auto)
    if (Error E = Session->chooseTimer(Timer))
      return std::move(E);
  if (Error E = Session->checkVariant(Plan))
    return std::move(E);
  return std::move(Session);
}

/// Checks that the device can run the variant and measure it as requested.
Error ReplaySession::checkVariant(const ReplayPlan &Variant) const {
  const ReplayOptions &O = Variant.options();
  if (!D)
    return Error::success();
  if (!D->asGPU()) {
    if (O.Cache == CacheMode::Cold)
      return createStringError("--cache=cold needs a GPU");
    if (O.Compared == Baseline::App)
      return createStringError("--baseline=app needs a GPU");
    if (O.Timer != GPUTimer::Auto)
      return createStringError("--timer needs a GPU");
    if (!O.Counters.empty())
      return createStringError("counters need a GPU: leave out '" +
                               O.Counters.print() +
                               "', or choose a GPU with "
                               "--device");
    if (O.Hot)
      return createStringError("--hot needs a GPU: choose one with --device");
    return Error::success();
  }
  const RecordedKernel &K = Variant.kernel();
  StringRef Arch = Variant.compiler().arch();
  if (Triple(K.Triple).isAMDGPU() != D->asGPU()->info().IsAMD)
    return createStringError(
        formatv("the recording is for {0}, which {1} cannot run: use "
                "--device=host",
                K.Triple, D->getName())
            .str());
  if (!isArchCompatible(Arch, D->getArch())) {
    std::string Own = D->getArch();
    if (O.Arch.empty())
      return createStringError(
          formatv("the recording is for {0}, {1} is {2}: retarget with "
                  "--arch={3}",
                  // Without the settings of gfx90a:xnack-.
                  Arch, D->getName(), Own, StringRef(Own).split(':').first)
              .str());
    return createStringError(formatv("{0} is {1}, which cannot run --arch={2}",
                                     D->getName(), D->getArch(), Arch)
                                 .str());
  }
  return Error::success();
}

Error ReplaySession::prepare(StageFn Report) {
  if (Memory)
    return Error::success();
  Report(ReplayStage::Prepare);
  ScopedTimer Timer(PrepareTime);
  Held.release();
  Expected<Replayer> Created = Replayer::create(Plan.state(), *D);
  if (!Created)
    return Created.takeError();
  Memory.emplace(std::move(*Created));
  if (!Plan.options().Verify)
    return Error::success();
  for (const SnapshotData &Range : Plan.state().changed())
    Power.ChangedBytes += Range.RawSize;
  Measured = Plan.envelope();
  // A plan that was searched for poison was also probed.
  MayVary = !Plan.poison() && !Plan.options().Envelope.isOff();
  if (Measured)
    Power.Envelope = Measured->Summary;
  else if (MayVary && !Plan.options().Envelope.isAuto())
    if (Error E = measure(/*OnlyIfVaries=*/false, Report))
      return E;
  if (Error E = choosePoison(Report))
    return E;
  if (Error E = findBound(Report))
    return E;
  Report(ReplayStage::Compare);
  return findVacuous();
}

/// Compares the memory that an empty launch leaves.
Error ReplaySession::findVacuous() {
  Power.Level = comparison(Plan).level();
  if (Error E = Memory->restore())
    return E;
  Expected<MemoryComparison> Nothing = Memory->compare(comparison(Plan));
  if (!Nothing)
    return Nothing.takeError();
  Power.Vacuous = judge(*Nothing) != Verdict::Mismatch;
  return Error::success();
}

const ComparePlan &ReplaySession::comparison(const ReplayPlan &Variant) const {
  return Measured && !Variant.envelope() ? Measured->Plan
                                         : Variant.comparison();
}

Error ReplaySession::measure(bool OnlyIfVaries, StageFn Report) {
  MayVary = false;
  Expected<std::shared_ptr<const Envelope>> E =
      measureEnvelope(Plan, *D, *Memory, OnlyIfVaries, Report);
  if (!E) {
    // A GPU is lost if the launch was at fault.
    Power.NoEnvelope = toString(E.takeError());
    if (GPUDevice *GPU = D->asGPU())
      return GPU->synchronize();
    return Error::success();
  }
  Measured = std::move(*E);
  if (Measured)
    Power.Envelope = Measured->Summary;
  return Error::success();
}

Error ReplaySession::probeEnvelope(StageFn Report) {
  if (!MayVary)
    return Error::success();
  if (Error E = measure(/*OnlyIfVaries=*/true, Report))
    return E;
  return Measured ? findVacuous() : Error::success();
}

Error ReplaySession::choosePoison(StageFn Report) {
  Poison = Plan.poison();
  if (Poison) {
    Power.PoisonedBytes = Poison->count();
    return *Power.PoisonedBytes ? Memory->poison(Poison) : Error::success();
  }
  if (!Plan.options().Poison)
    return Error::success();
  Power.PoisonedBytes = 0;
  std::shared_ptr<PoisonMask> Mask = PoisonMask::create(Plan.state().regions());
  if (!Mask) {
    Power.NoPoison = "not enough memory";
    return Error::success();
  }
  PoisonSearch Search;
  auto Find = [&] {
    return findPoison(Plan, comparison(Plan), *D, *Memory, Mask, Report)
        .moveInto(Search);
  };
  if (Error E = Find())
    return E;
  if (Search.IsVerified) {
    // Other schedules of the host device are not those of the search.
    MayVary &= Plan.schedule().Order != HostSchedule::Parallel;
  } else if (MayVary) {
    if (Error E = measure(/*OnlyIfVaries=*/true, Report))
      return E;
    if (Measured)
      if (Error E = Find())
        return E;
  }
  Traced = Search.Work;
  TracedNanoseconds = Search.TracedNanoseconds;
  Power.NoPoison = Search.NoPoison;
  Power.PoisonedBytes = Mask->count();
  Poison = std::move(Mask);
  return Error::success();
}

bool ReplaySession::wantsBound() const {
  const ReplayOptions &O = Plan.options();
  if (O.Bound != BoundMode::Auto)
    return O.Bound == BoundMode::On;
  return D->asGPU() || !O.Peaks.empty();
}

/// The bound comes from the plan, or from the search for poison.
Error ReplaySession::findBound(StageFn Report) {
  if (Plan.bound()) {
    Power.Bound = *Plan.bound();
    return Error::success();
  }
  if (Plan.poison() || !wantsBound())
    return Error::success();
  auto Fail = [&](Error E) -> Error {
    Power.NoBound = toString(std::move(E));
    GPUDevice *GPU = D->asGPU();
    return GPU ? GPU->synchronize() : Error::success();
  };
  if (!Traced)
    return Fail(createStringError(
        Plan.options().Poison ? Power.NoPoison
                              : "it follows from the search for poison, "
                                "which is off"));
  if (!Traced->ReadBytes && !Traced->WrittenBytes)
    return Fail(createStringError("no access was traced"));
  auto Tell = [&] { Report(ReplayStage::Poison); };
  LaunchBound B;
  B.Work = *Traced;
  Expected<DevicePeaks> Peaks = findPeaks(*D, Plan.options(), Tell);
  if (!Peaks)
    return Fail(Peaks.takeError());
  B.Peaks = std::move(*Peaks);
  if (TracedNanoseconds < (D->asGPU() ? MaxCountedOnGPU : MaxCountedOnHost)) {
    Expected<WorkCounts> Counts = countRecordedWork(Plan, *D, *Memory, Tell);
    if (Counts)
      B.Work.Computed = *Counts;
    else if (Error E = Fail(Counts.takeError()))
      return E;
  }
  // The bytes are known without what the code computes.
  Power.NoBound.clear();
  Memory->markAllDirty();
  Power.Bound = std::move(B);
  return Error::success();
}

/// Refuses a variant that is faster than the bound, unless it rightly moves
/// less than the recorded code: then its own bound, which is set, is lower.
Error ReplaySession::checkBound(const ReplayPlan &Variant, MeasuredKernel &C,
                                const Measurement &M, StageFn Report,
                                std::optional<LaunchBound> &Own) {
  if (!Power.Bound || M.Nanoseconds.empty() || !C.isGood() ||
      !Variant.options().Verify || Plan.options().Bound != BoundMode::On)
    return Error::success();
  SampleSummary S = summarize(M.Nanoseconds);
  if (!Power.Bound->isUndercut(M.Cache, S.High))
    return Error::success();
  Own = *Power.Bound;
  auto Tell = [&] { Report(ReplayStage::Poison); };
  auto Refuse = [&](const Twine &Why) {
    C.V = Verdict::TooFast;
    C.Message = describeUndercut(*Own, M.Cache, S.Median) + Why.str();
    return Error::success();
  };
  /// A launch that fails loses a GPU.
  auto RefuseUnknown = [&](Error E) {
    std::string Why = toString(std::move(E));
    noteFailure();
    return Refuse("; its own accesses cannot be traced: " + Why);
  };
  RegionBits Read;
  Expected<LaunchWork> Work =
      traceVariant(Plan, Variant, *D, *Memory, Tell, Read);
  if (!Work)
    return RefuseUnknown(Work.takeError());
  LaunchBound Less = *Own;
  Less.Work.ReadBytes = Work->ReadBytes;
  Less.Work.WrittenBytes = Work->WrittenBytes;
  if (Less.isUndercut(M.Cache, S.High)) {
    Own = std::move(Less);
    return Refuse("");
  }
  Expected<bool> Depends = dependsOnUnread(Plan, Read, elementTypes().OfAccess,
                                           comparison(Plan), *D, *Memory, Tell);
  if (!Depends)
    return RefuseUnknown(Depends.takeError());
  if (*Depends) {
    noteFailure();
    return Refuse("; it does not read memory on which results depend");
  }
  Own = std::move(Less);
  return Error::success();
}

const ElementTypes &ReplaySession::elementTypes() {
  if (!Types)
    Types = std::make_unique<ElementTypes>(inferElementTypes(Plan));
  return *Types;
}

Error ReplaySession::chooseTimer(GPUTimer Wanted) {
  GPUDevice *GPU = D->asGPU();
  if (!GPU || Timer == Wanted)
    return Error::success();
  if (Error E = GPU->setTimer(Wanted))
    return E;
  Timer = Wanted;
  return Error::success();
}

/// Returns true if memory must be restored before each timed launch. A verified
/// candidate accesses memory like the recorded kernel, unless it comes from
/// different IR, which may compute the result in another way.
bool ReplaySession::needsRestoring(const ReplayPlan &Variant) {
  if (!D->asGPU() || !Variant.options().Verify || !Variant.hasOwnModule())
    return true;
  if (!NeedsRestoring) {
    ScopedTimer Timer(PrepareTime);
    NeedsRestoring = Plan.canReadWhatItWrites();
  }
  if (*NeedsRestoring || Variant.irDigest() == Plan.irDigest())
    return *NeedsRestoring;
  ScopedTimer Timer(PrepareTime);
  return Variant.canReadWhatItWrites();
}

Expected<CompiledKernel> ReplaySession::compile(const ReplayPlan &Variant,
                                                StageFn Report,
                                                KnownCodeFn Known) {
  if (Error E = checkVariant(Variant))
    return std::move(E);
  CodeTarget Target = !D           ? CodeTarget::None
                      : D->asGPU() ? CodeTarget::GPU
                                   : CodeTarget::Host;
  return compileVariant(Variant, Target, Report, Known);
}

/// Checks that this code can run in this session.
Error ReplaySession::checkRun(const ReplayPlan &Variant,
                              const CompiledKernel &Code) const {
  if (Error E = checkVariant(Variant))
    return E;
  if (Lost)
    return createStringError(D->getName() + " is lost");
  if (Code.StoppedAt)
    return createStringError("kernel '" + Variant.kernel().KernelName +
                             "' was not compiled to the end");
  return Error::success();
}

Expected<ReplayResult> ReplaySession::run(const ReplayPlan &Variant,
                                          const CompiledKernel &Code,
                                          StageFn Report) {
  if (Error E = checkRun(Variant, Code))
    return std::move(E);
  Expected<ReplayResult> R = ReplayRun(*this, Variant, Report).run(Code);
  if (!R)
    noteFailure();
  return R;
}

/// Any failure may have caused the loss of the device.
void ReplaySession::noteFailure() {
  if (GPUDevice *GPU = D->asGPU())
    if (Error E = GPU->synchronize()) {
      consumeError(std::move(E));
      Lost = true;
    }
}

/// Loads all kernels and launches each once; reports the first that fails.
Error ReplaySession::verifyAll(
    ArrayRef<Contestant> Contestants,
    ArrayRef<std::unique_ptr<MeasuredKernel>> MeasuredKernels,
    PairedResult &Result) {
  Result.V = Verdict::Match;
  for (auto [I, C] : enumerate(Contestants)) {
    MeasuredKernel &One = *MeasuredKernels[I];
    if (C.Code->failed()) {
      One.V = C.Code->V;
      One.Message = C.Code->Error;
      noteFailed(I, One, Result);
      return Error::success();
    }
    bool Verify = C.Variant->options().Verify;
    if (!Verify)
      Memory->markAllDirty();
    if (Error E = One.load(*C.Code, Kernels))
      return E;
    if (Verify && One.isGood())
      if (Error E = One.verify())
        return E;
    if (Verify && One.isGood())
      if (Error E = One.verifyRepeatedly())
        return E;
    if (!One.isGood()) {
      noteFailed(I, One, Result);
      return Error::success();
    }
    // The verdicts are in the order of the levels.
    Result.V = std::max(Result.V, One.V);
  }
  return Error::success();
}

void ReplaySession::noteFailed(size_t Index, const MeasuredKernel &C,
                               PairedResult &Result) {
  Result.Failed = Index;
  Result.V = C.V;
  Result.Error = C.Message;
  noteEnd(C);
}

Expected<PairedResult>
ReplaySession::measurePaired(ArrayRef<Contestant> Contestants, unsigned Rounds,
                             uint64_t Seed, StageFn Report) {
  if (Error E = prepare(Report))
    return std::move(E);
  if (Error E = chooseTimer(Contestants.front().Variant->options().Timer))
    return std::move(E);
  PairedResult Result;
  ReplayTimes Times; // Totals, not reported.
  std::vector<std::unique_ptr<MeasuredKernel>> MeasuredKernels;
  bool Restore = false;
  for (const Contestant &C : Contestants) {
    MeasuredKernels.push_back(
        std::make_unique<MeasuredKernel>(*this, *C.Variant, Times, Report));
    Restore |= needsRestoring(*C.Variant);
  }
  if (Error E = verifyAll(Contestants, MeasuredKernels, Result))
    return std::move(E);
  if (Result.Failed)
    return std::move(Result);

  const ReplayOptions &O = Contestants.front().Variant->options();
  MeasureRules Rules;
  Rules.Seed = Seed;
  Rules.Warmup = O.Warmup;
  // Each of them, however long they take.
  Rules.MinSamples = Rules.MinPairs = Rules.MinSamplesInTime = Rounds;
  Rules.MaxSamples = std::max(Rules.MaxSamples, Rounds);
  if (!D->asGPU() && !O.Adaptive && !O.Quick) {
    Rules.Samples = Rounds;
    Rules.Warmup = O.Warmup.value_or(O.HostWarmup);
  }
  SmallVector<MeasuredKernel *, 4> Pointers;
  for (const std::unique_ptr<MeasuredKernel> &C : MeasuredKernels)
    Pointers.push_back(C.get());
  Expected<std::vector<Measurement>> Measured =
      measureAll(*TheMeasurer, *D, Pointers, Restore, Rules);
  if (!Measured)
    return Measured.takeError();
  for (auto [I, C] : enumerate(MeasuredKernels)) {
    if (!Measured->empty() && Contestants[I].Variant->options().Verify)
      if (Error E = C->confirm())
        return std::move(E);
    std::optional<LaunchBound> Own;
    if (!Measured->empty())
      if (Error E = checkBound(*Contestants[I].Variant, *C, (*Measured)[I],
                               Report, Own))
        return std::move(E);
    if (C->isGood())
      continue;
    noteFailed(I, *C, Result);
    return std::move(Result);
  }
  Result.Measured = std::move(*Measured);
  if (!D->asGPU() && !O.PairedCounters.empty())
    Result.CounterProblem = "counters need a GPU";
  else if (!O.PairedCounters.empty())
    if (Error E = countPaired(MeasuredKernels, O.PairedCounters, Result))
      return std::move(E);
  return std::move(Result);
}

/// Alternates, so that a drift of the machine affects all kernels.
Error ReplaySession::countPaired(
    ArrayRef<std::unique_ptr<MeasuredKernel>> MeasuredKernels,
    const CounterSet &Counters, PairedResult &Result) {
  constexpr unsigned Rounds = 5;
  Result.Counters.resize(MeasuredKernels.size());
  for (unsigned Round = 0; Round != Rounds; ++Round)
    for (auto [I, Kernel] : enumerate(MeasuredKernels)) {
      CounterReading Reading;
      if (Error E = Kernel->count(Counters, Reading))
        return E;
      if (Kernel->failed()) {
        Result.Measured.clear();
        noteFailed(I, *Kernel, Result);
        return Error::success();
      }
      Result.CounterProblem = Reading.Problem;
      if (Reading.Values.empty())
        return Error::success();
      for (const auto &[Name, Value] : Reading.Values)
        Result.Counters[I][Name].push_back(Value);
    }
  return Error::success();
}

Expected<PairedResult> ReplaySession::compare(ArrayRef<Contestant> Contestants,
                                              unsigned Rounds, uint64_t Seed,
                                              StageFn Report) {
  assert(!Contestants.empty() && "nothing to measure");
  for (const Contestant &C : Contestants)
    if (Error E = checkRun(*C.Variant, *C.Code))
      return std::move(E);
  Expected<PairedResult> R = measurePaired(Contestants, Rounds, Seed, Report);
  if (!R)
    noteFailure();
  return R;
}

Expected<ReplayResult> ReplaySession::evaluate(const ReplayPlan &Variant,
                                               StageFn Report) {
  double Start = epochSeconds();
  Expected<CompiledKernel> Code = compile(Variant, Report);
  if (!Code)
    return Code.takeError();
  Expected<ReplayResult> Result = [&]() -> Expected<ReplayResult> {
    if (D)
      return run(Variant, *Code, Report);
    ReplayResult Only;
    describeCode(*Code, Only);
    return Only;
  }();
  if (!Result)
    return Result.takeError();
  ReplayTimes &Times = Result->Times;
  Times.FrontEnd = Variant.frontEndTime();
  Times.Parse = Variant.parseTime();
  Times.Read = Variant.readTime();
  Times.Open = std::exchange(OpenTime, 0);
  Result->StartTime = Start;
  Result->EndTime = epochSeconds();
  return Result;
}

Expected<ReplayResult>
mneme::runReplay(const ReplayPlan &Plan,
                 function_ref<void(ReplayStage)> Report) {
  double Start = epochSeconds();
  Expected<std::unique_ptr<ReplaySession>> Session =
      ReplaySession::create(Plan, Report);
  if (!Session)
    return Session.takeError();
  Expected<ReplayResult> Result = (*Session)->evaluate(Plan, Report);
  if (Result)
    Result->StartTime = Start;
  return Result;
}
