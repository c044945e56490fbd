//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading a snapshot file (Runtime/RecordFormat.h). Everything is checked
/// before it is handed out: a truncated, damaged or foreign file is one Error.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_SNAPSHOT_H
#define LLVM_MNEME_RECORD_SNAPSHOT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
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

/// A range of bytes that the file stores.
struct SnapshotData {
  uint64_t Address = 0;
  uint64_t RawSize = 0;
  uint32_t Encoding = MNEME_ENCODING_RAW;
  StringRef Stored; ///< In the file's buffer.
};

class Snapshot {
public:
  /// Reads \p Path. Errors name the file.
  static Expected<Snapshot> open(StringRef Path);
  /// Reads a buffer; \p Buffer's identifier names it in errors.
  static Expected<Snapshot> parse(std::unique_ptr<MemoryBuffer> Buffer);

  const MnemeSnapshotHeader &header() const { return Header; }
  Digest128 staticHash() const;
  bool isEpilogue() const { return Header.Kind == MNEME_SNAPSHOT_EPILOGUE; }
  /// Sorted by address, not overlapping; inside the arena, or all outside.
  ArrayRef<SnapshotRegion> regions() const { return Regions; }
  ArrayRef<SnapshotAnnotation> annotations() const { return Annotations; }
  /// Each argument's bytes (prologue only).
  ArrayRef<std::string> args() const { return Args; }
  /// Sorted by address, each inside one region.
  ArrayRef<SnapshotData> data() const { return Data; }

  /// Decodes one range into \p Out, of RawSize bytes.
  Error decode(const SnapshotData &D, MutableArrayRef<char> Out) const;
  /// Overlays this file's bytes of region \p Index on \p Contents, of the
  /// region's size: on zeros for a prologue, on the prologue's contents for an
  /// epilogue.
  Error overlay(size_t Index, MutableArrayRef<char> Contents) const;

private:
  Snapshot() = default;
  std::unique_ptr<MemoryBuffer> Buffer;
  MnemeSnapshotHeader Header;
  std::vector<SnapshotRegion> Regions;
  std::vector<SnapshotAnnotation> Annotations;
  std::vector<std::string> Args;
  std::vector<SnapshotData> Data;
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
};
SnapshotFit findSnapshotFit(const Snapshot &S, bool Epilogue,
                            const RecordedKernel &K, const RecordedInstance &I);

/// Reads the prologue or epilogue of \p I in folder \p Dir; one that does not
/// fit is an error.
Expected<Snapshot> openSnapshot(StringRef Dir, bool Epilogue,
                                const RecordedKernel &K,
                                const RecordedInstance &I);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_SNAPSHOT_H
