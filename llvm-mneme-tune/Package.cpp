//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace llvm::mneme;

Error mneme::writeWinner(const TuneOptions &O, StringRef Dir,
                         ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                         const StudyRecord &R, StringRef Path) {
  Expected<BestFile> Best = readBest(makeBest(R), Path);
  if (!Best)
    return Best.takeError();
  Expected<PackagedKernel> K = packWinner(Plans, *Best, O.Pack, printNote);
  if (!K)
    return K.takeError();
  // The study's own package has no other kernels. The application is needed if
  // it was compiled with -fgpu-rdc.
  if (Path == pathIn(Dir, "study.mneme"))
    sys::fs::remove(Path);
  return addToPackage(Path, {std::move(*K)}, O.Replay.App).takeError();
}
