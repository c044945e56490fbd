//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// Returns the expression that is suggested for the difference of two outputs.
std::string suggest(StringRef A, StringRef B) {
  std::string How = explainOutputs(A, B, "");
  StringRef Rest = How;
  Rest = Rest.split("--ignore-lines=").second;
  return Rest.split(", if they").first.trim('\'').str();
}

TEST(ApplicationTest, FewBeginnings) {
  EXPECT_EQ(suggest("sum 5\ntime 0.41 s\n", "sum 5\ntime 0.39 s\n"), "^time");
  EXPECT_EQ(suggest("sum 5\nrate 7\ntime: 1\n", "sum 5\nrate 8\ntime: 2\n"),
            "^(rate|time:)");
}

/// As BabelStream prints them.
TEST(ApplicationTest, RowsOfATable) {
  StringRef Names[] = {"Init:", "Read:", "Copy", "Mul", "Add", "Triad", "Dot"};
  auto Print = [&](int Time) {
    std::string Text = "BabelStream\nFunction    MBytes/sec  Min (sec)\n";
    for (StringRef Name : Names)
      Text +=
          (Name + "     " + Twine(Time++) + ".5   0.00" + Twine(Time) + "  \n")
              .str();
    return Text;
  };
  EXPECT_EQ(suggest(Print(10), Print(20)),
            "^(Init:|Read:|Copy|Mul|Add|Triad|Dot)");
}

TEST(ApplicationTest, ManyRows) {
  std::string A = "kernel calls time\nPASS\n", B = A;
  for (char C = 'a'; C != 'z'; ++C) {
    A += std::string("k") + C + " 3 1.5\n";
    B += std::string("k") + C + " 3 1.25e+02\n";
  }
  std::string Text = suggest(A, B);
  Regex Ignored(Text);
  std::string Error;
  ASSERT_TRUE(Ignored.isValid(Error)) << Error;
  EXPECT_TRUE(Ignored.match("kb 3 1.5"));
  EXPECT_FALSE(Ignored.match("PASS"));
  EXPECT_EQ(explainOutputs(A, B, Text), "");
}

TEST(ApplicationTest, CommonUnit) {
  std::string A = "PASS\n", B = A;
  for (unsigned I = 0; I != 9; ++I) {
    A += utostr(I) + ": 10" + utostr(I) + " GB/s\n";
    B += utostr(I) + ": 20" + utostr(I) + " GB/s\n";
  }
  EXPECT_EQ(suggest(A, B), "[0-9] GB/s$");
}

/// Lines that were equal are results: they stay.
TEST(ApplicationTest, NoResultIsIgnored) {
  EXPECT_EQ(
      suggest("time steps: 100\ntime 1.5 s\n", "time steps: 100\ntime 1.6 s\n"),
      "[0-9] s$");
  std::string A, B;
  for (char C = 'a'; C != 'z'; ++C) {
    A += std::string("k") + C + " 3 1.5\n";
    B += std::string("k") + C + " 3 1.6\n";
  }
  EXPECT_EQ(suggest("sum 5 7\n" + A, "sum 5 7\n" + B), "REGEX");
  // Nothing else would be left.
  EXPECT_EQ(suggest("time 1\n", "time 2\n"), "REGEX");
  // These have nothing in common.
  EXPECT_EQ(suggest("PASS\nx: 1\n2 y\n", "PASS\nx: 2\n3 y\n"), "REGEX");
  EXPECT_EQ(suggest("PASS\nfast 1\n", "PASS\nslow 1\n"), "REGEX");
}

} // namespace
