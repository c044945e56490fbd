//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trials: points that were evaluated, and what came out.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_TRIAL_H
#define LLVM_MNEME_TUNE_TRIAL_H

#include "llvm/Mneme/Tune/SearchSpace.h"

namespace llvm {
namespace mneme {

enum class TrialState {
  Running,
  Complete, ///< Verified and measured.
  Pruned,   ///< Verified; measured until it was clear that it is slower.
  Failed,   ///< Not verified: Failure says how.
};
StringRef getTrialStateName(TrialState S); ///< "complete", ...

/// What kind of code was found to be equal to that of an earlier trial.
enum class Duplicate { None, Config, IR, Assembly, Code };
StringRef getDuplicateName(Duplicate D);
std::optional<Duplicate> parseDuplicate(StringRef Name);

/// Why the trial was run.
enum class TrialKind {
  Start,    ///< The recorded or the default configuration.
  Search,   ///< The sampler asked for it.
  Canary,   ///< The baseline once more, as if it were a candidate.
  Enqueued, ///< Somebody put it into the journal (Journal.h).
  Imported, ///< Another program ran it and left it in the journal.
};
StringRef getTrialKindName(TrialKind K);
std::optional<TrialKind> parseTrialKind(StringRef Name);

struct Trial {
  uint64_t Number = 0; ///< From 0, in the order of asking.
  TrialKind Kind = TrialKind::Search;
  TrialState State = TrialState::Running;
  Point P;             ///< Canonical.
  json::Object Config; ///< SearchSpace::configure().
  /// Of each objective, in the study's order, in its unit (Metrics.def); empty
  /// if it failed.
  std::vector<double> Values;
  /// A verdict's name (Replayer.h), "Invalid" when the configuration cannot be
  /// launched, "WorkerLost"; empty when all is well.
  std::string Failure;
  std::string Error; ///< In words.

  /// Everything that was measured, by metric, "time" in nanoseconds (median).
  StringMap<double> Metrics;
  std::vector<double> Samples; ///< Nanoseconds.
  /// Time of the baseline there and then, interpolated; 0: not known.
  double BaselineNanoseconds = 0;
  std::string IRHash, AssemblyHash, CodeHash; ///< Empty when not known.
  Duplicate DuplicateKind = Duplicate::None;
  std::optional<uint64_t> DuplicateOf; ///< A trial's number.
  double CompileSeconds = 0, RunSeconds = 0;
  double Started = 0, Ended = 0; ///< Seconds since the epoch.
  std::string Worker;            ///< "host:pid of the runner"; may be empty.
  std::string Device;            ///< Where it was measured: Evaluation::Device.
  /// Measured while the canary was off.
  bool Suspect = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_TRIAL_H
