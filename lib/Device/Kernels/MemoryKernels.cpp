//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of llvm/Mneme/Device/MemoryKernels.h, freestanding. They wait for
// memory and for nothing else: no barriers and no shared memory. A wave takes a
// page of a tile at a time, its lanes 16-byte words that lie side by side, each
// with several loads under way.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Device/MemoryKernels.h"
#include "GPU.h"
#include "llvm/Mneme/Device/CompareElement.h"

#if !MNEME_ON_GPU
thread_local MnemeKernelThread mneme_kernel_thread;
#endif

using namespace gpu;
using namespace llvm::mneme;

/// What a wave does at once.
static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
static constexpr uint64_t WordSize = sizeof(Word128);
/// Words of a page that a lane loads before it looks at the first: as many as
/// it has of one, up to eight, which four blocks have registers for.
static constexpr unsigned InFlight =
    Page / WordSize / MaxLanes < 8 ? Page / WordSize / MaxLanes : 8;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

template <typename T> static GlobalPtr<T> at(uint64_t Address) {
  return reinterpret_cast<GlobalPtr<T>>(Address);
}

/// What is read here is not read again soon.
static Word128 loadWord(uint64_t Address) {
#if MNEME_ON_GPU
  return __builtin_nontemporal_load(at<const Word128>(Address));
#else
  return *at<const Word128>(Address);
#endif
}

static uint64_t min(uint64_t A, uint64_t B) { return A < B ? A : B; }
static uint64_t max(uint64_t A, uint64_t B) { return A > B ? A : B; }

namespace {
/// A range of offsets that a wave works on, cut into a head and a tail and the
/// words between them. Words are aligned when the address at offset 0 is.
struct Words {
  uint64_t Begin, End; ///< Of the words; the head ends and the tail begins.

  Words(uint64_t Lo, uint64_t Hi)
      : Begin(min((Lo + WordSize - 1) / WordSize * WordSize, Hi)),
        End(max(Hi / WordSize * WordSize, Begin)) {}
};
} // namespace

/// The part that \p Tile belongs to; not before \p Part.
static uint64_t findPart(const uint64_t *FirstTile, uint64_t NumParts,
                         uint64_t Part, uint64_t Tile) {
  if (Tile < FirstTile[Part + 1])
    return Part;
  uint64_t End = NumParts;
  // FirstTile[Part] <= Tile < FirstTile[End]
  while (End - Part > 1) {
    uint64_t Middle = Part + (End - Part) / 2;
    if (FirstTile[Middle] <= Tile)
      Part = Middle;
    else
      End = Middle;
  }
  return Part;
}

/// Calls \p Work(Lo, Hi) for the pages that this wave has to do of a tile.
/// Offsets count from \p Shift bytes before the part, so that pages are aligned
/// as well as they can be; what this moves behind the last tile is left to it.
template <typename F>
static void forPages(uint64_t Tile, uint64_t NumTiles, uint64_t Size,
                     uint64_t Shift, F Work) {
  uint64_t Begin = Tile * MNEME_KERNEL_TILE;
  uint64_t End =
      Tile + 1 == NumTiles ? Size + Shift : Begin + MNEME_KERNEL_TILE;
  uint32_t Wave = thread() / numLanes(), NumWaves = numThreads() / numLanes();
  for (uint64_t P = Begin + Wave * Page; P < End; P += NumWaves * Page)
    Work(max(P, Shift), min(P + Page, End));
}

/// Whether this lane finds a difference in its share of the page at \p A, which
/// is aligned. \p B may be 0: then A is compared with zeros.
template <bool WithZeros> static bool pageDiffers(uint64_t A, uint64_t B) {
  constexpr unsigned Unroll = WithZeros ? InFlight : InFlight / 2;
  const uint64_t Step = numLanes() * WordSize;
  Word128 Difference = {};
  A += lane() * WordSize;
  B += lane() * WordSize;
  for (uint64_t I = 0; I != Page; I += Unroll * Step) {
    Word128 X[Unroll], Y[Unroll];
#pragma unroll
    for (unsigned U = 0; U != Unroll; ++U) {
      X[U] = loadWord(A + I + U * Step);
      Y[U] = WithZeros ? Word128{} : loadWord(B + I + U * Step);
    }
#pragma unroll
    for (unsigned U = 0; U != Unroll; ++U)
      Difference |= X[U] ^ Y[U];
  }
  return (Difference[0] | Difference[1]) != 0;
}

