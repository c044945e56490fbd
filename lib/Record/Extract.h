//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The steps of cutting a kernel out of its module.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_RECORD_EXTRACT_H
#define LLVM_MNEME_LIB_RECORD_EXTRACT_H

#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/Record/Payload.h"

namespace llvm {
class GlobalValue;
namespace mneme {

/// What is noted of a module that a kernel is cut out of.
struct ImageNotes {
  std::vector<ImageVariable> Variables;
  bool HasOtherKernels = false;
};
ImageNotes describeImage(const Module &M, StringRef Kernel);
void writeNotes(Module &M, const ImageNotes &Notes);

/// Error when \p M has no kernel of this name.
Expected<const Function *> findKernel(const Module &M, StringRef Kernel);

/// Removes all that \p Root does not need.
void pruneTo(Module &M, const Function &Root);

/// Makes a definition a declaration. Aliases stay.
void dropDefinition(GlobalValue &G);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_RECORD_EXTRACT_H
