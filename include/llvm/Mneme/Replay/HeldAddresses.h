//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reserves the addresses that a recording needs outside its arena while a
/// device opens, because drivers take large address ranges anywhere.
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

/// A set of reserved address ranges.
class HeldAddresses {
public:
  HeldAddresses() = default;
  /// Reserves the unused addresses of the regions outside the arena. Mapping
  /// the other regions will fail later.
  explicit HeldAddresses(ArrayRef<RecordedRegion> Regions) { hold(Regions); }
  HeldAddresses(HeldAddresses &&Other) = default;
  HeldAddresses &operator=(HeldAddresses &&Other) {
    std::swap(Ranges, Other.Ranges);
    return *this;
  }
  ~HeldAddresses() { release(); }

  void hold(ArrayRef<RecordedRegion> Regions);
  /// Frees the addresses for the device.
  void release();

private:
  std::vector<std::pair<uint64_t, uint64_t>> Ranges; ///< Address and size in
                                                     ///< bytes.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_HELDADDRESSES_H
