//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/PageFile.h"
#include "FileSize.h"
#include "Shortage.h"
#include "Threads.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <new>
#include <unistd.h>
#include <utility>

using namespace mneme;

static constexpr int CompressionLevel = 1;
static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
static constexpr size_t FrameBytes = MNEME_FRAME_PAGES * Page;
static constexpr size_t BufferBytes = 1 << 20;
// Bytes after which write-back is started.
static constexpr uint64_t WriteBackBytes = 8u << 20;
// Number of pages from which hashing them takes longer than starting a thread.
static constexpr size_t PagesPerThread = 512;

PageFile::~PageFile() {
  if (Fd >= 0)
    ::close(Fd);
  if (!Path.empty())
    unlink(Path.c_str());
}

void PageFile::fail(const char *What) {
  if (Error.empty())
    Error = describeFailure(What, Folder);
}

void PageFile::write(const void *From, size_t Size) {
  if (Error.empty() && Size > Limit - Stored)
    Error = LimitReason;
  if (!Error.empty())
    return;
  Stored += Size;
  // Small writes cost several times as much as large ones.
  if (Size >= BufferBytes / 4) {
    flush();
    return writeOut(static_cast<const char *>(From), Size);
  }
  Buffer.reserve(BufferBytes);
  Buffer.append(static_cast<const char *>(From), Size);
  if (Buffer.size() >= BufferBytes / 4 * 3)
    flush();
}

void PageFile::flush() {
  writeOut(Buffer.data(), Buffer.size());
  Buffer.clear();
}

void PageFile::writeOut(const char *From, size_t Size) {
  if (!Error.empty())
    return;
  if (!writeAll(Fd, From, Size))
    return fail("write");
  Written += Size;
  if (!WritesBack || Written - OnItsWay < WriteBackBytes)
    return;
  // Only a hint. Without it, the whole file would be written at the end, and
  // all processes would wait for the disk.
  sync_file_range(Fd, OnItsWay, Written - OnItsWay, SYNC_FILE_RANGE_WRITE);
  OnItsWay = Written;
}

void PageFile::open(std::string TheFolder, PageIndex &TheKnown,
                    std::string TheKnownFolder) {
  Folder = std::move(TheFolder);
  Known = &TheKnown;
  KnownFolder = std::move(TheKnownFolder);
}

void PageFile::limit(uint64_t Bytes, std::string Reason) {
  Limit = Bytes;
  LimitReason = std::move(Reason);
}

static constexpr MnemePageFileHeader header() {
  MnemePageFileHeader H = {{}, MNEME_PAGES_MAJOR, MNEME_PAGES_MINOR, Page};
  for (size_t I = 0; I != sizeof(H.Magic); ++I)
    H.Magic[I] = MNEME_PAGES_MAGIC[I];
  return H;
}

void PageFile::create() {
  // With a leading dot, an abandoned file is not mistaken for a page file.
  static std::atomic<unsigned> Number{0};
  std::string New = Folder + "/.Pages." + std::to_string(getpid()) + "." +
                    std::to_string(Number++);
  Fd = createNew(New, ".tmp");
  if (Fd < 0)
    return fail("create");
  Path = std::move(New);
  MnemePageFileHeader H = header();
  write(&H, sizeof(H));
}

//===----------------------------------------------------------------------===//
// Hashing, compressing and writing
//===----------------------------------------------------------------------===//

/// A thread's compressor and its buffers, null if memory was short.
struct PageFile::Tools {
  ZSTD_CCtx *Context = ZSTD_createCCtx();
  size_t Capacity = ZSTD_compressBound(FrameBytes);
  std::unique_ptr<char[]> Raw{new (std::nothrow) char[FrameBytes]};
  std::unique_ptr<char[]> Packed{new (std::nothrow) char[Capacity]};

  Tools() = default;
  Tools(const Tools &) = delete;
  Tools &operator=(const Tools &) = delete;
  ~Tools() { ZSTD_freeCCtx(Context); }
};

PageFile::PageFile() : Own(PageIndex::DefaultMaxPages) {}

/// Returns true if \p P directly follows \p Before in memory.
static bool goesOn(const PageFile::Part &Before, const PageFile::Part &P) {
  return Before.Size == Page && P.Size == Page &&
         Before.Bytes + Page == P.Bytes;
}

namespace {
/// Pages to be written to the file together.
struct Frame {
  explicit Frame(std::vector<PageFile::Part> Pages) : Pages(std::move(Pages)) {}

