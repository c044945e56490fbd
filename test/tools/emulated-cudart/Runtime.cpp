//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of the CUDA runtime that test programs use, over a CUDA
/// driver, with the runtime's own behaviour: a context when it is first needed,
/// a last error for each thread, modules that are loaded when a kernel or
/// variable of theirs is used.
///
//===----------------------------------------------------------------------===//

#include "CudaTextures.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace mneme;

// The emulated HIP runtime, which includes this file, has a driver of its own
// and other names for some of the functions.
#ifndef MNEME_EMULATED_DRIVER
#define MNEME_EMULATED_DRIVER "libcuda.so.1"
#define RT(Name) cuda##Name
#endif

#define API extern "C" __attribute__((visibility("default")))

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

namespace {
struct FatBinary {
  const void *Image;
  std::map<CUcontext, CUmodule> Modules = {};
};

struct Symbol {
  FatBinary *Binary;
  std::string Name;
  size_t Size = 0;
};

struct State {
  const CudaDriver *Driver = nullptr;
  int StartError = 0;
  std::map<int, CUcontext> Contexts; ///< By device.
  std::vector<FatBinary *> Binaries;
  std::map<const void *, Symbol> Symbols;
  std::vector<const void *> Managed; ///< The pointers of the host.
  std::mutex Lock;
};

struct Configuration {
  Dim3 Grid, Block;
  size_t Shared;
  CUstream Stream;
};
} // namespace

static State &state() {
  static State &S = *new State;
  return S;
}

static thread_local int LastError = 0;

/// Ends a call. The runtime's codes are the driver's where both have the error.
static int done(int E) {
  if (E)
    LastError = E;
  return E;
}

static thread_local int ChosenDevice = 0;

/// With S.Lock.
static int makeCurrent(State &S, int Device) {
  CUcontext &C = S.Contexts[Device];
  if (!C)
    if (int E = S.Driver->DevicePrimaryCtxRetain(&C, Device))
      return E;
  return S.Driver->CtxSetCurrent(C);
}

/// Makes the context current, as every function does first that needs one.
static int start() {
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  if (!S.Driver && !S.StartError) {
    std::string Error;
    S.Driver = CudaDriver::load(Error);
    S.StartError = S.Driver ? S.Driver->Init(0) : 35;
  }
  if (S.StartError)
    return S.StartError;
  CUcontext C = nullptr;
  S.Driver->CtxGetCurrent(&C);
  if (C)
    return 0;
  return makeCurrent(S, ChosenDevice);
}

#define START()                                                                \
  do {                                                                         \
    if (int Failed = start())                                                  \
      return done(Failed);                                                     \
  } while (false)

static const CudaDriver &driver() { return *state().Driver; }

/// Returns a function of the driver that Mneme does not call.
static void *inDriver(const char *Name) {
  return dlsym(dlopen(MNEME_EMULATED_DRIVER, RTLD_NOW), Name);
}

template <typename... Params>
static int callDriver(const char *Name, Params... Args) {
  return reinterpret_cast<int (*)(Params...)>(inDriver(Name))(Args...);
}

/// Defines a function that has the parameters of the driver's: at most six
/// integers and pointers, which are in registers.
#define FORWARD(Name, Target)                                                  \
  API int Name(uintptr_t A, uintptr_t B, uintptr_t C, uintptr_t D,             \
               uintptr_t E, uintptr_t F) {                                     \
    using Function =                                                           \
        int(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t); \
    START();                                                                   \
    return done(reinterpret_cast<Function *>(Target)(A, B, C, D, E, F));       \
  }

