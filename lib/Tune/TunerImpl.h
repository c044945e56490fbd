//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A running study. Tuner.cpp begins and ends it, Search.cpp searches,
/// Finish.cpp re-tests, ExplainWinner.cpp explains. Its parts have their own
/// state: requests (Requests.h), trials and their log (TrialStore.h), baselines
/// (BaselineKeeper.h). Everything runs in one thread.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TUNE_TUNERIMPL_H
#define LLVM_MNEME_LIB_TUNE_TUNERIMPL_H

#include "BaselineKeeper.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Tune/Explain.h"
#include "llvm/Mneme/Tune/FinalTest.h"
#include "llvm/Mneme/Tune/Tuner.h"
#include <deque>

namespace llvm {
namespace mneme {

/// Seconds to wait for results before checking the clock and interrupts.
inline constexpr double WaitSeconds = 0.2;

/// A running trial, which evaluates one instance after the other.
struct RunningTrial {
  InstanceConfigs Configs;
  std::vector<Evaluation> Done;
  unsigned Losses = 0; ///< Measurements without a baseline.
  bool Fresh = false;  ///< Do not reuse the result of equal code.
};

class Tuner::Impl {
public:
  Impl(ArrayRef<StudyInstance> Instances, Evaluator &E, StudyLog *Log,
       StudyObserver *Observer, TunerOptions Options);

  Expected<StudyOutcome> run();
  ArrayRef<Trial> trials() const { return Store.Trials; }

private:
  const std::vector<StudyInstance> Instances;
  Evaluator &E;
  StudyObserver *Observer;
  const TunerOptions O;

  const SearchSpace &Space;
  ArrayRef<Objective> Objectives;
  /// Index of the objective "time"; unset if there is none.
  std::optional<unsigned> TimeObjective;
  const std::vector<double> Weights; ///< Add up to 1.
  StudyOutcome Outcome;

  TrialStore Store;
  Requests Asked;
  BaselineKeeper Keeper;

  SamplerContext Context;
  std::unique_ptr<Sampler> TheSampler;
  std::deque<std::pair<Point, TrialKind>> Queue; ///< Points to try before the
                                                 ///< sampler's.
  /// Numbers of trials that are stored and logged as running, but wait until
  /// the evaluator has capacity.
  std::deque<uint64_t> Ahead;
  std::map<uint64_t, RunningTrial> Running;
  std::vector<Evaluation> Baselines; ///< First measurement of each instance.
  uint64_t TrialsSinceCanary = 0;

  /// Upper bounds of the best times of different code, scaled to the beginning
  /// of the study and sorted; as many as the final test takes.
  std::vector<double> RaceLimits;

  StudyProgress Progress;
  double SearchBegan = 0;
  double SearchEnds = 0;     ///< steadySeconds(); 0: no limit.
  double ExplainSeconds = 0; ///< That the re-test leaves.

  Error pump(double Seconds);
  StringMap<double> getStopAbove() const;

  // The beginning.
  void loadLog();
  void rememberTrials();
  void markSuspects(const Trial &Canary);
  Error measureFirstBaselines();
  Error checkFirstBaseline(unsigned Instance, const Evaluation &V) const;
  void fillQueue();

  // The search.
  Error search();
  std::optional<StudyEnd> getReasonToStop() const;
  std::optional<double> findSol() const;
  Expected<bool> startMore();
  Error askMore(unsigned Wanted);
  Error startTrial(const Trial &T);
  Error startCanary();
  Expected<InstanceConfigs> configure(const Point &P) const;
  Error submitNextInstance(uint64_t Number);
  Error takeEvaluation(uint64_t Number, Evaluation V);
  Error submitAgain(uint64_t Number, Evaluation V);
  bool isSuspect(const Evaluation &V);
  void setMetrics(Trial &T, ArrayRef<Evaluation> Done);
  void setDuplicate(Trial &T, const Evaluation &V);
  void setValues(Trial &T);
  Error endTrial(Trial &T);
  void judgeCanary(Trial &T);
  void noteNoise();
  void countTrial(const Trial &T);
  bool updateBest(const Trial &T);
  void estimateBest();
  void updateRace(const Trial &T);
  void findBestAnew();
  Error drain();
  void forgetUnderWay();
  bool isInterrupted(int Times = 1) const {
    return O.Interrupts && *O.Interrupts >= Times;
  }
  double secondsLeft() const {
    return O.Deadline ? O.Deadline - steadySeconds()
                      : std::numeric_limits<double>::infinity();
  }
  /// Returns true if the search ended before its running trials.
  bool isCutShort() const {
    return Outcome.End == StudyEnd::Interrupted ||
           Outcome.End == StudyEnd::Budget ||
           Outcome.End == StudyEnd::SpeedOfLight;
  }

  // The end.
  Error finish();
  double getCorrectedTime(const Trial &T) const;
  bool isBaselineCode(const Trial &T) const;
  std::vector<const Trial *> rank() const;
  std::vector<const Trial *> getBestOfInstances() const;
  std::vector<TestCase> chooseCandidates() const;
  void chooseBest();
  bool isBetterThanBaseline(const Trial &T) const;
  TestSetting makeSetting();
  double getLaunchSeconds() const;
  unsigned fitRounds(unsigned Most, unsigned Launches, double Seconds) const;
  double getRetestSeconds(unsigned Cases, unsigned Rounds);
  void leaveTime();
  class Explainer;
  double getExplanationSeconds() const;
  Error explain();

  void note(std::string Text);
  void enter(StudyProgress::PhaseTy Phase);
  void report();
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TUNE_TUNERIMPL_H
