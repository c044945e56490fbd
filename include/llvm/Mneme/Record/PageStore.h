//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Readers for page files (Runtime/RecordFormat.h). All data is checked before
/// it is returned: a truncated, damaged or foreign file is an Error.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_PAGESTORE_H
#define LLVM_MNEME_RECORD_PAGESTORE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// One page file. The underlying file must not change while it is open.
class PageFile {
public:
  /// Opens a file. Errors name it.
  static Expected<std::unique_ptr<PageFile>> open(StringRef Path);
  /// Parses \p Buffer, whose identifier names it in errors.
  static Expected<std::unique_ptr<PageFile>>
  parse(std::unique_ptr<MemoryBuffer> Buffer);

  /// Convert between an id and the file name "Pages.<id>.mneme".
  static std::string nameOf(const Digest128 &Id);
  static std::optional<Digest128> idOf(StringRef Name);

  /// A group of pages that are compressed together.
  struct Frame {
    uint64_t Offset; ///< In the file.
    uint32_t StoredSize, FirstPage, NumPages;
    bool IsPacked;

    size_t size() const { return size_t(NumPages) * MNEME_SNAPSHOT_PAGE; }
  };

  const Digest128 &id() const { return Id; }
  StringRef path() const { return Buffer->getBufferIdentifier(); }
  uint32_t numPages() const { return NumPages; }
  ArrayRef<Frame> frames() const { return Frames; }
  /// Returns the index of the frame that holds a page.
  size_t findFrame(uint32_t Page) const;

  /// Decompresses a frame into \p Out, which has its size, and checks the
  /// digests of its pages.
  Error readFrame(size_t Index, MutableArrayRef<char> Out) const;

private:
  PageFile() = default;
  std::unique_ptr<MemoryBuffer> Buffer;
  Digest128 Id = {};
  uint32_t NumPages = 0;
  StringRef Digests; ///< 16 bytes per page.
  std::vector<Frame> Frames;
};

/// The page files of a folder, opened on demand. Thread-safe.
class PageStore {
public:
  explicit PageStore(StringRef Folder) : Folder(Folder) {}

  /// Returns the page file \p Id. Errors name the file.
  Expected<const PageFile *> get(const Digest128 &Id);
  /// Returns the ids of all page files opened so far.
  std::vector<Digest128> opened();
  /// Adds \p File to the page files of the folder.
  void add(std::unique_ptr<PageFile> File);

  /// Reads all of \p File. \returns the problems found, and whether this is the
  /// first check of \p File.
  std::pair<ArrayRef<std::string>, bool> check(const PageFile &File);

  using Contents = std::shared_ptr<const std::vector<char>>;
  /// Returns the pages of a frame. Caches recently read frames.
  Expected<Contents> readFrame(const PageFile &File, size_t Index);

private:
  using FrameKey = std::pair<const PageFile *, size_t>;
  static constexpr size_t MaxKept = 64; ///< 64 MiB.

  std::string Folder;
  std::mutex Lock;
  std::map<Digest128, std::unique_ptr<PageFile>> Files;
  std::map<const PageFile *, std::vector<std::string>> Checked;
  std::map<FrameKey, Contents> Kept;
  std::deque<FrameKey> Order; ///< Keys of Kept, oldest first.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_PAGESTORE_H
