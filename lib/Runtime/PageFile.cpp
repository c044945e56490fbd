//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageFile.h"
#include "Crew.h"
#include "FileSize.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

using namespace mneme;

static constexpr int CompressionLevel = 1;
static constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
static constexpr size_t FrameBytes = MNEME_FRAME_PAGES * Page;
// A thread is worth starting for so many pages to hash: a megabyte takes
// longer than the start.
static constexpr size_t PagesPerHasher = 1024;

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
  if (!writeAll(Fd, static_cast<const char *>(From), Size))
    return fail("write");
  Stored += Size;
}

void PageFile::open(std::string TheFolder, const PageIndex &TheKnown) {
  Folder = std::move(TheFolder);
  Known = &TheKnown;
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
  // The leading dot: what is left of it is not taken for a page file.
  static std::atomic<unsigned> Number{0};
  Path = Folder + "/.Pages." + std::to_string(getpid()) + "." +
         std::to_string(Number++);
  Fd = createNew(Path, ".tmp");
  if (Fd < 0) {
    fail("create");
    Path.clear();
    return;
  }
  MnemePageFileHeader H = header();
  write(&H, sizeof(H));
}

//===----------------------------------------------------------------------===//
// Hashing
//===----------------------------------------------------------------------===//

namespace {
/// Shares pages out among threads.
class Hasher {
public:
  /// \p Copies, unless it is null, has room for all pages: they are put there,
  /// filled up with zeros, before they are hashed.
  Hasher(const std::vector<PageFile::Part> &Pages, PageDigest *Digests,
         char *Copies)
      : Pages(Pages), Digests(Digests), Copies(Copies) {
    Crew Helpers(Pages.size() / PagesPerHasher, work, this);
    work(this);
  }

private:
  static void *work(void *Self) {
    auto *This = static_cast<Hasher *>(Self);
    size_t Count = This->Pages.size();
    for (size_t I; (I = This->Next.fetch_add(Batch)) < Count;)
      for (size_t End = std::min(Count, I + Batch); I != End; ++I)
        This->Digests[I] = This->hash(I);
    return nullptr;
  }

  PageDigest hash(size_t I) const {
    const PageFile::Part &P = Pages[I];
    if (!Copies)
      return digestOfPage(P.Bytes, P.Size);
    char *Copy = Copies + I * Page;
    memcpy(Copy, P.Bytes, P.Size);
    memset(Copy + P.Size, 0, Page - P.Size);
    return digestOfPage(Copy, Page);
  }

  static constexpr size_t Batch = 64;
  std::atomic<size_t> Next{0};
  const std::vector<PageFile::Part> &Pages;
  PageDigest *Digests;
  char *Copies;
};
} // namespace

/// Copies the pages that are not \p Found, makes \p Pages say where to, and
/// hashes the copies: \p Digests are of what the application cannot change.
/// \returns the copies, or null when there is no memory.
static std::unique_ptr<char[]> copyNew(std::vector<PageFile::Part> &Pages,
                                       std::vector<PageDigest> &Digests,
                                       const std::vector<char> &Found) {
  std::vector<size_t> Places;
  std::vector<PageFile::Part> New;
  for (size_t I = 0; I != Pages.size(); ++I)
    if (!Found[I]) {
      Places.push_back(I);
      New.push_back(Pages[I]);
    }
  std::unique_ptr<char[]> Copies(new (std::nothrow) char[New.size() * Page]);
  if (!Copies)
    return Copies;
  std::vector<PageDigest> NewDigests(New.size());
  Hasher(New, NewDigests.data(), Copies.get());
  for (size_t I = 0; I != Places.size(); ++I) {
    Pages[Places[I]] = {Copies.get() + I * Page, Page};
    Digests[Places[I]] = NewDigests[I];
  }
  return Copies;
}

void PageFile::add(const std::vector<Part> &Parts,
                   std::vector<PageDigest> &AllDigests,
                   std::vector<PageRef> &AllRefs) {
  std::vector<Part> Pages;
  for (const Part &P : Parts)
    for (uint64_t At = 0; At < P.Size; At += Page)
      Pages.push_back({P.Bytes + At, std::min(Page, P.Size - At)});
  if (!Error.empty() || Pages.empty())
    return;

  std::vector<PageDigest> Hashes(Pages.size());
  Hasher(Pages, Hashes.data(), /*Copies=*/nullptr);

  std::vector<PageRef> Refs;
  std::vector<char> Found;
  Known->find(Hashes, Refs, Found);
  std::unique_ptr<char[]> Copies;
  if (CopiesFirst && !(Copies = copyNew(Pages, Hashes, Found))) {
    errno = ENOMEM;
    return fail("write");
  }
  std::vector<Part> New;
  for (size_t I = 0; I != Pages.size(); ++I) {
    if (Found[I])
      continue;
    if (const PageRef *R = Own.find(Hashes[I])) {
      Refs[I] = *R;
      continue;
    }
    if (Digests.size() == UINT32_MAX) {
      errno = EFBIG;
      return fail("write");
    }
    Refs[I] = {OwnFile, uint32_t(Digests.size())};
    Own.insert(Hashes[I], Refs[I]);
    Digests.push_back(Hashes[I]);
    New.push_back(Pages[I]);
  }
  store(New);
  AllDigests.insert(AllDigests.end(), Hashes.begin(), Hashes.end());
  AllRefs.insert(AllRefs.end(), Refs.begin(), Refs.end());
}

