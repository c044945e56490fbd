//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/Package.h"
#include "Descriptor.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/HostExec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

using namespace mneme;

// Larger ones are not written by Mneme. A sparse file of any size is cheap to
// make, so its size alone is no reason to allocate as much.
static constexpr uint64_t MaxTables = 256u << 20;
static constexpr uint64_t MaxImage = 1u << 30;
static constexpr uint32_t MaxBlock = 1024;
static constexpr uint64_t MaxVariable = uint64_t(1) << 48;
/// Of 64 KiB of constant memory.
static constexpr uint64_t MaxSlots = 8192;
static constexpr uint32_t MaxGrid[3] = {0x7fffffff, 0xffff, 0xffff};

static std::string damaged(const std::string &Why) {
  return "is damaged: " + Why;
}

static bool matchesDigest(const char *Bytes, uint64_t Size,
                          const uint8_t Digest[16]) {
  XXH128_canonical_t Canonical;
  XXH128_canonicalFromHash(&Canonical, XXH3_128bits(Bytes, Size));
  return !memcmp(&Canonical, Digest, sizeof(Canonical));
}

/// Reads \p Size bytes at \p At. \returns false if there are fewer.
static bool readAt(int File, uint64_t At, char *To, uint64_t Size) {
  return transferAll(Size, [&](size_t Done, size_t Left) {
    return pread(File, To + Done, Left, At + Done);
  });
}

//===----------------------------------------------------------------------===//
// Checks of the tables
//===----------------------------------------------------------------------===//

/// Checks what comes before the tables. \returns an error message.
static std::string checkHeader(const char *Bytes, uint64_t Size) {
  constexpr size_t MagicSize = sizeof(MnemePackageHeader::Magic);
  if (Size < MagicSize || memcmp(Bytes, MNEME_PACKAGE_MAGIC, MagicSize))
    return "is not a package of tuned kernels";
  MnemePackageHeader H;
  if (Size < sizeof(H))
    return damaged("it ends within its header");
  memcpy(&H, Bytes, sizeof(H));
  // Another major version may have another header, so its digest comes later.
  if (H.Major > MNEME_PACKAGE_MAJOR)
    return "was written by a newer Mneme (format " + std::to_string(H.Major) +
           "." + std::to_string(H.Minor) + "): update Mneme";
  if (H.Major < MNEME_PACKAGE_MAJOR)
    return damaged("there is no format " + std::to_string(H.Major));
  if (!matchesDigest(Bytes, offsetof(MnemePackageHeader, HeaderDigest),
                     H.HeaderDigest))
    return damaged("its header has another digest");
  if (H.FileSize != Size)
    return damaged("it has " + std::to_string(Size) + " bytes instead of " +
                   std::to_string(H.FileSize));
  if (H.HeaderSize < sizeof(H) || H.HeaderSize % 8 ||
      H.TablesSize < H.HeaderSize || H.TablesSize > Size ||
      H.TablesSize > MaxTables)
    return damaged("its tables do not fit");
  return "";
}

namespace {
/// Checks tables of which the digests are right. Such a file can still be made
/// by hand, or by another version.
class TableCheck {
public:
  TableCheck(const Package &P, const char *Tables)
      : P(P), H(*reinterpret_cast<const MnemePackageHeader *>(Tables)),
        Tables(Tables) {}

  std::string run();

private:
  bool isTable(uint64_t Offset, uint32_t Count, size_t Size) const {
    return Offset % 8 == 0 && Offset >= H.HeaderSize &&
           Offset <= H.TablesSize && Count <= (H.TablesSize - Offset) / Size;
  }
  /// The last byte of the tables is NUL, so every string has an end.
  bool isText(uint32_t Offset) const {
    return Offset >= H.HeaderSize && Offset < H.TablesSize;
  }
  bool isName(uint32_t Offset) const {
    return isText(Offset) && Tables[Offset];
  }
  /// Consumes a range that has to be the next of a table.
  static bool isNext(uint64_t &Next, uint32_t First, uint32_t Count,
                     uint32_t End) {
    bool Ok = First == Next && Count <= End - Next;
    Next += Ok ? Count : 0;
    return Ok;
  }

