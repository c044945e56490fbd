//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunerImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Of the winner's logarithmic speed-up, that the smallest change must keep.
static constexpr double ExplainShare = 0.95;
/// Of it, that a change must have in one measurement to be looked at in pairs.
static constexpr double ExplainHope = 0.5;
/// Pairs then.
static constexpr unsigned ExplainRounds = 10;
/// How many of the smallest changes are compared in the end.
static constexpr size_t ConfirmedSteps = 5;

/// A key for what was measured.
static std::string printConfig(const json::Object &Config) {
  return formatv("{0}", json::Value(json::Object(Config))).str();
}

/// What does not change the code: the shape of the launch.
static std::string printLaunch(const json::Object &Config) {
  json::Object Launch;
  for (const auto &KV : Config)
    if (isLaunchField(KV.first))
      Launch[KV.first] = KV.second;
  return printConfig(Launch);
}

/// In nanoseconds of the study's beginning. Now there are measurements of the
/// baseline on both sides; not of a device that was gone since and came back.
double Tuner::Impl::getCorrectedTime(const Trial &T) const {
  if (!T.Metrics.count("time"))
    return TimeObjective ? T.Values[*TimeObjective] : 0;
  double Baseline = T.BaselineNanoseconds;
  const BaselineTrack &Track = Tracks.on(T.Device);
  if (Instances.size() == 1 && T.DuplicateKind == Duplicate::None &&
      Track.count(0) && Track.first(0).When <= T.Ended)
    Baseline = Track.at(0, T.Ended);
  double Scale = Baseline ? weightedReference() / Baseline : 1;
  return T.Metrics.lookup("time") * Scale;
}

/// Is it the code and the launch of the baseline?
bool Tuner::Impl::isBaselineCode(const Trial &T) const {
  if (T.CodeHash.empty() || T.CodeHash != Baselines[0].CodeHash)
    return false;
  for (const auto &KV : T.Config) {
    auto Fact = Space.recorded().find(KV.first.str());
    if (Fact != Space.recorded().end() && toJSON(Fact->second) != KV.second)
      return false;
  }
  return true;
}

/// The complete trials, the best one by the first objective first; of several
/// objectives those of the Pareto set, the fastest first. What is suspect comes
/// after all others.
std::vector<const Trial *> Tuner::Impl::rank() const {
  std::set<uint64_t> Front;
  if (Objectives.size() > 1)
    for (uint64_t Number : getParetoFront(History, Context.Directions))
      Front.insert(Number);
  std::vector<std::tuple<bool, double, uint64_t, const Trial *>> Ranked;
  bool ByTime = TimeObjective && (*TimeObjective == 0 || Objectives.size() > 1);
  for (const Trial &T : History) {
    if (T.State != TrialState::Complete || T.Kind == TrialKind::Canary ||
        T.Values.empty() || T.DuplicateOf)
      continue;
    if (Objectives.size() > 1 && !Front.count(T.Number))
      continue;
    double Key = ByTime ? getCorrectedTime(T)
                 : Objectives[0].Dir == Direction::Minimize ? T.Values[0]
                                                            : -T.Values[0];
    Ranked.push_back({T.Suspect, Key, T.Number, &T});
  }
  llvm::sort(Ranked);
  std::vector<const Trial *> Trials;
  for (const auto &R : Ranked)
    Trials.push_back(std::get<const Trial *>(R));
  return Trials;
}

bool Tuner::Impl::isBetterThanBaseline(const Trial &T) const {
  auto It = Baselines[0].Metrics.find(Objectives[0].Metric);
  if (It == Baselines[0].Metrics.end())
    return true; // The application's code does not tell.
  return Objectives[0].Dir == Direction::Minimize ? T.Values[0] < It->second
                                                  : T.Values[0] > It->second;
}

void Tuner::Impl::chooseBest() {
  std::vector<const Trial *> Ranked = rank();
  // The baseline is not better than itself, whatever was measured.
  if (Objectives.size() == 1 && TimeObjective)
    llvm::erase_if(Ranked, [&](const Trial *T) { return isBaselineCode(*T); });
  if (Objectives.size() > 1)
    for (const Trial *T : Ranked)
      Outcome.Best.push_back(T->Number);
  else if (!Ranked.empty() &&
           (TimeObjective || isBetterThanBaseline(*Ranked[0])))
    Outcome.Best.push_back(Ranked[0]->Number);
}

