//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/Tuner.h"
#include "FakeEvaluator.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <numeric>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// All valid points in order.
class InOrder : public Sampler {
public:
  explicit InOrder(const SamplerContext &C) : Sampler(C) {}
  Expected<std::vector<Point>> ask(unsigned N) override {
    std::vector<Point> Points;
    for (uint64_t I = 0; I != Context.Space.count()->getZExtValue(); ++I) {
      Point P = Context.Space.at(APInt(64, I));
      if (Points.size() == N)
        break;
      if (Context.Space.isValid(P) &&
          !Context.Proposed.contains(Context.Space.digest(P)))
        Points.push_back(P);
    }
    return Points;
  }
};

/// Calls a function after each change.
class Watcher : public StudyObserver {
public:
  std::function<void(const StudyProgress &)> Fn;
  std::vector<std::string> Notes;
  void update(const StudyProgress &P) override {
    if (Fn)
      Fn(P);
  }
  void note(StringRef Text) override { Notes.push_back(Text.str()); }
};

Parameter makeParameter(StringRef Name, int64_t Low, int64_t High) {
  Parameter P;
  P.Name = Name.str();
  P.Low = Expr::constant(Low);
  P.High = Expr::constant(High);
  return P;
}

/// Two integers from 0 to 9, "llvm.x" and "llvm.y".
SearchSpace makeSpace(std::vector<Objective> Objectives = {{"time"}},
                      int64_t High = 9,
                      ArrayRef<StringRef> Names = {"x", "y"}) {
  Study S;
  S.Name = "test";
  for (StringRef Name : Names) {
    S.Parameters.push_back(makeParameter(Name, 0, High));
    S.Fields.push_back({("llvm." + Name).str(),
                        Expr::parameter(Name, ValueType::Int)});
  }
  S.Objectives = std::move(Objectives);
  return cantFail(SearchSpace::create(
      std::move(S), makeRecordedFacts({1, 1, 1}, {32, 1, 1}, 0, false, "2",
                                      "sm_90", "kernel")));
}

int64_t get(const json::Object &Config, StringRef Key) {
  return Config.getInteger(Key).value_or(-1);
}

struct TunerTest : testing::Test {
  SearchSpace Space = makeSpace();
  FakeEvaluator E;
  Watcher Observer;
  MemoryLog Log;
  TunerOptions O;
  std::vector<Trial> Trials;

  TunerTest() {
    use("");
    O.MinBaselineSeconds = 0;
    O.ExplainLimit = 0;
  }

  /// Empty: in order.
  void use(std::string Name) {
    O.MakeSampler = [Name](const SamplerContext &C)
        -> Expected<std::unique_ptr<Sampler>> {
      if (Name.empty())
        return std::make_unique<InOrder>(C);
      return createSampler(Name, C);
    };
  }

  /// Another study.
  void restart() { Log = MemoryLog(); }

  Expected<StudyOutcome> tryRun() {
    E.forget();
    Tuner T(StudyInstance{"one", 1, Space}, E, &Log, &Observer, O);
    Expected<StudyOutcome> Outcome = T.run();
    Trials = T.trials();
    return Outcome;
  }
  StudyOutcome run() { return cantFail(tryRun()); }

  bool hasNote(StringRef Part) const {
    return any_of(Observer.Notes,
                  [&](StringRef N) { return N.contains(Part); });
  }
};

/// Two histories with the same trials.
void expectEqual(ArrayRef<Trial> A, ArrayRef<Trial> B) {
  ASSERT_EQ(A.size(), B.size());
  for (size_t I = 0; I != A.size(); ++I) {
    SCOPED_TRACE(I);
    EXPECT_EQ(A[I].Number, B[I].Number);
    EXPECT_EQ(A[I].Kind, B[I].Kind);
    EXPECT_EQ(A[I].State, B[I].State);
    EXPECT_EQ(A[I].P, B[I].P);
    EXPECT_EQ(A[I].Values, B[I].Values);
    EXPECT_EQ(A[I].DuplicateOf, B[I].DuplicateOf);
    EXPECT_EQ(printConfig(A[I].Config), printConfig(B[I].Config));
  }
}

TEST_F(TunerTest, TriesEverythingAndFindsTheBest) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 1000 + 10 * get(C, "llvm.x") -
                                  30 * (get(C, "llvm.y") == 7);
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.End, StudyEnd::Exhausted);
  EXPECT_EQ(R.Complete + R.Pruned, 100u);
  EXPECT_EQ(Log.Ended.size(), Trials.size());
  EXPECT_TRUE(Log.Begun.empty());
  ASSERT_TRUE(R.winner());
  const Trial &Best = Trials[*R.winner()];
  EXPECT_EQ(get(Best.Config, "llvm.x"), 0);
  EXPECT_EQ(get(Best.Config, "llvm.y"), 7);
  EXPECT_DOUBLE_EQ(R.Final.Confirmed->Speedup.Value, 1000 / 970.);
  EXPECT_EQ(R.Final.Confirmed->Samples.size(),
            R.Final.Rounds * FinalTestResult::ConfirmFactor);
  EXPECT_EQ(R.Final.Confirmed->BaselineSamples.front(), 1000);
  EXPECT_EQ(R.Best.front(), *R.winner());
  std::set<std::string> Configs;
  for (const Trial &T : Trials)
    if (T.Kind != TrialKind::Canary) {
      EXPECT_TRUE(Configs.insert(printConfig(T.Config)).second);
    }
}

TEST_F(TunerTest, BeginsWithTheDefaultAndWhatWasEnqueued) {
  O.Trials = 3;
  O.Enqueued = {{4, 5}, {0, 0}, {6, 6}};
  run();
  ASSERT_EQ(Trials.size(), 3u);
  EXPECT_EQ(Trials[0].Kind, TrialKind::Start);
  EXPECT_EQ(Trials[0].P, Space.defaultPoint());
  EXPECT_EQ(Trials[1].Kind, TrialKind::Enqueued);
  EXPECT_EQ(Trials[1].P, Point({4, 5}));
  EXPECT_EQ(Trials[2].P, Point({6, 6})) << "the default point comes once";
}

TEST_F(TunerTest, TakesWhatSomebodyEnqueuesMeanwhile) {
  O.Trials = 10;
  bool Done = false;
  Observer.Fn = [&](const StudyProgress &P) {
    if (P.Trials == 4 && !Done)
      Log.Enqueued = {{9, 9}};
    Done |= P.Trials == 4;
  };
  run();
  EXPECT_TRUE(any_of(Trials, [](const Trial &T) {
    return T.Kind == TrialKind::Enqueued && T.P == Point({9, 9});
  }));
}

TEST_F(TunerTest, CountsTrialsAndKeepsTheEvaluatorBusy) {
  E.Capacity = 8;
  O.Trials = 60;
  O.CanaryTrials = 20;
  StudyOutcome R = run();
  EXPECT_EQ(R.End, StudyEnd::Trials);
  EXPECT_EQ(R.Complete + R.Pruned + R.Failed, 60u);
  EXPECT_GE(E.MostUnderWay, 8u);
  EXPECT_LE(E.MostUnderWay, 10u) << "and a canary, and a baseline";
  for (size_t I = 0; I != Trials.size(); ++I)
    EXPECT_EQ(Trials[I].Number, I);
}

