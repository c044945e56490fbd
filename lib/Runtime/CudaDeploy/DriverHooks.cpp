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
/// the driver itself, and does not come here. Those of HIP are in the same
/// library as its runtime.
///
//===----------------------------------------------------------------------===//

#include "DriverKernels.h"
#include "DriverSymbols.h"
#include "GpuDeployment.h"
#include "LastError.h"
#include "Vendor.h"

#include <cstring>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static int launchFunction(const void *Function, GpuLaunch L, void **Extra,
                          OriginalCall Own) {
  if (InterceptedCall::isInside())
    return Own();
  return LastError::keep(/*IsInside=*/false, [&] {
    // Arguments in a buffer are not known one by one.
    L.Found = Extra ? nullptr : DriverKernels::get().find(Function);
    return L.Found ? GpuDeployment::get().launch(L, Own)
                   : GpuDeployment::get().launchForeign(Own);
  });
}

#define SHAPE                                                                  \
  unsigned GridX, unsigned GridY, unsigned GridZ, unsigned BlockX,             \
      unsigned BlockY, unsigned BlockZ, unsigned Shared, void *Stream
#define SHAPE_ARGS GridX, GridY, GridZ, BlockX, BlockY, BlockZ, Shared, Stream

static CUstream sharedStream(void *Stream) {
  return static_cast<CUstream>(Stream);
}

