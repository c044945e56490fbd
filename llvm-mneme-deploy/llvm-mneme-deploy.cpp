//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <csignal>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral ToolName = "llvm-mneme-deploy";

cl::OptionCategory mneme::CommandCategory("Options");

void mneme::printError(Error E) {
  handleAllErrors(std::move(E), [](const ErrorInfoBase &Info) {
    WithColor::error(errs(), ToolName)
        << printableLines(Info.message()) << '\n';
  });
}

void mneme::printWarning(const Twine &Text) {
  WithColor::warning(errs(), ToolName) << printableLines(Text.str()) << '\n';
}

void mneme::printNote(const Twine &Text) {
  WithColor::note(errs(), ToolName) << printableLines(Text.str()) << '\n';
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  mneme::prepareSignals();
  mneme::reportLostOutput();
  // Files opened later must not get the descriptors of standard streams.
  if (sys::Process::FixupStandardFileDescriptors())
    return 1;
  // Make writes beyond `ulimit -f` fail with an ordinary error.
  std::signal(SIGXFSZ, [](int) {});
  cl::AddExtraVersionPrinter(printVersion);
  const std::pair<cl::SubCommand *, Expected<int> (*)(int, char **)>
      Commands[] = {
          {&PackCommand, runPack},     {&getShowCommand(), runShow},
          {&CheckCommand, runCheck},   {&MergeCommand, runMerge},
          {&RebaseCommand, runRebase}, {&ImportCommand, runImport},
          {&ProveCommand, runProve},   {&RunCommand, runRun},
          {&BakeCommand, runBake},
      };
  cl::HideUnrelatedOptions(getColorCategory());
  for (const auto &[Command, Run] : Commands)
    cl::HideUnrelatedOptions({&CommandCategory, &getColorCategory()}, *Command);
  addHelp(argc, argv);
  parseCommandLine(
      argc, argv,
      "make packages of tuned kernels, and look into them\n\n"
      "  An application that runs with MNEME_TUNED=PACKAGE launches the tuned "
      "kernels.\n");

  Expected<int> ExitCode = [&]() -> Expected<int> {
    for (const auto &[Command, Run] : Commands)
      if (*Command)
        return Run(argc, argv);
    return createStringError("no command: expected pack, show, check, merge, "
                             "rebase, import, prove, run or bake (see --help)");
  }();
  if (ExitCode)
    return *ExitCode;
  printError(ExitCode.takeError());
  return 1;
}
