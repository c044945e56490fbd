//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU that is memory of this process. Its memory kernels are the real ones,
// built for this machine unless somebody else runs them; the kernels that it
// launches are functions.
//
//===----------------------------------------------------------------------===//

#ifndef MNEME_UNITTESTS_REPLAY_FAKEGPU_H
#define MNEME_UNITTESTS_REPLAY_FAKEGPU_H

#include "HostKernels.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <sys/mman.h>

namespace llvm {
namespace mneme {

inline MnemeCompareResult makeEmptyResult() { return {0, 0, ~0ull, 0, 0, 0}; }

class FakeGPU : public GPUDevice {
public:
  using Body = std::function<LaunchStatus(ArrayRef<void *>)>;
  struct Kernel : DeviceKernel {};
  /// Of the memory kernels.
  unsigned NumBlocks = 3, NumThreads = 2;
  /// Runs a memory kernel, given the addresses of its arguments.
  std::function<void(StringRef Name, ArrayRef<void *> Args)> RunMemoryKernel;
  uint64_t Available = 1 << 30;
  uint64_t Granule = 1;      ///< Of its mappings: 1 or 4096.
  double Nanoseconds = 1000; ///< Of a launch.
  /// Bytes that crossed from the host, to it, and that were copied here.
  uint64_t Written = 0, Read = 0, Copied = 0;
  unsigned NumDiffs = 0, NumPlans = 0;
  Body Run;

  ~FakeGPU() override {
    for (auto [Address, Size] : Mapped)
      munmap(reinterpret_cast<void *>(Address), Size);
    EXPECT_TRUE(Allocated.empty()) << "memory was not released";
  }

  std::string getName() const override { return "cuda:0"; }
  std::string getArch() const override { return "sm_90"; }
  const GPUInfo &info() const override { return Info; }
  StringRef getBackendName() const override { return "fake"; }
  Error setTimer(GPUTimer) override { return Error::success(); }
  StringRef getTimerName() const override { return "events"; }

  Error reserveArena(uint64_t, uint64_t) override { return Error::success(); }
  Error mapMemory(uint64_t Address, uint64_t Size) override {
    uint64_t Begin = alignDown(Address, 4096);
    uint64_t Bytes = alignTo(Address + Size, 4096) - Begin;
    void *At = reinterpret_cast<void *>(Begin);
    if (mmap(At, Bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != At)
      return createStringError("no memory at the recorded address");
    Mapped[Begin] = Bytes;
    return Error::success();
  }
  Error mapOutside(uint64_t Address, uint64_t Size) override {
    return mapMemory(Address, Size);
  }
  uint64_t mappingGranule() const override { return Granule; }
  Error write(uint64_t Address, ArrayRef<char> Data) override {
    Written += Data.size();
    std::memcpy(at(Address), Data.data(), Data.size());
    return Error::success();
  }
  Error read(uint64_t Address, MutableArrayRef<char> Data) override {
    Read += Data.size();
    std::memcpy(Data.data(), at(Address), Data.size());
    return Error::success();
  }
  Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &, ArrayRef<KernelGlobal>) override {
    return std::make_unique<Kernel>();
  }
  Expected<LaunchOutcome> launch(DeviceKernel &, const LaunchConfig &,
                                 ArrayRef<void *> Args) override {
    LaunchOutcome O;
    O.Status = Run(Args);
    O.Nanoseconds = Nanoseconds;
    return O;
  }

  Expected<uint64_t> availableMemory() override { return Available; }
  Expected<uint64_t> allocate(uint64_t Size) override {
    if (Size > Available)
      return createStringError("out of memory");
    void *P = std::aligned_alloc(256, alignTo(Size, 256));
    // What was there before is no zeros.
    std::memset(P, 0xa5, alignTo(Size, 256));
    Allocated.insert({reinterpret_cast<uint64_t>(P), Size});
    Available -= Size;
    return reinterpret_cast<uint64_t>(P);
  }
  Error release(uint64_t Address) override {
    auto It = Allocated.find(Address);
    if (It == Allocated.end())
      return createStringError("not allocated");
    Available += It->second;
    Allocated.erase(It);
    std::free(at(Address));
    return Error::success();
  }

