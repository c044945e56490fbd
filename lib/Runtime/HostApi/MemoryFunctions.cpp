//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory functions of the CUDA runtime on the host device. Work in streams
/// runs immediately, so asynchronous functions equal the synchronous ones.
///
//===----------------------------------------------------------------------===//

#include "CudaApi.h"
#include "Graph.h"
#include "Message.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static constexpr uint32_t DeviceKinds = 1u << KindDevice | 1u << KindManaged;

MNEME_API rt_cudaMalloc(void **Ptr, size_t Size) {
  return done(Device::get().allocate(Ptr, Size, KindDevice));
}

MNEME_API rt_cudaFree(void *Ptr) {
  Arena::Allocation A;
  // A live graph keeps the memory for its next launch.
  if (Device::get().find(Ptr, A) && A.Kind == KindGraph)
    return done(freeGraphMemory(Ptr) ? cudaSuccess : cudaErrorInvalidValue);
  return done(Device::get().release(Ptr, DeviceKinds));
}

MNEME_API rt_cudaMallocManaged(void **Ptr, size_t Size, unsigned) {
  if (!Size)
    return done(cudaErrorInvalidValue);
  return done(Device::get().allocate(Ptr, Size, KindManaged));
}

MNEME_API rt_cudaMallocPitch(void **Ptr, size_t *Pitch, size_t Width,
                             size_t Height) {
  constexpr size_t Align = DeviceLimits::PitchAlignment;
  if (!Pitch || Width > SIZE_MAX - Align)
    return done(cudaErrorInvalidValue);
  *Pitch = (Width + Align - 1) / Align * Align;
  size_t Size;
  if (__builtin_mul_overflow(*Pitch, Height, &Size))
    return done(cudaErrorMemoryAllocation);
  return done(Device::get().allocate(Ptr, Size, KindDevice));
}

MNEME_API rt_cudaMalloc3D(CudaPitchedPtr *Ptr, CudaExtent Extent) {
  if (!Ptr)
    return done(cudaErrorInvalidValue);
  size_t Rows;
  if (__builtin_mul_overflow(Extent.Height, Extent.Depth, &Rows))
    return done(cudaErrorMemoryAllocation);
  Ptr->XSize = Extent.Width;
  Ptr->YSize = Extent.Height;
  return rt_cudaMallocPitch(&Ptr->Ptr, &Ptr->Pitch, Extent.Width, Rows);
}

MNEME_API rt_cudaMallocAsync(void **Ptr, size_t Size, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      CudaMemAllocNodeParams P = {};
      P.Size = Size;
      if (CudaError E = Ptr ? describeAlloc(W, P) : cudaErrorInvalidValue)
        return E;
      *Ptr = P.Ptr;
      return cudaSuccess;
    });
  return rt_cudaMalloc(Ptr, Size);
}

MNEME_API rt_cudaFreeAsync(void *Ptr, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) { return describeFree(W, Ptr); });
  return rt_cudaFree(Ptr);
}

// cudaHostAllocMapped
static constexpr unsigned HostAllocMapped = 2;

MNEME_API rt_cudaHostAlloc(void **Ptr, size_t Size, unsigned Flags) {
  return done(Device::get().allocate(Ptr, Size, KindPinned,
                                     Flags & HostAllocMapped ? FlagMapped : 0));
}

MNEME_API rt_cudaMallocHost(void **Ptr, size_t Size) {
  return rt_cudaHostAlloc(Ptr, Size, 0);
}

MNEME_API rt_cudaFreeHost(void *Ptr) {
  return done(Device::get().release(Ptr, 1u << KindPinned));
}

MNEME_API rt_cudaHostRegister(void *Ptr, size_t Size, unsigned Flags) {
  constexpr unsigned Mapped = 2; // cudaHostRegisterMapped
  return done(Device::get().registerHost(Ptr, Size, Flags & Mapped));
}

MNEME_API rt_cudaHostUnregister(void *Ptr) {
  return done(Device::get().unregisterHost(Ptr));
}

