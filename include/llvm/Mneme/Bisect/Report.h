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
  /// "good", "bad", "healed", "smallest", "rewrite", "no_rewrite"
  std::string Name;
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
  unsigned Number = 0;               ///< 0: of a required execution.
  bool IsAssembly = false;           ///< In the code generator.
  std::string BeforeFile, AfterFile; ///< Empty if not kept.
  /// The code itself, for other tools. Not part of the JSON.
  std::string BeforeText, AfterText;
  std::string Diff;    ///< Unified diff, of the function if there is one.
  std::string Missing; ///< Why there is no diff.
  /// Its optimization remarks in YAML, without document markers.
  std::vector<std::string> Remarks;
};

/// The verdict of Alive2 (https://github.com/AliveToolkit/alive2) on one step
/// of the pipeline.
struct AliveCheck {
  enum ResultKind {
    Undecided, ///< Not supported, approximated, or over its time limit.
    Correct,   ///< With bounded loops.
    Incorrect,
  };
  unsigned Number = 0;    ///< Of the execution.
  bool IsRewrite = false; ///< Only of its blamed rewrite.
  ResultKind Result = Undecided;
  std::string Text; ///< The counterexample, or why it is undecided.
};

/// A command that shows the fault without Mneme: LLVM's opt makes the IR of
/// BisectOutcome::SmallestConfig.
struct PlainCommand {
  std::string Text;      ///< For a shell; empty: see Missing.
  std::string Missing;   ///< Why there is no command.
  std::string InputFile; ///< The IR that the command reads; empty: not kept.
  /// The same with only the blamed rewrite, if that gives the IR of
  /// BlamedRewrite::BadConfig; may be empty.
  std::string RewriteText;
};

/// The result of a bisection and its evidence.
struct BisectReport {
  std::string Kernel, StaticHash, RecordId, Device;
  bool IsForAMD = false; ///< The kernel is one for AMD GPUs.
  Criterion What;
  BisectOutcome Outcome;
  std::vector<BisectCommand> Commands;
  std::vector<PassEvidence> Evidence;
  /// Whether the recorded kernel reads local or shared memory that it has not
  /// written (ReplayResult). Unset: not known.
  std::optional<bool> ReadsUninitialized;
  /// The code without and with each of Outcome.Rewrites.
  std::vector<PassEvidence> RewriteEvidence;
  std::vector<AliveCheck> Alive;
  /// Unset: no passes were found.
  std::optional<PlainCommand> Plain;
  std::optional<PTXAnswer> PTX; ///< If ptxas is to blame.
  double Seconds = 0;

  const BisectCommand *findCommand(StringRef Name) const;
  /// Returns true if all commands showed the expected result.
  bool isConfirmed() const;
  /// Returns true if a command showed the opposite of what was expected.
  bool isContradicted() const;
};

json::Value toJSON(const Judgement &J);
json::Value toJSON(const BisectReport &R);
void printReport(raw_ostream &OS, const BisectReport &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_REPORT_H