/// Where each instance alone is fastest, one an instance.
std::vector<const Trial *> Tuner::Impl::getBestOfInstances() const {
  std::vector<const Trial *> Best;
  for (unsigned I = 0; Instances.size() > 1 && I != Instances.size(); ++I) {
    const Trial *Fastest = nullptr;
    double Least = 0;
    for (const Trial *T : rank()) {
      double Ratio = T->Metrics.lookup("time." + Instances[I].Id) /
                     Tracks.reference(I);
      if (Ratio > 0 && (!Fastest || Ratio < Least)) {
        Fastest = T;
        Least = Ratio;
      }
    }
    if (Fastest)
      Best.push_back(Fastest);
  }
  return Best;
}

/// Are they the same program? Each of them was measured if the first one's
/// measurement was suspect.
static bool haveEqualCode(const Trial &A, const Trial &B) {
  return !A.CodeHash.empty() && A.CodeHash == B.CodeHash &&
         printLaunch(A.Config) == printLaunch(B.Config);
}

/// Where time is no objective, there is only one, and its time is told.
std::vector<TestCase> Tuner::Impl::chooseCandidates() const {
  std::vector<TestCase> Cases;
  std::vector<const Trial *> Chosen;
  double Reference = weightedReference();
  auto GetRawSpeedup = [&](const Trial &T) {
    double Time = getCorrectedTime(T);
    return Time > 0 ? Reference / Time : 1;
  };
  // Baselines of later runs correct the times once more. What was faster than
  // the baseline when it was measured stays a candidate, so that a study that
  // was killed in its re-test has it when it goes on.
  auto LooksFaster = [&](const Trial &T) {
    double Time = T.Metrics.lookup("time");
    return GetRawSpeedup(T) > 1 || (Time > 0 && T.BaselineNanoseconds > Time);
  };
  auto Add = [&](const Trial &T) {
    if (any_of(Chosen, [&](const Trial *Other) {
          return Other == &T ||
                 (Instances.size() == 1 && haveEqualCode(*Other, T));
        }))
      return;
    Expected<InstanceConfigs> Configs = configure(T.P);
    if (!Configs)
      return consumeError(Configs.takeError());
    Chosen.push_back(&T);
    Cases.push_back({T.Number, std::move(*Configs), GetRawSpeedup(T)});
  };
  unsigned Limit = TimeObjective ? O.FinalCandidates : O.FinalCandidates != 0;
  for (const Trial *T : rank()) {
    // A suspect one may be as good as it looks, but takes nobody's place.
    if (Cases.size() >= Limit + (T->Suspect ? Limit / 2 : 0))
      continue;
    if (!isBaselineCode(*T) && (!TimeObjective || LooksFaster(*T)))
      Add(*T);
  }
  if (!Cases.empty())
    for (const Trial *T : getBestOfInstances())
      Add(*T);
  return Cases;
}

TestSetting Tuner::Impl::makeSetting() {
  TestSetting S{E,           Weights, AppCode, O.FinalRounds,
                O.MinEffect, {},      NextId,  {}};
  S.Stop = [this] { return isInterrupted(2); };
  for (unsigned I = 0; I != Instances.size(); ++I)
    S.LaunchTimeouts.push_back(getLaunchTimeout(I));
  return S;
}

Error Tuner::Impl::finish() {
  if (Error Err = remeasureBaseline(/*Now=*/true))
    return Err;
  while (BaselinesUnderWay && !isInterrupted(2))
    if (Error Err = pump(WaitSeconds))
      return Err;
  chooseBest();
  std::vector<TestCase> Cases = chooseCandidates();
  if (Cases.empty() || isInterrupted(2))
    return Error::success();
  enter(StudyProgress::FinalTest);
  Expected<FinalTestResult> Final = runFinalTest(makeSetting(), Cases);
  if (!Final)
    return Final.takeError();
  Outcome.Final = std::move(*Final);
  if (Outcome.Final.isBrokenOff())
    note("the re-test was broken off");
  Outcome.Regrets = computeRegrets(Outcome.Final, Instances.size());
  if (O.ExplainLimit && Outcome.Final.isSignificant() && !isInterrupted())
    return explain();
  return Error::success();
}

