//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compilation settings with side effects: options of LLVM and ptxas and passes
/// that run programs, load plugins, or read or write files.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_SIDEEFFECTS_H
#define LLVM_MNEME_COMPILE_SIDEEFFECTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
namespace mneme {
class PipelineSpace;

/// The kinds of side effects.
enum class SideEffect {
  None,
  RunsPrograms,
  LoadsPlugins,
  ReadsFiles,
  WritesFiles,
  Unknown, ///< A ptxas option that SideEffects.def does not list.
};

/// Returns text like "runs programs" or "may read or write files".
StringRef describe(SideEffect Effect);

/// A pass or an option with a side effect.
struct NamedSideEffect {
  std::string Name; ///< As written; empty: none.
  SideEffect Effect = SideEffect::None;

  explicit operator bool() const { return Effect != SideEffect::None; }
};

/// Returns the effect of the LLVM option -\p Name. Does not know options of
/// plugins.
SideEffect getLLVMOptionEffect(StringRef Name);

/// Returns the first pass of a pipeline that has an effect.
NamedSideEffect findPassEffect(StringRef Pipeline);

/// Returns a pass with an effect that occurs in some point of \p Space.
NamedSideEffect findPassEffect(const PipelineSpace &Space);

/// Returns the first of the ptxas options \p Words that has an effect.
NamedSideEffect findPtxasEffect(ArrayRef<std::string> Words);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_SIDEEFFECTS_H
