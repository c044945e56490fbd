//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A package: tuned kernels for an application, in one file. Written by
/// llvm-mneme-tune and llvm-mneme-deploy; mapped into the application by the
/// deployment runtime: C, no LLVM, no STL. All data is little-endian. Offsets
/// count from the start of the file; tables are 8-byte aligned; strings are
/// NUL-terminated.
///
/// A package has kernels, found by the static hash of their code. A kernel has
/// variants, in order of preference. A variant has guards, which say for which
/// launches it is correct and for which it was measured, a rule for the launch,
/// and an image: the bytes that were verified and timed.
///
/// Images are loaded when they are needed, so each has a digest of its own. All
/// other bytes are covered by the header's.
///
/// The arguments, variants and guards of consecutive kernels and variants are
/// consecutive, and none is left over. The last byte before the images is NUL.
/// Variants may share an image. Reserved fields and those that a kind of guard
/// or launch does not use are 0 and ignored.
///
/// A newer minor version may append to the header, use reserved fields and add
/// values of the enumerations. A reader refuses values that it does not know:
/// to ignore a guard would be wrong.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_PACKAGEFORMAT_H
#define LLVM_MNEME_RUNTIME_PACKAGEFORMAT_H

#include <stdint.h>

#define MNEME_PACKAGE_MAGIC "MNEMEPKG" /* 8 characters, no NUL stored */
#define MNEME_PACKAGE_MAJOR 1          /* readers refuse another major */
#define MNEME_PACKAGE_MINOR 5

/// Section of a linked executable that contains a package.
#define MNEME_PACKAGE_SECTION "mneme_package"

/// Array of an image in constant memory: addresses of the application's
/// variables, 8 bytes each.
#define MNEME_VARIABLE_SLOTS "__mneme_variables"

/// The environment of an application: packages, separated by colons.
#define MNEME_ENV_TUNED "MNEME_TUNED"

typedef struct {
  char Magic[8];
  uint16_t Major;
  uint16_t Minor;
  uint32_t HeaderSize; ///< sizeof(MnemePackageHeader).
  uint64_t FileSize;
  uint64_t TablesSize; ///< Header, tables and strings; images follow.
  uint8_t Digest[16];  ///< XXH3-128 (canonical) of [HeaderSize, TablesSize).
  uint64_t KernelsOffset; ///< MnemePackageKernel[NumKernels], ascending by
                          ///< StaticHash, each hash once.
  uint32_t NumKernels;
  uint32_t NumVariants;
  uint64_t VariantsOffset; ///< MnemePackageVariant[NumVariants].
  uint64_t ArgsOffset;     ///< MnemePackageArg[NumArgs].
  uint64_t GuardsOffset;   ///< MnemePackageGuard[NumGuards].
  uint32_t NumArgs;
  uint32_t NumGuards;
  uint64_t UnitsOffset; ///< MnemePackageUnit[NumUnits], ascending.
  uint32_t NumUnits;
  uint32_t Reserved;
  uint8_t HeaderDigest[16]; ///< XXH3-128 of the bytes before this field.
} MnemePackageHeader;

typedef struct {
  uint8_t StaticHash[16];
  uint32_t NameOffset; ///< The kernel's symbol.
  uint32_t FirstArg;
  uint32_t NumArgs;
  uint32_t FirstVariant;
  uint32_t NumVariants; ///< At least 1.
  uint32_t Reserved;
} MnemePackageKernel;

/// As in the application; a kernel whose arguments differ is not served.
typedef struct {
  uint32_t Size;
  uint32_t Offset;
} MnemePackageArg;

/// The kernel of a device link (-fgpu-rdc): its static hash depends on all
/// units of the link.
typedef struct {
  uint8_t LinkHash[16]; ///< XXH3-128 of the hashes of the link's payloads.
  uint32_t NameOffset;  ///< The kernel's symbol.
  uint32_t Kernel;      ///< Number in the table of kernels.
} MnemePackageUnit;

enum {
  MNEME_IMAGE_CUBIN = 1,  ///< Machine code for NVIDIA GPUs.
  MNEME_IMAGE_OBJECT = 2, ///< Relocatable x86-64 object, for the host device.
  MNEME_IMAGE_CODE_OBJECT = 3, ///< Machine code for AMD GPUs. Since 1.2.
};

/// The launch of a variant.
enum {
  MNEME_LAUNCH_SAME = 0,  ///< As the application's.
  MNEME_LAUNCH_COVER = 1, ///< Block[]; as many blocks as cover its threads.
  MNEME_LAUNCH_FIXED = 2, ///< Block[] and Grid[].
};

/// Why a changed launch is correct.
enum {
  MNEME_GRADE_SAME = 0,     ///< It is not changed.
  MNEME_GRADE_PROVEN = 1,   ///< The IR depends on the global index only.
  MNEME_GRADE_VERIFIED = 2, ///< The guards admit verified launches only.
  MNEME_GRADE_UNPROVEN = 3,
};

/// Why other code than the recorded kernel's is correct. Since 1.3; in older
/// packages, all code counts as proven.
enum {
  /// The recorded IR, transformed by passes; guards cover specializations.
  MNEME_CODE_PROVEN = 0,
  /// Another source or IR, verified in launches that were made for the test;
  /// the guards admit what these had in common, and what was tested.
  MNEME_CODE_TESTED = 1,
  /// The same, verified for the recorded launch only; the guards admit its
  /// shape, its scalar arguments and the sizes and places of its buffers.
  MNEME_CODE_VERIFIED = 2,
  MNEME_CODE_UNPROVEN = 3,
};

