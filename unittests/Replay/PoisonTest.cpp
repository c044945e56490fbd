//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Poison.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class PoisonTest : public testing::Test {
protected:
  static constexpr size_t Size = 1 << 16, Page = 4096;
  std::vector<RecordedRegion> Regions{1};
  std::shared_ptr<PoisonMask> Mask;
  std::vector<char> Outcome = std::vector<char>(Size);

  void SetUp() override {
    Regions[0].Info.Size = Size;
    Mask = PoisonMask::create(Regions);
    ASSERT_TRUE(Mask);
    for (size_t I = 0; I != Size; ++I)
      Outcome[I] = I * 7;
    // All bytes but the third of each eight.
    for (size_t I = 0; I != Size; ++I)
      if (I % 8 != 3)
        Mask->set(0, I);
  }

  /// \p Begin and \p Count: of the piece that is drawn.
  std::vector<char> draw(const PoisonDraw &D, size_t Begin = 0,
                         size_t Count = Size) {
    std::vector<char> Bytes(Count);
    Mask->draw(0, Begin, ArrayRef(Outcome).slice(Begin, Count), Bytes, D);
    return Bytes;
  }
};
} // namespace

TEST_F(PoisonTest, DiffersFromTheOutcome) {
  std::vector<char> Bytes = draw({});
  for (size_t I = 0; I != Size; ++I)
    if (I % 8 == 3)
      EXPECT_EQ(Bytes[I], 0) << I;
    else
      EXPECT_NE(Bytes[I], Outcome[I]) << I;
}

TEST_F(PoisonTest, DoesNotDetermineTheOutcome) {
  // Each bit agrees with the outcome in about half of the bytes, and draws
  // agree in about one byte of 256.
  std::vector<char> One = draw({{1, 2}}), Other = draw({{3, 4}});
  size_t Agree[8] = {}, Same = 0;
  for (size_t I = 0; I != Size; ++I) {
    if (I % 8 == 3)
      continue;
    for (unsigned Bit = 0; Bit != 8; ++Bit)
      Agree[Bit] += ((One[I] ^ Outcome[I]) >> Bit & 1) == 0;
    Same += One[I] == Other[I];
  }
  for (size_t Count : Agree)
    EXPECT_NEAR(double(Count) / (Size / 8 * 7), 0.5, 0.02);
  EXPECT_LT(Same, Size / 64);
  EXPECT_EQ(draw({{1, 2}}), One);
}

TEST_F(PoisonTest, DoesNotDependOnThePieces) {
  std::vector<char> Whole = draw({{1, 2}, true});
  for (size_t Begin : {0, 5, 1000, 4099}) {
    std::vector<char> Piece = draw({{1, 2}, true}, Begin, 777);
    EXPECT_TRUE(std::equal(Piece.begin(), Piece.end(), Whole.begin() + Begin))
        << Begin;
  }
}

TEST_F(PoisonTest, LeavesParts) {
  // All, none and half of a region's parts, depending on the draw.
  bool AnyAll = false, AnyNone = false, AnySome = false;
  for (uint64_t Key = 1; Key != 40; ++Key) {
    std::vector<char> Bytes = draw({{Key, Key}, true});
    size_t Left = 0, Parts = Size / 256;
    for (size_t P = 0; P != Parts; ++P)
      Left += all_of(ArrayRef(Bytes).slice(P * 256, 256),
                     [](char C) { return C == 0; });
    AnyAll |= Left == Parts;
    AnyNone |= Left == 0;
    AnySome |= Left > Parts / 4 && Left < 3 * Parts / 4;
  }
  EXPECT_TRUE(AnyAll);
  EXPECT_TRUE(AnyNone);
  EXPECT_TRUE(AnySome);
}

TEST_F(PoisonTest, HasTheOutcomeInParts) {
  // Code that is wrong if the results are in memory already, or equal bits.
  bool AnyOutcome = false, AnyZeros = false, AnyOnes = false;
  std::vector<char> Recorded(Size, 0x55);
  for (uint64_t Key = 1; Key != 40; ++Key) {
    std::vector<char> Bytes = Recorded;
    Mask->draw(0, 0, Outcome, Bytes, {{Key, Key}, true});
    for (size_t P = 0; P != Size / 256; ++P) {
      auto IsAll = [&](function_ref<char(size_t)> Expected) {
        for (size_t I = P * 256; I != (P + 1) * 256; ++I)
          if (Bytes[I] != (I % 8 == 3 ? 0x55 : Expected(I)))
            return false;
        return true;
      };
      AnyOutcome |= IsAll([&](size_t I) { return Outcome[I]; });
      AnyZeros |= IsAll([](size_t) { return 0; });
      AnyOnes |= IsAll([](size_t) { return '\xff'; });
    }
  }
  EXPECT_TRUE(AnyOutcome);
  EXPECT_TRUE(AnyZeros);
  EXPECT_TRUE(AnyOnes);
}

TEST_F(PoisonTest, DrawsTheMemoryAroundBuffers) {
  std::vector<char> Whole(Page), Piece(777), Other(Page);
  drawPadding(Page, Whole, {{1, 2}});
  drawPadding(Page + 13, Piece, {{1, 2}});
  EXPECT_TRUE(std::equal(Piece.begin(), Piece.end(), Whole.begin() + 13));
  drawPadding(Page, Other, {{3, 4}});
  EXPECT_NE(Whole, Other);
}
