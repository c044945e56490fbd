//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Order statistics of repeated measurements. The same samples always give the
/// same numbers: the bootstrap's random numbers have a fixed seed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_STATISTICS_H
#define LLVM_MNEME_SUPPORT_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
namespace mneme {

/// Summary of samples, in their unit. All zero for no samples.
struct SampleSummary {
  size_t Count = 0;
  double Min = 0, Median = 0, Max = 0;
  double Q1 = 0, Q3 = 0; ///< Quartiles.
  /// 95 % confidence interval of the median by order statistics, with the exact
  /// binomial ranks; [Min, Max] while there are too few samples for one
  /// (under 6).
  double Low = 0, High = 0;
  /// Median absolute deviation times 1.4826.
  double Spread = 0;
};

SampleSummary summarize(ArrayRef<double> Samples);

/// The value that a share \p Q (0 to 1) of \p Sorted does not exceed,
/// interpolated between neighbours.
double getQuantile(ArrayRef<double> Sorted, double Q);

/// How many times as large one quantity is as another.
struct RatioEstimate {
  double Value = 1;
  double Low = 1, High = 1; ///< 95 % confidence interval, by bootstrap.

  /// Is 1 outside of the interval?
  bool isSignificant() const { return Low > 1 || High < 1; }
};

/// Median(\p A) / median(\p B), for samples that were taken independently. All
/// samples are positive, and there are some.
RatioEstimate estimateRatio(ArrayRef<double> A, ArrayRef<double> B);

/// The same for pairs, A[I] taken beside B[I]: the median of log(A[I] / B[I]),
/// from which a drift that both see cancels.
RatioEstimate estimatePairedRatio(ArrayRef<double> A, ArrayRef<double> B);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_STATISTICS_H
