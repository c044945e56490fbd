//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What deployment does with each intercepted call of the CUDA runtime and
/// driver, or of HIP. The CUDA runtime gets the driver's functions from the
/// driver itself, so its own calls do not come here.
///
//===----------------------------------------------------------------------===//

#include "DriverKernels.h"
#include "GpuDeployment.h"
#include "LastError.h"
#include "Variables.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <dlfcn.h>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Launches and code
//===----------------------------------------------------------------------===//

template <typename Fn>
static int launchKernel(const KernelLaunch &L, Fn Original) {
  return GpuDeployment::get().launch(LaunchRequest(L), Original);
}

template <typename Fn> static int launchForeign(Fn Original) {
  return GpuDeployment::get().launchForeign(Original);
}

template <typename Fn>
static int launchFunction(const KernelLaunch &L, void **Extra, Fn Original) {
  // Arguments in a buffer are not known one by one.
  TunedStub *Found = Extra ? nullptr : DriverKernels::get().find(L.Kernel);
  return Found ? GpuDeployment::get().launch(LaunchRequest(L, Found), Original)
               : launchForeign(Original);
}

template <typename Fn> static int launchOnDevices(Fn Original) {
  return launchForeign(Original);
}

template <typename Fn> static int launchForeignGraph(Fn Original) {
  return launchForeign(Original);
}

static DriverKernels &code() { return DriverKernels::get(); }

#include "InterceptedCode.inc"

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

/// The same through the driver.
static int mirrorAttribute(int E, CUfunction F, int Attribute, int Value) {
  TunedStub *Stub = E ? nullptr : code().find(F);
  if (Stub)
    GpuDeployment::get().mirrorAttribute(*Stub, Attribute, Value);
  return E;
}

static int onDriverFuncSetAttribute(const CudaRuntime &R, CUfunction F,
                                    int Attribute, int Value) {
  return mirrorAttribute(R.DriverFuncSetAttribute(F, Attribute, Value), F,
                         Attribute, Value);
}

static int onDriverFuncSetCacheConfig(const CudaRuntime &R, CUfunction F,
                                      int Config) {
  return mirrorAttribute(R.DriverFuncSetCacheConfig(F, Config), F,
                         FunctionAttribute::CacheConfig, Config);
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

static int onGetLastError(const CudaRuntime &R) {
  return GpuDeployment::get().noteError(ForHip ? LastError::get()
                                               : R.GetLastError());
}

static int onPeekAtLastError(const CudaRuntime &R) {
  return GpuDeployment::get().noteError(ForHip ? LastError::peek()
                                               : R.PeekAtLastError());
}

#include "InterceptedRuntimes.inc"

void *mneme::functionInPlaceOf(const char *Symbol) {
  return findExported(Symbol);
}

void *mneme::findVariable(const MnemeHook *Object, const void *Shadow) {
  const CudaRuntime &R = runtimeOf(Object);
  void *Address = nullptr;
  // A failure would replace an error that the application has not read yet.
  if (!R.GetSymbolAddress || (R.PeekAtLastError && R.PeekAtLastError()))
    return nullptr;
  if (!R.GetSymbolAddress(&Address, Shadow))
    return Address;
  if (R.GetLastError)
    R.GetLastError();
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
