//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Copies modules exactly: the copy compiles to identical code.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_COPYMODULE_H
#define LLVM_MNEME_IRUTILS_COPYMODULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
namespace mneme {

/// Returns the module as bitcode including the order of all use-lists: passes
/// and code generators traverse them, so the order affects the code.
SmallVector<char, 0> writeExactBitcode(const Module &M);
/// Reads a module that writeExactBitcode() wrote.
std::unique_ptr<Module> readExactBitcode(ArrayRef<char> Bitcode,
                                         StringRef Identifier,
                                         LLVMContext &Context);

/// Copies a module including the order of use-lists, which CloneModule does not
/// preserve.
/// \param Context  preferably a separate one: types and debug info remain in a
/// context after their module is deleted.
std::unique_ptr<Module> copyModule(const Module &M, LLVMContext &Context);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_COPYMODULE_H
