//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AddressMap.h"
#include "gtest/gtest.h"
#include <random>
#include <vector>

using namespace mneme;

namespace {

constexpr uint64_t Base = 0x7e0000000000ull;
constexpr uint64_t MiB = 1u << 20;

// As GPU memory is laid out.
class AddressMapTest : public testing::Test {
protected:
  void SetUp() override { Map.assign(Base, 64 * MiB); }
  AddressMap Map{{512, 0, MiB, 2 * MiB}};
};

TEST_F(AddressMapTest, PacksSmallOnes) {
  EXPECT_EQ(Map.allocate(1)->Address, Base);
  EXPECT_EQ(Map.allocate(513)->Address, Base + 512);
  EXPECT_EQ(Map.allocate(0)->Address, Base + 1536);
  EXPECT_EQ(Map.allocate(512)->Address, Base + 2048);
  EXPECT_EQ(Map.bytesInUse(), 1026u);
}

TEST_F(AddressMapTest, AlignsLargeOnes) {
  EXPECT_EQ(Map.allocate(1)->Address, Base);
  EXPECT_EQ(Map.allocate(MiB)->Address, Base + 2 * MiB);
  // What alignment leaves free is for others.
  EXPECT_EQ(Map.allocate(MiB - 1)->Address, Base + 512);
  EXPECT_EQ(Map.allocate(3 * MiB)->Address, Base + 4 * MiB);
  EXPECT_EQ(Map.allocate(1)->Address, Base + 512 + MiB);
  // A large one takes whole granules.
  EXPECT_EQ(Map.allocate(5 * MiB)->Address, Base + 8 * MiB);
}

TEST_F(AddressMapTest, UsesAllThereIs) {
  EXPECT_EQ(Map.allocate(64 * MiB + 1), nullptr);
  EXPECT_EQ(Map.allocate(UINT64_MAX), nullptr);
  ASSERT_NE(Map.allocate(64 * MiB), nullptr);
  EXPECT_EQ(Map.allocate(1), nullptr);
  EXPECT_TRUE(Map.release(Base));
  EXPECT_FALSE(Map.release(Base));
  EXPECT_EQ(Map.allocate(64 * MiB)->Address, Base);
}

TEST_F(AddressMapTest, FindsRoomBehindManyPlacesThatLieBadly) {
  // Holes of a large granule, none of which begins at a multiple of one.
  AddressMap Small({512, 0, 4096, 8192});
  Small.assign(Base, MiB);
  std::vector<uint64_t> Holes;
  ASSERT_NE(Small.allocate(512), nullptr);
  for (unsigned I = 0; I != 40; ++I) {
    for (unsigned J = 0; J != 16; ++J)
      Holes.push_back(Small.allocate(512)->Address);
    ASSERT_NE(Small.allocate(1024), nullptr);
  }
  for (uint64_t Hole : Holes)
    Small.release(Hole);
  AddressMap::Allocation *A = Small.allocate(4096);
  ASSERT_NE(A, nullptr);
  EXPECT_EQ(A->Address % 8192, 0u);
}

TEST_F(AddressMapTest, ForgetsEverything) {
  Map.allocate(100);
  Map.clear();
  EXPECT_EQ(Map.size(), 0u);
  EXPECT_EQ(Map.bytesInUse(), 0u);
  EXPECT_EQ(Map.find(Base), nullptr);
  EXPECT_EQ(Map.allocate(1), nullptr);
  Map.assign(2 * Base, MiB);
  EXPECT_EQ(Map.allocate(1)->Address, 2 * Base);
}

TEST_F(AddressMapTest, PlacesNeverOverlap) {
  std::mt19937 Random(1);
  std::vector<AddressMap::Allocation> Live;
  for (unsigned Step = 0; Step != 4000; ++Step) {
    if (Random() % 3 && !Live.empty()) {
      size_t I = Random() % Live.size();
      ASSERT_TRUE(Map.release(Live[I].Address));
      Live.erase(Live.begin() + I);
    }
    AddressMap::Allocation *A =
        Map.allocate(Random() % (Random() % 8 ? 5000 : 3 * MiB));
    if (!A)
      continue;
    EXPECT_EQ(A->Address % (A->Size >= MiB ? 2 * MiB : 512), 0u);
    EXPECT_LE(A->Address + A->Size, Base + 64 * MiB);
    for (const AddressMap::Allocation &B : Live)
      EXPECT_TRUE(A->Address + A->Size <= B.Address ||
                  B.Address + B.Size <= A->Address);
    Live.push_back(*A);
  }
  for (const AddressMap::Allocation &A : Live)
    ASSERT_TRUE(Map.release(A.Address));
  EXPECT_EQ(Map.bytesInUse(), 0u);
  EXPECT_EQ(Map.allocate(64 * MiB)->Address, Base);
}

} // namespace
