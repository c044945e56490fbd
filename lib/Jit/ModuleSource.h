//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM IR and MLIR as sources of the JIT.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_JIT_MODULESOURCE_H
#define LLVM_MNEME_LIB_JIT_MODULESOURCE_H

#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
namespace mneme {

/// Returns C++ with the kernels of a module for the host: they are launched
/// from there.
std::string describeKernels(const Module &M);

/// Removes the module flags that cannot be linked with other values, those of
/// clang. \returns whether code flushes denormals to zero.
bool takeFlags(Module &M);

/// Returns a copy whose debug info says lines only, as ptxas optimizes no other
/// code.
std::unique_ptr<Module> keepLines(const Module &M);

/// Returns the bytes of a string in MLIR's text, up to its closing quote.
std::string readMLIRString(StringRef Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_MODULESOURCE_H
