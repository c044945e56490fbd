//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Runtime/Package.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Alignment.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// The tables of a package, and the offsets of its strings and images.
class PackageLayout {
public:
  explicit PackageLayout(const TunedPackage &P) {
    for (const PackagedKernel &K : P.Kernels)
      Order.push_back(&K);
    llvm::sort(Order, [](const PackagedKernel *A, const PackagedKernel *B) {
      return A->StaticHash < B->StaticHash;
    });
    for (const PackagedKernel *K : Order)
      add(*K);
    addLinks(P);
  }

  std::string bytes();

private:
  void add(const PackagedKernel &K);
  void add(const PackagedVariant &V);
  void addLinks(const TunedPackage &P);

  /// Returns the offset of a string from the first.
  uint32_t text(StringRef S) {
    auto [It, IsNew] = Texts.try_emplace(S, Strings.size());
    if (IsNew) {
      Strings += S;
      Strings += '\0';
    }
    return It->second;
  }

  template <typename T>
  void addTable(uint64_t &Offset, uint32_t &Count,
                const std::vector<T> &Table) {
    Offset = sizeof(MnemePackageHeader) + Tables.size();
    Count = Table.size();
    Tables.append(reinterpret_cast<const char *>(Table.data()),
                  Table.size() * sizeof(T));
    static_assert(sizeof(T) % 8 == 0, "tables are aligned");
  }
  void moveStrings(uint32_t By);

  std::vector<const PackagedKernel *> Order;
  std::vector<MnemePackageKernel> Kernels;
  std::vector<MnemePackageVariant> Variants;
  std::vector<MnemePackageArg> Args;
  std::vector<MnemePackageGuard> Guards;
  std::vector<MnemePackageUnit> Units;
  StringMap<uint32_t> Texts;
  std::string Strings;
  std::map<Digest128, uint64_t> ImageOffsets; ///< From the first image.
  std::string Images;
  std::string Tables; ///< Behind the header.
};
} // namespace

void PackageLayout::add(const PackagedKernel &K) {
  MnemePackageKernel Row = {};
  llvm::copy(K.StaticHash, Row.StaticHash);
  Row.NameOffset = text(K.Name);
  Row.FirstArg = Args.size();
  Row.NumArgs = K.Args.size();
  Row.FirstVariant = Variants.size();
  Row.NumVariants = K.Variants.size();
  Kernels.push_back(Row);
  llvm::append_range(Args, K.Args);
  for (const PackagedVariant &V : K.Variants)
    add(V);
}

void PackageLayout::add(const PackagedVariant &V) {
  MnemePackageVariant Row = V.Fields;
  Row.FirstGuard = Guards.size();
  Row.NumGuards = V.Guards.size();
  for (const PackagedGuard &G : V.Guards) {
    Guards.push_back(G.Fields);
    if (G.hasName())
      Guards.back().Offset = text(G.Name);
  }
  Row.EntryOffset = text(V.Entry);
  Row.ArchNameOffset = text(V.ArchName);
  Row.ProvenanceOffset = text(V.Provenance);
  Digest128 Digest = digest128(V.Image);
  llvm::copy(Digest, Row.ImageDigest);
  auto [It, IsNew] = ImageOffsets.try_emplace(Digest, Images.size());
  Row.ImageOffset = It->second;
  Row.ImageSize = V.Image.size();
  if (IsNew) {
    Images += V.Image;
    Images.resize(alignTo(Images.size(), 16));
  }
  Variants.push_back(Row);
}

void PackageLayout::addLinks(const TunedPackage &P) {
  std::vector<const LinkedKernel *> Links;
  for (const LinkedKernel &L : P.Links)
    Links.push_back(&L);
  llvm::sort(Links, [](const LinkedKernel *A, const LinkedKernel *B) {
    return std::tie(A->LinkHash, A->Name) < std::tie(B->LinkHash, B->Name);
  });
  for (const LinkedKernel *L : Links) {
    MnemePackageUnit Row = {};
    llvm::copy(L->LinkHash, Row.LinkHash);
    Row.NameOffset = text(L->Name);
    // For a kernel that the package lacks, the number is out of range, and
    // readers refuse it.
    Row.Kernel = llvm::find_if(Order,
                               [&](const PackagedKernel *K) {
                                 return K->StaticHash == L->StaticHash;
                               }) -
                 Order.begin();
    Units.push_back(Row);
  }
}

void PackageLayout::moveStrings(uint32_t By) {
  for (MnemePackageKernel &K : Kernels)
    K.NameOffset += By;
  for (MnemePackageUnit &U : Units)
    U.NameOffset += By;
  for (MnemePackageVariant &V : Variants) {
    V.EntryOffset += By;
    V.ArchNameOffset += By;
    V.ProvenanceOffset += By;
  }
  for (MnemePackageGuard &G : Guards)
    if (PackagedGuard{G, {}}.hasName())
      G.Offset += By;
}

