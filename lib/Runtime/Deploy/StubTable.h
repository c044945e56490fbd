//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds what the launches of a stub lead to.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_STUBTABLE_H
#define MNEME_LIB_RUNTIME_DEPLOY_STUBTABLE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mneme {

struct TunedStub;

/// Maps launch stubs. Readers take no lock; tables that were replaced stay.
class StubTable {
public:
  /// Returns null if the stub was not added since the last clear(). \p Key is
  /// not 0.
  TunedStub *find(uint64_t Key) const {
    const Table *T = Current.load(std::memory_order_acquire);
    if (!T)
      return nullptr;
    for (uint64_t I = hash(Key);; ++I) {
      const Slot &S = T->Slots[I & T->Mask];
      uint64_t Found = S.Key.load(std::memory_order_acquire);
      if (Found == Key)
        return S.Stub;
      if (!Found)
        return nullptr;
    }
  }
  /// May throw, with nothing done. Calls of add() and clear() must not overlap.
  void add(uint64_t Key, TunedStub &Stub);
  void clear() { Current.store(nullptr, std::memory_order_release); }

private:
  struct Slot {
    std::atomic<uint64_t> Key{0};
    TunedStub *Stub = nullptr; ///< Written before the key.
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
  static void insert(Table &T, uint64_t Key, TunedStub &Stub);

  std::atomic<Table *> Current{nullptr};
  std::vector<std::unique_ptr<Table>> All;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_STUBTABLE_H
