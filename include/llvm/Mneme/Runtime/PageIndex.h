//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which pages a database holds, and where. Two pages are the same when their
/// XXH3-128 digests are.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_PAGEINDEX_H
#define LLVM_MNEME_RUNTIME_PAGEINDEX_H

#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace mneme {

/// The 16 bytes of a page's digest as they are in files.
struct PageDigest {
  uint64_t A, B;

  bool operator==(const PageDigest &O) const { return A == O.A && B == O.B; }
};

/// \p Size bytes, at most a page; the rest of the page is zeros.
PageDigest digestOfPage(const char *Bytes, size_t Size);

/// Whether \p Size bytes are all zero.
bool isZero(const char *P, uint64_t Size);

/// A page of a page file.
struct PageRef {
  uint32_t File; ///< What its index calls it, or OwnFile.
  uint32_t Page;
};

/// Of a PageRef: the page file that is being written.
constexpr uint32_t OwnFile = UINT32_MAX;

/// Two lower-case digits a byte.
std::string hexDigits(const void *Bytes, size_t Size);

/// "Pages.<id>.mneme"
std::string pageFileName(const MnemePageFileId &Id);

/// From digests of pages to numbers. Takes 11 to 22 bytes a page beside the
/// digests, which are where the numbers say; where there is no memory, or the
/// limit is reached, pages are not remembered.
class PageTable {
public:
  static constexpr uint32_t None = UINT32_MAX;

  explicit PageTable(size_t MaxPages) : MaxPages(MaxPages) {}

  /// The number that was given to the page, or None. \p DigestOf(N) is what
  /// page N was inserted with.
  template <typename T> uint32_t find(const PageDigest &D, T DigestOf) const {
    if (!NumSlots)
      return None;
    for (size_t I = home(tag(D)); Slots[I].Number != None; I = next(I))
      if (Slots[I].Tag == tag(D) && DigestOf(Slots[I].Number) == D)
        return Slots[I].Number;
    return None;
  }

  /// A page that find() does not find.
  void insert(const PageDigest &D, uint32_t Number);

  /// Soon find() or insert() will be called for it: to wait for memory takes
  /// longer than all else that they do.
  void prefetch(const PageDigest &D) const {
    if (NumSlots)
      __builtin_prefetch(&Slots[home(tag(D))]);
  }

  size_t room() const { return MaxPages - Count; }
  void clear();

private:
  struct Slot {
    uint32_t Tag, Number;
  };
  static uint32_t tag(const PageDigest &D) { return D.A >> 32; }
  /// Slots are in the order of the tags, but for collisions: to grow is a walk
  /// through both tables.
  size_t home(uint32_t Tag) const { return uint64_t(Tag) * NumSlots >> 32; }
  size_t next(size_t I) const { return (I + 1) & (NumSlots - 1); }
  void put(Slot S);
  bool grow();

  std::unique_ptr<Slot[]> Slots;
  size_t NumSlots = 0; ///< A power of two, or 0.
  size_t Count = 0, MaxPages;
};

/// The pages of a database, as far as a process knows: pages for which there is
/// no memory are unknown. Thread-safe.
class PageIndex {
public:
  /// 24 GiB of different memory, which takes 160 MiB to remember, or 184 MiB
  /// where page files have pages of others; what lies beyond is stored again.
  static constexpr size_t DefaultMaxPages = 6u << 20;

  explicit PageIndex(size_t MaxPages = DefaultMaxPages) : Table(MaxPages) {}

  /// Reads the indexes of the page files in \p Folder that have not been read.
  /// Files that are no page files, or damaged, are passed over: their pages
  /// will be stored again.
  void readFolder(const std::string &Folder);

  /// Adds a page file that has come into the database.
  void add(const MnemePageFileId &Id, const std::vector<PageDigest> &Digests);

  /// Forgets all pages, because something has become of their files. What was
  /// found stays valid.
  void clear();

  /// Of \p Count pages, fills in \p Refs where the page is known. \p Found says
  /// where.
  void find(const PageDigest *Digests, size_t Count, PageRef *Refs,
            char *Found) const;

  MnemePageFileId idOf(uint32_t File) const;

private:
  /// What is known of a page file: those pages that no earlier one has.
  struct File {
    MnemePageFileId Id;
    uint32_t FirstNumber; ///< In the table, of the first one.
    std::unique_ptr<PageDigest[]> Digests;
    /// Where they are in the file. Null: they are its first ones.
    std::unique_ptr<uint32_t[]> Places;
  };

  /// Of \p Count pages. \p Kept is memory for as many of them as may be
  /// remembered, and may be where they are.
  void addLocked(const MnemePageFileId &Id, const PageDigest *Digests,
                 size_t Count, std::unique_ptr<PageDigest[]> Kept);
  uint32_t lookUp(const PageDigest &D) const;
  const File &fileOf(uint32_t Number) const;
  PageRef pageOf(uint32_t Number) const;
  void readFile(const std::string &Folder, const std::string &Name);
  void readNewFiles(const std::string &Folder);

  mutable std::mutex Lock;
  PageTable Table;
  std::vector<File> Files;
  uint32_t NextNumber = 0;
  std::set<std::string> Names; ///< Of files that have been read, or added.
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_PAGEINDEX_H