TEST_F(TunerTest, AsksForMoreTheMoreIsKnown) {
  Space = makeSpace({{"time"}}, 39);
  std::vector<unsigned> Asked;
  struct Counter : InOrder {
    std::vector<unsigned> &Asked;
    Counter(const SamplerContext &C, std::vector<unsigned> &Asked)
        : InOrder(C), Asked(Asked) {}
    Expected<std::vector<Point>> ask(unsigned N) override {
      Asked.push_back(N);
      return InOrder::ask(N);
    }
  };
  O.MakeSampler = [&](const SamplerContext &C) {
    return std::make_unique<Counter>(C, Asked);
  };
  O.Trials = 800;
  run();
  EXPECT_EQ(std::accumulate(Asked.begin(), Asked.end(), 0u), 799u);
  EXPECT_EQ(*std::max_element(Asked.begin(), Asked.end()), 7u);
}

TEST_F(TunerTest, EndsWithTheBudget) {
  O.Deadline = steadySeconds();
  StudyOutcome R = run();
  EXPECT_EQ(R.End, StudyEnd::Budget);
  EXPECT_LT(Trials.size(), 3u);
}

TEST_F(TunerTest, LeavesTimeForTheRetest) {
  E.RunSeconds = 700; // A launch takes 100 s, the shortest re-test an hour.
  O.Deadline = steadySeconds() + 1000;
  StudyOutcome R = run();
  EXPECT_EQ(R.End, StudyEnd::Budget);
  EXPECT_LT(Trials.size(), 3u);
}

TEST_F(TunerTest, RetestsWithAsFewPairsAsAnIntervalNeeds) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 - 10 * get(C, "llvm.x");
  };
  O.FinalCandidates = 0;
  run();
  O.FinalCandidates = 5;
  O.Deadline = steadySeconds();
  E.RunSeconds = 1;
  StudyOutcome R = run();
  ASSERT_EQ(R.Final.Candidates.size(), 1u);
  EXPECT_EQ(R.Final.Rounds, MinIntervalSamples);
  EXPECT_EQ(R.Final.Candidates[0].Samples.size(), MinIntervalSamples);
  EXPECT_TRUE(R.Final.isSignificant());
}

TEST_F(TunerTest, RetestsFewerCandidatesRatherThanFewerPairs) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 - 10 * get(C, "llvm.x");
  };
  O.FinalCandidates = 0;
  run();
  O.FinalCandidates = 5;
  // Of three candidates, ten rounds of eight launches each take 5600 s.
  E.RunSeconds = 490;
  O.Deadline = steadySeconds() + 6000;
  StudyOutcome R = run();
  EXPECT_EQ(R.Final.Candidates.size(), 3u);
  EXPECT_EQ(R.Final.Rounds, 10u);
}

TEST_F(TunerTest, SkipsAnExplanationWithoutTime) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 - 10 * get(C, "llvm.x");
  };
  O.ExplainLimit = 200;
  EXPECT_TRUE(run().Why);
  O.Deadline = steadySeconds();
  E.RunSeconds = 1;
  StudyOutcome R = run();
  EXPECT_TRUE(R.Final.isSignificant());
  EXPECT_FALSE(R.Why);
  EXPECT_TRUE(hasNote("no time was left to search for the smallest change"));
}

TEST_F(TunerTest, RacesAgainstTheBest) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 + 100 * get(C, "llvm.x");
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.Complete, 10u);
  EXPECT_EQ(R.Pruned, 90u);
  for (const EvaluationRequest &Q : E.Requests)
    if (get(Q.Config, "llvm.x") > 0) {
      EXPECT_DOUBLE_EQ(Q.stopAbove(""), 1.05 * 900);
      EXPECT_GE(Q.LaunchTimeout, 2);
    }
  O.RaceFactor = 0;
  restart();
  EXPECT_EQ(run().Pruned, 0u);
}

TEST_F(TunerTest, RacesAgainstAsManyAsTheFinalTestTakes) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000
                     : 800 + 20 * (10 * get(C, "llvm.x") + get(C, "llvm.y"));
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.Complete, 7u) << "up to 1.05 times the fifth best, 880";
  EXPECT_EQ(R.Final.Candidates.size(), 5u);
}

TEST_F(TunerTest, RacesAgainstTheBaseline) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() || get(C, "llvm.x") == 0 ? 1000 : 1100;
  };
  O.FinalCandidates = 50;
  EXPECT_EQ(run().Complete, 10u);
}

TEST_F(TunerTest, WhatIsSuspectIsNoBest) {
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 9 && get(C, "llvm.y") == 9 ? 900 : 1000;
  };
  O.BaselineTrials = 1000;
  O.CanaryTrials = 10;
  // In the second window all seems fast.
  E.Drift = [](uint64_t N) { return N >= 18 && N <= 23 ? 0.3 : 1; };
  std::optional<uint64_t> Best;
  Observer.Fn = [&](const StudyProgress &P) { Best = P.BestTrial; };
  StudyOutcome R = run();
  EXPECT_EQ(R.Suspect, 10u);
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(Trials[*R.winner()].P, Point({9, 9}));
  EXPECT_EQ(R.Best, std::vector<uint64_t>({*R.winner()}));
  EXPECT_EQ(Best, R.winner());
  // Nor when it goes on.
  run();
  EXPECT_EQ(Best, R.winner());
}

TEST_F(TunerTest, WhatHasItsCodeIsMeasuredAnew) {
  // Two values of x have equal code.
  E.Code = [](const json::Object &C) {
    return C.empty() ? "base"
                     : formatv("{0} {1}", get(C, "llvm.x") / 2,
                               get(C, "llvm.y"))
                           .str();
  };
  O.BaselineTrials = 1000;
  O.CanaryTrials = 10;
  E.Drift = [](uint64_t N) { return N <= 12 && N > 1 ? 0.3 : 1; };
  std::optional<uint64_t> Best;
  Observer.Fn = [&](const StudyProgress &P) { Best = P.BestTrial; };
  StudyOutcome R = run();
  EXPECT_EQ(R.Suspect, 10u);
  EXPECT_LT(Trials[1].Values[0], 400) << "in the bad window";
  // After it, with the code of one in it.
  EXPECT_FALSE(Trials[11].DuplicateOf);
  EXPECT_NEAR(Trials[11].Values[0], 1000, 1e-6);
  ASSERT_TRUE(Best);
  EXPECT_NEAR(Trials[*Best].Values[0], 1000, 1e-6);
}

TEST_F(TunerTest, WhatWasMeasuredAnewIsKnown) {
  // Five values of x have equal code, the first of them in a bad window.
  E.Code = [](const json::Object &C) {
    return C.empty() ? "base"
                     : formatv("{0} {1}", get(C, "llvm.x") / 5,
                               get(C, "llvm.y"))
                           .str();
  };
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 800;
  };
  O.BaselineTrials = 1000;
  O.CanaryTrials = 10;
  O.FinalCandidates = 100;
  E.Drift = [](uint64_t N) { return N <= 12 && N > 1 ? 0.3 : 1; };
  StudyOutcome R = run();
  EXPECT_EQ(R.Suspect, 10u);
  unsigned Anew = 0;
  for (const Trial &T : Trials)
    if (T.Number > 10 && T.Kind != TrialKind::Canary &&
        get(T.Config, "llvm.x") < 5) {
      Anew += !T.DuplicateOf;
      EXPECT_NEAR(T.Values[0], 800, 1e-6) << T.Number;
    }
  EXPECT_EQ(Anew, 10u) << "each code once";
  // Each program is tested once: 10 of these, 10 of the others.
  EXPECT_EQ(R.Final.Candidates.size(), 20u);
}

TEST_F(TunerTest, MeasuresADoubtfulBaselineAgain) {
  O.BaselineTrials = 5;
  // The second baseline, after five trials.
  E.Drift = [](uint64_t N) { return N == 7 ? 10 : 1; };
  StudyOutcome R = run();
  for (const Trial &T : Trials)
    EXPECT_NEAR(T.BaselineNanoseconds, 1000, 1e-6) << T.Number;
  for (const BaselineSample &S : R.Baselines)
    EXPECT_EQ(S.Nanoseconds, 1000);
}

