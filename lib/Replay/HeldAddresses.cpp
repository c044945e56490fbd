//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/HeldAddresses.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/MathExtras.h"
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

/// Granularity that suffices for a host device.
static constexpr uint64_t SmallGranule = uint64_t(2) << 20;

static bool reserve(uint64_t Begin, uint64_t Size) {
  void *Wanted = reinterpret_cast<void *>(Begin);
  void *Got = mmap(Wanted, Size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                       MAP_FIXED_NOREPLACE,
                   -1, 0);
  if (Got != Wanted && Got != MAP_FAILED) // Old Linux kernels ignore the flag.
    munmap(Got, Size);
  return Got == Wanted;
}

void HeldAddresses::hold(ArrayRef<RecordedRegion> Regions) {
  uint64_t Held = 0; // End of the held addresses; regions are sorted.
  for (const RecordedRegion &Region : Regions) {
    const SnapshotRegion &R = Region.Info;
    if (!R.isOutsideArena())
      continue;
    for (uint64_t Granule : {OutsideGranule, SmallGranule}) {
      uint64_t Begin = std::max(alignDown(R.Address, Granule), Held);
      uint64_t End = alignTo(R.Address + R.Size, Granule);
      if (End <= Begin)
        break;
      if (!reserve(Begin, End - Begin))
        continue;
      Ranges.emplace_back(Begin, End - Begin);
      Held = End;
      break;
    }
  }
}

void HeldAddresses::release() {
  for (auto [Address, Size] : Ranges)
    munmap(reinterpret_cast<void *>(Address), Size);
  Ranges.clear();
}
