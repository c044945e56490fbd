//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Runtime/Scramble.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// Number of bootstrap resamples.
static constexpr unsigned NumResamples = 2000;

static double medianOfSorted(ArrayRef<double> S) {
  size_t N = S.size();
  return N % 2 ? S[N / 2] : (S[N / 2 - 1] + S[N / 2]) / 2;
}

double mneme::getQuantile(ArrayRef<double> Sorted, double Q) {
  assert(!Sorted.empty() && Q >= 0 && Q <= 1);
  double Position = Q * (Sorted.size() - 1);
  auto Below = static_cast<size_t>(Position);
  if (Below + 1 == Sorted.size())
    return Sorted.back();
  double Part = Position - Below;
  return Sorted[Below] + Part * (Sorted[Below + 1] - Sorted[Below]);
}

/// \returns the largest R such that the interval from the R-th smallest to the
/// R-th largest of \p N samples, counted from 0, contains the distribution's
/// median with a probability of at least 95 %. The interval misses the median
/// if at most R samples are on one side of it; each sample is on either side
/// with a probability of one half. Returns 0 if \p N is too small for 95 %.
static size_t getMedianRank(size_t N) {
  double LogHalves = N * std::log(0.5), Tail = 0;
  for (size_t R = 0; R <= N / 2; ++R) {
    Tail += std::exp(std::lgamma(N + 1.0) - std::lgamma(R + 1.0) -
                     std::lgamma(N - R + 1.0) + LogHalves);
    if (Tail > 0.025)
      return R == 0 ? 0 : R - 1;
  }
  return N / 2;
}

SampleSummary mneme::summarize(ArrayRef<double> Samples) {
  SampleSummary R;
  if (Samples.empty())
    return R;
  SmallVector<double> S(Samples);
  llvm::sort(S);
  size_t N = S.size();
  R.Count = N;
  R.Min = S.front();
  R.Max = S.back();
  R.Median = medianOfSorted(S);
  R.Q1 = getQuantile(S, 0.25);
  R.Q3 = getQuantile(S, 0.75);
  size_t Rank = getMedianRank(N);
  R.Low = S[Rank];
  R.High = S[N - 1 - Rank];
  SmallVector<double> Deviations;
  for (double V : S)
    Deviations.push_back(std::fabs(V - R.Median));
  llvm::sort(Deviations);
  R.Spread = 1.4826 * medianOfSorted(Deviations);
  return R;
}

//===----------------------------------------------------------------------===//
// Bootstrap
//===----------------------------------------------------------------------===//

namespace {
/// SplitMix64: the same numbers with every standard library.
class Random {
public:
  /// \returns a number less than \p Bound, which must be far below 2^32.
  size_t below(size_t Bound) { return ((next() >> 32) * Bound) >> 32; }

private:
  uint64_t State = 0x6d6e656d65; // "mneme"

  uint64_t next() { return scramble(State += 0x9e3779b97f4a7c15); }
};
} // namespace

static double getMedian(MutableArrayRef<double> S) {
  size_t Middle = S.size() / 2;
  std::nth_element(S.begin(), S.begin() + Middle, S.end());
  if (S.size() % 2)
    return S[Middle];
  return (*std::max_element(S.begin(), S.begin() + Middle) + S[Middle]) / 2;
}

static double getResampledMedian(ArrayRef<double> Samples, Random &Numbers,
                                 SmallVectorImpl<double> &Scratch) {
  Scratch.resize(Samples.size());
  for (double &V : Scratch)
    V = Samples[Numbers.below(Samples.size())];
  return getMedian(Scratch);
}

/// Makes an estimate from \p Value and its \p Resampled values, all logarithms.
static RatioEstimate makeEstimate(double Value,
                                  MutableArrayRef<double> Resampled) {
  llvm::sort(Resampled);
  return {std::exp(Value), std::exp(getQuantile(Resampled, 0.025)),
          std::exp(getQuantile(Resampled, 0.975))};
}

