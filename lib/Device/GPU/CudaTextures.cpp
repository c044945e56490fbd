//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Texture and surface objects of recordings on a CUDA device. Elements of the
/// application's arrays are in recorded memory. Before each launch they are
/// copied to an array, and after it, elements that surfaces may have changed
/// are copied back.
///
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

// Values of cuda.h.
enum {
  ArrayLayered = 1,
  ArrayForSurfaces = 2,
  ArrayCubemap = 4,
  ArrayGather = 8
};
enum { ReadAsInteger = 1, NormalizedCoordinates = 2, SRGB = 16 };
enum { MemoryDevice = 2, MemoryArray = 3 };

static constexpr unsigned MaxLevels = 32;

/// \returns the CUarray_format and the size of a channel; 0 for formats that
/// are invalid in a file.
static std::pair<int, unsigned> toFormat(uint32_t Format) {
  switch (Format) {
  case MNEME_DTYPE_U8:
    return {1, 1};
  case MNEME_DTYPE_U16:
    return {2, 2};
  case MNEME_DTYPE_U32:
    return {3, 4};
  case MNEME_DTYPE_I8:
    return {8, 1};
  case MNEME_DTYPE_I16:
    return {9, 2};
  case MNEME_DTYPE_I32:
    return {10, 4};
  case MNEME_DTYPE_F16:
    return {16, 2};
  case MNEME_DTYPE_F32:
    return {32, 4};
  default:
    return {0, 0};
  }
}

/// Checks the modes of a file. Filter and read modes are flags, all of whose
/// values are valid.
static bool isSane(const MnemeTexture &T) {
  bool IsArray = T.Resource == MNEME_RESOURCE_ARRAY;
  unsigned Levels = T.Resource == MNEME_RESOURCE_MIPMAP ? MaxLevels : 1;
  return (T.Type == MNEME_OBJECT_TEXTURE ||
          (T.Type == MNEME_OBJECT_SURFACE && IsArray)) &&
         T.Resource <= MNEME_RESOURCE_PITCH2D && toFormat(T.Format).first &&
         (T.Channels == 1 || T.Channels == 2 || T.Channels == 4) &&
         T.NumLevels >= 1 && T.NumLevels <= Levels && T.Width &&
         all_of(T.AddressModes,
                [](uint32_t Mode) { return Mode <= MNEME_ADDRESS_BORDER; });
}

/// \returns the copies of all levels to the array, which is not set yet.
static std::vector<CUmemcpy3D> planLevels(const MnemeTexture &T) {
  std::vector<CUmemcpy3D> Copies;
  uint64_t Element = toFormat(T.Format).second * T.Channels;
  bool KeepsDepth = T.Flags & (MNEME_TEXTURE_LAYERED | MNEME_TEXTURE_CUBEMAP);
  uint64_t Address = T.Address, Width = T.Width;
  uint64_t Height = std::max<uint64_t>(T.Height, 1);
  uint64_t Depth = std::max<uint64_t>(T.Depth, 1);
  for (unsigned I = 0; I != T.NumLevels; ++I) {
    CUmemcpy3D C = {};
    C.From.MemoryType = MemoryDevice;
    C.From.Device = Address;
    C.From.Pitch = Width * Element;
    C.From.Height = Height;
    C.To.MemoryType = MemoryArray;
    C.WidthInBytes = Width * Element;
    C.Height = Height;
    C.Depth = Depth;
    Copies.push_back(C);
    Address += Width * Element * Height * Depth;
    Width = std::max<uint64_t>(Width / 2, 1);
    Height = std::max<uint64_t>(Height / 2, 1);
    if (!KeepsDepth)
      Depth = std::max<uint64_t>(Depth / 2, 1);
  }
  return Copies;
}

