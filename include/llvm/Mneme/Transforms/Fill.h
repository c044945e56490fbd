//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-fill: initializes memory that a program has not written.
///
///   mneme-fill<byte=0x3f;dynamic-shared=4096>
///
/// Fills local variables, a block's shared memory and undefined constants with
/// this byte before they can be read. Any byte is correct: a program with
/// different results for two bytes reads uninitialized memory. Both parameters
/// are optional: byte 0, no dynamic shared memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_FILL_H
#define LLVM_MNEME_TRANSFORMS_FILL_H

#include "llvm/IR/PassManager.h"
#include "llvm/Support/Error.h"

namespace llvm {
class PassBuilder;
namespace mneme {

struct FillOptions {
  uint8_t Byte = 0;
  /// Bytes of dynamic shared memory in the launch.
  uint64_t DynamicShared = 0;
};

/// Parses the text between the angle brackets.
Expected<FillOptions> parseFillOptions(StringRef Text);

/// Does not fill memory that a kernel gets from `malloc`, nor undefined
/// elements of constants. The first thread of a block fills shared memory at a
/// kernel's entry, and the other threads wait for it.
class FillPass : public PassInfoMixin<FillPass> {
public:
  explicit FillPass(FillOptions Options = {}) : Options(Options) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  FillOptions Options;
};

/// Registers "mneme-fill" in \p PB.
void registerFillPass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_FILL_H
