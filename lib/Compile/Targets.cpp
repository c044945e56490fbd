//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Targets.h"

// One MNEME_TARGET per target of the build; CMake writes Targets.def.
#define MNEME_TARGET(NAME)                                                     \
  extern "C" void LLVMInitialize##NAME##TargetInfo();                          \
  extern "C" void LLVMInitialize##NAME##Target();                              \
  extern "C" void LLVMInitialize##NAME##TargetMC();                            \
  extern "C" void LLVMInitialize##NAME##AsmPrinter();
#include "Targets.def"

#define MNEME_ASM_PARSER(NAME)                                                 \
  extern "C" void LLVMInitialize##NAME##AsmParser();
#include "Targets.def"

void llvm::mneme::initializeTargets() {
#define MNEME_TARGET(NAME)                                                     \
  LLVMInitialize##NAME##TargetInfo();                                          \
  LLVMInitialize##NAME##Target();                                              \
  LLVMInitialize##NAME##TargetMC();                                            \
  LLVMInitialize##NAME##AsmPrinter();
#include "Targets.def"
  // Inline assembly of the host and of AMDGPU needs a parser; NVPTX has none.
#define MNEME_ASM_PARSER(NAME) LLVMInitialize##NAME##AsmParser();
#include "Targets.def"
}
