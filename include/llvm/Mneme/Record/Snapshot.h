//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading a snapshot file (Runtime/RecordFormat.h) and the page files that it
/// refers to. Everything is checked before it is handed out: a truncated,
/// damaged or foreign file is one Error.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_SNAPSHOT_H
#define LLVM_MNEME_RECORD_SNAPSHOT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Record/PageStore.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A buffer of the application, or a device variable.
struct SnapshotRegion {
  uint64_t Address = 0;
  uint64_t Size = 0; ///< Bytes that the application asked for.
  bool IsGlobal = false;
  uint32_t Id = 0;
  std::string Name; ///< Of a variable.
  uint32_t Kind = MNEME_REGION_HEAP;

  /// Whether it lies where the application's runtime had put it.
  bool isOutsideArena() const {
    return Kind == MNEME_REGION_MANAGED || Kind == MNEME_REGION_PINNED;
  }
};

struct SnapshotAnnotation {
  uint64_t Address = 0, Size = 0;
  uint32_t DType = MNEME_DTYPE_BYTES;
  uint32_t Tolerance = MNEME_TOLERANCE_EXACT;
  uint32_t Norm = MNEME_NORM_NONE;
  double Value = 0;
  std::string Tag;
};

/// A range of bytes whose contents are known, of at most 1 MiB.
struct SnapshotData {
  uint64_t Address = 0;
  uint64_t RawSize = 0;
  size_t FirstPart = 0, NumParts = 0; ///< Where they are: Snapshot's.
};

class Snapshot {
public:
  /// Reads \p Path, and opens its page files, which lie beside it. Errors name
  /// the file.
  static Expected<Snapshot> open(StringRef Path);
  static Expected<Snapshot> open(StringRef Path,
                                 std::shared_ptr<PageStore> Pages);
  /// Reads a buffer; \p Buffer's identifier names it in errors.
  static Expected<Snapshot> parse(std::unique_ptr<MemoryBuffer> Buffer,
                                  std::shared_ptr<PageStore> Pages);

  const MnemeSnapshotHeader &header() const { return Header; }
  Digest128 staticHash() const;
  /// XXH3-128 of the file's bytes.
  const Digest128 &fileDigest() const { return FileDigest; }
  bool isEpilogue() const { return Header.Kind == MNEME_SNAPSHOT_EPILOGUE; }
  /// Sorted by address, not overlapping; inside the arena, or all outside.
  ArrayRef<SnapshotRegion> regions() const { return Regions; }
  ArrayRef<SnapshotAnnotation> annotations() const { return Annotations; }
  /// Each argument's bytes (prologue only).
  ArrayRef<std::string> args() const { return Args; }
  /// Sorted by address, each inside one region.
  ArrayRef<SnapshotData> data() const { return Data; }

  /// The page files that it refers to.
  ArrayRef<const PageFile *> pageFiles() const { return Files; }
  /// Sorted by address, none in two regions; File is an index of pageFiles().
  ArrayRef<MnemePageRun> runs() const { return Runs; }

  /// Decodes one range into \p Out, of RawSize bytes. Thread-safe.
  Error decode(const SnapshotData &D, MutableArrayRef<char> Out) const;
  /// Overlays this file's bytes of region \p Index on \p Contents, of the
  /// region's size: on zeros for a prologue, on the prologue's contents for an
  /// epilogue.
  Error overlay(size_t Index, MutableArrayRef<char> Contents) const;

  /// Leaves out of an epilogue what is the same page in \p Prologue: not all
  /// were written as changes only.
  void dropUnchanged(const Snapshot &Prologue);

private:
  /// Pages of one frame that lie behind each other in memory.
  struct Part {
    const PageFile *File;
    size_t Frame;
    uint32_t FirstPage, NumPages; ///< In the file.
    uint32_t Step;
  };

  Snapshot() = default;
  Error openPageFiles(ArrayRef<MnemePageFileId> Ids);
  void layOutData();
  Error decode(const Part &P, MutableArrayRef<char> Out) const;

  std::shared_ptr<PageStore> Pages;
  MnemeSnapshotHeader Header;
  Digest128 FileDigest = {};
  std::vector<SnapshotRegion> Regions;
  std::vector<SnapshotAnnotation> Annotations;
  std::vector<std::string> Args;
  std::vector<const PageFile *> Files;
  std::vector<MnemePageRun> Runs;
  std::vector<SnapshotData> Data;
  std::vector<Part> Parts;
};

struct RecordedKernel;
struct RecordedInstance;

/// In what a snapshot is the one that a kernel's file means.
struct SnapshotFit {
  bool Kind;     ///< Prologue or epilogue.
  bool Kernel;   ///< Static hash.
  bool Instance; ///< Dynamic hash.
  /// The same base, and no larger than the kernel's, which is the largest of
  /// its launches'.
  bool Arena;
  /// The launch's configuration is the one that its dynamic hash was computed
  /// of, as far as that can be told.
  bool Launch;
  bool Digest; ///< Of the file.
};
SnapshotFit findSnapshotFit(const Snapshot &S, bool Epilogue,
                            const RecordedKernel &K, const RecordedInstance &I);

/// Reads the prologue or epilogue of \p I in folder \p Dir; one that does not
/// fit is an error. \p Pages: the folder's, where they are used for more than
/// this.
Expected<Snapshot> openSnapshot(StringRef Dir, bool Epilogue,
                                const RecordedKernel &K,
                                const RecordedInstance &I,
                                std::shared_ptr<PageStore> Pages = nullptr);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_SNAPSHOT_H