/// Evaluates all; equal code has the winner's speed-up, whatever its one
/// measurement said. What seems good is measured in pairs. \returns logarithms;
/// nothing where it fails or has not half of the win.
Expected<std::vector<std::optional<double>>>
Tuner::Impl::measureSpeedups(ArrayRef<InstanceConfigs> Configs,
                             const RetestedTrial &Of, unsigned &Measured) {
  const Trial &Winner = *findTrial(Of.Number);
  std::vector<std::optional<double>> Logs(Configs.size());
  std::vector<char> IsWinnersCode(Configs.size(), true);
  std::vector<std::vector<std::string>> Codes(
      Configs.size(), std::vector<std::string>(Instances.size()));
  if (isInterrupted())
    return Logs;
  for (size_t Case = 0; Case != Configs.size(); ++Case) {
    const InstanceConfigs &C = Configs[Case];
    auto Sum = std::make_shared<double>(0);
    auto Left = std::make_shared<unsigned>(Instances.size());
    for (unsigned I = 0; I != Instances.size(); ++I) {
      EvaluationRequest R = makeRequest(I, json::Object(C[I]));
      auto Take = [this, I, Case, Sum, Left, &Logs, &IsWinnersCode, &Codes,
                   &Winner, &Of, &Measured, &C](const Evaluation &V) {
        Measured += V.Failure.empty() && V.DuplicateKind == Duplicate::None;
        double Baseline = getBaselineOf(V, I);
        if (!V.Failure.empty() || V.Samples.empty() || Baseline == 0)
          return Error::success();
        Known[V.Id].BaselineNanoseconds = Baseline;
        if (I == 0)
          ExplainedMetrics[printConfig(C[I])] = V.Metrics;
        KnownResult First = V.DuplicateOf ? Known[*V.DuplicateOf]
                                          : KnownResult();
        bool IsWinner = First.Trial == Winner.Number ||
                        (First.Trial && First.Trial == Winner.DuplicateOf);
        IsWinnersCode[Case] &= IsWinner;
        Codes[Case][I] = V.CodeHash.empty() ? printConfig(C[I])
                                            : V.CodeHash + printLaunch(C[I]);
        *Sum += Weights[I] *
                std::log(IsWinner ? Of.PerInstance[I].Value
                                  : Baseline / summarize(V.Samples).Median);
        if (--*Left == 0)
          Logs[Case] = *Sum;
        return Error::success();
      };
      auto TakeOrWait = [this, I, Take](Evaluation V) -> Error {
        if (!V.Failure.empty() || V.Samples.empty() || getBaselineOf(V, I))
          return Take(V);
        std::string Device = V.Device;
        return waitForBaseline(Device, I,
                               [Take, V = std::move(V)] { return Take(V); });
      };
      if (Error Err = submit(std::move(R), std::move(TakeOrWait)))
        return std::move(Err);
    }
  }
  while (!UnderWay.empty() && !isInterrupted(2))
    if (Error Err = pump(WaitSeconds))
      return std::move(Err);
  forgetUnderWay(); // All of it refers to this call.
  // One measurement is enough to give something up, not to believe in it.
  double Win = std::log(Of.Speedup.Value);
  TestSetting Setting = makeSetting();
  Setting.Rounds = std::min(Setting.Rounds, ExplainRounds);
  for (size_t Case = 0; Case != Configs.size(); ++Case) {
    if (!Logs[Case])
      continue;
    if (IsWinnersCode[Case]) {
      EqualToWinner.push_back(Configs[Case]);
      continue;
    }
    if (*Logs[Case] < ExplainHope * Win || isInterrupted()) {
      Logs[Case].reset();
      continue;
    }
    auto [Said, IsNew] = ExplainedCode.try_emplace(std::move(Codes[Case]));
    if (IsNew) {
      Expected<std::vector<RetestedTrial>> Pairs =
          retest(Setting, TestCase{Of.Number, Configs[Case], 1});
      if (!Pairs)
        return Pairs.takeError();
      if (Pairs->front().Failure.empty())
        Said->second = std::log(Pairs->front().Speedup.Value);
    }
    Logs[Case] = Said->second;
  }
  return Logs;
}

