//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Bisect.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {

/// Three executions, of which the second is at fault. It queries counter "c"
/// from count Begin to End - 1, and is wrong if all of Wrong may happen.
class FakeCounters : public Evaluator {
public:
  int64_t Begin = 0, End = 100;
  std::set<int64_t> Wrong;
  /// Counts that the third execution has.
  int64_t Later = 0;
  bool HasCounter = true;
  std::set<std::string> Chunks; ///< That were asked for.

  Expected<PassListing> list(const json::Object &) const {
    PassListing L;
    for (unsigned I = 1; I <= 3; ++I) {
      PassExecution E;
      E.Number = I;
      E.Pass = "p";
      E.Unit = E.Function = "f" + utostr(I);
      E.Changed = true;
      if (I == 2 && HasCounter)
        E.Counters = {{"other", 0, 5}, {"c", Begin, End}};
      if (I == 3 && Later)
        E.Counters = {{"c", End, End + Later}};
      L.Executions.push_back(E);
    }
    L.NumIR = L.NumAll = 3;
    return L;
  }

  unsigned capacity() const override { return 3; }
  Error submit(EvaluationRequest R) override {
    Evaluation V;
    V.Id = R.Id;
    if (isWrong(R.Config))
      V.Failure = "Mismatch";
    V.CodeHash = utostr(R.Id);
    Results.push_back(std::move(V));
    return Error::success();
  }
  Expected<std::vector<Evaluation>> wait(double) override {
    return std::exchange(Results, {});
  }
  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest>,
                                           unsigned,
                                           function_ref<bool()>) override {
    return createStringError("nothing is timed here");
  }
  std::vector<uint64_t> cancel() override { return {}; }

private:
  std::vector<Evaluation> Results;

  bool isWrong(const json::Object &Config) {
    for (StringRef Key : {"run_passes", "skip_passes"})
      if (std::optional<StringRef> Text = Config.getString(Key))
        if (cantFail(PassSet::parse(*Text)).contains(2) == (Key[0] == 's'))
          return false;
    std::optional<StringRef> Counter = Config.getString("llvm.debug-counter");
    if (!Counter || !Counter->consume_front("c="))
      return true;
    Chunks.insert(Counter->str());
    return all_of(Wrong, [&](int64_t Count) {
      return any_of(split(*Counter, ':'), [&](StringRef Chunk) {
        auto [First, Last] = Chunk.split('-');
        int64_t Begin = -1, End = -1;
        EXPECT_FALSE(First.getAsInteger(10, Begin)) << Chunk.str();
        EXPECT_FALSE((Last.empty() ? First : Last).getAsInteger(10, End))
            << Chunk.str();
        return Count >= Begin && Count <= End;
      });
    });
  }
};

BlamedRewrite search(FakeCounters &C) {
  BisectSubject S;
  S.ListPasses = [&](const json::Object &Config) { return C.list(Config); };
  S.CountRewrites = [&](const json::Object &Config, PassStage) {
    return C.list(Config);
  };
  BisectSides Sides{json::Object{{"run_passes", "none"}}, json::Object(), true};
  Expected<BisectOutcome> Out = bisect(C, Sides, S, BisectOptions());
  if (!Out) {
    ADD_FAILURE() << toString(Out.takeError());
    return {};
  }
  EXPECT_EQ(Out->Rewrites.size(), 1u);
  return Out->Rewrites.empty() ? BlamedRewrite() : Out->Rewrites.front();
}

TEST(CounterSearchTest, FirstMiddleAndLast) {
  for (int64_t Count : {0, 1, 37, 98, 99}) {
    FakeCounters C;
    C.Wrong = {Count};
    BlamedRewrite W = search(C);
    EXPECT_EQ(W.Missing, "");
    EXPECT_EQ(W.Number, 2u);
    EXPECT_EQ(W.Counter, "c");
    EXPECT_EQ(W.Count, Count);
    EXPECT_EQ(W.NumCounts, 1u);
    EXPECT_EQ(W.BadChunks, itostr(Count));
    EXPECT_EQ(W.GoodChunks, itostr(INT64_MAX));
    EXPECT_EQ(W.BadConfig.getString("llvm.debug-counter"),
              "c=" + itostr(Count));
    EXPECT_EQ(W.BadConfig.getString("run_passes"), "2");
  }
}

TEST(CounterSearchTest, OtherExecutionsKeepTheirRewrites) {
  FakeCounters C;
  C.Begin = 50;
  C.Later = 10;
  C.Wrong = {70};
  BlamedRewrite W = search(C);
  EXPECT_EQ(W.Begin, 50);
  EXPECT_EQ(W.End, 100);
  EXPECT_EQ(W.Count, 70);
  EXPECT_EQ(W.BadChunks, "0-49:70:100-" + itostr(INT64_MAX));
  EXPECT_EQ(W.GoodChunks, "0-49:100-" + itostr(INT64_MAX));
  for (StringRef Chunks : C.Chunks) {
    EXPECT_TRUE(Chunks.starts_with("0-")) << Chunks.str();
    EXPECT_TRUE(Chunks.ends_with(itostr(INT64_MAX))) << Chunks.str();
  }
}

TEST(CounterSearchTest, SeveralTogether) {
  FakeCounters C;
  C.Wrong = {3, 40, 41};
  BlamedRewrite W = search(C);
  EXPECT_EQ(W.Count, 41);
  EXPECT_EQ(W.NumCounts, 3u);
  EXPECT_EQ(W.BadChunks, "3:40-41");
  EXPECT_EQ(W.GoodChunks, "3:40");
}

TEST(CounterSearchTest, NoCounterIsAReason) {
  FakeCounters C;
  C.HasCounter = false;
  EXPECT_THAT(search(C).Missing, HasSubstr("has no debug counter"));
}

TEST(CounterSearchTest, ACounterThatDoesNotMatterIsAReason) {
  FakeCounters C;
  C.Wrong = {};
  EXPECT_EQ(search(C).Missing,
            "no debug counter of pass p (other, c) controls the fault");
}

} // namespace
