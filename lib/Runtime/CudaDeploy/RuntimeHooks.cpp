//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The application's CUDA runtime, or HIP, whose launches are intercepted. A
/// program may have several: each object that links the runtime statically has
/// its own.
///
//===----------------------------------------------------------------------===//

#include "DriverKernels.h"
#include "GpuDeployment.h"
#include "LastError.h"
#include "Variables.h"
#include "Vendor.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <cstring>
#include <dlfcn.h>
#include <string_view>

using namespace mneme;

namespace {
/// The functions of one CUDA runtime, or of HIP, that a loaded object calls.
/// The others are null.
struct CudaRuntime {
#define TAP(Name, Symbol, Parameters, ...) int(*Name) Parameters;
#define ABSENT(Class, Name, Parameters) Class(Name, , Parameters)
#include "VendorFunctions.def"
};
} // namespace

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static LaunchFacts describe(Dim3 Grid, Dim3 Block, void **Args, size_t Shared,
                            bool Cooperative) {
  return {{Grid.X, Grid.Y, Grid.Z},
          {Block.X, Block.Y, Block.Z},
          Shared,
          Cooperative,
          Args};
}

/// cudaLaunchKernelExC.
static int launch(const CudaLaunchConfig *C, const void *Stub, void **Args,
                  CUstream (*Convert)(CudaStream *), OriginalCall Own) {
  // Invalid, which the runtime reports.
  if (!C || (C->NumAttributes && !C->Attributes))
    return Own();
  GpuLaunch L = {Stub,
                 describe(C->Grid, C->Block, Args, C->DynamicShared, false),
                 Convert(C->Stream)};
  L.addAttributes(C->Attributes, C->NumAttributes);
  return GpuDeployment::get().launch(L, Own);
}

// Convert() finds the driver's stream.
#define LAUNCH(Name, Cooperative, Convert)                                     \
  static int on##Name(const CudaRuntime &R, const void *Stub, Dim3 Grid,       \
                      Dim3 Block, void **Args, size_t Shared, CudaStream *S) { \
    auto Own = [&] { return R.Name(Stub, Grid, Block, Args, Shared, S); };     \
    return GpuDeployment::get().launch(                                        \
        {Stub, describe(Grid, Block, Args, Shared, Cooperative), Convert(S)},  \
        Own);                                                                  \
  }
#define LAUNCH_EX(Name, Convert)                                               \
  [[maybe_unused]] static int on##Name(const CudaRuntime &R,                   \
                                       const CudaLaunchConfig *Config,         \
                                       const void *Stub, void **Args) {        \
    auto Own = [&] { return R.Name(Config, Stub, Args); };                     \
    return launch(Config, Stub, Args, Convert, Own);                           \
  }
LAUNCH(LaunchKernel, false, toDriver)
LAUNCH(LaunchKernelPtsz, false, toDriverPtsz)
LAUNCH(LaunchCooperativeKernel, true, toDriver)
LAUNCH(LaunchCooperativeKernelPtsz, true, toDriverPtsz)
LAUNCH_EX(LaunchKernelExC, toDriver)
LAUNCH_EX(LaunchKernelExCPtsz, toDriverPtsz)
#undef LAUNCH
#undef LAUNCH_EX

#ifdef MNEME_HIP
static int onExtLaunchKernel(const CudaRuntime &R, const void *Stub, Dim3 Grid,
                             Dim3 Block, void **Args, size_t Shared,
                             CudaStream *S, CUevent Start, CUevent Stop,
                             int Flags) {
  auto Own = [&] {
    return R.ExtLaunchKernel(Stub, Grid, Block, Args, Shared, S, Start, Stop,
                             Flags);
  };
  GpuLaunch L = {Stub, describe(Grid, Block, Args, Shared, false), toDriver(S)};
  L.Obstacle = findObstacle(Start, Stop, Flags);
  return GpuDeployment::get().launch(L, Own);
}

/// Launches on several devices at once are not served.
#define LAUNCH_ON_DEVICES(Name)                                                \
  static int on##Name(const CudaRuntime &R, const void *Launches, int Count,   \
                      unsigned Flags) {                                        \
    return GpuDeployment::get().launchForeign(                                 \
        [&] { return R.Name(Launches, Count, Flags); });                       \
  }
LAUNCH_ON_DEVICES(LaunchCooperativeKernelMultiDevice)
LAUNCH_ON_DEVICES(ExtLaunchMultiKernelMultiDevice)
#undef LAUNCH_ON_DEVICES
#endif

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
  GpuDeployment &D = GpuDeployment::get();
  int Device = D.isActive() ? D.currentDevice() : -1;
  int E = R.DeviceReset();
  D.forget(Device);
  return E;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// Verified launches copy the memory that was allocated, and other threads must
