//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

/// Granularity of what restore() writes: large enough that a copy is worth its
/// call.
static constexpr uint64_t RestorePage = MNEME_SNAPSHOT_PAGE;

Expected<Replayer> Replayer::create(const RecordedState &State, Device &D) {
  Replayer R(State, D);
  if (Error E = D.reserveArena(State.arenaBase(), State.arenaSize()))
    return std::move(E);
  ArrayRef<RecordedRegion> Regions = State.regions();
  for (const RecordedRegion &Region : Regions)
    if (Error E = D.mapMemory(Region.Info.Address, Region.Info.Size))
      return std::move(E);
  // Fresh memory is zero, so only what the file stores has to be written.
  auto RegionOf = [&](uint64_t Address) {
    return std::prev(llvm::upper_bound(
        Regions, Address, [](uint64_t A, const RecordedRegion &Region) {
          return A < Region.Info.Address;
        }));
  };
  for (const SnapshotData &Data : State.stored()) {
    auto Region = RegionOf(Data.Address);
    ArrayRef<char> Before(Region->Before);
    if (Error E = D.write(
            Data.Address,
            Before.slice(Data.Address - Region->Info.Address, Data.RawSize)))
      return std::move(E);
  }
  for (const SnapshotData &Data : State.changed()) {
    auto Region = RegionOf(Data.Address);
    uint64_t Begin = Data.Address - Region->Info.Address;
    R.markDirty(Region - Regions.begin(), Begin, Begin + Data.RawSize);
  }
  R.mergeDirty();
  return std::move(R);
}

void Replayer::markDirty(size_t Region, uint64_t Begin, uint64_t End) {
  Dirty.push_back({Region, Begin, End});
}

void Replayer::markAllDirty() {
  Dirty.clear();
  for (size_t I = 0; I != State->regions().size(); ++I)
    markDirty(I, 0, State->regions()[I].Info.Size);
}

/// Sorts, and joins ranges that touch.
void Replayer::mergeDirty() {
  llvm::sort(Dirty, [](const Range &A, const Range &B) {
    return std::tie(A.Region, A.Begin) < std::tie(B.Region, B.Begin);
  });
  std::vector<Range> Merged;
  for (const Range &R : Dirty) {
    if (!Merged.empty() && Merged.back().Region == R.Region &&
        R.Begin <= Merged.back().End)
      Merged.back().End = std::max(Merged.back().End, R.End);
    else
      Merged.push_back(R);
  }
  Dirty = std::move(Merged);
}

Error Replayer::restore() {
  if (Clean)
    return Error::success();
  for (const Range &R : Dirty) {
    const RecordedRegion &Region = State->regions()[R.Region];
    if (Error E = D->write(
            Region.Info.Address + R.Begin,
            ArrayRef<char>(Region.Before).slice(R.Begin, R.End - R.Begin)))
      return E;
  }
  Clean = true;
  return Error::success();
}

Expected<LaunchOutcome> Replayer::launch(DeviceKernel &Kernel,
                                         const LaunchConfig &Config) {
  Clean = false;
  SmallVector<void *, 16> Args;
  for (const std::string &Bytes : State->args())
    Args.push_back(const_cast<char *>(Bytes.data()));
  return D->launch(Kernel, Config, Args);
}

Expected<std::vector<BufferReport>>
Replayer::compare(ArrayRef<ComparePart> Parts) {
  std::vector<BufferReport> Reports;
  std::vector<char> Now, After;
  std::optional<size_t> Loaded;
  for (const ComparePart &P : Parts) {
    const RecordedRegion &Region = State->regions()[P.Region];
    if (Loaded != P.Region) {
      Loaded = P.Region;
      Expected<std::vector<char>> Bytes = State->after(P.Region);
      if (!Bytes)
        return Bytes.takeError();
      After = std::move(*Bytes);
      Now.resize(Region.Info.Size);
      if (Error E = D->read(Region.Info.Address, Now))
        return std::move(E);
      // A wrong kernel may have written where the recorded one did not.
      for (uint64_t Begin = 0; Begin < Now.size(); Begin += RestorePage) {
        uint64_t End = std::min<uint64_t>(Begin + RestorePage, Now.size());
        if (std::memcmp(&Now[Begin], &Region.Before[Begin], End - Begin) != 0)
          markDirty(P.Region, Begin, End);
      }
    }
    BufferReport Report;
    Report.Id = Region.Info.Id;
    Report.IsGlobal = Region.Info.IsGlobal;
    Report.Name = P.Name;
    Report.Address = Region.Info.Address + P.Offset;
    Report.Size = P.Size;
    Report.Rule = P.Rule;
    Report.Stats =
        compareMemory(ArrayRef<char>(After).slice(P.Offset, P.Size),
                      ArrayRef<char>(Now).slice(P.Offset, P.Size), P.Rule);
    Reports.push_back(std::move(Report));
  }
  mergeDirty();
  return std::move(Reports);
}
