//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Files that are made of a study (docs/StudyFiles): the best configuration,
/// the report, and formats of other tools (Exports.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_EXPORT_H
#define LLVM_MNEME_TUNE_EXPORT_H

#include "llvm/Mneme/Tune/Outcome.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// How much the verification of a study's candidates notices.
struct StudyVerification {
  std::string Text;     ///< "caught 9 of 10 planted faults; ..."; may be empty.
  json::Array Launches; ///< An object each; empty if not assessed.
  std::vector<std::string> Vacuous; ///< Ids of launches that prove nothing.
};

/// All that is known of a study when its files are written.
struct StudyRecord {
  const SearchSpace &Space;
  ArrayRef<Trial> Trials; ///< By number; those that are running do not count.
  const StudyOutcome &Outcome;
  std::string Name = {};          ///< As in the journal.
  std::string Kernel = {};        ///< The symbol.
  std::string DemangledName = {}; ///< May be empty.
  std::string StaticHash = {};
  std::string Device = {};      ///< In words.
  json::Object Toolchain = {};  ///< "mneme", "llvm", "ptxas", ...
  std::string Sampler = {};
  uint64_t Seed = 0;
  std::string StudyText = {}; ///< May be empty.
  /// The pipeline of a configuration that names none.
  std::string RecordedPipeline = {};
  json::Object Farm = {}; ///< FarmStatistics; may be empty.
  StudyVerification Verification = {};
  /// What limits the results, in words: that a CPU's times are no GPU's.
  std::vector<std::string> Caveats = {};
  /// Machine instructions by kind, if somebody counted; of the baseline and of
  /// the winner.
  std::map<std::string, uint64_t> BaselineInstructions = {},
                                  BestInstructions = {};

  const Trial *findTrial(uint64_t Number) const;
  /// Outcome.winner(); null: nothing is better than the baseline.
  const Trial *winner() const;
};

/// Writes \p Path, whole or not at all. Errors: no such format (with those that
/// there are), one that this build does not have, a study that the format
/// cannot hold.
Error exportStudy(StringRef Format, const StudyRecord &R, StringRef Path);
/// "csv" for "csv"; unset: there is no such format.
std::optional<StringRef> getExportExtension(StringRef Format);
/// Is there nothing to write without a winner?
bool exportsOnlyWinner(StringRef Format);
/// One line each: the name, two spaces, what it is.
void listExports(raw_ostream &OS);

/// best.json: what llvm-mneme-replay --config replays, and what is expected
/// then. Without a winner the configuration is empty: as recorded.
json::Object makeBest(const StudyRecord &R);
Error writeBest(const StudyRecord &R, StringRef Path);

/// A page that needs nothing but a browser.
Error writeReport(const StudyRecord &R, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_EXPORT_H
