//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Textures and surfaces: the functions that compiled kernels call to access
/// them. Filtering follows the CUDA programming guide, including its weights
/// with 8 fractional bits.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/HostTexture.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <math.h>
#include <string.h>

extern "C" void __mneme_host_trap(void);

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// A mipmap level of a texture, or the memory of a surface.
struct Level {
  char *Address;
  int64_t Pitch, Width, Height, Depth;
};

/// The four channels of an element, as floats or as integers.
union Element {
  float F[4];
  uint32_t U[4];
};
} // namespace

static unsigned bytesOf(uint32_t Format) {
  switch (Format) {
  case MNEME_DTYPE_I8:
  case MNEME_DTYPE_U8:
    return 1;
  case MNEME_DTYPE_I16:
  case MNEME_DTYPE_U16:
  case MNEME_DTYPE_F16:
    return 2;
  default:
    return 4;
  }
}

static const MnemeTexture &objectOf(uint64_t Handle, uint32_t Type) {
  auto *T = reinterpret_cast<const MnemeTexture *>(Handle);
  if (T->Type != Type)
    __mneme_host_trap();
  return *T;
}

static bool hasLayers(const MnemeTexture &T) {
  return T.Flags & (MNEME_TEXTURE_LAYERED | MNEME_TEXTURE_CUBEMAP);
}

static Level levelOf(const MnemeTexture &T, unsigned Number) {
  auto AtLeast1 = [](uint64_t V) { return V ? int64_t(V) : 1; };
  Level L = {reinterpret_cast<char *>(T.Address), int64_t(T.Pitch),
             AtLeast1(T.Width), AtLeast1(T.Height), AtLeast1(T.Depth)};
  unsigned Bytes = bytesOf(T.Format) * T.Channels;
  for (unsigned I = 0; I != Number && I + 1 < T.NumLevels; ++I) {
    L.Address += L.Pitch * L.Height * L.Depth;
    L.Width = AtLeast1(L.Width / 2);
    L.Height = AtLeast1(L.Height / 2);
    if (!hasLayers(T))
      L.Depth = AtLeast1(L.Depth / 2);
    L.Pitch = L.Width * Bytes;
  }
  return L;
}

static float halfToFloat(uint16_t Bits) {
  float Fraction = float(Bits & 0x3ff);
  int Exponent = Bits >> 10 & 31;
  float F = Exponent == 31 ? (Fraction == 0 ? INFINITY : NAN)
            : Exponent     ? ldexpf(Fraction + 1024, Exponent - 25)
                           : ldexpf(Fraction, -24);
  return Bits & 0x8000 ? -F : F;
}

static float fromSRGB(float V) {
  return V <= 0.04045f ? V / 12.92f : powf((V + 0.055f) / 1.055f, 2.4f);
}

/// Returns channel \p C as the bits of a float or a 32-bit integer.
static uint32_t readChannel(const MnemeTexture &T, const char *From,
                            unsigned C) {
  auto BitsOf = [](float F) {
    uint32_t Bits;
    memcpy(&Bits, &F, sizeof(F));
    return Bits;
  };
  auto Read = [&](auto V) {
    memcpy(&V, From + C * sizeof(V), sizeof(V));
    return V;
  };
  bool AsFloat = T.Flags & MNEME_TEXTURE_AS_FLOAT;
  auto Signed = [&](auto V, float Most) {
    float F = float(V) / Most;
    return AsFloat ? BitsOf(F < -1 ? -1 : F) : uint32_t(int32_t(V));
  };
  auto Unsigned = [&](auto V, float Most) {
    float F = float(V) / Most;
    if (T.Flags & MNEME_TEXTURE_SRGB && C < 3)
      F = fromSRGB(F);
    return AsFloat ? BitsOf(F) : uint32_t(V);
  };
  switch (T.Format) {
  case MNEME_DTYPE_I8:
    return Signed(Read(int8_t()), 127);
  case MNEME_DTYPE_U8:
    return Unsigned(Read(uint8_t()), 255);
  case MNEME_DTYPE_I16:
    return Signed(Read(int16_t()), 32767);
  case MNEME_DTYPE_U16:
    return Unsigned(Read(uint16_t()), 65535);
  case MNEME_DTYPE_F16:
    return BitsOf(halfToFloat(Read(uint16_t())));
  default:
    return Read(uint32_t());
  }
}

static bool readsFloats(const MnemeTexture &T) {
  return T.Format == MNEME_DTYPE_F32 || T.Format == MNEME_DTYPE_F16 ||
         T.Flags & MNEME_TEXTURE_AS_FLOAT;
}

