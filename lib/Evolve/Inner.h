//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The inner search: macros, pipeline, code generation and launch of one
/// version.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_EVOLVE_INNER_H
#define LLVM_MNEME_LIB_EVOLVE_INNER_H

#include "Archive.h"
#include "llvm/Mneme/Evolve/Evolve.h"
#include "llvm/Mneme/Study/SearchSpace.h"

namespace llvm {
namespace mneme {

/// The space of a version, bound to all launches of a farm.
class VersionSpace {
public:
  /// \param Inner  besides the knobs of the version's comments.
  static Expected<VersionSpace> create(StringRef Version,
                                       const ReplayFarm &Farm,
                                       const InnerSpace &Inner = {});

  /// Returns true if there is nothing to search.
  bool isEmpty() const { return Spaces.empty(); }
  const SearchSpace &first() const { return Spaces.front(); }
  /// Returns the configurations of a point of the first space, with the source.
  Expected<CandidateConfig> configure(const Point &P) const;
  Expected<CandidateConfig> configureDefault() const;
  /// The same for EvolvedCandidate::Values.
  Expected<CandidateConfig> configure(const json::Object &Values) const;

private:
  std::string Text;
  std::vector<SearchSpace> Spaces; ///< One per launch; empty: no parameters.
};

/// What launches of other shapes than the recorded one did in a search. A
/// kernel with a tile of a fixed size crashes in most of them, and a new
/// process for a GPU takes most of a second.
class LaunchShapes {
public:
  /// Returns the shape that a configuration has, or an empty text for the
  /// recorded one.
  static std::string get(const json::Object &Config, const ReplayPlan &Plan);

  /// Returns how launches of a shape end, as an earlier one did, or None if
  /// they may verify. After many shapes that crashed, and none that verified,
  /// others are Invalid.
  FailureKind predict(StringRef Shape) const;
  /// Returns true for the recorded shape, and for those that were launched.
  bool isTried(StringRef Shape) const {
    return Shape.empty() || Seen.contains(Shape);
  }
  void note(StringRef Shape, FailureKind Failure);

private:
  StringMap<FailureKind> Seen; ///< None once a version verified.
  unsigned Verified = 0, Crashed = 0;
};

/// Improves the configuration of a candidate, until it has had \p Trials trials
/// or \p IsOver returns true. Earlier trials of the candidate count, and the
/// search continues from them.
Error searchInner(Judge &J, EvolvedCandidate &C, unsigned Trials,
                  const InnerSpace &Inner, uint64_t Seed, LaunchShapes &Shapes,
                  function_ref<bool()> IsOver);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_EVOLVE_INNER_H
