//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reduces a recorded kernel with differing results on two sides to a
/// self-contained report: little IR, few threads, few pages.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_REDUCER_H
#define LLVM_MNEME_REDUCE_REDUCER_H

#include "llvm/Mneme/Reduce/Differential.h"
#include "llvm/Mneme/Reduce/Reproducer.h"
#include <functional>

namespace llvm {
namespace mneme {

struct ReduceOptions {
  /// The comparison to preserve. Launch and IR of Good are those of the bad
  /// side.
  DifferentialOptions Difference;
  /// The output folder: new or empty.
  std::string Output;
  /// Path of llvm-reduce; empty: search PATH, then LLVM's folder.
  std::string LLVMReduce;
  std::string Tool; ///< Absolute path of llvm-mneme-replay.
  /// The --skip-passes option that makes the bad side good; may be empty.
  /// Becomes Difference.Cured.
  std::string Culprit;
  unsigned Jobs = 1; ///< Parallel tests.
  /// Time limit in seconds; the report then contains the smallest result so
  /// far. 0: no limit.
  double Limit = 0;
  /// Also write a reproducer without Mneme, in the folder "reproducer" of the
  /// report; its own Output is ignored. A failure is a note.
  std::optional<ReproducerOptions> Reproducer;
  /// Called with one line of text per step.
  std::function<void(StringRef)> Say;
};

/// The size of a reproducer.
struct ReducedSize {
  uint64_t KernelInstructions = 0, Instructions = 0, Functions = 0;
  Dim3 Grid, Block;
  uint64_t Regions = 0, RegionBytes = 0;
  uint64_t StoredBytes = 0; ///< Nonzero memory, in whole pages.
};

/// The result of a reduction.
struct ReduceOutcome {
  ReducedSize Before, After;
  /// From the last test of the written files.
  DifferentialResult Difference;
  unsigned Tests = 0; ///< Tests that llvm-reduce ran.
  double Seconds = 0;
  std::vector<std::string> Notes; ///< Messages for the user.
};

/// Finds llvm-reduce: \p Wanted or, if empty, the default. Fails if it is
/// missing.
Expected<std::string> findLLVMReduce(StringRef Wanted);

/// Reduces the bad side \p Plan and writes the report. Fails if the two sides
/// do not differ, the folder is not empty, or llvm-reduce fails; then removes
/// the partial report.
Expected<ReduceOutcome> reduce(const ReplayPlan &Plan, ReduceOptions Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_REDUCER_H
