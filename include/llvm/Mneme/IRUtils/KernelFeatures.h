//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Static properties of a kernel, for data sets and to find similar kernels.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_KERNELFEATURES_H
#define LLVM_MNEME_IRUTILS_KERNELFEATURES_H

#include "llvm/Support/JSON.h"

namespace llvm {
class Function;
class Module;

namespace mneme {

/// Returns {"function": LLVM's FunctionPropertiesAnalysis of \p Kernel,
/// "opcodes": the number of instructions in \p M by opcode}; called functions
/// belong to the kernel. Some of LLVM's options control the first.
json::Object getKernelFeatures(const Module &M, const Function &Kernel);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_KERNELFEATURES_H
