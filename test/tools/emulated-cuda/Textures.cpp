//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrays, textures and surfaces of the emulated CUDA driver. Kernels run on
/// the host device: a handle is the address of what that reads.
///
//===----------------------------------------------------------------------===//

#include "CudaTextures.h"
#include "Emulator.h"
#include <cstring>

using namespace emulated;

extern "C" {
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  CUresult Symbol Parameters;
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
}

namespace {
struct Array {
  CUarrayDescriptor D;
  unsigned NumLevels; ///< 0 unless it is mipmapped.
  std::shared_ptr<std::vector<char>> Memory;
  size_t Offset = 0;
  std::vector<std::unique_ptr<Array>> Levels;

  size_t element() const {
    switch (D.Format) {
    case 1:
    case 8:
      return D.NumChannels;
    case 2:
    case 9:
    case 16:
      return 2 * D.NumChannels;
    default:
      return 4 * D.NumChannels;
    }
  }
  size_t bytes() const {
    return D.Width * element() * std::max<size_t>(D.Height, 1) *
           std::max<size_t>(D.Depth, 1);
  }
  char *data() const { return Memory->data() + Offset; }
};
} // namespace

static Array *arrayOf(CUarray A) { return reinterpret_cast<Array *>(A); }

static uint32_t toDType(int Format) {
  return formatOf(Format, /*Other=*/MNEME_DTYPE_F32);
}

static char *addressOf(const CUmemcpySide &S, size_t Y, size_t Z) {
  constexpr int ArrayMemory = 3;
  if (S.MemoryType != ArrayMemory)
    return reinterpret_cast<char *>(S.MemoryType == 1
                                        ? reinterpret_cast<uint64_t>(S.Host)
                                        : S.Device) +
           S.XInBytes + ((S.Z + Z) * S.Height + S.Y + Y) * S.Pitch;
  const Array &A = *static_cast<Array *>(S.Array);
  return A.data() + S.XInBytes +
         ((S.Z + Z) * std::max<size_t>(A.D.Height, 1) + S.Y + Y) * A.D.Width *
             A.element();
}

