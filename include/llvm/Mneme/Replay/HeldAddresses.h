//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Addresses that a recording wants beyond its arena, kept free while a device
/// opens: its driver takes large ranges of addresses, anywhere.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_HELDADDRESSES_H
#define LLVM_MNEME_REPLAY_HELDADDRESSES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace llvm {
namespace mneme {

struct RecordedRegion;

class HeldAddresses {
public:
  HeldAddresses() = default;
  /// Holds those of the regions outside of the arena, where nothing is yet:
  /// whoever wants them will hear of the others.
  explicit HeldAddresses(ArrayRef<RecordedRegion> Regions) { hold(Regions); }
  HeldAddresses(HeldAddresses &&Other) = default;
  HeldAddresses &operator=(HeldAddresses &&Other) {
    std::swap(Ranges, Other.Ranges);
    return *this;
  }
  ~HeldAddresses() { release(); }

  void hold(ArrayRef<RecordedRegion> Regions);
  /// For the device to take them.
  void release();

private:
  std::vector<std::pair<uint64_t, uint64_t>> Ranges; ///< Address, bytes.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_HELDADDRESSES_H