static GpuLaunch describe(SHAPE, void **Args, bool Cooperative) {
  GpuLaunch L = {};
  L.Facts = {{GridX, GridY, GridZ},
             {BlockX, BlockY, BlockZ},
             Shared,
             Cooperative,
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
      reinterpret_cast<decltype(&Symbol)>(findInDriver(#Symbol));              \
  if (!Original)                                                               \
  return CUDA_ERROR_NOT_INITIALIZED

#define LAUNCHES(Launch, LaunchCooperative, LaunchEx, Convert)                 \
  HOOK Launch(void *Function, SHAPE, void **Args, void **Extra) {              \
    ORIGINAL(Launch);                                                          \
    auto Own = [&] { return Original(Function, SHAPE_ARGS, Args, Extra); };    \
    GpuLaunch L = describe(SHAPE_ARGS, Args, /*Cooperative=*/false);           \
    L.Stream = Convert(Stream);                                                \
    return launchFunction(Function, L, Extra, Own);                            \
  }                                                                            \
  HOOK LaunchCooperative(void *Function, SHAPE, void **Args) {                 \
    ORIGINAL(LaunchCooperative);                                               \
    auto Own = [&] { return Original(Function, SHAPE_ARGS, Args); };           \
    GpuLaunch L = describe(SHAPE_ARGS, Args, /*Cooperative=*/true);            \
    L.Stream = Convert(Stream);                                                \
    return launchFunction(Function, L, nullptr, Own);                          \
  }                                                                            \
  HOOK LaunchEx(const CUlaunchConfig *Config, void *Function, void **Args,     \
                void **Extra) {                                                \
    ORIGINAL(LaunchEx);                                                        \
    auto Own = [&] { return Original(Config, Function, Args, Extra); };        \
    /* Invalid, which the driver reports. */                                   \
    if (!Config || (Config->NumAttributes && !Config->Attributes))             \
      return Own();                                                            \
    return launchFunction(Function,                                            \
                          describe(*Config, Args, Convert(Config->Stream)),    \
                          Extra, Own);                                         \
  }
#ifdef MNEME_HIP
LAUNCHES(hipModuleLaunchKernel, hipModuleLaunchCooperativeKernel,
         hipDrvLaunchKernelEx, sharedStream)

/// HIP's extended launches count threads, where others count blocks.
static int launchThreads(const void *Function, SHAPE, void **Args, void **Extra,
                         Fallback Obstacle, OriginalCall Own) {
  if (!BlockX || !BlockY || !BlockZ)
    return Own();
  GpuLaunch L = describe(GridX / BlockX, GridY / BlockY, GridZ / BlockZ, BlockX,
                         BlockY, BlockZ, Shared, Stream, Args,
                         /*Cooperative=*/false);
  L.Obstacle = GridX % BlockX || GridY % BlockY || GridZ % BlockZ
                   ? Fallback::LastBlock
                   : Obstacle;
  return launchFunction(Function, L, Extra, Own);
}

#define THREADS                                                                \
  unsigned GridX, unsigned GridY, unsigned GridZ, unsigned BlockX,             \
      unsigned BlockY, unsigned BlockZ, size_t Shared, void *Stream

#define EXTENDED(Launch, LaunchHcc)                                            \
  HOOK Launch(void *Function, THREADS, void **Args, void **Extra,              \
              CUevent Start, CUevent Stop, unsigned Flags) {                   \
    ORIGINAL(Launch);                                                          \
    auto Own = [&] {                                                           \
      return Original(Function, SHAPE_ARGS, Args, Extra, Start, Stop, Flags);  \
    };                                                                         \
    return launchThreads(Function, SHAPE_ARGS, Args, Extra,                    \
                         findObstacle(Start, Stop, Flags), Own);               \
  }                                                                            \
  HOOK LaunchHcc(void *Function, THREADS, void **Args, void **Extra,           \
                 CUevent Start, CUevent Stop) {                                \
    ORIGINAL(LaunchHcc);                                                       \
    auto Own = [&] {                                                           \
      return Original(Function, SHAPE_ARGS, Args, Extra, Start, Stop);         \
    };                                                                         \
    return launchThreads(Function, SHAPE_ARGS, Args, Extra,                    \
                         findObstacle(Start, Stop, /*Flags=*/0), Own);         \
  }
EXTENDED(hipExtModuleLaunchKernel, hipHccModuleLaunchKernel)
// HIP's header declares both without extern "C".
EXTENDED(
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,
    _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_)
#undef EXTENDED
#undef THREADS
#else
/// For functions whose stream 0 is the thread's own (CU_STREAM_PER_THREAD).
static CUstream ownStream(void *Stream) {
  return static_cast<CUstream>(Stream ? Stream : reinterpret_cast<void *>(2));
}

LAUNCHES(cuLaunchKernel, cuLaunchCooperativeKernel, cuLaunchKernelEx,
         sharedStream)
LAUNCHES(cuLaunchKernel_ptsz, cuLaunchCooperativeKernel_ptsz,
         cuLaunchKernelEx_ptsz, ownStream)

#define GRAPHS(Launch)                                                         \
  HOOK Launch(void *Graph, void *Stream) {                                     \
    ORIGINAL(Launch);                                                          \
    auto Own = [&] { return Original(Graph, Stream); };                        \
    return InterceptedCall::isInside()                                         \
               ? Own()                                                         \
               : GpuDeployment::get().launchForeign(Own);                      \
  }
GRAPHS(cuGraphLaunch)
GRAPHS(cuGraphLaunch_ptsz)
#undef GRAPHS
#endif
#undef LAUNCHES
#undef SHAPE
#undef SHAPE_ARGS

//===----------------------------------------------------------------------===//
// Images and functions
//===----------------------------------------------------------------------===//

#define IMAGES(Load, LoadEx, Unload, GetFunction)                              \
  HOOK Load(CUmodule *M, const void *Image) {                                  \
    ORIGINAL(Load);                                                            \
    int E = Original(M, Image);                                                \
    if (!E)                                                                    \
      DriverKernels::get().noteImage(*M, Image);                               \
    return E;                                                                  \
  }                                                                            \
  HOOK LoadEx(CUmodule *M, const void *Image, unsigned Count, int *Options,    \
              void **Values) {                                                 \
    ORIGINAL(LoadEx);                                                          \
    int E = Original(M, Image, Count, Options, Values);                        \
    if (!E)                                                                    \
      DriverKernels::get().noteImage(*M, Image);                               \
    return E;                                                                  \
  }                                                                            \
  HOOK Unload(CUmodule M) {                                                    \
    ORIGINAL(Unload);                                                          \
    DriverKernels::get().forget(M);                                            \
    return Original(M);                                                        \
  }                                                                            \
  HOOK GetFunction(CUfunction *F, CUmodule M, const char *Name) {              \
    ORIGINAL(GetFunction);                                                     \
    int E = Original(F, M, Name);                                              \
    if (!E)                                                                    \
      DriverKernels::get().noteFunction(*F, M, Name);                          \
    return E;                                                                  \
  }
#ifdef MNEME_HIP
IMAGES(hipModuleLoadData, hipModuleLoadDataEx, hipModuleUnload,
       hipModuleGetFunction)
#else
IMAGES(cuModuleLoadData, cuModuleLoadDataEx, cuModuleUnload,
       cuModuleGetFunction)

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
#endif
#undef IMAGES

void *mneme::functionInPlaceOf(const char *Symbol) {
  static const struct {
    const char *Symbol;
    void *Function;
  } All[] = {
#define FUNCTION(Symbol) {#Symbol, reinterpret_cast<void *>(Symbol)},
#ifdef MNEME_HIP
      FUNCTION(hipModuleLaunchKernel) FUNCTION(hipModuleLaunchCooperativeKernel)
          FUNCTION(hipDrvLaunchKernelEx) FUNCTION(hipExtModuleLaunchKernel)
              FUNCTION(hipHccModuleLaunchKernel) FUNCTION(hipModuleLoadData)
                  FUNCTION(hipModuleLoadDataEx) FUNCTION(hipModuleUnload)
                      FUNCTION(hipModuleGetFunction)
      // clang-format off
      FUNCTION(_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j)
      FUNCTION(_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_)
  // clang-format on
#else
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
#endif
#undef FUNCTION
  };
  for (const auto &F : All)
    if (!strcmp(F.Symbol, Symbol))
      return F.Function;
#ifdef MNEME_HIP
  return findRuntimeFunction(Symbol);
#else
  return nullptr;
#endif
}
