//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How often something is launched, and what of it counts (docs/Measurement).
/// Nothing here knows of kernels or devices.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_MEASURE_H
#define LLVM_MNEME_REPLAY_MEASURE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// What the last level cache holds when a timed launch begins.
enum class CacheMode {
  Cold, ///< Nothing that the kernel uses.
  Warm, ///< What came before left: the restored memory, the last launch.
};
StringRef getCacheModeName(CacheMode Mode);

struct MeasureRules {
  /// So many samples; unset: as many as it takes.
  std::optional<unsigned> Samples;
  /// So many launches before the samples; unset: as many as it takes.
  std::optional<unsigned> Warmup;

  /// Samples are taken until the 95 % interval of the median is narrower than
  /// this share of it, ...
  double Precision = 0.005;
  /// ... at least so many, ...
  unsigned MinSamples = 7;
  /// ... so many when two things are compared, and time allows, ...
  unsigned MinPairs = 30;
  /// ... at most so many, ...
  unsigned MaxSamples = 200;
  /// ... and, past the smallest number, no longer than this in launches.
  double MaxSeconds = 0.5;
  /// So many are enough when that time is over.
  unsigned MinSamplesInTime = 7;

  /// When one thing is measured: not longer than until it is clear that its
  /// median is above this: 95 % interval and all, of so many samples. 0: never.
  double StopAbove = 0; ///< Nanoseconds.
  unsigned MinSamplesToStop = 3;

  /// When one thing is measured: so many samples may be taken at once, before
  /// the rules are looked at again.
  unsigned BatchSamples = 1;
  /// Nanoseconds of a launch that was made right before, and counts as the
  /// first of a warm-up that is of launches only; 0: there was none.
  double LaunchedNanoseconds = 0;
  /// That launch was made as samples are, and is the first one if it took at
  /// least this; it needs no warm-up then.
  double FirstSampleNanoseconds = std::numeric_limits<double>::infinity();
  /// One sample is enough of a launch that takes at least this.
  double OneSampleNanoseconds = std::numeric_limits<double>::infinity();

  /// Decides the order within rounds; unset: as given. Every second round has
  /// the order of the one before reversed.
  std::optional<uint64_t> Seed;

  /// Warm means: so many launches and seconds of work, ...
  unsigned WarmupLaunches = 2;
  double WarmupSeconds = 2e-3;
  /// ... more launches if one takes less than so many nanoseconds, ...
  unsigned ShortWarmupLaunches = 10;
  double ShortNanoseconds = 20000;
  /// ... and no longer idle time after that.
  double IdleSeconds = 5e-3;

  /// May a sample be several launches, with nothing in between? It is then for
  /// launches shorter than the first figure, to last as long as the second.
  bool CanRepeat = false;
  double RepeatNanoseconds = 5000;
  double SampleNanoseconds = 20000;

  /// The clock is measured before the samples, unless that was not longer ago
  /// than this, ...
  double ClockSeconds = 0.05;
  /// ... after each so many samples and after the last. Where it is under this
  /// share of the median of the ones before, the samples since then are
  /// dropped.
  unsigned ClockInterval = 10;
  double ClockShare = 0.95;
  /// The first pause after that; each one is twice as long as the one before.
  double PauseSeconds = 0.05;
  /// After so many pauses the clock is what it is.
  unsigned MaxPauses = 3;
  /// When not, the clock is not measured after the last samples if it was
  /// right as recently as ClockSeconds ago.
  bool ClockAtEnd = true;

  /// For a search: seven samples, or three of a launch that takes long.
  static MeasureRules quick();
  /// For a search on a GPU, where a launch that takes long hardly varies (a
  /// standard deviation of 0.006 % at 0.8 ms): the launch that was verified is
  /// the first sample, and may be the only one.
  static MeasureRules quickOnGPU();
};

enum class StopReason { Precision, Samples, Time, Fixed, Slower };
StringRef getStopReasonName(StopReason R);
std::optional<StopReason> parseStopReason(StringRef Name);

/// The samples of one thing that was measured, and how they came about.
struct Measurement {
  std::vector<double> Nanoseconds; ///< Of one launch; each sample.
  unsigned Repeat = 1;             ///< Launches of a sample.
  unsigned Warmup = 0;             ///< Launches before and between samples.
  unsigned Dropped = 0;            ///< Samples, for the clock's sake.
  bool Throttled = false; ///< The clock stayed low, the samples were kept.
  StopReason Stop = StopReason::Fixed;
  std::vector<double> Clocks; ///< MHz, all that were measured.

  std::string Timer; ///< What measured: "events", "cupti", "host".
  CacheMode Cache = CacheMode::Warm;
  bool Restored = true; ///< Memory was restored before each sample.

  /// Samples beyond the third quartile by more than three interquartile ranges,
  /// and by more than what is measured precisely. They count as all others do.
  unsigned countOutliers() const;
  /// So many outliers that there are two kinds of launches: over 5 %.
  bool isBimodal() const;
};

/// Also what is computed of the samples, but not the samples.
json::Value toJSON(const Measurement &M);
/// All but the samples.
bool fromJSON(const json::Value &V, Measurement &M, json::Path P);

/// Something that can be launched.
class SampleSource {
public:
  virtual ~SampleSource() = default;
  /// Makes memory and caches what they should be, launches \p Repeat times back
  /// to back and waits. \returns the nanoseconds of one launch, or nothing when
  /// it went wrong, which ends the measurement.
  virtual Expected<std::optional<double>> sample(unsigned Repeat) = 0;
  /// Takes \p Count samples, with as little in between as it can, and appends
  /// them to \p Nanoseconds. False when a launch went wrong.
  virtual Expected<bool> sampleMany(unsigned Count, unsigned Repeat,
                                    std::vector<double> &Nanoseconds);
};

/// The machine as the rules need it.
class SampleMachine {
public:
  virtual ~SampleMachine() = default;
  /// Seconds, from any beginning.
  virtual double now();
  virtual void sleep(double Seconds);
  /// MHz; 0 where it cannot be measured.
  virtual Expected<double> measureClock() { return 0.0; }
};

/// Measures one thing after the other on a machine, and remembers whether the
/// machine is warm.
class Measurer {
public:
  explicit Measurer(SampleMachine &Machine) : Machine(Machine) {}

  /// Measures \p Sources side by side: a round takes a sample of each, and each
  /// round has the order of the one before reversed (ABBA), so that sample I of
  /// one source and of another are a pair.
  /// \returns as many measurements as there are sources, or none at all when a
  /// launch went wrong.
  Expected<std::vector<Measurement>> measure(ArrayRef<SampleSource *> Sources,
                                             const MeasureRules &Rules);

private:
  SampleMachine &Machine;
  /// When the last sample ended.
  double LastBusy = -std::numeric_limits<double>::infinity();
  /// The last clock that was right, and when it was measured.
  double LastClock = 0;
  double LastClockTime = -std::numeric_limits<double>::infinity();

  friend class MeasureRun;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_MEASURE_H