/// Finds what \p HostPtr stands for, and its module in the current context.
static int load(const void *HostPtr, Symbol *&S, CUmodule &M) {
  State &All = state();
  std::lock_guard<std::mutex> Guard(All.Lock);
  auto I = All.Symbols.find(HostPtr);
  if (I == All.Symbols.end())
    return -1;
  S = &I->second;
  CUcontext C = nullptr;
  if (int E = driver().CtxGetCurrent(&C))
    return E;
  CUmodule &Loaded = S->Binary->Modules[C];
  bool IsNew = !Loaded;
  int E = Loaded ? 0 : driver().ModuleLoadData(&Loaded, S->Binary->Image);
  M = Loaded;
  // A __managed__ variable of HIP is a pointer, in the device's code, too.
  for (const void *Pointer : All.Managed) {
    Symbol &V = All.Symbols[Pointer];
    CUdeviceptr Address = 0;
    size_t Size = 0;
    if (!E && IsNew && V.Binary == S->Binary &&
        !driver().ModuleGetGlobal(&Address, &Size, M, V.Name.c_str()))
      E = driver().MemcpyHtoD(Address, Pointer, sizeof(void *));
  }
  return E;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

API void **__cudaRegisterFatBinary(const void *Wrapper) {
  struct {
    int Magic, Version;
    const void *Data;
    void *Unused;
  } W;
  memcpy(&W, Wrapper, sizeof(W));
  auto *B = new FatBinary{W.Data};
  state().Binaries.push_back(B);
  return reinterpret_cast<void **>(B);
}

API void __cudaRegisterFatBinaryEnd(void **) {}
API void __cudaUnregisterFatBinary(void **) {}

API void __cudaRegisterFunction(void **Handle, const void *Stub, char *,
                                const char *Name, int, void *, void *, void *,
                                void *, int *) {
  state().Symbols[Stub] = {reinterpret_cast<FatBinary *>(Handle), Name};
}

API void __cudaRegisterVar(void **Handle, const void *Shadow, char *,
                           const char *Name, int, size_t Size, int, int) {
  state().Symbols[Shadow] = {reinterpret_cast<FatBinary *>(Handle), Name, Size};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static std::vector<Configuration> &configurations() {
  static thread_local std::vector<Configuration> V;
  return V;
}

API int __cudaPushCallConfiguration(Dim3 Grid, Dim3 Block, size_t Shared,
                                    CUstream S) {
  configurations().push_back({Grid, Block, Shared, S});
  return 0;
}

API int __cudaPopCallConfiguration(Dim3 *Grid, Dim3 *Block, size_t *Shared,
                                   CUstream *S) {
  Configuration C = configurations().back();
  configurations().pop_back();
  *Grid = C.Grid;
  *Block = C.Block;
  *Shared = C.Shared;
  *S = C.Stream;
  return 0;
}

static int findFunction(const void *Stub, CUfunction &F) {
  START();
  Symbol *S;
  CUmodule M;
  if (int E = load(Stub, S, M))
    return done(E < 0 ? 98 : E); // cudaErrorInvalidDeviceFunction
  return done(driver().ModuleGetFunction(&F, M, S->Name.c_str()));
}

API int RT(GetFuncBySymbol)(CUfunction *F, const void *Stub) {
  return findFunction(Stub, *F);
}

static int launch(const void *Stub, Dim3 Grid, Dim3 Block, void **Args,
                  size_t Shared, CUstream Stream, bool Cooperative) {
  CUfunction F;
  if (int E = findFunction(Stub, F))
    return E;
  int E = Cooperative ? driver().LaunchCooperativeKernel(
                            F, Grid.X, Grid.Y, Grid.Z, Block.X, Block.Y,
                            Block.Z, Shared, Stream, Args)
                      : driver().LaunchKernel(F, Grid.X, Grid.Y, Grid.Z,
                                              Block.X, Block.Y, Block.Z, Shared,
                                              Stream, Args, nullptr);
  // What the driver calls an invalid value is a configuration here.
  return done(E == CUDA_ERROR_INVALID_VALUE ? 9 : E);
}

#define LAUNCH(Name, Cooperative)                                              \
  API int Name(const void *Stub, Dim3 Grid, Dim3 Block, void **Args,           \
               size_t Shared, CUstream S) {                                    \
    return launch(Stub, Grid, Block, Args, Shared, S, Cooperative);            \
  }
LAUNCH(RT(LaunchKernel), false)
LAUNCH(cudaLaunchKernel_ptsz, false)
LAUNCH(RT(LaunchCooperativeKernel), true)
LAUNCH(cudaLaunchCooperativeKernel_ptsz, true)
#undef LAUNCH

API int RT(LaunchKernelExC)(const CudaLaunchConfig *C, const void *Stub,
                            void **Args) {
  bool Cooperative = false;
  for (unsigned I = 0; I != C->NumAttributes; ++I)
    if (C->Attributes[I].Id == CudaLaunchAttributeCooperative)
      Cooperative = C->Attributes[I].Words[0];
  return launch(Stub, C->Grid, C->Block, Args, C->DynamicShared,
                reinterpret_cast<CUstream>(C->Stream), Cooperative);
}

API int cudaLaunchKernelExC_ptsz(const CudaLaunchConfig *C, const void *Stub,
                                 void **Args) {
  return RT(LaunchKernelExC)(C, Stub, Args);
}

API int RT(FuncSetAttribute)(const void *Stub, int Attribute, int Value) {
  CUfunction F;
  if (int E = findFunction(Stub, F))
    return E;
  return done(driver().FuncSetAttribute(F, Attribute, Value));
}

API int RT(FuncSetCacheConfig)(const void *Stub, int) {
  CUfunction F;
  return findFunction(Stub, F);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

API int RT(Malloc)(void **Ptr, size_t Size) {
  START();
  CUdeviceptr P = 0;
  int E = Size ? driver().MemAlloc(&P, Size) : 0;
  if (!E)
    *Ptr = reinterpret_cast<void *>(P);
  return done(E);
}

FORWARD(RT(MallocManaged), inDriver("cuMemAllocManaged"))

API int RT(MallocPitch)(void **Ptr, size_t *Pitch, size_t Width,
                        size_t Height) {
  START();
  if (!Width || !Height) {
    *Ptr = nullptr;
    *Pitch = 0;
    return 0;
  }
  return done(
      callDriver("cuMemAllocPitch_v2", Ptr, Pitch, Width, Height, /*Size=*/4u));
}

API int RT(Malloc3D)(CudaPitchedPtr *P, CudaExtent E) {
  P->XSize = E.Width;
  P->YSize = E.Height;
  return RT(MallocPitch)(&P->Ptr, &P->Pitch, E.Width, E.Height * E.Depth);
}

API int RT(MallocAsync)(void **Ptr, size_t Size, CUstream S) {
  START();
  if (Size)
    return done(callDriver("cuMemAllocAsync", Ptr, Size, S));
  *Ptr = nullptr;
  return 0;
}

API int cudaMallocAsync_ptsz(void **Ptr, size_t Size, CUstream S) {
  return RT(MallocAsync)(Ptr, Size, S);
}

API int RT(MallocFromPoolAsync)(void **Ptr, size_t Size, void *, CUstream S) {
  return RT(MallocAsync)(Ptr, Size, S);
}

FORWARD(RT(FreeAsync), inDriver("cuMemFreeAsync"))
FORWARD(cudaFreeAsync_ptsz, inDriver("cuMemFreeAsync"))

API int RT(MemPoolCreate)(void **Pool, const CudaMemPoolProps *) {
  START();
  *Pool = new char;
  return 0;
}

API int RT(MemPoolDestroy)(void *Pool) {
  delete static_cast<char *>(Pool);
  return 0;
}

FORWARD(RT(MemPoolExportPointer), inDriver("cuMemPoolExportPointer"))
FORWARD(RT(MemPoolImportPointer), inDriver("cuMemPoolImportPointer"))
FORWARD(RT(IpcGetMemHandle), inDriver("cuIpcGetMemHandle"))

API int RT(IpcOpenMemHandle)(void **Ptr, IpcMemHandle Handle, unsigned Flags) {
  START();
  return done(callDriver("cuIpcOpenMemHandle_v2", Ptr, Handle, Flags));
}

FORWARD(RT(IpcCloseMemHandle), inDriver("cuIpcCloseMemHandle"))

API int RT(HostAlloc)(void **Ptr, size_t Size, unsigned Flags) {
  START();
  return done(driver().MemHostAlloc(Ptr, Size, Flags));
}

API int RT(MallocHost)(void **Ptr, size_t Size) {
  return RT(HostAlloc)(Ptr, Size, 0);
}

API int RT(FreeHost)(void *Ptr) {
  START();
  if (int E = driver().CtxSynchronize())
    return done(E);
  return done(Ptr ? driver().MemFreeHost(Ptr) : 0);
}

FORWARD(RT(HostRegister), inDriver("cuMemHostRegister_v2"))
FORWARD(RT(HostUnregister), inDriver("cuMemHostUnregister"))

API int RT(HostGetDevicePointer)(void **Device, void *Host, unsigned Flags) {
  START();
  return done(driver().MemHostGetDevicePointer(
      reinterpret_cast<CUdeviceptr *>(Device), Host, Flags));
}

API int RT(Free)(void *Ptr) {
  START();
  int E = driver().CtxSynchronize();
  if (!E && Ptr)
    E = driver().MemFree(reinterpret_cast<CUdeviceptr>(Ptr));
  return done(E);
}

FORWARD(RT(MemGetInfo), driver().MemGetInfo)

API int RT(Memcpy)(void *To, const void *From, size_t Size, int Kind) {
  START();
  auto D = reinterpret_cast<CUdeviceptr>(To);
  auto S = reinterpret_cast<CUdeviceptr>(From);
  switch (Kind) {
  case cudaMemcpyHostToDevice:
    return done(driver().MemcpyHtoD(D, From, Size));
  case cudaMemcpyDeviceToHost:
    return done(driver().MemcpyDtoH(To, S, Size));
  case cudaMemcpyDeviceToDevice:
    if (int E = driver().MemcpyDtoDAsync(D, S, Size, nullptr))
      return done(E);
    return done(driver().StreamSynchronize(nullptr));
  }
  return done(21); // cudaErrorInvalidMemcpyDirection
}

API int RT(MemcpyAsync)(void *To, const void *From, size_t Size, int Kind,
                        CUstream Stream) {
  START();
  auto D = reinterpret_cast<CUdeviceptr>(To);
  auto S = reinterpret_cast<CUdeviceptr>(From);
  switch (Kind) {
  case cudaMemcpyHostToDevice:
    return done(driver().MemcpyHtoDAsync(D, From, Size, Stream));
  case cudaMemcpyDeviceToHost:
    return done(driver().MemcpyDtoHAsync(To, S, Size, Stream));
  case cudaMemcpyDeviceToDevice:
    return done(driver().MemcpyDtoDAsync(D, S, Size, Stream));
  }
  return done(21); // cudaErrorInvalidMemcpyDirection
}

API int cudaMemcpyBatchAsync(void *const *To, const void *const *From,
                             const size_t *Sizes, size_t Count,
                             void *Attributes, size_t *Indices,
                             size_t NumAttributes, CUstream S) {
  START();
  return done(callDriver("cuMemcpyBatchAsync_v2", To, From, Sizes, Count,
                         Attributes, Indices, NumAttributes, S));
}

API int RT(MemsetAsync)(void *To, int Value, size_t Size, CUstream S) {
  START();
  return done(driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(To), Value,
                                     Size, S));
}

API int cudaMemcpy_ptds(void *To, const void *From, size_t Size, int Kind) {
  return RT(Memcpy)(To, From, Size, Kind);
}

API int RT(Memset)(void *To, int Value, size_t Size) {
  START();
  if (int E = driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(To), Value,
                                     Size, nullptr))
    return done(E);
  return done(driver().StreamSynchronize(nullptr));
}

API int cudaMemset_ptds(void *To, int Value, size_t Size) {
  return RT(Memset)(To, Value, Size);
}

static int findVariable(const void *Shadow, CUdeviceptr &Address) {
  START();
  Symbol *S;
  CUmodule M;
  if (int E = load(Shadow, S, M))
    return done(E < 0 ? 13 : E); // cudaErrorInvalidSymbol
  size_t Size;
  return done(driver().ModuleGetGlobal(&Address, &Size, M, S->Name.c_str()));
}

API int RT(GetSymbolAddress)(void **Ptr, const void *Shadow) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  *Ptr = reinterpret_cast<void *>(Address);
  return 0;
}

