//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Bisect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <deque>
#include <map>
#include <random>

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string printConfig(const json::Object &Config) {
  return formatv("{0}", json::Value(json::Object(Config))).str();
}

/// A compiler with so many pass executions, and code that fails, or takes its
/// time, as the executions that ran say. As a farm does, it measures equal code
/// once.
class FakeCompiler : public Evaluator {
public:
  explicit FakeCompiler(unsigned N) : N(N), Changes(N + 1, true) {}

  unsigned N;
  BitVector Changes; ///< Executions that do something.
  unsigned Capacity = 1;
  /// What runs, and the settings; a failure or "".
  std::function<std::string(const BitVector &, const json::Object &)> Fails =
      [](const BitVector &, const json::Object &) { return std::string(); };
  std::function<double(const BitVector &, const json::Object &)> Time =
      [](const BitVector &, const json::Object &) { return 1000; };
  std::function<void(const BitVector &, const json::Object &,
                     StringMap<double> &)>
      Metrics =
          [](const BitVector &, const json::Object &, StringMap<double> &) {};
  std::function<bool(const json::Object &)> IsInvalid =
      [](const json::Object &) { return false; };
  /// Share of compilations (or of launches) in which what fails does so.
  double CompileRate = 1, LaunchRate = 1;
  bool SchedulesAreExact = false; ///< LaunchRate is 1 with a schedule.
  std::function<double(const BitVector &)> RateOf; ///< Of launches.
  double Noise = 0;                                ///< Of a sample's logarithm.
  std::mt19937_64 Random{1};

  unsigned Compilations = 0, Launches = 0, Listings = 0;
  std::map<std::string, unsigned> Asked; ///< By configuration.

  BitVector getRunning(const json::Object &Config) const {
    BitVector Running(N + 1, true);
    Running.reset(0);
    for (bool Skip : {false, true}) {
      std::optional<StringRef> Text =
          Config.getString(Skip ? "skip_passes" : "run_passes");
      if (!Text)
        continue;
      Expected<PassSet> Set = PassSet::parse(*Text);
      if (!Set) {
        ADD_FAILURE() << toString(Set.takeError());
        continue;
      }
      for (unsigned I = 1; I <= N; ++I)
        if (Set->contains(I) == Skip)
          Running.reset(I);
    }
    return Running;
  }

  Expected<PassListing> list(const json::Object &Config) {
    ++Listings;
    PassListing L;
    BitVector Running = getRunning(Config);
    PassExecution Required;
    Required.Pass = "verify";
    Required.Required = true;
    Required.Changed = true;
    L.Executions.push_back(Required);
    for (unsigned I = 1; I <= N; ++I) {
      PassExecution E;
      E.Number = I;
      E.Pass = "p" + std::to_string(I % 37);
      E.Unit = E.Function = "f" + std::to_string(I % 10);
      E.Ran = Running[I];
      E.Changed = Changes[I] && Running[I];
      L.Executions.push_back(E);
    }
    L.NumIR = L.NumAll = N;
    return L;
  }

  unsigned capacity() const override { return Capacity; }

  Error submit(EvaluationRequest R) override {
    EXPECT_LT(Pending.size(), Capacity);
    Pending.push_back(std::move(R));
    return Error::success();
  }

  Expected<std::vector<Evaluation>> wait(double) override {
    std::vector<Evaluation> Results;
    if (Pending.empty())
      return Results;
    Results.push_back(evaluate(Pending.back()));
    Pending.pop_back();
    return Results;
  }

  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest> Some,
                                           unsigned Rounds,
                                           function_ref<bool()>) override {
    PairedEvaluation P;
    P.Samples.resize(Some.size());
    for (unsigned I = 0; I != Rounds; ++I)
      for (auto [R, S] : zip_equal(Some, P.Samples))
        S.push_back(sample(R.Config));
    return P;
  }

  std::vector<uint64_t> cancel() override { return {}; }

private:
  std::deque<EvaluationRequest> Pending;
  std::map<std::string, Evaluation> Known;  ///< By code.
  std::map<std::string, std::string> Codes; ///< By compilation.

  bool happens(double Rate) {
    return Rate >= 1 || std::uniform_real_distribution<>(0, 1)(Random) < Rate;
  }

  double sample(const json::Object &Config) {
    return Time(getRunning(Config), Config) *
           std::exp(std::normal_distribution<>(0, Noise)(Random));
  }

  Evaluation evaluate(const EvaluationRequest &R) {
    BitVector Running = getRunning(R.Config);
    ++Asked[printConfig(R.Config)];
    if (IsInvalid(R.Config)) {
      Evaluation V;
      V.Id = R.Id;
      V.Failure = "Invalid";
      return V;
    }
    json::Object Settings = R.Config;
    Settings.erase("run_passes");
    Settings.erase("skip_passes");
    std::string Failure = Fails(Running, Settings);
    std::string &Code =
        Codes[printConfig(R.Config) + "#" + std::to_string(R.Attempt)];
    bool IsNew = Code.empty();
    if (IsNew) {
      ++Compilations;
      BitVector Changed = Running;
      Changed &= Changes;
      Code = printConfig(Settings) + printNumbers(Changed);
      // A fault in the compiler leaves other code.
      if (!Failure.empty() && happens(CompileRate))
        Code += "!";
    }
    if (!StringRef(Code).ends_with("!"))
      Failure = "";
    auto It = R.Fresh ? Known.end() : Known.find(Code);
    Evaluation V;
    if (It != Known.end()) {
      V = It->second;
      V.DuplicateKind = IsNew ? Duplicate::Code : Duplicate::Config;
      V.DuplicateOf = V.Id;
      V.Id = R.Id;
      return V;
    }
    ++Launches;
    V.Id = R.Id;
    V.CodeHash = Code;
    double Rate = RateOf ? RateOf(Running) : LaunchRate;
    if (SchedulesAreExact && R.Config.get("host_schedule"))
      Rate = 1;
    if (!Failure.empty() && happens(Rate))
      V.Failure = Failure;
    V.Samples = {sample(R.Config)};
    V.Metrics["time"] = V.Samples.front();
    Metrics(Running, Settings, V.Metrics);
    Known[Code] = V;
    return V;
  }
};

struct BisectTest : testing::Test {
  BisectOptions O;
  BisectSubject Subject;
  std::vector<std::string> Lines;

  static BisectSides noPass() {
    return {json::Object{{"run_passes", "none"}}, json::Object(), true};
  }

  Expected<BisectOutcome> run(FakeCompiler &C, const BisectSides &Sides) {
    BisectSubject S = Subject; // of this compiler, which goes
    if (!S.ListPasses)
      S.ListPasses = [&](const json::Object &Config) {
        return C.list(Config);
      };
    S.Say = [&](StringRef Line) { Lines.push_back(Line.str()); };
    return bisect(C, Sides, S, O);
  }

  BisectOutcome succeed(FakeCompiler &C, const BisectSides &Sides = noPass()) {
    Expected<BisectOutcome> Out = run(C, Sides);
    if (Out)
      return std::move(*Out);
    ADD_FAILURE() << toString(Out.takeError());
    return BisectOutcome();
  }

  void setMetric(StringRef Name, double Threshold = 0.02) {
    Expected<Criterion> What = Criterion::parse(Name, Threshold);
    ASSERT_THAT_EXPECTED(What, Succeeded());
    O.Judge.What = *What;
  }

