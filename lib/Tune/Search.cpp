//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunerImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// Number of repeated measurements after which a trial fails as lost.
static constexpr unsigned MaxTrialLosses = 3;
/// A sampler proposes at least NumTrials / AheadDivisor points per call.
static constexpr uint64_t AheadDivisor = 100;
/// Largest part of the search's time by which running trials may exceed it.
static constexpr double DrainPart = 0.1;

/// Returns the configurations of all instances. A resumed study computes those
/// of its running trials again.
Expected<InstanceConfigs> Tuner::Impl::configure(const Point &P) const {
  InstanceConfigs Configs;
  for (const StudyInstance &I : Instances) {
    Point Own = P;
    if (&I.Space != &Space) {
      Expected<Point> Made = I.Space.makePoint(Space.values(P));
      if (!Made)
        return Made.takeError();
      Own = std::move(*Made);
    }
    Expected<json::Object> Config = I.Space.configure(Own);
    if (!Config)
      return Config.takeError();
    Configs.push_back(std::move(*Config));
  }
  return Configs;
}

/// \p T is in the history and, if there is a log and it can be written, in the
/// log.
Error Tuner::Impl::startTrial(const Trial &T) {
  uint64_t Number = T.Number;
  InstanceConfigs Configs;
  if (T.Kind == TrialKind::Canary) {
    Configs.resize(Instances.size());
  } else {
    Expected<InstanceConfigs> Made = configure(T.P);
    if (!Made) {
      Trial &In = *Store.find(Number);
      In.State = TrialState::Failed;
      In.Failure = FailureKind::Invalid;
      In.Error = toString(Made.takeError());
      In.Started = In.Ended = epochSeconds();
      return endTrial(In);
    }
    Configs = std::move(*Made);
  }
  Running[Number].Configs = std::move(Configs);
  return submitNextInstance(Number);
}

Error Tuner::Impl::submitNextInstance(uint64_t Number) {
  RunningTrial &R = Running[Number];
  bool IsCanary = Store.find(Number)->Kind == TrialKind::Canary;
  unsigned Instance = R.Done.size();
  EvaluationRequest Request =
      Keeper.makeRequest(Instance, json::Object(R.Configs[Instance]));
  Request.Fresh = IsCanary || R.Fresh;
  Request.AppCode = IsCanary && Keeper.AppCode;
  if (IsCanary)
    Request.Device = Store.find(Number)->Device;
  else
    Request.StopAboveOn = getStopAbove();
  return Asked.submit(std::move(Request), [this, Number](Evaluation V) {
    return takeEvaluation(Number, std::move(V));
  });
}

/// Repeats a measurement on a device without a baseline, as it is meaningless:
/// the device is lost, or the baseline fails there.
Error Tuner::Impl::submitAgain(uint64_t Number, Evaluation V) {
  RunningTrial &R = Running[Number];
  R.Fresh = true;
  if (!Keeper.getDevice(V.Device).BaselineFails && ++R.Losses <= MaxTrialLosses)
    return submitNextInstance(Number);
  V.Failure = FailureKind::WorkerLost;
  V.Error = "the baseline could not be measured on the trial's devices";
  return takeEvaluation(Number, std::move(V));
}

/// Returns true if \p V is the result of a suspect trial.
bool Tuner::Impl::isSuspect(const Evaluation &V) {
  if (!V.DuplicateOf)
    return false;
  std::optional<uint64_t> First = Asked.Known[*V.DuplicateOf].Trial;
  const Trial *T = First ? Store.find(*First) : nullptr;
  return T && T->Suspect;
}

