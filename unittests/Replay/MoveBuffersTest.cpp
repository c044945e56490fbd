//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveBuffers.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Two buffers of one page, with two between them, and a variable behind them.
class MoveBuffersTest : public testing::Test {
protected:
  static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE, Base = Page << 20,
                            First = Base, Second = Base + 3 * Page;
  MoveBuffersTest() {
    R.ArenaBase = Base;
    R.ArenaSize = Page << 12;
    R.Regions = {{First, Page, false, 0, ""},
                 {Second, Page, false, 1, ""},
                 {Base + 5 * Page, 8, true, 2, "V", MNEME_REGION_GLOBAL}};
    R.Args = {bytes(First), bytes(Second + 8), bytes(Second + Page),
              std::string("\4\0\0\0", 4)};
    R.Before = {{Second, {1, 2, 3, 4, 5, 6, 7, 8}}};
    R.After = {{First, {1}}, {Base + 5 * Page, {1}}};
    R.Annotations = {{Second + 16, 8}};
  }

  static std::string bytes(uint64_t Word) {
    std::string Text(8, 0);
    support::endian::write64le(Text.data(), Word);
    return Text;
  }
  uint64_t arg(unsigned Index) const {
    return support::endian::read64le(R.Args[Index].data());
  }
  std::string move() {
    return moveBuffers(R, [&] { return Random(); });
  }

  NewRecording R;
  std::mt19937_64 Random;
};
} // namespace

TEST_F(MoveBuffersTest, AllThatRefersToABufferFollowsIt) {
  std::set<int64_t> Distances;
  for (unsigned N = 0; N != 20; ++N) {
    NewRecording Kept = R;
    EXPECT_EQ(move(), "");
    uint64_t A = R.Regions[0].Address, B = R.Regions[1].Address;
    Distances.insert(int64_t(B - A));
    // Behind the variable, at the same place in a page.
    EXPECT_GT(std::min(A, B), Base + 5 * Page);
    EXPECT_EQ(A % Page, First % Page);
    EXPECT_EQ(R.Regions[2].Address, Base + 5 * Page);
    EXPECT_EQ(arg(0), A);
    EXPECT_EQ(arg(1), B + 8);
    EXPECT_EQ(arg(2), B + Page);
    EXPECT_EQ(R.Args[3], Kept.Args[3]);
    EXPECT_EQ(R.Before[0].Address, B);
    EXPECT_EQ(R.After[0].Address, A);
    EXPECT_EQ(R.After[1].Address, Base + 5 * Page);
    EXPECT_EQ(R.Annotations[0].Address, B + 16);
    R = Kept;
  }
  EXPECT_GT(Distances.size(), 10u);
  // In both orders, and farther from each other than they were.
  EXPECT_LT(*Distances.begin(), 0);
  EXPECT_GT(*Distances.rbegin(), 0);
  for (int64_t D : Distances)
    EXPECT_GT(std::abs(D), int64_t(Second - First));
}

TEST_F(MoveBuffersTest, BuffersWhoseAddressesAreInMemoryStay) {
  llvm::copy(bytes(First + 4), R.Before[0].Bytes.begin());
  EXPECT_EQ(move(), "memory contains addresses");
  EXPECT_EQ(R.Regions[0].Address, First);
  EXPECT_EQ(arg(0), First);
}

TEST_F(MoveBuffersTest, ATextureRefersToBuffers) {
  R.Regions.push_back(
      {Base + 8 * Page, 64, false, 3, "", MNEME_REGION_TEXTURE});
  EXPECT_EQ(move(), "a texture refers to them");
}

TEST_F(MoveBuffersTest, TheArenaHasNoRoom) {
  R.ArenaSize = 8 * Page;
  R.Regions[0].Size = 2 * Page;
  EXPECT_EQ(move(), "the arena has no room for other distances");
  EXPECT_EQ(R.Regions[0].Address, First);
}

TEST_F(MoveBuffersTest, BuffersOutsideOfTheArenaStay) {
  R.Regions.push_back({Page * 3, Page, false, 3, "", MNEME_REGION_MANAGED});
  NewRecording Kept = R;
  EXPECT_EQ(move(), "some are outside of the arena");
  EXPECT_NE(R.Regions[0].Address, First);
  EXPECT_EQ(R.Regions[3].Address, Page * 3);
  // Without the variable, all distances to it are others.
  R = Kept;
  R.Regions.erase(R.Regions.begin() + 2);
  EXPECT_EQ(move(), "");
}

TEST_F(MoveBuffersTest, NumbersLikeAddressesOfOtherMemory) {
  llvm::copy(bytes(Base + 100 * Page), R.Before[0].Bytes.begin());
  EXPECT_EQ(move(), "");
}
