//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The machine code of a variant. It is compiled without a device, can be sent
/// between processes, and compilation can stop once the code is known to be
/// equal to other code.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_COMPILEDKERNEL_H
#define LLVM_MNEME_REPLAY_COMPILEDKERNEL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// The stages at which a compilation asks whether the remaining code is known.
enum class CodeStage {
  IR,       ///< After the pass pipeline.
  Assembly, ///< PTX, before ptxas; other targets skip this stage.
};
/// "ir", "assembly".
StringRef getCodeStageName(CodeStage S);

/// Returns true if the code that follows from a hash is known, so that
/// compilation can stop.
using KnownCodeFn = function_ref<bool(CodeStage, StringRef Hash)>;

/// A kernel's machine code, its compile times and the compiler's output. After
/// a failed compilation, V says why.
struct CompiledKernel {
  DeviceImage Image;
  ReplayTimes Times; ///< From Specialize to GPUCodegen.
  uint64_t ObjectSize = 0;
  /// Hashes of the optimized IR and the PTX, including all inputs of the later
  /// stages. For one version of LLVM and ptxas, equal hashes imply equal code.
  /// Equal IR with different use-list orders gets different hashes, as code
  /// generators traverse use-lists.
  std::string IRHash, AssemblyHash;
  /// Hash of the generated images.
  std::string CodeHash;
  std::string Assembler;
  std::optional<KernelResources> Resources;
  std::optional<AppComparison> App;
  /// For InstrumentOptions::Dataset. Not serialized.
  json::Value Features = nullptr;
  std::string HostStrategy, HostReason;
  /// Why ReplayOptions::TriesGPUCode failed. Not serialized.
  std::string GPUFailure;
  /// CompileError or Timeout if compilation failed.
  Verdict V = Verdict::NotVerified;
  std::string Error;
  /// Set if the code was known. There are then no image and no hashes of later
  /// stages.
  std::optional<CodeStage> StoppedAt;

  bool failed() const {
    return V == Verdict::CompileError || V == Verdict::Timeout;
  }
};

/// The kind of device to compile for; it need not be present.
enum class CodeTarget {
  None, ///< Compile only as far as the options require (wantsGPUImage(),
        ///< files).
  Host,
  GPU, ///< The plan's architecture.
};

/// Compiles in this process without a device or driver. Not thread-safe. Fails
/// if a tool is missing or a file cannot be written; compiler errors are in the
/// result.
/// \param Report  called with each stage before it begins.
/// \param Known   called after each CodeStage; null: no code is known.
Expected<CompiledKernel> compileVariant(const ReplayPlan &Variant,
                                        CodeTarget Target,
                                        function_ref<void(ReplayStage)> Report,
                                        KnownCodeFn Known = nullptr);

/// Lists the pass executions of a plan's compilation
/// (KernelCompiler::listPasses()): those of the pipeline and of the code
/// generator for the recorded GPU.
Expected<PassListing> listPasses(const ReplayPlan &Plan,
                                 const PassListOptions &O = {});

/// Copies the information in \p Code to the result of a replay.
void describeCode(const CompiledKernel &Code, ReplayResult &R);

/// Reads the application's machine code of the plan's kernel from the CUDA fat
/// binaries in the ELF file \p App. Launch it as recorded
/// (getBaselineOptions()).
Expected<CompiledKernel> readAppCode(const ReplayPlan &Plan, StringRef App);

/// Returns options for the recorded kernel at the application's -O level with
/// the recorded launch. Keeps only those of \p O that affect neither code nor
/// launch.
ReplayOptions getBaselineOptions(const ReplayOptions &O);

/// Serializes the kernel for another process of this build on the same kind of
/// machine.
std::string serialize(const CompiledKernel &Code);
/// Fails if serialize() did not create \p Bytes, or they were damaged since.
Expected<CompiledKernel> deserializeCompiledKernel(StringRef Bytes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_COMPILEDKERNEL_H
