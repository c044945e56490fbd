//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The CUDA driver API on the host device. Functions that the runtime also has
/// call the runtime.
///
//===----------------------------------------------------------------------===//

#include "HostDriver.h"
#include "DriverTables.h"
#include "Message.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>

using namespace mneme;

extern "C" {
int cudaDeviceGetAttribute(int *Value, int Attribute, int Id);
int cudaGetDeviceProperties(CudaDeviceProp13 *P, int Id);
int cudaMemcpy(void *To, const void *From, size_t Size, int Kind);
int cudaMemcpyAsync(void *To, const void *From, size_t Size, int Kind,
                    void *Stream);
int cudaMemGetInfo(size_t *Free, size_t *Total);
int cudaPointerGetAttributes(CudaPointerAttributes *Attributes,
                             const void *Ptr);
int cudaStreamGetCaptureInfo(CudaStream *S, int *Status, unsigned long long *Id,
                             void **Graph, const void **Dependencies,
                             const void **EdgeData, size_t *Count);
int cudaStreamQuery(CudaStream *S);
}

//===----------------------------------------------------------------------===//
// Forwarded and missing functions
//===----------------------------------------------------------------------===//

// Parameters are integers and pointers in registers; no target uses more than
// six. Declaring the target under another name spares its real declaration.
#define FORWARD(Name, Target)                                                  \
  extern "C" int target_##Name(uintptr_t, uintptr_t, uintptr_t, uintptr_t,     \
                               uintptr_t, uintptr_t) asm(#Target);             \
  DRIVER_API Name(uintptr_t A, uintptr_t B, uintptr_t C, uintptr_t D,          \
                  uintptr_t E, uintptr_t F) {                                  \
    KeepLastError Keep;                                                        \
    return toDriver(target_##Name(A, B, C, D, E, F));                          \
  }
#include "Functions.def"

static int reportMissing(const char *Name, std::atomic_flag &Reported) {
  if (!Reported.test_and_set())
    tell("mneme: error: %s is not available on the host device\n", Name);
  return cudaErrorNotSupported;
}

#define MISSING(Name)                                                          \
  DRIVER_API Name() {                                                          \
    static std::atomic_flag Reported = ATOMIC_FLAG_INIT;                       \
    return reportMissing(#Name, Reported);                                     \
  }
#include "Functions.def"

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

DRIVER_API cuInit(unsigned) { return cudaSuccess; }

DRIVER_API cuDeviceGet(int *Device, int Ordinal) {
  if (!Device)
    return cudaErrorInvalidValue;
  *Device = Ordinal;
  return Ordinal ? cudaErrorInvalidDevice : cudaSuccess;
}

DRIVER_API cuDeviceGetName(char *Name, int Size, int Device) {
  CudaDeviceProp13 P;
  if (!Name || Size <= 0)
    return cudaErrorInvalidValue;
  KeepLastError Keep;
  int Code = cudaGetDeviceProperties(&P, Device);
  if (Code == cudaSuccess) {
    Name[0] = 0;
    strncat(Name, P.name, Size - 1);
  }
  return Code;
}

DRIVER_API cuDeviceGetUuid_v2(unsigned char *Uuid, int Device) {
  CudaDeviceProp13 P;
  if (!Uuid)
    return cudaErrorInvalidValue;
  KeepLastError Keep;
  int Code = cudaGetDeviceProperties(&P, Device);
  if (Code == cudaSuccess)
    memcpy(Uuid, P.uuid, sizeof(P.uuid));
  return Code;
}

DRIVER_API cuDeviceGetUuid(unsigned char *Uuid, int Device) {
  return cuDeviceGetUuid_v2(Uuid, Device);
}

DRIVER_API cuDeviceTotalMem_v2(size_t *Bytes, int Device) {
  size_t Free;
  if (Device)
    return cudaErrorInvalidDevice;
  KeepLastError Keep;
  return Bytes ? cudaMemGetInfo(&Free, Bytes) : cudaErrorInvalidValue;
}

DRIVER_API cuDeviceComputeCapability(int *Major, int *Minor, int Device) {
  constexpr int MajorAttribute = 75, MinorAttribute = 76;
  KeepLastError Keep;
  int Code = cudaDeviceGetAttribute(Major, MajorAttribute, Device);
  return Code != cudaSuccess
             ? Code
             : cudaDeviceGetAttribute(Minor, MinorAttribute, Device);
}

//===----------------------------------------------------------------------===//
// Contexts: the device has a single one, which is always current
//===----------------------------------------------------------------------===//

static char Context;

void *mneme::hostContext() { return &Context; }

DRIVER_API cuCtxGetCurrent(void **To) {
  if (!To)
    return cudaErrorInvalidValue;
  *To = &Context;
  return cudaSuccess;
}

DRIVER_API cuDevicePrimaryCtxRetain(void **To, int Device) {
  return Device ? cudaErrorInvalidDevice : cuCtxGetCurrent(To);
}

DRIVER_API cuDevicePrimaryCtxGetState(int, unsigned *Flags, int *IsActive) {
  if (!Flags || !IsActive)
    return cudaErrorInvalidValue;
  *Flags = 0;
  *IsActive = 1;
  return cudaSuccess;
}

DRIVER_API cuDevicePrimaryCtxRelease_v2(int) { return cudaSuccess; }
DRIVER_API cuDevicePrimaryCtxReset_v2(int) { return cudaSuccess; }
DRIVER_API cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return cudaSuccess; }

DRIVER_API cuCtxCreate_v2(void **To, unsigned, int Device) {
  return cuDevicePrimaryCtxRetain(To, Device);
}
DRIVER_API cuCtxCreate_v3(void **To, void *, int, unsigned, int Device) {
  return cuDevicePrimaryCtxRetain(To, Device);
}
DRIVER_API cuCtxCreate_v4(void **To, void *, unsigned, int Device) {
  return cuDevicePrimaryCtxRetain(To, Device);
}
DRIVER_API cuCtxDestroy_v2(void *) { return cudaSuccess; }
DRIVER_API cuCtxPushCurrent_v2(void *) { return cudaSuccess; }
DRIVER_API cuCtxSetCurrent(void *) { return cudaSuccess; }
DRIVER_API cuCtxPopCurrent_v2(void **To) {
  return To ? cuCtxGetCurrent(To) : cudaSuccess;
}

DRIVER_API cuCtxGetApiVersion(void *, unsigned *Version) {
  if (!Version)
    return cudaErrorInvalidValue;
  *Version = 3020;
  return cudaSuccess;
}

DRIVER_API cuCtxGetId(void *, unsigned long long *Id) {
  if (!Id)
    return cudaErrorInvalidValue;
  *Id = 1;
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

DRIVER_API cuStreamGetCtx(CudaStream *S, void **To) {
  KeepLastError Keep;
  int E = cudaStreamQuery(S);
  return E ? E : cuCtxGetCurrent(To);
}
DRIVER_ALIAS(cuStreamGetCtx_ptsz, cuStreamGetCtx);

/// No stream belongs to a green context.
DRIVER_API cuStreamGetCtx_v2(CudaStream *S, void **To, void **Green) {
  if (Green)
    *Green = nullptr;
  return cuStreamGetCtx(S, To);
}
DRIVER_ALIAS(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);

DRIVER_API cuStreamGetCaptureInfo_v3(CudaStream *S, int *Status,
                                     unsigned long long *Id, void **Graph,
                                     const void **Dependencies,
                                     const void **EdgeData, size_t *Count) {
  KeepLastError Keep;
  return cudaStreamGetCaptureInfo(S, Status, Id, Graph, Dependencies, EdgeData,
                                  Count);
}
DRIVER_ALIAS(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3);

//===----------------------------------------------------------------------===//
// Memory: the address determines the kind of memory
//===----------------------------------------------------------------------===//

static constexpr int KindOfAddress = 4; // cudaMemcpyDefault

DRIVER_API cuMemcpy(void *To, const void *From, size_t Size) {
  KeepLastError Keep;
  return cudaMemcpy(To, From, Size, KindOfAddress);
}
DRIVER_API cuMemcpyHtoD_v2(void *To, const void *From, size_t Size) {
  return cuMemcpy(To, From, Size);
}
DRIVER_API cuMemcpyDtoH_v2(void *To, const void *From, size_t Size) {
  return cuMemcpy(To, From, Size);
}
DRIVER_API cuMemcpyDtoD_v2(void *To, const void *From, size_t Size) {
  return cuMemcpy(To, From, Size);
}

DRIVER_API cuMemcpyAsync(void *To, const void *From, size_t Size,
                         void *Stream) {
  KeepLastError Keep;
  return cudaMemcpyAsync(To, From, Size, KindOfAddress, Stream);
}
DRIVER_API cuMemcpyHtoDAsync_v2(void *To, const void *From, size_t Size,
                                void *Stream) {
  return cuMemcpyAsync(To, From, Size, Stream);
}
DRIVER_API cuMemcpyDtoHAsync_v2(void *To, const void *From, size_t Size,
                                void *Stream) {
  return cuMemcpyAsync(To, From, Size, Stream);
}
DRIVER_API cuMemcpyDtoDAsync_v2(void *To, const void *From, size_t Size,
                                void *Stream) {
  return cuMemcpyAsync(To, From, Size, Stream);
}

/// CUpointer_attribute.
enum PointerAttribute {
  PointerContext = 1,
  PointerMemoryType = 2,
  PointerDevice = 3,
  PointerHost = 4,
  PointerIsManaged = 8,
  PointerDeviceOrdinal = 9,
};

/// \returns false for attributes that the host device does not have.
static bool readAttribute(const CudaPointerAttributes &P, int Attribute,
                          void *To) {
  bool IsHost = P.Type == cudaMemoryTypeHost;
  auto Set = [&](auto Value) { return memcpy(To, &Value, sizeof(Value)); };
  switch (Attribute) {
  case PointerContext:
    return Set(hostContext());
  case PointerMemoryType: // Managed memory is the device's.
    return Set(IsHost ? cudaMemoryTypeHost : cudaMemoryTypeDevice);
  case PointerDevice:
    return Set(P.DevicePointer);
  case PointerHost:
    return Set(P.HostPointer);
  case PointerIsManaged:
    return Set(unsigned(P.Type == cudaMemoryTypeManaged));
  case PointerDeviceOrdinal:
    return Set(P.Device);
  default:
    return false;
  }
}

DRIVER_API cuPointerGetAttribute(void *To, int Attribute, const void *Ptr) {
  KeepLastError Keep;
  CudaPointerAttributes P;
  if (!To)
    return cudaErrorInvalidValue;
  if (int E = cudaPointerGetAttributes(&P, Ptr))
    return E;
  if (P.Type == cudaMemoryTypeUnregistered)
    return cudaErrorInvalidValue;
  return readAttribute(P, Attribute, To) ? cudaSuccess : cudaErrorNotSupported;
}

/// As the manual says, attributes of memory that is not the device's are null.
DRIVER_API cuPointerGetAttributes(unsigned Count, const int *Attributes,
                                  void **To, const void *Ptr) {
  KeepLastError Keep;
  CudaPointerAttributes P;
  if (!Count || !Attributes || !To)
    return cudaErrorInvalidValue;
  if (int E = cudaPointerGetAttributes(&P, Ptr))
    return E;
  for (unsigned I = 0; I != Count; ++I) {
    static const CudaPointerAttributes None = {};
    bool IsKnown = P.Type != cudaMemoryTypeUnregistered;
    if (!readAttribute(IsKnown ? P : None, Attributes[I], To[I]))
      return cudaErrorNotSupported;
  }
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Errors and entry points
//===----------------------------------------------------------------------===//

DRIVER_API cuGetErrorName(int Code, const char **Text) {
  if (!Text)
    return cudaErrorInvalidValue;
  *Text = nameDriverError(Code);
  return *Text ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER_API cuGetErrorString(int Code, const char **Text) {
  if (!Text)
    return cudaErrorInvalidValue;
  *Text = nameDriverError(Code) ? describeDriverError(Code) : nullptr;
  return *Text ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER_API cuGetProcAddress_v2(const char *Name, void **Function, int Version,
                               uint64_t, int *Status) {
  if (!Name || !Function)
    return cudaErrorInvalidValue;
  static void *This = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  *Function = findEntryPoint(This, Name, Version, /*PerThread=*/false);
  if (Status)
    *Status = *Function ? 0 : 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *Function ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER_API cuGetProcAddress(const char *Name, void **Function, int Version,
                            uint64_t Flags) {
  return cuGetProcAddress_v2(Name, Function, Version, Flags, nullptr);
}