MNEME_API rt_cudaHostGetDevicePointer(void **DevicePtr, void *HostPtr,
                                      unsigned) {
  Arena::Allocation A;
  if (!DevicePtr)
    return done(cudaErrorInvalidValue);
  if ((!Device::get().find(HostPtr, A) || A.Kind != KindPinned) &&
      !Device::get().isRegisteredHost(HostPtr))
    return done(cudaErrorInvalidValue);
  Device::get().markMapped(HostPtr);
  *DevicePtr = HostPtr;
  return done(cudaSuccess);
}

MNEME_API rt_cudaHostGetFlags(unsigned *Flags, void *Ptr) {
  Arena::Allocation A;
  if (!Flags || !Device::get().find(Ptr, A) || A.Kind != KindPinned)
    return done(cudaErrorInvalidValue);
  *Flags = HostAllocMapped; // Set for all with unified addressing.
  return done(cudaSuccess);
}

MNEME_API rt_cudaMemGetInfo(size_t *Free, size_t *Total) {
  uint64_t F, T;
  Device::get().memoryInfo(F, T);
  if (Free)
    *Free = F;
  if (Total)
    *Total = T;
  return done(cudaSuccess);
}

MNEME_API rt_cudaPointerGetAttributes(CudaPointerAttributes *Attributes,
                                      const void *Ptr) {
  if (!Attributes)
    return done(cudaErrorInvalidValue);
  void *P = const_cast<void *>(Ptr);
  *Attributes = {cudaMemoryTypeUnregistered, -2, nullptr, P};
  Arena::Allocation A;
  if (Device::get().find(Ptr, A)) {
    switch (A.Kind) {
    case KindManaged:
      *Attributes = {cudaMemoryTypeManaged, 0, P, P};
      break;
    case KindPinned:
      *Attributes = {cudaMemoryTypeHost, 0, P, P};
      break;
    default:
      *Attributes = {cudaMemoryTypeDevice, 0, P, nullptr};
    }
  } else if (Device::get().isRegisteredHost(Ptr)) {
    *Attributes = {cudaMemoryTypeHost, 0, P, P};
  }
  return done(cudaSuccess);
}

MNEME_API rt_hipPointerGetAttributes(HipPointerAttributes *Attributes,
                                     const void *Ptr) {
  if (!Attributes)
    return done(cudaErrorInvalidValue);
  *Attributes = {};
  int E = rt_cudaPointerGetAttributes(&Attributes->Common, Ptr);
  // For unknown memory, CUDA returns a description and HIP an error.
  if (!E && Attributes->Common.Type == cudaMemoryTypeUnregistered)
    return done(cudaErrorInvalidValue);
  Attributes->IsManaged = Attributes->Common.Type == cudaMemoryTypeManaged;
  // Host memory is 0, device memory is 1, and managed memory is one of them.
  if (isHip5())
    Attributes->Common.Type = Attributes->Common.Type != cudaMemoryTypeHost;
  return E;
}

// Hints about the location of managed memory have no effect: all memory is in
// the same location. The parameters differ between CUDA 12 and 13, but are
// ignored.
MNEME_API rt_cudaMemPrefetchAsync(const void *Ptr, size_t) {
  Arena::Allocation A;
  if (!Device::get().find(Ptr, A) || A.Kind == KindPinned)
    return done(cudaErrorInvalidValue);
  return done(cudaSuccess);
}

/// The same for several ranges.
MNEME_API rt_cudaMemPrefetchBatchAsync(void **Ptrs, const size_t *Sizes,
                                       size_t Count) {
  if (!Ptrs || !Sizes || !Count)
    return done(cudaErrorInvalidValue);
  for (size_t I = 0; I != Count; ++I)
    if (int E = rt_cudaMemPrefetchAsync(Ptrs[I], Sizes[I]))
      return E;
  return done(cudaSuccess);
}

//===----------------------------------------------------------------------===//
// Pools: all of them use the arena
//===----------------------------------------------------------------------===//

