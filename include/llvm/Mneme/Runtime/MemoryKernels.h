//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface of the GPU kernels that process recorded memory in place
/// (lib/Runtime/Kernels): they compare memory, find changed pages, and copy
/// many ranges in one launch. Shared by those kernels, the replay device and
/// the recording runtime: C, no LLVM, no STL.
///
/// Each kernel takes a table of parts. The parts are divided into tiles of
/// MNEME_KERNEL_TILE bytes; FirstTile[I] is the number of tiles in the parts
/// before part I, and FirstTile[NumParts] the total. Any grid size works, since
/// the waves of all blocks take tiles in turn. Launches are one-dimensional
/// with blocks of MNEME_KERNEL_BLOCK threads.
///
///   mneme_compare(const MnemeComparePart *, const uint64_t *FirstTile,
///                 uint64_t NumParts, MnemeCompareResult *)
///   mneme_diff(const MnemeDiffPart *, const uint64_t *FirstTile,
///              uint64_t NumParts, uint8_t *Flags)
///   mneme_copy(const MnemeCopyPart *, const uint64_t *FirstTile,
///              uint64_t NumParts)
///   mneme_clock(MnemeClockSample Samples[2], uint64_t Ticks)
///   mneme_clear_shared(uint64_t Bytes)
///
/// mneme_clock takes no table and runs with one thread: it samples the clocks
/// at a tick of the timer, spins for \p Ticks ticks, and samples again.
/// mneme_clear_shared takes no table either: each block zeroes the dynamic
/// shared memory of its launch.
///
/// The best grid has as many blocks as can be resident on the device (eight per
/// multiprocessor suffice), but not more than there are tiles. All parts
/// together must be smaller than 15 TiB.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_MEMORYKERNELS_H
#define LLVM_MNEME_RUNTIME_MEMORYKERNELS_H

#include <stdint.h>

#define MNEME_KERNEL_TILE (1u << 12) /* MNEME_SNAPSHOT_PAGE */
#define MNEME_KERNEL_BLOCK 256u

#define MNEME_KERNEL_COMPARE "mneme_compare"
#define MNEME_KERNEL_DIFF "mneme_diff"
#define MNEME_KERNEL_COPY "mneme_copy"
#define MNEME_KERNEL_CLOCK "mneme_clock"
#define MNEME_KERNEL_CLEAR_SHARED "mneme_clear_shared"

/// Two ranges of equal size, compared under one rule
/// (llvm/Mneme/Replay/Compare.h). A tail shorter than an element is compared as
/// bytes. Comparison is fastest if both addresses are equal modulo 16 and
/// multiples of the element size.
typedef struct {
  uint64_t Expected; ///< Device addresses.
  uint64_t Actual;
  uint64_t Size;      ///< Bytes.
  double Value;       ///< The largest allowed error.
  uint32_t DType;     ///< MNEME_DTYPE_*.
  uint32_t Tolerance; ///< MNEME_TOLERANCE_*.
  uint32_t ForbidNaN; ///< A NaN is a mismatch even if a NaN was recorded.
  uint32_t Reserved;
} MnemeComparePart;

/// Initialized by the caller: First to UINT64_MAX, all else to zero. Elements
/// are counted as in CompareStats.
typedef struct {
  uint64_t Differences; ///< Elements whose bits differ.
  uint64_t Mismatches;  ///< Elements out of tolerance.
  uint64_t First;       ///< Index of the first mismatch.
  /// The largest errors of differing elements, as bits of non-negative doubles,
  /// which are ordered like integers.
  uint64_t MaxAbs, MaxRel, MaxUlp;
} MnemeCompareResult;

/// Finds differing pages of MNEME_SNAPSHOT_PAGE bytes, relative to the start of
/// the part: sets Flags[FirstFlag + page] to 1, otherwise to 0.
typedef struct {
  uint64_t A;
  uint64_t B; ///< 0: compare with zeros.
  uint64_t Size;
  uint64_t FirstFlag;
} MnemeDiffPart;

/// Ranges must not overlap.
typedef struct {
  uint64_t To;
  uint64_t From;
  uint64_t Size;
} MnemeCopyPart;

typedef struct {
  uint64_t Time;   ///< Ticks of the device timer; nanoseconds on NVIDIA.
  uint64_t Cycles; ///< Cycles of the multiprocessor clock.
} MnemeClockSample;

#endif // LLVM_MNEME_RUNTIME_MEMORYKERNELS_H
