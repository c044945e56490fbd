//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two ways to compile one kernel, compared with each other rather than with
/// the recorded launch: whatever became of the kernel's IR, what one side makes
/// of the recorded memory is what the other one has to make of it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_DIFFERENTIAL_H
#define LLVM_MNEME_REDUCE_DIFFERENTIAL_H

#include "llvm/Mneme/Replay/Capture.h"

namespace llvm {
namespace mneme {

/// What the good side has to leave equal memory under, lest what is compared
/// has no one meaning: CrossChecks.def.
enum class CrossCheck {
#define CROSS_CHECK(NAME, TEXT, DESC) NAME,
#include "llvm/Mneme/Reduce/CrossChecks.def"
};
StringRef getCrossCheckName(CrossCheck C); ///< "fill", ...
/// In words, for "the good side gives another result ...".
StringRef describeCrossCheck(CrossCheck C);
std::vector<CrossCheck> getAllCrossChecks();
/// Names with ',' between them, or "none". Error: quotes what is none.
Expected<std::vector<CrossCheck>> parseCrossChecks(StringRef Text);
std::string printCrossChecks(ArrayRef<CrossCheck> Checks);

enum class Difference {
  None,
  Present,
  Untestable, ///< A side fails, or means nothing.
};
StringRef getDifferenceName(Difference D); ///< "none", ...

struct DifferentialOptions {
  /// By what they are compared: "verify" (memory and verdict), or a metric of
  /// Tune/Metrics.def.
  std::string By = "verify";
  /// How much worse a metric has to be: 0.02 is 2 %. Times are compared by the
  /// end of their ratio's interval.
  double Threshold = 0.02;
  ReplayOptions Good;
  /// The bad side without what is known to make it so; it has to be good.
  std::optional<ReplayOptions> Cured;
  /// The verdict that the bad side has to get; unset: Mismatch, Crash, Timeout.
  /// Does not matter to a metric: then it has to verify.
  std::optional<Verdict> Expected;
  /// CompileError counts, too, where Expected is unset.
  bool AnyFailure = false;
  std::vector<CrossCheck> Checks = getAllCrossChecks();
};

struct DifferentialResult {
  Difference D = Difference::Untestable;
  std::string Reason;     ///< In words.
  ReplayResult Good, Bad; ///< As far as they were run.
  /// What the good side changed: what is expected of the bad one.
  std::vector<MemoryRange> Expectation;
  /// Of a metric, when both are known.
  std::optional<double> GoodValue, BadValue;
  /// Of a metric, bad by good; of a time with its interval.
  std::optional<RatioEstimate> Ratio;
  /// When a cross-check does not pass: which.
  std::optional<CrossCheck> Failed;
};

/// Error: \p By is nothing that can be compared.
Error checkCriterion(StringRef By);

/// Compares the side that \p Bad is with \p O.Good, each in a process of its
/// own, on the memory before the recorded launch. An Error means that neither
/// could be set up; what compilers and kernels do is in the result.
Expected<DifferentialResult> compareSides(const ReplayPlan &Bad,
                                          const DifferentialOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_DIFFERENTIAL_H
