//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrays, textures and surfaces of the CUDA runtime on the host device. The
/// elements of arrays and the descriptions of objects are both in the arena,
/// and the handle of an object is the address of its description. Recordings
/// therefore contain all that a kernel can reach, and a handle is valid
/// wherever it is stored.
///
//===----------------------------------------------------------------------===//

#include "CudaTextures.h"
#include "Graph.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>

using namespace mneme;

MNEME_API rt_cudaMemcpy3D(const CudaMemcpy3DParms *P);
MNEME_API rt_cudaMemcpy3DAsync(const CudaMemcpy3DParms *P, CudaStream *S);

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

namespace mneme {
/// An array, a level of a mipmapped array, or a mipmapped array.
struct CudaArray {
  CudaChannelFormatDesc Format;
  CudaExtent Extent; ///< As requested: 0 in missing dimensions.
  unsigned Flags;
  uint32_t NumLevels; ///< 0: not mipmapped.
  uint64_t Address;
  bool OwnsMemory;
  std::vector<CudaArray *> Levels; ///< Those that the application requested.
};
} // namespace mneme

namespace {
struct Object {
  CudaResourceDesc Resource;
  CudaTextureDesc Texture;
};

struct TextureHandles {
  std::mutex Lock;
  std::map<const CudaArray *, std::unique_ptr<CudaArray>> Arrays;
  std::map<uint64_t, Object> Objects;
};
} // namespace

// Never destroyed, because applications may use it while they exit.
static TextureHandles &handles() {
  alignas(TextureHandles) static char Storage[sizeof(TextureHandles)];
  static auto &H = *new (Storage) TextureHandles;
  return H;
}

/// Runs \p F while holding the lock. \returns its result, or
/// cudaErrorMemoryAllocation.
template <typename Fn> static CudaError withHandles(Fn F) {
  std::lock_guard<std::mutex> Guard(handles().Lock);
  CudaError E = cudaErrorMemoryAllocation;
  if (!attempt([&] { E = F(); }))
    E = cudaErrorMemoryAllocation;
  return E;
}

static CudaArray *findArray(const CudaArray *Handle) {
  auto I = handles().Arrays.find(Handle);
  return I == handles().Arrays.end() ? nullptr : I->second.get();
}

static bool keepsDepth(unsigned Flags) {
  return Flags & (ArrayLayered | ArrayCubemap);
}

/// Returns the extent of a level.
static CudaExtent extentOf(const CudaArray &A, unsigned Level) {
  auto Shrink = [Level](size_t V) { return V ? atLeast1(V >> Level) : 0; };
  return {Shrink(A.Extent.Width), Shrink(A.Extent.Height),
          keepsDepth(A.Flags) ? A.Extent.Depth : Shrink(A.Extent.Depth)};
}

/// Computes the size in bytes. \returns false on overflow.
static bool sizeOf(const CudaArray &A, unsigned NumLevels, uint64_t &Size) {
  Size = 0;
  for (unsigned I = 0; I != NumLevels; ++I) {
    CudaExtent E = extentOf(A, I);
    uint64_t Bytes = E.Width;
    for (uint64_t Factor :
         {elementSize(A.Format), atLeast1(E.Height), atLeast1(E.Depth)})
      if (__builtin_mul_overflow(Bytes, Factor, &Bytes))
        return false;
    if (__builtin_add_overflow(Size, Bytes, &Size))
      return false;
  }
  return true;
}

