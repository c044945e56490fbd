//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of versions on what they have not seen: drawn launches, random
// schedules, launches that were held out.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Evolve/Judge.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Perturb.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// A smaller speed-up than this is not tested on other inputs.
static constexpr double RelevantSpeedup = 1.05;
/// The share of the logarithmic speed-up that other inputs have to keep.
static constexpr double UnseenShare = 0.5;

/// The error must not teach the author what was held out.
static void failHeldOut(Judgement &J, FailureKind Kind, const Twine &Where) {
  J.Reached = JudgeStage::HeldOut;
  J.Failure = Kind;
  J.Error = (Kind.name() + " on " + Where).str();
}

/// Returns a plan of \p Launch for a configuration, with the options of \p L.
Expected<std::unique_ptr<ReplayPlan>>
Judge::makePlan(const ReplayPlan &Launch, const DrawnLaunch &L,
                const CandidateConfig &Config, bool WillCompile) const {
  ReplayOptions Options = L.Plan->options();
  if (Error E = applySide(Config.of(L.Instance), Options))
    return std::move(E);
  return Launch.vary(std::move(Options), WillCompile);
}

/// Returns \p L, or if the code would not be that of the recorded launch, one
/// with the recorded scalars: the code may have these as constants. Null if
/// there is none.
Expected<const Judge::DrawnLaunch *>
Judge::chooseDrawn(const DrawnLaunch &L, const CandidateConfig &Config) {
  std::string Keys[2];
  for (auto [Key, Launch] :
       zip_equal(Keys, ArrayRef<const ReplayPlan *>{
                           Farm->plans()[L.Instance].get(), L.Plan.get()})) {
    Expected<std::unique_ptr<ReplayPlan>> Plan =
        makePlan(*Launch, L, Config, /*WillCompile=*/false);
    if (!Plan)
      return Plan.takeError();
    Key = getKey((*Plan)->compiler().options());
  }
  if (Keys[0] == Keys[1])
    return &L;
  auto [It, IsNew] = WithOwnScalars.try_emplace(&L);
  if (IsNew)
    if (Error E = draw(L.Number, L.Plan->options().Device, /*Scalars=*/false)
                      .moveInto(It->second))
      return std::move(E);
  return It->second.get();
}

/// \returns null if there is no such launch.
Expected<std::unique_ptr<ReplayPlan>>
Judge::makeDrawn(const DrawnLaunch &L, const CandidateConfig &Config) {
  Expected<const DrawnLaunch *> Chosen = chooseDrawn(L, Config);
  if (!Chosen)
    return Chosen.takeError();
  if (!*Chosen)
    return nullptr;
  return makePlan(*(*Chosen)->Plan, **Chosen, Config, /*WillCompile=*/true);
}

/// \returns true if the test was interrupted.
bool Judge::isStopped(Judgement &J) const {
  if (!isStopped())
    return false;
  failHeldOut(J, PairedEvaluation::Interrupted, "an unfinished test");
  return true;
}

Error Judge::testDrawn(const CandidateConfig &Config, Judgement &J) {
  for (const std::unique_ptr<DrawnLaunch> &L : Perturbed) {
    if (isStopped(J))
      return Error::success();
    Expected<std::unique_ptr<ReplayPlan>> Plan = makeDrawn(*L, Config);
    if (!Plan)
      return Plan.takeError();
    if (!*Plan)
      continue;
    Expected<ReplayResult> R = runIsolatedReplay(**Plan);
    if (!R)
      return R.takeError();
    if (FailureKind Kind(R->V); !Kind.empty()) {
      failHeldOut(J, Kind,
                  L->OnlyOrder ? "a launch with inputs in another order"
                               : "a launch with other inputs");
      return Error::success();
    }
    ++J.TestedLaunches;
  }
  return Error::success();
}

