//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Progress.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(Progress, Numbers) {
  EXPECT_EQ(formatNanoseconds(0.5), "0.50 ns");
  EXPECT_EQ(formatNanoseconds(12.34), "12.3 ns");
  EXPECT_EQ(formatNanoseconds(99.97), "100 ns");
  EXPECT_EQ(formatNanoseconds(1234), "1.23 us");
  EXPECT_EQ(formatNanoseconds(123456789), "123 ms");
  EXPECT_EQ(formatNanoseconds(3.5e12), "3500 s");
  EXPECT_EQ(formatSpeedup({1.25, 1.25, 1.25}), "1.250x");
  EXPECT_EQ(formatSpeedup({1.25, 1.2, 1.3}), "1.250x [1.200, 1.300]");
  EXPECT_EQ(formatMetric(40), "40");
  EXPECT_EQ(formatMetric(0.75), "0.75");
}

StudyProgress makeProgress() {
  static const std::map<std::string, uint64_t> Failures = {{"Crash", 1},
                                                           {"Mismatch", 2}};
  StudyProgress P;
  P.Phase = StudyProgress::Search;
  P.Seconds = 10;
  P.Trials = P.InThisRun = 50;
  P.TrialLimit = 200;
  P.Duplicates = 7;
  P.Failed = 3;
  P.Failures = &Failures;
  P.BestTrial = 31;
  P.Metric = "time";
  P.BestValue = 900;
  P.BestSpeedup = RatioEstimate{1.1, 1.05, 1.15};
  return P;
}

TEST(Progress, Line) {
  StudyProgress P = makeProgress();
  EXPECT_EQ(formatProgress(P),
            "10.0 s  50/200 trials  5.0/s  best 1.100x [1.050, 1.150] (#31)  "
            "7 duplicates  3 failed: 1 Crash, 2 Mismatch  30 s left");
  P.SecondsLeft = 15;
  EXPECT_TRUE(StringRef(formatProgress(P)).ends_with("  15 s left"));
  P.BestSpeedup.reset();
  P.Metric = "reg_usage";
  P.BestValue = 32;
  EXPECT_NE(formatProgress(P).find("best reg_usage 32 (#31)"),
            std::string::npos);
  P.Phase = StudyProgress::FinalTest;
  EXPECT_TRUE(
      StringRef(formatProgress(P)).ends_with("  re-testing the best trials"));
  P.PhaseSeconds = 12;
  EXPECT_TRUE(StringRef(formatProgress(P))
                  .ends_with("  re-testing the best trials, about 12 s"));
}

struct PrinterTest : testing::Test {
  std::string Text;
  raw_string_ostream OS{Text};
  double Now = 100;
  std::string take() { return std::exchange(Text, ""); }
};

TEST_F(PrinterTest, LinesWhereThereIsNoTerminal) {
  ProgressPrinter Printer(OS, {}, [&] { return Now; });
  StudyProgress P = makeProgress();
  Printer.update(P);
  EXPECT_EQ(StringRef(take()).count('\n'), 1u);
  Now += 1;
  P.Trials = 51;
  Printer.update(P);
  EXPECT_EQ(take(), "") << "not each time";
  P.BestTrial = 51;
  Printer.update(P);
  EXPECT_NE(take().find("(#51)"), std::string::npos) << "a new best";
  Now += 10;
  Printer.update(P);
  EXPECT_EQ(StringRef(take()).count('\n'), 1u);
  Printer.note("so it is");
  EXPECT_EQ(take(), "note: so it is\n");
}

TEST_F(PrinterTest, OneLineOnATerminal) {
  ProgressPrinter::Style Style;
  Style.Terminal = true;
  Style.Columns = 40;
  StudyProgress P = makeProgress();
  {
    ProgressPrinter Printer(OS, Style, [&] { return Now; });
    Printer.update(P);
    std::string First = take();
    EXPECT_EQ(First, "\r" + formatProgress(P).substr(0, 39) + "\033[K");
    Printer.note("so it is");
    EXPECT_EQ(take(), "\r\033[Knote: so it is\n");
    Now += 1;
    Printer.update(P);
    take();
  }
  EXPECT_EQ(take(), "\r\033[K") << "nothing is left behind";
}

TEST_F(PrinterTest, QuietSaysWhatShouldBeKnown) {
  ProgressPrinter::Style Style;
  Style.Quiet = true;
  ProgressPrinter Printer(OS, Style, [&] { return Now; });
  Printer.update(makeProgress());
  EXPECT_EQ(take(), "");
  Printer.note("so it is");
  EXPECT_EQ(take(), "note: so it is\n");
}

} // namespace
