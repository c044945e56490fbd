//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/Ranks.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mneme;

static const char *const Variables[] = {
#define RANK_VARIABLE(Rank, Size, First, Manager) Rank, Size,
#include "llvm/Mneme/Runtime/RankVariables.def"
};

namespace {
/// Without the variables of whatever runs the tests.
class RanksTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char *V : Variables)
      if (*V)
        unsetenv(V);
  }
  void TearDown() override { SetUp(); }

  static bool includes(const std::string &List) {
    RankChoice Choice;
    EXPECT_EQ(Choice.parse(List), "");
    return Choice.includesThisProcess();
  }
};
} // namespace

TEST(NumberListTest, Ranges) {
  NumberList L;
  ASSERT_EQ(L.parse("0,2-3,8-"), "");
  for (uint64_t N : {0, 2, 3, 8, 9, 1000000})
    EXPECT_TRUE(L.contains(N)) << N;
  for (uint64_t N : {1, 4, 7})
    EXPECT_FALSE(L.contains(N)) << N;
  // A new list replaces the old one.
  ASSERT_EQ(L.parse("5"), "");
  EXPECT_FALSE(L.contains(0));
  EXPECT_TRUE(L.contains(5));
}

TEST(NumberListTest, Refusals) {
  NumberList L;
  EXPECT_EQ(L.parse(""), "'' is not a number or range");
  for (const char *Text :
       {"x", "-1", "-", "1,,2", "1,", "1 ", "+1", "0x1", "1-2-3", "1--2",
        "99999999999999999999", "1-99999999999999999999", "1.5"})
    EXPECT_NE(L.parse(Text).find("is not a number or range"), std::string::npos)
        << Text;
  EXPECT_EQ(L.parse("1,3-2"), "'3-2' is a backwards range");
}

TEST_F(RanksTest, NotDistributed) {
  ProcessRank R;
  EXPECT_FALSE(findRank(R));
  EXPECT_TRUE(includes(""));
  EXPECT_TRUE(includes("7"));
}

TEST_F(RanksTest, EveryVariable) {
  struct {
    const char *Name;
    uint64_t First;
  } const All[] = {
#define RANK_VARIABLE(Rank, Size, First, Manager) {Rank, First},
#include "llvm/Mneme/Runtime/RankVariables.def"
  };
  for (const auto &V : All) {
    ProcessRank R;
    setenv(V.Name, std::to_string(3 + V.First).c_str(), 1);
    ASSERT_TRUE(findRank(R)) << V.Name;
    EXPECT_STREQ(R.Variable, V.Name);
    EXPECT_EQ(R.Rank, 3u);
    EXPECT_EQ(R.Size, 0u);
    EXPECT_FALSE(includes("")) << V.Name;
    EXPECT_TRUE(includes("2-")) << V.Name;
    EXPECT_TRUE(includes("all")) << V.Name;
    setenv(V.Name, std::to_string(V.First).c_str(), 1);
    EXPECT_TRUE(includes("")) << V.Name;
    setenv(V.Name, "", 1);
    EXPECT_FALSE(findRank(R)) << V.Name;
    unsetenv(V.Name);
  }
}

TEST_F(RanksTest, MpiLauncherGoesBeforeBatchSystem) {
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_NTASKS", "1", 1);
  ProcessRank R;
  EXPECT_FALSE(findRank(R)); // One task.
  setenv("PMI_RANK", "2", 1);
  setenv("PMI_SIZE", "4", 1);
  ASSERT_TRUE(findRank(R));
  EXPECT_EQ(R.Rank, 2u);
  EXPECT_EQ(R.Size, 4u);
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  ASSERT_TRUE(findRank(R));
  EXPECT_STREQ(R.Variable, "OMPI_COMM_WORLD_RANK");
}

TEST_F(RanksTest, ValuesThatAreNoRank) {
  ProcessRank R;
  setenv("PMI_RANK", "first", 1);
  EXPECT_FALSE(findRank(R));
  // Tasks of PBS count from 1.
  setenv("PBS_TASKNUM", "0", 1);
  EXPECT_FALSE(findRank(R));
}
