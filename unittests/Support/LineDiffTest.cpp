//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/LineDiff.h"
#include "gtest/gtest.h"
#include <random>
#include <regex>

using namespace llvm;
using namespace llvm::mneme;

static std::string print(ArrayRef<StringRef> A, ArrayRef<StringRef> B) {
  std::string Text;
  std::vector<DiffLine> Lines = *compareLines(A, B);
  for (const DiffLine &L : Lines) {
    Text += L.Kind;
    Text += L.Kind == '+' ? B[L.B] : A[L.A];
  }
  return Text;
}

TEST(LineDiffTest, FindsCommonLines) {
  EXPECT_EQ(print({"a", "b", "c"}, {"a", "b", "c"}), " a b c");
  EXPECT_EQ(print({"a", "b", "c"}, {"a", "c"}), " a-b c");
  EXPECT_EQ(print({"a", "c"}, {"a", "b", "c"}), " a+b c");
  EXPECT_EQ(print({"a", "b", "c"}, {"a", "x", "c"}), " a-b+x c");
  EXPECT_EQ(print({"x", "a", "b"}, {"a", "b", "y"}), "-x a b+y");
  EXPECT_EQ(print({}, {"a"}), "+a");
  EXPECT_EQ(print({"a"}, {}), "-a");
}

TEST(LineDiffTest, HasTheIndicesOfBothTexts) {
  std::vector<DiffLine> Lines =
      *compareLines({"a", "x", "b", "z"}, {"a", "b", "y", "z"});
  ASSERT_EQ(Lines.size(), 5u);
  EXPECT_EQ(Lines[1].Kind, '-');
  EXPECT_EQ(Lines[2].Kind, ' ');
  EXPECT_EQ(Lines[2].A, 2u);
  EXPECT_EQ(Lines[2].B, 1u);
  EXPECT_EQ(Lines[3].Kind, '+');
  EXPECT_EQ(Lines[4].A, 3u);
  EXPECT_EQ(Lines[4].B, 3u);
}

TEST(LineDiffTest, GivesUpOnTooManyDifferences) {
  std::vector<StringRef> A(6000, "a"), B(6000, "b");
  EXPECT_FALSE(compareLines(A, B));
  // What is the same at both ends costs nothing.
  B = A;
  B[3000] = "b";
  EXPECT_TRUE(compareLines(A, B));
}

TEST(LineDiffTest, SplitsLines) {
  EXPECT_EQ(splitLines(""), std::vector<StringRef>());
  EXPECT_EQ(splitLines("a\n\nb"), (std::vector<StringRef>{"a", "", "b"}));
  EXPECT_EQ(splitLines("a\n"), std::vector<StringRef>{"a"});
}

TEST(LineDiffTest, MakesUnifiedDiffs) {
  EXPECT_EQ(makeDiff("a\n", "a\n"), "");
  EXPECT_EQ(makeDiff("a\nb\nc\nd\n", "a\nb\nx\nd\n", 1),
            "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n");
}

TEST(LineDiffTest, RenumberedValues) {
  StringRef Code = "%1 = load a\n%2 = load b\n%3 = sub %1, %2, !7\n";
  EXPECT_EQ(makeCodeDiff(Code, "%4 = load a\n%5 = load b\n"
                               "%6 = sub %4, %5, !9\n"),
            "");
  // A line more, and operands the other way round.
  EXPECT_EQ(makeCodeDiff(Code,
                         "%1 = load c\n%2 = load a\n%3 = load b\n"
                         "%4 = sub %2, %3, !7\n",
                         0),
            "@@ -1,0 +1,1 @@\n+%1 = load c\n");
  EXPECT_EQ(
      makeCodeDiff(Code, "%4 = load a\n%5 = load b\n%6 = sub %5, %4, !7\n", 0),
      "@@ -3,1 +3,1 @@\n-%3 = sub %1, %2, !7\n+%6 = sub %5, %4, !7\n");
}

