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

/// The memory of a device, variables, and other memory that arguments point to.
/// May throw.
std::vector<MemoryRange> GpuDeployment::findMemory(const TunedCode &C,
                                                   const LaunchFacts &L) {
  std::vector<MemoryRange> Found = Buffers.find(C.Device);
  if (C.Bound)
    C.Bound->addMemory(C.Device, Found);
  std::vector<ArgumentWord> Words = wordsOf(C.Variant->Of->Args, L.Args);
  for (const ArgumentWord &W : Words) {
    MemoryExtent Other;
    if (!findRange(Found, W.Value) && findAllocation(W.Value, Other))
      Found.push_back({Other.Begin, Other.End - Other.Begin, ""});
  }
  nameRanges(Found, Words);
  return Found;
}

bool GpuDeployment::verify(TunedCode &Chosen, VerifyReason Why,
                           const LaunchRequest &L, OriginalCall Own,
                           int &Error) {
  const CudaDriver &Driver = *list()->Driver;
  TunedVariant &V = *Chosen.Variant;
  TunedKernels &Kernels = TunedKernels::get();
  bool IsDone = false;
  Difference D;
  std::string Failure;
  auto RunTuned = [&] {
    Fallback F;
    if (CUresult E = fire(L, Chosen, F)) {
      attempt([&] { Failure = Driver.describe(E); });
      return Verdict::Refused;
    }
    Chosen.forgetFailures();
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
          LaunchComparison C(Memory, findMemory(Chosen, L.Facts),
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
