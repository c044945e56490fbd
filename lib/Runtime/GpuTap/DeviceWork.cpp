//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceWork.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/KernelImages.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <algorithm>
#include <cstring>

using namespace mneme;

// The size of each of the two buffers: enough to keep the bus busy.
static constexpr uint64_t MaxPinned = 32u << 20;

// Tables and flags are transferred in pieces of this size. The buffer is
// allocated early: while other kernels run, the driver may not allocate it.
static constexpr uint64_t StageSize = 256u << 10;

// Up to this number, copies are enqueued one by one.
static constexpr size_t FewParts = 8;

static constexpr unsigned BlocksPerMultiprocessor = 8;
static constexpr unsigned NonBlocking = 1; // CU_STREAM_NON_BLOCKING

uint64_t mneme::tableSize(size_t NumParts) {
  return NumParts * std::max(sizeof(MnemeDiffPart), sizeof(MnemeCopyPart)) +
         (NumParts + 1) * sizeof(uint64_t);
}

uint64_t mneme::flagsOf(uint64_t Size) {
  return (Size + MNEME_SNAPSHOT_PAGE - 1) / MNEME_SNAPSHOT_PAGE;
}

std::string DeviceWork::fail(const char *What, CUresult R) const {
  return std::string("cannot ") + What + ": " + Driver.describe(R);
}

DeviceKernels::~DeviceKernels() {
  if (Module)
    Driver.ModuleUnload(Module);
}

std::string DeviceKernels::load() {
  if (Copy)
    return "";
  CUresult R = CUDA_SUCCESS;
  if (!Module)
    R = Driver.ModuleLoadData(&Module, Driver.IsHip
                                           ? mneme_memory_kernels_hip
                                           : mneme_recording_kernels_ptx);
  if (!R)
    R = Driver.ModuleGetFunction(&Diff, Module, MNEME_KERNEL_DIFF);
  if (!R)
    R = Driver.ModuleGetFunction(&Copy, Module, MNEME_KERNEL_COPY);
  if (!R)
    return "";
  std::string Error =
      "cannot load the kernels that compare memory: " + Driver.describe(R);
  return Driver.IsHip ? Error + "; they are compiled for the architectures in "
                                "MNEME_AMDGPU_ARCHS"
                      : Error;
}

DeviceWork::DeviceWork(const CudaDriver &Driver, DeviceKernels &Kernels,
                       unsigned Multiprocessors)
    : Driver(Driver), Kernels(Kernels),
      MaxBlocks(std::max(Multiprocessors, 1u) * BlocksPerMultiprocessor) {}

DeviceWork::~DeviceWork() {
  for (char *P : Outgrown)
    Driver.MemFreeHost(P);
  for (char *P : {Stage, Pinned[0], Pinned[1]})
    if (P)
      Driver.MemFreeHost(P);
  if (Stream)
    Driver.StreamDestroy(Stream);
}

std::string DeviceWork::prepare() {
  if (!Stream)
    if (CUresult R = Driver.StreamCreate(&Stream, NonBlocking))
      return fail("create a stream", R);
  if (!Stage)
    if (CUresult R = Driver.MemHostAlloc(reinterpret_cast<void **>(&Stage),
                                         StageSize, /*Flags=*/0))
      return fail("allocate pinned memory", R);
  return "";
}

// Copies of pageable memory may wait in the driver for kernels of other
// streams. If such a kernel waits for the host, all threads that call the
// driver wait, too. So all copies go through pinned memory.

CUresult DeviceWork::send(CUdeviceptr To, const void *From, uint64_t Size) {
  CUresult R = CUDA_SUCCESS;
  for (uint64_t Done = 0; !R && Done != Size;) {
    uint64_t N = std::min(Size - Done, StageSize);
    std::memcpy(Stage, static_cast<const char *>(From) + Done, N);
    R = Driver.MemcpyHtoDAsync(To + Done, Stage, N, Stream);
    if (!R)
      R = Driver.StreamSynchronize(Stream);
    Done += N;
  }
  return R;
}

CUresult DeviceWork::receive(void *To, CUdeviceptr From, uint64_t Size) {
  CUresult R = CUDA_SUCCESS;
  for (uint64_t Done = 0; !R && Done != Size;) {
    uint64_t N = std::min(Size - Done, StageSize);
    R = Driver.MemcpyDtoHAsync(Stage, From + Done, N, Stream);
    if (!R)
      R = Driver.StreamSynchronize(Stream);
    if (!R)
      std::memcpy(static_cast<char *>(To) + Done, Stage, N);
    Done += N;
  }
  return R;
}

std::string DeviceWork::launch(CUfunction F, const void *Parts, size_t PartSize,
                               const std::vector<uint64_t> &FirstTile,
                               CUdeviceptr Table, CUdeviceptr Flags) {
  uint64_t NumParts = FirstTile.size() - 1, NumTiles = FirstTile.back();
  if (!NumTiles)
    return "";
  CUdeviceptr Tiles = Table + NumParts * PartSize;
  CUresult R = send(Table, Parts, NumParts * PartSize);
  if (!R)
    R = send(Tiles, FirstTile.data(), FirstTile.size() * sizeof(uint64_t));
  if (R)
    return fail("copy a table to the device", R);
  void *Args[] = {&Table, &Tiles, &NumParts, &Flags};
  unsigned Blocks = std::min<uint64_t>(NumTiles, MaxBlocks);
  R = Driver.LaunchKernel(F, Blocks, 1, 1, MNEME_KERNEL_BLOCK, 1, 1, 0, Stream,
                          Args, nullptr);
  if (!R)
    R = Driver.StreamSynchronize(Stream);
  return R ? fail("read device memory", R) : "";
}

