//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// HIP as the driver of AMD GPUs: the table of the CUDA driver's functions,
/// with HIP's in them. Read against HIP 5.2 and 6.3.
///
//===----------------------------------------------------------------------===//

#include "CudaTypes.h"
#include "HipLibraries.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <atomic>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <utility>

using namespace mneme;

namespace {
/// HIP's own functions: those with CUDA's parameters, and further ones.
struct HipFunctions : CudaDriver {
  const char *(*ErrorName)(CUresult);
  const char *(*ErrorString)(CUresult);
  CUresult (*SetDevice)(CUdevice);
  CUresult (*GetDevice)(CUdevice *);
  HipGetProperties GetProperties, GetPropertiesR0600;
  CUresult (*StreamGetDevice)(CUstream, CUdevice *);
  /// The grid is counted in threads.
  CUresult (*ExtModuleLaunchKernel)(CUfunction, unsigned GridX, unsigned GridY,
                                    unsigned GridZ, unsigned BlockX,
                                    unsigned BlockY, unsigned BlockZ,
                                    size_t Shared, CUstream, void **Args,
                                    void **Extra, CUevent Start, CUevent Stop,
                                    unsigned Flags);
  CUresult (*RuntimeGetVersion)(int *);
  CUresult (*GraphKernelNodeGetParams)(CUgraphNode, HipKernelNodeParams *);
  CUresult (*GraphKernelNodeSetParams)(CUgraphNode,
                                       const HipKernelNodeParams *);
  CUresult (*GraphMemsetNodeSetParams)(CUgraphNode, const HipMemsetParams *);
};
} // namespace

static HipFunctions Hip;

//===----------------------------------------------------------------------===//
// Adapted functions
//===----------------------------------------------------------------------===//

static CUresult adaptedGetErrorName(CUresult R, const char **Name) {
  *Name = Hip.ErrorName(R);
  return CUDA_SUCCESS;
}

static CUresult adaptedGetErrorString(CUresult R, const char **Text) {
  *Text = Hip.ErrorString(R);
  return CUDA_SUCCESS;
}

static CUresult adaptedDeviceGetAttribute(int *Value, int Attribute,
                                          CUdevice Device) {
  static constexpr struct {
    int Hip, Cuda;
  } Numbers[] = {
#define HIP_ATTRIBUTE(Hip, Cuda) {Hip, Cuda},
#include "HipAttributes.def"
  };
  for (const auto &N : Numbers)
    if (N.Cuda == Attribute)
      return Hip.DeviceGetAttribute(Value, N.Hip, Device);
  return CUDA_ERROR_INVALID_VALUE;
}

/// The context of a device: its number, but not null.
static CUcontext contextOf(CUdevice Device) {
  return reinterpret_cast<CUcontext>(uintptr_t(Device) + 1);
}

static CUresult adaptedDevicePrimaryCtxRetain(CUcontext *C, CUdevice Device) {
  *C = contextOf(Device);
  return CUDA_SUCCESS;
}

static CUresult adaptedDevicePrimaryCtxRelease(CUdevice) {
  return CUDA_SUCCESS;
}

static CUresult adaptedCtxSetCurrent(CUcontext C) {
  // A thread always has a device.
  return C ? Hip.SetDevice(reinterpret_cast<uintptr_t>(C) - 1) : CUDA_SUCCESS;
}

static CUresult adaptedCtxGetCurrent(CUcontext *C) {
  CUdevice Device = 0;
  CUresult R = Hip.GetDevice(&Device);
  *C = R ? nullptr : contextOf(Device);
  return R;
}

