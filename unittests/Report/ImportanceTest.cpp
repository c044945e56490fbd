//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/Importance.h"
#include "SampleStudy.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

double getShare(ArrayRef<ParameterImportance> Shares, StringRef Name) {
  for (const ParameterImportance &P : Shares)
    if (P.Name == Name)
      return P.Share;
  return -1;
}

TEST(ImportanceTest, FindsWhatDecides) {
  SearchSpace Space = makeSampleSpace();
  std::vector<ParameterImportance> Shares =
      computeImportance(Space, makeSampleTrials(Space, 300));
  ASSERT_EQ(Shares.size(), 8u);
  EXPECT_EQ(Shares[0].Name, "block.x"); // Up to 512 ns.
  double Sum = 0;
  for (const ParameterImportance &P : Shares) {
    EXPECT_GE(P.Share, 0);
    Sum += P.Share;
  }
  EXPECT_NEAR(Sum, 1, 1e-9);
  EXPECT_GT(getShare(Shares, "specialize"), 0.04); // 150 ns.
  // They have no effect.
  for (StringRef None : {"cpu", "cache.line", "min_blocks"})
    EXPECT_LT(getShare(Shares, None), 0.03) << None.str();
}

TEST(ImportanceTest, DependsOnTheTrialsAlone) {
  SearchSpace Space = makeSampleSpace();
  std::vector<Trial> Trials = makeSampleTrials(Space, 100);
  std::vector<ParameterImportance> A = computeImportance(Space, Trials),
                                   B = computeImportance(Space, Trials);
  ASSERT_EQ(A.size(), B.size());
  for (auto [P, Q] : zip(A, B)) {
    EXPECT_EQ(P.Name, Q.Name);
    EXPECT_EQ(P.Share, Q.Share);
  }
}

TEST(ImportanceTest, HeedsTheDirection) {
  SearchSpace Space = makeSampleSpace(true);
  std::vector<Trial> Trials = makeSampleTrials(Space, 200);
  // The registers of the sample depend on the number of a trial alone.
  EXPECT_TRUE(computeImportance(Space, Trials, 1).empty());
  EXPECT_FALSE(computeImportance(Space, Trials, 0).empty());
}

TEST(ImportanceTest, SaysNothingWithoutReason) {
  SearchSpace Space = makeSampleSpace();
  std::vector<Trial> Trials = makeSampleTrials(Space, 20);
  EXPECT_TRUE(computeImportance(Space, Trials).empty()); // Some have failed.
  EXPECT_TRUE(computeImportance(Space, {}).empty());
  Trials = makeSampleTrials(Space, 100);
  for (Trial &T : Trials)
    if (!T.Values.empty())
      T.Values[0] = 5;
  EXPECT_TRUE(computeImportance(Space, Trials).empty());
  RandomEngine Random(3);
  for (Trial &T : Trials)
    if (!T.Values.empty())
      T.Values[0] = Random() % 1000;
  EXPECT_TRUE(computeImportance(Space, Trials).empty());
}

} // namespace
