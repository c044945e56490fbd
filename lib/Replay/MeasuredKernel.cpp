//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifies and times one loaded kernel.
//
//===----------------------------------------------------------------------===//

#include "MeasuredKernel.h"
#include "ElementTypes.h"
#include "ScopedTimer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

/// A batch of enqueued launches takes at most this many seconds and this share
/// of one launch's time limit, because the limit applies to the batch.
static constexpr double MaxBatchSeconds = 0.05, MaxBatchShare = 0.25;

/// Buffers are kept for the comparison with a second launch up to this total
/// size.
static constexpr uint64_t MaxKeptBytes = uint64_t(1) << 30;

/// Time after which no more than EnvelopeRule::MinReplays launches are
/// compared.
static constexpr double MaxRepeatSeconds = 20;

/// Seeds of their orders of blocks: none of the envelope's.
static constexpr uint64_t FirstSeed = 1 << 20;

/// In a search, launches shorter than this are compared only after timing, not
/// before: most candidates are correct, so they are compared once.
static constexpr double DeferredNanoseconds = 1e6;

/// Of this many timed launches, one is compared (ReplayOptions::Untrusted).
static constexpr unsigned ComparedInterval = 4;

/// What local and shared memory of untrusted code contain, in turns. An
/// application's memory may be zero, or hold what the same code left.
static constexpr MnemeHostFill Fills[] = {
    MNEME_HOST_FILL_RANDOM, MNEME_HOST_FILL_ZEROS, MNEME_HOST_FILL_ONES,
    MNEME_HOST_FILL_LEFT};

//===----------------------------------------------------------------------===//
// Loaded kernels
//===----------------------------------------------------------------------===//