API int RT(MemcpyToSymbol)(const void *Shadow, const void *From, size_t Size,
                           size_t Offset, int Kind) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  return RT(Memcpy)(reinterpret_cast<void *>(Address + Offset), From, Size,
                    Kind);
}

API int RT(MemcpyToSymbolAsync)(const void *Shadow, const void *From,
                                size_t Size, size_t Offset, int Kind,
                                CUstream S) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  return RT(MemcpyAsync)(reinterpret_cast<void *>(Address + Offset), From, Size,
                         Kind, S);
}

API int RT(MemcpyFromSymbol)(void *To, const void *Shadow, size_t Size,
                             size_t Offset, int Kind) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  return RT(Memcpy)(To, reinterpret_cast<void *>(Address + Offset), Size, Kind);
}

//===----------------------------------------------------------------------===//
// Streams, devices, errors
//===----------------------------------------------------------------------===//

API int RT(StreamCreate)(CUstream *S) {
  START();
  return done(driver().StreamCreate(S, 0));
}

FORWARD(RT(StreamCreateWithFlags), driver().StreamCreate)
FORWARD(RT(LaunchHostFunc), inDriver("cuLaunchHostFunc"))
FORWARD(RT(StreamDestroy), driver().StreamDestroy)
FORWARD(RT(StreamSynchronize), driver().StreamSynchronize)