  std::vector<PageFile::Part> Pages;
  /// The bytes to write: Stored's, or the application's own memory. Null if
  /// memory was short.
  const char *Bytes = nullptr;
  size_t Size = 0;
  uint16_t Encoding = MNEME_ENCODING_RAW;
  std::unique_ptr<char[]> Stored;
  bool IsDone = false;

  /// Returns the pages' address if they are contiguous, or null.
  const char *contiguous() const {
    if (Pages[0].Size != Page)
      return nullptr;
    for (size_t I = 1; I != Pages.size(); ++I)
      if (!goesOn(Pages[I - 1], Pages[I]))
        return nullptr;
    return Pages[0].Bytes;
  }
};
} // namespace

static void copyPage(char *To, const PageFile::Part &P) {
  memcpy(To, P.Bytes, P.Size);
  memset(To + P.Size, 0, Page - P.Size);
}

/// Adds pages to the file. Each thread takes a chunk at a time, and hashes and
/// compresses it while it is in the processor's cache. In between, the pages
/// are numbered in order, so that the file does not depend on the number of
/// threads. The calling thread also writes. If memory is short, each step still
/// completes, without effect, because threads wait for each other's steps.
class PageFile::Packer {
public:
  /// Sets \p Digests and \p Refs, which must have one element per page.
  Packer(PageFile &File, std::vector<Part> Pages, PageDigest *Digests,
         PageRef *Refs)
      : File(File), Pages(std::move(Pages)), Digests(Digests), Refs(Refs),
        FramesBefore(File.Frames.size()),
        Chunks((this->Pages.size() + ChunkPages - 1) / ChunkPages) {}

  /// On failure, sets the file's error.
  void run() {
    Crew Helpers(Pages.size() / PagesPerThread, work, this);
    std::unique_ptr<Tools> Mine = takeTools();
    std::unique_lock<std::mutex> Guard(Lock);
    for (size_t Written = 0;;) {
      if (Written != Frames.size() && Frames[Written].IsDone) {
        Frame &F = Frames[Written++];
        Guard.unlock();
        if (!attempt([&] { write(F); }))
          File.Error = outOfMemory();
        Guard.lock();
      } else if (Next != Chunks.size()) {
        packNext(*Mine, Guard);
      } else if (NumNumbered != Chunks.size() || Written != Frames.size()) {
        Changed.wait(Guard);
      } else {
        break;
      }
    }
    if (Failure == ENOMEM)
      File.Error = outOfMemory();
    else if (Failure)
      fail(Failure);
    giveBack(std::move(Mine));
  }

private:
  struct Chunk {
    std::vector<char> Found; ///< Whether each page was found in the index of
                             ///< known pages.
    /// Copies of the pages that were not found, if other threads may change
    /// them.
    std::unique_ptr<char[]> Copies;
    bool IsOutOfMemory = false;
  };

  static void *work(void *Self) {
    auto *This = static_cast<Packer *>(Self);
    attempt([&] {
      std::unique_ptr<Tools> Mine = This->takeTools();
      std::unique_lock<std::mutex> Guard(This->Lock);
      while (This->Next != This->Chunks.size())
        This->packNext(*Mine, Guard);
      This->giveBack(std::move(Mine));
    });
    return nullptr;
  }

  std::unique_ptr<Tools> takeTools() {
    {
      std::lock_guard<std::mutex> Guard(Lock);
      if (!File.Spare.empty()) {
        std::unique_ptr<Tools> T = std::move(File.Spare.back());
        File.Spare.pop_back();
        return T;
      }
    }
    return std::make_unique<Tools>();
  }

  /// Requires the lock.
  void giveBack(std::unique_ptr<Tools> T) {
    File.Spare.push_back(std::move(T));
  }

  /// Processes the next chunk except for writing it. The lock is held on entry
  /// and return. Does not throw.
  void packNext(Tools &T, std::unique_lock<std::mutex> &Guard) {
    size_t I = Next++;
    Guard.unlock();
    if (!attempt([&] { hash(I); }))
      Chunks[I].IsOutOfMemory = true;
    Guard.lock();
    Changed.wait(Guard, [&] { return NumNumbered == I; });
    size_t First = Frames.size();
    if (!attempt([&] { number(I); }))
      Failure = ENOMEM;
    size_t End = Frames.size();
    ++NumNumbered;
    Changed.notify_all();
    for (; First != End; ++First) {
      Frame &F = Frames[First];
      Guard.unlock();
      pack(F, T);
      Guard.lock();
      F.IsDone = true;
      Changed.notify_all();
    }
  }

