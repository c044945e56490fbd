//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading page files (Runtime/RecordFormat.h). Everything is checked before it
/// is handed out: a truncated, damaged or foreign file is one Error.
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

/// One page file. What it was opened from must stay as it is.
class PageFile {
public:
  /// Errors name the file.
  static Expected<std::unique_ptr<PageFile>> open(StringRef Path);
  /// \p Buffer's identifier names it in errors.
  static Expected<std::unique_ptr<PageFile>>
  parse(std::unique_ptr<MemoryBuffer> Buffer);

  /// "Pages.<id>.mneme", and back.
  static std::string nameOf(const Digest128 &Id);
  static std::optional<Digest128> idOf(StringRef Name);

  /// Pages that are compressed together.
  struct Frame {
    uint64_t Offset; ///< In the file.
    uint32_t StoredSize, FirstPage, NumPages;
    bool IsPacked;

    size_t size() const { return size_t(NumPages) * MNEME_SNAPSHOT_PAGE; }
  };

  const Digest128 &id() const { return Id; }
  StringRef path() const { return Buffer->getBufferIdentifier(); }
  uint64_t sizeInBytes() const { return Buffer->getBufferSize(); }
  uint32_t numPages() const { return NumPages; }
  ArrayRef<Frame> frames() const { return Frames; }
  /// The index of the frame that holds a page.
  size_t findFrame(uint32_t Page) const;

  /// Unpacks a frame into \p Out, of its size, and compares the pages with
  /// their digests.
  Error readFrame(size_t Index, MutableArrayRef<char> Out) const;

private:
  PageFile() = default;
  std::unique_ptr<MemoryBuffer> Buffer;
  Digest128 Id = {};
  uint32_t NumPages = 0;
  StringRef Digests; ///< 16 bytes for each page.
  std::vector<Frame> Frames;
};

/// The page files of a folder, opened when they are asked for. Thread-safe.
class PageStore {
public:
  explicit PageStore(StringRef Folder) : Folder(Folder) {}

  /// The error names the file.
  Expected<const PageFile *> get(const Digest128 &Id);
  /// Those that have been asked for, and were there.
  std::vector<Digest128> opened();
  /// Has \p File beside those of the folder.
  void add(std::unique_ptr<PageFile> File);

  /// Reads all of \p File. \returns what is wrong with it, and whether this is
  /// the first time that it is asked for.
  std::pair<ArrayRef<std::string>, bool> check(const PageFile &File);

  using Contents = std::shared_ptr<const std::vector<char>>;
  /// A frame's pages. Keeps some that were read last.
  Expected<Contents> readFrame(const PageFile &File, size_t Index);

private:
  using FrameKey = std::pair<const PageFile *, size_t>;
  static constexpr size_t MaxKept = 64; ///< 64 MiB.

  std::string Folder;
  std::mutex Lock;
  std::map<Digest128, std::unique_ptr<PageFile>> Files;
  std::map<const PageFile *, std::vector<std::string>> Checked;
  std::map<FrameKey, Contents> Kept;
  std::deque<FrameKey> Order; ///< Of Kept, the oldest first.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_PAGESTORE_H