TEST(LineDiffTest, ANumberMayBeNew) {
  // Names that get a number are the same names; these have other operands.
  EXPECT_EQ(makeCodeDiff("%x.lcssa = phi [ %a, %b ]\n"
                         "%y = add %x.lcssa, %x.lcssa\n",
                         "%x.lcssa5 = phi [ %a9, %b7 ]\n"
                         "%y = add %x.lcssa5, %x.lcssa5\n",
                         3, "%"),
            "");
  EXPECT_EQ(makeCodeDiff("%a = f\n%b = f\n%x = phi [ %a, %b ]\nret %x\n",
                         "%a = f\n%b = f\n%x1 = phi [ %b, %a ]\nret %x1\n", 0,
                         "%"),
            "@@ -3,1 +3,1 @@\n-%x = phi [ %a, %b ]\n+%x1 = phi [ %b, %a ]\n");
}

/// Lines with the same text between their names have as many names, whatever
/// these are. A diff has all lines of both sides.
TEST(LineDiffTest, NamesOfAnyForm) {
  StringRef Words[] = {"%",  "%a", "%a1", "%a1b2", "%12", "%.5", "%-",
                       "%%", " ",  "= ",  "f",     "3",   "@g",  "@g4"};
  std::mt19937 Random(1);
  auto Make = [&](unsigned Lines) {
    std::string Text;
    for (unsigned I = 0; I != Lines; ++I) {
      for (unsigned N = Random() % 5; N; --N)
        Text += Words[Random() % std::size(Words)];
      Text += "x\n";
    }
    return Text;
  };
  for (unsigned Round = 0; Round != 2000; ++Round) {
    std::string A = Make(1 + Random() % 8), B = Make(1 + Random() % 8);
    if (Round % 2) // Only numbers differ.
      B = std::regex_replace(A, std::regex("[0-9]+"),
                             Round % 4 == 1 ? "" : "7");
    for (StringRef Sigils : {"%", "%@"}) {
      std::string Diff = makeCodeDiff(A, B, /*Context=*/99, Sigils);
      if (Diff.empty())
        continue;
      size_t OfA = 0, OfB = 0;
      for (StringRef Line : drop_begin(splitLines(Diff))) {
        OfA += !Line.starts_with("+");
        OfB += !Line.starts_with("-");
      }
      EXPECT_EQ(OfA, splitLines(A).size()) << A << "\n" << B;
      EXPECT_EQ(OfB, splitLines(B).size()) << A << "\n" << B;
    }
  }
}

TEST(LineDiffTest, AValueOfARemovedLineIsNoneOfAnAddedOne) {
  StringRef Before = "%i7 = alloca i64\n"
                     "store %i7\n"
                     "%i20 = load ptr @g\n"
                     "%i22 = gep %i20\n"
                     "%i23 = load i64, ptr %i22\n"
                     "%i24 = load i64, ptr %i7\n"
                     "ret %i24\n";
  StringRef After = "%i20 = load ptr @g\n"
                    "%i22 = gep i8, %i20\n"
                    "%i23 = load i64, ptr %i22\n"
                    "ret %i23\n";
  EXPECT_EQ(makeCodeDiff(Before, After, 1, "%"),
            "@@ -1,7 +1,4 @@\n"
            "-%i7 = alloca i64\n"
            "-store %i7\n"
            " %i20 = load ptr @g\n"
            "-%i22 = gep %i20\n"
            "+%i22 = gep i8, %i20\n"
            " %i23 = load i64, ptr %i22\n"
            "-%i24 = load i64, ptr %i7\n"
            "-ret %i24\n"
            "+ret %i23\n");
}

TEST(LineDiffTest, FunctionsHaveNamesOfTheirOwn) {
  EXPECT_EQ(makeCodeDiff("f {\n%1 = a\nret %1\n}\ng {\n%1 = b\nret %1\n}\n",
                         "f {\n%2 = a\nret %2\n}\ng {\n%3 = b\nret %3\n}\n", 3,
                         "%"),
            "");
}

TEST(LineDiffTest, AReplacedDefinitionKeepsItsUses) {
  EXPECT_EQ(makeCodeDiff("%1 = a\n%2 = use %1\nret %2\n",
                         "%1 = x\n%2 = b\n%3 = use %2\nret %3\n", 0, "%"),
            "@@ -1,1 +1,2 @@\n-%1 = a\n+%1 = x\n+%2 = b\n");
}
