//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a study: asks a sampler, has an evaluator measure, keeps it busy, and
/// tests in the end what the search believes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_TUNER_H
#define LLVM_MNEME_TUNE_TUNER_H

#include "llvm/Mneme/Tune/Evaluator.h"
#include "llvm/Mneme/Tune/Outcome.h"
#include "llvm/Mneme/Tune/Sampler.h"
#include "llvm/Mneme/Tune/StudyLog.h"
#include <atomic>
#include <functional>

namespace llvm {
namespace mneme {

/// A recorded launch that the study is about.
struct StudyInstance {
  std::string Id;              ///< Dynamic hash.
  double Weight = 1;           ///< On any scale.
  const SearchSpace &Space;    ///< The study, bound to this launch.
};

struct TunerOptions {
  std::function<Expected<std::unique_ptr<Sampler>>(const SamplerContext &)>
      MakeSampler;
  uint64_t Seed = 0;
  /// Trials of all runs together, canaries not counted; 0: no limit.
  uint64_t Trials = 0;
  double Budget = 0; ///< Seconds of search in this run; 0: no limit.
  /// How long an interrupted search waits for what runs.
  double DrainSeconds = 3;
  /// The evaluator can run the application's own code: that is the baseline.
  bool AppCode = false;
  /// Tried first, after the default point, in this order; invalid ones too.
  std::vector<Point> Enqueued;

  /// The baseline is measured again after so many trials or seconds, ...
  unsigned BaselineTrials = 25;
  double BaselineSeconds = 10;
  /// ... but not within these, nor within five times what it takes.
  double MinBaselineSeconds = 1;
  unsigned CanaryTrials = 50; ///< A canary each so many trials; 0: none.
  /// How many times as long as the last of the final candidates so far, or the
  /// baseline, a trial may take until it is stopped; 0: no racing.
  double RaceFactor = 1.05;
  /// A launch is killed after so many times the baseline's time, but not
  /// before the seconds below.
  double LaunchTimeoutFactor = 10, MinLaunchTimeout = 2;

  unsigned FinalCandidates = 5; ///< 0: no final test.
  unsigned FinalRounds = 30;
  /// The least speed-up of a winner, as a share of the baseline's time.
  double MinEffect = 0.005;
  unsigned ExplainLimit = 200; ///< Evaluations; 0: no explanation.

  /// How often the user has asked for an end: at 1 the search ends, at 2 the
  /// final test too. May be null.
  const std::atomic<int> *Interrupts = nullptr;
};

/// What a running study is like, for those who watch.
struct StudyProgress {
  enum PhaseTy { Baseline, Search, Drain, FinalTest, Explain, Done };
  PhaseTy Phase = Baseline;
  double Seconds = 0;   ///< Since the search began.
  uint64_t Trials = 0;  ///< Ended ones, canaries not counted.
  uint64_t InThisRun = 0;
  uint64_t TrialLimit = 0;
  double Budget = 0;
  unsigned Running = 0;
  uint64_t Duplicates = 0, Failed = 0, Pruned = 0;
  const std::map<std::string, uint64_t> *Failures = nullptr;
  /// The best so far, by the first objective.
  std::optional<uint64_t> BestTrial;
  std::string Metric; ///< The first objective's.
  double BestValue = 0;
  /// Over the baseline, when the first objective is the time.
  std::optional<RatioEstimate> BestSpeedup;
};

class StudyObserver {
public:
  virtual ~StudyObserver() = default;
  /// Whenever something has changed, and some times a second besides.
  virtual void update(const StudyProgress &P) = 0;
  /// Something that should be said.
  virtual void note(StringRef Text) = 0;
};

class Tuner {
public:
  /// At least one instance, of one study. \p Log and \p Observer may be null.
  /// All of them outlive the tuner.
  Tuner(ArrayRef<StudyInstance> Instances, Evaluator &E, StudyLog *Log,
        StudyObserver *Observer, TunerOptions Options);
  ~Tuner();

  /// Runs the study to its end. Errors: the baseline cannot be measured
  /// (BaselineError), no such sampler, the log cannot be written. What was
  /// measured until then is in the log.
  Expected<StudyOutcome> run();

  /// Of all runs, by number.
  ArrayRef<Trial> trials() const;

private:
  class Impl;
  std::unique_ptr<Impl> I;
};

/// The baseline does not verify: there is nothing to compare with.
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
