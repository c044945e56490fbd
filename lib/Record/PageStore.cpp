//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/PageStore.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

// The structures are read with memcpy, so they must have no padding and this
// machine's byte order.
static_assert(sizeof(MnemePageFileHeader) == 16 &&
                  sizeof(MnemePageFrame) == 8 &&
                  sizeof(MnemePageFileFooter) == 48,
              "the page file format has no padding");
static_assert(sys::IsLittleEndianHost, "page files are little-endian");

static constexpr size_t DigestSize = sizeof(Digest128);
static constexpr StringLiteral Prefix = "Pages.", Suffix = ".mneme";

template <typename... Ts>
static Error pageFileError(const char *Fmt, Ts &&...Vals) {
  return createStringError(formatv(Fmt, std::forward<Ts>(Vals)...).str());
}

template <typename T> static T readAt(StringRef Bytes, size_t Offset) {
  T Value;
  memcpy(&Value, Bytes.data() + Offset, sizeof(T));
  return Value;
}

std::string PageFile::nameOf(const Digest128 &Id) {
  return (Prefix + toHexString(Id) + Suffix).str();
}

std::optional<Digest128> PageFile::idOf(StringRef Name) {
  if (!Name.consume_front(Prefix) || !Name.consume_back(Suffix))
    return std::nullopt;
  return parseDigest128(Name);
}

static Error checkHeader(StringRef File) {
  constexpr StringLiteral Magic(MNEME_PAGES_MAGIC);
  if (File.empty())
    return pageFileError("truncated: the file is empty");
  if (!File.starts_with(Magic.take_front(File.size())))
    return pageFileError("not a page file: does not begin with '{0}'", Magic);
  if (File.size() < sizeof(MnemePageFileHeader))
    return pageFileError("truncated: {0} bytes, a header has {1}", File.size(),
                         sizeof(MnemePageFileHeader));
  auto Header = readAt<MnemePageFileHeader>(File, 0);
  if (Header.Major != MNEME_PAGES_MAJOR)
    return pageFileError("format version {0}.{1}, this reader knows {2}.x",
                         Header.Major, Header.Minor, MNEME_PAGES_MAJOR);
  if (Header.PageSize != MNEME_SNAPSHOT_PAGE)
    return pageFileError("pages of {0} bytes, this reader knows {1}",
                         Header.PageSize, MNEME_SNAPSHOT_PAGE);
  if (File.size() < sizeof(Header) + sizeof(MnemePageFileFooter) ||
      !File.ends_with(Magic))
    return pageFileError("truncated or appended to: does not end with '{0}'",
                         Magic);
  return Error::success();
}

/// Computes the frames' positions from \p Table, the file's frame table. The
/// last frame must end at \p End.
static Error layOut(StringRef Table, uint64_t NumPages, uint64_t End,
                    std::vector<PageFile::Frame> &Frames) {
  uint64_t Offset = sizeof(MnemePageFileHeader), Page = 0;
  for (size_t I = 0; I != Table.size() / sizeof(MnemePageFrame); ++I) {
    auto F = readAt<MnemePageFrame>(Table, I * sizeof(MnemePageFrame));
    if (F.NumPages == 0 || F.NumPages > MNEME_FRAME_PAGES)
      return pageFileError("frame {0} of {1} pages, the limit is {2}", I,
                           F.NumPages, MNEME_FRAME_PAGES);
    bool IsPacked = F.Encoding == MNEME_ENCODING_ZSTD;
    if (!IsPacked && F.Encoding != MNEME_ENCODING_RAW)
      return pageFileError("frame {0}: unknown encoding {1}", I, F.Encoding);
    if (!IsPacked && F.StoredSize != F.NumPages * MNEME_SNAPSHOT_PAGE)
      return pageFileError("frame {0} stores {1} bytes of {2} pages", I,
                           F.StoredSize, F.NumPages);
    if (F.StoredSize > End - Offset)
      return pageFileError("frame {0} does not fit in", I);
    if (F.NumPages > NumPages - Page)
      return pageFileError("frame {0} has more pages than are left", I);
    Frames.push_back(
        {Offset, F.StoredSize, uint32_t(Page), F.NumPages, IsPacked});
    Offset += F.StoredSize;
    Page += F.NumPages;
  }
  if (Page != NumPages || Offset != End)
    return pageFileError("the frames do not match the header");
  return Error::success();
}

Expected<std::unique_ptr<PageFile>>
PageFile::parse(std::unique_ptr<MemoryBuffer> Buffer) {
  std::unique_ptr<PageFile> F(new PageFile);
  F->Buffer = std::move(Buffer);
  StringRef File = F->Buffer->getBuffer();
  auto Refuse = [&](Error E) {
    return createFileError(F->path(), std::move(E));
  };
  if (Error E = checkHeader(File))
    return Refuse(std::move(E));
  size_t FooterAt = File.size() - sizeof(MnemePageFileFooter);
  auto Footer = readAt<MnemePageFileFooter>(File, FooterAt);
  uint64_t Room = FooterAt - sizeof(MnemePageFileHeader);
  if (Footer.NumPages > UINT32_MAX || Footer.NumPages > Room / DigestSize ||
      Footer.NumFrames > Footer.NumPages ||
      Footer.NumPages * DigestSize + Footer.NumFrames * sizeof(MnemePageFrame) >
          Room)
    return Refuse(
        pageFileError("damaged: {0} pages in {1} frames are not in {2} "
                      "bytes",
                      Footer.NumPages, Footer.NumFrames, File.size()));
  size_t TableAt = FooterAt - Footer.NumFrames * sizeof(MnemePageFrame);
  size_t DigestsAt = TableAt - Footer.NumPages * DigestSize;
  std::string Signed(File.take_front(sizeof(MnemePageFileHeader)));
  Signed += File.slice(DigestsAt,
                       FooterAt + offsetof(MnemePageFileFooter, IndexDigest));
  F->NumPages = Footer.NumPages;
  F->Digests = File.slice(DigestsAt, TableAt);
  F->Id = digest128(F->Digests);
  if (digest64(Signed) != Footer.IndexDigest ||
      memcmp(F->Id.data(), Footer.Id.Id, DigestSize) != 0)
    return Refuse(pageFileError("damaged: wrong digest of the index"));
  if (Error E = layOut(File.slice(TableAt, FooterAt), Footer.NumPages,
                       DigestsAt, F->Frames))
    return Refuse(std::move(E));
  return std::move(F);
}

