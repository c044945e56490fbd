//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LLVM_MNEME_LIB_BISECT_PLAINCOMMAND_H
#define LLVM_MNEME_LIB_BISECT_PLAINCOMMAND_H

#include "llvm/Mneme/Bisect/Report.h"
#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// Expresses the executions of BisectOutcome::SmallestConfig as a pipeline of
/// LLVM's opt. Runs opt: the command has a Text only if opt wrote the same IR
/// as Mneme's compiler for that configuration, or died as Mneme's compiler did.
/// \param Plan    plan of the command line.
/// \param Folder  folder for the command's input; empty: the input is not kept.
PlainCommand makePlainCommand(const ReplayPlan &Plan, const BisectOutcome &Out,
                              StringRef Folder);

json::Value toJSON(const PlainCommand &C);
void printPlainCommand(raw_ostream &OS, const PlainCommand &C);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_PLAINCOMMAND_H
