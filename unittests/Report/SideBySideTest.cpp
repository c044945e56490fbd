//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/SideBySide.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using testing::Not;

/// Each character pair of \p Markers... is a line of both sides.
static SideBySide makeSides(StringRef Good, StringRef Bad) {
  SideBySide S;
  S.Kernel = "k(<int>)";
  S.Facts = {"record 1", "device host"};
  S.Outcome = "both sides leave the same memory";
  S.Names = {"--passes=a<O1>", "--passes=b"};
  S.Code.push_back(
      {"PTX",
       "asm",
       "%r[0-9]+",
       {ShownCode{Good.str(), "", 3}, ShownCode{Bad.str(), "", 4}}});
  return S;
}

static std::string print(const SideBySide &S, unsigned Width = 43) {
  std::string Text;
  raw_string_ostream OS(Text);
  printSideBySide(OS, S, Width);
  return Text;
}

static std::string makePage(const SideBySide &S) {
  SmallString<128> Path;
  EXPECT_FALSE(sys::fs::createTemporaryFile("sides", "html", Path));
  EXPECT_THAT_ERROR(writeSideBySidePage(S, Path), Succeeded());
  std::string Text = cantFail(errorOrToExpected(MemoryBuffer::getFile(Path)))
                         ->getBuffer()
                         .str();
  sys::fs::remove(Path);
  return Text;
}

TEST(SideBySideTest, MarksLines) {
  std::string Text =
      print(makeSides("same\nold\ngone\nend\n", "same\nnew\nend\ncome\n"));
  EXPECT_THAT(Text, HasSubstr("same                   same\n"));
  EXPECT_THAT(Text, HasSubstr("old                  | new\n"));
  EXPECT_THAT(Text, HasSubstr("gone                 <\n"));
  EXPECT_THAT(Text, HasSubstr("                     > come\n"));
  EXPECT_THAT(Text, HasSubstr("PTX: 1 line changed, 1 only on the good side, 1 "
                              "only on the bad side\n"));
}

TEST(SideBySideTest, PairsLinesThatDifferInNumbersOfNames) {
  std::string Text =
      print(makeSides("add %r1, 7;\nmul %r2;\n", "add %r10, 7;\nmul %r2;\n"));
  EXPECT_THAT(Text, HasSubstr("add %r1, 7;          ~ add %r10, 7;\n"));
  EXPECT_THAT(Text, HasSubstr("mul %r2;               mul %r2;\n"));
  EXPECT_THAT(Text, HasSubstr("PTX: 1 line equal except for numbered names"));
  // Other numbers count.
  EXPECT_THAT(print(makeSides("add %r1, 7;\n", "add %r1, 8;\n")),
              HasSubstr("add %r1, 7;          | add %r1, 8;\n"));
}

TEST(SideBySideTest, ContinuesLongLinesAndExpandsTabs) {
  EXPECT_THAT(print(makeSides("\tabcdefghijklmnopqrstuvwxyz\n", "\tx\n")),
              HasSubstr("    abcdefghijklmnop |     x\nqrstuvwxyz\n"));
}

TEST(SideBySideTest, ComparesMetrics) {
  SideBySide S = makeSides("a\n", "b\n");
  S.Metrics[0]["reg_usage"] = 40;
  S.Metrics[1]["reg_usage"] = 50;
  S.Metrics[1]["spills"] = 8;
  S.TimeRatio = RatioEstimate{1.25, 1.2, 1.3};
  std::string Text = print(S);
  EXPECT_THAT(Text, HasSubstr("reg_usage                  40 registers   50 "
                              "registers  +25.0 %\n"));
  EXPECT_THAT(
      Text,
      HasSubstr("spills                                -        8 bytes\n"));
  EXPECT_THAT(Text,
              HasSubstr("asm instructions                      3            "
                        "  4  +33.3 %\n"));
  EXPECT_THAT(Text, HasSubstr("1.250 (1.200 to 1.300)"));
}

TEST(SideBySideTest, SaysWhatIsMissing) {
  SideBySide S = makeSides("a\n", "");
  S.Code[0].Sides[1].Missing = "it crashed";
  EXPECT_THAT(print(S), HasSubstr("PTX: the bad side: it crashed\n"));
  S.Code[0].Sides[0].Missing = "no nvdisasm";
  S.Code[0].Sides[1].Missing = "no nvdisasm";
  EXPECT_THAT(print(S), HasSubstr("PTX: no nvdisasm\n"));
  EXPECT_THAT(print(S), Not(HasSubstr("instructions")));
  EXPECT_THAT(makePage(S), HasSubstr("<p class=\"note\">no nvdisasm</p>"));
}

TEST(SideBySideTest, ShowsTextsThatAreTooLongToCompare) {
  std::string Good, Bad;
  for (int I = 0; I != 6000; ++I) {
    Good += "g" + std::to_string(I) + "\n";
    Bad += "b" + std::to_string(I) + "\n";
  }
  std::string Text = print(makeSides(Good, Bad));
  EXPECT_THAT(Text,
              HasSubstr("PTX: too many different lines for a comparison"));
  EXPECT_THAT(Text, HasSubstr("g5999                | b5999\n"));
}

TEST(SideBySideTest, WritesAPage) {
  std::string Page =
      makePage(makeSides("a <b> & c\nx = old + 1\ngone\nend %r1\n",
                         "a <b> & c\nx = new + 1\nend %r2\n"));
  EXPECT_THAT(Page, HasSubstr("<h1>k(&lt;int&gt;)</h1>"));
  EXPECT_THAT(Page, HasSubstr("<p>record 1 · device host</p>"));
  EXPECT_THAT(Page, HasSubstr("<code>--passes=a&lt;O1&gt;</code>"));
  EXPECT_THAT(Page, HasSubstr("<td class=\"l\">a &lt;b&gt; &amp; c</td>"));
  EXPECT_THAT(Page, HasSubstr("<tr class=\"changed\"><td class=\"l\">x = "
                              "<del>old</del> + 1</td><td class=\"mark\">|</td>"
                              "<td class=\"r\">x = <ins>new</ins> + 1</td>"));
  EXPECT_THAT(Page, HasSubstr("<tr class=\"gone\"><td class=\"l\">gone</td><td "
                              "class=\"mark\">&lt;</td><td class=\"r\"></td>"));
  EXPECT_THAT(Page, HasSubstr("<tr class=\"numbers\"><td class=\"l\">end %r1"));
  EXPECT_THAT(Page, HasSubstr("prefers-color-scheme: dark"));
  for (const char *Outside : {"<script", "http:", "https:", "src="})
    EXPECT_THAT(Page, Not(HasSubstr(Outside)));
}
