//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-fault: plants a fault of a known kind in a kernel to test
/// whether a verification detects it (mutation testing).
///
///   mneme-fault<drop-last-write>
///
/// Faults.def lists the kinds. Best run after a pipeline, where the kernel's
/// memory accesses are those of the machine code. Kernels to which the fault
/// does not apply stay unchanged.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_FAULT_H
#define LLVM_MNEME_TRANSFORMS_FAULT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
namespace mneme {

/// A kind of fault.
struct FaultInfo {
  StringLiteral Name, Description;
};

/// Returns all kinds, in the order of Faults.def.
ArrayRef<FaultInfo> getFaults();

/// Plants the fault in all kernels of a module.
class FaultPass : public PassInfoMixin<FaultPass> {
public:
  /// \p Index is the index in getFaults().
  explicit FaultPass(size_t Index) : Index(Index) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  size_t Index;
};

/// Registers "mneme-fault" in \p PB.
void registerFaultPass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_FAULT_H
