//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes section mneme_jit (Runtime/JitFormat.h) into host modules.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITEMBED_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITEMBED_H

#include "JitAnnotations.h"
#include "llvm/Mneme/Transforms/Passes.h"

namespace llvm {
class Constant;
class GlobalVariable;
namespace mneme {

/// Hands the annotations of device module \p M on to its host compilation.
void writeJitAnnotations(Module &M, const CaptureOptions &Options);

/// What the JIT may compile of a host module.
class JitEmbedding {
public:
  /// Reads and removes the annotations. Before mneme-hooks redirects calls.
  JitEmbedding(Module &M, const CaptureOptions &Options);
  /// Writes the section and makes stubs of functions, when all other
  /// instrumentation is done. \returns whether there was anything.
  bool emit();

private:
  struct Kernel {
    Constant *Stub;
    std::string Name;
    JitFields Fields;
  };
  void addKernels(JitAnnotations &Found);
  void addLambdas(const JitAnnotations &Found);
  void emitKernel(const Kernel &K);
  void emitFunction(Function &F, JitFields Fields);
  GlobalVariable *emitEntry(StringRef Name, ArrayRef<Constant *> Members);
  Constant *emitFields(ArrayRef<MnemeJitField> Fields);
  Constant *emitText(StringRef Text);

  Module &M;
  CaptureOptions Options;
  std::vector<Kernel> Kernels;
  MapVector<Function *, JitFields> Functions;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITEMBED_H
