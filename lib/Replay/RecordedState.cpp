//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/ThreadPool.h"
#include <algorithm>
#include <memory>
#include <mutex>

using namespace llvm;
using namespace llvm::mneme;

Expected<RecordedState> RecordedState::load(StringRef Dir,
                                            const RecordedKernel &Kernel,
                                            const RecordedInstance &Instance) {
  RecordedState State;
  auto Pages = std::make_shared<PageStore>(Dir);
  Expected<Snapshot> Before =
      openSnapshot(Dir, /*Epilogue=*/false, Kernel, Instance, Pages);
  if (!Before)
    return Before.takeError();
  Expected<Snapshot> After =
      openSnapshot(Dir, /*Epilogue=*/true, Kernel, Instance, Pages);
  if (!After)
    return After.takeError();

  bool SameRegions =
      std::equal(Before->regions().begin(), Before->regions().end(),
                 After->regions().begin(), After->regions().end(),
                 [](const SnapshotRegion &A, const SnapshotRegion &B) {
                   return A.Address == B.Address && A.Size == B.Size;
                 });
  if (!SameRegions)
    return createFileError(
        Instance.Epilogue,
        createStringError("its regions are not those of " + Instance.Prologue));
  ArrayRef<std::string> Args = Before->args();
  bool SameArgs = std::equal(Args.begin(), Args.end(), Kernel.Args.begin(),
                             Kernel.Args.end(),
                             [](const std::string &Bytes, const KernelArg &A) {
                               return Bytes.size() == A.Size;
                             });
  if (!SameArgs)
    return createFileError(
        Instance.Prologue,
        createStringError("its arguments are not those of the kernel"));

  After->dropUnchanged(*Before);
  for (const SnapshotRegion &Info : Before->regions())
    State.Regions.push_back({Info});
  State.Prologue = std::make_shared<Snapshot>(std::move(*Before));
  State.Epilogue = std::make_shared<Snapshot>(std::move(*After));
  return std::move(State);
}

size_t RecordedState::findRegion(uint64_t Address) const {
  auto Next = llvm::upper_bound(Regions, Address,
                                [](uint64_t A, const RecordedRegion &Region) {
                                  return A < Region.Info.Address;
                                });
  return Next - Regions.begin() - 1;
}

std::optional<size_t> RecordedState::findRegionOf(uint64_t Address) const {
  size_t Region = findRegion(Address);
  if (Region >= Regions.size()) // In front of the first one.
    return std::nullopt;
  const SnapshotRegion &Info = Regions[Region].Info;
  return Address - Info.Address < Info.Size ? std::optional(Region)
                                            : std::nullopt;
}

std::vector<uint64_t> RecordedState::handles() const {
  std::vector<uint64_t> Handles;
  for (const RecordedRegion &Region : Regions)
    if (Region.Info.Kind == MNEME_REGION_TEXTURE)
      Handles.push_back(Region.Info.Address);
  return Handles;
}

namespace {
/// Consecutive data ranges that are decompressed in parallel.
class Batch {
public:
  Batch(const Snapshot &S, ArrayRef<SnapshotData> Ranges)
      : S(S), Ranges(Ranges), Bytes(Ranges.size()), Failures(Ranges.size()) {}

  void unpack(size_t I) {
    Bytes[I].resize(Ranges[I].RawSize);
    if (Error E = S.decode(Ranges[I], Bytes[I]))
      Failures[I] = toString(std::move(E));
  }

  Error hand(RecordedState::DataFn Fn) const {
    for (size_t I = 0; I != Ranges.size(); ++I) {
      if (!Failures[I].empty())
        return createStringError(Failures[I]);
      if (Error E = Fn(Ranges[I], Bytes[I]))
        return E;
    }
    return Error::success();
  }

  size_t size() const { return Ranges.size(); }

private:
  const Snapshot &S;
  ArrayRef<SnapshotData> Ranges;
  std::vector<std::vector<char>> Bytes;
  std::vector<std::string> Failures;
};
} // namespace

