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
#include <string>
#include <vector>

struct ZSTD_CCtx_s;

namespace mneme {

/// Writes under a temporary name. The first failure sticks: later calls do
/// nothing, and error() says what it was.
class SnapshotFile {
public:
  SnapshotFile() = default;
  SnapshotFile(const SnapshotFile &) = delete;
  SnapshotFile &operator=(const SnapshotFile &) = delete;
  /// Deletes the temporary file unless publish() succeeded.
  ~SnapshotFile();

  void open(std::string FinalPath, MnemeSnapshotHeader Header);

  /// Adds a record of the bytes \p A and then \p B.
  void record(uint32_t Type, const void *A, size_t SizeA,
              const void *B = nullptr, size_t SizeB = 0);

  /// Adds Data records for \p Size bytes of memory that lie at \p Address.
  void data(const void *Bytes, uint64_t Address, uint64_t Size);

  /// Ends the file and forces it to the disk, still under its temporary name.
  void close();

  /// Gives the file its final name. \returns false and leaves what is there
  /// alone when the name is taken.
  bool publish();

  const std::string &error() const { return Error; }
  const std::string &path() const { return Path; }
  uint64_t storedBytes() const { return Stored; }
  uint64_t rawBytes() const { return End.RawBytes; }

private:
  /// A piece of memory on its way into a Data record.
  struct Chunk {
    const char *Bytes;
    MnemeDataRecord Record;
    std::string Stored; ///< Compressed, unless that does not pay.
  };
  class Compressor;

  void compress(std::vector<Chunk> &Chunks);
  void add(const void *P, size_t Size);
  void flush();
  void fail(const char *What);

  std::string Path, Temporary, Error;
  std::string Buffer; ///< Not written yet.
  std::vector<Chunk> Chunks;
  ZSTD_CCtx_s *Context = nullptr;
  int Fd = -1;
  bool Exists = false; ///< The temporary file does.
  uint64_t Stored = 0;
  MnemeEndRecord End = {};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_SNAPSHOTFILE_H
