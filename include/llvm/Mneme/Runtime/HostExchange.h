//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the threads of a block meet in the region strategy: known to the code
/// that lib/Device/Host/HostRegion.cpp emits and to the executor. C.
///
/// A region is what lies between two sync points; sync point N (from 1) begins
/// region N, and region 0 the kernel. All threads that are to run a region run
/// it in a loop, and leave at their next sync point with its operands in these
/// arrays.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_HOSTEXCHANGE_H
#define LLVM_MNEME_RUNTIME_HOSTEXCHANGE_H

#include "llvm/Mneme/Runtime/HostExec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operands and results of sync points, by linear thread index.
typedef struct MnemeHostExchange {
  /// Of MnemeHostSite::Size bytes each: 4-byte values lie densely.
  uint64_t Values[MNEME_HOST_MAX_THREADS];
  uint64_t Results[MNEME_HOST_MAX_THREADS]; ///< Likewise.
  uint64_t Masks[MNEME_HOST_MAX_THREADS];
  uint32_t B[MNEME_HOST_MAX_THREADS];
  uint32_t C[MNEME_HOST_MAX_THREADS];
  uint32_t Results2[MNEME_HOST_MAX_THREADS];
  /// Where each thread is, as MnemeHostState; only kept when they may part.
  uint8_t State[MNEME_HOST_MAX_THREADS];
  uint32_t First; ///< A thread that is to run the region that advance returned.
} MnemeHostExchange;

/// Ordered by what goes first: the smallest state in a block says what to do
/// next.
enum MnemeHostState {
  MNEME_STATE_READY = 0x00,   ///< + region: may run it.
  MNEME_STATE_WARP = 0x40,    ///< + sync point: an operation of the warp.
  MNEME_STATE_BARRIER = 0x80, ///< + sync point: a barrier.
  MNEME_STATE_EXIT = 0xff,
};
#define MNEME_HOST_MAX_SITES 63u

enum MnemeHostSiteFlags {
  MNEME_SITE_FIXED = 1, ///< B and C are here; else they lie in the arrays.
  MNEME_SITE_MASKED =
      2, ///< The masks lie in the array; else they name all lanes.
  MNEME_SITE_RESULT2 = 4, ///< Results2 is read.
};

/// A sync point, as far as it is the same for all threads.
typedef struct MnemeHostSite {
  uint8_t Op; ///< MnemeHostOp.
  uint8_t Mode;
  uint8_t Size;  ///< Bytes of a value, 4 or 8.
  uint8_t Flags; ///< MnemeHostSiteFlags.
  uint16_t B;
  uint16_t C;
} MnemeHostSite;

/// All \p NumThreads threads are at \p Site: sets their results.
void __mneme_host_exchange(MnemeHostExchange *A, uint32_t NumThreads,
                           const MnemeHostSite *Site, uint32_t WaveSize);

/// Threads are where State says; \p Sites holds all sync points, by number,
/// from 0 (not used). Resolves the next sync point.
/// \returns the region to run, by the threads in state READY + region, or
/// MNEME_STATE_EXIT when all threads have ended.
uint32_t __mneme_host_advance(MnemeHostExchange *A, uint32_t NumThreads,
                              const MnemeHostSite *Sites, uint32_t WaveSize);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_HOSTEXCHANGE_H
