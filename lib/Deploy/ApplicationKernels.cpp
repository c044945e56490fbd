//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Record/DeviceLink.h"

using namespace llvm;
using namespace llvm::mneme;

/// Adds the kernels of payload \p Index, which do not have all hashes.
static Error addLinked(ArrayRef<Payload> Payloads, size_t Index,
                       std::vector<ApplicationKernel> &Kernels) {
  Expected<std::vector<KernelHash>> Hashes = computeHashes(Payloads, Index);
  if (!Hashes)
    return Hashes.takeError();
  size_t Unit;
  std::string Link = computeLinkHash(selectUnits(Payloads, Index, Unit));
  for (const auto &[K, Hash] : zip_equal(Payloads[Index].Kernels, *Hashes))
    Kernels.push_back({K.Name, Hash.StaticHash, Hash.Problem, Link});
  return Error::success();
}

Expected<std::vector<ApplicationKernel>>
mneme::readApplication(StringRef Path) {
  Expected<std::vector<Payload>> Payloads = readPayloads(Path);
  if (!Payloads)
    return Payloads.takeError();
  std::vector<ApplicationKernel> Kernels;
  for (auto [I, P] : enumerate(*Payloads)) {
    bool IsKnown = all_of(P.Kernels, [](const PayloadKernel &K) {
      return !K.StaticHash.empty();
    });
    if (IsKnown)
      for (const PayloadKernel &K : P.Kernels)
        Kernels.push_back({K.Name, K.StaticHash, "", ""});
    else if (Error E = addLinked(*Payloads, I, Kernels))
      return createFileError(Path, std::move(E));
  }
  return Kernels;
}

void mneme::addLink(TunedPackage &P, LinkedKernel L) {
  llvm::erase_if(P.Links, [&](const LinkedKernel &Old) {
    return Old.LinkHash == L.LinkHash && Old.Name == L.Name;
  });
  P.Links.push_back(std::move(L));
}

unsigned mneme::addLinks(TunedPackage &P, ArrayRef<ApplicationKernel> Kernels) {
  unsigned Added = 0;
  for (const ApplicationKernel &K : Kernels) {
    std::optional<Digest128> Static = parseDigest128(K.StaticHash);
    std::optional<Digest128> Link = parseDigest128(K.LinkHash);
    if (!Static || !Link || none_of(P.Kernels, [&](const PackagedKernel &Has) {
          return Has.StaticHash == *Static;
        }))
      continue;
    addLink(P, {*Link, K.Name, *Static});
    ++Added;
  }
  return Added;
}
