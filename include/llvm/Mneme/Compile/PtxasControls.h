//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Controls files of ptxas (--apply-controls), which replace heuristics of its
/// optimizations. They are encrypted: ptxas takes a file whole, or refuses it.
///
/// The setting "ptxas_controls" names a file, or is its contents: "hex:" and
/// hexadecimal digits. A name is replaced by the contents before anything
/// depends on them, so keys and requests to other machines have the contents.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PTXASCONTROLS_H
#define LLVM_MNEME_COMPILE_PTXASCONTROLS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace llvm {
namespace mneme {

/// The key in Config.def.
inline constexpr StringLiteral ControlsKey = "ptxas_controls";

/// The first CUDA toolkit whose ptxas has --apply-controls.
inline constexpr unsigned FirstControlsMajor = 13, FirstControlsMinor = 3;

/// Size limit of a controls file in bytes; those that CompileIQ makes have some
/// thousand.
constexpr uint64_t MaxControls = 256 << 10;

/// Returns true if the setting is the contents of a file.
bool hasControlsText(StringRef Setting);

/// Returns the setting with the contents of the file that \p Setting names, or
/// in normal form. An empty setting remains empty. Errors name the file.
Expected<std::string> loadControls(StringRef Setting);

/// Replaces the name of a controls file in \p Config, by \p Known if that has
/// it. Leaves a file that cannot be read to the compilation, which reports it.
/// \param Known  settings that loadControls() returned, by name.
void loadControls(json::Object &Config, const StringMap<std::string> &Known);

/// Returns the contents in a setting that loadControls() returned.
std::string getControlsBytes(StringRef Loaded);

/// Returns size and digest of the contents, for people: {"bytes": 2384,
/// "digest": "..."}; null for an empty setting.
json::Value describeControls(StringRef Loaded);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PTXASCONTROLS_H
