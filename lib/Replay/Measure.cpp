//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Measure.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Statistics.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

/// Share of outliers from which a measurement counts as bimodal.
static constexpr double BimodalShare = 0.05;
/// The largest number of launches in a sample.
static constexpr double MaxRepeat = 100;

CacheMode mneme::getOtherCacheMode(CacheMode Mode) {
  return Mode == CacheMode::Cold ? CacheMode::Warm : CacheMode::Cold;
}

StringRef mneme::getCacheModeName(CacheMode Mode) {
  return Mode == CacheMode::Cold ? "cold" : "warm";
}

/// By StopReason.
static const char *const StopReasonNames[] = {"precision", "samples", "time",
                                              "fixed", "slower"};

StringRef mneme::getStopReasonName(StopReason R) {
  return StopReasonNames[static_cast<unsigned>(R)];
}

std::optional<StopReason> mneme::parseStopReason(StringRef Name) {
  for (auto [I, N] : enumerate(StopReasonNames))
    if (Name == N)
      return static_cast<StopReason>(I);
  return std::nullopt;
}

MeasureRules MeasureRules::quick() {
  MeasureRules Rules;
  Rules.MinSamplesInTime = 3;
  Rules.MaxSamples = Rules.MinSamples;
  Rules.MaxSeconds = 0.1;
  Rules.WarmupLaunches = 1;
  Rules.ShortWarmupLaunches = 1;
  Rules.ClockAtEnd = false;
  Rules.BatchSamples = 7;
  return Rules;
}

MeasureRules MeasureRules::quickOnGPU() {
  MeasureRules Rules = quick();
  Rules.FirstSampleNanoseconds = 1e7;
  Rules.OneSampleNanoseconds = Rules.MaxSeconds * 1e9;
  return Rules;
}

unsigned Measurement::countOutliers() const {
  SampleSummary S = summarize(Nanoseconds);
  // With a coarse timer, the quartiles may be equal.
  double Margin =
      std::max(3 * (S.Q3 - S.Q1), MeasureRules().Precision * S.Median);
  return count_if(Nanoseconds, [&](double N) { return N > S.Q3 + Margin; });
}

bool Measurement::isBimodal() const {
  return countOutliers() > BimodalShare * Nanoseconds.size();
}

Expected<bool> SampleSource::sampleMany(unsigned Count, unsigned Repeat,
                                        std::vector<double> &Nanoseconds) {
  for (unsigned I = 0; I != Count; ++I) {
    Expected<std::optional<double>> One = sample(Repeat);
    if (!One)
      return One.takeError();
    if (!*One)
      return false;
    Nanoseconds.push_back(**One);
  }
  return true;
}

double SampleMachine::now() { return steadySeconds(); }

void SampleMachine::sleep(double Seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(Seconds));
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

namespace llvm {
namespace mneme {
/// One call of Measurer::measure(). Functions return false if a launch failed.
class MeasureRun {
public:
  MeasureRun(Measurer &Owner, ArrayRef<SampleSource *> Sources,
             const MeasureRules &Rules)
      : Owner(Owner), Machine(Owner.Machine), Sources(Sources), Rules(Rules),
        Results(Sources.size()), Random(Rules.Seed.value_or(0)) {
    append_range(Order, seq(Sources.size()));
  }

  Expected<bool> run();

  std::vector<Measurement> takeResults() { return std::move(Results); }

private:
  Measurer &Owner;
  SampleMachine &Machine;
  ArrayRef<SampleSource *> Sources;
  const MeasureRules &Rules;
  std::vector<Measurement> Results;

  unsigned Repeat = 1;
  unsigned DueWarmup = 0; ///< Launches to add to the next batch.
  SmallVector<size_t> Order; ///< Of the sources, in the last round.
  std::mt19937_64 Random;
  size_t Rounds = 0;        ///< Rounds that are kept.
  size_t CheckedRounds = 0; ///< Kept rounds whose clock was checked.
  SmallVector<double> GoodClocks;
  unsigned Pauses = 0;
  bool IsGuarded = true; ///< Whether the clock is checked.

  Expected<std::optional<double>> launch(size_t Source, unsigned Times);
  bool takeFirst();
  Expected<bool> warmUp();
  bool isBatched() const {
    return Rules.BatchSamples > 1 && Sources.size() == 1;
  }
  unsigned countWarmup(double Nanoseconds) const;
  Expected<bool> warmUpSource(size_t Source, bool IsWarm,
                              SmallVectorImpl<double> &Shortest);
  void chooseRepeat(ArrayRef<double> Nanoseconds);
  void chooseOrder();
  Expected<bool> takeRound();
  size_t countBatch() const;
  Expected<bool> takeBatch();
  Expected<bool> takeMore();
  std::optional<StopReason> shouldStop() const;
  bool isPrecise() const;
  bool isSlower() const;
  double spentSeconds() const;
  bool isClockDue(bool AtEnd) const;
  Error noteClock();
  void acceptClock(double Clock);
  /// \returns true if samples had to be dropped.
  Expected<bool> checkClock();
  void dropUnchecked();
};
} // namespace mneme
} // namespace llvm

