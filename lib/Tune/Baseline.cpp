//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Baseline.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// Half the width of a normal distribution's 95 % interval, in standard
/// deviations.
static constexpr double Normal95 = 1.96;
/// Lower bound of the relative standard deviation of a measurement.
static constexpr double MinSigma = 0.002;
/// A sample is doubtful if its interval is wider than this fraction, or if it
/// is that far from the median of the DoubtfulWindow samples before it.
static constexpr double DoubtfulShare = 0.1;
static constexpr size_t DoubtfulWindow = 5;

BaselineSample mneme::makeBaselineSample(unsigned Instance, double When,
                                         ArrayRef<double> Nanoseconds,
                                         StringRef Device) {
  SampleSummary S = summarize(Nanoseconds);
  return {Instance, When, S.Median, S.Low, S.High, Device.str()};
}

void BaselineTrack::add(const BaselineSample &S) {
  std::vector<BaselineSample> &V = Series[S.Instance];
  V.insert(llvm::upper_bound(V, S,
                             [](const BaselineSample &A,
                                const BaselineSample &B) {
                               return A.When < B.When;
                             }),
           S);
}

static double median(SmallVector<double> V) { return summarize(V).Median; }

double BaselineTrack::smoothed(unsigned Instance, size_t I) const {
  ArrayRef<BaselineSample> V = Series[Instance];
  if (V.size() < 3)
    return V[I].Nanoseconds;
  size_t From = std::min(I == 0 ? 0 : I - 1, V.size() - 3);
  return median({V[From].Nanoseconds, V[From + 1].Nanoseconds,
                 V[From + 2].Nanoseconds});
}

double BaselineTrack::at(unsigned Instance, double When) const {
  ArrayRef<BaselineSample> V = Series[Instance];
  assert(!V.empty() && "no baseline yet");
  size_t After = llvm::partition_point(V, [&](const BaselineSample &S) {
                   return S.When <= When;
                 }) - V.begin();
  if (After == 0)
    return smoothed(Instance, 0);
  if (After == V.size())
    return smoothed(Instance, After - 1);
  double A = smoothed(Instance, After - 1), B = smoothed(Instance, After);
  double Part =
      (When - V[After - 1].When) / (V[After].When - V[After - 1].When);
  return A + Part * (B - A);
}

/// Returns the standard deviation of the logarithm of a median with this
/// interval.
static double sigmaOfMedian(double Median, double Low, double High) {
  return Median > 0 ? (High - Low) / (2 * Normal95 * Median) : 0;
}

double BaselineTrack::sigma(unsigned Instance) const {
  ArrayRef<BaselineSample> V = Series[Instance];
  SmallVector<double> Own, Steps;
  for (const BaselineSample &S : V)
    Own.push_back(sigmaOfMedian(S.Nanoseconds, S.Low, S.High));
  for (size_t I = 1; I < V.size(); ++I)
    Steps.push_back(
        std::fabs(std::log(V[I].Nanoseconds / V[I - 1].Nanoseconds)));
  // A step is the difference of two measurements.
  double Between =
      Steps.empty() ? 0 : 1.4826 * median(std::move(Steps)) / std::sqrt(2.0);
  return std::max({MinSigma, Between, median(std::move(Own))});
}

bool BaselineTrack::isDoubtful(const BaselineSample &S) const {
  if (S.High - S.Low > DoubtfulShare * S.Nanoseconds)
    return true;
  ArrayRef<BaselineSample> Last = Series[S.Instance];
  Last = Last.take_back(DoubtfulWindow);
  if (Last.empty())
    return false;
  SmallVector<double> Before;
  for (const BaselineSample &Other : Last)
    Before.push_back(Other.Nanoseconds);
  return std::fabs(std::log(S.Nanoseconds / median(std::move(Before)))) >
         DoubtfulShare;
}

void BaselineTracks::add(const BaselineSample &S) {
  ByDevice.try_emplace(S.Device, None).first->second.add(S);
  if (!First[S.Instance] || S.When < First[S.Instance]->When)
    First[S.Instance] = S;
}

const BaselineTrack &BaselineTracks::on(StringRef Device) const {
  auto It = ByDevice.find(Device);
  return It == ByDevice.end() ? None : It->second;
}

double BaselineTracks::longest(unsigned Instance) const {
  double Longest = 0;
  for (const auto &[Device, Track] : ByDevice)
    if (Track.count(Instance))
      Longest = std::max(Longest, Track.first(Instance).Nanoseconds);
  return Longest;
}

bool mneme::isCanaryOff(const BaselineTrack &Track, unsigned Instance,
                        double When, ArrayRef<double> Nanoseconds) {
  SampleSummary S = summarize(Nanoseconds);
  double Baseline = Track.sigma(Instance);
  double Canary =
      std::max(Baseline, sigmaOfMedian(S.Median, S.Low, S.High));
  double Off = std::fabs(std::log(S.Median / Track.at(Instance, When)));
  return Off > 3 * std::hypot(Baseline, Canary);
}