  size_t begin(size_t I) const { return I * ChunkPages; }
  size_t end(size_t I) const {
    return std::min(Pages.size(), (I + 1) * ChunkPages);
  }

  void hash(size_t I) {
    Chunk &C = Chunks[I];
    C.Found.resize(end(I) - begin(I));
    for (size_t P = begin(I); P != end(I); ++P)
      Digests[P] = digestOfPage(Pages[P].Bytes, Pages[P].Size);
    File.Known->find(Digests + begin(I), C.Found.size(), Refs + begin(I),
                     C.Found.data());
    if (File.CopiesFirst)
      copyNew(I);
  }

  /// Copies the pages that are not known, and hashes the copies, so that
  /// digests cover bytes that the application cannot change.
  void copyNew(size_t I) {
    Chunk &C = Chunks[I];
    size_t NumNew = std::count(C.Found.begin(), C.Found.end(), false);
    C.Copies.reset(new (std::nothrow) char[NumNew * Page]);
    C.IsOutOfMemory = !C.Copies;
    char *Copy = C.Copies.get();
    for (size_t P = begin(I); P != end(I) && Copy; ++P) {
      if (C.Found[P - begin(I)])
        continue;
      copyPage(Copy, Pages[P]);
      Pages[P] = {Copy, Page};
      Digests[P] = digestOfPage(Copy, Page);
      Copy += Page;
    }
  }

  /// Numbers the new pages and assigns them to frames.
  void number(size_t I) {
    const Chunk &C = Chunks[I];
    if (C.IsOutOfMemory)
      Failure = ENOMEM;
    if (Failure)
      return;
    for (size_t P = begin(I); P != end(I); ++P) {
      if (P + 16 < end(I))
        File.Own.prefetch(Digests[P + 16]);
      if (C.Found[P - begin(I)])
        continue;
      uint32_t Number = File.Own.find(
          Digests[P], [&](uint32_t N) { return File.Digests[N]; });
      if (Number != PageTable::None) {
        Refs[P] = {OwnFile, Number};
        continue;
      }
      if (File.Digests.size() == PageTable::None) {
        Failure = EFBIG;
        return;
      }
      Refs[P] = {OwnFile, uint32_t(File.Digests.size())};
      File.Own.insert(Digests[P], Refs[P].Page);
      File.Digests.push_back(Digests[P]);
      if (endsFrame(Pages[P]))
        cutFrame();
      New.push_back(Pages[P]);
    }
    if (I + 1 == Chunks.size() && !New.empty())
      cutFrame();
  }

  /// Returns true if \p P, the page numbered last, begins a new frame. Starting
  /// a frame where memory is not contiguous avoids gathering pages, and is
  /// permitted while frames are large enough, on average, to compress well.
  bool endsFrame(const Part &P) const {
    return New.size() == MNEME_FRAME_PAGES ||
           (!New.empty() && !goesOn(New.back(), P) &&
            File.Digests.size() / 128 > FramesBefore + Frames.size());
  }

  void cutFrame() {
    Frames.emplace_back(std::move(New));
    New.clear();
    New.reserve(MNEME_FRAME_PAGES);
  }

  static void pack(Frame &F, Tools &T) {
    size_t RawSize = F.Pages.size() * Page;
    const char *Raw = F.contiguous();
    bool IsGathered = !Raw;
    if (IsGathered) {
      char *To = T.Raw.get();
      if (!To)
        return;
      for (size_t I = 0; I != F.Pages.size(); ++I)
        copyPage(To + I * Page, F.Pages[I]);
      Raw = To;
    }
    // Store raw bytes unless compression makes them shorter.
    size_t N = RawSize;
    if (T.Context && T.Packed)
      N = ZSTD_compressCCtx(T.Context, T.Packed.get(), T.Capacity, Raw, RawSize,
                            CompressionLevel);
    bool IsPacked = !ZSTD_isError(N) && N < RawSize;
    F.Encoding = IsPacked ? MNEME_ENCODING_ZSTD : MNEME_ENCODING_RAW;
    F.Size = IsPacked ? N : RawSize;
    if (IsPacked || IsGathered) {
      F.Stored.reset(new (std::nothrow) char[F.Size]);
      if (F.Stored)
        memcpy(F.Stored.get(), IsPacked ? T.Packed.get() : Raw, F.Size);
      Raw = F.Stored.get();
    }
    F.Bytes = Raw;
  }

