//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TappedTextures.h"
#include "CudaTextures.h"
#include "Shortage.h"

#include <cstring>
#include <iterator>

using namespace mneme;

// As cuda.h has them.
static constexpr int MemoryDevice = 2, MemoryArray = 3;
static constexpr unsigned MaxLevels = 32;

/// Memory that a recording has for textures.
struct TappedTextures::Pieces {
  struct Piece {
    uint64_t Offset; ///< In the job's buffer.
    uint64_t Size;
    uint32_t Kind; ///< MNEME_REGION_*
    MnemeTexture Description;
  };

  std::map<uint64_t, Piece> ByAddress; ///< In the recording.
  uint64_t Total = 0;                  ///< Bytes of the buffer.
};

//===----------------------------------------------------------------------===//
// The application's objects
//===----------------------------------------------------------------------===//

void TappedTextures::note(uint64_t Handle, const TappedTexture &T) {
  if (State.Off)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  attempt([&] {
    if (Driver.load())
      Textures[{Driver.currentContext(), Handle, T.IsSurface}] = T;
  });
}

void TappedTextures::forget(uint64_t Handle, bool IsSurface) {
  if (State.Off)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  if (Driver)
    Textures.erase({Driver.currentContext(), Handle, IsSurface});
}

void TappedTextures::forget(CUcontext Gone) {
  for (auto I = Textures.begin(); I != Textures.end();)
    I = std::get<CUcontext>(I->first) == Gone ? Textures.erase(I)
                                              : std::next(I);
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

static uint64_t bytesOf(uint32_t Format, uint32_t Channels) {
  bool Is8 = Format == MNEME_DTYPE_U8 || Format == MNEME_DTYPE_I8;
  bool Is16 = Format == MNEME_DTYPE_U16 || Format == MNEME_DTYPE_I16 ||
              Format == MNEME_DTYPE_F16;
  return (Is8 ? 1 : Is16 ? 2 : 4) * Channels;
}

static const char *const UnknownFormat =
    "a texture has a format that cannot be recorded";

/// Describes the array of an object. \p Levels gets the copies of its levels,
/// with offsets for targets. May throw.
std::string TappedTextures::describeArray(const TappedTexture &O,
                                          MnemeTexture &T,
                                          std::vector<CUmemcpy3D> &Levels) {
  bool IsMipmapped = O.Resource.Type == CudaResourceMipmappedArray;
  auto Array = reinterpret_cast<CUarray>(O.Resource.Array);
  uint64_t Offset = 0;
  for (unsigned I = 0; I != MaxLevels; ++I) {
    CUarray Level = Array;
    CUarrayDescriptor D = {};
    if (IsMipmapped && Driver->MipmappedArrayGetLevel(&Level, Array, I))
      break;
    if (CUresult E = Driver->Array3DGetDescriptor(&D, Level))
      return "the array of a texture cannot be read: " + Driver->describe(E);
    if (I == 0) {
      T.Format = formatOf(D.Format);
      T.Channels = D.NumChannels;
      T.Width = D.Width;
      T.Height = D.Height;
      T.Depth = D.Depth;
      T.Flags = arrayFlags(D.Flags);
    }
    uint64_t Element = bytesOf(T.Format, T.Channels);
    CUmemcpy3D C = {};
    C.From.MemoryType = MemoryArray;
    C.From.Array = Level;
    C.To.MemoryType = MemoryDevice;
    C.To.Device = Offset;
    C.To.Pitch = D.Width * Element;
    C.To.Height = atLeast1(D.Height);
    C.WidthInBytes = D.Width * Element;
    C.Height = atLeast1(D.Height);
    C.Depth = atLeast1(D.Depth);
    Levels.push_back(C);
    Offset += C.WidthInBytes * C.Height * C.Depth;
    if (!IsMipmapped)
      break;
  }
  T.NumLevels = Levels.size();
  T.Pitch = T.Width * bytesOf(T.Format, T.Channels);
  return T.Format && T.NumLevels ? "" : UnknownFormat;
}

/// \p Address gets the address that \p Size bytes have in recordings: the same
/// for the same key and size. May throw.
std::string TappedTextures::homeOf(const Gpu &G, uint64_t Key, uint64_t Size,
                                   uint64_t &Address) {
  auto I = Homes.find({Key, Size});
  if (I == Homes.end()) {
    AddressMap::Allocation *Home = Devs.homes().allocate(Size);
    if (!Home)
      return "no address is left for a texture";
    I = Homes.emplace(std::make_pair(Key, Size), Home->Address).first;
  }
  Address = G.Homes + I->second;
  return Address + Size > G.end() ? "no address is left for a texture" : "";
}

/// Describes an object. \p Elements gets the copies of its array, with offsets
/// for targets, and \p Size their bytes. \p Named gets the address of memory
/// outside the arena that it uses. May throw.
std::string TappedTextures::describe(const Gpu &G, const TappedTexture &O,
                                     MnemeTexture &D, TappedElements &Elements,
                                     uint64_t &Size,
                                     std::set<uint64_t> &Named) {
  D = {};
  D.Type = O.IsSurface ? MNEME_OBJECT_SURFACE : MNEME_OBJECT_TEXTURE;
  D.Resource = O.Resource.Type;
  D.NumLevels = 1;
  Elements.IsWritten = O.IsSurface;
  if (O.HasView)
    return "a texture has a view, which cannot be recorded";
  std::string Error;
  switch (O.Resource.Type) {
  case CudaResourceLinear:
    if (!parseFormat(O.Resource.Linear.Format, D.Format, D.Channels))
      return UnknownFormat;
    D.Address = reinterpret_cast<uint64_t>(O.Resource.Linear.Ptr);
    D.Pitch = O.Resource.Linear.Size;
    D.Width = D.Pitch / elementSize(O.Resource.Linear.Format);
    break;
  case CudaResourcePitch2D:
    if (!parseFormat(O.Resource.Pitch2D.Format, D.Format, D.Channels))
      return UnknownFormat;
    D.Address = reinterpret_cast<uint64_t>(O.Resource.Pitch2D.Ptr);
    D.Pitch = O.Resource.Pitch2D.Pitch;
    D.Width = O.Resource.Pitch2D.Width;
    D.Height = O.Resource.Pitch2D.Height;
    break;
  default:
    Error = describeArray(O, D, Elements.Copies);
    for (const CUmemcpy3D &C : Elements.Copies)
      Size += C.WidthInBytes * C.Height * C.Depth;
    if (Error.empty())
      Error = homeOf(G, reinterpret_cast<uint64_t>(O.Resource.Array), Size,
                     D.Address);
  }
  if (Error.empty() && !Size && !G.Heap.find(D.Address)) {
    const auto *Outside = Foreign.find(D.Address);
    if (!Outside || !ForeignMemory::canRecord(G, Outside->second))
      return "a texture uses memory that cannot be recorded";
    Named.insert(Outside->first);
  }
  if (!O.IsSurface)
    describeTexture(D, O.Texture);
  return Error;
}

/// Adds the object whose handle is at \p At, in the arguments, to \p All, and
/// replaces the handle. May throw.
std::string TappedTextures::addObject(RecordingJob &J, char *At, bool IsSurface,
                                      Pieces &All, std::set<uint64_t> &Named) {
  uint64_t Handle;
  memcpy(&Handle, At, sizeof(Handle));
  auto Found = Textures.find({J.On->Context, Handle, IsSurface});
  if (!Handle) // No object, which the kernel does not use.
    return "";
  if (Found == Textures.end())
    return "an argument is the handle of an unknown texture or surface object";
  Pieces::Piece New = {0, 0, MNEME_REGION_TEXTURE, {}};
  TappedElements Elements;
  uint64_t Size = 0, Home = 0;
  std::string Error =
      describe(*J.On, Found->second, New.Description, Elements, Size, Named);
  if (Error.empty())
    Error = homeOf(*J.On, 2 * Handle + Found->second.IsSurface,
                   sizeof(MnemeTexture), Home);
  if (!Error.empty())
    return Error;
  auto Add = [&](uint64_t Address, Pieces::Piece P) {
    P.Offset = All.Total;
    if (All.ByAddress.insert({Address, P}).second)
      All.Total += alignCopy(P.Size);
    return All.ByAddress[Address].Offset;
  };
  if (Size) {
    uint64_t Offset =
        Add(New.Description.Address, {0, Size, MNEME_REGION_HEAP, {}});
    for (CUmemcpy3D &C : Elements.Copies)
      C.To.Device += Offset;
    J.Elements.push_back(std::move(Elements));
  }
  New.Size = sizeof(MnemeTexture);
  Add(Home, New);
  memcpy(At, &Home, sizeof(Home));
  return "";
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

std::string TappedTextures::locate(const Target &T, const Launch &L,
                                   RecordingJob &J,
                                   std::vector<Recording::Region> &Regions,
                                   std::set<uint64_t> &Named) {
  if (T.K.Handles.empty() || !L.Args)
    return "";
  if (!Driver->Memcpy3DAsync || !Driver->Array3DGetDescriptor)
    return "the driver does not copy arrays";
  Pieces All;
  for (size_t I = 0; I != T.K.Args.size(); ++I) {
    const KernelArg &A = T.K.Args[I];
    auto *From = static_cast<const char *>(L.Args[I]);
    J.ArgBytes.emplace_back(From, From + A.Size);
    J.Args.push_back(J.ArgBytes.back().data());
    for (const auto &[Offset, IsSurface] : T.K.Handles)
      if (Offset >= A.Offset && Offset + 8 <= A.Offset + A.Size) {
        std::string Error =
            addObject(J, J.ArgBytes.back().data() + (Offset - A.Offset),
                      IsSurface, All, Named);
        if (!Error.empty())
          return Error;
      }
  }
  if (All.Total)
    if (CopyBuffers::Room R = Buffers.acquire(*J.On, All.Total, J.Textures);
        R != CopyBuffers::Room::Found)
      return CopyBuffers::explain(R);
  for (TappedElements &E : J.Elements)
    for (CUmemcpy3D &C : E.Copies)
      C.To.Device += J.Textures.Address;
  for (const auto &[Address, P] : All.ByAddress) {
    CUdeviceptr Live = J.Textures.Address + P.Offset;
    Regions.push_back({Address, P.Size, P.Kind, ""});
    J.Parts.push_back({Address, Live, P.Size, 0});
    if (P.Kind == MNEME_REGION_TEXTURE)
      if (CUresult E = Driver->MemcpyHtoD(Live, &P.Description, P.Size))
        return "a texture cannot be described: " + Driver->describe(E);
  }
  return copyElements(J, /*OnlyWritten=*/false);
}

std::string TappedTextures::copyElements(const RecordingJob &J,
                                         bool OnlyWritten) {
  for (const TappedElements &Elements : J.Elements)
    for (const CUmemcpy3D &C : Elements.Copies) {
      if (OnlyWritten && !Elements.IsWritten)
        continue;
      if (CUresult E = Driver->Memcpy3DAsync(&C, J.Stream))
        return "the array of a texture cannot be copied: " +
               Driver->describe(E);
    }
  if (J.Elements.empty())
    return "";
  CUresult E = Driver->StreamSynchronize(J.Stream);
  return E ? "the array of a texture cannot be copied: " + Driver->describe(E)
           : "";
}
