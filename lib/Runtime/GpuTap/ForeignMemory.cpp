//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForeignMemory.h"
#include "Shortage.h"

#include <algorithm>
#include <iterator>

using namespace mneme;

void ForeignMemory::note(void *Host, size_t Size, uint32_t Kind,
                         bool IsPortable) {
  if (State.Off || !Host || !Size)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  if (!attempt([&] { add(Host, Size, Kind, IsPortable); }))
    IsIncomplete = true;
}

/// May throw.
void ForeignMemory::add(void *Host, size_t Size, uint32_t Kind,
                        bool IsPortable) {
  if (!Driver.load())
    return;
  auto Address = reinterpret_cast<uint64_t>(Host);
  CUdeviceptr OnDevice = Address;
  // Usually the same address, but not for all flags.
  if (Kind == MNEME_REGION_PINNED && Driver->MemHostGetDevicePointer &&
      Driver->MemHostGetDevicePointer(&OnDevice, Host, 0))
    return;
  // Earlier memory there was freed by a call that Mneme does not see.
  erase(OnDevice, Size);
  Blocks[OnDevice] = {Size, Address, Kind, Driver.currentContext(), IsPortable};
}

void ForeignMemory::noteOfOthers(uint64_t Address, uint64_t Size) {
  if (!attempt([&] {
        add(reinterpret_cast<void *>(Address), Size, OtherProcess,
            /*IsPortable=*/false);
      }))
    IsIncomplete = true;
}

void ForeignMemory::forget(const void *Host) {
  if (TapState::Forked || !Host)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  auto Address = reinterpret_cast<uint64_t>(Host);
  auto I = Blocks.find(Address);
  if (I == Blocks.end() || I->second.Host != Address)
    I = std::find_if(Blocks.begin(), Blocks.end(),
                     [&](const auto &M) { return M.second.Host == Address; });
  if (I != Blocks.end())
    Blocks.erase(I);
}

void ForeignMemory::forgetAll(const void *Ptr, size_t Size) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  erase(reinterpret_cast<uint64_t>(Ptr), Size);
}

void ForeignMemory::forget(CUcontext Gone) {
  for (auto I = Blocks.begin(); I != Blocks.end();)
    I = I->second.Owner == Gone ? Blocks.erase(I) : std::next(I);
}

/// Erases all blocks that intersect a range.
void ForeignMemory::erase(uint64_t Address, uint64_t Size) {
  auto I = Blocks.upper_bound(Address);
  if (find(Address))
    --I;
  while (I != Blocks.end() && I->first < Address + Size)
    I = Blocks.erase(I);
}

const ForeignMemory::Map::value_type *
ForeignMemory::find(uint64_t Address) const {
  auto I = Blocks.upper_bound(Address);
  if (I == Blocks.begin())
    return nullptr;
  --I;
  return Address - I->first < I->second.Size ? &*I : nullptr;
}