Expected<std::unique_ptr<PageFile>> PageFile::open(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  return parse(std::move(*Buffer));
}

size_t PageFile::findFrame(uint32_t Page) const {
  auto Next = llvm::upper_bound(
      Frames, Page, [](uint32_t P, const Frame &F) { return P < F.FirstPage; });
  return Next - Frames.begin() - 1;
}

Error PageFile::readFrame(size_t Index, MutableArrayRef<char> Out) const {
  const Frame &F = Frames[Index];
  assert(Out.size() == F.size() && "output of another size");
  StringRef Stored = Buffer->getBuffer().substr(F.Offset, F.StoredSize);
  auto Fail = [&](Error E) {
    return createFileError(path(),
                           pageFileError("pages {0} to {1}: {2}", F.FirstPage,
                                         F.FirstPage + F.NumPages - 1,
                                         toString(std::move(E))));
  };
  if (!F.IsPacked) {
    llvm::copy(Stored, Out.begin());
  } else {
    if (!compression::zstd::isAvailable())
      return Fail(pageFileError("zstd is not in this build of LLVM"));
    size_t Size = Out.size();
    if (Error E = compression::zstd::decompress(
            arrayRefFromStringRef(Stored),
            reinterpret_cast<uint8_t *>(Out.data()), Size))
      return Fail(std::move(E));
    if (Size != Out.size())
      return Fail(pageFileError("{0} bytes instead of {1}", Size, Out.size()));
  }
  for (uint32_t I = 0; I != F.NumPages; ++I) {
    StringRef Page(Out.data() + size_t(I) * MNEME_SNAPSHOT_PAGE,
                   MNEME_SNAPSHOT_PAGE);
    Digest128 D = digest128(Page);
    if (memcmp(D.data(),
               Digests.data() + (size_t(F.FirstPage) + I) * DigestSize,
               DigestSize) != 0)
      return Fail(
          pageFileError("damaged: wrong digest of page {0}", F.FirstPage + I));
  }
  return Error::success();
}

Expected<const PageFile *> PageStore::get(const Digest128 &Id) {
  std::lock_guard<std::mutex> Guard(Lock);
  std::unique_ptr<PageFile> &Slot = Files[Id];
  if (Slot)
    return Slot.get();
  SmallString<128> Path(Folder);
  sys::path::append(Path, PageFile::nameOf(Id));
  Expected<std::unique_ptr<PageFile>> File = PageFile::open(Path);
  if (!File)
    return File.takeError();
  if ((*File)->id() != Id)
    return createFileError(Path,
                           pageFileError("has the index of '{0}'",
                                         PageFile::nameOf((*File)->id())));
  Slot = std::move(*File);
  return Slot.get();
}

std::vector<Digest128> PageStore::opened() {
  std::lock_guard<std::mutex> Guard(Lock);
  std::vector<Digest128> Ids;
  for (const auto &[Id, File] : Files)
    if (File)
      Ids.push_back(Id);
  return Ids;
}

void PageStore::add(std::unique_ptr<PageFile> File) {
  std::lock_guard<std::mutex> Guard(Lock);
  std::unique_ptr<PageFile> &Slot = Files[File->id()];
  if (!Slot)
    Slot = std::move(File);
}

Expected<PageStore::Contents> PageStore::readFrame(const PageFile &File,
                                                   size_t Index) {
  FrameKey Key(&File, Index);
  {
    std::lock_guard<std::mutex> Guard(Lock);
    auto It = Kept.find(Key);
    if (It != Kept.end())
      return It->second;
  }
  auto Bytes = std::make_shared<std::vector<char>>(File.frames()[Index].size());
  if (Error E = File.readFrame(Index, *Bytes))
    return std::move(E);
  std::lock_guard<std::mutex> Guard(Lock);
  if (Kept.insert({Key, Bytes}).second) {
    Order.push_back(Key);
    if (Order.size() > MaxKept) {
      Kept.erase(Order.front());
      Order.pop_front();
    }
  }
  return Contents(std::move(Bytes));
}

std::pair<ArrayRef<std::string>, bool> PageStore::check(const PageFile &File) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto [It, IsNew] = Checked.try_emplace(&File);
  std::vector<char> Bytes;
  for (size_t I = 0; IsNew && I != File.frames().size(); ++I) {
    Bytes.resize(File.frames()[I].size());
    if (Error E = File.readFrame(I, Bytes))
      It->second.push_back(toString(std::move(E)));
  }
  return {It->second, IsNew};
}
