//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Import.h"
#include "llvm/Mneme/Study/SearchSpace.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

struct Launch {
  Dim3 Grid, Block;
};

const Launch Launches[] = {
    {{100, 1, 1}, {256, 1, 1}}, // A line.
    {{7, 1, 1}, {100, 1, 1}},   // Not of whole warps.
    {{1, 1, 1}, {1, 1, 1}},     // One thread.
    {{40, 30, 1}, {16, 16, 1}}, // A plane.
    {{64, 5, 1}, {128, 1, 1}},  // Rows of lines.
    {{8, 4, 2}, {8, 8, 4}},     // A cube.
    {{2000000, 1, 1}, {1024, 1, 1}},
};

SearchSpace makeSpace(StringRef Preset, const Launch &L) {
  return cantFail(SearchSpace::create(
      cantFail(getPreset(Preset)),
      makeRecordedFacts(L.Grid, L.Block, 0, false, "3", "sm_90", "kernel")));
}

/// What the launch of a configuration is; as recorded where it does not say.
Launch getLaunch(const json::Object &Config, Launch L) {
  auto Set = [&](StringRef Key, auto &Field) {
    if (std::optional<int64_t> Value = Config.getInteger(Key))
      Field = *Value;
  };
  Set("block.x", L.Block.X);
  Set("block.y", L.Block.Y);
  Set("block.z", L.Block.Z);
  Set("grid.x", L.Grid.X);
  Set("grid.y", L.Grid.Y);
  Set("grid.z", L.Grid.Z);
  return L;
}

TEST(PresetsTest, AreThere) {
  std::vector<StringRef> Names;
  for (const Preset &P : getPresets()) {
    Names.push_back(P.Name);
    Expected<Study> S = getPreset(P.Name);
    ASSERT_THAT_EXPECTED(S, Succeeded());
    EXPECT_EQ(S->Name, P.Name);
    EXPECT_GT(P.summary().size(), 20u);
    EXPECT_EQ(P.summary().find('\n'), StringRef::npos);
    // What is printed is as good.
    Expected<std::string> Text = printStudy(*S);
    ASSERT_THAT_EXPECTED(Text, Succeeded());
    EXPECT_THAT_EXPECTED(parseStudy(*Text, P.Name), Succeeded());
  }
  EXPECT_EQ(Names, (std::vector<StringRef>{"quick", "standard", "launch",
                                           "compiler", "full"}));
  EXPECT_THAT_EXPECTED(
      getPreset("fast"),
      FailedWithMessage("there is no preset 'fast'; there are: quick, "
                        "standard, launch, compiler, full"));
}

TEST(PresetsTest, StartAsRecorded) {
  for (const Preset &P : getPresets())
    for (const Launch &L : Launches) {
      SearchSpace S = makeSpace(P.Name, L);
      EXPECT_TRUE(S.isValid(S.defaultPoint()));
      Expected<json::Object> Config = S.configure(S.defaultPoint());
      ASSERT_THAT_EXPECTED(Config, Succeeded());
      // Nothing of the launch is set.
      EXPECT_EQ(Config->get("block.x"), nullptr);
      EXPECT_EQ(Config->get("grid.x"), nullptr);
      if (std::optional<StringRef> Passes = Config->getString("passes"))
        EXPECT_EQ(*Passes, "default<O3>");
    }
}

TEST(PresetsTest, LaunchesCoverTheSameThreads) {
  RandomEngine Random(1);
  for (const Preset &P : getPresets())
    for (const Launch &L : Launches) {
      SearchSpace S = makeSpace(P.Name, L);
      for (unsigned I = 0; I != 50; ++I) {
        std::optional<Point> Sample = S.sample(Random);
        ASSERT_TRUE(Sample);
        json::Object Config = cantFail(S.configure(*Sample));
        Launch Now = getLaunch(Config, L);
        SCOPED_TRACE(P.Name.str());
        EXPECT_LE(uint64_t(Now.Block.X) * Now.Block.Y * Now.Block.Z, 1024u);
        EXPECT_LE(Now.Block.Z, 64u);
        auto Covers = [](uint64_t Grid, uint64_t Block, uint64_t OldGrid,
                         uint64_t OldBlock) {
          uint64_t Threads = OldGrid * OldBlock;
          return Grid * Block >= Threads && (Grid - 1) * Block < Threads;
        };
        EXPECT_TRUE(
            Covers(Now.Grid.X, Now.Block.X, L.Grid.X, L.Block.X));
        EXPECT_TRUE(
            Covers(Now.Grid.Y, Now.Block.Y, L.Grid.Y, L.Block.Y));
        EXPECT_TRUE(
            Covers(Now.Grid.Z, Now.Block.Z, L.Grid.Z, L.Block.Z));
        if (std::optional<int64_t> Max = Config.getInteger("max_threads"))
          EXPECT_EQ(uint64_t(*Max),
                    uint64_t(Now.Block.X) * Now.Block.Y * Now.Block.Z);
        // They contradict each other.
        EXPECT_FALSE(Config.get("maxnreg") && Config.get("min_blocks_per_sm"));
      }
    }
}

TEST(PresetsTest, LaunchCompilesNothing) {
  RandomEngine Random(1);
  SearchSpace S = makeSpace("launch", Launches[0]);
  for (unsigned I = 0; I != 20; ++I)
    for (const auto &Field : cantFail(S.configure(*S.sample(Random))))
      EXPECT_TRUE(StringRef(Field.first).contains('.')) << Field.first.str();
  SearchSpace C = makeSpace("compiler", Launches[3]);
  for (unsigned I = 0; I != 20; ++I)
    EXPECT_EQ(cantFail(C.configure(*C.sample(Random))).get("block.x"), nullptr);
}

} // namespace