/// Returns the element at indices in range.
static Element readElement(const MnemeTexture &T, const Level &L, int64_t X,
                           int64_t Y, int64_t Z) {
  Element E = {};
  if (readsFloats(T))
    E.F[3] = 1;
  else
    E.U[3] = 1;
  const char *From = L.Address + (Z * L.Height + Y) * L.Pitch +
                     X * bytesOf(T.Format) * T.Channels;
  for (unsigned C = 0; C != T.Channels; ++C)
    E.U[C] = readChannel(T, From, C);
  return E;
}

/// Maps an index into range. \returns false for border elements.
static bool wrapIndex(const MnemeTexture &T, unsigned Axis, int64_t &I,
                      int64_t Size) {
  if (I >= 0 && I < Size)
    return true;
  uint32_t Mode = T.AddressModes[Axis];
  bool Periodic = T.Flags & MNEME_TEXTURE_NORMALIZED;
  if (Mode == MNEME_ADDRESS_BORDER)
    return false;
  if (Mode == MNEME_ADDRESS_WRAP && Periodic) {
    I = ((I % Size) + Size) % Size;
  } else if (Mode == MNEME_ADDRESS_MIRROR && Periodic) {
    int64_t At = ((I % (2 * Size)) + 2 * Size) % (2 * Size);
    I = At < Size ? At : 2 * Size - 1 - At;
  } else {
    I = I < 0 ? 0 : Size - 1;
  }
  return true;
}

static Element border(const MnemeTexture &T) {
  Element E;
  for (unsigned C = 0; C != 4; ++C)
    if (readsFloats(T))
      E.F[C] = T.Border[C];
    else
      E.U[C] = uint32_t(int64_t(T.Border[C]));
  return E;
}

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

namespace {
/// The location of a lookup: coordinates, and the layer or face.
struct Place {
  unsigned Dimensions;
  float At[3];
  int64_t Layer;
};
} // namespace

static Element readWrapped(const MnemeTexture &T, const Level &L,
                           const Place &P, const int64_t *Index) {
  const int64_t Sizes[] = {L.Width, L.Height, L.Depth};
  int64_t I[3] = {0, 0, P.Layer};
  for (unsigned A = 0; A != P.Dimensions; ++A) {
    I[A] = Index[A];
    if (!wrapIndex(T, A, I[A], Sizes[A]))
      return border(T);
  }
  return readElement(T, L, I[0], I[1], I[2]);
}

/// Returns a coordinate in elements of the level.
static float positionOf(const MnemeTexture &T, const Level &L, const Place &P,
                        unsigned Axis) {
  const int64_t Sizes[] = {L.Width, L.Height, L.Depth};
  bool IsNormalized = T.Flags & MNEME_TEXTURE_NORMALIZED;
  return P.At[Axis] * (IsNormalized ? float(Sizes[Axis]) : 1.0f);
}

/// floor() as an index. Values that are too large, and NaN, are far out of
/// range.
static int64_t indexOf(float V) {
  constexpr float Most = 1e9f;
  if (V >= Most)
    return int64_t(Most);
  return V > -Most ? int64_t(floorf(V)) : int64_t(-Most);
}

static Element filterPoint(const MnemeTexture &T, const Level &L,
                           const Place &P) {
  int64_t Index[3] = {};
  for (unsigned A = 0; A != P.Dimensions; ++A)
    Index[A] = indexOf(positionOf(T, L, P, A));
  return readWrapped(T, L, P, Index);
}

static Element filterLinear(const MnemeTexture &T, const Level &L,
                            const Place &P) {
  int64_t Base[3] = {};
  float Weight[3] = {};
  for (unsigned A = 0; A != P.Dimensions; ++A) {
    float At = positionOf(T, L, P, A) - 0.5f;
    Base[A] = indexOf(At);
    float Fraction = At - floorf(At);
    Weight[A] = Fraction < 1 ? roundf(Fraction * 256) / 256 : 0; // 0 for
                                                                 // infinity.
  }
  Element Sum = {};
  for (unsigned Corner = 0; Corner != 1u << P.Dimensions; ++Corner) {
    int64_t Index[3];
    float Share = 1;
    for (unsigned A = 0; A != P.Dimensions; ++A) {
      bool IsUpper = Corner >> A & 1;
      Index[A] = Base[A] + IsUpper;
      Share *= IsUpper ? Weight[A] : 1 - Weight[A];
    }
    if (Share == 0)
      continue;
    Element E = readWrapped(T, L, P, Index);
    for (unsigned C = 0; C != 4; ++C)
      Sum.F[C] += Share * E.F[C];
  }
  return Sum;
}

static Element filterLevel(const MnemeTexture &T, unsigned Number,
                           const Place &P) {
  Level L = levelOf(T, Number);
  return T.Flags & MNEME_TEXTURE_LINEAR && readsFloats(T)
             ? filterLinear(T, L, P)
             : filterPoint(T, L, P);
}