  Error fill(uint64_t Address, uint8_t Byte, uint64_t Size) override {
    std::memset(at(Address), Byte, Size);
    return Error::success();
  }
  Error copy(uint64_t To, uint64_t From, uint64_t Size) override {
    std::memcpy(at(To), at(From), Size);
    Copied += Size;
    return Error::success();
  }
  struct Plan : CopyPlan {
    std::vector<MnemeCopyPart> Parts;
  };
  Expected<std::unique_ptr<CopyPlan>>
  planCopies(ArrayRef<MnemeCopyPart> Parts) override {
    ++NumPlans;
    auto P = std::make_unique<Plan>();
    P->Parts = Parts.vec();
    return std::move(P);
  }
  Error copy(CopyPlan &P) override {
    ArrayRef<MnemeCopyPart> Parts = static_cast<Plan &>(P).Parts;
    std::vector<uint64_t> Tiles = countTiles(Parts);
    run(MNEME_KERNEL_COPY, mneme_copy, Parts.data(), Tiles.data(),
        Parts.size());
    for (const MnemeCopyPart &Part : Parts)
      Copied += Part.Size;
    return Error::success();
  }
  Error flushCache() override { return Error::success(); }
  Error synchronize() override { return Error::success(); }

  Expected<std::vector<MnemeCompareResult>>
  compare(ArrayRef<MnemeComparePart> Parts) override {
    std::vector<MnemeCompareResult> Results(Parts.size(), makeEmptyResult());
    std::vector<uint64_t> Tiles = countTiles(Parts);
    run(MNEME_KERNEL_COMPARE, mneme_compare, Parts.data(), Tiles.data(),
        Parts.size(), Results.data());
    return Results;
  }
  Expected<std::vector<uint8_t>>
  diffPages(ArrayRef<MnemeDiffPart> Parts) override {
    ++NumDiffs;
    uint64_t Pages = 0;
    for (const MnemeDiffPart &P : Parts)
      Pages += divideCeil(P.Size, MNEME_SNAPSHOT_PAGE);
    std::vector<uint8_t> Flags(Pages, 0xff);
    std::vector<uint64_t> Tiles = countTiles(Parts);
    run(MNEME_KERNEL_DIFF, mneme_diff, Parts.data(), Tiles.data(), Parts.size(),
        Flags.data());
    return Flags;
  }

  Expected<GPUKernelInfo> describe(DeviceKernel &) override {
    return GPUKernelInfo();
  }
  Expected<unsigned> getOccupancy(DeviceKernel &, unsigned, uint64_t) override {
    return 1;
  }
  Expected<double> measureClock() override { return 0; }

private:
  GPUInfo Info;
  std::map<uint64_t, uint64_t> Mapped, Allocated;

  static char *at(uint64_t Address) {
    return reinterpret_cast<char *>(Address);
  }
  template <typename T>
  static std::vector<uint64_t> countTiles(ArrayRef<T> Parts) {
    std::vector<uint64_t> First = {0};
    for (const T &P : Parts)
      First.push_back(First.back() + divideCeil(P.Size, MNEME_KERNEL_TILE));
    return First;
  }
  template <typename F, typename... Ts>
  void run(StringRef Name, F *Kernel, Ts... Args) {
    if (RunMemoryKernel)
      return RunMemoryKernel(Name, {(void *)&Args...});
    for (unsigned B = 0; B != NumBlocks; ++B)
      for (unsigned T = 0; T != NumThreads; ++T) {
        mneme_kernel_thread = {B, NumBlocks, T, NumThreads};
        Kernel(Args...);
      }
  }
};

} // namespace mneme
} // namespace llvm

#endif // MNEME_UNITTESTS_REPLAY_FAKEGPU_H