TEST_F(TunerTest, EachDeviceHasItsBaseline) {
  E.Devices = {{"a", 1}, {"b", 3}, {"c", 0.2}};
  E.Capacity = 4;
  auto GetTime = [](const json::Object &C) -> double {
    return C.empty() ? 1000
                     : 700 + 50 * get(C, "llvm.x") - 2 * get(C, "llvm.y");
  };
  E.Time = [=](const json::Object &C, unsigned) { return GetTime(C); };
  // One gets slower, which is nobody else's business.
  E.Before = [&](uint64_t N) {
    if (N == 60)
      E.Devices["c"] = 0.4;
  };
  O.BaselineTrials = 5;
  O.CanaryTrials = 20;
  StudyOutcome R = run();
  ASSERT_EQ(R.Complete + R.Pruned, 100u);
  double Reference = R.Baselines.front().Nanoseconds;
  std::map<std::string, unsigned> Count;
  unsigned Wrong = 0;
  for (const Trial &T : Trials) {
    if (T.Kind == TrialKind::Canary)
      continue;
    ++Count[T.Device];
    double Expected = GetTime(T.Config) * Reference / 1000;
    bool IsRight = std::fabs(T.Values[0] / Expected - 1) < 0.01;
    if (T.Device != "c")
      EXPECT_TRUE(IsRight) << T.Number << " on " << T.Device;
    Wrong += !IsRight;
  }
  EXPECT_EQ(Count.size(), 3u);
  EXPECT_LT(Wrong, 10u) << "while nobody knew that it was slower";
  std::set<std::string> Measured;
  for (const BaselineSample &S : R.Baselines)
    Measured.insert(S.Device);
  EXPECT_EQ(Measured.size(), 3u);
  EXPECT_EQ(Log.Baselines.size(), R.Baselines.size());
  // Of a race each device has its own end.
  for (const EvaluationRequest &Q : E.Requests)
    if (Q.StopAboveOn.size() == 3 && Q.StopAboveOn.lookup("a") > 0)
      EXPECT_NEAR(Q.StopAboveOn.lookup("b") / Q.StopAboveOn.lookup("a"), 3,
                  1e-6);
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(GetTime(Trials[*R.winner()].Config), 682);
}

TEST_F(TunerTest, WhatNothingCanBeComparedWithIsMeasuredAgain) {
  E.Devices = {{"a", 1}, {"b", 3}};
  O.CanaryTrials = 0;
  // One has measured a trial, and is gone before the baseline.
  std::string Lost;
  E.Before = [&](uint64_t) {
    const EvaluationRequest &Q = E.Requests.back();
    if (!Q.Device.empty() && Lost.empty()) {
      Lost = Q.Device;
      E.Devices.erase(Lost);
    }
  };
  StudyOutcome R = run();
  EXPECT_FALSE(Lost.empty());
  EXPECT_EQ(R.Complete + R.Pruned, 100u);
  EXPECT_TRUE(R.Failures.empty());
  for (const Trial &T : Trials)
    EXPECT_NE(T.Device, Lost) << T.Number;
  for (const BaselineSample &S : R.Baselines)
    EXPECT_NE(S.Device, Lost);
}

TEST_F(TunerTest, DevicesMayComeBack) {
  E.Devices = {{"a", 1}, {"b", 3}};
  O.CanaryTrials = 0;
  O.BaselineTrials = 5;
  bool IsGone = false;
  E.Before = [&](uint64_t N) {
    if (!IsGone && N > 20 && E.Requests.back().Device == "b") {
      IsGone = true;
      E.Devices.erase("b");
    }
    if (N == 60) // another one of that name
      E.Devices["b"] = 7;
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.Complete + R.Pruned, 100u);
  double Reference = R.Baselines.front().Nanoseconds;
  std::set<std::string> Early, Late;
  for (const Trial &T : Trials) {
    EXPECT_NEAR(T.Values[0], Reference, Reference * 1e-6)
        << T.Number << " on " << T.Device;
    if (T.Number < 15)
      Early.insert(T.Device);
    if (T.Number > 70)
      Late.insert(T.Device);
  }
  EXPECT_TRUE(IsGone);
  EXPECT_EQ(Early.size(), 2u);
  EXPECT_EQ(Late.size(), 2u);
  // All took as long as the baseline of their time.
  EXPECT_TRUE(R.Final.Candidates.empty());
}

TEST_F(TunerTest, EarlierRunsDoNotOutvoteABaseline) {
  // So many baselines in the first run; in the second all takes twice as long.
  O.RaceFactor = 0;
  for (unsigned Trials : {5, 20}) {
    restart();
    O.Trials = Trials;
    O.BaselineTrials = 10;
    E.Evaluations = 0;
    E.Drift = [](uint64_t) { return 1; };
    size_t Before = run().Baselines.size();
    O.Trials = Trials + 5;
    E.Drift = [](uint64_t) { return 2; };
    StudyOutcome R = run();
    for (const Trial &T : this->Trials)
      EXPECT_NEAR(T.BaselineNanoseconds, T.Number < Trials ? 1000 : 2000, 1e-6)
          << T.Number;
    EXPECT_TRUE(R.Final.Candidates.empty());
    EXPECT_EQ(Log.Baselines.size(), R.Baselines.size());
    EXPECT_EQ(R.Baselines.size(), Before + 2) << "none counts twice there";
  }
}

TEST_F(TunerTest, WhereTheBaselineFailsNothingIsKnown) {
  E.Devices = {{"a", 1}, {"b", 1}};
  O.CanaryTrials = 0;
  E.Fails = [&](const json::Object &C) {
    return C.empty() && E.Requests.back().Device == "a" ? "Mismatch" : "";
  };
  StudyOutcome R = run();
  EXPECT_GT(R.Complete, 0u);
  EXPECT_GT(R.Failed, 0u);
  for (const Trial &T : Trials)
    if (T.State == TrialState::Failed) {
      EXPECT_EQ(T.Failure, "WorkerLost");
      EXPECT_EQ(T.Error,
                "the baseline could not be measured on the trial's devices");
    }
  EXPECT_TRUE(hasNote("the baseline failed"));
}

TEST_F(TunerTest, SuspectsAreThoseOfTheDevice) {
  E.Devices = {{"a", 1}, {"b", 1}};
  O.CanaryTrials = 20;
  O.BaselineTrials = 1000;
  O.BaselineSeconds = 1e9;
  // One is slower for a while after its baseline.
  E.Before = [&](uint64_t N) { E.Devices["b"] = N > 5 ? 2 : 1; };
  StudyOutcome R = run();
  EXPECT_GT(R.Suspect, 0u);
  for (const Trial &T : Trials)
    if (T.Suspect)
      EXPECT_EQ(T.Device, "b") << T.Number;
}

TEST_F(TunerTest, FailuresAreData) {
  E.Fails = [](const json::Object &C) -> std::string {
    if (get(C, "llvm.x") == 3)
      return "Crash";
    return get(C, "llvm.y") == 5 ? "Mismatch" : "";
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.Failed, 19u);
  EXPECT_EQ(R.Failures["Crash"], 10u);
  EXPECT_EQ(R.Failures["Mismatch"], 9u);
  for (const Trial &T : Trials)
    if (get(T.Config, "llvm.x") == 3) {
      EXPECT_EQ(T.State, TrialState::Failed);
      EXPECT_EQ(T.Failure, "Crash");
      EXPECT_EQ(T.Error, "as planned");
      EXPECT_TRUE(T.Values.empty());
    }
}

