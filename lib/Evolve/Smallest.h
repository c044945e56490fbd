//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The smallest change of a source and its configuration that is as fast as the
/// winner.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_EVOLVE_SMALLEST_H
#define LLVM_MNEME_LIB_EVOLVE_SMALLEST_H

#include "llvm/Mneme/Evolve/Evolve.h"

namespace llvm {
namespace mneme {

/// A winner to be reduced.
struct ReducedWinner {
  StringRef Start; ///< The text that the search began with.
  StringRef Text;
  const CandidateConfig &Config;
  const Judgement &J; ///< Passed, with Speedup.
  unsigned Rounds;    ///< Pairs of the confirmation.
};

/// Takes back hunks of the difference from the start, then settings of the
/// configuration, as long as the rest keeps most of the speed-up, and confirms
/// the result in fresh pairs and on what is held out. Unset: no smaller change
/// does. \p IsOver is asked before each evaluation.
Expected<std::optional<SmallestChange>>
findSmallestChange(Judge &J, const ReducedWinner &W,
                   function_ref<bool()> IsOver);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_EVOLVE_SMALLEST_H
