//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns the winner for the recorded launch of \p Instance.
static Expected<PackagedKernel> packFor(const ReplayPlan &Instance,
                                        const BestFile &Best,
                                        const PackOptions &O) {
  ReplayOptions Replay = Instance.options();
  if (Error E = applySide(Best.Config, Replay))
    return std::move(E);
  Expected<std::unique_ptr<ReplayPlan>> Plan = Instance.vary(std::move(Replay));
  if (!Plan)
    return Plan.takeError();
  return packWinner(**Plan, Best.Winner, O);
}

/// The study knows the hash of the code for its first launch. Code that is
/// specialized for the others was verified, but cannot be recognized.
static Expected<PackagedKernel>
packForAll(ArrayRef<std::unique_ptr<ReplayPlan>> Plans, const BestFile &Best,
           const PackOptions &O) {
  Expected<PackagedKernel> First = packFor(*Plans.front(), Best, O);
  if (!First)
    return First;
  for (const std::unique_ptr<ReplayPlan> &Plan : Plans.drop_front()) {
    Expected<PackagedKernel> Next = packFor(*Plan, Best, O);
    if (!Next) {
      if (Error E = handleErrors(Next.takeError(), [&](const PackRefusal &R) {
            printNote("the package does not serve launch " +
                      Plan->instance().DynamicHash + ": " + R.message());
          }))
        return std::move(E);
      continue;
    }
    for (PackagedVariant &V : Next->Variants)
      if (none_of(First->Variants, [&](const PackagedVariant &Known) {
            return servesSameLaunches(Known, V);
          }))
        First->Variants.push_back(std::move(V));
  }
  return First;
}

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
  Expected<PackagedKernel> K = packForAll(Plans, *Best, O.Pack);
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
