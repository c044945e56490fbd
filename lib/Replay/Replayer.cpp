//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Replayer.h"
#include "ResidentMemory.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

/// Granularity of what is found changed: large enough that a copy is worth its
/// call.
static constexpr uint64_t RestorePage = MNEME_SNAPSHOT_PAGE;

Replayer::Replayer(const RecordedState &State, Device &D)
    : State(&State), D(&D) {}
Replayer::Replayer(Replayer &&) = default;
Replayer &Replayer::operator=(Replayer &&) = default;
Replayer::~Replayer() = default;

StringRef Replayer::mode() const { return Resident ? "device" : "host"; }

/// What a file claims is compared with what there is before it is asked for.
static Error checkMemory(const RecordedState &State) {
  // The memory itself, as it was before, and of one buffer at a time as it is
  // now and as it should be.
  uint64_t Sum = 0, Largest = 0;
  for (const RecordedRegion &R : State.regions()) {
    Sum = SaturatingAdd(Sum, R.Info.Size);
    Largest = std::max(Largest, R.Info.Size);
  }
  uint64_t Need = SaturatingMultiply<uint64_t>(SaturatingAdd(Sum, Largest), 2);
  uint64_t Available = getAvailableMemory();
  if (Need <= Available)
    return Error::success();
  return make_error<ShortageError>(
      formatv("out of memory: the {0} MiB of the recording take {1} MiB on the "
              "host device, {2} MiB are available",
              Sum >> 20, Need >> 20, Available >> 20)
          .str(),
      std::make_error_code(std::errc::not_enough_memory));
}

Expected<Replayer> Replayer::create(const RecordedState &State, Device &D) {
  if (!D.asGPU())
    if (Error E = checkMemory(State))
      return std::move(E);
  Replayer R(State, D);
  if (Error E = D.reserveArena(State.arenaBase(), State.arenaSize()))
    return std::move(E);
  for (const RecordedRegion &Region : State.regions()) {
    const SnapshotRegion &R = Region.Info;
    if (Error E = R.isOutsideArena() ? D.mapOutside(R.Address, R.Size)
                                     : D.mapMemory(R.Address, R.Size))
      return std::move(E);
  }
  if (Error E = R.fill())
    return std::move(E);
  for (const SnapshotData &Data : State.changed()) {
    size_t Region = State.findRegion(Data.Address);
    uint64_t Begin = Data.Address - State.regions()[Region].Info.Address;
    R.Changed.push_back({Region, Begin, Begin + Data.RawSize});
  }
  R.setDirty(R.Changed);
  return std::move(R);
}

Error Replayer::fill() {
  // Fresh memory is zero, so only what the file stores has to be written.
  if (Error E = State->readStored(
          [&](const SnapshotData &Data, ArrayRef<char> Bytes) {
            return D->write(Data.Address, Bytes);
          }))
    return E;
  if (GPUDevice *GPU = D->asGPU())
    if (Error E = ResidentMemory::create(*State, *GPU).moveInto(Resident))
      return E;
  if (Resident)
    return Error::success();
  for (const RecordedRegion &Region : State->regions()) {
    Before.emplace_back(Region.Info.Size);
    if (Error E = D->read(Region.Info.Address, Before.back()))
      return E;
  }
  return Error::success();
}

/// Sorts, and joins ranges that touch.
static std::vector<Replayer::Range>
mergeRanges(std::vector<Replayer::Range> Ranges) {
  llvm::sort(Ranges, [](const Replayer::Range &A, const Replayer::Range &B) {
    return std::tie(A.Region, A.Begin) < std::tie(B.Region, B.Begin);
  });
  std::vector<Replayer::Range> Merged;
  for (const Replayer::Range &R : Ranges) {
    if (!Merged.empty() && Merged.back().Region == R.Region &&
        R.Begin <= Merged.back().End)
      Merged.back().End = std::max(Merged.back().End, R.End);
    else
      Merged.push_back(R);
  }
  return Merged;
}

void Replayer::setDirty(std::vector<Range> Ranges) {
  Ranges = mergeRanges(std::move(Ranges));
  if (Ranges == Dirty)
    return; // the device has planned these copies
  Dirty = std::move(Ranges);
  if (Resident)
    Resident->setDirty(Dirty);
}

void Replayer::markAllDirty() {
  std::vector<Range> All;
  for (size_t I = 0; I != State->regions().size(); ++I)
    All.push_back({I, 0, State->regions()[I].Info.Size});
  setDirty(std::move(All));
}

Error Replayer::restore() {
  if (Clean)
    return Error::success();
  if (Resident) {
    if (Error E = Resident->restore())
      return E;
  } else {
    for (const Range &R : Dirty)
      if (Error E = D->write(
              State->regions()[R.Region].Info.Address + R.Begin,
              ArrayRef(Before[R.Region]).slice(R.Begin, R.End - R.Begin)))
        return E;
  }
  Clean = true;
  return Error::success();
}

