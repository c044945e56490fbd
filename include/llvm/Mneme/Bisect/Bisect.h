//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From two configurations, one good and one bad, to the smallest set of
/// settings that makes the difference, and on to the smallest set of pass
/// executions.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_BISECT_H
#define LLVM_MNEME_BISECT_BISECT_H

#include "llvm/Mneme/Bisect/Judge.h"
#include "llvm/Mneme/Compile/PassGate.h"

namespace llvm {
namespace mneme {

/// Configurations (Config.def); what is not in them is the same for both.
struct BisectSides {
  json::Object Good, Bad;
  /// The good side is the bad one without any optional pass.
  bool GoodIsNoPass = false;
};

/// What else to try when it is none of the passes that can be skipped.
struct BisectProbe {
  json::Object Config; ///< Over the bad side's.
  std::string Blames;  ///< If that is good: "the optimizations of ptxas".
};

/// What the search needs to know of the kernel.
struct BisectSubject {
  /// All pass executions of a configuration. Empty: passes cannot be chosen.
  std::function<Expected<PassListing>(const json::Object &)> ListPasses;
  /// Evaluates on the host device; attempts are compiled anew. Empty, or unset:
  /// it is the device.
  std::function<Expected<std::optional<Evaluation>>(const json::Object &,
                                                    unsigned Attempt)>
      RunOnHost;
  std::vector<BisectProbe> Probes;
  /// Is told of each step, a line each.
  std::function<void(StringRef)> Say;
};

struct BisectOptions {
  JudgeOptions Judge;
  /// Steps; then what was found so far is the answer.
  unsigned MaxSteps = 2000;
};

/// A setting that differs between the two sides.
struct BisectSetting {
  std::string Key;
  std::optional<json::Value> Good, Bad; ///< Unset: as on the command line.
};

struct BisectCulprit {
  PassExecution Execution;
  bool InRunSet = false;  ///< Among those that are enough to make it bad.
  bool InSkipSet = false; ///< Among those without which it is good.
  /// Is it good without this one alone? Unset: not asked.
  std::optional<bool> HealsAlone;
};

/// What a GPU's wrong result says when the host runs the same IR.
enum class FaultyHalf {
  Unknown,
  Pipeline, ///< The host is wrong, too.
  BackEnd,  ///< The host is right.
};

/// What a search of the pass executions found.
struct PassAnswer {
  std::vector<unsigned> SkipSet, RunSet; ///< Numbers, in order.
  /// The bad configuration without SkipSet; and with RunSet alone, where there
  /// is one.
  std::optional<json::Object> HealedConfig, SmallestConfig;
  /// Executions 1 to this are good, one more makes it bad.
  std::optional<unsigned> LastGood, FirstBad;
  /// Only how many of the executions run can be chosen, not which.
  bool PrefixOnly = false;
  /// Set where nothing was found without which it is good: the value of the
  /// metric that was reached, which is taken for good then.
  std::optional<double> Accepted;
  unsigned NumExecutions = 0, NumCandidates = 0;
  std::vector<std::string> Notes; ///< What somebody should know, in words.
};

struct BisectOutcome : PassAnswer {
  enum EndKind {
    FoundPasses,
    FoundSettings, ///< That act on no pass, or on none that can be skipped.
    NothingToFind, ///< The bad side is not bad.
    NotFound,      ///< Reason says what is known.
  };
  EndKind End = NotFound;
  std::string Reason; ///< In words; empty when passes were found.

  Judgement Good, Bad; ///< The two sides.
  BisectSides Sides;
  /// The smallest set of settings that makes the good side bad; empty where the
  /// sides differ in one thing only that is no setting.
  std::vector<BisectSetting> Settings;
  unsigned NumSettings = 0; ///< In which the sides differ.

  /// The good side with the responsible settings alone: its passes were
  /// searched.
  json::Object BadConfig;
  Judgement Healed, Smallest;          ///< Of PassAnswer's configurations.
  std::vector<BisectCulprit> Culprits; ///< Of both sets, in order.

  FaultyHalf Half = FaultyHalf::Unknown;
  std::string HalfReason; ///< Why it is unknown, or what the host said.
  std::vector<std::string> Blamed; ///< Of the probes.
  /// Passes that nobody can skip and that changed something, where it is none
  /// of the others.
  std::vector<PassExecution> Required;

  bool Random = false;
  double Rate = 1;
  unsigned Repeats = 1;
  bool Complete = true; ///< False: the limit of steps ended it.
  JudgeCounts Counts;

  bool found() const { return End == FoundPasses || End == FoundSettings; }
};

/// Searches. Error: the good side is not good, the sides are the same, nobody
/// measured the metric, the evaluator is lost.
Expected<BisectOutcome> bisect(Evaluator &E, const BisectSides &Sides,
                               const BisectSubject &Subject,
                               const BisectOptions &Options);

/// "1-40,57"; "none".
std::string printNumbers(const BitVector &Numbers);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_BISECT_H
