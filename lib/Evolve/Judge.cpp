//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Evolve/Judge.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Perturb.h"
#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/Mneme/Source/Guards.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Number of measurements; the baseline is their median.
static constexpr unsigned NumBaselines = 3;
/// Seconds after which the baseline is measured again.
static constexpr double BaselineSeconds = 5;

/// Threads that all random schedules of a version run. There are at least this
/// many schedules.
static constexpr uint64_t ScheduledThreads = 1 << 21;
static constexpr unsigned MinSchedules = 8;

/// Pack needs as many launches to serve a range of scalars.
static constexpr unsigned MinRangeLaunches = 8;

/// A range of at most this many values is served where each one was tested.
static constexpr unsigned MaxEnumerators = 32;

static constexpr StringLiteral StageNames[] = {"compile", "verify",   "measure",
                                               "compare", "held-out", "done"};

StringRef mneme::getStageName(JudgeStage S) {
  return StageNames[static_cast<size_t>(S)];
}

json::Value mneme::toJSON(const Judgement &J) {
  json::Object Metrics, Seconds;
  for (const auto &M : J.Metrics)
    Metrics[M.getKey()] = M.getValue();
  for (auto [Name, S] : zip_first(J.Seconds, StageNames))
    Seconds[S] = Name;
  json::Array Suspicions;
  for (const std::string &S : J.Suspicions)
    Suspicions.push_back(json::fixUTF8(S));
  return json::Object{{"stage", getStageName(J.Reached)},
                      {"passed", J.passed()},
                      {"failure", orNull(J.Failure.name())},
                      {"error", orNull(J.Error)},
                      {"diagnostics", json::Array(J.Diagnostics)},
                      {"suspicions", std::move(Suspicions)},
                      {"metrics", std::move(Metrics)},
                      {"ir_hash", orNull(J.IRHash)},
                      {"assembly_hash", orNull(J.AssemblyHash)},
                      {"code_hash", orNull(J.CodeHash)},
                      {"estimate", orNull(J.Estimate)},
                      {"speedup", toArray(J.Speedup)},
                      {"unseen_speedup", toArray(J.UnseenSpeedup)},
                      {"untimed", orNull(J.Untimed)},
                      {"tested_launches", J.TestedLaunches},
                      {"seconds", std::move(Seconds)}};
}

json::Value mneme::makeSourceSetting(StringRef Text) {
  return json::fixUTF8(Text.contains('\n') ? Text.str() : (Text + "\n").str());
}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Judge>> Judge::create(JudgeOptions Options) {
  std::unique_ptr<Judge> J(new Judge(std::move(Options)));
  J->O.Farm.Base.Untrusted = J->O.Untrusted;
  // An author who knows the seed computes the drawn launches.
  if (!J->O.Seed)
    J->O.Seed = std::random_device()();
  if (Error E = J->split())
    return std::move(E);
  if (Error E = ReplayFarm::create(J->O.Farm).moveInto(J->Farm))
    return std::move(E);
  if (Error E = J->checkRecordedCode())
    return std::move(E);
  if (J->O.Untrusted) {
    if (Error E = J->assessPower())
      return std::move(E);
    if (Error E = J->perturb())
      return std::move(E);
  }
  return std::move(J);
}

/// Chooses the instances and their order. The first training instance has the
/// fewest threads, as it rejects most wrong candidates.
Error Judge::split() {
  std::vector<bool> IsHeldOut(O.Instances.size());
  for (StringRef Id : O.HeldOut) {
    bool Found = false;
    for (auto [I, Instance] : enumerate(O.Instances))
      if (StringRef(Instance.DynamicHash).starts_with(Id)) {
        IsHeldOut[I] = true;
        Found = true;
      }
    if (!Found)
      return createStringError("--held-out: no recorded launch '" + Id + "'");
  }
  size_t Count = O.Instances.size();
  if (O.Untrusted && O.HeldOut.empty() && Count > 1)
    for (size_t I = Count - divideCeil(Count, 4); I != Count; ++I)
      IsHeldOut[I] = true;
  std::vector<size_t> Order(Count);
  for (size_t I = 0; I != Count; ++I)
    Order[I] = I;
  llvm::stable_sort(Order, [&](size_t A, size_t B) {
    auto Key = [&](size_t I) {
      const RecordedInstance &R = O.Instances[I];
      return std::pair(bool(IsHeldOut[I]), R.Grid.count() * R.Block.count());
    };
    return Key(A) < Key(B);
  });
  O.Farm.RecordIds.clear();
  for (auto [I, Old] : enumerate(Order)) {
    O.Farm.RecordIds.push_back(O.Instances[Old].DynamicHash);
    (IsHeldOut[Old] ? HeldOut : Training).push_back(I);
  }
  if (Training.empty())
    return createStringError("--held-out: no launch is left to train on");
  return Error::success();
}

