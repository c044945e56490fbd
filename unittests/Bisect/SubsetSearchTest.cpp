//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/SubsetSearch.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// Answers by a function of the position, and counts.
struct Positions {
  std::function<Answer(size_t)> Is;
  unsigned Asked = 0, Batches = 0;

  Expected<std::vector<Answer>> operator()(ArrayRef<size_t> Some) {
    std::vector<Answer> Answers;
    ++Batches;
    for (size_t P : Some) {
      ++Asked;
      Answers.push_back(Is(P));
    }
    return Answers;
  }
};

BitVector makeSet(size_t Size, ArrayRef<unsigned> Elements) {
  BitVector Set(Size);
  for (unsigned E : Elements)
    Set.set(E);
  return Set;
}

TEST(Search, FindsEachBoundary) {
  for (size_t Last : {1, 2, 3, 7, 100})
    for (unsigned Width : {0, 1, 2, 5, 64})
      for (size_t First = 1; First <= Last; ++First) {
        Positions P{
            [&](size_t I) { return I < First ? Answer::Good : Answer::Bad; }};
        Expected<Boundary> B = findBoundary(Last, Width, P);
        ASSERT_THAT_EXPECTED(B, Succeeded());
        EXPECT_EQ(B->FirstBad, First);
        EXPECT_EQ(B->LastGood, First - 1);
      }
}

TEST(Search, AsksAsOftenAsItTakes) {
  unsigned Most = 0, MostBatches = 0;
  for (size_t First = 1; First <= 1000; ++First) {
    auto Is = [&](size_t I) { return I < First ? Answer::Good : Answer::Bad; };
    Positions One{Is}, Three{Is};
    ASSERT_THAT_EXPECTED(findBoundary(1000, 1, One), Succeeded());
    ASSERT_THAT_EXPECTED(findBoundary(1000, 3, Three), Succeeded());
    Most = std::max(Most, One.Asked);
    MostBatches = std::max(MostBatches, Three.Batches);
  }
  EXPECT_EQ(Most, 10u);       // log2(1000)
  EXPECT_EQ(MostBatches, 5u); // log4(1000)
}

TEST(Search, GoesRoundWhatIsUnresolved) {
  Positions P{[](size_t I) {
    return I >= 40 && I < 60 ? Answer::Unresolved
           : I < 70          ? Answer::Good
                             : Answer::Bad;
  }};
  Expected<Boundary> B = findBoundary(100, 1, P);
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ(B->FirstBad, 70u);
  EXPECT_EQ(B->LastGood, 69u);
}

TEST(Search, LeavesWhatIsUnresolvedBetweenBoth) {
  Positions P{[](size_t I) {
    return I < 40 ? Answer::Good : I < 60 ? Answer::Unresolved : Answer::Bad;
  }};
  Expected<Boundary> B = findBoundary(100, 1, P);
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ(B->LastGood, 39u);
  EXPECT_EQ(B->FirstBad, 60u);
  // All of it is: that is given up before each position was asked about.
  Positions Q{[](size_t) { return Answer::Unresolved; }};
  B = findBoundary(5000, 1, Q);
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ(B->LastGood, 0u);
  EXPECT_EQ(B->FirstBad, 5000u);
  EXPECT_LT(Q.Asked, 100u);
}

TEST(Search, EndsAtSomeBoundaryOfMany) {
  auto Is = [](size_t I) {
    return I == 0 || (I / 10 % 2 == 0 && I != 100) ? Answer::Good : Answer::Bad;
  };
  for (unsigned Width : {1, 4}) {
    Positions P{Is};
    Expected<Boundary> B = findBoundary(100, Width, P);
    ASSERT_THAT_EXPECTED(B, Succeeded());
    EXPECT_EQ(B->FirstBad, B->LastGood + 1);
    EXPECT_EQ(Is(B->FirstBad), Answer::Bad);
    EXPECT_EQ(Is(B->LastGood), Answer::Good);
  }
}

TEST(Search, PassesErrorsOn) {
  auto Fail = [](auto) -> Expected<std::vector<Answer>> {
    return createStringError("lost");
  };
  EXPECT_THAT_EXPECTED(findBoundary(9, 1, Fail), FailedWithMessage("lost"));
  EXPECT_THAT_EXPECTED(findFirst(BitVector(3), Answer::Bad, 1, Fail),
                       FailedWithMessage("lost"));
  EXPECT_THAT_EXPECTED(
      minimize(BitVector(3, true), BitVector(3), Answer::Bad, 1, Fail),
      FailedWithMessage("lost"));
}

TEST(Search, FindsTheFirstWhateverTheWidth) {
  std::vector<BitVector> Sets;
  for (unsigned I = 0; I != 10; ++I)
    Sets.push_back(makeSet(10, I));
  auto Ask = [](ArrayRef<BitVector> Some) -> Expected<std::vector<Answer>> {
    std::vector<Answer> Answers;
    for (const BitVector &S : Some)
      Answers.push_back(S[4] || S[6] ? Answer::Bad : Answer::Good);
    return Answers;
  };
  for (unsigned Width : {0, 1, 3, 10, 99}) {
    Expected<std::optional<size_t>> First =
        findFirst(Sets, Answer::Bad, Width, Ask);
    ASSERT_THAT_EXPECTED(First, Succeeded());
    EXPECT_EQ(*First, 4u);
  }
  Expected<std::optional<size_t>> None =
      findFirst(Sets, Answer::Unresolved, 2, Ask);
  ASSERT_THAT_EXPECTED(None, Succeeded());
  EXPECT_EQ(*None, std::nullopt);
}

TEST(Search, MinimizesBesideWhatIsAlwaysThere) {
  auto Ask = [](ArrayRef<BitVector> Some) -> Expected<std::vector<Answer>> {
    std::vector<Answer> Answers;
    for (const BitVector &S : Some) {
      EXPECT_TRUE(S[9]);
      EXPECT_FALSE(S[50]); // was not there in the beginning
      Answers.push_back(S[3] && S[77] ? Answer::Bad : Answer::Good);
    }
    return Answers;
  };
  BitVector Start(100, true);
  Start.reset(50);
  Expected<BitVector> Least =
      minimize(Start, makeSet(100, 9), Answer::Bad, 4, Ask);
  ASSERT_THAT_EXPECTED(Least, Succeeded());
  EXPECT_EQ(*Least, makeSet(100, {3, 9, 77}));
}

TEST(Search, CutsIntoChunks) {
  BitVector All = makeSet(10, {1, 2, 5, 8, 9});
  std::vector<BitVector> Chunks = makeChunks(All);
  // 2, 4, 5 of them; each element is in one of each.
  EXPECT_EQ(Chunks.size(), 11u);
  for (unsigned E : {1, 2, 5, 8, 9})
    EXPECT_EQ(llvm::count_if(Chunks, [&](const auto &C) { return C[E]; }), 3);
  EXPECT_EQ(Chunks.back(), makeSet(10, 9));
  EXPECT_EQ(makeChunks(makeSet(4, 2)).size(), 0u);
}

} // namespace
