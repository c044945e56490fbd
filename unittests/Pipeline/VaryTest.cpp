//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

namespace {

PipelineSpace parseSpace(StringRef Text) {
  return cantFail(PipelineSpace::parse(Text));
}

std::vector<std::string> neighbours(StringRef Space, StringRef Pipeline) {
  PipelineSpace S = parseSpace(Space);
  std::vector<std::string> All;
  for (const PipelinePoint &P : S.neighbours(S.find(Pipeline).value()))
    All.push_back(S.print(P));
  return All;
}

TEST(VaryTest, NeighboursOfChoices) {
  EXPECT_THAT(neighbours("{a|b|c},d?", "b"),
              UnorderedElementsAre("a", "c", "b,d"));
  EXPECT_THAT(neighbours("x<[1..100]>", "x<50>"),
              UnorderedElementsAre("x<49>", "x<51>"));
  EXPECT_THAT(neighbours("x<[1..3]>", "x<1>"), ElementsAre("x<2>"));
  EXPECT_THAT(neighbours("{a|x<[1..9]>}", "a"), ElementsAre("x<1>"));
  EXPECT_THAT(neighbours("$n={a|b},$n", "a,a"), ElementsAre("b,b"));
  EXPECT_THAT(neighbours("a,b", "a,b"), IsEmpty());
}

TEST(VaryTest, NeighboursOfPermutationsSwapTwo) {
  EXPECT_THAT(neighbours("perm(a,b,c,d)", "c,a,d,b"),
              UnorderedElementsAre("a,c,d,b", "c,d,a,b", "c,a,b,d"));
}

TEST(VaryTest, NeighboursOfSequences) {
  EXPECT_THAT(neighbours("seq<1..3>(a|b)", "a,b"),
              UnorderedElementsAre("b,b", "a,a",          // replaced
                                   "b", "a",              // removed
                                   "b,a",                 // swapped
                                   "a,a,b", "b,a,b", "a,b,b", "a,b,a"));
  EXPECT_THAT(neighbours("seq<2>(a|b)", "a,b"),
              UnorderedElementsAre("b,b", "a,a", "b,a"));
  // What is in an element goes with it.
  EXPECT_THAT(neighbours("seq<0..2>(x<[1..9]>)", "x<5>,x<7>"),
              UnorderedElementsAre("x<4>,x<7>", "x<6>,x<7>", "x<5>,x<6>",
                                   "x<5>,x<8>", "x<5>", "x<7>", "x<7>,x<5>"));
}

TEST(VaryTest, SomeOfManyNeighbours) {
  PipelineSpace S =
      parseSpace("seq<1..20>(a|b|{c|d}|x<[1..9]>),perm(e,f,g,h)?");
  RandomEngine R(1);
  for (unsigned I = 0; I != 20; ++I) {
    PipelinePoint P = S.sample(R);
    std::vector<PipelinePoint> All = S.neighbours(P);
    std::set<PipelinePoint> Known(All.begin(), All.end());
    EXPECT_EQ(S.neighbours(P, All.size() + 100, R), All);
    std::set<PipelinePoint> Some;
    for (const PipelinePoint &Q : S.neighbours(P, 5, R)) {
      EXPECT_TRUE(Known.count(Q));
      EXPECT_TRUE(Some.insert(Q).second);
    }
    EXPECT_LE(Some.size(), 5u);
    EXPECT_GT(Some.size(), 0u);
  }
}

TEST(VaryTest, SamplesOfLargeSpacesAreUniform) {
  // Named choices that are used often, and none.
  for (StringRef Text :
       {"seq<0..40>(a|{b|c}?|perm(d,e,f)|x<[1..5]>),perm(g?,{h|i},j)",
        "{seq<2..30>(a|b|c|d|e),x<[1..1000]>|seq<30>({a|b|c},d?)}",
        "$n={a|b|c},seq<1..50>($n|perm(d,e)|f)"}) {
    SCOPED_TRACE(Text.str());
    PipelineSpace S = parseSpace(Text);
    APInt Count = S.count();
    ASSERT_GT(Count.getActiveBits(), 64u);
    constexpr unsigned Draws = 8000, Parts = 16;
    unsigned Width = Count.getBitWidth() + 8;
    APInt Part = (Count.zext(Width) + (Parts - 1)).udiv(APInt(Width, Parts));
    std::vector<unsigned> High(Parts), Low(Parts);
    RandomEngine R(1);
    for (unsigned I = 0; I != Draws; ++I) {
      PipelinePoint P = S.sample(R), Canonical = P;
      S.canonicalize(Canonical);
      ASSERT_EQ(P, Canonical);
      APInt Index = S.indexOf(P);
      ++High[Index.zext(Width).udiv(Part).getZExtValue()];
      ++Low[Index.urem(Parts)];
    }
    // Five standard deviations.
    double Mean = double(Draws) / Parts, Most = 5 * std::sqrt(Mean);
    for (unsigned I = 0; I != Parts; ++I) {
      EXPECT_NEAR(High[I], Mean, Most) << I;
      EXPECT_NEAR(Low[I], Mean, Most) << I;
    }
  }
}

TEST(VaryTest, SamplesAreUniform) {
  // 84 points; an alternative with more points below it comes more often.
  PipelineSpace S = parseSpace("seq<1..3>(gvn|licm?|dse)");
  ASSERT_EQ(S.count(), 84u);
  RandomEngine Random(7);
  std::map<uint64_t, double> Count;
  constexpr double Expected = 200;
  for (unsigned I = 0; I != 84 * Expected; ++I)
    ++Count[S.indexOf(S.sample(Random)).getZExtValue()];
  double ChiSquare = 0;
  for (uint64_t I = 0; I != 84; ++I)
    ChiSquare += (Count[I] - Expected) * (Count[I] - Expected) / Expected;
  // 83 degrees of freedom: one in 10^5 is above.
  EXPECT_LT(ChiSquare, 148);
  EXPECT_GT(ChiSquare, 35);
}

TEST(VaryTest, SameSeedSamePoints) {
  PipelineSpace S = parseSpace("seq<0..20>(a|b|c<[1..99]>|d?),perm(e,f,g,h)");
  RandomEngine A(3), B(3);
  PipelinePoint P = S.sample(A), Q = S.sample(B);
  for (unsigned I = 0; I != 20; ++I) {
    EXPECT_EQ(P = S.mutate(P, A), Q = S.mutate(Q, B));
    EXPECT_EQ(S.crossover(P, S.sample(A), A), S.crossover(Q, S.sample(B), B));
  }
}

TEST(VaryTest, MutationReachesAllPoints) {
  for (StringRef Text :
       {"seq<1..3>(gvn|licm?|dse)", "perm(a,b,c,d)", "x<[1..30]>,{a|b?}",
        "$n={a|b|c},seq<0..2>($n|d)"}) {
    PipelineSpace S = parseSpace(Text);
    RandomEngine Random(11);
    PipelinePoint P = S.at(APInt(64, 0));
    std::set<PipelinePoint> Seen;
    for (unsigned I = 0; I != 5000; ++I)
      Seen.insert(P = S.mutate(P, Random));
    EXPECT_EQ(S.count(), Seen.size()) << Text.str();
  }
}

TEST(VaryTest, MutationOfASequenceIsOneEdit) {
  PipelineSpace S = parseSpace("seq<4..8>(a|b|c|d|e)");
  RandomEngine Random(1);
  PipelinePoint P = S.find("a,b,c,d,e,a").value();
  std::set<size_t> Sizes;
  for (unsigned I = 0; I != 300; ++I) {
    std::string Text = S.print(S.mutate(P, Random));
    SmallVector<StringRef> Words;
    StringRef(Text).split(Words, ',');
    Sizes.insert(Words.size());
    // Without those at its ends that are as before, little is left.
    SmallVector<StringRef> Old;
    StringRef("a,b,c,d,e,a").split(Old, ',');
    while (!Old.empty() && !Words.empty() && Old.back() == Words.back()) {
      Old.pop_back();
      Words.pop_back();
    }
    auto [X, Y] = std::mismatch(Old.begin(), Old.end(), Words.begin(),
                                Words.end());
    SmallVector<StringRef> A(X, Old.end()), B(Y, Words.end());
    if (A.size() == B.size() && A.size() > 1) { // swapped or moved
      llvm::sort(A);
      llvm::sort(B);
      EXPECT_EQ(A, B) << Text;
    } else {
      EXPECT_LE(A.size() + B.size(), 2u) << Text;
    }
  }
  EXPECT_THAT(Sizes, ElementsAre(5, 6, 7));
}

TEST(VaryTest, CrossoverTakesFromBoth) {
  PipelineSpace S = parseSpace("{a|b|c},{d|e|f},x<[1..9]>");
  PipelinePoint A = S.find("a,d,x<3>").value();
  PipelinePoint B = S.find("c,f,x<8>").value();
  RandomEngine Random(5);
  std::set<std::string> Seen;
  for (unsigned I = 0; I != 200; ++I)
    Seen.insert(S.print(S.crossover(A, B, Random)));
  EXPECT_THAT(Seen, UnorderedElementsAre("a,d,x<3>", "a,d,x<8>", "a,f,x<3>",
                                         "a,f,x<8>", "c,d,x<3>", "c,d,x<8>",
                                         "c,f,x<3>", "c,f,x<8>"));
}

TEST(VaryTest, CrossoverSplicesSequences) {
  PipelineSpace S = parseSpace("f(seq<2..5>(a|b|c|d))");
  PipelinePoint A = S.find("f(a,b,a)").value();
  PipelinePoint B = S.find("f(c,c,d,d)").value();
  RandomEngine Random(5);
  for (unsigned I = 0; I != 200; ++I) {
    std::string Text = S.print(S.crossover(A, B, Random));
    StringRef Inner = Text;
    ASSERT_TRUE(Inner.consume_front("f(") && Inner.consume_back(")"));
    // The begin of one and the end of the other.
    size_t Head = 0;
    while (Head < Inner.size() && Head < 5 && Inner[Head] == "a,b,a"[Head])
      ++Head;
    StringRef Tail = Inner.drop_front(Head).ltrim(',');
    EXPECT_TRUE(StringRef("c,c,d,d").ends_with(Tail)) << Text;
    EXPECT_LE(Inner.count(',') + 1, 5u);
    EXPECT_GE(Inner.count(',') + 1, 2u);
  }
}

TEST(VaryTest, CrossoverOfPermutationsIsOneOfThem) {
  PipelineSpace S = parseSpace("perm(a,b,c,d)");
  PipelinePoint A = S.find("a,b,c,d").value();
  PipelinePoint B = S.find("d,c,b,a").value();
  RandomEngine Random(5);
  std::set<std::string> Seen;
  for (unsigned I = 0; I != 50; ++I)
    Seen.insert(S.print(S.crossover(A, B, Random)));
  EXPECT_THAT(Seen, ElementsAre("a,b,c,d", "d,c,b,a"));
}

} // namespace
