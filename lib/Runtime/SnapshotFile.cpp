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
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

using namespace mneme;

static constexpr size_t BufferSize = 1u << 20;
static constexpr int CompressionLevel = 1;
static constexpr size_t MaxThreads = 16;
// So much memory is compressed before any of it is written.
static constexpr uint64_t BatchBytes = 64u << 20;

SnapshotFile::~SnapshotFile() {
  if (Fd < 0)
    return;
  ::close(Fd);
  unlink(Path.c_str());
}

void SnapshotFile::fail(const char *What) {
  if (Error.empty())
    Error =
        std::string("cannot ") + What + " '" + Path + "': " + strerror(errno);
}

void SnapshotFile::write(const char *P, size_t Size) {
  while (Size && Error.empty()) {
    ssize_t N = ::write(Fd, P, Size);
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0)
      return fail("write");
    P += N;
    Size -= N;
  }
}

void SnapshotFile::flush() {
  write(Buffer.data(), Buffer.size());
  Buffer.clear();
}

void SnapshotFile::add(const void *P, size_t Size) {
  Stored += Size;
  // What goes around the buffer must not overtake what is in it.
  bool Direct = Size > BufferSize / 2;
  if (Direct || Buffer.size() + Size > BufferSize)
    flush();
  if (Direct)
    write(static_cast<const char *>(P), Size);
  else
    Buffer.append(static_cast<const char *>(P), Size);
}

void SnapshotFile::open(std::string ThePath, MnemeSnapshotHeader Header) {
  Path = std::move(ThePath);
  Fd = ::open(Path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (Fd < 0)
    return fail("create");
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
  Compressor(Chunk *Begin, Chunk *End) : Next(Begin), End(End) {}

  /// Compresses chunks until there are none left.
  static void *work(void *Self) {
    auto *This = static_cast<Compressor *>(Self);
    ZSTD_CCtx *Context = ZSTD_createCCtx();
    size_t Capacity = ZSTD_compressBound(MNEME_DATA_CHUNK);
    char *Space = static_cast<char *>(malloc(Capacity));
    for (Chunk *C; (C = This->Next++) < This->End;) {
      // Raw, unless that comes out shorter.
      size_t N = C->Record.RawSize;
      if (Context && Space)
        N = ZSTD_compressCCtx(Context, Space, Capacity, C->Bytes,
                              C->Record.RawSize, CompressionLevel);
      if (ZSTD_isError(N) || N >= C->Record.RawSize)
        continue;
      C->Record.Encoding = MNEME_ENCODING_ZSTD;
      C->Compressed.assign(Space, N);
    }
    free(Space);
    ZSTD_freeCCtx(Context);
    return nullptr;
  }

private:
  std::atomic<Chunk *> Next;
  Chunk *End;
};

void SnapshotFile::compress() {
  Compressor C(Chunks.data() + Drained, Chunks.data() + Chunks.size());
  static const uint64_t Cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t Helpers =
      std::min<uint64_t>({Waiting / MNEME_DATA_CHUNK, Cores - 1, MaxThreads});
  pthread_t Threads[MaxThreads];
  size_t Started = 0;
  if (Helpers) {
    // The application's signal handlers do not belong on our threads.
    sigset_t All, Old;
    sigfillset(&All);
    pthread_sigmask(SIG_SETMASK, &All, &Old);
    while (Started != Helpers &&
           !pthread_create(&Threads[Started], nullptr, Compressor::work, &C))
      ++Started;
    pthread_sigmask(SIG_SETMASK, &Old, nullptr);
  }
  Compressor::work(&C);
  for (size_t I = 0; I != Started; ++I)
    pthread_join(Threads[I], nullptr);
}

void SnapshotFile::drain() {
  if (Error.empty())
    compress();
  for (; Drained != Chunks.size() && Error.empty(); ++Drained) {
    Chunk &C = Chunks[Drained];
    bool Raw = C.Record.Encoding == MNEME_ENCODING_RAW;
    C.StoredSize = Raw ? C.Record.RawSize : C.Compressed.size();
    C.Offset = Stored + sizeof(MnemeRecordHeader) + sizeof(C.Record);
    record(MNEME_RECORD_DATA, &C.Record, sizeof(C.Record),
           Raw ? C.Bytes : C.Compressed.data(), C.StoredSize);
    End.RawBytes += C.Record.RawSize;
    std::string().swap(C.Compressed);
  }
  Waiting = 0;
}

void SnapshotFile::data(const void *Bytes, uint64_t Address, uint64_t Size) {
  auto *P = static_cast<const char *>(Bytes);
  while (Size && Error.empty()) {
    uint64_t N = std::min<uint64_t>(Size, MNEME_DATA_CHUNK);
    Chunks.push_back({P, {Address, N, MNEME_ENCODING_RAW, 0}, 0, 0, {}});
    P += N;
    Address += N;
    Size -= N;
    Waiting += N;
    if (Waiting >= BatchBytes)
      drain();
  }
}

void SnapshotFile::close() {
  drain();
  MnemeEndRecord E = End;
  record(MNEME_RECORD_END, &E, sizeof(E));
  flush();
  // EINVAL: not a file that can be synced.
  if (Error.empty() && fsync(Fd) && errno != EINVAL)
    fail("write");
  std::sort(Chunks.begin(), Chunks.end(), [](const Chunk &A, const Chunk &B) {
    return A.Record.Address < B.Record.Address;
  });
}

bool SnapshotFile::load(const Chunk &C) {
  std::string Bytes(C.StoredSize, '\0');
  for (uint64_t At = 0; At != C.StoredSize;) {
    ssize_t N = pread(Fd, &Bytes[At], C.StoredSize - At, C.Offset + At);
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0) {
      fail("read");
      return false;
    }
    At += N;
  }
  if (C.Record.Encoding == MNEME_ENCODING_RAW) {
    Contents.swap(Bytes);
    return true;
  }
  Contents.resize(C.Record.RawSize);
  if (ZSTD_decompress(&Contents[0], Contents.size(), Bytes.data(),
                      Bytes.size()) == Contents.size())
    return true;
  errno = EIO;
  fail("read");
  return false;
}

const char *SnapshotFile::page(uint64_t Address) {
  auto Holds = [&](size_t I) {
    return I < Chunks.size() &&
           Address - Chunks[I].Record.Address < Chunks[I].Record.RawSize;
  };
  size_t I = Loaded;
  if (!Holds(I)) {
    I = std::upper_bound(
            Chunks.begin(), Chunks.end(), Address,
            [](uint64_t A, const Chunk &C) { return A < C.Record.Address; }) -
        Chunks.begin() - 1;
    if (!Holds(I) || !load(Chunks[I]))
      return nullptr;
    Loaded = I;
  }
  return Contents.data() + (Address - Chunks[I].Record.Address);
}
