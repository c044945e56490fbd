//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the recorded kernels that one compiler makes worse or wrong and
/// another does not. Kernels are first compiled by both, without a device;
/// only those whose code differs are replayed, and only those that became worse
/// or wrong are bisected.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_GUARD_H
#define LLVM_MNEME_BISECT_GUARD_H

#include "llvm/Mneme/Bisect/ReplayBisect.h"

namespace llvm {
namespace mneme {

struct GuardOptions {
  /// JSON files of kernels (findRecordings()).
  std::vector<std::string> Files;
  /// Options of both sides.
  ReplayOptions Base;
  /// Sides for parseSide().
  std::string Good, Bad;
  bool AllowPrograms = false; ///< For files that the sides name.
  /// In order of severity: of a kernel, the first one that is worse is
  /// bisected.
  std::vector<Criterion> Criteria;
  /// Times are measured on the host device, too.
  bool TimesOnHost = false;
  FarmResources Resources;
  bool Bisects = true;
  double Budget = 0;   ///< Seconds for all bisections; 0: no limit.
  std::string Output;  ///< Folder for reports of bisections; may be empty.
  std::string Program; ///< As in ReplayBisectOptions.
  std::function<std::vector<std::string>(StringRef File, StringRef RecordId)>
      MakeCommonWords;
  std::function<void(const Twine &)> Status;
};

/// A kernel that became worse or wrong.
struct Regression {
  std::string Metric; ///< "verify", "compile" or a metric of Metrics.def.
  std::string RecordId;
  /// Verdicts of "verify" and "compile".
  std::string GoodVerdict, BadVerdict;
  double GoodValue = 0, BadValue = 0; ///< Values of a metric.
  std::optional<RatioEstimate> Ratio; ///< Bad by good, of times.
  std::string Error;                  ///< Of the bad side.
  bool IsKnown = false;               ///< Accepted by an earlier report.
  /// The result of the bisection; empty: not bisected, or nothing was found.
  std::string Cause, Pass, Function;
  std::string NoCause; ///< Why there is no cause; empty if not bisected.
  std::string Report;  ///< Folder; empty: none.

  bool isMetric() const { return Metric != "verify" && Metric != "compile"; }
};

struct GuardedKernel {
  std::string File, Name, StaticHash;
  enum CodeTy { Same, Different, Missing } Code = Missing;
  /// Why the sides cannot be compared; empty if they can.
  std::string Undecided;
  std::vector<Regression> Regressions; ///< In order of severity.

  bool isWorse() const {
    return any_of(Regressions, [](const auto &R) { return !R.IsKnown; });
  }
};

struct GuardReport {
  std::string Good, Bad; ///< The sides.
  std::vector<GuardedKernel> Kernels;
  std::vector<std::string> Warnings;
  double ScreenSeconds = 0, ReplaySeconds = 0, BisectSeconds = 0;

  size_t count(function_ref<bool(const GuardedKernel &)> Is) const {
    return count_if(Kernels, Is);
  }
};

/// Returns the kernels' files at \p Path: a kernel's file, a recording, or a
/// folder of recordings.
Expected<std::vector<std::string>> findRecordings(StringRef Path);

/// Compares both sides of all kernels. Call it in a process with one thread
/// that has not used a GPU. Fails if a side is invalid or compiles no kernel
/// because it cannot be set up.
/// \param Accepted  called for each regression before bisection; returns true
/// if it is known. May be null.
Expected<GuardReport> guardCompiler(
    const GuardOptions &O,
    function_ref<bool(const GuardedKernel &, const Regression &)> Accepted);

/// The regressions that an earlier report has.
class AcceptedRegressions {
public:
  /// Reads a report in JSON. Errors name the file.
  static Expected<AcceptedRegressions> read(StringRef Path);
  /// Returns true for a regression of the report that is not worse now, by the
  /// threshold of its criterion.
  bool contains(const GuardedKernel &K, const Regression &R,
                ArrayRef<Criterion> Criteria) const;

private:
  /// By static hash and metric.
  std::multimap<std::pair<std::string, std::string>, json::Value> BadSides;
};

json::Value toJSON(const GuardReport &R);
void printReport(raw_ostream &OS, const GuardReport &R);
/// Prints one test for each kernel.
void printJUnit(raw_ostream &OS, const GuardReport &R);
/// Returns a log in SARIF 2.1.0 (OASIS) with a result for each regression;
/// known ones are suppressed. The properties of a result are those of toJSON().
json::Value toSARIF(const GuardReport &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_GUARD_H
