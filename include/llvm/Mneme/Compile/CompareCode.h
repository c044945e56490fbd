//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Is one kernel's machine code that of another cubin?
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_COMPARECODE_H
#define LLVM_MNEME_COMPILE_COMPARECODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// The kernel's code in two cubins, "ours" and "theirs".
struct CodeComparison {
  /// The GPU does the same: instructions are equal, byte for byte, but for
  /// where the image keeps the same variables.
  bool Identical = false;
  /// Some instructions differ in where the image keeps a variable (its place in
  /// constant bank 3, the slot of its address in bank 4): that depends on what
  /// else is in the module. All of them mean the same.
  bool Relocated = false;
  /// What differs, if something does: "instruction", "size", "constants", ...
  std::string Difference;
  /// Byte offset into the kernel's code of the first instruction that differs.
  std::optional<uint64_t> FirstDifference;
};

/// Compares \p Kernel's code, the functions that it calls through tables or
/// relocations and its constants in two cubins. Errors: a damaged image, no
/// such kernel.
Expected<CodeComparison> compareKernelCode(StringRef Ours, StringRef Theirs,
                                           StringRef Kernel);

/// The options that ptxas notes in a cubin: "-O 3 -arch sm_90 -m 64"; empty
/// when there is no note.
std::string readPtxasOptions(StringRef Cubin);
/// Which ptxas made a cubin: "cuda_13.0.r13.0/compiler.36424714_0"; empty when
/// there is no note.
std::string readPtxasBuild(StringRef Cubin);

/// A replay's code beside the application's.
struct AppComparison {
  std::string App;     ///< The file.
  unsigned Copies = 1; ///< Kernels of that name in it.
  std::string Options; ///< Of ptxas, for the application.
  CodeComparison Code;
  KernelResources Resources; ///< Of the application's kernel.
};

json::Value toJSON(const AppComparison &C);
bool fromJSON(const json::Value &V, AppComparison &C, json::Path P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_COMPARECODE_H
