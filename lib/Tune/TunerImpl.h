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
/// Finish.cpp tests and explains.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TUNE_TUNERIMPL_H
#define LLVM_MNEME_LIB_TUNE_TUNERIMPL_H

#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Tune/Baseline.h"
#include "llvm/Mneme/Tune/Explain.h"
#include "llvm/Mneme/Tune/FinalTest.h"
#include "llvm/Mneme/Tune/Tuner.h"
#include <deque>

namespace llvm {
namespace mneme {

/// How long to wait for results before looking at clock and interrupts again.
inline constexpr double WaitSeconds = 0.2;

/// A trial that is under way: one instance after the other.
struct RunningTrial {
  InstanceConfigs Configs;
  std::vector<Evaluation> Done;
  unsigned Losses = 0; ///< Measurements that nothing can be compared with.
  bool Fresh = false;  ///< What is known of equal code is no good.
};

/// A device that results come from.
struct Place {
  std::vector<bool> Known; ///< Is the baseline, by instance, in this run?
  double LastBaseline = 0, BaselineTakes = 0;
  uint64_t TrialsSinceBaseline = 0, TrialsSinceCanary = 0;
  unsigned BaselinesUnderWay = 0;
  /// What waits for the baseline of an instance.
  std::multimap<unsigned, std::function<Error()>> Waiting;
  bool Gone = false; ///< As far as anybody knows.
  bool BaselineFails = false; ///< It did, when it was measured last.
};

/// Equal code, launched equally, is known by the first trial that had it.
struct KnownResult {
  std::optional<uint64_t> Trial;
  double BaselineNanoseconds = 0; ///< When it was measured.
};

class Tuner::Impl {
public:
  Impl(ArrayRef<StudyInstance> Instances, Evaluator &E, StudyLog *Log,
       StudyObserver *Observer, TunerOptions Options);

  Expected<StudyOutcome> run();
  ArrayRef<Trial> trials() const { return History; }

private:
  const std::vector<StudyInstance> Instances;
  Evaluator &E;
  StudyLog *Log;
  StudyObserver *Observer;
  const TunerOptions O;

  const SearchSpace &Space;
  ArrayRef<Objective> Objectives;
  /// The objective that is the time; unset: none.
  std::optional<unsigned> TimeObjective;
  std::vector<double> Weights;

  /// By number.
  std::vector<Trial> History;
  uint64_t NumTrials = 0; ///< Of the history, canaries not counted.
  DenseSet<uint64_t> Proposed;
  SamplerContext Context;
  std::unique_ptr<Sampler> TheSampler;
  std::deque<std::pair<Point, TrialKind>> Queue; ///< Before the sampler's.
  /// Numbers of trials that are in history and log as running ones, and wait
  /// until the evaluator has room for them.
  std::deque<uint64_t> Ahead;

  BaselineTracks Tracks;
  std::map<std::string, Place> Places; ///< By Evaluation::Device.
  std::vector<Evaluation> Baselines; ///< The first of each instance.
  bool AppCode = false;
  uint64_t TrialsSinceCanary = 0;
  unsigned BaselinesUnderWay = 0;

  /// What is to be done with a result, by request.
  using Handler = std::function<Error(Evaluation)>;
  std::map<uint64_t, Handler> UnderWay;
  uint64_t NextId = 1;
  std::map<uint64_t, KnownResult> Known;
  std::map<uint64_t, RunningTrial> Running;

  /// Ended, but not in the log yet.
  std::deque<uint64_t> Unlogged;
  bool LogFailed = false;

  /// What the best measurements, of different code, come to at most, in time
  /// of the study's beginning; as many as the final test takes, in order.
  std::vector<double> RaceLimits;

  StudyOutcome Outcome;
  StudyProgress Progress;
  double SearchBegan = 0;

  // Trials.
  Trial *findTrial(uint64_t Number);
  uint64_t getFreeNumber() const;
  Trial &addTrial(Trial T);

  // Talking to the evaluator.
  Error submit(EvaluationRequest R, Handler H);
  Error pump(double Seconds);
  Error submitBaseline(StringRef Device, unsigned Instance, Handler H);
  using BaselineHandler = std::function<Error(Evaluation, BaselineSample)>;
  Error measureBaseline(StringRef Device, unsigned Instance,
                        BaselineHandler Take,
                        std::vector<Evaluation> Before = {});
  Error addBaseline(const BaselineSample &S);
  Place &getPlace(StringRef Device);
  void leave(StringRef Device);
  double getBaselineOf(const Evaluation &V, unsigned Instance);
  Error waitForBaseline(StringRef Device, unsigned Instance,
                        std::function<Error()> Then);
  Error remeasureBaselineOn(StringRef Device, unsigned Instance);
  double weightedReference() const;
  EvaluationRequest makeRequest(unsigned Instance, json::Object Config);
  double getLaunchTimeout(unsigned Instance) const;
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
  Expected<bool> startMore();
  Error askMore(unsigned Wanted);
  Error startTrial(const Trial &T);
  Error startCanary();
  void beginInLog(ArrayRef<Trial> Begun);
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
  void countTrial(const Trial &T);
  bool updateBest(const Trial &T);
  void estimateBest();
  void updateRace(const Trial &T);
  void findBestAnew();
  void writeLog();
  Error remeasureBaseline(bool Now);
  Error drain();
  void forgetUnderWay();
  bool isInterrupted(int Times = 1) const {
    return O.Interrupts && *O.Interrupts >= Times;
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
  Expected<InstanceConfigs> configureChanges(const Point &P) const;
  Error explain();
  Expected<std::vector<std::optional<double>>>
  measureSpeedups(ArrayRef<InstanceConfigs> Configs, const RetestedTrial &Of,
                  unsigned &Measured);
  Expected<size_t> confirmSteps(Explanation &Why,
                                ArrayRef<InstanceConfigs> Steps,
                                const RetestedTrial &Of);
  std::map<std::string, StringMap<double>> ExplainedMetrics;
  /// What came to the winner's code on all instances.
  std::vector<InstanceConfigs> EqualToWinner;
  /// What pairs said of codes with their launches, one an instance: so that
  /// equal code is not believed once and not the next time.
  std::map<std::vector<std::string>, std::optional<double>> ExplainedCode;

  void note(std::string Text);
  void enter(StudyProgress::PhaseTy Phase);
  void report();
};

/// Weights add up to 1.
double weightedMean(ArrayRef<double> Values, ArrayRef<double> Weights,
                    bool Geometric);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TUNE_TUNERIMPL_H