  /// Those behind \p Last are of the code generator.
  static auto listInHalves(FakeCompiler &C, unsigned Last) {
    return [&C, Last](const json::Object &Config) {
      Expected<PassListing> L = C.list(Config);
      if (L)
        for (PassExecution &E : L->Executions)
          if (E.Number > Last)
            E.Stage = PassStage::CodeGen;
      return L;
    };
  }

  void
  runOnHost(std::function<Evaluation(const json::Object &, unsigned)> Run) {
    Subject.RunOnHost = [Run](const json::Object &Config, unsigned Attempt)
        -> Expected<std::optional<Evaluation>> { return Run(Config, Attempt); };
  }

  void classify(std::map<unsigned, ChangeKind> Kinds) {
    Subject.ClassifyChange =
        [=](const json::Object &,
            const PassExecution &E) -> Expected<ChangeKind> {
      auto It = Kinds.find(E.Number);
      return It == Kinds.end() ? ChangeKind::Code : It->second;
    };
  }

  static Evaluation makeHostResult(bool Wrong, StringRef Code = "code") {
    Evaluation V;
    V.CodeHash = Code.str();
    if (Wrong)
      V.Failure = "Mismatch";
    return V;
  }

  /// Fails where all of some run.
  static auto whenAll(std::vector<unsigned> Faulty,
                      StringRef Failure = "Mismatch") {
    return [=](const BitVector &Running, const json::Object &) {
      return all_of(Faulty, [&](unsigned F) { return Running[F]; })
                 ? Failure.str()
                 : "";
    };
  }
};

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

TEST_F(BisectTest, OneOfAThousand) {
  for (unsigned Culprit : {1, 2, 500, 777, 999, 1000}) {
    FakeCompiler C(1000);
    C.Fails = whenAll({Culprit});
    BisectOutcome Out = succeed(C);
    EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
    EXPECT_THAT(Out.SkipSet, ElementsAre(Culprit));
    EXPECT_THAT(Out.RunSet, ElementsAre(Culprit));
    EXPECT_EQ(Out.FirstBad, Culprit);
    EXPECT_EQ(Out.LastGood, Culprit - 1);
    ASSERT_EQ(Out.Culprits.size(), 1u);
    EXPECT_EQ(Out.Culprits[0].Execution.Number, Culprit);
    EXPECT_EQ(Out.Culprits[0].HealsAlone, true);
    EXPECT_EQ(Out.Healed.A, Answer::Good);
    EXPECT_EQ(Out.Smallest.A, Answer::Bad);
    EXPECT_EQ(Out.HealedConfig->getString("skip_passes"),
              std::to_string(Culprit));
    // Both sides, log2(1000), skip it alone, run it alone, and the prefix that
    // is cut down to it.
    EXPECT_LE(Out.Counts.Steps, 2u + 10 + 3);
    EXPECT_FALSE(Out.Random);
    EXPECT_EQ(C.Listings, 1u);
  }
}

TEST_F(BisectTest, WideBatchesTakeFewerRounds) {
  FakeCompiler C(1000);
  C.Capacity = 6;
  C.Fails = whenAll({345});
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(345));
  EXPECT_THAT(Out.RunSet, ElementsAre(345));
}

TEST_F(BisectTest, TwoThatAreWrongOnlyTogether) {
  FakeCompiler C(1000);
  C.Fails = whenAll({123, 801});
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.RunSet, ElementsAre(123, 801));
  EXPECT_THAT(Out.SkipSet, ElementsAre(801));
  ASSERT_EQ(Out.Culprits.size(), 2u);
  EXPECT_EQ(Out.Culprits[0].HealsAlone, true);
  EXPECT_TRUE(Out.Culprits[0].InSkipSet);
  EXPECT_EQ(Out.Culprits[0].Execution.Number, 801u);
  EXPECT_FALSE(Out.Culprits[1].InSkipSet);
  EXPECT_LE(Out.Counts.Steps, 50u);
}

TEST_F(BisectTest, ThreeThatAreWrongOnlyTogether) {
  FakeCompiler C(1000);
  C.Fails = whenAll({5, 430, 990});
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.RunSet, ElementsAre(5, 430, 990));
  EXPECT_THAT(Out.SkipSet, ElementsAre(990));
  EXPECT_LE(Out.Counts.Steps, 90u);
}

TEST_F(BisectTest, CauseBeforeItsExploiters) {
  FakeCompiler C(1000);
  C.Fails = [](const BitVector &Running, const json::Object &) {
    bool Exploited = Running[400] || Running[600] || Running[800];
    return Running[100] && Exploited ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(100));
  EXPECT_THAT(Out.RunSet, ElementsAre(100, 400));
  ASSERT_EQ(Out.Culprits.size(), 2u);
  EXPECT_FALSE(Out.Culprits[0].IsExploiter);
  EXPECT_TRUE(Out.Culprits[1].IsExploiter);
  EXPECT_EQ(Out.Culprits[1].HealsAlone, false);
}

TEST_F(BisectTest, ThatWhichAddsFactsIsTheCause) {
  for (bool OnlyFacts : {false, true}) {
    FakeCompiler C(1000);
    C.Fails = whenAll({100, 200, 700});
    classify({{100, OnlyFacts ? ChangeKind::Facts : ChangeKind::Code}});
    BisectOutcome Out = succeed(C);
    EXPECT_THAT(Out.SkipSet, ElementsAre(OnlyFacts ? 100 : 700));
    EXPECT_THAT(Out.RunSet, ElementsAre(100, 200, 700));
    EXPECT_EQ(Out.Healed.A, Answer::Good);
  }
}

TEST_F(BisectTest, FactsThatAreDerivedFromFacts) {
  // 200 adds a fact, from that of 100 or by itself.
  for (bool IsDerived : {false, true}) {
    FakeCompiler C(1000);
    C.Fails = whenAll({100, 200, 700});
    classify({{100, ChangeKind::Facts}, {200, ChangeKind::Facts}});
    Subject.ListPasses = [&](const json::Object &Config) {
      Expected<PassListing> L = C.list(Config);
      if (L && IsDerived && !C.getRunning(Config)[100])
        L->Executions[200].Changed = false;
      return L;
    };
    BisectOutcome Out = succeed(C);
    EXPECT_THAT(Out.SkipSet, ElementsAre(IsDerived ? 100 : 200));
    EXPECT_THAT(Out.RunSet, ElementsAre(100, 200, 700));
  }
}

TEST_F(BisectTest, WhatChangesNothingIsNotTheCause) {
  // An analysis, which two passes use.
  FakeCompiler C(1000);
  C.Fails = whenAll({100, 200});
  classify({{100, ChangeKind::Nothing}});
  EXPECT_THAT(succeed(C).SkipSet, ElementsAre(200));
  FakeCompiler Two(1000);
  Two.Fails = [](const BitVector &Running, const json::Object &) {
    return Running[100] && (Running[200] || Running[300]) ? "Mismatch" : "";
  };
  EXPECT_THAT(succeed(Two).SkipSet, ElementsAre(200, 300));
}

