//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles the recorded IR of a kernel to machine code for its GPU, in steps
/// that can be timed.
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
#include "llvm/Mneme/Config/KernelConfig.h"
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

/// The assembler for PTX.
enum class PTXCompiler {
  Auto, ///< ptxas, or the built-in library if ptxas is missing.
  Ptxas,
  Library, ///< nvPTXCompiler, if Mneme was built with it.
};

/// Options of a compilation. If the setting Passes or CodeGenLevel is unset,
/// clang's choice at OptLevel is used.
struct CompileOptions : CompileConfig {
  /// The kernel's symbol.
  std::string Kernel;
  /// Time limit in seconds of the full compilation that determines the numbers
  /// of pass executions; 0: none. If that compilation crashes or times out, the
  /// executions up to that point are numbered. Not part of the key.
  double NumberingLimit = 0;
  /// The application's -O level: "0" to "3", "s", "z".
  std::string OptLevel = "2";
  SpecializeOptions Specialize;
  /// Initialize memory that the program has not written, before all other
  /// passes.
  std::optional<FillOptions> Fill;
  std::vector<std::string> Plugins;
  PTXCompiler Assembler = PTXCompiler::Auto;
  /// Path of the CUDA toolkit; empty: search CUDA_HOME, CUDA_PATH, PATH,
  /// /usr/local/cuda.
  std::string CudaPath;
  /// Time limit of each tool; 0: none.
  double ToolSeconds = 0;

  /// Does not affect the code; not part of the key.
  InstrumentOptions Instruments;

  bool hasTools() const {
    return !OptTool.empty() || !LlcTool.empty() || !Ptxas.empty();
  }
};

/// Returns a string that represents all options in \p O. Equal options have
/// equal strings. A program is represented by its identity.
std::string getKey(const CompileOptions &O);

/// Times are in seconds of wall clock.
struct CompileResult {
  double PreprocessTime = 0; ///< Specialization.
  double OptimizeTime = 0;   ///< The pipeline.
  double CodegenTime = 0;    ///< IR to machine code, including assembler or
                             ///< linker.
  double AssembleTime = 0; ///< Part of the assembler or linker in CodegenTime.
  std::string Assembly;    ///< PTX or AMDGPU assembly, if requested.
  /// Cubin or code object (without lld: the object).
  SmallVector<char, 0> Image;
  /// AMDGPU: what was linked into the code object. Its relocations tell which
  /// words are addresses.
  SmallVector<char, 0> Object;
  KernelResources Resources;
  /// Receives remarks of the pipeline and the GPU code generator as YAML.
  /// Unbuffered if remarks of a crashing compiler are needed. Null: no remarks.
  raw_ostream *Remarks = nullptr;
  /// Defines the numbers in RunPasses and SkipPasses; null without these.
  std::shared_ptr<const PassListing> Numbers;
};

/// Options for listing a compilation's pass executions.
struct PassListOptions {
  bool CodeGen = true; ///< Include the code generator.
  /// Determine changes and times, and list passes that the code generator runs
  /// without asking the gate.
  bool Details = true;
  bool Isolate = true; ///< Run in a child process, as it may crash.
  double Limit = 0;    ///< Time limit of the child process in seconds; 0: none.
  /// Time limit of a program, which counts in addition to Limit. Unset:
  /// CompileOptions::ToolSeconds.
  std::optional<double> ToolLimit = std::nullopt;
  /// Count the queries of debug counters by each execution. In the code
  /// generator, this requires Details. Requires Isolate.
  bool Counters = false;
  /// Run the rewrites that -debug-counter excludes. Requires Isolate.
  bool AllRewrites = false;
  /// Folder for the module behind each execution of the pipeline that changed
  /// it: getSnapshotPath(). Empty: not written. Requires Details.
  std::string Snapshots = {};
};

/// Returns the path of a module in PassListOptions::Snapshots.
/// \param Index  of the execution in PassListing::Executions.
std::string getSnapshotPath(StringRef Folder, size_t Index);

/// Compiles modules of one target: those with the triple and architecture
/// passed to create().
class KernelCompiler {
public:
  /// Creates a compiler for the target of the kernel in \p M. Sets up the
  /// TargetMachine as clang does for CUDA and HIP. Fails if the triple or
  /// architecture is unknown, there is no such kernel, or LLVM cannot parse the
  /// pipeline.
  static Expected<KernelCompiler> create(const Module &M,
                                         CompileOptions Options);
  /// Creates an object that can only answer questions about the options, not
  /// compile. Takes microseconds. Fails if options contradict each other, or if
  /// the architecture or the kernel is missing.
  static Expected<KernelCompiler> describe(const Module &M,
                                           CompileOptions Options);
  KernelCompiler(KernelCompiler &&);
  ~KernelCompiler();

  const CompileOptions &options() const { return Options; }
  /// Returns the pipeline that optimize() runs.
  StringRef pipeline() const { return Pipeline; }
  unsigned codeGenLevel() const { return CodeGenLevel; }
  StringRef arch() const { return Arch; }

  /// Sets the LLVM options. Those that only plugins of an external opt have are
  /// left to that program.
  Error enterLLVMOptions(LLVMOptionScope &Scope) const;
  /// Returns pipeline() with the passes that its elements stand for
  /// ("default<O3>") and their parameters. Passes of plugins have no
  /// parameters there. Not available after describe().
  Expected<std::string> expandedPipeline() const;
  /// Returns the target's options for external programs.
  ToolTarget toolTarget() const;

