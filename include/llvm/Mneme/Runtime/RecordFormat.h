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
/// and the page file, Pages.<id>.mneme, which contains the data of snapshots.
/// Written by the runtime inside the application and by the tools: C, no LLVM,
/// no STL. Little-endian.
///
///   MnemeSnapshotHeader
/// { MnemeRecordHeader, payload of Size bytes, zeros up to 8 bytes }*
///   last record: MNEME_RECORD_END
///
/// A file without its End record is truncated. A reader rejects an unknown
/// record type unless it has MNEME_RECORD_OPTIONAL, and any record whose digest
/// does not match its payload. Files are written under a temporary name,
/// renamed when complete, and never changed afterwards.
///
/// In a prologue, bytes of a region that no run of pages covers are zero. An
/// epilogue lists the same regions; uncovered bytes are those of the prologue.
/// The page files of a snapshot are in the folder of the snapshot.
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
/* 1: MNEME_REGION_TEXTURE; 2: MNEME_REGION_DEVICE */
#define MNEME_SNAPSHOT_MINOR 2

/// The address range of device memory in a recorded application and its replay.
/// Half a tebibyte below the highest address where Linux starts to map
/// libraries; an H200 also grants it through the driver's VMM.
/// AddressSanitizer's allocator may use it: then the environment variable
/// MNEME_VA_BASE overrides the base.
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

/// MNEME_RECORD_ARGS (prologue only): this, MnemeArgEntry[Count], and the bytes
/// of all arguments, back to back, unpadded.
typedef struct {
  uint32_t Count;
  uint32_t Reserved;
} MnemeArgsRecord;

typedef struct {
  uint32_t Size;
  uint32_t Offset; ///< In the kernel's parameter space.
} MnemeArgEntry;

/// Memory in the arena, and memory at an address chosen by the application's
/// runtime that the device reads: managed memory or pinned host memory.
enum {
  MNEME_REGION_HEAP = 1,
  MNEME_REGION_GLOBAL = 2,
  MNEME_REGION_MANAGED = 3,
  MNEME_REGION_PINNED = 4,
  /// A MnemeTexture, in the arena. Its address is the handle of the object.
  MNEME_REGION_TEXTURE = 5,
  /// Device memory outside the arena, at an address that the driver or the
  /// application chose.
  MNEME_REGION_DEVICE = 6,
};

/// MNEME_RECORD_REGION: this and the bytes of the name (globals; no NUL).
typedef struct {
  uint64_t Address;
  uint64_t Size; ///< Bytes the application requested.
  uint32_t Kind; ///< MNEME_REGION_*.
  uint32_t Id;   ///< From 0 in each file; "buffer N" in messages.
  uint32_t NameSize;
  uint32_t Reserved;
} MnemeRegionRecord;

enum { MNEME_OBJECT_TEXTURE = 1, MNEME_OBJECT_SURFACE = 2 };

enum {
  MNEME_RESOURCE_ARRAY = 0,
  MNEME_RESOURCE_MIPMAP = 1,
  MNEME_RESOURCE_LINEAR = 2,
  MNEME_RESOURCE_PITCH2D = 3,
};

/// Flags of MnemeTexture.
enum {
  MNEME_TEXTURE_LAYERED = 1,     ///< Depth counts layers.
  MNEME_TEXTURE_CUBEMAP = 2,     ///< Depth counts faces, six for each cube.
  MNEME_TEXTURE_NORMALIZED = 4,  ///< Coordinates from 0 to 1.
  MNEME_TEXTURE_AS_FLOAT = 8,    ///< Integers are read as floats up to 1.
  MNEME_TEXTURE_LINEAR = 16,     ///< Filter between elements
  MNEME_TEXTURE_LINEAR_MIP = 32, ///< and between levels.
  MNEME_TEXTURE_SRGB = 64,       ///< Elements are converted from sRGB.
};

enum {
  MNEME_ADDRESS_WRAP = 0,
  MNEME_ADDRESS_CLAMP = 1,
  MNEME_ADDRESS_MIRROR = 2,
  MNEME_ADDRESS_BORDER = 3,
};

/// A texture or surface object. Its elements are recorded memory: rows of Pitch
/// bytes, slices of Height rows, levels of Depth slices, one after the other.
/// Each level has half the extent of the one before it (layers stay), and rows
/// without padding.
typedef struct {
  uint32_t Type;     ///< MNEME_OBJECT_*.
  uint32_t Resource; ///< MNEME_RESOURCE_*.
  uint32_t Format;   ///< MNEME_DTYPE_* of a channel, without 64 bits.
  uint32_t Channels; ///< 1, 2 or 4.
  uint32_t Flags;    ///< MNEME_TEXTURE_*.
  uint32_t NumLevels;
  uint32_t AddressModes[3]; ///< MNEME_ADDRESS_*.
  uint32_t MaxAnisotropy;
  uint64_t Address; ///< Address of level 0.
  uint64_t Pitch;
  uint64_t Width;  ///< In elements.
  uint64_t Height; ///< 0: one dimension.
  uint64_t Depth;  ///< 0: two dimensions or fewer.
  float MipBias, MinLevel, MaxLevel;
  float Border[4];
  uint32_t Reserved;
} MnemeTexture;

#define MNEME_SNAPSHOT_PAGE 4096u /* bytes of a page */

/// MNEME_RECORD_PAGE_FILES (at most one): an array of these, for the page files
/// that runs refer to.
typedef struct {
  uint8_t Id[16];
} MnemePageFileId;

/// MNEME_RECORD_PAGES (at most one): an array of these. The contents of
/// consecutive pages of a region; the last page of a region is padded with
/// zeros.
typedef struct {
  uint64_t Address;   ///< Start of a region plus a multiple of
                      ///< MNEME_SNAPSHOT_PAGE.
  uint32_t NumPages;  ///< Pages in memory.
  uint32_t File;      ///< Index of the snapshot's page file.
  uint32_t FirstPage; ///< In that file.
  uint32_t Step;      ///< 1, or 0 if all pages equal FirstPage.
} MnemePageRun;

/// Element types of annotations and comparisons. Keep in sync with
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

/// MNEME_RECORD_ANNOTATION: this and the bytes of the tag (no NUL). The
/// comparison rule of the application for a range.
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
  /// Canonical XXH3-128 of the page digests; identifies the file in snapshots.
  /// Independent of the compression.
  MnemePageFileId Id;
  /// XXH3-64 of the header, the digests, the frames and the above fields.
  uint64_t IndexDigest;
  char Magic[8];
} MnemePageFileFooter;

#endif // LLVM_MNEME_RUNTIME_RECORDFORMAT_H