static Element filter(const MnemeTexture &T, const Place &P, float Detail) {
  float Last = T.NumLevels ? float(T.NumLevels - 1) : 0;
  if (Last == 0)
    return filterLevel(T, 0, P);
  Detail += T.MipBias;
  Detail = fmaxf(T.MinLevel, fminf(Detail, fminf(T.MaxLevel, Last)));
  Detail = fmaxf(Detail, 0);
  if (!(T.Flags & MNEME_TEXTURE_LINEAR_MIP) || !readsFloats(T))
    return filterLevel(T, unsigned(floorf(Detail + 0.5f)), P);
  float Share = roundf((Detail - floorf(Detail)) * 256) / 256;
  Element E = filterLevel(T, unsigned(Detail), P);
  if (Share == 0)
    return E;
  Element Next = filterLevel(T, unsigned(Detail) + 1, P);
  for (unsigned C = 0; C != 4; ++C)
    E.F[C] = (1 - Share) * E.F[C] + Share * Next.F[C];
  return E;
}

/// Returns a corner of the four elements around a location, numbered like the
/// corners of a linear filter.
static uint32_t gather(const MnemeTexture &T, const Place &P, unsigned Corner,
                       unsigned Channel) {
  Level L = levelOf(T, 0);
  int64_t Index[2];
  for (unsigned A = 0; A != 2; ++A)
    Index[A] = indexOf(positionOf(T, L, P, A) - 0.5f) + (Corner >> A & 1);
  return readWrapped(T, L, P, Index).U[Channel];
}

/// Converts a direction to a face of a cube and a location on it.
static void selectFace(const MnemeTexture &T, Place &P) {
  float X = P.At[0], Y = P.At[1], Z = P.At[2];
  float AX = fabsf(X), AY = fabsf(Y), AZ = fabsf(Z);
  float S, V, Major;
  int64_t Face;
  if (AX >= AY && AX >= AZ) {
    Face = X < 0;
    Major = AX;
    S = X < 0 ? Z : -Z;
    V = -Y;
  } else if (AY >= AZ) {
    Face = 2 + (Y < 0);
    Major = AY;
    S = X;
    V = Y < 0 ? -Z : Z;
  } else {
    Face = 4 + (Z < 0);
    Major = AZ;
    S = Z < 0 ? -X : X;
    V = -Y;
  }
  // In units of the texture's coordinates.
  float Size = T.Flags & MNEME_TEXTURE_NORMALIZED ? 1.0f : float(T.Width);
  P.At[0] = (S / Major + 1) / 2 * Size;
  P.At[1] = (V / Major + 1) / 2 * Size;
  P.Layer = 6 * P.Layer + Face;
  P.Dimensions = 2;
}

/// Returns log2 of the longest step between neighbors, in elements.
static float detailOf(const MnemeTexture &T, unsigned Dimensions,
                      const float *Gradients) {
  Place P = {};
  Level L = levelOf(T, 0);
  float Longest = 0;
  for (unsigned D = 0; D != 2; ++D) {
    float Length = 0;
    for (unsigned A = 0; A != Dimensions; ++A) {
      P.At[A] = Gradients[D * Dimensions + A];
      float Step = positionOf(T, L, P, A);
      Length += Step * Step;
    }
    Longest = fmaxf(Longest, sqrtf(Length));
  }
  return log2f(Longest);
}

static MnemeHostTexel pack(const Element &E) {
  return {E.U[0] | uint64_t(E.U[1]) << 32, E.U[2] | uint64_t(E.U[3]) << 32};
}

static float floatOf(uint32_t Bits) {
  float F;
  memcpy(&F, &Bits, sizeof(F));
  return F;
}

