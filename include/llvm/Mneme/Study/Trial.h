//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Trials: evaluated points and their results.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_TRIAL_H
#define LLVM_MNEME_STUDY_TRIAL_H

#include "llvm/Mneme/Config/Verdict.h"
#include "llvm/Mneme/Study/SearchSpace.h"

namespace llvm {
namespace mneme {

enum class TrialState {
  Running,
  Complete, ///< Verified and measured.
  Pruned,   ///< Verified; measurement stopped as it was significantly slower.
  Failed,   ///< Not verified; see Failure.
};
StringRef getTrialStateName(TrialState S); ///< "complete", ...

/// The stage at which code equal to that of an earlier trial was detected.
enum class Duplicate { None, Config, IR, Assembly, Code };
StringRef getDuplicateName(Duplicate D);
std::optional<Duplicate> parseDuplicate(StringRef Name);

/// Why the trial was run.
enum class TrialKind {
  Start,    ///< The recorded or the default configuration.
  Search,   ///< Proposed by the sampler.
  Canary,   ///< A repetition of the baseline, measured like a candidate.
  Enqueued, ///< Added to the journal by a user (Journal.h).
  Imported, ///< Run by another program that uses the journal.
  Warm,     ///< Was fast in an earlier study (WarmStart.h).
};
StringRef getTrialKindName(TrialKind K);
std::optional<TrialKind> parseTrialKind(StringRef Name);

/// A point of the search space and the result of its evaluation.
struct Trial {
  uint64_t Number = 0; ///< From 0, in the order of proposal.
  TrialKind Kind = TrialKind::Search;
  TrialState State = TrialState::Running;
  Point P;             ///< Canonical.
  json::Object Config; ///< SearchSpace::configure().
  /// One per objective, in the study's order and the unit of Metrics.def; empty
  /// if the trial failed.
  std::vector<double> Values;
  FailureKind Failure; ///< None on success.
  std::string Error; ///< Description of the failure.
  CompareLevel Level = CompareLevel::Exact; ///< As in Evaluation.

  /// All measured values by metric; "time" is the median in nanoseconds.
  StringMap<double> Metrics;
  std::vector<double> Samples; ///< Nanoseconds.
  /// Interpolated time of the baseline on this device at that time; 0: unknown.
  double BaselineNanoseconds = 0;
  std::string IRHash, AssemblyHash, CodeHash; ///< Empty if unknown.
  Duplicate DuplicateKind = Duplicate::None;
  std::optional<uint64_t> DuplicateOf; ///< Number of a trial.
  double CompileSeconds = 0, RunSeconds = 0;
  double Started = 0, Ended = 0; ///< Seconds since the epoch.
  std::string Worker;            ///< "host:pid of the runner"; may be empty.
  std::string Device;            ///< Evaluation::Device.
  /// Measured while the canary deviated from the baseline.
  bool Suspect = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_TRIAL_H
