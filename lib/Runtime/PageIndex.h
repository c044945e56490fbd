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

#ifndef MNEME_LIB_RUNTIME_PAGEINDEX_H
#define MNEME_LIB_RUNTIME_PAGEINDEX_H

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

/// From digests to pages. Takes 32 to 64 bytes a page; where there is no
/// memory, or the limit is reached, pages are not remembered.
class PageTable {
public:
  explicit PageTable(size_t MaxPages) : MaxPages(MaxPages) {}

  /// Null when the page is not known.
  const PageRef *find(const PageDigest &D) const;
  /// A page that is known already stays where it is.
  void insert(const PageDigest &D, PageRef R);
  size_t room() const { return MaxPages - Count; }
  void clear();

private:
  struct Slot {
    PageDigest Digest;
    PageRef Ref;

    bool isFree() const { return Ref.Page == UINT32_MAX; }
  };
  Slot *slotOf(const PageDigest &D) const;
  bool grow();

  std::unique_ptr<Slot[]> Slots;
  size_t NumSlots = 0; ///< A power of two, or 0.
  size_t Count = 0, MaxPages;
};

/// The pages of a database, as far as a process knows. Thread-safe.
class PageIndex {
public:
  /// 24 GiB of different memory, which takes 192 MiB to remember; what lies
  /// beyond is stored again.
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

  /// Fills in \p Refs where the page is known. \p Found says where.
  void find(const std::vector<PageDigest> &Digests, std::vector<PageRef> &Refs,
            std::vector<char> &Found) const;

  MnemePageFileId idOf(uint32_t File) const;

private:
  void addLocked(const MnemePageFileId &Id, const PageDigest *Digests,
                 size_t NumPages);
  void readFile(const std::string &Folder, const std::string &Name);

  mutable std::mutex Lock;
  PageTable Table;
  std::vector<MnemePageFileId> Files;
  std::set<std::string> Names; ///< Of files that have been read, or added.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_PAGEINDEX_H
