//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs passes that analyze a module rather than compile it, without target and
/// plugins. Use Compile/Pipeline.h for compilation.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_RUNPASSES_H
#define LLVM_MNEME_IRUTILS_RUNPASSES_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
namespace mneme {

/// Runs \p Passes, a valid text for `opt -passes=`.
void runPasses(Module &M, StringRef Passes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_RUNPASSES_H
