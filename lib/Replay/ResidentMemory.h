//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A recording's memory kept on the GPU: as it was before the recorded launch
/// and as it was after it, so that restoring and comparing need no host.
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
  /// Makes both copies from the arena, which holds what was before the launch,
  /// and from the recording. Null when the device has no room for them.
  static Expected<std::unique_ptr<ResidentMemory>>
  create(const RecordedState &State, ArrayRef<Replayer::Padding> Paddings,
         GPUDevice &D);
  ~ResidentMemory();

  /// What restore() writes from now on.
  void setDirty(ArrayRef<Replayer::Range> Ranges);
  /// What was in a region before the launch, and after it: as many bytes.
  Error read(size_t Region, uint64_t Offset, MutableArrayRef<char> OfBefore,
             MutableArrayRef<char> OfAfter);
  /// Changes what restore() writes.
  Error writeBefore(size_t Region, uint64_t Offset, ArrayRef<char> Bytes);
  Error clearBefore(size_t Region);

  /// Enqueues copies of what was before to those ranges of the arena.
  Error restore();

  /// The arena against what was after, with the texts of first mismatches.
  /// \param Written  the first byte of padding that is not zero: number of the
  /// padding and offset in it.
  Expected<std::vector<CompareStats>>
  compare(ArrayRef<ComparePart> Parts,
          std::optional<std::pair<size_t, uint64_t>> &Written);
  /// Where the arena is not as it was before.
  Expected<std::vector<Replayer::Range>> findChanges();

private:
  ResidentMemory(const RecordedState &State,
                 ArrayRef<Replayer::Padding> Paddings, GPUDevice &D)
      : State(State), Paddings(Paddings.vec()), D(D) {}
  ResidentMemory(const ResidentMemory &) = delete;

  const RecordedState &State;
  const std::vector<Replayer::Padding> Paddings;
  GPUDevice &D;
  /// What allocate() gave.
  uint64_t Allocations[2] = {0, 0};
  /// As many as the largest padding has, in a page more. 0: there is none.
  uint64_t Zeros = 0;
  /// Of each region, the addresses of its copies: equal modulo a page to its
  /// own.
  std::vector<uint64_t> Before, After;
  std::vector<MnemeCopyPart> Restored;
  std::unique_ptr<CopyPlan> Plan; ///< To copy Restored, unless that is new.
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
