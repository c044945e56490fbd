//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Passes that compile tuned kernels into an application, run by the plugin
/// with -mllvm -mneme-apply=FILE:
///
/// - ApplyPass, at the start of the device pipeline: llvm-mneme-deploy
///   optimizes the tuned kernels separately, in another process
/// - ReplacePass, at its end: they replace the module's own
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_APPLY_H
#define LLVM_MNEME_TRANSFORMS_APPLY_H

#include "llvm/Mneme/Transforms/Passes.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct ApplyOptions {
  std::vector<std::string> Files; ///< best.json files and packages.
  std::string Tool;               ///< Path of llvm-mneme-deploy.
  /// Options of the compilation, for its code generator and for ptxas.
  std::vector<std::string> LLVMOptions, PtxasOptions;
  bool IsDeviceOnly = false; ///< No host compilation follows.
};

/// Returns the name of the copy of \p Function that belongs to the tuned kernel
/// \p Kernel: other kernels call the original, which was optimized otherwise.
inline std::string getTunedCopyName(StringRef Function, StringRef Kernel) {
  return Function.str() + "__tuned__" + Kernel.str();
}

/// The tuned kernels of one module.
struct AppliedKernels {
  struct Kernel {
    std::string Name;
    std::string Bitcode; ///< Optimized.
  };
  std::vector<Kernel> Kernels;
};

/// Fills an AppliedKernels. Does not change the module. Writes the rules for
/// launches to a side file of the host compilation.
class ApplyPass : public PassInfoMixin<ApplyPass> {
public:
  ApplyPass(ApplyOptions Options, CaptureOptions Unit,
            std::shared_ptr<AppliedKernels> Applied)
      : Options(std::move(Options)), Unit(Unit), Applied(std::move(Applied)) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }

private:
  ApplyOptions Options;
  CaptureOptions Unit;
  std::shared_ptr<AppliedKernels> Applied;
};

/// Replaces kernels by those of an AppliedKernels, and removes what only the
/// replaced kernels used.
class ReplacePass : public PassInfoMixin<ReplacePass> {
public:
  /// \param LaterOptimizer  the option that makes the linker optimize the
  /// module again, which is an error; empty if there is none.
  ReplacePass(std::shared_ptr<AppliedKernels> Applied, StringRef LaterOptimizer)
      : Applied(std::move(Applied)), LaterOptimizer(LaterOptimizer) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }

private:
  std::shared_ptr<AppliedKernels> Applied;
  StringRef LaterOptimizer;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_APPLY_H
