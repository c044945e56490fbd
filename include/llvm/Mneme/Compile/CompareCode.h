//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares the machine code of a kernel in two cubins, or two code objects.
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

/// The comparison of a kernel's code in two images, "ours" and "theirs".
struct CodeComparison {
  /// The code is equivalent: the instructions are identical except for the
  /// locations of the same variables in the image.
  bool Identical = false;
  /// Some instructions differ only in the location of a variable (its offset in
  /// constant bank 3, the slot of its address in bank 4; AMDGPU: its distance),
  /// which depends on the rest of the module.
  bool Relocated = false;
  /// The kind of difference, if any: "instruction", "size", "constants", ...
  std::string Difference;
  /// Byte offset of the first differing instruction in the kernel's code.
  std::optional<uint64_t> FirstDifference;
};

/// Compares the code of \p Kernel, the functions it calls through tables or
/// relocations, and its constants in two cubins; or its code, descriptor and
/// metadata in two code objects, of which \p Ours may be unlinked. Fails if an
/// image is damaged or lacks the kernel.
Expected<CodeComparison> compareKernelCode(StringRef Ours, StringRef Theirs,
                                           StringRef Kernel);

/// Returns the ptxas options noted in a cubin: "-O 3 -arch sm_90 -m 64"; empty
/// if the cubin has no such note.
std::string readPtxasOptions(StringRef Cubin);
/// Returns the ptxas build that generated a cubin:
/// "cuda_13.0.r13.0/compiler.36424714_0"; empty if the cubin has no such note.
std::string readPtxasBuild(StringRef Cubin);

/// A comparison of a replay's code with the application's.
struct AppComparison {
  std::string App;     ///< The file.
  unsigned Copies = 1; ///< Number of kernels of that name in it.
  std::string Options; ///< The application's ptxas options.
  CodeComparison Code;
  KernelResources Resources; ///< The application's kernel's.
};

json::Value toJSON(const AppComparison &C);
bool fromJSON(const json::Value &V, AppComparison &C, json::Path P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_COMPARECODE_H