API int RT(StreamQuery)(CUstream S) {
  START();
  int E = driver().StreamQuery(S);
  // That is no error to remember.
  return E == CUDA_ERROR_NOT_READY ? E : done(E);
}

API int RT(StreamBeginCapture)(CUstream S, int Mode) {
  START();
  return done(callDriver("cuStreamBeginCapture_v2", S, Mode));
}

API int cudaStreamBeginCaptureToGraph(CUstream S, void *, const void *,
                                      const void *, size_t, int Mode) {
  return RT(StreamBeginCapture)(S, Mode);
}

FORWARD(RT(StreamEndCapture), inDriver("cuStreamEndCapture"))

//===----------------------------------------------------------------------===//
// Textures
//===----------------------------------------------------------------------===//

static int toDriver(const CudaChannelFormatDesc &D) {
  for (const TextureFormat &F : TextureFormats)
    if (F.Kind == D.Format && F.Bits == D.X)
      return F.Driver;
  return 32; // CU_AD_FORMAT_FLOAT
}

static unsigned channelsOf(const CudaChannelFormatDesc &D) {
  return !D.Y ? 1 : !D.Z ? 2 : 4;
}

API CudaChannelFormatDesc cudaCreateChannelDesc(int X, int Y, int Z, int W,
                                                int Format) {
  return {X, Y, Z, W, Format};
}

