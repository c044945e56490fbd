//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The settings of a side of a bisection.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_SETTINGS_H
#define LLVM_MNEME_BISECT_SETTINGS_H

#include "llvm/Mneme/Config/KernelConfig.h"

namespace llvm {
namespace mneme {

/// Returns true if a key of a side acts on the host device's own compiler only.
bool isOfHostOnly(StringRef Key);

/// Parses one side of a bisection: options ("--passes='default<O1>'
/// --mllvm=-unroll-threshold=50"), a pipeline, a path of a compiler or of a
/// folder with opt and llc (parseTool()), or a file with a configuration
/// ("best.json", "@best"), of which the settings for the launch \p RecordId
/// count. Errors quote the option. Rejects settings in a file that run programs
/// or access files (findSideEffects()) unless \p AllowPrograms.
Expected<json::Object> parseSide(StringRef Text, StringRef RecordId = {},
                                 bool AllowPrograms = false);

/// Returns the setting for another opt (or clang), llc or ptxas, by the name of
/// the program, or for all of these in a folder.
Expected<json::Object> parseTool(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_SETTINGS_H
