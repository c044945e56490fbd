//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which addresses of one range are taken, and by what: the bookkeeping of
/// device memory, without memory. No LLVM.
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

/// Not thread-safe: the owner locks. Without memory for the bookkeeping,
/// allocations fail, and all else still works.
class AddressMap {
public:
  struct Allocation {
    uint64_t Address;
    uint64_t Size; ///< Bytes asked for.
    uint32_t Kind; ///< The caller's own.
    uint32_t Flags;
    void *Owner; ///< The caller's own.
  };

  /// How places are laid out. All are powers of two.
  struct Layout {
    uint64_t Granule; ///< Places are multiples of it, in address and size.
    uint64_t Guard;   ///< Bytes that stay free behind each place.
    /// From this size on, places are multiples of LargeGranule.
    uint64_t LargeSize = UINT64_MAX;
    uint64_t LargeGranule = 1;
  };

  explicit AddressMap(const Layout &L) : L(L) {}
  AddressMap(const AddressMap &) = delete;
  AddressMap &operator=(const AddressMap &) = delete;

  /// Makes [Base, Base + Size) the range. Call once, or after clear(). Throws
  /// std::bad_alloc, with nothing done.
  void assign(uint64_t Base, uint64_t Size);
  /// Forgets the range and everything in it.
  void clear();

  /// Takes a free place for \p Size bytes (at least one granule), the smallest
  /// that fits as a rule. \returns null when there is none. Valid until it is
  /// released.
  Allocation *allocate(uint64_t Size, uint32_t Kind = 0);
  /// The same at \p Address, a multiple of the granule. \returns null when part
  /// of the place is taken or outside the range.
  Allocation *allocateAt(uint64_t Address, uint64_t Size, uint32_t Kind = 0);
  /// \returns false when no allocation starts at \p Address.
  bool release(uint64_t Address);

  /// The allocation whose bytes include \p Address, or null. One byte beyond
  /// the size that was asked for is outside.
  const Allocation *find(uint64_t Address) const;
  Allocation *find(uint64_t Address) {
    return const_cast<Allocation *>(std::as_const(*this).find(Address));
  }
  Allocation *find(const void *P) {
    return find(reinterpret_cast<uint64_t>(P));
  }

  /// Whether \p P lies in the range, allocated or not.
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

  uint64_t granuleOf(uint64_t Size) const;
  /// Bytes of address space that an allocation takes, its guard included.
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
