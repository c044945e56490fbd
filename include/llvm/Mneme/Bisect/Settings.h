//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Settings as people type them, and back: options of llvm-mneme-replay and
/// keys of Config.def.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_SETTINGS_H
#define LLVM_MNEME_BISECT_SETTINGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// What a setting changes first.
enum class SettingStage { Pipeline, CodeGen, Assembler, Launch, BackEnd };
/// Of "llvm.NAME", and of a key that nobody knows: Pipeline.
SettingStage getSettingStage(StringRef Key);

/// One side of a bisection: options ("--passes='default<O1>'
/// --mllvm=-unroll-threshold=50"), a pipeline, or a file with a configuration
/// ("best.json", "@best"). Errors quote the option. A file's settings must not
/// run programs or touch files (findSideEffects()) unless \p AllowPrograms.
Expected<json::Object> parseSide(StringRef Text, bool AllowPrograms = false);

/// The setting for another opt (or clang), llc or ptxas by the program's name,
/// or for all of these that a folder has.
Expected<json::Object> parseTool(StringRef Path);

/// \p Config as options, in an order that is always the same.
std::vector<std::string> makeOptions(const json::Object &Config);

/// The option of a key, without hyphens; empty if there is none.
StringRef getOptionName(StringRef Key);
/// The key of an option without hyphens, "llvm." for "mllvm"; empty if there is
/// none.
StringRef getOptionKey(StringRef Option);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_SETTINGS_H
