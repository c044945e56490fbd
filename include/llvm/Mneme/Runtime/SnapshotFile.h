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

/// Call open(), add records and data, close(), and once the page file is
/// closed, too, write(). After the first failure, including a failed
/// allocation, further calls do nothing, and error() returns the reason.
class SnapshotFile {
public:
  SnapshotFile() = default;
  SnapshotFile(const SnapshotFile &) = delete;
  SnapshotFile &operator=(const SnapshotFile &) = delete;
  /// Deletes the file, unless leave() was called.
  ~SnapshotFile();

  /// Starts a snapshot. \p Pages receives the data and must outlive the
  /// snapshot file.
  void open(std::string Path, MnemeSnapshotHeader Header, PageFile &Pages);

  /// Adds a record with the bytes \p A followed by \p B.
  void record(uint32_t Type, const void *A, size_t SizeA,
              const void *B = nullptr, size_t SizeB = 0, uint32_t Flags = 0);

  /// Adds a region.
  void region(const MnemeRegionRecord &R, const std::string &Name);

  /// Adds \p Size bytes of memory. \p Address is the start of a region plus a
  /// multiple of the page size. \p Bytes must stay valid until drain() or
  /// close().
  void data(const void *Bytes, uint64_t Address, uint64_t Size);

  /// Adds the pending data to the page file.
  void drain();

  /// Ends the data.
  void close();

  /// Returns true if the page at \p Address differs from the added one, or is
  /// not zero if none was added. \p Bytes is its current contents. Call after
  /// close(); fast for ascending addresses.
  bool differs(const char *Bytes, uint64_t Address, uint64_t Size);

  /// Adds the pages of \p Before that this file lacks. Call after both are
  /// closed.
  void complete(const SnapshotFile &Before);
  /// Returns the number of runs of pages after complete(). May throw
  /// std::bad_alloc.
  size_t numRunsCompleted(const SnapshotFile &Before) const;
  size_t numRuns() const { return Runs.size(); }

  /// Writes the file without syncing it. If the name is taken, chooses another
  /// one and updates path().
  void write();
  /// Keeps the file on destruction: another owner moves or deletes it.
  void leave() { IsCreated = false; }

  /// Returns the page files that the snapshot refers to. Call after write().
  const std::vector<MnemePageFileId> &pageFiles() const { return Ids; }

  const std::string &error() const { return Error; }
  const std::string &path() const { return Path; }
  uint64_t storedBytes() const { return Bytes.size(); }
  uint64_t rawBytes() const { return RawBytes; }

private:
  /// A range of memory that was added in one piece.
  struct Stretch {
    uint64_t Address, Size;
    size_t First; ///< Index into Digests.

    bool holds(uint64_t A) const { return A - Address < Size; }
  };
  /// File is that of a PageRef until writeRuns().
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
  std::string Bytes; ///< Contents of the file.
  std::set<uint64_t> RegionStarts;
  std::vector<PageFile::Part> Waiting;
  std::vector<uint64_t> WaitingAt; ///< Addresses of Waiting.
  uint64_t WaitingBytes = 0;
  std::vector<Stretch> Stretches;  ///< Sorted by address after close().
  std::vector<PageDigest> Digests; ///< Digests of all added pages.
  std::vector<Run> Runs;           ///< Sorted by address after close().
  std::vector<MnemePageFileId> Ids;
  size_t Last = 0; ///< The stretch that differs() found last.
  uint64_t RawBytes = 0;
  MnemeEndRecord End = {};
  bool IsCreated = false;
};

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_SNAPSHOTFILE_H