static Error checkAll(ArrayRef<Evaluation> All, bool Untrusted) {
  for (const Evaluation &E : All)
    if (!E.Failure.empty())
      return createStringError(
          formatv("the recorded kernel does not verify ({0}: {1}){2}",
                  E.Failure, E.Error,
                  Untrusted ? "; if it reads local or shared memory before it "
                              "writes it, or memory behind a buffer, give "
                              "--trusted"
                            : "")
              .str());
  return Error::success();
}

Error Judge::checkRecordedCode() {
  std::vector<EvaluationRequest> Requests;
  for (unsigned I : HeldOut)
    Requests.push_back(makeRequest({}, I, /*Measure=*/false));
  Expected<std::vector<Evaluation>> Held = evaluate(std::move(Requests));
  if (!Held)
    return Held.takeError();
  if (Error E = checkAll(*Held, O.Untrusted))
    return E;
  Baselines.resize(Training.size());
  for (unsigned N = 0; N != NumBaselines; ++N) {
    Expected<std::vector<Evaluation>> All = measureRecordedCode();
    if (!All)
      return All.takeError();
    if (Error E = checkAll(*All, O.Untrusted))
      return E;
    noteBaselines(*All);
  }
  return Error::success();
}

Expected<std::vector<Evaluation>> Judge::measureRecordedCode() {
  std::vector<EvaluationRequest> Requests;
  for (unsigned I : Training) {
    Requests.push_back(makeRequest({}, I, /*Measure=*/true));
    Requests.back().Fresh = true;
  }
  return evaluate(std::move(Requests));
}

void Judge::noteBaselines(ArrayRef<Evaluation> All) {
  for (auto [B, E] : zip_equal(Baselines, All)) {
    if (E.Samples.empty())
      continue;
    if (B.Last.size() == NumBaselines)
      B.Last.erase(B.Last.begin());
    B.Last.push_back(summarize(E.Samples).Median);
    B.Median = summarize(B.Last).Median;
    Estimates[E.Id] = 0;
  }
  BaselineTime = std::chrono::steady_clock::now();
}

/// The speed of a machine changes.
Error Judge::refreshBaselines() {
  if (secondsSince(BaselineTime) < BaselineSeconds)
    return Error::success();
  Expected<std::vector<Evaluation>> All = measureRecordedCode();
  if (!All)
    return All.takeError();
  noteBaselines(*All);
  return Error::success();
}

/// Returns the logarithm of a speed-up. Equal code has one speed-up, although
/// the baseline changes.
double Judge::estimate(const Evaluation &E, size_t Place) {
  double Log = std::log(Baselines[Place].Median / summarize(E.Samples).Median);
  if (E.DuplicateOf)
    if (auto It = Estimates.find(*E.DuplicateOf); It != Estimates.end())
      Log = It->second;
  Estimates[E.Id] = Log;
  return Log;
}

Error Judge::assessPower() {
  AssessOptions A;
  A.Instance = Training.front();
  A.Pipeline = getClangPipeline(Farm->plans().front()->kernel().OptLevel);
  if (Error E = assess(*Farm, A).moveInto(Power))
    return E;
  for (const FaultResult &F : Power.Faults)
    if (F.Name == "empty" && F.Outcome == FaultResult::Missed)
      return createStringError(
          "an empty kernel verifies: the recorded launch changes nothing that "
          "a candidate could get wrong");
  return Error::success();
}