Expected<std::optional<double>> MeasureRun::launch(size_t Source,
                                                   unsigned Times) {
  Expected<std::optional<double>> Nanoseconds = Sources[Source]->sample(Times);
  Owner.LastBusy = Machine.now();
  return Nanoseconds;
}

/// \returns true if the preceding launch serves as the first sample.
bool MeasureRun::takeFirst() {
  if (Sources.size() != 1 || Rules.Samples || Rules.Warmup ||
      Rules.LaunchedNanoseconds < Rules.FirstSampleNanoseconds)
    return false;
  Results[0].Nanoseconds.push_back(Rules.LaunchedNanoseconds);
  Rounds = 1;
  Owner.LastBusy = Machine.now();
  return true;
}

/// Returns the minimum number of warm-up launches for launches of
/// \p Nanoseconds.
unsigned MeasureRun::countWarmup(double Nanoseconds) const {
  return Nanoseconds < Rules.ShortNanoseconds
             ? std::max(Rules.WarmupLaunches, Rules.ShortWarmupLaunches)
             : Rules.WarmupLaunches;
}

Expected<bool> MeasureRun::warmUpSource(size_t Source, bool IsWarm,
                                        SmallVectorImpl<double> &Shortest) {
  double Seconds = 0;
  double Best = std::numeric_limits<double>::infinity();
  auto IsEnough = [&](unsigned Launches) {
    if (Rules.Warmup)
      return Launches >= *Rules.Warmup;
    if (Launches < countWarmup(Best))
      return false;
    return IsWarm || Seconds >= Rules.WarmupSeconds;
  };
  for (unsigned Launches = 0; !IsEnough(Launches); ++Launches) {
    double Start = Machine.now();
    Expected<std::optional<double>> Nanoseconds = launch(Source, 1);
    if (!Nanoseconds)
      return Nanoseconds.takeError();
    if (!*Nanoseconds)
      return false;
    Seconds += Machine.now() - Start;
    Best = std::min(Best, **Nanoseconds);
    ++Results[Source].Warmup;
  }
  Shortest.push_back(Best);
  return true;
}

Expected<bool> MeasureRun::warmUp() {
  bool IsWarm = Machine.now() - Owner.LastBusy <= Rules.IdleSeconds;
  SmallVector<double> Shortest;
  if (IsWarm && isBatched() && !Rules.Warmup && Rounds == 0 &&
      Rules.LaunchedNanoseconds > 0) {
    unsigned Count = countWarmup(Rules.LaunchedNanoseconds);
    DueWarmup = Count ? Count - 1 : 0;
    chooseRepeat(Rules.LaunchedNanoseconds);
    return true;
  }
  for (size_t I = 0; I != Sources.size(); ++I) {
    Expected<bool> Ok = warmUpSource(I, IsWarm, Shortest);
    if (!Ok || !*Ok)
      return Ok;
    IsWarm = true;
  }
  if (Rounds == 0)
    chooseRepeat(Shortest);
  return true;
}

/// Uses the same number for all sources: the time per launch depends on the
/// number of launches in a sample.
void MeasureRun::chooseRepeat(ArrayRef<double> Nanoseconds) {
  if (!Rules.CanRepeat)
    return;
  for (double N : Nanoseconds)
    if (N > 0 && N < Rules.RepeatNanoseconds)
      Repeat = std::max<unsigned>(
          Repeat, std::min(std::ceil(Rules.SampleNanoseconds / N), MaxRepeat));
  for (Measurement &M : Results)
    M.Repeat = Repeat;
}

/// Mirrors every second round to cancel steady drift. With a seed, the order of
/// the others is random, which averages periodic disturbances.
void MeasureRun::chooseOrder() {
  if (Rounds % 2) {
    std::reverse(Order.begin(), Order.end());
    return;
  }
  std::iota(Order.begin(), Order.end(), 0);
  if (!Rules.Seed)
    return;
  // std::shuffle() depends on the standard library.
  for (size_t I = Order.size(); I > 1; --I)
    std::swap(Order[I - 1], Order[Random() % I]);
}

Expected<bool> MeasureRun::takeRound() {
  chooseOrder();
  for (size_t Source : Order) {
    Expected<std::optional<double>> Nanoseconds = launch(Source, Repeat);
    if (!Nanoseconds)
      return Nanoseconds.takeError();
    if (!*Nanoseconds)
      return false;
    Results[Source].Nanoseconds.push_back(**Nanoseconds);
  }
  ++Rounds;
  return true;
}