// not change memory meanwhile.

static int onMallocPitch(const CudaRuntime &R, void **Ptr, size_t *Pitch,
                         size_t Width, size_t Height) {
  return GpuDeployment::get().allocate(
      Ptr, [&] { return R.MallocPitch(Ptr, Pitch, Width, Height); },
      [&] { return *Pitch * Height; });
}

static int onMalloc3D(const CudaRuntime &R, CudaPitchedPtr *Ptr,
                      CudaExtent Extent) {
  return GpuDeployment::get().allocate(
      reinterpret_cast<void **>(Ptr), [&] { return R.Malloc3D(Ptr, Extent); },
      [&] { return Ptr->Pitch * Extent.Height * Extent.Depth; });
}

static int onMallocManaged(const CudaRuntime &R, void **Ptr, size_t Size,
                           unsigned Flags) {
  return GpuDeployment::get().allocate(
      Ptr, [&] { return R.MallocManaged(Ptr, Size, Flags); },
      [&] { return Size; }, /*IsManaged=*/true);
}

#define ALLOCATE(Name, ...)                                                    \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, void **Ptr, size_t Size,           \
                      Params... P) {                                           \
    return GpuDeployment::get().allocate(                                      \
        Ptr, [&] { return R.Name(Ptr, Size, P...); }, [&] { return Size; });   \
  }
ALLOCATE(Malloc)
ALLOCATE(ExtMallocWithFlags)

#define FREE(Name, ...)                                                        \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, void *Ptr, Params... P) {          \
    return GpuDeployment::get().release(Ptr,                                   \
                                        [&] { return R.Name(Ptr, P...); });    \
  }

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

#define WRITE(Name, Stream)                                                    \
  static int on##Name(const CudaRuntime &R, const void *To, const void *From,  \
                      size_t Size, size_t Offset, int Kind) {                  \
    return GpuDeployment::get().writeVariable(                                 \
        To, Stream, [&] { return R.Name(To, From, Size, Offset, Kind); });     \
  }
#define WRITE_ASYNC(Name, Convert)                                             \
  static int on##Name(const CudaRuntime &R, const void *To, const void *From,  \
                      size_t Size, size_t Offset, int Kind, CudaStream *S) {   \
    return GpuDeployment::get().writeVariable(To, Convert(S), [&] {            \
      return R.Name(To, From, Size, Offset, Kind, S);                          \
    });                                                                        \
  }
WRITE(MemcpyToSymbol, toDriver(nullptr))
WRITE(MemcpyToSymbolPtds, toDriverPtsz(nullptr))
WRITE_ASYNC(MemcpyToSymbolAsync, toDriver)
WRITE_ASYNC(MemcpyToSymbolAsyncPtsz, toDriverPtsz)
#undef WRITE
#undef WRITE_ASYNC

static int onGetSymbolAddress(const CudaRuntime &R, void **Ptr,
                              const void *Shadow) {
  return GpuDeployment::get().shareVariable(
      Shadow, [&] { return R.GetSymbolAddress(Ptr, Shadow); });
}

static int onGraphAddMemcpyNodeToSymbol(const CudaRuntime &R, CUgraphNode *Node,
                                        CUgraph Graph, const CUgraphNode *After,
                                        size_t Count, const void *To,
                                        const void *From, size_t Size,
                                        size_t Offset, int Kind) {
  return GpuDeployment::get().shareVariable(To, [&] {
    return R.GraphAddMemcpyNodeToSymbol(Node, Graph, After, Count, To, From,
                                        Size, Offset, Kind);
  });
}

static int onGraphMemcpyNodeSetParamsToSymbol(const CudaRuntime &R,
                                              CUgraphNode Node, const void *To,
                                              const void *From, size_t Size,
                                              size_t Offset, int Kind) {
  return GpuDeployment::get().shareVariable(To, [&] {
    return R.GraphMemcpyNodeSetParamsToSymbol(Node, To, From, Size, Offset,
                                              Kind);
  });
}

static int onGraphExecMemcpyNodeSetParamsToSymbol(
    const CudaRuntime &R, CUgraphExec Exec, CUgraphNode Node, const void *To,
    const void *From, size_t Size, size_t Offset, int Kind) {
  return GpuDeployment::get().shareVariable(To, [&] {
    return R.GraphExecMemcpyNodeSetParamsToSymbol(Exec, Node, To, From, Size,
                                                  Offset, Kind);
  });
}

//===----------------------------------------------------------------------===//
// Other work
//===----------------------------------------------------------------------===//

static int onDeviceSynchronize(const CudaRuntime &R) {
  return GpuDeployment::get().waitForAll([&] { return R.DeviceSynchronize(); });
}

