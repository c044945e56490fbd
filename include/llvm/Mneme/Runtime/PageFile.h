//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes one page file (llvm/Mneme/Runtime/RecordFormat.h).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_PAGEFILE_H
#define LLVM_MNEME_RUNTIME_PAGEFILE_H

#include "llvm/Mneme/Runtime/PageIndex.h"

#include <string>
#include <vector>

namespace mneme {

/// A page file with the pages that a database does not have yet. Without such
/// pages, no file is created. After the first failure, including a failed
/// allocation, further calls do nothing, and error() returns the reason. Not
/// thread-safe.
class PageFile {
public:
  PageFile();
  PageFile(const PageFile &) = delete;
  PageFile &operator=(const PageFile &) = delete;
  /// Deletes the file if it is incomplete. Others may already refer to a
  /// complete file.
  ~PageFile();

  /// The file will be created in \p Folder, under a name that depends on its
  /// contents. \p Known has the pages of the database. If \p KnownFolder is not
  /// empty, the page files in it are added to \p Known before the first page is
  /// added, which may take long.
  void open(std::string Folder, PageIndex &Known, std::string KnownFolder = "");
  /// Fails with error \p Reason if the file exceeds \p Bytes.
  void limit(uint64_t Bytes, std::string Reason);

  struct Part {
    const char *Bytes;
    uint64_t Size; ///< The last page of a part is padded with zeros.
  };
  /// Hashes and stores copies of new pages. Required if other threads may
  /// change the parts meanwhile.
  void copyFirst() { CopiesFirst = true; }
  /// Starts write-back while pages are added. The calling thread may have to
  /// wait for the disk.
  void writeBack() { WritesBack = true; }
  /// Appends the digest and the location of each page. Writes pages that are
  /// neither in the database nor in this file.
  void add(const std::vector<Part> &Parts, std::vector<PageDigest> &Digests,
           std::vector<PageRef> &Refs);

  /// Completes the file and gives it its final name. Does not sync it, which
  /// would take longer than everything else; the receiver of the file does.
  void close();

  bool empty() const { return Digests.empty(); }
  /// Valid after close() if the file is not empty.
  const MnemePageFileId &id() const { return Id; }
  const std::vector<PageDigest> &digests() const { return Digests; }
  const PageIndex &known() const { return *Known; }
  const std::string &error() const { return Error; }
  uint64_t storedBytes() const { return Stored; }

private:
  struct Tools;
  class Packer;

  void addPages(std::vector<Part> Pages, std::vector<PageDigest> &Digests,
                std::vector<PageRef> &Refs);
  void end();
  void create();
  void flush();
  void write(const void *P, size_t Size);
  void writeOut(const char *P, size_t Size);
  void fail(const char *What);

  std::string Folder, KnownFolder, Path, Error;
  PageIndex *Known = nullptr;
  PageTable Own;                   ///< Numbers of this file's pages.
  std::vector<PageDigest> Digests; ///< Digests of this file's pages, by number.
  std::vector<MnemePageFrame> Frames;
  std::vector<std::unique_ptr<Tools>> Spare; ///< Not in use by any thread.
  std::string Buffer;                        ///< Not yet in the file.
  MnemePageFileId Id = {};
  uint64_t Stored = 0, Limit = UINT64_MAX;
  uint64_t Written = 0;   ///< Bytes in the file.
  uint64_t OnItsWay = 0;  ///< Bytes of Written under write-back.
  std::string LimitReason;
  int Fd = -1;
  bool CopiesFirst = false, WritesBack = false;
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_PAGEFILE_H
