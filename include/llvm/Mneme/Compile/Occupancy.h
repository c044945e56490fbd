//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Theoretical occupancy: how many blocks of a kernel a multiprocessor of an
/// NVIDIA GPU holds at once, if there are enough of them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_OCCUPANCY_H
#define LLVM_MNEME_COMPILE_OCCUPANCY_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>

namespace llvm {
namespace mneme {

/// Of one multiprocessor.
struct Occupancy {
  uint64_t Blocks = 0; ///< 0: no block fits.
  uint64_t Warps = 0;
  uint64_t MaxWarps = 0;
  /// All that allows no more blocks than these: "warps", "blocks", "registers",
  /// "shared", "barriers".
  SmallVector<StringRef, 5> Limiters;

  double percent() const { return 100.0 * Warps / MaxWarps; }
};

/// With as much shared memory as the multiprocessor can have (the largest
/// carve-out).
/// \param Arch  "sm_90", "sm_100a".
/// \param Threads  of a block.
/// \param DynamicShared  bytes of a block.
/// \returns nothing for an architecture that is not in GPULimits.def.
std::optional<Occupancy> computeOccupancy(StringRef Arch,
                                          const KernelResources &Resources,
                                          uint64_t Threads,
                                          uint64_t DynamicShared);

json::Value toJSON(const Occupancy &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_OCCUPANCY_H
