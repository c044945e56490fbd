//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of llvm-mneme-tune: options, recordings (Recording.cpp), search
/// space (Space.cpp), verification (Verification.cpp), the study (Study.cpp),
/// its files (Files.cpp), and instruction counts of the winner
/// (Instructions.cpp).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TOOLS_TUNE_H
#define LLVM_MNEME_TOOLS_TUNE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Deploy/ApplicationJudge.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Process/ToolMain.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Report/Export.h"
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/Mneme/Tune/Tuner.h"
#include <atomic>

namespace llvm {
namespace mneme {

enum class TuneMode {
  Run,
  Worker, ///< Evaluate for the study that started the process.
  PrintStudy,
  PrintSpace,
  DryRun,
  ListSamplers,
  ListPresets,
  ListExports,
  ListDevices,
};

/// The command line; about one field per option.
struct TuneOptions {
  TuneMode Mode = TuneMode::Run;

  std::string Database;
  std::vector<std::string> RecordIds;
  bool AllInstances = false;
  bool AllKernels = false;
  bool OfApplication = false; ///< The study is one of several: print less.
  /// With AllKernels, what to record, unless there is a recording, and to prove.
  std::optional<ApplicationOptions> Application;
  ServeSettings Serve; ///< As the options of an exported package.
  StringMap<double> InstanceWeights; ///< By record id.

  std::string Preset, StudyFile;
  bool AllowPrograms = false; ///< Allow them in files.
  CommandLineSpace Space;
  /// Why another grid or block could not be packed: the space has none then.
  std::string NeedsLaunch;

  std::string Sampler;
  bool SamplerGiven = false, SeedGiven = false;
  std::vector<std::string> WarmFrom; ///< Folders with earlier studies.
  std::string StudyStore;            ///< The user's; empty: none.
  double Budget = 0;  ///< Seconds of the whole run; 0: no limit.
  TunerOptions Tuner; ///< Except for the sampler, deadline, interrupts, and
                      ///< the share of the bound.
  std::optional<double> SolStop; ///< TunerOptions::SolStop, if given.

  /// The application, if it judges results instead of a comparison of memory.
  /// Replay.Verify is then false.
  std::optional<ApplicationOptions> Judge;
  ReplayOptions Replay;
  std::string ReplayText; ///< ReplayFlags::describe().
  std::string AppDigest;  ///< Of the file Replay.App; empty if none.
  StringMap<std::string> Controls; ///< FarmOptions::Controls.
  FarmResources Resources;
  std::vector<WorkerCommand> Workers;
  std::string Engine; ///< "ray", "dask", or empty.
  /// Options of the engine's worker and of servers on its nodes.
  std::vector<std::string> EngineOptions, ServeOptions;
  std::string ToolPath; ///< Path of this program.

