//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reduces the difference between a good and a bad configuration to the
/// smallest responsible set of settings, and then to the smallest set of pass
/// executions.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_BISECT_H
#define LLVM_MNEME_BISECT_BISECT_H

#include "llvm/Mneme/Bisect/Judge.h"
#include "llvm/Mneme/Compile/PassGate.h"

namespace llvm {
namespace mneme {

/// Configurations (Config.def). Keys that neither contains are the same for
/// both.
struct BisectSides {
  json::Object Good, Bad;
  /// The good side is the bad side without optional passes.
  bool GoodIsNoPass = false;
};

/// A test to run if no skippable pass is responsible.
struct BisectProbe {
  json::Object Config; ///< Applied on top of the bad side's.
  std::string Blames;  ///< The culprit if it is good: "the optimizations of
                       ///< ptxas".
};

/// A point in a pipeline.
struct PipelineStep {
  /// The execution that changed the IR last; of the first step, an empty one.
  PassExecution Execution;
  json::Object Config; ///< Compiles the IR at this point, without any pass.
};

/// What a pass execution changes in the IR.
enum class ChangeKind {
  Nothing, ///< At most an analysis.
  /// Facts (flags, attributes, metadata), which later passes may exploit.
  Facts,
  Code,
};

/// The functions that the search needs for a kernel.
struct BisectSubject {
  /// Lists the pass executions of a configuration. Empty: passes cannot be
  /// selected.
  std::function<Expected<PassListing>(const json::Object &)> ListPasses;
  /// Returns true if only the first executions of a configuration can be
  /// selected, not any set of them. Unset: any set.
  std::function<bool(const json::Object &)> OnlyPrefixes;
  /// Evaluates on the host device, compiling each attempt anew. Empty or unset:
  /// the host is the device under test.
  std::function<Expected<std::optional<Evaluation>>(const json::Object &,
                                                    unsigned Attempt)>
      RunOnHost;
  /// Returns true if the device under test is the host and its schedule may be
  /// chosen. Empty: it is not.
  std::function<bool()> CanSchedule;
  std::vector<BisectProbe> Probes;
  /// Returns what an execution of this configuration changes in the IR. Unset:
  /// unknown.
  std::function<Expected<ChangeKind>(const json::Object &,
                                     const PassExecution &)>
      ClassifyChange;
  /// Returns the points in the pipeline of a configuration between which the IR
  /// changes, from its input to its output. Unset: required executions are not
  /// searched.
  std::function<Expected<std::vector<PipelineStep>>(const json::Object &)>
      TakeSteps;
  /// Like ListPasses, with the queries of debug counters by each execution
  /// (PassExecution::Counters), at least of this stage. Unset: counters are not
  /// searched. An error is the reason why they cannot be.
  std::function<Expected<PassListing>(const json::Object &, PassStage)>
      CountRewrites;
  /// Returns the text of the IR before and after an execution of the pipeline,
  /// in a configuration that runs only this one.
  std::function<Expected<std::pair<std::string, std::string>>(
      const json::Object &, const PassExecution &)>
      ReadChange;
  /// Returns a configuration that compiles this IR and runs no pass that can be
  /// skipped. Unset, like ReadChange: changes are not searched.
  std::function<Expected<json::Object>(const json::Object &, StringRef IR)>
      WithIR;
  /// Called with one line of text per step.
  std::function<void(StringRef)> Say;
};

/// How far the search for passes goes.
enum class BisectDepth {
  First, ///< The first bad execution, as with LLVM's opt-bisect.
  Heal,  ///< The executions without which it is good.
  Full,  ///< Also the executions that make it bad alone.
};

struct BisectOptions {
  JudgeOptions Judge;
  BisectDepth Depth = BisectDepth::Full;
  /// Limit of steps; the search then returns its intermediate result.
  unsigned MaxSteps = 2000;
};

/// A setting in which the two sides differ.
struct BisectSetting {
  std::string Key;
  std::optional<json::Value> Good, Bad; ///< Unset: as on the command line.
};

/// A pass execution that is responsible for the difference.
struct BisectCulprit {
  PassExecution Execution;
  bool InRunSet = false;  ///< In the smallest set that makes it bad.
  bool InSkipSet = false; ///< In the smallest set without which it is good.
  /// Follows the only member of that set in the smallest bad set: exploits the
  /// result of that execution.
  bool IsExploiter = false;
  /// Whether skipping only this execution makes it good. Unset: not tested.
  std::optional<bool> HealsAlone;
};

/// The rewrite inside a pass execution that makes it bad, as one query of a
/// debug counter of LLVM.
struct BlamedRewrite {
  unsigned Number = 0; ///< Of the execution.
  std::string Missing; ///< Why no rewrite was found; the rest is then unset.
  std::string Counter;
  /// The counts of the execution are Begin to End - 1.
  int64_t Begin = 0, End = 0;
  /// The query that makes it bad.
  int64_t Count = 0;
  /// Number of the execution's counts in BadChunks; 1: Count alone suffices.
  unsigned NumCounts = 0;
  /// Values of -debug-counter=Counter=...: with Count, and without it.
  std::string BadChunks, GoodChunks;
  json::Object BadConfig, GoodConfig;
};

/// The part of the IR that a pass execution changed and that makes it bad, for
/// passes without a debug counter.
struct BlamedChange {
  unsigned Number = 0;                  ///< Of the execution.
  std::string Missing;                  ///< Why it was not found.
  unsigned NumHunks = 0, NumBlamed = 0; ///< Of the whole change, and of Diff.
  std::string Diff; ///< The smallest part that is bad, as a unified diff.
};

/// The faulty half for a wrong result on a GPU, found by running the same IR on
/// the host.
enum class FaultyHalf {
  Unknown,
  Pipeline, ///< The host is wrong, too.
  BackEnd,  ///< The host is right.
};

/// The result of a search over pass executions.
struct PassAnswer {
  std::vector<unsigned> SkipSet, RunSet; ///< Numbers, sorted.
  /// The bad configuration without SkipSet, and with only RunSet if there is
  /// one.
  std::optional<json::Object> HealedConfig, SmallestConfig;
  /// Executions of the good side that the bad side lacks: without them, the
  /// good side is bad. SkipSet and RunSet are empty then.
  std::vector<PassExecution> Missing;
  /// The good side without Missing.
  std::optional<json::Object> SpoiledConfig;
  /// Executions 1 to LastGood are good; up to FirstBad, they are bad.
  std::optional<unsigned> LastGood, FirstBad;
  /// Only the number of executions to run can be selected, not the set.
  bool PrefixOnly = false;
  /// Set if no set of executions made it good: the best value of the metric
  /// found, which then counts as good.
  std::optional<double> Accepted;
  unsigned NumExecutions = 0, NumCandidates = 0;
  std::vector<std::string> Notes; ///< Messages for the user.
};

/// The result of a bisection.
struct BisectOutcome : PassAnswer {
  enum EndKind {
    FoundPasses,
    FoundMissing,  ///< Passes that only the good side runs.
    FoundSettings, ///< Settings that affect no pass, or no skippable pass.
    NothingToFind, ///< The bad side is not bad.
    NotFound,      ///< Reason has the details.
  };
  EndKind End = NotFound;
  std::string Reason; ///< In words; empty if passes were found.

