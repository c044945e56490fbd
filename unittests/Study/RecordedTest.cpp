//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Record/Database.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(RecordedTest, EveryFactIsThereWithItsType) {
  RecordedFacts F =
      makeRecordedFacts({10, 2, 3}, {32, 4, 5}, 48, true, "3", "sm_90", "k");
  EXPECT_EQ(F.size(), getRecordedNames().size());
  for (StringRef Name : getRecordedNames()) {
    ASSERT_TRUE(F.count(Name)) << Name.str();
    EXPECT_EQ(getType(F[Name]), getRecordedType(Name)) << Name.str();
  }
  EXPECT_EQ(getRecordedType("block.w"), std::nullopt);
}

TEST(RecordedTest, FactsAreThoseOfTheLaunch) {
  RecordedFacts F =
      makeRecordedFacts({10, 2, 3}, {32, 4, 5}, 48, true, "3", "sm_90", "k");
  EXPECT_EQ(F["block.y"], Value(int64_t(4)));
  EXPECT_EQ(F["grid.z"], Value(int64_t(3)));
  EXPECT_EQ(F["block"], Value(int64_t(640)));
  EXPECT_EQ(F["grid"], Value(int64_t(60)));
  EXPECT_EQ(F["threads"], Value(int64_t(38400)));
  EXPECT_EQ(F["threads.x"], Value(int64_t(320)));
  EXPECT_EQ(F["threads.y"], Value(int64_t(8)));
  EXPECT_EQ(F["threads.z"], Value(int64_t(15)));
  EXPECT_EQ(F["shared_mem"], Value(int64_t(48)));
  EXPECT_EQ(F["cooperative"], Value(true));
  EXPECT_EQ(F["opt_level"], Value("3"));
  EXPECT_EQ(F["arch"], Value("sm_90"));
  EXPECT_EQ(F["kernel"], Value("k"));
}

TEST(RecordedTest, FactsOfARecordingAreThoseOfItsLaunch) {
  RecordedKernel K;
  K.KernelName = "k";
  K.Arch = "sm_90";
  K.OptLevel = "3";
  RecordedInstance I;
  I.Grid = {10, 2, 3};
  I.Block = {32, 4, 5};
  I.SharedMem = 48;
  I.Cooperative = true;
  I.Cluster = {2, 2, 1};
  RecordedFacts F = makeRecordedFacts(K, I);
  RecordedFacts Same =
      makeRecordedFacts(I.Grid, I.Block, 48, true, "3", "sm_90", "k");
  Same["cluster"] = int64_t(4);
  for (StringRef Name : getRecordedNames())
    EXPECT_EQ(F[Name], Same[Name]) << Name.str();
}

TEST(RecordedTest, ManyThreadsDoNotOverflow) {
  RecordedFacts F = makeRecordedFacts({2147483647, 1, 1}, {1024, 1, 1}, 0,
                                      false, "2", "sm_90", "k");
  EXPECT_EQ(F["threads"], Value(int64_t(2147483647) * 1024));
}

} // namespace
