//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Determines which changes make the winner fast: the smallest that keep its
// speed-up.
//
//===----------------------------------------------------------------------===//

#include "TunerImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// Number of the smallest changes that are compared in the end.
static constexpr size_t ConfirmedSteps = 5;

/// A key for measurements.
static std::string printConfig(const json::Object &Config) {
  return formatv("{0}", json::Value(json::Object(Config))).str();
}

std::string mneme::printLaunch(const json::Object &Config) {
  json::Object Launch;
  for (const auto &KV : Config)
    if (isLaunchField(KV.first))
      Launch[KV.first] = KV.second;
  return printConfig(Launch);
}

class Tuner::Impl::Explainer {
public:
  explicit Explainer(Impl &T)
      : T(T), Of(*T.Outcome.Final.Confirmed), Winner(*T.Store.find(Of.Number)) {
  }
  Error run();

private:
  Impl &T;
  const RetestedTrial &Of;
  const Trial &Winner;
  unsigned Measured = 0;
  /// Of the last comparison, with as few pairs as an interval needs.
  double LastSeconds = 0;
  /// Metrics of the first instance, by configuration.
  std::map<std::string, StringMap<double>> Metrics;
  /// Configurations that have the winner's code on all instances.
  std::vector<InstanceConfigs> EqualToWinner;
  /// Logarithms of speed-ups measured in pairs, by the code and launch of each
  /// instance, so that equal code has one speed-up.
  std::map<std::vector<std::string>, std::optional<double>> SpeedupOfCode;

  bool isOver() const {
    return T.isInterrupted() || T.secondsLeft() < LastSeconds;
  }
  Expected<InstanceConfigs> configureChanges() const;
  Expected<std::vector<std::optional<double>>>
  measureSpeedups(ArrayRef<InstanceConfigs> Configs);
  Expected<size_t> confirmSteps(Explanation &Why,
                                ArrayRef<InstanceConfigs> Steps);
  Error compareCounters(Explanation &Why, const InstanceConfigs &Smallest);
};

