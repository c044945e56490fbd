//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A recording's memory on the GPU, before and after the recorded launch, so
/// that restoring and comparing do not involve the host.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_RESIDENTMEMORY_H
#define LLVM_MNEME_LIB_REPLAY_RESIDENTMEMORY_H

#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

class ResidentMemory {
public:
  /// Makes both copies: from the arena, which holds the prologue, and from the
  /// recording. Returns null if the device lacks memory for them.
  static Expected<std::unique_ptr<ResidentMemory>>
  create(const RecordedState &State, ArrayRef<Replayer::Padding> Paddings,
         GPUDevice &D);
  ~ResidentMemory();

  /// Sets the ranges that restore() writes.
  void setDirty(ArrayRef<Replayer::Range> Ranges);
  /// Reads a region's contents before and after the launch. Both buffers must
  /// have the same size.
  Error read(size_t Region, uint64_t Offset, MutableArrayRef<char> OfBefore,
             MutableArrayRef<char> OfAfter);
  /// Changes the contents that restore() writes.
  Error writeBefore(size_t Region, uint64_t Offset, ArrayRef<char> Bytes);
  Error clearBefore(size_t Region);

  /// Sets the byte that padding consists of; initially 0.
  Error setPadding(uint8_t Byte);

  /// Enqueues copies of the dirty ranges to the arena.
  Error restore();

  /// Compares the arena with the contents after the launch and describes first
  /// mismatches.
  /// \param Written  set to the first byte of padding that was written: index
  /// of the padding, and offset in it.
  Expected<std::vector<CompareStats>>
  compare(ArrayRef<ComparePart> Parts,
          std::optional<std::pair<size_t, uint64_t>> &Written);
  /// Returns the ranges in which the arena differs from the contents before the
  /// launch.
  Expected<std::vector<Replayer::Range>> findChanges();

private:
  ResidentMemory(const RecordedState &State,
                 ArrayRef<Replayer::Padding> Paddings, GPUDevice &D)
      : State(State), Paddings(Paddings.vec()), D(D) {}
  ResidentMemory(const ResidentMemory &) = delete;

  const RecordedState &State;
  const std::vector<Replayer::Padding> Paddings;
  GPUDevice &D;
  /// Allocated by allocate().
  uint64_t Allocations[2] = {0, 0};
  /// A copy of the largest padding, plus a page; 0 if there is no padding.
  uint64_t PaddingCopy = 0;
  uint64_t LargestPadding = 0;
  /// Addresses of each region's copies, equal modulo a page to the region's own
  /// address.
  std::vector<uint64_t> Before, After;
  std::vector<MnemeCopyPart> Restored;
  std::unique_ptr<CopyPlan> Plan; ///< Copies Restored; stale unless IsPlanned.
  bool IsPlanned = false;

  uint64_t planLayout();
  Expected<bool> allocate();
  Error fill();
  Error compareOnHost(const ComparePart &P, CompareStats &Stats);
  Error describeFirst(const ComparePart &P, CompareStats &Stats);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_RESIDENTMEMORY_H
