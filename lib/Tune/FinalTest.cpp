//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Tune/FinalTest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Clock.h"

using namespace llvm;
using namespace llvm::mneme;

unsigned TestSetting::countLaunches(unsigned Cases) const {
  unsigned Confirmations = OtherCache.empty() ? 1 : 2;
  return 1 + Cases + 2 * FinalTestResult::ConfirmFactor * Confirmations;
}

/// Makes the requests for the baseline, which is request 0, and some cases on
/// one instance.
static std::vector<EvaluationRequest>
makeRequests(const TestSetting &S, ArrayRef<const TestCase *> Cases,
             unsigned Instance) {
  std::vector<EvaluationRequest> Requests;
  auto Add = [&](const json::Object &Config, bool AppCode) {
    EvaluationRequest R;
    R.Id = S.NextId++;
    R.Config = Config;
    R.Fresh = true;
    R.LaunchTimeout = S.LaunchTimeouts[Instance];
    R.Instance = Instance;
    R.AppCode = AppCode;
    R.OtherCache = S.InOtherCache;
    R.Counters = S.ReadCounters && Instance == 0;
    Requests.push_back(std::move(R));
  };
  Add({}, S.AppCode);
  for (const TestCase *C : Cases)
    Add(C->Configs[Instance], false);
  return Requests;
}

/// Adds the ratio of case \p Case, numbered from 0.
static void addRatio(RetestedTrial &T, unsigned Instance,
                     const PairedEvaluation &P, size_t Case) {
  ArrayRef<double> Baseline = P.Samples[0], Samples = P.Samples[Case + 1];
  T.PerInstance.push_back(estimatePairedRatio(Baseline, Samples));
  T.CodeHashes.push_back(P.CodeHashes.empty() ? "" : P.CodeHashes[Case + 1]);
  if (Instance != 0)
    return;
  T.BaselineNanoseconds = summarize(Baseline).Median;
  T.Nanoseconds = summarize(Samples).Median;
  T.Samples = Samples;
  T.BaselineSamples = Baseline;
  T.Device = P.Device;
  T.CounterProblem = P.CounterProblem;
  if (!P.Counters.empty())
    T.Counters = findCounterChanges(P.Counters[0], P.Counters[Case + 1]);
}

/// Re-tests one instance. If the whole comparison fails, compares each case
/// alone to find those that fail.
static Error retestOn(const TestSetting &S, unsigned Instance,
                      ArrayRef<TestCase> Cases,
                      MutableArrayRef<RetestedTrial> Results) {
  SmallVector<const TestCase *> Left;
  SmallVector<RetestedTrial *> LeftResults;
  for (auto [C, R] : zip_equal(Cases, Results))
    if (R.Failure.empty()) {
      Left.push_back(&C);
      LeftResults.push_back(&R);
    }
  auto Compare = [&](ArrayRef<const TestCase *> Some) {
    function_ref<bool()> Stop;
    if (S.Stop)
      Stop = S.Stop;
    return S.E.comparePaired(makeRequests(S, Some, Instance), S.Rounds, Stop);
  };
  auto Take = [&](PairedEvaluation &P, ArrayRef<RetestedTrial *> Some) {
    for (auto [I, R] : enumerate(Some)) {
      R->Failure = P.Failure;
      R->Error = P.Error;
      if (P.Failure.empty())
        addRatio(*R, Instance, P, I);
    }
  };
  if (Left.empty())
    return Error::success();
  Expected<PairedEvaluation> All = Compare(Left);
  if (!All)
    return All.takeError();
  if (All->Failure.empty() || All->Failure == PairedEvaluation::Interrupted) {
    Take(*All, LeftResults);
    return Error::success();
  }
  for (auto [C, R] : zip_equal(Left, LeftResults)) {
    Expected<PairedEvaluation> One = Compare(C);
    if (!One)
      return One.takeError();
    Take(*One, R);
  }
  return Error::success();
}

