//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of llvm/Mneme/Runtime/MemoryKernels.h, freestanding. They are
// limited by memory only: they have no barriers, and no shared memory except
// for mneme_clear_shared. A wave processes a tile, which is a page, at a time.
// Its lanes load adjacent 16-byte words, and each lane has several loads in
// flight.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/MemoryKernels.h"
#include "GPU.h"
#include "llvm/Mneme/Runtime/CompareElement.h"

#if !MNEME_ON_GPU
thread_local MnemeKernelThread mneme_kernel_thread;
#endif

using namespace gpu;
using namespace llvm::mneme;

/// The unit of work of a wave.
static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
static_assert(MNEME_KERNEL_TILE == Page);
static constexpr uint64_t WordSize = sizeof(Word128);
/// Words of a page that a lane loads before it uses the first: all of its
/// words, but at most eight, for which the registers suffice with four blocks.
static constexpr unsigned InFlight =
    Page / WordSize / MaxLanes < 8 ? Page / WordSize / MaxLanes : 8;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

template <typename T> static GlobalPtr<T> at(uint64_t Address) {
  return reinterpret_cast<GlobalPtr<T>>(Address);
}

/// Data read here is not reused soon.
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
/// A range of offsets for a wave, split into a head, words and a tail. Words
/// are aligned if the address at offset 0 is.
struct Words {
  uint64_t Begin, End; ///< The words' range: the head ends and the tail begins.

  Words(uint64_t Lo, uint64_t Hi)
      : Begin(min((Lo + WordSize - 1) / WordSize * WordSize, Hi)),
        End(max(Hi / WordSize * WordSize, Begin)) {}
};
} // namespace

/// Returns the part that contains \p Tile; at or after \p Part. Each step waits
/// for memory, so the lanes probe as many positions at a time as they can.
static uint32_t findPart(const uint64_t *FirstTile, uint32_t NumParts,
                         uint32_t Part, uint32_t Tile) {
  uint32_t End = NumParts;
  // FirstTile[Part] <= Tile < FirstTile[End]
  while (End - Part > 1) {
    uint32_t Step = (End - Part + MinLanes) / (MinLanes + 1);
    uint64_t Probe = Part + uint64_t(lane() + 1) * Step;
    bool IsBefore = Probe < End && FirstTile[Probe] <= Tile;
    Part += __builtin_popcountll(ballot(IsBefore)) * Step;
    if (Step < End - Part)
      End = Part + Step;
  }
  return Part;
}

namespace {
/// The tiles of a part that are aligned pages. The others are its first and
/// last one, or all.
struct PageTiles {
  uint32_t First = 0, Count = 0;

  PageTiles() = default;
  /// For the part with tiles [\p Begin, \p End). Offsets are relative to
  /// \p Shift bytes before the part, so that its pages are aligned as well as
  /// possible; the last tile includes the bytes that this shifts past it.
  PageTiles(uint32_t Begin, uint32_t End, uint64_t Size, uint64_t Shift)
      : First(Begin + (Shift != 0)) {
    if (Size + Shift != uint64_t(End - Begin) * Page)
      --End;
    Count = First < End ? End - First : 0;
  }
};

/// The range of offsets of a tile, with the same \p Shift.
struct Range {
  uint64_t Lo, Hi;

  /// Tile \p Tile of a part with \p NumTiles tiles.
  Range(uint32_t Tile, uint32_t NumTiles, uint64_t Size, uint64_t Shift)
      : Lo(Tile ? Tile * Page : Shift),
        Hi(Tile + 1 == NumTiles ? Size + Shift : (Tile + 1) * Page) {}
};
} // namespace

/// The waves of the whole grid take tiles in turn, so that many small parts
/// keep as many waves busy as one large part.
static uint32_t numWaves() { return numBlocks() * (numThreads() / numLanes()); }
static uint32_t firstTileOfWave() {
  return block() * (numThreads() / numLanes()) + thread() / numLanes();
}

