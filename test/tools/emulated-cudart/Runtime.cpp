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

#include "CudaTypes.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace mneme;

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
  int E = Loaded ? 0 : driver().ModuleLoadData(&Loaded, S->Binary->Image);
  M = Loaded;
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

static int launch(const void *Stub, Dim3 Grid, Dim3 Block, void **Args,
                  size_t Shared, CUstream Stream, bool Cooperative) {
  START();
  Symbol *S;
  CUmodule M;
  if (int E = load(Stub, S, M))
    return done(E < 0 ? 98 : E); // cudaErrorInvalidDeviceFunction
  CUfunction F;
  if (int E = driver().ModuleGetFunction(&F, M, S->Name.c_str()))
    return done(E);
  int E = Cooperative ? driver().LaunchCooperativeKernel(
                            F, Grid.X, Grid.Y, Grid.Z, Block.X, Block.Y,
                            Block.Z, Shared, Stream, Args)
                      : driver().LaunchKernel(F, Grid.X, Grid.Y, Grid.Z,
                                              Block.X, Block.Y, Block.Z, Shared,
                                              Stream, Args, nullptr);
  // What the driver calls an invalid value is a configuration here.
  return done(E == CUDA_ERROR_INVALID_VALUE ? 9 : E);
}

API int cudaLaunchKernel(const void *Stub, Dim3 Grid, Dim3 Block, void **Args,
                         size_t Shared, CUstream S) {
  return launch(Stub, Grid, Block, Args, Shared, S, false);
}

API int cudaLaunchKernel_ptsz(const void *Stub, Dim3 Grid, Dim3 Block,
                              void **Args, size_t Shared, CUstream S) {
  return launch(Stub, Grid, Block, Args, Shared, S, false);
}

API int cudaLaunchCooperativeKernel(const void *Stub, Dim3 Grid, Dim3 Block,
                                    void **Args, size_t Shared, CUstream S) {
  return launch(Stub, Grid, Block, Args, Shared, S, true);
}

API int cudaLaunchCooperativeKernel_ptsz(const void *Stub, Dim3 Grid,
                                         Dim3 Block, void **Args, size_t Shared,
                                         CUstream S) {
  return launch(Stub, Grid, Block, Args, Shared, S, true);
}

