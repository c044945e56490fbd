//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The data that MnemePass embeds in an executable. Written by the pass, read
/// by the tools from the file and by the runtime inside the application: C, no
/// LLVM, no STL. All data is little-endian; offsets count from the start of the
/// payload; strings are NUL-terminated.
///
/// Section \c mneme_payload contains payloads back to back, each 8-byte
/// aligned: the unoptimized device module of one translation unit for one
/// architecture, with a table of its kernels. Equal payloads fold (COMDAT).
///
/// Section \c mneme_index maps host pointers (launch stubs, HIP handles, shadow
/// variables) to payloads. Section \c mneme_hooks contains one patchable slot
/// per runtime function that the translation unit calls.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_PAYLOADFORMAT_H
#define LLVM_MNEME_RUNTIME_PAYLOADFORMAT_H

#include <stdint.h>

// C identifiers, so that the linker provides __start_ and __stop_ symbols.
#define MNEME_PAYLOAD_SECTION "mneme_payload"
#define MNEME_INDEX_SECTION "mneme_index"
#define MNEME_HOOKS_SECTION "mneme_hooks"

/// The header of clang's compressed offload bundles of version 1: the magic, the
/// version, the method, the size of the contents and their digest.
#define MNEME_BUNDLE_HEADER_SIZE (4 + 2 + 2 + 4 + 8)

#define MNEME_PAYLOAD_MAGIC "MNEMEPL1" /* 8 characters, no NUL stored */

enum {
  MNEME_PAYLOAD_ZSTD = 1, ///< The bitcode is one zstd frame.
  MNEME_PAYLOAD_RDC = 2,  ///< Compiled with -fgpu-rdc: may need other payloads.
  /// Without bitcode, which Hash still identifies: recognizes kernels, but
  /// cannot be recorded.
  MNEME_PAYLOAD_SLIM = 4,
};

enum {
  MNEME_ARG_VALUE = 0,     ///< A scalar or vector.
  MNEME_ARG_POINTER = 1,   ///< A pointer into device memory.
  MNEME_ARG_AGGREGATE = 2, ///< byval/byref: a struct passed by value.
};

typedef struct {
  char Magic[8];
  uint32_t HeaderSize;  ///< sizeof(MnemePayloadHeader); readers skip the rest.
  uint32_t Flags;       ///< MNEME_PAYLOAD_*.
  uint64_t TotalSize;   ///< Header and body, a multiple of 8.
  uint64_t BitcodeSize; ///< Size of the decompressed bitcode.
  uint64_t StoredSize;  ///< Bytes stored at BitcodeOffset.
  uint64_t BitcodeOffset;
  uint8_t Hash[16];      ///< XXH3-128 (canonical, big-endian) of the bitcode.
  uint32_t TripleOffset; ///< "nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa".
  uint32_t ArchOffset;   ///< "sm_90", "gfx90a".
  uint32_t SourceOffset; ///< The source file's base name.
  uint32_t OptLevel;     ///< '0' '1' '2' '3' 's' 'z': the application's -O.
  uint32_t NumKernels;
  uint32_t KernelsOffset; ///< MnemePayloadKernel[NumKernels].
} MnemePayloadHeader;

typedef struct {
  uint32_t NameOffset; ///< The kernel's symbol in the bitcode.
  uint32_t NumArgs;
  uint32_t ArgsOffset; ///< MnemePayloadArg[NumArgs].
  /// 16 bytes, the static hash of the kernel's code. 0: unknown. With -fgpu-rdc
  /// it depends on the other units of the link.
  uint32_t StaticHashOffset;
} MnemePayloadKernel;

typedef struct {
  uint32_t Size;   ///< Bytes at args[i] of a launch.
  uint32_t Offset; ///< Offset in the kernel's parameter space.
  uint32_t Kind;   ///< MNEME_ARG_*.
  uint32_t Reserved;
} MnemePayloadArg;

enum {
  MNEME_INDEX_KERNEL = 0,
  MNEME_INDEX_VARIABLE = 1, ///< __device__ or __constant__ variable.
  /// No symbol, but the payload of a translation unit compiled with -fgpu-rdc,
  /// which other units may need. HostPtr is the payload, Name is empty.
  MNEME_INDEX_UNIT = 2,
};

enum {
  MNEME_VARIABLE_CONSTANT = 1, ///< __constant__.
  /// __managed__: HostPtr is the location of the variable's address on the
  /// host.
  MNEME_VARIABLE_MANAGED = 2,
};

typedef struct {
  const void *HostPtr; ///< Launch stub (CUDA), handle (HIP) or shadow variable.
  const MnemePayloadHeader *Payload;
  const char *Name; ///< Device symbol.
  uint64_t Size;    ///< Size of a variable; otherwise 0.
  uint32_t Kind;    ///< MNEME_INDEX_*.
  uint32_t Flags;   ///< MNEME_VARIABLE_*; 0 for other kinds.
} MnemeIndexEntry;

/// A hook: instrumented code calls the runtime function \c Name through \c Fn,
/// which initially is the application's own definition.
typedef struct {
  void *Fn;
  const char *Name;
} MnemeHook;

/// Each instrumented translation unit calls this weak symbol, if defined,
/// before its other constructors, so that a runtime can attach, also to
/// libraries opened later by dlopen. The bounds are those of the sections in
/// the calling object. Calls repeat for each translation unit, so the callee
/// must recognize known sections.
#ifdef __cplusplus
extern "C"
#endif
    void __mneme_attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
                        const MnemeIndexEntry *IndexBegin,
                        const MnemeIndexEntry *IndexEnd);

#endif // LLVM_MNEME_RUNTIME_PAYLOADFORMAT_H