  void write(Frame &F) {
    if (!F.Bytes)
      throw std::bad_alloc();
    if (File.Fd < 0 && File.Error.empty())
      File.create();
    File.write(F.Bytes, F.Size);
    F.Stored.reset();
    File.Frames.push_back(
        {uint32_t(F.Size), uint16_t(F.Pages.size()), F.Encoding});
  }

  /// Called on the calling thread only.
  void fail(int Number) {
    errno = Number;
    File.fail("write");
  }

  PageFile &File;
  std::vector<Part> Pages;
  PageDigest *Digests;
  PageRef *Refs;
  size_t FramesBefore; ///< Number of frames in the file before.
  std::vector<Chunk> Chunks;

  static constexpr size_t ChunkPages = MNEME_FRAME_PAGES;
  /// Protects the file's tools and pages, and all members below.
  std::mutex Lock;
  std::condition_variable Changed;
  size_t Next = 0;          ///< Next chunk to process.
  size_t NumNumbered = 0;   ///< Number of numbered chunks.
  int Failure = 0;          ///< The errno that stopped the numbering.
  std::vector<Part> New;    ///< Numbered pages without a frame.
  std::deque<Frame> Frames; ///< In the order of the file.
};

void PageFile::add(const std::vector<Part> &Parts,
                   std::vector<PageDigest> &Digests,
                   std::vector<PageRef> &Refs) {
  if (!Error.empty())
    return;
  if (!KnownFolder.empty())
    Known->readFolder(KnownFolder);
  KnownFolder.clear();
  if (!attempt([&] {
        std::vector<Part> Pages;
        for (const Part &P : Parts)
          for (uint64_t At = 0; At < P.Size; At += Page)
            Pages.push_back({P.Bytes + At, std::min(Page, P.Size - At)});
        if (!Pages.empty())
          addPages(std::move(Pages), Digests, Refs);
      }))
    Error = outOfMemory();
}

void PageFile::addPages(std::vector<Part> Pages,
                        std::vector<PageDigest> &AllDigests,
                        std::vector<PageRef> &AllRefs) {
  size_t First = AllDigests.size();
  size_t FirstRef = AllRefs.size();
  AllDigests.resize(First + Pages.size());
  AllRefs.resize(FirstRef + Pages.size());
  Packer(*this, std::move(Pages), &AllDigests[First], &AllRefs[FirstRef]).run();
}

void PageFile::close() {
  Spare.clear();
  if (Fd >= 0 && !attempt([&] { end(); }) && Error.empty())
    Error = outOfMemory();
}

void PageFile::end() {
  MnemePageFileHeader H = header();
  MnemePageFileFooter Footer = {Digests.size(), Frames.size(), {}, 0, {}};
  size_t DigestBytes = Digests.size() * sizeof(PageDigest);
  size_t FrameBytes = Frames.size() * sizeof(MnemePageFrame);
  XXH128_canonical_t Canonical;
  XXH128_canonicalFromHash(&Canonical,
                           XXH3_128bits(Digests.data(), DigestBytes));
  memcpy(&Footer.Id, &Canonical, sizeof(Footer.Id));
  XXH3_state_t State;
  XXH3_64bits_reset(&State);
  XXH3_64bits_update(&State, &H, sizeof(H));
  XXH3_64bits_update(&State, Digests.data(), DigestBytes);
  XXH3_64bits_update(&State, Frames.data(), FrameBytes);
  XXH3_64bits_update(&State, &Footer,
                     offsetof(MnemePageFileFooter, IndexDigest));
  Footer.IndexDigest = XXH3_64bits_digest(&State);
  memcpy(Footer.Magic, MNEME_PAGES_MAGIC, sizeof(Footer.Magic));
  write(Digests.data(), DigestBytes);
  write(Frames.data(), FrameBytes);
  write(&Footer, sizeof(Footer));
  flush();
  Buffer = {};
  // Some file systems report a full disk only here.
  if (::close(std::exchange(Fd, -1)) && errno != EINTR)
    fail("write");
  if (!Error.empty())
    return;
  Id = Footer.Id;
  std::string Name = Folder + "/" + pageFileName(Id);
  if (rename(Path.c_str(), Name.c_str()))
    return fail("rename");
  Path.clear();
}
