//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Settings of a compilation that do more than compile: options of LLVM and of
/// ptxas and passes that run programs, load plugins, or read or write files.
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

enum class SideEffect {
  None,
  RunsPrograms,
  LoadsPlugins,
  ReadsFiles,
  WritesFiles,
  Unknown, ///< An option of ptxas that SideEffects.def does not list.
};

/// "runs programs", "may read or write files".
StringRef describe(SideEffect Effect);

/// A pass or an option that has an effect.
struct NamedSideEffect {
  std::string Name; ///< As written; empty: there is none.
  SideEffect Effect = SideEffect::None;

  explicit operator bool() const { return Effect != SideEffect::None; }
};

/// Of LLVM's option -\p Name. Options of plugins are not known.
SideEffect getLLVMOptionEffect(StringRef Name);

/// The first pass of a pipeline that has an effect.
NamedSideEffect findPassEffect(StringRef Pipeline);

/// A pass that has an effect and that a point of \p Space may have.
NamedSideEffect findPassEffect(const PipelineSpace &Space);

/// The first of the options \p Words of ptxas that has an effect.
NamedSideEffect findPtxasEffect(ArrayRef<std::string> Words);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_SIDEEFFECTS_H
