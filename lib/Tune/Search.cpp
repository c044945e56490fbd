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

/// Trials that are made one piece of text.
static constexpr size_t MaxLoggedAtOnce = 64;
/// A sampler is asked for as many points as this share of the trials there are.
static constexpr uint64_t AheadDivisor = 100;

/// A study that goes on has the configurations of its running trials, but they
/// are made anew, for all instances.
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

/// \p T is in the history and, if it is to be, in the log.
Error Tuner::Impl::startTrial(Trial T) {
  uint64_t Number = T.Number;
  InstanceConfigs Configs;
  if (T.Kind == TrialKind::Canary) {
    Configs.resize(Instances.size());
  } else {
    Expected<InstanceConfigs> Made = configure(T.P);
    if (!Made) {
      Trial &In = *findTrial(Number);
      In.State = TrialState::Failed;
      In.Failure = "Invalid";
      In.Error = toString(Made.takeError());
      In.Started = In.Ended = now();
      return endTrial(In);
    }
    Configs = std::move(*Made);
  }
  Running[Number].Configs = std::move(Configs);
  return submitNextInstance(Number);
}

Error Tuner::Impl::submitNextInstance(uint64_t Number) {
  RunningTrial &R = Running[Number];
  bool IsCanary = findTrial(Number)->Kind == TrialKind::Canary;
  unsigned Instance = R.Done.size();
  EvaluationRequest Request =
      makeRequest(Instance, json::Object(R.Configs[Instance]));
  Request.Fresh = IsCanary;
  Request.AppCode = IsCanary && AppCode;
  if (!IsCanary)
    Request.StopAbove = getStopAbove();
  return submit(std::move(Request), [this, Number](Evaluation V) {
    return takeEvaluation(Number, std::move(V));
  });
}

