//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The best of a search are measured once more, in turns with the baseline.
/// The best of many noisy measurements is mostly luck; of these it is not.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_FINALTEST_H
#define LLVM_MNEME_TUNE_FINALTEST_H

#include "llvm/Mneme/Tune/Evaluator.h"
#include "llvm/Mneme/Tune/Outcome.h"
#include <functional>

namespace llvm {
namespace mneme {

/// What may be compared: a configuration for each instance.
struct TestCase {
  uint64_t Number = 0; ///< Of the trial.
  std::vector<json::Object> Configs;
  double RawSpeedup = 1;
};

/// With what it is compared, and how.
struct TestSetting {
  Evaluator &E;
  std::vector<double> Weights; ///< Of the instances; add up to 1.
  bool AppCode = false;        ///< The baseline.
  unsigned Rounds = 30;
  double MinEffect = 0; ///< Of a survivor: TunerOptions::MinEffect.
  std::vector<double> LaunchTimeouts; ///< Seconds, one an instance.
  uint64_t &NextId;
  /// Is it to be broken off? Empty: never.
  std::function<bool()> Stop;
};

/// Measures all of \p Cases in turns with the baseline. One that fails does so
/// alone; those that it was broken off for are PairedEvaluation::Interrupted.
/// Error: the evaluator is lost, or the baseline fails.
Expected<std::vector<RetestedTrial>> retest(const TestSetting &S,
                                            ArrayRef<TestCase> Cases);

/// Re-tests all, and confirms the survivor with the highest lower bound in
/// fresh pairs, or the next one if that one does not hold there. \p Cases: the
/// best first.
Expected<FinalTestResult> runFinalTest(const TestSetting &S,
                                       ArrayRef<TestCase> Cases);

/// What each instance loses with the common winner. Of several instances.
std::vector<InstanceRegret> computeRegrets(const FinalTestResult &R,
                                           unsigned NumInstances);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_FINALTEST_H
