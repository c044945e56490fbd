//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Selector.h"
#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

using namespace mneme;

namespace {

/// A package of one kernel with one variant, as far as the selector reads it.
class SelectorTest : public testing::Test {
protected:
  SelectorTest() {
    V.ImageKind = MNEME_IMAGE_CUBIN;
    V.Arch = 90;
    V.DynamicShared = MNEME_SHARED_SAME;
    V.MaxThreads = 1024;
  }

  MnemePackageGuard &guard(uint16_t What, uint16_t Test, uint64_t Low,
                           uint64_t High = 0) {
    MnemePackageGuard G = {};
    G.What = What;
    G.Test = Test;
    G.Low = Low;
    G.High = High;
    Guards.push_back(G);
    return Guards.back();
  }
  MnemePackageGuard &argument(uint32_t Index, uint32_t Offset, uint32_t Size,
                              uint16_t Test, uint64_t Low, uint64_t High = 0) {
    MnemePackageGuard &G = guard(MNEME_GUARD_ARG, Test, Low, High);
    G.Index = Index;
    G.Offset = Offset;
    G.Size = Size;
    return G;
  }
  VariantTables tables() {
    return {nullptr, &V, {Guards.data(), Guards.size()}, IsExact};
  }
  /// With the guards in a table, and without.
  Fallback match() {
    VariantTables Alone = tables(), InTable = tables();
    GuardTable T;
    T.add(InTable, Policy);
    GuardTests Tests(T, L, D);
    Fallback F = matchVariant(Alone, L, D, Policy, Tests, Plan);
    EXPECT_TRUE(InTable.IsInTable);
    EXPECT_EQ(F, matchVariant(InTable, L, D, Policy, Tests, Plan));
    return F;
  }
  bool serves() { return match() == Fallback::None; }
  void cover(uint32_t X, uint32_t Y = 1, uint32_t Z = 1,
             uint32_t Grade = MNEME_GRADE_PROVEN) {
    V.Launch = MNEME_LAUNCH_COVER;
    V.Grade = Grade;
    V.Block[0] = X;
    V.Block[1] = Y;
    V.Block[2] = Z;
  }