API int cudaLaunchKernelExC(const CudaLaunchConfig *C, const void *Stub,
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
  return cudaLaunchKernelExC(C, Stub, Args);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

API int cudaMalloc(void **Ptr, size_t Size) {
  START();
  CUdeviceptr P = 0;
  int E = Size ? driver().MemAlloc(&P, Size) : 0;
  if (!E)
    *Ptr = reinterpret_cast<void *>(P);
  return done(E);
}

/// Calls a function of the driver that Mneme does not.
template <typename... Params>
static int callDriver(const char *Name, Params... Args) {
  void *Library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<int (*)(Params...)>(dlsym(Library, Name))(Args...);
}

API int cudaMallocManaged(void **Ptr, size_t Size, unsigned Flags) {
  START();
  return done(callDriver("cuMemAllocManaged", Ptr, Size, Flags));
}

API int cudaMallocPitch(void **Ptr, size_t *Pitch, size_t Width,
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

API int cudaMalloc3D(CudaPitchedPtr *P, CudaExtent E) {
  P->XSize = E.Width;
  P->YSize = E.Height;
  return cudaMallocPitch(&P->Ptr, &P->Pitch, E.Width, E.Height * E.Depth);
}

API int cudaMallocAsync(void **Ptr, size_t Size, CUstream S) {
  START();
  if (Size)
    return done(callDriver("cuMemAllocAsync", Ptr, Size, S));
  *Ptr = nullptr;
  return 0;
}

API int cudaMallocAsync_ptsz(void **Ptr, size_t Size, CUstream S) {
  return cudaMallocAsync(Ptr, Size, S);
}

API int cudaMallocFromPoolAsync(void **Ptr, size_t Size, void *, CUstream S) {
  return cudaMallocAsync(Ptr, Size, S);
}

API int cudaFreeAsync(void *Ptr, CUstream S) {
  START();
  return done(callDriver("cuMemFreeAsync", Ptr, S));
}

API int cudaFreeAsync_ptsz(void *Ptr, CUstream S) {
  return cudaFreeAsync(Ptr, S);
}

API int cudaMemPoolCreate(void **Pool, const CudaMemPoolProps *) {
  START();
  *Pool = new char;
  return 0;
}

API int cudaMemPoolDestroy(void *Pool) {
  delete static_cast<char *>(Pool);
  return 0;
}

API int cudaHostAlloc(void **Ptr, size_t Size, unsigned Flags) {
  START();
  return done(driver().MemHostAlloc(Ptr, Size, Flags));
}

API int cudaMallocHost(void **Ptr, size_t Size) {
  return cudaHostAlloc(Ptr, Size, 0);
}

API int cudaFreeHost(void *Ptr) {
  START();
  if (int E = driver().CtxSynchronize())
    return done(E);
  return done(Ptr ? driver().MemFreeHost(Ptr) : 0);
}

API int cudaHostRegister(void *Ptr, size_t Size, unsigned Flags) {
  START();
  return done(callDriver("cuMemHostRegister_v2", Ptr, Size, Flags));
}

API int cudaHostUnregister(void *Ptr) {
  START();
  return done(callDriver("cuMemHostUnregister", Ptr));
}

API int cudaHostGetDevicePointer(void **Device, void *Host, unsigned Flags) {
  START();
  return done(driver().MemHostGetDevicePointer(
      reinterpret_cast<CUdeviceptr *>(Device), Host, Flags));
}

API int cudaFree(void *Ptr) {
  START();
  int E = driver().CtxSynchronize();
  if (!E && Ptr)
    E = driver().MemFree(reinterpret_cast<CUdeviceptr>(Ptr));
  return done(E);
}

API int cudaMemGetInfo(size_t *Free, size_t *Total) {
  START();
  return done(driver().MemGetInfo(Free, Total));
}

API int cudaMemcpy(void *To, const void *From, size_t Size, int Kind) {
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

API int cudaMemcpyAsync(void *To, const void *From, size_t Size, int Kind,
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

API int cudaMemsetAsync(void *To, int Value, size_t Size, CUstream S) {
  START();
  return done(driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(To), Value,
                                     Size, S));
}

API int cudaMemcpy_ptds(void *To, const void *From, size_t Size, int Kind) {
  return cudaMemcpy(To, From, Size, Kind);
}

API int cudaMemset(void *To, int Value, size_t Size) {
  START();
  if (int E = driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(To), Value,
                                     Size, nullptr))
    return done(E);
  return done(driver().StreamSynchronize(nullptr));
}

API int cudaMemset_ptds(void *To, int Value, size_t Size) {
  return cudaMemset(To, Value, Size);
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

API int cudaGetSymbolAddress(void **Ptr, const void *Shadow) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  *Ptr = reinterpret_cast<void *>(Address);
  return 0;
}

API int cudaMemcpyToSymbol(const void *Shadow, const void *From, size_t Size,
                           size_t Offset, int Kind) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  return cudaMemcpy(reinterpret_cast<void *>(Address + Offset), From, Size,
                    Kind);
}

API int cudaMemcpyFromSymbol(void *To, const void *Shadow, size_t Size,
                             size_t Offset, int Kind) {
  CUdeviceptr Address = 0;
  if (int E = findVariable(Shadow, Address))
    return E;
  return cudaMemcpy(To, reinterpret_cast<void *>(Address + Offset), Size, Kind);
}

//===----------------------------------------------------------------------===//
// Streams, devices, errors
//===----------------------------------------------------------------------===//

API int cudaStreamCreate(CUstream *S) {
  START();
  return done(driver().StreamCreate(S, 0));
}

API int cudaStreamCreateWithFlags(CUstream *S, unsigned Flags) {
  START();
  return done(driver().StreamCreate(S, Flags));
}

API int cudaLaunchHostFunc(CUstream S, void (*Function)(void *), void *Data) {
  START();
  return done(callDriver("cuLaunchHostFunc", S, Function, Data));
}

API int cudaStreamDestroy(CUstream S) {
  START();
  return done(driver().StreamDestroy(S));
}

API int cudaStreamSynchronize(CUstream S) {
  START();
  return done(driver().StreamSynchronize(S));
}

API int cudaStreamQuery(CUstream S) {
  START();
  int E = driver().StreamQuery(S);
  // That is no error to remember.
  return E == CUDA_ERROR_NOT_READY ? E : done(E);
}

API int cudaStreamBeginCapture(CUstream S, int Mode) {
  START();
  return done(callDriver("cuStreamBeginCapture_v2", S, Mode));
}

API int cudaStreamBeginCaptureToGraph(CUstream S, void *, const void *,
                                      const void *, size_t, int Mode) {
  return cudaStreamBeginCapture(S, Mode);
}

API int cudaStreamEndCapture(CUstream S, void **Graph) {
  START();
  return done(callDriver("cuStreamEndCapture", S, Graph));
}

/// Of what was forgotten, nothing is left to do.
API int cudaGraphInstantiate(void **Exec, void *, unsigned long long) {
  START();
  *Exec = nullptr;
  return done(0);
}

API int cudaGraphLaunch(void *, CUstream) {
  START();
  return done(0);
}

API int cudaDeviceSynchronize() {
  START();
  return done(driver().CtxSynchronize());
}

API int cudaDeviceReset() {
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

API int cudaGetDeviceCount(int *Count) {
  START();
  return done(driver().DeviceGetCount(Count));
}

API int cudaGetDevice(int *Device) {
  START();
  return done(driver().CtxGetDevice(Device));
}

API int cudaSetDevice(int Device) {
  START();
  State &S = state();
  std::lock_guard<std::mutex> Guard(S.Lock);
  int E = makeCurrent(S, Device);
  if (!E)
    ChosenDevice = Device;
  return done(E);
}

API int cudaDeviceCanAccessPeer(int *Can, int Device, int Peer) {
  START();
  return done(driver().DeviceCanAccessPeer(Can, Device, Peer));
}

API int cudaDeviceEnablePeerAccess(int Peer, unsigned Flags) {
  START();
  CUcontext C = nullptr;
  if (int E = driver().DevicePrimaryCtxRetain(&C, Peer))
    return done(E);
  return done(callDriver("cuCtxEnablePeerAccess", C, Flags));
}

API int cudaMemcpyPeer(void *To, int ToDevice, const void *From, int FromDevice,
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

API int cudaGetLastError() {
  int E = LastError;
  LastError = 0;
  return E;
}

API int cudaPeekAtLastError() { return LastError; }

API const char *cudaGetErrorString(int E) {
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