Expected<std::vector<RetestedTrial>> mneme::retest(const TestSetting &S,
                                                   ArrayRef<TestCase> Cases) {
  std::vector<RetestedTrial> Results;
  for (const TestCase &C : Cases) {
    RetestedTrial &T = Results.emplace_back();
    T.Number = C.Number;
    T.Configs = C.Configs;
    T.RawSpeedup = C.RawSpeedup;
  }
  for (unsigned I = 0; I != S.Weights.size(); ++I)
    if (Error E = retestOn(S, I, Cases, Results))
      return std::move(E);
  for (RetestedTrial &T : Results)
    if (T.Failure.empty())
      T.Speedup = combineRatios(T.PerInstance, S.Weights);
  return Results;
}

/// Ranks the survivors first, by their lower bounds: a wide interval promises
/// little, whatever its center. Omits failed candidates.
static std::vector<size_t> rankCandidates(const FinalTestResult &R) {
  std::vector<size_t> Order;
  for (const auto &[I, T] : enumerate(R.Candidates))
    if (T.Failure.empty())
      Order.push_back(I);
  auto Key = [&](size_t I) {
    const RetestedTrial &T = R.Candidates[I];
    return std::pair(R.survived(T), T.Speedup.Low);
  };
  llvm::stable_sort(Order, [&](size_t A, size_t B) { return Key(A) > Key(B); });
  return Order;
}

/// Returns the lower bound of a speed-up; 0 if it was not measured.
static double getLowerBound(const RetestedTrial &T) {
  return T.Failure.empty() ? T.Speedup.Low : 0;
}

Expected<FinalTestResult> mneme::runFinalTest(const TestSetting &S,
                                              ArrayRef<TestCase> Cases) {
  FinalTestResult R;
  R.Rounds = S.Rounds;
  R.MinEffect = S.MinEffect;
  R.OtherCache = S.OtherCache;
  Expected<std::vector<RetestedTrial>> All = retest(S, Cases);
  if (!All)
    return All.takeError();
  R.Candidates = std::move(*All);
  std::vector<size_t> Order = rankCandidates(R);
  if (Order.empty())
    return R;
  R.Winner = Order.front();
  // The speed-up of the best of five is slightly overestimated, and the
  // interval of the best of five equal candidates misses 1 more often than that
  // of a single one. Fresh pairs, which had no part in the choice, are free of
  // this bias. If a candidate does not survive them, the next one is tested.
  TestSetting More = S;
  More.Rounds *= FinalTestResult::ConfirmFactor;
  for (size_t I : Order) {
    if (!R.survived(R.Candidates[I]) ||
        (R.Confirmed && S.Deadline && steadySeconds() > S.Deadline))
      break;
    Expected<std::vector<RetestedTrial>> Again = retest(More, Cases[I]);
    if (!Again)
      return Again.takeError();
    RetestedTrial &T = Again->front();
    bool IsLast = R.survived(T) || T.isInterrupted();
    if (IsLast || !R.Confirmed ||
        getLowerBound(T) > getLowerBound(*R.Confirmed)) {
      R.Winner = I;
      R.Confirmed = std::move(T);
    }
    if (IsLast)
      break;
  }
  if (!R.isSignificant() || S.OtherCache.empty())
    return R;
  More.InOtherCache = true;
  Expected<std::vector<RetestedTrial>> Other = retest(More, Cases[*R.Winner]);
  if (!Other)
    return Other.takeError();
  if (Other->front().Failure.empty())
    R.Confirmed->OtherCacheSpeedup = Other->front().Speedup;
  return R;
}

std::vector<InstanceRegret> mneme::computeRegrets(const FinalTestResult &R,
                                                  unsigned NumInstances) {
  std::vector<InstanceRegret> Regrets;
  if (NumInstances < 2 || !R.Winner)
    return Regrets;
  for (unsigned I = 0; I != NumInstances; ++I) {
    InstanceRegret &G = Regrets.emplace_back();
    const RetestedTrial *Best = &R.Candidates[*R.Winner];
    G.Instance = I;
    G.CommonSpeedup = Best->PerInstance[I].Value;
    for (const RetestedTrial &T : R.Candidates)
      if (T.Failure.empty() &&
          T.PerInstance[I].Value > Best->PerInstance[I].Value)
        Best = &T;
    G.BestTrial = Best->Number;
    G.BestSpeedup = Best->PerInstance[I].Value;
  }
  return Regrets;
}
