//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device functions of the CUDA runtime on the host device: a single device,
/// with the limits of an sm_90 and the CPU's cores and memory.
///
//===----------------------------------------------------------------------===//

#include "CudaApi.h"
#include "Message.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace mneme;

static CudaError validDevice(int Id) {
  return Id ? cudaErrorInvalidDevice : cudaSuccess;
}

MNEME_API rt_cudaGetDeviceCount(int *Count) {
  if (!Count)
    return answered(cudaErrorInvalidValue);
  *Count = 1;
  return cudaSuccess;
}

MNEME_API rt_cudaGetDevice(int *Id) {
  if (!Id)
    return answered(cudaErrorInvalidValue);
  *Id = 0;
  return cudaSuccess;
}

MNEME_API rt_cudaSetDevice(int Id) { return done(validDevice(Id)); }

MNEME_API rt_cudaInitDevice(int Id, unsigned, unsigned) {
  return done(validDevice(Id));
}

MNEME_API rt_cudaSetValidDevices(const int *Ids, int Count) {
  for (int I = 0; I < Count; ++I)
    if (Ids[I])
      return answered(cudaErrorInvalidDevice);
  return answered(Count < 0 ? cudaErrorInvalidValue : cudaSuccess);
}

MNEME_API rt_cudaChooseDevice(int *Id, const void *Properties) {
  if (!Id || !Properties)
    return answered(cudaErrorInvalidValue);
  *Id = 0;
  return cudaSuccess;
}

static unsigned &deviceFlags() {
  static unsigned Flags = 0;
  return Flags;
}

MNEME_API rt_cudaSetDeviceFlags(unsigned Flags) {
  deviceFlags() = Flags;
  return done(cudaSuccess);
}

MNEME_API rt_cudaGetDeviceFlags(unsigned *Flags) {
  constexpr unsigned MapHost = 8; // Always set with unified addressing.
  if (!Flags)
    return answered(cudaErrorInvalidValue);
  *Flags = deviceFlags() | MapHost;
  return done(cudaSuccess);
}

MNEME_API rt_cudaDeviceSynchronize() { return done(cudaSuccess); }

MNEME_API rt_cudaDeviceReset() {
  Device::get().reset();
  return done(cudaSuccess);
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

/// Returns the clock rate in kHz; 0 if Linux does not report it.
static int clockRate() {
  static const int Rate = [] {
    int KHz = 0;
    if (FILE *F = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                        "re")) {
      if (fscanf(F, "%d", &KHz) != 1)
        KHz = 0;
      fclose(F);
    }
    double MHz;
    char Line[256];
    FILE *F = KHz ? nullptr : fopen("/proc/cpuinfo", "re");
    while (F && fgets(Line, sizeof(Line), F))
      if (sscanf(Line, "cpu MHz : %lf", &MHz) == 1) {
        KHz = int(MHz * 1000);
        break;
      }
    if (F)
      fclose(F);
    return KHz;
  }();
  return Rate;
}

static int cacheSize() {
  long Bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (Bytes <= 0)
    Bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return Bytes > 0 && Bytes < INT32_MAX ? int(Bytes) : 0;
}

