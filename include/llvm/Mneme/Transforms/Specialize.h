//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-specialize: what is known about one launch becomes IR.
///
///   mneme-specialize<kernel=NAME;arg0=0x2a;block=256x1x1;grid=16x1x1;range;
///                    no-constants;max-threads=256;min-blocks=2>
///
/// argN is the value of argument N as an integer: the bits of an integer, a
/// floating-point number or a pointer. block and grid replace what the code
/// reads of its launch dimensions (unless no-constants); with range, they also
/// say what thread and block indices can be. max-threads and min-blocks set
/// launch bounds. Every part is optional.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_SPECIALIZE_H
#define LLVM_MNEME_TRANSFORMS_SPECIALIZE_H

#include "llvm/IR/PassManager.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>

namespace llvm {
class PassBuilder;
namespace mneme {

struct SpecializeOptions {
  /// Empty: every kernel of the module.
  std::string Kernel;
  /// Values by position, zero-extended bits.
  std::map<unsigned, uint64_t> Args;
  std::optional<Dim3> Block, Grid;
  /// Replace what is read of Block and Grid.
  bool Constants = true;
  /// Give indices the range that Block and Grid imply.
  bool Ranges = false;
  /// Threads of a block that the code must be able to run with; 0 = as it is.
  uint32_t MaxThreads = 0;
  /// Blocks that shall fit on a multiprocessor (CUDA), waves on an execution
  /// unit (AMDGPU); 0 = as it is.
  uint32_t MinBlocks = 0;

  bool empty() const {
    return Args.empty() && !Block && !Grid && !MaxThreads && !MinBlocks;
  }
};

/// Parses the text between the angle brackets.
Expected<SpecializeOptions> parseSpecializeOptions(StringRef Text);

/// Dimensions are replaced in the whole module while it holds one kernel (as
/// extractKernel leaves it), else only in the kernel's own body: a function
/// that several kernels share does not know whose launch it runs in.
class SpecializePass : public PassInfoMixin<SpecializePass> {
public:
  explicit SpecializePass(SpecializeOptions Options)
      : Options(std::move(Options)) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  SpecializeOptions Options;
};

/// Makes "mneme-specialize" known to \p PB.
void registerSpecializePass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_SPECIALIZE_H
