//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bytes that the dynamic hash of a launch covers: a LaunchKey, then, with
/// --record-id=scalars, the scalars, or with --record-id=ordinal the number of
/// the launch in decimal. The hash is XXH3-64. For the tools and for the
/// runtime: no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_LAUNCHHASH_H
#define LLVM_MNEME_RUNTIME_LAUNCHHASH_H

#include <cstdint>
#include <cstring>
#include <string>

namespace mneme {

/// A launch's configuration.
struct LaunchKey {
  uint8_t StaticHash[16];
  uint32_t Grid[3], Block[3];
  uint64_t SharedMem; ///< Dynamic, bytes.
  uint64_t Cooperative;
};
static_assert(sizeof(LaunchKey) == 56, "no padding in what is hashed");

/// Whether \p V can be an address, of the device or of the host: no double that
/// is not tiny looks like that, and few integers do.
inline bool looksLikeAddress(uint64_t V) { return V >> 44 && V >> 44 < 8; }

/// Appends the bytes of an argument that is not a pointer to \p Scalars, but
/// for addresses, which differ from run to run where nothing else does.
inline void appendScalar(std::string &Scalars, const void *Arg, uint32_t Size) {
  size_t Begin = Scalars.size();
  Scalars.append(static_cast<const char *>(Arg), Size);
  for (uint32_t At = 0; At + 8 <= Size; At += 8) {
    uint64_t V;
    memcpy(&V, &Scalars[Begin + At], 8);
    if (looksLikeAddress(V))
      memset(&Scalars[Begin + At], 0, 8);
  }
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_LAUNCHHASH_H
