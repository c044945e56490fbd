//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of llvm-mneme-tune: options, what is tuned (Recording.cpp), what
/// is searched (Space.cpp), what verification notices (Verification.cpp), the
/// study (Study.cpp), what it leaves (Files.cpp) and says of the winner's code
/// (Instructions.cpp).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TOOLS_TUNE_H
#define LLVM_MNEME_TOOLS_TUNE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Report/Export.h"
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/Mneme/Tune/Tuner.h"
#include <atomic>

namespace llvm {
namespace mneme {

enum class TuneMode {
  Run,
  Worker, ///< Evaluate for the study that has started the process.
  PrintStudy,
  PrintSpace,
  DryRun,
  ListSamplers,
  ListPresets,
  ListExports,
  ListDevices,
};

/// What the user wants; one field an option or so.
struct TuneOptions {
  TuneMode Mode = TuneMode::Run;

  std::string Database;
  std::vector<std::string> RecordIds;
  bool AllInstances = false;
  StringMap<double> InstanceWeights; ///< By record id.

  std::string Preset, StudyFile;
  bool AllowPrograms = false; ///< In files.
  CommandLineSpace Space;

  std::string Sampler;
  bool SamplerGiven = false, SeedGiven = false;
  TunerOptions Tuner; ///< But for the sampler and interrupts.

  ReplayOptions Replay;
  std::string ReplayText; ///< ReplayFlags::describe().
  std::string AppDigest;  ///< Of the file Replay.App; empty: there is none.
  FarmResources Resources;
  std::vector<WorkerCommand> Workers;
  std::string ToolPath; ///< Of this program.

  std::string ResultsDir; ///< Empty: by the kernel's name.
  bool Resume = false;
  bool Repair = false; ///< The journal.
  struct Export {
    std::string Format, Path; ///< An empty path: in the results.
  };
  std::vector<Export> Exports;
  bool Report = true, Quiet = false, JSON = false;
  bool Assess = true;        ///< Plant faults first.
  bool AllowVacuous = false; ///< Launches whose verification proves nothing.
  /// The tool and its arguments, for a message.
  std::string CommandName;
};

/// Adds examples and exit codes to --help.
void addHelp(int Argc, const char *const *Argv);
/// Registers the options; then reads them.
void registerOptions();
Expected<TuneOptions> readOptions(StringRef ToolPath);

/// A kernel and those of its recorded launches that are tuned.
struct TunedKernel {
  std::string File; ///< <static hash>.json.
  RecordedKernel Kernel;
  std::vector<RecordedInstance> Instances;
  std::vector<double> Weights;

  std::vector<std::string> recordIds() const;
};
Expected<TunedKernel> chooseRecording(TuneOptions &O);

/// The study by preset, file and options.
Expected<Study> makeStudy(const TuneOptions &O);
/// Bound to each of the instances.
Expected<std::vector<std::unique_ptr<SearchSpace>>>
bindStudy(const Study &S, const TunedKernel &K);
/// Does LLVM know the passes, and the options of the default point?
Error checkSpaces(const TuneOptions &O, const SearchSpace &Space,
                  const KernelCompiler &Compiler);
/// Also when there are none: why.
Error printPresets(raw_ostream &OS);
Error printStudyText(raw_ostream &OS, const Study &S);
/// Empty where this build has no texts of studies.
std::string getStudyText(const Study &S);
void printSpace(raw_ostream &OS, const SearchSpace &Space);
/// What would be tried first.
Error printFirstPoints(raw_ostream &OS, const TuneOptions &O,
                       const SearchSpace &Space);

/// What must be the same for a study to go on (JournalHeader::Identity).
json::Object makeIdentity(const TuneOptions &O, const TunedKernel &K,
                          const SearchSpace &Space);

/// \returns the exit code.
Expected<int> runStudy(TuneOptions O);

/// Looks at what verification is worth. Error: nothing, and the user has not
/// allowed that.
Expected<StudyVerification>
checkVerification(const TuneOptions &O, const TunedKernel &K, ReplayFarm &Farm,
                  const std::atomic<int> &Interrupts);

/// Is there a winner, and is it code of an NVIDIA GPU? Only of what ran: not
/// where a study on the host asks for no GPU's code.
bool canCountInstructions(const ReplayPlan &Plan, bool OnHost,
                          const StudyRecord &R);
/// Compiles baseline and winner once more, in this process, and counts their
/// instructions in \p R. Errors: why they cannot be counted; then none are.
Error countInstructions(const ReplayPlan &Plan, StudyRecord &R);

/// Makes the folder; fails if it holds a study that is not to be resumed.
Error prepareResults(const TuneOptions &O, StringRef Dir);
/// Everything but the journal; \returns what was written.
Expected<std::vector<std::string>> writeResults(const TuneOptions &O,
                                                StringRef Dir,
                                                const StudyRecord &R);

/// Of these summary.json and the report alone.
Error writeSummary(const TuneOptions &O, StringRef Dir, const StudyRecord &R);

/// "llvm-mneme-tune: warning: ..." on standard error.
void printWarning(const Twine &Text);
/// The same of what is only good to know.
void printNote(const Twine &Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_TUNE_H