API int cudaMalloc3DArray(CUarray *A, const CudaChannelFormatDesc *F,
                          CudaExtent E, unsigned Flags) {
  START();
  CUarrayDescriptor D = {E.Width,      E.Height,       E.Depth,
                         toDriver(*F), channelsOf(*F), Flags};
  return done(driver().Array3DCreate(A, &D));
}

API int cudaMallocArray(CUarray *A, const CudaChannelFormatDesc *F,
                        size_t Width, size_t Height, unsigned Flags) {
  return cudaMalloc3DArray(A, F, {Width, Height, 0}, Flags);
}

API int cudaMallocMipmappedArray(CUarray *A, const CudaChannelFormatDesc *F,
                                 CudaExtent E, unsigned NumLevels,
                                 unsigned Flags) {
  START();
  CUarrayDescriptor D = {E.Width,      E.Height,       E.Depth,
                         toDriver(*F), channelsOf(*F), Flags};
  return done(driver().MipmappedArrayCreate(A, &D, NumLevels));
}

FORWARD(cudaGetMipmappedArrayLevel, driver().MipmappedArrayGetLevel)

/// Copies a whole array.
static int copyArray(CUarray A, void *Other, bool IsBack) {
  START();
  CUarrayDescriptor D;
  if (int E = driver().Array3DGetDescriptor(&D, A))
    return done(E);
  size_t Element =
      D.NumChannels * (D.Format == 1 || D.Format == 8                      ? 1
                       : D.Format == 3 || D.Format == 10 || D.Format == 32 ? 4
                                                                           : 2);
  CUmemcpy3D C = {};
  C.From.MemoryType = 3;
  C.From.Array = A;
  C.To.MemoryType = 1;
  C.To.Host = Other;
  C.To.Pitch = C.WidthInBytes = D.Width * Element;
  C.To.Height = C.Height = D.Height ? D.Height : 1;
  C.Depth = D.Depth ? D.Depth : 1;
  if (!IsBack)
    std::swap(C.From, C.To);
  if (int E = driver().Memcpy3DAsync(&C, nullptr))
    return done(E);
  return done(driver().StreamSynchronize(nullptr));
}

