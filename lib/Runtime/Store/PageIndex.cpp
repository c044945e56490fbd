//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/PageIndex.h"
#include "Descriptor.h"
#include "Hex.h"
#include "Shortage.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <new>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>

using namespace mneme;

static_assert(sizeof(PageDigest) == sizeof(XXH128_canonical_t),
              "a digest is what files hold");

PageDigest mneme::digestOfPage(const char *Bytes, size_t Size) {
  char Filled[MNEME_SNAPSHOT_PAGE];
  if (Size != MNEME_SNAPSHOT_PAGE) {
    memcpy(Filled, Bytes, Size);
    memset(Filled + Size, 0, MNEME_SNAPSHOT_PAGE - Size);
    Bytes = Filled;
  }
  XXH128_canonical_t Canonical;
  XXH128_canonicalFromHash(&Canonical,
                           XXH3_128bits(Bytes, MNEME_SNAPSHOT_PAGE));
  PageDigest D;
  memcpy(&D, &Canonical, sizeof(D));
  return D;
}

bool mneme::isZero(const char *P, uint64_t Size) {
  uint64_t Or = 0, I = 0;
  for (; I + 8 <= Size; I += 8) {
    uint64_t V;
    memcpy(&V, P + I, 8);
    Or |= V;
  }
  for (; I != Size; ++I)
    Or |= static_cast<unsigned char>(P[I]);
  return !Or;
}

std::string mneme::pageFileName(const MnemePageFileId &Id) {
  return "Pages." + hexDigits(Id.Id, sizeof(Id.Id)) + ".mneme";
}

//===----------------------------------------------------------------------===//
// PageTable
//===----------------------------------------------------------------------===//

void PageTable::put(Slot S) {
  size_t I = home(S.Tag);
  while (Slots[I].Number != None)
    I = next(I);
  Slots[I] = S;
}

bool PageTable::grow() {
  size_t OldSize = NumSlots;
  size_t NewSize = OldSize ? 2 * OldSize : 1024;
  std::unique_ptr<Slot[]> Old(new (std::nothrow) Slot[NewSize]);
  if (!Old)
    return false;
  for (size_t I = 0; I != NewSize; ++I)
    Old[I].Number = None;
  Slots.swap(Old);
  NumSlots = NewSize;
  for (size_t I = 0; I != OldSize; ++I)
    if (Old[I].Number != None)
      put(Old[I]);
  return true;
}

void PageTable::insert(const PageDigest &D, uint32_t Number) {
  if (Count == MaxPages)
    return;
  // Keep the load factor at or below three quarters.
  if (Count >= NumSlots / 4 * 3 && !grow()) {
    // Do not retry for each page, which would take long.
    MaxPages = Count;
    return;
  }
  put({tag(D), Number});
  ++Count;
}

void PageTable::clear() {
  Slots.reset();
  NumSlots = Count = 0;
}

//===----------------------------------------------------------------------===//
// PageIndex
//===----------------------------------------------------------------------===//

static bool readAt(int Fd, void *To, size_t Size, uint64_t Offset) {
  char *P = static_cast<char *>(To);
  while (Size) {
    ssize_t N = pread(Fd, P, Size, Offset);
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0)
      return false;
    P += N;
    Offset += N;
    Size -= N;
  }
  return true;
}

/// Hashes \p Size bytes at \p Offset.
static bool hashAt(XXH3_state_t &State, int Fd, uint64_t Size,
                   uint64_t Offset) {
  char Bytes[4096];
  while (Size) {
    size_t N = std::min<uint64_t>(Size, sizeof(Bytes));
    if (!readAt(Fd, Bytes, N, Offset))
      return false;
    XXH3_64bits_update(&State, Bytes, N);
    Offset += N;
    Size -= N;
  }
  return true;
}

