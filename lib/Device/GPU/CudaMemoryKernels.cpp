//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Operations of a CUDA device that use the memory kernels. With every backend,
/// the driver compiles and launches these kernels, because liboffload takes
/// only machine code.
///
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "llvm/Mneme/Runtime/KernelImages.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

Error CudaDevice::loadMemoryKernels() {
  const char *Image =
      Driver.IsHip ? mneme_memory_kernels_hip : mneme_memory_kernels_ptx;
  if (Error E = check(Driver.ModuleLoadData(&MemoryKernels, Image),
                      "load the memory kernels"))
    return Driver.IsHip
               ? createStringError(toString(std::move(E)) +
                                   "; they are compiled for the architectures "
                                   "in MNEME_AMDGPU_ARCHS")
               : std::move(E);
  const std::pair<MemoryKernel *, const char *> All[] = {
      {&Compare, MNEME_KERNEL_COMPARE},
      {&Diff, MNEME_KERNEL_DIFF},
      {&Copy, MNEME_KERNEL_COPY},
      {&Clock, MNEME_KERNEL_CLOCK},
      {&ClearShared, MNEME_KERNEL_CLEAR_SHARED},
  };
  for (auto [K, KernelName] : All) {
    if (Error E = check(
            Driver.ModuleGetFunction(&K->Function, MemoryKernels, KernelName),
            "find the memory kernel " + Twine(KernelName)))
      return E;
    int Blocks = 0;
    if (Error E = check(Driver.OccupancyMaxActiveBlocksPerMultiprocessor(
                            &Blocks, K->Function, MNEME_KERNEL_BLOCK, 0),
                        "ask for the occupancy of " + Twine(KernelName)))
      return E;
    K->MaxBlocks = std::max(1u, Blocks * Info.Multiprocessors);
  }
  Expected<uint64_t> Samples = allocate(2 * sizeof(MnemeClockSample));
  if (!Samples)
    return Samples.takeError();
  ClockSamples = *Samples;
  // The maximum for a block, so that one block fits on a multiprocessor.
  SharedToClear = Info.SharedPerBlock;
  constexpr int MaxDynamicSharedSizeBytes = 8; // CU_FUNC_ATTRIBUTE_*
  return check(Driver.FuncSetAttribute(ClearShared.Function,
                                       MaxDynamicSharedSizeBytes,
                                       SharedToClear),
               "allow a memory kernel its shared memory");
}

Error CudaDevice::enqueueClearShared() {
  uint64_t Bytes = SharedToClear;
  void *Args[] = {&Bytes};
  return check(Driver.LaunchKernel(ClearShared.Function, Info.Multiprocessors,
                                   1, 1, MNEME_KERNEL_BLOCK, 1, 1,
                                   SharedToClear, Backend->getStream(), Args,
                                   nullptr),
               "launch a memory kernel");
}

/// \param Tiles Amount of work, one tile per wave. 0 means one thread.
Error CudaDevice::launchMemoryKernel(const MemoryKernel &K, uint64_t Tiles,
                                     MutableArrayRef<void *> Args) {
  const uint64_t WavesOfBlock = MNEME_KERNEL_BLOCK / Info.WaveSize;
  unsigned Blocks =
      std::clamp<uint64_t>(divideCeil(Tiles, WavesOfBlock), 1, K.MaxBlocks);
  unsigned Threads = Tiles ? MNEME_KERNEL_BLOCK : 1;
  return check(Driver.LaunchKernel(K.Function, Blocks, 1, 1, Threads, 1, 1, 0,
                                   Backend->getStream(), Args.data(), nullptr),
               "launch a memory kernel");
}

//===----------------------------------------------------------------------===//
// Tables of parts
//===----------------------------------------------------------------------===//

