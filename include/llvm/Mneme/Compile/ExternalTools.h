//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compilers of other versions: external programs that replace stages of the
/// compilation. opt runs the pipeline, llc generates code, ptxas assembles it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_EXTERNALTOOLS_H
#define LLVM_MNEME_COMPILE_EXTERNALTOOLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Compile/LLVMOptions.h"
#include "llvm/Mneme/Compile/PassGate.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

enum class ToolKind {
  Opt,
  Clang, ///< Replaces opt, for clang's own pipelines.
  Llc,
  Ptxas,
};
/// Returns "opt", "clang", "llc" or "ptxas".
StringRef getToolKindName(ToolKind K);
/// Returns the key of Config.def for such a tool: "opt_tool", "llc_tool" or
/// "ptxas".
StringRef getToolConfigKey(ToolKind K);

/// An identified external program.
struct ToolInfo {
  ToolKind Kind = ToolKind::Opt;
  std::string Path;    ///< Absolute.
  std::string Version; ///< "22.1.8"; for ptxas, the version of its toolkit:
                       ///< "13.0".
  unsigned Major = 0;  ///< Major version.
};

/// Identifies \p Program, a path or a name to find in PATH. Results are cached
/// until the file changes. Fails if there is no such program, it does not
/// respond, or it is of unknown kind.
Expected<ToolInfo> identifyTool(StringRef Program);
/// Also fails if the tool is not one of \p Kinds. \p Option names the tool in
/// errors.
Expected<ToolInfo> identifyTool(StringRef Program, ArrayRef<ToolKind> Kinds,
                                StringRef Option);

/// Returns true for a program of an older LLVM, which needs other IR than this
/// one writes (OlderIR.h).
bool isOfOlderLLVM(const ToolInfo &Tool);
/// Returns true for an opt that can only run the first of its pass executions,
/// not any set of them.
bool runsOnlyPrefixes(const ToolInfo &Tool);

/// Returns true for the name of a pass that only runs others, although opt
/// numbers it like them.
bool isNumberedWrapper(StringRef Pass);

/// Returns a string that identifies the program: its path, its contents and its
/// reported version. Returns only the path if the program is missing.
std::string getToolIdentity(StringRef Program);

/// A program exceeded its time limit.
class ToolTimeout : public ErrorInfo<ToolTimeout> {
public:
  static char ID;
  ToolTimeout(StringRef Program, double Seconds)
      : Program(Program.str()), Seconds(Seconds) {}
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override {
    return std::make_error_code(std::errc::timed_out);
  }

private:
  std::string Program;
  double Seconds;
};

/// The code generation options passed to all of these programs.
struct ToolTarget {
  std::string CPU, Features;
  unsigned Level = 2; ///< Optimization level of the code generator.
  bool FuseFP = false;
  std::vector<LLVMOption> LLVMOptions;
  double Seconds = 0; ///< Time limit; 0: none.
  bool VerifyEach = false; ///< After each pass of the pipeline.
  /// Regular expression for pass names.
  std::string RemarksFilter = {};
};

/// Returns \p Target without features that an older \p Tool may not know: the
/// version of PTX.
ToolTarget adaptTarget(const ToolInfo &Tool, ToolTarget Target);

/// Returns opt's options for \p Passes, without \p Target's LLVMOptions.
std::vector<std::string> makeOptOptions(StringRef Passes,
                                        const ToolTarget &Target,
                                        ArrayRef<std::string> Plugins);
/// Returns llc's options for code like Mneme's own, without \p Target's
/// LLVMOptions.
std::vector<std::string> makeLlcOptions(const ToolTarget &Target, bool IsNVPTX);

/// Runs a pipeline in another opt, or in the clang next to it, as only clang
/// knows its own pipelines ("clang<O2>").
class OptTool {
public:
  /// Finds the program for \p Passes and checks that it knows them and can read
  /// \p M. Errors name the program.
  static Expected<OptTool> create(StringRef Program, const Module &M,
                                  StringRef Passes,
                                  std::vector<std::string> Plugins,
                                  ToolTarget Target);

  const ToolInfo &program() const { return Tool; }

  /// Sets the time limit of the following runs; 0: none.
  void limitTime(double Seconds) { Target.Seconds = Seconds; }

  /// Replaces \p M by the optimized module. The output of the program goes to
  /// standard error.
  /// \param Selection  selects among the executions in \p Numbers, which list()
  /// returned. May be empty.
  /// \param Remarks    receives the program's remarks as YAML on success; may
  /// be null.
  Error run(std::unique_ptr<Module> &M, const PassSelection &Selection,
            const PassListing &Numbers, raw_ostream *Remarks) const;

  /// Like run(), and returns the executions that the program counts, which its
  /// -opt-bisect-limit can skip. If compilation fails, the list ends there, and
  /// \p M stays as it is. With a selection, the list marks skipped executions.
  Expected<PassListing> list(std::unique_ptr<Module> &M,
                             const PassSelection &Selection,
                             const PassListing &Numbers) const;

private:
  ToolInfo Tool;
  std::string Passes;
  std::vector<std::string> Plugins;
  ToolTarget Target;

  std::vector<std::string> getArguments(const Module &M) const;
  std::vector<std::string> getClangArguments(const Module &M) const;
  void addOption(std::vector<std::string> &Args, const Twine &Option) const;
  Error check(const Module &M) const;
  Error checkReader(const Module &M, StringRef In) const;
  Expected<SmallVector<char, 0>> runOn(const Module &M, StringRef Bisection,
                                       std::string &Log,
                                       raw_ostream *Remarks) const;
};

/// Generates assembly or an object for \p M with another llc.
/// \param Remarks  receives its remarks as YAML; may be null.
/// \param Gate     lists the executions that the program counts and selects
/// those to run. Null: all run. Fails with a PassSetError if the program cannot
/// run the selected ones.
Expected<SmallVector<char, 0>> runLlcTool(StringRef Program, const Module &M,
                                          bool Object, const ToolTarget &Target,
                                          raw_ostream *Remarks, PassGate *Gate);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_EXTERNALTOOLS_H