/// Several launches have inputs that stay as recorded for the same reason.
void Judge::noteUnperturbed(std::string Why) {
  if (!is_contained(Unperturbed, Why))
    Unperturbed.push_back(std::move(Why));
}

/// Returns the number of a drawn launch for a choice by turns, such that each
/// instance gets launches of each kind: not in step with the instances.
unsigned Judge::turnOf(unsigned Number) const {
  return Number + (Training.size() % 2 ? 0 : Number / Training.size());
}

/// Returns true if the scalars of a drawn launch are round numbers.
bool Judge::isRound(unsigned Number) const { return turnOf(Number) % 2 == 0; }

/// Some versions are right only if scalars are to each other what they were,
/// others only if they change together.
DrawnScalars Judge::chooseScalars(unsigned Number) const {
  static constexpr DrawnScalars Kinds[] = {
      DrawnScalars::Each, DrawnScalars::Related, DrawnScalars::Some};
  unsigned Count = Training.size();
  return Kinds[(Number / Count + Number % Count + 1) % std::size(Kinds)];
}

/// Returns the options of a launch that is not measured.
ReplayOptions Judge::makeTestOptions(StringRef Device) const {
  ReplayOptions Options = O.Farm.Base;
  Options.RecordId.clear();
  Options.Device = Device.str();
  Options.Iterations = 0;
  Options.Warmup = 0;
  Options.Resources = false;
  Options.Bound = BoundMode::Off;
  return Options;
}

/// Draws inputs of a training instance. A launch that the recorded code does
/// not verify on is of no use.
/// \param Scalars  draw scalars, too, if others of this number have some.
/// \returns null if nothing can be drawn.
Expected<std::unique_ptr<Judge::DrawnLaunch>> Judge::draw(unsigned Number,
                                                          StringRef Device,
                                                          bool Scalars,
                                                          bool MovesBuffers) {
  bool IsTimed = Number >= DrawnLaunch::FirstTimed;
  unsigned I = IsTimed ? (Number - DrawnLaunch::FirstTimed) / 2
                       : Training[Number % Training.size()];
  ReplayOptions Options = makeTestOptions(Device);
  PerturbOptions P;
  P.Seed = *O.Seed + Number + 1;
  P.OnlyOrder = IsTimed ? Number % 2 == 0 : Number == 0;
  if (Number >= DrawnLaunch::FirstScalars && !IsTimed && Scalars)
    P.Scalars = chooseScalars(Number);
  P.RoundScalars = isRound(Number);
  P.MovesBuffers = MovesBuffers;
  // Of four launches from the third on, two are as the recorded one in this.
  static constexpr DrawnValues Ranges[] = {DrawnValues::Near, DrawnValues::Far,
                                           DrawnValues::NonFinite,
                                           DrawnValues::Near};
  if (Number >= DrawnLaunch::FirstScalars && !IsTimed)
    P.Values = Ranges[(turnOf(Number) - DrawnLaunch::FirstScalars) %
                      std::size(Ranges)];
  bool IsMoved = false;
  auto Fail = [&](Error E) -> Expected<std::unique_ptr<DrawnLaunch>> {
    if (IsMoved) { // The recorded code may depend on distances.
      consumeError(std::move(E));
      return draw(Number, Device, Scalars, /*MovesBuffers=*/false);
    }
    noteUnperturbed(toString(std::move(E)));
    return nullptr;
  };
  Expected<std::unique_ptr<ReplayPlan>> Own = Farm->plans()[I]->vary(Options);
  if (!Own)
    return Own.takeError();
  Expected<PerturbedLaunch> Written =
      writePerturbed(**Own,
                     Inputs.pathOf(Device.str() + std::to_string(Number) +
                                   (Scalars ? "" : "-own-scalars") +
                                   (MovesBuffers ? "" : "-own-distances")),
                     P);
  if (!Written)
    return Fail(Written.takeError());
  IsMoved = is_contained(Written->Changed, BufferDistances);
  if (!MovesBuffers)
    Written->Unchanged.push_back(
        (BufferDistances + ": the recorded code fails with others").str());
  for (const std::string &Why : Written->Unchanged)
    noteUnperturbed(Why);
  DrawnLaunch L{Number,
                I,
                P.OnlyOrder,
                std::move(Written->Changed),
                std::move(Written->Partly),
                std::move(Written->Unread),
                std::move(Written->Unchanged),
                nullptr};
  if (Error E = ReplayPlan::create(Written->File, std::move(Options),
                                   Farm->plans().front()->sources())
                    .moveInto(L.Plan))
    return std::move(E);
  VerificationPower Noticed;
  Expected<std::unique_ptr<ReplayPlan>> Prepared =
      prepareIsolated(*L.Plan, Device, Noticed);
  if (!Prepared)
    return Fail(Prepared.takeError());
  L.Plan = std::move(*Prepared);
  Expected<ReplayResult> R = runIsolatedReplay(*L.Plan);
  if (!R)
    return Fail(R.takeError());
  if (!R->verified())
    return Fail(createStringError("the recorded code does not verify with "
                                  "other inputs of launch " +
                                  L.Plan->instance().DynamicHash + ": " +
                                  R->Error));
  // Threads that write to the same element are no test of a version.
  if (!P.OnlyOrder && Device == "host") {
    HostSchedule Some[] = {{HostSchedule::Random, *O.Seed + 1},
                           {HostSchedule::Random, *O.Seed + 2},
                           {HostSchedule::Random, *O.Seed + 3}};
    Expected<ReplayResult> Raced = replayScheduled(*L.Plan, Some, {});
    if (!Raced)
      return Fail(Raced.takeError());
    if (!Raced->verified())
      return Fail(createStringError("the recorded code's results depend on the "
                                    "order of threads with other inputs of "
                                    "launch " +
                                    L.Plan->instance().DynamicHash));
  }
  return std::make_unique<DrawnLaunch>(std::move(L));
}

