//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides whether a configuration is good or bad with few compilations and
/// launches: judges equal machine code only once, measures times in interleaved
/// rounds with the good side until the result is clear, and repeats random
/// failures.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_JUDGE_H
#define LLVM_MNEME_BISECT_JUDGE_H

#include "llvm/Mneme/Bisect/SubsetSearch.h"
#include "llvm/Mneme/Study/Evaluator.h"
#include "llvm/Mneme/Support/Statistics.h"
#include <functional>
#include <map>

namespace llvm {
namespace mneme {

/// The criterion for a bad configuration.
struct Criterion {
  /// A metric of Config/Metrics.def; empty: verification.
  std::string Metric;
  bool Maximize = false; ///< Larger values are better.
  /// Values worse than the good side's by more than this fraction are bad.
  double Threshold = 0.02;

  bool isVerify() const { return Metric.empty(); }
  bool isTime() const { return Metric == "time"; }
  /// If set, this and better values are good even if they exceed the threshold,
  /// which may be unattainable.
  std::optional<double> Accepted = std::nullopt;

  /// Returns true if \p Value is worse by more than the threshold. If
  /// \p Reference is 0, any increase exceeds the threshold.
  bool isWorse(double Value, double Reference) const {
    if (Accepted && (Maximize ? Value >= *Accepted : Value <= *Accepted))
      return false;
    return Maximize ? Value * (1 + Threshold) < Reference
                    : Value > Reference * (1 + Threshold);
  }

  /// Parses "verify", a metric, or its short name ("regs", "size"). Fails if
  /// there is no such criterion or it cannot be bisected.
  static Expected<Criterion> parse(StringRef Name, double Threshold);
};

/// The key of the host device's schedule in configurations.
inline constexpr StringLiteral ScheduleKey = "host_schedule";

/// The judgement of one configuration.
struct Judgement {
  Answer A = Answer::Unresolved;
  FailureKind Failure; ///< None if verified.
  std::string Error;
  std::optional<double> Value; ///< Value of the metric.
  /// Ratio to the good side's value; for times with the interval of paired
  /// measurements.
  std::optional<RatioEstimate> Ratio;
  /// False if the interval still contained the threshold after the last round,
  /// so that the estimate decided.
  bool Certain = true;
  unsigned Replays = 0, Failures = 0; ///< For a random fault.
  /// The schedule with which it failed, if that is not the configuration's.
  std::string Schedule;
  StringMap<double> Metrics;
  std::string CodeHash;
};

/// The cost of a bisection.
struct JudgeCounts {
  unsigned Steps = 0;        ///< Configurations judged.
  unsigned Compilations = 0; ///< Pipelines run.
  unsigned Launches = 0;     ///< Codes launched and verified.
  unsigned Duplicates = 0;   ///< Compilations that produced known code.
  unsigned Rounds = 0;       ///< Pairs of launches for times.
};

struct JudgeOptions {
  Criterion What;
  /// Seconds per launch; 0: 100 times the good side's, at least 5.
  double LaunchTimeout = 0;
  unsigned FirstRounds = 10, MaxRounds = 160; ///< Pairs for times.
  /// Replays of the bad side to check that it always fails, and, if it does
  /// not, to estimate the failure rate.
  unsigned Replays = 5, RandomReplays = 30;
  unsigned GoodReplays = 3;
  double Sure = 0.99; ///< Confidence required for a good answer with a random
                      ///< fault.
  /// Reuse judgements of equal code.
  bool Reuse = true;
  /// Estimate the failure rate in any case.
  bool AssumeRandom = false;
  /// Compile everything in processes of its own, not only what is random.
  bool OwnProcesses = false;
};

/// Judges configurations.
class Judge {
public:
  using ProgressFn =
      std::function<void(const json::Object &Config, const Judgement &)>;
  Judge(Evaluator &E, JudgeOptions Options)
      : E(E), O(std::move(Options)), OwnProcesses(O.OwnProcesses) {}

