//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubTable.h"

#include <utility>

using namespace mneme;

void StubTable::insert(Table &T, uint64_t Key, TunedStub &Stub) {
  uint64_t I = hash(Key);
  while (T.Slots[I & T.Mask].Key.load(std::memory_order_relaxed))
    ++I;
  Slot &S = T.Slots[I & T.Mask];
  S.Stub = &Stub;
  S.Key.store(Key, std::memory_order_release);
  ++T.Used;
}

void StubTable::add(uint64_t Key, TunedStub &Stub) {
  constexpr size_t FirstSize = 256;
  Table *T = Current.load(std::memory_order_relaxed);
  // Half of it stays free, so that a search is short and ends.
  if (T && 2 * (T->Used + 1) <= T->Mask + 1)
    return insert(*T, Key, Stub);
  auto New = std::make_unique<Table>(T ? 2 * (T->Mask + 1) : FirstSize);
  for (size_t I = 0; T && I <= T->Mask; ++I)
    if (uint64_t Known = T->Slots[I].Key.load(std::memory_order_relaxed))
      insert(*New, Known, *T->Slots[I].Stub);
  insert(*New, Key, Stub);
  All.push_back(std::move(New));
  Current.store(All.back().get(), std::memory_order_release);
}
