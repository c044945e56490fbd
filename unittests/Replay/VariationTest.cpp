//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variation.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
/// Outcomes of buffers of 4-byte elements, and what explains them.
class VariationTest : public testing::Test {
protected:
  using Outcome = std::vector<uint32_t>;

  /// Adds a buffer with its outcomes, the recorded one first.
  void add(std::vector<Outcome> All, uint32_t DType = MNEME_DTYPE_I32,
           uint32_t Stride = 0) {
    size_t Part = Plan.Parts.size();
    Plan.Parts.push_back({Part, 0, 4 * All.front().size(), "", {}, {}});
    Storage.push_back(std::make_unique<std::vector<Outcome>>(std::move(All)));
    PartOutcomes O;
    O.Buffer = Part;
    O.DType = DType;
    O.Stride = Stride;
    for (const Outcome &One : *Storage.back())
      O.All.push_back(
          {reinterpret_cast<const char *>(One.data()), 4 * One.size()});
    Outcomes.push_back(std::move(O));
  }
  /// Adds a buffer that never varies.
  void addFixed(uint64_t Size) {
    Plan.Parts.push_back({Plan.Parts.size(), 0, Size, "", {}, {}});
    Outcomes.emplace_back();
  }

  /// The explanation of the first buffer that varies.
  BufferVariation &explain(ArrayRef<CounterCandidate> Counters = {}) {
    explainOutcomes(Plan, Outcomes, Counters, Variations);
    return Variations.front();
  }

  /// Explains records in any order, with indices of them and a counter. \p Base
  /// is the plan before.
  Envelope makeEnvelope(ComparePlan &Base) {
    add(shuffled({1, 2, 3, 4, 5, 6}, 0, 6, 10));
    Base = Plan;
    explain();
    Envelope E;
    E.Plan = Plan;
    E.Plan.Indices.push_back({0, 4, {{0, 6}}, 0});
    E.Plan.Unordered[0].Counter = {0, 4, 4};
    return E;
  }

  static std::vector<Outcome> shuffled(const Outcome &First, size_t Begin,
                                       size_t End, unsigned Count) {
    std::vector<Outcome> All = {First};
    std::mt19937 Random(7);
    for (unsigned I = 0; I != Count; ++I) {
      Outcome Next = First;
      for (size_t J = End - 1; J > Begin; --J)
        std::swap(Next[J], Next[Begin + Random() % (J - Begin + 1)]);
      All.push_back(Next);
    }
    return All;
  }

  ComparePlan Plan;
  std::vector<std::unique_ptr<std::vector<Outcome>>> Storage;
  std::vector<PartOutcomes> Outcomes;
  std::vector<BufferVariation> Variations;
};

uint32_t bitsOf(float F) { return bit_cast<uint32_t>(F); }
} // namespace

TEST_F(VariationTest, CompactionIsOneRange) {
  // A header, ten records in any order, and memory that was not written.
  Outcome First = {99, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0};
  add(shuffled(First, 1, 11, 10));
  BufferVariation &V = explain();
  EXPECT_EQ(V.Kind, BufferVariation::Order);
  EXPECT_EQ(V.RecordSize, 4u);
  ASSERT_EQ(Plan.Unordered.size(), 1u);
  EXPECT_TRUE(Plan.Unordered[0].IsFound);
  EXPECT_THAT(Plan.Unordered[0].Ranges, ElementsAre(IndexRange{1, 11}));
  // All else is compared by position.
  EXPECT_THAT(Plan.Parts[0].Skipped, ElementsAre(IndexRange{4, 44}));
}

TEST_F(VariationTest, RecordsMayNotCrossAPivot) {
  std::vector<Outcome> All = shuffled({1, 2, 3, 50, 61, 62, 63}, 0, 3, 10);
  std::mt19937 Random(1);
  for (size_t I = 1; I != All.size(); ++I)
    std::shuffle(All[I].begin() + 4, All[I].end(), Random);
  add(std::move(All));
  explain();
  EXPECT_THAT(Plan.Unordered[0].Ranges,
              ElementsAre(IndexRange{0, 3}, IndexRange{4, 7}));
}

