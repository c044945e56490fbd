//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Diagnostics.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

static SourcePosition keep(SourcePosition P) { return P; }

TEST(DiagnosticsTest, ReadsPositionsNotesAndFixIts) {
  std::vector<SourceDiagnostic> All = parseDiagnostics(
      "In file included from x.h:3:\n"
      "/a b/k.cu:12:7: error: use of undeclared identifier 'foo: x'\n"
      "   12 |   foo: x(\"k.cu:1:1: error: text\");\n"
      "      |   ^~~\n"
      "      |   for\"\n"
      "fix-it:\"marker.cu\":{12:7-12:10}:\"for\\\"\"\n"
      "k.cu:3:1: note: 'for' declared here\n"
      "k.cu:9:2: warning: unused variable 'x' [-Wunused-variable]\n"
      "fatal error: too many errors emitted, stopping now\n"
      "2 errors generated.\n",
      keep);
  ASSERT_EQ(All.size(), 3u);
  EXPECT_EQ(All[0].Where.File, "/a b/k.cu");
  EXPECT_EQ(All[0].Where.Line, 12u);
  EXPECT_EQ(All[0].Where.Column, 7u);
  EXPECT_EQ(All[0].Message, "use of undeclared identifier 'foo: x'");
  ASSERT_EQ(All[0].FixIts.size(), 1u);
  EXPECT_EQ(All[0].FixIts[0].Begin.File, "/a b/k.cu");
  EXPECT_EQ(All[0].FixIts[0].End.Column, 10u);
  EXPECT_EQ(All[0].FixIts[0].Text, "for\"");
  ASSERT_EQ(All[0].Notes.size(), 1u);
  EXPECT_EQ(All[0].Notes[0].Where.Line, 3u);
  EXPECT_EQ(All[1].Severity, "warning");
  EXPECT_FALSE(All[1].isError());
  EXPECT_EQ(All[2].Severity, "fatal error");
  EXPECT_EQ(All[2].Where.Line, 0u);
}

TEST(DiagnosticsTest, SurvivesJSON) {
  std::vector<SourceDiagnostic> All =
      parseDiagnostics("k.cu:1:2: error: a\nfix-it:\"k.cu\":{1:2-1:3}:\"b\"\n"
                       "k.cu:4:5: note: c\n",
                       keep);
  json::Value V = toJSON(All.front());
  SourceDiagnostic Again;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(V, Again, Root));
  EXPECT_EQ(toJSON(Again), V);
}

TEST(DiagnosticsTest, PrintsErrorsFirstWithTheirLines) {
  std::vector<SourceDiagnostic> All(2);
  All[0].Severity = "warning";
  All[0].Message = "w";
  All[1].Severity = "error";
  All[1].Message = "e";
  All[1].Where = {"kernel.cu", 2, 4};
  EXPECT_EQ(printDiagnostics(All, "one\n\ttwo\n"), "kernel.cu:2:4: error: e\n"
                                                   "  \ttwo\n"
                                                   "  \t  ^\n"
                                                   "warning: w");
}

TEST(DiagnosticsTest, PrintsAtMostTwentyKilobytes) {
  std::vector<SourceDiagnostic> All(1000);
  for (SourceDiagnostic &D : All) {
    D.Severity = "error";
    D.Message = std::string(100, 'x');
  }
  std::string Text = printDiagnostics(All, "");
  EXPECT_LE(Text.size(), MaxDiagnosticText);
  EXPECT_THAT(Text, testing::EndsWith(" more"));
}
