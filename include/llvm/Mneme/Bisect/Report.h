//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a bisection has to say, for programs and for people.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_REPORT_H
#define LLVM_MNEME_BISECT_REPORT_H

#include "llvm/Mneme/Bisect/Bisect.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// A command that shows a side.
struct BisectCommand {
  std::string Name; ///< "good", "bad", "healed", "smallest"
  std::string Text; ///< For a shell.
  std::string What; ///< In words.
  Answer Expected = Answer::Good;
  /// What it gave when it was run; unset: it was not, or never ended.
  std::optional<int> ExitCode;
  std::optional<double> Value; ///< The metric, where its report had it.
  unsigned Runs = 0;           ///< Of a fault that comes at random.

  /// Was it run, and did it show what it is to show? \p Good: the metric of the
  /// good side. One replay is no measurement of times: of these only the exit
  /// code counts.
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

/// What an execution does to its code.
struct PassEvidence {
  unsigned Number = 0;
  bool IsAssembly = false;           ///< Of the code generator.
  std::string BeforeFile, AfterFile; ///< Empty: not kept.
  std::string Diff;    ///< Unified; of the function, if there is one.
  std::string Missing; ///< Why there is none.
  /// Its optimization remarks, YAML without the document's marks.
  std::vector<std::string> Remarks;
};

struct BisectReport {
  std::string Kernel, StaticHash, RecordId, Device;
  Criterion What;
  BisectOutcome Outcome;
  std::vector<BisectCommand> Commands;
  std::vector<PassEvidence> Evidence;
  double Seconds = 0;

  const BisectCommand *findCommand(StringRef Name) const;
};

json::Value toJSON(const Judgement &J);
json::Value toJSON(const BisectReport &R);
void printReport(raw_ostream &OS, const BisectReport &R);

/// Lines that were taken away and added, with \p Context others around them.
/// Texts that differ in too much are only said to differ.
std::string makeDiff(StringRef Before, StringRef After, unsigned Context = 3);

/// The definition of \p Function in the text of a module; empty: not there.
StringRef findFunction(StringRef IR, StringRef Function);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_REPORT_H
