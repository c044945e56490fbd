//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the part of a configuration that makes it fast, by delta debugging.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_EXPLAIN_H
#define LLVM_MNEME_TUNE_EXPLAIN_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Study/Outcome.h"
#include <functional>

namespace llvm {
namespace mneme {

/// One configuration per instance.
using InstanceConfigs = std::vector<json::Object>;

/// Evaluates the configurations, possibly in parallel. \returns the natural
/// logarithm of each speed-up over the baseline; unset if it does not verify.
using SpeedupsFn = function_ref<Expected<std::vector<std::optional<double>>>(
    ArrayRef<InstanceConfigs>)>;

/// Returns the launch settings of a configuration, which do not affect the
/// code.
std::string printLaunch(const json::Object &Config);

/// Options of findMinimalChange().
struct ExplainOptions {
  /// Fraction that a change must keep in one measurement to be measured in
  /// pairs, and the number of these.
  static constexpr double Hope = 0.5;
  static constexpr unsigned Rounds = 10;
  static constexpr double DefaultShare = 0.95;
  double LogSpeedup = 0;       ///< The winner's.
  double Share = DefaultShare; ///< Fraction of LogSpeedup to keep.
  unsigned Limit = 200;        ///< Largest number of evaluations.
  unsigned BatchSize = 1;      ///< Parallel evaluations.
  /// Returns true to end the search as Limit does. Empty: never.
  std::function<bool()> IsOver;
};

/// The result of findMinimalChange().
struct MinimalChange {
  /// Decreasing configurations that kept the speed-up, from the winner to the
  /// smallest.
  std::vector<InstanceConfigs> Steps;
  bool Complete = true; ///< False if a limit was reached.
  unsigned Evaluations = 0;

  const InstanceConfigs &smallest() const { return Steps.back(); }
};

/// Finds the smallest subset of \p Winner's keys, then of the parts of its
/// pipeline, that keeps the speed-up.
Expected<MinimalChange> findMinimalChange(const InstanceConfigs &Winner,
                                          SpeedupsFn Evaluate,
                                          const ExplainOptions &O);

/// Sets Config, Changes and Dropped. \p GetSources is
/// SearchSpace::getSources().
void describeChange(
    Explanation &Why, const json::Object &Winner, const json::Object &Minimal,
    function_ref<std::vector<std::string>(StringRef Key)> GetSources);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_EXPLAIN_H
