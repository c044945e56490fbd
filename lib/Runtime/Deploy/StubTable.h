//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds what the launches of a stub lead to (StubTable).
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_STUBTABLE_H
#define MNEME_LIB_RUNTIME_DEPLOY_STUBTABLE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mneme {

/// Maps launch stubs to objects that live as long as the process. Readers take
/// no lock; tables that were replaced stay.
template <typename T> class StubTable {
public:
  /// Returns null if the stub was not added since the last clear(). \p Key is
  /// not 0.
  T *find(uint64_t Key) const {
    const Table *Now = Current.load(std::memory_order_acquire);
    if (!Now)
      return nullptr;
    for (uint64_t I = hash(Key);; ++I) {
      const Slot &S = Now->Slots[I & Now->Mask];
      uint64_t Found = S.Key.load(std::memory_order_acquire);
      if (Found == Key)
        return S.Object;
      if (!Found)
        return nullptr;
    }
  }
  /// May throw, with nothing done. Calls of add() and clear() must not overlap.
  void add(uint64_t Key, T &Object) {
    constexpr size_t FirstSize = 256;
    Table *Old = Current.load(std::memory_order_relaxed);
    // Half of it stays free, so that a search is short and ends.
    if (Old && 2 * (Old->Used + 1) <= Old->Mask + 1)
      return insert(*Old, Key, Object);
    auto New = std::make_unique<Table>(Old ? 2 * (Old->Mask + 1) : FirstSize);
    for (size_t I = 0; Old && I <= Old->Mask; ++I)
      if (uint64_t Known = Old->Slots[I].Key.load(std::memory_order_relaxed))
        insert(*New, Known, *Old->Slots[I].Object);
    insert(*New, Key, Object);
    All.push_back(std::move(New));
    Current.store(All.back().get(), std::memory_order_release);
  }
  void clear() { Current.store(nullptr, std::memory_order_release); }

private:
  struct Slot {
    std::atomic<uint64_t> Key{0};
    T *Object = nullptr; ///< Written before the key.
  };
  struct Table {
    explicit Table(size_t Size) : Mask(Size - 1), Slots(new Slot[Size]) {}
    uint64_t Mask;
    size_t Used = 0;
    std::unique_ptr<Slot[]> Slots;
  };
  static uint64_t hash(uint64_t Key) {
    return (Key >> 4) * 0x9e3779b97f4a7c15u >> 32;
  }
  static void insert(Table &To, uint64_t Key, T &Object) {
    uint64_t I = hash(Key);
    while (To.Slots[I & To.Mask].Key.load(std::memory_order_relaxed))
      ++I;
    Slot &S = To.Slots[I & To.Mask];
    S.Object = &Object;
    S.Key.store(Key, std::memory_order_release);
    ++To.Used;
  }

  std::atomic<Table *> Current{nullptr};
  std::vector<std::unique_ptr<Table>> All;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_STUBTABLE_H
