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

/// Improves the configuration of a candidate, until it has had \p Trials trials
/// or \p IsOver returns true. Earlier trials of the candidate count, and the
/// search continues from them.
Error searchInner(Judge &J, EvolvedCandidate &C, unsigned Trials,
                  const InnerSpace &Inner, uint64_t Seed,
                  function_ref<bool()> IsOver);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_EVOLVE_INNER_H
