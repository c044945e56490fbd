//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the baseline took at any time of a study: it is measured again and
/// again on each device, and interpolated between.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_BASELINE_H
#define LLVM_MNEME_TUNE_BASELINE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Tune/Outcome.h"

namespace llvm {
namespace mneme {

/// On one device.
class BaselineTrack {
public:
  explicit BaselineTrack(unsigned NumInstances) : Series(NumInstances) {}

  void add(const BaselineSample &S);
  size_t count(unsigned Instance) const { return Series[Instance].size(); }

  /// Nanoseconds at a time, between the neighbours, each of which is the median
  /// of itself and its own neighbours, so that one bad measurement changes
  /// nothing. There is at least one.
  double at(unsigned Instance, double When) const;
  const BaselineSample &first(unsigned Instance) const {
    return Series[Instance].front();
  }
  /// Standard deviation of the logarithm of one measurement of it: from those
  /// that follow each other, or from the intervals of the medians, whichever
  /// is larger.
  double sigma(unsigned Instance) const;
  /// Should it be measured again before it counts: is its interval wide, or is
  /// it far from the last ones?
  bool isDoubtful(const BaselineSample &S) const;

private:
  std::vector<std::vector<BaselineSample>> Series; ///< In order of time.
  double smoothed(unsigned Instance, size_t I) const;
};

/// A track for each device: ratios are taken within one.
class BaselineTracks {
public:
  explicit BaselineTracks(unsigned NumInstances)
      : None(NumInstances), First(NumInstances) {}

  void add(const BaselineSample &S);
  /// It is gone; should one of its name come, that may be another one, or have
  /// other work besides.
  void forget(StringRef Device) { ByDevice.erase(Device); }
  /// An empty one where there was no measurement.
  const BaselineTrack &on(StringRef Device) const;
  /// The first one of all devices, to which values of a study are scaled;
  /// nanoseconds, 0: there is none.
  double reference(unsigned Instance) const {
    return First[Instance] ? First[Instance]->Nanoseconds : 0;
  }
  /// What it took at first where that was longest; nanoseconds, 0: there is
  /// none.
  double longest(unsigned Instance) const;

private:
  StringMap<BaselineTrack> ByDevice; ///< Evaluation::Device.
  const BaselineTrack None;
  std::vector<std::optional<BaselineSample>> First; ///< Of each instance.
};

/// Makes a sample of a measurement.
BaselineSample makeBaselineSample(unsigned Instance, double When,
                                  ArrayRef<double> Nanoseconds,
                                  StringRef Device = "");

/// Is a canary so far from the baseline at that time that it is no accident
/// (three standard deviations)?
bool isCanaryOff(const BaselineTrack &Track, unsigned Instance, double When,
                 ArrayRef<double> Nanoseconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_BASELINE_H