extern "C" {

CUresult cuMipmappedArrayCreate(CUarray *Result, const CUarrayDescriptor *D,
                                unsigned NumLevels) {
  auto New = std::make_unique<Array>();
  *New = {*D, NumLevels, std::make_shared<std::vector<char>>(), 0, {}};
  size_t Size = 0;
  for (unsigned I = 0; I != NumLevels; ++I) {
    auto Level = std::make_unique<Array>();
    *Level = {*D, 0, New->Memory, Size, {}};
    auto Shrink = [I](size_t &V) { V = V ? std::max<size_t>(V >> I, 1) : 0; };
    Shrink(Level->D.Width);
    Shrink(Level->D.Height);
    if (!(D->Flags & 5)) // Layers and faces stay.
      Shrink(Level->D.Depth);
    Size += Level->bytes();
    New->Levels.push_back(std::move(Level));
  }
  New->Memory->resize(Size);
  *Result = reinterpret_cast<CUarray>(New.release());
  return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *Result, const CUarrayDescriptor *D) {
  constexpr unsigned ForGather = 8, MaxGather = 32768;
  if (D->Flags & ForGather && std::max(D->Width, D->Height) > MaxGather)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult R = cuMipmappedArrayCreate(Result, D, 1);
  arrayOf(*Result)->NumLevels = 0;
  return R;
}

CUresult cuArrayDestroy(CUarray A) {
  delete arrayOf(A);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUarray A) { return cuArrayDestroy(A); }

CUresult cuMipmappedArrayGetLevel(CUarray *Level, CUarray A, unsigned Number) {
  if (Number >= arrayOf(A)->Levels.size())
    return CUDA_ERROR_INVALID_VALUE;
  *Level = reinterpret_cast<CUarray>(arrayOf(A)->Levels[Number].get());
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUarrayDescriptor *D, CUarray A) {
  *D = arrayOf(A)->D;
  return CUDA_SUCCESS;
}

CUresult cuMemcpy3DAsync_v2(const CUmemcpy3D *P, CUstream S) {
  std::shared_ptr<Queue> Q = findQueue(S);
  if (!Q)
    return CUDA_ERROR_INVALID_HANDLE;
  CUmemcpy3D C = *P;
  Q->enqueue([C]() -> CUresult {
    for (size_t Z = 0; Z != C.Depth; ++Z)
      for (size_t Y = 0; Y != C.Height; ++Y)
        std::memcpy(addressOf(C.To, Y, Z), addressOf(C.From, Y, Z),
                    C.WidthInBytes);
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}

/// A mipmapped array is no array.
static bool isValid(const CUresourceDesc &R) {
  return R.Type > MNEME_RESOURCE_MIPMAP ||
         !arrayOf(R.Array)->NumLevels == (R.Type == MNEME_RESOURCE_ARRAY);
}

static MnemeTexture *describe(const CUresourceDesc &R) {
  auto *T = new MnemeTexture();
  T->Resource = R.Type;
  T->NumLevels = 1;
  switch (R.Type) {
  case MNEME_RESOURCE_LINEAR:
    T->Format = toDType(R.Linear.Format);
    T->Channels = R.Linear.NumChannels;
    T->Address = R.Linear.Address;
    T->Pitch = R.Linear.Size;
    T->Width = R.Linear.Size /
               Array{{0, 0, 0, R.Linear.Format, R.Linear.NumChannels, 0},
                     0,
                     nullptr,
                     0,
                     {}}
                   .element();
    break;
  case MNEME_RESOURCE_PITCH2D:
    T->Format = toDType(R.Pitch2D.Format);
    T->Channels = R.Pitch2D.NumChannels;
    T->Address = R.Pitch2D.Address;
    T->Pitch = R.Pitch2D.Pitch;
    T->Width = R.Pitch2D.Width;
    T->Height = R.Pitch2D.Height;
    break;
  default: {
    const Array &A = *arrayOf(R.Array);
    T->Format = toDType(A.D.Format);
    T->Channels = A.D.NumChannels;
    T->Address = reinterpret_cast<uint64_t>(A.data());
    T->Pitch = A.D.Width * A.element();
    T->Width = A.D.Width;
    T->Height = A.D.Height;
    T->Depth = A.D.Depth;
    T->NumLevels = std::max(A.NumLevels, 1u);
    T->Flags = (A.D.Flags & 1 ? MNEME_TEXTURE_LAYERED : 0) |
               (A.D.Flags & 4 ? MNEME_TEXTURE_CUBEMAP : 0);
  }
  }
  return T;
}

CUresult cuTexObjectCreate(CUtexObject *Object, const CUresourceDesc *R,
                           const CUtextureDesc *D, const void *) {
  if (!isValid(*R))
    return CUDA_ERROR_INVALID_VALUE;
  MnemeTexture *T = describe(*R);
  T->Type = MNEME_OBJECT_TEXTURE;
  bool IsInteger = T->Format != MNEME_DTYPE_F32 && T->Format != MNEME_DTYPE_F16;
  T->Flags |= (D->Flags & 1 || !IsInteger ? 0 : MNEME_TEXTURE_AS_FLOAT) |
              (D->Flags & 2 ? MNEME_TEXTURE_NORMALIZED : 0) |
              (D->Flags & 16 ? MNEME_TEXTURE_SRGB : 0) |
              (D->FilterMode ? MNEME_TEXTURE_LINEAR : 0) |
              (D->MipFilterMode ? MNEME_TEXTURE_LINEAR_MIP : 0);
  std::copy(D->AddressModes, D->AddressModes + 3, T->AddressModes);
  std::copy(D->Border, D->Border + 4, T->Border);
  T->MipBias = D->MipBias;
  T->MinLevel = D->MinLevel;
  T->MaxLevel = D->MaxLevel;
  *Object = reinterpret_cast<CUtexObject>(T);
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUtexObject *Object, const CUresourceDesc *R) {
  if (!isValid(*R) || R->Type != MNEME_RESOURCE_ARRAY)
    return CUDA_ERROR_INVALID_VALUE;
  MnemeTexture *T = describe(*R);
  T->Type = MNEME_OBJECT_SURFACE;
  *Object = reinterpret_cast<CUtexObject>(T);
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject Object) {
  delete reinterpret_cast<MnemeTexture *>(Object);
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUtexObject Object) {
  return cuTexObjectDestroy(Object);
}

} // extern "C"
