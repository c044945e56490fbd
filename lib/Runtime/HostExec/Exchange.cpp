//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Synchronization points of the region strategy (HostExchange.h).
///
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "llvm/Mneme/Runtime/HostExchange.h"
#include <string.h>

using namespace mneme::host;

static uint64_t getValue(const MnemeHostExchange &A, const MnemeHostSite &Site,
                         uint32_t I) {
  return Site.Size == 4 ? reinterpret_cast<const uint32_t *>(A.Values)[I]
                        : A.Values[I];
}

static void setResult(MnemeHostExchange &A, const MnemeHostSite &Site,
                      uint32_t I, uint64_t V) {
  if (Site.Size == 4)
    reinterpret_cast<uint32_t *>(A.Results)[I] = static_cast<uint32_t>(V);
  else
    A.Results[I] = V;
}

namespace {
/// A synchronization point of several threads.
class Exchange {
  MnemeHostExchange &A;
  const MnemeHostSite &Site;
  const uint32_t WaveSize;
  /// For a shuffle with uniform operands: the lane that each lane reads, and
  /// whether the requested lane exists.
  uint8_t Source[32];
  uint8_t Valid[32];
  bool FixedShuffle;

public:
  Exchange(MnemeHostExchange &A, const MnemeHostSite &Site, uint32_t WaveSize)
      : A(A), Site(Site), WaveSize(WaveSize),
        FixedShuffle(Site.Op == MNEME_OP_SHUFFLE && WaveSize == 32 &&
                     (Site.Flags & MNEME_SITE_FIXED) &&
                     !(Site.Flags & MNEME_SITE_MASKED)) {
    if (FixedShuffle)
      computeSources();
  }

  /// Performs the operation for the lanes \p Group of the warp that begins at
  /// thread \p Base. \p Full is set if these are all lanes of a full warp.
  void runWarp(uint32_t Base, uint64_t Group, bool Full) {
    if (!FixedShuffle || !Full)
      return runLanes(Base, Group);
    if (Site.Size == 4)
      shuffleFull(reinterpret_cast<uint32_t *>(A.Values) + Base,
                  reinterpret_cast<uint32_t *>(A.Results) + Base);
    else
      shuffleFull(A.Values + Base, A.Results + Base);
    if (Site.Flags & MNEME_SITE_RESULT2)
      for (int Lane = 0; Lane != 32; ++Lane)
        A.Results2[Base + Lane] = Valid[Lane];
  }

private:
  void computeSources() {
    const int Segment = (Site.C >> 8) & 31, Clamp = Site.C & 31;
    const int B = Site.B & 31;
    for (int Lane = 0; Lane != 32; ++Lane) {
      int Max = (Lane & Segment) | (Clamp & ~Segment);
      int From = Site.Mode == 0   ? Lane - B
                 : Site.Mode == 1 ? Lane + B
                 : Site.Mode == 2 ? Lane ^ B
                                  : (Lane & Segment) | (B & ~Segment);
      bool IsValid = Site.Mode == 0 ? From >= Max : From <= Max;
      Valid[Lane] = IsValid;
      Source[Lane] = static_cast<uint8_t>(IsValid ? From : Lane);
    }
  }

  template <typename T> void shuffleFull(const T *Values, T *Results) {
    for (int Lane = 0; Lane != 32; ++Lane)
      Results[Lane] = Values[Source[Lane]];
  }

  /// Performs the operation like the scheduler.
  void runLanes(uint32_t Base, uint64_t Group) {
    MnemeHostThread Warp[64];
    const bool Fixed = Site.Flags & MNEME_SITE_FIXED;
    const bool Masked = Site.Flags & MNEME_SITE_MASKED;
    for (uint64_t Rest = Group; Rest; Rest &= Rest - 1) {
      unsigned Lane = __builtin_ctzll(Rest);
      uint32_t I = Base + Lane;
      MnemeHostThread &T = Warp[Lane];
      T.Op = Site.Op;
      T.Mode = Site.Mode;
      T.Mask = Masked ? A.Masks[I] : ~uint64_t(0);
      T.Value = getValue(A, Site, I);
      T.B = Fixed ? Site.B : A.B[I];
      T.C = Fixed ? Site.C : A.C[I];
      T.Result = T.Result2 = 0;
    }
    if (Site.Op == MNEME_OP_WAVE_READLANE)
      fillInactive(Warp, Base, Group);
    if (Masked)
      runMasked(Warp, Group);
    else
      executeWarpOp(Warp, Group, WaveSize);
    for (uint64_t Rest = Group; Rest; Rest &= Rest - 1) {
      unsigned Lane = __builtin_ctzll(Rest);
      setResult(A, Site, Base + Lane, Warp[Lane].Result);
      A.Results2[Base + Lane] = Warp[Lane].Result2;
    }
  }

  /// Groups lanes with equal masks, as the scheduler does. The masks of the
  /// remaining lanes contradict each other.
  void runMasked(MnemeHostThread *Warp, uint64_t Group) {
    uint64_t Left = 0;
    for (uint64_t Rest = Group; Rest;) {
      unsigned Lane = __builtin_ctzll(Rest);
      uint64_t Need = Warp[Lane].Mask & Group;
      bool Agree = Need >> Lane & 1;
      for (uint64_t Q = Group; Q && Agree; Q &= Q - 1) {
        unsigned Other = __builtin_ctzll(Q);
        uint64_t Mask = Warp[Other].Mask & Group;
        Agree = (Need >> Other & 1) ? Mask == Need : !(Mask & Need);
      }
      if (Agree) {
        executeWarpOp(Warp, Need, WaveSize);
        Rest &= ~Need;
      } else {
        Left |= uint64_t(1) << Lane;
        Rest &= Rest - 1;
      }
    }
    if (Left)
      executeWarpOp(Warp, Left, WaveSize);
  }