RatioEstimate mneme::estimateRatio(ArrayRef<double> A, ArrayRef<double> B) {
  assert(!A.empty() && !B.empty() && "no samples");
  double Ratio = summarize(A).Median / summarize(B).Median;
  if (std::min(A.size(), B.size()) < MinIntervalSamples)
    return RatioEstimate::withoutInterval(Ratio);
  Random Numbers;
  SmallVector<double> Scratch, Logs;
  for (unsigned I = 0; I != NumResamples; ++I) {
    double Above = getResampledMedian(A, Numbers, Scratch);
    Logs.push_back(
        std::log(Above / getResampledMedian(B, Numbers, Scratch)));
  }
  return makeEstimate(std::log(Ratio), Logs);
}

RatioEstimate mneme::estimatePairedRatio(ArrayRef<double> A,
                                         ArrayRef<double> B) {
  assert(!A.empty() && A.size() == B.size() && "no pairs");
  SmallVector<double> Pairs, Scratch, Logs;
  for (auto [X, Y] : zip_equal(A, B))
    Pairs.push_back(std::log(X / Y));
  double Log = summarize(Pairs).Median;
  if (Pairs.size() < MinIntervalSamples)
    return RatioEstimate::withoutInterval(std::exp(Log));
  Random Numbers;
  for (unsigned I = 0; I != NumResamples; ++I)
    Logs.push_back(getResampledMedian(Pairs, Numbers, Scratch));
  return makeEstimate(Log, Logs);
}

/// The deviations of the logarithms add up in quadrature.
RatioEstimate mneme::combineRatios(ArrayRef<RatioEstimate> Ratios,
                                   ArrayRef<double> Weights) {
  double Log = 0, Below = 0, Above = 0;
  bool HasInterval = true;
  for (auto [R, W] : zip_equal(Ratios, Weights)) {
    HasInterval &= R.hasInterval();
    Log += W * std::log(R.Value);
    Below = std::hypot(Below, W * std::log(R.Value / R.Low));
    Above = std::hypot(Above, W * std::log(R.High / R.Value));
  }
  if (!HasInterval)
    return RatioEstimate::withoutInterval(std::exp(Log));
  return {std::exp(Log), std::exp(Log - Below), std::exp(Log + Above)};
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

json::Array mneme::makeInterval(const RatioEstimate &R) {
  if (!R.hasInterval())
    return json::Array{nullptr, nullptr};
  return json::Array{R.Low, R.High};
}

json::Value mneme::toJSON(const RatioEstimate &R) {
  json::Array Interval = makeInterval(R);
  return json::Object{
      {"value", R.Value}, {"low", Interval[0]}, {"high", Interval[1]}};
}

json::Array mneme::toArray(const RatioEstimate &R) {
  json::Array Interval = makeInterval(R);
  return json::Array{R.Value, Interval[0], Interval[1]};
}

json::Value mneme::toArray(const std::optional<RatioEstimate> &R) {
  return R ? json::Value(toArray(*R)) : json::Value(nullptr);
}

bool mneme::readInterval(const json::Array &Interval, RatioEstimate &R) {
  if (Interval.size() != 2)
    return false;
  if (Interval[0].kind() == json::Value::Null &&
      Interval[1].kind() == json::Value::Null) {
    R = RatioEstimate::withoutInterval(R.Value);
    return true;
  }
  std::optional<double> Low = Interval[0].getAsNumber(),
                        High = Interval[1].getAsNumber();
  if (!Low || !High)
    return false;
  R.Low = *Low;
  R.High = *High;
  return true;
}

std::string mneme::describeInterval(const RatioEstimate &R, unsigned Digits) {
  std::string Text;
  raw_string_ostream OS(Text);
  if (R.hasInterval())
    OS << format("%.*f to %.*f", Digits, R.Low, Digits, R.High);
  else
    OS << "no interval: fewer than " << MinIntervalSamples << " pairs";
  return Text;
}