void PageIndex::readFile(const std::string &Folder, const std::string &Name) {
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  OwnedDescriptor Fd(
      open((Folder + "/" + Name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (Fd < 0)
    return;
  MnemePageFileHeader Header;
  MnemePageFileFooter Footer;
  struct stat Status = {};
  uint64_t Least = sizeof(Header) + sizeof(Footer), Index = 0;
  bool Ok =
      !fstat(Fd, &Status) && S_ISREG(Status.st_mode) &&
      uint64_t(Status.st_size) >= Least &&
      readAt(Fd, &Header, sizeof(Header), 0) &&
      readAt(Fd, &Footer, sizeof(Footer), Status.st_size - sizeof(Footer)) &&
      !memcmp(Header.Magic, MNEME_PAGES_MAGIC, sizeof(Header.Magic)) &&
      Header.Major == MNEME_PAGES_MAJOR &&
      Header.PageSize == MNEME_SNAPSHOT_PAGE &&
      // Snapshots refer to the file by its name.
      pageFileName(Footer.Id) == Name && Footer.NumPages <= PageTable::None &&
      Footer.NumFrames <= Footer.NumPages;
  if (Ok) {
    Index = Footer.NumPages * sizeof(PageDigest) +
            Footer.NumFrames * sizeof(MnemePageFrame);
    Ok = Index <= Status.st_size - Least;
  }
  // Read no more digests than the table can store.
  size_t Count = Ok ? std::min<uint64_t>(Footer.NumPages, Table.room()) : 0;
  size_t Size = Count * sizeof(PageDigest);
  uint64_t Begin = Status.st_size - sizeof(Footer) - Index;
  std::unique_ptr<PageDigest[]> Digests;
  if (Count)
    Digests.reset(new (std::nothrow) PageDigest[Count]);
  if (Digests && readAt(Fd, Digests.get(), Size, Begin)) {
    XXH3_state_t State;
    XXH3_64bits_reset(&State);
    XXH3_64bits_update(&State, &Header, sizeof(Header));
    XXH3_64bits_update(&State, Digests.get(), Size);
    Ok = hashAt(State, Fd, Index - Size, Begin + Size);
    XXH3_64bits_update(&State, &Footer,
                       offsetof(MnemePageFileFooter, IndexDigest));
    const PageDigest *First = Digests.get();
    if (Ok && XXH3_64bits_digest(&State) == Footer.IndexDigest)
      addLocked(Footer.Id, First, Count, std::move(Digests));
  }
}

void PageIndex::readFolder(const std::string &Folder) {
  std::lock_guard<std::mutex> Guard(Lock);
  attempt([&] { readNewFiles(Folder); });
}

void PageIndex::readNewFiles(const std::string &Folder) {
  std::unique_ptr<DIR, int (*)(DIR *)> Entries(opendir(Folder.c_str()),
                                               closedir);
  if (!Entries)
    return;
  std::set<std::string> New;
  while (const dirent *Entry = readdir(Entries.get()))
    if (!strncmp(Entry->d_name, "Pages.", 6) && !Names.count(Entry->d_name))
      New.insert(Entry->d_name);
  for (const std::string &Name : New) {
    readFile(Folder, Name);
    Names.insert(Name);
  }
}

/// Reduces the array to its first \p Count elements if memory permits.
template <typename T>
static void shrink(std::unique_ptr<T[]> &Array, size_t Count) {
  std::unique_ptr<T[]> Less(new (std::nothrow) T[Count]);
  if (!Less)
    return;
  std::copy_n(Array.get(), Count, Less.get());
  Array = std::move(Less);
}

void PageIndex::addLocked(const MnemePageFileId &Id, const PageDigest *Digests,
                          size_t Count, std::unique_ptr<PageDigest[]> Kept) {
  size_t Capacity = std::min(Count, Table.room());
  Files.push_back({Id, NextNumber, std::move(Kept), nullptr});
  File &F = Files.back();
  size_t NumKept = 0;
  for (size_t I = 0; I != Count && Table.room(); ++I) {
    if (I + 16 < Count)
      Table.prefetch(Digests[I + 16]);
    PageDigest D = Digests[I];
    if (NextNumber == PageTable::None)
      break;
    if (lookUp(D) != PageTable::None)
      continue;
    if (I != NumKept && !F.Places) {
      F.Places.reset(new (std::nothrow) uint32_t[Capacity]);
      if (!F.Places)
        break;
      std::iota(F.Places.get(), F.Places.get() + NumKept, 0);
    }
    F.Digests[NumKept] = D;
    if (F.Places)
      F.Places[NumKept] = I;
    ++NumKept;
    Table.insert(D, NextNumber++);
  }
  if (!NumKept)
    return Files.pop_back();
  if (NumKept == Capacity)
    return;
  shrink(F.Digests, NumKept);
  if (F.Places)
    shrink(F.Places, NumKept);
}

void PageIndex::add(const MnemePageFileId &Id,
                    const std::vector<PageDigest> &Digests) {
  std::lock_guard<std::mutex> Guard(Lock);
  size_t Capacity = std::min(Digests.size(), Table.room());
  attempt([&] {
    if (!Names.insert(pageFileName(Id)).second || !Capacity)
      return;
    addLocked(Id, Digests.data(), Digests.size(),
              std::unique_ptr<PageDigest[]>(new PageDigest[Capacity]));
  });
}

void PageIndex::clear() {
  std::lock_guard<std::mutex> Guard(Lock);
  Table.clear();
  Names.clear();
  for (File &F : Files) {
    F.Digests.reset();
    F.Places.reset();
  }
}

uint32_t PageIndex::lookUp(const PageDigest &D) const {
  return Table.find(D, [&](uint32_t Number) {
    const File &F = fileOf(Number);
    return F.Digests[Number - F.FirstNumber];
  });
}

const PageIndex::File &PageIndex::fileOf(uint32_t Number) const {
  auto F = std::upper_bound(
      Files.begin(), Files.end(), Number,
      [](uint32_t N, const File &F) { return N < F.FirstNumber; });
  return *--F;
}

PageRef PageIndex::pageOf(uint32_t Number) const {
  const File &F = fileOf(Number);
  uint32_t I = Number - F.FirstNumber;
  return {uint32_t(&F - Files.data()), F.Places ? F.Places[I] : I};
}

void PageIndex::find(const PageDigest *Digests, size_t Count, PageRef *Refs,
                     char *Found) const {
  std::lock_guard<std::mutex> Guard(Lock);
  for (size_t I = 0; I != Count; ++I) {
    if (I + 16 < Count)
      Table.prefetch(Digests[I + 16]);
    uint32_t Number = lookUp(Digests[I]);
    Found[I] = Number != PageTable::None;
    if (Found[I])
      Refs[I] = pageOf(Number);
  }
}

MnemePageFileId PageIndex::idOf(uint32_t File) const {
  std::lock_guard<std::mutex> Guard(Lock);
  return Files[File].Id;
}