std::shared_ptr<DeviceKernel> LoadedKernels::find(StringRef CodeHash) {
  auto It = find_if(List, [&](const Entry &E) { return E.Hash == CodeHash; });
  if (CodeHash.empty() || It == List.end())
    return nullptr;
  std::rotate(List.begin(), It, std::next(It)); // Most recently used first.
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

/// Returns the verdict on a launch that failed.
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

Verdict mneme::judge(const MemoryComparison &C) {
  if (C.Stray || any_of(C.Buffers, fails))
    return Verdict::Mismatch;
  CompareLevel Level = CompareLevel::Exact;
  for (const BufferReport &B : C.Buffers)
    Level = std::max(Level, B.Level);
  return getVerdict(Level);
}

static std::string describeStray(const StrayWrite &W) {
  return formatv("memory outside of all buffers was written, first {0} bytes "
                 "{1} of buffer {2}",
                 W.Distance, W.IsBehind ? "past the end" : "before the start",
                 W.Buffer)
      .str();
}

static std::string describeElements(const BufferReport &B) {
  bool IsNumber = B.Rule.DType != MNEME_DTYPE_BYTES;
  std::string Type =
      IsNumber ? (getDTypeName(B.Rule.DType) + " ").str() : std::string();
  std::string Name = B.Name.empty() ? "" : " (" + B.Name + ")";
  std::string Text =
      formatv("{0} of {1} {2}elements of buffer {3}{4} differ",
              B.Stats.Mismatches, B.Stats.Elements, Type, B.Id, Name)
          .str();
  if (B.Stats.First)
    Text += formatv(", first at {0}: {1} instead of {2}", *B.Stats.First,
                    B.Stats.Actual, B.Stats.Expected)
                .str();
  raw_string_ostream OS(Text);
  // Zeros of different signs, for example, are equal as numbers.
  if (isFloatDType(B.Rule.DType) && B.Stats.MaxAbs > 0)
    OS << format(", largest error %.3g, %.3g of the value, %.3g ulp",
                 B.Stats.MaxAbs, B.Stats.MaxRel, B.Stats.MaxUlp);
  if (B.Rule.Measured)
    OS << format("; allowed: %.3g, %.3g ulp", *B.Rule.Measured, B.Rule.Value);
  return Text;
}

static std::string describeBuffer(const BufferReport &B) {
  if (B.Records.empty())
    return describeElements(B);
  std::string Name = B.Name.empty() ? "" : " (" + B.Name + ")";
  return formatv("buffer {0}{1}: {2}", B.Id, Name, B.Records).str();
}

/// Describes the first buffer that fails, preferably one that the envelope can
/// judge.
std::string MeasuredKernel::describeMismatch() const {
  const MemoryComparison &C = Compared;
  std::vector<const BufferReport *> Failing;
  for (auto [Part, B] : enumerate(C.Buffers))
    if (fails(B) && !isUndecided(Part))
      Failing.push_back(&B);
  std::string Text;
  if (!Failing.empty()) {
    Text = describeBuffer(*Failing.front());
    if (Failing.size() > 1)
      Text += ", and " + formatCount(Failing.size() - 1, "more buffer");
  }
  if (C.Stray)
    Text += (Text.empty() ? "" : "; ") + describeStray(*C.Stray);
  if (Text.empty())
    return adviseJudge(Session.power());
  if (!Session.Measured)
    return Text;
  const EnvelopeSummary &E = Session.Measured->Summary;
  if (E.varies())
    Text += "; outside the envelope of " + E.describeSource();
  else if (const BufferVariation *V = E.find(BufferVariation::Constant))
    Text += "; " + E.describeSource() + " do not leave the recorded memory " +
            "either, but agree with each other in " + V->describeBuffer();
  return Text;
}

/// Returns true if no rule explains how a part varies.
bool MeasuredKernel::isUndecided(size_t Part) const {
  return Session.Measured &&
         any_of(Session.Measured->Summary.Buffers,
                [&](const BufferVariation &V) {
                  return V.Part == Part && V.Kind == BufferVariation::Undecided;
                });
}

MeasuredKernel::MeasuredKernel(ReplaySession &Session, const ReplayPlan &Plan,
                               ReplayTimes &Times,
                               ReplaySession::StageFn Report)
    : Session(Session), Plan(Plan), D(*Session.D), Memory(*Session.Memory),
      Times(Times), Report(Report) {
  Config = Plan.launch();
  Cache = Plan.options().Cache.value_or(D.asGPU() ? CacheMode::Cold
                                                  : CacheMode::Warm);
}

Error MeasuredKernel::load(const CompiledKernel &Code, LoadedKernels &Kernels) {
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
  // The pipeline or the user's IR calls an undefined function.
  V = Verdict::Unsupported;
  Message = toString(std::move(E));
  return Error::success();
}

/// Gives the next launches of untrusted code other poison, other memory around
/// buffers and, on the host device, other contents of local and shared memory.
Error MeasuredKernel::vary() {
  if (!Plan.options().Untrusted || !Varies)
    return Error::success();
  std::random_device Source;
  auto Draw = [&] { return uint64_t(Source()) << 32 | Source(); };
  Config.Fill = Fills[Memory.numLaunches() % std::size(Fills)];
  PoisonDraw Poison = {{Draw(), Draw()}};
  Poison.LeavesParts = NumCompared > 0;
  Poison.FillsPadding = Config.Fill != MNEME_HOST_FILL_ZEROS;
  if (Config.Fill == MNEME_HOST_FILL_RANDOM)
    Config.Fill += Draw() >> 1;
  return Memory.drawPoison(Poison);
}

/// On a GPU, the copies are only enqueued.
Error MeasuredKernel::restore() {
  ScopedTimer Timer(Times.Restore);
  if (!D.asGPU())
    if (Error E = vary())
      return E;
  LastRestored = Memory.numLaunches() + 1;
  return Memory.restore();
}

Error MeasuredKernel::flushCache() {
  return Cache == CacheMode::Cold ? D.asGPU()->flushCache() : Error::success();
}

/// \returns true if the launch succeeded.
bool MeasuredKernel::noteOutcome(const LaunchOutcome &Outcome) {
  if (Outcome.Status == LaunchStatus::Ok) {
    Executed = true;
    return true;
  }
  // The memory written by a failed launch is not compared.
  Memory.markAllDirty();
  V = getLaunchVerdict(Outcome.Status);
  Message = getLaunchStatusName(Outcome.Status).str();
  if (!Outcome.Message.empty())
    Message += ": " + Outcome.Message;
  return false;
}

Expected<std::optional<double>> MeasuredKernel::launch(unsigned Repeat) {
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
  // Running out of memory is not the kernel's fault on the host; on a GPU it
  // may be.
  if (Outcome->Status == LaunchStatus::OutOfMemory && !D.asGPU())
    return make_error<ShortageError>(
        Outcome->Message, std::make_error_code(std::errc::not_enough_memory));
  LongestSeconds = std::max(LongestSeconds, Seconds);
  if (!noteOutcome(*Outcome))
    return std::nullopt;
  LastNanoseconds = Outcome->Nanoseconds;
  return Outcome->Nanoseconds;
}

/// Returns true if some timed launches are compared. Without restoring memory,
/// a launch does not start from the recorded memory.
bool MeasuredKernel::comparesTimed() const {
  return Plan.options().Untrusted && Plan.options().Verify && Restore;
}

Expected<std::optional<double>> MeasuredKernel::sample(unsigned Repeat) {
  Expected<std::optional<double>> Nanoseconds = launch(Repeat);
  if (!Nanoseconds || !*Nanoseconds || !comparesTimed() ||
      Random() % ComparedInterval != 0)
    return Nanoseconds;
  if (Error E = compareLater())
    return std::move(E);
  if (!isGood())
    return std::nullopt;
  return Nanoseconds;
}

Expected<bool> MeasuredKernel::sampleMany(unsigned Count, unsigned Repeat,
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
    // The last launch of a batch can be compared.
    if (comparesTimed())
      Some =
          std::min<unsigned>(Some, 1 + Random() % (2 * ComparedInterval - 1));
    Count -= Some;
    Expected<bool> Ok = sampleBatch(Some, Repeat, Nanoseconds);
    if (!Ok || !*Ok)
      return Ok;
    if (!comparesTimed())
      continue;
    if (Error E = compareLater())
      return std::move(E);
    if (!isGood())
      return false;
  }
  return true;
}

