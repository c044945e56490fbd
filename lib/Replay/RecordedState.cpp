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

  for (const auto &[I, Info] : enumerate(Before->regions())) {
    RecordedRegion R;
    R.Info = Info;
    R.Before.resize(Info.Size);
    if (Error E = Before->overlay(I, R.Before))
      return std::move(E);
    State.Regions.push_back(std::move(R));
  }
  State.Prologue = std::move(*Before);
  State.Epilogue = std::move(*After);
  return std::move(State);
}

Expected<std::vector<char>> RecordedState::after(size_t Region) const {
  std::vector<char> Bytes = Regions[Region].Before;
  if (Error E = Epilogue->overlay(Region, Bytes))
    return std::move(E);
  return Bytes;
}