Error Tuner::Impl::takeEvaluation(uint64_t Number, Evaluation V) {
  RunningTrial &R = Running[Number];
  if (isSuspect(V) && !R.Fresh) {
    R.Fresh = true;
    return submitNextInstance(Number);
  }
  bool Verified = V.Failure.empty();
  if (Verified) {
    unsigned Instance = R.Done.size();
    double Baseline = Keeper.getBaselineOf(V, Instance);
    if (Baseline == 0) {
      std::string Device = V.Device;
      return Keeper.waitFor(Device, Instance, [=, V = std::move(V)] {
        return Keeper.getBaselineOf(V, Instance) ? takeEvaluation(Number, V)
                                                 : submitAgain(Number, V);
      });
    }
    Asked.Known[V.Id].BaselineNanoseconds = Baseline;
  }
  R.Done.push_back(std::move(V));
  if (Verified && R.Done.size() < Instances.size())
    return Progress.Phase == StudyProgress::Drain && isCutShort()
               ? Error::success()
               : submitNextInstance(Number);
  std::vector<Evaluation> Done = std::move(R.Done);
  Running.erase(Number);

  Trial &T = *Store.find(Number);
  const Evaluation &Last = Done.back();
  T.State = !Verified      ? TrialState::Failed
            : Last.Stopped ? TrialState::Pruned
                           : TrialState::Complete;
  T.Failure = Last.Failure;
  T.Error = Last.Error;
  T.Started = Done.front().Started;
  T.Ended = Last.Ended ? Last.Ended : epochSeconds();
  T.Worker = Last.Worker;
  if (!Done.front().Device.empty())
    T.Device = Done.front().Device;
  for (const Evaluation &One : Done) {
    T.Level = std::max(T.Level, One.Level);
    T.CompileSeconds += One.CompileSeconds;
    T.RunSeconds += One.RunSeconds;
  }
  T.IRHash = Done.front().IRHash;
  T.AssemblyHash = Done.front().AssemblyHash;
  T.CodeHash = Done.front().CodeHash;
  setDuplicate(T, Done.front());
  if (Verified) {
    setMetrics(T, Done);
    setValues(T);
  }
  if (T.Kind == TrialKind::Canary)
    judgeCanary(T);
  return endTrial(T);
}

/// A trial with the code and launch of an earlier trial has its measurement,
/// and is compared with the baseline at that time on that device.
void Tuner::Impl::setDuplicate(Trial &T, const Evaluation &V) {
  T.BaselineNanoseconds = 0;
  KnownResult &Own = Asked.Known[V.Id];
  Own.Trial = T.Number;
  T.DuplicateKind = V.DuplicateKind;
  if (!V.DuplicateOf)
    return;
  KnownResult &First = Asked.Known[*V.DuplicateOf];
  if (First.Trial)
    T.DuplicateOf = First.Trial;
  else
    First.Trial = T.Number; // The baseline, which is not a trial.
  Own.Trial = First.Trial;
}

/// With several instances, sets the weighted geometric mean of times, the
/// weighted mean of other metrics, and each instance's own time as "time.ID",
/// scaled to the beginning of the study.
void Tuner::Impl::setMetrics(Trial &T, ArrayRef<Evaluation> Done) {
  std::vector<double> AtThatTime;
  for (const Evaluation &V : Done)
    AtThatTime.push_back(Asked.Known[V.Id].BaselineNanoseconds);
  T.BaselineNanoseconds = Done.size() == 1
                              ? AtThatTime.front()
                              : weightedMean(AtThatTime, Weights, true);
  T.Metrics = Done.front().Metrics;
  if (Done.size() == 1) {
    T.Samples = Done.front().Samples;
    return;
  }
  for (auto &M : T.Metrics) {
    std::vector<double> All;
    for (const Evaluation &V : Done)
      All.push_back(V.Metrics.lookup(M.first()));
    M.second = weightedMean(All, Weights, M.first() == "time");
  }
  for (unsigned I = 0; I != Done.size(); ++I)
    T.Metrics[("time." + Instances[I].Id)] = Done[I].Metrics.lookup("time") *
                                             Keeper.Tracks.reference(I) /
                                             AtThatTime[I];
}

/// Scales times to the beginning of the study, so that a machine that becomes
/// slower does not make trials look worse.
void Tuner::Impl::setValues(Trial &T) {
  double Scale = Keeper.weightedReference() / T.BaselineNanoseconds;
  for (const Objective &Obj : Objectives) {
    auto It = T.Metrics.find(Obj.Metric);
    double Own = Obj.Metric == "time" ? Scale : 1;
    if (It == T.Metrics.end() || !std::isfinite(It->second * Own)) {
      if (T.Kind == TrialKind::Canary) // The application's code lacks metrics.
        continue;
      T.Values.clear();
      T.State = TrialState::Failed;
      T.Failure = FailureKind::Unsupported;
      T.Error = "the objective '" + Obj.Metric + "' was not measured";
      return;
    }
    T.Values.push_back(It->second * Own);
  }
  if (T.Values.size() != Objectives.size())
    T.Values.clear();
}

