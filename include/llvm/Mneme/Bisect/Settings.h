//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Converts settings between options of llvm-mneme-replay and keys of
/// Config.def.
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

/// The first stage that a setting affects.
enum class SettingStage { Pipeline, CodeGen, Assembler, Launch, BackEnd };
/// Returns the stage of a key; Pipeline for "llvm.NAME" and unknown keys.
SettingStage getSettingStage(StringRef Key);

/// Parses one side of a bisection: options ("--passes='default<O1>'
/// --mllvm=-unroll-threshold=50"), a pipeline, or a file with a configuration
/// ("best.json", "@best"). Errors quote the option. Rejects settings in a file
/// that run programs or access files (findSideEffects()) unless
/// \p AllowPrograms.
Expected<json::Object> parseSide(StringRef Text, bool AllowPrograms = false);

/// Returns the setting for another opt (or clang), llc or ptxas, by the name of
/// the program, or for all of these in a folder.
Expected<json::Object> parseTool(StringRef Path);

/// Converts \p Config to options in a fixed order.
std::vector<std::string> makeOptions(const json::Object &Config);

/// Returns the option of a key, without hyphens; empty if there is none.
StringRef getOptionName(StringRef Key);
/// Returns the key of an option without hyphens, "llvm." for "mllvm"; empty if
/// there is none.
StringRef getOptionKey(StringRef Option);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_SETTINGS_H
