//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// nvPTXCompiler, NVIDIA's ptxas as a library, if available at build time.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_COMPILE_PTXCOMPILERLIBRARY_H
#define LLVM_MNEME_LIB_COMPILE_PTXCOMPILERLIBRARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// Assembles \p PTX in this process with ptxas options \p Args. Requires
/// hasPTXCompilerLibrary().
Expected<SmallVector<char, 0>>
runPTXCompilerLibrary(StringRef PTX, ArrayRef<std::string> Args,
                      std::string &Log);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_COMPILE_PTXCOMPILERLIBRARY_H