TEST_F(BisectTest, WhatMakesTheInputOfAPassIsNotTheCause) {
  // Both are p26.
  for (bool OnlyFacts : {false, true}) {
    FakeCompiler C(1000);
    C.Fails = [](const BitVector &Running, const json::Object &) {
      return Running[5] && (Running[100] || Running[137]) ? "Mismatch" : "";
    };
    // 137 does the work of 100 only if that is skipped.
    C.Changes.reset(137);
    classify({{5, OnlyFacts ? ChangeKind::Facts : ChangeKind::Code}});
    BisectOutcome Out = succeed(C);
    if (OnlyFacts)
      EXPECT_THAT(Out.SkipSet, ElementsAre(5));
    else
      EXPECT_THAT(Out.SkipSet, ElementsAre(100, 137));
    EXPECT_THAT(Out.RunSet, ElementsAre(5, 100));
  }
}

TEST_F(BisectTest, OnePassEverywhere) {
  // Both are p10, and each harms by way of others.
  FakeCompiler C(1000);
  C.Fails = [](const BitVector &Running, const json::Object &) {
    bool First = Running[10] && (Running[400] || Running[401]);
    bool Second = Running[47] && (Running[500] || Running[501]);
    return First || Second ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(10, 47));
}

TEST_F(BisectTest, DepthEndsTheSearch) {
  unsigned Steps[3];
  for (BisectDepth Depth :
       {BisectDepth::First, BisectDepth::Heal, BisectDepth::Full}) {
    FakeCompiler C(1000);
    C.Fails = whenAll({123, 801});
    O.Depth = Depth;
    BisectOutcome Out = succeed(C);
    EXPECT_THAT(Out.SkipSet, ElementsAre(801));
    EXPECT_EQ(Out.PrefixOnly, Depth == BisectDepth::First);
    EXPECT_EQ(Out.RunSet.empty(), Depth != BisectDepth::Full);
    Steps[unsigned(Depth)] = Out.Counts.Steps;
  }
  EXPECT_LE(Steps[0], 2u + 10 + 2);
  EXPECT_LE(Steps[1], Steps[0] + 1);
  EXPECT_LT(Steps[1], Steps[2]);
}

/// Two pipelines that differ in a pass at place 300.
static json::Object makePipeline(StringRef Passes) {
  return json::Object{{"passes", Passes}};
}

TEST_F(BisectTest, WhatOnlyOnePipelineRuns) {
  for (bool IsMissing : {false, true}) {
    FakeCompiler C(1000);
    // The bad side's pass harms, or the good side's repairs.
    C.Fails = [=](const BitVector &Running, const json::Object &Settings) {
      bool IsGood = Settings.getString("passes") == "good";
      bool Fails = IsMissing ? !IsGood || !Running[300]
                             : !IsGood && Running[300] && Running[20];
      return Fails ? "Mismatch" : "";
    };
    Subject.ListPasses = [&](const json::Object &Config) {
      Expected<PassListing> L = C.list(Config);
      L->Executions[300].Pass = Config.getString("passes")->str();
      return L;
    };
    BisectOutcome Out =
        succeed(C, {makePipeline("good"), makePipeline("bad"), false});
    if (IsMissing) {
      EXPECT_EQ(Out.End, BisectOutcome::FoundMissing);
      ASSERT_EQ(Out.Missing.size(), 1u);
      EXPECT_EQ(Out.Missing[0].Number, 300u);
      EXPECT_EQ(Out.SpoiledConfig->getString("skip_passes"), "300");
    } else {
      EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
      EXPECT_THAT(Out.SkipSet, ElementsAre(300));
    }
    EXPECT_LE(Out.Counts.Steps, 10u);
  }
}

TEST_F(BisectTest, TwoThatAreWrongEachForItself) {
  FakeCompiler C(1000);
  C.Fails = [](const BitVector &Running, const json::Object &) {
    return Running[200] || Running[700] ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.RunSet, ElementsAre(200));
  EXPECT_THAT(Out.SkipSet, ElementsAre(200, 700));
  ASSERT_EQ(Out.Culprits.size(), 2u);
  EXPECT_EQ(Out.Culprits[0].HealsAlone, false);
  EXPECT_EQ(Out.Culprits[1].HealsAlone, false);
  EXPECT_LE(Out.Counts.Steps, 40u);
}

/// A fault that shows only if something else has run before, and that something
/// later repairs, before something breaks it again.
TEST_F(BisectTest, WhatIsNotMonotone) {
  FakeCompiler C(400);
  C.Fails = [](const BitVector &R, const json::Object &) {
    return (R[50] && !R[120]) || (R[50] && R[120] && R[300]) ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  ASSERT_TRUE(Out.HealedConfig && Out.SmallestConfig);
  EXPECT_EQ(C.Fails(C.getRunning(*Out.HealedConfig), {}), "");
  EXPECT_EQ(C.Fails(C.getRunning(*Out.SmallestConfig), {}), "Mismatch");
  EXPECT_LE(Out.SkipSet.size(), 2u);
  EXPECT_LE(Out.RunSet.size(), 3u);
}

TEST_F(BisectTest, WhatChangesNothingIsNotAskedAbout) {
  FakeCompiler C(2000);
  C.Changes.reset();
  for (unsigned I = 7; I <= 2000; I += 10)
    C.Changes.set(I);
  C.Fails = whenAll({1507});
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(1507));
  EXPECT_THAT(Out.RunSet, ElementsAre(1507));
  EXPECT_EQ(Out.NumCandidates, 200u);
  EXPECT_LE(Out.Counts.Steps, 2u + 8 + 3);
}

/// The listing says that it does nothing, and it did nothing then.
TEST_F(BisectTest, ACulpritThatSeemedToChangeNothing) {
  FakeCompiler C(300);
  C.Fails = whenAll({150});
  Subject.ListPasses = [&](const json::Object &Config) {
    Expected<PassListing> L = C.list(Config);
    if (L)
      for (PassExecution &E : L->Executions)
        E.Changed = E.Number % 7 == 0;
    return L;
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(150));
}

TEST_F(BisectTest, EqualCodeIsLaunchedOnce) {
  FakeCompiler C(1000);
  // Nothing but the culprit and its neighbours does anything.
  C.Changes.reset();
  C.Changes.set(600, 610);
  C.Fails = whenAll({605});
  Subject.ListPasses = [&](const json::Object &Config) {
    Expected<PassListing> L = C.list(Config);
    if (L)
      for (PassExecution &E : L->Executions)
        E.Changed.reset(); // nobody looked
    return L;
  };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(605));
  EXPECT_GT(Out.Counts.Duplicates, 3u);
  EXPECT_LT(Out.Counts.Launches, Out.Counts.Compilations);
  EXPECT_EQ(Out.Counts.Launches, C.Launches);
  EXPECT_EQ(Out.Counts.Compilations, C.Compilations);
}

TEST_F(BisectTest, AnotherFailureIsNoAnswer) {
  FakeCompiler C(1000);
  C.Fails = [](const BitVector &R, const json::Object &) {
    // Without 610, what 400 leaves crashes.
    if (R[400] && !R[610])
      return "Crash";
    return R[700] ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(700));
  EXPECT_THAT(Out.RunSet, ElementsAre(700));
}

