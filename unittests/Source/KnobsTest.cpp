//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Knobs.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::IsEmpty;

static std::vector<std::string> read(StringRef Source) {
  Expected<std::vector<SourceKnob>> Knobs = findKnobs(Source);
  EXPECT_THAT_EXPECTED(Knobs, Succeeded());
  std::vector<std::string> Options;
  for (const SourceKnob &K : *Knobs)
    Options.push_back("--" + K.Option + "=" + K.Text);
  return Options;
}

TEST(KnobsTest, ReadsComments) {
  EXPECT_THAT(read("// mneme-knob TILE = 8..64:*2\n"
                   "int I; /* mneme-require TILE * 4 <= 256 */\n"
                   "//mneme-knob N=1|2\r\n"),
              ElementsAre("--define=TILE=8..64:*2", "--require=TILE * 4 <= 256",
                          "--define=N=1|2"));
}

TEST(KnobsTest, SplitsLaunchesOutsideOfBrackets) {
  EXPECT_THAT(
      read("// mneme-launch block.x = TILE, grid.x = max(1, ceildiv(N, TILE))"),
      ElementsAre("--block-x=TILE", "--grid-x=max(1, ceildiv(N, TILE))"));
}

TEST(KnobsTest, IgnoresOtherText) {
  EXPECT_THAT(read("// about mneme-knob TILE\nmneme-knob X = 1\n\n"),
              IsEmpty());
}

TEST(KnobsTest, RejectsMistakes) {
  auto Refuse = [](StringRef Source) {
    return toString(findKnobs(Source).takeError());
  };
  EXPECT_EQ(Refuse("\n  // mneme-knobs A = 1"),
            "2:6: expected mneme-knob, mneme-launch or mneme-require, got "
            "'mneme-knobs'");
  EXPECT_EQ(Refuse("// mneme-knob 1A = 1"),
            "1:4: expected mneme-knob NAME = values");
  EXPECT_EQ(Refuse("// mneme-launch maxnreg = 1"),
            "1:17: expected a setting of the launch, such as block.x, got "
            "'maxnreg'");
  EXPECT_EQ(Refuse("// mneme-launch block.x ="),
            "1:17: expected block.x = expression");
}
