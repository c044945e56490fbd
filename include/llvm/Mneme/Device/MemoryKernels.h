//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface of the kernels that work on recorded memory where it is, on a
/// GPU (lib/Device/Kernels): comparing, finding changed pages, copying many
/// ranges in one launch. Shared by those kernels, the replay device and the
/// recording runtime, so: C, no LLVM, no STL.
///
/// Each kernel takes a table of parts. The parts are cut into tiles of
/// MNEME_KERNEL_TILE bytes; FirstTile[I] counts the tiles of the parts before
/// part I, and FirstTile[NumParts] all of them. Any grid will do: the waves of
/// all blocks take tiles in turn. One dimension; blocks of MNEME_KERNEL_BLOCK
/// threads.
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
/// mneme_clock is for one thread, not for a table of parts: it samples the
/// clocks at a tick of the timer, spins for so many ticks and samples again.
/// mneme_clear_shared takes no table either: each block zeroes the dynamic shared
/// memory that it was launched with.
///
/// As many blocks as the device can hold of them at once are best, for which
/// eight for each multiprocessor will do, but not more than there are tiles.
/// All parts together are smaller than 15 TiB.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_MEMORYKERNELS_H
#define LLVM_MNEME_DEVICE_MEMORYKERNELS_H

#include <stdint.h>

#define MNEME_KERNEL_TILE (1u << 12) /* MNEME_SNAPSHOT_PAGE */
#define MNEME_KERNEL_BLOCK 256u

#define MNEME_KERNEL_COMPARE "mneme_compare"
#define MNEME_KERNEL_DIFF "mneme_diff"
#define MNEME_KERNEL_COPY "mneme_copy"
#define MNEME_KERNEL_CLOCK "mneme_clock"
#define MNEME_KERNEL_CLEAR_SHARED "mneme_clear_shared"

/// Two ranges of equal size that are compared under one rule
/// (llvm/Mneme/Replay/Compare.h). A tail shorter than an element is compared as
/// bytes. Ranges whose addresses are equal modulo 16, and multiples of the
/// element's size, are compared fastest.
typedef struct {
  uint64_t Expected; ///< Device addresses.
  uint64_t Actual;
  uint64_t Size;      ///< Bytes.
  double Value;       ///< The largest error allowed.
  uint32_t DType;     ///< MNEME_DTYPE_*.
  uint32_t Tolerance; ///< MNEME_TOLERANCE_*.
  uint32_t ForbidNaN; ///< A NaN is a mismatch even where one was recorded.
  uint32_t Reserved;
} MnemeComparePart;

/// Zeroed by the caller, but for First, which starts as UINT64_MAX. Elements
/// are counted as in CompareStats.
typedef struct {
  uint64_t Differences; ///< Elements whose bits differ.
  uint64_t Mismatches;  ///< Elements out of tolerance.
  uint64_t First;       ///< Index of the first mismatch.
  /// Bits of non-negative doubles, which order as integers: the largest errors
  /// over differing elements.
  uint64_t MaxAbs, MaxRel, MaxUlp;
} MnemeCompareResult;

/// Finds pages of MNEME_SNAPSHOT_PAGE bytes, counted from the beginning of the
/// part, that differ: Flags[FirstFlag + page] becomes 1, else 0.
typedef struct {
  uint64_t A;
  uint64_t B; ///< 0: compare with zeros.
  uint64_t Size;
  uint64_t FirstFlag;
} MnemeDiffPart;

/// Ranges do not overlap.
typedef struct {
  uint64_t To;
  uint64_t From;
  uint64_t Size;
} MnemeCopyPart;

typedef struct {
  uint64_t Time;   ///< Ticks of the device's timer; nanoseconds on NVIDIA.
  uint64_t Cycles; ///< Of the multiprocessor's clock.
} MnemeClockSample;

#endif // LLVM_MNEME_DEVICE_MEMORYKERNELS_H