  std::string ResultsDir; ///< Empty: named after the kernel.
  bool Resume = false;
  bool Repair = false; ///< Repair the journal.
  struct Export {
    std::string Format, Path; ///< Empty path: into the results folder.
  };
  std::vector<Export> Exports;
  PackOptions Pack; ///< Of an exported package.
  bool Report = true, Quiet = false, JSON = false;
  bool Assess = true;        ///< Plant faults before the search.
  bool AllowVacuous = false; ///< Allow launches whose verification is vacuous.
  /// The tool and its arguments, for a message.
  std::string CommandName;
};

/// Returns examples and exit codes for --help.
ArrayRef<CommandHelp> getHelp();
/// registerOptions() registers the options, and returns their categories;
/// readOptions() reads their values.
std::vector<const cl::OptionCategory *> registerOptions();
/// Removes the words of the application that judges. Call it before parsing
/// \p Arguments.
void takeApplication(SmallVectorImpl<const char *> &Arguments);
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
/// Reads all kernels of a recording, without their selected launches.
Expected<std::vector<TunedKernel>> readKernels(StringRef Path);

/// Makes the study from preset, file and options. Fails if NeedsLaunch leaves
/// nothing to search.
Expected<Study> makeStudy(const TuneOptions &O);
/// Reads the controls files that the study names, so that a file that changes
/// later changes no trial.
Expected<StringMap<std::string>> readControls(const Study &S);
/// Binds the study to each of the instances.
Expected<std::vector<std::unique_ptr<SearchSpace>>>
bindStudy(const Study &S, const TunedKernel &K);
/// Checks the passes, and the options of the default point, with LLVM.
Error checkSpaces(const TuneOptions &O, const SearchSpace &Space,
                  const KernelCompiler &Compiler);
/// Prints the presets; fails with the reason if there are none.
Error printPresets(raw_ostream &OS);
Error printStudyText(raw_ostream &OS, const Study &S);
/// Returns an empty text if this build has no textual studies.
std::string getStudyText(const Study &S);
void printSpace(raw_ostream &OS, const SearchSpace &Space);
/// Prints the points that would be tried first.
Error printFirstPoints(raw_ostream &OS, const TuneOptions &O,
                       const SearchSpace &Space);

/// Returns the properties that a resumed study must share
/// (JournalHeader::Identity).
json::Object makeIdentity(const TuneOptions &O, const TunedKernel &K,
                          const SearchSpace &Space);

/// What a study found, for its application.
struct StudyResult {
  int ExitCode = 0;
  uint64_t Trials = 0;
  double SearchSeconds = 0;
  bool IsExhausted = false; ///< No trial is left.
  bool IsOutOfTime = false; ///< Its time was used up.
  /// The search's estimate of the best trial's speed-up, 1 if nothing was
  /// faster; unset if time is no objective.
  std::optional<double> Best;
  /// Of the winner, in the re-test; unset without a winner. The interval spans
  /// cold and warm caches if both were measured: the application's kernels find
  /// some of their data in the cache.
  std::optional<RatioEstimate> Speedup;
  bool IsPackaged = false;
  std::string NoPackage; ///< Why the winner could not be packed.
};
Expected<StudyResult> runStudy(TuneOptions O);
/// Tunes all kernels of a recording; \returns the exit code.
Expected<int> tuneAllKernels(TuneOptions O);

/// Returns the first of the user's devices; empty for "auto" and "none".
StringRef getNamedDevice(const TuneOptions &O);

/// Returns a symbol with characters replaced that are unsuitable in file names.
std::string makeFileName(StringRef Kernel);

/// Launches for which an empty kernel would verify.
class VacuousLaunches : public ErrorInfo<VacuousLaunches> {
public:
  static char ID;
  VacuousLaunches(std::vector<std::string> Ids, std::string Why)
      : Ids(std::move(Ids)), Why(std::move(Why)) {}
  std::vector<std::string> Ids; ///< Dynamic hashes.
  std::string Why;              ///< Of the first one.

  void log(raw_ostream &OS) const override {
    OS << "launch " << Ids.front() << ": " << Why
       << "; tune another launch, or allow this one with --allow-vacuous";
  }
  std::error_code convertToErrorCode() const override {
    return inconvertibleErrorCode();
  }
};

/// Determines how much verification can catch. Fails with VacuousLaunches,
/// unless the user has allowed them.
Expected<StudyVerification>
checkVerification(const TuneOptions &O, const TunedKernel &K, ReplayFarm &Farm,
                  const std::atomic<int> &Interrupts);

/// Returns true if there is a winner whose code is for an NVIDIA GPU. Counts
/// only code that ran: a study on the host may have no GPU code.
bool canCountInstructions(const ReplayPlan &Plan, bool OnHost,
                          const StudyRecord &R);
/// Compiles baseline and winner in this process and stores their instruction
/// counts in \p R. On failure, no counts are stored.
Error countInstructions(const ReplayPlan &Plan, StudyRecord &R);

/// Writes the winner to the package \p Path, for the recorded launches of
/// \p Plans. Keeps the other kernels of a file that the user names. Fails with
/// a PackRefusal if the winner cannot be packed.
Error writeWinner(const TuneOptions &O, StringRef Dir,
                  ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                  const StudyRecord &R, StringRef Path);

/// Creates the folder; fails if it holds a study and --resume was not given.
/// Makes the folder \p Dir for results, unless it is something else, or
/// \p Check has something against what it holds.
Error makeResultsFolder(const TuneOptions &O, StringRef Dir,
                        function_ref<Error()> Check);
Error prepareResults(const TuneOptions &O, StringRef Dir);
/// Writes all files except the journal; \returns their names.
Expected<std::vector<std::string>> writeResults(const TuneOptions &O,
                                                StringRef Dir,
                                                const StudyRecord &R);

/// Writes only summary.json and the report.
Error writeSummary(const TuneOptions &O, StringRef Dir, const StudyRecord &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_TUNE_H
