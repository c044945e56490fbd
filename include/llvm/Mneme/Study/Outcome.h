//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The outcome of a study: the baseline, the re-test of the best trials, and
/// the relevant part of the winner. The tuner computes it, reports print it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_OUTCOME_H
#define LLVM_MNEME_STUDY_OUTCOME_H

#include "llvm/Mneme/Config/Counters.h"
#include "llvm/Mneme/Study/Trial.h"
#include "llvm/Mneme/Support/Statistics.h"
#include <map>

namespace llvm {
namespace mneme {

/// A measurement of the baseline.
struct BaselineSample {
  unsigned Instance = 0;
  double When = 0; ///< Seconds since the epoch.
  double Nanoseconds = 0, Low = 0, High = 0; ///< Median and 95 % interval.
  std::string Device = {}; ///< Evaluation::Device.
};

/// One of the recorded launches in a study.
struct InstanceOutcome {
  std::string Id;    ///< Dynamic hash.
  double Weight = 1; ///< Relative weight; all weights add up to 1.
  /// From the first measurement of the baseline.
  StringMap<double> Metrics;
  std::vector<double> Samples; ///< Nanoseconds.
  std::string CodeHash;
};

/// The comparison of a speed-up and its 95 % interval with 1.
enum class Comparison {
  Faster,        ///< Significantly, by at least the minimum effect.
  Slower,        ///< Likewise.
  Insignificant, ///< The interval contains 1.
  Negligible,    ///< Significant but below the minimum effect, or the whole
                 ///< interval is below it.
};
/// \p MinEffect is the smallest relevant change, as a fraction of 1.
Comparison compareWithBaseline(const RatioEstimate &Speedup, double MinEffect);
/// "significantly faster", "no practical difference", ...
StringRef getComparisonText(Comparison C);

/// A trial that was re-tested in interleaved rounds with the baseline.
struct RetestedTrial {
  uint64_t Number = 0;
  /// Of each instance; some settings follow from its launch. At least one.
  std::vector<json::Object> Configs;
  /// Of the machine code measured for each instance; empty if unknown.
  std::vector<std::string> CodeHashes;
  double RawSpeedup = 1; ///< As measured by the search.
  /// Speed-up over the baseline; for several instances, their weighted
  /// geometric mean.
  RatioEstimate Speedup;
  std::vector<RatioEstimate> PerInstance;
  /// Speedup with the other state of the cache; only of a confirmed winner on a
  /// GPU.
  std::optional<RatioEstimate> OtherCacheSpeedup;
  double Nanoseconds = 0, BaselineNanoseconds = 0; ///< Medians of instance 0.
  /// Nanoseconds of instance 0, in pairs.
  std::vector<double> Samples, BaselineSamples;
  /// Hardware counters of instance 0 that differ from the baseline's by more
  /// than the noise, and why counters are missing; if they were wanted.
  std::vector<CounterChange> Counters;
  std::string CounterProblem;
  std::string Device;         ///< Evaluation::Device of instance 0.
  FailureKind Failure;        ///< None if the re-test succeeded.
  std::string Error;

  const json::Object &config() const { return Configs.front(); }
  bool isInterrupted() const { return Failure == FailureKind::Interrupted; }
};

/// The result of the final test.
struct FinalTestResult {
  /// The number of pairs in a confirmation, as a multiple of the pairs per
  /// candidate. Few trials are confirmed, and the study reports the interval of
  /// the winner.
  static constexpr unsigned ConfirmFactor = 2;
  unsigned Rounds = 0;  ///< Pairs per candidate.
  double MinEffect = 0; ///< TunerOptions::MinEffect.
  /// The cache state of RetestedTrial::OtherCacheSpeedup: TunerOptions.
  std::string OtherCache;
  /// The best trials of the search, best first.
  std::vector<RetestedTrial> Candidates;
  /// Index of the best re-tested candidate; unset if all failed. It is the
  /// confirmed survivor with the highest lower bound. If none was confirmed, it
  /// is the survivor with the highest lower bound in the confirmation; without
  /// survivors, the candidate with the highest lower bound.
  std::optional<size_t> Winner;
  /// The winner's speed-up in a fresh re-test with ConfirmFactor times as many
  /// pairs, independent of its selection; unset without survivors.
  std::optional<RetestedTrial> Confirmed;

