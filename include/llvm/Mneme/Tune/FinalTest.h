//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Re-tests the best trials of a search in interleaved rounds with the
/// baseline. The best of many noisy measurements is mostly luck; the re-test
/// removes this selection bias.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_FINALTEST_H
#define LLVM_MNEME_TUNE_FINALTEST_H

#include "llvm/Mneme/Study/Evaluator.h"
#include "llvm/Mneme/Study/Outcome.h"
#include <functional>

namespace llvm {
namespace mneme {

/// A candidate: one configuration per instance.
struct TestCase {
  uint64_t Number = 0; ///< Number of the trial.
  std::vector<json::Object> Configs;
  double RawSpeedup = 1;
};

/// The parameters of a re-test.
struct TestSetting {
  Evaluator &E;
  std::vector<double> Weights; ///< Weights of the instances; they add up to 1.
  bool AppCode = false;        ///< The baseline is the application's machine
                               ///< code.
  unsigned Rounds = 30;
  double MinEffect = 0;               ///< Minimum effect of a survivor:
                                      ///< TunerOptions::MinEffect.
  std::vector<double> LaunchTimeouts; ///< Seconds, one per instance.
  uint64_t &NextId;
  /// Returns true to interrupt the test. Empty: never.
  std::function<bool()> Stop;
  /// The other state of the cache, in which a confirmed winner is measured,
  /// too. Empty: none.
  std::string OtherCache = {};
  bool InOtherCache = false; ///< Measure in it.
  bool ReadCounters = false; ///< Also compare hardware counters.
  /// The steadySeconds() after which no further candidate is confirmed; 0:
  /// none.
  double Deadline = 0;

  /// Returns the launches of a re-test of \p Cases candidates with one
  /// confirmation, relative to Rounds.
  unsigned countLaunches(unsigned Cases) const;
};

/// Measures all of \p Cases in interleaved rounds with the baseline. A failed
/// candidate does not affect the others. Candidates skipped after an interrupt
/// have the failure PairedEvaluation::Interrupted. Fails if the evaluator is
/// lost or the baseline fails.
Expected<std::vector<RetestedTrial>> retest(const TestSetting &S,
                                            ArrayRef<TestCase> Cases);

/// Re-tests all candidates. Then confirms the survivor with the highest lower
/// bound in fresh pairs, or else the next one. \p Cases are sorted, best first.
Expected<FinalTestResult> runFinalTest(const TestSetting &S,
                                       ArrayRef<TestCase> Cases);

/// Computes the loss of each instance with the common winner, for studies of
/// several instances.
std::vector<InstanceRegret> computeRegrets(const FinalTestResult &R,
                                           unsigned NumInstances);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_FINALTEST_H
