//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Occupancy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;

static Occupancy compute(StringRef Arch, const KernelResources &R,
                         uint64_t Threads, uint64_t Dynamic) {
  std::optional<Occupancy> O = computeOccupancy(Arch, R, Threads, Dynamic);
  EXPECT_TRUE(O) << Arch.str();
  return O.value_or(Occupancy());
}

static Occupancy compute(StringRef Arch, uint64_t Threads, uint64_t Registers,
                         uint64_t Shared = 0, uint64_t Dynamic = 0,
                         uint64_t Barriers = 0) {
  KernelResources R;
  R.Registers = Registers;
  R.Shared = Shared;
  R.Barriers = Barriers;
  return compute(Arch, R, Threads, Dynamic);
}

// All values are those of cudaOccMaxActiveBlocksPerMultiprocessor() in CUDA
// 13.0's cuda_occupancy.h, with the devices' own properties.
TEST(OccupancyTest, KnownValues) {
  Occupancy O = compute("sm_90", 256, 32);
  EXPECT_EQ(O.Blocks, 8u);
  EXPECT_EQ(O.Warps, 64u);
  EXPECT_EQ(O.MaxWarps, 64u);
  EXPECT_EQ(O.percent(), 100);
  EXPECT_THAT(O.Limiters, ElementsAre("warps", "registers"));

  // Registers come in units of 256 a warp: 33 are as many as 40.
  O = compute("sm_90", 256, 33);
  EXPECT_EQ(O.Blocks, 6u);
  EXPECT_EQ(O.percent(), 75);
  EXPECT_THAT(O.Limiters, ElementsAre("registers"));
  EXPECT_EQ(compute("sm_90", 256, 40).Blocks, 6u);
  EXPECT_EQ(compute("sm_90", 256, 41).Blocks, 5u);
  EXPECT_EQ(compute("sm_90", 1024, 64).Blocks, 1u);

  // Each partition has its own, for two warps here: eight, not ten.
  EXPECT_EQ(compute("sm_90", 96, 200).Blocks, 2u);

  O = compute("sm_90", 32, 16);
  EXPECT_EQ(O.Blocks, 32u);
  EXPECT_EQ(O.percent(), 50);
  EXPECT_THAT(O.Limiters, ElementsAre("blocks"));
  // A part of a warp takes all of it.
  EXPECT_EQ(compute("sm_90", 33, 16).Warps, 64u);
}

TEST(OccupancyTest, SharedMemory) {
  // 1 KiB of each block is the system's.
  EXPECT_EQ(compute("sm_90", 128, 16, 56 * 1024).Blocks, 4u);
  EXPECT_EQ(compute("sm_90", 128, 16, 56 * 1024 + 1).Blocks, 3u);
  EXPECT_EQ(compute("sm_90", 128, 16, 1024, 55 * 1024).Blocks, 4u);
  EXPECT_EQ(compute("sm_90", 128, 16, 0, 227 * 1024).Blocks, 1u);
  Occupancy O = compute("sm_90", 128, 16, 0, 227 * 1024 + 1);
  EXPECT_EQ(O.Blocks, 0u);
  EXPECT_EQ(O.percent(), 0);
  EXPECT_THAT(O.Limiters, ElementsAre("shared"));
  // Turing keeps nothing and allocates 256 bytes at once.
  EXPECT_EQ(compute("sm_75", 64, 16, 4096).Blocks, 16u);
  EXPECT_EQ(compute("sm_75", 64, 16, 4097).Blocks, 15u);
  EXPECT_EQ(compute("sm_75", 64, 16, 64 * 1024).Blocks, 1u);
}

TEST(OccupancyTest, Architectures) {
  EXPECT_EQ(compute("sm_75", 256, 32).Blocks, 4u);
  EXPECT_EQ(compute("sm_80", 256, 32).Blocks, 8u);
  EXPECT_EQ(compute("sm_86", 256, 32).Blocks, 6u);
  EXPECT_EQ(compute("sm_87", 32, 32).Blocks, 16u);
  EXPECT_EQ(compute("sm_89", 32, 32).Blocks, 24u);
  EXPECT_EQ(compute("sm_100", 256, 32).Blocks, 8u);
  EXPECT_EQ(compute("sm_103a", 256, 32).Blocks, 8u);
  EXPECT_EQ(compute("sm_110", 256, 32).Blocks, 6u);
  EXPECT_EQ(compute("sm_120f", 256, 32).Blocks, 6u);
  EXPECT_EQ(compute("sm_121", 64, 16, 8192).Blocks, 11u);
  KernelResources R;
  for (StringRef Arch : {"", "sm_", "sm_91", "sm_90x", "90", "gfx", "gfx90",
                         "gfx803", "gfx9-4-generic", "gfx1250"})
    EXPECT_FALSE(computeOccupancy(Arch, R, 32, 0)) << Arch.str();
  EXPECT_FALSE(computeOccupancy("sm_90", R, 0, 0));
}