  /// Returns true if an external opt may have options and passes that this LLVM
  /// lacks: plugins are loaded there only, as they may need another LLVM.
  bool hasPluginsElsewhere() const {
    return !Options.OptTool.empty() && !Options.Plugins.empty();
  }
  /// Checks that LLVM knows all passes of \p Space (PipelineSpaceCheck.h),
  /// unless hasPluginsElsewhere(). Not available after describe().
  Error checkSpace(const PipelineSpace &Space) const;

  /// Performs all steps of optimize() before the pipeline.
  void preprocess(Module &M) const;
  /// Specializes \p M and runs the pipeline on it. Errors are compiler errors
  /// for the code, invalid IR after the pipeline, or a PassSetError.
  Error optimize(Module &M, CompileResult &Result) const;
  /// Supports external programs (CompileOptions::OptTool), which replace \p M
  /// by another Module.
  Error optimize(std::unique_ptr<Module> &M, CompileResult &Result) const;
  /// Lists the pass executions of optimize() and optionally of the GPU code
  /// generator (without assembler and linker). Does not change \p M. The list
  /// ends where compilation fails; without a selection, executions in which the
  /// compiler dies are skipped (PassListing::Deaths). Fails with a
  /// PassSetError.
  Expected<PassListing> listPasses(const Module &M,
                                   const PassListOptions &O = {}) const;
  /// Returns the assembly of the optimized module. Does not change \p M.
  /// \param Optimized  the result of optimize() for \p M; required if RunPasses
  /// or SkipPasses have numbers, or for remarks.
  Expected<std::string>
  emitAssembly(const Module &M, const CompileResult *Optimized = nullptr) const;
  /// Generates machine code and resources for an optimized module and the
  /// result of optimize(). Does not change \p M.
  /// \param IsKnown  NVPTX: called with the PTX; if it returns true, no image
  /// is generated.
  Error emitImage(const Module &M, CompileResult &Result,
                  function_ref<bool(StringRef PTX)> IsKnown = nullptr) const;

  /// Return all inputs, besides the optimized module, that its PTX or object
  /// depends on, and all inputs besides PTX that the image depends on. Equal
  /// keys imply equal results for one version of LLVM and ptxas.
  /// \param Optimized  see emitAssembly().
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
  CompileConfig resolvedConfig() const;
  void retarget(Module &M) const;
  void limitRegisters(Module &M) const;
  Error runTool(std::unique_ptr<Module> &M, PassGate &Gate,
                double Seconds) const;
  Error runGated(Module &M, CompileResult &Result, PassGate *Gate) const;
  Error checkKernel(const Module &M, const Twine &Who) const;
  Expected<std::shared_ptr<const PassListing>>
  findNumbers(const Module &M, bool CodeGen = false) const;
  std::string numbersKey(const Module &M) const;
  PassListing countPasses(const Module &M, bool CodeGen, bool &IsLate) const;
  bool isSufficient(const PassListing &L, bool CodeGen) const;
  PassListing collectPasses(const Module &M, PassGate::Options GO,
                            const PassListOptions &O, bool &Died) const;
  PassListing collectAll(const Module &M, const PassListOptions &O) const;
  std::string compileForListing(const Module &M, PassGate &Gate,
                                const PassListOptions &O) const;
  Expected<SmallVector<char, 0>> emit(const Module &M, bool Object,
                                      PassGate *Gate,
                                      raw_ostream *Remarks = nullptr) const;
  Expected<SmallVector<char, 0>> emitSelected(const Module &M, bool Object,
                                              const CompileResult *R) const;
};

/// Options of assemblePTX().
struct AssembleOptions {
  std::string Arch;
  unsigned Level = 3;
  bool Debug = false; ///< -lineinfo, or a debug build at level 0.
  std::vector<std::string> Extra; ///< Appended to Mneme's options.
  PTXCompiler Compiler = PTXCompiler::Auto;
  std::string CudaPath;
  std::string Ptxas;      ///< Path of ptxas; empty: from CudaPath.
  std::string Controls;   ///< As loadControls() returns them; may be empty.
  double ToolSeconds = 0; ///< Time limit; 0: none.
};

/// Assembles \p PTX.
/// \param Log  receives the output of `ptxas -v`.
/// \returns the cubin. Errors contain the assembler's message.
Expected<SmallVector<char, 0>> assemblePTX(StringRef PTX,
                                           const AssembleOptions &Options,
                                           std::string &Log);

/// Returns true if Mneme was built with nvPTXCompiler.
bool hasPTXCompilerLibrary();

/// Returns an error if \p Compiler is unavailable, or, with \p NeedsControls,
/// does not take controls files.
Error checkPTXCompiler(PTXCompiler Compiler, StringRef CudaPath,
                       StringRef Ptxas = "", bool NeedsControls = false);

/// Finds ptxas in \p CudaPath, then CUDA_HOME, CUDA_PATH, findCudaOfPip(),
/// PATH, /usr/local/cuda.
Expected<std::string> findPtxas(StringRef CudaPath);

/// Finds nvdisasm in the same locations.
Expected<std::string> findNvdisasm(StringRef CudaPath);

/// Returns the output of `nvdisasm --print-code` for \p Image. Fails if
/// nvdisasm is missing, or with its message.
Expected<std::string> disassembleCubin(StringRef Image, StringRef CudaPath);

/// Returns the output of llvm-objdump for an object of any target. Fails if
/// llvm-objdump is missing, or with its message.
Expected<std::string> disassembleObject(StringRef Object);

/// Finds the ld.lld of this LLVM: beside its clang, or in PATH.
std::optional<std::string> findLld();

/// Links an AMDGPU object to a code object with ld.lld. Returns nothing if
/// ld.lld is missing.
Expected<std::optional<SmallVector<char, 0>>> linkAMDGPU(ArrayRef<char> Object);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_COMPILER_H