TEST_F(TunerTest, NeedsABaseline) {
  E.Fails = [](const json::Object &) { return std::string("Mismatch"); };
  Expected<StudyOutcome> R = tryRun();
  ASSERT_FALSE(R);
  Error Err = R.takeError();
  EXPECT_TRUE(Err.isA<BaselineError>());
  EXPECT_EQ(toString(std::move(Err)),
            "the recorded configuration of instance 'one' does not verify, so "
            "nothing can be tuned (Mismatch: as planned); allow an error with "
            "--dtype and --tolerance, or let the application judge with "
            "--judge-by=app");
}

TEST_F(TunerTest, NeedsTheMetric) {
  Space = makeSpace({{"occupancy", Direction::Maximize}});
  EXPECT_THAT_EXPECTED(
      tryRun(), FailedWithMessage(
                    "the objective 'occupancy' cannot be measured here"));
}

TEST_F(TunerTest, ComparesWithTheApplicationsCode) {
  O.AppCode = true;
  E.CanRunAppCode = true;
  E.AppTime = 500;
  StudyOutcome R = run();
  EXPECT_TRUE(R.AppCode);
  EXPECT_FALSE(R.winner()) << "everything is slower";
  EXPECT_TRUE(E.Requests[0].AppCode);

  E.CanRunAppCode = false;
  restart();
  R = run();
  EXPECT_FALSE(R.AppCode);
  EXPECT_TRUE(hasNote("cannot be the baseline (Unsupported"));
}

TEST_F(TunerTest, NamesDuplicates) {
  E.Code = [](const json::Object &C) {
    return C.empty() ? "base" : "code" + std::to_string(get(C, "llvm.x"));
  };
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 - 10 * get(C, "llvm.x");
  };
  O.RaceFactor = 0;
  O.CanaryTrials = 0;
  StudyOutcome R = run();
  EXPECT_EQ(R.Duplicates, 90u);
  std::map<int64_t, uint64_t> First;
  for (const Trial &T : Trials) {
    auto [It, New] = First.try_emplace(get(T.Config, "llvm.x"), T.Number);
    EXPECT_EQ(T.DuplicateOf.has_value(), !New);
    if (!New) {
      EXPECT_EQ(*T.DuplicateOf, It->second);
      EXPECT_EQ(T.BaselineNanoseconds, Trials[It->second].BaselineNanoseconds);
    }
  }
  ASSERT_EQ(R.Final.Candidates.size(), 5u);
  std::set<int64_t> Codes;
  for (const RetestedTrial &T : R.Final.Candidates)
    EXPECT_TRUE(Codes.insert(get(T.config(), "llvm.x")).second);
}

TEST_F(TunerTest, BaselinesCodeIsNoCandidate) {
  E.Code = [](const json::Object &C) {
    return C.empty() || get(C, "llvm.x") == 0 ? "base" : printConfig(C);
  };
  E.Noise = 0.05;
  StudyOutcome R = run();
  for (const RetestedTrial &T : R.Final.Candidates)
    EXPECT_NE(get(T.config(), "llvm.x"), 0);
}

TEST_F(TunerTest, DriftDoesNotHideTheBest) {
  E.Drift = [](uint64_t N) { return 1 + N / 100.; };
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 9 && get(C, "llvm.y") == 9 ? 900 : 1000;
  };
  O.RaceFactor = 0;
  O.BaselineTrials = 5;
  StudyOutcome R = run();
  EXPECT_GT(Trials.back().Metrics.lookup("time"), 1700);
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(Trials[*R.winner()].P, Point({9, 9}));
  EXPECT_EQ(R.Final.Candidates[0].Number, *R.winner());
  EXPECT_NEAR(R.Final.Candidates[0].RawSpeedup, 1 / 0.9, 0.03);
}

TEST_F(TunerTest, CanaryFindsABadWindow) {
  E.Noise = 0.005;
  O.BaselineTrials = 1000;
  O.CanaryTrials = 20;
  // From the middle of the second window to its end.
  E.Drift = [](uint64_t N) { return N > 35 && N < 50 ? 1.5 : 1; };
  O.RaceFactor = 0;
  StudyOutcome R = run();
  EXPECT_EQ(Observer.Notes,
            std::vector<std::string>(
                {"1 of 5 checks of the baseline failed or were off: the machine "
                 "is noisy, and 20 trials around them are suspect; end other "
                 "programs and run the study again, or trust only the "
                 "re-test"}));
  EXPECT_EQ(R.Suspect, 20u);
  std::vector<uint64_t> Canaries;
  for (const Trial &T : Trials)
    if (T.Kind == TrialKind::Canary)
      Canaries.push_back(T.Number);
  EXPECT_EQ(Canaries, std::vector<uint64_t>({20, 41, 62, 83, 104}));
  for (const Trial &T : Trials)
    EXPECT_EQ(T.Suspect, T.Number > 20 && T.Number <= 41) << T.Number;

  // A study that goes on knows it too.
  StudyOutcome Again = run();
  EXPECT_EQ(Again.Resumed, 100u) << "without canaries";
  EXPECT_EQ(Again.Suspect, 20u);
}

TEST_F(TunerTest, CanariesJudgeByTime) {
  E.Capacity = 8;
  E.Next = [&](size_t Waiting) { return 5 * E.Evaluations % Waiting; };
  O.BaselineTrials = 1000;
  O.CanaryTrials = 20;
  O.RaceFactor = 0;
  E.Drift = [](uint64_t N) { return N > 1 && N < 60 ? 1.5 : 1; };
  StudyOutcome R = run();
  std::map<double, const Trial *> Canaries;
  for (const Trial &T : Trials)
    if (T.Kind == TrialKind::Canary)
      Canaries[T.Ended] = &T;
  unsigned Suspect = 0, Overtaken = 0;
  for (const Trial &T : Trials) {
    if (T.Kind == TrialKind::Canary)
      continue;
    auto Next = Canaries.upper_bound(T.Ended);
    EXPECT_EQ(T.Suspect, Next != Canaries.end() && Next->second->Suspect)
        << T.Number;
    Suspect += T.Suspect;
    Overtaken += T.Suspect && Next != Canaries.begin() &&
                 std::prev(Next)->second->Number > T.Number;
  }
  EXPECT_EQ(R.Suspect, Suspect);
  EXPECT_GT(Overtaken, 0u) << "by the canary before";
}

TEST_F(TunerTest, CanaryIsQuietWhereNothingHappens) {
  E.Noise = 0.02;
  O.CanaryTrials = 10;
  StudyOutcome R = run();
  EXPECT_EQ(R.Suspect, 0u);
}

TEST_F(TunerTest, FinalTestFindsTheTrueBest) {
  E.Noise = 0.03;
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() || C != json::Object{{"llvm.x", 6}, {"llvm.y", 3}} ? 1000
                                                                      : 930;
  };
  O.RaceFactor = 0;
  for (uint64_t Seed = 1; Seed != 6; ++Seed) {
    E.Seed = Seed;
    restart();
    StudyOutcome R = run();
    ASSERT_TRUE(R.winner());
    EXPECT_EQ(Trials[*R.winner()].P, Point({6, 3}));
    EXPECT_LT(R.Final.countSurvivors(), R.Final.Candidates.size())
        << "the others were lucky";
    EXPECT_EQ(R.Final.Rounds, 30u);
    EXPECT_GT(R.Final.Confirmed->Speedup.Low, 1);
    EXPECT_LT(R.Final.Confirmed->Speedup.Low, 1 / 0.93);
    EXPECT_GT(R.Final.Confirmed->Speedup.High, 1.03);
  }
}

