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

#ifndef MNEME_LIB_RUNTIME_SNAPSHOTFILE_H
#define MNEME_LIB_RUNTIME_SNAPSHOTFILE_H

#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mneme {

/// The first failure sticks: later calls do nothing, and error() says what it
/// was.
class SnapshotFile {
public:
  SnapshotFile() = default;
  SnapshotFile(const SnapshotFile &) = delete;
  SnapshotFile &operator=(const SnapshotFile &) = delete;
  /// Deletes the file, unless somebody has moved it away.
  ~SnapshotFile();

  void open(std::string Path, MnemeSnapshotHeader Header);

  /// Adds a record of the bytes \p A and then \p B.
  void record(uint32_t Type, const void *A, size_t SizeA,
              const void *B = nullptr, size_t SizeB = 0);

  /// Adds Data records for \p Size bytes of memory that lie at \p Address,
  /// above all that were added before. The bytes must stay as they are until
  /// drain() or close().
  void data(const void *Bytes, uint64_t Address, uint64_t Size);

  /// Compresses and writes what data() was given.
  void drain();

  /// Ends the file and forces it to the disk.
  void close();

  /// After close(): the page-aligned page that was added for \p Address, valid
  /// until the next call, or null where nothing was. Quick for rising
  /// addresses.
  const char *page(uint64_t Address);

  const std::string &error() const { return Error; }
  const std::string &path() const { return Path; }
  uint64_t storedBytes() const { return Stored; }
  uint64_t rawBytes() const { return End.RawBytes; }

private:
  /// A piece of memory, on its way into a Data record or there.
  struct Chunk {
    const char *Bytes;
    MnemeDataRecord Record;
    uint64_t Offset; ///< Of the stored bytes in the file.
    uint64_t StoredSize;
    std::string Compressed; ///< Empty if that does not pay.
  };
  class Compressor;

  void compress();
  bool load(const Chunk &C);
  void add(const void *P, size_t Size);
  void flush();
  void write(const char *P, size_t Size);
  void fail(const char *What);

  std::string Path, Error;
  std::string Buffer;        ///< Not written yet.
  std::vector<Chunk> Chunks; ///< By address.
  size_t Drained = 0;        ///< So many of them are in the file.
  uint64_t Waiting = 0;      ///< Bytes in the others.
  size_t Loaded = SIZE_MAX;  ///< The chunk that is in Contents.
  std::string Contents;
  int Fd = -1;
  uint64_t Stored = 0;
  MnemeEndRecord End = {};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_SNAPSHOTFILE_H
