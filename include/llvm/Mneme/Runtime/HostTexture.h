//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions that compiled kernels of the host device call to read and write
/// textures and surfaces. A handle is the address of a MnemeTexture
/// (RecordFormat.h). C only.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_HOSTTEXTURE_H
#define LLVM_MNEME_RUNTIME_HOSTTEXTURE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The parameter \p What of an access: flags and fields.
enum {
  MNEME_TEX_GEOMETRY = 7, ///< Mask of the geometry: 1, 2 or 3 dimensions, or
  MNEME_TEX_CUBE = 4,
  MNEME_TEX_LAYERED = 8,
  MNEME_TEX_INTEGERS = 16, ///< Integer coordinates, without filtering.
  MNEME_TEX_LEVEL = 32,    ///< E0 is the level.
  MNEME_TEX_GRADIENTS = 64,
  MNEME_TEX_GATHER = 128,
  MNEME_TEX_CHANNEL_SHIFT = 8, ///< Two bits: the channel to gather.
  MNEME_SURF_BYTES_SHIFT = 10, ///< Five bits: the bytes of a surface access.
  MNEME_SURF_CLAMP = 1 << 15,  ///< Clamp coordinates.
  MNEME_SURF_ZERO = 1 << 16,   ///< Out of range: read zeros, drop writes.
                               ///< Without either flag: trap.
};

enum {
  MNEME_QUERY_WIDTH = 0,
  MNEME_QUERY_HEIGHT = 1,
  MNEME_QUERY_DEPTH = 2,
  MNEME_QUERY_LAYERS = 3,
  MNEME_QUERY_LEVELS = 4,
};

/// Four channels of 32 bits, or up to 16 bytes from a surface.
typedef struct {
  uint64_t Low, High;
} MnemeHostTexel;

/// Coordinates are integers, or the bits of floats. \p E0 to \p E5 are the
/// level, or the gradients in x, then those in y.
MnemeHostTexel __mneme_host_texture(uint64_t Handle, uint32_t What, uint32_t X,
                                    uint32_t Y, uint32_t Z, uint32_t Layer,
                                    uint32_t E0, uint32_t E1, uint32_t E2,
                                    uint32_t E3, uint32_t E4, uint32_t E5);
uint32_t __mneme_host_texture_query(uint64_t Handle, uint32_t What);
/// \p X is in bytes.
MnemeHostTexel __mneme_host_surface_read(uint64_t Handle, uint32_t What,
                                         uint32_t X, uint32_t Y, uint32_t Z,
                                         uint32_t Layer);
void __mneme_host_surface_write(uint64_t Handle, uint32_t What, uint32_t X,
                                uint32_t Y, uint32_t Z, uint32_t Layer,
                                uint64_t Low, uint64_t High);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_HOSTTEXTURE_H
