//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The subcommands of llvm-mneme-replay, and the options that several of them
/// share.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_TOOL_MODES_H
#define LLVM_MNEME_REPLAY_TOOL_MODES_H

#include "llvm/Mneme/Process/ToolMain.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {
enum class Difference;
struct DifferentialOptions;
struct DifferentialResult;
struct FarmResources;
struct ReproducerOptions;
class JudgeFlags;

/// Category of the tool's general options. Other options are in an OptionGroup
/// (Replay/CommandFlags.h).
cl::OptionCategory &getReplayCategory();

/// The subcommands. Options of several subcommands are in SharedOptions.cpp,
/// those that a plain replay has, too, in llvm-mneme-replay.cpp.
cl::SubCommand &getAssessCommand();
cl::SubCommand &getBisectCommand();
cl::SubCommand &getCompareCommand();
cl::SubCommand &getGuardCommand();
cl::SubCommand &getListPassesCommand();
cl::SubCommand &getReduceCommand();
cl::SubCommand &getServeCommand();
cl::SubCommand &getWriteReproducerCommand();

/// The good side: a text for parseSide() (Bisect/Settings.h), applied on top of
/// the command line. Empty: the bad side without any pass that can be skipped.
extern cl::opt<std::string> GoodSide;
/// The bad side of a bisection or comparison, in the same form. Empty: the
/// command line.
extern cl::opt<std::string> BadSide;
/// The criterion by which the bad side is bad.
extern cl::opt<std::string> CriterionText;
/// Pass executions without which the bad side must be good.
extern cl::opt<std::string> Culprit;
/// Variations under which the good side must be unchanged.
extern cl::opt<std::string> CrossChecks;
/// Folder for files that a bisection or reduction writes; may be empty.
extern cl::opt<std::string> OutputFolder;
/// Returns how much worse than the good side counts as bad: 0.02 is 2 %.
Expected<double> readThreshold();
/// Returns the options of one side for a launch, on top of \p Base.
Expected<ReplayOptions> makeSide(const cl::opt<std::string> &Side,
                                 StringRef RecordId, ReplayOptions Base);
/// \p Plan is that of the bad side, \p Base the options of the command line.
Expected<DifferentialOptions> readDifference(const ReplayPlan &Plan,
                                             const ReplayOptions &Base);
json::Value makeReport(const DifferentialResult &R);
/// Reads --workers and --compile-jobs.
Error readProcessCounts(FarmResources &R);
/// Returns the options of a bisection that let the application judge.
JudgeFlags &getJudgeFlags();
/// Returns the value of --allow-programs.
bool allowsPrograms();

/// Returns the exit code of a comparison, as --exit-code defines it.
int makeExitCode(Difference D);
/// Returns the exit code that --exit-code assigns to a replay with exit code
/// \p Code (getExitCode()) and verdict \p V.
int translateExitCode(int Code, Verdict V);
/// Returns the exit code if nothing could be replayed.
int getErrorExitCode(const Error &E);

/// The command line of a subcommand, with a plan of the recorded launch.
struct Invocation {
  std::unique_ptr<ReplayPlan> Plan;
  std::string Database;
  ToolArgs Args;
};

/// Return true to print text instead of JSON. Without --format, printsText()
/// does so on a terminal, printsTextByDefault() always.
bool printsText();
bool printsTextByDefault();

Expected<int> runAssess(const Invocation &I);
Expected<int> runBisect(const Invocation &I);
Expected<int> runCompare(const Invocation &I);
Expected<int> runListPasses(const Invocation &I);
Expected<int> runReduce(const Invocation &I);
Expected<int> runWriteReproducer(const Invocation &I);
/// Reads the options of a reproducer, besides its folder.
Error readReproducer(ReproducerOptions &O);
/// Compares the sides of all kernels at \p Paths.
Expected<int> runGuard(ArrayRef<std::string> Paths, ReplayOptions Base,
                       ToolArgs Args);
/// Returns the words of the commands in a bisection's report: the arguments
/// that select the launch, followed by the options in \p Arguments that are
/// neither settings nor options of the bisection.
std::vector<std::string> makeCommonWords(ArrayRef<const char *> Arguments,
                                         StringRef Database,
                                         StringRef RecordId);
/// Returns the options of guard, which a replay does not have.
std::vector<StringRef> getGuardOptions();
/// Returns true for `serve --describe`, which needs no recording.
bool isServeDescribed();
Expected<int> printServeTables();
Expected<int> runServe(StringRef Database, ReplayOptions Replay);

/// isCodeShown() returns true if a comparison shows the code of both sides
/// (--side-by-side or --html), isCodePrinted() if it prints the code to
/// standard output (--side-by-side).
bool isCodeShown();
bool isCodePrinted();
/// Shows the code after a comparison with the result \p R.
Error showCode(const ReplayPlan &Good, const ReplayPlan &Bad,
               const DifferentialResult &R);

/// Returns true for several replays: --all, or --passes more than once.
bool isTableWanted();
/// Lets --passes be repeated. Must be called before the command line is parsed.
void collectPipelines();
/// Replays launches of the recording at \p Path under each pipeline. \p File is
/// the file of --config, whose settings \p O includes.
Expected<int> runTable(StringRef Path, ReplayOptions O,
                       const std::optional<ConfigFile> &File, bool Text);
/// Returns examples and exit codes for --help.
ArrayRef<CommandHelp> getHelp();

/// Lists LLVM's options that print the compilation among the tool's options.
/// Must be called before the command line is parsed.
void showLLVMPrinters();
/// Returns the requested instruments, both LLVM's and the tool's. Resets LLVM's
/// options.
InstrumentOptions takeInstruments();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_TOOL_MODES_H
