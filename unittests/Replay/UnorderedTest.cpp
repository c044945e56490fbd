//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Unordered.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {
template <typename T> ArrayRef<char> contentsOf(const std::vector<T> &V) {
  return {reinterpret_cast<const char *>(V.data()), V.size() * sizeof(T)};
}

/// Records of one buffer, in one range.
UnorderedRecords oneColumn(uint32_t Size, uint64_t Count) {
  UnorderedRecords R;
  R.Columns.push_back({0, 0, Size});
  R.Ranges.push_back({0, Count});
  return R;
}

template <typename T>
RecordStats compareOne(const std::vector<T> &Expected,
                       const std::vector<T> &Actual, CompareRule Rule = {},
                       uint32_t Elements = 1, uint64_t Counted = UINT64_MAX) {
  UnorderedRecords R =
      oneColumn(Elements * sizeof(T), Expected.size() / Elements);
  PartContents Contents = {contentsOf(Expected), contentsOf(Actual)};
  return compareRecords(R, Contents, Rule, Counted);
}

CompareRule ruleOf(uint32_t DType, uint32_t Tolerance = MNEME_TOLERANCE_EXACT,
                   double Value = 0) {
  CompareRule R;
  R.DType = DType;
  R.Tolerance = Tolerance;
  R.Value = Value;
  return R;
}
} // namespace

TEST(UnorderedTest, ParsesWhatItPrints) {
  for (const char *Text : {"out:4", "3:16", "keys:4,values:8", "q:16,count=n",
                           "a:b:4", "q:16,count=n+8"}) {
    Expected<UnorderedSpec> S = parseUnordered(Text);
    ASSERT_THAT_EXPECTED(S, Succeeded()) << Text;
    EXPECT_EQ(printUnordered(*S), Text);
  }
  Expected<UnorderedSpec> S = parseUnordered("a:b:4,c:2,count=n+0x10");
  ASSERT_THAT_EXPECTED(S, Succeeded());
  EXPECT_EQ(S->Columns[0].Buffer, "a:b");
  EXPECT_EQ(S->Columns[1].Size, 2u);
  EXPECT_EQ(S->Counter, "n");
  EXPECT_EQ(S->CounterOffset, 16u);
}

TEST(UnorderedTest, RefusesOtherTexts) {
  for (const char *Text :
       {"", "out", "out:", ":4", "out:0", "out:-4", "out:x", "out:65537",
        "count=n", "out:4,", "out:4,count=", "out:4,count=n+",
        "out:4,count=n+x", "out:4,count=n,count=m", "out:4,count=n,in:4"})
    EXPECT_THAT_EXPECTED(parseUnordered(Text),
                         FailedWithMessage(HasSubstr("invalid records '" +
                                                     std::string(Text) + "'")))
        << Text;
}

TEST(UnorderedTest, AnyOrderMatches) {
  std::vector<int> Expected = {5, 1, 4, 1, 3}, Actual = {1, 3, 4, 5, 1};
  RecordStats S = compareOne(Expected, Actual);
  EXPECT_EQ(S.Records, 5u);
  EXPECT_EQ(S.Moved, 4u);
  EXPECT_EQ(S.Missing, 0u);
  EXPECT_FALSE(S.First);
}

TEST(UnorderedTest, DroppedAndDuplicatedRecordsAreMissed) {
  // 4 is replaced by a second 3.
  RecordStats S = compareOne<int>({5, 1, 4, 1, 3}, {1, 3, 3, 5, 1},
                                  ruleOf(MNEME_DTYPE_I32));
  EXPECT_EQ(S.Missing, 1u);
  EXPECT_EQ(S.Lacking, "4");
  EXPECT_EQ(S.Unexpected, "3");
  EXPECT_TRUE(S.First == 1u || S.First == 2u);
  // One of the two 1 is lost.
  S = compareOne<int>({5, 1, 4, 1, 3}, {1, 0, 3, 5, 4},
                      ruleOf(MNEME_DTYPE_I32));
  EXPECT_EQ(S.Missing, 1u);
  EXPECT_EQ(S.Lacking, "1");
  EXPECT_EQ(S.Unexpected, "0");
  EXPECT_EQ(S.First, 1u);
}

TEST(UnorderedTest, RecordsAreComparedAsAWhole) {
  // The same elements, but pairs exchanged their second ones.
  std::vector<int> Expected = {1, 10, 2, 20}, Actual = {2, 10, 1, 20};
  EXPECT_EQ(compareOne(Expected, Actual).Missing, 0u);
  RecordStats S = compareOne(Expected, Actual, ruleOf(MNEME_DTYPE_I32), 2);
  EXPECT_EQ(S.Missing, 2u);
  EXPECT_EQ(S.Lacking, "1 10");
  EXPECT_EQ(S.Unexpected, "2 10");
}

TEST(UnorderedTest, ColumnsBelongTogether) {
  UnorderedRecords R = oneColumn(4, 3);
  R.Columns.push_back({1, 0, 8});
  std::vector<int> Keys = {1, 2, 3}, Moved = {3, 1, 2};
  std::vector<double> Values = {0.5, 1, 1.5}, MovedValues = {1.5, 0.5, 1};
  CompareRule Rules[] = {ruleOf(MNEME_DTYPE_I32), ruleOf(MNEME_DTYPE_F64)};
  PartContents Right[] = {{contentsOf(Keys), contentsOf(Moved)},
                          {contentsOf(Values), contentsOf(MovedValues)}};
  EXPECT_EQ(compareRecords(R, Right, Rules, UINT64_MAX).Missing, 0u);
  // The values stay where they were.
  PartContents Wrong[] = {{contentsOf(Keys), contentsOf(Moved)},
                          {contentsOf(Values), contentsOf(Values)}};
  RecordStats S = compareRecords(R, Wrong, Rules, UINT64_MAX);
  EXPECT_EQ(S.Missing, 3u);
  EXPECT_EQ(S.Lacking, "1, 0.5");
  EXPECT_EQ(S.Unexpected, "3, 0.5");
}

