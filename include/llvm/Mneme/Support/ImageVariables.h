//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an extracted kernel's module says about what else its application's
/// image has. ptxas knows the addresses of constant memory and the table that
/// holds those of other variables: an array at address zero needs no addition,
/// two neighbours in the table are loaded at once. So its code depends on all
/// variables, and a kernel's function pointers on whether it is alone.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_IMAGEVARIABLES_H
#define LLVM_MNEME_SUPPORT_IMAGEVARIABLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

struct ImageVariable {
  std::string Name;
  uint64_t Size, Alignment; ///< Bytes.
  uint64_t AddressSpace;
  bool IsLocal; ///< To its module.
};

/// The named metadata that lists them.
inline constexpr StringLiteral ImageVariablesMetadata = "mneme.variables";

/// Writes the list, in the order of the image.
void setImageVariables(Module &M, ArrayRef<ImageVariable> Variables);

/// Reads it; empty when there is none. What is not as written is left out.
std::vector<ImageVariable> getImageVariables(const Module &M);

/// The named metadata that says that the image has other kernels.
inline constexpr StringLiteral OtherKernelsMetadata = "mneme.other.kernels";

void setHasOtherKernels(Module &M);
bool hasOtherKernels(const Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_IMAGEVARIABLES_H
