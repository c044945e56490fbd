//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Launch/Profile.h"
#include "LaunchMessages.h"
#include "llvm/Mneme/Runtime/TimeBuckets.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireWriter;

namespace {

TEST(TimeBuckets, MiddlesAreWithinOnePercent) {
  uint32_t Last = 0;
  for (uint64_t V = 0; V < uint64_t(1) << 62; V += V / 100 + 1) {
    uint32_t Bucket = ::mneme::timeBucketOf(V);
    EXPECT_GE(Bucket, Last);
    Last = Bucket;
    EXPECT_NEAR(::mneme::middleOfTimeBucket(Bucket), double(V), 0.01 * V);
  }
  EXPECT_EQ(::mneme::timeBucketOf(UINT64_MAX), ::mneme::NumTimeBuckets - 1);
}

/// A message with one row, of 2 launches of 10 ns and 1 of 30 ns.
std::string message(StringRef Symbol, uint32_t Grid, uint32_t Bucket = 10,
                    uint64_t Total = 50) {
  WireWriter W;
  W.str("sm_90");
  W.u32(1);
  W.str(Symbol.str());
  for (uint64_t Number : {Grid, 1u, 1u, 32u, 1u, 1u, 16u})
    W.u64(Number);
  W.u32(40);
  W.u32(1024);
  W.u32(0);
  W.u64(Total);
  W.u32(2);
  W.u32(Bucket);
  W.u64(2);
  W.u32(30);
  W.u64(1);
  W.u64(3);
  W.u64(100);
  W.u64(7);
  return W.body();
}

TEST(Profile, ProcessesAreAddedUp) {
  Profile P;
  for (auto [Symbol, Grid] :
       {std::pair("a", 1u), {"b", 1u}, {"b", 1u}, {"b", 2u}}) {
    Expected<Profile> One = decodeProfile(message(Symbol, Grid));
    ASSERT_THAT_EXPECTED(One, Succeeded());
    P.add(*One);
  }
  P.finish();
  EXPECT_EQ(P.Arch, "sm_90");
  EXPECT_EQ(P.nanoseconds(), 200u);
  EXPECT_EQ(P.Copies, 12u);
  EXPECT_EQ(P.Lost, 28u);
  ASSERT_EQ(P.Kernels.size(), 2u);
  const ProfiledKernel &B = P.Kernels.front();
  EXPECT_EQ(B.Symbol, "b");
  EXPECT_EQ(B.launches(), 9u);
  ASSERT_EQ(B.Shapes.size(), 2u);
  const ProfiledLaunches &L = B.Shapes.begin()->second;
  EXPECT_EQ(L.Launches, 6u);
  EXPECT_EQ(L.Registers, 40u);
  EXPECT_EQ(L.Quantiles[0], 10);
  EXPECT_EQ(L.Quantiles[2], 10);
  EXPECT_EQ(L.Quantiles[4], 30);
}

TEST(Profile, CoverTakesTheMostExpensive) {
  Profile P;
  for (auto [Symbol, Grid, Total] : {std::tuple("a", 1u, 10u),
                                     {"b", 1u, 20u},
                                     {"b", 2u, 60u},
                                     {"b", 3u, 10u},
                                     {"other", 1u, 1000u}}) {
    Expected<Profile> One = decodeProfile(message(Symbol, Grid, 10, Total));
    ASSERT_THAT_EXPECTED(One, Succeeded());
    P.add(*One);
  }
  P.finish();
  auto Selects = [](StringRef Symbol) { return Symbol != "other"; };
  EXPECT_EQ(P.cover(0.9, 2, Selects), "2 1 1 32 1 1 16 b\n1 1 1 32 1 1 16 b\n");
  EXPECT_EQ(P.cover(0.91, 1, Selects),
            "2 1 1 32 1 1 16 b\n1 1 1 32 1 1 16 a\n");
  EXPECT_EQ(P.cover(1, 1, [](StringRef) { return false; }), "");
}

TEST(Profile, LaunchesStandForAllOfTheirKernel) {
  Profile P;
  ProfiledKernel K{"k", {}};
  auto Shape = [](uint32_t Grid) {
    return ProfiledShape{{Grid, 1, 1}, {32, 1, 1}, 0};
  };
  K.Shapes[Shape(1)].Nanoseconds = 600;
  K.Shapes[Shape(2)].Nanoseconds = 300;
  K.Shapes[Shape(3)].Nanoseconds = 100; // Not recorded.
  P.Kernels.push_back(K);
  RecordedKernel R;
  R.KernelName = "k";
  // Two with the first shape, of which one stands for twice as many launches.
  for (auto [Id, Grid, Occurrences] :
       {std::tuple("a", 1, 1), {"b", 1, 2}, {"c", 2, 7}}) {
    R.Instances.emplace_back();
    R.Instances.back().DynamicHash = Id;
    R.Instances.back().Grid = {uint32_t(Grid), 1, 1};
    R.Instances.back().Block = {32, 1, 1};
    R.Instances.back().Occurrences = Occurrences;
  }
  StringMap<double> Times = P.timesOf(R);
  EXPECT_NEAR(Times["a"], 200 * 10 / 9.0, 1e-6);
  EXPECT_NEAR(Times["b"], 400 * 10 / 9.0, 1e-6);
  EXPECT_NEAR(Times["c"], 300 * 10 / 9.0, 1e-6);
  R.KernelName = "other";
  EXPECT_TRUE(P.timesOf(R).empty());
}

TEST(Profile, MalformedMessagesAreRefused) {
  std::string Good = message("a", 1);
  for (size_t Size = 0; Size != Good.size(); ++Size)
    EXPECT_THAT_EXPECTED(decodeProfile(StringRef(Good).take_front(Size)),
                         Failed());
  EXPECT_THAT_EXPECTED(decodeProfile(Good + "x"), Failed());
  EXPECT_THAT_EXPECTED(decodeProfile(message("a", 1, ::mneme::NumTimeBuckets)),
                       Failed());
}

} // namespace