namespace mneme {
struct CudaMemPool {
  uint64_t Attributes[16];
};
} // namespace mneme

static CudaMemPool DefaultPool;

static bool isHigh64(int Attribute) {
  // The three reuse policies are ints; the attributes after them are 64-bit
  // counts.
  return Attribute > 3;
}

MNEME_API rt_cudaDeviceGetDefaultMemPool(CudaMemPool **Pool, int Id) {
  if (!Pool || Id)
    return done(Id ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *Pool = &DefaultPool;
  return done(cudaSuccess);
}

MNEME_API rt_cudaDeviceSetMemPool(int Id, CudaMemPool *Pool) {
  return done(Id || !Pool ? cudaErrorInvalidValue : cudaSuccess);
}

MNEME_API rt_cudaMemPoolCreate(CudaMemPool **Pool, const void *Properties) {
  if (!Pool || !Properties)
    return done(cudaErrorInvalidValue);
  *Pool = new (std::nothrow) CudaMemPool();
  return done(*Pool ? cudaSuccess : cudaErrorMemoryAllocation);
}

MNEME_API rt_cudaMemPoolDestroy(CudaMemPool *Pool) {
  if (!Pool || Pool == &DefaultPool)
    return done(cudaErrorInvalidValue);
  delete Pool;
  return done(cudaSuccess);
}

MNEME_API rt_cudaMemPoolSetAttribute(CudaMemPool *Pool, int Attribute,
                                     const void *Value) {
  if (!Pool || !Value || Attribute < 1 || Attribute > 15)
    return done(cudaErrorInvalidValue);
  Pool->Attributes[Attribute] = 0;
  memcpy(&Pool->Attributes[Attribute], Value, isHigh64(Attribute) ? 8 : 4);
  return done(cudaSuccess);
}

MNEME_API rt_cudaMemPoolGetAttribute(CudaMemPool *Pool, int Attribute,
                                     void *Value) {
  if (!Pool || !Value || Attribute < 1 || Attribute > 15)
    return done(cudaErrorInvalidValue);
  memcpy(Value, &Pool->Attributes[Attribute], isHigh64(Attribute) ? 8 : 4);
  return done(cudaSuccess);
}

MNEME_API rt_cudaMemPoolTrimTo(CudaMemPool *Pool, size_t) {
  return done(Pool ? cudaSuccess : cudaErrorInvalidValue);
}

MNEME_API rt_cudaMemPoolSetAccess(CudaMemPool *Pool, const void *, size_t) {
  return done(Pool ? cudaSuccess : cudaErrorInvalidValue);
}

MNEME_API rt_cudaMemPoolGetAccess(int *Flags, CudaMemPool *Pool, const void *) {
  constexpr int ReadWrite = 3;
  if (!Flags || !Pool)
    return done(cudaErrorInvalidValue);
  *Flags = ReadWrite;
  return done(cudaSuccess);
}

/// Of CUDA 13, for a location and a kind of memory.
MNEME_API rt_cudaMemGetDefaultMemPool(CudaMemPool **Pool, const void *Where,
                                      int) {
  if (!Where)
    return done(cudaErrorInvalidValue);
  return rt_cudaDeviceGetDefaultMemPool(Pool, 0);
}

MNEME_API rt_cudaMemSetMemPool(const void *Where, int, CudaMemPool *Pool) {
  return done(Where && Pool ? cudaSuccess : cudaErrorInvalidValue);
}

MNEME_API rt_cudaMallocFromPoolAsync(void **Ptr, size_t Size, CudaMemPool *Pool,
                                     CudaStream *S) {
  if (!Pool)
    return done(cudaErrorInvalidValue);
  return rt_cudaMallocAsync(Ptr, Size, S);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaMemcpy(void *Dst, const void *Src, size_t Size, int Kind) {
  return done(Device::get().copy(Dst, Src, Size, Kind));
}

MNEME_API rt_cudaMemcpyAsync(void *Dst, const void *Src, size_t Size, int Kind,
                             CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      describeCopy(W, Dst, Size, Src, Size, Size, 1, Kind);
      return cudaSuccess;
    });
  return rt_cudaMemcpy(Dst, Src, Size, Kind);
}

