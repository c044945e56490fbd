//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compilers of other versions: programs that take the place of stages of the
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
  Clang, ///< In the place of opt, for clang's own pipelines.
  Llc,
  Ptxas,
};
/// "opt", "clang", "llc", "ptxas".
StringRef getToolKindName(ToolKind K);
/// The key of Config.def that takes such a tool: "opt_tool", "llc_tool",
/// "ptxas".
StringRef getToolConfigKey(ToolKind K);

struct ToolInfo {
  ToolKind Kind = ToolKind::Opt;
  std::string Path;    ///< Absolute.
  std::string Version; ///< "22.1.8"; of ptxas that of its toolkit: "13.0".
  unsigned Major = 0;  ///< Of the version.
};

/// Asks \p Program, a file or a name to be found in PATH, what it is. A process
/// asks each file once, as long as it is not changed. Errors: no such program,
/// one that does not answer, one of another kind.
Expected<ToolInfo> identifyTool(StringRef Program);
/// The same where only some kinds will do. \p Option is what named it.
Expected<ToolInfo> identifyTool(StringRef Program, ArrayRef<ToolKind> Kinds,
                                StringRef Option);

/// A text that is another one when the program is another one: its path, its
/// contents and what it says of its version. Of a program that is not there,
/// its path.
std::string getToolIdentity(StringRef Program);

/// What does not end in time.
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

/// What all of these programs are told about the code.
struct ToolTarget {
  std::string CPU, Features;
  unsigned Level = 2; ///< Of the code generator.
  bool FuseFP = false;
  std::vector<LLVMOption> LLVMOptions;
  double Seconds = 0; ///< Time limit; 0: none.
  bool VerifyEach = false;   ///< After each pass of a pipeline.
  /// A regular expression for names of passes.
  std::string RemarksFilter = {};
};

/// Runs a pipeline in another opt, or in the clang beside it: only clang knows
/// its own pipelines ("clang<O2>").
class OptTool {
public:
  /// Finds the program for \p Passes and asks it whether it knows them, and
  /// can read \p M. Errors name the program.
  static Expected<OptTool> create(StringRef Program, const Module &M,
                                  StringRef Passes,
                                  std::vector<std::string> Plugins,
                                  ToolTarget Target);

  const ToolInfo &program() const { return Tool; }

  /// Puts the optimized module in the place of \p M. What the program prints
  /// goes to standard error.
  /// \param Selection  of the executions in \p Numbers, which list() found.
  /// May be empty.
  /// \param Remarks    gets the program's remarks as YAML, unless it fails or
  /// that is null.
  Error run(std::unique_ptr<Module> &M, const PassSelection &Selection,
            const PassListing &Numbers, raw_ostream *Remarks) const;

  /// The executions that the program itself counts: those that its -opt-bisect
  /// can skip. What takes long on \p M does here, too; where it fails, the
  /// list ends there. With a selection, the list says what it skips.
  Expected<PassListing> list(const Module &M) const;
  Expected<PassListing> list(const Module &M, const PassSelection &Selection,
                             const PassListing &Numbers) const;

private:
  ToolInfo Tool;
  std::string Passes;
  std::vector<std::string> Plugins;
  ToolTarget Target;

  std::vector<std::string> getArguments(const Module &M) const;
  std::vector<std::string> getOptArguments() const;
  std::vector<std::string> getClangArguments(const Module &M) const;
  void addOption(std::vector<std::string> &Args, const Twine &Option) const;
  Error check(const Module &M) const;
  Expected<std::string> getBisection(const PassSelection &Selection,
                                     const PassListing &Numbers) const;
  Expected<PassListing> list(const Module &M, StringRef Bisection) const;
  Expected<SmallVector<char, 0>> runOn(const Module &M, StringRef Bisection,
                                       std::string &Log,
                                       raw_ostream *Remarks) const;
};

/// Generates code for \p M with another llc: assembly or an object.
/// \param Remarks  gets its remarks as YAML; may be null.
Expected<SmallVector<char, 0>> runLlcTool(StringRef Program, const Module &M,
                                          bool Object, const ToolTarget &Target,
                                          raw_ostream *Remarks = nullptr);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_EXTERNALTOOLS_H
