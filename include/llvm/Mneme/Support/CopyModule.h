//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A copy of a module that compiles to the very same code.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_COPYMODULE_H
#define LLVM_MNEME_SUPPORT_COPYMODULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
namespace mneme {

/// The module as bitcode, with the order of all use-lists: passes and code
/// generators walk them, and what they make depends on it.
SmallVector<char, 0> writeExactBitcode(const Module &M);
/// The module in what that wrote.
std::unique_ptr<Module> readExactBitcode(ArrayRef<char> Bitcode,
                                         StringRef Identifier,
                                         LLVMContext &Context);

/// A copy with the same order of use-lists, which CloneModule does not keep.
/// \param Context  best one of its own: types and debug info remain in a context
/// when their module is gone.
std::unique_ptr<Module> copyModule(const Module &M, LLVMContext &Context);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_COPYMODULE_H
