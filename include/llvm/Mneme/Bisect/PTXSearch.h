//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bisects ptxas: its options, then the instructions of the PTX whose
/// optimization is responsible.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_PTXSEARCH_H
#define LLVM_MNEME_BISECT_PTXSEARCH_H

#include "llvm/Mneme/Bisect/Bisect.h"

namespace llvm {
class raw_ostream;
namespace mneme {
class ReplayPlan;
struct ReplayBisectOptions;

/// An instruction of the PTX.
struct PTXInstruction {
  std::string Function;
  unsigned Block = 0; ///< From 0, within the function.
  unsigned Line = 0;  ///< From 1.
  std::string Text;
};

struct PTXAnswer {
  /// Options of ptxas with which the bad side is good.
  std::vector<std::string> GoodOptions;
  /// The minimal set of instructions such that the replay is good if ptxas
  /// cannot combine them with others.
  std::vector<PTXInstruction> Instructions;
  unsigned NumBlocks = 0, NumInstructions = 0; ///< Of the whole PTX.
  std::string Reason; ///< Why no instructions were found.
  /// The PTX, the PTX with these instructions isolated, and the smallest PTX
  /// that still shows the fault. Empty: not kept, or not reduced.
  std::string File, IsolatedFile, ReducedFile;
  unsigned ReducedInstructions = 0;
  unsigned ReduceTests = 0;
  json::Object GoodConfig; ///< The good side of the search.
};

/// Returns true if \p Out says that ptxas is or may be responsible.
bool blamesPtxas(const ReplayPlan &Plan, const BisectOutcome &Out);

/// Searches the PTX of the bad side. Returns nothing if ptxas is not
/// responsible. Fails if the evaluator is lost.
Expected<std::optional<PTXAnswer>> searchPTX(const ReplayPlan &Plan,
                                             const ReplayBisectOptions &O,
                                             Evaluator &E,
                                             const BisectOutcome &Out);

/// Reduces the PTX in \p A.File while the two sides still differ on it, with
/// replays in other processes. The device must be free.
Error reducePTX(const ReplayPlan &Plan, const ReplayBisectOptions &O,
                const BisectOutcome &Out, PTXAnswer &A);

json::Value toJSON(const PTXAnswer &A);
void printAnswer(raw_ostream &OS, const PTXAnswer &A);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_PTXSEARCH_H