typedef struct {
  uint32_t FirstGuard;
  uint32_t NumGuards;
  uint32_t ImageKind; ///< MNEME_IMAGE_*.
  uint32_t Arch; ///< 90 for sm_90, 0x90a for gfx90a; 0 for the host device.
  uint64_t ImageOffset;
  uint64_t ImageSize;
  uint8_t ImageDigest[16]; ///< XXH3-128 of the image; what a replay reports.
  uint32_t EntryOffset;    ///< Symbol of the kernel in the image.
  /// "sm_90a"; "gfx90a:xnack-", with the settings that the image needs; of an
  /// object, LLVM's name of the CPU.
  uint32_t ArchNameOffset;
  uint32_t Launch;         ///< MNEME_LAUNCH_*.
  uint32_t Grade;          ///< MNEME_GRADE_*.
  uint32_t Block[3];
  uint32_t Grid[3];
  uint64_t DynamicShared; ///< MNEME_SHARED_SAME, or bytes.
  uint32_t MaxThreads;    ///< Threads per block that the image supports.
  uint32_t Registers;
  uint32_t StaticShared;
  uint32_t Cooperative; ///< 1: verified as a cooperative launch.
  uint32_t ProvenanceOffset; ///< JSON, for humans and tools.
  /// MNEME_IMAGE_OBJECT only: the fields of MnemeHostKernel (HostExec.h) of the
  /// same names. Undefined symbols of the object are those of
  /// mneme_host_symbols() and the application's variables.
  uint32_t HostStrategy; ///< MNEME_HOST_*.
  uint32_t HostWaveSize;
  uint32_t HostReserved; ///< 0.
  uint32_t HostOrdered;
  uint32_t Code; ///< MNEME_CODE_*. Since 1.3.
  uint64_t HostContextSize;
} MnemePackageVariant;

#define MNEME_SHARED_SAME UINT64_MAX

/// What a guard looks at.
enum {
  MNEME_GUARD_ARG = 1,         ///< Size bytes at Offset of argument Index.
  MNEME_GUARD_GRID = 2,        ///< Blocks along axis Index.
  MNEME_GUARD_BLOCK = 3,       ///< Threads of a block along axis Index.
  MNEME_GUARD_SHARED = 4,      ///< Bytes of dynamic shared memory.
  MNEME_GUARD_COOPERATIVE = 5, ///< 0 or 1.
  MNEME_GUARD_DEVICE = 6,      ///< The device's name is the string at Offset.
  /// Since 1.1. The application has a variable of Low bytes by the name at
  /// Offset. Before a launch, its address is stored at
  /// MNEME_VARIABLE_SLOTS[High], or if High is MNEME_VARIABLE_COPY, its
  /// contents are copied to the image's constant of this name.
  MNEME_GUARD_VARIABLE = 7,
  /// Since 1.3. The 8 bytes at Offset of argument Index are a pointer. The
  /// bytes of its allocation before it, and from it on. Without an allocation,
  /// the guard fails.
  MNEME_GUARD_BEFORE = 8,
  MNEME_GUARD_BEHIND = 9,
  /// The same, and the 8 bytes at offset Size of argument Other are another
  /// pointer. 1 if both point into the same allocation, or else 0.
  MNEME_GUARD_SAME_BUFFER = 10,
  /// Since 1.4. The 8 bytes at Offset of argument Index, modulo
  /// MNEME_BUFFER_ALIGNMENT.
  MNEME_GUARD_ALIGNMENT = 11,
  /// The same bytes are a pointer. 1 if no other address leads to the memory of
  /// its allocation, 0 if that is not known.
  MNEME_GUARD_OWN_PAGES = 12,
  /// The same. 1 if it points to a variable of the application, or else 0. On a
  /// GPU, only the variables of MNEME_GUARD_VARIABLE count.
  MNEME_GUARD_IN_VARIABLE = 13,
  /// Since 1.5. Blocks of a cluster along axis Index; 1 without clusters.
  MNEME_GUARD_CLUSTER = 14,
};

/// Whether guards of the kind \p What read an argument.
static inline bool mneme_guard_reads_argument(uint32_t What) {
  return What == MNEME_GUARD_ARG ||
         (What >= MNEME_GUARD_BEFORE && What <= MNEME_GUARD_IN_VARIABLE);
}

/// More than vector and asynchronous accesses need.
#define MNEME_BUFFER_ALIGNMENT 256

#define MNEME_VARIABLE_COPY UINT64_MAX

enum {
  MNEME_TEST_RANGE = 1,    ///< Low <= value <= High, unsigned.
  MNEME_TEST_SIGNED = 2,   ///< The same, signed.
  MNEME_TEST_MULTIPLE = 3, ///< A multiple of Low, a power of two.
  MNEME_TEST_EQUAL = 4,    ///< Only of names.
};

enum {
  /// The variant is correct without, but was not measured: ignored if the user
  /// wants the kernel served for all launches.
  MNEME_GUARD_SOFT = 1,
};

typedef struct {
  uint16_t What;  ///< MNEME_GUARD_*.
  uint16_t Test;  ///< MNEME_TEST_*.
  uint32_t Flags; ///< MNEME_GUARD_SOFT.
  uint32_t Index;
  uint32_t Offset;
  uint32_t Size; ///< 1, 2, 4 or 8.
  uint32_t Other; ///< Since 1.3.
  uint64_t Low;
  uint64_t High;
} MnemePackageGuard;

#endif // LLVM_MNEME_RUNTIME_PACKAGEFORMAT_H
