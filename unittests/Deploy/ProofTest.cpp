//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Prove.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

ProvedVariant makeVariant(std::optional<RatioEstimate> Measured, size_t Pairs,
                          std::optional<RatioEstimate> Promised) {
  ProvedVariant V;
  V.Kernel = "_Z3addPii";
  V.Package = "/app.mneme";
  V.Number = 2;
  V.Served = 3;
  V.Measured.Ratio = Measured;
  V.Measured.Pairs = Pairs;
  V.Promised = Promised;
  return V;
}

TEST(ProofTest, Agreement) {
  RatioEstimate Promised{1.5, 1.4, 1.6};
  auto Ask = [&](RatioEstimate Measured, size_t Pairs = 9) {
    return makeVariant(Measured, Pairs, Promised).agreement();
  };
  EXPECT_EQ(Ask({1.3, 1.2, 1.4}), "yes");
  EXPECT_EQ(Ask({1.7, 1.6, 1.8}), "yes");
  EXPECT_EQ(Ask({1.3, 1.2, 1.39}), "slower");
  EXPECT_EQ(Ask({1.7, 1.61, 1.8}), "faster");
  // Closer than 0.5 %.
  EXPECT_EQ(Ask({1.3, 1.2, 1.394}), "yes");
  EXPECT_EQ(Ask({1.7, 1.607, 1.8}), "yes");
  // A single pair has no interval.
  EXPECT_EQ(Ask(RatioEstimate::withoutInterval(1.7), 1), "");
  EXPECT_EQ(makeVariant(std::nullopt, 0, Promised).agreement(), "");
  EXPECT_EQ(makeVariant(Promised, 9, std::nullopt).agreement(), "");
}

TEST(ProofTest, SlowDownsAreNotPromised) {
  // With one state of the cache, the study found a slow-down.
  RatioEstimate Promised{1.5, 0.9, 1.6};
  EXPECT_EQ(
      makeVariant(RatioEstimate{0.92, 0.91, 0.93}, 9, Promised).agreement(),
      "slower");
  EXPECT_EQ(makeVariant(RatioEstimate{1.2, 1.1, 1.3}, 9, Promised).agreement(),
            "yes");
}

TEST(ProofTest, LaunchesThatWaitForACPUAreNotJudged) {
  ProvedVariant V = makeVariant(RatioEstimate{20, 17.5, 23.3}, 9,
                                RatioEstimate{1.4, 1.38, 1.42});
  V.PlainWaiting = 0.2;
  EXPECT_EQ(V.agreement(), "faster");
  V.PlainWaiting = 0.83;
  EXPECT_EQ(V.agreement(), "");
  Proof P;
  P.Use.Served = 3;
  P.Use.NumReports = 1;
  P.Variants.push_back(V);
  std::string Text;
  raw_string_ostream OS(Text);
  printProof(OS, P);
  EXPECT_NE(Text.find("agreement  not judged: launches of the application's own "
                      "kernel waited for a CPU for 83 % of their time, tuned "
                      "ones for 0 %"),
            std::string::npos)
      << Text;
}

TEST(ProofTest, HoldsOnlyIfServed) {
  Proof P;
  EXPECT_FALSE(P.holds());
  P.Use.Served = 1;
  EXPECT_TRUE(P.holds());
  P.Difference = "standard output differs";
  EXPECT_FALSE(P.holds());
}

TEST(ProofTest, IntervalsOfOnePair) {
  Proof P;
  P.Use.Served = 3;
  P.Use.NumReports = 1;
  P.Variants.push_back(makeVariant(RatioEstimate::withoutInterval(2), 1, std::nullopt));
  json::Value V = toJSON(P);
  const json::Object &O = *V.getAsObject();
  EXPECT_EQ(*O.get("speedup"), json::Value(nullptr));
  const json::Object &First = *O.getArray("variants")->front().getAsObject();
  const json::Object &Measured = *First.getObject("measured");
  EXPECT_EQ(Measured.getNumber("value"), 2.0);
  EXPECT_EQ(*Measured.get("low"), json::Value(nullptr));
  EXPECT_EQ(*First.get("agreement"), json::Value(nullptr));
  std::string Text;
  raw_string_ostream OS(Text);
  printProof(OS, P);
  EXPECT_NE(Text.find("measured   speed-up 2.000 (no interval: fewer than 6 "
                      "pairs), 1 pair of runs\n"),
            std::string::npos)
      << Text;
}

TEST(ProofTest, SaysThatAPromiseSpansCaches) {
  Proof P;
  P.Use.Served = 3;
  P.Use.NumReports = 1;
  P.Variants.push_back(makeVariant(RatioEstimate{1.3, 1.2, 1.4}, 9,
                                   RatioEstimate{1.2, 1.1, 1.5}));
  P.Variants.back().SpansCaches = true;
  std::string Text;
  raw_string_ostream OS(Text);
  printProof(OS, P);
  EXPECT_NE(Text.find("promised   speed-up 1.200 (1.100 to 1.500 with cold "
                      "and warm caches)\n"),
            std::string::npos)
      << Text;
}

TEST(ProofTest, ExplainsWhyNothingWasServed) {
  PackageUse Use;
  EXPECT_NE(Use.explain().find("did not report"), std::string::npos);
  Use.NumReports = 1;
  EXPECT_EQ(Use.explain(), "the application launched no kernel");
  Use.Reasons["correct for other grids only"] = 2;
  Use.Unmatched = 1;
  EXPECT_EQ(Use.explain(),
            "2 launches fell back: correct for other grids only; 1 launch of "
            "kernels in no package");
}

} // namespace