Expected<ArrayElements *> CudaDevice::makeArray(const MnemeTexture &T) {
  // Level 0 of a mipmapped array may also be an array of its own, and has the
  // same address.
  ArrayElements &A = Arrays[{T.Address, T.Resource}];
  if (A.Array)
    return &A;
  CUarrayDescriptor D = {
      T.Width, T.Height, T.Depth, toFormat(T.Format).first, T.Channels, 0};
  if (T.Flags & MNEME_TEXTURE_LAYERED)
    D.Flags |= ArrayLayered;
  if (T.Flags & MNEME_TEXTURE_CUBEMAP)
    D.Flags |= ArrayCubemap;
  unsigned Gather = T.Height && !T.Depth && T.NumLevels == 1 ? ArrayGather : 0;
  A.IsMipmapped = T.Resource == MNEME_RESOURCE_MIPMAP;
  auto Create = [&](unsigned Flags) {
    CUarrayDescriptor Flagged = D;
    Flagged.Flags |= Flags;
    return A.IsMipmapped
               ? Driver.MipmappedArrayCreate(&A.Array, &Flagged, T.NumLevels)
               : Driver.Array3DCreate(&A.Array, &Flagged);
  };
  // The flags of the application's array are not recorded. Arrays for surfaces
  // and gathers have lower size limits.
  CUresult R = Create(ArrayForSurfaces | Gather);
  for (unsigned Flags : {unsigned(ArrayForSurfaces), Gather, 0u})
    if (R == CUDA_ERROR_INVALID_VALUE)
      R = Create(Flags);
  if (R) {
    A.Array = nullptr;
    return failure(R, "create the array of a texture");
  }
  A.Copies = planLevels(T);
  for (auto [I, C] : enumerate(A.Copies)) {
    CUarray Level = A.Array;
    if (A.IsMipmapped)
      if (CUresult R = Driver.MipmappedArrayGetLevel(&Level, A.Array, I))
        return failure(R, "find a level of a texture");
    C.To.Array = Level;
  }
  return &A;
}

Error CudaDevice::makeObject(uint64_t Handle) {
  if (Error E = enter())
    return E;
  MnemeTexture T;
  if (Error E = read(Handle, {reinterpret_cast<char *>(&T), sizeof(T)}))
    return E;
  if (!isSane(T))
    return createStringError("the description of the texture object at 0x" +
                             utohexstr(Handle) + " is damaged");
  if (!Driver.TexObjectCreate || !Driver.Memcpy3DAsync)
    return createStringError("the driver cannot make texture objects");
  CUresourceDesc R = {};
  R.Type = T.Resource;
  int Format = toFormat(T.Format).first;
  switch (T.Resource) {
  case MNEME_RESOURCE_LINEAR:
    R.Linear = {T.Address, Format, T.Channels, T.Pitch};
    break;
  case MNEME_RESOURCE_PITCH2D:
    R.Pitch2D = {T.Address, Format, T.Channels, T.Width, T.Height, T.Pitch};
    break;
  default: {
    Expected<ArrayElements *> A = makeArray(T);
    if (!A)
      return A.takeError();
    (*A)->IsWritten |= T.Type == MNEME_OBJECT_SURFACE;
    R.Array = (*A)->Array;
  }
  }
  CudaObject &O = Objects[Handle];
  O.IsSurface = T.Type == MNEME_OBJECT_SURFACE;
  if (O.IsSurface)
    return check(Driver.SurfObjectCreate(&O.Object, &R),
                 "create a surface object");
  bool IsInteger = T.Format != MNEME_DTYPE_F32 && T.Format != MNEME_DTYPE_F16;
  CUtextureDesc D = {};
  std::copy(T.AddressModes, T.AddressModes + 3, D.AddressModes);
  D.FilterMode = T.Flags & MNEME_TEXTURE_LINEAR ? 1 : 0;
  D.MipFilterMode = T.Flags & MNEME_TEXTURE_LINEAR_MIP ? 1 : 0;
  D.Flags =
      (IsInteger && !(T.Flags & MNEME_TEXTURE_AS_FLOAT) ? ReadAsInteger : 0) |
      (T.Flags & MNEME_TEXTURE_NORMALIZED ? NormalizedCoordinates : 0) |
      (T.Flags & MNEME_TEXTURE_SRGB ? SRGB : 0);
  D.MaxAnisotropy = T.MaxAnisotropy;
  D.MipBias = T.MipBias;
  D.MinLevel = T.MinLevel;
  D.MaxLevel = T.MaxLevel;
  std::copy(T.Border, T.Border + 4, D.Border);
  return check(Driver.TexObjectCreate(&O.Object, &R, &D, nullptr),
               "create a texture object");
}

CUresult CudaDevice::copyArrays(bool IsBack) {
  for (const auto &[Key, A] : Arrays)
    for (CUmemcpy3D C : A.Copies) {
      if (IsBack && !A.IsWritten)
        continue;
      if (IsBack)
        std::swap(C.From, C.To);
      if (CUresult R = Driver.Memcpy3DAsync(&C, Backend->getStream()))
        return R;
    }
  return CUDA_SUCCESS;
}

void CudaDevice::freeObjects() {
  for (const auto &[Handle, O] : Objects)
    if (O.Object)
      O.IsSurface ? Driver.SurfObjectDestroy(O.Object)
                  : Driver.TexObjectDestroy(O.Object);
  for (const auto &[Key, A] : Arrays)
    if (A.Array)
      A.IsMipmapped ? Driver.MipmappedArrayDestroy(A.Array)
                    : Driver.ArrayDestroy(A.Array);
}