void Tuner::Impl::judgeCanary(Trial &T) {
  if (T.Failure == FailureKind::WorkerLost) {
    Keeper.leave(T.Device);
    return;
  }
  if (T.State != TrialState::Complete) {
    note(formatv("the baseline failed when it was run again as trial {0} "
                 "({1}): trials before it are suspect",
                 T.Number, T.Failure)
             .str());
    T.Suspect = true;
  } else if (Instances.size() == 1 &&
             isCanaryOff(Keeper.Tracks.on(T.Device), 0, T.Ended, T.Samples)) {
    T.Suspect = true;
  }
  if (!T.Suspect)
    return;
  markSuspects(T);
  findBestAnew();
}

/// Summarizes the canaries of this run and of earlier ones.
void Tuner::Impl::noteNoise() {
  uint64_t Off = 0, Canaries = 0;
  for (const Trial &T : Store.Trials)
    if (T.Kind == TrialKind::Canary) {
      ++Canaries;
      Off += T.Suspect;
    }
  if (Off)
    note(formatv("{0} of {1} checks of the baseline failed or were off: the "
                 "machine is noisy, and {2} trials around them are suspect; end "
                 "other programs and run the study again, or trust only the "
                 "re-test",
                 Off, Canaries, Outcome.Suspect)
             .str());
}

/// Marks trials that ended on the device after its previous canary. Numbers are
/// not decisive: a trial that runs beside a canary may have a lower number.
void Tuner::Impl::markSuspects(const Trial &Canary) {
  auto IsBefore = [&](const Trial &T) {
    return T.Number != Canary.Number && T.State != TrialState::Running &&
           T.Device == Canary.Device && T.Ended <= Canary.Ended;
  };
  double Since = 0;
  for (const Trial &T : Store.Trials)
    if (T.Kind == TrialKind::Canary && IsBefore(T) &&
        T.Failure != FailureKind::WorkerLost)
      Since = std::max(Since, T.Ended);
  for (Trial &T : Store.Trials) {
    if (T.Kind == TrialKind::Canary || !IsBefore(T) || T.Ended <= Since ||
        T.Suspect)
      continue;
    T.Suspect = true;
    ++Outcome.Suspect;
  }
}

void Tuner::Impl::countTrial(const Trial &T) {
  if (T.Kind == TrialKind::Canary)
    return;
  ++Progress.Trials;
  Outcome.Complete += T.State == TrialState::Complete;
  Outcome.Pruned += T.State == TrialState::Pruned;
  Outcome.Failed += T.State == TrialState::Failed;
  Outcome.Duplicates += T.DuplicateKind != Duplicate::None;
  if (!T.Failure.empty())
    ++Outcome.Failures[T.Failure.str()];
  if (updateBest(T))
    estimateBest();
}

/// \returns true if \p T is now the best trial.
bool Tuner::Impl::updateBest(const Trial &T) {
  // Equal code has the values of the first trial, which may be suspect.
  if (T.State != TrialState::Complete || T.Values.empty() || T.Suspect ||
      T.DuplicateOf || T.Kind == TrialKind::Canary)
    return false;
  updateRace(T);
  double Value = T.Values[0];
  bool Less = Objectives[0].Dir == Direction::Minimize;
  if (Progress.BestTrial && !(Less ? Value < Progress.BestValue
                                   : Value > Progress.BestValue))
    return false;
  Progress.BestTrial = T.Number;
  Progress.BestValue = Value;
  return true;
}

/// Updates the speed-up of the best trial in the progress.
void Tuner::Impl::estimateBest() {
  Progress.BestSpeedup.reset();
  if (!Progress.BestTrial || Objectives[0].Metric != "time")
    return;
  const Trial &T = *Store.find(*Progress.BestTrial);
  if (T.BaselineNanoseconds == 0)
    return;
  double Speedup = T.BaselineNanoseconds / T.Metrics.lookup("time");
  RatioEstimate R{Speedup, Speedup, Speedup};
  if (!T.Samples.empty() && !Baselines[0].Samples.empty()) {
    // The interval is as wide as that of the ratio of these medians.
    RatioEstimate Raw = estimateRatio(Baselines[0].Samples, T.Samples);
    R.Low = Speedup * Raw.Low / Raw.Value;
    R.High = Speedup * Raw.High / Raw.Value;
  }
  Progress.BestSpeedup = R;
}

