//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The time of the baseline during a study. It is measured repeatedly on each
/// device and interpolated in between.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_BASELINE_H
#define LLVM_MNEME_TUNE_BASELINE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Study/Outcome.h"

namespace llvm {
namespace mneme {

/// The baseline on one device.
class BaselineTrack {
public:
  explicit BaselineTrack(unsigned NumInstances) : Series(NumInstances) {}

  void add(const BaselineSample &S);
  size_t count(unsigned Instance) const { return Series[Instance].size(); }

  /// Returns the nanoseconds at a time, interpolated between neighbouring
  /// measurements. Each is replaced by the median of itself and its neighbours,
  /// so that a single outlier has no effect. There must be at least one
  /// measurement.
  double at(unsigned Instance, double When) const;
  const BaselineSample &first(unsigned Instance) const {
    return Series[Instance].front();
  }
  /// Returns the standard deviation of the logarithm of one measurement: the
  /// larger of the estimates from successive measurements and from the
  /// intervals of the medians.
  double sigma(unsigned Instance) const;
  /// Returns true if \p S should be repeated before use: its interval is wide,
  /// or it is far from recent measurements.
  bool isDoubtful(const BaselineSample &S) const;

private:
  std::vector<std::vector<BaselineSample>> Series; ///< Sorted by time.
  double smoothed(unsigned Instance, size_t I) const;
};

/// One track per device, as only times of the same device are comparable.
class BaselineTracks {
public:
  explicit BaselineTracks(unsigned NumInstances)
      : None(NumInstances), First(NumInstances) {}

  void add(const BaselineSample &S);
  /// Drops the device; a new one with this name is unrelated or may be busy
  /// with other work.
  void forget(StringRef Device) { ByDevice.erase(Device); }
  /// Returns the track of a device; empty without measurements.
  const BaselineTrack &on(StringRef Device) const;
  /// Returns the first measurement on any device, to which values of a study
  /// are scaled. In nanoseconds; 0 if there is none.
  double reference(unsigned Instance) const {
    return First[Instance] ? First[Instance]->Nanoseconds : 0;
  }
  /// Returns the largest of the first measurements of all devices in
  /// nanoseconds; 0 if there is none.
  double longest(unsigned Instance) const;

private:
  StringMap<BaselineTrack> ByDevice; ///< Evaluation::Device.
  const BaselineTrack None;
  std::vector<std::optional<BaselineSample>> First; ///< Per instance.
};

/// Summarizes a measurement as a sample.
BaselineSample makeBaselineSample(unsigned Instance, double When,
                                  ArrayRef<double> Nanoseconds,
                                  StringRef Device = "");

/// Returns true if a canary deviates from the baseline at that time by more
/// than three standard deviations.
bool isCanaryOff(const BaselineTrack &Track, unsigned Instance, double When,
                 ArrayRef<double> Nanoseconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_BASELINE_H
