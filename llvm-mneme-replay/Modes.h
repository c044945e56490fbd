//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What llvm-mneme-replay does besides one replay, and the options that several
/// of these share.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_TOOL_MODES_H
#define LLVM_MNEME_REPLAY_TOOL_MODES_H

#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"

namespace llvm {
namespace mneme {
struct DifferentialResult;

/// The tool's general options. The others are in an OptionGroup
/// (Replay/CommandFlags.h).
cl::OptionCategory &getReplayCategory();

/// What the tool does besides one replay. Options of several of them are in
/// llvm-mneme-replay.cpp or Reduce.cpp.
cl::SubCommand &getAssessCommand();
cl::SubCommand &getBisectCommand();
cl::SubCommand &getCompareCommand();
cl::SubCommand &getListPassesCommand();
cl::SubCommand &getReduceCommand();

/// The good side: a text for parseSide() (Bisect/Settings.h), on top of the
/// command line. Empty: no pass that can be skipped runs.
extern cl::opt<std::string> GoodSide;
/// What makes the bad side bad.
extern cl::opt<std::string> CriterionText;
/// How much worse than the good side is bad: 0.02 is 2 %.
Expected<double> readThreshold();
/// --allow-programs.
bool allowsPrograms();
/// The bad side of a bisection or a comparison, likewise. Empty: the command
/// line.
extern cl::opt<std::string> BadSide;
/// For what a bisection or a reduction writes; may be empty.
extern cl::opt<std::string> OutputFolder;

/// --exit-code: what an exit code means to who has called.
/// Of a replay that gives \p Code (getExitCode()).
int translateExitCode(int Code, Verdict V);
/// When nothing could be replayed at all.
int getErrorExitCode();

/// \p Database: the plan's; \p Args: all words of the command line.
Expected<int> runAssess(const ReplayPlan &Plan, StringRef Database, bool Text);
Expected<int> runBisect(const ReplayPlan &Plan, StringRef Database,
                        ArrayRef<const char *> Args, bool Text);
Expected<int> runCompare(const ReplayPlan &Plan, bool Text);
Expected<int> runListPasses(const ReplayPlan &Plan, bool Text);
Expected<int> runReduce(const ReplayPlan &Plan, const char *Argv0, bool Text);

/// Whether a comparison shows the code of both sides: --side-by-side or --html;
/// on standard output: --side-by-side.
bool isCodeShown();
bool isCodePrinted();
/// Shows it after a comparison with the result \p R.
Error showCode(const ReplayPlan &Good, const ReplayPlan &Bad,
               const DifferentialResult &R);

/// Whether several replays are wanted: --all, or --passes more than once.
bool isTableWanted();
/// Lets --passes be repeated. Call it before the command line is parsed.
void collectPipelines();
/// Replays launches of the recording at \p Path under each pipeline. \p File:
/// --config, which \p O has.
Expected<int> runTable(StringRef Path, ReplayOptions O,
                       const std::optional<ConfigFile> &File, bool Text);
/// Adds examples and exit codes to --help. Call it before the command line is
/// parsed.
void addHelp(int Argc, const char *const *Argv);

/// Lists those of LLVM's own options that print how code is made among the
/// tool's. Call it before the command line is parsed.
void showLLVMPrinters();
/// What was asked for of those and the tool's own instruments. LLVM's are as if
/// they had not been given from then on.
InstrumentOptions takeInstruments();

/// \p Args with a subcommand for the option that did its job before there were
/// subcommands: --bisect=time becomes bisect --criterion=time. Error: several
/// subcommands.
Expected<SmallVector<const char *, 0>>
replaceOldOptions(ArrayRef<const char *> Args, StringSaver &Saver);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_TOOL_MODES_H
