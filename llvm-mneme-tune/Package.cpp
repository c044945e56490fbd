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
  // A file that the user names may have other kernels.
  TunedPackage P;
  if (Path != pathIn(Dir, "study.mneme") && sys::fs::exists(Path))
    if (Error E = readPackage(Path).moveInto(P))
      return E;
  Expected<PackagedKernel> K = packWinner(Plans, *Best, O.Pack, printNote);
  if (!K)
    return K.takeError();
  updatePackage(P, std::move(*K));
  // Needed if it was compiled with -fgpu-rdc.
  if (!O.Replay.App.empty()) {
    Expected<std::vector<ApplicationKernel>> Kernels =
        readApplication(O.Replay.App);
    if (!Kernels)
      return Kernels.takeError();
    addLinks(P, *Kernels);
  }
  return writePackage(Path, P);
}