/// Winner and smaller changes against the baseline, all in the same pairs,
/// since these had no part in finding them.
/// \returns the number of the smallest one that keeps the win.
Expected<size_t> Tuner::Impl::confirmSteps(Explanation &Why,
                                           ArrayRef<InstanceConfigs> Steps,
                                           const RetestedTrial &Of) {
  std::vector<TestCase> Cases;
  for (const InstanceConfigs &Configs : Steps)
    Cases.push_back({Of.Number, Configs, Of.RawSpeedup});
  Expected<std::vector<RetestedTrial>> All = retest(makeSetting(), Cases);
  if (!All)
    return All.takeError();
  const RetestedTrial &Whole = All->front();
  double Win = std::log(Whole.Speedup.Value);
  for (size_t I = All->size(); I-- != 0;) {
    const RetestedTrial &Part = (*All)[I];
    double Own = std::log(Part.Speedup.Value);
    if (!Part.Failure.empty() || (I != 0 && Own < ExplainShare * Win))
      continue;
    Why.Speedup = Part.Speedup;
    // Beyond the whole win there is noise, or a change that did harm.
    Why.Kept = Win > 0 ? std::min(1.0, Own / Win) : 1;
    return I;
  }
  return 0;
}

/// The configuration of each instance without the keys that change nothing.
Expected<InstanceConfigs> Tuner::Impl::configureChanges(const Point &P) const {
  Expected<InstanceConfigs> Configs = configure(P);
  if (!Configs)
    return Configs;
  InstanceConfigs Changes;
  for (auto [I, C] : zip_equal(Instances, *Configs)) {
    json::Object &Less = Changes.emplace_back();
    for (const auto &KV : C)
      if (!I.Space.isAsRecorded(KV.first, KV.second))
        Less[KV.first] = KV.second;
  }
  return Changes;
}

Error Tuner::Impl::explain() {
  enter(StudyProgress::Explain);
  const RetestedTrial &Of = *Outcome.Final.Confirmed;
  const Trial &Winner = *findTrial(Of.Number);
  Expected<InstanceConfigs> Configs = configureChanges(Winner.P);
  if (!Configs)
    return Configs.takeError();
  ExplainOptions EO;
  EO.LogSpeedup = std::log(Of.Speedup.Value);
  EO.Share = ExplainShare;
  EO.Limit = O.ExplainLimit;
  EO.BatchSize = std::max(1u, E.capacity());
  unsigned Measured = 0;
  ExplainedMetrics[printConfig(Configs->front())] = Winner.Metrics;
  Expected<MinimalChange> M = findMinimalChange(
      *Configs,
      [&](ArrayRef<InstanceConfigs> Some) {
        return measureSpeedups(Some, Of, Measured);
      },
      EO);
  if (!M)
    return M.takeError();
  auto IsBrokenOff = [&] {
    if (isInterrupted(2))
      note("the explanation was broken off");
    return isInterrupted(2);
  };
  if (IsBrokenOff())
    return Error::success();
  Explanation Why;
  Why.Complete = M->Complete && !isInterrupted();
  Why.Evaluations = M->Evaluations;
  Why.Measured = Measured;
  Why.Before = Baselines[0].Metrics;
  // What has the winner's code is the winner; of the rest the smallest ones,
  // and if none of these will do, larger ones.
  size_t First = M->Steps.size() - 1;
  while (First != 0 && !is_contained(EqualToWinner, M->Steps[First]))
    --First;
  std::vector<InstanceConfigs> Steps;
  size_t End = M->Steps.size(), Smallest = 0;
  do {
    size_t Begin = std::max(First + 1, End - std::min(End, ConfirmedSteps));
    Steps = {M->Steps[First]};
    Steps.insert(Steps.end(), M->Steps.begin() + Begin, M->Steps.begin() + End);
    Expected<size_t> Confirmed = confirmSteps(Why, Steps, Of);
    if (!Confirmed)
      return Confirmed.takeError();
    if (IsBrokenOff())
      return Error::success();
    Smallest = *Confirmed;
    End = Begin;
  } while (Smallest == 0 && End != First + 1);
  const json::Object &Config = Steps[Smallest].front();
  describeChange(Why, Configs->front(), Config,
                 [&](StringRef Key) { return Space.getSources(Key); });
  Why.After = ExplainedMetrics[printConfig(Config)];
  Outcome.Why = std::move(Why);
  return Error::success();
}

