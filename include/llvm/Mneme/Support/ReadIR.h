//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading IR that comes from outside: recordings, files of the user, output of
/// other programs. LLVM's readers crash or hang on damaged bitcode, so the IR
/// is parsed and verified in a child process first.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_READIR_H
#define LLVM_MNEME_SUPPORT_READIR_H

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

/// Seconds that reading IR may take where the user sets no limit.
inline constexpr double DefaultIRSeconds = 60;

/// Memory that reading \p Bytes of IR may take: many times what intact modules
/// need.
uint64_t getIRMemoryLimit(uint64_t Bytes);

/// Parses bitcode or textual IR and verifies it in a child process, within
/// \p Seconds (0: no limit), and calls \p Inspect there. A module without a
/// data layout gets its target's. \returns what \p Inspect returns. The Error
/// says what is wrong with the IR, or how the child ended; it does not name the
/// IR.
Expected<std::string>
inspectIR(MemoryBufferRef IR, double Seconds,
          function_ref<Expected<std::string>(const Module &)> Inspect);

/// Reads the module in \p IR for this process, which parses only the bitcode
/// that the child has written of it. \p Bitcode becomes that, for
/// readExactBitcode(). The module is called as \p IR.
Expected<std::unique_ptr<Module>> readIR(MemoryBufferRef IR, double Seconds,
                                         LLVMContext &Context,
                                         SmallVector<char, 0> &Bitcode);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_READIR_H