/// The same for the words in [\p Begin, \p End), which are mostly a page.
template <bool WithZeros>
static bool wordsDiffer(uint64_t A, uint64_t B, uint64_t Begin, uint64_t End) {
  if (End - Begin == Page)
    return pageDiffers<WithZeros>(A + Begin, B + Begin);
  Word128 Difference = {};
#pragma nounroll
  for (uint64_t I = Begin + lane() * WordSize; I < End;
       I += numLanes() * WordSize)
    Difference |= loadWord(A + I) ^ (WithZeros ? Word128{} : loadWord(B + I));
  return (Difference[0] | Difference[1]) != 0;
}

/// The same, bytewise.
template <bool WithZeros>
static bool bytesDiffer(uint64_t A, uint64_t B, uint64_t Begin, uint64_t End) {
  bool Differ = false;
#pragma nounroll
  for (uint64_t I = Begin + lane(); I < End; I += numLanes())
    Differ |= *at<const uint8_t>(A + I) !=
              (WithZeros ? 0 : *at<const uint8_t>(B + I));
  return Differ;
}

#ifndef MNEME_WITHOUT_COMPARE
//===----------------------------------------------------------------------===//
// mneme_compare
//===----------------------------------------------------------------------===//

namespace {
/// What one lane has found in one part.
struct Findings {
  uint64_t Differences = 0, Mismatches = 0, First = UINT64_MAX;
  /// Bits of doubles.
  uint64_t MaxAbs = 0, MaxRel = 0, MaxUlp = 0;

  void addMismatch(uint64_t Index) {
    ++Mismatches;
    First = min(First, Index);
  }
};
} // namespace

static uint64_t loadElementBits(uint64_t Address, unsigned SizeLog2) {
  uint64_t Size = uint64_t(1) << SizeLog2;
  if (Address % Size == 0) {
    switch (SizeLog2) {
    case 3:
      return *at<const uint64_t>(Address);
    case 2:
      return *at<const uint32_t>(Address);
    case 1:
      return *at<const uint16_t>(Address);
    default:
      return *at<const uint8_t>(Address);
    }
  }
  uint64_t Bits = 0;
  for (uint64_t I = 0; I != Size; ++I)
    Bits |= uint64_t(*at<const uint8_t>(Address + I)) << (8 * I);
  return Bits;
}

static bool looksForNaN(const MnemeComparePart &P) {
  return P.ForbidNaN && isFloatDType(P.DType);
}

static void maxBits(uint64_t &Max, double V) {
  Max = max(Max, __builtin_bit_cast(uint64_t, V));
}

/// Compares elements at the offsets \p Begin, \p Begin + \p Step, ... of the
/// part that begin before \p End.
static void compareElements(const MnemeComparePart &P, Findings &Found,
                            uint64_t Begin, uint64_t End, uint64_t Step) {
  unsigned SizeLog2 = getDTypeSizeLog2(P.DType);
  bool ForbidNaN = looksForNaN(P);
#pragma nounroll
  for (uint64_t I = Begin; I < End; I += Step) {
    uint64_t X = loadElementBits(P.Expected + I, SizeLog2);
    uint64_t Y = loadElementBits(P.Actual + I, SizeLog2);
    bool Differs = X != Y;
    if (!Differs && !ForbidNaN)
      continue;
    Found.Differences += Differs;
    if (P.DType == MNEME_DTYPE_BYTES) {
      Found.addMismatch(I);
      continue;
    }
    CompareElement Expected = makeElement(X, P.DType);
    CompareElement Actual = makeElement(Y, P.DType);
    bool NaN = ForbidNaN && (Expected.IsNaN || Actual.IsNaN);
    if (!Differs && !NaN)
      continue;
    ElementError Error = getElementError(Expected, Actual, ForbidNaN);
    maxBits(Found.MaxAbs, Error.Abs);
    maxBits(Found.MaxRel, Error.Rel);
    maxBits(Found.MaxUlp, Error.Ulp);
    if (NaN || !isWithinTolerance(Error, P.Tolerance, P.Value))
      Found.addMismatch(I >> SizeLog2);
  }
}

// What looks at elements is rarely called, and is no part of its callers, so
// that what it needs does not take registers from those that wait for memory.

/// Compares this lane's words in [\p Begin, \p End) of the part.
[[gnu::noinline]] static void compareWords(const MnemeComparePart &P,
                                           Findings &Found, uint64_t Begin,
                                           uint64_t End) {
  Findings Mine = Found; // in registers
#pragma nounroll
  for (uint64_t I = Begin + lane() * WordSize; I < End;
       I += numLanes() * WordSize)
    compareElements(P, Mine, I, I + WordSize,
                    uint64_t(1) << getDTypeSizeLog2(P.DType));
  Found = Mine;
}