/// Sets the fields that CUDA 12 and 13 have in common.
template <typename Properties> static void fill(Properties &P) {
  using L = DeviceLimits;
  Device &D = Device::get();
  uint64_t Free, Total;
  D.memoryInfo(Free, Total);
  P = {};
  strcpy(P.name, "Mneme host device (x86-64)");
  memcpy(P.uuid, "mneme host (x86)", sizeof(P.uuid));
  P.totalGlobalMem = Total;
  P.sharedMemPerBlock = L::SharedPerBlock;
  P.regsPerBlock = L::Registers;
  P.warpSize = D.warpSize();
  P.memPitch = INT32_MAX;
  P.maxThreadsPerBlock = L::MaxThreadsPerBlock;
  P.maxThreadsDim[0] = P.maxThreadsDim[1] = L::MaxThreadsPerBlock;
  P.maxThreadsDim[2] = L::MaxBlockZ;
  P.maxGridSize[0] = L::MaxGridX;
  P.maxGridSize[1] = P.maxGridSize[2] = L::MaxGridYZ;
  P.totalConstMem = L::ConstantMemory;
  D.computeCapability(P.major, P.minor);
  P.textureAlignment = P.surfaceAlignment = L::PitchAlignment;
  P.texturePitchAlignment = 32;
  P.maxTexture1D = P.maxSurface1D = L::MaxTexture2D;
  P.maxTexture1DMipmap = L::MaxTexture3D;
  for (int I : {0, 1})
    P.maxTexture2D[I] = P.maxSurface2D[I] = P.maxTexture2DMipmap[I] =
        P.maxTexture2DGather[I] = P.maxTexture2DLinear[I] = L::MaxTexture2D;
  P.maxTexture2DLinear[2] = L::MaxTexturePitch;
  for (int I : {0, 1, 2})
    P.maxTexture3D[I] = P.maxTexture3DAlt[I] = P.maxSurface3D[I] =
        L::MaxTexture3D;
  P.maxTextureCubemap = P.maxSurfaceCubemap = L::MaxTexture2D;
  P.maxTexture1DLayered[0] = P.maxSurface1DLayered[0] =
      P.maxTexture2DLayered[0] = P.maxTexture2DLayered[1] =
          P.maxSurface2DLayered[0] = P.maxSurface2DLayered[1] =
              P.maxTextureCubemapLayered[0] = P.maxSurfaceCubemapLayered[0] =
                  L::MaxTexture2D;
  P.maxTexture1DLayered[1] = P.maxSurface1DLayered[1] =
      P.maxTexture2DLayered[2] = P.maxSurface2DLayered[2] =
          P.maxTextureCubemapLayered[1] = P.maxSurfaceCubemapLayered[1] =
              L::MaxLayers;
  P.multiProcessorCount = D.multiprocessors();
  P.integrated = 1;
  P.canMapHostMemory = 1;
  P.concurrentKernels = 0;
  P.asyncEngineCount = 0;
  P.unifiedAddressing = 1;
  P.memoryBusWidth = 64;
  P.l2CacheSize = cacheSize();
  P.maxThreadsPerMultiProcessor = L::ThreadsPerMultiprocessor;
  P.streamPrioritiesSupported = 1;
  P.globalL1CacheSupported = P.localL1CacheSupported = 1;
  P.sharedMemPerMultiprocessor = L::SharedPerMultiprocessor;
  P.regsPerMultiprocessor = L::Registers;
  P.managedMemory = 1;
  P.hostNativeAtomicSupported = 1;
  P.concurrentManagedAccess = 1;
  P.canUseHostPointerForRegisteredMem = 1;
  P.cooperativeLaunch = 1;
  P.clusterLaunch = P.major >= 9 && !Program::get().isAMD();
  P.sharedMemPerBlockOptin = L::SharedPerBlockOptin;
  P.directManagedMemAccessFromHost = 1;
  P.maxBlocksPerMultiProcessor = L::BlocksPerMultiprocessor;
  P.reservedSharedMemPerBlock = L::ReservedShared;
  P.hostRegisterSupported = 1;
  P.memoryPoolsSupported = 1;
}

