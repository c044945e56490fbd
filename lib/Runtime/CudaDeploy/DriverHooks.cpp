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
      unsigned BlockY, unsigned BlockZ, size_t Shared, CUstream Stream
#define SHAPE_ARGS GridX, GridY, GridZ, BlockX, BlockY, BlockZ, Shared, Stream

static GpuLaunch describe(SHAPE, void **Args, bool Cooperative) {
  GpuLaunch L = {};
  L.Facts = {{GridX, GridY, GridZ},
             {BlockX, BlockY, BlockZ},
             Shared,
             Cooperative,
             Args};
  L.Stream = Stream;
  return L;
}

static GpuLaunch describe(const CUlaunchConfig &C, void **Args) {
  GpuLaunch L = describe(C.GridX, C.GridY, C.GridZ, C.BlockX, C.BlockY,
                         C.BlockZ, C.DynamicShared, C.Stream, Args, false);
  L.addAttributes(static_cast<const CudaLaunchAttribute *>(C.Attributes),
                  C.NumAttributes);
  return L;
}

static CUstream asGiven(CUstream S) { return S; }

// Handlers of VendorFunctions.def's CODE, which call the driver's Original.
// Convert() finds the stream that the driver uses for a launch.
#define LAUNCHES(Twin, Convert)                                                \
  template <typename Fn>                                                       \
  static int onDriverLaunchKernel##Twin(Fn Original, CUfunction F, SHAPE,      \
                                        void **Args, void **Extra) {           \
    auto Own = [&] { return Original(F, SHAPE_ARGS, Args, Extra); };           \
    GpuLaunch L = describe(SHAPE_ARGS, Args, /*Cooperative=*/false);           \
    L.Stream = Convert(Stream);                                                \
    return launchFunction(F, L, Extra, Own);                                   \
  }                                                                            \
  template <typename Fn>                                                       \
  static int onDriverLaunchCooperativeKernel##Twin(Fn Original, CUfunction F,  \
                                                   SHAPE, void **Args) {       \
    auto Own = [&] { return Original(F, SHAPE_ARGS, Args); };                  \
    GpuLaunch L = describe(SHAPE_ARGS, Args, /*Cooperative=*/true);            \
    L.Stream = Convert(Stream);                                                \
    return launchFunction(F, L, nullptr, Own);                                 \
  }                                                                            \
  template <typename Fn>                                                       \
  static int onDriverLaunchKernelEx##Twin(                                     \
      Fn Original, const CUlaunchConfig *Config, CUfunction F, void **Args,    \
      void **Extra) {                                                          \
    auto Own = [&] { return Original(Config, F, Args, Extra); };               \
    /* Invalid, which the driver reports. */                                   \
    if (!Config || (Config->NumAttributes && !Config->Attributes))             \
      return Own();                                                            \
    GpuLaunch L = describe(*Config, Args);                                     \
    L.Stream = Convert(L.Stream);                                              \
    return launchFunction(F, L, Extra, Own);                                   \
  }                                                                            \
  template <typename Fn>                                                       \
  static int onDriverGraphLaunch##Twin(Fn Original, CUgraphExec Graph,         \
                                       CUstream Stream) {                      \
    auto Own = [&] { return Original(Graph, Stream); };                        \
    return InterceptedCall::isInside()                                         \
               ? Own()                                                         \
               : GpuDeployment::get().launchForeign(Own);                      \
  }
LAUNCHES(, asGiven)
LAUNCHES(Ptsz, toPtsz)
#undef LAUNCHES

/// HIP's extended launches count threads, where others count blocks.
template <typename Fn, typename... Flag>
static int launchThreads(Fn Original, CUfunction F, SHAPE, void **Args,
                         void **Extra, CUevent Start, CUevent Stop,
                         Flag... Flags) {
  auto Own = [&] {
    return Original(F, SHAPE_ARGS, Args, Extra, Start, Stop, Flags...);
  };
  if (!BlockX || !BlockY || !BlockZ)
    return Own();
  GpuLaunch L = describe(GridX / BlockX, GridY / BlockY, GridZ / BlockZ, BlockX,
                         BlockY, BlockZ, Shared, Stream, Args,
                         /*Cooperative=*/false);
  L.Obstacle = GridX % BlockX || GridY % BlockY || GridZ % BlockZ
                   ? Fallback::LastBlock
                   : findObstacle(Start, Stop, (Flags | ... | 0u));
  return launchFunction(F, L, Extra, Own);
}

