//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

using namespace llvm;
using namespace llvm::mneme;

cl::OptionCategory mneme::CommandCategory("Options");

int main(int argc, char **argv) {
  const Tool::Command Commands[] = {
      {&PackCommand, runPack},     {&getShowCommand(), runShow},
      {&CheckCommand, runCheck},   {&MergeCommand, runMerge},
      {&RebaseCommand, runRebase}, {&ImportCommand, runImport},
      {&ProveCommand, runProve},   {&RunCommand, runRun},
      {&BakeCommand, runBake},
  };
  Tool T = {"llvm-mneme-deploy",
            "make packages of tuned kernels, and look into them\n\n"
            "  An application that runs with MNEME_TUNED=PACKAGE launches the "
            "tuned kernels.\n",
            getHelp()};
  T.CommandCategories = {&CommandCategory};
  T.Commands = Commands;
  T.Run = [](ToolArgs) -> Expected<int> {
    return createStringError("no command: expected pack, show, check, merge, "
                             "rebase, import, prove, run or bake (see --help)");
  };
  return runTool(argc, argv, T);
}