/// The parameters after the first four differ between CUDA 12 and 13 and state
/// when the sources may be read. Therefore the stream, which is last, is
/// unknown, and so is whether it is captured.
MNEME_API rt_cudaMemcpyBatchAsync(void *const *Dsts, const void *const *Srcs,
                                  const size_t *Sizes, size_t Count) {
  if (!Count || !Dsts || !Srcs || !Sizes)
    return done(cudaErrorInvalidValue);
  if (isAnyCapturing())
    return done(cudaErrorNotSupported);
  for (size_t I = 0; I != Count; ++I)
    if (int E = rt_cudaMemcpy(Dsts[I], Srcs[I], Sizes[I], cudaMemcpyDefault))
      return E;
  return cudaSuccess;
}

MNEME_API rt_cudaMemcpyPeer(void *Dst, int DstDevice, const void *Src,
                            int SrcDevice, size_t Size) {
  if (DstDevice || SrcDevice)
    return done(cudaErrorInvalidDevice);
  return rt_cudaMemcpy(Dst, Src, Size, cudaMemcpyDeviceToDevice);
}

MNEME_API rt_cudaMemcpyPeerAsync(void *Dst, int DstDevice, const void *Src,
                                 int SrcDevice, size_t Size, CudaStream *S) {
  if (DstDevice || SrcDevice)
    return done(cudaErrorInvalidDevice);
  return rt_cudaMemcpyAsync(Dst, Src, Size, cudaMemcpyDeviceToDevice, S);
}

MNEME_API rt_cudaMemcpy2D(void *Dst, size_t DstPitch, const void *Src,
                          size_t SrcPitch, size_t Width, size_t Height,
                          int Kind) {
  return done(
      Device::get().copy2D(Dst, DstPitch, Src, SrcPitch, Width, Height, Kind));
}

MNEME_API rt_cudaMemcpy2DAsync(void *Dst, size_t DstPitch, const void *Src,
                               size_t SrcPitch, size_t Width, size_t Height,
                               int Kind, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      describeCopy(W, Dst, DstPitch, Src, SrcPitch, Width, Height, Kind);
      return cudaSuccess;
    });
  return rt_cudaMemcpy2D(Dst, DstPitch, Src, SrcPitch, Width, Height, Kind);
}

static CudaError copy3D(const CudaPitchedPtr &Dst, const CudaPos &DstPos,
                        const CudaPitchedPtr &Src, const CudaPos &SrcPos,
                        const CudaExtent &Extent, int Kind) {
  // A box that does not fit would silently access other rows or slices.
  if (Extent.Depth > 1 && (SrcPos.Y + Extent.Height > Src.YSize ||
                           DstPos.Y + Extent.Height > Dst.YSize))
    return cudaErrorInvalidValue;
  for (size_t Z = 0; Z != Extent.Depth; ++Z) {
    size_t DstRow = (DstPos.Z + Z) * Dst.YSize + DstPos.Y;
    size_t SrcRow = (SrcPos.Z + Z) * Src.YSize + SrcPos.Y;
    char *To = static_cast<char *>(Dst.Ptr) + DstRow * Dst.Pitch + DstPos.X;
    const char *From =
        static_cast<const char *>(Src.Ptr) + SrcRow * Src.Pitch + SrcPos.X;
    if (CudaError E = Device::get().copy2D(To, Dst.Pitch, From, Src.Pitch,
                                           Extent.Width, Extent.Height, Kind))
      return E;
  }
  return cudaSuccess;
}

MNEME_API rt_cudaMemcpy3D(const CudaMemcpy3DParms *P) {
  if (!P)
    return done(cudaErrorInvalidValue);
  if (P->SrcArray || P->DstArray) {
    CudaMemcpy3DParms Plain = *P;
    CudaError E = replaceArrays(Plain);
    return E ? done(E) : rt_cudaMemcpy3D(&Plain);
  }
  return done(copy3D(P->Dst, P->DstPos, P->Src, P->SrcPos, P->Extent, P->Kind));
}

