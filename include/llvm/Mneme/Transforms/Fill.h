//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-fill: what a program has not written gets a value.
///
///   mneme-fill<byte=0x3f;dynamic-shared=4096>
///
/// Local variables, a block's shared memory and undefined constants are made of
/// this byte before anything can read them. Any byte is right: a program that
/// gives two results for two of them reads what it has not written. Both parts
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
  /// Bytes of dynamic shared memory that the launch has.
  uint64_t DynamicShared = 0;
};

/// Parses the text between the angle brackets.
Expected<FillOptions> parseFillOptions(StringRef Text);

/// Memory of `malloc` in a kernel and undefined elements of constants keep what
/// they are. The first thread of a block fills shared memory, at a kernel's
/// entry, and the others wait for it.
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

/// Makes "mneme-fill" known to \p PB.
void registerFillPass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_FILL_H
