//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceBuffers.h"

#include <iterator>
#include <new>

using namespace mneme;

void DeviceBuffers::note(const void *Ptr, uint64_t Size, int Device) {
  if (!Ptr || !Size)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!attempt([&] { All[reinterpret_cast<uint64_t>(Ptr)] = {Size, Device}; }))
    IsIncomplete = true;
}

DeviceBuffers::Buffer DeviceBuffers::forget(const void *Ptr) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto Node = All.extract(reinterpret_cast<uint64_t>(Ptr));
  return Node ? Node.mapped() : Buffer();
}

void DeviceBuffers::forgetAll(int Device) {
  std::lock_guard<std::mutex> Guard(Lock);
  for (auto I = All.begin(); I != All.end();)
    I = I->second.Device == Device ? All.erase(I) : std::next(I);
}

std::vector<MemoryRange> DeviceBuffers::find(int Device) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (IsIncomplete)
    throw std::bad_alloc();
  std::vector<MemoryRange> Found;
  for (const auto &[Address, B] : All)
    if (B.Device == Device || B.Device == AllDevices)
      Found.push_back({Address, B.Size, ""});
  return Found;
}
