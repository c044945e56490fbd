//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bitcode library of GPU instructions (Intrinsics/*.c), which is embedded
/// in this program and linked into modules as far as they need it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_INTRINSICLIBRARY_H
#define LLVM_MNEME_LIB_DEVICE_HOST_INTRINSICLIBRARY_H

#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace llvm {
namespace mneme {
namespace host {

class IntrinsicLibrary {
  Module &M;
  std::unique_ptr<Module> Lib;

public:
  /// Opens the library for use in \p M. No function body is read before link().
  explicit IntrinsicLibrary(Module &M);
  ~IntrinsicLibrary();

  /// The library's function \p Name as a declaration in the module, or null if
  /// the library has none.
  Function *declare(StringRef Name);

  /// Calls \p Callee with \p Args converted to its parameter types, and
  /// converts the result to \p ResultTy. \returns null, and emits nothing, when
  /// the number of arguments or the size of one does not fit.
  Value *call(IRBuilderBase &B, Function *Callee, ArrayRef<Value *> Args,
              Type *ResultTy);

  /// Brings in the bodies of all library functions that the module declares, as
  /// internal functions. Those that hold sync points are inlined at once: each
  /// of their uses is a point of its own. The library cannot be used any more.
  Error link();
};

/// Whether a value of type \p From can stand for one of type \p To: same bits,
/// or integers and what is bit-cast to them, widened with zeros or cut.
bool canConvertBits(const DataLayout &DL, Type *From, Type *To);
Value *convertBits(IRBuilderBase &B, Value *V, Type *To);

/// Emits what an instruction without a meaning becomes: an error that names \p
/// What (program text) if it is ever executed.
void createUnsupported(IRBuilderBase &B, StringRef What);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_INTRINSICLIBRARY_H
