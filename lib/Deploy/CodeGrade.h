//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is known about a kernel that was not made from the recorded IR by
/// passes: another version of its source, or other IR.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEPLOY_CODEGRADE_H
#define LLVM_MNEME_LIB_DEPLOY_CODEGRADE_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
namespace mneme {

/// Returns true if two modules differ in nothing but hints to the optimizer:
/// unrolling, widths of vectors, inlining, launch bounds. Drops the hints of
/// both.
bool differInHintsOnly(Module &A, Module &B);

/// Returns true if a kernel loads pointers from memory: to which buffers they
/// point cannot be told from its arguments. Transforms the module.
bool loadsPointers(Module &M, StringRef Kernel);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_CODEGRADE_H