/// Evaluates all configurations; those with the winner's code have its
/// speed-up, whatever their single measurement was. Promising ones are measured
/// in pairs.
/// \returns logarithms; unset if an evaluation fails or keeps less than
/// ExplainOptions::Hope of the win.
Expected<std::vector<std::optional<double>>>
Tuner::Impl::Explainer::measureSpeedups(ArrayRef<InstanceConfigs> Configs) {
  std::vector<std::optional<double>> Logs(Configs.size());
  std::vector<char> IsWinnersCode(Configs.size(), true);
  std::vector<std::vector<std::string>> Codes(
      Configs.size(), std::vector<std::string>(T.Instances.size()));
  if (isOver())
    return Logs;
  for (size_t Case = 0; Case != Configs.size(); ++Case) {
    const InstanceConfigs &C = Configs[Case];
    auto Sum = std::make_shared<double>(0);
    auto Left = std::make_shared<unsigned>(T.Instances.size());
    for (unsigned I = 0; I != T.Instances.size(); ++I) {
      EvaluationRequest R = T.Keeper.makeRequest(I, json::Object(C[I]));
      auto Take = [this, I, Case, Sum, Left, &Logs, &IsWinnersCode, &Codes,
                   &C](const Evaluation &V) {
        Measured += V.Failure.empty() && V.DuplicateKind == Duplicate::None;
        double Baseline = T.Keeper.getBaselineOf(V, I);
        if (!V.Failure.empty() || V.Samples.empty() || Baseline == 0)
          return Error::success();
        T.Asked.Known[V.Id].BaselineNanoseconds = Baseline;
        if (I == 0)
          Metrics[printConfig(C[I])] = V.Metrics;
        KnownResult First =
            V.DuplicateOf ? T.Asked.Known[*V.DuplicateOf] : KnownResult();
        bool IsWinner = First.Trial == Winner.Number ||
                        (First.Trial && First.Trial == Winner.DuplicateOf);
        IsWinnersCode[Case] &= IsWinner;
        Codes[Case][I] = V.CodeHash.empty() ? printConfig(C[I])
                                            : V.CodeHash + printLaunch(C[I]);
        *Sum += T.Weights[I] *
                std::log(IsWinner ? Of.PerInstance[I].Value
                                  : Baseline / summarize(V.Samples).Median);
        if (--*Left == 0)
          Logs[Case] = *Sum;
        return Error::success();
      };
      auto TakeOrWait = [this, I, Take](Evaluation V) -> Error {
        if (!V.Failure.empty() || V.Samples.empty() ||
            T.Keeper.getBaselineOf(V, I))
          return Take(V);
        std::string Device = V.Device;
        return T.Keeper.waitFor(Device, I,
                                [Take, V = std::move(V)] { return Take(V); });
      };
      if (Error Err = T.Asked.submit(std::move(R), std::move(TakeOrWait)))
        return std::move(Err);
    }
  }
  while (!T.Asked.empty() && !T.isInterrupted(2))
    if (Error Err = T.pump(WaitSeconds))
      return std::move(Err);
  T.forgetUnderWay(); // All of it refers to this call.
  // One measurement may reject a change, but not accept it.
  double Win = std::log(Of.Speedup.Value);
  TestSetting Setting = T.makeSetting();
  Setting.Rounds = std::min(Setting.Rounds, +ExplainOptions::Rounds);
  for (size_t Case = 0; Case != Configs.size(); ++Case) {
    if (!Logs[Case])
      continue;
    if (IsWinnersCode[Case]) {
      EqualToWinner.push_back(Configs[Case]);
      continue;
    }
    if (*Logs[Case] < ExplainOptions::Hope * Win || isOver()) {
      Logs[Case].reset();
      continue;
    }
    auto [Entry, IsNew] = SpeedupOfCode.try_emplace(std::move(Codes[Case]));
    if (IsNew) {
      Expected<std::vector<RetestedTrial>> Pairs =
          retest(Setting, TestCase{Of.Number, Configs[Case], 1});
      if (!Pairs)
        return Pairs.takeError();
      if (Pairs->front().Failure.empty())
        Entry->second = std::log(Pairs->front().Speedup.Value);
    }
    Logs[Case] = Entry->second;
  }
  return Logs;
}

/// Measures the winner and smaller changes against the baseline, all in the
/// same fresh pairs. \returns the index of the smallest change that keeps the
/// win.
Expected<size_t>
Tuner::Impl::Explainer::confirmSteps(Explanation &Why,
                                     ArrayRef<InstanceConfigs> Steps) {
  std::vector<TestCase> Cases;
  for (const InstanceConfigs &Configs : Steps)
    Cases.push_back({Of.Number, Configs, Of.RawSpeedup});
  TestSetting Setting = T.makeSetting();
  Setting.Rounds =
      T.fitRounds(Setting.Rounds, 1 + Cases.size(), T.secondsLeft());
  Expected<std::vector<RetestedTrial>> All = retest(Setting, Cases);
  if (!All)
    return All.takeError();
  const RetestedTrial &Whole = All->front();
  double Win = std::log(Whole.Speedup.Value);
  for (size_t I = All->size(); I-- != 0;) {
    const RetestedTrial &Part = (*All)[I];
    double Own = std::log(Part.Speedup.Value);
    if (!Part.Failure.empty() ||
        (I != 0 && Own < ExplainOptions::DefaultShare * Win))
      continue;
    Why.Speedup = Part.Speedup;
    // More than the whole win is noise, or a dropped change did harm.
    Why.Kept = Win > 0 ? std::min(1.0, Own / Win) : 1;
    return I;
  }
  return 0;
}

/// Finds the hardware counters that the smallest change affects. Without them,
/// the explanation is complete otherwise.
Error Tuner::Impl::Explainer::compareCounters(Explanation &Why,
                                              const InstanceConfigs &Smallest) {
  TestSetting Setting = T.makeSetting();
  Setting.Rounds = MinIntervalSamples;
  Setting.ReadCounters = true;
  Expected<std::vector<RetestedTrial>> Pairs =
      retest(Setting, TestCase{Of.Number, Smallest, 1});
  if (!Pairs)
    return Pairs.takeError();
  Why.Counters = Pairs->front().Counters;
  if (!Pairs->front().CounterProblem.empty())
    T.note("not all counters were read: " + Pairs->front().CounterProblem);
  return Error::success();
}

