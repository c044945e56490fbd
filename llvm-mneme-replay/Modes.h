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

#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Support/CommandLine.h"

namespace llvm {
namespace mneme {

/// The tool's options.
cl::OptionCategory &getReplayCategory();

/// The good side of a bisection or a reduction: a text for parseSide()
/// (Bisect/Settings.h), on top of the command line. Empty: no pass that can be
/// skipped runs.
extern cl::opt<std::string> GoodSide;
/// How much worse than the good side is bad: 0.02 is 2 %.
extern cl::opt<std::string> ThresholdText;
Expected<double> readThreshold();
/// --allow-programs.
bool allowsPrograms();
/// For what a bisection or a reduction writes; may be empty.
extern cl::opt<std::string> OutputFolder;
/// \p Base with what GoodSide or \p Text says.
Expected<ReplayOptions> makeGoodSide(const ReplayOptions &Base,
                                     StringRef Text = GoodSide);

/// --exit-code: what an exit code means to who has called.
/// Of a replay that gives \p Code (getExitCode()).
int translateExitCode(int Code, Verdict V);
/// When nothing could be replayed at all.
int getErrorExitCode();

/// --assess. Unset: it is not given. \p Database: the plan's.
std::optional<Expected<int>> runAssessMode(const ReplayPlan &Plan,
                                           StringRef Database, bool Text);

/// --bisect. Unset: it is not given. \p Database: the plan's; \p Args: all
/// words of the command line.
std::optional<Expected<int>> runBisectMode(const ReplayPlan &Plan,
                                           StringRef Database,
                                           ArrayRef<const char *> Args,
                                           bool Text);

/// --differs-from, --reduce. Unset: neither is given.
std::optional<Expected<int>> runReduceModes(const ReplayPlan &Plan,
                                            const char *Argv0, bool Text);

/// Lists those of LLVM's own options that print how code is made among the
/// tool's. Call it before the command line is parsed.
void showLLVMPrinters();
/// What was asked for of those and the tool's own instruments. LLVM's are as if
/// they had not been given from then on.
InstrumentOptions takeInstruments();
/// An Error if there are any; \p Mode, an option, does many replays or none.
Error refuseInstruments(const InstrumentOptions &I, StringRef Mode);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_TOOL_MODES_H
