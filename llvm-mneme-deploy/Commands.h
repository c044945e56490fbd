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

#include "llvm/Mneme/Process/ToolMain.h"

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

Expected<int> runBake(ToolArgs Args);
Expected<int> runPack(ToolArgs Args);
Expected<int> runShow(ToolArgs Args);
Expected<int> runCheck(ToolArgs Args);
Expected<int> runMerge(ToolArgs Args);
Expected<int> runRebase(ToolArgs Args);
Expected<int> runImport(ToolArgs Args);
Expected<int> runProve(ToolArgs Args);
Expected<int> runRun(ToolArgs Args);

/// Returns examples and exit codes for --help.
ArrayRef<CommandHelp> getHelp();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_DEPLOY_COMMANDS_H
