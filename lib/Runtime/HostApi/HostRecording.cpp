//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Access of recordings to the host device's memory, which is the process's
/// own.
///
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Reachability.h"
#include "Shortage.h"

#include <algorithm>
#include <iterator>

using namespace mneme;

/// Returns true if all pages of a range can be read. The application may have
/// unmapped or protected memory, also that of the device.
static bool isReadable(uint64_t Address, uint64_t Size) {
  for (uint64_t At = Address, End = Address + Size; At < End;
       At = (At | (Arena::PageSize - 1)) + 1) {
    char Byte;
    if (mneme_host_copy(&Byte, reinterpret_cast<const void *>(At), 1,
                        /*AsksHandlers=*/false))
      return false;
  }
  return true;
}

/// Finds all memory that a launch may use. Host memory usually is for staging:
/// it is included only if the device was given its address in any way.
/// Variables that the kernel does not refer to are treated the same.
std::vector<Recording::Region>
Device::findRegions(const HostKernel &K, void **Args, Omission &Omitted) {
  std::vector<Recording::Region> Regions, OnlyIfReached;
  for (const auto &Entry : Memory.allocations()) {
    const Arena::Allocation &A = Entry.second;
    Recording::Region Region = {A.Address, A.Size, MNEME_REGION_HEAP, ""};
    if (A.Kind == KindTexture)
      Region.Kind = MNEME_REGION_TEXTURE;
    bool MayMatter = A.Kind == KindPinned && !(A.Flags & FlagMapped);
    if (A.Kind == KindVariable) {
      auto *V = static_cast<const Variable *>(A.Owner);
      Region.Size = V->Size;
      MayMatter = !std::count(K.Reached.begin(), K.Reached.end(), V);
      if (!MayMatter) {
        Region.Kind = MNEME_REGION_GLOBAL;
        Region.Name = V->Name;
      }
    }
    if (Region.Size)
      (MayMatter ? OnlyIfReached : Regions).push_back(std::move(Region));
  }
  for (const auto &[Address, M] : RegisteredHost)
    if (isReadable(Address, M.Size))
      (M.IsMapped ? Regions : OnlyIfReached)
          .push_back({Address, M.Size, MNEME_REGION_PINNED, ""});

  bool Everything = !Selection::get().reachableOnly();
  if (Everything && OnlyIfReached.empty())
    return Regions;
  size_t NumWanted = Regions.size();
  std::move(OnlyIfReached.begin(), OnlyIfReached.end(),
            std::back_inserter(Regions));
  Reachability Reached(Regions);
  for (size_t I = 0; Everything && I != NumWanted; ++I)
    Reached.addRoot(Regions[I].Address);
  forEachPointer(K, Args, [&](uint64_t V) { Reached.addRoot(V); });
  while (const Recording::Region *Next = Reached.next())
    Reached.scan(reinterpret_cast<const char *>(Next->Address), Next->Address,
                 Next->Size);
  Omitted = Reached.filter(Regions, NumWanted);
  return Regions;
}

/// \returns whether a launch can reach memory that kernels have allocated with
/// malloc, or leave a pointer to it. May throw.
bool Device::reachesHeap(const HostKernel &K, void **Args) {
  std::vector<Recording::Region> Regions;
  mneme_host_visit_heap(
      [](void *Data, uint64_t Address, uint64_t Size) {
        static_cast<std::vector<Recording::Region> *>(Data)->push_back(
            {Address, Size, MNEME_REGION_HEAP, ""});
      },
      &Regions);
  if (Regions.empty())
    return false;
  size_t NumInHeap = Regions.size();
  Omission Omitted;
  std::vector<Recording::Region> Recorded = findRegions(K, Args, Omitted);
  std::move(Recorded.begin(), Recorded.end(), std::back_inserter(Regions));
  Reachability Reached(Regions);
  for (size_t I = NumInHeap; I != Regions.size(); ++I)
    Reached.addRoot(Regions[I].Address);
  forEachPointer(K, Args, [&](uint64_t V) { Reached.addRoot(V); });
  while (const Recording::Region *Next = Reached.next()) {
    if (Next < &Regions[NumInHeap])
      return true;
    Reached.scan(reinterpret_cast<const char *>(Next->Address), Next->Address,
                 Next->Size);
  }
  return false;
}

