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
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

/// Returns what an execution changes when the executions before it run and none
/// of those after it. Compiles without launching. If the compiler dies or
/// hangs, or a file cannot be written, PassEvidence::Missing is the reason.
/// \param Plan    plan of the configuration, with any run_passes.
/// \param Tries   number of compilations if the pass acts at random.
/// \param Folder  folder for the code; empty: the code is not kept.
PassEvidence makeEvidence(const ReplayPlan &Plan, const PassExecution &E,
                          unsigned Tries, StringRef Folder);

/// The same for a required execution of the pipeline, by the plans of the IR
/// before and after it.
PassEvidence makeStepEvidence(const ReplayPlan &Before, const ReplayPlan &After,
                              const PassExecution &E, StringRef Folder);

/// Start of PassEvidence::Missing if the code was found and not written.
inline constexpr StringLiteral NotKeptPrefix = "not kept: ";

/// Writes \p Text to a file in \p Folder and sets \p File, or else \p NotKept;
/// does nothing if \p Folder is empty.
void keepCode(StringRef Folder, StringRef Name, StringRef Text,
              std::string &File, std::string &NotKept);

/// Compares the code of \p Function, then the rest of IR, or all assembly if
/// the function is the same. Values may be renumbered, and numbers of metadata
/// nodes and attribute groups are joint, as in numberJointly().
std::string diffCode(StringRef Before, StringRef After, StringRef Function,
                     bool IsAssembly);

/// Returns what an execution of the pipeline changes if none of those after it
/// run. Facts are flags, attributes, metadata, alignments, assumptions. Code if
/// the IR before and after cannot be compared.
ChangeKind classifyChange(const ReplayPlan &Plan, const PassExecution &E);

/// Compiles in another process, without launching. The result has the verdict
/// and the compiler's error.
Expected<ReplayResult> compileOnly(const ReplayPlan &Plan);

/// Compiles to IR or assembly in another process and returns the code. Launches
/// nothing. Fails if the compilation does.
/// \param NamedIR  writeNamedIR()'s file, the input if IR is wanted; assembly
///                 is made from the plan's own IR.
/// \param Path     output file; remarks are written to <Path>.yaml.
Expected<std::string> emitCode(const ReplayPlan &Plan, ReplayOptions Options,
                               StringRef NamedIR, bool Assembly,
                               StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_EVIDENCE_H