/// Returns the number of samples until the next decision.
size_t MeasureRun::countBatch() const {
  size_t End = Rules.Samples.value_or(Rules.MaxSamples);
  if (Rules.StopAbove > 0 && Rounds < Rules.MinSamplesToStop)
    End = std::min<size_t>(End, Rules.MinSamplesToStop);
  else if (Rounds < Rules.MinSamples)
    End = std::min<size_t>(End, Rules.MinSamples);
  double Launched = Rules.LaunchedNanoseconds * 1e-9;
  if (Rounds < Rules.MinSamplesInTime &&
      Launched * Rules.MinSamples > Rules.MaxSeconds)
    End = std::min<size_t>(End, Rules.MinSamplesInTime);
  size_t Count = std::min<size_t>(End - Rounds, Rules.BatchSamples);
  double Spent = spentSeconds();
  if (Rules.Samples || Rounds < Rules.MinSamplesInTime || Spent <= 0)
    return Count;
  // Limit the batch to the remaining time.
  double InTime = std::ceil((Rules.MaxSeconds - Spent) / Spent * Rounds);
  return std::clamp<double>(InTime, 1, Count);
}

Expected<bool> MeasureRun::takeBatch() {
  size_t Count = countBatch();
  std::vector<double> Taken;
  Expected<bool> Ok =
      Sources[0]->sampleMany(DueWarmup + Count, Repeat, Taken);
  Owner.LastBusy = Machine.now();
  if (!Ok || !*Ok)
    return Ok;
  append_range(Results[0].Nanoseconds, ArrayRef(Taken).drop_front(DueWarmup));
  Results[0].Warmup += std::exchange(DueWarmup, 0);
  Rounds += Count;
  return true;
}

bool MeasureRun::isPrecise() const {
  return all_of(Results, [&](const Measurement &M) {
    SampleSummary S = summarize(M.Nanoseconds);
    return S.High - S.Low < Rules.Precision * S.Median;
  });
}

/// Returns true if the confidence interval of a single source's median is above
/// the limit.
bool MeasureRun::isSlower() const {
  if (Rules.StopAbove <= 0 || Sources.size() != 1 || Rounds == 0)
    return false;
  SampleSummary S = summarize(Results[0].Nanoseconds);
  return (Rounds >= Rules.MinSamplesToStop ||
          S.Min >= Rules.FirstSampleNanoseconds) &&
         S.Low > Rules.StopAbove;
}

/// Returns the seconds of the source that took longest.
double MeasureRun::spentSeconds() const {
  double Longest = 0;
  for (const Measurement &M : Results) {
    double Sum = 0;
    for (double N : M.Nanoseconds)
      Sum += N;
    Longest = std::max(Longest, Sum * Repeat * 1e-9);
  }
  return Longest;
}

