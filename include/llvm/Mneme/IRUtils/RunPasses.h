//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs passes that analyze a module rather than compile it, without plugins.
/// Use Compile/Pipeline.h for compilation.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_RUNPASSES_H
#define LLVM_MNEME_IRUTILS_RUNPASSES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
class TargetMachine;
namespace mneme {

/// Runs \p Passes, a valid text for `opt -passes=`.
void runPasses(Module &M, StringRef Passes);
/// Runs the passes that \p Add adds, with the analyses and callbacks of \p TM,
/// which may be null.
void runPasses(Module &M, TargetMachine *TM,
               function_ref<void(PassBuilder &, ModulePassManager &)> Add);

/// Replaces conversions of pointers to numbers of the same size and back by
/// casts, through which analyses find the object. Parameters of clang's HIP
/// kernels point to global memory but are used as generic pointers; promoting
/// them to registers creates such pairs.
void castPointersDirectly(Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_RUNPASSES_H
