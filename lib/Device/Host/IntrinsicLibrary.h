//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bitcode library of GPU instructions (Intrinsics/*.c). It is embedded in
/// this program; modules are linked with the functions that they need.
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

  /// \returns a declaration of the library's function \p Name in the module, or
  /// null if the library does not have it.
  Function *declare(StringRef Name);

  /// Calls \p Callee with \p Args converted to its parameter types, and
  /// converts the result to \p ResultTy. If the number of arguments or the size
  /// of one does not match, emits nothing and \returns null.
  Value *call(IRBuilderBase &B, Function *Callee, ArrayRef<Value *> Args,
              Type *ResultTy);

  /// Links the bodies of all library functions that the module declares, as
  /// internal functions. Functions with sync points are inlined at once,
  /// because each use is a sync point of its own. The library cannot be used
  /// afterwards.
  Error link();
};

/// \returns whether a value of type \p From can replace one of type \p To: both
/// have the same bits, or are integers or bit-cast to integers, which are
/// zero-extended or truncated.
bool canConvertBits(const DataLayout &DL, Type *From, Type *To);
Value *convertBits(IRBuilderBase &B, Value *V, Type *To);

/// Emits the replacement of an instruction without a lowering: an error that
/// names \p What (program text) if it is executed.
void createUnsupported(IRBuilderBase &B, StringRef What);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_INTRINSICLIBRARY_H