/// Compares all of [\p Lo, \p Hi) of the part, elements and the tail of bytes,
/// lanes taking turns.
[[gnu::noinline]] static void compareRange(const MnemeComparePart &P,
                                           Findings &Found, uint64_t Lo,
                                           uint64_t Hi) {
  unsigned SizeLog2 = getDTypeSizeLog2(P.DType);
  uint64_t Count = P.Size >> SizeLog2, Whole = Count << SizeLog2;
  compareElements(P, Found, Lo + (uint64_t(lane()) << SizeLog2), min(Hi, Whole),
                  uint64_t(numLanes()) << SizeLog2);
  for (uint64_t I = max(Lo, Whole) + lane(); I < Hi; I += numLanes()) {
    if (*at<const uint8_t>(P.Expected + I) == *at<const uint8_t>(P.Actual + I))
      continue;
    ++Found.Differences;
    Found.addMismatch(Count + (I - Whole));
  }
}

/// Adds up what the lanes of the wave have found, and forgets it.
static void report(Findings &Found, MnemeCompareResult &Result) {
  if (!any(Found.Differences | Found.Mismatches))
    return;
  for (uint32_t Mask = numLanes() / 2; Mask; Mask /= 2) {
    Found.Differences += shuffleXor(Found.Differences, Mask);
    Found.Mismatches += shuffleXor(Found.Mismatches, Mask);
    Found.First = min(Found.First, shuffleXor(Found.First, Mask));
    Found.MaxAbs = max(Found.MaxAbs, shuffleXor(Found.MaxAbs, Mask));
    Found.MaxRel = max(Found.MaxRel, shuffleXor(Found.MaxRel, Mask));
    Found.MaxUlp = max(Found.MaxUlp, shuffleXor(Found.MaxUlp, Mask));
  }
  if (lane() == 0) {
    atomicAdd(Result.Differences, Found.Differences);
    atomicAdd(Result.Mismatches, Found.Mismatches);
    atomicMin(Result.First, Found.First);
    atomicMax(Result.MaxAbs, Found.MaxAbs);
    atomicMax(Result.MaxRel, Found.MaxRel);
    atomicMax(Result.MaxUlp, Found.MaxUlp);
  }
  Found = Findings();
}

MNEME_KERNEL void mneme_compare(const MnemeComparePart *Parts,
                                const uint64_t *FirstTile, uint64_t NumParts,
                                MnemeCompareResult *Results) {
  if (NumParts == 0)
    return;
  Findings Found;
  uint64_t Part = 0;
  for (uint64_t Tile = block(); Tile < FirstTile[NumParts];
       Tile += numBlocks()) {
    uint64_t Now = findPart(FirstTile, NumParts, Part, Tile);
    if (Now != Part)
      report(Found, Results[Part]);
    Part = Now;
    const MnemeComparePart &P = Parts[Part];
    bool Wide = P.Expected % WordSize == P.Actual % WordSize &&
                P.Expected % (uint64_t(1) << getDTypeSizeLog2(P.DType)) == 0;
    bool ForbidNaN = looksForNaN(P);
    uint64_t Shift = Wide ? P.Expected % WordSize : 0;
    uint64_t Expected = P.Expected - Shift, Actual = P.Actual - Shift;
    forPages(Tile - FirstTile[Part], FirstTile[Part + 1] - FirstTile[Part],
             P.Size, Shift, [&](uint64_t Lo, uint64_t Hi) {
               if (!Wide)
                 return compareRange(P, Found, Lo, Hi);
               Words W(Lo, Hi);
               if (Lo < W.Begin)
                 compareRange(P, Found, Lo - Shift, W.Begin - Shift);
               if (W.End < Hi)
                 compareRange(P, Found, W.End - Shift, Hi - Shift);
               if (!ForbidNaN &&
                   !wordsDiffer<false>(Expected, Actual, W.Begin, W.End))
                 return;
               compareWords(P, Found, W.Begin - Shift, W.End - Shift);
             });
  }
  report(Found, Results[Part]);
}

#endif // MNEME_WITHOUT_COMPARE

//===----------------------------------------------------------------------===//
// mneme_diff
//===----------------------------------------------------------------------===//

/// Whether any lane finds a difference in [\p Lo, \p Hi).
template <bool WithZeros>
static bool rangeDiffers(uint64_t A, uint64_t B, uint64_t Lo, uint64_t Hi) {
  uint64_t Shift = A % WordSize;
  if (!WithZeros && B % WordSize != Shift)
    return any(bytesDiffer<false>(A, B, Lo, Hi));
  Words W(Lo + Shift, Hi + Shift);
  A -= Shift;
  B -= Shift;
  bool Differ = wordsDiffer<WithZeros>(A, B, W.Begin, W.End);
  Differ |= bytesDiffer<WithZeros>(A, B, Lo + Shift, W.Begin);
  Differ |= bytesDiffer<WithZeros>(A, B, W.End, Hi + Shift);
  return any(Differ);
}