TEST_F(BisectTest, ACulpritAmongTheUnresolved) {
  FakeCompiler C(1000);
  C.Fails = [](const BitVector &R, const json::Object &) {
    if (R[400] && !R[410])
      return "Crash";
    return R[405] ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_EQ(Out.LastGood, 399u);
  EXPECT_EQ(Out.FirstBad, 410u);
  EXPECT_THAT(Out.SkipSet, ElementsAre(405));
  EXPECT_THAT(Out.RunSet, ElementsAre(405));
}

TEST_F(BisectTest, NoneOfThem) {
  FakeCompiler C(100);
  C.Fails = [](const BitVector &, const json::Object &Settings) {
    return Settings.get("ptxas_options") ? "" : "Mismatch";
  };
  Subject.Probes = {{json::Object{{"codegen_opt", 0}}, "the code generator"},
                    {json::Object{{"ptxas_options", "-O0"}}, "ptxas"}};
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::NotFound);
  EXPECT_THAT(Out.Reason, HasSubstr("also fails without any optional pass"));
  EXPECT_THAT(Out.Blamed, ElementsAre("ptxas"));
  ASSERT_EQ(Out.Required.size(), 1u);
  EXPECT_EQ(Out.Required[0].Pass, "verify");
  // The same with a good side of one's own.
  BisectSides Sides{json::Object{{"ptxas_options", "-O0"}}, json::Object()};
  Out = succeed(C, Sides);
  EXPECT_EQ(Out.End, BisectOutcome::FoundSettings);
  EXPECT_THAT(Out.Reason, HasSubstr("affects a pass"));
  Sides.Good = json::Object{{"ptxas_options", "x"}, {"passes", "y"}};
  Out = succeed(C, Sides);
  ASSERT_EQ(Out.Settings.size(), 1u);
  EXPECT_EQ(Out.Settings[0].Key, "ptxas_options");
}

/// Code that no pass has run on does not end, which is another failure: it says
/// nothing of the passes.
TEST_F(BisectTest, FailsInAnotherWayWithoutPasses) {
  FakeCompiler C(300);
  C.Fails = [](const BitVector &R, const json::Object &) {
    return R.count() < 150 ? "Timeout" : R[123] ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(123));
  // Nor that it is none of them.
  FakeCompiler Always(300);
  Always.Fails = [](const BitVector &R, const json::Object &) {
    return R.count() < 150 ? "Timeout" : "Mismatch";
  };
  Out = succeed(Always);
  EXPECT_EQ(Out.End, BisectOutcome::NotFound);
  EXPECT_EQ(Out.Reason, "no set of skipped passes makes it good");
  // Is it good with all of them, there is nothing to find.
  FakeCompiler Never(300);
  Never.Fails = [](const BitVector &R, const json::Object &) {
    return R.count() < 150 ? "Timeout" : "";
  };
  Out = succeed(Never);
  EXPECT_EQ(Out.End, BisectOutcome::NothingToFind);
}

TEST_F(BisectTest, WhatIsNothingToBisect) {
  FakeCompiler C(100);
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::NothingToFind);
  EXPECT_THAT(Out.Reason, HasSubstr("nothing to bisect: "));
  EXPECT_THAT_EXPECTED(run(C, {json::Object(), json::Object()}),
                       FailedWithMessage("both sides are the same"));
  EXPECT_THAT_EXPECTED(
      run(C, {json::Object(), json::Object{{"skip_passes", "1"}}}),
      FailedWithMessage("the bad side already selects its passes"));
  C.Fails = whenAll({4});
  EXPECT_THAT_EXPECTED(
      run(C, {json::Object{{"passes", "x"}}, json::Object()}),
      FailedWithMessage(HasSubstr("the good side is not good: 3 of 3")));
}

/// As of another program, of which only the first passes can be run.
TEST_F(BisectTest, OnlyPrefixes) {
  FakeCompiler C(300);
  C.Fails = whenAll({20, 123});
  C.IsInvalid = [](const json::Object &Config) {
    return Config.get("skip_passes") ||
           Config.getString("run_passes").value_or("").contains(',');
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_TRUE(Out.PrefixOnly);
  ASSERT_EQ(Out.Culprits.size(), 1u);
  EXPECT_EQ(Out.Culprits[0].Execution.Number, 123u);
  EXPECT_EQ(Out.HealedConfig->getString("run_passes"), "1-122");
  EXPECT_EQ(Out.SmallestConfig->getString("run_passes"), "1-123");
  EXPECT_LE(Out.Counts.Steps, 2u + 9 + 1);
  // No set is tried where that is known from the start, whatever the failure.
  FakeCompiler Known(300);
  Known.Fails = [](const BitVector &Running, const json::Object &Config) {
    if (Config.get("skip_passes"))
      return "CompileError";
    return Running[20] && Running[123] ? "Mismatch" : "";
  };
  Subject.OnlyPrefixes = [](const json::Object &) { return true; };
  Out = succeed(Known);
  EXPECT_TRUE(Out.PrefixOnly);
  EXPECT_EQ(Out.FirstBad, 123u);
  EXPECT_EQ(Out.HealedConfig->getString("run_passes"), "1-122");
  EXPECT_LE(Out.Counts.Steps, 2u + 9);
}

TEST_F(BisectTest, StopsAtTheLimit) {
  FakeCompiler C(1000);
  C.Fails = whenAll({5, 430, 990});
  O.MaxSteps = 20;
  BisectOutcome Out = succeed(C);
  EXPECT_FALSE(Out.Complete);
  EXPECT_LE(Out.Counts.Steps, 20u);
  // What was found until then: it is healed, if not explained.
  EXPECT_THAT(Out.SkipSet, ElementsAre(990));
  EXPECT_TRUE(Out.RunSet.empty());
  ASSERT_EQ(Out.Culprits.size(), 1u);
  EXPECT_THAT(
      Out.Notes,
      ElementsAre(HasSubstr("alone make it bad"),
                  HasSubstr("the limit of 20 steps was reached: not all")));
  // Before that, it is known where.
  O.MaxSteps = 6;
  Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::NotFound);
  EXPECT_EQ(Out.Reason, "the limit of 6 steps was reached");
  EXPECT_TRUE(Out.SkipSet.empty());
  EXPECT_TRUE(Out.Notes.empty());
  ASSERT_TRUE(Out.LastGood && Out.FirstBad);
  EXPECT_LT(*Out.LastGood, 990u);
  EXPECT_GE(*Out.FirstBad, 990u);
}

/// A set of which each element is necessary takes two steps for each.
TEST_F(BisectTest, ManyThatAreAllNecessary) {
  FakeCompiler C(400);
  C.Fails = [&](const BitVector &R, const json::Object &) {
    return R.find_first_unset_in(201, 401) < 0 ? "Mismatch" : "";
  };
  O.MaxSteps = 300;
  BisectOutcome Out = succeed(C);
  EXPECT_FALSE(Out.Complete);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(400));
  // What is left is bad, but not known to be minimal.
  EXPECT_TRUE(Out.RunSet.empty());
  EXPECT_FALSE(Out.SmallestConfig);
  EXPECT_THAT(
      Out.Notes,
      ElementsAre("executions 201-400 alone make it bad (200 of 400), but the "
                  "limit of 300 steps was reached before this set was minimal",
                  HasSubstr("not all of these need be responsible")));
  // More steps show that it is.
  O.MaxSteps = 600;
  Out = succeed(C);
  EXPECT_TRUE(Out.Complete);
  EXPECT_EQ(Out.RunSet.size(), 200u);
  EXPECT_TRUE(Out.Notes.empty());
}

