//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The annotations of a module for the JIT: the attribute annotate("jit", ...)
/// and the markers of mneme/jit.h. Also the attributes of kernels that
/// mneme/nvcc.h passes as annotations, as clang ignores them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITANNOTATIONS_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITANNOTATIONS_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/JitFormat.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class Function;
class Module;
class StructType;
namespace mneme {

using JitFields = std::vector<MnemeJitField>;

/// A type of closures.
struct JitClosure {
  bool IsRegistered = false;
  /// Offset and size of each part that jit_variable() initializes.
  std::vector<std::pair<uint64_t, uint64_t>> Variables;
  Function *Operator = nullptr; ///< Host code of the lambda, if known.
};

struct JitAnnotations {
  /// Kernels, launch stubs and functions. Places are numbers of arguments.
  MapVector<Function *, JitFields> Functions;
  MapVector<StructType *, JitClosure> Closures;
};

/// Function attribute of functions that the marker shared_array() instantiates.
inline constexpr StringLiteral SharedArrayAttr = "mneme-shared-array";

/// Reads and removes the annotations and markers of \p M, and gives kernels the
/// attributes of mneme/nvcc.h. Invalid annotations are errors of the
/// compilation.
JitAnnotations takeJitAnnotations(Module &M);

/// Adds \p New to \p Fields unless the same bytes are there.
void addJitField(JitFields &Fields, const MnemeJitField &New);

/// Annotations of a device module for its host compilation: fields of kernels,
/// by symbol.
using KernelFields = std::map<std::string, JitFields>;
std::string writeKernelFields(const KernelFields &Kernels);
/// Adds those in \p Text. Lines that another version wrote are ignored.
void readKernelFields(StringRef Text, KernelFields &Kernels);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITANNOTATIONS_H