std::optional<StopReason> MeasureRun::shouldStop() const {
  if (isSlower())
    return StopReason::Slower;
  if (Rules.Samples) {
    if (Rounds >= *Rules.Samples)
      return StopReason::Fixed;
    return std::nullopt;
  }
  if (Rounds >= Rules.MaxSamples)
    return StopReason::Samples;
  if (Rounds >= Rules.MinSamplesInTime && spentSeconds() >= Rules.MaxSeconds)
    return StopReason::Time;
  if (Sources.size() == 1 && Rounds == 1 &&
      Results[0].Nanoseconds[0] >= Rules.OneSampleNanoseconds)
    return StopReason::Time;
  if (Rounds < Rules.MinSamples)
    return std::nullopt;
  bool HasPairs = Sources.size() == 1 || Rounds >= Rules.MinPairs;
  if (HasPairs && isPrecise())
    return StopReason::Precision;
  if (spentSeconds() >= Rules.MaxSeconds)
    return StopReason::Time;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The clock
//===----------------------------------------------------------------------===//

bool MeasureRun::isClockDue(bool AtEnd) const {
  if (AtEnd && (Rules.ClockAtEnd ||
                Machine.now() - Owner.LastClockTime > Rules.ClockSeconds))
    return true;
  return (Rounds - CheckedRounds) * Sources.size() >= Rules.ClockInterval;
}

/// Provides a reference clock before the first samples.
Error MeasureRun::noteClock() {
  if (Machine.now() - Owner.LastClockTime > Rules.ClockSeconds) {
    Expected<double> Clock = Machine.measureClock();
    if (!Clock)
      return Clock.takeError();
    IsGuarded = *Clock > 0;
    if (!IsGuarded)
      return Error::success();
    acceptClock(*Clock);
  } else {
    GoodClocks.push_back(Owner.LastClock);
  }
  for (Measurement &M : Results)
    M.Clocks.push_back(GoodClocks.back());
  return Error::success();
}

void MeasureRun::acceptClock(double Clock) {
  GoodClocks.push_back(Clock);
  Owner.LastClock = Clock;
  Owner.LastClockTime = Machine.now();
}

Expected<bool> MeasureRun::checkClock() {
  Expected<double> Clock = Machine.measureClock();
  if (!Clock)
    return Clock.takeError();
  for (Measurement &M : Results)
    M.Clocks.push_back(*Clock);
  if (*Clock >= Rules.ClockShare * summarize(GoodClocks).Median) {
    acceptClock(*Clock);
    CheckedRounds = Rounds;
    return false;
  }
  if (Pauses == Rules.MaxPauses) {
    IsGuarded = false;
    for (Measurement &M : Results)
      M.Throttled = true;
    return false;
  }
  dropUnchecked();
  Machine.sleep(Rules.PauseSeconds * (1u << Pauses));
  ++Pauses;
  return true;
}

void MeasureRun::dropUnchecked() {
  for (Measurement &M : Results) {
    M.Dropped += Rounds - CheckedRounds;
    M.Nanoseconds.resize(CheckedRounds);
  }
  Rounds = CheckedRounds;
}

/// Takes samples, after a warm-up if the machine was idle.
Expected<bool> MeasureRun::takeMore() {
  if (Machine.now() - Owner.LastBusy > Rules.IdleSeconds) {
    Expected<bool> Ok = warmUp();
    if (!Ok || !*Ok)
      return Ok;
  }
  return isBatched() ? takeBatch() : takeRound();
}

Expected<bool> MeasureRun::run() {
  if (Rules.Samples == 0u)
    return true;
  bool IsTaken = takeFirst();
  if (!IsTaken) {
    Expected<bool> Ok = warmUp();
    if (!Ok || !*Ok)
      return Ok;
  }
  if (Error E = noteClock())
    return std::move(E);
  while (true) {
    if (!std::exchange(IsTaken, false)) {
      Expected<bool> Ok = takeMore();
      if (!Ok || !*Ok)
        return Ok;
    }
    std::optional<StopReason> Stop = shouldStop();
    if (IsGuarded && isClockDue(Stop.has_value())) {
      Expected<bool> Dropped = checkClock();
      if (!Dropped)
        return Dropped.takeError();
      if (*Dropped)
        continue;
    }
    if (!Stop)
      continue;
    for (Measurement &M : Results)
      M.Stop = *Stop;
    return true;
  }
}

Expected<std::vector<Measurement>>
Measurer::measure(ArrayRef<SampleSource *> Sources, const MeasureRules &Rules) {
  MeasureRun Run(*this, Sources, Rules);
  Expected<bool> Ok = Run.run();
  if (!Ok)
    return Ok.takeError();
  if (!*Ok)
    return std::vector<Measurement>();
  return Run.takeResults();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const Measurement &M) {
  SampleSummary S = summarize(M.Nanoseconds);
  auto IfAny = [&](double V) {
    return S.Count ? json::Value(V) : json::Value(nullptr);
  };
  return json::Object{
      {"timer", M.Timer},
      {"cache", getCacheModeName(M.Cache)},
      {"restored", M.Restored},
      {"samples", S.Count},
      {"launches_per_sample", M.Repeat},
      {"warmup_launches", M.Warmup},
      {"stopped_by", getStopReasonName(M.Stop)},
      {"min", IfAny(S.Min)},
      {"median", IfAny(S.Median)},
      {"max", IfAny(S.Max)},
      {"interval", S.Count ? json::Array{S.Low, S.High} : json::Array()},
      {"spread", IfAny(S.Spread)},
      {"outliers", M.countOutliers()},
      {"bimodal", M.isBimodal()},
      {"dropped", M.Dropped},
      {"throttled", M.Throttled},
      {"clocks", json::Array(M.Clocks)}};
}

bool mneme::fromJSON(const json::Value &V, Measurement &M, json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Cache, Stop;
  if (!O || !O.map("timer", M.Timer) || !O.map("cache", Cache) ||
      !O.map("restored", M.Restored) ||
      !O.map("launches_per_sample", M.Repeat) ||
      !O.map("warmup_launches", M.Warmup) || !O.map("stopped_by", Stop) ||
      !O.map("dropped", M.Dropped) || !O.map("throttled", M.Throttled) ||
      !O.map("clocks", M.Clocks))
    return false;
  if (Cache != "cold" && Cache != "warm") {
    P.field("cache").report("unknown cache mode");
    return false;
  }
  M.Cache = Cache == "cold" ? CacheMode::Cold : CacheMode::Warm;
  std::optional<StopReason> Known = parseStopReason(Stop);
  if (!Known) {
    P.field("stopped_by").report("unknown reason");
    return false;
  }
  M.Stop = *Known;
  return true;
}
