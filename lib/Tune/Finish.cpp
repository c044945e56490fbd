//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunerImpl.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Parts of the time after the baseline: the largest for the re-test, unless
/// its fewest pairs need more, and that for the explanation.
static constexpr double MaxRetestPart = 0.4, ExplainPart = 0.1;
/// A re-test that lacks time takes fewer candidates rather than fewer pairs.
static constexpr unsigned WantedRounds = 10;

/// Returns the seconds of one launch of each instance, with the restored
/// memory.
double Tuner::Impl::getLaunchSeconds() const {
  double Seconds = 0;
  for (const Evaluation &V : Baselines)
    Seconds += V.RunSeconds / std::max<size_t>(1, V.Samples.size());
  return Seconds;
}

/// Returns the number of rounds, at most \p Most, for which \p Seconds suffice.
/// It is at least what an interval needs.
unsigned Tuner::Impl::fitRounds(unsigned Most, unsigned Launches,
                                double Seconds) const {
  double Needed = getLaunchSeconds() * Launches * Most;
  double Time = std::max(0.0, Seconds);
  if (Needed <= Time)
    return Most;
  return std::max<unsigned>(std::min<size_t>(Most, MinIntervalSamples),
                            Most * Time / Needed);
}

/// Returns the expected seconds of a re-test with one confirmation.
double Tuner::Impl::getRetestSeconds(unsigned Cases, unsigned Rounds) {
  return getLaunchSeconds() * Rounds * makeSetting().countLaunches(Cases);
}

/// Ends the search early enough for what follows.
void Tuner::Impl::leaveTime() {
  if (!O.Deadline)
    return;
  double Left = secondsLeft(), Retest = 0;
  if (O.FinalCandidates) {
    Retest = std::min(MaxRetestPart * Left,
                      getRetestSeconds(O.FinalCandidates, O.FinalRounds));
    Retest = std::max(Retest, getRetestSeconds(1, MinIntervalSamples));
    for (const Evaluation &V : Baselines)
      Retest += V.RunSeconds; // Measured again.
  }
  // A part that is too short is better spent on the search.
  if (!O.ExplainLimit || ExplainPart * Left < getExplanationSeconds())
    ExplainSeconds = 0;
  else
    ExplainSeconds = ExplainPart * Left;
  SearchEnds = O.Deadline - Retest - ExplainSeconds;
}

/// Returns the time scaled to the beginning of the study. Unlike during the
/// search, the baseline is known before and after the trial, except on a device
/// that was lost and came back since.
double Tuner::Impl::getCorrectedTime(const Trial &T) const {
  if (!T.Metrics.count("time"))
    return TimeObjective ? T.Values[*TimeObjective] : 0;
  double Baseline = T.BaselineNanoseconds;
  const BaselineTrack &Track = Keeper.Tracks.on(T.Device);
  if (Instances.size() == 1 && T.DuplicateKind == Duplicate::None &&
      Track.count(0) && Track.first(0).When <= T.Ended)
    Baseline = Track.at(0, T.Ended);
  double Scale = Baseline ? Keeper.weightedReference() / Baseline : 1;
  return T.Metrics.lookup("time") * Scale;
}

/// Returns true if a trial has the code and the launch of the baseline.
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

/// Returns the complete trials, best first by the first objective. With several
/// objectives, returns the Pareto set, fastest first. Suspect trials follow all
/// others.
std::vector<const Trial *> Tuner::Impl::rank() const {
  std::set<uint64_t> Front;
  if (Objectives.size() > 1)
    for (uint64_t Number : getParetoFront(Store.Trials, Context.Directions))
      Front.insert(Number);
  std::vector<std::tuple<bool, double, uint64_t, const Trial *>> Ranked;
  bool ByTime = TimeObjective && (*TimeObjective == 0 || Objectives.size() > 1);
  for (const Trial &T : Store.Trials) {
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
    return true; // Unknown for the application's code.
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

/// Returns the fastest trial of each instance.
std::vector<const Trial *> Tuner::Impl::getBestOfInstances() const {
  std::vector<const Trial *> Best;
  for (unsigned I = 0; Instances.size() > 1 && I != Instances.size(); ++I) {
    const Trial *Fastest = nullptr;
    double Least = 0;
    for (const Trial *T : rank()) {
      double Ratio = T->Metrics.lookup("time." + Instances[I].Id) /
                     Keeper.Tracks.reference(I);
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

/// Returns true if both have the same code and launch. Both were measured if
/// the first measurement was suspect.
static bool haveEqualCode(const Trial &A, const Trial &B) {
  return !A.CodeHash.empty() && A.CodeHash == B.CodeHash &&
         printLaunch(A.Config) == printLaunch(B.Config);
}

/// If time is not an objective, there is one candidate, and its time is
/// reported.
std::vector<TestCase> Tuner::Impl::chooseCandidates() const {
  std::vector<TestCase> Cases;
  std::vector<const Trial *> Chosen;
  double Reference = Keeper.weightedReference();
  auto GetRawSpeedup = [&](const Trial &T) {
    double Time = getCorrectedTime(T);
    return Time > 0 ? Reference / Time : 1;
  };
  // Baselines of later runs correct the times once more. A trial that was
  // faster than the baseline when it was measured stays a candidate, so that a
  // study that was killed in its re-test still has it when it resumes.
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
    // A suspect trial may be good, but does not replace another candidate.
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
  TestSetting S{E,           Weights, Keeper.AppCode, O.FinalRounds,
                O.MinEffect, {},      Asked.NextId,   {}};
  S.OtherCache = O.OtherCache;
  S.Deadline = O.Deadline;
  S.Stop = [this] { return isInterrupted(2); };
  for (unsigned I = 0; I != Instances.size(); ++I)
    S.LaunchTimeouts.push_back(Keeper.getLaunchTimeout(I));
  return S;
}

Error Tuner::Impl::finish() {
  // A device that others use can take long for it.
  double Least = getRetestSeconds(1, MinIntervalSamples);
  if (O.FinalCandidates && secondsLeft() > Least)
    if (Error Err = Keeper.remeasure(/*Now=*/true))
      return Err;
  while (Keeper.UnderWay && !isInterrupted(2) && secondsLeft() > Least)
    if (Error Err = pump(WaitSeconds))
      return Err;
  Asked.cancel();
  forgetUnderWay();
  chooseBest();
  std::vector<TestCase> Cases = chooseCandidates();
  if (Cases.empty() || isInterrupted(2))
    return Error::success();
  TestSetting Setting = makeSetting();
  auto Fit = [&] {
    return fitRounds(O.FinalRounds, Setting.countLaunches(Cases.size()),
                     secondsLeft() - ExplainSeconds);
  };
  while (Cases.size() > 1 && Fit() < std::min(WantedRounds, O.FinalRounds))
    Cases.pop_back();
  Setting.Rounds = Fit();
  Progress.PhaseSeconds = getRetestSeconds(Cases.size(), Setting.Rounds);
  enter(StudyProgress::FinalTest);
  Expected<FinalTestResult> Final = runFinalTest(Setting, Cases);
  if (!Final)
    return Final.takeError();
  Outcome.Final = std::move(*Final);
  if (Outcome.Final.isBrokenOff())
    note("the re-test was interrupted");
  Outcome.Regrets = computeRegrets(Outcome.Final, Instances.size());
  if (O.ExplainLimit && Outcome.Final.isSignificant() && !isInterrupted())
    return explain();
  return Error::success();
}

