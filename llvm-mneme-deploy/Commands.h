//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The subcommands of llvm-mneme-deploy.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TOOLS_DEPLOY_COMMANDS_H
#define LLVM_MNEME_TOOLS_DEPLOY_COMMANDS_H

#include "llvm/ADT/Twine.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

extern cl::OptionCategory CommandCategory;

/// --format of a command.
enum class OutputFormat { Text, JSON };
struct FormatOption : EnumOption<OutputFormat> {
  explicit FormatOption(cl::SubCommand &Command)
      : opt("format", cl::desc("Output format"),
            cl::values(clEnumValN(OutputFormat::Text, "text", "for humans"),
                       clEnumValN(OutputFormat::JSON, "json", "for programs")),
            cl::init(OutputFormat::Text), cl::sub(Command),
            cl::cat(CommandCategory)) {}
};

extern cl::SubCommand BakeCommand;
extern cl::SubCommand PackCommand;
cl::SubCommand &getShowCommand();
extern cl::SubCommand CheckCommand;
extern cl::SubCommand MergeCommand;
extern cl::SubCommand RebaseCommand;
extern cl::SubCommand ImportCommand;
extern cl::SubCommand ProveCommand;
extern cl::SubCommand RunCommand;

/// Return the exit code, or an error that main() prints. The arguments are
/// those of main().
Expected<int> runBake(int Argc, char **Argv);
Expected<int> runPack(int Argc, char **Argv);
Expected<int> runShow(int Argc, char **Argv);
Expected<int> runCheck(int Argc, char **Argv);
Expected<int> runMerge(int Argc, char **Argv);
Expected<int> runRebase(int Argc, char **Argv);
Expected<int> runImport(int Argc, char **Argv);
Expected<int> runProve(int Argc, char **Argv);
Expected<int> runRun(int Argc, char **Argv);

void addHelp(int Argc, const char *const *Argv);

void printError(Error E);
void printWarning(const Twine &Text);
void printNote(const Twine &Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_DEPLOY_COMMANDS_H