  std::string checkKernel(const MnemePackageKernel &K);
  std::string checkVariant(const MnemePackageKernel &K,
                           const MnemePackageVariant &V);
  std::string checkLaunch(const MnemePackageVariant &V) const;
  std::string checkGuard(const MnemePackageKernel &K,
                         const MnemePackageGuard &G) const;
  std::string checkBytes(const MnemePackageKernel &K, uint32_t Index,
                         uint32_t Offset, uint32_t Size) const;
  std::string checkUnits() const;

  /// Names a value that is not known, and who may know it.
  std::string unknown(const char *What, uint32_t Value) const {
    if (H.Minor > MNEME_PACKAGE_MINOR)
      return "was written by a newer Mneme (format " + std::to_string(H.Major) +
             "." + std::to_string(H.Minor) + "): update Mneme";
    return damaged("there is no " + std::string(What) + " " +
                   std::to_string(Value));
  }

  const Package &P;
  const MnemePackageHeader &H;
  const char *Tables;
  uint64_t NextArg = 0, NextVariant = 0, NextGuard = 0;
};
} // namespace

std::string TableCheck::run() {
  if (!isTable(H.KernelsOffset, H.NumKernels, sizeof(MnemePackageKernel)) ||
      !isTable(H.VariantsOffset, H.NumVariants, sizeof(MnemePackageVariant)) ||
      !isTable(H.ArgsOffset, H.NumArgs, sizeof(MnemePackageArg)) ||
      !isTable(H.GuardsOffset, H.NumGuards, sizeof(MnemePackageGuard)) ||
      !isTable(H.UnitsOffset, H.NumUnits, sizeof(MnemePackageUnit)))
    return damaged("a table does not fit");
  if (H.TablesSize == H.HeaderSize || Tables[H.TablesSize - 1])
    return damaged("its strings have no end");
  const MnemePackageKernel *Before = nullptr;
  for (const MnemePackageKernel &K : P.kernels()) {
    if (Before && memcmp(Before->StaticHash, K.StaticHash, 16) >= 0)
      return damaged("its kernels are not in order");
    Before = &K;
    if (std::string Error = checkKernel(K); !Error.empty())
      return Error;
  }
  if (NextArg != H.NumArgs || NextVariant != H.NumVariants ||
      NextGuard != H.NumGuards)
    return damaged("entries of its tables belong to no kernel");
  return checkUnits();
}

std::string TableCheck::checkKernel(const MnemePackageKernel &K) {
  if (!isName(K.NameOffset))
    return damaged("a kernel has no name");
  if (!isNext(NextArg, K.FirstArg, K.NumArgs, H.NumArgs))
    return damaged("the arguments of a kernel are not in the table");
  if (!K.NumVariants)
    return damaged("a kernel has no variants");
  if (!isNext(NextVariant, K.FirstVariant, K.NumVariants, H.NumVariants))
    return damaged("the variants of a kernel are not in the table");
  uint64_t End = 0;
  for (const MnemePackageArg &A : P.args(K)) {
    if (A.Offset < End)
      return damaged("the arguments of a kernel overlap");
    End = uint64_t(A.Offset) + A.Size;
  }
  for (const MnemePackageVariant &V : P.variants(K))
    if (std::string Error = checkVariant(K, V); !Error.empty())
      return Error;
  return "";
}

