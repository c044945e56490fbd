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

#ifndef MNEME_LIB_RUNTIME_ARENA_ARENA_H
#define MNEME_LIB_RUNTIME_ARENA_ARENA_H

#include "AddressMap.h"

#include <string>

namespace mneme {

/// Not thread-safe: the owner locks. Destroying it unmaps the range.
class Arena {
public:
  static constexpr uint64_t PageSize = 4096;

  using Allocation = AddressMap::Allocation;

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

  /// As AddressMap has them.
  Allocation *find(uint64_t Address) { return Map.find(Address); }
  Allocation *find(const void *P) { return Map.find(P); }
  bool contains(const void *P) const { return Map.contains(P); }
  const std::map<uint64_t, Allocation> &allocations() const {
    return Map.allocations();
  }
  uint64_t base() const { return Map.base(); }
  uint64_t size() const { return Map.size(); }
  uint64_t bytesInUse() const { return Map.bytesInUse(); }

  AddressMap &addresses() { return Map; }

private:
  Allocation *commit(Allocation *A);

  AddressMap Map{{PageSize, /*Guard=*/PageSize}};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_ARENA_ARENA_H