/// The number of tiles before each part, and of all parts.
template <typename Part>
static std::vector<uint64_t> countTiles(const std::vector<Part> &Parts) {
  std::vector<uint64_t> First = {0};
  for (const Part &P : Parts)
    First.push_back(First.back() +
                    (P.Size + MNEME_KERNEL_TILE - 1) / MNEME_KERNEL_TILE);
  return First;
}

std::string DeviceWork::copy(const std::vector<MnemeCopyPart> &Parts,
                             CUdeviceptr Table) {
  if (Parts.size() > FewParts)
    return launch(Kernels.Copy, Parts.data(), sizeof(MnemeCopyPart),
                  countTiles(Parts), Table, 0);
  CUresult R = CUDA_SUCCESS;
  for (const MnemeCopyPart &P : Parts)
    if (!R && P.Size)
      R = Driver.MemcpyDtoDAsync(P.To, P.From, P.Size, Stream);
  if (!R)
    R = Driver.StreamSynchronize(Stream);
  return R ? fail("copy device memory", R) : "";
}

std::string DeviceWork::diff(std::vector<MnemeDiffPart> Parts,
                             CUdeviceptr Table, CUdeviceptr DeviceFlags,
                             std::vector<uint8_t> &Flags) {
  uint64_t NumFlags = 0;
  for (MnemeDiffPart &P : Parts) {
    P.FirstFlag = NumFlags;
    NumFlags += flagsOf(P.Size);
  }
  Flags.assign(NumFlags, 0);
  if (!NumFlags)
    return "";
  std::string Error = launch(Kernels.Diff, Parts.data(), sizeof(MnemeDiffPart),
                             countTiles(Parts), Table, DeviceFlags);
  if (!Error.empty())
    return Error;
  CUresult R = receive(Flags.data(), DeviceFlags, NumFlags);
  return R ? fail("read device memory", R) : "";
}

std::string DeviceWork::reservePinned(uint64_t Bytes) {
  Bytes = std::min(flagsOf(Bytes) * MNEME_SNAPSHOT_PAGE, MaxPinned);
  if (Bytes <= PinnedSize)
    return "";
  Bytes = std::min(std::max(Bytes, 2 * PinnedSize), MaxPinned);
  PinnedSize = 0;
  for (char *&P : Pinned) {
    if (P)
      Outgrown.push_back(P);
    P = nullptr;
    if (CUresult R = Driver.MemHostAlloc(reinterpret_cast<void **>(&P), Bytes,
                                         /*Flags=*/0))
      return fail("allocate pinned memory", R);
  }
  PinnedSize = Bytes;
  return "";
}

std::string DeviceWork::bring(
    const std::vector<Piece> &Pieces,
    const std::function<void(const char *, uint64_t, uint64_t)> &Take,
    const std::function<void()> &Flush) {
  uint64_t Total = 0;
  for (const Piece &P : Pieces)
    Total += P.Size;
  if (!Total)
    return "";
  std::string Error = reservePinned(Total);
  if (!Error.empty())
    return Error;

  // The pieces in each buffer, or on their way to it.
  std::vector<Piece> Held[2];
  size_t Next = 0;
  uint64_t Offset = 0; // In piece Next.
  auto Fill = [&](unsigned Buffer) {
    Held[Buffer].clear();
    uint64_t Used = 0;
    CUresult R = CUDA_SUCCESS;
    while (!R && Next != Pieces.size()) {
      const Piece &P = Pieces[Next];
      uint64_t N = P.Size - Offset;
      if (N > PinnedSize - Used) {
        // Recordings store whole pages.
        N = (PinnedSize - Used) / MNEME_SNAPSHOT_PAGE * MNEME_SNAPSHOT_PAGE;
        if (!N)
          break;
      }
      if (N) {
        R = Driver.MemcpyDtoHAsync(Pinned[Buffer] + Used, P.From + Offset, N,
                                   Stream);
        Held[Buffer].push_back({P.Address + Offset, 0, N});
      }
      Used += N;
      Offset += N;
      if (Offset == P.Size) {
        ++Next;
        Offset = 0;
      }
    }
    return R;
  };

  CUresult R = CUDA_SUCCESS;
  auto BringAll = [&] {
    R = Fill(0);
    for (unsigned Now = 0; !R && !Held[Now].empty(); Now ^= 1) {
      R = Driver.StreamSynchronize(Stream);
      if (!R)
        R = Fill(Now ^ 1);
      if (R)
        break;
      const char *Bytes = Pinned[Now];
      for (const Piece &P : Held[Now]) {
        Take(Bytes, P.Address, P.Size);
        Bytes += P.Size;
      }
      Flush();
    }
  };
  if (attempt(BringAll) && !R)
    return "";
  // The buffers must not be written any more.
  Driver.StreamSynchronize(Stream);
  return R ? fail("copy device memory to the host", R) : outOfMemory();
}
