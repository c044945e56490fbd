//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Section mneme_jit of the loaded objects: the host functions that the JIT
/// compiles, and the annotations of kernels.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JITENTRIES_H
#define MNEME_LIB_RUNTIME_JIT_JITENTRIES_H

#include "llvm/Mneme/Runtime/JitFormat.h"

#include <cstddef>
#include <cstdint>

namespace mneme {

/// Registers the entries of a loaded object. Repeated calls are cheap. Throws
/// nothing.
void attachJitEntries(MnemeJitEntry *Begin, MnemeJitEntry *End);

/// Attaches to all loaded objects. Needed because an executable does not call
/// __mneme_jit_attach if the linker resolved its weak reference to null.
void attachLoadedJitEntries();

/// Returns the entry of a kernel by its launch stub or handle; null if it is
/// not annotated. Throws nothing.
const MnemeJitEntry *findJitKernel(const void *HostPtr);

/// Has functions run as compiled, or not.
void switchJitFunctions(bool On);

/// What __mneme_jit_describe() calls (mneme/jit.h).
using KernelCallback = void(void *Data, const char *Name, const uint8_t *Hash,
                            const void *Bitcode, size_t Size);
using VariableCallback = void(void *Data, const char *Name, const void *Host,
                              const void *Device, size_t Size);

/// Calls \p OnVariable for the variables of a kernel's module. Defined by each
/// runtime. May throw.
void visitVariables(const void *HostPtr, VariableCallback *OnVariable,
                    void *Data);

/// Returns a function of mneme/jit.h by name; null for others.
void *findJitFunction(const char *Name);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_JITENTRIES_H
