//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Verified launches on NVIDIA GPUs.
///
//===----------------------------------------------------------------------===//

#include "GpuDeployment.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace mneme;

namespace {
/// Through copies that wait for the device.
class GpuMemory final : public DeviceMemory {
public:
  explicit GpuMemory(const CudaDriver &Driver) : Driver(Driver) {}
  bool read(void *To, uint64_t From, uint64_t Size) const override {
    return !Driver.MemcpyDtoH(To, From, Size);
  }
  bool write(uint64_t To, const void *From, uint64_t Size) const override {
    return !Driver.MemcpyHtoD(To, From, Size);
  }

private:
  const CudaDriver &Driver;
};
} // namespace

/// Calls \p Visit(argument, pointer) for all words that may be pointers.
template <typename Fn>
static void forEachWord(const TunedKernel &K, const LaunchFacts &L, Fn Visit) {
  if (!L.Args)
    return;
  for (size_t I = 0; I != K.Args.size(); ++I)
    for (uint32_t At = 0; At + sizeof(uint64_t) <= K.Args[I].Size;
         At += sizeof(uint64_t)) {
      uint64_t Word;
      memcpy(&Word, static_cast<const char *>(L.Args[I]) + At, sizeof(Word));
      Visit(I, Word);
    }
}

/// The allocation of the driver's that \p Address lies in. \returns false if
/// there is none.
static bool findAllocation(const CudaDriver &Driver, uint64_t Address,
                           MemoryRange &R) {
  constexpr int RangeStart = 11, RangeSize = 12; // CU_POINTER_ATTRIBUTE_*
  CUdeviceptr Start = 0;
  size_t Size = 0;
  if (!Address || !Driver.PointerGetAttribute ||
      Driver.PointerGetAttribute(&Start, RangeStart, Address) || !Start ||
      Driver.PointerGetAttribute(&Size, RangeSize, Address))
    return false;
  R.Address = Start;
  R.Size = Size;
  return Size;
}

/// The memory of a device, and other memory that arguments point to. May throw.
std::vector<MemoryRange> GpuDeployment::findMemory(const TunedKernel &K,
                                                   const LaunchFacts &L,
                                                   int Device) {
  const CudaDriver &Driver = *list()->Driver;
  std::vector<MemoryRange> Found = Buffers.find(Device);
  forEachWord(K, L, [&](size_t Arg, uint64_t Word) {
    auto I =
        std::find_if(Found.begin(), Found.end(), [&](const MemoryRange &R) {
          return Word - R.Address < R.Size;
        });
    MemoryRange New;
    if (I == Found.end() && findAllocation(Driver, Word, New))
      I = Found.insert(I, New);
    if (I != Found.end() && I->Name.empty())
      I->Name = "argument " + std::to_string(Arg);
  });
  for (MemoryRange &R : Found)
    if (R.Name.empty()) {
      char Text[48];
      snprintf(Text, sizeof(Text), "memory at %#llx",
               static_cast<unsigned long long>(R.Address));
      R.Name = Text;
    }
  return Found;
}

bool GpuDeployment::verify(TunedVariant &V, VerifyReason Why,
                           const GpuLaunch &L, const LaunchPlan &Plan,
                           int Device, OwnLaunch Own, int &Error) {
  const CudaDriver &Driver = *list()->Driver;
  TunedKernels &Kernels = TunedKernels::get();
  bool IsDone = false;
  Difference D;
  std::string Failure;
  auto RunTuned = [&] {
    if (CUresult E = fire(V, L, Plan)) {
      attempt([&] { Failure = Driver.describe(E); });
      return Verdict::Refused;
    }
    CUresult E = Driver.CtxSynchronize();
    noteError(E);
    attempt([&] { Failure = E ? Driver.describe(E) : ""; });
    return E ? Verdict::Different : Verdict::Same;
  };
  auto RunOwn = [&] {
    IsDone = true;
    Error = Own();
    return !Error && !Driver.CtxSynchronize();
  };
  Uncancelled Here;
  // A capture that began through the driver is not among Captures.
  auto IsCapturing = [&] {
    int Status = 0;
    return Captures || Driver.StreamIsCapturing(L.Stream, &Status) || Status;
  };
  Verdict Result = Verdict::Busy;
  if (IsCapturing()) {
    Result = Verdict::Capture;
  } else if (Gate.close()) {
    Result = IsCapturing()             ? Verdict::Capture
             : Driver.CtxSynchronize() ? Verdict::Unreadable
                                       : Verdict::Same;
    GpuMemory Memory(Driver);
    if (Result == Verdict::Same && !attempt([&] {
          LaunchComparison C(Memory, findMemory(*V.Of, L.Facts, Device),
                             Kernels.verifyPolicy().limit());
          Result = C.verify(RunTuned, RunOwn, D);
        }))
      Result = Verdict::Memory;
    Gate.open();
  }
  Kernels.finishVerification(V, Why, Result, D, Failure.c_str());
  if (Result == Verdict::Refused) {
    IsDone = true;
    countFallback(V.FellBack, Fallback::Refused);
    Error = launchOwn(Own);
    if (!Error)
      Kernels.fail(V, Failure.c_str());
  }
  return IsDone;
}
