//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The backend that calls the CUDA driver directly.
///
//===----------------------------------------------------------------------===//

#include "GPUBackend.h"
#include <chrono>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

CUresult llvm::mneme::waitUntil(double TimeoutSeconds,
                                function_ref<CUresult()> Poll) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::duration;
  constexpr double SpinSeconds = 2e-3;
  constexpr auto MaxNap = std::chrono::microseconds(500);

  Clock::time_point Begin = Clock::now();
  auto Nap = std::chrono::microseconds(20);
  for (;;) {
    CUresult R = Poll();
    if (R != CUDA_ERROR_NOT_READY)
      return R;
    double Seconds = duration<double>(Clock::now() - Begin).count();
    if (TimeoutSeconds > 0 && Seconds > TimeoutSeconds)
      return CUDA_ERROR_NOT_READY;
    if (Seconds < SpinSeconds)
      continue;
    std::this_thread::sleep_for(Nap);
    Nap = std::min(2 * Nap, MaxNap);
  }
}

CUresult llvm::mneme::waitForStream(const CudaDriver &Driver, CUstream Stream,
                                    double TimeoutSeconds) {
  return waitUntil(TimeoutSeconds, [&] { return Driver.StreamQuery(Stream); });
}

namespace {
class DriverBackend final : public GPUBackend {
  const CudaDriver &Driver;
  CUstream Stream;

public:
  DriverBackend(const CudaDriver &Driver, CUstream Stream)
      : Driver(Driver), Stream(Stream) {}
  ~DriverBackend() override { Driver.StreamDestroy(Stream); }

  StringRef getName() const override { return "driver"; }
  CUstream getStream() override { return Stream; }

  Expected<Program> load(ArrayRef<char> Object) override {
    CUmodule Module = nullptr;
    if (CUresult R = Driver.ModuleLoadData(&Module, Object.data()))
      return createStringError(Driver.describe(R));
    return Module;
  }
  Error unload(Program P) override {
    if (CUresult R = Driver.ModuleUnload(static_cast<CUmodule>(P)))
      return createStringError(Driver.describe(R));
    return Error::success();
  }
  Expected<Kernel> getKernel(Program P, StringRef Name) override {
    CUfunction Function = nullptr;
    if (CUresult R = Driver.ModuleGetFunction(
            &Function, static_cast<CUmodule>(P), Name.str().c_str()))
      return createStringError(Driver.describe(R));
    return Function;
  }
  CUfunction getFunction(Kernel K) override {
    return static_cast<CUfunction>(K);
  }
  bool getGlobal(Program P, StringRef Name, uint64_t &Address,
                 uint64_t &Size) override {
    CUdeviceptr Place = 0;
    size_t Bytes = 0;
    if (Driver.ModuleGetGlobal(&Place, &Bytes, static_cast<CUmodule>(P),
                               Name.str().c_str()))
      return false;
    Address = Place;
    Size = Bytes;
    return true;
  }

  GPUResult upload(uint64_t To, const void *From, uint64_t Size) override {
    return Driver.MemcpyHtoDAsync(To, From, Size, Stream);
  }
  GPUResult download(void *To, uint64_t From, uint64_t Size) override {
    return Driver.MemcpyDtoHAsync(To, From, Size, Stream);
  }
  GPUResult copy(uint64_t To, uint64_t From, uint64_t Size) override {
    return Driver.MemcpyDtoDAsync(To, From, Size, Stream);
  }
  GPUResult fill(uint64_t To, uint8_t Byte, uint64_t Size) override {
    return Driver.MemsetD8Async(To, Byte, Size, Stream);
  }

  GPUResult launch(Kernel K, const GPULaunch &L) override;
  bool timesDispatches() const override {
    return Driver.IsHip && canLaunchTimed();
  }

  GPUResult synchronize(double TimeoutSeconds) override {
    return waitForStream(Driver, Stream, TimeoutSeconds);
  }
};
} // namespace

/// Launches with attributes.
static GPUResult launchClusters(const CudaDriver &Driver, CUfunction F,
                                const GPULaunch &L, CUstream Stream) {
  constexpr int NonPortableClusterSizeAllowed = 14; // CU_FUNC_ATTRIBUTE_*
  constexpr unsigned MaxPortable = 8;
  if (Driver.IsHip || !Driver.LaunchKernelEx)
    return {CUDA_ERROR_NOT_SUPPORTED, "no clusters of blocks on this device"};
  if (L.Cluster.count() > MaxPortable)
    if (CUresult R =
            Driver.FuncSetAttribute(F, NonPortableClusterSizeAllowed, 1))
      return R;
  // CUlaunchAttribute
  struct {
    uint32_t Id, Pad, Words[16];
  } Attributes[2] = {
      {/*CLUSTER_DIMENSION*/ 4, 0, {L.Cluster.X, L.Cluster.Y, L.Cluster.Z}},
      {/*COOPERATIVE*/ 2, 0, {1}}};
  CUlaunchConfig C = {L.Grid.X,        L.Grid.Y,
                      L.Grid.Z,        L.Block.X,
                      L.Block.Y,       L.Block.Z,
                      L.DynamicShared, Stream,
                      Attributes,      L.Cooperative ? 2u : 1u};
  return Driver.LaunchKernelEx(&C, F, const_cast<void **>(L.Args.data()),
                               nullptr);
}

GPUResult llvm::mneme::launchDirectly(const CudaDriver &Driver, CUfunction F,
                                      const GPULaunch &L, CUstream Stream) {
  void **Args = const_cast<void **>(L.Args.data());
  if (L.Cluster != Dim3())
    return launchClusters(Driver, F, L, Stream);
  if (L.Cooperative)
    return Driver.LaunchCooperativeKernel(F, L.Grid.X, L.Grid.Y, L.Grid.Z,
                                          L.Block.X, L.Block.Y, L.Block.Z,
                                          L.DynamicShared, Stream, Args);
  return Driver.LaunchKernel(F, L.Grid.X, L.Grid.Y, L.Grid.Z, L.Block.X,
                             L.Block.Y, L.Block.Z, L.DynamicShared, Stream,
                             Args, nullptr);
}

GPUResult DriverBackend::launch(Kernel K, const GPULaunch &L) {
  auto Function = static_cast<CUfunction>(K);
  void **Args = const_cast<void **>(L.Args.data());
  for (const EventPair &E : L.OfDispatches)
    if (CUresult R =
            launchTimed(Function, {L.Grid.X, L.Grid.Y, L.Grid.Z},
                        {L.Block.X, L.Block.Y, L.Block.Z}, L.DynamicShared,
                        Stream, Args, E.Start, E.Stop))
      return R;
  if (!L.OfDispatches.empty())
    return {};
  if (L.Start)
    if (CUresult R = Driver.EventRecord(L.Start, Stream))
      return R;
  for (unsigned I = 0; I != L.Repeat; ++I) {
    if (GPUResult R = launchDirectly(Driver, Function, L, Stream))
      return R;
  }
  if (L.Stop)
    return Driver.EventRecord(L.Stop, Stream);
  return {};
}

Expected<std::unique_ptr<GPUBackend>>
llvm::mneme::createDriverBackend(const CudaDriver &Driver) {
  constexpr unsigned NonBlocking = 1; // of the default stream
  CUstream Stream = nullptr;
  if (CUresult R = Driver.StreamCreate(&Stream, NonBlocking))
    return createStringError("cannot create a stream: " + Driver.describe(R));
  return std::make_unique<DriverBackend>(Driver, Stream);
}
