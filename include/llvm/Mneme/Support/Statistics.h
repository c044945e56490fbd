//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Order statistics of repeated measurements. Results are deterministic: the
/// bootstrap uses a fixed seed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_STATISTICS_H
#define LLVM_MNEME_SUPPORT_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
namespace mneme {

/// Summary of samples, in their unit. All zero without samples.
struct SampleSummary {
  size_t Count = 0;
  double Min = 0, Median = 0, Max = 0;
  double Q1 = 0, Q3 = 0; ///< Quartiles.
  /// 95 % confidence interval of the median by order statistics with exact
  /// binomial ranks; [Min, Max] for fewer than 6 samples.
  double Low = 0, High = 0;
  /// Median absolute deviation times 1.4826.
  double Spread = 0;
};

SampleSummary summarize(ArrayRef<double> Samples);

/// Returns the quantile \p Q (0 to 1) of \p Sorted, interpolated between
/// neighbours.
double getQuantile(ArrayRef<double> Sorted, double Q);

/// The smallest change of a time that matters, as a fraction of it, unless the
/// user chooses another. Processes differ by about as much: their memory lies
/// elsewhere.
constexpr double DefaultMinEffect = 0.005;

/// An estimate of the ratio of two quantities.
struct RatioEstimate {
  double Value = 1;
  double Low = 1, High = 1; ///< 95 % confidence interval, by bootstrap.

  /// Returns true if the interval excludes 1.
  bool isSignificant() const { return Low > 1 || High < 1; }
};

/// Estimates Median(\p A) / median(\p B) for independent samples. Both must be
/// nonempty and positive.
RatioEstimate estimateRatio(ArrayRef<double> A, ArrayRef<double> B);

/// Estimates the ratio from pairs, with A[I] measured next to B[I]: the median
/// of log(A[I] / B[I]), in which a common drift cancels.
RatioEstimate estimatePairedRatio(ArrayRef<double> A, ArrayRef<double> B);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_STATISTICS_H
