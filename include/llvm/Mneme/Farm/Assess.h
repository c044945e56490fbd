//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures the power of a verification by planted faults (Transforms/Fault.h):
/// the mutation score of a recorded launch under its comparison rules.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_ASSESS_H
#define LLVM_MNEME_FARM_ASSESS_H

#include "llvm/Mneme/Study/Evaluator.h"
#include <atomic>

namespace llvm {
namespace mneme {

/// The result of one planted fault.
struct FaultResult {
  enum OutcomeTy {
    Caught,  ///< The launch did not verify.
    Missed,  ///< The launch verified with wrong code.
    NoPlace, ///< The fault does not apply to the kernel.
    NotRun,  ///< Compilation failed, or time ran out.
  };
  std::string Name;
  OutcomeTy Outcome = NotRun;
  /// The verdict that caught the fault, or why it was not run.
  std::string Reason;
};
/// Returns "caught", "missed", "no-place" or "not-run".
StringRef getFaultOutcomeName(FaultResult::OutcomeTy O);

/// The assessment of one recorded launch.
struct Assessment {
  std::vector<FaultResult> Faults; ///< In the order of getFaults().

  unsigned count(FaultResult::OutcomeTy O) const;
  unsigned caught() const { return count(FaultResult::Caught); }
  /// Returns the number of faults that were planted and launched.
  unsigned planted() const { return caught() + count(FaultResult::Missed); }
  /// Returns text like "caught 8 of 9 planted faults; missed half-precision".
  std::string describe() const;
};

json::Value toJSON(const Assessment &A);

struct AssessOptions {
  unsigned Instance = 0; ///< EvaluationRequest::Instance.
  /// The application's pipeline ("clang<O2>"), after which faults are planted.
  std::string Pipeline;
  /// No fault is started after this time; 0: no limit.
  double Seconds = 0;
  /// No fault is started once this is nonzero; may be null.
  const std::atomic<int> *Interrupts = nullptr;
  /// Time limit as a multiple of the correct kernel's launch time, at least one
  /// second.
  double LaunchTimeoutFactor = 10;
};

/// Assesses a launch while \p E is idle. Later measurements of \p E do not
/// reuse its results. Fails if no further evaluation is possible or the
/// recorded kernel does not verify.
Expected<Assessment> assess(Evaluator &E, const AssessOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_ASSESS_H
