//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the output files of a study (docs/StudyFiles): the best
/// configuration, the report, and formats of other tools (Exports.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPORT_EXPORT_H
#define LLVM_MNEME_REPORT_EXPORT_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Study/Outcome.h"
#include <functional>

namespace llvm {
class raw_ostream;
namespace mneme {

/// How much verification of a study's candidates can detect.
struct StudyVerification {
  std::string Text; ///< "caught 9 of 10 planted faults; ..."; may be empty.
  /// How the results of the application's own code vary, and are compared;
  /// empty if they do not vary.
  std::string Envelope;
  /// The bound of the first launch, and how close times are to it; empty if
  /// unknown.
  std::string Bound;
  json::Array Launches; ///< One object per launch; empty if not assessed.
  std::vector<std::string> Vacuous; ///< Ids of launches without any
                                    ///< verification power.
};

/// The winner of a search, and what it was measured on.
struct WinnerRecord {
  ArrayRef<Trial> Trials; ///< By number; running trials do not count.
  const StudyOutcome &Outcome;
  std::string Kernel = {};        ///< The symbol.
  std::string DemangledName = {}; ///< May be empty.
  std::string StaticHash = {};
  std::string Arch = {};     ///< "sm_90"
  std::string OptLevel = {}; ///< The application's -O.
  /// Objects with "record_id", "grid", "block" and "shared_mem".
  json::Array Launches = {};
  std::string Device = {}; ///< Description.
  /// Name of the winner's GPU, "NVIDIA H200"; empty if unknown. Unset: the
  /// winner was measured on the host device.
  std::optional<std::string> GPU = {};
  json::Object Toolchain = {}; ///< "mneme", "llvm", "ptxas", ...
  /// The settings of all replays, which those of trials change, and their other
  /// options (makeResultOptions()).
  json::Object Base = {}, Options = {};
  /// Launches that were made to test a source, by recorded launch: objects with
  /// "record_id", "launches" and "arguments".
  json::Array Tested = {};
  StringMap<std::string> Controls = {}; ///< FarmOptions::Controls.
  bool IsJudgedByApp = false;  ///< Results were not compared with memory.
  /// The most lenient level at which results were compared.
  CompareLevel Level = CompareLevel::Exact;

  /// Sets the kernel, its launches and the toolchain.
  void setRecording(const RecordedKernel &K,
                    ArrayRef<RecordedInstance> Instances);
  const Trial *findTrial(uint64_t Number) const;
  /// Returns the settings of replays with the configuration of a trial.
  json::Object withBase(const json::Object &Config) const;
  /// The same for a file, which contains the controls of ptxas.
  json::Object withControls(const json::Object &Config) const;
  /// Returns the trial Outcome.winner(), or null.
  const Trial *winner() const;
};

/// All data needed to write the files of a study.
struct StudyRecord : WinnerRecord {
  const SearchSpace &Space;
  std::string Name = {}; ///< As in the journal.
  std::string Sampler = {};
  uint64_t Seed = 0;
  std::string StudyText = {}; ///< May be empty.
  /// The pipeline of configurations without "passes".
  std::string RecordedPipeline = {};
  json::Object Farm = {}; ///< FarmStatistics; may be empty.
  StudyVerification Verification = {};
  /// Limitations of the results in words, for example that times of a CPU do
  /// not apply to GPUs.
  std::vector<std::string> Caveats = {};
  /// Machine instructions by kind, if counted, of the baseline and the winner.
  std::map<std::string, uint64_t> BaselineInstructions = {},
                                  BestInstructions = {};

  /// Commands that replay the winner: with best.json, and without a file. The
  /// second one is empty without a winner.
  std::string ReplayCommand = {}, FullReplayCommand = {};

  /// Writes the winner as a package of tuned kernels; may be empty.
  std::function<Error(StringRef Path)> WritePackage = {};
};

/// Writes \p Path atomically. Fails if the format is unknown (lists all
/// formats) or missing in this build, or cannot represent the study.
Error exportStudy(StringRef Format, const StudyRecord &R, StringRef Path);
/// Returns the file extension of a format, such as "csv" for "csv"; unset if
/// there is no such format.
std::optional<StringRef> getExportExtension(StringRef Format);
/// Returns true if the format contains only the winner.
bool exportsOnlyWinner(StringRef Format);
/// Prints one line per format: its name, two spaces and a description.
void listExports(raw_ostream &OS);

/// Returns best.json: the configuration for llvm-mneme-replay --config and the
/// expected results. Without a winner, the configuration is empty: as recorded.
json::Object makeBest(const WinnerRecord &R);
Error writeBest(const WinnerRecord &R, StringRef Path);

/// Writes a self-contained HTML page.
Error writeReport(const StudyRecord &R, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPORT_EXPORT_H
