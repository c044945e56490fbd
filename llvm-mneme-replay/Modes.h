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
struct DifferentialResult;
struct FarmResources;
class JudgeFlags;

/// Category of the tool's general options. Other options are in an OptionGroup
/// (Replay/CommandFlags.h).
cl::OptionCategory &getReplayCategory();

/// The subcommands. Options of several subcommands are in llvm-mneme-replay.cpp
/// or Reduce.cpp.
cl::SubCommand &getAssessCommand();
cl::SubCommand &getBisectCommand();
cl::SubCommand &getCompareCommand();
cl::SubCommand &getListPassesCommand();
cl::SubCommand &getReduceCommand();
cl::SubCommand &getServeCommand();

/// The good side: a text for parseSide() (Bisect/Settings.h), applied on top of
/// the command line. Empty: the bad side without any pass that can be skipped.
extern cl::opt<std::string> GoodSide;
/// The criterion by which the bad side is bad.
extern cl::opt<std::string> CriterionText;
/// Returns how much worse than the good side counts as bad: 0.02 is 2 %.
Expected<double> readThreshold();
/// Returns the options of a bisection that let the application judge.
JudgeFlags &getJudgeFlags();
/// Reads --workers and --compile-jobs.
Error readProcessCounts(FarmResources &R);
/// Returns the value of --allow-programs.
bool allowsPrograms();
/// The bad side of a bisection or comparison, in the same form. Empty: the
/// command line.
extern cl::opt<std::string> BadSide;
/// Folder for files that a bisection or reduction writes; may be empty.
extern cl::opt<std::string> OutputFolder;

/// Returns the exit code that --exit-code assigns to a replay with exit code
/// \p Code (getExitCode()) and verdict \p V.
int translateExitCode(int Code, Verdict V);
/// Returns the exit code if nothing could be replayed.
int getErrorExitCode();

/// \p Database is the plan's database, \p Args all words of the command line.
Expected<int> runAssess(const ReplayPlan &Plan, StringRef Database, bool Text);
Expected<int> runBisect(const ReplayPlan &Plan, StringRef Database,
                        ToolArgs Args, bool Text);
Expected<int> runCompare(const ReplayPlan &Plan, bool Text);
Expected<int> runListPasses(const ReplayPlan &Plan, bool Text);
/// Returns true for `serve --describe`, which needs no recording.
bool isServeDescribed();
Expected<int> printServeTables();
Expected<int> runServe(StringRef Database, ReplayOptions Replay);
Expected<int> runReduce(const ReplayPlan &Plan, const char *Argv0, bool Text);

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