TEST_F(VariationTest, StrideIsTheRecordSize) {
  // Records of a number and a constant: the constant never varies.
  add({{1, 7, 2, 7, 3, 7}, {2, 7, 3, 7, 1, 7}, {3, 7, 1, 7, 2, 7}},
      MNEME_DTYPE_I32, 8);
  EXPECT_EQ(explain().RecordSize, 8u);
  EXPECT_THAT(Plan.Unordered[0].Ranges, ElementsAre(IndexRange{0, 3}));
  EXPECT_THAT(Plan.Parts[0].Skipped, ElementsAre(IndexRange{0, 24}));
}

TEST_F(VariationTest, LargestRecordIsFoundBehindAHeader) {
  // Pairs, without a known stride, behind one element.
  add({{9, 1, 10, 2, 20, 3, 30},
       {9, 2, 20, 3, 30, 1, 10},
       {9, 3, 30, 1, 10, 2, 20}});
  EXPECT_EQ(explain().RecordSize, 8u);
  EXPECT_EQ(Plan.Unordered[0].Columns[0].Offset, 4u);
}

TEST_F(VariationTest, WrongStrideIsNotUsed) {
  // Single elements move, though the kernel addresses pairs.
  add({{1, 2, 3, 4}, {2, 3, 4, 1}, {3, 1, 4, 2}}, MNEME_DTYPE_I32, 8);
  EXPECT_EQ(explain().RecordSize, 4u);
}

TEST_F(VariationTest, ColumnsThatMoveTogetherAreJoined) {
  add({{1, 2, 3}, {2, 3, 1}, {3, 1, 2}});
  add({{10, 20, 30}, {20, 30, 10}, {30, 10, 20}});
  add({{5, 6, 7}, {5, 7, 6}, {7, 6, 5}}); // moves alone
  explain();
  ASSERT_EQ(Plan.Unordered.size(), 2u);
  EXPECT_EQ(Plan.Unordered[0].Columns.size(), 2u);
  EXPECT_EQ(Plan.Unordered[1].Columns[0].Part, 2u);
  EXPECT_THAT(Variations[1].Reason, HasSubstr("together"));
}

TEST_F(VariationTest, MemoryBehindACounterIsNotCompared) {
  add({{1, 2, 3, 70, 71}, {2, 3, 1, 80, 71}, {3, 1, 2, 90, 99}});
  addFixed(4);
  CounterCandidate Counters[] = {{{1, 0, 4}, 3}, {{1, 0, 4}, 9}};
  BufferVariation &V = explain(Counters);
  EXPECT_EQ(V.Kind, BufferVariation::Order);
  EXPECT_THAT(V.Reason, HasSubstr("behind 3 counted records"));
  EXPECT_THAT(Plan.Unordered[0].Ranges, ElementsAre(IndexRange{0, 3}));
  ASSERT_TRUE(Plan.Unordered[0].Counter);
  EXPECT_EQ(Plan.Unordered[0].Counter->Part, 1u);
  EXPECT_THAT(Plan.Parts[0].Skipped,
              ElementsAre(IndexRange{0, 12}, IndexRange{12, 20}));
}

TEST_F(VariationTest, MemoryBehindIsUndecidedWithoutACounter) {
  add({{1, 2, 3, 70, 71}, {2, 3, 1, 80, 71}, {3, 1, 2, 90, 99}});
  addFixed(4);
  CounterCandidate Counters[] = {{{1, 0, 4}, 2}};
  BufferVariation &V = explain(Counters);
  EXPECT_EQ(V.Kind, BufferVariation::Undecided);
  EXPECT_TRUE(Plan.Unordered.empty());
  EXPECT_TRUE(Plan.Parts[0].Skipped.empty());
  EXPECT_THAT(V.Reason, HasSubstr("3 different contents in 3 outcomes"));
}