void Tuner::Impl::updateRace(const Trial &T) {
  size_t Count = std::max(1u, O.FinalCandidates);
  if (!TimeObjective)
    return;
  double Limit = T.Values[*TimeObjective];
  if (RaceLimits.size() == Count && Limit >= RaceLimits.back())
    return;
  if (SampleSummary S = summarize(T.Samples); S.Count && S.Median > 0)
    Limit *= S.High / S.Median;
  RaceLimits.insert(llvm::upper_bound(RaceLimits, Limit), Limit);
  if (RaceLimits.size() > Count)
    RaceLimits.pop_back();
}

/// Recomputes the best trial, since some became suspect.
void Tuner::Impl::findBestAnew() {
  RaceLimits.clear();
  Progress.BestTrial.reset();
  for (const Trial &T : Store.Trials)
    updateBest(T);
  estimateBest();
}

Error Tuner::Impl::endTrial(Trial &T) {
  countTrial(T);
  if (T.Kind != TrialKind::Canary) {
    ++Progress.InThisRun;
    // A duplicate was not measured.
    if (auto P = Keeper.Devices.find(T.Device);
        P != Keeper.Devices.end() && T.DuplicateKind == Duplicate::None) {
      ++P->second.TrialsSinceBaseline;
      ++P->second.TrialsSinceCanary;
      P->second.Gone = false;
    }
  }
  TheSampler->tell(T);
  Store.end(T);
  return Error::success();
}

/// Runs the baseline as a trial, on the device with the most trials since the
/// last canary.
Error Tuner::Impl::startCanary() {
  TrialsSinceCanary = 0;
  Trial T;
  T.Number = Store.getFreeNumber();
  T.Kind = TrialKind::Canary;
  T.P = Space.defaultPoint();
  T.Started = epochSeconds();
  StudyDevice *Most = nullptr;
  for (auto &[Device, P] : Keeper.Devices) {
    if (P.Gone || (Most && P.TrialsSinceCanary <= Most->TrialsSinceCanary))
      continue;
    Most = &P;
    T.Device = Device;
  }
  if (Most)
    Most->TrialsSinceCanary = 0;
  Trial Added = Store.add(std::move(T));
  Store.begin(Added);
  return startTrial(Added);
}

/// Returns the share of the bound in the best trial's time, as far as it ends
/// the search: time must be the only objective.
std::optional<double> Tuner::Impl::findSol() const {
  if (!O.SolStop || !Progress.BestTrial || !TimeObjective ||
      Objectives.size() > 1)
    return std::nullopt;
  const Trial &Best = *llvm::partition_point(Store.Trials, [&](const Trial &T) {
    return T.Number < *Progress.BestTrial;
  });
  auto It = Best.Metrics.find("sol");
  return It != Best.Metrics.end() && It->second >= O.SolStop
             ? std::optional(It->second)
             : std::nullopt;
}

std::optional<StudyEnd> Tuner::Impl::getReasonToStop() const {
  if (isInterrupted())
    return StudyEnd::Interrupted;
  if (O.Trials && Store.NumTrials >= O.Trials && Ahead.empty())
    return StudyEnd::Trials;
  if (SearchEnds && steadySeconds() >= SearchEnds)
    return StudyEnd::Budget;
  if (findSol())
    return StudyEnd::SpeedOfLight;
  return std::nullopt;
}

/// Starts trials up to the capacity of the evaluator. \returns false if no
/// trial is running and none is left to start.
Expected<bool> Tuner::Impl::startMore() {
  unsigned Capacity = std::max(1u, E.capacity());
  // Samplers are slow: ask for several trials in one call.
  unsigned Batch = std::max(1u, Capacity / 4);
  if (Running.size() + Batch > Capacity)
    return true;
  // No canary between trials that were proposed together: a resumed study does
  // not know when they began.
  if (O.CanaryTrials && TrialsSinceCanary >= O.CanaryTrials && Ahead.empty())
    if (Error Err = startCanary())
      return std::move(Err);
  if (Running.size() >= Capacity)
    return true; // The canary took the place.
  if (Ahead.empty())
    if (Error Err = askMore(Capacity - Running.size()))
      return std::move(Err);
  if (Ahead.empty())
    return !Running.empty();
  while (Running.size() < Capacity && !Ahead.empty()) {
    Trial &T = *Store.find(Ahead.front());
    Ahead.pop_front();
    T.Started = epochSeconds();
    if (Error Err = startTrial(T))
      return std::move(Err);
  }
  return true;
}

