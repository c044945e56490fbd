//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The snapshot file, DeviceState.{prologue,epilogue}.<static>.<dynamic>.mneme,
/// and the page file, Pages.<id>.mneme, which holds the bytes that snapshots
/// refer to. Written by the runtime inside the application and by the tools,
/// so: C, no LLVM, no STL. Little-endian.
///
///   MnemeSnapshotHeader
///   { MnemeRecordHeader, payload of Size bytes, zeros up to 8 bytes }*
///   last record: MNEME_RECORD_END
///
/// A file without its End record is truncated. A reader refuses an unknown
/// record type unless it carries MNEME_RECORD_OPTIONAL, and any record whose
/// digest is not that of its payload. Files are written under a temporary name,
/// renamed when whole, and never changed afterwards.
///
/// In a prologue, bytes of a region that no run of pages covers are zero. An
/// epilogue lists the same regions; bytes that no run covers are those of the
/// prologue. The page files that a snapshot names lie in its own folder.
///
///   MnemePageFileHeader
///   frames, back to back
///   digest of each page, 16 bytes: XXH3-128, canonical (big-endian)
///   MnemePageFrame for each frame
///   MnemePageFileFooter, which ends the file
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_RECORDFORMAT_H
#define LLVM_MNEME_RUNTIME_RECORDFORMAT_H

#include <stdint.h>

#define MNEME_SNAPSHOT_MAGIC "MNEMESNP" /* 8 characters, no NUL stored */
#define MNEME_SNAPSHOT_MAJOR 2          /* readers refuse another major */
#define MNEME_SNAPSHOT_MINOR 0

/// Where device memory lives in a recorded application and in its replay. Half
/// a tebibyte below the highest place where Linux starts to map libraries; an
/// H200 grants it through the driver's VMM too. AddressSanitizer's allocator
/// may lie there: then MNEME_VA_BASE in the environment says where else.
#define MNEME_ARENA_BASE 0x7e0000000000ull
#define MNEME_ARENA_SIZE 0x008000000000ull

enum { MNEME_SNAPSHOT_PROLOGUE = 1, MNEME_SNAPSHOT_EPILOGUE = 2 };

typedef struct {
  char Magic[8];
  uint16_t Major;
  uint16_t Minor;
  uint32_t Kind;          ///< MNEME_SNAPSHOT_*.
  uint8_t StaticHash[16]; ///< The kernel's code.
  uint64_t DynamicHash;   ///< The launch's configuration.
  uint64_t ArenaBase;     ///< Heap and globals lie in
  uint64_t ArenaSize;     ///< [ArenaBase, ArenaBase + ArenaSize).
  uint64_t HeaderDigest;  ///< XXH3-64 of the bytes before this field.
} MnemeSnapshotHeader;

enum {
  MNEME_RECORD_ARGS = 1,
  MNEME_RECORD_REGION = 2,
  MNEME_RECORD_ANNOTATION = 4,
  MNEME_RECORD_PAGE_FILES = 5,
  MNEME_RECORD_PAGES = 6,
  MNEME_RECORD_END = 255,
};

enum { MNEME_RECORD_OPTIONAL = 1 };

typedef struct {
  uint32_t Type;   ///< MNEME_RECORD_*.
  uint32_t Flags;  ///< MNEME_RECORD_OPTIONAL.
  uint64_t Size;   ///< Bytes of payload that follow this header.
  uint64_t Digest; ///< XXH3-64 of the payload.
} MnemeRecordHeader;

/// MNEME_RECORD_ARGS (prologue only): this, then MnemeArgEntry[Count], then the
/// bytes of all arguments, back to back, unpadded.
typedef struct {
  uint32_t Count;
  uint32_t Reserved;
} MnemeArgsRecord;

typedef struct {
  uint32_t Size;
  uint32_t Offset; ///< In the kernel's parameter space.
} MnemeArgEntry;

/// Those of the arena, and memory that the device reads where the application's
/// runtime has put it: managed, or pinned memory of the host.
enum {
  MNEME_REGION_HEAP = 1,
  MNEME_REGION_GLOBAL = 2,
  MNEME_REGION_MANAGED = 3,
  MNEME_REGION_PINNED = 4,
};