//===----------------------------------------------------------------------===//
// Compressing and writing
//===----------------------------------------------------------------------===//

struct PageFile::Frame {
  const Part *Pages;
  size_t NumPages;
  /// What goes into the file: Stored's, or the application's own memory.
  const char *Bytes = nullptr;
  size_t Size = 0;
  uint16_t Encoding = MNEME_ENCODING_RAW;
  std::unique_ptr<char[]> Stored;
  bool IsDone = false;

  /// Where the pages lie one behind the other, or null.
  const char *contiguous() const {
    for (size_t I = 0; I != NumPages; ++I)
      if (Pages[I].Bytes != Pages[0].Bytes + I * Page || Pages[I].Size != Page)
        return nullptr;
    return Pages[0].Bytes;
  }

  void gather(char *To) const {
    for (size_t I = 0; I != NumPages; ++I, To += Page) {
      memcpy(To, Pages[I].Bytes, Pages[I].Size);
      memset(To + Pages[I].Size, 0, Page - Pages[I].Size);
    }
  }
};

/// Compresses frames on several threads, of which the caller's writes them in
/// order.
class PageFile::Packer {
public:
  Packer(std::vector<Frame> &Frames) : Frames(Frames) {
    pthread_mutex_init(&Lock, nullptr);
    pthread_cond_init(&HasDone, nullptr);
  }
  ~Packer() {
    pthread_cond_destroy(&HasDone);
    pthread_mutex_destroy(&Lock);
  }

  /// A thread's compressor and its memory.
  struct Tools {
    ZSTD_CCtx *Context = ZSTD_createCCtx();
    size_t Capacity = ZSTD_compressBound(FrameBytes);
    std::unique_ptr<char[]> Raw{new char[FrameBytes]};
    std::unique_ptr<char[]> Packed{new char[Capacity]};

    ~Tools() { ZSTD_freeCCtx(Context); }
  };

  static void *work(void *Self) {
    auto *This = static_cast<Packer *>(Self);
    Tools T;
    while (This->packNext(T))
      ;
    return nullptr;
  }

  /// \returns false when none is left.
  bool packNext(Tools &T) {
    size_t I = Next++;
    if (I >= Frames.size())
      return false;
    pack(Frames[I], T);
    pthread_mutex_lock(&Lock);
    Frames[I].IsDone = true;
    pthread_cond_signal(&HasDone);
    pthread_mutex_unlock(&Lock);
    return true;
  }

  bool isDone(size_t I) {
    pthread_mutex_lock(&Lock);
    bool Is = Frames[I].IsDone;
    pthread_mutex_unlock(&Lock);
    return Is;
  }

  void waitFor(size_t I) {
    pthread_mutex_lock(&Lock);
    while (!Frames[I].IsDone)
      pthread_cond_wait(&HasDone, &Lock);
    pthread_mutex_unlock(&Lock);
  }

private:
  static void pack(Frame &F, Tools &T) {
    size_t RawSize = F.NumPages * Page;
    const char *Raw = F.contiguous();
    bool IsGathered = !Raw;
    if (IsGathered) {
      F.gather(T.Raw.get());
      Raw = T.Raw.get();
    }
    // Raw, unless that comes out shorter.
    size_t N = RawSize;
    if (T.Context)
      N = ZSTD_compressCCtx(T.Context, T.Packed.get(), T.Capacity, Raw, RawSize,
                            CompressionLevel);
    bool IsPacked = !ZSTD_isError(N) && N < RawSize;
    F.Encoding = IsPacked ? MNEME_ENCODING_ZSTD : MNEME_ENCODING_RAW;
    F.Size = IsPacked ? N : RawSize;
    F.Bytes = Raw;
    if (!IsPacked && !IsGathered)
      return;
    F.Stored.reset(new char[F.Size]);
    memcpy(F.Stored.get(), IsPacked ? T.Packed.get() : Raw, F.Size);
    F.Bytes = F.Stored.get();
  }

  std::vector<Frame> &Frames;
  std::atomic<size_t> Next{0};
  pthread_mutex_t Lock;
  pthread_cond_t HasDone;
};

void PageFile::store(const std::vector<Part> &Pages) {
  if (Pages.empty())
    return;
  if (Fd < 0)
    create();
  std::vector<Frame> Batch;
  for (size_t At = 0; At != Pages.size();) {
    size_t N = std::min<size_t>(MNEME_FRAME_PAGES, Pages.size() - At);
    Batch.emplace_back();
    Batch.back().Pages = &Pages[At];
    Batch.back().NumPages = N;
    At += N;
  }
  Packer P(Batch);
  Packer::Tools Mine;
  Crew Helpers(Batch.size() - 1, Packer::work, &P);
  for (size_t I = 0; I != Batch.size(); ++I) {
    while (!P.isDone(I) && P.packNext(Mine))
      ;
    P.waitFor(I);
    Frame &F = Batch[I];
    write(F.Bytes, F.Size);
    F.Stored.reset();
    Frames.push_back({uint32_t(F.Size), uint16_t(F.NumPages), F.Encoding});
  }
}

void PageFile::close() {
  if (Fd < 0)
    return;
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
  // Some file systems say here that there is no room.
  if (::close(Fd) && errno != EINTR)
    fail("write");
  Fd = -1;
  if (!Error.empty())
    return;
  Id = Footer.Id;
  std::string Name = Folder + "/" + pageFileName(Id);
  if (rename(Path.c_str(), Name.c_str()))
    return fail("rename");
  Path.clear();
}
