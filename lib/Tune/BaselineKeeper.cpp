//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BaselineKeeper.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

double mneme::weightedMean(ArrayRef<double> Values, ArrayRef<double> Weights,
                           bool Geometric) {
  double Sum = 0;
  for (auto [V, W] : zip_equal(Values, Weights))
    Sum += W * (Geometric ? std::log(V) : V);
  return Geometric ? std::exp(Sum) : Sum;
}

BaselineKeeper::BaselineKeeper(ArrayRef<StudyInstance> Instances,
                               ArrayRef<double> Weights, const TunerOptions &O,
                               Requests &Asked, TrialStore &Store,
                               StudyOutcome &Outcome, TrialStore::NoteFn Note)
    : Tracks(Instances.size()), Instances(Instances), Weights(Weights), O(O),
      Asked(Asked), Store(Store), Outcome(Outcome), Note(std::move(Note)) {}

StudyDevice &BaselineKeeper::getDevice(StringRef Device) {
  StudyDevice &D = Devices[Device.str()];
  D.Known.resize(Instances.size());
  return D;
}

double BaselineKeeper::getLaunchTimeout(unsigned Instance) const {
  double Longest = Tracks.longest(Instance);
  if (Longest == 0)
    return 0;
  return std::max(O.MinLaunchTimeout, O.LaunchTimeoutFactor * 1e-9 * Longest);
}

EvaluationRequest BaselineKeeper::makeRequest(unsigned Instance,
                                              json::Object Config) {
  EvaluationRequest R;
  R.Id = Asked.NextId++;
  R.Config = std::move(Config);
  R.LaunchTimeout = getLaunchTimeout(Instance);
  R.Instance = Instance;
  return R;
}

Error BaselineKeeper::submit(StringRef Device, unsigned Instance,
                             Requests::Handler H) {
  EvaluationRequest R = makeRequest(Instance, {});
  R.Fresh = true;
  R.AppCode = AppCode;
  R.Device = Device.str();
  ++UnderWay;
  return Asked.submit(std::move(R),
                      [this, H = std::move(H)](Evaluation V) -> Error {
                        --UnderWay;
                        return H(std::move(V));
                      });
}

Error BaselineKeeper::measure(StringRef Device, unsigned Instance,
                              BaselineHandler Take,
                              std::vector<Evaluation> Before) {
  auto MakeSample = [Instance](const Evaluation &V) {
    return makeBaselineSample(Instance, V.Ended, V.Samples, V.Device);
  };
  return submit(
      Device, Instance,
      [=, Take = std::move(Take),
       All = std::move(Before)](Evaluation V) mutable -> Error {
        // If the device is lost, take its first sample.
        if (V.Failure == FailureKind::WorkerLost && !All.empty())
          return Take(All[0], MakeSample(All[0]));
        if (!V.Failure.empty() || V.Samples.empty())
          return Take(std::move(V), BaselineSample());
        StudyDevice &D = getDevice(V.Device);
        D.BaselineTakes += V.RunSeconds;
        D.LastBaseline = epochSeconds();
        All.push_back(std::move(V));
        std::string Where = All[0].Device;
        if (All.size() == 1 && !Tracks.on(Where).isDoubtful(MakeSample(All[0])))
          return Take(All[0], MakeSample(All[0]));
        if (All.size() < 3)
          return measure(Where, Instance, std::move(Take), std::move(All));
        llvm::sort(All, [&](const Evaluation &A, const Evaluation &B) {
          return MakeSample(A).Nanoseconds < MakeSample(B).Nanoseconds;
        });
        return Take(All[1], MakeSample(All[1]));
      });
}