static Occupancy computeAMD(StringRef Arch, uint64_t Threads, uint64_t VGPRs,
                            uint64_t SGPRs = 0, uint64_t LDS = 0,
                            uint64_t WaveSize = 64) {
  KernelResources R;
  R.Registers = VGPRs;
  R.ScalarRegisters = SGPRs;
  R.Shared = LDS;
  R.WaveSize = WaveSize;
  return compute(Arch, R, Threads, 0);
}

// Waves by registers are those of the remark "Occupancy [waves/SIMD]" of
// -Rpass-analysis=kernel-resource-usage, times four SIMDs.
TEST(OccupancyTest, AMD) {
  Occupancy O = computeAMD("gfx90a:xnack-", 256, 64);
  EXPECT_EQ(O.Blocks, 8u);
  EXPECT_EQ(O.Warps, 32u);
  EXPECT_EQ(O.MaxWarps, 32u);
  EXPECT_THAT(O.Limiters, ElementsAre("waves", "VGPRs"));
  EXPECT_THAT(computeAMD("gfx90a", 256, 12).Limiters, ElementsAre("waves"));
  O = computeAMD("gfx942", 256, 65);
  EXPECT_EQ(O.Warps, 28u);
  EXPECT_THAT(O.Limiters, ElementsAre("VGPRs"));
  EXPECT_EQ(computeAMD("gfx90a", 64, 512).Warps, 4u);
  EXPECT_EQ(computeAMD("gfx908", 64, 24).Warps, 40u);
  EXPECT_EQ(computeAMD("gfx908", 64, 25).Warps, 36u);
  O = computeAMD("gfx906", 64, 10, 101);
  EXPECT_EQ(O.Warps, 28u);
  EXPECT_THAT(O.Limiters, ElementsAre("SGPRs"));
  EXPECT_EQ(computeAMD("gfx1010", 32, 48, 0, 0, 32).Warps, 80u);
  EXPECT_EQ(computeAMD("gfx1030", 32, 65, 0, 0, 32).Warps, 48u);
  EXPECT_EQ(computeAMD("gfx1100", 32, 96, 0, 0, 32).Warps, 64u);
  EXPECT_EQ(computeAMD("gfx1100", 32, 97, 0, 0, 32).Warps, 48u);
  EXPECT_EQ(computeAMD("gfx1100", 64, 97, 0, 0, 64).Warps, 28u);
  EXPECT_EQ(computeAMD("gfx1102", 32, 97, 0, 0, 32).Warps, 36u);

  // LDS, barriers, and blocks that are too large.
  O = computeAMD("gfx90a", 256, 16, 0, 16 * 1024);
  EXPECT_EQ(O.Blocks, 4u);
  EXPECT_THAT(O.Limiters, ElementsAre("LDS"));
  EXPECT_EQ(computeAMD("gfx950", 256, 16, 0, 32 * 1024).Blocks, 5u);
  EXPECT_EQ(computeAMD("gfx90a", 128, 16).Blocks, 16u);
  EXPECT_EQ(computeAMD("gfx90a", 64, 16).Blocks, 32u);
  EXPECT_EQ(computeAMD("gfx90a", 1025, 16).Blocks, 0u);
}

TEST(OccupancyTest, Barriers) {
  EXPECT_EQ(compute("sm_90", 32, 16, 0, 0, 1).Blocks, 32u);
  Occupancy O = compute("sm_90", 32, 16, 0, 0, 16);
  EXPECT_EQ(O.Blocks, 4u);
  EXPECT_THAT(O.Limiters, ElementsAre("barriers"));
  EXPECT_EQ(compute("sm_120", 32, 16, 0, 0, 2).Blocks, 12u);
  EXPECT_EQ(compute("sm_80", 32, 16, 0, 0, 16).Blocks, 32u);
}

TEST(OccupancyTest, ImpossibleLaunches) {
  EXPECT_EQ(compute("sm_90", 1025, 16).Blocks, 0u);
  EXPECT_EQ(compute("sm_90", 1024, 65).Blocks, 0u);
  EXPECT_EQ(
      compute("sm_90", UINT64_MAX - 64, UINT64_MAX, UINT64_MAX, UINT64_MAX)
          .Blocks,
      0u);
  json::Value V = toJSON(compute("sm_90", 256, 33));
  EXPECT_EQ(*V.getAsObject()->getInteger("blocks"), 6);
  EXPECT_EQ(*V.getAsObject()->getInteger("warps"), 48);
}