Error Judge::perturb() {
  if (Error E = PrivateFolder::createTemporary().moveInto(Inputs))
    return E;
  std::string Device = getFirstDevice(*Farm);
  for (unsigned N = 0; N != O.Perturbed; ++N) {
    Expected<std::unique_ptr<DrawnLaunch>> L = draw(N, Device, !O.FixedScalars);
    if (!L)
      return L.takeError();
    if (*L)
      Perturbed.push_back(std::move(*L));
  }
  // Those that no launch changes are of interest.
  erase_if(Unperturbed, [&](StringRef Why) {
    return any_of(Perturbed, [&](const std::unique_ptr<DrawnLaunch> &L) {
      StringRef Input = Why.split(": ").first;
      return is_contained(L->Changed, Input) ||
             is_contained(L->Partly, Input) || is_contained(L->Unread, Input);
    });
  });
  if (!O.Schedules || !O.Perturbed)
    return Error::success();
  std::vector<const DrawnLaunch *> Launches;
  if (Error E = chooseScheduled(Device).moveInto(Launches))
    return E;
  return chooseSchedules(Launches);
}

/// Returns a recorded launch.
Expected<std::unique_ptr<Judge::DrawnLaunch>>
Judge::makeRecorded(unsigned I, StringRef Device) {
  auto L = std::make_unique<DrawnLaunch>();
  L->Instance = I;
  if (Error E =
          Farm->plans()[I]->vary(makeTestOptions(Device)).moveInto(L->Plan))
    return std::move(E);
  return std::move(L);
}

