//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device memory at fixed addresses. The arena reserves a range of virtual
/// addresses, commits nothing up front, and allocates page-granular parts of
/// it, so that a recorded pointer is valid in any process that restores the
/// allocation at its address. Used inside the application and by replay; does
/// not use LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_ARENA_ARENA_H
#define MNEME_LIB_RUNTIME_ARENA_ARENA_H

#include "AddressMap.h"

#include <string>

namespace mneme {

/// Not thread-safe: the owner must lock. The destructor unmaps the range.
class Arena {
public:
  static constexpr uint64_t PageSize = 4096;

  using Allocation = AddressMap::Allocation;

  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();

  /// Reserves [Base, Base + Size), both multiples of the page size, without
  /// replacing existing mappings. \returns an error message; empty on success.
  std::string reserve(uint64_t Base, uint64_t Size);

  /// Allocates the best-fitting free range for \p Size bytes (at least one
  /// page), readable, writable and zeroed, followed by an unmapped page.
  /// \returns null if there is not enough address space or memory.
  Allocation *allocate(uint64_t Size, uint32_t Kind = 0);

  /// Allocates at a given page-aligned address. \returns null if part of the
  /// range is allocated or outside of the arena.
  Allocation *allocateAt(uint64_t Address, uint64_t Size, uint32_t Kind = 0);

  /// Releases an allocation, whose pages fault from now on. \returns false if
  /// no allocation starts at \p Address.
  bool release(uint64_t Address);

  /// See AddressMap.
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
