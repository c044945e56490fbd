//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Explain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/MinimizeSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// Passes where all of \p Needed are.
Expected<BitVector> minimize(size_t Size, std::set<unsigned> Needed,
                             unsigned *Tests = nullptr) {
  return minimizeSet(
      Size,
      [&](ArrayRef<BitVector> Sets) -> Expected<std::optional<size_t>> {
        for (const auto &[I, Set] : enumerate(Sets)) {
          if (Tests)
            ++*Tests;
          if (all_of(Needed, [&, &Set = Set](unsigned N) { return Set[N]; }))
            return I;
        }
        return std::nullopt;
      });
}

TEST(MinimizeSet, FindsWhatIsNeeded) {
  for (const std::set<unsigned> &Needed :
       {std::set<unsigned>{}, {0}, {15}, {3, 4}, {0, 7, 15}, {1, 2, 3, 4, 5}}) {
    Expected<BitVector> Kept = minimize(16, Needed);
    ASSERT_THAT_EXPECTED(Kept, Succeeded());
    EXPECT_EQ(std::set<unsigned>(Kept->set_bits_begin(), Kept->set_bits_end()),
              Needed);
  }
}

TEST(MinimizeSet, TakesFewTests) {
  unsigned Tests = 0;
  EXPECT_EQ(cantFail(minimize(1024, {700}, &Tests)).count(), 1u);
  EXPECT_LT(Tests, 50u);
}

TEST(MinimizeSet, OfOneAndOfNone) {
  EXPECT_EQ(cantFail(minimize(0, {})).size(), 0u);
  EXPECT_TRUE(cantFail(minimize(1, {0})).all());
  EXPECT_TRUE(cantFail(minimize(1, {})).none());
}

TEST(MinimizeSet, HandsOnErrors) {
  EXPECT_THAT_EXPECTED(
      minimizeSet(3,
                  [](ArrayRef<BitVector>) -> Expected<std::optional<size_t>> {
                    return createStringError("lost");
                  }),
      FailedWithMessage("lost"));
}

/// Evaluates by a function of the configuration of instance 0 that says the
/// speed-up, 0 for a failure.
struct MinimalChangeTest : testing::Test {
  std::function<double(const json::Object &)> Speedup;
  unsigned Evaluated = 0, LargestBatch = 0;
  std::set<std::string> Asked;
  ExplainOptions O;

  struct Found {
    Explanation Why;
    MinimalChange M;
  };

  Found find(json::Object Winner) {
    InstanceConfigs Configs;
    Configs.push_back(std::move(Winner));
    O.LogSpeedup = std::log(Speedup(Configs[0]));
    Found R;
    R.M = cantFail(findMinimalChange(
        Configs,
        [&](ArrayRef<InstanceConfigs> Some)
            -> Expected<std::vector<std::optional<double>>> {
          std::vector<std::optional<double>> Result;
          LargestBatch = std::max<unsigned>(LargestBatch, Some.size());
          for (const InstanceConfigs &C : Some) {
            ++Evaluated;
            EXPECT_TRUE(
                Asked.insert(formatv("{0}", json::Value(json::Object(C[0]))))
                    .second)
                << "asked twice";
            double S = Speedup(C[0]);
            Result.push_back(S > 0 ? std::optional<double>(std::log(S))
                                   : std::nullopt);
          }
          return Result;
        },
        O));
    describeChange(R.Why, Configs[0], R.M.smallest()[0],
                   [](StringRef) { return std::vector<std::string>(); });
    EXPECT_EQ(R.M.Steps.front(), Configs);
    EXPECT_EQ(R.M.Evaluations, Evaluated);
    return R;
  }

  void restart() {
    Asked.clear();
    Evaluated = 0;
  }

  Found findOf(StringRef Passes) {
    return find(json::Object{{"passes", Passes}});
  }
};

std::string printObject(const json::Object &O) {
  return formatv("{0}", json::Value(json::Object(O))).str();
}

TEST_F(MinimalChangeTest, EndsWhenItIsOver) {
  Speedup = [](const json::Object &C) { return C.get("maxnreg") ? 1.2 : 1; };
  O.IsOver = [&] { return Evaluated >= 1; };
  Found M = find(json::Object{{"maxnreg", 64}, {"specialize", true}});
  EXPECT_FALSE(M.M.Complete);
  EXPECT_EQ(Evaluated, 1u);
}