/// A version may recognize the recorded launches by memory that the recorded
/// code does not read. In each training launch, and in one with other scalars,
/// in which the recorded code reads less.
Error Judge::testUnread(const CandidateConfig &Config, Judgement &J) {
  if (!O.Perturbed)
    return Error::success();
  std::string Device = getFirstDevice(*Farm);
  for (unsigned I : Training) {
    Expected<std::unique_ptr<DrawnLaunch>> Recorded = makeRecorded(I, Device);
    if (!Recorded)
      return Recorded.takeError();
    SmallVector<const DrawnLaunch *, 2> Launches = {Recorded->get()};
    for (const std::unique_ptr<DrawnLaunch> &L : Perturbed)
      if (L->Instance == I && L->Number >= DrawnLaunch::FirstScalars) {
        Launches.push_back(L.get());
        break;
      }
    for (const DrawnLaunch *L : Launches) {
      if (isStopped(J))
        return Error::success();
      Expected<std::unique_ptr<ReplayPlan>> Plan =
          L == Recorded->get()
              ? makePlan(*Farm->plans()[I], *L, Config, /*WillCompile=*/true)
              : makeDrawn(*L, Config);
      if (!Plan)
        return Plan.takeError();
      if (!*Plan)
        continue;
      Expected<ReplayResult> R = replayUnread(**Plan, *O.Seed + I);
      if (!R)
        return R.takeError();
      if (R->V == Verdict::NotVerified)
        noteUnperturbed("memory that the recorded code does not read: " +
                        R->Error);
      else if (FailureKind Kind(R->V); !Kind.empty()) {
        failHeldOut(J, Kind,
                    "a launch with other contents of memory that the recorded "
                    "code does not read");
        return Error::success();
      }
    }
  }
  return Error::success();
}

Error Judge::testSchedules(const CandidateConfig &Config, Judgement &J) {
  for (const ScheduledLaunch &S : Scheduled) {
    if (isStopped(J))
      return Error::success();
    Expected<std::unique_ptr<ReplayPlan>> Plan = makeDrawn(*S.Launch, Config);
    if (Plan && !*Plan)
      Plan = makePlan(*Farm->plans()[S.Launch->Instance], *S.Launch, Config,
                      /*WillCompile=*/true);
    if (!Plan)
      return Plan.takeError();
    Expected<ReplayResult> R = replayScheduled(**Plan, S.Schedules, S.Checks);
    if (!R)
      return R.takeError();
    if (FailureKind Kind(R->V); !Kind.empty()) {
      failHeldOut(J, Kind,
                  "a launch whose blocks and threads run in another order");
      return Error::success();
    }
    J.TestedLaunches += S.Schedules.size();
  }
  return Error::success();
}