/// The limit ends a search for several culprits, or for what a pipeline lacks.
TEST_F(BisectTest, WhatIsKnownAtTheLimit) {
  FakeCompiler C(1000);
  C.Fails = [](const BitVector &R, const json::Object &) {
    return R[5] || R[430] || R[990] ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(5, 430, 990));
  bool IsKnown = false;
  for (O.MaxSteps = 1; O.MaxSteps != Out.Counts.Steps; ++O.MaxSteps) {
    FakeCompiler Same(1000);
    Same.Fails = C.Fails;
    BisectOutcome Early = succeed(Same);
    if (Early.Complete)
      break;
    if (Early.End == BisectOutcome::FoundPasses)
      EXPECT_THAT(Early.Notes, Contains(HasSubstr("not all of these need")));
    else
      EXPECT_THAT(Early.Reason, HasSubstr("steps was reached"));
    for (StringRef Note : Early.Notes)
      IsKnown |= Note.starts_with("it is bad even without executions 5, and ");
  }
  EXPECT_GT(O.MaxSteps, 20u);
  EXPECT_TRUE(IsKnown);
}

//===----------------------------------------------------------------------===//
// Schedules of the host device
//===----------------------------------------------------------------------===//

/// The number of "random:N"; 0 without a schedule.
static unsigned getSeed(const json::Object &Settings) {
  StringRef Schedule = Settings.getString("host_schedule").value_or("");
  unsigned Seed = 0;
  if (Schedule.consume_front("random:"))
    EXPECT_FALSE(Schedule.getAsInteger(10, Seed));
  return Seed;
}

TEST_F(BisectTest, ScheduleMakesARaceDeterministic) {
  FakeCompiler C(300);
  C.LaunchRate = 0.3;
  C.SchedulesAreExact = true;
  C.Fails = [](const BitVector &Running, const json::Object &Settings) {
    return Running[77] && getSeed(Settings) % 3 == 0 ? "Mismatch" : "";
  };
  Subject.CanSchedule = [] { return true; };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(77u));
  EXPECT_THAT(Out.RunSet, ElementsAre(77u));
  EXPECT_EQ(Out.Schedule, "random:3");
  EXPECT_THAT(Out.ScheduleReason, HasSubstr("without it, "));
  EXPECT_FALSE(Out.Random);
  for (const json::Object *Config :
       {&Out.Sides.Good, &Out.Sides.Bad, &Out.BadConfig, &*Out.HealedConfig,
        &*Out.SmallestConfig})
    EXPECT_EQ(Config->getString("host_schedule"), "random:3");
}

TEST_F(BisectTest, OtherSchedulesSeeWhatOneMisses) {
  FakeCompiler C(100);
  C.LaunchRate = 0.3;
  C.SchedulesAreExact = true;
  // Without execution 5, the threads of the first schedule miss each other.
  C.Fails = [](const BitVector &Running, const json::Object &Settings) {
    unsigned Seed = getSeed(Settings);
    return Running[40] && Seed % 3 == 0 && (Seed != 3 || Running[5])
               ? "Mismatch"
               : "";
  };
  Subject.CanSchedule = [] { return true; };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Schedule, "random:3");
  EXPECT_THAT(Out.SkipSet, ElementsAre(40u));
  EXPECT_THAT(Out.RunSet, ElementsAre(40u));
  EXPECT_EQ(Out.SmallestConfig->getString("host_schedule"), "random:6");
}

TEST_F(BisectTest, ScheduleShowsWhatNeverFailsWithoutIt) {
  FakeCompiler C(50);
  C.Fails = [](const BitVector &Running, const json::Object &Settings) {
    return Running[9] && getSeed(Settings) == 4 ? "Crash" : "";
  };
  BisectOutcome Without = succeed(C);
  EXPECT_EQ(Without.End, BisectOutcome::NothingToFind);
  Subject.CanSchedule = [] { return true; };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Schedule, "random:4");
  EXPECT_THAT(Out.SkipSet, ElementsAre(9u));
  EXPECT_THAT(Out.ScheduleReason, HasSubstr("without it, 0 of "));
}

TEST_F(BisectTest, NoScheduleForWhatDependsOnTheOrder) {
  FakeCompiler C(50);
  C.LaunchRate = 0.5;
  C.SchedulesAreExact = true;
  C.Fails = [](const BitVector &Running, const json::Object &Settings) {
    return Running[9] || getSeed(Settings) != 0 ? "Mismatch" : "";
  };
  Subject.CanSchedule = [] { return true; };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Schedule, "");
  EXPECT_EQ(Out.ScheduleReason, "none of 4 seeds makes the fault "
                                "deterministic; the good side fails with 4 of "
                                "them, too");
  EXPECT_TRUE(Out.Random);
  EXPECT_THAT(Out.SkipSet, ElementsAre(9u));
  EXPECT_EQ(Out.HealedConfig->get("host_schedule"), nullptr);
}

//===----------------------------------------------------------------------===//
// What comes at random
//===----------------------------------------------------------------------===//

TEST_F(BisectTest, APassThatFailsAtRandom) {
  FakeCompiler C(300);
  C.Fails = whenAll({123});
  C.CompileRate = 0.4;
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(123));
  EXPECT_THAT(Out.RunSet, ElementsAre(123));
  EXPECT_TRUE(Out.Random);
  EXPECT_NEAR(Out.Rate, 0.4, 0.25);
  EXPECT_GE(Out.Repeats, 6u);
  EXPECT_LE(Out.Repeats, 40u);
  EXPECT_GE(Out.Healed.Replays, Out.Repeats);
  EXPECT_EQ(Out.Healed.Failures, 0u);
}

TEST_F(BisectTest, CodeThatFailsAtRandom) {
  FakeCompiler C(300);
  C.Fails = whenAll({123, 250});
  C.LaunchRate = 0.5;
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(250));
  EXPECT_THAT(Out.RunSet, ElementsAre(123, 250));
  EXPECT_TRUE(Out.Random);
}

/// One that always fails hides one that does so at random.
TEST_F(BisectTest, AlwaysAndAtRandom) {
  FakeCompiler C(300);
  C.Fails = [](const BitVector &R, const json::Object &) {
    return R[100] || R[200] ? "Mismatch" : "";
  };
  C.RateOf = [](const BitVector &R) { return R[200] ? 1 : 0.3; };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(100, 200));
  EXPECT_TRUE(Out.Random);
  EXPECT_LT(Out.Rate, 0.7);
}

/// So often that it seems to happen always; the answer does not hold then.
TEST_F(BisectTest, AlmostAlways) {
  unsigned Found = 0;
  for (unsigned Culprit = 10; Culprit <= 300; Culprit += 29) {
    FakeCompiler C(300);
    C.Fails = whenAll({Culprit});
    C.CompileRate = 0.9;
    BisectOutcome Out = succeed(C);
    Found += Out.SkipSet == std::vector<unsigned>{Culprit};
  }
  EXPECT_GE(Found, 10u);
}

/// Both sides fail at random, of which the good one's replays know nothing yet.
TEST_F(BisectTest, AGoodSideThatIsNone) {
  unsigned Found = 0;
  for (unsigned Seed = 1; Seed <= 40; ++Seed) {
    FakeCompiler C(100);
    C.Random.seed(Seed);
    C.Fails = whenAll({});
    C.LaunchRate = 0.3;
    Expected<BisectOutcome> Out =
        run(C, {json::Object(), json::Object{{"grid.x", 2}}});
    if (Out)
      Found += Out->found();
    else
      EXPECT_THAT(toString(Out.takeError()), HasSubstr("is not good"));
  }
  EXPECT_LE(Found, 2u);
}

