//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-number: replaces the debug information by line tables in
/// which an instruction's line is its number. What a profiler says about a line
/// is then about an instruction of the IR. The machine code stays as it is.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_NUMBER_H
#define LLVM_MNEME_TRANSFORMS_NUMBER_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class Instruction;
class PassBuilder;
namespace mneme {

/// Calls \p Visit with each instruction and its number, from 1 on. Debug
/// information has no influence on the numbers.
void forEachNumbered(Module &M,
                     function_ref<void(Instruction &, unsigned)> Visit);

/// Numbers the instructions of all functions in the module.
class NumberPass : public PassInfoMixin<NumberPass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

/// Registers "mneme-number" in \p PB.
void registerNumberPass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_NUMBER_H