std::string PackageLayout::bytes() {
  // An empty package has a string, too: the last byte is NUL.
  text("");
  uint64_t StringsAt =
      sizeof(MnemePackageHeader) + Kernels.size() * sizeof(Kernels[0]) +
      Variants.size() * sizeof(Variants[0]) + Args.size() * sizeof(Args[0]) +
      Guards.size() * sizeof(Guards[0]) + Units.size() * sizeof(Units[0]);
  moveStrings(StringsAt);
  Strings.resize(alignTo(Strings.size(), 16));
  MnemePackageHeader H = {};
  memcpy(H.Magic, MNEME_PACKAGE_MAGIC, sizeof(H.Magic));
  H.Major = MNEME_PACKAGE_MAJOR;
  H.Minor = MNEME_PACKAGE_MINOR;
  H.HeaderSize = sizeof(H);
  H.TablesSize = StringsAt + Strings.size();
  H.FileSize = H.TablesSize + Images.size();
  for (MnemePackageVariant &V : Variants)
    V.ImageOffset += H.TablesSize;
  addTable(H.KernelsOffset, H.NumKernels, Kernels);
  addTable(H.VariantsOffset, H.NumVariants, Variants);
  addTable(H.ArgsOffset, H.NumArgs, Args);
  addTable(H.GuardsOffset, H.NumGuards, Guards);
  addTable(H.UnitsOffset, H.NumUnits, Units);
  Tables += Strings;
  llvm::copy(digest128(Tables), H.Digest);
  StringRef Bytes(reinterpret_cast<const char *>(&H), sizeof(H));
  llvm::copy(
      digest128(Bytes.take_front(offsetof(MnemePackageHeader, HeaderDigest))),
      H.HeaderDigest);
  return (Bytes + Tables + Images).str();
}

Expected<std::string> llvm::mneme::packageBytes(const TunedPackage &P) {
  std::string Bytes = PackageLayout(P).bytes();
  ::mneme::Package Reader;
  if (std::string Why = Reader.openMemory(Bytes.data(), Bytes.size());
      !Why.empty())
    return createStringError("the package " + Why);
  return Bytes;
}

Error llvm::mneme::writePackage(StringRef Path, const TunedPackage &P) {
  Expected<std::string> Bytes = packageBytes(P);
  if (!Bytes)
    return Bytes.takeError();
  return writeFileAtomically(Path, *Bytes);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Digest128 digestAt(const uint8_t Bytes[16]) {
  Digest128 D;
  std::copy_n(Bytes, D.size(), D.begin());
  return D;
}

/// Returns a variant with an error message of its image, if there is one.
static PackagedVariant readVariant(const ::mneme::Package &P,
                                   const MnemePackageVariant &V,
                                   std::string &Why) {
  PackagedVariant New;
  New.Fields = V;
  for (const MnemePackageGuard &G : P.guards(V)) {
    New.Guards.push_back({G, {}});
    if (New.Guards.back().hasName())
      New.Guards.back().Name = P.text(G.Offset);
  }
  New.Entry = P.text(V.EntryOffset);
  New.ArchName = P.text(V.ArchNameOffset);
  New.Provenance = P.text(V.ProvenanceOffset);
  std::unique_ptr<char[]> Image;
  Why = P.readImage(V, Image);
  if (Why.empty())
    New.Image.assign(Image.get(), V.ImageSize);
  return New;
}

/// \p Why says why the package could not be opened; empty if it was.
static Expected<TunedPackage> readOpened(const ::mneme::Package &P,
                                         StringRef Path, std::string Why) {
  auto Fail = [&](const std::string &Why) {
    return createStringError("'" + Path + "' " + Why);
  };
  if (!Why.empty())
    return Fail(Why);
  TunedPackage Result;
  for (const MnemePackageKernel &K : P.kernels()) {
    PackagedKernel &New = Result.Kernels.emplace_back();
    New.StaticHash = digestAt(K.StaticHash);
    New.Name = P.text(K.NameOffset);
    New.Args.assign(P.args(K).begin(), P.args(K).end());
    for (const MnemePackageVariant &V : P.variants(K)) {
      New.Variants.push_back(readVariant(P, V, Why));
      New.Variants.back().Origin = Path.str();
      if (!Why.empty())
        return Fail(Why);
    }
  }
  for (const MnemePackageUnit &U : P.units())
    Result.Links.push_back({digestAt(U.LinkHash), P.text(U.NameOffset),
                            digestAt(P.kernels()[U.Kernel].StaticHash)});
  return Result;
}

Expected<TunedPackage> llvm::mneme::readPackage(StringRef Path) {
  ::mneme::Package P;
  std::string Why = P.open(Path.str().c_str());
  return readOpened(P, Path, std::move(Why));
}

Expected<TunedPackage> llvm::mneme::parsePackage(StringRef Bytes,
                                                 StringRef Path) {
  ::mneme::Package P;
  std::string Why = P.openMemory(Bytes.data(), Bytes.size());
  return readOpened(P, Path, std::move(Why));
}