/// Returns the configuration of each instance without keys that are as
/// recorded.
Expected<InstanceConfigs> Tuner::Impl::Explainer::configureChanges() const {
  Expected<InstanceConfigs> Configs = T.configure(Winner.P);
  if (!Configs)
    return Configs;
  InstanceConfigs Changes;
  for (auto [I, C] : zip_equal(T.Instances, *Configs)) {
    json::Object &Less = Changes.emplace_back();
    for (const auto &KV : C)
      if (!I.Space.isAsRecorded(KV.first, KV.second))
        Less[KV.first] = KV.second;
  }
  return Changes;
}

Error Tuner::Impl::Explainer::run() {
  LastSeconds = T.getExplanationSeconds() / 2;
  if (isOver()) {
    T.note("no time was left to search for the smallest change (--budget)");
    return Error::success();
  }
  T.enter(StudyProgress::Explain);
  Expected<InstanceConfigs> Configs = configureChanges();
  if (!Configs)
    return Configs.takeError();
  ExplainOptions EO;
  EO.LogSpeedup = std::log(Of.Speedup.Value);
  EO.Limit = T.O.ExplainLimit;
  EO.BatchSize = std::max(1u, T.E.capacity());
  EO.IsOver = [&] { return isOver(); };
  Metrics[printConfig(Configs->front())] = Winner.Metrics;
  Expected<MinimalChange> M = findMinimalChange(
      *Configs,
      [&](ArrayRef<InstanceConfigs> Some) { return measureSpeedups(Some); },
      EO);
  if (!M)
    return M.takeError();
  auto IsBrokenOff = [&] {
    if (T.isInterrupted(2))
      T.note("the explanation was interrupted");
    return T.isInterrupted(2);
  };
  if (IsBrokenOff())
    return Error::success();
  Explanation Why;
  Why.Complete = M->Complete && !isOver();
  Why.Evaluations = M->Evaluations;
  Why.Measured = Measured;
  Why.Before = T.Baselines[0].Metrics;
  // A step with the winner's code is equivalent to the winner. Of smaller
  // steps, confirm the smallest; if none of these keeps the win, larger ones.
  size_t First = M->Steps.size() - 1;
  while (First != 0 && !is_contained(EqualToWinner, M->Steps[First]))
    --First;
  std::vector<InstanceConfigs> Steps;
  size_t End = M->Steps.size(), Smallest = 0;
  do {
    size_t Begin = std::max(First + 1, End - std::min(End, ConfirmedSteps));
    Steps = {M->Steps[First]};
    Steps.insert(Steps.end(), M->Steps.begin() + Begin, M->Steps.begin() + End);
    Expected<size_t> Confirmed = confirmSteps(Why, Steps);
    if (!Confirmed)
      return Confirmed.takeError();
    if (IsBrokenOff())
      return Error::success();
    Smallest = *Confirmed;
    End = Begin;
  } while (Smallest == 0 && End != First + 1 && !isOver());
  const json::Object &Config = Steps[Smallest].front();
  describeChange(Why, Configs->front(), Config,
                 [&](StringRef Key) { return T.Space.getSources(Key); });
  Why.After = Metrics[printConfig(Config)];
  if (T.O.ReadCounters && !isOver())
    if (Error Err = compareCounters(Why, Steps[Smallest]))
      return Err;
  T.Outcome.Why = std::move(Why);
  return Error::success();
}

/// Returns the least time for an explanation: twice that of its last
/// comparison.
double Tuner::Impl::getExplanationSeconds() const {
  return 2 * getLaunchSeconds() * MinIntervalSamples * (2 + ConfirmedSteps);
}

Error Tuner::Impl::explain() { return Explainer(*this).run(); }