/// Creates trials of enqueued points or, without these, of points that the
/// sampler proposes: about \p Wanted. Logs all of them at once: without those
/// that wait for their turn, a resumed study would ask for others.
Error Tuner::Impl::askMore(unsigned Wanted) {
  if (O.Trials)
    Wanted = std::min<uint64_t>(Wanted,
                                O.Trials - std::min(O.Trials, Store.NumTrials));
  std::vector<Trial> Begun;
  auto Begin = [&](Point P, TrialKind Kind) {
    Space.canonicalize(P);
    if (Store.Proposed.contains(Space.digest(P)))
      return;
    Trial T;
    T.Number = Store.getFreeNumber();
    T.Kind = Kind;
    T.P = std::move(P);
    if (Expected<json::Object> Config = Space.configure(T.P))
      T.Config = std::move(*Config);
    else
      consumeError(Config.takeError());
    T.Started = epochSeconds();
    Begun.push_back(Store.add(std::move(T)));
  };
  if (StudyLog *Log = Store.log()) {
    Expected<std::vector<Point>> Enqueued = Log->takeEnqueued();
    if (!Enqueued)
      return Enqueued.takeError();
    for (Point &P : *Enqueued)
      Queue.push_back({std::move(P), TrialKind::Enqueued});
  }
  while (Begun.size() < Wanted && !Queue.empty()) {
    auto [P, Kind] = std::move(Queue.front());
    Queue.pop_front();
    Begin(std::move(P), Kind);
  }
  if (Begun.empty() && Wanted) {
    // The more trials there are, the longer samplers compute, and the less they
    // learn from a few more trials.
    uint64_t N = std::max<uint64_t>(Wanted, Store.NumTrials / AheadDivisor);
    if (O.Trials)
      N = std::min<uint64_t>(N, O.Trials - Store.NumTrials);
    Expected<std::vector<Point>> Points = TheSampler->ask(N);
    if (!Points)
      return Points.takeError();
    for (Point &P : *Points)
      Begin(std::move(P), TrialKind::Search);
  }
  if (Begun.empty())
    return Error::success();
  Store.begin(Begun);
  TrialsSinceCanary += Begun.size();
  for (const Trial &T : Begun)
    Ahead.push_back(T.Number);
  return Error::success();
}

Error Tuner::Impl::search() {
  SearchBegan = epochSeconds();
  leaveTime();
  enter(StudyProgress::Search);
  // Trials that ran or waited when an earlier run ended.
  for (const Trial &T : Store.Trials)
    if (T.State == TrialState::Running)
      Ahead.push_back(T.Number);

  while (true) {
    if (std::optional<StudyEnd> Reason = getReasonToStop()) {
      Outcome.End = *Reason;
      if (std::optional<double> Sol = findSol();
          Sol && *Reason == StudyEnd::SpeedOfLight)
        Outcome.EndReason =
            formatv("trial {0} reaches {1:f1} % of the speed of light, "
                    "--sol-stop is {2:f1} %",
                    *Progress.BestTrial, 100 * *Sol, 100 * O.SolStop)
                .str();
      break;
    }
    Expected<bool> More = startMore();
    if (!More)
      return More.takeError();
    if (!*More) {
      Outcome.End = StudyEnd::Exhausted;
      break;
    }
    if (Error Err = Keeper.remeasure(/*Now=*/false))
      return Err;
    if (Asked.empty())
      continue; // All of them were invalid.
    if (Error Err = pump(WaitSeconds))
      return Err;
  }
  return drain();
}

/// Drops the handlers of all requests and measurements.
void Tuner::Impl::forgetUnderWay() {
  Asked.forget();
  Keeper.forget();
}

/// Waits for running requests; if the search was cut short, for a limited time.
Error Tuner::Impl::drain() {
  enter(StudyProgress::Drain);
  if (isCutShort())
    Asked.cancel();
  double Limit = epochSeconds() + O.DrainSeconds;
  if (Outcome.End == StudyEnd::Budget)
    Limit = std::min(Limit, epochSeconds() +
                                DrainPart * (epochSeconds() - SearchBegan));
  while (!Asked.empty() && !isInterrupted(2)) {
    if ((isInterrupted() || isCutShort()) && epochSeconds() > Limit)
      break;
    if (Error Err = pump(WaitSeconds))
      return Err;
  }
  forgetUnderWay();
  Running.clear();
  Ahead.clear();
  Store.closeRunning();
  noteNoise();
  Outcome.SearchSeconds = epochSeconds() - SearchBegan;
  return Error::success();
}

