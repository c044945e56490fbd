//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/StudyLog/WarmStart.h"
#include "../Report/SampleStudy.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// The features of a kernel with \p Adds additions.
json::Value makeFeatures(unsigned Adds) {
  return json::Object{{"opcodes", json::Object{{"fadd", Adds}, {"ret", 1}}}};
}

class WarmStartTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("mneme-warm", Folder));
    Options.Folders = {std::string(Folder)};
    Options.StaticHash = "kernel";
    Options.Features = makeFeatures(16);
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  /// Returns the results folder of a study; each trial is a block size and its
  /// time beside a baseline of 1000.
  std::string addStudy(
      StringRef Name, StringRef Hash, unsigned Adds,
      ArrayRef<std::pair<int64_t, double>> Trials,
      function_ref<void(Trial &)> Change = [](Trial &) {}) {
    std::string Dir = pathIn(Folder, Name);
    cantFail(errorCodeToError(sys::fs::create_directories(Dir)));
    JournalHeader H = makeSampleHeader();
    H.Name = Name.str();
    H.Identity["static_hash"] = Hash;
    H.Info[FeaturesKey.str()] = makeFeatures(Adds);
    auto J = cantFail(Journal::create(pathIn(Dir, "study.log"), H, Space));
    uint64_t Number = 0;
    for (auto [Block, Time] : Trials) {
      Trial T;
      T.Number = Number++;
      T.P = makePoint(Block);
      T.Config = cantFail(Space.configure(T.P));
      cantFail(J->beginTrials(T));
      T.State = TrialState::Complete;
      T.Values = {Time};
      T.BaselineNanoseconds = 1000;
      Change(T);
      cantFail(J->addTrial(T));
    }
    return Dir;
  }
  Point makePoint(int64_t Block) const {
    StringMap<Value> Values;
    Values["block.x"] = Block;
    Point P = cantFail(Space.makePoint(Values));
    Space.canonicalize(P);
    return P;
  }
  std::vector<int64_t> findBlocks() {
    Start = cantFail(findWarmStart(Space, Options));
    std::vector<int64_t> Blocks;
    for (const WarmPoint &P : Start.Points)
      Blocks.push_back(std::get<int64_t>(Space.values(P.P)["block.x"]));
    return Blocks;
  }

  SmallString<128> Folder;
  SearchSpace Space = makeSampleSpace();
  WarmStartOptions Options;
  WarmStart Start;
};

TEST_F(WarmStartTest, BeginsWithTheFastestOfTheSameKernel) {
  addStudy("a", "kernel", 16,
           {{64, 900}, {128, 700}, {160, 950}, {192, 800}, {32, 1200}});
  addStudy("b/below", "kernel", 16, {{224, 600}, {128, 650}});
  EXPECT_THAT(findBlocks(), testing::ElementsAre(224, 128, 192, 64));
  EXPECT_EQ(Start.NumStudies, 2u);
  EXPECT_TRUE(Start.Points[0].SameKernel);
  EXPECT_EQ(Start.Points[0].Kernel, "b/below");
  EXPECT_DOUBLE_EQ(Start.Points[0].Speedup, 1000 / 600.0);
}

TEST_F(WarmStartTest, GoesOnWithTheMostSimilarKernels) {
  addStudy("far", "other", 16 << 9, {{192, 500}});
  addStudy("near", "other", 20, {{128, 900}, {160, 950}});
  addStudy("nearer", "third", 17, {{64, 950}});
  EXPECT_THAT(findBlocks(), testing::ElementsAre(64, 128));
  addStudy("same", "kernel", 16, {{224, 990}});
  EXPECT_THAT(findBlocks(), testing::ElementsAre(224, 64, 128));
  Options.Limit = 2;
  EXPECT_THAT(findBlocks(), testing::ElementsAre(224, 64));
}

TEST_F(WarmStartTest, LeavesOutWhatWasNotFaster) {
  addStudy("a", "kernel", 16, {{64, 995}, {128, 1000}, {160, 1001}});
  Options.MinEffect = 0.01;
  EXPECT_THAT(findBlocks(), testing::IsEmpty());
}

TEST_F(WarmStartTest, LeavesOutFailedAndSuspectTrials) {
  addStudy("a", "kernel", 16, {{64, 500}, {128, 600}, {160, 700}},
           [](Trial &T) {
             T.Suspect = T.Number == 0;
             if (T.Number != 1)
               return;
             T.State = TrialState::Failed;
             T.Failure = "Mismatch";
             T.Values.clear();
           });
  EXPECT_THAT(findBlocks(), testing::ElementsAre(160));
}

