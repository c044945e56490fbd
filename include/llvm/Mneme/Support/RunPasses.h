//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs passes that look into a module rather than compile it: for no target,
/// with no plugins. Compile/Pipeline.h compiles.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_RUNPASSES_H
#define LLVM_MNEME_SUPPORT_RUNPASSES_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
namespace mneme {

/// \p Passes: a text for `opt -passes=`, which must be right.
void runPasses(Module &M, StringRef Passes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_RUNPASSES_H