/// Races show on the host device, also those of a GPU's kernel. They may show
/// in one launch only: each instance has one with the recorded scalars.
Expected<std::vector<const Judge::DrawnLaunch *>>
Judge::chooseScheduled(StringRef Device) {
  // A GPU's results are not those of the host device.
  constexpr unsigned MostOfGPU = 4;
  bool IsHost = Device == "host";
  for (unsigned N = 1; !IsHost && N <= std::min(O.Perturbed, MostOfGPU); ++N) {
    Expected<std::unique_ptr<DrawnLaunch>> L = draw(N, "host", !O.FixedScalars);
    if (!L)
      return L.takeError();
    if (*L)
      OnHost.push_back(std::move(*L));
  }
  std::vector<const DrawnLaunch *> Launches;
  std::set<unsigned> WithRecordedScalars;
  for (const std::unique_ptr<DrawnLaunch> &L : IsHost ? Perturbed : OnHost) {
    if (L->OnlyOrder)
      continue;
    Launches.push_back(L.get());
    if (L->Number < DrawnLaunch::FirstScalars || O.FixedScalars)
      WithRecordedScalars.insert(L->Instance);
  }
  for (unsigned I = 0; IsHost && I != Farm->plans().size(); ++I)
    if (!WithRecordedScalars.count(I)) {
      Expected<std::unique_ptr<DrawnLaunch>> L = makeRecorded(I, "host");
      if (!L)
        return L.takeError();
      OnHost.push_back(std::move(*L));
      Launches.insert(Launches.begin(), OnHost.back().get());
    }
  return std::move(Launches);
}

/// Chooses the schedules under which the recorded code verifies, of as many
/// launches as there are schedules.
Error Judge::chooseSchedules(ArrayRef<const DrawnLaunch *> Launches) {
  if (Launches.empty())
    Unscheduled.push_back(
        "no launch with drawn inputs runs on the host device");
  Launches = Launches.take_front(O.Schedules);
  uint64_t Seed = *O.Seed;
  for (const DrawnLaunch *L : Launches) {
    uint64_t Threads = L->Plan->grid().count() * L->Plan->block().count();
    uint64_t Count = std::min<uint64_t>(
        O.Schedules,
        std::max<uint64_t>(MinSchedules, ScheduledThreads / Threads));
    for (auto Order : {HostSchedule::Random, HostSchedule::Shuffled}) {
      bool IsRandom = Order == HostSchedule::Random;
      // The order of blocks is random, too, under random schedules.
      if (!IsRandom && L != Launches.back())
        continue;
      ScheduledLaunch S = {L, {}, {}};
      for (uint64_t N = IsRandom ? divideCeil(Count, Launches.size())
                                 : divideCeil(Count, 4u);
           N; --N)
        S.Schedules.push_back({Order, ++Seed});
      Expected<bool> Passes = findChecks(S);
      if (!Passes)
        return Passes.takeError();
      if (*Passes)
        Scheduled.push_back(std::move(S));
    }
  }
  return Error::success();
}

/// Sets the checks that the recorded code stands.
/// \returns false if it does not verify.
Expected<bool> Judge::findChecks(ScheduledLaunch &S) {
  static constexpr ScheduleChecks Levels[] = {
      {true, true, true},   {true, true, false},  {true, false, true},
      {true, false, false}, {false, false, true}, {false, false, false}};
  bool IsRandom = S.Schedules.front().Order == HostSchedule::Random;
  std::string Why;
  for (ScheduleChecks C : ArrayRef(Levels).drop_front(IsRandom ? 0 : 5)) {
    S.Checks = C;
    Expected<ReplayResult> R = replayScheduled(*S.Launch->Plan, S.Schedules, C);
    if (R && R->verified())
      return true;
    Why = R ? R->Error : toString(R.takeError());
  }
  if (!is_contained(Unscheduled, Why))
    Unscheduled.push_back(Why);
  return false;
}

TestSetting Judge::makeSetting(unsigned Rounds, double MinEffect) {
  size_t Count = Training.size();
  return {*Farm,
          std::vector<double>(Count, 1.0 / Count),
          /*AppCode=*/false,
          Rounds,
          MinEffect,
          std::vector<double>(Count),
          NextId,
          O.Stop};
}

TestCase Judge::makeCase(const CandidateConfig &C) const {
  TestCase T;
  for (unsigned I : Training)
    T.Configs.push_back(C.of(I));
  return T;
}