std::string TableCheck::checkVariant(const MnemePackageKernel &K,
                                     const MnemePackageVariant &V) {
  if (!isNext(NextGuard, V.FirstGuard, V.NumGuards, H.NumGuards))
    return damaged("the guards of a variant are not in the table");
  if (V.ImageKind < MNEME_IMAGE_CUBIN || V.ImageKind > MNEME_IMAGE_CODE_OBJECT)
    return unknown("kind of image", V.ImageKind);
  if ((V.ImageKind == MNEME_IMAGE_OBJECT) != (V.Arch == 0))
    return damaged("an image is of another architecture than its kind");
  if (V.ImageKind == MNEME_IMAGE_OBJECT && V.HostStrategy > MNEME_HOST_FIBER)
    return unknown("kind of CPU code", V.HostStrategy);
  if (V.ImageOffset < H.TablesSize || V.ImageOffset > H.FileSize ||
      !V.ImageSize || V.ImageSize > H.FileSize - V.ImageOffset ||
      V.ImageSize > MaxImage)
    return damaged("an image does not fit");
  if (!isName(V.EntryOffset) || !isName(V.ArchNameOffset))
    return damaged("a variant has no name");
  if (!isText(V.ProvenanceOffset))
    return damaged("the provenance of a variant is not in the tables");
  if (V.Cooperative > 1)
    return unknown("kind of cooperative launch", V.Cooperative);
  if (std::string Error = checkLaunch(V); !Error.empty())
    return Error;
  for (const MnemePackageGuard &G : P.guards(V))
    if (std::string Error = checkGuard(K, G); !Error.empty())
      return Error;
  return "";
}

std::string TableCheck::checkLaunch(const MnemePackageVariant &V) const {
  if (V.Launch > MNEME_LAUNCH_FIXED)
    return unknown("rule for launches", V.Launch);
  if (V.Grade > MNEME_GRADE_UNPROVEN)
    return unknown("grade of launches", V.Grade);
  if (V.Code > MNEME_CODE_UNPROVEN)
    return unknown("grade of code", V.Code);
  if (!V.MaxThreads || V.MaxThreads > MaxBlock)
    return damaged("a variant supports no thread blocks");
  bool KeepsShared = V.DynamicShared == MNEME_SHARED_SAME;
  if (!KeepsShared && V.DynamicShared > UINT32_MAX)
    return damaged("a variant needs too much shared memory");
  bool Keeps = V.Launch == MNEME_LAUNCH_SAME && KeepsShared;
  if (Keeps != (V.Grade == MNEME_GRADE_SAME))
    return damaged("the grade of a variant does not fit its launch");
  if (V.Launch == MNEME_LAUNCH_SAME)
    return "";
  uint64_t Threads = 1;
  for (uint32_t N : V.Block) {
    if (!N || N > MaxBlock)
      return damaged("a variant has a thread block that no device supports");
    Threads *= N;
  }
  if (Threads > V.MaxThreads)
    return damaged("a variant has more threads than it supports");
  for (unsigned I = 0; V.Launch == MNEME_LAUNCH_FIXED && I != 3; ++I)
    if (!V.Grid[I] || V.Grid[I] > MaxGrid[I])
      return damaged("a variant has a grid that no device supports");
  return "";
}

std::string TableCheck::checkGuard(const MnemePackageKernel &K,
                                   const MnemePackageGuard &G) const {
  if (G.Flags & ~uint32_t(MNEME_GUARD_SOFT))
    return unknown("flag of a guard", G.Flags);
  if (G.What == MNEME_GUARD_DEVICE) {
    if (G.Test != MNEME_TEST_EQUAL)
      return unknown("test of a device's name", G.Test);
    return isName(G.Offset) ? "" : damaged("a guard has no device");
  }
  if (G.What == MNEME_GUARD_VARIABLE) {
    if (G.Test != MNEME_TEST_EQUAL)
      return unknown("test of a variable", G.Test);
    if (!isName(G.Offset) || !G.Low || G.Low > MaxVariable)
      return damaged("a guard has no variable");
    if (G.High != MNEME_VARIABLE_COPY && G.High >= MaxSlots)
      return damaged("a variable has no slot");
    return "";
  }
  switch (G.Test) {
  case MNEME_TEST_RANGE:
    if (G.Low > G.High)
      return damaged("a guard has an empty range");
    break;
  case MNEME_TEST_SIGNED:
    if (int64_t(G.Low) > int64_t(G.High))
      return damaged("a guard has an empty range");
    break;
  case MNEME_TEST_MULTIPLE:
    if (!G.Low || (G.Low & (G.Low - 1)))
      return damaged("a guard tests multiples of " + std::to_string(G.Low));
    break;
  default:
    return unknown("test of a number", G.Test);
  }
  switch (G.What) {
  case MNEME_GUARD_ARG:
    if (G.Size != 1 && G.Size != 2 && G.Size != 4 && G.Size != 8)
      return damaged("a guard tests " + std::to_string(G.Size) + " bytes");
    return checkBytes(K, G.Index, G.Offset, G.Size);
  case MNEME_GUARD_SAME_BUFFER:
    if (std::string Error = checkBytes(K, G.Other, G.Size, sizeof(uint64_t));
        !Error.empty())
      return Error;
    [[fallthrough]];
  case MNEME_GUARD_BEFORE:
  case MNEME_GUARD_BEHIND:
  case MNEME_GUARD_ALIGNMENT:
  case MNEME_GUARD_OWN_PAGES:
  case MNEME_GUARD_IN_VARIABLE:
    return checkBytes(K, G.Index, G.Offset, sizeof(uint64_t));
  case MNEME_GUARD_GRID:
  case MNEME_GUARD_BLOCK:
  case MNEME_GUARD_CLUSTER:
    return G.Index < 3 ? "" : damaged("a guard tests a fourth dimension");
  case MNEME_GUARD_SHARED:
  case MNEME_GUARD_COOPERATIVE:
    return "";
  }
  return unknown("kind of guard", G.What);
}

