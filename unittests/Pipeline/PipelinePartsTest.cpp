//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Pipeline/PipelineParts.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(PipelinePartsTest, ParsesWhatItPrints) {
  for (StringRef Text :
       {"sroa", "default<O3>", "module(function(sroa,gvn),globaldce)",
        "function<eager-inv>(simplifycfg<a;no-b;bonus-inst-threshold=3>,"
        "loop-mssa(licm<allowspeculation>),mem2reg)",
        "cgscc(devirt<4>(inline,function(sroa<modify-cfg>)))"}) {
    std::optional<PipelineParts> P = PipelineParts::parse(Text);
    ASSERT_TRUE(P) << Text.str();
    EXPECT_EQ(P->print(), Text);
  }
  // Special characters of spaces are ordinary ones, except brackets.
  for (StringRef Text :
       {"a<b<c;d>;e>(f)", "$a={b|c}?,[1..2]", "x\\y#z", "perm(a,b),seq(c)"}) {
    std::optional<PipelineParts> P = PipelineParts::parse(Text);
    ASSERT_TRUE(P) << Text.str();
    EXPECT_EQ(P->print(), Text);
  }
  EXPECT_EQ(PipelineParts::parse(" function( sroa , gvn ) ")->print(),
            "function(sroa,gvn)");
}

TEST(PipelinePartsTest, RefusesWhatIsNone) {
  for (StringRef Text : {"", "a,", "a,,b", "f(a", "f(a))", "f(", "a<b", "f()",
                         "a>b", "(a)", "f(a)b"})
    EXPECT_FALSE(PipelineParts::parse(Text)) << Text.str();
}

TEST(PipelinePartsTest, ParsesLongerTextsThanSpaces) {
  std::string Text = "gvn";
  for (unsigned I = 0; I != 30000; ++I)
    Text += ",gvn";
  std::optional<PipelineParts> P = PipelineParts::parse(Text);
  ASSERT_TRUE(P);
  EXPECT_EQ(P->partsOfLevel(0).size(), 30001u);
}

TEST(PipelinePartsTest, LeavesOut) {
  PipelineParts P =
      *PipelineParts::parse("function(a<x;y>,b,loop(c,d)),module(e)");
  EXPECT_EQ(P.numLevels(), 4u);
  EXPECT_EQ(P.partsOfLevel(0).size(), 2u);
  std::vector<unsigned> Level1 = P.partsOfLevel(1);
  ASSERT_EQ(Level1.size(), 4u);
  EXPECT_EQ(P.partsOfLevel(2).size(), 2u);
  EXPECT_EQ(P.partsOfLevel(3).size(), 2u) << "parameters";
  for (unsigned Part : P.partsOfLevel(2))
    P.setKept(Part, false);
  EXPECT_EQ(P.print(), "function(a<x;y>,b),module(e)") << "an empty nest";
  P.setKept(P.partsOfLevel(3)[0], false);
  EXPECT_EQ(P.print(), "function(a<y>,b),module(e)");
  P.setKept(Level1[0], false);
  EXPECT_TRUE(P.partsOfLevel(3).empty()) << "of what is left out";
  P.setKept(P.partsOfLevel(0)[0], false);
  EXPECT_EQ(P.print(), "module(e)");
  P.setKept(P.partsOfLevel(0)[0], false);
  EXPECT_EQ(P.print(), "");
}

} // namespace