/// Calls the functions for this wave's tiles, beginning with \p Tile, which is
/// at or after \p Part. Before the first tile in another part, with tiles
/// [Begin, End), calls \p Enter(Part, Begin, End), which returns PageTiles.
/// Then calls \p OnPage(Part, Tile) or \p OnRest(Part, Tile) for each tile,
/// until one of them returns false.
template <typename EnterFn, typename PageFn, typename RestFn>
static void forTiles(const uint64_t *FirstTile, uint32_t NumParts,
                     uint32_t Tile, uint32_t Part, EnterFn Enter, PageFn OnPage,
                     RestFn OnRest) {
  uint32_t NumTiles = FirstTile[NumParts];
  uint32_t End = 0;
  PageTiles Pages;
  for (; Tile < NumTiles; Tile += numWaves()) {
    if (Tile >= End) {
      Part = findPart(FirstTile, NumParts, Part, Tile);
      End = FirstTile[Part + 1];
      Pages = Enter(Part, FirstTile[Part], End);
    }
    if (Tile - Pages.First < Pages.Count ? !OnPage(Part, Tile)
                                         : !OnRest(Part, Tile))
      return;
  }
}

/// Returns true if this lane finds a difference in its share of the aligned
/// page at \p A. With \p WithZeros, compares A with zeros instead of \p B.
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

/// Like pageDiffers(), for the words in [\p Begin, \p End), usually a page.
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

/// Like wordsDiffer(), bytewise.
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
/// The findings of a lane in a part.
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

/// Compares elements of the part at the offsets \p Begin, \p Begin + \p Step,
/// ... up to \p End.
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

// Functions that compare elements are rarely called. They are not inlined, so
// that their registers do not burden the loops that wait for memory. For the
// same reason the waiting loop (skipEqual) contains no calls: all values that
// live across them would be in memory.

/// Compares this lane's words in [\p Begin, \p End) of the part.
[[gnu::noinline]] static void compareWords(const MnemeComparePart &P,
                                           Findings &Found, uint64_t Begin,
                                           uint64_t End) {
  Findings Mine = Found; // In registers.
#pragma nounroll
  for (uint64_t I = Begin + lane() * WordSize; I < End;
       I += numLanes() * WordSize)
    compareElements(P, Mine, I, I + WordSize,
                    uint64_t(1) << getDTypeSizeLog2(P.DType));
  Found = Mine;
}

/// Compares [\p Lo, \p Hi) of the part, both elements and trailing bytes, which
/// the lanes take in turn.
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

/// Adds the findings of the wave's lanes to the results and resets them.
static void report(Findings &Found, MnemeCompareResult *Results,
                   uint32_t Part) {
  // Without parts, there are no results.
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
    MnemeCompareResult &Result = Results[Part];
    atomicAdd(Result.Differences, Found.Differences);
    atomicAdd(Result.Mismatches, Found.Mismatches);
    atomicMin(Result.First, Found.First);
    atomicMax(Result.MaxAbs, Found.MaxAbs);
    atomicMax(Result.MaxRel, Found.MaxRel);
    atomicMax(Result.MaxUlp, Found.MaxUlp);
  }
  Found = Findings();
}

static constexpr uint64_t NotWide = ~uint64_t(0);

/// Returns the distance from the first word to the part's begin; NotWide if the
/// two ranges are aligned differently, or if elements are not aligned within
/// words.
static uint64_t getShift(const MnemeComparePart &P) {
  uint64_t Shift = P.Expected % WordSize;
  bool Wide = P.Actual % WordSize == Shift &&
              Shift % (uint64_t(1) << getDTypeSizeLog2(P.DType)) == 0;
  return Wide ? Shift : NotWide;
}

/// Compares a tile of any kind.
[[gnu::noinline]] static void compareTile(const MnemeComparePart &P,
                                          Findings &Found, uint32_t Tile,
                                          uint32_t NumTiles) {
  uint64_t Shift = getShift(P);
  if (Shift == NotWide) {
    Range R(Tile, NumTiles, P.Size, 0);
    return compareRange(P, Found, R.Lo, R.Hi);
  }
  Range R(Tile, NumTiles, P.Size, Shift);
  Words W(R.Lo, R.Hi);
  if (R.Lo < W.Begin)
    compareRange(P, Found, R.Lo - Shift, W.Begin - Shift);
  if (W.End < R.Hi)
    compareRange(P, Found, W.End - Shift, R.Hi - Shift);
  if (looksForNaN(P) || wordsDiffer<false>(P.Expected - Shift, P.Actual - Shift,
                                           W.Begin, W.End))
    compareWords(P, Found, W.Begin - Shift, W.End - Shift);
}