TEST_F(WarmStartTest, TakesTheValuesThatThisSpaceHas) {
  addStudy("a", "kernel", 16, {{64, 900}, {256, 700}, {160, 800}});
  StudyBuilder B;
  B.range("block.x", "32", "192", "32").boolean("unknown");
  B.field("block.x", "block.x").field("specialize", "unknown");
  SearchSpace Other = cantFail(SearchSpace::create(B.S, ::makeFacts()));
  WarmStart W = cantFail(findWarmStart(Other, Options));
  ASSERT_EQ(W.Points.size(), 2u);
  EXPECT_EQ(std::get<int64_t>(Other.values(W.Points[0].P)["block.x"]), 160);
  EXPECT_EQ(std::get<int64_t>(Other.values(W.Points[1].P)["block.x"]), 64);
}

TEST_F(WarmStartTest, IgnoresOtherObjectives) {
  addStudy("a", "kernel", 16, {{64, 900}});
  StudyBuilder B;
  B.range("block.x", "32", "192", "32").field("block.x", "block.x");
  B.S.Objectives = {{"reg_usage", Direction::Minimize}};
  SearchSpace Other = cantFail(SearchSpace::create(B.S, ::makeFacts()));
  EXPECT_THAT(cantFail(findWarmStart(Other, Options)).Points,
              testing::IsEmpty());
}

TEST_F(WarmStartTest, WarnsOfDamagedJournals) {
  addStudy("a", "kernel", 16, {{64, 900}});
  std::string Dir = addStudy("b", "kernel", 16, {{128, 900}});
  {
    std::error_code EC;
    raw_fd_ostream(pathIn(Dir, "study.log"), EC, sys::fs::OF_Append)
        << "{damaged}\n";
  }
  EXPECT_THAT(findBlocks(), testing::ElementsAre(64));
  ASSERT_EQ(Start.Warnings.size(), 1u);
  EXPECT_THAT(Start.Warnings[0],
              testing::AllOf(testing::HasSubstr("an earlier study is ignored"),
                             testing::HasSubstr("b/study.log:")));
}

TEST_F(WarmStartTest, FailsWithoutJournals) {
  EXPECT_THAT_EXPECTED(
      findWarmStart(Space, Options),
      FailedWithMessage(testing::HasSubstr("no study.log in it or below")));
  Options.Folders = {pathIn(Folder, "none")};
  EXPECT_THAT_EXPECTED(
      findWarmStart(Space, Options),
      FailedWithMessage(testing::HasSubstr("No such file or directory")));
}

TEST_F(WarmStartTest, RemembersStudies) {
  std::string Store = pathIn(Folder, "store/studies");
  std::string A = addStudy("a", "kernel", 16, {{64, 900}});
  std::string B = addStudy("b", "kernel", 16, {{128, 700}});
  Options.Folders.clear();
  Options.Store = Store;
  EXPECT_THAT(findBlocks(), testing::IsEmpty());
  for (StringRef Dir : {A, B, A})
    EXPECT_THAT_ERROR(rememberStudy(Store, Dir), Succeeded());
  EXPECT_THAT(findBlocks(), testing::ElementsAre(128, 64));
  // One that is named, too, counts once.
  Options.Folders = {A};
  EXPECT_THAT(findBlocks(), testing::ElementsAre(128, 64));
  EXPECT_EQ(Start.NumStudies, 2u);
  Options.Folders.clear();
  sys::fs::remove_directories(B);
  EXPECT_THAT(findBlocks(), testing::ElementsAre(64));
  EXPECT_THAT(Start.Warnings, testing::IsEmpty());
  EXPECT_THAT_ERROR(rememberStudy(Store, A), Succeeded());
  std::error_code EC;
  unsigned NumLinks = 0;
  for (sys::fs::directory_iterator It(Store, EC), End; It != End && !EC;
       It.increment(EC))
    ++NumLinks;
  EXPECT_EQ(NumLinks, 1u);
}

TEST_F(WarmStartTest, FindsTheUsersStore) {
  ::setenv("MNEME_STUDY_STORE", "off", 1);
  EXPECT_EQ(getDefaultStudyStore(), "");
  ::setenv("MNEME_STUDY_STORE", "/somewhere", 1);
  EXPECT_EQ(getDefaultStudyStore(), "/somewhere");
  ::unsetenv("MNEME_STUDY_STORE");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(getDefaultStudyStore(), "/state/mneme/studies");
  // As by its specification.
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/me", 1);
  EXPECT_EQ(getDefaultStudyStore(), "/me/.local/state/mneme/studies");
}

} // namespace