  /// readlane may read lanes that are not in the group: they keep their last
  /// value.
  void fillInactive(MnemeHostThread *Warp, uint32_t Base, uint64_t Group) {
    for (unsigned Lane = 0; Lane != WaveSize; ++Lane)
      if (!(Group >> Lane & 1))
        Warp[Lane].Value = Base + Lane < MNEME_HOST_MAX_THREADS
                               ? getValue(A, Site, Base + Lane)
                               : 0;
  }
};
} // namespace

static uint64_t lowBits(uint32_t Count) {
  return Count >= 64 ? ~uint64_t(0) : (uint64_t(1) << Count) - 1;
}

extern "C" void __mneme_host_exchange(MnemeHostExchange *A, uint32_t NumThreads,
                                      const MnemeHostSite *Site,
                                      uint32_t WaveSize) {
  if (Site->Op == MNEME_OP_BARRIER_RED) {
    const uint32_t *Values = reinterpret_cast<const uint32_t *>(A->Values);
    uint32_t *Results = reinterpret_cast<uint32_t *>(A->Results);
    uint32_t True = 0;
    for (uint32_t I = 0; I != NumThreads; ++I)
      True += Values[I] != 0;
    uint32_t Result = Site->Mode == 2   ? True
                      : Site->Mode == 0 ? True == NumThreads
                                        : True != 0;
    for (uint32_t I = 0; I != NumThreads; ++I)
      Results[I] = Result;
    return;
  }
  Exchange X(*A, *Site, WaveSize);
  for (uint32_t Base = 0; Base < NumThreads; Base += WaveSize) {
    uint32_t Lanes = NumThreads - Base;
    X.runWarp(Base, lowBits(Lanes < WaveSize ? Lanes : WaveSize),
              Lanes >= WaveSize);
  }
}

/// All live threads are at a barrier: releases them.
static void releaseBarriers(MnemeHostExchange &A, uint32_t NumThreads,
                            const MnemeHostSite *Sites) {
  uint32_t Live = 0, True = 0;
  bool Reduces = false;
  auto SiteOf = [&](uint32_t I) -> const MnemeHostSite & {
    return Sites[A.State[I] - MNEME_STATE_BARRIER];
  };
  for (uint32_t I = 0; I != NumThreads; ++I) {
    if (A.State[I] == MNEME_STATE_EXIT)
      continue;
    ++Live;
    if (SiteOf(I).Op == MNEME_OP_BARRIER_RED) {
      Reduces = true;
      True += getValue(A, SiteOf(I), I) != 0;
    }
  }
  for (uint32_t I = 0; Reduces && I != NumThreads; ++I) {
    if (A.State[I] == MNEME_STATE_EXIT)
      continue;
    uint32_t Mode = SiteOf(I).Mode;
    setResult(A, SiteOf(I), I,
              Mode == 2   ? True
              : Mode == 0 ? True == Live
                          : True != 0);
  }
  for (uint32_t I = 0; I != NumThreads; ++I)
    if (A.State[I] != MNEME_STATE_EXIT)
      A.State[I] -= MNEME_STATE_BARRIER;
}

static uint8_t smallestState(const uint8_t *State, uint32_t Count) {
  uint8_t Smallest = MNEME_STATE_EXIT;
  for (uint32_t I = 0; I != Count; ++I)
    Smallest = State[I] < Smallest ? State[I] : Smallest;
  return Smallest;
}

/// Selects \p Region to run next.
static uint32_t startRegion(MnemeHostExchange &A, uint8_t Region) {
  uint32_t I = 0;
  while (A.State[I] != Region)
    ++I;
  A.First = I;
  return Region;
}

/// Returns the lanes in state \p From, the smallest state, and sets them to
/// \p To.
static uint64_t takeLanes(uint8_t *State, uint32_t Lanes, uint8_t From,
                          uint8_t To) {
  // All lanes of a warp are usually in the same state.
  if (smallestState(State, Lanes) != From)
    return 0;
  uint8_t Differs = 0;
  for (uint32_t Lane = 0; Lane != Lanes; ++Lane)
    Differs |= State[Lane] ^ From;
  if (!Differs) {
    memset(State, To, Lanes);
    return lowBits(Lanes);
  }
  uint64_t Group = 0;
  for (uint32_t Lane = 0; Lane != Lanes; ++Lane) {
    if (State[Lane] != From)
      continue;
    Group |= uint64_t(1) << Lane;
    State[Lane] = To;
  }
  return Group;
}

extern "C" uint32_t __mneme_host_advance(MnemeHostExchange *A,
                                         uint32_t NumThreads,
                                         const MnemeHostSite *Sites,
                                         uint32_t WaveSize) {
  uint8_t Next = smallestState(A->State, NumThreads);
  if (Next == MNEME_STATE_EXIT)
    return Next;
  if (Next < MNEME_STATE_WARP)
    return startRegion(*A, Next);
  if (Next >= MNEME_STATE_BARRIER) {
    releaseBarriers(*A, NumThreads, Sites);
    return startRegion(*A, smallestState(A->State, NumThreads));
  }
  uint8_t Number = Next - MNEME_STATE_WARP;
  Exchange X(*A, Sites[Number], WaveSize);
  for (uint32_t Base = 0; Base < NumThreads; Base += WaveSize) {
    uint32_t Lanes =
        NumThreads - Base < WaveSize ? NumThreads - Base : WaveSize;
    uint64_t Group = takeLanes(A->State + Base, Lanes, Next, Number);
    if (Group)
      X.runWarp(Base, Group, Lanes == WaveSize && Group == lowBits(WaveSize));
  }
  return startRegion(*A, Number);
}
