//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The arrays through which the region strategy exchanges values between threads.
/// lib/Device/Host/HostRegion.cpp lays out the same.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_RUNTIME_HOSTEXEC_SCHEDULER_H
#define LLVM_MNEME_LIB_RUNTIME_HOSTEXEC_SCHEDULER_H

#include "llvm/Mneme/Runtime/HostExec.h"

namespace mneme {
namespace host {

/// Operands and results of one operation, by linear thread index. 4-byte values
/// (exchange_shuffle) lie densely at the start of Values and Results.
struct ExchangeArea {
  uint64_t Values[MNEME_HOST_MAX_THREADS];
  uint64_t Results[MNEME_HOST_MAX_THREADS];
  uint32_t B[MNEME_HOST_MAX_THREADS];
  uint32_t C[MNEME_HOST_MAX_THREADS];
  uint32_t Results2[MNEME_HOST_MAX_THREADS];
};

/// Carries out the operation at which all lanes of \p Group have arrived: sets
/// Result (and Result2) of each.
void executeWarpOp(MnemeHostThread *Warp, uint64_t Group, unsigned WaveSize);

} // namespace host
} // namespace mneme

#endif // LLVM_MNEME_LIB_RUNTIME_HOSTEXEC_SCHEDULER_H
