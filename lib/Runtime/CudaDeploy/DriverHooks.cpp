//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The driver's functions that load kernels and launch them, for programs that
/// link the driver or find them with dlsym(). The CUDA runtime gets them from
/// the driver itself, and does not come here.
///
//===----------------------------------------------------------------------===//

#include "DriverKernels.h"
#include "DriverSymbols.h"
#include "GpuDeployment.h"

#include <cstring>
#include <dlfcn.h>

using namespace mneme;

/// The driver's own function. Programs may have loaded it with RTLD_LOCAL.
static void *findOriginal(const char *Symbol) {
  void *Driver = loadedDriver();
  return Driver ? dlsym(Driver, Symbol) : nullptr;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static int launchFunction(const void *Function, GpuLaunch L, void **Extra,
                          OwnLaunch Own) {
  if (CallUnderWay::isInside())
    return Own();
  // Arguments in a buffer are not known one by one.
  L.Found = Extra ? nullptr : DriverKernels::get().find(Function);
  if (L.Found)
    return GpuDeployment::get().launch(L, Own);
  int E = GpuDeployment::get().change(Own);
  if (!E)
    TunedKernels::get().countForeign();
  return E;
}

#define SHAPE                                                                  \
  unsigned GridX, unsigned GridY, unsigned GridZ, unsigned BlockX,             \
      unsigned BlockY, unsigned BlockZ, unsigned Shared, void *Stream
#define SHAPE_ARGS GridX, GridY, GridZ, BlockX, BlockY, BlockZ, Shared, Stream

/// For functions whose stream 0 is the thread's own (CU_STREAM_PER_THREAD).
static CUstream ownStream(void *Stream) {
  return static_cast<CUstream>(Stream ? Stream : reinterpret_cast<void *>(2));
}

static CUstream sharedStream(void *Stream) {
  return static_cast<CUstream>(Stream);
}

static GpuLaunch describe(SHAPE, void **Args, bool Cooperative) {
  GpuLaunch L = {};
  L.Facts = {{GridX, GridY, GridZ},
             {BlockX, BlockY, BlockZ},
             Shared,
             Cooperative,
             /*HasClusters=*/false,
             Args};
  L.Stream = static_cast<CUstream>(Stream);
  return L;
}

static GpuLaunch describe(const CUlaunchConfig &C, void **Args,
                          CUstream Stream) {
  GpuLaunch L = describe(C.GridX, C.GridY, C.GridZ, C.BlockX, C.BlockY,
                         C.BlockZ, C.DynamicShared, Stream, Args, false);
  L.addAttributes(static_cast<const CudaLaunchAttribute *>(C.Attributes),
                  C.NumAttributes);
  return L;
}

#define HOOK extern "C" __attribute__((visibility("default"))) int
#define ORIGINAL(Symbol)                                                       \
  static auto Original =                                                       \
      reinterpret_cast<decltype(&Symbol)>(findOriginal(#Symbol));              \
  if (!Original)                                                               \
  return CUDA_ERROR_NOT_INITIALIZED

#define LAUNCHES(Suffix, Convert)                                              \
  HOOK cuLaunchKernel##Suffix(void *Function, SHAPE, void **Args,              \
                              void **Extra) {                                  \
    ORIGINAL(cuLaunchKernel##Suffix);                                          \
    auto Own = [&] { return Original(Function, SHAPE_ARGS, Args, Extra); };    \
    GpuLaunch L = describe(SHAPE_ARGS, Args, /*Cooperative=*/false);           \
    L.Stream = Convert(Stream);                                                \
    return launchFunction(Function, L, Extra, Own);                            \
  }                                                                            \
  HOOK cuLaunchCooperativeKernel##Suffix(void *Function, SHAPE, void **Args) { \
    ORIGINAL(cuLaunchCooperativeKernel##Suffix);                               \
    auto Own = [&] { return Original(Function, SHAPE_ARGS, Args); };           \
    GpuLaunch L = describe(SHAPE_ARGS, Args, /*Cooperative=*/true);            \
    L.Stream = Convert(Stream);                                                \
    return launchFunction(Function, L, nullptr, Own);                          \
  }                                                                            \
  HOOK cuLaunchKernelEx##Suffix(const CUlaunchConfig *Config, void *Function,  \
                                void **Args, void **Extra) {                   \
    ORIGINAL(cuLaunchKernelEx##Suffix);                                        \
    auto Own = [&] { return Original(Config, Function, Args, Extra); };        \
    /* Invalid, which the driver reports. */                                   \
    if (!Config || (Config->NumAttributes && !Config->Attributes))             \
      return Own();                                                            \
    return launchFunction(Function,                                            \
                          describe(*Config, Args, Convert(Config->Stream)),    \
                          Extra, Own);                                         \
  }                                                                            \
  HOOK cuGraphLaunch##Suffix(void *Graph, void *Stream) {                      \
    ORIGINAL(cuGraphLaunch##Suffix);                                           \
    if (CallUnderWay::isInside())                                              \
      return Original(Graph, Stream);                                          \
    int E =                                                                    \
        GpuDeployment::get().change([&] { return Original(Graph, Stream); });  \
    if (!E)                                                                    \
      TunedKernels::get().countForeign();                                      \
    return E;                                                                  \
  }
LAUNCHES(, sharedStream)
LAUNCHES(_ptsz, ownStream)
#undef LAUNCHES
#undef SHAPE
#undef SHAPE_ARGS

//===----------------------------------------------------------------------===//
// Images and functions
//===----------------------------------------------------------------------===//

HOOK cuModuleLoadData(CUmodule *M, const void *Image) {
  ORIGINAL(cuModuleLoadData);
  int E = Original(M, Image);
  if (!E)
    DriverKernels::get().noteImage(*M, Image);
  return E;
}

HOOK cuModuleLoadDataEx(CUmodule *M, const void *Image, unsigned Count,
                        int *Options, void **Values) {
  ORIGINAL(cuModuleLoadDataEx);
  int E = Original(M, Image, Count, Options, Values);
  if (!E)
    DriverKernels::get().noteImage(*M, Image);
  return E;
}

HOOK cuModuleUnload(CUmodule M) {
  ORIGINAL(cuModuleUnload);
  DriverKernels::get().forget(M);
  return Original(M);
}

HOOK cuModuleGetFunction(CUfunction *F, CUmodule M, const char *Name) {
  ORIGINAL(cuModuleGetFunction);
  int E = Original(F, M, Name);
  if (!E)
    DriverKernels::get().noteFunction(*F, M, Name);
  return E;
}

HOOK cuLibraryLoadData(CUlibrary *L, const void *Image, int *JitOptions,
                       void **JitValues, unsigned NumJit, int *Options,
                       void **Values, unsigned Count) {
  ORIGINAL(cuLibraryLoadData);
  int E =
      Original(L, Image, JitOptions, JitValues, NumJit, Options, Values, Count);
  if (!E)
    DriverKernels::get().noteImage(*L, Image);
  return E;
}

HOOK cuLibraryUnload(CUlibrary L) {
  ORIGINAL(cuLibraryUnload);
  DriverKernels::get().forget(L);
  return Original(L);
}

HOOK cuLibraryGetKernel(CUkernel *K, CUlibrary L, const char *Name) {
  ORIGINAL(cuLibraryGetKernel);
  int E = Original(K, L, Name);
  if (!E)
    DriverKernels::get().noteFunction(*K, L, Name);
  return E;
}

HOOK cuLibraryGetModule(CUmodule *M, CUlibrary L) {
  ORIGINAL(cuLibraryGetModule);
  int E = Original(M, L);
  if (!E)
    DriverKernels::get().noteModule(*M, L);
  return E;
}

HOOK cuKernelGetFunction(CUfunction *F, CUkernel K) {
  ORIGINAL(cuKernelGetFunction);
  int E = Original(F, K);
  if (!E)
    DriverKernels::get().noteFunctionOfKernel(*F, K);
  return E;
}

HOOK cuFuncSetAttribute(CUfunction F, int Attribute, int Value) {
  ORIGINAL(cuFuncSetAttribute);
  int E = Original(F, Attribute, Value);
  TunedStub *Stub = E ? nullptr : DriverKernels::get().find(F);
  if (Stub)
    GpuDeployment::get().mirrorAttribute(*Stub, Attribute, Value);
  return E;
}

HOOK cuFuncSetCacheConfig(CUfunction F, int Config) {
  ORIGINAL(cuFuncSetCacheConfig);
  int E = Original(F, Config);
  TunedStub *Stub = E ? nullptr : DriverKernels::get().find(F);
  if (Stub)
    GpuDeployment::get().mirrorAttribute(*Stub, FunctionAttribute::CacheConfig,
                                         Config);
  return E;
}

void *mneme::functionInPlaceOf(const char *Symbol) {
  static const struct {
    const char *Symbol;
    void *Function;
  } All[] = {
#define FUNCTION(Symbol) {#Symbol, reinterpret_cast<void *>(Symbol)},
      FUNCTION(cuLaunchKernel) FUNCTION(cuLaunchKernel_ptsz) FUNCTION(
          cuLaunchKernelEx) FUNCTION(cuLaunchKernelEx_ptsz)
          FUNCTION(cuLaunchCooperativeKernel) FUNCTION(
              cuLaunchCooperativeKernel_ptsz) FUNCTION(cuGraphLaunch)
              FUNCTION(cuGraphLaunch_ptsz) FUNCTION(cuModuleLoadData)
                  FUNCTION(cuModuleLoadDataEx) FUNCTION(cuModuleUnload)
                      FUNCTION(cuModuleGetFunction) FUNCTION(cuLibraryLoadData)
                          FUNCTION(cuLibraryUnload) FUNCTION(cuLibraryGetKernel)
                              FUNCTION(cuLibraryGetModule)
                                  FUNCTION(cuKernelGetFunction)
                                      FUNCTION(cuFuncSetAttribute)
                                          FUNCTION(cuFuncSetCacheConfig)
#undef FUNCTION
  };
  for (const auto &F : All)
    if (!strcmp(F.Symbol, Symbol))
      return F.Function;
  return nullptr;
}