json::Object Judge::describe(bool IsOver) const {
  auto Ids = [&](ArrayRef<unsigned> Some) {
    json::Array A;
    for (unsigned I : Some)
      A.push_back(Farm->plans()[I]->instance().DynamicHash);
    return A;
  };
  json::Array Drawn, Orders;
  for (const std::unique_ptr<DrawnLaunch> &L : Perturbed) {
    json::Array Changed(L->Changed);
    append_range(Changed, L->Partly);
    Drawn.push_back(json::Object{
        {"launch", Farm->plans()[L->Instance]->instance().DynamicHash},
        {"changed", std::move(Changed)}});
  }
  for (const ScheduledLaunch &L : Scheduled)
    for (const HostSchedule &S : L.Schedules)
      if (IsOver)
        Orders.push_back(S.toString());
  return json::Object{
      {"training", Ids(Training)},
      {"held_out", Ids(HeldOut)},
      {"perturbed", std::move(Drawn)},
      {"unperturbed", json::Array(Unperturbed)},
      {"fixed_scalars", O.FixedScalars},
      {"seed", IsOver ? json::Value(*O.Seed) : json::Value(nullptr)},
      {"schedules", std::move(Orders)},
      {"unscheduled", json::Array(Unscheduled)},
      {"power", O.Untrusted ? toJSON(Power) : json::Value(nullptr)}};
}

/// Returns the range of an integer argument that the values in launches, the
/// recorded one first, stand for. A range of few values may be an enumeration:
/// each of them must have been tested.
static std::pair<int64_t, int64_t> findTestedRange(ArrayRef<int64_t> Values) {
  std::set<int64_t> Tested(Values.begin(), Values.end());
  int64_t Low = *Tested.begin(), High = *Tested.rbegin();
  if (uint64_t(High) - uint64_t(Low) >= MaxEnumerators)
    return {Low, High};
  Low = High = Values.front();
  while (Tested.count(Low - 1))
    --Low;
  while (Tested.count(High + 1))
    ++High;
  return {Low, High};
}

