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
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

using namespace mneme;

static constexpr size_t BufferSize = 4u << 20;
static constexpr int CompressionLevel = 1;
static constexpr size_t MaxThreads = 16;
// Chunks in memory at a time.
static constexpr size_t BatchSize = 64;

SnapshotFile::~SnapshotFile() {
  if (Fd >= 0)
    ::close(Fd);
  if (Exists)
    unlink(Temporary.c_str());
  ZSTD_freeCCtx(Context);
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

/// Shares chunks out among threads. Without exceptions std::thread would end
/// the application where no thread can be had, hence POSIX.
class SnapshotFile::Compressor {
public:
  Compressor(std::vector<Chunk> &Chunks) : Chunks(Chunks) {}

  /// Compresses chunks until there are none left.
  void work(ZSTD_CCtx *Context) {
    for (size_t I; (I = Next++) < Chunks.size();) {
      Chunk &C = Chunks[I];
      C.Stored.resize(ZSTD_compressBound(C.Record.RawSize));
      size_t N = Context ? ZSTD_compressCCtx(Context, &C.Stored[0],
                                             C.Stored.size(), C.Bytes,
                                             C.Record.RawSize, CompressionLevel)
                         : C.Record.RawSize;
      bool Pays = !ZSTD_isError(N) && N < C.Record.RawSize;
      C.Record.Encoding = Pays ? MNEME_ENCODING_ZSTD : MNEME_ENCODING_RAW;
      C.Stored.resize(Pays ? N : 0);
    }
  }

  static void *runThread(void *Self) {
    ZSTD_CCtx *Context = ZSTD_createCCtx();
    static_cast<Compressor *>(Self)->work(Context);
    ZSTD_freeCCtx(Context);
    return nullptr;
  }

private:
  std::vector<Chunk> &Chunks;
  std::atomic<size_t> Next{0};
};

void SnapshotFile::compress(std::vector<Chunk> &Chunks) {
  if (!Context)
    Context = ZSTD_createCCtx();
  Compressor C(Chunks);
  static const unsigned Cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t Helpers = std::min<size_t>({Chunks.size(), Cores, MaxThreads}) - 1;
  pthread_t Threads[MaxThreads];
  size_t Started = 0;
  if (Helpers) {
    // The application's signal handlers do not belong on our threads.
    sigset_t All, Old;
    sigfillset(&All);
    pthread_sigmask(SIG_SETMASK, &All, &Old);
    while (Started != Helpers && !pthread_create(&Threads[Started], nullptr,
                                                 Compressor::runThread, &C))
      ++Started;
    pthread_sigmask(SIG_SETMASK, &Old, nullptr);
  }
  C.work(Context);
  for (size_t I = 0; I != Started; ++I)
    pthread_join(Threads[I], nullptr);
}

void SnapshotFile::data(const void *Bytes, uint64_t Address, uint64_t Size) {
  auto *P = static_cast<const char *>(Bytes);
  while (Size && Error.empty()) {
    size_t N = 0;
    Chunks.resize(
        std::min<uint64_t>((Size - 1) / MNEME_DATA_CHUNK + 1, BatchSize));
    for (Chunk &C : Chunks) {
      uint64_t Raw = std::min<uint64_t>(Size - N, MNEME_DATA_CHUNK);
      C.Bytes = P + N;
      C.Record = {Address + N, Raw, MNEME_ENCODING_RAW, 0};
      N += Raw;
    }
    compress(Chunks);
    for (const Chunk &C : Chunks) {
      bool Raw = C.Record.Encoding == MNEME_ENCODING_RAW;
      record(MNEME_RECORD_DATA, &C.Record, sizeof(C.Record),
             Raw ? C.Bytes : C.Stored.data(),
             Raw ? C.Record.RawSize : C.Stored.size());
      End.RawBytes += C.Record.RawSize;
    }
    P += N;
    Address += N;
    Size -= N;
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
