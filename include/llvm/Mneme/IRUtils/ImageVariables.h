//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Metadata in the module of an extracted kernel about the other contents of
/// its application's image. ptxas knows the addresses of constant memory and of
/// the table with the addresses of other variables: an array at address zero
/// needs no addition, and two adjacent table entries are loaded at once. Its
/// code thus depends on all variables of the image. The code for function
/// pointers depends on whether the image has other kernels.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_IMAGEVARIABLES_H
#define LLVM_MNEME_IRUTILS_IMAGEVARIABLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

/// A variable in the image of an application.
struct ImageVariable {
  std::string Name;
  uint64_t Size, Alignment; ///< Bytes.
  uint64_t AddressSpace;
  bool IsLocal; ///< Local to its module.
};

/// The named metadata with the list of variables.
inline constexpr StringLiteral ImageVariablesMetadata = "mneme.variables";

/// Stores the list in the order of the image.
void setImageVariables(Module &M, ArrayRef<ImageVariable> Variables);

/// Reads the list; empty if there is none. Skips malformed entries.
std::vector<ImageVariable> getImageVariables(const Module &M);

/// The named metadata of a module whose image has other kernels.
inline constexpr StringLiteral OtherKernelsMetadata = "mneme.other.kernels";

/// Adds OtherKernelsMetadata.
void setHasOtherKernels(Module &M);
bool hasOtherKernels(const Module &M);

/// The named metadata of a module that has only the interface of a kernel,
/// whose code is in an image: the digest of the image.
inline constexpr StringLiteral ImageOnlyMetadata = "mneme.image.only";

/// Adds ImageOnlyMetadata.
void setImageOnly(Module &M, StringRef Digest);
bool isImageOnly(const Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_IMAGEVARIABLES_H