#define WORK(Function, Name)                                                   \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, Params... P) {                     \
    return GpuDeployment::get().Function([&] { return R.Name(P...); });        \
  }
#define BEGIN_CAPTURE(Name, ...) WORK(beginCapture, Name)
#define END_CAPTURE(Name, ...) WORK(endCapture, Name)
#define CHANGE(Name, ...) WORK(change, Name)
#define WAIT(Name, ...)                                                        \
  template <typename... Params>                                                \
  static int on##Name(const CudaRuntime &R, Params... P) {                     \
    return GpuDeployment::get().noteError(R.Name(P...));                       \
  }
#include "VendorFunctions.def"
#undef WORK

/// Whether a call is part of another call: HIP is one library, whose functions
/// may call each other.
static bool isPart() { return ForHip && InterceptedCall::isInside(); }

/// hipGetLastError or hipPeekAtLastError.
static int readLastError(std::string_view Symbol) {
  return Symbol == "hipGetLastError" ? LastError::get() : LastError::peek();
}

#define MNEME_INTERCEPT(Name, Symbol, R, ...)                                  \
  (isPart() ? R.Name(__VA_ARGS__)                                              \
   : LastError::isAbout(#Symbol)                                               \
       ? GpuDeployment::get().noteError(readLastError(#Symbol))                \
       : LastError::keep(/*IsInside=*/false,                                   \
                         [&] { return on##Name(R, ##__VA_ARGS__); }))
#include "InterceptedRuntimes.inc"

#ifdef MNEME_HIP
void *mneme::findRuntimeFunction(const char *Symbol) {
#define TAP(Name, Function, Parameters, ...)                                   \
  if (!strcmp(Symbol, #Function))                                              \
    return reinterpret_cast<void *>(Function);
#include "VendorFunctions.def"
  return nullptr;
}
#endif

void *mneme::findVariable(const MnemeHook *Object, const void *Shadow) {
  const CudaRuntime *R = nullptr;
  for (size_t I = 1; I != NumObjects && !R; ++I)
    if (Objects[I] == Object && Runtimes[I].GetSymbolAddress)
      R = &Runtimes[I];
  if (!R)
    R = &sharedRuntime();
  void *Address = nullptr;
  // A failure would replace an error that the application has not read yet.
  if (!R->GetSymbolAddress || (R->PeekAtLastError && R->PeekAtLastError()))
    return nullptr;
  if (!R->GetSymbolAddress(&Address, Shadow))
    return Address;
  if (R->GetLastError)
    R->GetLastError();
  return nullptr;
}

/// A recorder takes precedence: it records the application's own kernels. It
/// may have been preloaded without its launcher.
static bool findRecorder() {
  const char *Launcher = getSecureVariable(MNEME_ENV_SOCKET);
  if (Launcher && *Launcher)
    return true;
  // Only recorders export it.
  if (!dlsym(RTLD_DEFAULT, "__mneme_annotate"))
    return false;
  const char *Packages = getSecureVariable(MNEME_ENV_TUNED);
  if (Packages && *Packages)
    tell("mneme: warning: " MNEME_ENV_TUNED
         " is ignored: a recorder is in the process\n");
  return true;
}

bool mneme::isRecording() {
  static bool Found = findRecorder();
  return Found;
}

/// Exported by all runtimes that serve packages.
MNEME_EXPORT char __mneme_packages = 0;

/// The first of the process's runtimes serves packages: libmneme_deploy.so may
/// be preloaded into a program that is linked with libmneme_jit.so. A second
/// one would overwrite the report.
static bool servesPackages() {
  static bool IsFirst = [] {
    Dl_info First, Own;
    return !dladdr(dlsym(RTLD_DEFAULT, "__mneme_packages"), &First) ||
           !dladdr(reinterpret_cast<void *>(servesPackages), &Own) ||
           First.dli_fbase == Own.dli_fbase;
  }();
  return IsFirst;
}

__attribute__((constructor)) static void checkPackages() {
  if (!isRecording() && servesPackages())
    TunedKernels::get().startIfStrict();
}

void mneme::patchSlots(MnemeHook *Begin, MnemeHook *End) {
  // Linkers pad merged sections with zeros.
  for (MnemeHook *H = Begin; H < End; ++H)
    if (void *Fn = H->Name ? findCompilerFunction(H->Name) : nullptr)
      H->Fn = Fn;
  if (Begin >= End || isRecording())
    return;
  if (servesPackages()) {
    TunedKernels::get().start();
    TunedKernels::get().noteKernels();
  }
  GpuDeployment::get().setCompiler(startCompiler());
  if (!GpuDeployment::get().isActive())
    return;
  for (MnemeHook *H = Begin; H < End; ++H)
    if (H->Name && H->Fn && !findCompilerFunction(H->Name))
      patchSlot(*H, Begin);
}
