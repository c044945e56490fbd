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

/// A file for the pages that a database does not have yet; there is none where
/// it has them all. The first failure sticks, a failed allocation too: later
/// calls do nothing, and error() says what it was. One thread at a time.
class PageFile {
public:
  PageFile();
  PageFile(const PageFile &) = delete;
  PageFile &operator=(const PageFile &) = delete;
  /// Deletes the file, unless it is whole: then others may already count on it.
  ~PageFile();

  /// \p Known are the pages that the database has. The file will be in \p
  /// Folder, under its own name. Page files in \p KnownFolder, unless that is
  /// empty, become known before the first page is added: that may take long.
  void open(std::string Folder, PageIndex &Known, std::string KnownFolder = "");
  /// More than \p Bytes is an error, \p Reason.
  void limit(uint64_t Bytes, std::string Reason);

  struct Part {
    const char *Bytes;
    uint64_t Size; ///< Of the last page of a part, the rest is zeros.
  };
  /// Other threads may change the parts while they are added: what is stored is
  /// what was hashed.
  void copyFirst() { CopiesFirst = true; }
  /// The disk begins to write while pages are added. The thread that adds them
  /// may have to wait for it.
  void writeBack() { WritesBack = true; }
  /// Appends the digest of every page, and where it is. Writes those that are
  /// nowhere yet.
  void add(const std::vector<Part> &Parts, std::vector<PageDigest> &Digests,
           std::vector<PageRef> &Refs);

  /// Ends the file and gives it its name. To force it to the disk would take
  /// longer than all else; that is for whoever takes it over.
  void close();

  bool empty() const { return Digests.empty(); }
  /// After close(), when not empty.
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
  std::vector<PageDigest> Digests; ///< Of the same, by number.
  std::vector<MnemePageFrame> Frames;
  std::vector<std::unique_ptr<Tools>> Spare; ///< Used by no thread now.
  std::string Buffer;                        ///< Not yet in the file.
  MnemePageFileId Id = {};
  uint64_t Stored = 0, Limit = UINT64_MAX;
  uint64_t Written = 0;   ///< In the file.
  uint64_t OnItsWay = 0;  ///< Of that, given to the disk.
  std::string LimitReason;
  int Fd = -1;
  bool CopiesFirst = false, WritesBack = false;
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_PAGEFILE_H
