//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of HIP that Mneme and test programs use. Those of the runtime
/// are the emulated CUDA runtime's by other names; those of the module API are
/// the driver's. HIP's own behaviour is here: a device instead of a context,
/// and refusals that CUDA does not know.
///
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "ImageBytes.h"
#include "llvm/Mneme/Support/Digest.h"

#define MNEME_EMULATED_DRIVER "libamdhip64.so.6"
#define RT(Name) hip##Name
#define cudaGraphAddHostNode hipGraphAddHostNode
#define cudaGraphExecHostNodeSetParams hipGraphExecHostNodeSetParams
#define cudaGraphInstantiate hipGraphInstantiateWithFlags
#define __cudaRegisterFatBinary __hipRegisterFatBinary
#define __cudaUnregisterFatBinary __hipUnregisterFatBinary
#define __cudaRegisterFunction __hipRegisterFunction
#define __cudaRegisterVar __hipRegisterVar
#define __cudaPushCallConfiguration __hipPushCallConfiguration
#define __cudaPopCallConfiguration __hipPopCallConfiguration
#include "../emulated-cudart/Runtime.cpp"

using emulated::amdArchOf;

extern "C" {
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  CUresult Symbol Parameters;
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
}

/// The functions of this library.
const CudaDriver *CudaDriver::load(std::string &) {
  static CudaDriver D = [] {
    CudaDriver D = {};
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters) D.Name = Symbol;
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
    return D;
  }();
  return &D;
}

/// Calls a function of the driver, in the context of the thread's device.
#define DRIVER(Call)                                                           \
  do {                                                                         \
    START();                                                                   \
    return done(Call);                                                         \
  } while (false)

//===----------------------------------------------------------------------===//
// Versions, errors, devices
//===----------------------------------------------------------------------===//

API int hipInit(unsigned) {
  // Nothing of this library works where there is no device.
  return start();
}

API int hipDriverGetVersion(int *Version) {
  const char *Set = getenv("MNEME_EMULATED_VERSION");
  *Version = Set ? atoi(Set) : 60300000;
  return 0;
}

API int hipRuntimeGetVersion(int *Version) {
  return hipDriverGetVersion(Version);
}

API const char *hipGetErrorName(int E) {
  switch (E) {
  case 2:
    return "hipErrorOutOfMemory";
  case 3:
    return "hipErrorNotInitialized";
  case 209:
    return "hipErrorNoBinaryForGpu";
  case 719:
    return "hipErrorLaunchFailure";
  }
  static thread_local std::string Name;
  Name = cudaGetErrorName(E);
  if (Name.compare(0, 4, "cuda") == 0)
    Name.replace(0, 4, "hip");
  return Name.c_str();
}

/// Knows the thread's device even after a fault.
API int hipGetDevice(int *Device) {
  START();
  *Device = ChosenDevice;
  return 0;
}

FORWARD(hipDeviceGet, cuDeviceGet)
FORWARD(hipDeviceGetName, cuDeviceGetName)

/// The digits of HSA's "GPU-<16 digits>".
API int hipDeviceGetUuid(void *Bytes16, CUdevice Device) {
  START();
  char Digits[17];
  snprintf(Digits, sizeof(Digits), "%016x", 0xe0 + Device);
  memcpy(Bytes16, Digits, 16);
  return 0;
}

FORWARD(hipDeviceTotalMem, cuDeviceTotalMem_v2)
FORWARD(hipDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState)

static int waveSizeOf(CUdevice Device) {
  llvm::StringRef Processor = amdArchOf(Device).split(':').first;
  return Processor.starts_with("gfx1") && Processor.size() > 6 ? 32 : 64;
}

API int hipDeviceGetAttribute(int *Value, int Attribute, CUdevice Device) {
  constexpr int WarpSize = 10, SharedPerBlock = 8, SharedOptin = 97,
                WallClockKHz = 100000, Lds = 64 << 10;
  START();
  static constexpr struct {
    int Hip, Cuda;
  } Numbers[] = {
#define HIP_ATTRIBUTE(Hip, Cuda) {Hip, Cuda},
#include "HipAttributes.def"
  };
  for (const auto &N : Numbers) {
    if (N.Hip != Attribute)
      continue;
    if (int E = cuDeviceGetAttribute(Value, N.Cuda, Device))
      return done(E);
    if (N.Cuda == WarpSize)
      *Value = waveSizeOf(Device);
    else if (N.Cuda == SharedPerBlock)
      *Value = Lds;
    else if (N.Cuda == SharedOptin)
      *Value = 0;
    else if (N.Cuda == WallClockKHz)
      *Value = 1000000;
    return 0;
  }
  return done(CUDA_ERROR_INVALID_VALUE);
}

