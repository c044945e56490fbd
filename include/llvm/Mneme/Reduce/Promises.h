//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Taking out of IR what makes its behaviour undefined.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_PROMISES_H
#define LLVM_MNEME_REDUCE_PROMISES_H

namespace llvm {
class Module;
namespace mneme {

/// What IR may promise; a promise that is not kept makes a result that means
/// nothing, and a smaller kernel may keep fewer.
enum class Promises {
  Flags,      ///< nsw, inbounds, nnan, ...: of values.
  Attributes, ///< Of pointers, arguments, functions; metadata about aliases.
};

/// \returns whether there was any.
bool dropPromises(Module &M, Promises Which);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_PROMISES_H