std::string TableCheck::checkBytes(const MnemePackageKernel &K, uint32_t Index,
                                   uint32_t Offset, uint32_t Size) const {
  if (Index >= K.NumArgs)
    return damaged("a guard tests an argument that its kernel does not have");
  const MnemePackageArg &A = P.args(K)[Index];
  if (Size > A.Size || Offset > A.Size - Size)
    return damaged("a guard tests bytes outside of its argument");
  return "";
}

std::string TableCheck::checkUnits() const {
  const MnemePackageUnit *Before = nullptr;
  for (const MnemePackageUnit &U : P.units()) {
    if (!isName(U.NameOffset) || U.Kernel >= H.NumKernels)
      return damaged("a kernel of a device link is not in the table");
    if (Before) {
      int Order = memcmp(Before->LinkHash, U.LinkHash, 16);
      if (!Order)
        Order = strcmp(Tables + Before->NameOffset, Tables + U.NameOffset);
      if (Order >= 0)
        return damaged("the kernels of its device links are not in order");
    }
    Before = &U;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Package
//===----------------------------------------------------------------------===//

Package::~Package() {
  if (File >= 0)
    close(File);
}

std::string Package::open(const char *Path) {
  // A FIFO would wait for its writer.
  File = moveAway(::open(Path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat Status;
  if (File < 0 || fstat(File, &Status))
    return std::string("cannot be opened: ") + strerror(errno);
  if (!S_ISREG(Status.st_mode))
    return "is not a regular file";
  Size = Status.st_size;
  MnemePackageHeader H = {};
  if (!readAt(File, 0, reinterpret_cast<char *>(&H),
              std::min<uint64_t>(Size, sizeof(H))))
    return "cannot be read";
  if (std::string Error = checkHeader(reinterpret_cast<char *>(&H), Size);
      !Error.empty())
    return Error;
  Copy.reset(new (std::nothrow) char[H.TablesSize]);
  if (!Copy)
    return outOfMemory();
  if (!readAt(File, 0, Copy.get(), H.TablesSize))
    return "cannot be read";
  // If the file was changed meanwhile, its header may be another.
  if (memcmp(&H, Copy.get(), sizeof(H)))
    return damaged("it was changed while it was read");
  Tables = Copy.get();
  return check();
}

std::string Package::openMemory(const void *Bytes, size_t TheSize) {
  Memory = static_cast<const char *>(Bytes);
  Size = TheSize;
  if (std::string Error = checkHeader(Memory, Size); !Error.empty())
    return Error;
  Tables = Memory;
  if (reinterpret_cast<uintptr_t>(Memory) % alignof(MnemePackageHeader)) {
    MnemePackageHeader H;
    memcpy(&H, Memory, sizeof(H));
    Copy.reset(new (std::nothrow) char[H.TablesSize]);
    if (!Copy)
      return outOfMemory();
    memcpy(Copy.get(), Memory, H.TablesSize);
    Tables = Copy.get();
  }
  return check();
}

std::string Package::check() {
  const MnemePackageHeader &H = header();
  std::string Error = matchesDigest(Tables + H.HeaderSize,
                                    H.TablesSize - H.HeaderSize, H.Digest)
                          ? TableCheck(*this, Tables).run()
                          : damaged("its tables have another digest");
  if (!Error.empty())
    Tables = nullptr;
  return Error;
}

/// Returns \p Count entries from \p First on, of a table at \p Offset.
template <typename T>
static PackageRange<T> rangeAt(const char *Tables, uint64_t Offset,
                               uint32_t First, uint32_t Count) {
  return {reinterpret_cast<const T *>(Tables + Offset) + First, Count};
}

PackageRange<MnemePackageKernel> Package::kernels() const {
  if (!Tables)
    return {};
  return rangeAt<MnemePackageKernel>(Tables, header().KernelsOffset, 0,
                                     header().NumKernels);
}

PackageRange<MnemePackageUnit> Package::units() const {
  if (!Tables)
    return {};
  return rangeAt<MnemePackageUnit>(Tables, header().UnitsOffset, 0,
                                   header().NumUnits);
}

PackageRange<MnemePackageArg> Package::args(const MnemePackageKernel &K) const {
  return rangeAt<MnemePackageArg>(Tables, header().ArgsOffset, K.FirstArg,
                                  K.NumArgs);
}

PackageRange<MnemePackageVariant>
Package::variants(const MnemePackageKernel &K) const {
  return rangeAt<MnemePackageVariant>(Tables, header().VariantsOffset,
                                      K.FirstVariant, K.NumVariants);
}

PackageRange<MnemePackageGuard>
Package::guards(const MnemePackageVariant &V) const {
  return rangeAt<MnemePackageGuard>(Tables, header().GuardsOffset, V.FirstGuard,
                                    V.NumGuards);
}

bool Package::copiesVariables() const {
  if (!Tables)
    return false;
  PackageRange<MnemePackageGuard> All = rangeAt<MnemePackageGuard>(
      Tables, header().GuardsOffset, 0, header().NumGuards);
  return std::any_of(All.begin(), All.end(), [](const MnemePackageGuard &G) {
    return G.What == MNEME_GUARD_VARIABLE && G.High == MNEME_VARIABLE_COPY;
  });
}

const char *Package::text(uint32_t Offset) const { return Tables + Offset; }

const MnemePackageKernel *
Package::findKernel(const uint8_t StaticHash[16]) const {
  PackageRange<MnemePackageKernel> All = kernels();
  const MnemePackageKernel *K =
      std::lower_bound(All.begin(), All.end(), StaticHash,
                       [](const MnemePackageKernel &A, const uint8_t *Hash) {
                         return memcmp(A.StaticHash, Hash, 16) < 0;
                       });
  return K != All.end() && !memcmp(K->StaticHash, StaticHash, 16) ? K : nullptr;
}

const MnemePackageKernel *Package::findKernel(const uint8_t LinkHash[16],
                                              const char *Name) const {
  PackageRange<MnemePackageUnit> All = units();
  auto Order = [&](const MnemePackageUnit &U) {
    int ByHash = memcmp(U.LinkHash, LinkHash, 16);
    return ByHash ? ByHash : strcmp(text(U.NameOffset), Name);
  };
  const MnemePackageUnit *U = std::partition_point(
      All.begin(), All.end(),
      [&](const MnemePackageUnit &A) { return Order(A) < 0; });
  return U != All.end() && !Order(*U) ? &kernels()[U->Kernel] : nullptr;
}

std::string Package::readImage(const MnemePackageVariant &V,
                               std::unique_ptr<char[]> &Bytes) const {
  Bytes.reset(new (std::nothrow) char[V.ImageSize]);
  if (!Bytes)
    return outOfMemory();
  if (Memory)
    memcpy(Bytes.get(), Memory + V.ImageOffset, V.ImageSize);
  else if (!readAt(File, V.ImageOffset, Bytes.get(), V.ImageSize))
    return damaged("an image cannot be read");
  if (matchesDigest(Bytes.get(), V.ImageSize, V.ImageDigest))
    return "";
  Bytes.reset();
  return damaged("an image has another digest");
}
