//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/Counters.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace mneme;
using ::testing::HasSubstr;

namespace {

std::string reprint(StringRef Text) {
  return cantFail(CounterSet::parse(Text)).print();
}

TEST(Counters, AreMetrics) {
  for (const CounterInfo &C : getCounterInfos()) {
    const MetricInfo *M = findMetric(C.Name);
    ASSERT_TRUE(M) << C.Name.str();
    EXPECT_EQ(M->Unit, C.Unit);
    EXPECT_EQ(C.Source.empty(), C.Group == CounterGroup::Energy);
  }
}

TEST(Counters, SetsHaveTheOrderOfTheTable) {
  EXPECT_EQ(reprint(""), "");
  EXPECT_EQ(reprint("none"), "");
  EXPECT_EQ(reprint("energy, l2_bytes,dram_read_bytes,l2_bytes"),
            "dram_read_bytes,l2_bytes,energy");
  EXPECT_EQ(reprint("default").find("energy"), std::string::npos);
  EXPECT_THAT(reprint("default,energy"), HasSubstr(",special_pipe,energy"));
  EXPECT_EQ(cantFail(CounterSet::parse("all")).list().size(),
            getCounterInfos().size());
  EXPECT_EQ(reprint(reprint("all")), reprint("all"));
}

TEST(Counters, UnknownNamesAreErrors) {
  EXPECT_THAT_EXPECTED(
      CounterSet::parse("l2_byte"),
      FailedWithMessage(HasSubstr("'l2_byte'; did you mean 'l2_bytes'?")));
  EXPECT_THAT_EXPECTED(CounterSet::parse("default,"), Failed());
}

TEST(Counters, ValuesHaveDecimalPrefixes) {
  auto Format = [](StringRef Name, double V) {
    return formatCounter(*findCounter(Name), V);
  };
  EXPECT_EQ(Format("dram_read_bytes", 2.1e9), "2.1 GB");
  EXPECT_EQ(Format("dram_read_bytes", 0), "0 B");
  EXPECT_EQ(Format("dram_read_bytes", 999600), "1 MB");
  EXPECT_EQ(Format("l2_hit_rate", 33.333), "33.3 %");
  EXPECT_EQ(Format("instructions", 3.98e7), "39.8 M instructions");
  EXPECT_EQ(Format("energy", 0.1616), "0.162 J");
}

std::vector<CounterChange> compare(StringRef Name, std::vector<double> Before,
                                   std::vector<double> After) {
  CounterSamples B, A;
  B[Name] = std::move(Before);
  A[Name] = std::move(After);
  return findCounterChanges(B, A);
}

TEST(Counters, OnlyDifferencesBeyondTheNoiseAreChanges) {
  auto Changes = compare("dram_read_bytes", {2.1e9, 2.2e9, 2.0e9, 2.1e9, 2.1e9},
                         {1.05e9, 1.0e9, 1.1e9, 1.05e9, 1.05e9});
  ASSERT_EQ(Changes.size(), 1u);
  EXPECT_EQ(formatCounterChange(Changes[0]),
            "dram_read_bytes 2.1 GB -> 1.05 GB");
  // One value among those of the other side.
  EXPECT_TRUE(
      compare("l2_bytes", {10, 10, 10, 10, 10}, {20, 20, 20, 20, 9}).empty());
  // Less than 2 %.
  EXPECT_TRUE(
      compare("l2_bytes", {100, 100, 100, 100, 100}, {101, 101, 101, 101, 101})
          .empty());
  // Less than a percentage point, though half of it.
  EXPECT_TRUE(
      compare("stall_wait", {1, 1, 1, 1, 1}, {.5, .5, .5, .5, .5}).empty());
  // Too few values.
  EXPECT_TRUE(compare("l2_bytes", {1, 1, 1, 1}, {2, 2, 2, 2}).empty());
  // Of one side only.
  EXPECT_TRUE(findCounterChanges({}, {}).empty());
}

} // namespace