Error Tuner::Impl::takeEvaluation(uint64_t Number, Evaluation V) {
  RunningTrial &R = Running[Number];
  bool Verified = V.Failure.empty();
  R.Done.push_back(std::move(V));
  if (Verified && R.Done.size() < Instances.size())
    return submitNextInstance(Number);
  std::vector<Evaluation> Done = std::move(R.Done);
  Running.erase(Number);

  Trial &T = *findTrial(Number);
  const Evaluation &Last = Done.back();
  T.State = !Verified      ? TrialState::Failed
            : Last.Stopped ? TrialState::Pruned
                           : TrialState::Complete;
  T.Failure = Last.Failure;
  T.Error = Last.Error;
  T.Started = Done.front().Started;
  T.Ended = Last.Ended ? Last.Ended : now();
  T.Worker = Last.Worker;
  for (const Evaluation &One : Done) {
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

/// A trial whose code and launch are another one's has that one's measurement,
/// and is compared with the baseline of that time.
void Tuner::Impl::setDuplicate(Trial &T, const Evaluation &V) {
  T.BaselineNanoseconds = 0;
  KnownResult &Own = Known[V.Id];
  Own.Trial = T.Number;
  T.DuplicateKind = V.DuplicateKind;
  if (!V.DuplicateOf)
    return;
  KnownResult &First = Known[*V.DuplicateOf];
  if (First.Trial)
    T.DuplicateOf = First.Trial;
  else
    First.Trial = T.Number; // The baseline, which is no trial.
  T.BaselineNanoseconds = First.BaselineNanoseconds;
  Own = First;
}

/// Of several instances: the weighted geometric mean of times, the weighted
/// mean of other metrics, and each instance's own time as "time.ID".
void Tuner::Impl::setMetrics(Trial &T, ArrayRef<Evaluation> Done) {
  std::vector<double> AtThatTime;
  for (unsigned I = 0; I != Done.size(); ++I)
    AtThatTime.push_back(Track.at(I, T.Ended));
  if (T.BaselineNanoseconds == 0 || Done.size() > 1)
    T.BaselineNanoseconds = weightedMean(AtThatTime, Weights, true);
  if (auto Own = Known.find(Done.front().Id); Own != Known.end())
    Own->second.BaselineNanoseconds = T.BaselineNanoseconds;

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
  for (auto [I, V] : zip_equal(Instances, Done))
    T.Metrics[("time." + I.Id)] = V.Metrics.lookup("time");
}

/// Times as they would have been when the study began, so that a machine that
/// gets slower does not make trials look worse.
void Tuner::Impl::setValues(Trial &T) {
  std::vector<double> References;
  for (unsigned I = 0; I != Instances.size(); ++I)
    References.push_back(Track.reference(I));
  double Scale =
      weightedMean(References, Weights, true) / T.BaselineNanoseconds;
  for (const Objective &Obj : Objectives) {
    auto It = T.Metrics.find(Obj.Metric);
    double Own = Obj.Metric == "time" ? Scale : 1;
    if (It == T.Metrics.end() || !std::isfinite(It->second * Own)) {
      if (T.Kind == TrialKind::Canary) // The application's code has less.
        continue;
      T.Values.clear();
      T.State = TrialState::Failed;
      T.Failure = "Unsupported";
      T.Error = "the objective '" + Obj.Metric + "' was not measured";
      return;
    }
    T.Values.push_back(It->second * Own);
  }
  if (T.Values.size() != Objectives.size())
    T.Values.clear();
}

void Tuner::Impl::judgeCanary(Trial &T) {
  if (T.State != TrialState::Complete) {
    note(formatv("the baseline failed when it was run again as trial {0} "
                 "({1}): trials before it are suspect",
                 T.Number, T.Failure)
             .str());
    T.Suspect = true;
  } else if (Instances.size() == 1 &&
             isCanaryOff(Track, 0, T.Ended, T.Samples)) {
    note(formatv("the baseline, run again as trial {0}, took {1:f3} times what "
                 "it should: trials before it are suspect",
                 T.Number,
                 summarize(T.Samples).Median / T.BaselineNanoseconds)
             .str());
    T.Suspect = true;
  }
  if (!T.Suspect)
    return;
  markSuspects(T.Number);
  findBestAnew();
}

/// Those since the canary before it.
void Tuner::Impl::markSuspects(uint64_t Canary) {
  for (Trial &T : reverse(History)) {
    if (T.Number >= Canary)
      continue;
    if (T.Kind == TrialKind::Canary)
      return;
    if (T.Suspect || T.State == TrialState::Running)
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
    ++Outcome.Failures[T.Failure];
  if (updateBest(T))
    estimateBest();
}

/// \returns whether it is the best now.
bool Tuner::Impl::updateBest(const Trial &T) {
  // What has equal code has the first one's values, and that may be suspect.
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

/// How much faster the best is, for those who watch.
void Tuner::Impl::estimateBest() {
  Progress.BestSpeedup.reset();
  if (!Progress.BestTrial || Objectives[0].Metric != "time")
    return;
  const Trial &T = *findTrial(*Progress.BestTrial);
  if (T.BaselineNanoseconds == 0)
    return;
  double Speedup = T.BaselineNanoseconds / T.Metrics.lookup("time");
  RatioEstimate R{Speedup, Speedup, Speedup};
  if (!T.Samples.empty() && !Baselines[0].Samples.empty()) {
    // The interval is as wide as that of these two medians.
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

/// Some trials have turned out to be suspect.
void Tuner::Impl::findBestAnew() {
  RaceLimits.clear();
  Progress.BestTrial.reset();
  for (const Trial &T : History)
    updateBest(T);
  estimateBest();
}

Error Tuner::Impl::endTrial(Trial &T) {
  countTrial(T);
  if (T.Kind != TrialKind::Canary) {
    ++TrialsSinceBaseline;
    ++Progress.InThisRun;
  }
  TheSampler->tell(T);
  if (Log)
    Unlogged.push_back(T.Number);
  return Error::success();
}

/// A full disk must not end a search: what it has found is kept in memory, and
/// written when there is room again.
void Tuner::Impl::writeLog() {
  while (!Unlogged.empty()) {
    SmallVector<const Trial *> Some;
    for (uint64_t Number : Unlogged) {
      Some.push_back(findTrial(Number));
      if (Some.size() == MaxLoggedAtOnce)
        break;
    }
    if (Error Err = Log->addTrials(Some)) {
      if (!LogFailed)
        note("trials cannot be logged now: " + toString(std::move(Err)));
      else
        consumeError(std::move(Err));
      LogFailed = true;
      return;
    }
    Unlogged.erase(Unlogged.begin(), Unlogged.begin() + Some.size());
  }
  if (LogFailed)
    note("trials are logged again");
  LogFailed = false;
}

/// That it cannot be written is said when the trials end.
void Tuner::Impl::beginInLog(ArrayRef<Trial> Begun) {
  if (Log && !LogFailed)
    consumeError(Log->beginTrials(Begun));
}

Error Tuner::Impl::remeasureBaseline(bool Now) {
  double Since = now() - LastBaseline;
  bool Due = TrialsSinceBaseline >= O.BaselineTrials ||
             Since >= O.BaselineSeconds;
  bool Early = Since < std::max(O.MinBaselineSeconds, 5 * BaselineTakes);
  if (BaselinesUnderWay || (!Now && (!Due || Early)))
    return Error::success();
  TrialsSinceBaseline = 0;
  LastBaseline = now();
  BaselineTakes = 0;
  for (unsigned I = 0; I != Instances.size(); ++I) {
    auto Take = [this](Evaluation V, BaselineSample S) -> Error {
      if (V.Failure.empty() && !V.Samples.empty()) {
        consumeError(addBaseline(S)); // The next trial will say it.
        return Error::success();
      }
      note(formatv("the baseline failed when it was measured again ({0}: {1})",
                   V.Failure, V.Error)
               .str());
      return Error::success();
    };
    if (Error Err = measureBaseline(I, Take))
      return Err;
  }
  return Error::success();
}

Error Tuner::Impl::startCanary() {
  TrialsSinceCanary = 0;
  Trial T;
  T.Number = getFreeNumber();
  T.Kind = TrialKind::Canary;
  T.P = Space.defaultPoint();
  T.Started = now();
  Trial Added = addTrial(std::move(T));
  beginInLog(Added);
  return startTrial(std::move(Added));
}

std::optional<StudyEnd> Tuner::Impl::getReasonToStop() const {
  if (isInterrupted())
    return StudyEnd::Interrupted;
  if (O.Trials && NumTrials >= O.Trials)
    return StudyEnd::Trials;
  if (O.Budget > 0 && now() - SearchBegan >= O.Budget)
    return StudyEnd::Budget;
  return std::nullopt;
}

/// Starts trials until the evaluator has enough to do. \returns whether any
/// was, or could be if others were not running.
Expected<bool> Tuner::Impl::askMore() {
  unsigned Capacity = std::max(1u, E.capacity());
  // Samplers take their time; one call for some trials is enough.
  unsigned Batch = std::max(1u, Capacity / 4);
  if (Running.size() + Batch > Capacity)
    return true;
  if (O.CanaryTrials && TrialsSinceCanary >= O.CanaryTrials)
    if (Error Err = startCanary())
      return std::move(Err);
  unsigned Wanted = Capacity - Running.size();
  if (O.Trials)
    Wanted = std::min<uint64_t>(Wanted, O.Trials - NumTrials);
  if (Wanted == 0)
    return true; // The canary has taken the place.

  std::vector<Trial> Begun;
  auto Begin = [&](Point P, TrialKind Kind) {
    Space.canonicalize(P);
    if (Proposed.contains(Space.digest(P)))
      return;
    Trial T;
    T.Number = getFreeNumber();
    T.Kind = Kind;
    T.P = std::move(P);
    if (Expected<json::Object> Config = Space.configure(T.P))
      T.Config = std::move(*Config);
    else
      consumeError(Config.takeError());
    T.Started = now();
    Begun.push_back(addTrial(std::move(T)));
  };
  if (Log) {
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
  if (Begun.empty()) {
    // The more is known, the longer samplers think, and the less few more
    // trials tell them.
    uint64_t Ahead = std::max<uint64_t>(Wanted, NumTrials / AheadDivisor);
    if (O.Trials)
      Ahead = std::min<uint64_t>(Ahead, O.Trials - NumTrials);
    Expected<std::vector<Point>> Points = TheSampler->ask(Ahead);
    if (!Points)
      return Points.takeError();
    for (Point &P : *Points) {
      if (Begun.size() < Wanted)
        Begin(std::move(P), TrialKind::Search);
      else
        Queue.push_back({std::move(P), TrialKind::Search});
    }
  }
  if (Begun.empty())
    return !Running.empty();
  beginInLog(Begun);
  TrialsSinceCanary += Begun.size();
  for (Trial &T : Begun)
    if (Error Err = startTrial(std::move(T)))
      return std::move(Err);
  return true;
}

Error Tuner::Impl::search() {
  SearchBegan = now();
  enter(StudyProgress::Search);
  // What ran when an earlier run ended, as if nothing had happened.
  std::vector<Trial> Again;
  for (const Trial &T : History)
    if (T.State == TrialState::Running)
      Again.push_back(T);
  for (Trial &T : Again)
    if (Error Err = startTrial(std::move(T)))
      return Err;

  while (true) {
    if (std::optional<StudyEnd> Reason = getReasonToStop()) {
      Outcome.End = *Reason;
      break;
    }
    Expected<bool> More = askMore();
    if (!More)
      return More.takeError();
    if (!*More) {
      Outcome.End = StudyEnd::Exhausted;
      break;
    }
    if (Error Err = remeasureBaseline(/*Now=*/false))
      return Err;
    if (UnderWay.empty())
      continue; // All of them were invalid.
    if (Error Err = pump(WaitSeconds))
      return Err;
  }
  return drain();
}

/// Waits for what runs: to the end, or, when somebody is in a hurry, a while.
Error Tuner::Impl::drain() {
  enter(StudyProgress::Drain);
  if (Outcome.End != StudyEnd::Trials && Outcome.End != StudyEnd::Exhausted)
    for (uint64_t Id : E.cancel())
      UnderWay.erase(Id);
  double Limit = now() + O.DrainSeconds;
  while (!UnderWay.empty() && !isInterrupted(2)) {
    if (isInterrupted() && now() > Limit)
      break;
    if (Error Err = pump(WaitSeconds))
      return Err;
  }
  UnderWay.clear();
  BaselinesUnderWay = 0;
  Running.clear();
  // They are not lost: whoever goes on with the study runs them.
  llvm::erase_if(History, [](const Trial &T) {
    return T.State == TrialState::Running;
  });
  Outcome.SearchSeconds = now() - SearchBegan;
  return Error::success();
}