  Judgement Good, Bad; ///< The two sides.
  BisectSides Sides;
  /// The smallest set of settings that makes the good side bad. Empty if the
  /// sides differ only in something that is not a setting.
  std::vector<BisectSetting> Settings;
  unsigned NumSettings = 0; ///< Number of settings in which the sides differ.

  /// The good side with only the responsible settings; its passes were
  /// searched.
  json::Object BadConfig;
  Judgement Healed, Smallest;          ///< For PassAnswer's configurations.
  /// The members of both sets: first those of SkipSet, each in order. A
  /// required execution that makes the IR wrong heads the list, or, if it
  /// exploits a fact, ends it.
  std::vector<BisectCulprit> Culprits;
  /// For the executions of SmallestConfig, or, if there is none, of BadConfig.
  std::vector<BlamedRewrite> Rewrites;
  /// At most one: of the only execution of SmallestConfig.
  std::optional<BlamedChange> Change;
  /// The points before and behind the execution that makes the IR wrong, if it
  /// is a required one.
  std::optional<std::pair<PipelineStep, PipelineStep>> WrongStep;

  FaultyHalf Half = FaultyHalf::Unknown;
  std::string HalfReason;          ///< Why it is unknown, or the host's result.
  std::vector<std::string> Blamed; ///< Culprits found by the probes.
  /// Required executions that may be responsible: those that changed the module
  /// behind the culprits, or at all if there are none, and that in which the
  /// compiler died.
  std::vector<PassExecution> Required;

  /// The schedule of the host device that makes the fault deterministic; both
  /// sides have it. Empty: none was needed, or none was found.
  std::string Schedule;
  std::string ScheduleReason; ///< Result without it, or why there is none.

  bool Random = false;
  double Rate = 1;
  unsigned Repeats = 1;
  /// False if the limit of steps ended the search: sets are not minimal then,
  /// and Notes has what else was found.
  bool Complete = true;
  JudgeCounts Counts;

  bool found() const { return End != NothingToFind && End != NotFound; }
};

/// Runs the search. Fails if the good side is not good, the sides are equal,
/// the metric was not measured, or the evaluator is lost.
Expected<BisectOutcome> bisect(Evaluator &E, const BisectSides &Sides,
                               const BisectSubject &Subject,
                               const BisectOptions &Options);

/// Prints numbers as "1-40,57", or "none".
std::string printNumbers(const BitVector &Numbers);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_BISECT_H
