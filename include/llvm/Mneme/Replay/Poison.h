//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Poison: random initial values for bytes that the recorded kernel writes
/// without reading them first, and whose initial values thus do not matter. It
/// reveals code that fails to write bytes which already had the right value in
/// the recorded memory. It tells the code nothing about the right values.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_POISON_H
#define LLVM_MNEME_REPLAY_POISON_H

#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// One bit per byte of a recording's regions. Processes forked after its
/// creation share the bits.
class PoisonMask {
public:
  /// Creates an empty mask. Returns null if memory for the bits is unavailable.
  static std::shared_ptr<PoisonMask> create(ArrayRef<RecordedRegion> Regions);
  ~PoisonMask();

  bool test(size_t Region, uint64_t Offset) const {
    return Regions[Region].Bits[Offset / 8] >> (Offset % 8) & 1;
  }
  void set(size_t Region, uint64_t Offset) {
    Regions[Region].Bits[Offset / 8] |= uint8_t(1) << (Offset % 8);
  }
  void clear();
  /// Copies the bits of \p Other, which has the same regions.
  void assign(const PoisonMask &Other);
  /// Returns the number of poisoned bytes.
  uint64_t count() const;
  /// Returns true if any byte in [\p Begin, \p End) is poisoned.
  bool any(size_t Region, uint64_t Begin, uint64_t End) const;
  /// Replaces the poisoned bytes in \p Bytes, the recorded contents, by random
  /// ones that differ from \p Outcome. Both start at offset \p Begin of the
  /// region.
  void draw(size_t Region, uint64_t Begin, ArrayRef<char> Outcome,
            MutableArrayRef<char> Bytes, const PoisonDraw &D) const;

private:
  struct RegionBits {
    uint64_t Size; ///< Bytes in the region.
    uint8_t *Bits;
  };
  std::vector<RegionBits> Regions;
  void *Memory = nullptr;
  size_t MemorySize = 0;
};

/// Draws the memory at \p Address, which belongs to no region.
void drawPadding(uint64_t Address, MutableArrayRef<char> Bytes,
                 const PoisonDraw &D);

/// The result of a search for poison.
struct PoisonSearch {
  std::string NoPoison;    ///< Why no byte is poisoned; empty if one is.
  bool IsVerified = false; ///< All launches of the recorded kernel verified.
  /// The bytes that the launch has to move; unset if it was not traced.
  std::optional<LaunchWork> Work;
  double TracedNanoseconds = 0; ///< Of the traced launch.
};

/// Traces the accesses of the recorded kernel in one launch to find the bytes
/// (Transforms/Trace.h). To confirm them, poisons them in \p Memory and
/// launches again. \p Memory stays poisoned if \p Mask is not empty. An Error
/// means that the device is lost.
/// \param Rules   how to compare memory after the launches.
/// \param Report  called with ReplayStage::Poison.
Expected<PoisonSearch> findPoison(const ReplayPlan &Plan,
                                  const ComparePlan &Rules, Device &D,
                                  Replayer &Memory,
                                  std::shared_ptr<PoisonMask> Mask,
                                  function_ref<void(ReplayStage)> Report);

/// Runs findPoison() and, if the plan's options say so, measureEnvelope() on
/// \p Device in a child process under the time limit of \p Plan. Call it while
/// the process has one thread and has not used a GPU. \returns the plan with
/// the poison and the envelope found, if any. Fails if there is no such device
/// or it cannot run the recording.
Expected<std::unique_ptr<ReplayPlan>> prepareIsolated(const ReplayPlan &Plan,
                                                      StringRef Device,
                                                      VerificationPower &Power);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_POISON_H
