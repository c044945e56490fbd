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
/// options without files. A command that does not write what Mneme's compiler
/// writes is empty; then the other member has the reason.
struct PlainSteps {
  std::vector<std::string> Opt, Llc;
  std::string NoOpt, NoLlc;
};

/// Writes the plan's IR as text, with names. Passes depend on the order of
/// uses, which text does not keep: compilations of the text are equal to each
/// other.
Error writeNamedText(const ReplayPlan &Plan, StringRef Path);

/// Writes the IR before the pipeline of \p Plan, with names, as its opt reads
/// it.
Error writePlainInput(const ReplayPlan &Plan, StringRef Path);

/// Returns the commands for \p Plan. Runs both programs.
/// \param Input     file of writePlainInput().
/// \param IR        receives the IR after the pipeline: opt's, or Mneme's.
/// \param Assembly  receives llc's assembly if there is a command; empty: it is
///                  not wanted.
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
