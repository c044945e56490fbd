//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Running a textual pass pipeline on a module the way `opt` does.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PIPELINE_H
#define LLVM_MNEME_COMPILE_PIPELINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
class Module;
class TargetMachine;
namespace mneme {
class PassGate;

/// The pipeline that clang itself runs at -O\p Level ("0" to "3", "s", "z"),
/// spelled as a pipeline text: "clang<O2>". It differs from opt's default<O2>
/// in what clang's driver asks for: the SLP vectorizer, memcpyopt without
/// libcalls. Other passes may stand beside it, at the outermost level.
std::string getClangPipeline(StringRef Level);

/// Runs \p Passes: a text for `opt -passes=`, also with "clang<O...>". \p
/// Plugins are pass plugins (shared libraries) whose passes the text may name;
/// Mneme's own passes for kernels (Transforms/) are always known. \p Gate, if
/// any, decides what runs. The result is verified, and with \p VerifyEach what
/// each pass leaves: LLVM ends the process at the first that leaves invalid IR.
/// Errors are LLVM's own messages.
Error runPipeline(Module &M, TargetMachine &TM, StringRef Passes,
                  ArrayRef<std::string> Plugins = {}, PassGate *Gate = nullptr,
                  bool VerifyEach = false);

/// Only parses \p Passes.
Error checkPipeline(TargetMachine &TM, StringRef Passes,
                    ArrayRef<std::string> Plugins = {});

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PIPELINE_H
