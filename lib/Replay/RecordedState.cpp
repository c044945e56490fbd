//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Plan.h"
#include <algorithm>

using namespace llvm;
using namespace llvm::mneme;

Expected<RecordedState> RecordedState::load(StringRef Dir,
                                            const RecordedKernel &Kernel,
                                            const RecordedInstance &Instance) {
  RecordedState State;
  Expected<Snapshot> Before =
      openSnapshot(Dir, /*Epilogue=*/false, Kernel, Instance);
  if (!Before)
    return Before.takeError();
  Expected<Snapshot> After =
      openSnapshot(Dir, /*Epilogue=*/true, Kernel, Instance);
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

  for (const SnapshotRegion &Info : Before->regions())
    State.Regions.push_back({Info});
  State.Prologue = std::move(*Before);
  State.Epilogue = std::move(*After);
  return std::move(State);
}

size_t RecordedState::findRegion(uint64_t Address) const {
  auto Next = llvm::upper_bound(
      Regions, Address, [](uint64_t A, const RecordedRegion &Region) {
        return A < Region.Info.Address;
      });
  return Next - Regions.begin() - 1;
}

static Error readData(const Snapshot &S, RecordedState::DataFn Fn) {
  std::vector<char> Bytes;
  for (const SnapshotData &Data : S.data()) {
    if (Data.Encoding == MNEME_ENCODING_RAW) {
      if (Error E = Fn(Data, {Data.Stored.data(), Data.Stored.size()}))
        return E;
      continue;
    }
    Bytes.resize(Data.RawSize);
    if (Error E = S.decode(Data, Bytes))
      return E;
    if (Error E = Fn(Data, Bytes))
      return E;
  }
  return Error::success();
}

Error RecordedState::readStored(DataFn Fn) const {
  return readData(*Prologue, Fn);
}

Error RecordedState::readChanged(DataFn Fn) const {
  return readData(*Epilogue, Fn);
}

Error RecordedState::applyChanges(size_t Region,
                                  MutableArrayRef<char> Contents) const {
  return Epilogue->overlay(Region, Contents);
}