/// \returns the parts followed by FirstTile, as stored on the device.
template <typename Part>
static std::vector<char> makeTable(ArrayRef<Part> Parts, uint64_t &Tiles) {
  static_assert(sizeof(Part) % sizeof(uint64_t) == 0);
  uint64_t PartBytes = Parts.size() * sizeof(Part);
  std::vector<char> Table(PartBytes + (Parts.size() + 1) * sizeof(uint64_t));
  std::memcpy(Table.data(), Parts.data(), PartBytes);
  Tiles = 0;
  char *FirstTile = Table.data() + PartBytes;
  for (const Part &P : Parts) {
    std::memcpy(FirstTile, &Tiles, sizeof(Tiles));
    FirstTile += sizeof(Tiles);
    Tiles += divideCeil(P.Size, uint64_t(MNEME_KERNEL_TILE));
  }
  std::memcpy(FirstTile, &Tiles, sizeof(Tiles));
  return Table;
}

Expected<std::vector<MnemeCompareResult>>
CudaDevice::compare(ArrayRef<MnemeComparePart> Parts) {
  MnemeCompareResult Nothing = {};
  Nothing.First = UINT64_MAX;
  std::vector<MnemeCompareResult> Results(Parts.size(), Nothing);
  if (Parts.empty())
    return Results;
  if (Error E = enter())
    return E;
  uint64_t Tiles = 0;
  std::vector<char> Table = makeTable(Parts, Tiles);
  uint64_t ResultsOffset = Table.size();
  uint64_t ResultBytes = Results.size() * sizeof(MnemeCompareResult);
  Table.resize(ResultsOffset + ResultBytes);
  std::memcpy(Table.data() + ResultsOffset, Results.data(), ResultBytes);
  Expected<uint64_t> Memory = getScratch(Table.size());
  if (!Memory)
    return Memory.takeError();

  uint64_t PartsAt = *Memory;
  uint64_t FirstTileAt = PartsAt + Parts.size() * sizeof(MnemeComparePart);
  uint64_t NumParts = Parts.size();
  uint64_t ResultsAt = PartsAt + ResultsOffset;
  void *Args[] = {&PartsAt, &FirstTileAt, &NumParts, &ResultsAt};
  if (Error E = check(Backend->upload(PartsAt, Table.data(), Table.size()),
                      "write the table of what to compare"))
    return E;
  if (Error E = launchMemoryKernel(Compare, Tiles, Args))
    return E;
  if (Error E = read(ResultsAt, {reinterpret_cast<char *>(Results.data()),
                                 ResultBytes}))
    return E;
  return Results;
}

Expected<std::vector<uint8_t>>
CudaDevice::diffPages(ArrayRef<MnemeDiffPart> Parts) {
  uint64_t NumFlags = 0;
  for (const MnemeDiffPart &P : Parts) {
    assert(P.FirstFlag == NumFlags && "not the pages of the parts before");
    NumFlags += divideCeil(P.Size, uint64_t(MNEME_SNAPSHOT_PAGE));
  }
  std::vector<uint8_t> Flags(NumFlags);
  if (Flags.empty())
    return Flags;
  if (Error E = enter())
    return E;
  uint64_t Tiles = 0;
  std::vector<char> Table = makeTable(Parts, Tiles);
  Expected<uint64_t> Memory = getScratch(Table.size() + NumFlags);
  if (!Memory)
    return Memory.takeError();

  uint64_t PartsAt = *Memory;
  uint64_t FirstTileAt = PartsAt + Parts.size() * sizeof(MnemeDiffPart);
  uint64_t NumParts = Parts.size();
  uint64_t FlagsAt = PartsAt + Table.size();
  void *Args[] = {&PartsAt, &FirstTileAt, &NumParts, &FlagsAt};
  if (Error E = check(Backend->upload(PartsAt, Table.data(), Table.size()),
                      "write the table of what to compare"))
    return E;
  if (Error E = launchMemoryKernel(Diff, Tiles, Args))
    return E;
  if (Error E = read(FlagsAt, {reinterpret_cast<char *>(Flags.data()),
                               Flags.size()}))
    return E;
  return Flags;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
class CudaCopyPlan final : public CopyPlan {
public:
  CudaCopyPlan(CudaDevice &Device) : Device(Device) {}
  ~CudaCopyPlan() override {
    if (Table && Device.enterToFree())
      consumeError(Device.release(Table));
  }

  CudaDevice &Device;
  std::vector<MnemeCopyPart> Parts;
  uint64_t Table = 0; ///< 0: parts are copied one by one.
  uint64_t Tiles = 0;
};
} // namespace