/// Dynamic LDS needs no permission: its limit is the device's.
static CUresult adaptedFuncSetAttribute(CUfunction, int, int) {
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

namespace {
constexpr int MaxDevices = 64;

/// Code for all devices, each of which gets a module of its own. The image
/// stays where it is.
struct HipLibrary {
  const void *Image = nullptr;
  CUmodule Modules[MaxDevices] = {};
  HipLibrary *Next = nullptr;

  /// With the lock held. Loads the module of the current device \p Device.
  CUresult load(CUdevice Device) {
    CUmodule &M = Modules[Device];
    return M ? CUDA_SUCCESS : Hip.ModuleLoadData(&M, Image);
  }
};

/// Lives as long as its library.
struct HipKernel {
  HipLibrary *Of;
  std::string Name;
  std::atomic<CUfunction> Functions[MaxDevices] = {};
  HipKernel *Next = nullptr;
};

/// All libraries and kernels. What is found in them is found without the lock.
struct HipCode {
  std::mutex Lock;
  HipLibrary *Libraries = nullptr;
  HipKernel *Kernels = nullptr;
};
} // namespace

static HipCode &hipCode() {
  // Never destroyed, because applications may use it while they exit.
  static HipCode &C = *new HipCode;
  return C;
}

static CUresult currentHipDevice(CUdevice &Device) {
  CUresult R = Hip.GetDevice(&Device);
  return R || (Device >= 0 && Device < MaxDevices) ? R
                                                   : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult adaptedLibraryLoadData(CUlibrary *Result, const void *Image,
                                       int *, void **, unsigned, int *, void **,
                                       unsigned) {
  CUdevice Device = 0;
  if (CUresult R = currentHipDevice(Device))
    return R;
  auto New = std::make_unique<HipLibrary>();
  New->Image = Image;
  HipCode &All = hipCode();
  std::lock_guard<std::mutex> Guard(All.Lock);
  if (CUresult R = New->load(Device))
    return R;
  New->Next = All.Libraries;
  All.Libraries = New.release();
  *Result = reinterpret_cast<CUlibrary>(All.Libraries);
  return CUDA_SUCCESS;
}

/// Only the modules: kernels may refer to the library.
static CUresult adaptedLibraryUnload(CUlibrary Handle) {
  std::lock_guard<std::mutex> Guard(hipCode().Lock);
  CUresult Result = CUDA_SUCCESS;
  for (CUmodule &M : reinterpret_cast<HipLibrary *>(Handle)->Modules)
    if (CUmodule Loaded = std::exchange(M, nullptr))
      if (CUresult R = Hip.ModuleUnload(Loaded))
        Result = R;
  return Result;
}

static CUresult adaptedKernelGetFunction(CUfunction *F, CUkernel Handle) {
  auto &K = *reinterpret_cast<HipKernel *>(Handle);
  CUdevice Device = 0;
  if (CUresult R = currentHipDevice(Device))
    return R;
  if ((*F = K.Functions[Device].load(std::memory_order_acquire)))
    return CUDA_SUCCESS;
  std::lock_guard<std::mutex> Guard(hipCode().Lock);
  if (CUresult R = K.Of->load(Device))
    return R;
  if (CUresult R =
          Hip.ModuleGetFunction(F, K.Of->Modules[Device], K.Name.c_str()))
    return R;
  K.Functions[Device].store(*F, std::memory_order_release);
  return CUDA_SUCCESS;
}

static CUresult adaptedLibraryGetKernel(CUkernel *Result, CUlibrary Library,
                                        const char *Name) {
  auto New = std::make_unique<HipKernel>();
  New->Of = reinterpret_cast<HipLibrary *>(Library);
  New->Name = Name;
  CUfunction F = nullptr;
  auto Handle = reinterpret_cast<CUkernel>(New.get());
  if (CUresult R = adaptedKernelGetFunction(&F, Handle))
    return R;
  HipCode &All = hipCode();
  std::lock_guard<std::mutex> Guard(All.Lock);
  New->Next = All.Kernels;
  All.Kernels = New.release();
  *Result = Handle;
  return CUDA_SUCCESS;
}

static CUresult adaptedLibraryGetGlobal(CUdeviceptr *Address, size_t *Size,
                                        CUlibrary Handle, const char *Name) {
  auto &L = *reinterpret_cast<HipLibrary *>(Handle);
  CUdevice Device = 0;
  if (CUresult R = currentHipDevice(Device))
    return R;
  std::lock_guard<std::mutex> Guard(hipCode().Lock);
  if (CUresult R = L.load(Device))
    return R;
  return Hip.ModuleGetGlobal(Address, Size, L.Modules[Device], Name);
}

static CUresult adaptedKernelSetAttribute(int, int, CUkernel, CUdevice) {
  return CUDA_SUCCESS;
}

static CUresult adaptedKernelSetCacheConfig(CUkernel, int, CUdevice) {
  return CUDA_SUCCESS;
}

void mneme::forgetHipCode(CUdevice Device) {
  HipCode &All = hipCode();
  std::lock_guard<std::mutex> Guard(All.Lock);
  for (HipLibrary *L = All.Libraries; L; L = L->Next)
    L->Modules[Device] = nullptr;
  for (HipKernel *K = All.Kernels; K; K = K->Next)
    K->Functions[Device] = nullptr;
}

//===----------------------------------------------------------------------===//
// Streams and graphs
//===----------------------------------------------------------------------===//

/// Releases before 6.3 do not know the number of the legacy stream.
static CUstream legacyIsNull(CUstream S) {
  return reinterpret_cast<uintptr_t>(S) == 1 ? nullptr : S;
}

static CUresult adaptedStreamSynchronize(CUstream S) {
  return Hip.StreamSynchronize(legacyIsNull(S));
}

static CUresult adaptedStreamQuery(CUstream S) {
  return Hip.StreamQuery(legacyIsNull(S));
}

static CUresult adaptedStreamGetCtx(CUstream S, CUcontext *C) {
  CUdevice Device = 0;
  // Streams 0, 1 and 2 are those of the current device.
  if (reinterpret_cast<uintptr_t>(S) <= 2 || !Hip.StreamGetDevice)
    return adaptedCtxGetCurrent(C);
  CUresult R = Hip.StreamGetDevice(S, &Device);
  *C = contextOf(Device);
  return R;
}

static CUresult adaptedStreamGetFlags(CUstream S, unsigned *Flags) {
  // HIP has an answer for streams that the program created.
  *Flags = 0;
  return reinterpret_cast<uintptr_t>(S) <= 2 ? CUDA_SUCCESS
                                             : Hip.StreamGetFlags(S, Flags);
}

static CUresult adaptedStreamIsCapturing(CUstream S, int *Status) {
  return Hip.StreamIsCapturing(legacyIsNull(S), Status);
}

static CUresult adaptedEventRecord(CUevent E, CUstream S) {
  return Hip.EventRecord(E, legacyIsNull(S));
}

/// HIP's types are CUDA's, but for copies from and to variables.
static CUresult adaptedGraphNodeGetType(CUgraphNode N, int *Type) {
  constexpr int Copy = 1, CopyFromSymbol = 12, CopyToSymbol = 13;
  CUresult R = Hip.GraphNodeGetType(N, Type);
  if (*Type == CopyFromSymbol || *Type == CopyToSymbol)
    *Type = Copy;
  return R;
}

/// A node has the launch stub of a kernel, or the function of a module.
static CUresult adaptedGraphKernelNodeGetParams(CUgraphNode N,
                                                CUkernelNodeParams *P) {
  HipKernelNodeParams H = {};
  CUresult R = Hip.GraphKernelNodeGetParams(N, &H);
  *P = {};
  P->Function = reinterpret_cast<CUfunction>(const_cast<void *>(H.Func));
  P->GridX = H.Grid.X;
  P->GridY = H.Grid.Y;
  P->GridZ = H.Grid.Z;
  P->BlockX = H.Block.X;
  P->BlockY = H.Block.Y;
  P->BlockZ = H.Block.Z;
  P->DynamicShared = H.DynamicShared;
  P->Args = H.Args;
  P->Extra = H.Extra;
  return R;
}

static CUresult adaptedGraphKernelNodeSetParams(CUgraphNode N,
                                                const CUkernelNodeParams *P) {
  HipKernelNodeParams H = {};
  H.Func = P->Function;
  H.Grid = {P->GridX, P->GridY, P->GridZ};
  H.Block = {P->BlockX, P->BlockY, P->BlockZ};
  H.DynamicShared = P->DynamicShared;
  H.Args = P->Args;
  H.Extra = P->Extra;
  return Hip.GraphKernelNodeSetParams(N, &H);
}

static CUresult adaptedGraphMemsetNodeSetParams(CUgraphNode N,
                                                const CUmemsetNodeParams *P) {
  HipMemsetParams H = {};
  H.Dst = reinterpret_cast<void *>(P->To);
  H.ElementSize = P->ElementSize;
  H.Height = P->Height;
  H.Pitch = P->Pitch;
  H.Value = P->Value;
  H.Width = P->Width;
  return Hip.GraphMemsetNodeSetParams(N, &H);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The library that the program has loaded, or else the newest one.
static void *findLibrary() {
  for (int Mode : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL})
    for (const char *Name : HipLibraries)
      if (void *Library = dlopen(Name, Mode))
        return Library;
  return dlopen("/opt/rocm/lib/libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
}

const CudaDriver *CudaDriver::loadHip(std::string &Error) {
  static std::mutex Lock;
  static CudaDriver *Loaded = nullptr;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Loaded)
    return Loaded;
  // Never closed, because the runtime has threads.
  void *Library = findLibrary();
  if (!Library) {
    Error = "no HIP runtime: cannot load libamdhip64.so";
    return nullptr;
  }
  auto *D = new CudaDriver();
  const char *Missing = nullptr;
  auto Find = [&](auto &Function, const char *Symbol) {
    Function = reinterpret_cast<std::remove_reference_t<decltype(Function)>>(
        dlsym(Library, Symbol));
  };
  auto Require = [&](auto &Function, const char *Symbol) {
    Find(Function, Symbol);
    if (!Function && !Missing)
      Missing = Symbol;
  };
#define HIP_SAME(Name, Symbol)                                                 \
  Require(Hip.Name, #Symbol);                                                  \
  D->Name = Hip.Name;
#define HIP_OPTIONAL(Name, Symbol) Find(D->Name, #Symbol);
#define HIP_ADAPTED(Name, Symbol)                                              \
  Require(Hip.Name, #Symbol);                                                  \
  D->Name = adapted##Name;
#define HIP_OWN(Name, Symbol) D->Name = adapted##Name;
#define HIP_NONE(Name, Symbol)
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  Kind(Name, HipSymbol)
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
  Require(Hip.ErrorName, "hipGetErrorName");
  Require(Hip.ErrorString, "hipGetErrorString");
  Require(Hip.SetDevice, "hipSetDevice");
  Require(Hip.GetDevice, "hipGetDevice");
  Find(Hip.GetProperties, "hipGetDeviceProperties");
  Find(Hip.GetPropertiesR0600, "hipGetDevicePropertiesR0600");
  Find(Hip.StreamGetDevice, "hipStreamGetDevice");
  // Older releases have only the name in C++.
  Find(Hip.ExtModuleLaunchKernel,
       "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12"
       "ihipStream_tPPvS4_P11ihipEvent_tS6_j");
  if (!Hip.ExtModuleLaunchKernel)
    Find(Hip.ExtModuleLaunchKernel, "hipExtModuleLaunchKernel");
  Find(Hip.RuntimeGetVersion, "hipRuntimeGetVersion");
  Find(Hip.GraphNodeGetType, "hipGraphNodeGetType");
  Find(Hip.GraphKernelNodeGetParams, "hipGraphKernelNodeGetParams");
  Find(Hip.GraphKernelNodeSetParams, "hipGraphKernelNodeSetParams");
  Find(Hip.GraphMemsetNodeSetParams, "hipGraphMemsetNodeSetParams");
  if (Missing) {
    Error = std::string("the HIP runtime is too old: it has no ") + Missing;
    delete D;
    return nullptr;
  }
  constexpr int FirstWithGraphs = 60000000;
  int Version = 0;
  if (!Hip.RuntimeGetVersion || Hip.RuntimeGetVersion(&Version) ||
      Version < FirstWithGraphs) {
    D->GraphClone = nullptr;
    D->GraphKernelNodeGetParams = nullptr;
  }
  D->IsHip = true;
  return Loaded = D;
}

bool mneme::canLaunchTimed() { return Hip.ExtModuleLaunchKernel; }

CUresult mneme::launchTimed(CUfunction F, const unsigned (&Grid)[3],
                            const unsigned (&Block)[3], unsigned DynamicShared,
                            CUstream S, void **Args, CUevent Start,
                            CUevent Stop) {
  unsigned Threads[3];
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    if (__builtin_mul_overflow(Grid[Axis], Block[Axis], &Threads[Axis]))
      return CUDA_ERROR_INVALID_VALUE;
  return Hip.ExtModuleLaunchKernel(F, Threads[0], Threads[1], Threads[2],
                                   Block[0], Block[1], Block[2], DynamicShared,
                                   legacyIsNull(S), Args, /*Extra=*/nullptr,
                                   Start, Stop, /*Flags=*/0);
}

std::string mneme::readHipArch(CUdevice Device) {
  return readHipArch(Hip.GetPropertiesR0600, Hip.GetProperties, Device);
}
