//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measurement rules: the number of launches, and which of them count
/// (docs/Measurement). This interface is independent of kernels and devices.
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

/// The contents of the last-level cache when a timed launch begins.
enum class CacheMode {
  Cold, ///< Nothing that the kernel uses.
  Warm, ///< Data from previous activity: the restored memory, the last launch.
};
StringRef getCacheModeName(CacheMode Mode);
CacheMode getOtherCacheMode(CacheMode Mode);

/// The rules of a measurement.
struct MeasureRules {
  /// Fixed number of samples; unset: adaptive.
  std::optional<unsigned> Samples;
  /// Fixed number of warm-up launches; unset: adaptive.
  std::optional<unsigned> Warmup;

  /// Sampling stops once the 95 % confidence interval of the median is narrower
  /// than this fraction of the median, ...
  double Precision = 0.005;
  /// ... but not before this number of samples, ...
  unsigned MinSamples = 7;
  /// ... or this number when comparing and time allows, ...
  unsigned MinPairs = 30;
  /// ... at this number of samples at the latest, ...
  unsigned MaxSamples = 200;
  /// ... and, beyond the minimum, after this time in launches.
  double MaxSeconds = 0.5;
  /// Number of samples that suffices once MaxSeconds have passed.
  unsigned MinSamplesInTime = 7;

  /// For a single source: stop once the median is significantly above this
  /// limit (95 % confidence interval, at least MinSamplesToStop samples). 0:
  /// never.
  double StopAbove = 0; ///< Nanoseconds.
  unsigned MinSamplesToStop = 3;

  /// For a single source: largest number of samples to take before the rules
  /// are checked again.
  unsigned BatchSamples = 1;
  /// Duration of a launch immediately before the measurement, which counts as
  /// the first of a warm-up by launches; 0: none.
  double LaunchedNanoseconds = 0;
  /// A preceding launch of at least this duration was made like a sample. It
  /// becomes the first sample, without a warm-up.
  double FirstSampleNanoseconds = std::numeric_limits<double>::infinity();
  /// One sample suffices for a launch of at least this duration.
  double OneSampleNanoseconds = std::numeric_limits<double>::infinity();

  /// Seed for the order within rounds; unset: as given. Every second round
  /// reverses the order of the previous one.
  std::optional<uint64_t> Seed;

  /// The warm-up takes at least this number of launches and this time, ...
  unsigned WarmupLaunches = 2;
  double WarmupSeconds = 2e-3;
  /// ... more launches if one is shorter than ShortNanoseconds, ...
  unsigned ShortWarmupLaunches = 10;
  double ShortNanoseconds = 20000;
  /// ... and is repeated after a longer idle time.
  double IdleSeconds = 5e-3;

  /// Whether a sample may consist of consecutive launches. If so, launches
  /// shorter than RepeatNanoseconds are repeated to last SampleNanoseconds.
  bool CanRepeat = false;
  double RepeatNanoseconds = 5000;
  double SampleNanoseconds = 20000;

  /// The clock is measured before the samples, unless it was measured more
  /// recently than this, ...
  double ClockSeconds = 0.05;
  /// ... after each ClockInterval samples, and after the last one. If it is
  /// below this fraction of the median of previous clocks, the samples since
  /// the last check are dropped.
  unsigned ClockInterval = 10;
  double ClockShare = 0.95;
  /// Length of the first pause after dropped samples; each further pause
  /// doubles it.
  double PauseSeconds = 0.05;
  /// After this number of pauses, the clock is accepted.
  unsigned MaxPauses = 3;
  /// If false, the clock is not measured after the last sample if it was
  /// measured within the last ClockSeconds and accepted.
  bool ClockAtEnd = true;

  /// Rules for a search: seven samples, or three of a long launch.
  static MeasureRules quick();
  /// Rules for a search on a GPU, where long launches hardly vary (standard
  /// deviation of 0.006 % at 0.8 ms): the verified launch is the first sample
  /// and may be the only one.
  static MeasureRules quickOnGPU();
};

enum class StopReason { Precision, Samples, Time, Fixed, Slower };
StringRef getStopReasonName(StopReason R);
std::optional<StopReason> parseStopReason(StringRef Name);

/// The samples of one source and how they were taken.
struct Measurement {
  std::vector<double> Nanoseconds; ///< Per launch; one element per sample.
  unsigned Repeat = 1;             ///< Launches per sample.
  unsigned Warmup = 0;             ///< Launches before and between samples.
  unsigned Dropped = 0;            ///< Samples dropped because of a low clock.
  bool Throttled = false; ///< The clock stayed low, and the samples were kept.
  StopReason Stop = StopReason::Fixed;
  std::vector<double> Clocks; ///< All measured clocks in MHz.

  std::string Timer; ///< "events", "cupti", "dispatch" or "host".
  CacheMode Cache = CacheMode::Warm;
  bool Restored = true; ///< Memory was restored before each sample.

  /// Counts samples beyond the third quartile by more than three interquartile
  /// ranges and by more than the precision of the measurement. They count as
  /// all other samples do.
  unsigned countOutliers() const;
  /// Returns true if over 5 % of the samples are outliers, which indicates two
  /// kinds of launches.
  bool isBimodal() const;
};

/// Also writes statistics of the samples, but not the samples.
json::Value toJSON(const Measurement &M);
/// Reads everything but the samples.
bool fromJSON(const json::Value &V, Measurement &M, json::Path P);

/// A launch that can be measured.
class SampleSource {
public:
  virtual ~SampleSource() = default;
  /// Prepares memory and caches, launches \p Repeat times back to back, and
  /// waits. \returns the nanoseconds per launch, or nothing if a launch failed,
  /// which ends the measurement.
  virtual Expected<std::optional<double>> sample(unsigned Repeat) = 0;
  /// Takes \p Count samples with minimal gaps and appends them to
  /// \p Nanoseconds. Returns false if a launch failed.
  virtual Expected<bool> sampleMany(unsigned Count, unsigned Repeat,
                                    std::vector<double> &Nanoseconds);
};

/// Time and clock frequency of the machine.
class SampleMachine {
public:
  virtual ~SampleMachine() = default;
  /// Returns the time in seconds since an arbitrary start.
  virtual double now();
  virtual void sleep(double Seconds);
  /// Returns the clock in MHz; 0 if it cannot be measured.
  virtual Expected<double> measureClock() { return 0.0; }
};

/// Measures sources on one machine, and tracks whether the machine is warm.
class Measurer {
public:
  explicit Measurer(SampleMachine &Machine) : Machine(Machine) {}

  /// Measures \p Sources side by side. Each round takes one sample of each
  /// source; every second round reverses the order of the previous one (ABBA).
  /// Samples I of two sources are thus a pair.
  /// \returns one measurement per source, or none if a launch failed.
  Expected<std::vector<Measurement>> measure(ArrayRef<SampleSource *> Sources,
                                             const MeasureRules &Rules);

private:
  SampleMachine &Machine;
  /// End of the last sample.
  double LastBusy = -std::numeric_limits<double>::infinity();
  /// The last accepted clock in MHz, and the time of its measurement.
  double LastClock = 0;
  double LastClockTime = -std::numeric_limits<double>::infinity();

  friend class MeasureRun;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_MEASURE_H