TEST_F(MinimalChangeTest, FindsTheKeysThatMatter) {
  Speedup = [](const json::Object &C) {
    return (C.get("maxnreg") ? 1.2 : 1) * (C.get("llvm.unroll") ? 1.3 : 1);
  };
  Found M = find(
      json::Object{{"maxnreg", 64}, {"llvm.unroll", 400}, {"specialize", true},
       {"codegen_opt", 3}, {"passes", "default<O3>"}});
  EXPECT_EQ(printObject(M.Why.Config), "{\"llvm.unroll\":400,\"maxnreg\":64}");
  EXPECT_EQ(M.Why.Dropped,
            (std::vector<std::string>{"codegen_opt", "passes", "specialize"}));
  EXPECT_TRUE(M.M.Complete);
}

TEST_F(MinimalChangeTest, KeepsALaunchTogether) {
  // Half a launch is wrong.
  Speedup = [](const json::Object &C) {
    if (bool(C.get("block.x")) != bool(C.get("grid.x")))
      return 0.;
    return C.get("block.x") ? 1.5 : 1;
  };
  Found M = find(json::Object{
      {"block.x", 64}, {"grid.x", 10}, {"block.y", 1}, {"specialize", true}});
  EXPECT_EQ(printObject(M.Why.Config), "{\"block.x\":64,\"grid.x\":10}");
}

TEST_F(MinimalChangeTest, FindsThePassesThatMatter) {
  Speedup = [](const json::Object &C) {
    StringRef P = C.getString("passes").value_or("");
    if (P.contains("function()") || P.starts_with(","))
      return 0.;
    return P.contains("licm<hoist") && P.contains("gvn") ? 1.4 : 1;
  };
  Found M =
      findOf("module(globaldce,function(sroa,early-cse<memssa>,"
             "loop-mssa(licm<hoist;sink>,indvars),gvn<pre>,dce))");
  EXPECT_EQ(M.Why.Config.getString("passes"),
            "module(function(loop-mssa(licm<hoist>),gvn))");
  ASSERT_EQ(M.Why.Changes.size(), 1u);
  EXPECT_EQ(M.Why.Changes[0].Key, "passes");
  EXPECT_NE(M.Why.Changes[0].Found, M.Why.Changes[0].Minimal);
}

TEST_F(MinimalChangeTest, KeepsTheShareThatItShould) {
  // Without the second key 90 % of the win are left.
  Speedup = [](const json::Object &C) {
    double Win = (C.get("a") ? 0.9 : 0) + (C.get("b") ? 0.1 : 0);
    return std::exp(0.5 * Win);
  };
  json::Object Both{{"a", 1}, {"b", 1}};
  EXPECT_EQ(find(Both).Why.Config.size(), 2u);
  O.Share = 0.85;
  restart();
  EXPECT_EQ(printObject(find(Both).Why.Config), "{\"a\":1}");
}

TEST_F(MinimalChangeTest, HowManyRunAtOnceChangesNothing) {
  Speedup = [](const json::Object &C) {
    StringRef P = C.getString("passes").value_or("");
    return P.contains("b") && P.contains("g") ? 1.5 : 1;
  };
  std::string One = printObject(findOf("a,b,c,d,e,f,g,h").Why.Config);
  EXPECT_EQ(LargestBatch, 1u);
  O.BatchSize = 16;
  restart();
  EXPECT_EQ(printObject(findOf("a,b,c,d,e,f,g,h").Why.Config), One);
  EXPECT_GT(LargestBatch, 1u);
  EXPECT_EQ(One, "{\"passes\":\"b,g\"}");
}

TEST_F(MinimalChangeTest, EndsAtTheLimit) {
  Speedup = [](const json::Object &C) {
    return 1 + 0.1 * C.getString("passes").value_or("").count(',');
  };
  O.Limit = 5;
  Found M = findOf("a,b,c,d,e,f,g,h");
  EXPECT_FALSE(M.M.Complete);
  EXPECT_EQ(Evaluated, 5u);
  EXPECT_EQ(M.Why.Config.getString("passes"), "a,b,c,d,e,f,g,h");
}

TEST_F(MinimalChangeTest, SeveralInstancesLoseTheSameKeys) {
  InstanceConfigs Winner;
  Winner.push_back(json::Object{{"block.x", 64}, {"grid.x", 10}, {"a", 1}});
  Winner.push_back(json::Object{{"block.x", 64}, {"grid.x", 20}, {"a", 1}});
  O.LogSpeedup = 1;
  MinimalChange M = cantFail(findMinimalChange(
      Winner,
      [](ArrayRef<InstanceConfigs> Some)
          -> Expected<std::vector<std::optional<double>>> {
        std::vector<std::optional<double>> R;
        for (const InstanceConfigs &C : Some) {
          EXPECT_EQ(C[0].size(), C[1].size());
          R.push_back(C[1].get("grid.x") ? 1 : 0);
        }
        return R;
      },
      O));
  EXPECT_EQ(printObject(M.smallest()[1]), "{\"grid.x\":20}");
}

} // namespace
