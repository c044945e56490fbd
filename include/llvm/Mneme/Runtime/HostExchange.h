//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exchange of values between the threads of a block in the region strategy.
/// Used by the code that lib/Device/Host/HostRegion.cpp emits and by the
/// executor. C only.
///
/// A region is the code between two sync points. Sync point N (from 1) begins
/// region N; region 0 begins with the kernel. A loop runs a region for all its
/// threads, which end it at their next sync point and store its operands in
/// these arrays.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_HOSTEXCHANGE_H
#define LLVM_MNEME_RUNTIME_HOSTEXCHANGE_H

#include "llvm/Mneme/Runtime/HostExec.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operands and results of sync points, indexed by linear thread id.
typedef struct MnemeHostExchange {
  /// MnemeHostSite::Size bytes each; 4-byte values are contiguous.
  uint64_t Values[MNEME_HOST_MAX_THREADS];
  uint64_t Results[MNEME_HOST_MAX_THREADS]; ///< Same layout.
  uint64_t Masks[MNEME_HOST_MAX_THREADS];
  uint32_t B[MNEME_HOST_MAX_THREADS];
  uint32_t C[MNEME_HOST_MAX_THREADS];
  uint32_t Results2[MNEME_HOST_MAX_THREADS];
  /// MnemeHostState of each thread; only maintained if threads can diverge.
  uint8_t State[MNEME_HOST_MAX_THREADS];
  uint32_t First; ///< A thread in the region that advance returned.
} MnemeHostExchange;

/// Ordered by priority: the smallest state in a block determines the next step.
enum MnemeHostState {
  MNEME_STATE_READY = 0x00,   ///< + region: can run it.
  MNEME_STATE_WARP = 0x40,    ///< + sync point: waits in an operation of the
                              ///< warp.
  MNEME_STATE_BARRIER = 0x80, ///< + sync point: waits at a barrier.
  MNEME_STATE_EXIT = 0xff,
};
#define MNEME_HOST_MAX_SITES 63u

enum MnemeHostSiteFlags {
  MNEME_SITE_FIXED = 1, ///< B and C are in MnemeHostSite, else in the arrays.
  /// Masks are in the array; otherwise all lanes participate.
  MNEME_SITE_MASKED = 2,
  MNEME_SITE_RESULT2 = 4, ///< Results2 is read.
};

/// The properties of a sync point that all threads share.
typedef struct MnemeHostSite {
  uint8_t Op; ///< MnemeHostOp.
  uint8_t Mode;
  uint8_t Size;  ///< Bytes of a value, 4 or 8.
  uint8_t Flags; ///< MnemeHostSiteFlags.
  uint16_t B;
  uint16_t C;
} MnemeHostSite;

/// Sets the results of all \p NumThreads threads, which are at \p Site.
void __mneme_host_exchange(MnemeHostExchange *A, uint32_t NumThreads,
                           const MnemeHostSite *Site, uint32_t WaveSize);

/// Resolves the next sync point for threads in the given states. \p Sites
/// contains all sync points by number; element 0 is unused.
/// \returns the region to run for the threads in state READY + region, or
/// MNEME_STATE_EXIT if all threads have ended.
uint32_t __mneme_host_advance(MnemeHostExchange *A, uint32_t NumThreads,
                              const MnemeHostSite *Sites, uint32_t WaveSize);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_HOSTEXCHANGE_H
