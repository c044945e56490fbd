//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_EVIDENCE_H
#define LLVM_MNEME_LIB_BISECT_EVIDENCE_H

#include "llvm/Mneme/Bisect/Report.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

/// What an execution does where those up to it run, and none behind it. Nothing
/// is launched, and the compiler may die, or not end, or a file cannot be
/// written: that is what is Missing then.
/// \param Plan    of the configuration; run_passes is set here.
/// \param Tries   compilations, of a pass that acts at random.
/// \param Folder  gets the code; empty: it is not kept.
PassEvidence makeEvidence(const ReplayPlan &Plan, const PassExecution &E,
                          unsigned Tries, StringRef Folder);

/// Returns true if an execution of the pipeline only adds facts, or removes
/// them: flags, attributes, metadata, alignments, assumptions. False if its
/// code cannot be shown.
bool addsOnlyFacts(const ReplayPlan &Plan, const PassExecution &E);

/// Compiles in a process of its own, no further than to IR or assembly, and
/// returns that. Nothing is launched.
/// \param NamedIR  writeNamedIR()'s file, which the IR is made from; assembly
///                 is made from the plan's own IR.
/// \param Path     is written; remarks, too: see getRemarksPath().
Expected<std::string> emitCode(const ReplayPlan &Plan, ReplayOptions Options,
                               StringRef NamedIR, bool Assembly,
                               StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_EVIDENCE_H
