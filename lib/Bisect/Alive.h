//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LLVM_MNEME_LIB_BISECT_ALIVE_H
#define LLVM_MNEME_LIB_BISECT_ALIVE_H

#include "llvm/Mneme/Bisect/Report.h"

namespace llvm {
namespace mneme {

/// Checks with Alive2's translation validator what a pass execution, or one of
/// its rewrites, did to its function.
/// \param Program   path of alive-tv.
/// \param Evidence  the code before and after \p E, or one of its rewrites.
AliveCheck runAlive(StringRef Program, const PassExecution &E,
                    const PassEvidence &Evidence);

/// Interprets alive-tv's output for one function.
/// \param ExitCode  unset: alive-tv died of a signal.
void parseAliveOutput(StringRef Output, std::optional<int> ExitCode,
                      AliveCheck &C);

json::Value toJSON(const AliveCheck &C);
void printAlive(raw_ostream &OS, const AliveCheck &C);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_ALIVE_H