#define EXTENDED(Name)                                                         \
  template <typename... Params> static int on##Name(Params... P) {             \
    return launchThreads(P...);                                                \
  }
EXTENDED(ExtModuleLaunchKernel)
EXTENDED(HccModuleLaunchKernel)
EXTENDED(CxxExtModuleLaunchKernel)
EXTENDED(CxxHccModuleLaunchKernel)
#undef EXTENDED
#undef SHAPE
#undef SHAPE_ARGS

//===----------------------------------------------------------------------===//
// Images and functions
//===----------------------------------------------------------------------===//

/// After a call that loaded the image of a module or library. \p P: options.
template <typename Fn, typename Handle, typename... Params>
static int load(Fn Original, Handle *Loaded, const void *Image, Params... P) {
  int E = Original(Loaded, Image, P...);
  if (!E)
    DriverKernels::get().noteImage(*Loaded, Image);
  return E;
}

template <typename Fn, typename Handle>
static int unload(Fn Original, Handle Loaded) {
  DriverKernels::get().forget(Loaded);
  return Original(Loaded);
}

/// After a call that found a function or kernel in a module or library.
template <typename Fn, typename Function, typename Handle>
static int find(Fn Original, Function *F, Handle Loaded, const char *Name) {
  int E = Original(F, Loaded, Name);
  if (!E)
    DriverKernels::get().noteFunction(*F, Loaded, Name);
  return E;
}

#define HANDLER(Name, Function)                                                \
  template <typename... Params> static int onDriver##Name(Params... P) {       \
    return Function(P...);                                                     \
  }
HANDLER(ModuleLoadData, load)
HANDLER(ModuleLoadDataEx, load)
HANDLER(LibraryLoadData, load)
HANDLER(ModuleUnload, unload)
HANDLER(LibraryUnload, unload)
HANDLER(ModuleGetFunction, find)
HANDLER(LibraryGetKernel, find)
#undef HANDLER

template <typename Fn>
static int onDriverLibraryGetModule(Fn Original, CUmodule *M, CUlibrary L) {
  int E = Original(M, L);
  if (!E)
    DriverKernels::get().noteModule(*M, L);
  return E;
}

template <typename Fn>
static int onDriverKernelGetFunction(Fn Original, CUfunction *F, CUkernel K) {
  int E = Original(F, K);
  if (!E)
    DriverKernels::get().noteFunctionOfKernel(*F, K);
  return E;
}

template <typename Fn>
static int onDriverFuncSetAttribute(Fn Original, CUfunction F, int Attribute,
                                    int Value) {
  int E = Original(F, Attribute, Value);
  TunedStub *Stub = E ? nullptr : DriverKernels::get().find(F);
  if (Stub)
    GpuDeployment::get().mirrorAttribute(*Stub, Attribute, Value);
  return E;
}

template <typename Fn>
static int onDriverFuncSetCacheConfig(Fn Original, CUfunction F, int Config) {
  return onDriverFuncSetAttribute(
      [&](CUfunction F, int, int Config) { return Original(F, Config); }, F,
      FunctionAttribute::CacheConfig, Config);
}

//===----------------------------------------------------------------------===//
// Exports
//===----------------------------------------------------------------------===//

#define CODE(Name, Symbol, Parameters, ...)                                    \
  extern "C" __attribute__((visibility("default"))) int Symbol Parameters {    \
    static auto Original =                                                     \
        reinterpret_cast<int(*) Parameters>(findInDriver(#Symbol));            \
    return Original ? on##Name(Original, __VA_ARGS__)                          \
                    : int(CUDA_ERROR_NOT_INITIALIZED);                         \
  }
#include "VendorFunctions.def"

void *mneme::functionInPlaceOf(const char *Wanted) {
#define CODE(Name, Symbol, Parameters, ...)                                    \
  if (!strcmp(Wanted, #Symbol))                                                \
    return reinterpret_cast<void *>(Symbol);
#include "VendorFunctions.def"
#ifdef MNEME_HIP
  return findRuntimeFunction(Wanted);
#else
  return nullptr;
#endif
}
