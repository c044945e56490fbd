//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which part of a configuration makes it fast: delta debugging.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_EXPLAIN_H
#define LLVM_MNEME_TUNE_EXPLAIN_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Tune/Outcome.h"

namespace llvm {
namespace mneme {

/// Says which of these sets is the first to pass; unset: none. A set has a bit
/// for each element that is kept.
using FirstPassingFn =
    function_ref<Expected<std::optional<size_t>>(ArrayRef<BitVector>)>;

/// A set of elements that passes, and from which no element can be taken away
/// without failing. The set of all \p Size passes; it is not tested. An Error
/// is \p Test's.
Expected<BitVector> minimizeSet(size_t Size, FirstPassingFn Test);

/// A textual pass pipeline of which parts can be left out: elements between
/// commas at any depth, and parameters between semicolons.
class PipelineParts {
public:
  /// Unset: brackets do not match, or a name is missing.
  static std::optional<PipelineParts> parse(StringRef Text);

  /// The parts of one depth that nothing around them was left out of; passes
  /// first, each depth after the one above, then parameters of them all.
  unsigned numLevels() const;
  std::vector<unsigned> partsOfLevel(unsigned Level) const;

  bool isKept(unsigned Part) const { return Parts[Part].Kept; }
  void setKept(unsigned Part, bool Kept) { Parts[Part].Kept = Kept; }
  /// Without what is left out; a nest that nothing is left in is left out too.
  /// Empty when there is nothing left.
  std::string print() const;

private:
  struct Part {
    std::string Text; ///< A pass's name, or a parameter.
    bool IsParameter = false, IsNest = false;
    bool Kept = true;
    int Parent = -1;
    unsigned Depth = 0;
  };
  std::vector<Part> Parts; ///< Parents before their children.
  friend class PipelinePartsParser;
  bool isReached(unsigned Part) const;
  std::string printChildren(int Parent) const;
};

/// A configuration of each instance.
using InstanceConfigs = std::vector<json::Object>;

/// Evaluates and \returns the natural logarithm of the speed-up over the
/// baseline of each; unset: it does not verify. All of them may run at once.
using SpeedupsFn = function_ref<Expected<std::vector<std::optional<double>>>(
    ArrayRef<InstanceConfigs>)>;

struct ExplainOptions {
  double LogSpeedup = 0;  ///< The winner's.
  double Share = 0.95;    ///< Of it that must be kept.
  unsigned Limit = 200;   ///< Evaluations.
  unsigned BatchSize = 1; ///< Evaluations at once.
};

struct MinimalChange {
  /// What kept the speed-up, one smaller than the other: the winner first, the
  /// smallest last.
  std::vector<InstanceConfigs> Steps;
  bool Complete = true; ///< False: the limit of evaluations ended it.
  unsigned Evaluations = 0;

  const InstanceConfigs &smallest() const { return Steps.back(); }
};

/// Finds the smallest part of \p Winner's keys, then of its pipeline, that
/// keeps the speed-up.
Expected<MinimalChange> findMinimalChange(const InstanceConfigs &Winner,
                                          SpeedupsFn Evaluate,
                                          const ExplainOptions &O);

/// Fills in Config, Changes and Dropped. \p GetSources:
/// SearchSpace::getSources().
void describeChange(
    Explanation &Why, const json::Object &Winner, const json::Object &Minimal,
    function_ref<std::vector<std::string>(StringRef Key)> GetSources);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_EXPLAIN_H
