//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Steps of extracting a kernel from its module.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_RECORD_EXTRACT_H
#define LLVM_MNEME_LIB_RECORD_EXTRACT_H

#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/Record/Payload.h"

namespace llvm {
class Constant;
class GlobalValue;
class GlobalVariable;
namespace mneme {

/// Properties of the original module that are stored with an extracted kernel.
struct ImageNotes {
  std::vector<ImageVariable> Variables;
  bool HasOtherKernels = false;
};
ImageNotes describeImage(const Module &M, StringRef Kernel);
void writeNotes(Module &M, const ImageNotes &Notes);

/// Names globals that have no name, as a few of AMD's device libraries have
/// none. A recording refers to variables by name.
void nameGlobals(Module &M);

/// Fails if \p M has no kernel of this name.
Expected<const Function *> findKernel(const Module &M, StringRef Kernel);

/// Removes all globals that \p Roots do not need.
void pruneTo(Module &M, ArrayRef<const Constant *> Roots);

/// Adds a table of all functions whose addresses \p M uses.
const GlobalVariable &addTargetTable(Module &M);

/// Turns a definition into a declaration. Aliases are kept.
void dropDefinition(GlobalValue &G);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_RECORD_EXTRACT_H
