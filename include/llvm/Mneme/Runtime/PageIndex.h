//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An index of the pages of a database and their locations. Pages with equal
/// XXH3-128 digests are considered equal.
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

/// A page's digest: 16 bytes, as stored in files.
struct PageDigest {
  uint64_t A, B;

  bool operator==(const PageDigest &O) const { return A == O.A && B == O.B; }
};

/// Returns the digest of a page that begins with \p Size bytes, followed by
/// zeros.
PageDigest digestOfPage(const char *Bytes, size_t Size);

/// Returns true if \p Size bytes are all zero.
bool isZero(const char *P, uint64_t Size);

/// A page of a page file.
struct PageRef {
  uint32_t File; ///< Number of the file in its PageIndex, or OwnFile.
  uint32_t Page;
};

/// PageRef::File of the page file that is being written.
constexpr uint32_t OwnFile = UINT32_MAX;

/// Returns "Pages.<id>.mneme".
std::string pageFileName(const MnemePageFileId &Id);

/// A hash table from page digests to numbers. The caller stores the digests by
/// number; the table takes another 11 to 22 bytes per page. If memory is short
/// or the limit is reached, further pages are not inserted.
class PageTable {
public:
  static constexpr uint32_t None = UINT32_MAX;

  explicit PageTable(size_t MaxPages) : MaxPages(MaxPages) {}

  /// Returns the number of the page, or None. \p DigestOf(N) returns the digest
  /// with which page N was inserted.
  template <typename T> uint32_t find(const PageDigest &D, T DigestOf) const {
    if (!NumSlots)
      return None;
    for (size_t I = home(tag(D)); Slots[I].Number != None; I = next(I))
      if (Slots[I].Tag == tag(D) && DigestOf(Slots[I].Number) == D)
        return Slots[I].Number;
    return None;
  }

  /// Inserts a page that find() does not find.
  void insert(const PageDigest &D, uint32_t Number);

  /// Prefetches the slot for a later find() or insert(), which would otherwise
  /// spend most of its time on a cache miss.
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
  /// Except for collisions, slots are ordered by tag. Growing is thus a
  /// sequential pass over both tables.
  size_t home(uint32_t Tag) const { return uint64_t(Tag) * NumSlots >> 32; }
  size_t next(size_t I) const { return (I + 1) & (NumSlots - 1); }
  void put(Slot S);
  bool grow();

  std::unique_ptr<Slot[]> Slots;
  size_t NumSlots = 0; ///< A power of two, or 0.
  size_t Count = 0, MaxPages;
};

/// The pages of a database that this process knows. A page is not added if
/// memory for it is short. Thread-safe.
class PageIndex {
public:
  /// Limit for 24 GiB of distinct pages, which take 160 MiB of memory, or 184
  /// MiB if page files share pages. Pages beyond the limit are stored again.
  static constexpr size_t DefaultMaxPages = 6u << 20;

  explicit PageIndex(size_t MaxPages = DefaultMaxPages) : Table(MaxPages) {}

  /// Reads the indexes of page files in \p Folder that have not been read.
  /// Ignores invalid and damaged files, so their pages will be stored again.
  void readFolder(const std::string &Folder);

  /// Adds a new page file of the database.
  void add(const MnemePageFileId &Id, const std::vector<PageDigest> &Digests);

  /// Forgets all pages, because their files may have changed. Results of
  /// earlier find() calls stay valid.
  void clear();

  /// Looks up \p Count pages. Sets \p Found for each page, and \p Refs for
  /// those that were found.
  void find(const PageDigest *Digests, size_t Count, PageRef *Refs,
            char *Found) const;

  MnemePageFileId idOf(uint32_t File) const;

private:
  /// The pages of a page file that no earlier file has.
  struct File {
    MnemePageFileId Id;
    uint32_t FirstNumber; ///< Number of the first page in the table.
    std::unique_ptr<PageDigest[]> Digests;
    /// Numbers of the pages in the file; null if they are consecutive from 0.
    std::unique_ptr<uint32_t[]> Places;
  };

  /// Adds a file with \p Count pages. \p Kept is memory for the digests that
  /// can be remembered; \p Digests may point into it.
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
  std::set<std::string> Names; ///< Names of files that were read or added.
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_PAGEINDEX_H