/// Why launches that reach the device heap are not recorded.
static constexpr const char InHeap[] =
    "memory points to memory that a kernel has allocated with malloc, which is "
    "not recorded";

std::unique_ptr<Recording>
Device::beginRecording(HostKernel &K, const LaunchShape &Shape,
                       const LaunchId &Id, void **Args) {
  RecordingTime Time(Records);
  if (!K.Obstacle.empty()) {
    Records.skip(K, K.Obstacle);
    return nullptr;
  }
  for (const auto &[Address, A] : Memory.allocations())
    if (!isReadable(A.Address, A.Size)) {
      Records.skip(K, "the application has unmapped or protected device memory");
      return nullptr;
    }
  Omission Omitted;
  std::vector<Recording::Region> Regions;
  bool ReachesHeap = false;
  if (!attempt([&] {
        ReachesHeap = reachesHeap(K, Args);
        Regions = findRegions(K, Args, Omitted);
      })) {
    Records.skip(K, outOfMemory());
    return nullptr;
  }
  if (ReachesHeap) {
    Records.skip(K, InHeap);
    return nullptr;
  }
  std::unique_ptr<Recording> R =
      Records.begin(K, Shape, Id, Args, std::move(Regions),
                    Memory.base(), Memory.size(), Notes);
  if (!R)
    return nullptr;
  R->Omitted = Omitted;
  std::string Error;
  if (!attempt([&] {
        storePrologue(*R);
        Error = R->Prologue.error();
      }))
    Error = outOfMemory();
  if (Error.empty())
    return R;
  Records.abandon(std::move(R), Error);
  return nullptr;
}

/// May throw.
void Device::storePrologue(Recording &R) {
  // Copy first: the application's other threads continue to run.
  R.Pages.copyFirst();
  Recorder::describeMemory(R);
  // Pages of zeros are not written.
  for (const Recording::Region &Region : R.Regions) {
    auto *Bytes = reinterpret_cast<const char *>(Region.Address);
    forEachRun(
        Region.Size,
        [&](uint64_t At, uint64_t Size) { return !isZero(Bytes + At, Size); },
        [&](uint64_t At, uint64_t Size) {
          R.Prologue.data(Bytes + At, Region.Address + At, Size);
        });
  }
  R.Prologue.close();
}

void Device::finishRecording(std::unique_ptr<Recording> R, void **Args) {
  RecordingTime Time(Records);
  bool ReachesHeap = false;
  if (!attempt([&] {
        // The heap is elsewhere in a replay, so pointers to it would differ.
        ReachesHeap = reachesHeap(static_cast<HostKernel &>(*R->K), Args);
        if (!ReachesHeap)
          storeEpilogue(*R);
      }))
    Records.abandon(std::move(R), outOfMemory());
  else if (ReachesHeap)
    Records.abandon(std::move(R), InHeap);
  else
    Records.finish(std::move(R));
}

/// May throw.
void Device::storeEpilogue(Recording &R) {
  Recorder::openEpilogue(R);
  for (const Recording::Region &Region : R.Regions) {
    auto *Bytes = reinterpret_cast<const char *>(Region.Address);
    forEachRun(
        Region.Size,
        [&](uint64_t At, uint64_t Size) {
          return R.Prologue.differs(Bytes + At, Region.Address + At, Size);
        },
        [&](uint64_t At, uint64_t Size) {
          R.Epilogue.data(Bytes + At, Region.Address + At, Size);
        });
  }
}
