//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a kernel or function uses of a launch.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_JIT_FACTS_H
#define LLVM_MNEME_LIB_JIT_FACTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/JitExchange.h"

namespace llvm {
class Module;
namespace mneme {

/// Returns which constants of \p Q can make a difference to the code \p Entry
/// of
/// \p M, which is as extracted. May simplify \p M.
::mneme::JitFacts findFacts(Module &M, StringRef Entry,
                            const ::mneme::JitRequest &Q);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_FACTS_H