TEST_F(VariationTest, RoundingIsLimitedByTwiceTheLargestError) {
  float Next = std::nextafter(2.0f, 3.0f);
  add({{bitsOf(2), bitsOf(5)},
       {bitsOf(Next), bitsOf(5)},
       {bitsOf(2), bitsOf(5)}},
      MNEME_DTYPE_F32);
  BufferVariation &V = explain();
  EXPECT_EQ(V.Kind, BufferVariation::Rounding);
  EXPECT_EQ(V.MaxUlp, 1);
  const CompareRule &Rule = Plan.Parts[0].Rule;
  EXPECT_EQ(Rule.DType, uint32_t(MNEME_DTYPE_F32));
  EXPECT_EQ(Rule.Tolerance, uint32_t(MNEME_TOLERANCE_ULP));
  EXPECT_EQ(Rule.Value, 2);
  EXPECT_FLOAT_EQ(*Rule.Measured, 2 * (Next - 2.0f));
  EXPECT_EQ(Rule.level(), CompareLevel::Envelope);
}

TEST_F(VariationTest, LargeErrorsAreUndecided) {
  add({{bitsOf(2)}, {bitsOf(2.1f)}, {bitsOf(2.2f)}}, MNEME_DTYPE_F32);
  BufferVariation &V = explain();
  EXPECT_EQ(V.Kind, BufferVariation::Undecided);
  EXPECT_THAT(V.Reason, HasSubstr("more than rounding errors"));
  EXPECT_EQ(Plan.Parts[0].Rule.level(), CompareLevel::Exact);
}

// JSON has no infinities.
TEST_F(VariationTest, ErrorsAreThoseOfRounding) {
  add({{bitsOf(2)}, {bitsOf(INFINITY)}, {bitsOf(2)}}, MNEME_DTYPE_F32);
  BufferVariation &V = explain();
  EXPECT_EQ(V.Kind, BufferVariation::Undecided);
  EXPECT_EQ(V.MaxAbs, 0);
  EXPECT_EQ(V.MaxUlp, 0);
}

TEST_F(VariationTest, IntegersAreNeverRounded) {
  add({{1000000}, {1000001}, {1000002}});
  EXPECT_EQ(explain().Kind, BufferVariation::Undecided);
}

TEST_F(VariationTest, UnknownTypesAreAskedFor) {
  add({{bitsOf(2)}, {bitsOf(2.1f)}, {bitsOf(2.2f)}}, MNEME_DTYPE_BYTES);
  EXPECT_THAT(explain().Reason, HasSubstr("--dtype"));
}

TEST_F(VariationTest, ReplaysThatAgreeDoNotVary) {
  add({{1, 2, 3}, {3, 2, 1}, {3, 2, 1}, {3, 2, 1}});
  BufferVariation &V = explain();
  EXPECT_EQ(V.Kind, BufferVariation::Constant);
  EXPECT_TRUE(Plan.Unordered.empty());
}

TEST_F(VariationTest, IndicesAreRecognized) {
  // Records 7, 8, 9 move; element I of the second buffer says where record I
  // is. Another element is no index and never varies.
  add({{7, 8, 9}, {9, 7, 8}, {8, 7, 9}});
  add({{0, 1, 2, 50}, {1, 2, 0, 50}, {1, 0, 2, 50}});
  explain();
  ASSERT_EQ(Plan.Indices.size(), 1u);
  EXPECT_EQ(Plan.Indices[0].Part, 1u);
  EXPECT_THAT(Plan.Indices[0].Ranges, ElementsAre(IndexRange{0, 3}));
  EXPECT_THAT(Variations[1].Reason,
              HasSubstr("indices of the same records of buffer 0"));
}

TEST_F(VariationTest, OtherNumbersAreNoIndices) {
  add({{7, 8, 9}, {9, 7, 8}, {8, 7, 9}});
  add({{0, 1, 2}, {2, 1, 1}, {1, 1, 2}});
  explain();
  EXPECT_TRUE(Plan.Indices.empty());
  EXPECT_EQ(Variations[1].Kind, BufferVariation::Undecided);
}

