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
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/Mneme/Study/SearchSpace.h"

namespace llvm {
namespace mneme {

/// The space of a version, bound to all launches of a farm.
class VersionSpace {
public:
  /// \param More  besides the knobs of the version's comments.
  static Expected<VersionSpace>
  create(StringRef Version, const ReplayFarm &Farm, CommandLineSpace More = {});

  /// Returns true if there is nothing to search.
  bool isEmpty() const { return Spaces.empty(); }
  const SearchSpace &first() const { return Spaces.front(); }
  /// Returns the configurations of a point of the first space, with the source.
  Expected<CandidateConfig> configure(const Point &P) const;
  Expected<CandidateConfig> configureDefault() const;
  /// The same for the values of InnerSearch.
  Expected<CandidateConfig> configure(const json::Object &Values) const;

private:
  std::string Text;
  std::vector<SearchSpace> Spaces; ///< One per launch; empty: no parameters.
};

/// Improves the configuration of a candidate by \p Trials trials. Returns the
/// number of trials that were run.
Expected<unsigned> searchInner(Judge &J, EvolvedCandidate &C, unsigned Trials,
                               const CommandLineSpace &More, uint64_t Seed);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_EVOLVE_INNER_H
