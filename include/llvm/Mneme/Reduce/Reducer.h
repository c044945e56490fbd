//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From a recorded kernel that two sides disagree about to a report that
/// somebody else can work with: little IR, few threads, few pages.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_REDUCER_H
#define LLVM_MNEME_REDUCE_REDUCER_H

#include "llvm/Mneme/Reduce/Differential.h"
#include <functional>

namespace llvm {
namespace mneme {

struct ReduceOptions {
  /// Compared by what, with what. Good's launch and IR are the bad side's.
  DifferentialOptions Difference;
  /// The folder to write: new, or empty.
  std::string Output;
  /// llvm-reduce; empty: found in PATH, then beside LLVM.
  std::string LLVMReduce;
  std::string Tool; ///< llvm-mneme-replay, absolute.
  /// --skip-passes with which the bad side is good; may be empty. Becomes
  /// Difference.Cured.
  std::string Culprit;
  unsigned Jobs = 1; ///< Tests at once.
  /// Seconds; then the report is of the smallest that was found so far. 0:
  /// none.
  double Limit = 0;
  /// Is told what is done, a line each.
  std::function<void(StringRef)> Say;
};

/// How large something is.
struct ReducedSize {
  uint64_t KernelInstructions = 0, Instructions = 0, Functions = 0;
  Dim3 Grid, Block;
  uint64_t Regions = 0, RegionBytes = 0;
  uint64_t StoredBytes = 0; ///< That are not zero, in whole pages.
};

struct ReduceOutcome {
  ReducedSize Before, After;
  /// Of the last test, on what was written.
  DifferentialResult Difference;
  unsigned Tests = 0; ///< Of llvm-reduce.
  double Seconds = 0;
  std::vector<std::string> Notes; ///< What somebody should know, in words.
};

/// Finds llvm-reduce: \p Wanted, or what is there. Error: it is not.
Expected<std::string> findLLVMReduce(StringRef Wanted);

/// Reduces the bad side that \p Plan is, and writes the report. Error: the two
/// sides do not differ, the folder is not empty, llvm-reduce fails. What was
/// written of it until then is removed.
Expected<ReduceOutcome> reduce(const ReplayPlan &Plan, ReduceOptions Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_REDUCER_H