TEST_F(TunerTest, FindsNoDifferenceWhereThereIsNone) {
  E.Noise = 0.05;
  O.RaceFactor = 0;
  for (uint64_t Seed = 1; Seed != 9; ++Seed) {
    E.Seed = Seed;
    restart();
    StudyOutcome R = run();
    ASSERT_EQ(R.Final.Candidates.size(), 5u);
    EXPECT_GT(R.Final.Candidates[0].RawSpeedup, 1.02) << "it looks faster";
    EXPECT_FALSE(R.Final.isSignificant());
    EXPECT_FALSE(R.winner());
  }
}

TEST_F(TunerTest, ChoosesByTheLowerBound) {
  // One is faster in the middle, but varies; another one does not.
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 3 && get(C, "llvm.y") == 3   ? 900
           : get(C, "llvm.x") == 4 && get(C, "llvm.y") == 4 ? 940
                                                            : 1000;
  };
  E.InPairs = [](const json::Object &C, uint64_t, unsigned Round) {
    return get(C, "llvm.x") == 3 ? (Round % 2 ? 0.75 : 1.35) : 1;
  };
  StudyOutcome R = run();
  ASSERT_EQ(R.Final.Candidates.size(), 2u);
  const RetestedTrial &Varies = R.Final.Candidates[0];
  EXPECT_GT(Varies.Speedup.Value, 1.064);
  EXPECT_EQ(R.Final.compare(Varies), Comparison::Insignificant);
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(Trials[*R.winner()].P, Point({4, 4}));
  EXPECT_EQ(R.Final.Winner, 1u);
}

TEST_F(TunerTest, TheNextOneIsConfirmedWhereTheBestDoesNotHold) {
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 3 && get(C, "llvm.y") == 3   ? 800
           : get(C, "llvm.x") == 4 && get(C, "llvm.y") == 4 ? 900
                                                            : 1000;
  };
  E.InPairs = [](const json::Object &C, uint64_t Comparison, unsigned) {
    return get(C, "llvm.x") == 3 && Comparison > 1 ? 1000 / 800. : 1;
  };
  StudyOutcome R = run();
  EXPECT_EQ(E.Comparisons, 3u) << "all, the best, the next one";
  EXPECT_EQ(R.Final.countSurvivors(), 2u);
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(Trials[*R.winner()].P, Point({4, 4}));

  // If none holds, the one of which most does is reported.
  restart();
  E.Comparisons = 0;
  E.InPairs = [](const json::Object &C, uint64_t Comparison, unsigned) {
    if (C.empty() || Comparison == 1)
      return 1.0;
    return get(C, "llvm.x") == 3 ? 1010 / 800. : 1050 / 900.;
  };
  R = run();
  EXPECT_FALSE(R.winner());
  EXPECT_EQ(Trials[R.Final.Confirmed->Number].P, Point({3, 3}));
  EXPECT_EQ(R.Final.compare(*R.Final.Confirmed), Comparison::Slower);
}

TEST_F(TunerTest, AWinMustBeLargeEnough) {
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 3 && get(C, "llvm.y") == 3 ? 997 : 1000;
  };
  StudyOutcome R = run();
  EXPECT_FALSE(R.winner());
  ASSERT_EQ(R.Final.Candidates.size(), 1u);
  EXPECT_GT(R.Final.Candidates[0].Speedup.Low, 1);
  EXPECT_EQ(R.Final.compare(R.Final.Candidates[0]), Comparison::Negligible);
  O.MinEffect = 0.002;
  restart();
  EXPECT_TRUE(run().winner());
}

TEST(Comparison, SaysWhatTheIntervalSays) {
  auto Compare = [](double Low, double Value, double High) {
    return compareWithBaseline({Value, Low, High}, 0.005);
  };
  EXPECT_EQ(Compare(1.044, 1.064, 1.135), Comparison::Faster);
  EXPECT_EQ(Compare(0.953, 1.102, 1.150), Comparison::Insignificant);
  EXPECT_EQ(Compare(0.973, 0.979, 0.984), Comparison::Slower);
  EXPECT_EQ(Compare(1.0001, 1.0002, 1.0004), Comparison::Negligible);
  EXPECT_EQ(Compare(1.0001, 1.004, 1.2), Comparison::Negligible);
  EXPECT_EQ(Compare(1.0001, 1.005, 1.2), Comparison::Faster);
  EXPECT_EQ(Compare(0.9, 0.996, 0.9999), Comparison::Negligible);
  EXPECT_EQ(Compare(0.999, 1, 1.001), Comparison::Negligible)
      << "surely less than matters";
  EXPECT_EQ(Compare(0.999, 1, 1.006), Comparison::Insignificant);
  EXPECT_EQ(getComparisonText(Comparison::Slower), "significantly slower");
}

TEST_F(TunerTest, MeasuresTheWinnerWithTheOtherCache) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 + 10 * get(C, "llvm.x");
  };
  E.OtherCache = [](const json::Object &C) { return C.empty() ? 0.5 : 0.6; };
  EXPECT_FALSE(run().Final.Confirmed->OtherCacheSpeedup);
  restart();
  O.OtherCache = "warm";
  StudyOutcome R = run();
  EXPECT_DOUBLE_EQ(R.Final.Confirmed->Speedup.Value, 1000 / 900.);
  ASSERT_TRUE(R.Final.Confirmed->OtherCacheSpeedup);
  EXPECT_DOUBLE_EQ(R.Final.Confirmed->OtherCacheSpeedup->Value, 500 / 540.);
  EXPECT_EQ(R.Final.OtherCache, "warm");
  EXPECT_TRUE(R.winner()) << "the evaluator's own state decides";
}

TEST_F(TunerTest, OneThatFailsInTheFinalTestDoesSoAlone) {
  bool Flaky = false;
  Observer.Fn = [&](const StudyProgress &P) {
    Flaky |= P.Phase == StudyProgress::FinalTest;
  };
  E.Time = [](const json::Object &C, unsigned) {
    return 1000 - 10 * get(C, "llvm.x") - get(C, "llvm.y");
  };
  E.Fails = [&](const json::Object &C) {
    return Flaky && get(C, "llvm.x") == 9 && get(C, "llvm.y") == 9 ? "Crash"
                                                                   : "";
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.Final.Candidates[0].Failure, "Crash");
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(Trials[*R.winner()].P, Point({9, 8}));
}

TEST_F(TunerTest, InterruptedStudiesGoOnAsIfNothingHadHappened) {
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000
                     : 800 + 10 * std::abs(get(C, "llvm.x") - 3) +
                           7 * std::abs(get(C, "llvm.y") - 6);
  };
  E.Code = [](const json::Object &C) {
    int64_t Y = get(C, "llvm.y");
    return C.empty() ? "base"
                     : formatv("{0} {1}", get(C, "llvm.x"), Y - Y % 2).str();
  };
  O.Trials = 60;
  O.CanaryTrials = 10;
  O.Seed = 7;
  for (const char *Name : {"random", "lfbo", "tpe", "ils"}) {
    SCOPED_TRACE(Name);
    use(Name);
    restart();
    Observer.Fn = nullptr;
    run();
    std::vector<Trial> Whole = Trials;
    ASSERT_EQ(Whole.size(), 65u);

    // Ctrl-C after 23, again after 40.
    restart();
    for (uint64_t Stop : {23u, 40u, 60u}) {
      std::atomic<int> Interrupts{0};
      O.Interrupts = &Interrupts;
      Observer.Fn = [&](const StudyProgress &P) {
        if (P.Trials == Stop && Stop != O.Trials)
          Interrupts = 2;
      };
      StudyOutcome R = run();
      EXPECT_EQ(R.End, Stop == O.Trials ? StudyEnd::Trials
                                        : StudyEnd::Interrupted);
      O.Interrupts = nullptr;
    }
    expectEqual(Whole, Trials);
  }
}

