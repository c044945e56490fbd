//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/UnitText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A unit as clang writes it: main.cu includes k.h, which includes z.h.
static constexpr StringLiteral Unit =
    "# 1 \"<built-in>\"\n"
    "# 1 \"wrapper.h\" 1 3\n"
    "int wrapper;\n"
    "# 1 \"<built-in>\" 2\n"
    "# 1 \"main.cu\"\n"
    "#if defined(__CLANG_REWRITTEN_INCLUDES) /* k.h expanded by "
    "-frewrite-includes */\n"
    "#include \"k.h\"\n"
    "#else /* k.h expanded by -frewrite-includes */\n"
    "# 1 \"main.cu\"\n"
    "# 1 \"./k.h\" 1\n"
    "#ifndef K_H\n"
    "#define K_H\n"
    "#if 0 /* disabled by -frewrite-includes */\n"
    "#if __has_include(<no>) || \\\n"
    "    defined(FOO)\n"
    "#endif\n"
    "#endif /* disabled by -frewrite-includes */\n"
    "#if 0 /* evaluated by -frewrite-includes */\n"
    "# 5 \"./k.h\"\n"
    "int no;\n"
    "#if 0 /* disabled by -frewrite-includes */\n"
    "#if 0\n"
    "#elif X\n"
    "#endif\n"
    "#endif /* disabled by -frewrite-includes */\n"
    "#elif 0 /* evaluated by -frewrite-includes */\n"
    "# 7 \"./k.h\"\n"
    "#endif\n"
    "# 8 \"./k.h\"\n"
    "  #if defined(__CLANG_REWRITTEN_INCLUDES) /* z.h expanded by "
    "-frewrite-includes */\n"
    "#include \"z.h\" // the z\n"
    "#else /* z.h expanded by -frewrite-includes */\n"
    "# 8 \"./k.h\"\n"
    "# 1 \"./z.h\" 1\n"
    "#if 0 /* expanded by -frewrite-includes */\n"
    "#pragma once\n"
    "#endif /* expanded by -frewrite-includes */\n"
    "# 2 \"./z.h\"\n"
    "int z;\n"
    "#endif /* z.h expanded by -frewrite-includes */\n"
    "# 9 \"./k.h\" 2\n"
    "void k() {\n"
    "}\n"
    "int tail;\n"
    "#endif\n"
    "# 13 \"./k.h\"\n"
    "#endif /* k.h expanded by -frewrite-includes */\n"
    "# 2 \"main.cu\" 2\n"
    "int main() {}\n";

static constexpr StringLiteral Header = "#ifndef K_H\n"
                                        "#define K_H\n"
                                        "#if __has_include(<no>) || \\\n"
                                        "    defined(FOO)\n"
                                        "int no;\n"
                                        "#elif X\n"
                                        "#endif\n"
                                        "  #include \"z.h\" // the z\n"
                                        "void k() {\n"
                                        "}\n"
                                        "int tail;\n"
                                        "#endif\n";

static UnitText parse(StringRef File) {
  return cantFail(UnitText::parse(Unit.str(), File));
}

TEST(UnitTextTest, RestoresFiles) {
  EXPECT_EQ(parse("./k.h").original(), Header);
  EXPECT_EQ(parse("main.cu").original(), "#include \"k.h\"\nint main() {}\n");
  EXPECT_EQ(parse("./z.h").original(), "#pragma once\nint z;\n");
}

TEST(UnitTextTest, RefusesMissingAndRepeatedFiles) {
  EXPECT_THAT_EXPECTED(UnitText::parse(Unit.str(), "a.h"),
                       FailedWithMessage("'a.h' is missing in the unit"));
  std::string Twice = Unit.str();
  size_t At = Twice.rfind("# 2 \"main.cu\" 2");
  Twice.insert(At, "# 1 \"./z.h\" 1\nint again;\n# 1 \"./k.h\" 2\n");
  EXPECT_THAT_EXPECTED(UnitText::parse(Twice, "./z.h"),
                       FailedWithMessage("'./z.h' is included 2 times in the "
                                         "unit"));
}

static const SourceBlock TheBlock = {"k", 9, 10};

TEST(UnitTextTest, AddsAndFindsMarkers) {
  std::string Marked = addMarkers(Header, TheBlock);
  EXPECT_THAT(Marked, HasSubstr("// the z\n"
                                "// EVOLVE-BLOCK-START k\n"
                                "void k() {\n"
                                "}\n"
                                "// EVOLVE-BLOCK-END\n"
                                "int tail;"));
  MarkedText Cut = cantFail(cutAtMarkers(Marked));
  EXPECT_THAT(Cut.Names, ElementsAre("k"));
  ASSERT_EQ(Cut.Parts.size(), 3u);
  EXPECT_EQ(Cut.Parts[1], "void k() {\n}\n");
  EXPECT_EQ(Cut.Parts[0].str() + Cut.Parts[1].str() + Cut.Parts[2].str(),
            Header);
}

