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
#include "llvm/Support/JSON.h"
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// The fewest samples whose range contains the median of their distribution
/// with a probability of at least 95 %: 1 - 2 * (1/2)^6. Fewer samples, or
/// pairs, carry no confidence interval.
constexpr size_t MinIntervalSamples = 6;

/// Summary of samples, in their unit. All zero without samples.
struct SampleSummary {
  size_t Count = 0;
  double Min = 0, Median = 0, Max = 0;
  double Q1 = 0, Q3 = 0; ///< Quartiles.
  /// 95 % confidence interval of the median by order statistics with exact
  /// binomial ranks; [Min, Max] for fewer than MinIntervalSamples.
  double Low = 0, High = 0;
  /// Median absolute deviation times 1.4826.
  double Spread = 0;

  bool hasInterval() const { return Count >= MinIntervalSamples; }
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
  /// 95 % confidence interval, by bootstrap; 0 to infinity if there are fewer
  /// than MinIntervalSamples.
  double Low = 1, High = 1;

  /// Returns an estimate without an interval.
  static RatioEstimate withoutInterval(double Value) {
    return {Value, 0, std::numeric_limits<double>::infinity()};
  }
  bool hasInterval() const { return std::isfinite(High); }
  /// Returns true if the interval excludes 1.
  bool isSignificant() const { return Low > 1 || High < 1; }
};

/// Returns the bounds of the interval for JSON: two numbers, or nulls if there
/// is no interval.
json::Array makeInterval(const RatioEstimate &R);
/// Returns the value and the bounds, as an object with "value", "low" and
/// "high", or as an array.
json::Value toJSON(const RatioEstimate &R);
json::Array toArray(const RatioEstimate &R);
/// Returns null without a value.
json::Value toArray(const std::optional<RatioEstimate> &R);
/// Reads what makeInterval() returns into \p R; \returns false if it is
/// something else.
bool readInterval(const json::Array &Interval, RatioEstimate &R);
/// Returns "1.002 to 1.004" with \p Digits after the point, or "no interval:
/// fewer than 6 pairs".
std::string describeInterval(const RatioEstimate &R, unsigned Digits = 3);

/// Estimates Median(\p A) / median(\p B) for independent samples. Both must be
/// nonempty and positive.
RatioEstimate estimateRatio(ArrayRef<double> A, ArrayRef<double> B);

/// Estimates the ratio from pairs, with A[I] measured next to B[I]: the median
/// of log(A[I] / B[I]), in which a common drift cancels.
RatioEstimate estimatePairedRatio(ArrayRef<double> A, ArrayRef<double> B);

/// Returns the geometric mean of independent ratios. \p Weights add up to 1.
RatioEstimate combineRatios(ArrayRef<RatioEstimate> Ratios,
                            ArrayRef<double> Weights);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_STATISTICS_H
