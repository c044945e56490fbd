//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of CUDA's occupancy calculator, cuda_occupancy.h in the
// toolkit, and for AMD GPUs those of LLVM's back end, AMDGPUBaseInfo.cpp.
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

//===----------------------------------------------------------------------===//
// AMD GPUs
//===----------------------------------------------------------------------===//

namespace {
/// Of a compute unit, or of a work-group processor since gfx10. The registers
/// of a SIMD are those for waves of 32 lanes where there are such waves.
struct AMDLimits {
  uint64_t WavesOfSIMD, Registers, RegisterUnit, LDSKiB;
  bool HasShortWaves;
};
} // namespace

static std::optional<AMDLimits> findAMDLimits(StringRef Arch) {
  StringRef Processor = Arch.split(':').first;
  unsigned Major;
  if (!Processor.consume_front("gfx") || Processor.size() < 3 ||
      Processor.drop_back(2).getAsInteger(10, Major))
    return std::nullopt;
  StringRef Minor = Processor.take_back(2);
  bool IsLarge = Minor == "00" || Minor == "01" || Minor == "51";
  switch (Major) {
  case 9:
    // VGPRs and AGPRs are in one file.
    if (Minor == "0a" || Minor == "42" || Minor == "50")
      return AMDLimits{8, 512, 8, Minor == "50" ? 160u : 64u, false};
    return Minor.front() == '0'
               ? std::optional(AMDLimits{10, 256, 4, 64, false})
               : std::nullopt;
  case 10:
    return Minor.front() == '1'
               ? std::optional(AMDLimits{20, 1024, 8, 128, true})
           : Minor.front() == '3'
               ? std::optional(AMDLimits{16, 1024, 16, 128, true})
               : std::nullopt;
  case 11:
    return IsLarge ? AMDLimits{16, 1536, 24, 128, true}
                   : AMDLimits{16, 1024, 16, 128, true};
  case 12:
    return Minor == "00" || Minor == "01"
               ? std::optional(AMDLimits{16, 1536, 24, 128, true})
               : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// The waves of a SIMD of gfx9 that its 800 SGPRs allow.
static uint64_t limitBySGPRs(uint64_t OfWave) {
  return OfWave <= 80 ? 10 : OfWave <= 88 ? 9 : OfWave <= 100 ? 8 : 7;
}

/// Selects the smallest of \p Limits, in blocks.
static Occupancy select(ArrayRef<std::pair<StringRef, uint64_t>> Limits,
                        uint64_t WarpsOfBlock, uint64_t MaxWarps) {
  Occupancy O;
  O.Blocks = UINT64_MAX;
  for (const auto &[Name, Limit] : Limits)
    O.Blocks = std::min(O.Blocks, Limit);
  for (const auto &[Name, Limit] : Limits)
    if (Limit == O.Blocks)
      O.Limiters.push_back(Name);
  O.Warps = O.Blocks * WarpsOfBlock;
  O.MaxWarps = MaxWarps;
  return O;
}

static std::optional<Occupancy> computeForAMD(StringRef Arch,
                                              const KernelResources &R,
                                              uint64_t Threads,
                                              uint64_t Shared) {
  constexpr uint64_t SIMDs = 4;
  std::optional<AMDLimits> L = findAMDLimits(Arch);
  if (!L || Threads == 0)
    return std::nullopt;
  bool IsShort = L->HasShortWaves && R.WaveSize.value_or(32) == 32;
  uint64_t Waves = divideCeil(Threads, IsShort ? 32 : 64);
  uint64_t Halves = L->HasShortWaves && !IsShort ? 2 : 1;
  uint64_t Allocated = alignTo(std::max<uint64_t>(R.Registers.value_or(0), 1),
                               L->RegisterUnit / Halves);
  uint64_t ByRegisters = L->Registers / Halves / Allocated;
  // A block of one wave takes no barrier.
  uint64_t Barriers = Waves == 1 ? UINT64_MAX : L->HasShortWaves ? 32 : 16;
  uint64_t LDS = alignTo(Shared, L->HasShortWaves ? 1024 : 512);
  const std::pair<StringRef, uint64_t> Limits[] = {
      {"waves", Threads > MaxBlockThreads ? 0 : SIMDs * L->WavesOfSIMD / Waves},
      {"blocks", Barriers},
      {"VGPRs", SIMDs * ByRegisters / Waves},
      {"SGPRs",
       L->HasShortWaves
           ? UINT64_MAX
           : SIMDs * limitBySGPRs(R.ScalarRegisters.value_or(0)) / Waves},
      {"LDS", LDS ? L->LDSKiB * 1024 / LDS : UINT64_MAX}};
  return select(Limits, Waves, SIMDs * L->WavesOfSIMD);
}

std::optional<Occupancy> mneme::computeOccupancy(StringRef Arch,
                                                 const KernelResources &R,
                                                 uint64_t Threads,
                                                 uint64_t DynamicShared) {
  // Clamp values beyond any GPU's, so that sums do not overflow; they still
  // exceed every limit.
  constexpr uint64_t Huge = uint64_t(1) << 40;
  uint64_t Shared =
      std::min(R.Shared.value_or(0), Huge) + std::min(DynamicShared, Huge);
  if (Arch.starts_with("gfx"))
    return computeForAMD(Arch, R, Threads, Shared);
  const GPULimits *L = findLimits(Arch);
  if (!L || Threads == 0)
    return std::nullopt;
  uint64_t WarpsOfBlock = divideCeil(Threads, WarpSize);
  uint64_t Barriers = R.Barriers.value_or(0);
  const std::pair<StringRef, uint64_t> Limits[] = {
      {"warps", Threads > MaxBlockThreads ? 0 : L->Warps / WarpsOfBlock},
      {"blocks", L->Blocks},
      {"registers",
       limitByRegisters(std::min(R.Registers.value_or(0), Huge / WarpSize),
                        std::min(WarpsOfBlock, Huge))},
      {"shared", limitByShared(*L, Shared)},
      {"barriers",
       L->Barriers && Barriers ? L->Barriers / Barriers : UINT64_MAX}};
  return select(Limits, WarpsOfBlock, L->Warps);
}

json::Value mneme::toJSON(const Occupancy &O) {
  return json::Object{{"blocks", O.Blocks},
                      {"warps", O.Warps},
                      {"max_warps", O.MaxWarps},
                      {"percent", O.percent()},
                      {"limiters", json::Array(O.Limiters)}};
}
