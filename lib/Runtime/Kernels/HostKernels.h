//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory kernels as functions on this machine. Each call does the work of
/// one thread, mneme_kernel_thread. The threads of a grid may be called in any
/// order and from several OS threads.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_KERNELS_HOSTKERNELS_H
#define MNEME_LIB_RUNTIME_KERNELS_HOSTKERNELS_H

#include "llvm/Mneme/Runtime/MemoryKernels.h"

/// Indices in dimension x, the only one that the kernels use.
typedef struct {
  uint32_t Block, NumBlocks;
  uint32_t Thread, NumThreads; ///< In the block.
} MnemeKernelThread;

extern "C" {
extern thread_local MnemeKernelThread mneme_kernel_thread;

void mneme_compare(const MnemeComparePart *Parts, const uint64_t *FirstTile,
                   uint64_t NumParts, MnemeCompareResult *Results);
void mneme_diff(const MnemeDiffPart *Parts, const uint64_t *FirstTile,
                uint64_t NumParts, uint8_t *Flags);
void mneme_copy(const MnemeCopyPart *Parts, const uint64_t *FirstTile,
                uint64_t NumParts);
void mneme_clock(MnemeClockSample *Samples, uint64_t Ticks);
}

#endif // MNEME_LIB_RUNTIME_KERNELS_HOSTKERNELS_H