TEST_F(VariationTest, EnvelopeSurvivesJSON) {
  add(shuffled({1, 2, 3, 4, 5, 6}, 0, 6, 10));
  add({{0, 1, 2, 3, 4, 5}, {5, 1, 2, 3, 4, 0}, {0, 1, 3, 2, 4, 5}});
  add({{bitsOf(2)}, {bitsOf(2.000001f)}, {bitsOf(2)}}, MNEME_DTYPE_F32);
  ComparePlan Base = Plan;
  Outcomes[1].All.clear();
  Outcomes[2].All.clear();
  explain();
  Envelope E;
  E.Plan = Plan;
  E.Plan.Parts[2].Rule.Measured = 0.5;
  E.Plan.Indices.push_back({1, 4, {{0, 6}}, 0});
  E.Plan.Unordered[0].Counter = {1, 4, 4};
  E.Summary.Buffers = Variations;
  E.Summary.Replays = 20;
  E.Summary.Confirming = 5;
  json::Value V = toJSON(E);
  Envelope Read;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(V, Base, Read, Root));
  EXPECT_EQ(toJSON(Read), V);
}

TEST_F(VariationTest, ForgedEnvelopesAreRefused) {
  ComparePlan Base;
  Envelope E = makeEnvelope(Base);
  auto IsRefused = [&](function_ref<void(ComparePlan &)> Forge) {
    Envelope Forged = E, Read;
    Forge(Forged.Plan);
    json::Path::Root Root;
    return !fromJSON(toJSON(Forged), Base, Read, Root);
  };
  EXPECT_FALSE(IsRefused([](ComparePlan &) {}));
  EXPECT_TRUE(IsRefused([](ComparePlan &P) { P.Parts.pop_back(); }));
  EXPECT_TRUE(IsRefused([](ComparePlan &P) { P.Parts[0].Rule.DType = 99; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Parts[0].Skipped[0].End = 25; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Unordered[0].Columns[0].Part = 1; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Unordered[0].Columns[0].Size = 0; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Unordered[0].Columns[0].Offset = 4; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Unordered[0].Columns.clear(); }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Unordered[0].Ranges[0].End = 7; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Unordered[0].Counter->Offset = 21; }));
  EXPECT_TRUE(IsRefused([](ComparePlan &P) { P.Indices[0].Records = 1; }));
  EXPECT_TRUE(
      IsRefused([](ComparePlan &P) { P.Indices[0].Ranges[0].End = 7; }));
}

TEST_F(VariationTest, IncompleteEnvelopesAreRefused) {
  ComparePlan Base;
  Envelope E = makeEnvelope(Base);
  json::Value Whole = toJSON(E);
  // The error without a key of an object.
  auto ErrorWithout = [&](function_ref<json::Value &(json::Object &)> Find,
                          StringRef Key) {
    json::Value V = Whole;
    EXPECT_TRUE(Find(*V.getAsObject()).getAsObject()->erase(Key)) << Key.str();
    Envelope Read;
    json::Path::Root Root;
    return fromJSON(V, Base, Read, Root) ? "no error"
                                         : toString(Root.getError());
  };
  auto Part = [](json::Object &O) -> json::Value & {
    return (*O.getArray("parts"))[0];
  };
  auto Column = [](json::Object &O) -> json::Value & {
    json::Value &Records = (*O.getArray("unordered"))[0];
    return (*Records.getAsObject()->getArray("columns"))[0];
  };
  auto Counter = [](json::Object &O) -> json::Value & {
    json::Value &Records = (*O.getArray("unordered"))[0];
    return *Records.getAsObject()->get("counter");
  };
  auto Indices = [](json::Object &O) -> json::Value & {
    return (*O.getArray("indices"))[0];
  };
  for (StringRef Key : {"dtype", "tolerance", "norm", "value"})
    EXPECT_THAT(ErrorWithout(Part, Key), HasSubstr("missing value"));
  for (StringRef Key : {"part", "offset", "size"}) {
    EXPECT_THAT(ErrorWithout(Column, Key), HasSubstr("missing value"));
    EXPECT_THAT(ErrorWithout(Counter, Key), HasSubstr("missing value"));
  }
  for (StringRef Key : {"part", "size", "records"})
    EXPECT_THAT(ErrorWithout(Indices, Key), HasSubstr("missing value"));
}
