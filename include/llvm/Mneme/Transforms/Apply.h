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
  /// \param IsOptimizedLater  the linker will optimize the module again, which
  /// is an error.
  ReplacePass(std::shared_ptr<AppliedKernels> Applied, bool IsOptimizedLater)
      : Applied(std::move(Applied)), IsOptimizedLater(IsOptimizedLater) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }

private:
  std::shared_ptr<AppliedKernels> Applied;
  bool IsOptimizedLater;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_APPLY_H