extern "C" MnemeHostTexel
__mneme_host_texture(uint64_t Handle, uint32_t What, uint32_t X, uint32_t Y,
                     uint32_t Z, uint32_t Layer, uint32_t E0, uint32_t E1,
                     uint32_t E2, uint32_t E3, uint32_t E4, uint32_t E5) {
  const MnemeTexture &T = objectOf(Handle, MNEME_OBJECT_TEXTURE);
  unsigned Geometry = What & MNEME_TEX_GEOMETRY;
  const uint32_t Coordinates[] = {X, Y, Z};
  if (What & MNEME_TEX_INTEGERS) {
    // Without filtering; elements out of range are zero.
    Level L = levelOf(T, What & MNEME_TEX_LEVEL ? E0 : 0);
    int64_t I[3] = {int32_t(X), 0, What & MNEME_TEX_LAYERED ? Layer : 0};
    for (unsigned A = 1; A < Geometry; ++A)
      I[A] = int32_t(Coordinates[A]);
    if (I[0] < 0 || I[1] < 0 || I[2] < 0 || I[0] >= L.Width ||
        I[1] >= L.Height || I[2] >= L.Depth)
      return pack(Element{});
    return pack(readElement(T, L, I[0], I[1], I[2]));
  }
  Place P = {Geometry, {floatOf(X), floatOf(Y), floatOf(Z)}, 0};
  if (What & MNEME_TEX_LAYERED) {
    int64_t Layers = int64_t(T.Depth) / (Geometry == MNEME_TEX_CUBE ? 6 : 1);
    P.Layer = int32_t(Layer) < 0         ? 0
              : int64_t(Layer) >= Layers ? Layers - 1
                                         : Layer;
  }
  float Detail = What & MNEME_TEX_LEVEL ? floatOf(E0) : 0;
  const uint32_t Rest[] = {E0, E1, E2, E3, E4, E5};
  if (What & MNEME_TEX_GRADIENTS) {
    float Gradients[6];
    for (unsigned I = 0; I != 6; ++I)
      Gradients[I] = floatOf(Rest[I]);
    Detail = detailOf(T, Geometry == MNEME_TEX_CUBE ? 3 : Geometry, Gradients);
  }
  if (Geometry == MNEME_TEX_CUBE)
    selectFace(T, P);
  if (What & MNEME_TEX_GATHER) {
    unsigned C = What >> MNEME_TEX_CHANNEL_SHIFT & 3;
    Element E = {};
    const unsigned Corners[] = {2, 3, 1, 0};
    for (unsigned I = 0; I != 4; ++I)
      E.U[I] = gather(T, P, Corners[I], C);
    return pack(E);
  }
  return pack(filter(T, P, Detail));
}

extern "C" uint32_t __mneme_host_texture_query(uint64_t Handle, uint32_t What) {
  auto &T = *reinterpret_cast<const MnemeTexture *>(Handle);
  switch (What) {
  case MNEME_QUERY_WIDTH:
    return T.Width;
  case MNEME_QUERY_HEIGHT:
    return T.Height;
  case MNEME_QUERY_DEPTH:
    return hasLayers(T) ? 0 : T.Depth;
  case MNEME_QUERY_LAYERS:
    return hasLayers(T) ? T.Depth : 0;
  default:
    return T.NumLevels;
  }
}

//===----------------------------------------------------------------------===//
// Surfaces
//===----------------------------------------------------------------------===//

/// Returns the address of a surface access; null if it reads zeros and writes
/// nothing.
static char *locate(uint64_t Handle, uint32_t What, uint32_t X, uint32_t Y,
                    uint32_t Z, uint32_t Layer) {
  const MnemeTexture &T = objectOf(Handle, MNEME_OBJECT_SURFACE);
  Level L = levelOf(T, 0);
  unsigned Geometry = What & MNEME_TEX_GEOMETRY;
  int64_t Bytes = What >> MNEME_SURF_BYTES_SHIFT & 31;
  int64_t I[3] = {int32_t(X), Geometry > 1 ? int32_t(Y) : 0,
                  Geometry > 2               ? int32_t(Z)
                  : What & MNEME_TEX_LAYERED ? int32_t(Layer)
                                             : 0};
  const int64_t Most[] = {L.Width * bytesOf(T.Format) * T.Channels - Bytes,
                          L.Height - 1, L.Depth - 1};
  for (unsigned A = 0; A != 3; ++A) {
    if (I[A] >= 0 && I[A] <= Most[A])
      continue;
    if (What & MNEME_SURF_ZERO)
      return nullptr;
    // An access that is wider than the row cannot be clamped.
    if (!(What & MNEME_SURF_CLAMP) || Most[A] < 0)
      __mneme_host_trap();
    I[A] = I[A] < 0 ? 0 : Most[A];
  }
  return L.Address + (I[2] * L.Height + I[1]) * L.Pitch + I[0];
}

extern "C" MnemeHostTexel __mneme_host_surface_read(uint64_t Handle,
                                                    uint32_t What, uint32_t X,
                                                    uint32_t Y, uint32_t Z,
                                                    uint32_t Layer) {
  MnemeHostTexel R = {0, 0};
  if (const char *From = locate(Handle, What, X, Y, Z, Layer))
    memcpy(&R, From, What >> MNEME_SURF_BYTES_SHIFT & 31);
  return R;
}

extern "C" void __mneme_host_surface_write(uint64_t Handle, uint32_t What,
                                           uint32_t X, uint32_t Y, uint32_t Z,
                                           uint32_t Layer, uint64_t Low,
                                           uint64_t High) {
  MnemeHostTexel V = {Low, High};
  if (char *To = locate(Handle, What, X, Y, Z, Layer))
    memcpy(To, &V, What >> MNEME_SURF_BYTES_SHIFT & 31);
}