MNEME_API rt_cudaMemcpy3DAsync(const CudaMemcpy3DParms *P, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      if (!P)
        return cudaErrorInvalidValue;
      describeCopy(W, *P);
      return cudaSuccess;
    });
  return rt_cudaMemcpy3D(P);
}

/// Converts the copy to one without devices, of which there is only one.
static CudaError describePeer(const CudaMemcpy3DPeerParms *P,
                              CudaMemcpy3DParms &Plain) {
  if (!P)
    return cudaErrorInvalidValue;
  if (P->SrcArray || P->DstArray)
    return cudaErrorNotSupported;
  if (P->SrcDevice || P->DstDevice)
    return cudaErrorInvalidDevice;
  Plain = {};
  Plain.SrcPos = P->SrcPos;
  Plain.Src = P->Src;
  Plain.DstPos = P->DstPos;
  Plain.Dst = P->Dst;
  Plain.Extent = P->Extent;
  Plain.Kind = cudaMemcpyDeviceToDevice;
  return cudaSuccess;
}

MNEME_API rt_cudaMemcpy3DPeer(const CudaMemcpy3DPeerParms *P) {
  CudaMemcpy3DParms Plain;
  CudaError E = describePeer(P, Plain);
  return E ? done(E) : rt_cudaMemcpy3D(&Plain);
}

MNEME_API rt_cudaMemcpy3DPeerAsync(const CudaMemcpy3DPeerParms *P,
                                   CudaStream *S) {
  CudaMemcpy3DParms Plain;
  CudaError E = describePeer(P, Plain);
  return E ? done(E) : rt_cudaMemcpy3DAsync(&Plain, S);
}

MNEME_API rt_cudaMemset(void *Dst, int Value, size_t Size) {
  return done(Device::get().set(Dst, Value, Size));
}

MNEME_API rt_cudaMemsetAsync(void *Dst, int Value, size_t Size, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      describeSet(W, {Dst, Size, unsigned(Value), 1, Size, 1});
      return cudaSuccess;
    });
  return rt_cudaMemset(Dst, Value, Size);
}

MNEME_API rt_cudaMemset2D(void *Dst, size_t Pitch, int Value, size_t Width,
                          size_t Height) {
  if (Width > Pitch)
    return done(cudaErrorInvalidValue);
  for (size_t Row = 0; Row != Height; ++Row)
    if (CudaError E = Device::get().set(static_cast<char *>(Dst) + Row * Pitch,
                                        Value, Width))
      return done(E);
  return done(cudaSuccess);
}

MNEME_API rt_cudaMemset2DAsync(void *Dst, size_t Pitch, int Value, size_t Width,
                               size_t Height, CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S))
    return addToCapture(S, [&](GraphWork &W) {
      describeSet(W, {Dst, Pitch, unsigned(Value), 1, Width, Height});
      return cudaSuccess;
    });
  return rt_cudaMemset2D(Dst, Pitch, Value, Width, Height);
}

MNEME_API rt_cudaMemset3D(CudaPitchedPtr Dst, int Value, CudaExtent Extent) {
  for (size_t Z = 0; Z != Extent.Depth; ++Z)
    if (int E = rt_cudaMemset2D(static_cast<char *>(Dst.Ptr) +
                                    Z * Dst.YSize * Dst.Pitch,
                                Dst.Pitch, Value, Extent.Width, Extent.Height))
      return E;
  return done(cudaSuccess);
}

