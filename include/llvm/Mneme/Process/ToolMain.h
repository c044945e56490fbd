//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The main function of a tool.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_TOOLMAIN_H
#define LLVM_MNEME_PROCESS_TOOLMAIN_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Mneme/Support/CommandHelp.h"

namespace llvm {
namespace mneme {

/// All words of a command line, from the path of the tool on.
using ToolArgs = ArrayRef<const char *>;

struct Tool {
  /// Runs the tool or a subcommand. \returns the exit code.
  using RunFn = Expected<int> (*)(ToolArgs Args);
  struct Command {
    cl::SubCommand *Sub;
    RunFn Run;
  };

  StringLiteral Name, Overview;
  ArrayRef<CommandHelp> Help;
  /// Options of other categories are hidden. LLVM accepts the tool's options
  /// with every subcommand, and the tool refuses them.
  std::vector<const cl::OptionCategory *> Categories = {};
  std::vector<const cl::OptionCategory *> CommandCategories = {};
  ArrayRef<Command> Commands = {};
  RunFn Run = nullptr; ///< Without a subcommand.
  /// Changes the words before they are parsed. May be null.
  Error (*Prepare)(SmallVectorImpl<const char *> &Args) = nullptr;
  /// Returns the exit code for an error. Null: 1.
  int (*GetExitCode)(const Error &E) = nullptr;
};

/// Parses the command line and runs the tool. \returns the exit code.
int runTool(int Argc, char **Argv, const Tool &T);

/// Print the errors, a warning or a note, with the name of the tool.
void printError(Error E);
void printWarning(const Twine &Text);
void printNote(const Twine &Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_TOOLMAIN_H