/// What looked good by luck names nobody who is innocent.
TEST_F(BisectTest, MoreOftenThanNot) {
  unsigned Wrong = 0;
  for (unsigned Seed = 1; Seed <= 60; ++Seed) {
    FakeCompiler C(300);
    C.Random.seed(Seed);
    C.Fails = whenAll({123});
    C.LaunchRate = 0.9;
    BisectOutcome Out = succeed(C);
    Wrong += Out.SkipSet != std::vector<unsigned>{123} ||
             Out.RunSet != std::vector<unsigned>{123};
  }
  EXPECT_LE(Wrong, 2u);
}

/// The same where nothing can be said of what no pass has run on: what was good
/// is forgotten, the good side too.
TEST_F(BisectTest, AlmostAlwaysWithoutAPrefix) {
  unsigned Found = 0;
  for (unsigned Culprit = 10; Culprit <= 300; Culprit += 29) {
    FakeCompiler C(300);
    C.Fails = [=](const BitVector &R, const json::Object &S) {
      if (!S.get("passes"))
        return "";
      return R.count() < 150 ? "Timeout" : R[Culprit] ? "Mismatch" : "";
    };
    C.RateOf = [](const BitVector &R) { return R.count() < 150 ? 1 : 0.9; };
    BisectOutcome Out =
        succeed(C, {json::Object(), json::Object{{"passes", "x"}}});
    Found += Out.SkipSet == std::vector<unsigned>{Culprit};
  }
  EXPECT_GE(Found, 10u);
  EXPECT_TRUE(any_of(Lines, [](StringRef Line) {
    return Line.contains("did not confirm the answer");
  }));
}

/// Half of the passes make it fail, in almost all launches.
TEST_F(BisectTest, AnswersThatVaryMakeTheFaultRandom) {
  FakeCompiler C(300);
  C.Fails = [](const BitVector &R, const json::Object &) {
    return any_of(R.set_bits(), [](unsigned I) { return I % 2; }) ? "Mismatch"
                                                                  : "";
  };
  C.RateOf = [](const BitVector &R) { return R.count() == 300 ? 1 : 0.9; };
  O.MaxSteps = 100;
  BisectOutcome Out = succeed(C);
  EXPECT_TRUE(Out.Random);
  auto Varied = find_if(Lines, [](StringRef Line) {
    return Line.starts_with("the answers vary: searching again");
  });
  ASSERT_NE(Varied, Lines.end());
  EXPECT_THAT(*std::prev(Varied), HasSubstr("was good, then bad"));
}

TEST_F(BisectTest, AGoodSideThatTurnsBadEndsTheSearch) {
  FakeCompiler C(300);
  C.Fails = [&](const BitVector &R, const json::Object &) {
    return R.any() || C.Launches > 60 ? "Mismatch" : "";
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::NotFound);
  EXPECT_THAT(Out.Reason,
              HasSubstr("the answers vary: 1 of 1 questions that were asked "
                        "again had another answer, lastly --run-passes=none "
                        "was good, then bad; make the kernel's results "
                        "repeatable"));
  EXPECT_FALSE(Out.Complete);
  EXPECT_LT(Out.Counts.Steps, 100u);
  // What was found until then.
  EXPECT_EQ(Out.FirstBad, 1u);
}

//===----------------------------------------------------------------------===//
// Times and metrics
//===----------------------------------------------------------------------===//

using List = std::vector<unsigned>;

/// Unoptimized code is slow, each pass makes it a bit faster, one does not.
double optimize(const BitVector &Running, ArrayRef<unsigned> Slow,
                double Factor) {
  double Time = 1000;
  for (unsigned I : Running.set_bits())
    Time *= is_contained(Slow, I) ? Factor : 0.995;
  return Time;
}

TEST_F(BisectTest, OneThatMakesItSlow) {
  setMetric("time");
  FakeCompiler C(200);
  C.Noise = 0.01;
  C.Time = [](const BitVector &R, const json::Object &S) {
    return optimize(R, S.get("passes") ? List{77} : List(), 1.2);
  };
  BisectOutcome Out =
      succeed(C, {json::Object(), json::Object{{"passes", "slow"}}});
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(77));
  EXPECT_EQ(Out.Healed.A, Answer::Good);
  EXPECT_NEAR(Out.Bad.Ratio->Value, 1.21, 0.02);
  EXPECT_GT(Out.Bad.Ratio->Low, 1.02);
  EXPECT_EQ(Out.Settings.size(), 1u);
}

TEST_F(BisectTest, TwoThatMakeItSlow) {
  setMetric("time");
  FakeCompiler C(150);
  C.Capacity = 4;
  C.Time = [](const BitVector &R, const json::Object &S) {
    return optimize(R, S.get("passes") ? List{20, 141} : List(), 1.3);
  };
  BisectOutcome Out =
      succeed(C, {json::Object(), json::Object{{"passes", "slow"}}});
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(20, 141));
}

/// Nine of ten compilations give larger code.
TEST_F(BisectTest, AMetricThatVariesNamesNoPass) {
  FakeCompiler C(300);
  setMetric("size");
  unsigned Found = 0, Varied = 0;
  for (unsigned Seed = 1; Seed <= 20; ++Seed) {
    C.Random.seed(Seed);
    C.Metrics = [&](const BitVector &R, const json::Object &,
                    StringMap<double> &M) {
      bool IsLarge = R.count() == 300 || (R.any() && C.Random() % 10);
      M["code_size"] = IsLarge ? 1300 : 1000;
    };
    BisectOutcome Out = succeed(C);
    Found += Out.found();
    Varied += StringRef(Out.Reason).starts_with("the answers vary: 3 of ");
  }
  EXPECT_EQ(Found, 0u);
  EXPECT_GE(Varied, 1u);
}

TEST_F(BisectTest, ADifferenceBelowTheThreshold) {
  setMetric("time", 0.05);
  FakeCompiler C(50);
  C.Noise = 0.005;
  C.Time = [](const BitVector &, const json::Object &S) {
    return S.get("passes") ? 1030 : 1000;
  };
  BisectOutcome Out =
      succeed(C, {json::Object(), json::Object{{"passes", "slow"}}});
  EXPECT_EQ(Out.End, BisectOutcome::NothingToFind);
  EXPECT_THAT(Out.Reason, HasSubstr("times as long as the good side"));
  // A difference at the threshold is not clear, and is said to be so.
  O.Judge.What.Threshold = 0.03;
  Out = succeed(C, {json::Object(), json::Object{{"passes", "slow"}}});
  EXPECT_FALSE(Out.Bad.Certain);
  EXPECT_GE(Out.Counts.Rounds, O.Judge.MaxRounds);
}

TEST_F(BisectTest, TheSameCode) {
  setMetric("time");
  FakeCompiler C(50);
  C.Changes.reset();
  C.Noise = 0.3;
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::NothingToFind);
  EXPECT_EQ(Out.Reason, "nothing to bisect: both sides have the same machine "
                        "code");
  EXPECT_EQ(Out.Counts.Rounds, 0u);
}

TEST_F(BisectTest, OneThatTakesRegisters) {
  setMetric("regs");
  FakeCompiler C(500);
  C.Metrics = [](const BitVector &R, const json::Object &,
                 StringMap<double> &M) { M["reg_usage"] = R[321] ? 40 : 32; };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(321));
  EXPECT_THAT(Out.RunSet, ElementsAre(321));
  EXPECT_EQ(Out.Bad.Value, 40);
  EXPECT_EQ(Out.Healed.Value, 32);
  EXPECT_DOUBLE_EQ(Out.Bad.Ratio->Value, 1.25);
}