TEST_F(TunerTest, KilledStudiesGoOn) {
  O.Trials = 50;
  O.CanaryTrials = 10;
  use("random");
  run();
  std::vector<Trial> Whole = Trials;
  // The log as it is in the middle of each trial: what it was on disk when the
  // process died.
  restart();
  std::vector<MemoryLog> Moments;
  E.Time = [&](const json::Object &, unsigned) {
    if (Moments.empty() || Moments.back().Ended.size() != Log.Ended.size())
      Moments.push_back(Log);
    return 1000;
  };
  run();
  E.Time = [](const json::Object &, unsigned) { return 1000; };
  ASSERT_GT(Moments.size(), 50u);
  for (size_t I = 0; I < Moments.size(); I += 7) {
    SCOPED_TRACE(I);
    Log = Moments[I];
    run();
    expectEqual(Whole, Trials);
    EXPECT_EQ(Log.Ended.size(), Whole.size());
    EXPECT_TRUE(Log.Begun.empty());
  }
}

TEST_F(TunerTest, AStudyKilledInTheReTestDoesIt) {
  O.CanaryTrials = 0;
  O.BaselineTrials = 1000;
  O.BaselineSeconds = 1e9;
  // The baseline is measured at the beginning, at the end, and in later runs.
  double Later = 960;
  std::optional<MemoryLog> Moment;
  E.Time = [&](const json::Object &C, unsigned) {
    if (E.Comparisons && !Moment)
      Moment = Log;
    return !C.empty() ? 970 : E.Evaluations == 1 ? 1000 : Later;
  };
  StudyOutcome Whole = run();
  ASSERT_FALSE(Whole.Final.Candidates.empty());
  ASSERT_TRUE(Moment);
  EXPECT_EQ(Moment->Ended.size(), 100u);
  Log = *Moment;
  Later = 900;
  for (int Resumed = 0; Resumed != 3; ++Resumed) {
    StudyOutcome R = run();
    EXPECT_EQ(R.Resumed, 100u);
    EXPECT_FALSE(R.Final.Candidates.empty()) << Resumed;
  }
}

TEST_F(TunerTest, TheBaselinesCodeIsNotTheBest) {
  E.Code = [](const json::Object &C) {
    return C.empty() || get(C, "llvm.x") == 0 ? "base" : printConfig(C);
  };
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() || get(C, "llvm.x") == 0 ? 1000 : 1010;
  };
  StudyOutcome R = run();
  ASSERT_EQ(R.Best.size(), 1u);
  EXPECT_NE(get(Trials[R.Best[0]].Config, "llvm.x"), 0);
}

TEST_F(TunerTest, GoesOnExactlyWithWhatWasAskedAhead) {
  Space = makeSpace({{"time"}}, 39);
  auto Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000
                     : 800 + 10 * std::abs(get(C, "llvm.x") - 23) +
                           7 * std::abs(get(C, "llvm.y") - 6);
  };
  O.Trials = 420;
  O.Seed = 5;
  O.FinalCandidates = 0;
  for (unsigned Capacity : {1u, 4u})
    for (const char *Name : {"random", "lfbo"}) {
      SCOPED_TRACE(Name + std::to_string(Capacity));
      E.Capacity = Capacity;
      // What ran is begun anew and raced against what is known by then.
      O.RaceFactor = Capacity == 1 ? 1.05 : 0;
      use(Name);
      restart();
      // The log as it is on disk when the process dies, some of them with more
      // trials than run.
      std::map<size_t, MemoryLog> Moments;
      E.Time = [&](const json::Object &C, unsigned I) {
        for (size_t Count : {205u, 318u, 351u, 352u, 353u})
          if (Log.Ended.size() == Count)
            Moments.try_emplace(Count, Log);
        return Time(C, I);
      };
      run();
      std::vector<Trial> Whole = Trials;
      E.Time = Time;
      ASSERT_EQ(Moments.size(), 5u);
      size_t Most = 0;
      for (const auto &[Count, Moment] : Moments) {
        SCOPED_TRACE(Count);
        Most = std::max(Most, Moment.Begun.size());
        Log = Moment;
        run();
        expectEqual(Whole, Trials);
      }
      EXPECT_GT(Most, Capacity);
    }
}

TEST_F(TunerTest, FillsNumbersThatALogLacks) {
  O.Trials = 30;
  O.CanaryTrials = 0;
  run();
  llvm::erase_if(Log.Ended, [](const Trial &T) { return T.Number % 7 == 3; });
  StudyOutcome R = run();
  EXPECT_EQ(R.Resumed, 26u);
  ASSERT_EQ(Trials.size(), 30u);
  for (size_t I = 0; I != Trials.size(); ++I)
    EXPECT_EQ(Trials[I].Number, I);
}

TEST_F(TunerTest, MeasuresNoCodeTwiceWhenItGoesOn) {
  E.Code = [](const json::Object &C) {
    return C.empty() ? "base" : "code" + std::to_string(get(C, "llvm.y"));
  };
  O.Trials = 50;
  O.CanaryTrials = 0;
  run();
  EXPECT_EQ(Trials.back().Number, 49u);
  O.Trials = 100;
  O.BaselineTrials = 1000;
  run();
  EXPECT_EQ(Trials.size(), 100u);
  EXPECT_EQ(E.Measured, 2u) << "baselines, first and last";
}

/// The log of a study that has ended has no running trials, but the next run
/// goes on with them.
TEST_F(TunerTest, ClosesTrialsThatDidNotEnd) {
  E.Capacity = 8;
  O.FinalCandidates = 0;
  O.RaceFactor = 0;
  run();
  std::vector<Trial> Whole = Trials;
  restart();
  std::atomic<int> Interrupts{0};
  O.Interrupts = &Interrupts;
  Observer.Fn = [&](const StudyProgress &P) { Interrupts = P.Trials == 20; };
  run();
  EXPECT_FALSE(Log.Begun.empty());
  for (const auto &[Number, T] : Log.Begun)
    EXPECT_TRUE(Log.Closed.count(Number)) << Number;
  Observer.Fn = nullptr;
  Interrupts = 0;
  run();
  EXPECT_TRUE(Log.Begun.empty());
  EXPECT_TRUE(Log.Closed.empty());
  expectEqual(Whole, Trials);
}

TEST_F(TunerTest, InterruptedOnceItStillTests) {
  std::atomic<int> Interrupts{0};
  O.Interrupts = &Interrupts;
  Observer.Fn = [&](const StudyProgress &P) {
    if (P.Trials == 20)
      Interrupts = 1;
  };
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 900 + get(C, "llvm.x");
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.End, StudyEnd::Interrupted);
  EXPECT_EQ(Trials.size(), 20u);
  EXPECT_TRUE(R.winner());
}

TEST_F(TunerTest, InterruptedTwiceItBreaksTheTestOff) {
  std::atomic<int> Interrupts{0};
  O.Interrupts = &Interrupts;
  for (unsigned Comparison : {1, 2}) {
    Interrupts = 0;
    restart();
    E.Comparisons = 0;
    E.Time = [&](const json::Object &C, unsigned) {
      if (E.Comparisons == Comparison)
        Interrupts = 2;
      return C.empty() ? 1000 : 900 + get(C, "llvm.x");
    };
    StudyOutcome R = run();
    EXPECT_EQ(E.Comparisons, Comparison);
    EXPECT_EQ(R.End, StudyEnd::Exhausted);
    EXPECT_TRUE(R.Final.isBrokenOff());
    EXPECT_FALSE(R.winner());
    EXPECT_TRUE(hasNote("the re-test was interrupted"));
    // The first ones are there if they are through.
    ASSERT_EQ(R.Final.Candidates.size(), 5u);
    for (const RetestedTrial &T : R.Final.Candidates)
      EXPECT_EQ(R.Final.survived(T), Comparison == 2);
    EXPECT_EQ(R.Final.Confirmed.has_value(), Comparison == 2);
  }
}

