//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Feeds arbitrary bytes to the readers of packages of tuned kernels, in the
/// application and in the tools, and serves launches with the packages. Repairs
/// the digests first, because most of the code is behind their checks. An ELF
/// file is searched for packages.
///
//===----------------------------------------------------------------------===//

#include "EmbeddedPackages.h"
#include "Selector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace llvm;
using namespace llvm::mneme;

/// Repairs the digests of a package, of which the size is its own.
static void repairPackage(std::string &Bytes) {
  MnemePackageHeader Header;
  if (Bytes.size() < sizeof(Header))
    return;
  memcpy(&Header, Bytes.data(), sizeof(Header));
  Header.FileSize = Bytes.size();
  if (Header.HeaderSize <= Header.TablesSize &&
      Header.TablesSize <= Bytes.size())
    copy(
        digest128(StringRef(Bytes).slice(Header.HeaderSize, Header.TablesSize)),
        Header.Digest);
  memcpy(Bytes.data(), &Header, sizeof(Header));
  copy(digest128(StringRef(Bytes).take_front(
           offsetof(MnemePackageHeader, HeaderDigest))),
       Header.HeaderDigest);
  memcpy(Bytes.data(), &Header, sizeof(Header));
}

/// Serves the launch that the guards of a variant describe.
static void serve(const ::mneme::Package &P, const MnemePackageKernel &K,
                  const MnemePackageVariant &V) {
  constexpr uint64_t MaxSize = 1 << 16;
  // Arguments of their exact size, so that sanitizers see accesses behind them.
  std::vector<std::unique_ptr<char[]>> Values;
  std::vector<void *> Args;
  for (const MnemePackageArg &A : P.args(K)) {
    if (A.Size > MaxSize)
      return;
    Values.emplace_back(new char[A.Size]());
    Args.push_back(Values.back().get());
  }
  ::mneme::LaunchFacts L = {{1, 1, 1}, {1, 1, 1}, 0, false, Args.data()};
  ::mneme::DeployDevice D = {V.ImageKind,
                             V.Arch,
                             "GPU",
                             1024,
                             {1024, 1024, 64},
                             {65535, 65535, 65535},
                             227 << 10,
                             P.text(V.ArchNameOffset),
                             [](uint64_t Address, ::mneme::MemoryExtent &E) {
                               E = {Address & ~uint64_t(255),
                                    (Address | 255) + 1};
                               return Address != 0;
                             }};
  for (const MnemePackageGuard &G : P.guards(V)) {
    if (G.What == MNEME_GUARD_ARG)
      memcpy(Values[G.Index].get() + G.Offset, &G.Low, G.Size);
    else if (G.What == MNEME_GUARD_GRID)
      L.Grid[G.Index] = uint32_t(G.Low);
    else if (G.What == MNEME_GUARD_BLOCK)
      L.Block[G.Index] = uint32_t(G.Low);
    else if (G.What == MNEME_GUARD_SHARED)
      L.DynamicShared = G.Low;
    else if (G.What == MNEME_GUARD_DEVICE)
      D.Name = P.text(G.Offset);
  }
  ::mneme::LaunchPlan Plan;
  for (::mneme::DeployPolicy Policy :
       {::mneme::DeployPolicy(),
        ::mneme::DeployPolicy{true, true, MNEME_GRADE_UNPROVEN,
                              MNEME_CODE_UNPROVEN}}) {
    ::mneme::VariantTables T = ::mneme::describeVariant(P, V);
    ::mneme::GuardTable Guards;
    Guards.add(T, Policy);
    ::mneme::GuardTests Tests(Guards, L, D);
    if (::mneme::matchVariant(T, L, D, Policy, Tests, Plan) ==
        ::mneme::Fallback::None) {
      uint64_t Threads =
          uint64_t(Plan.Block[0]) * Plan.Block[1] * Plan.Block[2];
      if (!Threads || Threads > 1024)
        report_fatal_error("a plan that no device can launch");
    }
  }
}

/// Looks up each kernel and reads all that belongs to it.
static void readInApplication(StringRef Bytes) {
  ::mneme::Package P;
  if (!P.openMemory(Bytes.data(), Bytes.size()).empty())
    return;
  std::string All;
  for (const MnemePackageKernel &K : P.kernels()) {
    if (P.findKernel(K.StaticHash) != &K)
      report_fatal_error("a kernel is not found");
    All += P.text(K.NameOffset);
    for (const MnemePackageVariant &V : P.variants(K)) {
      serve(P, K, V);
      All += P.text(V.EntryOffset);
      All += P.text(V.ProvenanceOffset);
      std::unique_ptr<char[]> Image;
      P.readImage(V, Image);
    }
  }
  for (const MnemePackageUnit &U : P.units())
    if (P.findKernel(U.LinkHash, P.text(U.NameOffset)) !=
        &P.kernels()[U.Kernel])
      report_fatal_error("a kernel of a device link is not found");
}

/// What was read can be written and read again, and merged.
static void readInTools(StringRef Bytes) {
  SmallString<128> Path;
  if (std::error_code EC =
          sys::fs::createTemporaryFile("mneme-package-fuzzer", "", Path))
    report_fatal_error(Twine("no temporary file: ") + EC.message());
  FileRemover Remover(Path);
  if (Error E = writeFileAtomically(Path, Bytes))
    report_fatal_error(std::move(E));
  Expected<TunedPackage> P = readPackage(Path);
  if (!P)
    return consumeError(P.takeError());
  std::string Written = cantFail(packageBytes(*P));
  readInApplication(Written);
  TunedPackage Merged;
  if (Error E = mergePackage(Merged, *P))
    return consumeError(std::move(E));
  if (Error E = mergePackage(Merged, std::move(*P)))
    report_fatal_error("a package is in conflict with itself");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  std::string Bytes(reinterpret_cast<const char *>(Data), Size);
  for (std::string_view Part : ::mneme::dividePackages(
           ::mneme::findPackageSection(Bytes.data(), Bytes.size())))
    readInApplication(Part);
  readInApplication(Bytes);
  repairPackage(Bytes);
  readInApplication(Bytes);
  if (StringRef(Bytes).starts_with(MNEME_PACKAGE_MAGIC))
    readInTools(Bytes);
  return 0;
}