/// A version that remembers the recorded results is fast only where they are
/// right. Empty: nothing was found, or the version failed on a launch.
Expected<std::string> Judge::findTimeDoubt(const CandidateConfig &Config,
                                           Judgement &J) {
  if (!J.Speedup || J.Speedup->Low <= RelevantSpeedup)
    return "";
  for (unsigned I : HeldOut) {
    EvaluationRequest Pair[] = {makeRequest({}, I, true),
                                makeRequest(Config.of(I), I, true)};
    Expected<PairedEvaluation> P =
        Farm->comparePaired(Pair, O.Rounds, [&] { return isStopped(); });
    if (!P)
      return P.takeError();
    if (!P->Failure.empty()) {
      failHeldOut(J, P->Failure, "a launch that was held out");
      return "";
    }
    if (estimatePairedRatio(P->Samples[0], P->Samples[1]).High < 1)
      return "it is slower than the recorded code on a launch that was held "
             "out";
  }
  // The mean of several launches hides one whose results are remembered.
  if (Training.size() > 1 && J.TrainingSpeedups.empty())
    if (Error E = compare(Config, J); E || !J.Failure.empty())
      return std::move(E);
  J.UnseenSpeedup.reset();
  J.Untimed = O.Perturbed ? "" : "--perturb=0";
  if (!O.Perturbed)
    return "";
  for (auto [Place, I] : enumerate(Training)) {
    bool IsTimed = false;
    for (bool OnlyOrder : {true, false}) {
      if (isStopped(J))
        return "";
      Expected<const DrawnLaunch *> L = findTimed(I, OnlyOrder);
      if (!L)
        return L.takeError();
      std::optional<RatioEstimate> Ratio;
      if (*L)
        if (Error E = timeDrawn(**L, Config, J).moveInto(Ratio))
          return std::move(E);
      if (!J.Failure.empty())
        return "";
      if (!Ratio)
        continue;
      const RatioEstimate &Seen =
          J.TrainingSpeedups.empty() ? *J.Speedup : J.TrainingSpeedups[Place];
      // Other values can be other work.
      bool IsSlower =
          OnlyOrder || !IsTimed
              ? std::log(Ratio->High) < UnseenShare * std::log(Seen.Low)
              : Ratio->High < 1;
      IsTimed = true;
      if (!J.UnseenSpeedup || Ratio->Value < J.UnseenSpeedup->Value)
        J.UnseenSpeedup = *Ratio;
      if (IsSlower)
        return formatv("it is {0:f2} times as fast as the recorded code on the "
                       "recorded inputs, but {1:f2} times on {2}",
                       Seen.Value, Ratio->Value,
                       OnlyOrder ? "the same inputs in another order"
                                 : "inputs of other values")
            .str();
    }
    if (!IsTimed && J.Untimed.empty())
      J.Untimed = Unperturbed.empty() ? "no other inputs can be drawn"
                                      : join(Unperturbed, "; ");
  }
  return "";
}

/// Returns a launch of a training instance that does similar work as the
/// recorded one; null if none can be drawn.
Expected<const Judge::DrawnLaunch *> Judge::findTimed(unsigned Instance,
                                                      bool OnlyOrder) {
  for (const std::unique_ptr<DrawnLaunch> &L : Perturbed)
    if (L->Instance == Instance && L->OnlyOrder == OnlyOrder &&
        L->Number < DrawnLaunch::FirstScalars)
      return L.get();
  unsigned Number = DrawnLaunch::FirstTimed + 2 * Instance + !OnlyOrder;
  auto [It, IsNew] = Timed.try_emplace(Number);
  if (IsNew)
    if (Error E = draw(Number, getFirstDevice(*Farm), /*Scalars=*/false)
                      .moveInto(It->second))
      return std::move(E);
  return It->second.get();
}

/// Returns the speed-up on a drawn launch; unset if it was not measured.
Expected<std::optional<RatioEstimate>>
Judge::timeDrawn(const DrawnLaunch &L, const CandidateConfig &Config,
                 Judgement &J) {
  Expected<std::unique_ptr<ReplayPlan>> Plan = makeDrawn(L, Config);
  if (!Plan)
    return Plan.takeError();
  if (!*Plan)
    return std::nullopt;
  ReplayOptions Options = (*Plan)->options();
  Options.Compared = Baseline::Recompiled;
  Options.Iterations = O.Rounds;
  Options.Warmup = 1;
  if (Error E = (*Plan)->vary(std::move(Options)).moveInto(*Plan))
    return std::move(E);
  Expected<ReplayResult> R = runIsolatedReplay(**Plan);
  if (!R)
    return R.takeError();
  if (FailureKind Kind(R->V); !Kind.empty())
    failHeldOut(J, Kind,
                L.OnlyOrder ? "a launch with inputs in another order"
                            : "a launch with other inputs");
  return R->Compared ? R->Compared->Speedup : std::nullopt;
}

