//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/ToolMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <csignal>

using namespace llvm;
using namespace llvm::mneme;

/// That of the process, which is one tool.
static StringRef ToolName;

void mneme::printError(Error E) {
  handleAllErrors(std::move(E), [](const ErrorInfoBase &Info) {
    WithColor::error(errs(), ToolName)
        << printableMessage(Info.message()) << '\n';
  });
}

void mneme::printWarning(const Twine &Text) {
  WithColor::warning(errs(), ToolName) << printableLines(Text.str()) << '\n';
}

void mneme::printNote(const Twine &Text) {
  WithColor::note(errs(), ToolName) << printableLines(Text.str()) << '\n';
}

static Expected<int> parseAndRun(const Tool &T,
                                 SmallVectorImpl<const char *> &Args) {
  if (T.Prepare)
    if (Error E = T.Prepare(Args))
      return std::move(E);
  parseCommandLine(Args.size(), Args.data(), T.Overview);
  if (Error E = checkSubCommand(T.Categories))
    return std::move(E);
  for (const Tool::Command &C : T.Commands)
    if (*C.Sub)
      return C.Run(Args);
  return T.Run(Args);
}

int mneme::runTool(int Argc, char **Argv, const Tool &T) {
  InitLLVM X(Argc, Argv);
  ToolName = T.Name;
  prepareSignals();
  reportLostOutput();
  // Files opened later must not get the descriptors of standard streams.
  if (sys::Process::FixupStandardFileDescriptors())
    return 1;
  // Make writes beyond `ulimit -f` fail with an ordinary error. SIG_IGN would
  // be inherited by an application.
  std::signal(SIGXFSZ, [](int) {});
  cl::AddExtraVersionPrinter(printVersion);
  for (cl::SubCommand *Sub : cl::getRegisteredSubcommands()) {
    std::vector<const cl::OptionCategory *> Shown =
        Sub == &cl::SubCommand::getTopLevel() ? T.Categories
                                              : T.CommandCategories;
    Shown.push_back(&getColorCategory());
    cl::HideUnrelatedOptions(Shown, *Sub);
  }
  addCommandHelp(T.Help, Argc, Argv);
  SmallVector<const char *, 0> Args(Argv, Argv + Argc);
  Expected<int> ExitCode = parseAndRun(T, Args);
  if (ExitCode)
    return *ExitCode;
  Error E = ExitCode.takeError();
  int Code = T.GetExitCode ? T.GetExitCode(E) : 1;
  printError(std::move(E));
  return Code;
}
