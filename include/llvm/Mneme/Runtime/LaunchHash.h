//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The data that the dynamic hash of a launch covers: a LaunchKey, followed by
/// the scalars with --record-id=scalars, or the decimal number of the launch
/// with --record-id=ordinal. The hash is XXH3-64. Shared by the tools and the
/// runtime: no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_LAUNCHHASH_H
#define LLVM_MNEME_RUNTIME_LAUNCHHASH_H

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace mneme {

/// The configuration of a launch.
struct LaunchKey {
  uint8_t StaticHash[16];
  uint32_t Grid[3], Block[3];
  uint64_t SharedMem; ///< Bytes of dynamic shared memory.
  uint64_t Cooperative;
};
static_assert(sizeof(LaunchKey) == 56, "no padding in what is hashed");

/// Appends the size of a cluster to what is hashed after the key. Nothing for
/// launches without clusters of several blocks.
inline void appendCluster(std::string &Rest, std::array<uint32_t, 3> Size) {
  if (Size != std::array<uint32_t, 3>{1, 1, 1})
    Rest.append(reinterpret_cast<const char *>(Size.data()), sizeof(Size));
}

/// Returns true if \p V may be a device or host address. Apart from tiny
/// numbers, no double has such bits, and few integers do.
inline bool looksLikeAddress(uint64_t V) { return V >> 44 && V >> 44 < 8; }

/// Appends the bytes of a non-pointer argument to \p Scalars. Replaces
/// addresses by zeros, because they vary between otherwise equal runs.
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
