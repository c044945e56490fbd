//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-fault: plants a fault of a known kind in a kernel, to find out
/// whether a verification notices it (mutation testing).
///
///   mneme-fault<drop-last-write>
///
/// Faults.def has the kinds. Best placed behind a pipeline, where the kernel's
/// memory accesses are those of the machine code; a kernel that has no place for
/// the fault stays as it is.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_FAULT_H
#define LLVM_MNEME_TRANSFORMS_FAULT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
namespace mneme {

struct FaultInfo {
  StringLiteral Name, Description;
};

/// All kinds, in the order of Faults.def.
ArrayRef<FaultInfo> getFaults();

/// Plants the fault in all kernels of a module.
class FaultPass : public PassInfoMixin<FaultPass> {
public:
  /// \p Index: in getFaults().
  explicit FaultPass(size_t Index) : Index(Index) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  size_t Index;
};

/// Makes "mneme-fault" known to \p PB.
void registerFaultPass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_FAULT_H
