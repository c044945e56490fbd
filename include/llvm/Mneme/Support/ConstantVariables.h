//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an extracted kernel's module says about the constant variables that its
/// application's image has, the kernel's own and others. Where a variable lies
/// in constant memory changes the code that ptxas makes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_CONSTANTVARIABLES_H
#define LLVM_MNEME_SUPPORT_CONSTANTVARIABLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

struct ConstantVariable {
  std::string Name;
  uint64_t Size, Alignment; ///< Bytes.
};

/// The named metadata that lists them.
inline constexpr StringLiteral ConstantVariablesMetadata = "mneme.constants";

/// Writes the list, in the order of the image.
void setConstantVariables(Module &M, ArrayRef<ConstantVariable> Variables);

/// Reads it; empty when there is none. What is not as written is left out.
std::vector<ConstantVariable> getConstantVariables(const Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_CONSTANTVARIABLES_H
