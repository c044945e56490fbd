//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Section \c mneme_jit of an executable or library: the kernels and host
/// functions that may be compiled again while the program runs. Written by
/// MnemePass, read by the runtime: C, no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_JITFORMAT_H
#define LLVM_MNEME_RUNTIME_JITFORMAT_H

#include "llvm/Mneme/Runtime/PayloadFormat.h"

#include <stdint.h>

#define MNEME_JIT_SECTION "mneme_jit"

enum {
  /// Bytes [Offset, +Size) of an argument.
  MNEME_JIT_VALUE = 0,
  /// The argument has a pointer at Offset. All Count * Size bytes behind it.
  MNEME_JIT_ARRAY = 1,
  /// The argument is a pointer to a closure. Bytes [Offset, +Size) of it; the
  /// other bytes may change.
  MNEME_JIT_POINTEE = 2,
};

enum {
  /// MNEME_JIT_ARRAY: the contents never change while the program runs.
  MNEME_JIT_IMMUTABLE = 1,
  /// Chosen by the plugin, not by the source: left out if that is not worth it.
  MNEME_JIT_AUTOMATIC = 2,
  /// MNEME_JIT_ARRAY of a function: the argument is a reference, so that the
  /// contents can be read.
  MNEME_JIT_READABLE = 4,
};

/// The symbol of a function's code in its IR.
#define MNEME_JIT_FUNCTION_ENTRY "__mneme_jit_entry"

#define MNEME_JIT_NO_ARG 0xffffffffu

/// Most fields of a kernel or function: what a launch has to copy and compare.
#define MNEME_JIT_MAX_FIELDS 64

/// A part of an argument, or of memory, that may become a constant.
typedef struct {
  uint32_t Kind;  ///< MNEME_JIT_VALUE etc.
  uint32_t Flags; ///< MNEME_JIT_IMMUTABLE etc.
  /// Number of the argument of the kernel, or of the function in IR.
  uint32_t Arg;
  /// Index of its address in what the runtime gets; of a kernel: Arg.
  uint32_t Place;
  uint32_t Offset;
  uint32_t Size; ///< In bytes; of an array: of an element.
  /// Arrays: the number of elements, or the argument that has it.
  uint32_t Count;
  uint32_t CountArg;   ///< MNEME_JIT_NO_ARG: Count is the number.
  uint32_t CountPlace; ///< As Place.
  uint32_t CountSize;  ///< Bytes of that argument: 1, 2, 4 or 8.
} MnemeJitField;

enum { MNEME_JIT_KERNEL = 0, MNEME_JIT_FUNCTION = 1 };

struct MnemeJitEntry;

/// Returns code for a call of a function, with the function's own type; null:
/// call the function itself. \p Places has the address of each argument that
/// fields refer to.
typedef void *MnemeJitDispatch(struct MnemeJitEntry *Entry,
                               const void *const *Places);

typedef struct MnemeJitEntry {
  /// Functions: null until a runtime is attached.
  MnemeJitDispatch *Dispatch;
  void *State;      ///< The runtime's, null at first.
  uint64_t Kind;    ///< MNEME_JIT_KERNEL or MNEME_JIT_FUNCTION.
  const char *Name; ///< Symbol.
  uint64_t NumFields;
  const MnemeJitField *Fields;
  /// Kernels: the launch stub (CUDA) or handle (HIP). Functions: the function.
  const void *HostPtr;
  /// Functions: the IR, a payload with Name as its only kernel. The symbols
  /// that the IR leaves undefined, each NUL-terminated, and their addresses.
  const MnemePayloadHeader *Payload;
  uint64_t NumAddresses;
  const char *AddressNames;
  const void *const *Addresses;
  uint64_t Reserved; ///< For the runtime, 0 at first.
} MnemeJitEntry;

/// Each instrumented translation unit with entries calls this weak symbol, if
/// defined, before its other constructors. The bounds are those of the section
/// in the calling object. Calls repeat.
#ifdef __cplusplus
extern "C"
#endif
    void __mneme_jit_attach(MnemeJitEntry *Begin, MnemeJitEntry *End);

#endif // LLVM_MNEME_RUNTIME_JITFORMAT_H
