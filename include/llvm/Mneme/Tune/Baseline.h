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
/// again, and interpolated between.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_BASELINE_H
#define LLVM_MNEME_TUNE_BASELINE_H

#include "llvm/Mneme/Tune/Outcome.h"

namespace llvm {
namespace mneme {

class BaselineTrack {
public:
  explicit BaselineTrack(unsigned NumInstances) : Series(NumInstances) {}

  void add(const BaselineSample &S);
  size_t count(unsigned Instance) const { return Series[Instance].size(); }

  /// Nanoseconds at a time, between the neighbours, each of which is the median
  /// of itself and its own neighbours, so that one bad measurement changes
  /// nothing. There is at least one.
  double at(unsigned Instance, double When) const;
  /// The first one, to which values of a study are scaled.
  double reference(unsigned Instance) const;
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

/// Makes a sample of a measurement.
BaselineSample makeBaselineSample(unsigned Instance, double When,
                                  ArrayRef<double> Nanoseconds);

/// Is a canary so far from the baseline at that time that it is no accident
/// (three standard deviations)?
bool isCanaryOff(const BaselineTrack &Track, unsigned Instance, double When,
                 ArrayRef<double> Nanoseconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_BASELINE_H
