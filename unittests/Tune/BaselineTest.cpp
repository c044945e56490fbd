//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Baseline.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

namespace {

BaselineSample sample(double When, double Nanoseconds, double Width = 0) {
  return {0, When, Nanoseconds, Nanoseconds - Width / 2,
          Nanoseconds + Width / 2, ""};
}

TEST(Baseline, InterpolatesBetweenMeasurements) {
  BaselineTrack T(1);
  T.add(sample(10, 100));
  EXPECT_EQ(T.at(0, 5), 100);
  EXPECT_EQ(T.at(0, 15), 100);
  T.add(sample(20, 200));
  EXPECT_EQ(T.at(0, 10), 100);
  EXPECT_EQ(T.at(0, 15), 150);
  EXPECT_EQ(T.at(0, 99), 200);
  EXPECT_EQ(T.first(0).Nanoseconds, 100);
}

TEST(Baseline, OneBadMeasurementChangesNothing) {
  BaselineTrack T(1);
  for (double When : {10, 20, 30, 40, 50})
    T.add(sample(When, When == 30 ? 900 : 100));
  for (double When : {5, 25, 30, 35, 60})
    EXPECT_EQ(T.at(0, When), 100) << When;
}

TEST(Baseline, FollowsADrift) {
  BaselineTrack T(1);
  for (int I = 0; I != 10; ++I)
    T.add(sample(I, 100 + I));
  EXPECT_DOUBLE_EQ(T.at(0, 4.5), 104.5);
}

TEST(Baseline, TakesSamplesInAnyOrder) {
  BaselineTrack T(2);
  T.add(sample(30, 300));
  T.add(sample(10, 100));
  EXPECT_EQ(T.at(0, 20), 200);
  EXPECT_EQ(T.first(0).Nanoseconds, 100);
  EXPECT_EQ(T.count(1), 0u);
}

TEST(Baseline, KnowsHowMuchItVaries) {
  BaselineTrack Quiet(1), Wide(1), Noisy(1);
  for (int I = 0; I != 9; ++I) {
    Quiet.add(sample(I, 100));
    Wide.add(sample(I, 100, 2 * 1.96));
    Noisy.add(sample(I, I % 2 ? 105 : 100));
  }
  EXPECT_EQ(Quiet.sigma(0), 0.002) << "nothing is more precise";
  EXPECT_NEAR(Wide.sigma(0), 0.01, 1e-9);
  EXPECT_NEAR(Noisy.sigma(0), 1.4826 * std::log(1.05) / std::sqrt(2), 1e-9);
}

TEST(Baseline, DoubtsWhatIsWideOrFarAway) {
  BaselineTrack T(1);
  EXPECT_FALSE(T.isDoubtful(sample(0, 100, 9)));
  EXPECT_TRUE(T.isDoubtful(sample(0, 100, 11)));
  for (int I = 0; I != 9; ++I)
    T.add(sample(I, I < 4 ? 200 : 100));
  EXPECT_FALSE(T.isDoubtful(sample(9, 109)));
  EXPECT_TRUE(T.isDoubtful(sample(9, 112)));
  EXPECT_TRUE(T.isDoubtful(sample(9, 89)));
}

TEST(Baseline, EachDeviceHasItsOwn) {
  BaselineTracks T(2);
  EXPECT_EQ(T.reference(0), 0);
  EXPECT_EQ(T.longest(0), 0);
  EXPECT_EQ(T.on("a").count(0), 0u);
  auto Add = [&](StringRef Device, double When, double Nanoseconds) {
    BaselineSample S = sample(When, Nanoseconds);
    S.Device = Device.str();
    T.add(S);
  };
  Add("fast", 20, 100);
  Add("slow", 10, 1000);
  Add("slow", 30, 2000);
  EXPECT_EQ(T.on("fast").at(0, 30), 100);
  EXPECT_EQ(T.on("slow").at(0, 20), 1500);
  EXPECT_EQ(T.on("slow").count(0), 2u);
  EXPECT_EQ(T.on("other").count(0), 0u);
  EXPECT_EQ(T.reference(0), 1000) << "the first of all";
  EXPECT_EQ(T.longest(0), 1000);
  EXPECT_EQ(T.longest(1), 0);
  T.forget("slow");
  EXPECT_EQ(T.on("slow").count(0), 0u);
  EXPECT_EQ(T.longest(0), 100);
  EXPECT_EQ(T.reference(0), 1000) << "values are scaled to it";
}

TEST(Baseline, JudgesCanaries) {
  BaselineTrack T(1);
  for (int I = 0; I != 9; ++I)
    T.add(sample(I, 100 + I % 2, 2));
  double Sigma = T.sigma(0);
  std::vector<double> Fine(7, 100 * (1 + 3 * Sigma));
  std::vector<double> Off(7, 100 * (1 + 6 * Sigma));
  EXPECT_FALSE(isCanaryOff(T, 0, 4, Fine));
  EXPECT_TRUE(isCanaryOff(T, 0, 4, Off));
  std::vector<double> Faster(7, 100 * (1 - 6 * Sigma));
  EXPECT_TRUE(isCanaryOff(T, 0, 4, Faster)) << "too fast is wrong too";
}

} // namespace
