//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/HeldAddresses.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/MathExtras.h"
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

/// In which GPUs map memory.
static constexpr uint64_t Granule = uint64_t(2) << 20;

void HeldAddresses::hold(ArrayRef<RecordedRegion> Regions) {
  uint64_t Held = 0; // Up to here; regions are sorted.
  for (const RecordedRegion &Region : Regions) {
    const SnapshotRegion &R = Region.Info;
    uint64_t Begin = std::max(alignDown(R.Address, Granule), Held);
    uint64_t End = alignTo(R.Address + R.Size, Granule);
    if (!R.isOutsideArena() || End <= Begin)
      continue;
    Held = End;
    void *Wanted = reinterpret_cast<void *>(Begin);
    void *Got = mmap(Wanted, End - Begin, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                         MAP_FIXED_NOREPLACE,
                     -1, 0);
    if (Got == Wanted)
      Ranges.emplace_back(Begin, End - Begin);
    else if (Got != MAP_FAILED) // a kernel that does not know the flag
      munmap(Got, End - Begin);
  }
}

void HeldAddresses::release() {
  for (auto [Address, Size] : Ranges)
    munmap(reinterpret_cast<void *>(Address), Size);
  Ranges.clear();
}