TEST(UnorderedTest, RecordsStayInTheirRange) {
  UnorderedRecords R = oneColumn(4, 4);
  R.Ranges = {{0, 2}, {2, 4}};
  std::vector<int> Expected = {1, 2, 3, 4}, Inside = {2, 1, 4, 3},
                   Across = {3, 2, 1, 4};
  PartContents Right = {contentsOf(Expected), contentsOf(Inside)};
  PartContents Wrong = {contentsOf(Expected), contentsOf(Across)};
  EXPECT_EQ(compareRecords(R, Right, CompareRule(), UINT64_MAX).Missing, 0u);
  EXPECT_EQ(compareRecords(R, Wrong, CompareRule(), UINT64_MAX).Missing, 2u);
}

TEST(UnorderedTest, OnlyCountedRecordsAreCompared) {
  std::vector<int> Expected = {1, 2, 7, 8}, Actual = {2, 1, 0, 0};
  EXPECT_EQ(compareOne(Expected, Actual, {}, 1, 2).Missing, 0u);
  EXPECT_EQ(compareOne(Expected, Actual, {}, 1, 3).Missing, 1u);
  EXPECT_EQ(compareOne(Expected, Actual, {}, 1, 0).Records, 0u);
  std::vector<uint64_t> Counter = {3, 1ull << 40};
  EXPECT_EQ(readCounter({0, 0, 4}, contentsOf(Counter)), 3u);
  EXPECT_EQ(readCounter({0, 8, 8}, contentsOf(Counter)), 1ull << 40);
}

TEST(UnorderedTest, ToleranceComparesSortedElements) {
  std::vector<float> Expected = {1, -2, 3}, Near = {3.01f, 1.01f, -2.01f},
                     Far = {3.01f, 1.5f, -2.01f};
  CompareRule Rule = ruleOf(MNEME_DTYPE_F32, MNEME_TOLERANCE_ABS, 0.1);
  EXPECT_EQ(compareOne(Expected, Near, Rule).Missing, 0u);
  RecordStats S = compareOne(Expected, Far, Rule);
  EXPECT_EQ(S.Missing, 1u);
  EXPECT_EQ(S.Lacking, "1");
  EXPECT_EQ(S.Unexpected, "1.5");
}

TEST(UnorderedTest, IndicesAreFollowed) {
  UnorderedRecords R = oneColumn(4, 3);
  RecordIndices I;
  I.Part = 1;
  I.Ranges = {{0, 4}};
  std::vector<int> Records = {7, 8, 9}, Moved = {9, 7, 8};
  std::vector<int> Indices = {0, 2, 1, -1}, Followed = {1, 0, 2, -1};
  PartContents Of = {contentsOf(Records), contentsOf(Moved)};
  RecordStats S =
      compareIndices(I, {contentsOf(Indices), contentsOf(Followed)}, R, Of);
  EXPECT_EQ(S.Missing, 0u);
  EXPECT_EQ(S.Moved, 3u);
  // Unchanged indices denote other records now.
  S = compareIndices(I, {contentsOf(Indices), contentsOf(Indices)}, R, Of);
  EXPECT_EQ(S.Missing, 3u);
  EXPECT_EQ(S.First, 0u);
  // What is no index must stay.
  std::vector<int> Other = {1, 0, 2, 0};
  S = compareIndices(I, {contentsOf(Indices), contentsOf(Other)}, R, Of);
  EXPECT_EQ(S.Missing, 1u);
  EXPECT_EQ(S.First, 3u);
}

TEST(UnorderedTest, SkippedBytesAreNotComparedByPosition) {
  ComparePart P{0, 0, 20, "", ruleOf(MNEME_DTYPE_I32), {{4, 12}}};
  std::vector<int> Expected = {1, 2, 3, 4, 5}, Inside = {1, 3, 2, 4, 5},
                   Outside = {1, 3, 2, 4, 6};
  CompareStats S = comparePart(P, {contentsOf(Expected), contentsOf(Inside)});
  EXPECT_TRUE(S.Pass);
  EXPECT_TRUE(S.SkippedDiffer);
  EXPECT_FALSE(S.isIdentical());
  EXPECT_EQ(S.Differences, 0u);
  S = comparePart(P, {contentsOf(Expected), contentsOf(Outside)});
  EXPECT_FALSE(S.Pass);
  EXPECT_EQ(S.First, 4u);
  EXPECT_EQ(S.Actual, "6");
  EXPECT_TRUE(comparePart(P, {contentsOf(Expected), contentsOf(Expected)})
                  .isIdentical());
}

TEST(UnorderedTest, LevelIsThatOfTheMostLenientRule) {
  ComparePlan Plan({{0, 0, 4, "", CompareRule(), {}}});
  EXPECT_EQ(Plan.level(), CompareLevel::Exact);
  Plan.Parts.push_back(
      {1, 0, 4, "", ruleOf(MNEME_DTYPE_F32, MNEME_TOLERANCE_ULP, 4), {}});
  EXPECT_EQ(Plan.level(), CompareLevel::Tolerance);
  Plan.Parts.back().Rule.Measured = 0.1;
  EXPECT_EQ(Plan.level(), CompareLevel::Envelope);
  Plan.Unordered.push_back(oneColumn(4, 1));
  EXPECT_EQ(Plan.level(), CompareLevel::Unordered);
}