Expected<json::Array> Judge::describeTested(const CandidateConfig &Config) {
  json::Array All;
  for (unsigned I : Training) {
    const ReplayPlan &Own = *Farm->plans()[I];
    std::vector<const RecordedState *> States = {&Own.state()};
    std::vector<const DrawnLaunch *> Launches;
    std::set<StringRef> Changed;
    std::map<StringRef, StringRef> Unchanged;
    for (const std::unique_ptr<DrawnLaunch> &Any : Perturbed) {
      if (Any->Instance != I)
        continue;
      Expected<const DrawnLaunch *> L = chooseDrawn(*Any, Config);
      if (!L)
        return L.takeError();
      if (!*L)
        continue;
      States.push_back(&(*L)->Plan->state());
      Launches.push_back(*L);
      Changed.insert((*L)->Changed.begin(), (*L)->Changed.end());
      Changed.insert((*L)->Unread.begin(), (*L)->Unread.end());
      for (StringRef Why : (*L)->Unchanged) {
        auto [Input, Reason] = Why.split(": ");
        Unchanged.insert_or_assign(Input, Reason);
      }
      for (StringRef Input : (*L)->Partly)
        Unchanged.insert({Input, "only its order changed"});
    }
    if (States.size() == 1)
      continue;
    json::Array Unvaried;
    for (auto [Input, Why] : Unchanged)
      if (!Changed.count(Input))
        Unvaried.push_back(json::Object{{"input", json::fixUTF8(Input)},
                                        {"reason", json::fixUTF8(Why)}});
    json::Array Arguments;
    SmallVector<unsigned> Indices;
    for (auto [N, A] : enumerate(Own.kernel().Args)) {
      if (A.Kind == MNEME_ARG_POINTER || A.Size > 8 ||
          !StringRef(A.Type).starts_with("i"))
        continue;
      std::vector<int64_t> Values;
      for (const RecordedState *S : States) {
        uint64_t Bits = 0;
        llvm::copy(S->args()[N], reinterpret_cast<char *>(&Bits));
        Values.push_back(SignExtend64(Bits, 8 * A.Size));
      }
      auto [Low, High] = findTestedRange(Values);
      if (Low == High)
        continue;
      Indices.push_back(N);
      Arguments.push_back(json::Object{
          {"index", N}, {"signed", true}, {"low", Low}, {"high", High}});
    }
    std::optional<RatioEstimate> Slowest;
    if (Launches.size() >= MinRangeLaunches)
      if (Error E = timeEnds(Launches, Indices, Config).moveInto(Slowest))
        return std::move(E);
    All.push_back(json::Object{{"record_id", Own.instance().DynamicHash},
                               {"launches", States.size() - 1},
                               {"speedup", toArray(Slowest)},
                               {"arguments", std::move(Arguments)},
                               {"unvaried", std::move(Unvaried)}});
  }
  return All;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

EvaluationRequest Judge::makeRequest(const json::Object &Config,
                                     unsigned Instance, bool Measure) {
  EvaluationRequest R;
  R.Id = NextId++;
  R.Config = Config;
  R.Instance = Instance;
  R.Measure = Measure;
  return R;
}

Expected<std::vector<Evaluation>>
Judge::evaluate(std::vector<EvaluationRequest> Requests) {
  std::map<uint64_t, size_t> Places;
  for (auto [I, R] : enumerate(Requests))
    Places[R.Id] = I;
  std::vector<Evaluation> All(Requests.size());
  for (EvaluationRequest &R : Requests)
    if (Error E = Farm->submit(std::move(R)))
      return std::move(E);
  for (size_t Missing = All.size(); Missing;) {
    Expected<std::vector<Evaluation>> Some = Farm->wait(1);
    if (!Some)
      return Some.takeError();
    for (Evaluation &E : *Some)
      if (auto It = Places.find(E.Id); It != Places.end()) {
        All[It->second] = std::move(E);
        --Missing;
      }
  }
  return All;
}

/// Takes the result of a stage.
void Judge::note(Judgement &J, JudgeStage Stage, const Evaluation &E) const {
  J.Seconds[static_cast<size_t>(JudgeStage::Compile)] += E.CompileSeconds;
  J.Seconds[static_cast<size_t>(Stage)] += E.RunSeconds;
  for (auto [To, From] : {std::pair(&J.IRHash, &E.IRHash),
                          std::pair(&J.AssemblyHash, &E.AssemblyHash),
                          std::pair(&J.CodeHash, &E.CodeHash)})
    if (To->empty())
      *To = *From;
  if (J.Suspicions.empty())
    copy_if(E.Suspicions, std::back_inserter(J.Suspicions), [&](StringRef S) {
      return S != ActiveMaskSuspicion || !splitsWarps();
    });
  if (E.Failure.empty() || !J.Failure.empty())
    return;
  bool IsCode = E.Failure == FailureKind::CompileError ||
                E.Failure == FailureKind::Invalid;
  J.Reached = IsCode ? JudgeStage::Compile : Stage;
  J.Failure = E.Failure;
  J.Error = E.Error;
  J.Diagnostics = E.Diagnostics;
}

/// Returns true if schedules test which threads of a warp run together.
bool Judge::splitsWarps() const {
  return any_of(Scheduled,
                [](const ScheduledLaunch &L) { return L.Checks.Splits; });
}

/// Refuses code that the GPU could not launch; the host device can.
void Judge::checkLaunch(Judgement &J) const {
  auto Occupancy = J.Metrics.find("occupancy");
  if (!J.Failure.empty() || Occupancy == J.Metrics.end() ||
      Occupancy->second > 0)
    return;
  J.Reached = JudgeStage::Compile;
  J.Failure = FailureKind(Verdict::Unsupported);
  J.Error = ("a block needs more registers, shared memory or barriers than a "
             "multiprocessor of " +
             Farm->plans().front()->compiler().arch() + " has")
                .str();
}

/// Bars a candidate with suspicions.
Error Judge::distrust(const CandidateConfig &Config, Judgement &J) {
  auto IsIncredible = [&] {
    return J.Failure.empty() &&
           (J.Speedup ? J.Speedup->Value : J.Estimate.value_or(1)) >
               IncredibleSpeedup;
  };
  // A time that other work on the machine made long can be all there is to it.
  if (IsIncredible())
    if (Error E = compare(Config, J))
      return E;
  if (IsIncredible())
    J.Suspicions.push_back(
        formatv("it is {0:f1} times as fast as the recorded code",
                J.Speedup->Value)
            .str());
  if (J.Suspicions.empty() || O.AcceptSuspect || !O.Untrusted ||
      !J.Failure.empty())
    return Error::success();
  J.Failure = FailureKind::Distrusted;
  J.Error = join(J.Suspicions, ", ");
  return Error::success();
}

Expected<std::vector<Judgement>> Judge::judge(ArrayRef<CandidateConfig> Configs,
                                              JudgeStage Last) {
  std::vector<Judgement> All(Configs.size());
  // All candidates of a stage are in the farm at the same time.
  auto Run = [&](JudgeStage Stage, ArrayRef<unsigned> Instances) -> Error {
    std::vector<EvaluationRequest> Requests;
    std::vector<std::pair<size_t, unsigned>> Owners;
    for (auto [I, J] : enumerate(All)) {
      if (!J.Failure.empty())
        continue;
      for (unsigned Instance : Instances) {
        Requests.push_back(makeRequest(Configs[I].of(Instance), Instance,
                                       Stage == JudgeStage::Measure));
        Owners.push_back({I, Instance});
      }
    }
    Expected<std::vector<Evaluation>> Results = evaluate(std::move(Requests));
    if (!Results)
      return Results.takeError();
    std::vector<double> Logs(All.size());
    for (auto [Owner, E] : zip_equal(Owners, *Results)) {
      Judgement &J = All[Owner.first];
      note(J, Stage, E);
      if (Owner.second == Training.front())
        J.Metrics = E.Metrics;
      if (Stage == JudgeStage::Verify)
        checkLaunch(J);
      if (Stage != JudgeStage::Measure || E.Samples.empty())
        continue;
      Logs[Owner.first] +=
          estimate(E, find(Training, Owner.second) - Training.begin());
    }
    for (auto [I, J] : enumerate(All))
      if (J.Failure.empty()) {
        if (Stage == JudgeStage::Measure)
          J.Estimate = std::exp(Logs[I] / Training.size());
        J.Reached = JudgeStage(static_cast<int>(Stage) + 1);
      }
    return Error::success();
  };
  if (Error E = Run(JudgeStage::Verify, Training.front()))
    return std::move(E);
  if (Last >= JudgeStage::Measure) {
    if (Error E = refreshBaselines())
      return std::move(E);
    if (Error E = Run(JudgeStage::Measure, Training))
      return std::move(E);
  }
  for (auto [I, J] : enumerate(All)) {
    if (Last >= JudgeStage::Compare && J.Failure.empty())
      if (Error E = compare(Configs[I], J))
        return std::move(E);
    if (Error E = distrust(Configs[I], J))
      return std::move(E);
    if (Last >= JudgeStage::HeldOut && J.Failure.empty())
      if (Error E = testHeldOut(Configs[I], J))
        return std::move(E);
  }
  return All;
}

/// Measures pairs with the recorded code on the training instances.
Error Judge::compare(const CandidateConfig &Config, Judgement &J) {
  auto Begin = std::chrono::steady_clock::now();
  std::vector<RatioEstimate> Ratios;
  for (unsigned I : Training) {
    EvaluationRequest Pair[] = {makeRequest({}, I, true),
                                makeRequest(Config.of(I), I, true)};
    Expected<PairedEvaluation> P = Farm->comparePaired(Pair, O.Rounds);
    if (!P)
      return P.takeError();
    J.Failure = P->Failure;
    J.Error = P->Error;
    if (!P->Failure.empty())
      return Error::success();
    Ratios.push_back(estimatePairedRatio(P->Samples[0], P->Samples[1]));
  }
  J.TrainingSpeedups = Ratios;
  J.Speedup = combineRatios(
      Ratios, std::vector<double>(Ratios.size(), 1.0 / Ratios.size()));
  J.Seconds[static_cast<size_t>(JudgeStage::Compare)] += secondsSince(Begin);
  J.Reached = JudgeStage::HeldOut;
  return Error::success();
}
