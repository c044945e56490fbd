//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The main function of llvm-mneme-record, which records the kernels of an
/// application and manages recordings.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <csignal>

using namespace llvm;
using namespace llvm::mneme;

/// The path of this tool, for commands that need files beside it.
static const char *Argv0;

static constexpr StringLiteral ToolName = "llvm-mneme-record";

cl::OptionCategory mneme::RecordCategory("Recording options");
cl::OptionCategory mneme::SelectionCategory("Selection options");
cl::OptionCategory mneme::DeviceCategory("Device options");
cl::OptionCategory mneme::SnapshotCategory("Snapshot options");
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

Expected<std::vector<std::string>> mneme::getKernelFiles(StringRef Path) {
  if (sys::fs::is_regular_file(Path))
    return std::vector<std::string>{Path.str()};
  return findKernelFiles(Path);
}

std::string mneme::getInstallPrefix(const char *Argv0) {
  std::string Tool = sys::fs::getMainExecutable(
      Argv0, reinterpret_cast<void *>(getInstallPrefix));
  return sys::path::parent_path(sys::path::parent_path(Tool)).str();
}

std::string mneme::formatDims(const Dim3 &D) {
  return formatv("{0}x{1}x{2}", D.X, D.Y, D.Z).str();
}

std::string mneme::formatSize(uint64_t Bytes) {
  std::string Exact = formatv("{0} bytes", Bytes).str();
  return Bytes < 1024 ? Exact : formatBytes(Bytes) + " (" + Exact + ")";
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  Argv0 = argv[0];
  mneme::prepareSignals();
  mneme::reportLostOutput();
  // Files opened later must not get the descriptors of standard streams.
  if (sys::Process::FixupStandardFileDescriptors())
    return 1;
  // Make writes beyond `ulimit -f` fail with an ordinary error. SIG_IGN would
  // be inherited by the application.
  std::signal(SIGXFSZ, [](int) {});
  cl::AddExtraVersionPrinter(printVersion);
  const std::pair<cl::SubCommand *, Expected<int> (*)()> Commands[] = {
      {&ListKernelsCommand, runListKernels},
      {&getListCommand(), runList},
      {&getShowCommand(), runShow},
      {&CheckCommand, runCheck},
      {&CopyCommand, runCopy},
      {&MoveCommand, runMove},
      {&PruneCommand, runPrune},
      {&ExportCommand, runExport},
      {&ImportCommand, runImport},
      {&SourceCommand, [] { return runSource(Argv0); }},
      {&CompileSourceCommand, [] { return runCompileSource(Argv0); }},
  };
  std::vector<const cl::OptionCategory *> Categories{
      &RecordCategory, &SelectionCategory, &DeviceCategory, &SnapshotCategory};
  std::vector<const cl::OptionCategory *> Shown = Categories;
  Shown.push_back(&getColorCategory());
  cl::HideUnrelatedOptions(Shown);
  for (const auto &[Command, Run] : Commands)
    cl::HideUnrelatedOptions({&CommandCategory, &getColorCategory()}, *Command);
  addHelp(argc, argv);
  parseCommandLine(
      argc, argv,
      "record the GPU kernels that an application launches\n\n"
      "  llvm-mneme-record [options] -- application arguments...\n");

  Expected<int> ExitCode = [&]() -> Expected<int> {
    if (Error E = checkSubCommand(Categories))
      return std::move(E);
    for (const auto &[Command, Run] : Commands)
      if (*Command)
        return Run();
    if (isConfigWanted())
      return runPrintConfig(argv[0]);
    return runRecord(argv[0],
                     is_contained(ArrayRef(argv, argc), StringRef("--")));
  }();
  if (ExitCode)
    return *ExitCode;
  printError(ExitCode.takeError());
  return 1;
}