MNEME_KERNEL void mneme_diff(const MnemeDiffPart *Parts,
                             const uint64_t *FirstTile, uint64_t NumParts,
                             uint8_t *Flags) {
  if (NumParts == 0)
    return;
  uint64_t Part = 0;
  for (uint64_t Tile = block(); Tile < FirstTile[NumParts];
       Tile += numBlocks()) {
    Part = findPart(FirstTile, NumParts, Part, Tile);
    const MnemeDiffPart &P = Parts[Part];
    forPages(Tile - FirstTile[Part], FirstTile[Part + 1] - FirstTile[Part],
             P.Size, /*Shift=*/0, [&](uint64_t Lo, uint64_t Hi) {
               bool Differs = P.B ? rangeDiffers<false>(P.A, P.B, Lo, Hi)
                                  : rangeDiffers<true>(P.A, 0, Lo, Hi);
               if (lane() == 0)
                 Flags[P.FirstFlag + Lo / Page] = Differs;
             });
  }
}

//===----------------------------------------------------------------------===//
// mneme_copy
//===----------------------------------------------------------------------===//

/// Of an aligned page, this lane's share.
static void copyPage(uint64_t To, uint64_t From) {
  constexpr unsigned Unroll = InFlight;
  const uint64_t Step = numLanes() * WordSize;
  To += lane() * WordSize;
  From += lane() * WordSize;
  for (uint64_t I = 0; I != Page; I += Unroll * Step) {
    Word128 X[Unroll];
#pragma unroll
    for (unsigned U = 0; U != Unroll; ++U)
      X[U] = loadWord(From + I + U * Step);
#pragma unroll
    for (unsigned U = 0; U != Unroll; ++U)
      *at<Word128>(To + I + U * Step) = X[U];
  }
}

static void copyWords(uint64_t To, uint64_t From, uint64_t Begin,
                      uint64_t End) {
  if (End - Begin == Page)
    return copyPage(To + Begin, From + Begin);
#pragma nounroll
  for (uint64_t I = Begin + lane() * WordSize; I < End;
       I += numLanes() * WordSize)
    *at<Word128>(To + I) = loadWord(From + I);
}

static void copyBytes(uint64_t To, uint64_t From, uint64_t Begin,
                      uint64_t End) {
#pragma nounroll
  for (uint64_t I = Begin + lane(); I < End; I += numLanes())
    *at<uint8_t>(To + I) = *at<const uint8_t>(From + I);
}

MNEME_KERNEL void mneme_copy(const MnemeCopyPart *Parts,
                             const uint64_t *FirstTile, uint64_t NumParts) {
  if (NumParts == 0)
    return;
  uint64_t Part = 0;
  for (uint64_t Tile = block(); Tile < FirstTile[NumParts];
       Tile += numBlocks()) {
    Part = findPart(FirstTile, NumParts, Part, Tile);
    const MnemeCopyPart &P = Parts[Part];
    bool Wide = P.To % WordSize == P.From % WordSize;
    uint64_t Shift = Wide ? P.To % WordSize : 0;
    uint64_t To = P.To - Shift, From = P.From - Shift;
    forPages(Tile - FirstTile[Part], FirstTile[Part + 1] - FirstTile[Part],
             P.Size, Shift, [&](uint64_t Lo, uint64_t Hi) {
               if (!Wide)
                 return copyBytes(To, From, Lo, Hi);
               Words W(Lo, Hi);
               copyWords(To, From, W.Begin, W.End);
               copyBytes(To, From, Lo, W.Begin);
               copyBytes(To, From, W.End, Hi);
             });
  }
}

//===----------------------------------------------------------------------===//
// mneme_clock
//===----------------------------------------------------------------------===//

/// The timer may tick only every microsecond: both samples are taken at a tick.
MNEME_KERNEL void mneme_clock(MnemeClockSample *Samples, uint64_t Ticks) {
  if (block() != 0 || thread() != 0)
    return;
  auto WaitFor = [](uint64_t Time) {
    MnemeClockSample S;
    do {
      S.Time = steadyTime();
      S.Cycles = cycles();
    } while (S.Time < Time);
    return S;
  };
  Samples[0] = WaitFor(steadyTime() + 1);
  Samples[1] = WaitFor(Samples[0].Time + Ticks);
}
