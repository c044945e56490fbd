//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How recordings of the host device read its memory: it is the process's own.
///
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Reachability.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace mneme;

static bool inRanges(const std::map<uint64_t, uint64_t> &Ranges,
                     uint64_t Address) {
  auto I = Ranges.upper_bound(Address);
  return I != Ranges.begin() &&
         Address - std::prev(I)->first < std::prev(I)->second;
}

std::unique_ptr<Recording>
Device::beginRecording(HostKernel &K, const LaunchShape &Shape,
                       const LaunchId &Id, void **Args) {
  RecordingTime Time(Records);
  // Pinned host memory is staging space as a rule; record what the kernel was
  // given the address of.
  std::set<uint64_t> Given;
  bool GivenRegistered = false;
  forEachPointer(K, Args, [&](uint64_t V) {
    if (Arena::Allocation *A = Memory.find(V))
      Given.insert(A->Address);
    else
      GivenRegistered |= inRanges(RegisteredHost, V);
  });
  if (GivenRegistered) {
    Records.skip(K, "an argument points to registered host memory");
    return nullptr;
  }

  std::vector<Recording::Region> Regions;
  for (const auto &Entry : Memory.allocations()) {
    const Arena::Allocation &A = Entry.second;
    Recording::Region Region = {A.Address, A.Size, MNEME_REGION_HEAP, ""};
    if (A.Kind == KindVariable) {
      auto *V = static_cast<const Variable *>(A.Owner);
      if (!std::count(K.Reached.begin(), K.Reached.end(), V))
        continue;
      Region.Kind = MNEME_REGION_GLOBAL;
      Region.Name = V->Name;
      Region.Size = V->Size;
    } else if (A.Kind == KindPinned && !(A.Flags & FlagMapped) &&
               !Given.count(A.Address)) {
      continue;
    }
    if (Region.Size)
      Regions.push_back(std::move(Region));
  }
  Omission Omitted;
  if (Selection::get().reachableOnly()) {
    Reachability Reached(Regions);
    forEachPointer(K, Args, [&](uint64_t V) { Reached.addRoot(V); });
    while (const Recording::Region *Next = Reached.next())
      Reached.scan(reinterpret_cast<const char *>(Next->Address), Next->Size);
    Reached.filter(Regions, Omitted);
  }
  std::unique_ptr<Recording> R =
      Records.begin(K, Shape, Id, Args, std::move(Regions),
                    Memory.base(), Memory.size(), Notes);
  if (!R)
    return nullptr;
  R->Omitted = Omitted;
  // Pages of zeros are not written.
  for (const Recording::Region &Region : R->Regions) {
    auto *Bytes = reinterpret_cast<const char *>(Region.Address);
    forEachRun(
        Region.Size,
        [&](uint64_t At, uint64_t Size) { return !isZero(Bytes + At, Size); },
        [&](uint64_t At, uint64_t Size) {
          R->Prologue.data(Bytes + At, Region.Address + At, Size);
        });
  }
  R->Prologue.close();
  if (R->Prologue.error().empty())
    return R;
  std::string Error = R->Prologue.error();
  Records.abandon(std::move(R), Error);
  return nullptr;
}

void Device::finishRecording(std::unique_ptr<Recording> R) {
  RecordingTime Time(Records);
  Recorder::openEpilogue(*R);
  for (const Recording::Region &Region : R->Regions) {
    auto *Bytes = reinterpret_cast<const char *>(Region.Address);
    forEachRun(
        Region.Size,
        [&](uint64_t At, uint64_t Size) {
          return R->Prologue.differs(Bytes + At, Region.Address + At, Size);
        },
        [&](uint64_t At, uint64_t Size) {
          R->Epilogue.data(Bytes + At, Region.Address + At, Size);
        });
  }
  Records.finish(std::move(R));
}
