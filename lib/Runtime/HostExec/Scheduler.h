//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Warp operations, for the scheduler and the region strategy.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTEXEC_SCHEDULER_H
#define MNEME_LIB_RUNTIME_HOSTEXEC_SCHEDULER_H

#include "llvm/Mneme/Runtime/HostExec.h"

namespace mneme {
namespace host {

/// Performs the operation at which all lanes of \p Group have arrived: sets
/// Result (and Result2) of each.
void executeWarpOp(MnemeHostThread *Warp, uint64_t Group, unsigned WaveSize);

/// Performs a matrix instruction. Ends the launch if \p Group is not a whole
/// warp at one instruction.
void executeMatrixOp(MnemeHostThread *Warp, uint64_t Group);

} // namespace host
} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTEXEC_SCHEDULER_H
