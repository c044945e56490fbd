//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Searches over the source of a recorded kernel, its macros, and the settings
/// of its compilation and launch together.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_EVOLVE_EVOLVE_H
#define LLVM_MNEME_EVOLVE_EVOLVE_H

#include "llvm/Mneme/Evolve/Judge.h"
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include <atomic>

namespace llvm {
namespace mneme {

/// Returns the configurations of a version for all launches of a farm: the
/// knobs of its comments at their defaults. Fails with a TextError on invalid
/// knobs.
Expected<CandidateConfig> bindKnobs(StringRef Version, const ReplayFarm &Farm);

/// The space of the inner search, besides the knobs of the source.
struct InnerSpace {
  Study Base;               ///< May have no parameters.
  CommandLineSpace Options; ///< Added to Base, or replace its fields.
};

struct EvolveOptions {
  JudgeOptions Judge;
  std::string Start;  ///< The version to begin with, as text.
  std::string Output; ///< Folder.
  /// Budgets; 0: none.
  uint64_t Candidates = 200;
  double Seconds = 0; ///< Without the re-test.
  uint64_t InnerTrials = 0;
  double Cost = 0; ///< In the proposer's unit.
  /// Trials of the inner search per candidate: if it is nearly as fast as its
  /// parent, if it is in the best third, and if it is a finalist. 0: none.
  unsigned Inner[3] = {8, 32, 128};
  InnerSpace Space;
  uint64_t Seed = 0;
  unsigned Islands = 2;
  unsigned FinalCandidates = 5;
  double MinEffect = 0.005;
  bool Explain = true;                ///< Find the winner's smallest change.
  std::vector<std::string> Operators; ///< Keys; empty: all.
  std::string Proposer;               ///< A shell command; empty: operators.
  double ProposerSeconds = 600;       ///< Limit of an answer.
  bool Resume = false;
  const std::atomic<int> *Interrupts = nullptr; ///< As TunerOptions.
  std::function<void(StringRef)> Note;          ///< One line of progress.
};

/// The part of a winner that makes it fast.
struct SmallestChange {
  std::string Text;
  json::Object Config; ///< Of the first launch, without the source.
  unsigned Hunks = 0, KeptHunks = 0; ///< Of the difference from the start.
  RatioEstimate Speedup;
  double Kept = 0; ///< Share of the winner's logarithmic speed-up.
  unsigned Evaluations = 0;
};

/// The outcome of a search.
struct EvolveOutcome {
  uint64_t Candidates = 0, Verified = 0, Distinct = 0, InnerTrials = 0;
  double Seconds = 0, Cost = 0;
  /// The winner's number, and its confirmed speed-up; unset without a winner.
  std::optional<uint64_t> Winner;
  RatioEstimate Speedup;
  /// Of the winner: see Judgement.
  std::optional<RatioEstimate> UnseenSpeedup;
  std::string Untimed;
  /// Unset if no smaller change than the winner is as fast.
  std::optional<SmallestChange> Smallest;
  /// The finalists that were not trusted or failed on held-out launches.
  std::map<uint64_t, std::string> Rejected;
};

/// Runs a search and writes the files of the folder Output.
Expected<EvolveOutcome> evolve(EvolveOptions O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_EVOLVE_EVOLVE_H
