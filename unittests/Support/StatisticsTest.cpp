//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Statistics.h"
#include "gtest/gtest.h"

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
  // 50.5 -+ 1.96 * sqrt(101) / 2 = [40.65, 60.35].
  EXPECT_EQ(S.Low, 40);
  EXPECT_EQ(S.High, 61);
}

} // namespace
