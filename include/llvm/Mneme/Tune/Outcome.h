//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a study came to: the baseline, what the re-test left of the best
/// trials, and which part of the winner matters. The tuner fills it, reports
/// print it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_OUTCOME_H
#define LLVM_MNEME_TUNE_OUTCOME_H

#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Mneme/Tune/Trial.h"
#include <map>

namespace llvm {
namespace mneme {

/// The baseline was measured once more.
struct BaselineSample {
  unsigned Instance = 0;
  double When = 0; ///< Seconds since the epoch.
  double Nanoseconds = 0, Low = 0, High = 0; ///< Median, 95 % interval.
  std::string Device = {}; ///< Evaluation::Device.
};

/// One of the recorded launches that a study is about.
struct InstanceOutcome {
  std::string Id;    ///< Dynamic hash.
  double Weight = 1; ///< Share; those of all instances add up to 1.
  /// The first measurement of the baseline.
  StringMap<double> Metrics;
  std::vector<double> Samples; ///< Nanoseconds.
  std::string CodeHash;
};

/// How a speed-up and its 95 % interval compare with 1.
enum class Comparison {
  Faster,        ///< Significantly, by at least the least effect.
  Slower,        ///< Likewise.
  Insignificant, ///< The interval covers 1.
  Negligible, ///< Significant but below the least effect, or surely below it.
};
/// \p MinEffect: the least change that matters, as a share of 1.
Comparison compareWithBaseline(const RatioEstimate &Speedup, double MinEffect);
/// "significantly faster", "no practical difference", ...
StringRef getComparisonText(Comparison C);

/// A trial that was measured once more, in turns with the baseline.
struct RetestedTrial {
  uint64_t Number = 0;
  json::Object Config;
  double RawSpeedup = 1; ///< What the search had measured.
  /// How many times as fast as the baseline; of several instances their
  /// weighted geometric mean.
  RatioEstimate Speedup;
  std::vector<RatioEstimate> PerInstance;
  double Nanoseconds = 0, BaselineNanoseconds = 0; ///< Medians; instance 0.
  std::string Device; ///< Where; instance 0.
  std::string Failure, Error; ///< It did not get through the re-test.
};

struct FinalTestResult {
  /// How many times as many pairs the winner is measured in. It is one of few,
  /// and its interval is what the study says.
  static constexpr unsigned ConfirmFactor = 2;
  unsigned Rounds = 0; ///< Pairs of each candidate.
  double MinEffect = 0; ///< TunerOptions::MinEffect.
  /// The best of the search, the best of it first.
  std::vector<RetestedTrial> Candidates;
  /// Index of the best candidate of the re-test; unset when none got through.
  /// The best one is the survivor with the highest lower bound that was
  /// confirmed. Where none was, the one of which most was confirmed; without
  /// survivors, the one with the highest lower bound.
  std::optional<size_t> Winner;
  /// The winner's speed-up in fresh pairs of its own, twice as many, which had
  /// no part in choosing it; unset without survivors.
  std::optional<RetestedTrial> Confirmed;

  /// Of one that got through.
  Comparison compare(const RetestedTrial &T) const {
    return compareWithBaseline(T.Speedup, MinEffect);
  }
  /// Is it faster, significantly and by at least the least effect?
  bool survived(const RetestedTrial &T) const {
    return T.Failure.empty() && compare(T) == Comparison::Faster;
  }
  /// Is there a winner?
  bool isSignificant() const { return Confirmed && survived(*Confirmed); }
  /// Did somebody not want to wait for the end?
  bool isBrokenOff() const;
  unsigned countSurvivors() const;
};

/// What an instance gains from a configuration of its own.
struct InstanceRegret {
  unsigned Instance = 0;
  uint64_t BestTrial = 0;      ///< Number of the best trial for it alone.
  double BestSpeedup = 1;      ///< That one's, in the re-test.
  double CommonSpeedup = 1;    ///< The common winner's.
  /// Time lost with the common winner: 1 - Common / Best, at least 0.
  double regret() const;
};

/// One key of the smallest configuration.
struct ExplainedChange {
  std::string Key;
  json::Value Found = nullptr;   ///< In the winner.
  json::Value Minimal = nullptr; ///< In the smallest change.
  /// The keys that it follows from: it is no change of its own.
  std::vector<std::string> From = {};
};

/// The smallest change that keeps the win.
struct Explanation {
  json::Object Config; ///< Keys that are not here are as recorded.
  std::vector<ExplainedChange> Changes;
  /// Keys of the winner that do not matter, without those that followed from
  /// them.
  std::vector<std::string> Dropped;
  /// Over the baseline, in pairs; unset when it could not be measured.
  std::optional<RatioEstimate> Speedup;
  /// Share of the winner's logarithmic speed-up, at most 1.
  double Kept = 0;
  bool Complete = true; ///< False: a limit or an interrupt ended it.
  unsigned Evaluations = 0; ///< Configurations asked for,
  unsigned Measured = 0;    ///< of which so many were no duplicates.
  StringMap<double> Before, After; ///< Metrics of baseline and smallest change.
};

enum class StudyEnd { Trials, Budget, Exhausted, Interrupted, Lost };
StringRef getStudyEndName(StudyEnd E);

struct StudyOutcome {
  StudyEnd End = StudyEnd::Exhausted;
  std::string EndReason; ///< When the evaluator was lost.
  bool AppCode = false;  ///< The baseline is the application's own code.
  bool TimeIsObjective = true;
  std::vector<InstanceOutcome> Instances;
  std::vector<BaselineSample> Baselines; ///< In order of time.
  double SearchSeconds = 0;              ///< Of this run.
  uint64_t Resumed = 0;                  ///< Trials of earlier runs.
  uint64_t Unlogged = 0; ///< Trials that could not be written to the log.
  uint64_t Complete = 0, Pruned = 0, Failed = 0, Duplicates = 0, Suspect = 0;
  std::map<std::string, uint64_t> Failures; ///< By kind.
  /// Number of the best trial, by the first objective, if it is not for the
  /// re-test to say; of a multi-objective study all of its Pareto set.
  std::vector<uint64_t> Best;
  FinalTestResult Final;
  std::vector<InstanceRegret> Regrets; ///< With several instances only.
  std::optional<Explanation> Why;
  std::vector<std::string> Notes; ///< What somebody should know, in words.

  /// The winner: of the re-test if it is significant; else, if time is no
  /// objective, the best. Unset: nothing is better than the baseline.
  std::optional<uint64_t> winner() const;
};

json::Value toJSON(const BaselineSample &S);
json::Value toJSON(const RatioEstimate &R);
json::Value toJSON(const StudyOutcome &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_OUTCOME_H