/// Decompresses a batch on all cores while \p Fn processes the preceding one.
static Error readData(const Snapshot &S, RecordedState::DataFn Fn) {
  DefaultThreadPool Pool;
  const size_t BatchSize = 4 * Pool.getMaxConcurrency();
  ArrayRef<SnapshotData> Rest = S.data();
  auto Begin = [&] {
    auto B = std::make_shared<Batch>(S, Rest.take_front(BatchSize));
    Rest = Rest.drop_front(B->size());
    // Small batches are not worth starting threads.
    for (size_t I = 0; I != B->size(); ++I)
      if (B->size() < 4)
        B->unpack(I);
      else
        Pool.async([B, I] { B->unpack(I); });
    return B;
  };
  std::shared_ptr<Batch> Next = Begin();
  while (Next->size()) {
    Pool.wait();
    std::shared_ptr<Batch> Ready = std::move(Next);
    Next = Begin();
    if (Error E = Ready->hand(Fn))
      return E;
  }
  return Error::success();
}

Error RecordedState::readStored(DataFn Fn) const {
  return readData(*Prologue, Fn);
}

Error RecordedState::readChanged(DataFn Fn) const {
  if (!Outcome)
    return readData(*Epilogue, Fn);
  for (auto [Range, Memory] : zip_equal(OutcomeRanges, *Outcome))
    if (Error E = Fn(Range, Memory.Bytes))
      return E;
  return Error::success();
}

/// Returns true if the ranges \p Later, sorted by address, replace all of \p D.
static bool isReplaced(const SnapshotData &D, ArrayRef<SnapshotData> Later) {
  uint64_t At = D.Address, End = D.Address + D.RawSize;
  auto It = partition_point(Later, [&](const SnapshotData &L) {
    return L.Address + L.RawSize <= At;
  });
  for (; It != Later.end() && It->Address <= At && At < End; ++It)
    At = It->Address + It->RawSize;
  return At >= End;
}

/// Decompresses the data of a region to where it belongs, except what \p Later
/// replaces.
static Error readRegionOf(const Snapshot &S, const SnapshotRegion &Region,
                          MutableArrayRef<char> Contents,
                          ArrayRef<SnapshotData> Later) {
  DefaultThreadPool Pool;
  std::mutex Lock;
  std::string Failure;
  auto It = partition_point(S.data(), [&](const SnapshotData &D) {
    return D.Address < Region.Address;
  });
  for (; It != S.data().end() && It->Address < Region.Address + Region.Size;
       ++It) {
    if (isReplaced(*It, Later))
      continue;
    Pool.async([&, D = &*It] {
      Error E = S.decode(
          *D, Contents.slice(D->Address - Region.Address, D->RawSize));
      if (!E)
        return;
      std::lock_guard<std::mutex> Held(Lock);
      Failure = toString(std::move(E));
    });
  }
  Pool.wait();
  return Failure.empty() ? Error::success() : createStringError(Failure);
}

Error RecordedState::readRegion(size_t Region, bool After,
                                MutableArrayRef<char> Contents) const {
  const SnapshotRegion &Info = Regions[Region].Info;
  ArrayRef<SnapshotData> Later;
  if (After && !Outcome)
    Later = Epilogue->data();
  if (Error E = readRegionOf(*Prologue, Info, Contents, Later))
    return E;
  if (!After)
    return Error::success();
  return Outcome ? applyChanges(Region, Contents)
                 : readRegionOf(*Epilogue, Info, Contents, {});
}

Error RecordedState::applyChanges(size_t Region,
                                  MutableArrayRef<char> Contents) const {
  if (!Outcome)
    return Epilogue->overlay(Region, Contents);
  uint64_t Begin = Regions[Region].Info.Address;
  for (const MemoryRange &R : *Outcome)
    if (findRegion(R.Address) == Region)
      llvm::copy(R.Bytes, Contents.begin() + (R.Address - Begin));
  return Error::success();
}

RecordedState
RecordedState::withOutcome(std::vector<MemoryRange> Changed) const {
  RecordedState State = *this;
  State.OutcomeRanges.clear();
  for (const MemoryRange &R : Changed)
    State.OutcomeRanges.push_back({R.Address, R.Bytes.size(), 0, 0});
  State.Outcome =
      std::make_shared<const std::vector<MemoryRange>>(std::move(Changed));
  return State;
}