Expected<std::unique_ptr<CopyPlan>>
CudaDevice::planCopies(ArrayRef<MnemeCopyPart> Parts) {
  // A copy costs the host and the device about as much as a kernel launch.
  constexpr size_t FewParts = 4;
  auto Plan = std::make_unique<CudaCopyPlan>(*this);
  for (const MnemeCopyPart &P : Parts) {
    if (!P.Size)
      continue;
    if (!Plan->Parts.empty()) {
      MnemeCopyPart &Last = Plan->Parts.back();
      if (Last.To + Last.Size == P.To && Last.From + Last.Size == P.From) {
        Last.Size += P.Size;
        continue;
      }
    }
    Plan->Parts.push_back(P);
  }
  if (Plan->Parts.size() <= FewParts)
    return Plan;
  std::vector<char> Table =
      makeTable(ArrayRef<MnemeCopyPart>(Plan->Parts), Plan->Tiles);
  Expected<uint64_t> Memory = allocate(Table.size());
  if (!Memory)
    return Memory.takeError();
  Plan->Table = *Memory;
  if (Error E = write(Plan->Table, Table))
    return E;
  return Plan;
}

Error CudaDevice::copy(CopyPlan &ThePlan) {
  auto &Plan = static_cast<CudaCopyPlan &>(ThePlan);
  if (!Plan.Table) {
    for (const MnemeCopyPart &P : Plan.Parts)
      if (Error E = copy(P.To, P.From, P.Size))
        return E;
    return Error::success();
  }
  if (Error E = enter())
    return E;
  uint64_t NumParts = Plan.Parts.size();
  uint64_t PartsAt = Plan.Table;
  uint64_t FirstTileAt = PartsAt + NumParts * sizeof(MnemeCopyPart);
  void *Args[] = {&PartsAt, &FirstTileAt, &NumParts};
  return launchMemoryKernel(Copy, Plan.Tiles, Args);
}

//===----------------------------------------------------------------------===//
// The clock
//===----------------------------------------------------------------------===//

Error CudaDevice::enqueueSpin(uint64_t Nanoseconds, const EventPair &Times) {
  uint64_t Ticks = Nanoseconds * TicksPerNanosecond;
  void *Args[] = {&ClockSamples, &Ticks};
  if (Times.Start)
    return check(launchTimed(Clock.Function, {1, 1, 1}, {1, 1, 1},
                             /*DynamicShared=*/0, Backend->getStream(), Args,
                             Times.Start, Times.Stop),
                 "launch a memory kernel");
  return launchMemoryKernel(Clock, /*Tiles=*/0, Args);
}

uint64_t llvm::mneme::countCycles(const MnemeClockSample &From,
                                  const MnemeClockSample &To) {
  constexpr uint64_t SmallCounter = uint64_t(1) << 20;
  // Only a small counter overflows.
  bool Overflowed = To.Cycles < From.Cycles;
  return To.Cycles - From.Cycles + (Overflowed ? SmallCounter : 0);
}

Expected<double> CudaDevice::measureClock() {
  // Long compared with the resolution of the timer, which may be 1 us.
  constexpr uint64_t Nanoseconds = 100000;
  if (Error E = enter())
    return E;
  if (Error E = enqueueSpin(Nanoseconds))
    return E;
  MnemeClockSample Samples[2] = {};
  if (Error E = read(ClockSamples, {reinterpret_cast<char *>(Samples),
                                    sizeof(Samples)}))
    return E;
  if (Samples[1].Time <= Samples[0].Time)
    return 0;
  return double(countCycles(Samples[0], Samples[1])) /
         double(Samples[1].Time - Samples[0].Time) * 1e3 * TicksPerNanosecond;
}