namespace {
/// The position of a wave among its tiles.
struct TilePlace {
  uint32_t Tile;
  uint32_t Part, Begin, End; ///< The part and its tiles.
};
} // namespace

/// Advances from \p Place past equal pages to the next other tile.
/// \returns false at the end.
[[gnu::noinline]] static bool skipEqual(const MnemeComparePart *Parts,
                                        const uint64_t *FirstTile,
                                        uint32_t NumParts, TilePlace &Place) {
  TilePlace Here = {};
  bool Found = false;
  uint64_t Expected = 0, Actual = 0; // Addresses of tile 0.
  auto Stop = [&](uint32_t Part, uint32_t Tile) {
    Here.Tile = Tile;
    Here.Part = Part;
    Found = true;
    return false;
  };
  forTiles(
      FirstTile, NumParts, Place.Tile, Place.Part,
      [&](uint32_t Part, uint32_t Begin, uint32_t End) {
        Here.Begin = Begin;
        Here.End = End;
        const MnemeComparePart &P = Parts[Part];
        uint64_t Shift = getShift(P);
        if (Shift == NotWide || looksForNaN(P))
          return PageTiles();
        Expected = P.Expected - Shift - Begin * Page;
        Actual = P.Actual - Shift - Begin * Page;
        return PageTiles(Begin, End, P.Size, Shift);
      },
      [&](uint32_t Part, uint32_t Tile) {
        return !any(pageDiffers<false>(Expected + Tile * Page,
                                       Actual + Tile * Page)) ||
               Stop(Part, Tile);
      },
      Stop);
  Place = Here;
  return Found;
}

MNEME_KERNEL void mneme_compare(const MnemeComparePart *Parts,
                                const uint64_t *FirstTile, uint64_t NumParts,
                                MnemeCompareResult *Results) {
  Findings Found;
  uint32_t Now = 0;
  for (TilePlace Place = {firstTileOfWave(), 0, 0, 0};
       skipEqual(Parts, FirstTile, NumParts, Place);
       Place.Tile += numWaves()) {
    if (Place.Part != Now)
      report(Found, Results, Now);
    Now = Place.Part;
    compareTile(Parts[Now], Found, Place.Tile - Place.Begin,
                Place.End - Place.Begin);
  }
  report(Found, Results, Now);
}

#endif // MNEME_WITHOUT_COMPARE

//===----------------------------------------------------------------------===//
// mneme_diff
//===----------------------------------------------------------------------===//

/// Returns true if this lane finds a difference in its share of a range.
template <bool WithZeros>
static bool rangeDiffers(uint64_t A, uint64_t B, Range R) {
  uint64_t Shift = A % WordSize;
  if (!WithZeros && B % WordSize != Shift)
    return bytesDiffer<false>(A, B, R.Lo, R.Hi);
  Words W(R.Lo + Shift, R.Hi + Shift);
  A -= Shift;
  B -= Shift;
  bool Differ = wordsDiffer<WithZeros>(A, B, W.Begin, W.End);
  Differ |= bytesDiffer<WithZeros>(A, B, R.Lo + Shift, W.Begin);
  Differ |= bytesDiffer<WithZeros>(A, B, W.End, R.Hi + Shift);
  return Differ;
}

/// Like rangeDiffers(), for a tile that is not an aligned page.
[[gnu::noinline]] static bool tileDiffers(const MnemeDiffPart &P, uint32_t Tile,
                                          uint32_t NumTiles) {
  Range R(Tile, NumTiles, P.Size, /*Shift=*/0);
  return P.B ? rangeDiffers<false>(P.A, P.B, R)
             : rangeDiffers<true>(P.A, 0, R);
}