API int cudaMemcpy2DToArray(CUarray A, size_t, size_t, const void *From, size_t,
                            size_t, size_t, int) {
  return copyArray(A, const_cast<void *>(From), /*IsBack=*/false);
}

API int cudaMemcpy2DFromArray(void *To, size_t, CUarray A, size_t, size_t,
                              size_t, size_t, int) {
  return copyArray(A, To, /*IsBack=*/true);
}

API int cudaMemcpy3D(const CudaMemcpy3DParms *P) {
  return copyArray(static_cast<CUarray>(P->DstArray), P->Src.Ptr,
                   /*IsBack=*/false);
}

static CUresourceDesc describe(const CudaResourceDesc &R) {
  CUresourceDesc New = {};
  New.Type = R.Type;
  if (R.Type == CudaResourceLinear)
    New.Linear = {reinterpret_cast<CUdeviceptr>(R.Linear.Ptr),
                  toDriver(R.Linear.Format), channelsOf(R.Linear.Format),
                  R.Linear.Size};
  else if (R.Type == CudaResourcePitch2D)
    New.Pitch2D = {reinterpret_cast<CUdeviceptr>(R.Pitch2D.Ptr),
                   toDriver(R.Pitch2D.Format),
                   channelsOf(R.Pitch2D.Format),
                   R.Pitch2D.Width,
                   R.Pitch2D.Height,
                   R.Pitch2D.Pitch};
  else
    New.Array = reinterpret_cast<CUarray>(R.Array);
  return New;
}

API int cudaCreateTextureObject(unsigned long long *Handle,
                                const CudaResourceDesc *R,
                                const CudaTextureDesc *D, const void *) {
  START();
  CUresourceDesc Resource = describe(*R);
  CUtextureDesc New = {};
  std::memcpy(New.AddressModes, D->AddressModes, sizeof(New.AddressModes));
  std::memcpy(New.Border, D->Border, sizeof(New.Border));
  New.FilterMode = D->FilterMode;
  New.Flags = (D->ReadMode ? 0 : 1) | (D->NormalizedCoordinates ? 2 : 0);
  New.MipFilterMode = D->MipFilterMode;
  New.MaxLevel = D->MaxLevel;
  return done(driver().TexObjectCreate(Handle, &Resource, &New, nullptr));
}

FORWARD(cudaDestroyTextureObject, driver().TexObjectDestroy)

