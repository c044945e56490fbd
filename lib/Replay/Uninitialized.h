//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_UNINITIALIZED_H
#define LLVM_MNEME_LIB_REPLAY_UNINITIALIZED_H

#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// Replays the recorded kernel of \p Plan twice, as the application's compiler
/// made it, in separate processes, with different values in uninitialized
/// memory (Transforms/Fill.h). Sets \p Result.ReadsUninitialized and extends
/// the error message.
void checkInitialization(const ReplayPlan &Plan, ReplayResult &Result);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_UNINITIALIZED_H
