//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A kernel's recorded IR to machine code for its GPU, in steps that can be
/// timed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_COMPILER_H
#define LLVM_MNEME_COMPILE_COMPILER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/Instruments.h"
#include "llvm/Mneme/Compile/LLVMOptions.h"
#include "llvm/Mneme/Compile/PassGate.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Mneme/Transforms/Fill.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
namespace mneme {
class PipelineSpace;

/// What assembles PTX.
enum class PTXCompiler {
  Auto, ///< ptxas, or what is built in when there is none.
  Ptxas,
  Library, ///< nvPTXCompiler, when Mneme was built with it.
};

struct CompileOptions {
  /// The kernel's symbol.
  std::string Kernel;
  /// A pipeline text; unset: what clang runs at OptLevel.
  std::optional<std::string> Passes;
  /// Of the pass executions that can be skipped, only these run; all but these
  /// do (PassGate.h). Unset: all.
  std::optional<std::string> RunPasses, SkipPasses;
  /// Seconds that a compilation in which all run may take to find out what
  /// their numbers mean; 0: any. Where it crashes or takes longer, those until
  /// then are known. Not part of the key.
  double NumberingLimit = 0;
  /// The application's own -O: "0" to "3", "s", "z".
  std::string OptLevel = "2";
  /// 0 to 3, of LLVM's code generator and of ptxas; unset: what clang uses at
  /// OptLevel.
  std::optional<unsigned> CodeGenLevel;
  /// Compile for another GPU ("sm_80", "gfx942"); empty: as recorded.
  std::string Arch;
  /// The processor that LLVM optimizes and generates code for, when it is not
  /// Arch: an older one, NVPTX only. Empty: Arch.
  std::string TargetCPU;
  /// Subtarget features ("+ptx88", "-xnack") instead of those of the processor
  /// or of the recording.
  std::optional<std::string> TargetFeatures;
  /// Registers of a thread at most, NVPTX only; 0: as recorded.
  unsigned MaxRegisters = 0;
  SpecializeOptions Specialize;
  /// Give what the program has not written a value, before all else.
  std::optional<FillOptions> Fill;
  std::vector<std::string> Plugins;
  /// Options for what assembles PTX, behind our own.
  std::vector<std::string> PtxasOptions;
  /// Set while the code is made.
  std::vector<LLVMOption> LLVMOptions;
  PTXCompiler Assembler = PTXCompiler::Auto;
  /// Where the CUDA toolkit is; empty: CUDA_HOME, CUDA_PATH, PATH,
  /// /usr/local/cuda.
  std::string CudaPath;
  /// Programs of other versions (ExternalTools.h) that run the pipeline,
  /// generate the GPU's code and assemble it. Empty: this LLVM; CudaPath's.
  std::string OptTool, LlcTool, Ptxas;
  /// The time that each of these may take; 0: any.
  double ToolSeconds = 0;

  /// Changes nothing in the code, and is not part of the key.
  InstrumentOptions Instruments;

  bool hasTools() const {
    return !OptTool.empty() || !LlcTool.empty() || !Ptxas.empty();
  }
};

/// All that \p O has, as one text: equal texts, equal options.
std::string getKey(const CompileOptions &O);

/// Times are seconds of wall clock.
struct CompileResult {
  double PreprocessTime = 0; ///< Specialization.
  double OptimizeTime = 0;   ///< The pipeline.
  double CodegenTime = 0; ///< IR to machine code, assembler or linker included.
  double AssembleTime = 0; ///< The assembler's or linker's part of that.
  std::string Assembly;   ///< PTX or AMDGPU assembly, when asked for.
  SmallVector<char, 0>
      Image; ///< cubin, or code object (without lld: the object).
  KernelResources Resources;
  /// Gets what the pipeline and the GPU's code generator remark, as YAML;
  /// unbuffered, where remarks of a compiler that dies are wanted, too. Null:
  /// nobody wants any.
  raw_ostream *Remarks = nullptr;
  /// What the numbers in RunPasses and SkipPasses mean; null without these.
  std::shared_ptr<const PassListing> Numbers;
};

/// How to list a compilation's pass executions.
struct PassListOptions {
  bool CodeGen = true; ///< The code generator's, too.
  /// What changed, times, and what the code generator does not ask for.
  bool Details = true;
  bool Isolate = true; ///< In a process of its own, which may crash.
  double Limit = 0;    ///< Seconds, for that process; 0: any.
};

/// Compiles modules of one target. Modules must be of the triple and
/// architecture that create() saw.
class KernelCompiler {
public:
  /// Looks at the kernel in \p M for its target, sets up the TargetMachine as
  /// clang does for CUDA and HIP. Errors: unknown triple or architecture, no
  /// such kernel, a pipeline that LLVM cannot parse.
  static Expected<KernelCompiler> create(const Module &M,
                                         CompileOptions Options);
  /// The same for questions about the options alone: nothing can be compiled.
  /// Takes microseconds. Errors: options that contradict each other, no
  /// architecture, no such kernel.
  static Expected<KernelCompiler> describe(const Module &M,
                                           CompileOptions Options);
  KernelCompiler(KernelCompiler &&);
  ~KernelCompiler();

  const CompileOptions &options() const { return Options; }
  /// The pipeline that optimize() runs.
  StringRef pipeline() const { return Pipeline; }
  unsigned codeGenLevel() const { return CodeGenLevel; }
  StringRef arch() const { return Arch; }

