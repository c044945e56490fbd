//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Bound.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// A device that moves 2 bytes a nanosecond from memory and 10 from its cache
/// of 1000 bytes.
LaunchBound makeBound(uint64_t Read, uint64_t Written) {
  LaunchBound B;
  B.Work.ReadBytes = Read;
  B.Work.WrittenBytes = Written;
  B.Peaks.CacheBytes = 1000;
  B.Peaks.DRAM = 2;
  B.Peaks.Cache = 10;
  B.Peaks.LaunchNanoseconds = 50;
  return B;
}

TEST(BoundTest, ColdCachesHoldOnlyWhatIsWritten) {
  EXPECT_EQ(makeBound(4000, 0).nanoseconds(CacheMode::Cold), 2000);
  EXPECT_EQ(makeBound(4000, 1000).nanoseconds(CacheMode::Cold), 2000);
  EXPECT_EQ(makeBound(4000, 3000).nanoseconds(CacheMode::Cold), 3000);
}

TEST(BoundTest, WarmCachesHoldAllThatFits) {
  EXPECT_EQ(makeBound(1000, 1000).nanoseconds(CacheMode::Warm), 100);
  EXPECT_EQ(makeBound(4000, 0).nanoseconds(CacheMode::Warm), 1500);
  EXPECT_EQ(makeBound(4000, 0).nanoseconds(CacheMode::Cold), 2000);
}

TEST(BoundTest, PeaksAreUncertain) {
  LaunchBound B = makeBound(4000, 0);
  EXPECT_FALSE(B.isUndercut(CacheMode::Cold, 2000));
  EXPECT_FALSE(B.isUndercut(CacheMode::Cold, 1950));
  EXPECT_TRUE(B.isUndercut(CacheMode::Cold, 1800));
  EXPECT_FALSE(B.isUndercut(CacheMode::Warm, 1800));
}

TEST(BoundTest, TheBusiestResourceLimits) {
  LaunchBound B = makeBound(4000, 0);
  EXPECT_EQ(B.limiter(CacheMode::Cold, 2500), "DRAM");
  EXPECT_EQ(B.limiter(CacheMode::Cold, 9000), "latency");
  EXPECT_EQ(makeBound(40, 40).limiter(CacheMode::Cold, 70), "launch");
  EXPECT_EQ(makeBound(1000, 1000).limiter(CacheMode::Warm, 150), "L2");
  B.Work.Computed.emplace();
  (*B.Work.Computed)[static_cast<size_t>(WorkKind::FP64)] = 9000;
  EXPECT_EQ(B.limiter(CacheMode::Cold, 9000), "latency"); // No known peak.
  B.Peaks.Work[static_cast<size_t>(WorkKind::FP64)] = 1;
  EXPECT_EQ(B.limiter(CacheMode::Cold, 9000), "FP64");
  // Other code may compute less.
  EXPECT_EQ(B.nanoseconds(CacheMode::Cold), 2000);
}

TEST(BoundTest, JSON) {
  LaunchBound B = makeBound(64, 32);
  B.Work.Computed.emplace();
  (*B.Work.Computed)[static_cast<size_t>(WorkKind::Tensor)] = 7;
  B.Peaks.Work[static_cast<size_t>(WorkKind::Tensor)] = 0.5;
  B.Peaks.Device = "a device";
  LaunchBound Read;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(toJSON(B), Read, Root));
  EXPECT_EQ(toJSON(Read), toJSON(B));
  EXPECT_EQ(Read.Peaks.Work, B.Peaks.Work);
  EXPECT_EQ(Read.Work.Computed, B.Work.Computed);
}
} // namespace
