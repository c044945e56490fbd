//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Statistics.h"
#include "gtest/gtest.h"
#include <random>

using namespace llvm::mneme;

namespace {

TEST(StatisticsTest, NoSamples) {
  SampleSummary S = summarize({});
  EXPECT_EQ(S.Count, 0u);
  EXPECT_EQ(S.Median, 0);
}

TEST(StatisticsTest, FewSamplesSpanTheirRange) {
  SampleSummary S = summarize({3, 1, 2});
  EXPECT_EQ(S.Median, 2);
  EXPECT_EQ(S.Low, 1);
  EXPECT_EQ(S.High, 3);
  EXPECT_DOUBLE_EQ(S.Spread, 1.4826);
}

TEST(StatisticsTest, EvenCountAveragesTheMiddle) {
  EXPECT_EQ(summarize({4, 1, 3, 2}).Median, 2.5);
}

TEST(StatisticsTest, IntervalNarrowsWithSamples) {
  std::vector<double> V;
  for (int I = 0; I < 101; ++I)
    V.push_back(I);
  SampleSummary S = summarize(V);
  EXPECT_EQ(S.Median, 50);
  // The smallest and largest 40 of 101 are outside: P(Bin(101, 1/2) <= 40) is
  // 0.023, and P(Bin(101, 1/2) <= 41) is 0.037.
  EXPECT_EQ(S.Low, 40);
  EXPECT_EQ(S.High, 60);
}

TEST(StatisticsTest, IntervalHasTheRanksOfTheTables) {
  // Samples outside on each side, by number of samples.
  const std::pair<int, int> Ranks[] = {{5, 0},  {6, 0},   {8, 0},
                                       {9, 1},  {11, 1},  {12, 2},
                                       {20, 5}, {100, 39}};
  for (auto [N, Rank] : Ranks) {
    std::vector<double> V;
    for (int I = 0; I < N; ++I)
      V.push_back(I);
    SampleSummary S = summarize(V);
    EXPECT_EQ(S.Low, Rank) << N;
    EXPECT_EQ(S.High, N - 1 - Rank) << N;
  }
}

TEST(StatisticsTest, QuartilesAreInterpolated) {
  SampleSummary S = summarize({5, 1, 2, 4, 3, 6});
  EXPECT_DOUBLE_EQ(S.Q1, 2.25);
  EXPECT_DOUBLE_EQ(S.Q3, 4.75);
  EXPECT_EQ(getQuantile({7.0}, 0.25), 7);
  EXPECT_EQ(getQuantile({1.0, 3.0}, 0), 1);
  EXPECT_EQ(getQuantile({1.0, 3.0}, 1), 3);
}

/// Numbers of a fixed sequence that look normal with mean 0, deviation 1.
class Noise {
public:
  double operator()() {
    double Sum = -6;
    for (int I = 0; I < 12; ++I)
      Sum += std::generate_canonical<double, 53>(Engine);
    return Sum;
  }
  std::vector<double> samples(size_t N, double Mean, double Deviation) {
    std::vector<double> V;
    for (size_t I = 0; I < N; ++I)
      V.push_back(Mean + Deviation * (*this)());
    return V;
  }

private:
  std::mt19937_64 Engine{1};
};

TEST(StatisticsTest, RatioOfConstantsIsExact) {
  std::vector<double> Threes(7, 3), Twos(6, 2);
  RatioEstimate R = estimateRatio(Threes, Twos);
  EXPECT_DOUBLE_EQ(R.Value, 1.5);
  EXPECT_DOUBLE_EQ(R.Low, 1.5);
  EXPECT_DOUBLE_EQ(R.High, 1.5);
  EXPECT_TRUE(R.isSignificant());
  EXPECT_FALSE(estimateRatio(Twos, Twos).isSignificant());
}

TEST(StatisticsTest, FewPairsCarryNoInterval) {
  for (size_t N = 1; N != 9; ++N) {
    std::vector<double> Threes(N, 3), Twos(N, 2);
    for (RatioEstimate R : {estimatePairedRatio(Threes, Twos),
                            estimateRatio(Threes, Twos)}) {
      EXPECT_DOUBLE_EQ(R.Value, 1.5);
      EXPECT_EQ(R.hasInterval(), N >= 6) << N;
      EXPECT_EQ(R.isSignificant(), N >= 6) << N;
      RatioEstimate Combined = combineRatios({R, {2, 2, 2}}, {0.5, 0.5});
      EXPECT_NEAR(Combined.Value, std::sqrt(3), 1e-9);
      EXPECT_EQ(Combined.hasInterval(), N >= 6) << N;
    }
  }
}

TEST(StatisticsTest, WritesAndReadsIntervals) {
  RatioEstimate None = RatioEstimate::withoutInterval(1.25);
  EXPECT_EQ(describeInterval(None), "no interval: fewer than 6 pairs");
  EXPECT_EQ(describeInterval({1.5, 1.25, 1.75}, 2), "1.25 to 1.75");
  EXPECT_EQ(llvm::json::Value(toArray(None)),
            llvm::json::Value(llvm::json::Array({1.25, nullptr, nullptr})));
  RatioEstimate Read{1.25};
  EXPECT_TRUE(readInterval(makeInterval(None), Read));
  EXPECT_FALSE(Read.hasInterval());
  EXPECT_TRUE(readInterval(llvm::json::Array{1.0, 1.5}, Read));
  EXPECT_EQ(Read.High, 1.5);
  EXPECT_FALSE(readInterval(llvm::json::Array{1.0}, Read));
  EXPECT_FALSE(readInterval(llvm::json::Array{1.0, nullptr}, Read));
}

TEST(StatisticsTest, RatioIsRepeatable) {
  Noise N;
  std::vector<double> A = N.samples(31, 100, 2), B = N.samples(20, 100, 2);
  RatioEstimate First = estimateRatio(A, B), Second = estimateRatio(A, B);
  EXPECT_EQ(First.Low, Second.Low);
  EXPECT_EQ(First.High, Second.High);
  EXPECT_LT(First.Low, First.Value);
  EXPECT_LT(First.Value, First.High);
}

TEST(StatisticsTest, IntervalsCoverTheTruthAsOftenAsTheySay) {
  // 95 % of 400 is 380; the bootstrap of a median is a little cautious.
  Noise N;
  unsigned Independent = 0, Paired = 0;
  for (int I = 0; I < 400; ++I) {
    std::vector<double> A = N.samples(30, 100, 1), B = N.samples(30, 100, 1);
    Independent += !estimateRatio(A, B).isSignificant();
    Paired += !estimatePairedRatio(A, B).isSignificant();
  }
  EXPECT_GE(Independent, 368u);
  EXPECT_GE(Paired, 368u);
  EXPECT_LT(Independent, 400u);
  EXPECT_LT(Paired, 400u);
}

TEST(StatisticsTest, PairsCancelWhatBothSee) {
  Noise N;
  std::vector<double> A, B;
  for (int I = 0; I < 40; ++I) {
    double Drift = 100 + I; // far more than the difference
    A.push_back(Drift * 1.01 + 0.1 * N());
    B.push_back(Drift + 0.1 * N());
  }
  RatioEstimate R = estimatePairedRatio(A, B);
  EXPECT_NEAR(R.Value, 1.01, 0.001);
  EXPECT_TRUE(R.isSignificant());
  EXPECT_FALSE(estimateRatio(A, B).isSignificant());
}

} // namespace
