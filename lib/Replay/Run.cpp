//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One evaluation: load, verify, measure; and the session that many of them
// share.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ScopedTimer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

/// What a process may lose before it should be replaced.
static constexpr uint64_t MaxLeakedBytes = uint64_t(1) << 30;

/// Launches that are enqueued together may take so long, and so large a share
/// of the time limit of one, which is theirs.
static constexpr double MaxBatchSeconds = 0.05, MaxBatchShare = 0.25;

/// Buffers that are larger together are not kept to be compared with those of a
/// second launch.
static constexpr uint64_t MaxKeptBytes = uint64_t(1) << 30;

/// In a search, a launch that is shorter than this is compared when it was
/// timed and not before, too: right candidates, which are most, are compared
/// once.
static constexpr double DeferredNanoseconds = 1e6;

namespace {
/// Time that passes, and a GPU's clock.
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

//===----------------------------------------------------------------------===//
// Loaded kernels
//===----------------------------------------------------------------------===//

std::shared_ptr<DeviceKernel> LoadedKernels::find(StringRef CodeHash) {
  auto It = find_if(List, [&](const Entry &E) { return E.Hash == CodeHash; });
  if (CodeHash.empty() || It == List.end())
    return nullptr;
  std::rotate(List.begin(), It, std::next(It)); // the last one used is first
  return List.front().Kernel;
}

void LoadedKernels::add(StringRef CodeHash,
                        std::shared_ptr<DeviceKernel> Kernel) {
  if (CodeHash.empty())
    return;
  List.insert(List.begin(), {CodeHash.str(), std::move(Kernel)});
  if (List.size() > MaxCount)
    List.pop_back();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// The verdict on a launch that did not end well.
static Verdict getLaunchVerdict(LaunchStatus S) {
  switch (S) {
  case LaunchStatus::Timeout:
    return Verdict::Timeout;
  case LaunchStatus::InvalidConfiguration:
  case LaunchStatus::Unsupported:
  case LaunchStatus::OutOfMemory:
    return Verdict::Unsupported;
  default:
    return Verdict::Crash;
  }
}

static bool fails(const BufferReport &B) { return !B.Stats.Pass; }

static Verdict judge(const MemoryComparison &C) {
  if (C.Stray || any_of(C.Buffers, fails))
    return Verdict::Mismatch;
  if (any_of(C.Buffers,
             [](const BufferReport &B) { return B.Stats.Differences; }))
    return Verdict::MatchWithinTolerance;
  return Verdict::Match;
}

static std::string describeStray(const StrayWrite &W) {
  return formatv("memory outside of all buffers was written, first {0} bytes "
                 "{1} of buffer {2}",
                 W.Distance, W.IsBehind ? "past the end" : "before the start",
                 W.Buffer)
      .str();
}

static std::string describeMismatch(const MemoryComparison &C) {
  ArrayRef<BufferReport> Buffers = C.Buffers;
  if (none_of(Buffers, fails))
    return describeStray(*C.Stray);
  uint64_t Bad = count_if(Buffers, fails);
  const BufferReport &B = *find_if(Buffers, fails);
  std::string Name = B.Name.empty() ? "" : " (" + B.Name + ")";
  bool IsNumber = B.Rule.DType != MNEME_DTYPE_BYTES;
  std::string Type =
      IsNumber ? (getDTypeName(B.Rule.DType) + " ").str() : std::string();
  std::string Text =
      formatv("{0} of {1} {2}elements of buffer {3}{4} differ",
              B.Stats.Mismatches, B.Stats.Elements, Type, B.Id, Name)
          .str();
  if (B.Stats.First)
    Text += formatv(", first at {0}: {1} instead of {2}", *B.Stats.First,
                    B.Stats.Actual, B.Stats.Expected)
                .str();
  // Zeros of different signs, for example, are equal as numbers.
  if (isFloatDType(B.Rule.DType) && B.Stats.MaxAbs > 0)
    raw_string_ostream(Text)
        << format(", largest error %.3g, %.3g of the value, %.3g ulp",
                  B.Stats.MaxAbs, B.Stats.MaxRel, B.Stats.MaxUlp);
  if (Bad > 1)
    Text += formatv(", and {0} more buffers", Bad - 1).str();
  if (C.Stray)
    Text += "; " + describeStray(*C.Stray);
  return Text;
}

namespace llvm {
namespace mneme {
/// A loaded kernel with its launch, to be verified and measured.
class Contender final : public SampleSource {
public:
  /// The session is prepared.
  Contender(ReplaySession &Session, const ReplayPlan &Plan, ReplayTimes &Times,
            ReplaySession::StageFn Report);

  /// Takes the kernel from \p Kernels, or loads it. What cannot be loaded is
  /// Unsupported. Error: a shortage.
  Error load(const CompiledKernel &Code, LoadedKernels &Kernels);
  /// Launches once and compares what that leaves; a wrong kernel is not timed.
  /// \param MayWait  a short launch may be compared by confirm() alone.
  Error verify(bool MayWait = false);
  /// After the last timed launch: compares once more, so that what was timed is
  /// what was verified. Launches again where the last launch was another
  /// kernel's, or did not begin with the recorded memory.
  Error confirm();
  Expected<std::optional<double>> sample(unsigned Repeat) override;
  Expected<bool> sampleMany(unsigned Count, unsigned Repeat,
                            std::vector<double> &Nanoseconds) override;

  /// After a mismatch: launches again, to see whether that leaves the same. If
  /// not, the kernel is to blame, or the recording, rather than the compiler.
  Error checkReproducibility();

  /// Can one of its launches see what the one before left, but in the recorded
  /// memory? A launch that follows right behind another one can.
  bool keepsState() const {
    return Config.DynamicShared || Kernel->keepsState();
  }

  bool isGood() const { return !failed() && V != Verdict::Mismatch; }
  /// Did the device stop it?
  bool failed() const {
    return V == Verdict::Crash || V == Verdict::Timeout ||
           V == Verdict::Unsupported;
  }

  Verdict V = Verdict::NotVerified;
  std::string Message; ///< Why not; empty when it matches.
  bool Executed = false;
  double LastNanoseconds = 0; ///< Of the last launch; 0: there was none.
  MemoryComparison Compared;
  std::shared_ptr<DeviceKernel> Kernel;
  CacheMode Cache;
  bool Restore = true;

private:
  ReplaySession &Session;
  const ReplayPlan &Plan;
  Device &D;
  Replayer &Memory;
  ReplayTimes &Times;
  ReplaySession::StageFn Report;
  LaunchConfig Config;
  /// To prepare and launch once took no longer than this.
  double LongestSeconds = 0;
  /// Replayer::numLaunches() after the last launch that began with the recorded
  /// memory, and after the last one that was compared.
  uint64_t LastRestored = 0, LastCompared = 0;

  Error restore();
  Error compare();
  Error describeElements();
  Error flushCache();
  Expected<bool> sampleBatch(unsigned Count, unsigned Repeat,
                             std::vector<double> &Nanoseconds);
  bool noteOutcome(const LaunchOutcome &Outcome);
  Expected<std::vector<std::vector<char>>> readFailures();
};
} // namespace mneme
} // namespace llvm

Contender::Contender(ReplaySession &Session, const ReplayPlan &Plan,
                     ReplayTimes &Times, ReplaySession::StageFn Report)
    : Session(Session), Plan(Plan), D(*Session.D), Memory(*Session.Memory),
      Times(Times), Report(Report) {
  Config.Grid = Plan.grid();
  Config.Block = Plan.block();
  Config.DynamicShared = Plan.sharedMem();
  Config.TimeoutSeconds = Plan.options().launchTimeout();
  Config.Cooperative = Plan.instance().Cooperative;
  Cache = Plan.options().Cache.value_or(D.asGPU() ? CacheMode::Cold
                                                  : CacheMode::Warm);
}

Error Contender::load(const CompiledKernel &Code, LoadedKernels &Kernels) {
  ScopedTimer Timer(Times.Load);
  Kernel = Kernels.find(Code.CodeHash);
  if (Kernel)
    return Error::success();
  Expected<std::unique_ptr<DeviceKernel>> Loaded =
      D.load(Code.Image, Plan.globals());
  if (Loaded) {
    Kernel = std::move(*Loaded);
    Kernels.add(Code.CodeHash, Kernel);
    return Error::success();
  }
  Error E = recognizeShortage(Loaded.takeError());
  if (E.isA<ShortageError>())
    return E;
  // A function that the pipeline or the user's IR calls and nobody has.
  V = Verdict::Unsupported;
  Message = toString(std::move(E));
  return Error::success();
}

/// On a GPU it is enqueued only.
Error Contender::restore() {
  ScopedTimer Timer(Times.Restore);
  LastRestored = Memory.numLaunches() + 1;
  return Memory.restore();
}

Error Contender::flushCache() {
  return Cache == CacheMode::Cold ? D.asGPU()->flushCache() : Error::success();
}

/// \returns whether the launch went well.
bool Contender::noteOutcome(const LaunchOutcome &Outcome) {
  if (Outcome.Status == LaunchStatus::Ok) {
    Executed = true;
    return true;
  }
  // Nobody compares what it has written.
  Memory.markAllDirty();
  V = getLaunchVerdict(Outcome.Status);
  Message = getLaunchStatusName(Outcome.Status).str();
  if (!Outcome.Message.empty())
    Message += ": " + Outcome.Message;
  return false;
}

Expected<std::optional<double>> Contender::sample(unsigned Repeat) {
  double Seconds = 0;
  Expected<LaunchOutcome> Outcome = [&]() -> Expected<LaunchOutcome> {
    ScopedTimer Whole(Seconds);
    if (Restore)
      if (Error E = restore())
        return std::move(E);
    Report(ReplayStage::Launch);
    ScopedTimer Timer(Times.Run);
    if (Error E = flushCache())
      return std::move(E);
    Config.Repeat = Repeat;
    return Memory.launch(*Kernel, Config);
  }();
  if (!Outcome)
    return Outcome.takeError();
  // The host's memory is not of the kernel; a GPU's may be.
  if (Outcome->Status == LaunchStatus::OutOfMemory && !D.asGPU())
    return make_error<ShortageError>(
        Outcome->Message, std::make_error_code(std::errc::not_enough_memory));
  LongestSeconds = std::max(LongestSeconds, Seconds);
  if (!noteOutcome(*Outcome))
    return std::nullopt;
  LastNanoseconds = Outcome->Nanoseconds;
  return Outcome->Nanoseconds;
}

Expected<bool> Contender::sampleMany(unsigned Count, unsigned Repeat,
                                     std::vector<double> &Nanoseconds) {
  if (!D.asGPU() || LongestSeconds == 0)
    return SampleSource::sampleMany(Count, Repeat, Nanoseconds);
  double Limit = MaxBatchSeconds;
  if (Config.TimeoutSeconds > 0)
    Limit = std::min(Limit, MaxBatchShare * Config.TimeoutSeconds);
  unsigned Most =
      std::clamp<double>(Limit / (LongestSeconds * Repeat), 1, Count);
  while (Count) {
    unsigned Some = std::min(Count, Most);
    Count -= Some;
    Expected<bool> Ok = sampleBatch(Some, Repeat, Nanoseconds);
    if (!Ok || !*Ok)
      return Ok;
  }
  return true;
}

/// Waits once.
Expected<bool> Contender::sampleBatch(unsigned Count, unsigned Repeat,
                                      std::vector<double> &Nanoseconds) {
  Report(ReplayStage::Launch);
  Config.Repeat = Repeat;
  std::vector<double> Taken;
  // A flushed cache does not tell whether memory was restored: the last launch
  // can be the one that confirm() compares.
  unsigned Left = Count;
  auto Prepare = [&]() -> Error {
    if (Restore || (--Left == 0 && Cache == CacheMode::Cold))
      if (Error E = restore())
        return E;
    return flushCache();
  };
  Expected<LaunchOutcome> Outcome =
      Memory.launchMany(*Kernel, Config, Count, Prepare, Taken);
  if (!Outcome)
    return Outcome.takeError();
  if (!noteOutcome(*Outcome))
    return false;
  append_range(Nanoseconds, Taken);
  return true;
}

Error Contender::verify(bool MayWait) {
  Expected<std::optional<double>> Launched = sample(1);
  if (!Launched)
    return Launched.takeError();
  if (!*Launched || (MayWait && **Launched < DeferredNanoseconds))
    return Error::success();
  return compare();
}

Error Contender::compare() {
  Report(ReplayStage::Compare);
  ScopedTimer Timer(Times.Compare);
  if (Error E = Memory.compare(Plan.compareParts()).moveInto(Compared))
    return E;
  LastCompared = Memory.numLaunches();
  V = judge(Compared);
  if (V != Verdict::Mismatch)
    return Error::success();
  if (any_of(Compared.Buffers, fails))
    return describeElements();
  Message = describeMismatch(Compared);
  return Error::success();
}

/// Says what differs in the elements that the IR tells of, where nothing else
/// does, and how to accept what may be rounding errors.
Error Contender::describeElements() {
  const ElementTypes &Types = Session.elementTypes();
  std::vector<ComparePart> Parts = Plan.compareParts().vec();
  bool IsTyped = false;
  for (auto [P, B] : zip_equal(Parts, Compared.Buffers)) {
    uint32_t DType = Types.OfRegion[P.Region];
    if (!fails(B) || P.Rule.DType != MNEME_DTYPE_BYTES ||
        DType == MNEME_DTYPE_BYTES)
      continue;
    P.Rule.DType = DType;
    IsTyped = true;
  }
  if (IsTyped)
    if (Error E = Memory.compare(Parts).moveInto(Compared))
      return E;
  Message = describeMismatch(Compared);
  if (Types.Rounding.empty())
    return Error::success();
  std::vector<BufferReport> Failing;
  std::vector<double> Scales;
  for (auto [P, B] : zip_equal(Parts, Compared.Buffers)) {
    if (!fails(B))
      continue;
    Expected<double> Scale = Memory.findLargestOutcome(P);
    if (!Scale)
      return Scale.takeError();
    Failing.push_back(B);
    Scales.push_back(*Scale);
  }
  std::string Options = suggestTolerances(Failing, Scales);
  if (!Options.empty())
    Message += formatv("; the IR allows {0}, so these may be rounding errors: "
                       "accept them with {1}",
                       Types.Rounding, Options)
                   .str();
  return Error::success();
}

Error Contender::confirm() {
  if (LastCompared == Memory.numLaunches())
    return Error::success();
  if (LastRestored != Memory.numLaunches()) {
    Restore = true;
    Expected<std::optional<double>> Launched = sample(1);
    if (!Launched)
      return Launched.takeError();
    if (!*Launched)
      return Error::success();
  }
  bool WasRight = V != Verdict::NotVerified;
  if (Error E = compare())
    return E;
  if (WasRight && V == Verdict::Mismatch)
    Message = "the first launch was right, a later one was not: " + Message;
  return Error::success();
}

/// What lies in the buffers that failed; nothing when that is too much.
Expected<std::vector<std::vector<char>>> Contender::readFailures() {
  std::vector<std::vector<char>> Contents;
  uint64_t Bytes = 0;
  for (const BufferReport &B : Compared.Buffers)
    Bytes += B.Stats.Pass ? 0 : B.Size;
  if (Bytes > MaxKeptBytes)
    return Contents;
  for (const BufferReport &B : Compared.Buffers) {
    if (B.Stats.Pass)
      continue;
    Contents.emplace_back(B.Size);
    if (Error E = D.read(B.Address, Contents.back()))
      return std::move(E);
  }
  return Contents;
}

Error Contender::checkReproducibility() {
  Expected<std::vector<std::vector<char>>> First = readFailures();
  if (!First)
    return First.takeError();
  if (First->empty())
    return Error::success();
  Expected<std::optional<double>> Launched = sample(1);
  if (!Launched)
    return Launched.takeError();
  // Nobody looks where else it has written now.
  Memory.markAllDirty();
  if (!*Launched)
    return Error::success();
  Report(ReplayStage::Compare);
  ScopedTimer Timer(Times.Compare);
  Expected<std::vector<std::vector<char>>> Second = readFailures();
  if (!Second)
    return Second.takeError();
  bool AllSame = true;
  size_t I = 0;
  for (BufferReport &B : Compared.Buffers)
    if (!B.Stats.Pass) {
      B.Reproducible = (*First)[I] == (*Second)[I];
      B.Digest = toHexString(digest128(
          StringRef((*First)[I].data(), (*First)[I].size())));
      AllSame &= *B.Reproducible;
      ++I;
    }
  if (!AllSame)
    Message += "; a second replay of it wrote other bytes: the kernel is not "
               "deterministic, or reads what was not recorded";
  return Error::success();
}

namespace llvm {
namespace mneme {
/// One run of a compiled kernel in a session.
class ReplayRun {
public:
  ReplayRun(ReplaySession &Session, const ReplayPlan &Plan,
            ReplaySession::StageFn Report)
      : Session(Session), Plan(Plan), Options(Plan.options()), Report(Report),
        D(*Session.D), GPU(D.asGPU()) {}

  Expected<ReplayResult> run(const CompiledKernel &Code);

private:
  ReplaySession &Session;
  const ReplayPlan &Plan;
  const ReplayOptions &Options;
  ReplaySession::StageFn Report;
  Device &D;
  GPUDevice *GPU;
  ReplayResult R;
  /// Of the baseline; its own steps are one figure of the result.
  ReplayTimes OtherTimes;
  std::unique_ptr<ReplayPlan> BaselinePlan;

  Error execute(const CompiledKernel &Code);
  void describeGPU();
  Error describeOnGPU(DeviceKernel &Kernel);
  Expected<std::unique_ptr<Contender>> prepareBaseline();
  Expected<CompiledKernel> makeBaselineCode();
  Error measure(Contender &Candidate, Contender *Other);
  MeasureRules getRules() const;
  void compareWithBaseline(Measurement Other);
  void take(Contender &C);
};
} // namespace mneme
} // namespace llvm

void mneme::describeCode(const CompiledKernel &Code, ReplayResult &R) {
  R.HostStrategy = Code.HostStrategy;
  R.HostReason = Code.HostReason;
  R.Resources = Code.Resources;
  R.App = Code.App;
  R.ObjectSize = Code.ObjectSize;
  R.IRHash = Code.IRHash;
  R.AssemblyHash = Code.AssemblyHash;
  R.CodeHash = Code.CodeHash;
  R.Assembler = Code.Assembler;
  R.V = Code.V;
  R.Error = Code.Error;
  R.Features = Code.Features;
  R.Times.Specialize = Code.Times.Specialize;
  R.Times.Optimize = Code.Times.Optimize;
  R.Times.Codegen = Code.Times.Codegen;
  R.Times.Assemble = Code.Times.Assemble;
  R.Times.GPUCodegen = Code.Times.GPUCodegen;
}

Expected<ReplayResult> ReplayRun::run(const CompiledKernel &Code) {
  R.StartTime = epochSeconds();
  R.Device = D.getName();
  describeCode(Code, R);
  if (GPU)
    describeGPU();
  if (!Code.failed())
    if (Error E = execute(Code))
      return std::move(E);
  // Not for each step of a search: to ask takes longer than a short kernel.
  if (GPU && R.Executed && !Options.Quick)
    R.GPU->State = GPU->readState();
  R.Times.Prepare = std::exchange(Session.PrepareTime, 0);
  R.EndTime = epochSeconds();
  return std::move(R);
}

/// For a search: what several launches that are enqueued together can have.
static GPUTimer getTimer(const ReplayOptions &O) {
  return O.Quick && O.Timer == GPUTimer::Auto ? GPUTimer::Events : O.Timer;
}

Error ReplayRun::execute(const CompiledKernel &Code) {
  if (Error E = Session.prepare(Report))
    return E;
  if (Error E = Session.chooseTimer(getTimer(Options)))
    return E;
  Replayer &Memory = *Session.Memory;
  // Nothing will tell what a launch that is not the recorded one has changed.
  if (!Options.Verify)
    Memory.markAllDirty();
  Contender Candidate(Session, Plan, R.Times, Report);
  if (Error E = Candidate.load(Code, Session.Kernels))
    return E;
  if (Candidate.isGood() && Options.Verify)
    if (Error E = Candidate.verify(/*MayWait=*/GPU && Options.Quick))
      return E;
  if (Candidate.isGood()) {
    if (GPU)
      if (Error E = describeOnGPU(*Candidate.Kernel))
        return E;
    Expected<std::unique_ptr<Contender>> Other = prepareBaseline();
    if (!Other)
      return Other.takeError();
    // The baseline may have taken the device with it.
    if (!Session.Lost)
      if (Error E = measure(Candidate, Other->get()))
        return E;
  }
  if (Candidate.V == Verdict::Mismatch)
    if (Error E = Candidate.checkReproducibility())
      return E;
  take(Candidate);
  return Error::success();
}

/// A crash or a hang leaves nothing of a GPU's context; on the host it may have
/// written into what is loaded.
void ReplaySession::noteEnd(const Contender &C) {
  if (C.V != Verdict::Crash && C.V != Verdict::Timeout)
    return;
  Lost |= D->asGPU() != nullptr;
  Kernels = LoadedKernels();
}

void ReplayRun::take(Contender &C) {
  R.V = C.V;
  R.Error = C.Message;
  R.Executed = C.Executed;
  R.Buffers = std::move(C.Compared.Buffers);
  R.Stray = C.Compared.Stray;
  R.Power = Session.Power;
  Session.noteEnd(C);
}

void ReplayRun::describeGPU() {
  R.GPU.emplace();
  R.GPU->Info = GPU->info();
  R.GPU->Backend = GPU->getBackendName().str();
  StringRef(D.getName()).split(':').second.getAsInteger(10, R.GPU->Number);
  if (Plan.compiler().arch() != Plan.kernel().Arch)
    R.GPU->Retargeted = Plan.compiler().arch().str();
}

Error ReplayRun::describeOnGPU(DeviceKernel &Kernel) {
  R.GPU->MemoryMode = Session.Memory->mode().str();
  Expected<unsigned> Blocks =
      GPU->getOccupancy(Kernel, Plan.block().count(), Plan.sharedMem());
  if (!Blocks)
    return Blocks.takeError();
  R.GPU->BlocksPerMultiprocessor = *Blocks;
  if (unsigned Threads = R.GPU->Info.ThreadsPerMultiprocessor)
    R.GPU->Occupancy = double(*Blocks * Plan.block().count()) / Threads;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

MeasureRules ReplayRun::getRules() const {
  MeasureRules Rules = !Options.Quick ? MeasureRules()
                       : GPU          ? MeasureRules::quickOnGPU()
                                      : MeasureRules::quick();
  Rules.Samples = Options.Iterations;
  Rules.Warmup = Options.Warmup;
  Rules.StopAbove = Options.StopAbove;
  if (GPU || Options.Adaptive || Options.Quick)
    return Rules;
  Rules.Samples = Options.Iterations.value_or(Options.HostIterations);
  Rules.Warmup = Options.Warmup.value_or(Options.HostWarmup);
  return Rules;
}

/// Measures loaded kernels side by side on the session's device.
/// \returns none when one of them fails.
static Expected<std::vector<Measurement>>
measureAll(Measurer &M, Device &D, ArrayRef<Contender *> Contenders,
           bool Restore, MeasureRules Rules) {
  GPUDevice *GPU = D.asGPU();
  CacheMode Cache = Contenders.front()->Cache;
  Rules.CanRepeat = !Restore && Cache == CacheMode::Warm;
  SmallVector<SampleSource *, 2> Sources;
  for (Contender *C : Contenders) {
    C->Cache = Cache;
    C->Restore = Restore;
    Rules.CanRepeat &= !C->keepsState();
    Sources.push_back(C);
  }
  if (Contenders.size() == 1)
    Rules.LaunchedNanoseconds = Contenders.front()->LastNanoseconds;
  auto TimerName = [&]() -> StringRef {
    return GPU ? GPU->getTimerName() : "host";
  };
  StringRef TimerBefore = TimerName();
  Expected<std::vector<Measurement>> Measured = M.measure(Sources, Rules);
  // Where CUPTI stops reporting kernels, events go on: no samples of both.
  if (Measured && !Measured->empty() && TimerName() != TimerBefore)
    Measured = M.measure(Sources, Rules);
  if (!Measured)
    return Measured.takeError();
  for (Measurement &One : *Measured) {
    One.Timer = TimerName().str();
    One.Cache = Cache;
    One.Restored = Restore;
  }
  return Measured;
}

Error ReplayRun::measure(Contender &Candidate, Contender *Other) {
  SmallVector<Contender *, 2> Contenders = {&Candidate};
  if (Other)
    Contenders.push_back(Other);
  bool Restore = Session.needsRestoring(Plan);
  double Run = R.Times.Run, Restored = R.Times.Restore;
  Expected<std::vector<Measurement>> Measured = [&] {
    ScopedTimer Timer(Run);
    return measureAll(*Session.TheMeasurer, D, Contenders, Restore, getRules());
  }();
  R.Times.Run = Run - (R.Times.Restore - Restored);
  if (!Measured)
    return Measured.takeError();
  if (Measured->empty()) {
    if (Other && Other->failed()) {
      R.Compared->V = Other->V;
      R.Compared->Error = Other->Message;
      Session.noteEnd(*Other);
    }
    return Error::success();
  }
  if (Options.Verify)
    if (Error E = Candidate.confirm())
      return E;
  if (!Candidate.isGood())
    return Error::success();
  R.Measured = std::move(Measured->front());
  if (Other)
    compareWithBaseline(std::move(Measured->back()));
  return Error::success();
}

void ReplayRun::compareWithBaseline(Measurement Other) {
  ArrayRef<double> Ours = R.nanoseconds();
  auto IsPositive = [](double N) { return N > 0; };
  if (!Ours.empty() && all_of(Ours, IsPositive) &&
      all_of(Other.Nanoseconds, IsPositive))
    R.Compared->Speedup = estimatePairedRatio(Other.Nanoseconds, Ours);
  R.Compared->Measured = std::move(Other);
}

Expected<CompiledKernel> ReplayRun::makeBaselineCode() {
  if (Options.Compared == Baseline::App)
    return readAppCode(Plan, Options.appFile());
  return compileVariant(*BaselinePlan,
                        GPU ? CodeTarget::GPU : CodeTarget::Host,
                        [&](ReplayStage) { Report(ReplayStage::Baseline); });
}

/// \returns null when there is none, or when it is not as good as the recorded
/// kernel, which is then in the result.
Expected<std::unique_ptr<Contender>> ReplayRun::prepareBaseline() {
  if (Options.Compared == Baseline::None)
    return nullptr;
  ScopedTimer Timer(R.Times.Baseline);
  R.Compared.emplace();
  R.Compared->Kind = Options.Compared;
  Expected<std::unique_ptr<ReplayPlan>> Varied =
      Plan.vary(getBaselineOptions(Options));
  if (!Varied)
    return Varied.takeError();
  BaselinePlan = std::move(*Varied);
  Expected<CompiledKernel> Code = makeBaselineCode();
  if (!Code)
    return Code.takeError();
  R.Compared->Resources = Code->Resources;
  R.Compared->V = Code->V;
  R.Compared->Error = Code->Error;
  if (Code->failed())
    return nullptr;
  auto Other =
      std::make_unique<Contender>(Session, *BaselinePlan, OtherTimes, Report);
  if (Error E = Other->load(*Code, Session.Kernels))
    return std::move(E);
  if (Other->isGood() && Options.Verify)
    if (Error E = Other->verify())
      return std::move(E);
  R.Compared->V = Other->V;
  R.Compared->Error = Other->Message;
  if (Other->isGood())
    return std::move(Other);
  Session.noteEnd(*Other);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

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

Expected<std::unique_ptr<ReplaySession>>
ReplaySession::create(const ReplayPlan &Plan, std::unique_ptr<Device> D) {
  std::unique_ptr<ReplaySession> Session(new ReplaySession(Plan));
  Session->D = std::move(D);
  if (!Session->D)
    return std::move(Session);
  Session->Machine = std::make_unique<DeviceMachine>(*Session->D);
  Session->TheMeasurer = std::make_unique<Measurer>(*Session->Machine);
  // Whether there is the one that is asked for has to be told at once.
  GPUTimer Timer = Plan.options().Timer;
  if (Timer != GPUTimer::Auto)
    if (Error E = Session->chooseTimer(Timer))
      return std::move(E);
  if (Error E = Session->checkVariant(Plan))
    return std::move(E);
  return std::move(Session);
}

/// Can the device run its code, and measure as it says?
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
    return Error::success();
  }
  const RecordedKernel &K = Variant.kernel();
  StringRef Arch = Variant.compiler().arch();
  if (!Triple(K.Triple).isNVPTX())
    return createStringError(
        formatv("the recording is for {0}, which {1} cannot run", K.Triple,
                D->getName())
            .str());
  if (!isArchCompatible(Arch, D->getArch())) {
    if (O.Arch.empty())
      return createStringError(
          formatv("the recording is for {0}, {1} is {2}: retarget with "
                  "--arch={2}",
                  Arch, D->getName(), D->getArch())
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
  if (Error E = choosePoison(Report))
    return E;
  // What a launch that does nothing leaves.
  Report(ReplayStage::Compare);
  if (Error E = Memory->restore())
    return E;
  Expected<MemoryComparison> Nothing = Memory->compare(Plan.compareParts());
  if (!Nothing)
    return Nothing.takeError();
  Power.Vacuous = judge(*Nothing) != Verdict::Mismatch;
  return Error::success();
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
    Power.NoPoison = "there is no memory for it";
    return Error::success();
  }
  if (Error E =
          findPoison(Plan, *D, *Memory, Mask, Report).moveInto(Power.NoPoison))
    return E;
  Power.PoisonedBytes = Mask->count();
  Poison = std::move(Mask);
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

/// Before each timed launch. What verified does what the recorded kernel does,
/// unless somebody else wrote it: that need not take the same way.
bool ReplaySession::needsRestoring(const ReplayPlan &Variant) {
  if (!D->asGPU() || !Variant.options().Verify)
    return true;
  if (!NeedsRestoring) {
    ScopedTimer Timer(PrepareTime);
    NeedsRestoring = Plan.canReadWhatItWrites();
  }
  if (*NeedsRestoring || Variant.options().IRFile == Plan.options().IRFile)
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

/// Can this code run here?
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

/// Whatever went wrong, it may have taken the device with it.
void ReplaySession::noteFailure() {
  if (GPUDevice *GPU = D->asGPU())
    if (Error E = GPU->synchronize()) {
      consumeError(std::move(E));
      Lost = true;
    }
}

/// Loads all and launches each once; notes the first that is not good.
Error ReplaySession::verifyAll(ArrayRef<Contestant> Contestants,
                               ArrayRef<std::unique_ptr<Contender>> Contenders,
                               PairedResult &Result) {
  Result.V = Verdict::Match;
  for (auto [I, C] : enumerate(Contestants)) {
    Contender &One = *Contenders[I];
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
    if (!One.isGood()) {
      noteFailed(I, One, Result);
      return Error::success();
    }
    if (One.V != Verdict::Match)
      Result.V = One.V;
  }
  return Error::success();
}

void ReplaySession::noteFailed(size_t Index, const Contender &C,
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
  ReplayTimes Times; // of all together: nobody asks
  std::vector<std::unique_ptr<Contender>> Contenders;
  bool Restore = false;
  for (const Contestant &C : Contestants) {
    Contenders.push_back(
        std::make_unique<Contender>(*this, *C.Variant, Times, Report));
    Restore |= needsRestoring(*C.Variant);
  }
  if (Error E = verifyAll(Contestants, Contenders, Result))
    return std::move(E);
  if (Result.Failed)
    return std::move(Result);

  const ReplayOptions &O = Contestants.front().Variant->options();
  MeasureRules Rules;
  Rules.Seed = Seed;
  Rules.Warmup = O.Warmup;
  Rules.MinSamples = Rules.MinPairs = Rounds;
  Rules.MaxSamples = std::max(Rules.MaxSamples, Rounds);
  if (!D->asGPU() && !O.Adaptive && !O.Quick) {
    Rules.Samples = Rounds;
    Rules.Warmup = O.Warmup.value_or(O.HostWarmup);
  }
  SmallVector<Contender *, 4> Pointers;
  for (const std::unique_ptr<Contender> &C : Contenders)
    Pointers.push_back(C.get());
  Expected<std::vector<Measurement>> Measured =
      measureAll(*TheMeasurer, *D, Pointers, Restore, Rules);
  if (!Measured)
    return Measured.takeError();
  for (auto [I, C] : enumerate(Contenders)) {
    if (!Measured->empty() && Contestants[I].Variant->options().Verify)
      if (Error E = C->confirm())
        return std::move(E);
    if (C->isGood())
      continue;
    noteFailed(I, *C, Result);
    return std::move(Result);
  }
  Result.Measured = std::move(*Measured);
  return std::move(Result);
}

Expected<PairedResult>
ReplaySession::compare(ArrayRef<Contestant> Contestants, unsigned Rounds,
                       uint64_t Seed, StageFn Report) {
  assert(!Contestants.empty() && "nothing to measure");
  for (const Contestant &C : Contestants)
    if (Error E = checkRun(*C.Variant, *C.Code))
      return std::move(E);
  Expected<PairedResult> R =
      measurePaired(Contestants, Rounds, Seed, Report);
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
