//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SnapshotFile.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace mneme;

static constexpr size_t BufferSize = 4u << 20;
static constexpr int CompressionLevel = 1;

SnapshotFile::~SnapshotFile() {
  if (Fd >= 0)
    ::close(Fd);
  if (Exists)
    unlink(Temporary.c_str());
}

void SnapshotFile::fail(const char *What) {
  if (Error.empty())
    Error =
        std::string("cannot ") + What + " '" + Path + "': " + strerror(errno);
}

void SnapshotFile::flush() {
  const char *P = Buffer.data();
  size_t Left = Error.empty() ? Buffer.size() : 0;
  while (Left) {
    ssize_t N = write(Fd, P, Left);
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0) {
      fail("write");
      break;
    }
    P += N;
    Left -= N;
  }
  Buffer.clear();
}

void SnapshotFile::add(const void *P, size_t Size) {
  if (!Error.empty())
    return;
  Buffer.append(static_cast<const char *>(P), Size);
  Stored += Size;
  if (Buffer.size() >= BufferSize)
    flush();
}

void SnapshotFile::open(std::string FinalPath, MnemeSnapshotHeader Header) {
  Path = std::move(FinalPath);
  Temporary = Path + ".tmp." + std::to_string(getpid());
  Fd =
      ::open(Temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (Fd < 0)
    return fail("create");
  Exists = true;
  memcpy(Header.Magic, MNEME_SNAPSHOT_MAGIC, sizeof(Header.Magic));
  Header.Major = MNEME_SNAPSHOT_MAJOR;
  Header.Minor = MNEME_SNAPSHOT_MINOR;
  Header.HeaderDigest =
      XXH3_64bits(&Header, offsetof(MnemeSnapshotHeader, HeaderDigest));
  add(&Header, sizeof(Header));
}

void SnapshotFile::record(uint32_t Type, const void *A, size_t SizeA,
                          const void *B, size_t SizeB) {
  XXH3_state_t State;
  XXH3_64bits_reset(&State);
  XXH3_64bits_update(&State, A, SizeA);
  if (SizeB)
    XXH3_64bits_update(&State, B, SizeB);
  MnemeRecordHeader H = {Type, 0, SizeA + SizeB, XXH3_64bits_digest(&State)};
  add(&H, sizeof(H));
  add(A, SizeA);
  if (SizeB)
    add(B, SizeB);
  static const char Zeros[8] = {};
  add(Zeros, -H.Size & 7);
  if (Type != MNEME_RECORD_END)
    ++End.NumRecords;
}

void SnapshotFile::data(const void *Bytes, uint64_t Address, uint64_t Size) {
  auto *P = static_cast<const char *>(Bytes);
  Scratch.resize(ZSTD_compressBound(MNEME_DATA_CHUNK));
  while (Size && Error.empty()) {
    uint64_t Raw = std::min<uint64_t>(Size, MNEME_DATA_CHUNK);
    MnemeDataRecord R = {Address, Raw, MNEME_ENCODING_ZSTD, 0};
    size_t N =
        ZSTD_compress(&Scratch[0], Scratch.size(), P, Raw, CompressionLevel);
    if (ZSTD_isError(N) || N >= Raw) {
      R.Encoding = MNEME_ENCODING_RAW;
      record(MNEME_RECORD_DATA, &R, sizeof(R), P, Raw);
    } else {
      record(MNEME_RECORD_DATA, &R, sizeof(R), Scratch.data(), N);
    }
    End.RawBytes += Raw;
    P += Raw;
    Address += Raw;
    Size -= Raw;
  }
}

void SnapshotFile::close() {
  MnemeEndRecord E = End;
  record(MNEME_RECORD_END, &E, sizeof(E));
  flush();
  if (!Error.empty())
    return;
  if (fsync(Fd) && errno != EINVAL) // EINVAL: not a file that can be synced.
    fail("write");
  if (::close(Fd))
    fail("write");
  Fd = -1;
}

bool SnapshotFile::publish() {
  if (!Error.empty())
    return false;
  int R = renameat2(AT_FDCWD, Temporary.c_str(), AT_FDCWD, Path.c_str(),
                    RENAME_NOREPLACE);
  // Not every file system knows the flag.
  if (R && errno == EINVAL && access(Path.c_str(), F_OK))
    R = rename(Temporary.c_str(), Path.c_str());
  if (R) {
    if (errno != EEXIST)
      fail("rename");
    return false;
  }
  Exists = false;
  return true;
}
