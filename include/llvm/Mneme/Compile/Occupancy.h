//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Theoretical occupancy: the number of resident blocks of a kernel per
/// multiprocessor of an NVIDIA GPU, for a sufficiently large grid.
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

/// The occupancy of one multiprocessor; for AMD GPUs of one compute unit, or,
/// since gfx10, of one work-group processor.
struct Occupancy {
  uint64_t Blocks = 0; ///< 0: no block fits.
  uint64_t Warps = 0;  ///< Or waves.
  uint64_t MaxWarps = 0;
  /// All resources that permit no more blocks: "warps", "blocks", "registers",
  /// "shared", "barriers"; or "waves", "blocks", "VGPRs", "SGPRs", "LDS".
  SmallVector<StringRef, 5> Limiters;

  double percent() const { return 100.0 * Warps / MaxWarps; }
};

/// Computes the occupancy with the largest shared memory carve-out.
/// \param Arch  "sm_90", "sm_100a", "gfx90a".
/// \param Threads  per block.
/// \param DynamicShared  bytes per block.
/// \returns nothing if the limits of the architecture are not known.
std::optional<Occupancy> computeOccupancy(StringRef Arch,
                                          const KernelResources &Resources,
                                          uint64_t Threads,
                                          uint64_t DynamicShared);

json::Value toJSON(const Occupancy &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_OCCUPANCY_H
