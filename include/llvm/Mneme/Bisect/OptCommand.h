//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A command of LLVM's opt for a pipeline of Mneme's compiler.
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

/// Writes \p M as text that the plan's opt can read, which may be of an older
/// LLVM.
Error writeReadableIR(const ReplayPlan &Plan, const Module &M, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_OPTCOMMAND_H
