//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Commands of LLVM's opt and llc for what Mneme's compiler does.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_OPTCOMMAND_H
#define LLVM_MNEME_BISECT_OPTCOMMAND_H

#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// Returns "opt -passes=... | llc ..." for the pipeline of \p Plan. Runs opt:
/// fails unless it writes the IR that Mneme's compiler makes of \p Input.
/// \param Input  a file of IR that the plan can compile.
/// \param Name   of that file in the command.
Expected<std::string> makeOptCommand(const ReplayPlan &Plan, StringRef Input,
                                     StringRef Name);

/// The commands of LLVM's own programs for a compilation, as program and
/// options without files.
struct PlainSteps {
  std::vector<std::string> Opt, Llc;
  std::string NoLlc; ///< Why Llc is empty.
};

/// Writes the plan's IR as text, with names. Passes depend on the order of
/// uses, which text does not keep: compilations of the text are equal to each
/// other.
Error writeNamedText(const ReplayPlan &Plan, StringRef Path);

/// Writes the IR before the pipeline of \p Plan, with names, as its opt reads
/// it.
Error writePlainInput(const ReplayPlan &Plan, StringRef Path);

/// Returns the commands for \p Plan. Runs both programs: fails unless opt
/// writes the IR that Mneme's compiler makes; Llc is empty if llc writes other
/// assembly.
/// \param Input     file of writePlainInput().
/// \param IR        receives opt's output.
/// \param Assembly  receives that of the Llc; empty: it is not wanted.
Expected<PlainSteps> makePlainSteps(const ReplayPlan &Plan, StringRef Input,
                                    StringRef IR, StringRef Assembly);

/// Returns the name of a program of Mneme's own LLVM for commands, or its path
/// if it is not in PATH.
Expected<std::string> findPlainTool(StringRef Name);

/// Writes \p M as text that the plan's opt can read, which may be of an older
/// LLVM.
Error writeReadableIR(const ReplayPlan &Plan, const Module &M, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_OPTCOMMAND_H