MNEME_API rt_cudaMemset3DAsync(CudaPitchedPtr Dst, int Value, CudaExtent Extent,
                               CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  for (size_t Z = 0; isCapturing(S) && Z != Extent.Depth; ++Z) {
    void *Slice = static_cast<char *>(Dst.Ptr) + Z * Dst.YSize * Dst.Pitch;
    int E = rt_cudaMemset2DAsync(Slice, Dst.Pitch, Value, Extent.Width,
                                 Extent.Height, S);
    if (E || Z + 1 == Extent.Depth)
      return E;
  }
  return rt_cudaMemset3D(Dst, Value, Extent);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaGetSymbolAddress(void **Ptr, const void *Symbol) {
  Variable V;
  CudaError E = Device::get().findVariable(Symbol, V);
  if (!E && !Ptr)
    E = cudaErrorInvalidValue;
  if (!E)
    *Ptr = reinterpret_cast<void *>(V.Address);
  return done(E);
}

MNEME_API rt_cudaGetSymbolSize(size_t *Size, const void *Symbol) {
  Variable V;
  CudaError E = Device::get().findVariable(Symbol, V);
  if (!E && !Size)
    E = cudaErrorInvalidValue;
  if (!E)
    *Size = V.Size;
  return done(E);
}

static CudaError symbolRange(const void *Symbol, size_t Size, size_t Offset,
                             char *&Ptr) {
  Variable V;
  if (CudaError E = Device::get().findVariable(Symbol, V))
    return E;
  if (Offset > V.Size || Size > V.Size - Offset)
    return cudaErrorInvalidValue;
  Ptr = reinterpret_cast<char *>(V.Address) + Offset;
  return cudaSuccess;
}

MNEME_API rt_cudaMemcpyToSymbol(const void *Symbol, const void *Src,
                                size_t Size, size_t Offset, int Kind) {
  char *Ptr;
  if (CudaError E = symbolRange(Symbol, Size, Offset, Ptr))
    return done(E);
  if (Kind == cudaMemcpyDeviceToHost || Kind == cudaMemcpyHostToHost)
    return done(cudaErrorInvalidMemcpyDirection);
  return rt_cudaMemcpy(Ptr, Src, Size, Kind);
}

MNEME_API rt_cudaMemcpyToSymbolAsync(const void *Symbol, const void *Src,
                                     size_t Size, size_t Offset, int Kind,
                                     CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S)) {
    char *Ptr;
    if (CudaError E = symbolRange(Symbol, Size, Offset, Ptr))
      return done(E);
    return rt_cudaMemcpyAsync(Ptr, Src, Size, Kind, S);
  }
  return rt_cudaMemcpyToSymbol(Symbol, Src, Size, Offset, Kind);
}

MNEME_API rt_cudaMemcpyFromSymbol(void *Dst, const void *Symbol, size_t Size,
                                  size_t Offset, int Kind) {
  char *Ptr;
  if (CudaError E = symbolRange(Symbol, Size, Offset, Ptr))
    return done(E);
  if (Kind == cudaMemcpyHostToDevice || Kind == cudaMemcpyHostToHost)
    return done(cudaErrorInvalidMemcpyDirection);
  return rt_cudaMemcpy(Dst, Ptr, Size, Kind);
}

MNEME_API rt_cudaMemcpyFromSymbolAsync(void *Dst, const void *Symbol,
                                       size_t Size, size_t Offset, int Kind,
                                       CudaStream *S) {
  if (!isStream(S))
    return done(cudaErrorInvalidResourceHandle);
  if (isCapturing(S)) {
    char *Ptr;
    if (CudaError E = symbolRange(Symbol, Size, Offset, Ptr))
      return done(E);
    return rt_cudaMemcpyAsync(Dst, Ptr, Size, Kind, S);
  }
  return rt_cudaMemcpyFromSymbol(Dst, Symbol, Size, Offset, Kind);
}

//===----------------------------------------------------------------------===//
// Annotations (mneme/annotate.h)
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) void
__mneme_annotate(const void *Ptr, uint64_t Bytes, uint32_t DType,
                 uint32_t Tolerance, double Value, uint32_t Norm,
                 const char *Tag) {
  if (!attempt([&] {
        Device::get().annotate({reinterpret_cast<uint64_t>(Ptr), Bytes, DType,
                                Tolerance, Norm, Value, Tag ? Tag : ""});
      }))
    tell("mneme: warning: an annotation is lost: out of memory\n");
}
