//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tells whether a configuration is good or bad, with as few compilations and
/// launches as it takes: equal machine code is judged once, times are measured
/// in turns with the good side's until it is clear, and what fails at random is
/// repeated.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_JUDGE_H
#define LLVM_MNEME_BISECT_JUDGE_H

#include "llvm/Mneme/Bisect/Search.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Mneme/Tune/Evaluator.h"
#include <functional>
#include <map>

namespace llvm {
namespace mneme {

/// What makes a configuration bad.
struct Criterion {
  /// Of Tune/Metrics.def; empty: it does not verify.
  std::string Metric;
  bool Maximize = false; ///< More of it is better.
  /// Worse than the good side by more than this share is bad.
  double Threshold = 0.02;

  bool isVerify() const { return Metric.empty(); }
  bool isTime() const { return Metric == "time"; }
  /// By more than the threshold. Of nothing at all, anything is more than any
  /// share.
  /// Good, too, where the threshold asks for more than can be had: this value,
  /// and what is better.
  std::optional<double> Accepted = std::nullopt;

  bool isWorse(double Value, double Reference) const {
    if (Accepted && (Maximize ? Value >= *Accepted : Value <= *Accepted))
      return false;
    return Maximize ? Value * (1 + Threshold) < Reference
                    : Value > Reference * (1 + Threshold);
  }

  /// "verify", a metric, or one of its short names ("regs", "size"). Error: no
  /// such thing, or one that cannot be bisected.
  static Expected<Criterion> parse(StringRef Name, double Threshold);
};

struct Judgement {
  Answer A = Answer::Unresolved;
  /// A verdict's name, and what was said; empty if it verified.
  std::string Failure, Error;
  std::optional<double> Value; ///< Of the metric.
  /// How many times as much as the good side's; of times with the interval of
  /// pairs.
  std::optional<RatioEstimate> Ratio;
  /// False: the interval still held the threshold when the rounds ended, and
  /// the estimate alone decided.
  bool Certain = true;
  unsigned Replays = 0, Failures = 0; ///< Of a fault that comes at random.
  StringMap<double> Metrics;
  std::string CodeHash;
};

struct JudgeCounts {
  unsigned Steps = 0;        ///< Configurations that were judged.
  unsigned Compilations = 0; ///< Pipelines that were run for them.
  unsigned Launches = 0;     ///< Codes that were run and verified.
  unsigned Duplicates = 0;   ///< Compilations that gave code that was known.
  unsigned Rounds = 0;       ///< Pairs of launches, for times.
};

struct JudgeOptions {
  Criterion What;
  /// Seconds of a launch; 0: 100 times the good side's, and at least 5.
  double LaunchTimeout = 0;
  unsigned FirstRounds = 10, MaxRounds = 160; ///< Pairs, for times.
  /// Replays of the bad side to see whether it fails each time; and, if it
  /// does not, to estimate how often.
  unsigned Replays = 5, RandomReplays = 30;
  unsigned GoodReplays = 3;
  double Sure = 0.99; ///< That a good answer is not luck.
  /// Code that was judged before is not judged again.
  bool Reuse = true;
};

/// Answers questions about configurations.
class Judge {
public:
  using ProgressFn =
      std::function<void(const json::Object &Config, const Judgement &)>;
  Judge(Evaluator &E, JudgeOptions Options) : E(E), O(std::move(Options)) {}

  /// What the two sides are.
  enum class Sides {
    Ready,   ///< The good side is good, the bad side is bad.
    NotGood, ///< text() says how.
    NotBad,
  };
  /// Evaluates both; the first thing to do. Error: the evaluator is lost, or
  /// the metric was not measured.
  Expected<Sides> begin(const json::Object &Good, const json::Object &Bad);
  StringRef text() const { return Text; }

  /// An Error: the evaluator is lost.
  Expected<std::vector<Answer>> ask(ArrayRef<json::Object> Configs);
  Expected<Answer> ask(const json::Object &Config);
  /// Asks once more, by so many new replays, whatever is known. For a criterion
  /// that is no verification, and for one replay at least, the same as ask().
  Expected<Judgement> askAgain(const json::Object &Config, unsigned Replays);

  /// Of a configuration that was asked about.
  const Judgement &get(const json::Object &Config) const;

  const Judgement &good() const { return Good; }
  const Judgement &bad() const { return Bad; }
  const JudgeCounts &counts() const { return Counts; }
  const Criterion &what() const { return O.What; }
  /// How many questions should be asked at once.
  unsigned width() const { return std::max(E.capacity(), 1u); }

  /// Does the fault come at random?
  bool isRandom() const { return Repeats > 1; }
  /// Share of the bad side's replays that failed.
  double rate() const { return Rate; }
  /// Replays of what looks good.
  unsigned repeats() const { return Repeats; }
  /// \p Config was good and bad: finds out how often, and repeats from now on
  /// what looks good as often as that takes. What was good is not known any
  /// more.
  Error becomeRandom(const json::Object &Config);

  /// Takes this value of the metric, of which one measurement is enough, for
  /// good from now on.
  void accept(double Value);

  ProgressFn Progress; ///< Is told of each step.

private:
  Evaluator &E;
  JudgeOptions O;
  std::string Text;
  json::Object GoodConfig, BadConfig;
  Judgement Good, Bad;
  /// Verification: how the bad side fails.
  std::string BadFailure;
  double Rate = 1;
  unsigned Repeats = 1;
  bool Rerun = false; ///< The same code can end in either way.
  uint64_t NextId = 1, NextAttempt = 1;
  double LaunchLimit = 0;
  JudgeCounts Counts;
  std::map<std::string, Judgement> Known;  ///< By configuration.
  std::map<std::string, Judgement> ByCode; ///< Times, by hash.

  EvaluationRequest makeRequest(const json::Object &Config);
  EvaluationRequest makeReplay(const json::Object &Config);
  Expected<std::vector<Evaluation>>
  evaluate(std::vector<EvaluationRequest> Requests);
  Expected<Sides> beginVerify();
  Error sample(const json::Object &Config, unsigned Replays,
               std::vector<Evaluation> &All);
  void noteRandomness(ArrayRef<Evaluation> All);
  void setRepeats(double Failures, double Of);
  Expected<Sides> beginMetric();
  void setLaunchLimit(const Evaluation &V);
  Expected<Judgement> judge(const json::Object &Config, const Evaluation &V);
  Judgement judgeVerdict(const Evaluation &V) const;
  void judgeValue(Judgement &J) const;
  Error measure(const json::Object &Config, Judgement &J);
  Error repeat(MutableArrayRef<Judgement> Judgements,
               ArrayRef<const json::Object *> Configs, unsigned Replays);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_JUDGE_H
