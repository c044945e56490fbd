//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_COMPILE_COMPARECODEOBJECTS_H
#define LLVM_MNEME_LIB_COMPILE_COMPARECODEOBJECTS_H

#include "llvm/Mneme/Compile/CompareCode.h"

namespace llvm {
namespace mneme {

/// compareKernelCode() for AMDGPU: the code of a kernel and of the functions it
/// calls, its descriptor and its metadata. \p Ours is an object or a code
/// object; an object's relocations tell which words are addresses. \p Theirs is
/// a code object.
Expected<CodeComparison> compareCodeObjects(StringRef Ours, StringRef Theirs,
                                            StringRef Kernel);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_COMPILE_COMPARECODEOBJECTS_H
