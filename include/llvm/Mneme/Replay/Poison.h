//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes that the recorded kernel writes and does not read before: what they
/// hold before a launch makes no difference to it. Replays give them a value
/// that is not the one they have to get (poison), so that code which does not
/// write them is noticed although the recorded memory had that value already.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_POISON_H
#define LLVM_MNEME_REPLAY_POISON_H

#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// A bit for each byte of a recording's regions. Processes that are forked after
/// it was made share the bits.
class PoisonMask {
public:
  /// No byte is poisoned. Null when there is no memory for the bits.
  static std::shared_ptr<PoisonMask> create(ArrayRef<RecordedRegion> Regions);
  ~PoisonMask();

  bool test(size_t Region, uint64_t Offset) const {
    return Regions[Region].Bits[Offset / 8] >> (Offset % 8) & 1;
  }
  void set(size_t Region, uint64_t Offset) {
    Regions[Region].Bits[Offset / 8] |= uint8_t(1) << (Offset % 8);
  }
  void clear();
  /// \p Other is of the same regions.
  void assign(const PoisonMask &Other);
  /// How many bytes are poisoned.
  uint64_t count() const;
  /// Whether a byte in [\p Begin, \p End) is.
  bool any(size_t Region, uint64_t Begin, uint64_t End) const;
  /// Replaces the poisoned ones of \p Bytes, from offset \p Begin of the region
  /// on, by the complement of what \p Values has there.
  void apply(size_t Region, uint64_t Begin, ArrayRef<char> Values,
             MutableArrayRef<char> Bytes) const;

private:
  struct RegionBits {
    uint64_t Size; ///< Bytes of the region.
    uint8_t *Bits;
  };
  std::vector<RegionBits> Regions;
  void *Memory = nullptr;
  size_t MemorySize = 0;
};

/// Finds the bytes by a launch of the recorded kernel that notes its accesses
/// (Transforms/Trace.h), and makes sure: poisons them in \p Memory, and launches
/// once more. \p Memory is poisoned afterwards, if \p Mask has any bytes.
/// \returns why there are none, or nothing. An Error means that the device is
/// lost.
/// \param Report  is told of ReplayStage::Poison.
Expected<std::string> findPoison(const ReplayPlan &Plan, Device &D,
                                 Replayer &Memory,
                                 std::shared_ptr<PoisonMask> Mask,
                                 function_ref<void(ReplayStage)> Report);

/// Opens \p Device in a process of its own, under the time limit of \p Plan, and
/// looks there. Call it while the process has one thread, and has not used a GPU.
/// \returns the plan with what was found, perhaps nothing. Errors: no such
/// device, or one that cannot run the recording.
Expected<std::unique_ptr<ReplayPlan>>
poisonIsolated(const ReplayPlan &Plan, StringRef Device,
               VerificationPower &Power);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_POISON_H
