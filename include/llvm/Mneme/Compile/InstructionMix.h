//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts the machine instructions of a kernel by kind.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_INSTRUCTIONMIX_H
#define LLVM_MNEME_COMPILE_INSTRUCTIONMIX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>

namespace llvm {
namespace mneme {

/// Static instruction counts by opcode without modifiers: "LDG" for
/// LDG.E.64.CONSTANT.
using InstructionMix = std::map<std::string, uint64_t>;

/// Counts the instructions of \p Kernel in the output of `nvdisasm
/// --print-code`. Excludes NOPs, which are padding. Returns an empty map if
/// there is no such kernel.
InstructionMix parseInstructionMix(StringRef Disassembly, StringRef Kernel);

/// Counts the instructions of \p Kernel in the cubin \p Image. Fails without
/// disassembler, on errors it reports for a damaged image, and if there is no
/// such kernel.
Expected<InstructionMix> readInstructionMix(StringRef Image, StringRef Kernel,
                                            StringRef CudaPath);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_INSTRUCTIONMIX_H
