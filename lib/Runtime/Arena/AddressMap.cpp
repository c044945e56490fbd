//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AddressMap.h"
#include "Shortage.h"

using namespace mneme;

// Number of free ranges to try that are large enough only if their alignment is
// suitable, before taking one that is large enough in any case.
static constexpr unsigned MaxTries = 16;

static uint64_t roundUp(uint64_t V, uint64_t Granule) {
  return (V + Granule - 1) & ~(Granule - 1);
}

void AddressMap::assign(uint64_t NewBase, uint64_t NewSize) {
  insertFree(NewBase, NewSize);
  Base = NewBase;
  Size = NewSize;
}

void AddressMap::clear() {
  Base = Size = InUse = 0;
  Live.clear();
  FreeByAddress.clear();
  FreeBySize.clear();
}

uint64_t AddressMap::granuleOf(uint64_t Bytes) const {
  return Bytes >= L.LargeSize ? L.LargeGranule : L.Granule;
}

uint64_t AddressMap::span(uint64_t Bytes) const {
  return roundUp(Bytes ? Bytes : 1, granuleOf(Bytes)) + L.Guard;
}

void AddressMap::insertFree(uint64_t Address, uint64_t Bytes) {
  auto I = FreeByAddress.emplace(Address, Bytes).first;
  try {
    FreeBySize.emplace(Bytes, Address);
  } catch (...) {
    FreeByAddress.erase(I);
    throw;
  }
}

/// If the range cannot be stored for lack of memory, it is lost; addresses are
/// plentiful.
void AddressMap::addFree(uint64_t Address, uint64_t Bytes) {
  attempt([&] { insertFree(Address, Bytes); });
}

/// Changes a free range, which must stay between the same neighbors. Does not
/// allocate.
void AddressMap::changeFree(FreeMap::iterator I, uint64_t Address,
                            uint64_t Bytes) {
  auto BySize = FreeBySize.extract({I->second, I->first});
  auto ByAddress = FreeByAddress.extract(I);
  BySize.value() = {Bytes, Address};
  ByAddress.key() = Address;
  ByAddress.mapped() = Bytes;
  FreeBySize.insert(std::move(BySize));
  FreeByAddress.insert(std::move(ByAddress));
}

void AddressMap::removeFree(FreeMap::iterator I) {
  FreeBySize.erase({I->second, I->first});
  FreeByAddress.erase(I);
}

AddressMap::Allocation *AddressMap::take(FreeMap::iterator Free,
                                         uint64_t Address, uint64_t Bytes,
                                         uint32_t Kind) {
  Allocation *New = nullptr;
  if (!attempt([&] {
        New = &Live.insert({Address, {Address, Bytes, Kind, 0, nullptr}})
                   .first->second;
      }))
    return nullptr;
  InUse += Bytes;
  uint64_t Begin = Free->first, End = Begin + Free->second;
  uint64_t Rest = Address + span(Bytes);
  // Store the larger remainder with changeFree(), which cannot fail.
  if (End - Rest > Address - Begin) {
    changeFree(Free, Rest, End - Rest);
    if (Address != Begin)
      addFree(Begin, Address - Begin);
  } else if (Address != Begin) {
    changeFree(Free, Begin, Address - Begin);
    if (Rest != End)
      addFree(Rest, End - Rest);
  } else {
    removeFree(Free);
  }
  return New;
}

AddressMap::Allocation *AddressMap::allocate(uint64_t Bytes, uint32_t Kind) {
  if (Bytes > Size)
    return nullptr;
  uint64_t Span = span(Bytes), Granule = granuleOf(Bytes);
  unsigned Tries = 0;
  for (auto I = FreeBySize.lower_bound({Span, 0}); I != FreeBySize.end();) {
    uint64_t Address = roundUp(I->second, Granule);
    if (Address - I->second + Span <= I->first)
      return take(FreeByAddress.find(I->second), Address, Bytes, Kind);
    if (++Tries == MaxTries)
      I = FreeBySize.lower_bound({Span + Granule - L.Granule, 0});
    else
      ++I;
  }
  return nullptr;
}

AddressMap::Allocation *AddressMap::allocateAt(uint64_t Address, uint64_t Bytes,
                                               uint32_t Kind) {
  if (Address % L.Granule || Bytes > Size)
    return nullptr;
  auto I = FreeByAddress.upper_bound(Address);
  if (I == FreeByAddress.begin())
    return nullptr;
  --I;
  if (Address + span(Bytes) > I->first + I->second)
    return nullptr;
  return take(I, Address, Bytes, Kind);
}

bool AddressMap::release(uint64_t Address) {
  auto I = Live.find(Address);
  if (I == Live.end())
    return false;
  uint64_t Span = span(I->second.Size);
  InUse -= I->second.Size;
  Live.erase(I);

  auto Next = FreeByAddress.lower_bound(Address);
  auto Previous =
      Next == FreeByAddress.begin() ? FreeByAddress.end() : std::prev(Next);
  bool JoinsNext = Next != FreeByAddress.end() && Next->first == Address + Span;
  bool JoinsPrevious = Previous != FreeByAddress.end() &&
                       Previous->first + Previous->second == Address;
  if (JoinsNext)
    Span += Next->second;
  if (JoinsPrevious && JoinsNext)
    removeFree(Next);
  if (JoinsPrevious)
    changeFree(Previous, Previous->first, Previous->second + Span);
  else if (JoinsNext)
    changeFree(Next, Address, Span);
  else
    addFree(Address, Span);
  return true;
}

const AddressMap::Allocation *AddressMap::find(uint64_t Address) const {
  auto I = Live.upper_bound(Address);
  if (I == Live.begin())
    return nullptr;
  --I;
  // An allocation of zero bytes still owns its address.
  uint64_t Bytes = I->second.Size ? I->second.Size : 1;
  return Address - I->first < Bytes ? &I->second : nullptr;
}