static CudaError makeArray(CudaArray **Array, const CudaChannelFormatDesc *D,
                           CudaExtent Extent, unsigned NumLevels,
                           unsigned Flags) {
  uint32_t Format, Channels;
  if (!Array || !D || !Extent.Width || !parseFormat(*D, Format, Channels) ||
      (Flags & ArrayCubemap && Extent.Width != Extent.Height) ||
      (Flags & ArrayCubemap &&
       (!Extent.Depth || Extent.Depth % 6 ||
        (Extent.Depth != 6 && !(Flags & ArrayLayered)))))
    return cudaErrorInvalidValue;
  return withHandles([&] {
    auto A = std::make_unique<CudaArray>();
    *A = {*D, Extent, Flags, NumLevels, 0, true, {}};
    uint64_t Size;
    if (!sizeOf(*A, atLeast1(NumLevels), Size))
      return cudaErrorMemoryAllocation;
    CudaArray *Handle = A.get();
    auto &Place = handles().Arrays[Handle];
    void *Ptr = nullptr;
    if (CudaError E = Device::get().allocate(&Ptr, Size, KindArray)) {
      handles().Arrays.erase(Handle);
      return E;
    }
    A->Address = reinterpret_cast<uint64_t>(Ptr);
    Place = std::move(A);
    *Array = Handle;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaMallocArray(CudaArray **Array, const CudaChannelFormatDesc *D,
                             size_t Width, size_t Height, unsigned Flags) {
  return done(makeArray(Array, D, {Width, Height, 0}, 0, Flags));
}

MNEME_API rt_cudaMalloc3DArray(CudaArray **Array,
                               const CudaChannelFormatDesc *D,
                               CudaExtent Extent, unsigned Flags) {
  return done(makeArray(Array, D, Extent, 0, Flags));
}

MNEME_API rt_cudaMallocMipmappedArray(CudaArray **Array,
                                      const CudaChannelFormatDesc *D,
                                      CudaExtent Extent, unsigned NumLevels,
                                      unsigned Flags) {
  // Limit the number of levels: the last one has a single element.
  uint64_t Most = std::max(
      {Extent.Width, Extent.Height, keepsDepth(Flags) ? 0 : Extent.Depth});
  unsigned MaxLevels = 1;
  while (Most >>= 1)
    ++MaxLevels;
  return done(makeArray(Array, D, Extent,
                        std::min(std::max(NumLevels, 1u), MaxLevels), Flags));
}

MNEME_API rt_cudaGetMipmappedArrayLevel(CudaArray **Level, CudaArray *Handle,
                                        unsigned Number) {
  return done(withHandles([&] {
    CudaArray *A = findArray(Handle);
    uint64_t Offset;
    if (!Level || !A || Number >= A->NumLevels || !sizeOf(*A, Number, Offset))
      return cudaErrorInvalidValue;
    auto New = std::make_unique<CudaArray>();
    *New = {A->Format,           extentOf(*A, Number), A->Flags, 0,
            A->Address + Offset, /*OwnsMemory=*/false, {}};
    A->Levels.push_back(New.get());
    *Level = New.get();
    handles().Arrays[New.get()] = std::move(New);
    return cudaSuccess;
  }));
}

MNEME_API rt_cudaFreeArray(CudaArray *Handle) {
  if (!Handle)
    return done(cudaSuccess);
  return done(withHandles([&] {
    CudaArray *A = findArray(Handle);
    if (!A || !A->OwnsMemory)
      return cudaErrorInvalidValue;
    for (CudaArray *Level : A->Levels)
      handles().Arrays.erase(Level);
    CudaError E = Device::get().release(reinterpret_cast<void *>(A->Address),
                                        1u << KindArray);
    handles().Arrays.erase(Handle);
    return E;
  }));
}

MNEME_API rt_cudaFreeMipmappedArray(CudaArray *Handle) {
  return rt_cudaFreeArray(Handle);
}

MNEME_API rt_cudaArrayGetInfo(CudaChannelFormatDesc *D, CudaExtent *Extent,
                              unsigned *Flags, CudaArray *Handle) {
  return done(withHandles([&] {
    CudaArray *A = findArray(Handle);
    if (!A)
      return cudaErrorInvalidResourceHandle;
    if (D)
      *D = A->Format;
    if (Extent)
      *Extent = A->Extent;
    if (Flags)
      *Flags = A->Flags;
    return cudaSuccess;
  }));
}

MNEME_API rt_cudaGetChannelDesc(CudaChannelFormatDesc *D, CudaArray *Handle) {
  return D ? rt_cudaArrayGetInfo(D, nullptr, nullptr, Handle)
           : done(cudaErrorInvalidValue);
}

extern "C" __attribute__((visibility("hidden"), used)) CudaChannelFormatDesc
rt_cudaCreateChannelDesc(int X, int Y, int Z, int W, int Format) {
  return {X, Y, Z, W, Format};
}

MNEME_API rt_cudaDeviceGetTexture1DLinearMaxWidth(size_t *Width,
                                                  const void *Format, int Id) {
  if (Id || !Width || !Format)
    return done(Id ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *Width = DeviceLimits::MaxTextureLinear;
  return done(cudaSuccess);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static bool fits(uint64_t At, uint64_t Size, uint64_t Limit) {
  return Size <= Limit && At <= Limit - Size;
}

CudaError mneme::replaceArrays(CudaMemcpy3DParms &P) {
  uint64_t Element = 0;
  auto Replace = [&](void *&Array, CudaPitchedPtr &Memory, CudaPos &At) {
    if (!Array)
      return true;
    const CudaArray *A = findArray(static_cast<CudaArray *>(Array));
    if (!A || !fits(At.X, P.Extent.Width, A->Extent.Width) ||
        !fits(At.Y, P.Extent.Height, atLeast1(A->Extent.Height)) ||
        !fits(At.Z, P.Extent.Depth, atLeast1(A->Extent.Depth)))
      return false;
    // The extent is in elements, which must have the same size on both sides.
    uint64_t Size = elementSize(A->Format);
    if (Element && Element != Size)
      return false;
    Element = Size;
    uint64_t Row = A->Extent.Width * Element;
    Memory = {reinterpret_cast<void *>(A->Address), Row, Row,
              atLeast1(A->Extent.Height)};
    At.X *= Element;
    Array = nullptr;
    return true;
  };
  return withHandles([&] {
    if (!Replace(P.SrcArray, P.Src, P.SrcPos) ||
        !Replace(P.DstArray, P.Dst, P.DstPos))
      return cudaErrorInvalidValue;
    P.Extent.Width *= Element;
    return cudaSuccess;
  });
}

namespace {
/// A side of a two-dimensional copy.
struct Side {
  CudaArray *Array;
  size_t X, Y; ///< In bytes, and in rows.
  const void *Ptr;
  size_t Pitch;
};
} // namespace

/// Converts a copy of rows of bytes to one of elements.
static CudaError describe2D(CudaMemcpy3DParms &P, const Side &To,
                            const Side &From, size_t Width, size_t Height,
                            int Kind) {
  return withHandles([&] {
    P = {};
    uint64_t Element = 0;
    for (const Side *S : {&To, &From})
      if (S->Array) {
        CudaArray *A = findArray(S->Array);
        Element = A ? elementSize(A->Format) : 0;
        if (!Element || S->X % Element || Width % Element)
          return cudaErrorInvalidValue;
        (S == &To ? P.DstPos : P.SrcPos) = {S->X / Element, S->Y, 0};
        (S == &To ? P.DstArray : P.SrcArray) = S->Array;
      } else {
        (S == &To ? P.Dst : P.Src) = {const_cast<void *>(S->Ptr), S->Pitch,
                                      Width, Height};
      }
    P.Extent = {Width / Element, Height, 1};
    P.Kind = Kind;
    return cudaSuccess;
  });
}

static int copy2D(const Side &To, const Side &From, size_t Width, size_t Height,
                  int Kind) {
  CudaMemcpy3DParms P;
  CudaError E = describe2D(P, To, From, Width, Height, Kind);
  return E ? done(E) : rt_cudaMemcpy3D(&P);
}

static int copy2DAsync(const Side &To, const Side &From, size_t Width,
                       size_t Height, int Kind, CudaStream *S) {
  CudaMemcpy3DParms P;
  CudaError E = describe2D(P, To, From, Width, Height, Kind);
  return E ? done(E) : rt_cudaMemcpy3DAsync(&P, S);
}

MNEME_API rt_cudaMemcpy2DToArray(CudaArray *Dst, size_t X, size_t Y,
                                 const void *Src, size_t Pitch, size_t Width,
                                 size_t Height, int Kind) {
  return copy2D({Dst, X, Y, nullptr, 0}, {nullptr, 0, 0, Src, Pitch}, Width,
                Height, Kind);
}

MNEME_API rt_cudaMemcpy2DToArrayAsync(CudaArray *Dst, size_t X, size_t Y,
                                      const void *Src, size_t Pitch,
                                      size_t Width, size_t Height, int Kind,
                                      CudaStream *S) {
  return copy2DAsync({Dst, X, Y, nullptr, 0}, {nullptr, 0, 0, Src, Pitch},
                     Width, Height, Kind, S);
}

MNEME_API rt_cudaMemcpy2DFromArray(void *Dst, size_t Pitch, CudaArray *Src,
                                   size_t X, size_t Y, size_t Width,
                                   size_t Height, int Kind) {
  return copy2D({nullptr, 0, 0, Dst, Pitch}, {Src, X, Y, nullptr, 0}, Width,
                Height, Kind);
}

MNEME_API rt_cudaMemcpy2DFromArrayAsync(void *Dst, size_t Pitch, CudaArray *Src,
                                        size_t X, size_t Y, size_t Width,
                                        size_t Height, int Kind,
                                        CudaStream *S) {
  return copy2DAsync({nullptr, 0, 0, Dst, Pitch}, {Src, X, Y, nullptr, 0},
                     Width, Height, Kind, S);
}

MNEME_API rt_cudaMemcpy2DArrayToArray(CudaArray *Dst, size_t DstX, size_t DstY,
                                      CudaArray *Src, size_t SrcX, size_t SrcY,
                                      size_t Width, size_t Height, int Kind) {
  return copy2D({Dst, DstX, DstY, nullptr, 0}, {Src, SrcX, SrcY, nullptr, 0},
                Width, Height, Kind);
}

/// Splits \p Size bytes from (\p X, \p Y) of an array on into the first row,
/// whole rows and the last row, for copies without a width.
/// Calls Copy(array, x, y, offset, width, height).
template <typename Fn>
static int forEachRows(CudaArray *Array, size_t X, size_t Y, size_t Size,
                       Fn Copy) {
  uint64_t Row = 0;
  CudaError E = withHandles([&] {
    CudaArray *A = findArray(Array);
    if (!A)
      return cudaErrorInvalidValue;
    Row = A->Extent.Width * elementSize(A->Format);
    return X >= Row ? cudaErrorInvalidValue : cudaSuccess;
  });
  int Result = done(E);
  for (size_t Offset = 0; !Result && Offset != Size;) {
    size_t Width = std::min<size_t>(Row - X, Size - Offset);
    size_t Height = X || Width != Row ? 1 : (Size - Offset) / Row;
    Result = Copy(X, Y, Offset, Width, Height);
    Offset += Width * Height;
    Y += Height;
    X = 0;
  }
  return Result;
}

MNEME_API rt_cudaMemcpyToArrayAsync(CudaArray *Dst, size_t X, size_t Y,
                                    const void *Src, size_t Size, int Kind,
                                    CudaStream *S) {
  return forEachRows(
      Dst, X, Y, Size,
      [&](size_t X, size_t Y, size_t Offset, size_t Width, size_t Height) {
        return rt_cudaMemcpy2DToArrayAsync(
            Dst, X, Y, static_cast<const char *>(Src) + Offset, Width, Width,
            Height, Kind, S);
      });
}

MNEME_API rt_cudaMemcpyToArray(CudaArray *Dst, size_t X, size_t Y,
                               const void *Src, size_t Size, int Kind) {
  return rt_cudaMemcpyToArrayAsync(Dst, X, Y, Src, Size, Kind, nullptr);
}

MNEME_API rt_cudaMemcpyFromArrayAsync(void *Dst, CudaArray *Src, size_t X,
                                      size_t Y, size_t Size, int Kind,
                                      CudaStream *S) {
  return forEachRows(
      Src, X, Y, Size,
      [&](size_t X, size_t Y, size_t Offset, size_t Width, size_t Height) {
        return rt_cudaMemcpy2DFromArrayAsync(static_cast<char *>(Dst) + Offset,
                                             Width, Src, X, Y, Width, Height,
                                             Kind, S);
      });
}

MNEME_API rt_cudaMemcpyFromArray(void *Dst, CudaArray *Src, size_t X, size_t Y,
                                 size_t Size, int Kind) {
  return rt_cudaMemcpyFromArrayAsync(Dst, Src, X, Y, Size, Kind, nullptr);
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

/// Requires the lock. Describes the elements of a resource.
static CudaError describeResource(MnemeTexture &T, const CudaResourceDesc &R) {
  switch (R.Type) {
  case CudaResourceArray:
  case CudaResourceMipmappedArray: {
    const CudaArray *A = findArray(R.Array);
    if (!A || !A->NumLevels != (R.Type == CudaResourceArray) ||
        !parseFormat(A->Format, T.Format, T.Channels))
      return cudaErrorInvalidValue;
    T.Address = A->Address;
    T.Pitch = A->Extent.Width * elementSize(A->Format);
    T.Width = A->Extent.Width;
    T.Height = A->Extent.Height;
    T.Depth = A->Extent.Depth;
    T.NumLevels = atLeast1(A->NumLevels);
    T.Flags |= arrayFlags(A->Flags);
    break;
  }
  case CudaResourceLinear:
    if (!parseFormat(R.Linear.Format, T.Format, T.Channels))
      return cudaErrorInvalidChannelDescriptor;
    T.Address = reinterpret_cast<uint64_t>(R.Linear.Ptr);
    T.Pitch = R.Linear.Size;
    T.Width = R.Linear.Size / elementSize(R.Linear.Format);
    T.NumLevels = 1;
    break;
  case CudaResourcePitch2D:
    if (!parseFormat(R.Pitch2D.Format, T.Format, T.Channels))
      return cudaErrorInvalidChannelDescriptor;
    T.Address = reinterpret_cast<uint64_t>(R.Pitch2D.Ptr);
    T.Pitch = R.Pitch2D.Pitch;
    T.Width = R.Pitch2D.Width;
    T.Height = R.Pitch2D.Height;
    T.NumLevels = 1;
    break;
  default:
    return cudaErrorInvalidValue;
  }
  // MNEME_RESOURCE_* equals the runtime's numbers.
  T.Resource = R.Type;
  Arena::Allocation A;
  return Device::get().find(reinterpret_cast<void *>(T.Address), A)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

static CudaError makeObject(uint64_t *Handle, const CudaResourceDesc *R,
                            const CudaTextureDesc *D) {
  return withHandles([&] {
    MnemeTexture T = {};
    T.Type = D ? MNEME_OBJECT_TEXTURE : MNEME_OBJECT_SURFACE;
    if (CudaError E = describeResource(T, *R))
      return E;
    if (D)
      describeTexture(T, *D);
    void *Ptr = nullptr;
    if (CudaError E = Device::get().allocate(&Ptr, sizeof(T), KindTexture))
      return E;
    memcpy(Ptr, &T, sizeof(T));
    uint64_t New = reinterpret_cast<uint64_t>(Ptr);
    if (!attempt([&] {
          handles().Objects[New] = {*R, D ? *D : CudaTextureDesc()};
        })) {
      Device::get().release(Ptr, 1u << KindTexture);
      return cudaErrorMemoryAllocation;
    }
    *Handle = New;
    return cudaSuccess;
  });
}

MNEME_API rt_cudaCreateTextureObject(uint64_t *Handle,
                                     const CudaResourceDesc *R,
                                     const CudaTextureDesc *D,
                                     const void *View) {
  if (!Handle || !R || !D)
    return done(cudaErrorInvalidValue);
  // Views with another format or with some of the levels and layers.
  if (View)
    return done(cudaErrorNotSupported);
  return done(makeObject(Handle, R, D));
}

MNEME_API rt_cudaCreateSurfaceObject(uint64_t *Handle,
                                     const CudaResourceDesc *R) {
  if (!Handle || !R || R->Type != CudaResourceArray)
    return done(cudaErrorInvalidValue);
  return done(makeObject(Handle, R, nullptr));
}

MNEME_API rt_cudaDestroyTextureObject(uint64_t Handle) {
  return done(withHandles([&] {
    return handles().Objects.erase(Handle)
               ? Device::get().release(reinterpret_cast<void *>(Handle),
                                       1u << KindTexture)
               : cudaErrorInvalidValue;
  }));
}

MNEME_API rt_cudaDestroySurfaceObject(uint64_t Handle) {
  return rt_cudaDestroyTextureObject(Handle);
}

MNEME_API rt_cudaGetTextureObjectResourceDesc(CudaResourceDesc *R,
                                              uint64_t Handle) {
  return done(withHandles([&] {
    auto I = handles().Objects.find(Handle);
    if (!R || I == handles().Objects.end())
      return cudaErrorInvalidValue;
    *R = I->second.Resource;
    return cudaSuccess;
  }));
}

MNEME_API rt_cudaGetSurfaceObjectResourceDesc(CudaResourceDesc *R,
                                              uint64_t Handle) {
  return rt_cudaGetTextureObjectResourceDesc(R, Handle);
}

MNEME_API rt_cudaGetTextureObjectTextureDesc(CudaTextureDesc *D,
                                             uint64_t Handle) {
  return done(withHandles([&] {
    auto I = handles().Objects.find(Handle);
    if (!D || I == handles().Objects.end())
      return cudaErrorInvalidValue;
    *D = I->second.Texture;
    return cudaSuccess;
  }));
}