API int cudaCreateSurfaceObject(unsigned long long *Handle,
                                const CudaResourceDesc *R) {
  START();
  CUresourceDesc Resource = describe(*R);
  return done(driver().SurfObjectCreate(Handle, &Resource));
}

FORWARD(cudaDestroySurfaceObject, driver().SurfObjectDestroy)

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

FORWARD(RT(GraphCreate), inDriver("cuGraphCreate"))
FORWARD(RT(GraphDestroy), driver().GraphDestroy)

static int describeKernel(const CudaKernelNodeParams *P,
                          CUkernelNodeParams &New) {
  START();
  Symbol *S;
  CUmodule M;
  if (int E = load(P->Func, S, M))
    return E < 0 ? 98 : E; // cudaErrorInvalidDeviceFunction
  New = {nullptr,    P->Grid.X,  P->Grid.Y,  P->Grid.Z,
         P->Block.X, P->Block.Y, P->Block.Z, P->DynamicShared,
         P->Args,    P->Extra,   nullptr,    nullptr};
  return driver().ModuleGetFunction(&New.Function, M, S->Name.c_str());
}

API int cudaGraphAddKernelNode(CUgraphNode *Node, CUgraph G,
                               const CUgraphNode *Nodes, size_t Count,
                               const CudaKernelNodeParams *P) {
  CUkernelNodeParams New;
  if (int E = describeKernel(P, New))
    return done(E);
  return done(
      callDriver("cuGraphAddKernelNode_v2", Node, G, Nodes, Count, &New));
}

API int cudaGraphExecKernelNodeSetParams(CUgraphExec Exec, CUgraphNode Node,
                                         const CudaKernelNodeParams *P) {
  CUkernelNodeParams New;
  if (int E = describeKernel(P, New))
    return done(E);
  return done(
      callDriver("cuGraphExecKernelNodeSetParams_v2", Exec, Node, &New));
}

static CUmemcpy3D describeCopy(void *To, const void *From, size_t Size) {
  CUmemcpy3D New = {};
  New.To.Device = reinterpret_cast<CUdeviceptr>(To);
  New.From.Device = reinterpret_cast<CUdeviceptr>(From);
  New.WidthInBytes = Size;
  New.Height = New.Depth = 1;
  return New;
}

API int RT(GraphAddMemcpyNode1D)(CUgraphNode *Node, CUgraph G,
                                 const CUgraphNode *Nodes, size_t Count,
                                 void *To, const void *From, size_t Size, int) {
  START();
  CUmemcpy3D New = describeCopy(To, From, Size);
  return done(callDriver("cuGraphAddMemcpyNode", Node, G, Nodes, Count, &New,
                         CUcontext()));
}

API int RT(GraphExecMemcpyNodeSetParams1D)(CUgraphExec Exec, CUgraphNode Node,
                                           void *To, const void *From,
                                           size_t Size, int) {
  START();
  CUmemcpy3D New = describeCopy(To, From, Size);
  return done(callDriver("cuGraphExecMemcpyNodeSetParams", Exec, Node, &New,
                         CUcontext()));
}

/// With the structures of the driver.
#define NODE(Name, Params)                                                     \
  API int cudaGraphAdd##Name##Node(CUgraphNode *Node, CUgraph G,               \
                                   const CUgraphNode *Nodes, size_t Count,     \
                                   const Params *P) {                          \
    START();                                                                   \
    return done(callDriver("cuGraphAdd" #Name "Node", Node, G, Nodes, Count,   \
                           P, CUcontext()));                                   \
  }                                                                            \
  API int cudaGraphExec##Name##NodeSetParams(                                  \
      CUgraphExec Exec, CUgraphNode Node, const Params *P) {                   \
    START();                                                                   \
    return done(callDriver("cuGraphExec" #Name "NodeSetParams", Exec, Node, P, \
                           CUcontext()));                                      \
  }
NODE(Memset, CudaMemsetParams)
NODE(Host, CudaHostNodeParams)
#undef NODE