TEST_F(BisectTest, ACauseOfRegistersBeforeTheirUsers) {
  FakeCompiler C(1000);
  setMetric("regs");
  C.Metrics = [](const BitVector &Running, const json::Object &,
                 StringMap<double> &Values) {
    bool IsUsed = Running[400] || Running[600] || Running[800];
    Values["reg_usage"] = Running[100] && IsUsed ? 60 : 20;
  };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(100));
  EXPECT_THAT(Out.RunSet, ElementsAre(100, 400));
}

TEST_F(BisectTest, SpillsWhereThereWereNone) {
  setMetric("spills");
  FakeCompiler C(100);
  C.Metrics = [](const BitVector &R, const json::Object &,
                 StringMap<double> &M) { M["spills"] = R[31] ? 4 : 0; };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(31));
}

TEST_F(BisectTest, WhereMoreIsBetter) {
  setMetric("occupancy");
  FakeCompiler C(100);
  C.Metrics = [](const BitVector &R, const json::Object &,
                 StringMap<double> &M) { M["occupancy"] = R[31] ? 0.5 : 1; };
  BisectOutcome Out = succeed(C);
  EXPECT_THAT(Out.SkipSet, ElementsAre(31));
}

TEST_F(BisectTest, ManyThatTakeALittle) {
  setMetric("size");
  FakeCompiler C(100);
  // Each adds 1 to 100; six of them are over 5 %.
  C.Metrics = [](const BitVector &R, const json::Object &,
                 StringMap<double> &M) {
    unsigned Size = 100;
    for (unsigned I : {10, 20, 30, 40, 50, 60, 70})
      Size += R[I];
    M["code_size"] = Size;
  };
  O.Judge.What.Threshold = 0.05;
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_EQ(Out.SkipSet.size(), 2u);
  EXPECT_EQ(Out.RunSet.size(), 6u);
}

/// Where one is skipped, another one does as much harm, which had nothing to
/// do.
TEST_F(BisectTest, OneThatStepsIn) {
  setMetric("size");
  FakeCompiler C(100);
  C.Metrics = [](const BitVector &R, const json::Object &S,
                 StringMap<double> &M) {
    bool Worse = S.get("passes") && (R[30] || R[60]);
    M["code_size"] = 1000 - R.count() + 100 * Worse;
  };
  Subject.ListPasses = [&](const json::Object &Config) {
    Expected<PassListing> L = C.list(Config);
    BitVector Running = C.getRunning(Config);
    if (L)
      for (PassExecution &E : L->Executions)
        if (E.Number == 60)
          E.Changed = Running[60] && !Running[30];
    return L;
  };
  BisectOutcome Out =
      succeed(C, {json::Object(), json::Object{{"passes", "large"}}});
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(30, 60));
}

/// Worse for a while, then better, then worse by something else.
TEST_F(BisectTest, WorseForAWhile) {
  setMetric("size");
  FakeCompiler C(100);
  C.Metrics = [](const BitVector &R, const json::Object &,
                 StringMap<double> &M) {
    M["code_size"] = 100 + 20 * (R[20] && !R[60]) + 30 * R[80];
  };
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(80));
}

/// The good side has what no pass of the bad one gives up: what can be had is
/// the answer.
TEST_F(BisectTest, OnlyAPartIsExplained) {
  setMetric("regs");
  FakeCompiler C(100);
  C.Metrics = [](const BitVector &R, const json::Object &S,
                 StringMap<double> &M) {
    M["reg_usage"] = S.get("passes") ? 26 + 10 * R[30] + 12 * R[60] : 20;
  };
  BisectSides Sides{json::Object(), json::Object{{"passes", "x"}}};
  BisectOutcome Out = succeed(C, Sides);
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(30, 60));
  EXPECT_EQ(Out.Accepted, 26);
  EXPECT_EQ(Out.Healed.Value, 26);
  ASSERT_EQ(Out.Notes.size(), 1u);
  EXPECT_THAT(Out.Notes[0], HasSubstr("explains 22 of 28: reg_usage is 26"));
  EXPECT_THAT(Out.Notes[0], HasSubstr("--threshold=30% would accept this"));
  // So it does.
  O.Judge.What.Threshold = 0.3;
  Out = succeed(C, Sides);
  EXPECT_THAT(Out.SkipSet, ElementsAre(30, 60));
  EXPECT_EQ(Out.Accepted, std::nullopt);
  EXPECT_TRUE(Out.Notes.empty());
}

TEST_F(BisectTest, OnlyAPartWhereMoreIsBetter) {
  setMetric("occupancy");
  FakeCompiler C(100);
  C.Metrics = [](const BitVector &R, const json::Object &S,
                 StringMap<double> &M) {
    M["occupancy"] = S.get("passes") ? (R[31] ? 0.25 : 0.75) : 1;
  };
  BisectOutcome Out =
      succeed(C, {json::Object(), json::Object{{"passes", "x"}}});
  EXPECT_THAT(Out.SkipSet, ElementsAre(31));
  EXPECT_EQ(Out.Accepted, 0.75);
  ASSERT_EQ(Out.Notes.size(), 1u);
  EXPECT_THAT(Out.Notes[0], HasSubstr("explains 0.5 of 0.75"));
  EXPECT_THAT(Out.Notes[0], HasSubstr("--threshold=34% would accept this"));
}

TEST_F(BisectTest, WhatNobodyMeasured) {
  setMetric("spills");
  FakeCompiler C(10);
  EXPECT_THAT_EXPECTED(run(C, noPass()),
                       FailedWithMessage("'spills' is not measured here"));
  EXPECT_THAT_EXPECTED(
      Criterion::parse("speed", 0),
      FailedWithMessage(HasSubstr("unknown criterion 'speed'")));
  EXPECT_THAT_EXPECTED(
      Criterion::parse("compile_time", 0),
      FailedWithMessage(HasSubstr("list-passes shows the time")));
}

//===----------------------------------------------------------------------===//
// Settings and halves
//===----------------------------------------------------------------------===//

TEST_F(BisectTest, TwoOfManySettings) {
  FakeCompiler C(100);
  C.Fails = [](const BitVector &R, const json::Object &S) {
    return S.get("llvm.b") && S.getInteger("maxnreg") == 32 && R[44]
               ? "Mismatch"
               : "";
  };
  BisectSides Sides;
  Sides.Good = json::Object{{"maxnreg", 64}, {"passes", "x"}};
  Sides.Bad =
      json::Object{{"maxnreg", 32}, {"passes", "y"}, {"llvm.a", "1"},
                   {"llvm.b", "1"}, {"llvm.c", "1"}, {"specialize", true},
                   {"block.x", 1},  {"grid.x", 2},   {"codegen_opt", 1}};
  BisectOutcome Out = succeed(C, Sides);
  EXPECT_EQ(Out.NumSettings, 9u);
  ASSERT_EQ(Out.Settings.size(), 2u);
  EXPECT_EQ(Out.Settings[0].Key, "llvm.b");
  EXPECT_EQ(Out.Settings[0].Good, std::nullopt);
  EXPECT_EQ(Out.Settings[1].Key, "maxnreg");
  EXPECT_EQ(Out.Settings[1].Good, json::Value(64));
  EXPECT_EQ(Out.Settings[1].Bad, json::Value(32));
  // The good side but for these.
  EXPECT_EQ(Out.BadConfig.getString("passes"), "x");
  EXPECT_EQ(Out.End, BisectOutcome::FoundPasses);
  EXPECT_THAT(Out.SkipSet, ElementsAre(44));
}

