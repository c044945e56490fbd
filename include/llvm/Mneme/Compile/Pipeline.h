//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a textual pass pipeline on a module as `opt` does.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PIPELINE_H
#define LLVM_MNEME_COMPILE_PIPELINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
class Triple;
namespace mneme {
class PassGate;

/// Returns the pipeline that clang runs at -O\p Level ("0" to "3", "s", "z"),
/// in textual form: "clang<O2>". It differs from opt's default<O2> in settings
/// of clang's driver: the SLP vectorizer, and getClangDriverOption(). It can be
/// combined with other passes at the outermost level.
std::string getClangPipeline(StringRef Level);

/// Returns the LLVM option that clang's driver sets for device code:
/// "enable-memcpyopt-without-libcalls", or "amdgpu-internalize-symbols", which
/// deletes functions without callers before the passes.
StringRef getClangDriverOption(const Triple &TT);

/// Returns "default<O3>" for the shorthand "O3", an empty string for any other
/// text.
std::string expandLevel(StringRef Passes);

/// Loads pass plugins for the rest of the process, so that their options
/// (cl::opt) exist. Errors are LLVM's messages.
Error loadPlugins(ArrayRef<std::string> Plugins);

/// Fails for a plugin whose loading would block, such as a FIFO.
Error checkPluginFiles(ArrayRef<std::string> Plugins);

/// Runs \p Passes, a text for `opt -passes=` that may contain "clang<O...>".
/// \p Plugins are pass plugins (shared libraries) whose passes the text may
/// use; Mneme's kernel passes (Transforms/) are always available. \p Gate, if
/// not null, selects the executions. Verifies the result and, with
/// \p VerifyEach, the IR after each pass: LLVM ends the process at the first
/// invalid IR. \p Known has the memory whose loads are replaced once their
/// addresses are constant. Errors are LLVM's messages.
Error runPipeline(Module &M, TargetMachine &TM, StringRef Passes,
                  ArrayRef<std::string> Plugins = {}, PassGate *Gate = nullptr,
                  bool VerifyEach = false, const SpecializeOptions &Known = {});

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PIPELINE_H