SmallVector<void *, 16> Replayer::getArgs() const {
  SmallVector<void *, 16> Args;
  for (const std::string &Bytes : State->args())
    Args.push_back(const_cast<char *>(Bytes.data()));
  return Args;
}

Expected<LaunchOutcome> Replayer::launch(DeviceKernel &Kernel,
                                         const LaunchConfig &Config) {
  Clean = false;
  return D->launch(Kernel, Config, getArgs());
}

Expected<LaunchOutcome>
Replayer::launchMany(DeviceKernel &Kernel, const LaunchConfig &Config,
                     unsigned Count, function_ref<Error()> Prepare,
                     std::vector<double> &Nanoseconds) {
  auto PrepareOne = [&]() -> Error {
    if (Error E = Prepare())
      return E;
    Clean = false;
    return Error::success();
  };
  return D->asGPU()->launchMany(Kernel, Config, getArgs(), Count, PrepareOne,
                                Nanoseconds);
}

Expected<std::vector<BufferReport>>
Replayer::compare(ArrayRef<ComparePart> Parts) {
  Expected<std::vector<CompareStats>> Stats =
      Resident ? compareOnDevice(Parts) : compareOnHost(Parts);
  if (!Stats)
    return Stats.takeError();
  std::vector<BufferReport> Reports;
  for (auto [P, S] : zip_equal(Parts, *Stats)) {
    const RecordedRegion &Region = State->regions()[P.Region];
    BufferReport Report;
    Report.Id = Region.Info.Id;
    Report.IsGlobal = Region.Info.IsGlobal;
    Report.Name = P.Name;
    Report.Address = Region.Info.Address + P.Offset;
    Report.Size = P.Size;
    Report.Rule = P.Rule;
    Report.Stats = std::move(S);
    Reports.push_back(std::move(Report));
  }
  return std::move(Reports);
}

/// Whether parts, in order, leave nothing out.
static bool coverAll(ArrayRef<ComparePart> Parts,
                     ArrayRef<RecordedRegion> Regions) {
  size_t Region = 0;
  uint64_t Done = 0;
  for (const ComparePart &P : Parts) {
    if (P.Region != Region || P.Offset != Done)
      return false;
    Done += P.Size;
    if (Done == Regions[Region].Info.Size) {
      ++Region;
      Done = 0;
    }
  }
  return Region == Regions.size();
}

Expected<std::vector<CompareStats>>
Replayer::compareOnDevice(ArrayRef<ComparePart> Parts) {
  Expected<std::vector<CompareStats>> Stats = Resident->compare(Parts);
  if (!Stats)
    return Stats.takeError();
  // When all is as the recorded launch left it, what that changed is dirty.
  // Else look at what is not as it was before.
  bool Same =
      coverAll(Parts, State->regions()) &&
      all_of(*Stats, [](const CompareStats &S) { return S.Differences == 0; });
  std::vector<Range> Ranges = Changed;
  if (!Same) {
    Expected<std::vector<Range>> Changes = Resident->findChanges();
    if (!Changes)
      return Changes.takeError();
    llvm::append_range(Ranges, *Changes);
  }
  setDirty(std::move(Ranges));
  return Stats;
}

Expected<std::vector<CompareStats>>
Replayer::compareOnHost(ArrayRef<ComparePart> Parts) {
  std::vector<CompareStats> Stats;
  std::vector<Range> Ranges = Changed;
  std::vector<bool> Seen(State->regions().size());
  std::vector<char> Now, After;
  std::optional<size_t> Loaded;
  for (const ComparePart &P : Parts) {
    if (Loaded != P.Region) {
      Loaded = P.Region;
      After = Before[P.Region];
      if (Error E = State->applyChanges(P.Region, After))
        return std::move(E);
      Now.resize(After.size());
      if (Error E = D->read(State->regions()[P.Region].Info.Address, Now))
        return std::move(E);
      // A wrong kernel may have written where the recorded one did not.
      Seen[P.Region] = true;
      ArrayRef<char> Old(Before[P.Region]);
      for (uint64_t Begin = 0; Begin < Now.size(); Begin += RestorePage) {
        uint64_t End = std::min<uint64_t>(Begin + RestorePage, Now.size());
        if (std::memcmp(&Now[Begin], &Old[Begin], End - Begin) != 0)
          Ranges.push_back({P.Region, Begin, End});
      }
    }
    Stats.push_back(compareMemory(ArrayRef<char>(After).slice(P.Offset, P.Size),
                                  ArrayRef<char>(Now).slice(P.Offset, P.Size),
                                  P.Rule));
  }
  for (const Range &R : Dirty)
    if (!Seen[R.Region])
      Ranges.push_back(R);
  setDirty(std::move(Ranges));
  return std::move(Stats);
}
