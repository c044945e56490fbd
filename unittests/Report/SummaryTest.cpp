//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/Summary.h"
#include "SampleStudy.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using testing::Not;

namespace {

class SummaryTest : public testing::Test {
protected:
  std::string print() const {
    std::string Text;
    raw_string_ostream OS(Text);
    printSummary(OS, R);
    return Text;
  }

  SearchSpace Space = makeSampleSpace();
  std::vector<Trial> Trials = makeSampleTrials(Space, 40);
  StudyOutcome Outcome = makeSampleOutcome(Trials, /*Win=*/true);
  StudyRecord R = makeSampleRecord(Space, Trials, Outcome);
};

TEST_F(SummaryTest, SaysWhichInstructionsChangedMost) {
  R.BaselineInstructions = {{"FFMA", 10}, {"LDG", 8}, {"MOV", 4}};
  R.BestInstructions = {{"BAR", 4}, {"FFMA", 40}, {"LDG", 4}, {"MOV", 4}};
  EXPECT_THAT(print(), HasSubstr("instructions  22 -> 52: FFMA 10 -> 40, "
                                 "BAR 0 -> 4, LDG 8 -> 4\n"));
}

TEST_F(SummaryTest, SaysSixKindsOfInstructions) {
  R.BaselineInstructions.clear();
  R.BestInstructions.clear();
  for (StringRef Name : {"A", "B", "C", "D", "E", "F", "G"}) {
    R.BaselineInstructions[Name.str()] = 1;
    R.BestInstructions[Name.str()] = 2;
  }
  EXPECT_THAT(print(), HasSubstr(", E 1 -> 2, F 1 -> 2\n"));
}

TEST_F(SummaryTest, SaysThatNoInstructionsChanged) {
  R.BestInstructions = R.BaselineInstructions;
  EXPECT_THAT(
      print(),
      HasSubstr("instructions  124 -> 124, with equal counts of each kind\n"));
}

TEST_F(SummaryTest, SaysHowTheBestCandidateCompares) {
  Outcome = makeSampleOutcome(Trials, /*Win=*/false);
  FinalTestResult &F = Outcome.Final;
  F.MinEffect = 0.005;
  auto Print = [&](RatioEstimate Speedup) {
    F.Confirmed->Speedup = F.Candidates[0].Speedup = Speedup;
    return print();
  };
  EXPECT_THAT(Print({1.102, 0.953, 1.150}),
              HasSubstr("best          no significant difference from the "
                        "baseline: 1.102x [0.953, 1.150] (trial 33)\n"));
  std::string Slower = Print({0.979, 0.973, 0.984});
  EXPECT_THAT(Slower,
              HasSubstr("best          significantly slower than the "
                        "baseline: 0.979x [0.973, 0.984] (trial 33)\n"));
  EXPECT_THAT(Slower, HasSubstr("re-test 0.979x [0.973, 0.984], "
                                "significantly slower\n"));
  EXPECT_THAT(Print({1.002, 1.001, 1.003}),
              HasSubstr("best          no practical difference from the "
                        "baseline (--min-effect=0.5): 1.002x [1.001, 1.003] "
                        "(trial 33)\n"));
}

TEST_F(SummaryTest, SaysWhichChangesFollow) {
  Outcome.Why->Changes = {{"block.x", 64, 64, {}},
                          {"grid.x", 400, 400, {"block.x"}},
                          {"maxnreg", 32, 32, {}}};
  EXPECT_THAT(print(), HasSubstr("reason        block.x=64 (grid.x=400 from "
                                 "block.x) maxnreg=32  keeps 97 % of the win: "
                                 "1.550x"));
  Outcome.Why->Changes.clear();
  EXPECT_THAT(print(), HasSubstr("reason        the recorded configuration, "
                                 "compiled again  keeps 97 % of the win: "
                                 "1.550x"));
}

TEST_F(SummaryTest, SaysWhatLimitsTheResults) {
  EXPECT_THAT(print(), Not(HasSubstr("caveat")));
  R.Caveats = {"times are those of a CPU"};
  EXPECT_THAT(print(), HasSubstr("caveat        times are those of a CPU\n"));
  EXPECT_EQ(*makeSummary(R).getAsObject()->getArray("caveats"),
            json::Array{"times are those of a CPU"});
}

TEST_F(SummaryTest, SaysThatNoPointWasLeft) {
  EXPECT_THAT(print(), Not(HasSubstr("no more points")));
  Outcome.End = StudyEnd::Exhausted;
  EXPECT_THAT(print(),
              HasSubstr("the sampler 'lfbo' has no more points to try\n"));
}

TEST_F(SummaryTest, HasNoInstructionsThatNobodyCounted) {
  json::Value Counted = makeSummary(R);
  const json::Object *Mix = Counted.getAsObject()->getObject("instructions");
  ASSERT_TRUE(Mix);
  EXPECT_EQ(Mix->getObject("baseline")->getInteger("LDG"), 20);
  EXPECT_EQ(Mix->getObject("best")->getInteger("LDG"), 12);
  R.BestInstructions.clear();
  json::Value Uncounted = makeSummary(R);
  EXPECT_FALSE(Uncounted.getAsObject()->get("instructions"));
  EXPECT_THAT(print(), Not(HasSubstr("instructions")));
}

} // namespace
