//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Readers for a snapshot file (Runtime/RecordFormat.h) and the page files it
/// refers to. All data is checked before it is returned: a truncated, damaged
/// or foreign file is an Error.
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

/// A buffer of the application or a device variable.
struct SnapshotRegion {
  uint64_t Address = 0;
  uint64_t Size = 0; ///< Bytes the application requested.
  bool IsGlobal = false;
  uint32_t Id = 0;
  std::string Name; ///< The variable's name.
  uint32_t Kind = MNEME_REGION_HEAP;

  /// Returns true if the application, its runtime or the driver chose the
  /// address.
  bool isOutsideArena() const {
    return Kind == MNEME_REGION_MANAGED || Kind == MNEME_REGION_PINNED ||
           Kind == MNEME_REGION_DEVICE;
  }
};

/// The application's comparison rule for a range of memory.
struct SnapshotAnnotation {
  uint64_t Address = 0, Size = 0;
  uint32_t DType = MNEME_DTYPE_BYTES;
  uint32_t Tolerance = MNEME_TOLERANCE_EXACT;
  uint32_t Norm = MNEME_NORM_NONE;
  double Value = 0;
  std::string Tag;
};

/// A range of at most 1 MiB with known contents.
struct SnapshotData {
  uint64_t Address = 0;
  uint64_t RawSize = 0;
  size_t FirstPart = 0, NumParts = 0; ///< Indices into Snapshot::Parts.
};

/// The memory before or after a recorded launch.
class Snapshot {
public:
  /// Opens \p Path and its page files, which are in the same folder. Errors
  /// name the file.
  static Expected<Snapshot> open(StringRef Path);
  static Expected<Snapshot> open(StringRef Path,
                                 std::shared_ptr<PageStore> Pages);
  /// Parses \p Buffer, whose identifier names it in errors.
  static Expected<Snapshot> parse(std::unique_ptr<MemoryBuffer> Buffer,
                                  std::shared_ptr<PageStore> Pages);

  const MnemeSnapshotHeader &header() const { return Header; }
  Digest128 staticHash() const;
  /// XXH3-128 of the file.
  const Digest128 &fileDigest() const { return FileDigest; }
  bool isEpilogue() const { return Header.Kind == MNEME_SNAPSHOT_EPILOGUE; }
  /// Sorted by address, disjoint. Each region is either inside the arena or
  /// completely outside.
  ArrayRef<SnapshotRegion> regions() const { return Regions; }
  ArrayRef<SnapshotAnnotation> annotations() const { return Annotations; }
  /// The bytes of each argument (prologue only).
  ArrayRef<std::string> args() const { return Args; }
  /// Sorted by address, each within one region.
  ArrayRef<SnapshotData> data() const { return Data; }

  /// The page files this snapshot refers to.
  ArrayRef<const PageFile *> pageFiles() const { return Files; }
  /// Sorted by address, each within one region; File indexes pageFiles().
  ArrayRef<MnemePageRun> runs() const { return Runs; }

  /// Decodes one range into \p Out, which has RawSize bytes. Thread-safe.
  Error decode(const SnapshotData &D, MutableArrayRef<char> Out) const;
  /// Overlays this file's data of region \p Index on \p Contents, which has the
  /// region's size. Initial contents are zeros for a prologue, and the
  /// prologue's contents for an epilogue.
  Error overlay(size_t Index, MutableArrayRef<char> Contents) const;

  /// Drops the pages of an epilogue that are equal in \p Prologue: some
  /// epilogues also contain unchanged pages.
  void dropUnchanged(const Snapshot &Prologue);

private:
  /// Pages of one frame that are adjacent in memory.
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

/// The properties in which a snapshot matches its kernel file.
struct SnapshotFit {
  bool Kind;     ///< Prologue or epilogue.
  bool Kernel;   ///< Static hash.
  bool Instance; ///< Dynamic hash.
  /// The snapshot's arena lies in the address range of the kernel.
  bool Arena;
  /// The dynamic hash matches the launch configuration, as far as that can be
  /// checked.
  bool Launch;
  bool Digest; ///< Digest of the file.
};
/// Compares \p S with the kernel file's data for the prologue or epilogue of
/// \p I.
SnapshotFit findSnapshotFit(const Snapshot &S, bool Epilogue,
                            const RecordedKernel &K, const RecordedInstance &I);

/// Opens the prologue or epilogue of \p I in folder \p Dir. Fails if it does
/// not match the kernel file. \p Pages is the folder's page store, if the
/// caller shares one.
Expected<Snapshot> openSnapshot(StringRef Dir, bool Epilogue,
                                const RecordedKernel &K,
                                const RecordedInstance &I,
                                std::shared_ptr<PageStore> Pages = nullptr);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_SNAPSHOT_H