TEST_F(BisectTest, TheShapeOfALaunchIsOneSetting) {
  FakeCompiler C(10);
  C.Fails = [](const BitVector &, const json::Object &S) {
    // One without the other is another launch altogether.
    return bool(S.get("block.x")) != bool(S.get("grid.x")) || S.get("block.x")
               ? "Mismatch"
               : "";
  };
  BisectOutcome Out = succeed(
      C, {json::Object(), json::Object{{"block.x", 64}, {"grid.x", 2}}});
  EXPECT_EQ(Out.End, BisectOutcome::FoundSettings);
  EXPECT_EQ(Out.Settings.size(), 2u);
}

TEST_F(BisectTest, HalvesOfACompiler) {
  // 1 to 60 are of the pipeline, the rest of the code generator.
  for (auto [Culprit, HostIsWrong] : {std::pair(20u, true), {80u, false}}) {
    FakeCompiler C(100);
    C.Fails = whenAll({Culprit});
    Subject.ListPasses = listInHalves(C, 60);
    runOnHost([Wrong = HostIsWrong](const json::Object &Config, unsigned) {
      return makeHostResult(Wrong && !Config.get("run_passes"));
    });
    BisectOutcome Out = succeed(C);
    EXPECT_EQ(Out.Half,
              HostIsWrong ? FaultyHalf::Pipeline : FaultyHalf::BackEnd);
    EXPECT_THAT(Out.SkipSet, ElementsAre(Culprit));
    // The other half is left alone.
    EXPECT_LE(Out.NumCandidates, HostIsWrong ? 60u : 40u);
  }
}

TEST_F(BisectTest, AHostThatCannotSay) {
  FakeCompiler C(100);
  C.Fails = whenAll({20});
  runOnHost([](const json::Object &, unsigned) {
    Evaluation V;
    V.Failure = "Unsupported";
    V.Error = "no textures";
    return V;
  });
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Half, FaultyHalf::Unknown);
  EXPECT_THAT(Out.HalfReason, HasSubstr("no textures"));
  EXPECT_THAT(Out.SkipSet, ElementsAre(20));
}

/// The half that is named does not hide what the other one has.
TEST_F(BisectTest, AScheduleOfTheHostNamesTheHalf) {
  // A race on the GPU, which the host's own order hides.
  FakeCompiler C(100);
  Subject.ListPasses = listInHalves(C, 60);
  C.Fails = whenAll({20});
  runOnHost([](const json::Object &Config, unsigned) {
    return makeHostResult(!Config.get("run_passes") && getSeed(Config) == 2);
  });
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Half, FaultyHalf::Pipeline);
  EXPECT_EQ(Out.HalfReason, "the host device is wrong with the same IR and "
                            "--host-schedule=random:2");
  EXPECT_EQ(Out.Schedule, "");
  // The good side is wrong, too: that says nothing.
  runOnHost([](const json::Object &Config, unsigned) {
    return makeHostResult(getSeed(Config) != 0);
  });
  Out = succeed(C);
  EXPECT_EQ(Out.Half, FaultyHalf::BackEnd);
}

TEST_F(BisectTest, TheWrongHalf) {
  FakeCompiler C(100);
  Subject.ListPasses = listInHalves(C, 60);
  // A pass may lead to what the back end gets wrong.
  C.Fails = whenAll({20});
  runOnHost([](const json::Object &, unsigned) { return Evaluation(); });
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Half, FaultyHalf::BackEnd);
  EXPECT_THAT(Out.SkipSet, ElementsAre(20));
  EXPECT_THAT(Out.Notes, ElementsAre(HasSubstr("may only trigger")));
  // The code generator cannot be what is wrong where it does not run.
  FakeCompiler Other(100);
  Subject.ListPasses = listInHalves(Other, 60);
  Other.Fails = whenAll({80});
  runOnHost([](const json::Object &Config, unsigned) {
    return makeHostResult(!Config.get("run_passes"));
  });
  Out = succeed(Other);
  EXPECT_EQ(Out.Half, FaultyHalf::Unknown);
  EXPECT_THAT(Out.HalfReason, HasSubstr(", but the passes found are"));
  EXPECT_THAT(Out.SkipSet, ElementsAre(80));
}

/// One replay on the host says nothing of what comes at random.
TEST_F(BisectTest, HalvesOfWhatComesAtRandom) {
  for (unsigned Seed = 1; Seed <= 20; ++Seed) {
    FakeCompiler C(100);
    C.Random.seed(Seed);
    Subject.ListPasses = listInHalves(C, 60);
    C.Fails = whenAll({20});
    C.CompileRate = 0.4;
    // Other code each time, and wrong as often as on the device.
    unsigned Replays = 0;
    runOnHost([&](const json::Object &Config, unsigned Attempt) {
      ++Replays;
      bool Wrong = std::bernoulli_distribution(C.CompileRate)(C.Random);
      return makeHostResult(Wrong && !Config.get("run_passes"),
                            Wrong ? "wrong" : "right");
    });
    BisectOutcome Out = succeed(C);
    EXPECT_EQ(Out.Half, FaultyHalf::Pipeline);
    EXPECT_THAT(Out.SkipSet, ElementsAre(20));
    EXPECT_THAT(Out.HalfReason, HasSubstr(" replays"));
    EXPECT_GE(Replays, 2 * Out.Repeats);
  }
}

/// A host that says now this, now that of one and the same code.
TEST_F(BisectTest, AHostThatWavers) {
  for (double Rate : {1.0, 0.5}) {
    FakeCompiler C(100);
    C.Fails = whenAll({20});
    C.LaunchRate = Rate;
    runOnHost([](const json::Object &Config, unsigned Attempt) {
      return makeHostResult(Attempt % 2 && !Config.get("run_passes"));
    });
    BisectOutcome Out = succeed(C);
    EXPECT_EQ(Out.Half, FaultyHalf::Unknown);
    EXPECT_EQ(Out.HalfReason,
              "the host device is wrong in 1 of 2 replays of the same code");
    EXPECT_THAT(Out.SkipSet, ElementsAre(20));
    // Of the good side that says as much.
    runOnHost([](const json::Object &, unsigned Attempt) {
      return makeHostResult(Attempt == 2);
    });
    Out = succeed(C);
    EXPECT_EQ(Out.Half, FaultyHalf::Unknown);
    EXPECT_EQ(Out.HalfReason,
              "the good side does not verify on the host device");
  }
  // Other code, though nothing comes at random.
  FakeCompiler C(100);
  C.Fails = whenAll({20});
  runOnHost([](const json::Object &Config, unsigned Attempt) {
    bool Wrong = Attempt && !Config.get("run_passes");
    return makeHostResult(Wrong, Wrong ? "wrong" : "right");
  });
  BisectOutcome Out = succeed(C);
  EXPECT_EQ(Out.Half, FaultyHalf::Unknown);
  EXPECT_EQ(Out.HalfReason, "the host device is wrong in 2 of 3 replays");
}

TEST(BisectNumbers, ArePrintedAsRanges) {
  BitVector Numbers(12);
  EXPECT_EQ(printNumbers(Numbers), "none");
  Numbers.set(1);
  EXPECT_EQ(printNumbers(Numbers), "1");
  Numbers.set(3, 6);
  Numbers.set(11);
  EXPECT_EQ(printNumbers(Numbers), "1,3-5,11");
}

} // namespace
