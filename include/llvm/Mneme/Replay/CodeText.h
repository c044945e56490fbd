//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The code of a replay as text, from the optimized IR to machine code.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_CODETEXT_H
#define LLVM_MNEME_REPLAY_CODETEXT_H

#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// A form of a kernel's code.
enum class CodeForm {
  IR,       ///< After the pass pipeline.
  Assembly, ///< PTX or AMDGPU assembly.
  Machine,  ///< The GPU's machine code, disassembled.
  Host,     ///< Assembly of the CPU, for the host device.
};

/// One form of a kernel's code.
struct CodeText {
  CodeForm Form = CodeForm::IR;
  StringRef Title; ///< "optimized IR", "PTX", "SASS", ...
  std::string Text;
  std::string Missing; ///< Why there is no text.
  /// Number of instructions in Text.
  uint64_t Instructions = 0;
  /// Regular expression for names whose numbers depend on the code before them:
  /// unnamed values, registers, labels.
  StringRef NumberedNames;
};

/// The code of a replay, and what its compilation reports: verdict, error,
/// hashes, resources, compile times.
struct ReplayCode {
  std::vector<CodeText> Forms; ///< In the order of CodeForm.
  ReplayResult Compiled;
};

/// Returns true if a GPU image can be built: AMDGPU, or ptxas is found.
bool canBuildImage(const ReplayPlan &Plan);

/// Compiles a plan as a replay on \p Device ("host", "cuda:0") does, in a child
/// process, and returns the code of the kernel. A form has no text if the
/// program it needs is missing. Values that are unnamed in the recording are
/// named before the pipeline, which does not change the code: if
/// canBuildImage(), ReplayResult::CodeHash is that of a replay with
/// ReplayOptions::Resources.
Expected<ReplayCode> readReplayCode(const ReplayPlan &Plan, StringRef Device);

/// Writes the plan's IR as bitcode, with a name for each value: in a comparison
/// of numbered values, all values after the first change would differ.
Error writeNamedIR(const ReplayPlan &Plan, StringRef Path);

/// Returns the definition of \p Function in a module's text; empty if absent.
StringRef findFunction(StringRef IR, StringRef Function);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_CODETEXT_H
