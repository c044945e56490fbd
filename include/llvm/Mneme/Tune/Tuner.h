//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a study: keeps the evaluator busy with proposals of a sampler, and
/// finally re-tests the best trials.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_TUNER_H
#define LLVM_MNEME_TUNE_TUNER_H

#include "llvm/Mneme/Samplers/Sampler.h"
#include "llvm/Mneme/Study/Evaluator.h"
#include "llvm/Mneme/Study/Outcome.h"
#include "llvm/Mneme/StudyLog/StudyLog.h"
#include <atomic>
#include <functional>

namespace llvm {
namespace mneme {

/// A recorded launch in a study.
struct StudyInstance {
  std::string Id;              ///< Dynamic hash.
  double Weight = 1;           ///< On any scale.
  const SearchSpace &Space;    ///< The study, bound to this launch.
};

struct TunerOptions {
  std::function<Expected<std::unique_ptr<Sampler>>(const SamplerContext &)>
      MakeSampler;
  uint64_t Seed = 0;
  /// Limit of trials in all runs together, excluding canaries; 0: no limit.
  uint64_t Trials = 0;
  /// The steadySeconds() at which this run ends; 0: no limit. The search leaves
  /// time for the re-test, which takes as few pairs as an interval needs if it
  /// must.
  double Deadline = 0;
  /// Time that a search waits for running trials when it is interrupted or its
  /// time is over.
  double DrainSeconds = 3;
  /// The evaluator can run the application's code, which becomes the baseline.
  bool AppCode = false;
  /// Points to try first after the default point, in this order; may be
  /// invalid.
  std::vector<Point> Enqueued;
  /// Points to try next (TrialKind::Warm), in this order.
  std::vector<Point> Warm;

  /// The baseline is repeated after this number of trials or seconds, ...
  unsigned BaselineTrials = 25;
  double BaselineSeconds = 10;
  /// ... but not within this time, nor within five times its own duration.
  double MinBaselineSeconds = 1;
  unsigned CanaryTrials = 50; ///< Number of trials between canaries; 0: no
                              ///< canaries.
  /// Racing stops a trial that takes this many times as long as the worst
  /// current candidate for the final test, or as the baseline; 0: no racing.
  double RaceFactor = 1.05;
  /// The search ends when the time of the best trial is within this share of
  /// its bound, the metric "sol"; 0: never.
  double SolStop = 0;
  /// A launch is killed after this multiple of the baseline's time, but not
  /// before MinLaunchTimeout seconds.
  double LaunchTimeoutFactor = 10, MinLaunchTimeout = 2;

  unsigned FinalCandidates = 5; ///< 0: no final test.
  unsigned FinalRounds = 30;
  /// "warm" or "cold", the state of the cache that the evaluator does not use:
  /// the winner is measured in it, too, as applications launch kernels in any
  /// state. Empty: the evaluator knows only one.
  std::string OtherCache;
  /// The minimum effect of a winner, as a fraction of the baseline's time.
  double MinEffect = DefaultMinEffect;
  unsigned ExplainLimit = 200; ///< Evaluations; 0: no explanation.
  bool ReadCounters = false; ///< The explanation compares hardware counters.

  /// The number of interrupts by the user: 1 ends the search, 2 also ends the
  /// final test. May be null.
  const std::atomic<int> *Interrupts = nullptr;
};

/// The state of a running study, for observers.
struct StudyProgress {
  enum PhaseTy { Baseline, Search, Drain, FinalTest, Explain, Done };
  PhaseTy Phase = Baseline;
  double Seconds = 0;  ///< Since the start of the search.
  uint64_t Trials = 0; ///< Completed trials, excluding canaries.
  uint64_t InThisRun = 0;
  uint64_t TrialLimit = 0;
  std::optional<double> SecondsLeft; ///< Of the run.
  double PhaseSeconds = 0;           ///< Expected of the re-test.
  unsigned Running = 0;
  uint64_t Duplicates = 0, Failed = 0, Pruned = 0;
  const std::map<std::string, uint64_t> *Failures = nullptr;
  /// The best trial so far, by the first objective.
  std::optional<uint64_t> BestTrial;
  std::string Metric; ///< The first objective's.
  double BestValue = 0;
  /// Over the baseline, if the first objective is time.
  std::optional<RatioEstimate> BestSpeedup;
};

/// Receives the progress and messages of a study.
class StudyObserver {
public:
  virtual ~StudyObserver() = default;
  /// Called after every change, and several times a second.
  virtual void update(const StudyProgress &P) = 0;
  /// Reports a message for the user.
  virtual void note(StringRef Text) = 0;
};

/// Runs a study.
class Tuner {
public:
  /// Takes at least one instance, all of the same study. \p Log and \p Observer
  /// may be null. All arguments must outlive the tuner.
  Tuner(ArrayRef<StudyInstance> Instances, Evaluator &E, StudyLog *Log,
        StudyObserver *Observer, TunerOptions Options);
  ~Tuner();

  /// Runs the study to its end. Fails if the baseline cannot be measured
  /// (BaselineError), there is no such sampler, or the log cannot be written.
  /// Earlier results are in the log.
  Expected<StudyOutcome> run();

  /// Returns the trials of all runs, sorted by number.
  ArrayRef<Trial> trials() const;

private:
  class Impl;
  std::unique_ptr<Impl> I;
};

/// The baseline does not verify, so that no comparison is possible.
class BaselineError : public ErrorInfo<BaselineError> {
public:
  static char ID;
  explicit BaselineError(std::string Message) : Message(std::move(Message)) {}
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string Message;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_TUNER_H
