//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares two compilations of a kernel with each other instead of with the
/// recorded launch. Whatever changes the kernel's IR has undergone, both sides
/// must produce the same result from the recorded memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_DIFFERENTIAL_H
#define LLVM_MNEME_REDUCE_DIFFERENTIAL_H

#include "llvm/Mneme/Replay/Capture.h"
#include "llvm/Mneme/Replay/Metrics.h"

namespace llvm {
namespace mneme {

/// Variations under which the good side must leave the same memory; otherwise
/// its result is ambiguous and cannot be compared: CrossChecks.def.
enum class CrossCheck {
#define CROSS_CHECK(NAME, TEXT, DESC) NAME,
#include "llvm/Mneme/Reduce/CrossChecks.def"
};
StringRef getCrossCheckName(CrossCheck C); ///< "fill", ...
/// Returns the end of "the good side gives another result ...".
StringRef describeCrossCheck(CrossCheck C);
std::vector<CrossCheck> getAllCrossChecks();
/// Parses comma-separated names or "none". Errors quote the invalid name.
Expected<std::vector<CrossCheck>> parseCrossChecks(StringRef Text);
std::string printCrossChecks(ArrayRef<CrossCheck> Checks);

/// Whether two sides differ.
enum class Difference {
  None,
  Present,
  Untestable, ///< A side fails, or its result is ambiguous.
};
StringRef getDifferenceName(Difference D); ///< "none", ...

/// Options of compareSides().
struct DifferentialOptions {
  /// The criterion: "verify" (memory and verdict), or a metric of
  /// Config/Metrics.def.
  std::string By = "verify";
  /// Minimum relative deterioration of a metric: 0.02 is 2 %. For times, the
  /// confidence interval of the ratio must exceed it.
  double Threshold = 0.02;
  ReplayOptions Good;
  /// The bad side without its known culprit; it must be good.
  std::optional<ReplayOptions> Cured;
  /// The required verdict of the bad side; unset: Mismatch, Crash or Timeout.
  /// Ignored for metrics, which require it to verify.
  std::optional<Verdict> Expected;
  /// If Expected is unset, also accept CompileError.
  bool AnyFailure = false;
  std::vector<CrossCheck> Checks = getAllCrossChecks();
  /// Also build the GPU's image on the host device, as metrics of it do.
  bool Resources = false;

  bool wantsResources() const { return Resources || needsResources(By); }
};

/// The result of compareSides().
struct DifferentialResult {
  Difference D = Difference::Untestable;
  std::string Reason;     ///< In words.
  ReplayResult Good, Bad; ///< Unset parts were not run.
  /// The memory that the good side changed: expected from the bad side.
  std::vector<MemoryRange> Expectation;
  /// Values of a metric, if both are known.
  std::optional<double> GoodValue, BadValue;
  /// Bad by good for a metric; for times with interval.
  std::optional<RatioEstimate> Ratio;
  /// The cross-check that failed, if any.
  std::optional<CrossCheck> Failed;
};

/// Fails if \p By is not a valid criterion.
Error checkCriterion(StringRef By);

/// Compares \p Bad with \p O.Good, each in a child process, starting with the
/// memory before the recorded launch. An Error means that neither side could be
/// set up; failures of compilers and kernels are in the result.
Expected<DifferentialResult> compareSides(const ReplayPlan &Bad,
                                          const DifferentialOptions &O);

/// Like compareSides(), but omits cross-checks by another compilation whose
/// fault may be that of the bad side: those that the recorded kernel fails,
/// too, although its good side leaves the recorded memory.
Expected<DifferentialResult> compareWithRecorded(const ReplayPlan &Bad,
                                                 DifferentialOptions O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_DIFFERENTIAL_H
