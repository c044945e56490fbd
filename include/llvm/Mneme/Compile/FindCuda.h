//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the CUDA toolkit that pip installed together with this tool.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_FINDCUDA_H
#define LLVM_MNEME_COMPILE_FINDCUDA_H

#include <string>

namespace llvm {
namespace mneme {

/// Returns the newest CUDA toolkit (PyPI's cuda-toolkit, with headers and
/// ptxas) in the Python environment whose bin folder has this tool; empty if
/// there is none.
std::string findCudaOfPip();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_FINDCUDA_H