/// Returns the lowest speed-up at the ends of the ranges of scalars that a
/// package would serve; unset if there are none. Of round numbers, the lowest
/// one is an end, too: many versions are fast for these.
Expected<std::optional<RatioEstimate>>
Judge::timeEnds(ArrayRef<const DrawnLaunch *> Launches,
                ArrayRef<unsigned> Arguments, const CandidateConfig &Config) {
  auto Get = [](const DrawnLaunch *L, unsigned Argument) {
    StringRef Bytes = L->Plan->state().args()[Argument];
    uint64_t Bits = 0;
    llvm::copy(Bytes, reinterpret_cast<char *>(&Bits));
    return SignExtend64(Bits, 8 * Bytes.size());
  };
  std::set<const DrawnLaunch *> Ends;
  for (bool IsRound : {true, false}) {
    SmallVector<const DrawnLaunch *> Some;
    copy_if(Launches, std::back_inserter(Some), [&](const DrawnLaunch *L) {
      return L->Number >= DrawnLaunch::FirstScalars &&
             isRound(L->Number) == IsRound;
    });
    if (Some.empty())
      continue;
    for (unsigned Argument : Arguments) {
      auto [Low, High] = std::minmax_element(
          Some.begin(), Some.end(), [&](const auto *A, const auto *B) {
            return Get(A, Argument) < Get(B, Argument);
          });
      Ends.insert(*Low);
      if (!IsRound)
        Ends.insert(*High);
    }
  }
  std::optional<RatioEstimate> Worst;
  for (const DrawnLaunch *L : Ends) {
    Judgement Unused; // It verified.
    Expected<std::optional<RatioEstimate>> Ratio =
        timeDrawn(*L, Config, Unused);
    if (!Ratio)
      return Ratio.takeError();
    if (*Ratio && (!Worst || (*Ratio)->Value < Worst->Value))
      Worst = **Ratio;
  }
  return Worst;
}

/// What else the machine does can make a time look wrong: a version is refused
/// for its times when they were measured twice.
Error Judge::timeUnseen(const CandidateConfig &Config, Judgement &J) {
  std::string Doubt;
  for (bool IsAgain : {false, true}) {
    if (IsAgain)
      if (Error E = compare(Config, J); E || !J.Failure.empty())
        return E;
    if (Error E = findTimeDoubt(Config, J).moveInto(Doubt))
      return E;
    if (Doubt.empty())
      return Error::success();
  }
  J.Reached = JudgeStage::HeldOut;
  J.Failure = FailureKind::Distrusted;
  J.Suspicions.push_back(Doubt);
  J.Error = std::move(Doubt);
  return Error::success();
}

Error Judge::testHeldOut(const CandidateConfig &Config, Judgement &J) {
  if (!O.Untrusted) {
    J.Reached = JudgeStage::Done;
    return Error::success();
  }
  auto Begin = std::chrono::steady_clock::now();
  J.TestedLaunches = 0;
  std::vector<EvaluationRequest> Requests;
  for (unsigned I : HeldOut)
    Requests.push_back(makeRequest(Config.of(I), I, /*Measure=*/false));
  Expected<std::vector<Evaluation>> Results = evaluate(std::move(Requests));
  if (!Results)
    return Results.takeError();
  for (const Evaluation &E : *Results)
    if (!E.Failure.empty() && J.Failure.empty())
      failHeldOut(J, E.Failure, "a launch that was held out");
    else
      ++J.TestedLaunches;
  for (auto Test : {&Judge::testDrawn, &Judge::testUnread,
                    &Judge::testSchedules, &Judge::timeUnseen})
    if (J.Failure.empty())
      if (Error E = (this->*Test)(Config, J))
        return E;
  J.Seconds[static_cast<size_t>(JudgeStage::HeldOut)] += secondsSince(Begin);
  if (J.Failure.empty())
    J.Reached = JudgeStage::Done;
  return Error::success();
}

Error Judge::testFinalist(const CandidateConfig &Config, Judgement &J) {
  J.Reached = JudgeStage::HeldOut;
  if (Error E = distrust(Config, J))
    return E;
  return J.Failure.empty() ? testHeldOut(Config, J) : Error::success();
}
