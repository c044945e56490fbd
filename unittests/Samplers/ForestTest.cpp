//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Samplers/Forest.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

double predict(const Forest &F, ArrayRef<float> Features) {
  return F.predict(F.findLeaves(Features));
}

TEST(Forest, LearnsAnInteraction) {
  // Good: exactly one of two is large; a third one says nothing.
  std::vector<Forest::Example> Examples;
  for (int I = 0; I != 400; ++I) {
    float A = I % 20, B = I / 20, C = (I * 7) % 13;
    Examples.push_back({{A, B, C}, (A > 9) != (B > 9), 1});
  }
  std::mt19937_64 Random(1);
  Forest F(40, {false, false, false}, Examples, Random);
  EXPECT_GT(predict(F, {3, 15, 2}), 0.8);
  EXPECT_GT(predict(F, {16, 2, 9}), 0.8);
  EXPECT_LT(predict(F, {3, 2, 9}), 0.2);
  EXPECT_LT(predict(F, {16, 17, 2}), 0.2);
}

TEST(Forest, SplitsNamesOneByOne) {
  // Good: one name in the middle of seven.
  std::vector<Forest::Example> Examples;
  for (int I = 0; I != 70; ++I)
    Examples.push_back({{float(I % 7)}, I % 7 == 3, 1});
  std::mt19937_64 Random(1);
  Forest F(20, {true}, Examples, Random);
  for (int I = 0; I != 7; ++I)
    EXPECT_EQ(predict(F, {float(I)}) > 0.5, I == 3);
  // One that was never seen is none of them.
  EXPECT_LT(predict(F, {8}), 0.5);
}

TEST(Forest, FollowsWeights) {
  // The same features: the weights decide.
  std::mt19937_64 Random(1);
  for (double Weight : {0.01, 100.0}) {
    std::vector<Forest::Example> Examples;
    for (int I = 0; I != 40; ++I)
      Examples.push_back({{1}, I % 2 == 0, I % 2 == 0 ? Weight : 1});
    Forest F(20, {false}, Examples, Random);
    EXPECT_EQ(predict(F, {1}) > 0.5, Weight > 1);
  }
}

TEST(Forest, SortsManyValuesIntoBins) {
  std::vector<Forest::Example> Examples;
  for (int I = 0; I != 1000; ++I)
    Examples.push_back({{float(I) / 1000}, I >= 700, 1});
  std::mt19937_64 Random(1);
  Forest F(20, {false}, Examples, Random);
  EXPECT_LT(predict(F, {0.65f}), 0.1);
  EXPECT_GT(predict(F, {0.75f}), 0.9);
}

TEST(Forest, SimilarPointsShareLeaves) {
  std::vector<Forest::Example> Examples;
  for (int I = 0; I != 100; ++I)
    Examples.push_back({{float(I)}, I % 10 < 5, 1});
  std::mt19937_64 Random(1);
  Forest F(30, {false}, Examples, Random);
  std::vector<uint32_t> A = F.findLeaves({21});
  std::vector<uint32_t> B = F.findLeaves({22});
  std::vector<uint32_t> C = F.findLeaves({27});
  EXPECT_EQ(Forest::similarity(A, A), 1);
  EXPECT_GT(Forest::similarity(A, B), Forest::similarity(A, C));
}

TEST(Forest, FindsTheLeavesOfManyAsOfEach) {
  std::vector<Forest::Example> Examples;
  std::vector<std::vector<float>> Points;
  for (int I = 0; I != 100; ++I) {
    Points.push_back({float(I), I / 7.f, float(I % 5)});
    Examples.push_back({Points.back(), I % 10 < 5, 1});
  }
  std::mt19937_64 Random(1);
  Forest F(10, {false, false, true}, Examples, Random);
  for (auto [P, Leaves] : zip_equal(Points, F.findAllLeaves(Points)))
    EXPECT_EQ(Leaves, F.findLeaves(P));
}

TEST(Forest, SomeTreesHaveTheirOwnOpinion) {
  std::vector<Forest::Example> Examples;
  for (int I = 0; I != 100; ++I)
    Examples.push_back({{float(I)}, I % 10 < 5, 1});
  std::mt19937_64 Random(1);
  Forest F(3, {false}, Examples, Random);
  for (float X : {4, 5, 6}) {
    std::vector<uint32_t> Leaves = F.findLeaves({X});
    double Sum = 0;
    for (unsigned Tree : {0, 1, 2})
      Sum += F.predict(Leaves, {Tree});
    EXPECT_DOUBLE_EQ(Sum / 3, F.predict(Leaves));
    EXPECT_DOUBLE_EQ(F.predict(Leaves, {0, 0, 1, 1, 2, 2}), F.predict(Leaves));
  }
}

TEST(Forest, OneExampleIsEnough) {
  std::mt19937_64 Random(1);
  Forest F(3, {false}, {{{5}, true, 1}}, Random);
  EXPECT_EQ(predict(F, {7}), 1);
}

} // namespace