  /// Classifies the speed-up of a candidate that did not fail.
  Comparison compare(const RetestedTrial &T) const {
    return compareWithBaseline(T.Speedup, MinEffect);
  }
  /// Returns true if the candidate is significantly faster, by at least the
  /// minimum effect.
  bool survived(const RetestedTrial &T) const {
    return T.Failure.empty() && compare(T) == Comparison::Faster;
  }
  /// Returns true if there is a winner.
  bool isSignificant() const { return Confirmed && survived(*Confirmed); }
  /// Returns true if the user interrupted the final test.
  bool isBrokenOff() const;
  unsigned countSurvivors() const;
};

/// The gain of an instance from a configuration of its own.
struct InstanceRegret {
  unsigned Instance = 0;
  uint64_t BestTrial = 0;   ///< Number of the best trial for this instance.
  double BestSpeedup = 1;   ///< Speed-up of that trial in the re-test.
  double CommonSpeedup = 1; ///< Speed-up of the common winner.
  /// Returns the time lost with the common winner: 1 - Common / Best, at least
  /// 0.
  double regret() const;
};

/// One key of the smallest change.
struct ExplainedChange {
  std::string Key;
  json::Value Found = nullptr;   ///< Value in the winner.
  json::Value Minimal = nullptr; ///< Value in the smallest change.
  /// The keys that determine this one, if it is not a change of its own.
  std::vector<std::string> From = {};
};

/// The smallest change that keeps the speed-up.
struct Explanation {
  json::Object Config; ///< Missing keys are as recorded.
  std::vector<ExplainedChange> Changes;
  /// Keys of the winner that do not matter, excluding those that follow from
  /// others.
  std::vector<std::string> Dropped;
  /// Over the baseline, in pairs; unset if it could not be measured.
  std::optional<RatioEstimate> Speedup;
  /// Fraction of the winner's logarithmic speed-up, at most 1.
  double Kept = 0;
  bool Complete = true; ///< False if a limit or an interrupt ended the search.
  unsigned Evaluations = 0;        ///< Requested configurations.
  unsigned Measured = 0;           ///< Evaluations that were not duplicates.
  StringMap<double> Before, After; ///< Metrics of the baseline and the smallest
                                   ///< change.
  /// Hardware counters that differ between both by more than the noise.
  std::vector<CounterChange> Counters;
};

enum class StudyEnd {
  Trials,
  Budget,
  Exhausted,
  Interrupted,
  Lost,
  SpeedOfLight, ///< The best trial is close to its bound.
};
StringRef getStudyEndName(StudyEnd E);

/// The outcome of a study.
struct StudyOutcome {
  StudyEnd End = StudyEnd::Exhausted;
  std::string EndReason; ///< Why the evaluator was lost, or how close the best
                         ///< trial is to its bound.
  bool AppCode = false;  ///< The baseline is the application's machine code.
  bool TimeIsObjective = true;
  std::vector<InstanceOutcome> Instances;
  std::vector<BaselineSample> Baselines; ///< Sorted by time.
  double SearchSeconds = 0;              ///< In this run.
  uint64_t Resumed = 0;                  ///< Trials of earlier runs.
  uint64_t Unlogged = 0; ///< Trials that could not be written to the log.
  uint64_t Complete = 0, Pruned = 0, Failed = 0, Duplicates = 0, Suspect = 0;
  std::map<std::string, uint64_t> Failures; ///< Count by kind.
  /// The best trial by the first objective, unless the re-test decides; for a
  /// multi-objective study, the Pareto set.
  std::vector<uint64_t> Best;
  FinalTestResult Final;
  std::vector<InstanceRegret> Regrets; ///< Only with several instances.
  std::optional<Explanation> Why;
  std::vector<std::string> Notes; ///< Messages for the user.

  /// Returns the winner: that of the re-test if significant; if time is no
  /// objective, the best trial. Unset if nothing is better than the baseline.
  std::optional<uint64_t> winner() const;
};

json::Value toJSON(const BaselineSample &S);
/// A speed-up with the cache in the state \p Cache.
json::Value toJSON(const RatioEstimate &R, StringRef Cache);
json::Value toJSON(const StudyOutcome &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_OUTCOME_H