  /// Asks whether LLVM knows all passes of \p Space (PipelineSpaceCheck.h). Not
  /// of describe()'s.
  Error checkSpace(const PipelineSpace &Space) const;

  /// All that optimize() does before it runs the pipeline.
  void preprocess(Module &M) const;
  /// Specializes \p M and runs the pipeline on it. An Error is what the
  /// compiler says about the code, or about the pipeline's result, or a
  /// PassSetError.
  Error optimize(Module &M, CompileResult &Result) const;
  /// The same where another program may do it (CompileOptions::OptTool): what
  /// that leaves is another Module.
  Error optimize(std::unique_ptr<Module> &M, CompileResult &Result) const;
  /// The pass executions of optimize() and, if wanted, of the GPU's code
  /// generator (no assembler, no linker). Leaves \p M as it is. A compilation
  /// that fails has a list until there. Errors: a PassSetError.
  Expected<PassListing> listPasses(const Module &M,
                                   const PassListOptions &O = {}) const;
  /// The optimized module's assembly text. Leaves \p M as it is.
  /// \param Optimized  what optimize() said of \p M; needed where RunPasses or
  /// SkipPasses have numbers, or remarks are wanted.
  Expected<std::string>
  emitAssembly(const Module &M, const CompileResult *Optimized = nullptr) const;
  /// Machine code and resources of an optimized module, with the result of
  /// optimize(). Leaves \p M as it is.
  /// \param IsKnown  NVPTX: is asked when there is PTX; if so, there will be no
  /// image.
  Error emitImage(const Module &M, CompileResult &Result,
                  function_ref<bool(StringRef PTX)> IsKnown = nullptr) const;

  /// Beside the optimized module, all that its PTX or object depends on; and
  /// beside PTX, all that the image depends on. Equal texts mean the same, for
  /// one version of LLVM and ptxas.
  /// \param Optimized  as for emitAssembly().
  std::string codegenKey(const CompileResult *Optimized = nullptr) const;
  std::string assembleKey() const;

private:
  KernelCompiler();
  CompileOptions Options;
  std::string Pipeline, Arch, CPU;
  unsigned CodeGenLevel = 2;
  std::string Features;
  bool FuseFP = false;
  PassSelection Selection;
  std::unique_ptr<TargetMachine> TM;
  std::optional<OptTool> ExternalOpt;

  Error setUp(const Module &M);
  void retarget(Module &M) const;
  void limitRegisters(Module &M) const;
  ToolTarget getToolTarget() const;
  /// Another program's are not counted, and cannot be skipped.
  bool canSelectCodeGen() const {
    return Options.OptTool.empty() && Options.LlcTool.empty();
  }
  Expected<PassListing> listPassesOfTool(const Module &M) const;
  Error runGated(Module &M, CompileResult &Result, PassGate *Gate) const;
  Expected<std::shared_ptr<const PassListing>>
  findNumbers(const Module &M, bool CodeGen = false) const;
  PassListing countPasses(const Module &M, bool CodeGen, bool &IsLate) const;
  bool isSufficient(const PassListing &L, bool CodeGen) const;
  PassListing collectPasses(const Module &M, PassGate::Options GO,
                            const PassListOptions &O) const;
  std::string compileForListing(const Module &M, PassGate &Gate,
                                const PassListOptions &O) const;
  Expected<SmallVector<char, 0>> emit(const Module &M, bool Object,
                                      PassGate *Gate,
                                      raw_ostream *Remarks = nullptr) const;
  Expected<SmallVector<char, 0>> emitSelected(const Module &M, bool Object,
                                              const CompileResult *R) const;
};

struct AssembleOptions {
  std::string Arch;
  unsigned Level = 3;
  bool Debug = false; ///< -lineinfo, or a debug build at level 0.
  std::vector<std::string> Extra; ///< Behind our own options.
  PTXCompiler Compiler = PTXCompiler::Auto;
  std::string CudaPath;
  std::string Ptxas;      ///< The program; empty: CudaPath's.
  double ToolSeconds = 0; ///< It may take so long; 0: any time.
};

/// Assembles \p PTX.
/// \param Log  what `ptxas -v` says.
/// \returns the cubin. Errors carry the assembler's own message.
Expected<SmallVector<char, 0>> assemblePTX(StringRef PTX,
                                           const AssembleOptions &Options,
                                           std::string &Log);

/// Was Mneme built with nvPTXCompiler?
bool hasPTXCompilerLibrary();

/// Says why \p Compiler cannot be had, if so.
Error checkPTXCompiler(PTXCompiler Compiler, StringRef CudaPath,
                       StringRef Ptxas = "");

/// Finds ptxas: \p CudaPath, then CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda.
Expected<std::string> findPtxas(StringRef CudaPath);

/// Finds nvdisasm, in the same places.
Expected<std::string> findNvdisasm(StringRef CudaPath);

/// What `nvdisasm --print-code` prints of \p Image. An Error if there is none,
/// or with its own message.
Expected<std::string> disassembleCubin(StringRef Image, StringRef CudaPath);

/// What llvm-objdump prints of an object of any target. An Error if there is
/// none, or with its own message.
Expected<std::string> disassembleObject(StringRef Object);

/// Links an AMDGPU object to a code object with ld.lld. Unset when there is
/// none.
Expected<std::optional<SmallVector<char, 0>>> linkAMDGPU(ArrayRef<char> Object);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_COMPILER_H
