//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// bisect --over: finds the first bad compiler.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_TOOL_OVER_H
#define LLVM_MNEME_REPLAY_TOOL_OVER_H

#include "llvm/Mneme/Bisect/ReplayBisect.h"

namespace llvm {
namespace mneme {

/// Returns true if --over is given.
bool isBisectedOverCompilers();
/// Returns the names of the options of --over, which a replay does not have.
std::vector<StringRef> getOverOptions();
/// Fails if such an option is given without --over.
Error checkOverOptions();
/// \param O  the sides are not used: --good and --bad name compilers.
Expected<int> runBisectOver(const ReplayPlan &Plan,
                            const ReplayBisectOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_TOOL_OVER_H
