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

double mneme::weightedMean(ArrayRef<double> Values, ArrayRef<double> Weights,
                           bool Geometric) {
  double Sum = 0;
  for (auto [V, W] : zip_equal(Values, Weights))
    Sum += W * (Geometric ? std::log(V) : V);
  return Geometric ? std::exp(Sum) : Sum;
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

Tuner::Impl::Impl(ArrayRef<StudyInstance> TheInstances, Evaluator &E,
                  StudyLog *Log, StudyObserver *Observer, TunerOptions Options)
    : Instances(TheInstances.begin(), TheInstances.end()), E(E), Log(Log),
      Observer(Observer), O(std::move(Options)), Space(Instances[0].Space),
      Objectives(Space.study().Objectives),
      Context{Space, getDirections(Objectives), O.Seed, History, Proposed},
      Tracks(Instances.size()), Baselines(Instances.size()) {
  for (const auto &[I, Obj] : enumerate(Objectives))
    if (Obj.Metric == "time")
      TimeObjective = I;
  Outcome.TimeIsObjective = TimeObjective.has_value();
  double Sum = 0;
  for (const StudyInstance &I : Instances)
    Sum += I.Weight;
  for (const StudyInstance &I : Instances)
    Weights.push_back(I.Weight / Sum);
}

Trial *Tuner::Impl::findTrial(uint64_t Number) {
  auto *It = llvm::partition_point(
      MutableArrayRef<Trial>(History),
      [&](const Trial &T) { return T.Number < Number; });
  return It != History.data() + History.size() && It->Number == Number
             ? It
             : nullptr;
}

/// The lowest one: a journal can lack some.
uint64_t Tuner::Impl::getFreeNumber() const {
  uint64_t Number = History.empty() ? 0 : History.back().Number + 1;
  if (Number == History.size())
    return Number;
  for (const auto &[I, T] : enumerate(History))
    if (T.Number != I)
      return I;
  return Number;
}

Trial &Tuner::Impl::addTrial(Trial T) {
  Proposed.insert(Space.digest(T.P));
  NumTrials += T.Kind != TrialKind::Canary;
  auto It = llvm::partition_point(
      History, [&](const Trial &Other) { return Other.Number < T.Number; });
  return *History.insert(It, std::move(T));
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
  Progress.Budget = O.Budget;
  Progress.Duplicates = Outcome.Duplicates;
  Progress.Failed = Outcome.Failed;
  Progress.Pruned = Outcome.Pruned;
  Progress.Failures = &Outcome.Failures;
  Progress.Metric = Objectives[0].Metric;
  Observer->update(Progress);
}

//===----------------------------------------------------------------------===//
// Talking to the evaluator
//===----------------------------------------------------------------------===//

Error Tuner::Impl::submit(EvaluationRequest R, Handler H) {
  uint64_t Id = R.Id;
  UnderWay[Id] = std::move(H);
  return E.submit(std::move(R));
}

Error Tuner::Impl::pump(double Seconds) {
  Expected<std::vector<Evaluation>> Results = E.wait(Seconds);
  if (!Results)
    return Results.takeError();
  for (Evaluation &V : *Results) {
    auto It = UnderWay.find(V.Id);
    if (It == UnderWay.end())
      continue;
    Handler H = std::move(It->second);
    UnderWay.erase(It);
    if (V.Failure == Evaluation::Cancelled)
      continue;
    if (Error Err = H(std::move(V)))
      return Err;
  }
  // Of many results at once it is one access to the file.
  writeLog();
  report();
  return Error::success();
}

/// Nobody knows on which device it will run.
double Tuner::Impl::getLaunchTimeout(unsigned Instance) const {
  double Longest = Tracks.longest(Instance);
  if (Longest == 0)
    return 0;
  return std::max(O.MinLaunchTimeout, O.LaunchTimeoutFactor * 1e-9 * Longest);
}

/// What cannot get into the final test is not measured to the end: what is
/// slower than the baseline, or than as many others as that takes. The best one
/// alone says little: the best of many is lucky. Where there is more than the
/// time of one launch to win, nothing is known so early.
StringMap<double> Tuner::Impl::getStopAbove() const {
  StringMap<double> Limits;
  if (!TimeObjective || Objectives.size() > 1 || Instances.size() > 1 ||
      RaceLimits.empty() || O.RaceFactor == 0)
    return Limits;
  double Reference = Tracks.reference(0), Limit = Reference;
  if (RaceLimits.size() >= O.FinalCandidates)
    Limit = std::min(Limit, RaceLimits.back());
  for (const auto &[Device, P] : Places)
    if (P.Known[0])
      Limits[Device] = O.RaceFactor * Limit *
                       Tracks.on(Device).at(0, epochSeconds()) / Reference;
  return Limits;
}

EvaluationRequest Tuner::Impl::makeRequest(unsigned Instance,
                                           json::Object Config) {
  EvaluationRequest R;
  R.Id = NextId++;
  R.Config = std::move(Config);
  R.LaunchTimeout = getLaunchTimeout(Instance);
  R.Instance = Instance;
  return R;
}

//===----------------------------------------------------------------------===//
// Baselines
//===----------------------------------------------------------------------===//

Place &Tuner::Impl::getPlace(StringRef Device) {
  Place &P = Places[Device.str()];
  P.Known.resize(Instances.size());
  return P;
}

Error Tuner::Impl::submitBaseline(StringRef Device, unsigned Instance,
                                  Handler H) {
  EvaluationRequest R = makeRequest(Instance, {});
  R.Fresh = true;
  R.AppCode = AppCode;
  R.Device = Device.str();
  ++BaselinesUnderWay;
  return submit(std::move(R), [this, H = std::move(H)](Evaluation V) -> Error {
    --BaselinesUnderWay;
    return H(std::move(V));
  });
}

/// \p Device: empty: anywhere. \p Take gets what was measured; of a doubtful
/// measurement and two more there the middle one. It gets a failure at once.
Error Tuner::Impl::measureBaseline(StringRef Device, unsigned Instance,
                                   BaselineHandler Take,
                                   std::vector<Evaluation> Before) {
  auto MakeSample = [Instance](const Evaluation &V) {
    return makeBaselineSample(Instance, V.Ended, V.Samples, V.Device);
  };
  return submitBaseline(
      Device, Instance,
      [=, Take = std::move(Take),
       All = std::move(Before)](Evaluation V) mutable -> Error {
        // Of a device that is gone there is what it said before.
        if (V.Failure == FailureKind::WorkerLost && !All.empty())
          return Take(All[0], MakeSample(All[0]));
        if (!V.Failure.empty() || V.Samples.empty())
          return Take(std::move(V), BaselineSample());
        Place &P = getPlace(V.Device);
        P.BaselineTakes += V.RunSeconds;
        P.LastBaseline = epochSeconds();
        All.push_back(std::move(V));
        std::string Where = All[0].Device;
        if (All.size() == 1 &&
            !Tracks.on(Where).isDoubtful(MakeSample(All[0])))
          return Take(All[0], MakeSample(All[0]));
        if (All.size() < 3)
          return measureBaseline(Where, Instance, std::move(Take),
                                 std::move(All));
        llvm::sort(All, [&](const Evaluation &A, const Evaluation &B) {
          return MakeSample(A).Nanoseconds < MakeSample(B).Nanoseconds;
        });
        return Take(All[1], MakeSample(All[1]));
      });
}

/// The first one of a run that goes on counts twice, so that two of the run
/// before do not outvote it, and so does the only one of that run. That is not
/// logged.
Error Tuner::Impl::addBaseline(const BaselineSample &S) {
  Place &P = getPlace(S.Device);
  const BaselineTrack &Before = Tracks.on(S.Device);
  if (!P.Known[S.Instance] && Before.count(S.Instance)) {
    if (Before.count(S.Instance) == 1)
      Tracks.add(BaselineSample(Before.first(S.Instance)));
    Tracks.add(S);
  }
  Tracks.add(S);
  P.Known[S.Instance] = true;
  Outcome.Baselines.push_back(S);
  return Log && !LogFailed ? Log->addBaseline(S) : Error::success();
}

/// What the baseline took where and when that was measured; 0: it is not known
/// there yet.
double Tuner::Impl::getBaselineOf(const Evaluation &V, unsigned Instance) {
  if (V.DuplicateOf)
    if (double Then = Known[*V.DuplicateOf].BaselineNanoseconds)
      return Then;
  auto P = Places.find(V.Device);
  if (P == Places.end() || !P->second.Known[Instance])
    return 0;
  return Tracks.on(V.Device).at(Instance, V.Ended);
}

/// \p Then is called when it was measured there, or cannot be.
Error Tuner::Impl::waitForBaseline(StringRef Device, unsigned Instance,
                                   std::function<Error()> Then) {
  Place &P = getPlace(Device);
  bool IsAsked = P.Waiting.count(Instance);
  P.Waiting.emplace(Instance, std::move(Then));
  return IsAsked ? Error::success() : remeasureBaselineOn(Device, Instance);
}

/// Should it come back, nobody knows as what.
void Tuner::Impl::leave(StringRef Device) {
  Place &P = getPlace(Device);
  P.Gone = true;
  P.Known.assign(Instances.size(), false);
  Tracks.forget(Device);
}

Error Tuner::Impl::remeasureBaselineOn(StringRef Device, unsigned Instance) {
  ++getPlace(Device).BaselinesUnderWay;
  auto Take = [this, Instance, Device = Device.str()](
                  Evaluation V, BaselineSample S) -> Error {
    Place &P = getPlace(Device);
    --P.BaselinesUnderWay;
    P.BaselineFails =
        !V.Failure.empty() && V.Failure != FailureKind::WorkerLost;
    if (V.Failure.empty() && !V.Samples.empty())
      consumeError(addBaseline(S)); // The next trial will say it.
    else if (V.Failure == FailureKind::WorkerLost)
      leave(Device);
    else
      note(formatv("the baseline failed when it was measured again ({0}: {1})",
                   V.Failure, V.Error)
               .str());
    std::vector<std::function<Error()>> Waiting;
    auto [Begin, End] = P.Waiting.equal_range(Instance);
    for (auto It = Begin; It != End; ++It)
      Waiting.push_back(std::move(It->second));
    P.Waiting.erase(Begin, End);
    for (const std::function<Error()> &Then : Waiting)
      if (Error Err = Then())
        return Err;
    return Error::success();
  };
  return measureBaseline(Device, Instance, Take);
}

double Tuner::Impl::weightedReference() const {
  if (Instances.size() == 1)
    return Tracks.reference(0);
  std::vector<double> References;
  for (unsigned I = 0; I != Instances.size(); ++I)
    References.push_back(Tracks.reference(I));
  return weightedMean(References, Weights, true);
}

//===----------------------------------------------------------------------===//
// The beginning
//===----------------------------------------------------------------------===//

void Tuner::Impl::loadLog() {
  if (!Log)
    return;
  for (const BaselineSample &S : Log->takeBaselines())
    if (S.Instance < Instances.size()) {
      Tracks.add(S);
      Outcome.Baselines.push_back(S);
    }
  for (Trial &T : Log->takeTrials()) {
    Trial &Added = addTrial(std::move(T));
    if (Added.State != TrialState::Running) {
      ++Outcome.Resumed;
      countTrial(Added);
    }
  }
  for (const Trial &T : History) {
    bool IsCanary = T.Kind == TrialKind::Canary;
    TrialsSinceCanary = IsCanary ? 0 : TrialsSinceCanary + 1;
    if (IsCanary && T.Suspect)
      markSuspects(T);
  }
  findBestAnew();
}

/// Of several instances a trial has only what all of them came to.
void Tuner::Impl::rememberTrials() {
  if (Instances.size() > 1)
    return;
  for (const Trial &T : History) {
    if (T.State == TrialState::Running || T.CodeHash.empty() ||
        T.DuplicateKind != Duplicate::None || T.Kind == TrialKind::Canary ||
        T.Suspect)
      continue;
    EvaluationRequest R = makeRequest(0, json::Object(T.Config));
    Evaluation V;
    V.Id = R.Id;
    V.Failure = T.Failure;
    V.Error = T.Error;
    V.Stopped = T.State == TrialState::Pruned;
    V.Metrics = T.Metrics;
    V.Samples = T.Samples;
    V.IRHash = T.IRHash;
    V.AssemblyHash = T.AssemblyHash;
    V.CodeHash = T.CodeHash;
    V.Started = T.Started;
    V.Ended = T.Ended;
    V.Device = T.Device;
    Known[R.Id] = {T.Number, T.BaselineNanoseconds};
    E.remember(R, V);
  }
}

Error Tuner::Impl::checkFirstBaseline(unsigned Instance,
                                      const Evaluation &V) const {
  if (V.Failure == FailureKind::WorkerLost)
    return createStringError("the baseline could not be measured: " + V.Error);
  if (!V.Failure.empty()) {
    std::string Why = V.Error.empty() ? "" : ": " + V.Error;
    StringRef Hint = V.Failure == FailureKind::Mismatch
                         ? "; --dtype and --tolerance say what is near enough"
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
    if (!AppCode && !V.Metrics.count(Obj.Metric))
      return createStringError(
          formatv("the objective '{0}' cannot be measured here", Obj.Metric)
              .str());
  return Error::success();
}

Error Tuner::Impl::measureFirstBaselines() {
  AppCode = O.AppCode;
  for (unsigned I = 0; I != Instances.size(); ++I) {
    Evaluation First;
    BaselineSample S;
    auto Keep = [&](Evaluation V, BaselineSample Sample) {
      First = std::move(V);
      S = Sample;
      return Error::success();
    };
    if (Error Err = measureBaseline(/*Device=*/"", I, Keep))
      return Err;
    while (BaselinesUnderWay) {
      if (isInterrupted())
        return make_error<BaselineError>(
            "interrupted before the baseline was measured");
      if (Error Err = pump(WaitSeconds))
        return Err;
    }
    if (AppCode && !First.Failure.empty() && I == 0) {
      note(formatv("the application's own code cannot be the baseline ({0}: "
                   "{1}); it is the recorded configuration instead",
                   First.Failure, First.Error)
               .str());
      AppCode = false;
      --I;
      continue;
    }
    if (Error Err = checkFirstBaseline(I, First))
      return Err;
    if (Error Err = addBaseline(S))
      return Err;
    Known[First.Id] = {std::nullopt, S.Nanoseconds};
    InstanceOutcome &Out = Outcome.Instances.emplace_back();
    Out.Id = Instances[I].Id;
    Out.Weight = Weights[I];
    Out.Metrics = First.Metrics;
    Out.Samples = First.Samples;
    Out.CodeHash = First.CodeHash;
    Baselines[I] = std::move(First);
  }
  Outcome.AppCode = AppCode;
  return Error::success();
}

void Tuner::Impl::fillQueue() {
  Queue.push_back({Space.defaultPoint(), TrialKind::Start});
  for (const Point &P : O.Enqueued)
    Queue.push_back({P, TrialKind::Enqueued});
}

//===----------------------------------------------------------------------===//
// The whole
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
  for (const Trial &T : History)
    if (T.State != TrialState::Running)
      TheSampler->tell(T);
  fillQueue();
  Error Err = search();
  if (!Err && !isInterrupted(2))
    Err = finish();
  if (Err) {
    // Whatever has happened, what was found is there.
    Outcome.End = StudyEnd::Lost;
    Outcome.EndReason = toString(std::move(Err));
    if (Outcome.Best.empty())
      chooseBest();
  }
  writeLog();
  if (LogFailed)
    Outcome.Unlogged = Unlogged.size();
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
