//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Removes promises from IR that can make its behaviour undefined.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REDUCE_PROMISES_H
#define LLVM_MNEME_REDUCE_PROMISES_H

namespace llvm {
class Module;
namespace mneme {

/// Kinds of promises in IR. A broken promise makes a result meaningless, and a
/// reduced kernel may break more of them.
enum class Promises {
  Flags,      ///< Flags of values: nsw, inbounds, nnan, ...
  Attributes, ///< On pointers, arguments, functions; alias metadata.
};

/// Drops all promises of a kind. \returns true if there were any.
bool dropPromises(Module &M, Promises Which);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REDUCE_PROMISES_H
