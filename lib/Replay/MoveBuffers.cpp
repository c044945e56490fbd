//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveBuffers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// Number of distances from one buffer to the next one.
static constexpr uint64_t MostPages = 64;

namespace {
/// The addresses of one buffer.
struct Move {
  uint64_t Old, New, Size;
};
} // namespace

/// Assigns addresses behind the arena's last buffer. Two buffers are farther
/// from each other than any two were, if there is room for that. \returns false
/// if there is no room at all.
static bool planMoves(const NewRecording &R, function_ref<uint64_t()> Random,
                      std::vector<Move> &Moves) {
  constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
  uint64_t Begin = UINT64_MAX, End = R.ArenaBase, Bytes = 0;
  for (const SnapshotRegion &Region : R.Regions) {
    if (Region.isOutsideArena())
      continue;
    Begin = std::min(Begin, Region.Address);
    End = std::max(End, Region.Address + Region.Size);
    if (Region.Kind != MNEME_REGION_HEAP)
      continue;
    Moves.push_back({Region.Address, 0, Region.Size});
    Bytes += Region.Size + (MostPages + 2) * Page;
  }
  uint64_t Room = R.ArenaBase + R.ArenaSize - End;
  if (Moves.empty() || Room < Bytes)
    return Moves.empty();
  uint64_t Least = std::min(End - Begin, (Room - Bytes) / Moves.size());
  for (size_t I = Moves.size(); I > 1; --I)
    std::swap(Moves[I - 1], Moves[Random() % I]);
  for (Move &M : Moves) {
    M.New = alignTo(End + Least + Random() % MostPages * Page, Page, M.Old);
    End = M.New + M.Size;
  }
  return true;
}

/// Returns the move of an address in a buffer, or at its end.
static const Move *findMove(uint64_t Address, ArrayRef<Move> Moves) {
  const Move *Ends = nullptr;
  for (const Move &M : Moves) {
    if (Address - M.Old < M.Size)
      return &M;
    if (Address - M.Old == M.Size)
      Ends = &M;
  }
  return Ends;
}

/// Returns true if bytes may contain an address of a buffer.
static bool holdsAddress(ArrayRef<char> Bytes, const NewRecording &R,
                         ArrayRef<Move> Moves) {
  for (size_t At = 0; At + 8 <= Bytes.size(); At += 8) {
    uint64_t Word = support::endian::read64le(&Bytes[At]);
    // Most are far from all buffers.
    if (Word - R.ArenaBase <= R.ArenaSize && findMove(Word, Moves))
      return true;
  }
  return false;
}

static void moveAddress(uint64_t &Address, ArrayRef<Move> Moves) {
  if (const Move *M = findMove(Address, Moves))
    Address += M->New - M->Old;
}

/// An integer that looks like the address of a buffer is one.
static void moveWords(std::string &Arg, ArrayRef<Move> Moves) {
  for (size_t At = 0; At + 8 <= Arg.size(); At += 8) {
    uint64_t Word = support::endian::read64le(&Arg[At]);
    moveAddress(Word, Moves);
    support::endian::write64le(&Arg[At], Word);
  }
}

std::string mneme::moveBuffers(NewRecording &R,
                               function_ref<uint64_t()> Random) {
  if (any_of(R.Regions, [](const SnapshotRegion &Region) {
        return Region.Kind == MNEME_REGION_TEXTURE;
      }))
    return "a texture refers to them";
  std::vector<Move> Moves;
  if (!planMoves(R, Random, Moves))
    return "the arena has no room for other distances";
  for (const std::vector<MemoryRange> *Ranges : {&R.Before, &R.After})
    for (const MemoryRange &Range : *Ranges)
      if (holdsAddress(Range.Bytes, R, Moves))
        return "memory contains addresses";
  for (SnapshotRegion &Region : R.Regions)
    if (!Region.IsGlobal && !Region.isOutsideArena())
      moveAddress(Region.Address, Moves);
  for (SnapshotAnnotation &A : R.Annotations)
    moveAddress(A.Address, Moves);
  for (std::vector<MemoryRange> *Ranges : {&R.Before, &R.After})
    for (MemoryRange &Range : *Ranges)
      moveAddress(Range.Address, Moves);
  for (std::string &Arg : R.Args)
    moveWords(Arg, Moves);
  // A variable is in the arena, but stays, too.
  size_t Outside = 0, Variables = 0;
  for (const SnapshotRegion &Region : R.Regions) {
    Outside += Region.isOutsideArena();
    Variables += Region.IsGlobal;
  }
  return Outside && Outside + Variables > 1 ? "some are outside of the arena"
                                            : "";
}
