//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Allocation of addresses from a range: the bookkeeping of device memory,
/// without the memory itself. Does not use LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_ARENA_ADDRESSMAP_H
#define MNEME_LIB_RUNTIME_ARENA_ADDRESSMAP_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace mneme {

/// Not thread-safe: the owner must lock. If memory for the bookkeeping runs
/// out, allocations fail, but all other functions still work.
class AddressMap {
public:
  struct Allocation {
    uint64_t Address;
    uint64_t Size; ///< Requested bytes.
    uint32_t Kind; ///< For the caller's use.
    uint32_t Flags;
    void *Owner; ///< For the caller's use.
  };

  /// Alignment and spacing. All values are powers of two.
  struct Layout {
    uint64_t Granule; ///< Alignment of addresses and sizes.
    uint64_t Guard;   ///< Free bytes after each allocation.
    /// Minimum size of allocations that are aligned to LargeGranule.
    uint64_t LargeSize = UINT64_MAX;
    uint64_t LargeGranule = 1;
  };

  explicit AddressMap(const Layout &L) : L(L) {}
  AddressMap(const AddressMap &) = delete;
  AddressMap &operator=(const AddressMap &) = delete;

  /// Sets the range to [Base, Base + Size). Must be called once, or after
  /// clear(). If it throws std::bad_alloc, nothing has changed.
  void assign(uint64_t Base, uint64_t Size);
  /// Clears the range and all allocations.
  void clear();

  /// Allocates \p Size bytes (at least one granule), usually from the smallest
  /// free range that fits. \returns null if there is none. The result is valid
  /// until it is released.
  Allocation *allocate(uint64_t Size, uint32_t Kind = 0);
  /// Allocates at \p Address, a multiple of the granule. \returns null if part
  /// of the range is allocated or outside of the map's range.
  Allocation *allocateAt(uint64_t Address, uint64_t Size, uint32_t Kind = 0);
  /// \returns false if no allocation starts at \p Address.
  bool release(uint64_t Address);

  /// Returns the allocation that contains \p Address, or null. The end of the
  /// requested size is not contained.
  const Allocation *find(uint64_t Address) const;
  Allocation *find(uint64_t Address) {
    return const_cast<Allocation *>(std::as_const(*this).find(Address));
  }
  Allocation *find(const void *P) {
    return find(reinterpret_cast<uint64_t>(P));
  }

  /// Returns true if \p P is in the range, allocated or not.
  bool contains(const void *P) const {
    return reinterpret_cast<uint64_t>(P) - Base < Size;
  }

  /// Live allocations by address.
  const std::map<uint64_t, Allocation> &allocations() const { return Live; }

  uint64_t base() const { return Base; }
  uint64_t size() const { return Size; }
  /// Requested bytes of live allocations.
  uint64_t bytesInUse() const { return InUse; }

private:
  using FreeMap = std::map<uint64_t, uint64_t>;

  uint64_t granuleOf(uint64_t Size) const;
  /// Returns the bytes of address space that an allocation takes, including its
  /// guard.
  uint64_t span(uint64_t Size) const;
  Allocation *take(FreeMap::iterator Free, uint64_t Address, uint64_t Size,
                   uint32_t Kind);
  void insertFree(uint64_t Address, uint64_t Size);
  void addFree(uint64_t Address, uint64_t Size);
  void changeFree(FreeMap::iterator I, uint64_t Address, uint64_t Size);
  void removeFree(FreeMap::iterator I);

  const Layout L;
  uint64_t Base = 0, Size = 0, InUse = 0;
  std::map<uint64_t, Allocation> Live;
  FreeMap FreeByAddress;
  std::set<std::pair<uint64_t, uint64_t>> FreeBySize; ///< {size, address}
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_ARENA_ADDRESSMAP_H
