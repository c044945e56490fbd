//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes one snapshot file (llvm/Mneme/Runtime/RecordFormat.h).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_SNAPSHOTFILE_H
#define LLVM_MNEME_RUNTIME_SNAPSHOTFILE_H

#include "llvm/Mneme/Runtime/PageFile.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mneme {

/// open(), records and data, close(), and when the page file is closed too,
/// write(). The first failure sticks, a failed allocation too: later calls do
/// nothing, and error() says what it was.
class SnapshotFile {
public:
  SnapshotFile() = default;
  SnapshotFile(const SnapshotFile &) = delete;
  SnapshotFile &operator=(const SnapshotFile &) = delete;
  /// Deletes the file, unless somebody has moved it away.
  ~SnapshotFile();

  /// What the data is made of goes to \p Pages, which must live as long.
  void open(std::string Path, MnemeSnapshotHeader Header, PageFile &Pages);

  /// Adds a record of the bytes \p A and then \p B.
  void record(uint32_t Type, const void *A, size_t SizeA,
              const void *B = nullptr, size_t SizeB = 0, uint32_t Flags = 0);

  /// Adds a region.
  void region(const MnemeRegionRecord &R, const std::string &Name);

  /// Adds \p Size bytes of memory that lie at \p Address: a region's, plus a
  /// multiple of the page. The bytes must be there until drain() or
  /// close().
  void data(const void *Bytes, uint64_t Address, uint64_t Size);

  /// Brings what data() was given into the page file.
  void drain();

  /// Nothing more will be added.
  void close();

  /// After close(): whether \p Bytes are others than those that were added for
  /// the page at \p Address; not being added means zero. Quick for rising
  /// addresses.
  bool differs(const char *Bytes, uint64_t Address, uint64_t Size);

  /// After both are closed: adds all of \p Before that is not here.
  void complete(const SnapshotFile &Before);
  /// Runs of pages that complete() makes of this file. May throw
  /// std::bad_alloc.
  size_t numRunsCompleted(const SnapshotFile &Before) const;
  size_t numRuns() const { return Runs.size(); }

  /// Writes the file, which is not forced to the disk. Where there is one of
  /// its name, path() is another then.
  void write();
  /// Somebody else is going to move the file, or to delete it.
  void leave() { IsCreated = false; }

  /// After write(): those that it refers to.
  const std::vector<MnemePageFileId> &pageFiles() const { return Ids; }

  const std::string &error() const { return Error; }
  const std::string &path() const { return Path; }
  uint64_t storedBytes() const { return Bytes.size(); }
  uint64_t rawBytes() const { return RawBytes; }

private:
  /// Memory that was added at once.
  struct Stretch {
    uint64_t Address, Size;
    size_t First; ///< Of Digests.

    bool holds(uint64_t A) const { return A - Address < Size; }
  };
  /// File is a PageRef's.
  using Run = MnemePageRun;

  template <typename Fn> void attempt(Fn Work);
  void addData(const char *P, uint64_t Address, uint64_t Size);
  void addWaiting();
  void append(std::vector<Run> &Runs, const Run &R) const;
  std::vector<Run> merge(const SnapshotFile &Before) const;
  void writeRuns();
  void writeFile();
  void fail(const char *What);

  std::string Path, Error;
  PageFile *Pages = nullptr;
  std::string Bytes; ///< Of the file.
  std::set<uint64_t> RegionStarts;
  std::vector<PageFile::Part> Waiting;
  std::vector<uint64_t> WaitingAt; ///< Their addresses.
  uint64_t WaitingBytes = 0;
  std::vector<Stretch> Stretches;  ///< By address, once closed.
  std::vector<PageDigest> Digests; ///< Of all pages that were added.
  std::vector<Run> Runs;           ///< By address, once closed.
  std::vector<MnemePageFileId> Ids;
  size_t Last = 0; ///< The stretch that was asked for.
  uint64_t RawBytes = 0;
  MnemeEndRecord End = {};
  bool IsCreated = false;
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_SNAPSHOTFILE_H