/// Synchronizes once per batch.
Expected<bool> MeasuredKernel::sampleBatch(unsigned Count, unsigned Repeat,
                                           std::vector<double> &Nanoseconds) {
  Report(ReplayStage::Launch);
  Config.Repeat = Repeat;
  std::vector<double> Taken;
  // With a cold cache, restoring memory does not affect the time, so restore it
  // before the last launch, which confirm() can then compare.
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

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

Error MeasuredKernel::count(const CounterSet &Counters,
                            CounterReading &Reading) {
  GPUDevice *GPU = D.asGPU();
  size_t OfEnergy = count_if(Counters.list(), [](const CounterInfo *C) {
    return C->Group == CounterGroup::Energy;
  });
  Config.Repeat = 1;
  auto Prepare = [&]() -> Error {
    Report(ReplayStage::Launch);
    if (Error E = restore())
      return E;
    return Cache == CacheMode::Cold ? GPU->cleanCache() : Error::success();
  };
  if (OfEnergy != Counters.list().size()) {
    Expected<LaunchOutcome> Outcome =
        Memory.count(*Kernel, Config, Counters, Prepare, Reading);
    if (!Outcome)
      return Outcome.takeError();
    if (!noteOutcome(*Outcome))
      return Error::success();
  }
  return OfEnergy ? measureEnergy(Reading) : Error::success();
}

/// Launches, or only restores memory, until NVML has counted the energy of
/// EnergySeconds. \returns the joules per launch; unset if NVML does not count
/// or a launch failed.
Expected<std::optional<double>> MeasuredKernel::readJoules(GPUDevice &GPU,
                                                           bool Launches) {
  // Between two readings; NVML updates its counter ten times a second.
  constexpr double ChunkSeconds = 5e-3, EnergySeconds = 0.5, MaxSeconds = 10;
  bool NeedsRestoring = Session.needsRestoring(Plan);
  bool CanRepeat = !NeedsRestoring && !keepsState();
  double Seconds = std::max(LastNanoseconds * 1e-9, 1e-6);
  unsigned Count = std::clamp(ChunkSeconds / Seconds, 1.0, 1000.0);
  std::vector<double> Taken;
  auto Run = [&]() -> Expected<bool> {
    Report(ReplayStage::Launch);
    if (!Launches) {
      for (unsigned I = 0; I != Count; ++I)
        if (Error E = restore())
          return std::move(E);
      if (Error E = GPU.synchronize())
        return std::move(E);
      return true;
    }
    Config.Repeat = CanRepeat ? Count : 1;
    Expected<LaunchOutcome> Outcome = Memory.launchMany(
        *Kernel, Config, CanRepeat ? 1 : Count,
        [&] { return NeedsRestoring ? restore() : Error::success(); }, Taken);
    Config.Repeat = 1;
    if (!Outcome)
      return Outcome.takeError();
    return noteOutcome(*Outcome);
  };
  std::optional<double> First, Last = GPU.readEnergy();
  auto Begin = std::chrono::steady_clock::now(), Since = Begin;
  uint64_t Done = 0;
  while (Last && secondsSince(Begin) < MaxSeconds) {
    Expected<bool> Ok = Run();
    if (!Ok)
      return Ok.takeError();
    if (!*Ok)
      return std::nullopt;
    Done += Count;
    std::optional<double> Now = GPU.readEnergy();
    // From one update to another.
    if (!Now || *Now == *Last)
      continue;
    if (First && secondsSince(Since) >= EnergySeconds)
      return (*Now - *First) / Done;
    if (!First) {
      First = Now;
      Since = std::chrono::steady_clock::now();
      Done = 0;
    }
    Last = Now;
  }
  return std::nullopt;
}

/// The energy of the GPU while it runs the kernel, with its idle power. If each
/// launch needs restored memory, the energy of restoring is subtracted.
Error MeasuredKernel::measureEnergy(CounterReading &Reading) {
  GPUDevice &GPU = *D.asGPU();
  auto AddProblem = [&](const Twine &Text) {
    Reading.Problem += Reading.Problem.empty() ? "" : "; ";
    Reading.Problem += Text.str();
  };
  if (!GPU.readEnergy()) {
    AddProblem("NVML does not report the energy of this GPU");
    return Error::success();
  }
  // CUPTI's timer would wait after each launch.
  if (Error E = Session.chooseTimer(GPUTimer::Events))
    return E;
  Expected<std::optional<double>> All = readJoules(GPU, /*Launches=*/true);
  if (!All)
    return All.takeError();
  if (failed())
    return Error::success();
  std::optional<double> OfRestoring = 0;
  if (*All && Session.needsRestoring(Plan)) {
    // Not enqueued for a launch that follows.
    uint64_t Restored = LastRestored;
    if (Error E = readJoules(GPU, /*Launches=*/false).moveInto(OfRestoring))
      return E;
    LastRestored = Restored;
  }
  if (!*All || !OfRestoring)
    AddProblem("NVML's energy counter does not change");
  else if (**All <= *OfRestoring)
    AddProblem("the energy of the launch is below that of restoring memory");
  else
    Reading.Values["energy"] = **All - *OfRestoring;
  return Error::success();
}

Error MeasuredKernel::verify(bool MayWait) {
  // To draw poison on a GPU takes as long as many launches.
  if (D.asGPU())
    if (Error E = vary())
      return E;
  Expected<std::optional<double>> Launched = launch(1);
  if (!Launched)
    return Launched.takeError();
  if (!*Launched || (MayWait && **Launched < DeferredNanoseconds))
    return Error::success();
  return compare();
}

Error MeasuredKernel::verifyRepeatedly() {
  HostSchedule Own = Config.Schedule;
  unsigned Launches = 1;
  if (Session.Power.varies())
    Launches = Plan.options().ComparedLaunches.value_or(
        Session.Measured->Summary.Replays);
  // A test under other schedules has many launches.
  if (Plan.options().Untrusted && !D.asGPU() &&
      Own.Order <= HostSchedule::Sequential)
    Launches = std::max<unsigned>(Launches, std::size(Fills));
  if (Launches <= 1)
    return Error::success();
  auto Begin = std::chrono::steady_clock::now();
  while (isGood() && NumCompared < Launches &&
         (NumCompared < EnvelopeRule::MinReplays ||
          secondsSince(Begin) < MaxRepeatSeconds)) {
    if (Own.Order == HostSchedule::Random)
      Config.Schedule.Seed = FirstSeed + NumCompared;
    else if (Own.Order != HostSchedule::Sequential && Session.Power.varies())
      Config.Schedule = {HostSchedule::Shuffled, FirstSeed + NumCompared};
    unsigned Number = NumCompared + 1;
    if (Error E = verify())
      return E;
    if (!isGood())
      Message =
          formatv("launch {0} of the same code: ", Number).str() + Message;
  }
  Config.Schedule = Own;
  return Error::success();
}

Error MeasuredKernel::compare() {
  Report(ReplayStage::Compare);
  ScopedTimer Timer(Times.Compare);
  Kept.reset();
  MemoryComparison Before = std::move(Compared);
  if (Error E = Memory.compare(Session.comparison(Plan)).moveInto(Compared))
    return E;
  ++NumCompared;
  LastCompared = Memory.numLaunches();
  V = judge(Compared);
  // A report describes the launch that needed the most lenient level.
  Verdict Earlier = judge(Before);
  if (isMatch(V) && isMatch(Earlier) && Earlier > V) {
    Compared = std::move(Before);
    V = Earlier;
  }
  if (isMatch(V))
    Message.clear();
  if (V != Verdict::Mismatch)
    return Error::success();
  if (any_of(Compared.Buffers, fails))
    return describeTypes();
  Message = describeMismatch();
  return Error::success();
}

/// Describes mismatches by the element types that the IR implies, if no other
/// types are given, and suggests tolerances for possible rounding errors.
Error MeasuredKernel::describeTypes() {
  const ElementTypes &Types = Session.elementTypes();
  ComparePlan Typed = Session.comparison(Plan);
  bool IsTyped = false;
  for (auto [P, B] : zip_equal(Typed.Parts, Compared.Buffers)) {
    uint32_t DType = Types.OfRegion[P.Region];
    if (!fails(B) || P.Rule.DType != MNEME_DTYPE_BYTES ||
        DType == MNEME_DTYPE_BYTES)
      continue;
    P.Rule.DType = DType;
    IsTyped = true;
  }
  if (IsTyped)
    if (Error E = Memory.compare(Typed).moveInto(Compared))
      return E;
  Message = describeMismatch();
  // Rules that were measured allow for rounding already.
  if (Types.Rounding.empty() || Session.Power.varies())
    return Error::success();
  std::vector<BufferReport> Failing;
  std::vector<double> Scales;
  for (auto [P, B] : zip_equal(Typed.Parts, Compared.Buffers)) {
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

/// Compares a launch that need not be the first.
Error MeasuredKernel::compareLater() {
  bool WasRight = V != Verdict::NotVerified;
  if (Error E = compare())
    return E;
  if (WasRight && V == Verdict::Mismatch)
    Message = "the first launch verified, a later one did not: " + Message;
  return Error::success();
}

Error MeasuredKernel::confirm() {
  if (LastCompared == Memory.numLaunches())
    return Error::success();
  if (LastRestored != Memory.numLaunches()) {
    Restore = true;
    Expected<std::optional<double>> Launched = launch(1);
    if (!Launched)
      return Launched.takeError();
    if (!*Launched)
      return Error::success();
  }
  return compareLater();
}

/// Returns the contents of the failed buffers; nothing if they are too large.
Expected<std::vector<std::vector<char>>> MeasuredKernel::readFailures() {
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

Error MeasuredKernel::keepFailures() { return readFailures().moveInto(Kept); }

Error MeasuredKernel::checkReproducibility() {
  if (!Kept)
    if (Error E = keepFailures())
      return E;
  std::vector<std::vector<char>> First = std::move(*Kept);
  Kept.reset();
  if (First.empty())
    return Error::success();
  Varies = false;
  Expected<std::optional<double>> Launched = launch(1);
  Varies = true;
  if (!Launched)
    return Launched.takeError();
  // Only the failed buffers are read after this launch.
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
      B.Reproducible = First[I] == (*Second)[I];
      B.Digest =
          toHexString(digest128(StringRef(First[I].data(), First[I].size())));
      AllSame &= *B.Reproducible;
      ++I;
    }
  if (!AllSame && !Session.Power.varies())
    Message += "; a second replay of it wrote other bytes: the kernel is not "
               "deterministic, or reads what was not recorded";
  return Error::success();
}

Expected<std::vector<Measurement>>
mneme::measureAll(Measurer &M, Device &D,
                  ArrayRef<MeasuredKernel *> MeasuredKernels, bool Restore,
                  MeasureRules Rules) {
  GPUDevice *GPU = D.asGPU();
  CacheMode Cache = MeasuredKernels.front()->Cache;
  Rules.CanRepeat = !Restore && Cache == CacheMode::Warm;
  SmallVector<SampleSource *, 2> Sources;
  for (MeasuredKernel *C : MeasuredKernels) {
    C->Cache = Cache;
    C->Restore = Restore;
    Rules.CanRepeat &= !C->keepsState();
    Sources.push_back(C);
  }
  if (MeasuredKernels.size() == 1)
    Rules.LaunchedNanoseconds = MeasuredKernels.front()->LastNanoseconds;
  auto TimerName = [&]() -> StringRef {
    return GPU ? GPU->getTimerName() : "host";
  };
  StringRef TimerBefore = TimerName();
  Expected<std::vector<Measurement>> Measured = M.measure(Sources, Rules);
  // If CUPTI stops reporting kernels, events replace it. Do not mix samples of
  // both timers.
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
