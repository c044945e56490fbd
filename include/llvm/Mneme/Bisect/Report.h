//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The report of a bisection, for programs and users.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_REPORT_H
#define LLVM_MNEME_BISECT_REPORT_H

#include "llvm/Mneme/Bisect/PTXSearch.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// A command that reproduces a side.
struct BisectCommand {
  std::string Name; ///< "good", "bad", "healed", "smallest"
  std::string Text; ///< For a shell.
  std::string What; ///< Description.
  Answer Expected = Answer::Good;
  /// Exit code of a test run; unset: not run, or it did not end.
  std::optional<int> ExitCode;
  std::optional<double> Value; ///< The metric, if the command's report contains
                               ///< it.
  unsigned Runs = 0;           ///< Number of runs for a random fault.

  /// Returns true if the command ran and showed the expected result. \p Good is
  /// the metric of the good side. For times, only the exit code counts, since
  /// one replay is not a measurement.
  bool shows(const Criterion &What, std::optional<double> Good) const {
    if (!ExitCode)
      return false;
    if (What.isVerify())
      return *ExitCode == (Expected == Answer::Good ? 0 : 2);
    if (Value && Good && !What.isTime())
      return What.isWorse(*Value, *Good) == (Expected == Answer::Bad);
    return *ExitCode == 0;
  }
};

/// The effect of a pass execution on its code.
struct PassEvidence {
  unsigned Number = 0;
  bool IsAssembly = false;           ///< In the code generator.
  std::string BeforeFile, AfterFile; ///< Empty if not kept.
  std::string Diff;    ///< Unified diff, of the function if there is one.
  std::string Missing; ///< Why there is no diff.
  /// Its optimization remarks in YAML, without document markers.
  std::vector<std::string> Remarks;
};

/// The result of a bisection and its evidence.
struct BisectReport {
  std::string Kernel, StaticHash, RecordId, Device;
  Criterion What;
  BisectOutcome Outcome;
  std::vector<BisectCommand> Commands;
  std::vector<PassEvidence> Evidence;
  std::optional<PTXAnswer> PTX; ///< If ptxas is to blame.
  double Seconds = 0;

  const BisectCommand *findCommand(StringRef Name) const;
};

json::Value toJSON(const Judgement &J);
json::Value toJSON(const BisectReport &R);
void printReport(raw_ostream &OS, const BisectReport &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_REPORT_H