FORWARD(RT(GraphAddChildGraphNode), inDriver("cuGraphAddChildGraphNode"))
FORWARD(RT(GraphChildGraphNodeGetGraph), driver().GraphChildGraphNodeGetGraph)
FORWARD(RT(GraphGetNodes), driver().GraphGetNodes)
FORWARD(cudaGraphAddNode, inDriver("cuGraphAddNode_v2"))

API int cudaGraphInstantiate(CUgraphExec *Exec, CUgraph G,
                             unsigned long long Flags) {
  START();
  return done(driver().GraphInstantiate(Exec, G, Flags));
}

FORWARD(RT(GraphExecDestroy), driver().GraphExecDestroy)

API int cudaGraphExecUpdate(CUgraphExec Exec, CUgraph G, void *Result) {
  START();
  return done(callDriver("cuGraphExecUpdate_v2", Exec, G, Result));
}

API int cudaGraphExecChildGraphNodeSetParams(CUgraphExec, CUgraphNode,
                                             CUgraph) {
  START();
  return 0;
}

FORWARD(RT(GraphNodeSetEnabled), inDriver("cuGraphNodeSetEnabled"))
FORWARD(RT(GraphLaunch), driver().GraphLaunch)

API int cudaProfilerStart() { return CUDA_SUCCESS; }
API int cudaProfilerStop() { return CUDA_SUCCESS; }

FORWARD(RT(DeviceSynchronize), driver().CtxSynchronize)

API int RT(DeviceReset)() {
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  CUcontext C = nullptr;
  CUdevice Device = 0;
  if (!S.Driver || S.Driver->CtxGetCurrent(&C) || !C ||
      S.Driver->CtxGetDevice(&Device))
    return 0;
  for (FatBinary *B : S.Binaries)
    B->Modules.erase(C);
  S.Contexts.erase(Device);
  S.Driver->CtxSetCurrent(nullptr);
  return done(S.Driver->DevicePrimaryCtxRelease(Device));
}

FORWARD(RT(GetDeviceCount), driver().DeviceGetCount)
FORWARD(cudaDeviceGetAttribute, driver().DeviceGetAttribute)
FORWARD(cudaGetDevice, driver().CtxGetDevice)

API int RT(SetDevice)(int Device) {
  START();
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  int E = makeCurrent(S, Device);
  if (!E)
    ChosenDevice = Device;
  return done(E);
}

FORWARD(RT(DeviceCanAccessPeer), driver().DeviceCanAccessPeer)

API int RT(DeviceEnablePeerAccess)(int Peer, unsigned Flags) {
  START();
  CUcontext C = nullptr;
  if (int E = driver().DevicePrimaryCtxRetain(&C, Peer))
    return done(E);
  return done(callDriver("cuCtxEnablePeerAccess", C, Flags));
}

API int RT(MemcpyPeer)(void *To, int ToDevice, const void *From, int FromDevice,
                       size_t Size) {
  START();
  State &S = state();
  CUstream Legacy = nullptr;
  int E = callDriver("cuMemcpyPeerAsync", To, S.Contexts[ToDevice], From,
                     S.Contexts[FromDevice], Size, Legacy);
  return done(E ? E : driver().StreamSynchronize(Legacy));
}

API int cudaRuntimeGetVersion(int *Version) {
  *Version = 13000;
  return 0;
}

API int RT(GetLastError)() {
  int E = LastError;
  LastError = 0;
  return E;
}

API int RT(PeekAtLastError)() { return LastError; }

API const char *RT(GetErrorString)(int E) {
  switch (E) {
#define CUDA_ERROR(Code, Name, Text)                                           \
  case Code:                                                                   \
    return Text;
#include "CudaErrors.def"
  }
  return "unrecognized error code";
}

API const char *cudaGetErrorName(int E) {
  switch (E) {
#define CUDA_ERROR(Code, Name, Text)                                           \
  case Code:                                                                   \
    return #Name;
#include "CudaErrors.def"
  }
  return "unrecognized error code";
}