/// The first sample of a resumed run counts twice, so that two samples of the
/// previous run do not outvote it. So does the only sample of the previous run.
/// The copies are not logged.
Error BaselineKeeper::add(const BaselineSample &S) {
  StudyDevice &D = getDevice(S.Device);
  const BaselineTrack &Before = Tracks.on(S.Device);
  if (!D.Known[S.Instance] && Before.count(S.Instance)) {
    if (Before.count(S.Instance) == 1)
      Tracks.add(BaselineSample(Before.first(S.Instance)));
    Tracks.add(S);
  }
  Tracks.add(S);
  D.Known[S.Instance] = true;
  Outcome.Baselines.push_back(S);
  return Store.addBaseline(S);
}

double BaselineKeeper::getBaselineOf(const Evaluation &V, unsigned Instance) {
  if (V.DuplicateOf)
    if (double Then = Asked.Known[*V.DuplicateOf].BaselineNanoseconds)
      return Then;
  auto D = Devices.find(V.Device);
  if (D == Devices.end() || !D->second.Known[Instance])
    return 0;
  return Tracks.on(V.Device).at(Instance, V.Ended);
}

Error BaselineKeeper::waitFor(StringRef Device, unsigned Instance,
                              std::function<Error()> Then) {
  StudyDevice &D = getDevice(Device);
  bool IsAsked = D.Waiting.count(Instance);
  D.Waiting.emplace(Instance, std::move(Then));
  return IsAsked ? Error::success() : remeasureOn(Device, Instance);
}

void BaselineKeeper::leave(StringRef Device) {
  StudyDevice &D = getDevice(Device);
  D.Gone = true;
  D.Known.assign(Instances.size(), false);
  Tracks.forget(Device);
}

Error BaselineKeeper::remeasureOn(StringRef Device, unsigned Instance) {
  ++getDevice(Device).BaselinesUnderWay;
  auto Take = [this, Instance,
               Device = Device.str()](Evaluation V, BaselineSample S) -> Error {
    StudyDevice &D = getDevice(Device);
    --D.BaselinesUnderWay;
    D.BaselineFails =
        !V.Failure.empty() && V.Failure != FailureKind::WorkerLost;
    if (V.Failure.empty() && !V.Samples.empty())
      consumeError(add(S)); // The end of the next trial reports it.
    else if (V.Failure == FailureKind::WorkerLost)
      leave(Device);
    else
      Note(formatv("the baseline failed when it was measured again ({0}: {1})",
                   V.Failure, V.Error)
               .str());
    std::vector<std::function<Error()>> Waiting;
    auto [Begin, End] = D.Waiting.equal_range(Instance);
    for (auto It = Begin; It != End; ++It)
      Waiting.push_back(std::move(It->second));
    D.Waiting.erase(Begin, End);
    for (const std::function<Error()> &Then : Waiting)
      if (Error Err = Then())
        return Err;
    return Error::success();
  };
  return measure(Device, Instance, Take);
}

Error BaselineKeeper::remeasure(bool Now) {
  for (auto &[Device, D] : Devices) {
    double Since = epochSeconds() - D.LastBaseline;
    bool Due =
        D.TrialsSinceBaseline >= O.BaselineTrials || Since >= O.BaselineSeconds;
    bool Early = Since < std::max(O.MinBaselineSeconds, 5 * D.BaselineTakes);
    if (D.Gone || D.BaselinesUnderWay || (!Now && (!Due || Early)))
      continue;
    D.TrialsSinceBaseline = 0;
    D.LastBaseline = epochSeconds();
    D.BaselineTakes = 0;
    for (unsigned I = 0; I != Instances.size(); ++I)
      if (Error Err = remeasureOn(Device, I))
        return Err;
  }
  return Error::success();
}

double BaselineKeeper::weightedReference() const {
  if (Instances.size() == 1)
    return Tracks.reference(0);
  std::vector<double> References;
  for (unsigned I = 0; I != Instances.size(); ++I)
    References.push_back(Tracks.reference(I));
  return weightedMean(References, Weights, true);
}

void BaselineKeeper::forget() {
  UnderWay = 0;
  for (auto &[Device, D] : Devices) {
    D.BaselinesUnderWay = 0;
    D.Waiting.clear();
  }
}
