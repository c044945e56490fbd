//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversion of the CUDA runtime's texture and surface descriptions to those
/// in recordings.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_CUDATEXTURES_H
#define MNEME_LIB_RUNTIME_DRIVER_CUDATEXTURES_H

#include "CudaTypes.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <algorithm>

namespace mneme {

/// cudaArray* and CUDA_ARRAY3D_*.
constexpr unsigned ArrayLayered = 1, ArrayCubemap = 4;

/// Returns the MNEME_TEXTURE_* flags of an array with these flags.
inline uint32_t arrayFlags(unsigned Flags) {
  return (Flags & ArrayLayered ? MNEME_TEXTURE_LAYERED : 0) |
         (Flags & ArrayCubemap ? MNEME_TEXTURE_CUBEMAP : 0);
}

/// Extents are 0 in missing dimensions.
inline uint64_t atLeast1(uint64_t V) { return V ? V : 1; }

/// A format of elements that recordings support.
struct TextureFormat {
  uint32_t DType; ///< MNEME_DTYPE_*
  int Kind, Bits; ///< As in CudaChannelFormatDesc.
  int Driver;     ///< CUarray_format
};
inline constexpr TextureFormat TextureFormats[] = {
    {MNEME_DTYPE_U8, CudaChannelUnsigned, 8, 1},
    {MNEME_DTYPE_U16, CudaChannelUnsigned, 16, 2},
    {MNEME_DTYPE_U32, CudaChannelUnsigned, 32, 3},
    {MNEME_DTYPE_I8, CudaChannelSigned, 8, 8},
    {MNEME_DTYPE_I16, CudaChannelSigned, 16, 9},
    {MNEME_DTYPE_I32, CudaChannelSigned, 32, 10},
    {MNEME_DTYPE_F16, CudaChannelFloat, 16, 16},
    {MNEME_DTYPE_F32, CudaChannelFloat, 32, 32},
};

/// Returns the MNEME_DTYPE_* of a CUarray_format; \p Other for formats that
/// recordings do not support.
inline uint32_t formatOf(int Driver, uint32_t Other = 0) {
  for (const TextureFormat &F : TextureFormats)
    if (F.Driver == Driver)
      return F.DType;
  return Other;
}

/// Sets \p Format to MNEME_DTYPE_*, and the number of channels. \returns false
/// for formats that recordings do not support; \p Format is then unchanged.
inline bool parseFormat(const CudaChannelFormatDesc &D, uint32_t &Format,
                        uint32_t &Channels) {
  const int Bits[] = {D.X, D.Y, D.Z, D.W};
  Channels = 0;
  while (Channels != 4 && Bits[Channels])
    if (Bits[Channels++] != D.X)
      return false;
  if (Channels != 1 && Channels != 2 && Channels != 4)
    return false;
  for (const TextureFormat &F : TextureFormats)
    if (F.Kind == D.Format && F.Bits == D.X) {
      Format = F.DType;
      return true;
    }
  return false;
}

/// Returns the element size in bytes.
inline uint64_t elementSize(const CudaChannelFormatDesc &D) {
  return (uint64_t(D.X) + D.Y + D.Z + D.W) / 8;
}

/// Sets the lookup properties of \p T from \p D. Its format must be set.
inline void describeTexture(MnemeTexture &T, const CudaTextureDesc &D) {
  bool IsInteger = T.Format != MNEME_DTYPE_F32 && T.Format != MNEME_DTYPE_F16;
  T.Flags |= (D.NormalizedCoordinates ? MNEME_TEXTURE_NORMALIZED : 0) |
             (D.ReadMode && IsInteger ? MNEME_TEXTURE_AS_FLOAT : 0) |
             (D.FilterMode ? MNEME_TEXTURE_LINEAR : 0) |
             (D.MipFilterMode ? MNEME_TEXTURE_LINEAR_MIP : 0) |
             (D.SRGB ? MNEME_TEXTURE_SRGB : 0);
  std::copy(D.AddressModes, D.AddressModes + 3, T.AddressModes);
  std::copy(D.Border, D.Border + 4, T.Border);
  T.MaxAnisotropy = D.MaxAnisotropy;
  T.MipBias = D.MipBias;
  T.MinLevel = D.MinLevel;
  T.MaxLevel = D.MaxLevel;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_CUDATEXTURES_H
