//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Proves packages in the application: compares its results with and without
/// them, and measures what they gain there.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_PROVE_H
#define LLVM_MNEME_DEPLOY_PROVE_H

#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <optional>

namespace llvm {
class raw_ostream;
namespace mneme {

struct ProveOptions {
  ApplicationOptions App;
  std::vector<std::string> Packages; ///< Absolute paths.
  ServeSettings Serve;
  /// The --host-finish of the application's own kernels on the host device.
  /// Unset: that of the studies.
  std::optional<HostFinish> Finish;
  unsigned Pairs = 10;      ///< Pairs of runs for the application's time.
  unsigned KernelPairs = 6; ///< Pairs of runs for the kernels' times.
  double Limit = 300; ///< Seconds after which no pair begins, but the first of
                      ///< each kind; 0: none.
  /// No pair begins that would not end before this steadySeconds(); 0: none.
  double Deadline = 0;
  std::function<void(const Twine &)> Say; ///< Progress; may be null.
};

/// A ratio of times, plain to tuned, and the number of pairs of runs.
struct MeasuredSpeedup {
  size_t Pairs = 0;
  /// Unset without pairs.
  std::optional<RatioEstimate> Ratio;
};

/// A variant that the application used.
struct ProvedVariant {
  std::string Kernel, StaticHash, ImageDigest, Package;
  uint64_t Number = 0; ///< Of the variant, from 1.
  uint64_t Served = 0; ///< Launches in one run.
  MeasuredSpeedup Measured;
  /// By the study. If it measured with cold and warm caches, the interval spans
  /// both.
  std::optional<RatioEstimate> Promised;
  bool SpansCaches = false;
  /// On the host device, the share of the measured launches' time in which no
  /// CPU ran any of their threads, of the application's own kernel and of the
  /// variant. Pairs do not cancel it: long launches wait more often.
  double PlainWaiting = 0, TunedWaiting = 0;

  /// Returns true if the measured speed-up is more that of waiting for a CPU
  /// than of the kernel.
  bool isDisturbed() const {
    constexpr double MaxWaiting = 0.25;
    return std::max(PlainWaiting, TunedWaiting) > MaxWaiting;
  }
  /// Returns "yes" if the intervals overlap or are closer than
  /// DefaultMinEffect, "faster" or "slower" if the measured one is beyond the
  /// promised one, or is a slow-down; empty if one is unknown or isDisturbed().
  StringRef agreement() const;
};

struct Proof {
  /// How the results with the packages differ; empty if they are the same.
  std::string Difference;
  bool IsChecked = false; ///< --check judged.
  std::string Ignored;    ///< Lines that were not compared; a regex.
  /// The --host-finish of the application's own kernels; empty on a GPU.
  std::string Finish;
  /// Of the first run with packages, or the first in which nothing was served.
  PackageUse Use;
  MeasuredSpeedup Application;
  std::vector<double> PlainSeconds, TunedSeconds; ///< Of each pair.
  std::vector<ProvedVariant> Variants;

  bool isEqual() const { return Difference.empty(); }
  /// Returns true if the results are the same and launches were served.
  bool holds() const { return isEqual() && Use.Served != 0; }
};

/// Ends after the first run whose results differ, or in which nothing was
/// served. Fails if the application fails without packages, or its results
/// cannot be judged.
Expected<Proof> prove(const ProveOptions &O);

json::Value toJSON(const Proof &P);
void printProof(raw_ostream &OS, const Proof &P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_PROVE_H