API int hipGetDevicePropertiesR0600(HipDeviceProp6 *P, CUdevice Device) {
  START();
  *P = {};
  int Processors = 0;
  hipDeviceGetAttribute(&Processors, 63, Device);
  P->multiProcessorCount = Processors;
  P->warpSize = waveSizeOf(Device);
  snprintf(P->name, sizeof(P->name), "Emulated GPU");
  snprintf(P->gcnArchName, sizeof(P->gcnArchName), "%s",
           amdArchOf(Device).str().c_str());
  return done(cuDeviceTotalMem_v2(&P->totalGlobalMem, Device));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

API int hipHostMalloc(void **Ptr, size_t Size, unsigned Flags) {
  return hipHostAlloc(Ptr, Size, Flags);
}

API int hipExtMallocWithFlags(void **Ptr, size_t Size, unsigned) {
  return hipMalloc(Ptr, Size);
}

API int hipHostFree(void *Ptr) { return hipFreeHost(Ptr); }

FORWARD(hipMemcpyHtoD, cuMemcpyHtoD_v2)
FORWARD(hipMemcpyDtoH, cuMemcpyDtoH_v2)
FORWARD(hipMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)
FORWARD(hipMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)
FORWARD(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)
FORWARD(hipMemsetD8Async, cuMemsetD8Async)
FORWARD(hipMemsetD32Async, cuMemsetD32Async)
FORWARD(hipPointerGetAttribute, cuPointerGetAttribute)

// Since HIP maps whole handles only, and has no flags.

FORWARD(hipMemGetAllocationGranularity, cuMemGetAllocationGranularity)

API int hipMemAddressReserve(CUdeviceptr *Address, size_t Size,
                             size_t Alignment, CUdeviceptr Hint,
                             unsigned long long Flags) {
  if (Flags)
    return done(CUDA_ERROR_INVALID_VALUE);
  DRIVER(cuMemAddressReserve(Address, Size, Alignment, Hint, Flags));
}

FORWARD(hipMemAddressFree, cuMemAddressFree)

API int hipMemCreate(CUmemHandle *Handle, size_t Size,
                     const CUmemAllocationProp *P, unsigned long long Flags) {
  if (Flags)
    return done(CUDA_ERROR_INVALID_VALUE);
  DRIVER(cuMemCreate(Handle, Size, P, Flags));
}

FORWARD(hipMemExportToShareableHandle, cuMemExportToShareableHandle)
FORWARD(hipMemImportFromShareableHandle, cuMemImportFromShareableHandle)
FORWARD(hipMemRelease, cuMemRelease)

API int hipMemMap(CUdeviceptr Address, size_t Size, size_t Offset,
                  CUmemHandle Handle, unsigned long long Flags) {
  if (Offset || Flags)
    return done(CUDA_ERROR_INVALID_VALUE);
  DRIVER(cuMemMap(Address, Size, Offset, Handle, Flags));
}

FORWARD(hipMemUnmap, cuMemUnmap)
FORWARD(hipMemSetAccess, cuMemSetAccess)

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The emulated device reaches all memory of the host.
API void __hipRegisterManagedVar(void **Handle, void **Pointer,
                                 const void *Initial, const char *Name,
                                 size_t Size, unsigned) {
  *Pointer = malloc(Size);
  memcpy(*Pointer, Initial, Size);
  state().Symbols[Pointer] = {reinterpret_cast<FatBinary *>(Handle), Name,
                              sizeof(void *)};
  state().Managed.push_back(Pointer);
}

API int hipModuleLoadData(CUmodule *M, const void *Image) {
  START();
  int E = cuModuleLoadData(M, Image);
  constexpr char Magic[] = "\x7f"
                           "ELF";
  if (!E && !memcmp(Image, Magic, sizeof(Magic) - 1))
    emulated::log("library " +
                  llvm::mneme::toHexString(llvm::mneme::digest128(
                      {static_cast<const char *>(Image), sizeOfImage(Image)})));
  return done(E);
}

API int hipModuleLoadDataEx(CUmodule *M, const void *Image, unsigned, int *,
                            void **) {
  return hipModuleLoadData(M, Image);
}

FORWARD(hipModuleUnload, cuModuleUnload)
FORWARD(hipModuleGetFunction, cuModuleGetFunction)
FORWARD(hipModuleGetGlobal, cuModuleGetGlobal_v2)
FORWARD(hipFuncGetAttribute, cuFuncGetAttribute)
FORWARD(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
        cuOccupancyMaxActiveBlocksPerMultiprocessor)

/// Dynamic shared memory needs no permission, but has a limit.
static int allowShared(CUfunction F, unsigned Shared) {
  constexpr int SharedSize = 1, MaxDynamicShared = 8, Lds = 64 << 10;
  int Static = 0;
  if (int E = cuFuncGetAttribute(&Static, SharedSize, F))
    return E;
  if (int(Shared) > Lds - Static)
    return CUDA_ERROR_INVALID_VALUE;
  return cuFuncSetAttribute(F, MaxDynamicShared, Lds - Static);
}

/// HIP refuses blocks of more threads than the kernel was compiled for as if it
/// had failed.
static int prepareLaunch(CUfunction F, uint64_t Threads, unsigned Shared) {
  constexpr int MaxThreads = 0;
  int Max = 0;
  if (int E = cuFuncGetAttribute(&Max, MaxThreads, F))
    return E;
  return Threads > unsigned(Max) ? CUDA_ERROR_LAUNCH_FAILED
                                 : allowShared(F, Shared);
}

API int hipModuleLaunchKernel(CUfunction F, unsigned GridX, unsigned GridY,
                              unsigned GridZ, unsigned BlockX, unsigned BlockY,
                              unsigned BlockZ, unsigned Shared, CUstream S,
                              void **Args, void **Extra) {
  START();
  if (int E = prepareLaunch(F, uint64_t(BlockX) * BlockY * BlockZ, Shared))
    return done(E);
  return done(cuLaunchKernel(F, GridX, GridY, GridZ, BlockX, BlockY, BlockZ,
                             Shared, S, Args, Extra));
}

API int hipModuleLaunchCooperativeKernel(CUfunction F, unsigned GridX,
                                         unsigned GridY, unsigned GridZ,
                                         unsigned BlockX, unsigned BlockY,
                                         unsigned BlockZ, unsigned Shared,
                                         CUstream S, void **Args) {
  START();
  if (int E = prepareLaunch(F, uint64_t(BlockX) * BlockY * BlockZ, Shared))
    return done(E);
  return done(cuLaunchCooperativeKernel(F, GridX, GridY, GridZ, BlockX, BlockY,
                                        BlockZ, Shared, S, Args));
}

API int hipDrvLaunchKernelEx(const CUlaunchConfig *Config, CUfunction F,
                             void **Args, void **Extra) {
  START();
  if (int E = allowShared(F, Config->DynamicShared))
    return done(E);
  return done(cuLaunchKernelEx(Config, F, Args, Extra));
}

/// Records an event before a kernel of the module API, or after it.
static int recordTime(CUevent E, CUstream S) {
  return E && emulated::settings().DispatchTimes ? cuEventRecord(E, S) : 0;
}

/// The grid is counted in threads; its last blocks may have fewer.
API int hipExtModuleLaunchKernel(CUfunction F, unsigned ThreadsX,
                                 unsigned ThreadsY, unsigned ThreadsZ,
                                 unsigned BlockX, unsigned BlockY,
                                 unsigned BlockZ, size_t Shared, CUstream S,
                                 void **Args, void **Extra, CUevent Start,
                                 CUevent Stop, unsigned) {
  if (!BlockX || !BlockY || !BlockZ || ThreadsX % BlockX || ThreadsY % BlockY ||
      ThreadsZ % BlockZ)
    return done(CUDA_ERROR_INVALID_VALUE);
  int R = recordTime(Start, S);
  if (!R)
    R = hipModuleLaunchKernel(F, ThreadsX / BlockX, ThreadsY / BlockY,
                              ThreadsZ / BlockZ, BlockX, BlockY, BlockZ, Shared,
                              S, Args, Extra);
  return R ? done(R) : done(recordTime(Stop, S));
}

API int hipHccModuleLaunchKernel(CUfunction F, unsigned ThreadsX,
                                 unsigned ThreadsY, unsigned ThreadsZ,
                                 unsigned BlockX, unsigned BlockY,
                                 unsigned BlockZ, size_t Shared, CUstream S,
                                 void **Args, void **Extra, CUevent Start,
                                 CUevent Stop) {
  return hipExtModuleLaunchKernel(F, ThreadsX, ThreadsY, ThreadsZ, BlockX,
                                  BlockY, BlockZ, Shared, S, Args, Extra, Start,
                                  Stop, /*Flags=*/0);
}

// HIP's header declares both without extern "C".
#define ALIAS(Symbol)                                                          \
  extern "C"                                                                   \
      __attribute__((visibility("default"), alias(#Symbol))) decltype(Symbol)
ALIAS(hipExtModuleLaunchKernel)
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j;
ALIAS(hipHccModuleLaunchKernel)
_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_;
#undef ALIAS

API int hipExtLaunchKernel(const void *Stub, Dim3 Grid, Dim3 Block, void **Args,
                           size_t Shared, CUstream S, CUevent, CUevent, int) {
  return hipLaunchKernel(Stub, Grid, Block, Args, Shared, S);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

/// Its streams 1 and 2 are newer than most releases, which take them for
/// pointers.
static void refuseNumbers(CUstream S) {
  if (reinterpret_cast<uintptr_t>(S) == 1) {
    emulated::complain("the legacy stream is null");
    abort();
  }
}

API int hipStreamGetFlags(CUstream S, unsigned *Flags) {
  if (!S)
    return done(CUDA_ERROR_INVALID_VALUE);
  refuseNumbers(S);
  DRIVER(cuStreamGetFlags(S, Flags));
}

API int hipStreamGetDevice(CUstream S, CUdevice *Device) {
  START();
  refuseNumbers(S);
  CUcontext C = nullptr, Old = nullptr;
  int E = cuStreamGetCtx(S, &C);
  if (!E)
    E = cuCtxGetCurrent(&Old);
  if (!E)
    E = cuCtxSetCurrent(C);
  if (!E)
    E = cuCtxGetDevice(Device);
  cuCtxSetCurrent(Old);
  return done(E);
}

API int hipStreamIsCapturing(CUstream S, int *Status) {
  refuseNumbers(S);
  DRIVER(cuStreamIsCapturing(S, Status));
}

API int hipThreadExchangeStreamCaptureMode(int *Mode) {
  return cuThreadExchangeStreamCaptureMode(Mode);
}

FORWARD(hipEventCreateWithFlags, cuEventCreate)
FORWARD(hipEventDestroy, cuEventDestroy_v2)

API int hipEventRecord(CUevent E, CUstream S) {
  refuseNumbers(S);
  DRIVER(cuEventRecord(E, S));
}

FORWARD(hipEventQuery, cuEventQuery)
FORWARD(hipEventSynchronize, cuEventSynchronize)
FORWARD(hipEventElapsedTime, cuEventElapsedTime)

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static CudaKernelNodeParams toCuda(const HipKernelNodeParams &P) {
  return {P.Func, P.Grid, P.Block, P.DynamicShared, P.Args, P.Extra};
}

static CudaMemsetParams toCuda(const HipMemsetParams &P) {
  return {P.Dst, P.Pitch, P.Value, P.ElementSize, P.Width, P.Height};
}

API int hipGraphAddKernelNode(CUgraphNode *Node, CUgraph G,
                              const CUgraphNode *Nodes, size_t Count,
                              const HipKernelNodeParams *P) {
  CudaKernelNodeParams New = toCuda(*P);
  return cudaGraphAddKernelNode(Node, G, Nodes, Count, &New);
}

API int hipGraphAddNode(CUgraphNode *Node, CUgraph G, const CUgraphNode *Nodes,
                        size_t Count, HipGraphNodeParams *P) {
  return P->Type ? done(CUDA_ERROR_INVALID_VALUE)
                 : hipGraphAddKernelNode(Node, G, Nodes, Count, &P->Kernel);
}

API int hipGraphExecKernelNodeSetParams(CUgraphExec Exec, CUgraphNode Node,
                                        const HipKernelNodeParams *P) {
  CudaKernelNodeParams New = toCuda(*P);
  return cudaGraphExecKernelNodeSetParams(Exec, Node, &New);
}

/// The launch stub of a function that a stub stands for; others are their own.
static const void *stubOf(CUfunction F) {
  std::vector<std::pair<const void *, Symbol>> Symbols;
  {
    std::lock_guard<std::mutex> Guard(state().Lock);
    Symbols.assign(state().Symbols.begin(), state().Symbols.end());
  }
  for (auto &[Stub, S] : Symbols) {
    CUfunction Own = nullptr;
    Symbol *Found;
    CUmodule M;
    if (!S.Size && !load(Stub, Found, M) &&
        !driver().ModuleGetFunction(&Own, M, S.Name.c_str()) && Own == F)
      return Stub;
  }
  return F;
}

API int hipGraphKernelNodeGetParams(CUgraphNode Node, HipKernelNodeParams *P) {
  CUkernelNodeParams Own;
  START();
  if (int E = cuGraphKernelNodeGetParams_v2(Node, &Own))
    return done(E);
  *P = {{Own.BlockX, Own.BlockY, Own.BlockZ}, Own.Extra, stubOf(Own.Function),
        {Own.GridX, Own.GridY, Own.GridZ},    Own.Args,  Own.DynamicShared};
  return 0;
}

API int hipGraphKernelNodeSetParams(CUgraphNode Node,
                                    const HipKernelNodeParams *P) {
  CudaKernelNodeParams Cuda = toCuda(*P);
  CUkernelNodeParams New;
  if (int E = describeKernel(&Cuda, New))
    return done(E);
  return done(cuGraphKernelNodeSetParams_v2(Node, &New));
}

API int hipGraphKernelNodeGetAttribute(CUgraphNode Node, int Attribute,
                                       void *Value) {
  constexpr int Cooperative = 2;
  if (Attribute != Cooperative)
    return done(CUDA_ERROR_INVALID_VALUE);
  DRIVER(cuGraphKernelNodeGetAttribute(Node, Attribute, Value));
}

API int hipGraphAddMemsetNode(CUgraphNode *Node, CUgraph G,
                              const CUgraphNode *Nodes, size_t Count,
                              const HipMemsetParams *P) {
  CudaMemsetParams New = toCuda(*P);
  return cudaGraphAddMemsetNode(Node, G, Nodes, Count, &New);
}

API int hipGraphExecMemsetNodeSetParams(CUgraphExec Exec, CUgraphNode Node,
                                        const HipMemsetParams *P) {
  CudaMemsetParams New = toCuda(*P);
  return cudaGraphExecMemsetNodeSetParams(Exec, Node, &New);
}

API int hipGraphMemsetNodeSetParams(CUgraphNode Node,
                                    const HipMemsetParams *P) {
  CUmemsetNodeParams New = {reinterpret_cast<CUdeviceptr>(P->Dst),
                            P->Pitch,
                            P->Value,
                            P->ElementSize,
                            P->Width,
                            P->Height};
  DRIVER(cuGraphMemsetNodeSetParams(Node, &New));
}

FORWARD(hipGraphHostNodeSetParams, cuGraphHostNodeSetParams)

API int hipGraphInstantiate(CUgraphExec *Exec, CUgraph G, CUgraphNode *, char *,
                            size_t) {
  return hipGraphInstantiateWithFlags(Exec, G, 0);
}

API int hipGraphExecUpdate(CUgraphExec Exec, CUgraph G, CUgraphNode *,
                           int *Result) {
  return cudaGraphExecUpdate(Exec, G, Result);
}

FORWARD(hipGraphClone, cuGraphClone)
FORWARD(hipGraphGetEdges, cuGraphGetEdges)
FORWARD(hipGraphDestroyNode, cuGraphDestroyNode)
FORWARD(hipGraphNodeGetType, cuGraphNodeGetType)
FORWARD(hipGraphNodeFindInClone, cuGraphNodeFindInClone)

API int hipStreamGetCaptureInfo_v2(CUstream S, int *Status,
                                   unsigned long long *Id, CUgraph *G,
                                   const CUgraphNode **Last, size_t *Count) {
  refuseNumbers(S);
  DRIVER(cuStreamGetCaptureInfo_v2(S, Status, Id, G, Last, Count));
}
