//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A variant's machine code: made without a device, sent from process to
/// process, found equal to another's before all of it is made.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_COMPILEDKERNEL_H
#define LLVM_MNEME_REPLAY_COMPILEDKERNEL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// How far a compilation has come when it asks whether the rest is known.
enum class CodeStage {
  IR,       ///< After the pipeline.
  Assembly, ///< PTX, before ptxas; other targets have no such stage.
};
/// "ir", "assembly".
StringRef getCodeStageName(CodeStage S);

/// Says whether what follows from a hash is known, so that the compilation can
/// stop.
using KnownCodeFn = function_ref<bool(CodeStage, StringRef Hash)>;

/// A kernel in machine code, with what its making took and what the compiler
/// said about it. One that could not be made has a verdict.
struct CompiledKernel {
  DeviceImage Image;
  ReplayTimes Times; ///< Specialize to GPUCodegen.
  uint64_t ObjectSize = 0;
  /// Of the optimized IR and of the PTX, with all that what is made of them
  /// depends on: where one is equal, the code is, for one version of LLVM and
  /// ptxas. Equal IR is not found where use-lists have another order: code
  /// generators walk them.
  std::string IRHash, AssemblyHash;
  /// Of the images that were made.
  std::string CodeHash;
  std::string Assembler;
  std::optional<KernelResources> Resources;
  std::optional<AppComparison> App;
  /// For InstrumentOptions::Dataset. Not serialized.
  json::Value Features = nullptr;
  std::string HostStrategy, HostReason;
  /// CompileError or Timeout when it could not be made.
  Verdict V = Verdict::NotVerified;
  std::string Error;
  /// Where the code was known: there is no image, nor hashes of later stages.
  std::optional<CodeStage> StoppedAt;

  bool failed() const {
    return V == Verdict::CompileError || V == Verdict::Timeout;
  }
};

/// What runs the code; it need not be here.
enum class CodeTarget {
  None, ///< Nothing: as far as the options want (wantsGPUImage(), files).
  Host,
  GPU, ///< Of the plan's architecture.
};

/// Compiles in this process, with no device and no driver. One at a time.
/// Errors: a missing tool, a file that cannot be written; what the compiler
/// says is in the result.
/// \param Report  is told of each stage before it begins.
/// \param Known   is asked after each CodeStage; null: nothing is known.
Expected<CompiledKernel> compileVariant(const ReplayPlan &Variant,
                                        CodeTarget Target,
                                        function_ref<void(ReplayStage)> Report,
                                        KnownCodeFn Known = nullptr);

/// The pass executions of a plan's compilation (KernelCompiler::listPasses()):
/// the pipeline's, and those of the code generator of the recorded GPU.
Expected<PassListing> listPasses(const ReplayPlan &Plan,
                                 const PassListOptions &O = {});

/// What \p Code says by itself, as the result of a replay.
void describeCode(const CompiledKernel &Code, ReplayResult &R);

/// The application's own machine code of the plan's kernel, from the ELF file
/// \p App (fat binaries of CUDA). Launch it as recorded (getBaselineOptions()).
Expected<CompiledKernel> readAppCode(const ReplayPlan &Plan, StringRef App);

/// The recorded kernel at the application's own -O level, launched as recorded:
/// of \p O only what is not about the code or the launch.
ReplayOptions getBaselineOptions(const ReplayOptions &O);

/// The kernel as bytes, for another process of this build on this kind of
/// machine.
std::string serialize(const CompiledKernel &Code);
/// Errors: bytes that serialize() did not make, or that were damaged since.
Expected<CompiledKernel> deserializeCompiledKernel(StringRef Bytes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_COMPILEDKERNEL_H
