//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The application's CUDA runtime, whose launches are intercepted. A program
/// may have several: each object that links the runtime statically has its own.
///
//===----------------------------------------------------------------------===//

#include "GpuDeployment.h"
#include "llvm/Mneme/Runtime/DeployEnvironment.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <cstdlib>

using namespace mneme;

namespace {
/// The functions of one CUDA runtime that a loaded object calls. The others are
/// null.
struct CudaRuntime {
#define TAP(Name, Symbol, Parameters, ...) int(*Name) Parameters;
#include "DeployedFunctions.def"
};
} // namespace

static CUstream toDriver(CudaStream *S) {
  return reinterpret_cast<CUstream>(S);
}

/// For functions whose stream 0 is the thread's own (CU_STREAM_PER_THREAD).
static CUstream toDriverPtsz(CudaStream *S) {
  return reinterpret_cast<CUstream>(S ? reinterpret_cast<uintptr_t>(S) : 2);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static LaunchFacts describe(Dim3 Grid, Dim3 Block, void **Args, size_t Shared,
                            bool Cooperative) {
  return {{Grid.X, Grid.Y, Grid.Z},
          {Block.X, Block.Y, Block.Z},
          Shared,
          Cooperative,
          /*HasClusters=*/false,
          Args};
}

static int onLaunchKernel(const CudaRuntime &R, const void *Stub, Dim3 Grid,
                          Dim3 Block, void **Args, size_t Shared,
                          CudaStream *S) {
  return GpuDeployment::get().launch(
      {Stub, describe(Grid, Block, Args, Shared, false), toDriver(S)},
      [&] { return R.LaunchKernel(Stub, Grid, Block, Args, Shared, S); });
}

static int onLaunchKernelPtsz(const CudaRuntime &R, const void *Stub, Dim3 Grid,
                              Dim3 Block, void **Args, size_t Shared,
                              CudaStream *S) {
  return GpuDeployment::get().launch(
      {Stub, describe(Grid, Block, Args, Shared, false), toDriverPtsz(S)},
      [&] { return R.LaunchKernelPtsz(Stub, Grid, Block, Args, Shared, S); });
}

static int onLaunchCooperativeKernel(const CudaRuntime &R, const void *Stub,
                                     Dim3 Grid, Dim3 Block, void **Args,
                                     size_t Shared, CudaStream *S) {
  return GpuDeployment::get().launch(
      {Stub, describe(Grid, Block, Args, Shared, true), toDriver(S)}, [&] {
        return R.LaunchCooperativeKernel(Stub, Grid, Block, Args, Shared, S);
      });
}

static int onLaunchCooperativeKernelPtsz(const CudaRuntime &R, const void *Stub,
                                         Dim3 Grid, Dim3 Block, void **Args,
                                         size_t Shared, CudaStream *S) {
  return GpuDeployment::get().launch(
      {Stub, describe(Grid, Block, Args, Shared, true), toDriverPtsz(S)}, [&] {
        return R.LaunchCooperativeKernelPtsz(Stub, Grid, Block, Args, Shared,
                                             S);
      });
}

/// cudaLaunchKernelExC, for a runtime with this conversion of streams, which
/// \p Own calls.
template <typename Fn>
static int launchEx(const CudaLaunchConfig *C, const void *Stub, void **Args,
                    CUstream (*Convert)(CudaStream *), Fn Own) {
  // Invalid, which the runtime reports.
  if (!C || (C->NumAttributes && !C->Attributes))
    return Own();
  GpuLaunch L = {Stub,
                 describe(C->Grid, C->Block, Args, C->DynamicShared, false),
                 Convert(C->Stream), C->Attributes, C->NumAttributes};
  for (uint32_t I = 0; I != C->NumAttributes; ++I) {
    const CudaLaunchAttribute &A = C->Attributes[I];
    if (A.Id == CudaLaunchAttributeCooperative)
      L.Facts.Cooperative = A.Words[0];
    if (A.Id == CudaLaunchAttributeClusterDim)
      L.Facts.HasClusters |= A.Words[0] > 1 || A.Words[1] > 1 || A.Words[2] > 1;
  }
  return GpuDeployment::get().launch(L, Own);
}

static int onLaunchKernelExC(const CudaRuntime &R,
                             const CudaLaunchConfig *Config, const void *Stub,
                             void **Args) {
  return launchEx(Config, Stub, Args, toDriver,
                  [&] { return R.LaunchKernelExC(Config, Stub, Args); });
}

static int onLaunchKernelExCPtsz(const CudaRuntime &R,
                                 const CudaLaunchConfig *Config,
                                 const void *Stub, void **Args) {
  return launchEx(Config, Stub, Args, toDriverPtsz,
                  [&] { return R.LaunchKernelExCPtsz(Config, Stub, Args); });
}

//===----------------------------------------------------------------------===//
// State of kernels and devices
//===----------------------------------------------------------------------===//

static int onFuncSetAttribute(const CudaRuntime &R, const void *Stub,
                              int Attribute, int Value) {
  int E = R.FuncSetAttribute(Stub, Attribute, Value);
  if (!E)
    GpuDeployment::get().mirrorAttribute(Stub, Attribute, Value);
  return E;
}

static int onFuncSetCacheConfig(const CudaRuntime &R, const void *Stub,
                                int Config) {
  int E = R.FuncSetCacheConfig(Stub, Config);
  if (!E)
    GpuDeployment::get().mirrorAttribute(Stub, FunctionAttribute::CacheConfig,
                                         Config);
  return E;
}

static int onSetDevice(const CudaRuntime &R, int Device) {
  int E = R.SetDevice(Device);
  if (!E)
    GpuDeployment::get().noteDevice(Device);
  return E;
}

static int onDeviceReset(const CudaRuntime &R) {
  bool IsActive = TunedKernels::get().isActive();
  int Device = IsActive ? GpuDeployment::get().currentDevice() : -1;
  int E = R.DeviceReset();
  GpuDeployment::get().forget(Device);
  return E;
}

#define MNEME_RUNTIME_FUNCTIONS "DeployedFunctions.def"
#include "InterceptedRuntimes.inc"

void mneme::patchSlots(MnemeHook *Begin, MnemeHook *End) {
  // A recorder takes precedence: it records the application's own kernels.
  const char *Recorder = secure_getenv(MNEME_ENV_SOCKET);
  if (Begin >= End || (Recorder && *Recorder))
    return;
  TunedKernels::get().start();
  if (!TunedKernels::get().isActive())
    return;
  for (MnemeHook *H = Begin; H < End; ++H)
    // Linkers pad merged sections with zeros.
    if (H->Name && H->Fn)
      patchSlot(*H, Begin);
}