TEST_F(TunerTest, InterruptedBeforeTheBaselineItEnds) {
  std::atomic<int> Interrupts{1};
  O.Interrupts = &Interrupts;
  Expected<StudyOutcome> R = tryRun();
  ASSERT_FALSE(static_cast<bool>(R));
  Error Err = R.takeError();
  EXPECT_TRUE(Err.isA<BaselineError>());
  EXPECT_EQ(toString(std::move(Err)),
            "interrupted before the baseline was measured");
  EXPECT_EQ(E.Evaluations, 0u);
}

TEST_F(TunerTest, InterruptedTwiceItBreaksTheExplanationOff) {
  O.ExplainLimit = 50;
  std::atomic<int> Interrupts{0};
  O.Interrupts = &Interrupts;
  // In the measurements, and in the pairs.
  for (bool InPairs : {false, true}) {
    restart();
    Interrupts = 0;
    bool Explains = false;
    uint64_t Comparisons = 0;
    Observer.Fn = [&](const StudyProgress &P) {
      if (P.Phase != StudyProgress::Explain || Explains)
        return;
      Explains = true;
      Comparisons = E.Comparisons;
      if (!InPairs)
        Interrupts = 2;
    };
    E.Time = [&](const json::Object &C, unsigned) {
      if (Explains && E.Comparisons != Comparisons)
        Interrupts = 2;
      return get(C, "llvm.x") == 7 ? 700 : 1000;
    };
    StudyOutcome R = run();
    EXPECT_TRUE(Explains);
    EXPECT_TRUE(R.winner());
    EXPECT_FALSE(R.Why);
    EXPECT_EQ(R.Notes.back(), "the explanation was interrupted");
  }
}

TEST_F(TunerTest, AFullDiskDoesNotEndTheSearch) {
  Observer.Fn = [&](const StudyProgress &P) {
    Log.Full = P.Trials >= 10 && P.Trials < 30;
  };
  StudyOutcome R = run();
  EXPECT_EQ(Log.Ended.size(), Trials.size());
  EXPECT_EQ(R.Unlogged, 0u);
  EXPECT_TRUE(hasNote("trials cannot be logged now: no space left"));
  EXPECT_TRUE(hasNote("trials are logged again"));

  restart();
  Observer.Fn = [&](const StudyProgress &P) { Log.Full = P.Trials >= 90; };
  R = run();
  EXPECT_EQ(R.Unlogged, Trials.size() - Log.Ended.size());
  EXPECT_GT(R.Unlogged, 0u);
}

TEST_F(TunerTest, KeepsWhatItHasWhenTheEvaluatorIsLost) {
  E.LostAfter = 40;
  StudyOutcome R = run();
  EXPECT_EQ(R.End, StudyEnd::Lost);
  EXPECT_EQ(R.EndReason, "the fake is lost");
  EXPECT_GT(Log.Ended.size(), 30u);
  EXPECT_FALSE(R.Best.empty());
  EXPECT_FALSE(R.winner());
}

TEST_F(TunerTest, RefusesASamplerThatThereIsNot) {
  use("annealing");
  EXPECT_THAT_EXPECTED(tryRun(), Failed());
}

TEST_F(TunerTest, SeveralObjectivesHaveAParetoSet) {
  Space = makeSpace({{"time"}, {"reg_usage"}});
  E.Time = [](const json::Object &C, unsigned) {
    return C.empty() ? 1000 : 990 - 20 * get(C, "llvm.x");
  };
  E.Metrics = [](const json::Object &C, StringMap<double> &M) {
    M["reg_usage"] =
        C.empty() ? 32 : 32 + 4 * get(C, "llvm.x") + get(C, "llvm.y");
  };
  StudyOutcome R = run();
  EXPECT_EQ(R.Pruned, 0u) << "what is slow can need few registers";
  ASSERT_EQ(R.Best.size(), 10u);
  for (uint64_t Number : R.Best)
    EXPECT_EQ(get(Trials[Number].Config, "llvm.y"), 0);
  ASSERT_EQ(R.Final.Candidates.size(), 5u);
  EXPECT_EQ(get(R.Final.Candidates[0].config(), "llvm.x"), 9);
  EXPECT_EQ(get(R.Final.Candidates[4].config(), "llvm.x"), 5);
}

TEST_F(TunerTest, OtherObjectivesThanTime) {
  Space = makeSpace({{"obj_size"}});
  E.Metrics = [](const json::Object &C, StringMap<double> &M) {
    M["obj_size"] = C.empty() ? 500 : 400 + std::abs(get(C, "llvm.x") - 4);
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(get(Trials[*R.winner()].Config, "llvm.x"), 4);
  EXPECT_EQ(R.Final.Candidates.size(), 1u) << "its time is told";
  EXPECT_FALSE(R.Final.isSignificant());
}

TEST_F(TunerTest, AnInterruptedTrialStartsNoFurtherInstance) {
  SearchSpace Other = makeSpace();
  StudyInstance Instances[] = {{"a", 1, Space}, {"b", 1, Other}};
  std::atomic<int> Interrupts{0};
  O.Interrupts = &Interrupts;
  E.Capacity = 2;
  E.RunsOldest = true;
  E.Next = [](size_t) { return 0; };
  // After two baselines and a trial, when two trials run their first instance.
  E.Before = [&](uint64_t Number) { Interrupts = Number >= 5; };
  Tuner T(Instances, E, &Log, &Observer, O);
  EXPECT_EQ(cantFail(T.run()).Complete, 1u);
}

TEST_F(TunerTest, SeveralInstances) {
  SearchSpace Other = makeSpace();
  // The first one likes a large x, the second a small one; the second counts
  // three times.
  E.Time = [](const json::Object &C, unsigned Instance) {
    if (C.empty())
      return Instance == 0 ? 1000. : 5000.;
    double X = get(C, "llvm.x");
    return Instance == 0 ? 1000 - 20 * X : 5000 - 100 * (9 - X);
  };
  StudyInstance Instances[] = {{"a", 1, Space}, {"b", 3, Other}};
  O.ExplainLimit = 20;
  Tuner T(Instances, E, &Log, &Observer, O);
  StudyOutcome R = cantFail(T.run());
  ASSERT_EQ(R.Instances.size(), 2u);
  EXPECT_DOUBLE_EQ(R.Instances[1].Weight, 0.75);
  EXPECT_EQ(R.Instances[1].Id, "b");
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(get(T.trials()[*R.winner()].Config, "llvm.x"), 0);
  const Trial &Best = T.trials()[*R.winner()];
  EXPECT_DOUBLE_EQ(Best.Metrics.lookup("time.a"), 1000);
  EXPECT_DOUBLE_EQ(Best.Metrics.lookup("time.b"), 4100);
  EXPECT_NEAR(Best.Values[0], std::pow(1000, 0.25) * std::pow(4100, 0.75),
              1e-6);
  ASSERT_EQ(R.Final.Confirmed->PerInstance.size(), 2u);
  EXPECT_NEAR(R.Final.Confirmed->Speedup.Value,
              std::pow(5000 / 4100., 0.75), 1e-9);
  // What each could have had is measured too.
  ASSERT_EQ(R.Regrets.size(), 2u);
  EXPECT_NEAR(R.Regrets[0].BestSpeedup, 1000 / 820., 1e-9);
  EXPECT_NEAR(R.Regrets[0].CommonSpeedup, 1, 1e-9);
  EXPECT_NEAR(R.Regrets[0].regret(), 0.18, 1e-9);
  EXPECT_EQ(R.Regrets[1].regret(), 0);
}

TEST_F(TunerTest, ExplainsTheWinner) {
  O.ExplainLimit = 50;
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 7 ? 700 : 1000;
  };
  E.Metrics = [](const json::Object &C, StringMap<double> &M) {
    M["reg_usage"] = get(C, "llvm.x") == 7 ? 40 : 64;
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_EQ(printConfig(R.Why->Config), "{\"llvm.x\":7}");
  EXPECT_EQ(R.Why->Dropped, std::vector<std::string>{"llvm.y"});
  EXPECT_TRUE(R.Why->Complete);
  EXPECT_NEAR(R.Why->Kept, 1, 1e-9);
  EXPECT_NEAR(R.Why->Speedup->Value, 10 / 7., 1e-9);
  EXPECT_EQ(R.Why->Before.lookup("reg_usage"), 64);
  EXPECT_EQ(R.Why->After.lookup("reg_usage"), 40);
  ASSERT_EQ(R.Why->Changes.size(), 1u);
  EXPECT_EQ(R.Why->Changes[0].Key, "llvm.x");
}

TEST_F(TunerTest, ExplainsByCounters) {
  O.ExplainLimit = 50;
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 7 ? 700 : 1000;
  };
  E.Counters = [](const json::Object &C) {
    double Bytes = get(C, "llvm.x") == 7 ? 1e9 : 2e9;
    CounterSamples S;
    S["dram_read_bytes"] = {Bytes, Bytes, Bytes, Bytes, Bytes};
    S["l2_bytes"] = {3e9, 4e9, 3e9, 3e9, 3e9};
    return S;
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_TRUE(R.Why->Counters.empty()); // not wanted
  restart();
  O.ReadCounters = true;
  R = run();
  ASSERT_TRUE(R.Why);
  ASSERT_EQ(R.Why->Counters.size(), 1u);
  EXPECT_EQ(formatCounterChange(R.Why->Counters[0]),
            "dram_read_bytes 2 GB -> 1 GB");
}

TEST_F(TunerTest, ExplainsWhatIsTrueInPairs) {
  O.ExplainLimit = 50;
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 7 ? 700 : 1000;
  };
  // When the search is over, single measurements flatter, or belittle.
  for (double Lie : {0.5, 1.15}) {
    restart();
    E.Comparisons = 0;
    E.Drift = [&](uint64_t) { return E.Comparisons ? Lie : 1.0; };
    StudyOutcome R = run();
    ASSERT_TRUE(R.Why);
    EXPECT_EQ(printConfig(R.Why->Config), "{\"llvm.x\":7}") << Lie;
    EXPECT_EQ(R.Why->Dropped, std::vector<std::string>{"llvm.y"}) << Lie;
  }
}

