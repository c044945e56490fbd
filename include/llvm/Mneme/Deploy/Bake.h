//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles the winners of studies into an application: optimizes its kernels
/// as the studies did, for the application's own compiler to generate code for.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_BAKE_H
#define LLVM_MNEME_DEPLOY_BAKE_H

#include "llvm/Mneme/Config/LLVMOption.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A launch as the study recorded it.
struct TunedLaunch {
  Dim3 Grid, Block;
  uint64_t SharedMem = 0;
};

/// The winner of a study, without its machine code.
struct TunedConfig {
  std::string File; ///< The source file.
  std::string Kernel, StaticHash;
  /// The architecture and -O level of the recorded application, and its
  /// launches; empty if an older version wrote the file.
  std::string Arch, OptLevel;
  std::vector<TunedLaunch> Launches;
  json::Object Config;
  bool IsFromHost = false; ///< Measured on the host device.
  /// The study has winners of single launches, which are not read.
  bool HasOwnWinners = false;
};

/// Reads the winners in a best.json or a package. Calls \p Warn for a study
/// without a winner. Errors name the file.
Expected<std::vector<TunedConfig>>
readTunedConfigs(StringRef Path, function_ref<void(const Twine &)> Warn);

/// The compilation of a device module, as its command line determines it.
struct BakeOptions {
  std::string OptLevel = "2"; ///< "0" to "3", "s", "z".
  bool IsRDC = false;
  std::vector<std::string> PtxasOptions; ///< Those of -Xcuda-ptxas.
  std::vector<LLVMOption> LLVMOptions;   ///< Those of -mllvm.
};

/// A kernel to put into the module in place of its own.
struct BakedKernel {
  std::string Name;
  std::string Bitcode; ///< The optimized kernel alone, with exact use-lists.
  /// Launches with blocks of \c From may have blocks of \c To instead, and as
  /// many as have the same threads along each axis.
  struct BlockRule {
    Dim3 From, To;
  };
  std::optional<BlockRule> Rule;
};

/// Optimizes the kernels of a device module that \p Tuned has. \p IR is
/// the module before all passes. Fails, with one error, if the measured code
/// cannot be made from the module with these options. Calls \p Warn for a
/// kernel that is not replaced: its code was changed since, or it was
/// specialized for one launch.
Expected<std::vector<BakedKernel>>
bakeKernels(MemoryBufferRef IR, ArrayRef<TunedConfig> Tuned,
            const BakeOptions &O, function_ref<void(const Twine &)> Warn);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_BAKE_H
