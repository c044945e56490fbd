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

char BaselineError::ID = 0;

void BaselineError::log(raw_ostream &OS) const { OS << Message; }

std::error_code BaselineError::convertToErrorCode() const {
  return inconvertibleErrorCode();
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

static std::vector<Direction> getDirections(ArrayRef<Objective> Objectives) {
  std::vector<Direction> Directions;
  for (const Objective &Obj : Objectives)
    Directions.push_back(Obj.Dir);
  return Directions;
}

/// Returns the weights relative to their sum.
static std::vector<double> getWeights(ArrayRef<StudyInstance> Instances) {
  double Sum = 0;
  for (const StudyInstance &I : Instances)
    Sum += I.Weight;
  std::vector<double> Weights;
  for (const StudyInstance &I : Instances)
    Weights.push_back(I.Weight / Sum);
  return Weights;
}

Tuner::Impl::Impl(ArrayRef<StudyInstance> TheInstances, Evaluator &E,
                  StudyLog *Log, StudyObserver *Observer, TunerOptions Options)
    : Instances(TheInstances.begin(), TheInstances.end()), E(E),
      Observer(Observer), O(std::move(Options)), Space(Instances[0].Space),
      Objectives(Space.study().Objectives), Weights(getWeights(Instances)),
      Store(Space, Log, [this](std::string Text) { note(std::move(Text)); }),
      Asked(E), Keeper(Instances, Weights, O, Asked, Store, Outcome,
                       [this](std::string Text) { note(std::move(Text)); }),
      Context{Space, getDirections(Objectives), O.Seed, Store.Trials,
              Store.Proposed},
      Baselines(Instances.size()) {
  for (const auto &[I, Obj] : enumerate(Objectives))
    if (Obj.Metric == "time")
      TimeObjective = I;
  Outcome.TimeIsObjective = TimeObjective.has_value();
}

void Tuner::Impl::note(std::string Text) {
  if (Observer)
    Observer->note(Text);
  Outcome.Notes.push_back(std::move(Text));
}

void Tuner::Impl::enter(StudyProgress::PhaseTy Phase) {
  Progress.Phase = Phase;
  report();
}

void Tuner::Impl::report() {
  if (!Observer)
    return;
  Progress.Seconds = SearchBegan ? epochSeconds() - SearchBegan : 0;
  Progress.Running = Running.size();
  Progress.TrialLimit = O.Trials;
  if (O.Deadline)
    Progress.SecondsLeft = std::max(0.0, secondsLeft());
  Progress.Duplicates = Outcome.Duplicates;
  Progress.Failed = Outcome.Failed;
  Progress.Pruned = Outcome.Pruned;
  Progress.Failures = &Outcome.Failures;
  Progress.Metric = Objectives[0].Metric;
  Observer->update(Progress);
}

Error Tuner::Impl::pump(double Seconds) {
  if (Error Err = Asked.serve(Seconds))
    return Err;
  // One access to the file for all results.
  Store.write();
  report();
  return Error::success();
}

/// Returns, by device, the times above which measurements stop, because the
/// trial cannot reach the final test: it is slower than the baseline, or than
/// as many other trials as that test takes. The best trial alone is no limit,
/// since the best of many is lucky. With several objectives or instances, there
/// are no limits.
StringMap<double> Tuner::Impl::getStopAbove() const {
  StringMap<double> Limits;
  if (!TimeObjective || Objectives.size() > 1 || Instances.size() > 1 ||
      RaceLimits.empty() || O.RaceFactor == 0)
    return Limits;
  double Reference = Keeper.Tracks.reference(0), Limit = Reference;
  if (RaceLimits.size() >= O.FinalCandidates)
    Limit = std::min(Limit, RaceLimits.back());
  for (const auto &[Device, P] : Keeper.Devices)
    if (P.Known[0])
      Limits[Device] = O.RaceFactor * Limit *
                       Keeper.Tracks.on(Device).at(0, epochSeconds()) /
                       Reference;
  return Limits;
}

//===----------------------------------------------------------------------===//
// The beginning
//===----------------------------------------------------------------------===//

void Tuner::Impl::loadLog() {
  StudyLog *Log = Store.log();
  if (!Log)
    return;
  for (const BaselineSample &S : Log->takeBaselines())
    if (S.Instance < Instances.size()) {
      Keeper.Tracks.add(S);
      Outcome.Baselines.push_back(S);
    }
  for (Trial &T : Log->takeTrials()) {
    Trial &Added = Store.add(std::move(T));
    if (Added.State != TrialState::Running) {
      Outcome.Resumed += Added.Kind != TrialKind::Canary;
      countTrial(Added);
    }
  }
  for (const Trial &T : Store.Trials) {
    bool IsCanary = T.Kind == TrialKind::Canary;
    TrialsSinceCanary = IsCanary ? 0 : TrialsSinceCanary + 1;
    if (IsCanary && T.Suspect)
      markSuspects(T);
  }
  findBestAnew();
}

/// With several instances, trials have only combined results.
void Tuner::Impl::rememberTrials() {
  if (Instances.size() > 1)
    return;
  for (const Trial &T : Store.Trials) {
    if (T.State == TrialState::Running || T.CodeHash.empty() ||
        T.DuplicateKind != Duplicate::None || T.Kind == TrialKind::Canary ||
        T.Suspect)
      continue;
    EvaluationRequest R = Keeper.makeRequest(0, json::Object(T.Config));
    Evaluation V;
    V.Id = R.Id;
    V.Failure = T.Failure;
    V.Error = T.Error;
    V.Level = T.Level;
    V.Stopped = T.State == TrialState::Pruned;
    V.Metrics = T.Metrics;
    V.Samples = T.Samples;
    V.IRHash = T.IRHash;
    V.AssemblyHash = T.AssemblyHash;
    V.CodeHash = T.CodeHash;
    V.Started = T.Started;
    V.Ended = T.Ended;
    V.Device = T.Device;
    Asked.Known[R.Id] = {T.Number, T.BaselineNanoseconds};
    E.remember(R, V);
  }
}

Error Tuner::Impl::checkFirstBaseline(unsigned Instance,
                                      const Evaluation &V) const {
  if (V.Failure == FailureKind::WorkerLost)
    return createStringError("the baseline could not be measured: " + V.Error);
  if (!V.Failure.empty()) {
    std::string Why = V.Error.empty() ? "" : ": " + V.Error;
    // The message on results that vary has the advice.
    StringRef Hint =
        V.Failure == FailureKind::Mismatch &&
                !StringRef(V.Error).contains("--judge-by=app")
            ? "; allow an error with --dtype and --tolerance, or let the "
              "application judge with --judge-by=app"
            : "";
    return make_error<BaselineError>(
        formatv("the recorded configuration of instance '{0}' does not "
                "verify, so nothing can be tuned ({1}{2}){3}",
                Instances[Instance].Id, V.Failure, Why, Hint)
            .str());
  }
  if (V.Samples.empty())
    return make_error<BaselineError>("the baseline was not measured");
  for (const Objective &Obj : Objectives)
    if (!Keeper.AppCode && !V.Metrics.count(Obj.Metric))
      return createStringError(
          formatv("the objective '{0}' cannot be measured here", Obj.Metric)
              .str());
  return Error::success();
}

Error Tuner::Impl::measureFirstBaselines() {
  Keeper.AppCode = O.AppCode;
  for (unsigned I = 0; I != Instances.size(); ++I) {
    Evaluation First;
    BaselineSample S;
    auto Keep = [&](Evaluation V, BaselineSample Sample) {
      First = std::move(V);
      S = Sample;
      return Error::success();
    };
    if (Error Err = Keeper.measure(/*Device=*/"", I, Keep))
      return Err;
    while (Keeper.UnderWay) {
      if (isInterrupted())
        return make_error<BaselineError>(
            "interrupted before the baseline was measured");
      if (Error Err = pump(WaitSeconds))
        return Err;
    }
    if (Keeper.AppCode && !First.Failure.empty() && I == 0) {
      note(formatv("the application's own code cannot be the baseline ({0}: "
                   "{1}); using the recorded configuration instead",
                   First.Failure, First.Error)
               .str());
      Keeper.AppCode = false;
      --I;
      continue;
    }
    if (Error Err = checkFirstBaseline(I, First))
      return Err;
    if (Error Err = Keeper.add(S))
      return Err;
    Asked.Known[First.Id] = {std::nullopt, S.Nanoseconds};
    InstanceOutcome &Out = Outcome.Instances.emplace_back();
    Out.Id = Instances[I].Id;
    Out.Weight = Weights[I];
    Out.Metrics = First.Metrics;
    Out.Samples = First.Samples;
    Out.CodeHash = First.CodeHash;
    Baselines[I] = std::move(First);
  }
  Outcome.AppCode = Keeper.AppCode;
  return Error::success();
}

void Tuner::Impl::fillQueue() {
  Queue.push_back({Space.defaultPoint(), TrialKind::Start});
  for (const Point &P : O.Enqueued)
    Queue.push_back({P, TrialKind::Enqueued});
  for (const Point &P : O.Warm)
    Queue.push_back({P, TrialKind::Warm});
}

//===----------------------------------------------------------------------===//
// The study
//===----------------------------------------------------------------------===//

Expected<StudyOutcome> Tuner::Impl::run() {
  loadLog();
  if (Error Err = measureFirstBaselines())
    return std::move(Err);
  rememberTrials();
  Expected<std::unique_ptr<Sampler>> S = O.MakeSampler(Context);
  if (!S)
    return S.takeError();
  TheSampler = std::move(*S);
  for (const Trial &T : Store.Trials)
    if (T.State != TrialState::Running)
      TheSampler->tell(T);
  fillQueue();
  Error Err = search();
  if (!Err && !isInterrupted(2))
    Err = finish();
  if (Err) {
    // The results so far are valid in any case.
    Outcome.End = StudyEnd::Lost;
    Outcome.EndReason = toString(std::move(Err));
    if (Outcome.Best.empty())
      chooseBest();
    Store.closeRunning();
  }
  Store.write();
  Outcome.Unlogged = Store.numUnlogged();
  enter(StudyProgress::Done);
  return std::move(Outcome);
}

Tuner::Tuner(ArrayRef<StudyInstance> Instances, Evaluator &E, StudyLog *Log,
             StudyObserver *Observer, TunerOptions Options)
    : I(std::make_unique<Impl>(Instances, E, Log, Observer,
                               std::move(Options))) {}
Tuner::~Tuner() = default;

Expected<StudyOutcome> Tuner::run() { return I->run(); }

ArrayRef<Trial> Tuner::trials() const { return I->trials(); }