TEST_F(TunerTest, EqualCodeKeepsTheWinWhateverWasMeasured) {
  O.ExplainLimit = 50;
  // By chance: the code is the same with y and without.
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") != 7 ? 1000 : C.get("llvm.y") ? 700 : 720;
  };
  E.Code = [](const json::Object &C) {
    return std::to_string(get(C, "llvm.x"));
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_EQ(printConfig(R.Why->Config), "{\"llvm.x\":7}");
  EXPECT_NEAR(R.Why->Kept, 1, 1e-9);
}

TEST_F(TunerTest, ExplanationsLeaveOutWhatIsAsRecorded) {
  Study S;
  S.Name = "test";
  S.Parameters = {makeParameter("x", 0, 9), makeParameter("regs", 0, 3)};
  S.Fields = {{"llvm.x", Expr::parameter("x", ValueType::Int)},
              {"maxnreg", Expr::parameter("regs", ValueType::Int)}};
  S.Objectives = {{"time"}};
  Space = cantFail(SearchSpace::create(
      std::move(S), makeRecordedFacts({1, 1, 1}, {32, 1, 1}, 0, false, "2",
                                      "sm_90", "kernel")));
  O.ExplainLimit = 50;
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 7 && get(C, "maxnreg") <= 0 ? 700 : 1000;
  };
  // By chance, the winner alone keeps the win.
  E.InPairs = [](const json::Object &C, uint64_t, unsigned) {
    return C.size() == 1 && C.get("llvm.x") ? 1.3 : 1;
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.winner());
  EXPECT_EQ(get(Trials[*R.winner()].Config, "maxnreg"), 0);
  ASSERT_TRUE(R.Why);
  EXPECT_EQ(printConfig(R.Why->Config), "{\"llvm.x\":7}");
  EXPECT_TRUE(R.Why->Dropped.empty());
}

TEST_F(TunerTest, ExplanationsSayWhatFollows) {
  Study S;
  S.Name = "test";
  S.Parameters = {makeParameter("threads", 1, 8), makeParameter("x", 0, 1)};
  Expr Threads = Expr::parameter("threads", ValueType::Int);
  S.Fields = {{"block.x", Threads},
              {"grid.x", Expr::op(ExprOp::CeilDiv,
                                  {Expr::constant(int64_t(64)), Threads})},
              {"llvm.x", Expr::parameter("x", ValueType::Int)}};
  S.Objectives = {{"time"}};
  Space = cantFail(SearchSpace::create(
      std::move(S), makeRecordedFacts({2, 1, 1}, {32, 1, 1}, 0, false, "2",
                                      "sm_90", "kernel")));
  O.ExplainLimit = 50;
  // Too few blocks are wrong.
  E.Fails = [](const json::Object &C) {
    int64_t Blocks = C.getInteger("grid.x").value_or(2);
    int64_t Threads = C.getInteger("block.x").value_or(32);
    return Blocks * Threads < 64 ? "Mismatch" : "";
  };
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "block.x") == 4 ? 700 : 1000;
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_EQ(printConfig(R.Why->Config), "{\"block.x\":4,\"grid.x\":16}");
  ASSERT_EQ(R.Why->Changes.size(), 2u);
  EXPECT_TRUE(R.Why->Changes[0].From.empty());
  EXPECT_EQ(R.Why->Changes[1].From, std::vector<std::string>{"block.x"});
  EXPECT_EQ(R.Why->Dropped, std::vector<std::string>{"llvm.x"});

  // Where it does not matter, what follows from it does not, either.
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") == 1 ? 700 : get(C, "block.x") == 4 ? 900 : 1000;
  };
  restart();
  R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_EQ(printConfig(R.Why->Config), "{\"llvm.x\":1}");
  EXPECT_EQ(R.Why->Dropped, std::vector<std::string>{"block.x"});
}

TEST_F(TunerTest, ASmallerChangeKeepsAllOfTheWinAtMost) {
  O.ExplainLimit = 50;
  // What the winner has besides does harm.
  E.Time = [](const json::Object &C, unsigned) {
    return get(C, "llvm.x") != 7 ? 1000 : C.get("llvm.y") ? 900 : 800;
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_EQ(printConfig(R.Why->Config), "{\"llvm.x\":7}");
  EXPECT_EQ(R.Why->Kept, 1);
}

TEST_F(TunerTest, EqualCodeIsJudgedOnce) {
  O.ExplainLimit = 50;
  Space = makeSpace({{"time"}}, 9, {"x", "y", "z"});
  // By chance, x alone seems too slow, and x with z, which is no other code,
  // does not.
  E.Time = [](const json::Object &C, unsigned) {
    if (get(C, "llvm.x") != 7)
      return 1000;
    return C.get("llvm.y") ? 700 : C.get("llvm.z") ? 703 : 725;
  };
  E.Code = [](const json::Object &C) {
    return formatv("{0} {1}", get(C, "llvm.x"), C.get("llvm.y") != nullptr)
        .str();
  };
  StudyOutcome R = run();
  ASSERT_TRUE(R.Why);
  EXPECT_FALSE(R.Why->Config.get("llvm.z")) << printConfig(R.Why->Config);
}

} // namespace