/// The layout of CUDA 13. Programs for CUDA 12 call the _v2 function.
MNEME_API rt_cudaGetDeviceProperties(CudaDeviceProp13 *P, int Id) {
  if (!P || validDevice(Id))
    return answered(P ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  fill(*P);
  return cudaSuccess;
}

MNEME_API rt_cudaGetDeviceProperties_v2(CudaDeviceProp12 *P, int Id) {
  if (!P || validDevice(Id))
    return answered(P ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  fill(*P);
  P->clockRate = clockRate();
  P->memoryClockRate = clockRate();
  P->singleToDoublePrecisionPerfRatio = 2;
  return cudaSuccess;
}

MNEME_API rt_hipGetDevicePropertiesR0600(HipDeviceProp6 *P, int Id) {
  if (!P || validDevice(Id))
    return answered(P ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  fill(*P);
  P->clockRate = P->memoryClockRate = P->clockInstructionRate = clockRate();
  P->maxSharedMemoryPerMultiProcessor = P->sharedMemPerMultiprocessor;
  // A program without code for AMD GPUs may compile some.
  snprintf(P->gcnArchName, sizeof(P->gcnArchName), "gfx%x",
           Program::get().isAMD() ? Program::get().architecture() : 0x90a);
  P->arch = 0x1ffff & ~(1u << 13 | 1u << 16); // All but funnel shift and
                                              // nesting.
  P->isLargeBar = 1;
  return cudaSuccess;
}

bool mneme::isHip5() {
  static const bool Is = [] {
    void *Library = dlopen("libamdhip64.so.5", RTLD_LAZY | RTLD_NOLOAD);
    if (Library)
      dlclose(Library);
    return Library != nullptr;
  }();
  return Is;
}

MNEME_API rt_hipGetDeviceProperties(HipDeviceProp5 *P, int Id) {
  HipDeviceProp6 From;
  if (int E = P ? rt_hipGetDevicePropertiesR0600(&From, Id)
                : answered(cudaErrorInvalidValue))
    return E;
  *P = {};
#define COPY(Field) memcpy(&P->Field, &From.Field, sizeof(P->Field));
  COPY(name)
  COPY(totalGlobalMem)
  COPY(sharedMemPerBlock)
  COPY(regsPerBlock)
  COPY(warpSize)
  COPY(maxThreadsPerBlock)
  COPY(maxThreadsDim)
  COPY(maxGridSize)
  COPY(clockRate)
  COPY(memoryClockRate)
  COPY(memoryBusWidth)
  COPY(totalConstMem)
  COPY(major)
  COPY(minor)
  COPY(multiProcessorCount)
  COPY(l2CacheSize)
  COPY(maxThreadsPerMultiProcessor)
  COPY(clockInstructionRate)
  COPY(arch)
  COPY(maxSharedMemoryPerMultiProcessor)
  COPY(canMapHostMemory)
  COPY(gcnArchName)
  COPY(integrated)
  COPY(cooperativeLaunch)
  COPY(maxTexture1D)
  COPY(maxTexture2D)
  COPY(maxTexture3D)
  COPY(memPitch)
  COPY(textureAlignment)
  COPY(texturePitchAlignment)
  COPY(isLargeBar)
  COPY(managedMemory)
  COPY(directManagedMemAccessFromHost)
  COPY(concurrentManagedAccess)
#undef COPY
  return cudaSuccess;
}

MNEME_API rt_hipDeviceGet(int *Device, int Id) {
  if (!Device || validDevice(Id))
    return answered(Device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *Device = Id;
  return cudaSuccess;
}

MNEME_API rt_hipDeviceGetName(char *Name, int Size, int Id) {
  if (!Name || Size <= 0 || validDevice(Id))
    return answered(cudaErrorInvalidDevice);
  CudaDeviceProp13 P;
  fill(P);
  snprintf(Name, Size, "%s", P.name);
  return cudaSuccess;
}

MNEME_API rt_hipDeviceTotalMem(size_t *Bytes, int Id) {
  if (!Bytes || validDevice(Id))
    return answered(Bytes ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  CudaDeviceProp13 P;
  fill(P);
  *Bytes = P.totalGlobalMem;
  return cudaSuccess;
}

MNEME_API rt_hipDeviceComputeCapability(int *Major, int *Minor, int Id) {
  if (!Major || !Minor || validDevice(Id))
    return answered(cudaErrorInvalidDevice);
  Device::get().computeCapability(*Major, *Minor);
  return cudaSuccess;
}

/// Returns an attribute's value from \p P; false if there is no such attribute.
static bool attribute(int Number, const CudaDeviceProp13 &P, int &Value) {
  switch (Number) {
  default:
    return false;
#define DEVICE_ATTRIBUTE(Number, Result)                                       \
  case Number:                                                                 \
    Value = int(Result);                                                       \
    return true;
#include "CudaDeviceAttributes.def"
  }
}

MNEME_API rt_cudaDeviceGetAttribute(int *Value, int Attribute, int Id) {
  if (!Value || validDevice(Id))
    return answered(Value ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  CudaDeviceProp13 P;
  fill(P);
  return answered(attribute(Attribute, P, *Value) ? cudaSuccess
                                                  : cudaErrorInvalidValue);
}

/// HIP numbers the same attributes differently, in alphabetical order.
MNEME_API rt_hipDeviceGetAttribute(int *Value, int Attribute, int Id) {
  static constexpr struct {
    int Hip, Cuda;
  } Numbers[] = {
#define HIP_ATTRIBUTE(Hip, Cuda) {Hip, Cuda},
#include "HipAttributes.def"
  };
  // The constant clock counts nanoseconds.
  constexpr int WallClockRate = 10017;
  if (Value && !validDevice(Id) && Attribute == WallClockRate) {
    *Value = 1000000; // kHz
    return cudaSuccess;
  }
  for (const auto &N : Numbers)
    if (N.Hip == Attribute)
      return rt_cudaDeviceGetAttribute(Value, N.Cuda, Id);
  return answered(cudaErrorInvalidValue);
}

MNEME_API rt_cudaDeviceGetPCIBusId(char *Text, int Size, int Id) {
  if (!Text || Size < 13 || validDevice(Id))
    return answered(Id ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  strcpy(Text, "0000:00:00.0");
  return cudaSuccess;
}

MNEME_API rt_cudaDeviceGetByPCIBusId(int *Id, const char *Text) {
  if (!Id || !Text || strcmp(Text, "0000:00:00.0"))
    return answered(cudaErrorInvalidValue);
  *Id = 0;
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Limits, caches, peers
//===----------------------------------------------------------------------===//

static constexpr int NumLimits = 7;

static size_t &limit(int Limit) {
  static size_t Limits[NumLimits] = {1024, 1u << 20, 8u << 20, 2, 2048, 64, 0};
  return Limits[Limit];
}

MNEME_API rt_cudaDeviceSetLimit(int Limit, size_t Value) {
  if (Limit < 0 || Limit >= NumLimits)
    return done(cudaErrorUnsupportedLimit);
  limit(Limit) = Value;
  return done(cudaSuccess);
}

MNEME_API rt_cudaDeviceGetLimit(size_t *Value, int Limit) {
  if (Limit < 0 || Limit >= NumLimits)
    return done(cudaErrorUnsupportedLimit);
  if (!Value)
    return done(cudaErrorInvalidValue);
  *Value = limit(Limit);
  return done(cudaSuccess);
}

MNEME_API rt_cudaDeviceSetCacheConfig(int) { return done(cudaSuccess); }

MNEME_API rt_cudaDeviceGetCacheConfig(int *Config) {
  if (!Config)
    return done(cudaErrorInvalidValue);
  *Config = 0; // cudaFuncCachePreferNone
  return done(cudaSuccess);
}

MNEME_API rt_cudaDeviceCanAccessPeer(int *Can, int Id, int Peer) {
  if (!Can || Id || Peer)
    return done(Can ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *Can = 0;
  return done(cudaSuccess);
}

MNEME_API rt_cudaDeviceEnablePeerAccess(int, unsigned) {
  return done(cudaErrorInvalidDevice); // There is a single device.
}

MNEME_API rt_cudaDeviceDisablePeerAccess(int) {
  return done(cudaErrorInvalidDevice);
}

/// Requires a pair of devices, which does not exist.
MNEME_API rt_cudaDeviceGetP2PAttribute(int *Value, int, int, int) {
  return done(Value ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
}

//===----------------------------------------------------------------------===//
// Versions, tools
//===----------------------------------------------------------------------===//

static constexpr int Version = 13000;

MNEME_API rt_cudaRuntimeGetVersion(int *V) {
  if (!V)
    return answered(cudaErrorInvalidValue);
  *V = Version;
  return cudaSuccess;
}

MNEME_API rt_cudaDriverGetVersion(int *V) {
  return rt_cudaRuntimeGetVersion(V);
}

MNEME_API rt_hipRuntimeGetVersion(int *V) {
  // Programs of HIP 5 compare with its numbers.
  const int HipVersion = isHip5() ? 50200000 : 60000000;
  if (!V)
    return answered(cudaErrorInvalidValue);
  *V = HipVersion;
  return cudaSuccess;
}

MNEME_API rt_cudaProfilerStart() {
  setProfiled(true);
  return done(cudaSuccess);
}

MNEME_API rt_cudaProfilerStop() {
  setProfiled(false);
  return done(cudaSuccess);
}

static int noDriverEntryPoint(void **Fn, int *Status) {
  constexpr int SymbolNotFound = 1;
  if (Fn)
    *Fn = nullptr;
  if (Status)
    *Status = SymbolNotFound;
  return answered(cudaErrorNotSupported);
}

MNEME_API rt_cudaGetDriverEntryPoint(const char *, void **Fn,
                                     unsigned long long, int *Status) {
  return noDriverEntryPoint(Fn, Status);
}

MNEME_API rt_cudaGetDriverEntryPointByVersion(const char *, void **Fn, unsigned,
                                              unsigned long long, int *Status) {
  return noDriverEntryPoint(Fn, Status);
}

//===----------------------------------------------------------------------===//
// Registration: the index of MnemePass has this information and more
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("hidden"), used)) void **
rt___cudaRegisterFatBinary(void *) {
  static void *Handle[1];
  return Handle;
}

extern "C" __attribute__((visibility("hidden"), used)) void
rt___cudaUnregisterFatBinary(void **) {}

extern "C" __attribute__((visibility("hidden"), used)) void
rt___cudaRegisterFunction(void **, const void *Stub, char *,
                          const char *DeviceName) {
  Program::get().registerName(Stub, DeviceName);
}

/// The compiler makes the variable a pointer on both sides, which the runtime
/// sets.
extern "C" __attribute__((visibility("hidden"), used)) void
rt___hipRegisterManagedVar(void *, void **Pointer, const void *Initial,
                           const char *Name, size_t Size) {
  if (Device::get().registerManaged(Pointer, Initial, Name, Size))
    tell("mneme: error: no memory for __managed__ variable '%s'\n", Name);
}

MNEME_API rt___cudaInitModule(void **) { return 0; }
