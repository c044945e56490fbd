//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads untrusted IR: recordings, user files, output of other programs. LLVM's
/// readers crash or hang on damaged bitcode, so a child process parses and
/// verifies the IR first.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_IRUTILS_READIR_H
#define LLVM_MNEME_IRUTILS_READIR_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
namespace mneme {

/// Default time limit for reading IR, in seconds.
inline constexpr double DefaultIRSeconds = 60;

/// Returns the memory limit for reading \p Bytes of IR, in bytes: a multiple of
/// what intact modules need.
uint64_t getIRMemoryLimit(uint64_t Bytes);

/// Parses bitcode or textual IR and verifies it in a child process within
/// \p Seconds (0: no limit), and calls \p Inspect there. A module without data
/// layout gets its target's. \returns the result of \p Inspect. Errors describe
/// the problem in the IR or how the child ended; they do not name the IR.
Expected<std::string>
inspectIR(MemoryBufferRef IR, double Seconds,
          function_ref<Expected<std::string>(const Module &)> Inspect);

/// Reads the module in \p IR into this process, which parses only the bitcode
/// that a child process has written. Stores that bitcode in \p Bitcode, for
/// readExactBitcode(). The module has the identifier of \p IR.
Expected<std::unique_ptr<Module>> readIR(MemoryBufferRef IR, double Seconds,
                                         LLVMContext &Context,
                                         SmallVector<char, 0> &Bitcode);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_IRUTILS_READIR_H
