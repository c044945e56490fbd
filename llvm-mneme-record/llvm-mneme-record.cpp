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
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

cl::OptionCategory mneme::RecordCategory("Recording options");
cl::OptionCategory mneme::SelectionCategory("Selection options");
cl::OptionCategory mneme::DeviceCategory("Device options");
cl::OptionCategory mneme::SnapshotCategory("Snapshot options");
cl::OptionCategory mneme::CommandCategory("Options");

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

std::string mneme::formatSize(uint64_t Bytes) {
  std::string Exact = formatv("{0} bytes", Bytes).str();
  return Bytes < 1024 ? Exact : formatBytes(Bytes) + " (" + Exact + ")";
}

int main(int argc, char **argv) {
  const Tool::Command Commands[] = {
      {&ListKernelsCommand, runListKernels},
      {&getListCommand(), runList},
      {&getShowCommand(), runShow},
      {&CheckCommand, runCheck},
      {&CopyCommand, runCopy},
      {&MoveCommand, runMove},
      {&PruneCommand, runPrune},
      {&ExportCommand, runExport},
      {&ImportCommand, runImport},
      {&SourceCommand, runSource},
      {&CompileSourceCommand, runCompileSource},
  };
  Tool T = {"llvm-mneme-record",
            "record the GPU kernels that an application launches\n\n"
            "  llvm-mneme-record [options] -- application arguments...\n",
            getHelp()};
  T.Categories = {&RecordCategory, &SelectionCategory, &DeviceCategory,
                  &SnapshotCategory};
  T.CommandCategories = {&CommandCategory};
  T.Commands = Commands;
  T.Run = [](ToolArgs Args) {
    return isConfigWanted() ? runPrintConfig(Args) : runRecord(Args);
  };
  return runTool(argc, argv, T);
}
