//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How much a verification notices, measured by planted faults
/// (Transforms/Fault.h): the mutation score of a recorded launch under the rules
/// by which it is compared.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_ASSESS_H
#define LLVM_MNEME_FARM_ASSESS_H

#include "llvm/Mneme/Tune/Evaluator.h"
#include <atomic>

namespace llvm {
namespace mneme {

struct FaultResult {
  enum OutcomeTy {
    Caught,  ///< The launch did not verify.
    Missed,  ///< It did, although the code was wrong.
    NoPlace, ///< The kernel's code stays what it is.
    NotRun,  ///< It could not be compiled, or there was no time.
  };
  std::string Name;
  OutcomeTy Outcome = NotRun;
  /// The verdict that caught it, or why it was not run.
  std::string Reason;
};
/// "caught", "missed", "no-place", "not-run".
StringRef getFaultOutcomeName(FaultResult::OutcomeTy O);

/// One recorded launch's.
struct Assessment {
  std::vector<FaultResult> Faults; ///< As getFaults().

  unsigned count(FaultResult::OutcomeTy O) const;
  unsigned caught() const { return count(FaultResult::Caught); }
  /// Faults that were planted and launched.
  unsigned planted() const { return caught() + count(FaultResult::Missed); }
  /// "caught 8 of 9 planted faults; missed half-precision".
  std::string describe() const;
};

json::Value toJSON(const Assessment &A);

struct AssessOptions {
  unsigned Instance = 0; ///< EvaluationRequest::Instance.
  /// The application's own ("clang<O2>"), which faults are planted behind.
  std::string Pipeline;
  /// After this many seconds no fault is begun; 0: there is no limit.
  double Seconds = 0;
  /// No fault is begun once this is not 0 any more; may be null.
  const std::atomic<int> *Interrupts = nullptr;
  /// Limit of a launch, in launches of the right kernel, and no less than a
  /// second.
  double LaunchTimeoutFactor = 10;
};

/// Nothing else is under way at \p E; what it measures later is not taken for a
/// result of this. Errors: nothing can be evaluated any more, or the recorded
/// kernel does not verify.
Expected<Assessment> assess(Evaluator &E, const AssessOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_ASSESS_H