  MnemePackageVariant V = {};
  std::vector<MnemePackageGuard> Guards;
  bool IsExact = false;
  LaunchFacts L = {{4, 1, 1}, {256, 1, 1}, 0, false, nullptr};
  DeployDevice D = {MNEME_IMAGE_CUBIN,
                    90,
                    "NVIDIA H200",
                    1024,
                    {1024, 1024, 64},
                    {0x7fffffff, 65535, 65535},
                    227 << 10};
  DeployPolicy Policy;
  LaunchPlan Plan = {};
};

TEST_F(SelectorTest, SameLaunch) {
  L.DynamicShared = 512;
  ASSERT_TRUE(serves());
  EXPECT_EQ(4u, Plan.Grid[0]);
  EXPECT_EQ(256u, Plan.Block[0]);
  EXPECT_EQ(512u, Plan.DynamicShared);
}

TEST_F(SelectorTest, Architecture) {
  D.Arch = 80;
  EXPECT_EQ(Fallback::Architecture, match());
  D.Arch = 100;
  EXPECT_EQ(Fallback::Architecture, match());
  // Later ones of the same major number run it.
  V.Arch = 80;
  D.Arch = 86;
  EXPECT_TRUE(serves());
  V.Arch = 89;
  EXPECT_EQ(Fallback::Architecture, match());
  V.Arch = 80;
  IsExact = true;
  EXPECT_EQ(Fallback::Architecture, match());
  D.Arch = 80;
  EXPECT_TRUE(serves());
  V.ImageKind = MNEME_IMAGE_OBJECT;
  EXPECT_EQ(Fallback::Architecture, match());
  D.ImageKind = MNEME_IMAGE_OBJECT;
  V.Arch = D.Arch = 0;
  IsExact = false;
  EXPECT_TRUE(serves());
}

TEST_F(SelectorTest, Code) {
  for (uint32_t Code = 0; Code <= MNEME_CODE_UNPROVEN; ++Code) {
    V.Code = Code;
    EXPECT_EQ(Code <= MNEME_CODE_VERIFIED, serves());
    Policy.MaxCode = MNEME_CODE_PROVEN;
    EXPECT_EQ(Code ? Fallback::Code : Fallback::None, match());
    Policy.MaxCode = MNEME_CODE_UNPROVEN;
    EXPECT_TRUE(serves());
    Policy = {};
  }
}

/// Allocations of 256 bytes at multiples of 4096, and nothing else. One is a
/// variable, one has pages that it may share.
static bool findPage(uint64_t Address, MemoryExtent &E) {
  uint64_t Begin = Address & ~uint64_t(4095);
  E = {Begin, Begin + 256, Begin != 0x7000, Begin == 0x6000};
  return Address && Address < E.End;
}

TEST_F(SelectorTest, Buffers) {
  D.FindAllocation = findPage;
  struct {
    uint64_t First, Second;
  } Pair = {0x1000, 0x2040};
  uint64_t Third = 0x2000;
  void *Args[] = {&Pair, &Third};
  L.Args = Args;
  guard(MNEME_GUARD_BEFORE, MNEME_TEST_RANGE, 0x40, 0x40).Offset = 8;
  guard(MNEME_GUARD_BEHIND, MNEME_TEST_RANGE, 0xc0, 0xc0).Offset = 8;
  EXPECT_TRUE(serves());
  EXPECT_TRUE(dependsOnArguments(tables(), Policy));
  Pair.Second = 0x2048;
  EXPECT_EQ(Fallback::Buffer, match());
  // No allocation, null, and a pointer behind the end.
  for (uint64_t Wrong : {0x2500ull, 0x0ull, 0x2100ull}) {
    Pair.Second = Wrong;
    EXPECT_EQ(Fallback::Buffer, match());
  }
  Pair.Second = 0x5040;
  EXPECT_TRUE(serves());

  Guards.clear();
  MnemePackageGuard &G = guard(MNEME_GUARD_SAME_BUFFER, MNEME_TEST_RANGE, 1, 1);
  G.Index = 1;
  G.Other = 0;
  G.Size = 8;
  EXPECT_EQ(Fallback::Buffer, match());
  Pair.Second = 0x2080;
  EXPECT_TRUE(serves());
  G.Low = G.High = 0;
  EXPECT_EQ(Fallback::Buffer, match());
  Third = 0x1080;
  EXPECT_TRUE(serves());
  Third = 0x1800;
  EXPECT_EQ(Fallback::Buffer, match());
  D.FindAllocation = nullptr;
  Third = 0x1080;
  EXPECT_EQ(Fallback::Buffer, match());
}

TEST_F(SelectorTest, Places) {
  D.FindAllocation = findPage;
  uint64_t Pointer = 0x1000;
  void *Args[] = {&Pointer};
  L.Args = Args;
  auto Admits = [&](uint64_t Value) {
    Pointer = Value;
    return serves();
  };
  guard(MNEME_GUARD_ALIGNMENT, MNEME_TEST_RANGE, 0x40, 0x40);
  EXPECT_TRUE(dependsOnArguments(tables(), Policy));
  EXPECT_TRUE(Admits(0x1040));
  EXPECT_FALSE(Admits(0x1000));
  EXPECT_FALSE(Admits(0x1044));

  Guards.clear();
  guard(MNEME_GUARD_OWN_PAGES, MNEME_TEST_RANGE, 1, 1);
  EXPECT_TRUE(Admits(0x6000));
  EXPECT_FALSE(Admits(0x7000));
  EXPECT_FALSE(Admits(0x1800));

  Guards.clear();
  guard(MNEME_GUARD_IN_VARIABLE, MNEME_TEST_RANGE, 0, 0);
  EXPECT_TRUE(Admits(0x7000));
  EXPECT_FALSE(Admits(0x6000));
  EXPECT_EQ(Fallback::Buffer, match());
}

TEST_F(SelectorTest, EmptyLaunches) {
  for (uint32_t *N : {&L.Grid[0], &L.Grid[1], &L.Grid[2], &L.Block[0],
                      &L.Block[1], &L.Block[2]}) {
    uint32_t Before = *N;
    *N = 0;
    EXPECT_EQ(Fallback::EmptyLaunch, match());
    *N = Before;
  }
  EXPECT_TRUE(serves());
}

TEST_F(SelectorTest, Ranges) {
  guard(MNEME_GUARD_GRID, MNEME_TEST_RANGE, 2, 4);
  for (uint32_t N : {2u, 3u, 4u}) {
    L.Grid[0] = N;
    EXPECT_TRUE(serves()) << N;
  }
  for (uint32_t N : {1u, 5u, UINT32_MAX}) {
    L.Grid[0] = N;
    EXPECT_EQ(Fallback::Grid, match()) << N;
  }
}

TEST_F(SelectorTest, AxesAreTestedApart) {
  for (uint32_t I : {0u, 1u, 2u}) {
    Guards.clear();
    guard(MNEME_GUARD_BLOCK, MNEME_TEST_RANGE, 7, 7).Index = I;
    L.Block[0] = L.Block[1] = L.Block[2] = 2;
    EXPECT_EQ(Fallback::Block, match());
    L.Block[I] = 7;
    EXPECT_TRUE(serves());
    Guards.clear();
    guard(MNEME_GUARD_GRID, MNEME_TEST_RANGE, 7, 7).Index = I;
    L.Grid[0] = L.Grid[1] = L.Grid[2] = 2;
    EXPECT_EQ(Fallback::Grid, match());
    L.Grid[I] = 7;
    EXPECT_TRUE(serves());
  }
}

TEST_F(SelectorTest, SharedAndCooperative) {
  guard(MNEME_GUARD_SHARED, MNEME_TEST_RANGE, 0, 64);
  L.DynamicShared = 65;
  EXPECT_EQ(Fallback::Shared, match());
  L.DynamicShared = 64;
  EXPECT_TRUE(serves());
  // Verified as a usual launch only.
  L.Cooperative = true;
  EXPECT_EQ(Fallback::Cooperative, match());
  V.Cooperative = 1;
  EXPECT_TRUE(serves());
  guard(MNEME_GUARD_COOPERATIVE, MNEME_TEST_RANGE, 0, 0);
  EXPECT_EQ(Fallback::Cooperative, match());
}

TEST_F(SelectorTest, ArgumentsOfEachSize) {
  const uint8_t Bytes[] = {0x11, 0xf2, 0xff, 0xff, 0xff,
                           0xff, 0xff, 0xff, 0xff, 0x80};
  // Also where they are misaligned.
  for (unsigned At : {0u, 1u}) {
    for (uint32_t Size : {1u, 2u, 4u, 8u}) {
      uint64_t Value = 0;
      memcpy(&Value, Bytes + At, Size);
      void *Args[] = {const_cast<uint8_t *>(Bytes + At)};
      L.Args = Args;
      Guards.clear();
      argument(0, 0, Size, MNEME_TEST_RANGE, Value, Value);
      EXPECT_TRUE(serves()) << Size;
      Guards[0].Low = Guards[0].High = Value + 1;
      EXPECT_EQ(Fallback::Argument, match()) << Size;
      Guards[0].Low = Guards[0].High = Value ^ (uint64_t(1) << (8 * Size - 1));
      EXPECT_EQ(Fallback::Argument, match()) << Size;
    }
  }
}

TEST_F(SelectorTest, SignedArguments) {
  int64_t Least[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN};
  for (unsigned I = 0; I != 4; ++I) {
    uint32_t Size = 1u << I;
    int64_t Value = -3;
    void *Args[] = {&Value};
    L.Args = Args;
    Guards.clear();
    argument(0, 0, Size, MNEME_TEST_SIGNED, uint64_t(-5), uint64_t(-3));
    EXPECT_TRUE(serves()) << Size;
    Value = -2;
    EXPECT_EQ(Fallback::Argument, match()) << Size;
    Value = -6;
    EXPECT_EQ(Fallback::Argument, match()) << Size;
    Guards[0].Low = uint64_t(INT64_MIN);
    Value = Least[I];
    EXPECT_TRUE(serves()) << Size;
    Guards[0].Low = 0;
    Guards[0].High = INT64_MAX;
    EXPECT_EQ(Fallback::Argument, match()) << Size;
    Value = 0;
    EXPECT_TRUE(serves()) << Size;
  }
}

TEST_F(SelectorTest, MembersOfStructs) {
  struct {
    char C = 1;
    int16_t S = -2;
    int32_t I = 3;
    double D = 4;
  } Struct;
  int Other = 5;
  void *Args[] = {&Other, &Struct};
  L.Args = Args;
  uint64_t Four;
  memcpy(&Four, &Struct.D, 8);
  argument(1, 0, 1, MNEME_TEST_RANGE, 1, 1);
  argument(1, offsetof(decltype(Struct), S), 2, MNEME_TEST_SIGNED, -2, -2);
  argument(1, offsetof(decltype(Struct), I), 4, MNEME_TEST_RANGE, 3, 3);
  argument(1, offsetof(decltype(Struct), D), 8, MNEME_TEST_RANGE, Four, Four);
  EXPECT_TRUE(serves());
  Struct.D = 4.5;
  EXPECT_EQ(Fallback::Argument, match());
}

TEST_F(SelectorTest, AlignmentOfPointers) {
  uint64_t Pointer = 0x7f0000001000;
  void *Args[] = {&Pointer};
  L.Args = Args;
  argument(0, 0, 8, MNEME_TEST_MULTIPLE, 256);
  EXPECT_TRUE(serves());
  Pointer += 128;
  EXPECT_EQ(Fallback::Argument, match());
  Pointer = 0;
  EXPECT_TRUE(serves());
  Guards[0].Low = uint64_t(1) << 63;
  Pointer = uint64_t(1) << 62;
  EXPECT_EQ(Fallback::Argument, match());
  Guards[0].Low = 1;
  EXPECT_TRUE(serves());
}

TEST_F(SelectorTest, MissingArguments) {
  argument(0, 0, 4, MNEME_TEST_RANGE, 0, UINT64_MAX);
  EXPECT_EQ(Fallback::Argument, match());
  void *Args[] = {nullptr};
  L.Args = Args;
  EXPECT_EQ(Fallback::Argument, match());

  Guards.clear();
  D.FindAllocation = findPage;
  guard(MNEME_GUARD_BEHIND, MNEME_TEST_RANGE, 0, UINT64_MAX);
  EXPECT_EQ(Fallback::Buffer, match());
  L.Args = nullptr;
  EXPECT_EQ(Fallback::Buffer, match());
}

TEST_F(SelectorTest, UnknownGuardsAndTestsNeverPass) {
  guard(77, MNEME_TEST_RANGE, 0, UINT64_MAX);
  EXPECT_FALSE(serves());
  Guards.clear();
  guard(MNEME_GUARD_GRID, 77, 0, UINT64_MAX);
  EXPECT_FALSE(serves());
}

TEST_F(SelectorTest, SoftGuardsSayWhereItWasMeasured) {
  guard(MNEME_GUARD_GRID, MNEME_TEST_RANGE, 9, 9).Flags = MNEME_GUARD_SOFT;
  EXPECT_EQ(Fallback::NotMeasured, match());
  Policy.ServesAll = true;
  EXPECT_TRUE(serves());
  // A hard guard's reason says more, wherever it is.
  Policy.ServesAll = false;
  guard(MNEME_GUARD_BLOCK, MNEME_TEST_RANGE, 9, 9);
  EXPECT_EQ(Fallback::Block, match());
  Policy.ServesAll = true;
  EXPECT_EQ(Fallback::Block, match());
}

TEST_F(SelectorTest, GuardsOfSeveralVariants) {
  // All have the first guard, and one of their own.
  GuardTable T;
  std::vector<std::vector<MnemePackageGuard>> Own;
  std::vector<VariantTables> Variants;
  guard(MNEME_GUARD_BLOCK, MNEME_TEST_RANGE, 256, 256);
  for (uint64_t I = 0; I != 70; ++I) {
    Own.push_back(Guards);
    Own.back().push_back(guard(MNEME_GUARD_GRID, MNEME_TEST_RANGE, I, I));
    Guards.pop_back();
  }
  for (const std::vector<MnemePackageGuard> &G : Own) {
    Variants.push_back({nullptr, &V, {G.data(), G.size()}, IsExact});
    T.add(Variants.back(), Policy);
  }
  EXPECT_TRUE(Variants[62].IsInTable);
  EXPECT_FALSE(Variants[63].IsInTable);
  for (uint32_t Grid : {1u, 4u, 62u, 63u, 69u, 70u}) {
    L.Grid[0] = Grid;
    GuardTests Tests(T, L, D);
    for (uint64_t I = 0; I != Variants.size(); ++I)
      EXPECT_EQ(I == Grid ? Fallback::None : Fallback::Grid,
                matchVariant(Variants[I], L, D, Policy, Tests, Plan));
  }
  L.Block[0] = 128;
  GuardTests Tests(T, L, D);
  EXPECT_EQ(Fallback::Block,
            matchVariant(Variants[4], L, D, Policy, Tests, Plan));
}

TEST_F(SelectorTest, DependsOnArguments) {
  EXPECT_FALSE(dependsOnArguments(tables(), Policy));
  guard(MNEME_GUARD_GRID, MNEME_TEST_RANGE, 0, 9);
  EXPECT_FALSE(dependsOnArguments(tables(), Policy));
  argument(0, 0, 4, MNEME_TEST_RANGE, 0, 9).Flags = MNEME_GUARD_SOFT;
  EXPECT_TRUE(dependsOnArguments(tables(), Policy));
  Policy.ServesAll = true;
  EXPECT_FALSE(dependsOnArguments(tables(), Policy));
  argument(0, 0, 4, MNEME_TEST_RANGE, 0, 9);
  EXPECT_TRUE(dependsOnArguments(tables(), Policy));
}

TEST_F(SelectorTest, Grades) {
  cover(128);
  EXPECT_TRUE(serves());
  for (uint32_t Grade : {MNEME_GRADE_VERIFIED, MNEME_GRADE_UNPROVEN}) {
    V.Grade = Grade;
    EXPECT_EQ(Fallback::LaunchShape, match());
    Policy.MaxGrade = Grade;
    EXPECT_TRUE(serves());
  }
}

TEST_F(SelectorTest, CoverKeepsTheThreadsAlongEachAxis) {
  L = {{6, 4, 2}, {32, 4, 1}, 0, false, nullptr};
  cover(64, 8, 2);
  ASSERT_TRUE(serves());
  EXPECT_EQ(3u, Plan.Grid[0]);
  EXPECT_EQ(2u, Plan.Grid[1]);
  EXPECT_EQ(1u, Plan.Grid[2]);
  EXPECT_EQ(64u, Plan.Block[0]);
  EXPECT_EQ(8u, Plan.Block[1]);
  EXPECT_EQ(2u, Plan.Block[2]);
}

TEST_F(SelectorTest, CoverNeedsAsManyThreads) {
  L.Grid[0] = 3;
  cover(512);
  // 768 threads: a second block would have 256 that the kernel did not expect.
  EXPECT_EQ(Fallback::Cover, match());
  // Verified so, in launches that the guards admit.
  Policy.MaxGrade = V.Grade = MNEME_GRADE_VERIFIED;
  ASSERT_TRUE(serves());
  EXPECT_EQ(2u, Plan.Grid[0]);
}

TEST_F(SelectorTest, CoverDoesNotOverflow) {
  D.MaxGrid[0] = UINT32_MAX;
  L.Grid[0] = UINT32_MAX;
  L.Block[0] = 1024;
  cover(512);
  // 2^33 blocks.
  EXPECT_EQ(Fallback::Cover, match());
  V.Block[0] = 1024;
  ASSERT_TRUE(serves());
  EXPECT_EQ(UINT32_MAX, Plan.Grid[0]);
  L.Block[0] = UINT32_MAX;
  V.Block[0] = 1;
  EXPECT_EQ(Fallback::Cover, match());
  V.Block[0] = 0;
  EXPECT_EQ(Fallback::Cover, match());
}

TEST_F(SelectorTest, CoverWithinTheGridLimit) {
  L = {{1, 65535, 1}, {1, 4, 1}, 0, false, nullptr};
  cover(1, 2);
  EXPECT_EQ(Fallback::Resources, match());
  V.Block[1] = 4;
  EXPECT_TRUE(serves());
}

TEST_F(SelectorTest, FixedLaunch) {
  V.Launch = MNEME_LAUNCH_FIXED;
  V.Grade = MNEME_GRADE_PROVEN;
  for (unsigned I = 0; I != 3; ++I) {
    V.Grid[I] = 10 + I;
    V.Block[I] = 2 + I;
  }
  ASSERT_TRUE(serves());
  EXPECT_EQ(12u, Plan.Grid[2]);
  EXPECT_EQ(4u, Plan.Block[2]);
  V.Grid[1] = 0;
  EXPECT_EQ(Fallback::Resources, match());
}

TEST_F(SelectorTest, ThreadLimits) {
  V.MaxThreads = 255;
  EXPECT_EQ(Fallback::Resources, match());
  V.MaxThreads = 256;
  EXPECT_TRUE(serves());
  D.MaxThreads = 128;
  EXPECT_EQ(Fallback::Resources, match());
  D.MaxThreads = 1024;
  // The product is 2^96.
  L.Block[0] = L.Block[1] = L.Block[2] = UINT32_MAX;
  EXPECT_EQ(Fallback::Resources, match());
  D.MaxBlock[0] = D.MaxBlock[1] = D.MaxBlock[2] = UINT32_MAX;
  V.MaxThreads = D.MaxThreads = UINT32_MAX;
  EXPECT_EQ(Fallback::Resources, match());
  // 65536 * 65536 is 0 in 32 bits.
  L.Block[0] = L.Block[1] = 65536;
  L.Block[2] = 1;
  V.MaxThreads = D.MaxThreads = 1024;
  EXPECT_EQ(Fallback::Resources, match());
}

TEST_F(SelectorTest, SharedMemoryLimit) {
  V.StaticShared = 1024;
  L.DynamicShared = D.MaxShared - 1024;
  EXPECT_TRUE(serves());
  ++L.DynamicShared;
  EXPECT_EQ(Fallback::Resources, match());
  L.DynamicShared = UINT64_MAX;
  EXPECT_EQ(Fallback::Resources, match());
  V.StaticShared = UINT32_MAX;
  L.DynamicShared = 0;
  EXPECT_EQ(Fallback::Resources, match());
}

TEST_F(SelectorTest, ChangedSharedMemory) {
  V.DynamicShared = 2048;
  V.Grade = MNEME_GRADE_VERIFIED;
  EXPECT_EQ(Fallback::LaunchShape, match());
  Policy.MaxGrade = MNEME_GRADE_VERIFIED;
  ASSERT_TRUE(serves());
  EXPECT_EQ(2048u, Plan.DynamicShared);
}

TEST_F(SelectorTest, Clusters) {
  L.Cluster[1] = 2;
  EXPECT_TRUE(serves());
  V.Code = MNEME_CODE_VERIFIED;
  EXPECT_EQ(Fallback::ClusterSize, match());
  guard(MNEME_GUARD_CLUSTER, MNEME_TEST_RANGE, 2, 2);
  Guards.back().Index = 1;
  EXPECT_TRUE(serves());
  L.Cluster[1] = 4;
  EXPECT_EQ(Fallback::ClusterSize, match());
  Guards.clear();
  V.Code = MNEME_CODE_PROVEN;
  cover(256);
  EXPECT_EQ(Fallback::Clusters, match());
}

TEST_F(SelectorTest, EveryReasonHasItsOwnText) {
  std::vector<std::string> Texts;
  for (size_t I = 1; I <= NumFallbacks; ++I) {
    std::string Text = describeFallback(Fallback(I));
    EXPECT_NE("", Text);
    for (const std::string &Other : Texts)
      EXPECT_NE(Other, Text);
    Texts.push_back(Text);
  }
}

} // namespace