TEST(UnitTextTest, ComposesTheRest) {
  for (StringRef File : {"./k.h", "main.cu"}) {
    UnitText U = parse(File);
    SourceBlock Block =
        File == "main.cu" ? SourceBlock{"main", 2, 2} : TheBlock;
    std::string Version = addMarkers(U.original(), Block);
    for (bool WithTail : {false, true}) {
      ComposedText All = U.compose(Version, Block, WithTail);
      ComposedText Rest = U.composeRest(Version, Block, WithTail);
      StringRef Fixed = StringRef(All.Text).take_front(All.Fixed);
      EXPECT_EQ(Rest.Text, All.Text.substr(All.Fixed));
      EXPECT_EQ(ArrayRef(Rest.Origins),
                ArrayRef(All.Origins).drop_front(Fixed.count('\n')));
      EXPECT_EQ(Rest.FixedMarkers, All.FixedMarkers);
      EXPECT_EQ(Rest.OpenBefore, countOpenConditionals(Fixed));
    }
  }
}

TEST(UnitTextTest, RefusesUnbalancedMarkers) {
  EXPECT_THAT_EXPECTED(
      cutAtMarkers("// EVOLVE-BLOCK-START\n// EVOLVE-BLOCK-START\n"),
      FailedWithMessage("2:1: a block inside a block: expected "
                        "EVOLVE-BLOCK-END"));
  EXPECT_THAT_EXPECTED(
      cutAtMarkers("a\n// EVOLVE-BLOCK-END"),
      FailedWithMessage("2:1: the end of a block that does not begin"));
  EXPECT_THAT_EXPECTED(
      cutAtMarkers("a\n  // EVOLVE-BLOCK-START\nb"),
      FailedWithMessage("2:1: a block without EVOLVE-BLOCK-END"));
}

/// Returns the lines that the compiler sees as those of k.h, with the numbers
/// that it gives to them.
static std::vector<std::string> number(StringRef Text, StringRef File) {
  std::vector<std::string> Lines;
  std::string Current;
  unsigned Number = 0;
  for (StringRef Line : split(Text, '\n')) {
    StringRef Marker = Line;
    if (Marker.consume_front("# ")) {
      Marker.consumeInteger(10, Number);
      Current = Marker.split('"').second.split('"').first.str();
      continue;
    }
    if (Current == File && !Line.empty())
      Lines.push_back((Twine(Number) + " " + Line).str());
    ++Number;
  }
  return Lines;
}

TEST(UnitTextTest, ComposesTheWholeUnit) {
  UnitText T = parse("./k.h");
  std::string Marked = addMarkers(Header, TheBlock);
  ComposedText All = T.compose(Marked, TheBlock, /*WithTail=*/true);
  EXPECT_THAT(
      number(All.Text, "./k.h"),
      ElementsAre("1 #ifndef K_H", "2 #define K_H", "3 #if 0", "5 int no;",
                  "6 #elif X", "7 #endif", "8   ", "9 // EVOLVE-BLOCK-START k",
                  "9 void k() {", "10 }", "11 // EVOLVE-BLOCK-END",
                  "11 int tail;", "12 #endif",
                  "13 #endif /* k.h expanded by -frewrite-includes */"));
  EXPECT_THAT(All.Text, HasSubstr("int z;"));
  EXPECT_THAT(All.Text, HasSubstr("int main"));
  EXPECT_EQ(All.Origins.size(), size_t(StringRef(All.Text).count('\n')));
  // Behind the inclusion is the end of its line.
  EXPECT_TRUE(StringRef(All.Text).drop_front(All.Fixed).starts_with(
      "\n// EVOLVE-BLOCK-START"));
  EXPECT_EQ(All.FixedMarkers, "# 1 \"main.cu\"\n# 8 \"./k.h\" 1\n");
}

TEST(UnitTextTest, KeepsNumbersBehindAnEditedBlock) {
  UnitText T = parse("./k.h");
  std::string Marked = addMarkers(Header, TheBlock);
  size_t At = Marked.find("void k");
  Marked.insert(At, "int new1;\n#include \"z.h\"\nint new3;\n");
  ComposedText All = T.compose(Marked, TheBlock, /*WithTail=*/true);
  std::vector<std::string> Lines = number(All.Text, "./k.h");
  EXPECT_THAT(Lines, testing::Contains("9 int new1;"));
  EXPECT_THAT(Lines, testing::Contains("11 int new3;"));
  EXPECT_THAT(Lines, testing::Contains("11 int tail;"));
  // The origin of "int new3;" is its line in the version.
  unsigned Line =
      StringRef(All.Text).take_front(All.Text.find("int new3")).count('\n');
  EXPECT_EQ(All.Origins[Line], 12u);
}

TEST(UnitTextTest, LeavesOutTheTail) {
  UnitText T = parse("./k.h");
  std::string Marked = addMarkers(Header, TheBlock);
  ComposedText All = T.compose(Marked, TheBlock, /*WithTail=*/false);
  EXPECT_THAT(All.Text, Not(HasSubstr("int tail")));
  EXPECT_THAT(All.Text, Not(HasSubstr("int main")));
  // That of k.h, and that around it.
  EXPECT_TRUE(StringRef(All.Text).ends_with("#endif\n#endif\n"));
}
