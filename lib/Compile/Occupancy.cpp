//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of CUDA's occupancy calculator, cuda_occupancy.h in the
// toolkit.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Occupancy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
struct GPULimits {
  unsigned SM;
  uint64_t Warps, Blocks, SharedKiB, SharedUnit, ReservedShared, Barriers;
};
} // namespace

static constexpr GPULimits AllLimits[] = {
#define MNEME_GPU_LIMITS(SM, WARPS, BLOCKS, SHARED, UNIT, RESERVED, BARRIERS)  \
  {SM, WARPS, BLOCKS, SHARED, UNIT, RESERVED, BARRIERS},
#include "llvm/Mneme/Compile/GPULimits.def"
};

static constexpr uint64_t WarpSize = 32, MaxBlockThreads = 1024;
/// Registers of a multiprocessor, which is also the limit of a block. They are
/// allocated to warps in units, and each warp resides in one of four
/// partitions.
static constexpr uint64_t Registers = 65536, RegisterUnit = 256, Partitions = 4;

static const GPULimits *findLimits(StringRef Arch) {
  unsigned SM;
  if (!Arch.consume_front("sm_") || Arch.consumeInteger(10, SM))
    return nullptr;
  // "a" and "f" restrict the code, not the processor's resources.
  if (!Arch.empty() && Arch != "a" && Arch != "f")
    return nullptr;
  const auto *It =
      find_if(AllLimits, [&](const GPULimits &L) { return L.SM == SM; });
  return It == std::end(AllLimits) ? nullptr : It;
}

static uint64_t limitByRegisters(uint64_t OfThread, uint64_t WarpsOfBlock) {
  uint64_t OfWarp = alignTo(OfThread * WarpSize, RegisterUnit);
  if (OfWarp == 0)
    return UINT64_MAX;
  // The hardware rounds a block's warps up to all partitions.
  if (OfWarp * alignTo(WarpsOfBlock, Partitions) > Registers)
    return 0;
  return Registers / Partitions / OfWarp * Partitions / WarpsOfBlock;
}

static uint64_t limitByShared(const GPULimits &L, uint64_t OfBlock) {
  uint64_t Allocated = alignTo(OfBlock + L.ReservedShared, L.SharedUnit);
  uint64_t All = L.SharedKiB * 1024;
  return Allocated ? All / Allocated : UINT64_MAX;
}

std::optional<Occupancy>
mneme::computeOccupancy(StringRef Arch, const KernelResources &R,
                        uint64_t Threads, uint64_t DynamicShared) {
  const GPULimits *L = findLimits(Arch);
  if (!L || Threads == 0)
    return std::nullopt;
  uint64_t WarpsOfBlock = divideCeil(Threads, WarpSize);
  uint64_t Barriers = R.Barriers.value_or(0);
  // Clamp values beyond any GPU's, so that sums do not overflow; they still
  // exceed every limit.
  constexpr uint64_t Huge = uint64_t(1) << 40;
  uint64_t Shared = std::min(R.Shared.value_or(0), Huge) +
                    std::min(DynamicShared, Huge);
  const std::pair<StringRef, uint64_t> Limits[] = {
      {"warps", Threads > MaxBlockThreads ? 0 : L->Warps / WarpsOfBlock},
      {"blocks", L->Blocks},
      {"registers",
       limitByRegisters(std::min(R.Registers.value_or(0), Huge / WarpSize),
                        std::min(WarpsOfBlock, Huge))},
      {"shared", limitByShared(*L, Shared)},
      {"barriers",
       L->Barriers && Barriers ? L->Barriers / Barriers : UINT64_MAX}};
  Occupancy O;
  O.Blocks = UINT64_MAX;
  for (const auto &[Name, Limit] : Limits)
    O.Blocks = std::min(O.Blocks, Limit);
  for (const auto &[Name, Limit] : Limits)
    if (Limit == O.Blocks)
      O.Limiters.push_back(Name);
  O.Warps = O.Blocks * WarpsOfBlock;
  O.MaxWarps = L->Warps;
  return O;
}

json::Value mneme::toJSON(const Occupancy &O) {
  return json::Object{{"blocks", O.Blocks},
                      {"warps", O.Warps},
                      {"max_warps", O.MaxWarps},
                      {"percent", O.percent()},
                      {"limiters", json::Array(O.Limiters)}};
}