  /// The state of the two sides.
  enum class Sides {
    Ready,   ///< The good side is good, the bad side is bad.
    NotGood, ///< text() has the details.
    NotBad,
  };
  /// Evaluates both sides; must be called first. A second call begins anew with
  /// other sides. Fails if the evaluator is lost or the metric was not
  /// measured.
  Expected<Sides> begin(const json::Object &Good, const json::Object &Bad);
  StringRef text() const { return Text; }

  /// Judges configurations. Fails if the evaluator is lost.
  Expected<std::vector<Answer>> ask(ArrayRef<json::Object> Configs);
  Expected<Answer> ask(const json::Object &Config);
  /// Judges a configuration again with \p Replays new replays, ignoring known
  /// judgements. A time is measured once, however many there are.
  Expected<Judgement> askAgain(const json::Object &Config, unsigned Replays);

  /// Judges a configuration again from a new compilation and launch, by as many
  /// replays or measurements as ask(), whose judgement is kept.
  Expected<Judgement> judgeAnew(const json::Object &Config);

  /// Compiles and verifies configurations once, without judging them, for those
  /// that are no steps of the search. Fails if the evaluator is lost.
  Expected<std::vector<Evaluation>> tryOut(ArrayRef<json::Object> Configs);
  /// Returns \p Replays such evaluations, each of a compilation of its own.
  Expected<std::vector<Evaluation>> replayAnew(const json::Object &Config,
                                               unsigned Replays);
  /// From now on, a configuration is good only if it is good with these
  /// schedules of the host device, too. Another pipeline makes other accesses,
  /// so that a race may miss the schedule that showed it.
  void alsoJudgeWith(std::vector<std::string> Others) {
    Schedules = std::move(Others);
  }

  /// Returns the judgement of a configuration passed to ask().
  const Judgement &get(const json::Object &Config) const;
  /// The same; null if there is none, or it was discarded.
  const Judgement *find(const json::Object &Config) const;

  const json::Object &goodConfig() const { return GoodConfig; }
  const json::Object &badConfig() const { return BadConfig; }
  const Judgement &good() const { return Good; }
  const Judgement &bad() const { return Bad; }
  const JudgeCounts &counts() const { return Counts; }
  const Criterion &what() const { return O.What; }
  /// Returns the number of configurations to pass to ask() at once.
  unsigned width() const { return std::max(E.capacity(), 1u); }

  /// Returns true if the fault is random.
  bool isRandom() const { return Repeats > 1; }
  /// Returns true if the same code was good and bad.
  bool isCodeRandom() const { return Rerun; }
  /// Returns the fraction of the bad side's replays that failed.
  double rate() const { return Rate; }
  /// Returns the number of replays of configurations that seem good.
  unsigned repeats() const { return Repeats; }
  /// Handles a \p Config that was both good and bad: estimates the failure rate
  /// and adapts the number of replays. Discards previous good judgements.
  Error becomeRandom(const json::Object &Config);

  /// Treats this value of the metric as good from now on; a single measurement
  /// suffices.
  void accept(double Value);

  ProgressFn Progress; ///< Called after each step.

private:
  Evaluator &E;
  JudgeOptions O;
  std::string Text;
  json::Object GoodConfig, BadConfig;
  Judgement Good, Bad;
  /// Verification only: the failure of the bad side.
  FailureKind BadFailure;
  double Rate = 1;
  unsigned Repeats = 1;
  bool Rerun = false; ///< The same code can be good or bad.
  std::vector<std::string> Schedules; ///< See alsoJudgeWith().
  /// The code may depend on what its compile process compiled before.
  bool OwnProcesses = false;
  uint64_t NextId = 1, NextAttempt = 1;
  double LaunchLimit = 0;
  JudgeCounts Counts;
  std::map<std::string, Judgement> Known;  ///< By configuration.
  std::map<std::string, Judgement> ByCode; ///< For times, by hash.

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
  Error judgeSchedules(MutableArrayRef<Judgement> Judgements,
                       ArrayRef<const json::Object *> Configs);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_JUDGE_H
