//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <tuple>

using namespace llvm;
using namespace llvm::mneme;

/// Returns all that a guard tests, to compare and to sort.
static auto keyOf(const PackagedGuard &G) {
  const MnemePackageGuard &F = G.Fields;
  // The offset of a name is its place in a file.
  uint32_t Offset = G.hasName() ? 0 : F.Offset;
  return std::tuple(F.What, F.Test, F.Flags, F.Index, Offset, F.Size, F.Other,
                    F.Low, F.High, G.Name);
}

bool mneme::isSameGuard(const PackagedGuard &A, const PackagedGuard &B) {
  return keyOf(A) == keyOf(B);
}

static auto sortedKeys(ArrayRef<PackagedGuard> Guards) {
  std::vector<decltype(keyOf(Guards.front()))> Keys;
  // Variables belong to the image: all launches of an application have them.
  for (const PackagedGuard &G : Guards)
    if (G.Fields.What != MNEME_GUARD_VARIABLE)
      Keys.push_back(keyOf(G));
  llvm::sort(Keys);
  return Keys;
}

bool mneme::servesSameLaunches(const PackagedVariant &A,
                               const PackagedVariant &B) {
  return A.Fields.ImageKind == B.Fields.ImageKind && A.ArchName == B.ArchName &&
         A.Fields.Cooperative == B.Fields.Cooperative &&
         sortedKeys(A.Guards) == sortedKeys(B.Guards);
}

bool mneme::isSameCode(const PackagedVariant &A, const PackagedVariant &B) {
  auto Launch = [](const MnemePackageVariant &F) {
    return std::tuple(F.Launch, F.Block[0], F.Block[1], F.Block[2], F.Grid[0],
                      F.Grid[1], F.Grid[2], F.DynamicShared);
  };
  return A.Image == B.Image && A.Entry == B.Entry &&
         Launch(A.Fields) == Launch(B.Fields);
}

bool mneme::haveSameArguments(const PackagedKernel &A,
                              const PackagedKernel &B) {
  return llvm::equal(A.Args, B.Args,
                     [](const MnemePackageArg &X, const MnemePackageArg &Y) {
                       return X.Size == Y.Size && X.Offset == Y.Offset;
                     });
}

static std::string nameOf(const PackagedKernel &K) {
  return formatv("kernel '{0}' (static hash {1})", K.Name,
                 toHexString(K.StaticHash));
}

static Error mergeKernel(PackagedKernel &Into, PackagedKernel From) {
  for (PackagedVariant &New : From.Variants) {
    auto Old = llvm::find_if(Into.Variants, [&](const PackagedVariant &V) {
      return servesSameLaunches(V, New);
    });
    if (!haveSameArguments(Into, From))
      return createStringError(
          formatv("{0} has other arguments in '{1}' than in '{2}'",
                  nameOf(Into), Into.Variants.front().Origin, New.Origin));
    if (Old == Into.Variants.end())
      Into.Variants.push_back(std::move(New));
    else if (!isSameCode(*Old, New))
      return createStringError(formatv(
          "'{0}' and '{1}' serve the same launches of {2} with different code: "
          "merge one of them only, or pack the one you want again",
          Old->Origin, New.Origin, nameOf(Into)));
  }
  return Error::success();
}

static PackagedKernel *findKernel(TunedPackage &P, const Digest128 &Hash) {
  auto It = llvm::find_if(
      P.Kernels, [&](const PackagedKernel &K) { return K.StaticHash == Hash; });
  return It == P.Kernels.end() ? nullptr : &*It;
}

Error mneme::mergePackage(TunedPackage &Into, TunedPackage From) {
  for (PackagedKernel &K : From.Kernels) {
    PackagedKernel *Known = findKernel(Into, K.StaticHash);
    if (!Known)
      Into.Kernels.push_back(std::move(K));
    else if (Error E = mergeKernel(*Known, std::move(K)))
      return E;
  }
  for (LinkedKernel &L : From.Links) {
    auto Known = llvm::find_if(Into.Links, [&](const LinkedKernel &Other) {
      return Other.LinkHash == L.LinkHash && Other.Name == L.Name;
    });
    if (Known == Into.Links.end())
      Into.Links.push_back(std::move(L));
    else if (Known->StaticHash != L.StaticHash)
      return createStringError(
          formatv("kernel '{0}' of device link {1} is two kernels, {2} and {3}",
                  L.Name, toHexString(L.LinkHash),
                  toHexString(Known->StaticHash), toHexString(L.StaticHash)));
  }
  return Error::success();
}

void mneme::updatePackage(TunedPackage &Into, PackagedKernel K) {
  if (K.LoadedFrom)
    addLink(Into, {*K.LoadedFrom, K.Name, K.StaticHash});
  PackagedKernel *Known = findKernel(Into, K.StaticHash);
  if (!Known) {
    Into.Kernels.push_back(std::move(K));
    return;
  }
  for (PackagedVariant &Old : Known->Variants)
    if (none_of(K.Variants, [&](const PackagedVariant &New) {
          return servesSameLaunches(Old, New);
        }))
      K.Variants.push_back(std::move(Old));
  *Known = std::move(K);
}

Expected<size_t> mneme::addToPackage(StringRef Path,
                                     std::vector<PackagedKernel> Kernels,
                                     StringRef App) {
  std::vector<ApplicationKernel> Application;
  if (!App.empty())
    if (Error E = readApplication(App).moveInto(Application))
      return std::move(E);
  SmallString<128> LockPath(sys::path::parent_path(Path));
  sys::path::append(LockPath, "." + sys::path::filename(Path) + ".lock");
  LockedFile Lock;
  // The process that held the lock has removed its file.
  while (!Lock || !Lock.isLinked())
    if (Error E = LockedFile::wait(std::string(LockPath)).moveInto(Lock))
      return std::move(E);
  scope_exit RemoveLock([&] { sys::fs::remove(LockPath); });
  TunedPackage P;
  if (sys::fs::exists(Path))
    if (Error E = readPackage(Path).moveInto(P))
      return std::move(E);
  for (PackagedKernel &K : Kernels)
    updatePackage(P, std::move(K));
  addLinks(P, Application);
  if (Error E = writePackage(Path, P))
    return std::move(E);
  return P.Kernels.size();
}