MNEME_KERNEL void mneme_diff(const MnemeDiffPart *Parts,
                             const uint64_t *FirstTile, uint64_t NumParts,
                             uint8_t *Flags) {
  uint64_t A = 0, B = 0; // Addresses of tile 0.
  uint8_t *FlagOf = nullptr;
  bool WithZeros = false;
  auto SetFlag = [&](uint32_t Tile, bool Differ) {
    Differ = any(Differ);
    if (lane() == 0)
      FlagOf[Tile] = Differ;
  };
  forTiles(
      FirstTile, NumParts, firstTileOfWave(), /*Part=*/0,
      [&](uint32_t Part, uint32_t Begin, uint32_t End) {
        const MnemeDiffPart &P = Parts[Part];
        A = P.A - Begin * Page;
        B = P.B - Begin * Page;
        FlagOf = Flags + P.FirstFlag - Begin;
        WithZeros = P.B == 0;
        if ((P.A | P.B) % WordSize != 0)
          return PageTiles();
        return PageTiles(Begin, End, P.Size, /*Shift=*/0);
      },
      [&](uint32_t, uint32_t Tile) {
        uint64_t X = A + Tile * Page, Y = B + Tile * Page;
        SetFlag(Tile, WithZeros ? pageDiffers<true>(X, 0)
                                : pageDiffers<false>(X, Y));
        return true;
      },
      [&](uint32_t Part, uint32_t Tile) {
        uint32_t Begin = FirstTile[Part];
        SetFlag(Tile, tileDiffers(Parts[Part], Tile - Begin,
                                  FirstTile[Part + 1] - Begin));
        return true;
      });
}

//===----------------------------------------------------------------------===//
// mneme_copy
//===----------------------------------------------------------------------===//

/// Copies this lane's share of an aligned page.
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

static void copyBytes(uint64_t To, uint64_t From, uint64_t Begin,
                      uint64_t End) {
#pragma nounroll
  for (uint64_t I = Begin + lane(); I < End; I += numLanes())
    *at<uint8_t>(To + I) = *at<const uint8_t>(From + I);
}

/// Returns false if the ranges are aligned differently; then bytes are copied.
static bool isWide(const MnemeCopyPart &P) {
  return P.To % WordSize == P.From % WordSize;
}

/// Copies a tile that is not a page.
[[gnu::noinline]] static void copyTile(const MnemeCopyPart &P, uint32_t Tile,
                                       uint32_t NumTiles) {
  uint64_t Shift = isWide(P) ? P.To % WordSize : 0;
  uint64_t To = P.To - Shift, From = P.From - Shift;
  Range R(Tile, NumTiles, P.Size, Shift);
  if (!isWide(P))
    return copyBytes(To, From, R.Lo, R.Hi);
  Words W(R.Lo, R.Hi);
#pragma nounroll
  for (uint64_t I = W.Begin + lane() * WordSize; I < W.End;
       I += numLanes() * WordSize)
    *at<Word128>(To + I) = loadWord(From + I);
  copyBytes(To, From, R.Lo, W.Begin);
  copyBytes(To, From, W.End, R.Hi);
}

MNEME_KERNEL void mneme_copy(const MnemeCopyPart *Parts,
                             const uint64_t *FirstTile, uint64_t NumParts) {
  uint64_t To = 0, From = 0; // Addresses of tile 0.
  forTiles(
      FirstTile, NumParts, firstTileOfWave(), /*Part=*/0,
      [&](uint32_t Part, uint32_t Begin, uint32_t End) {
        const MnemeCopyPart &P = Parts[Part];
        if (!isWide(P))
          return PageTiles();
        uint64_t Shift = P.To % WordSize;
        To = P.To - Shift - Begin * Page;
        From = P.From - Shift - Begin * Page;
        return PageTiles(Begin, End, P.Size, Shift);
      },
      [&](uint32_t, uint32_t Tile) {
        copyPage(To + Tile * Page, From + Tile * Page);
        return true;
      },
      [&](uint32_t Part, uint32_t Tile) {
        uint32_t Begin = FirstTile[Part];
        copyTile(Parts[Part], Tile - Begin, FirstTile[Part + 1] - Begin);
        return true;
      });
}

//===----------------------------------------------------------------------===//
// mneme_clock
//===----------------------------------------------------------------------===//

/// Takes both samples at a tick of the timer, which may tick only every
/// microsecond.
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

//===----------------------------------------------------------------------===//
// mneme_clear_shared
//===----------------------------------------------------------------------===//

#if MNEME_ON_GPU
alignas(WordSize) extern __gpu_local Word128 mneme_dynamic_shared[];
#endif

MNEME_KERNEL void mneme_clear_shared(uint64_t Bytes) {
#if MNEME_ON_GPU
  // volatile, because the stores would be removed otherwise.
  volatile __gpu_local Word128 *Words = mneme_dynamic_shared;
#pragma nounroll
  for (uint64_t I = thread(); I < Bytes / WordSize; I += numThreads())
    Words[I] = Word128{};
#else
  (void)Bytes;
#endif
}
