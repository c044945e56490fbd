//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device memory at fixed addresses. The arena reserves one range of virtual
/// addresses, commits nothing up front, and hands out page-granular pieces of
/// it, so that a pointer recorded in one process is valid in another one that
/// restores the piece at its address. Used inside the application and by
/// replay: no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_ARENA_H
#define MNEME_LIB_RUNTIME_ARENA_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace mneme {

/// Not thread-safe: the owner locks. Destroying it unmaps the range.
class Arena {
public:
  static constexpr uint64_t PageSize = 4096;

  struct Allocation {
    uint64_t Address;
    uint64_t Size; ///< Bytes asked for.
    uint32_t Kind; ///< The caller's own.
    uint32_t Flags;
    void *Owner; ///< The caller's own.
  };

  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();

  /// Reserves [Base, Base + Size), both multiples of a page, without replacing
  /// anything that is mapped there. \returns an empty string, or what went
  /// wrong.
  std::string reserve(uint64_t Base, uint64_t Size);

  /// The best fitting free place for \p Size bytes (at least one page),
  /// readable, writable and zero, with an unmapped page behind it. \returns
  /// null when there is neither address space nor memory for it.
  Allocation *allocate(uint64_t Size, uint32_t Kind = 0);

  /// The same at a given page-aligned address. \returns null when part of the
  /// place is taken or outside the arena.
  Allocation *allocateAt(uint64_t Address, uint64_t Size, uint32_t Kind = 0);

  /// Gives an allocation back: its pages fault from now on. \returns false when
  /// no allocation starts at \p Address.
  bool release(uint64_t Address);

  /// The allocation whose bytes include \p Address, or null. One byte beyond
  /// the size that was asked for is outside.
  Allocation *find(uint64_t Address);
  Allocation *find(const void *P) {
    return find(reinterpret_cast<uint64_t>(P));
  }

  /// Whether \p P lies in the reserved range, allocated or not.
  bool contains(const void *P) const {
    return reinterpret_cast<uint64_t>(P) - Base < Size;
  }

  /// Live allocations by address.
  const std::map<uint64_t, Allocation> &allocations() const { return Live; }

  uint64_t base() const { return Base; }
  uint64_t size() const { return Size; }
  /// Bytes asked for by live allocations.
  uint64_t bytesInUse() const { return InUse; }

private:
  using FreeMap = std::map<uint64_t, uint64_t>;

  /// Bytes of address space that an allocation takes: whole pages and the
  /// guard.
  static uint64_t span(uint64_t Size);
  Allocation *take(FreeMap::iterator Free, uint64_t Address, uint64_t Size,
                   uint32_t Kind);
  void addFree(uint64_t Address, uint64_t Size);
  void removeFree(FreeMap::iterator I);

  uint64_t Base = 0, Size = 0, InUse = 0;
  std::map<uint64_t, Allocation> Live;
  FreeMap FreeByAddress;
  std::set<std::pair<uint64_t, uint64_t>> FreeBySize; ///< {size, address}
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_ARENA_H
