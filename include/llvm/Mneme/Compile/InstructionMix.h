//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many machine instructions of which kind a kernel has.
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

/// Instructions in the code, not those that run, by opcode without modifiers:
/// "LDG" for LDG.E.64.CONSTANT.
using InstructionMix = std::map<std::string, uint64_t>;

/// Counts the instructions of \p Kernel in what `nvdisasm --print-code` prints.
/// NOPs, which fill the code up, do not count. Empty: there is no such kernel.
InstructionMix parseInstructionMix(StringRef Disassembly, StringRef Kernel);

/// Of \p Kernel in the cubin \p Image. Errors: no disassembler, what it says
/// about a damaged image, no such kernel.
Expected<InstructionMix> readInstructionMix(StringRef Image, StringRef Kernel,
                                            StringRef CudaPath);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_INSTRUCTIONMIX_H