/// MNEME_RECORD_REGION: this, then the name's bytes (globals; no NUL).
typedef struct {
  uint64_t Address;
  uint64_t Size; ///< Bytes that the application asked for.
  uint32_t Kind; ///< MNEME_REGION_*.
  uint32_t Id;   ///< Counts from 0 in a file; "buffer N" in messages.
  uint32_t NameSize;
  uint32_t Reserved;
} MnemeRegionRecord;

#define MNEME_SNAPSHOT_PAGE 4096u /* bytes of a page */

/// MNEME_RECORD_PAGE_FILES (one at most): these, of the page files that runs
/// refer to.
typedef struct {
  uint8_t Id[16];
} MnemePageFileId;

/// MNEME_RECORD_PAGES (one at most): these. Contents of consecutive pages of a
/// region; the last page of a region is stored filled up with zeros.
typedef struct {
  uint64_t Address;   ///< A region's, plus a multiple of MNEME_SNAPSHOT_PAGE.
  uint32_t NumPages;  ///< Of memory.
  uint32_t File;      ///< Which of the snapshot's page files.
  uint32_t FirstPage; ///< In that file.
  uint32_t Step;      ///< 1, or 0: all have the contents of FirstPage.
} MnemePageRun;

/// Element types of annotations and of comparisons. Keep in step with
/// include/mneme/annotate.h.
enum {
  MNEME_DTYPE_BYTES = 0,
  MNEME_DTYPE_F32 = 1,
  MNEME_DTYPE_F64 = 2,
  MNEME_DTYPE_F16 = 3,
  MNEME_DTYPE_BF16 = 4,
  MNEME_DTYPE_I8 = 5,
  MNEME_DTYPE_I16 = 6,
  MNEME_DTYPE_I32 = 7,
  MNEME_DTYPE_I64 = 8,
  MNEME_DTYPE_U8 = 9,
  MNEME_DTYPE_U16 = 10,
  MNEME_DTYPE_U32 = 11,
  MNEME_DTYPE_U64 = 12,
};

enum {
  MNEME_TOLERANCE_EXACT = 0,
  MNEME_TOLERANCE_ABS = 1,
  MNEME_TOLERANCE_REL = 2,
  MNEME_TOLERANCE_ULP = 3
};
enum {
  MNEME_NORM_NONE = 0,
  MNEME_NORM_L1 = 1,
  MNEME_NORM_L2 = 2,
  MNEME_NORM_LINF = 3
};

/// MNEME_RECORD_ANNOTATION: this, then the tag's bytes (no NUL). How the
/// application wants a range compared.
typedef struct {
  uint64_t Address;
  uint64_t Size;
  uint32_t DType;     ///< MNEME_DTYPE_*.
  uint32_t Tolerance; ///< MNEME_TOLERANCE_*.
  uint32_t Norm;      ///< MNEME_NORM_*.
  uint32_t TagSize;
  double Value;
} MnemeAnnotationRecord;

/// MNEME_RECORD_END.
typedef struct {
  uint64_t NumRecords; ///< Records before this one.
  uint64_t NumPages;   ///< Sum of NumPages over all runs.
} MnemeEndRecord;

#define MNEME_PAGES_MAGIC "MNEMEPAG" /* 8 characters, no NUL stored */
#define MNEME_PAGES_MAJOR 1          /* readers refuse another major */
#define MNEME_PAGES_MINOR 0
#define MNEME_FRAME_PAGES 256u /* in a frame, at most: 1 MiB */

typedef struct {
  char Magic[8];
  uint16_t Major;
  uint16_t Minor;
  uint32_t PageSize; ///< MNEME_SNAPSHOT_PAGE.
} MnemePageFileHeader;

enum { MNEME_ENCODING_RAW = 0, MNEME_ENCODING_ZSTD = 1 };

typedef struct {
  uint32_t StoredSize; ///< Bytes in the file.
  uint16_t NumPages;   ///< 1 to MNEME_FRAME_PAGES.
  uint16_t Encoding;   ///< MNEME_ENCODING_*.
} MnemePageFrame;

typedef struct {
  uint64_t NumPages;
  uint64_t NumFrames;
  /// XXH3-128, canonical, of the digests of the pages: what snapshots call the
  /// file. Says nothing of how it is packed.
  MnemePageFileId Id;
  /// XXH3-64 of the header, the digests, the frames and the fields above.
  uint64_t IndexDigest;
  char Magic[8];
} MnemePageFileFooter;

#endif // LLVM_MNEME_RUNTIME_RECORDFORMAT_H
