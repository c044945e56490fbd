//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The subcommands of llvm-mneme-record, one file each.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TOOLS_RECORD_COMMANDS_H
#define LLVM_MNEME_TOOLS_RECORD_COMMANDS_H

#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Process/ToolMain.h"
#include "llvm/Mneme/Record/Manage.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct Profile;

// Option groups in --help.
extern cl::OptionCategory RecordCategory;
extern cl::OptionCategory SelectionCategory;
extern cl::OptionCategory DeviceCategory;
extern cl::OptionCategory SnapshotCategory;
/// Options of the subcommands.
extern cl::OptionCategory CommandCategory;

extern cl::SubCommand ListKernelsCommand;
// Functions, because options in other files belong to these subcommands, too.
cl::SubCommand &getListCommand();
cl::SubCommand &getShowCommand();
extern cl::SubCommand CheckCommand;
extern cl::SubCommand CopyCommand;
extern cl::SubCommand MoveCommand;
extern cl::SubCommand PruneCommand;
extern cl::SubCommand ExportCommand;
extern cl::SubCommand ImportCommand;
extern cl::SubCommand SourceCommand;
extern cl::SubCommand CompileSourceCommand;

/// Runs the tool without a subcommand.
Expected<int> runRecord(ToolArgs Args);
/// Replays recorded launches with unoptimized CPU code, for \p Seconds, and
/// warns of results that differ from those of the optimized code that ran.
/// \param Launches  files of kernels, each with a dynamic hash.
void checkCode(ArrayRef<std::pair<std::string, std::string>> Launches,
               const HostOptions &Recorded, double Seconds);
Expected<int> runListKernels(ToolArgs Args);
Expected<int> runList(ToolArgs Args);
Expected<int> runShow(ToolArgs Args);
Expected<int> runCheck(ToolArgs Args);
Expected<int> runCopy(ToolArgs Args);
Expected<int> runMove(ToolArgs Args);
Expected<int> runPrune(ToolArgs Args);
Expected<int> runExport(ToolArgs Args);
Expected<int> runImport(ToolArgs Args);
Expected<int> runSource(ToolArgs Args);
Expected<int> runCompileSource(ToolArgs Args);

/// Returns examples and exit codes for --help.
ArrayRef<CommandHelp> getHelp();

/// isConfigWanted() returns true if --print-config was given; runPrintConfig()
/// prints the requested values.
bool isConfigWanted();
Expected<int> runPrintConfig(ToolArgs Args);

/// Returns the build or install tree that contains the tool \p Argv0; libraries
/// are in its folder lib.
std::string getInstallPrefix(const char *Argv0);

/// Returns the kernel files of a folder, or \p Path itself if it is a file.
Expected<std::vector<std::string>> getKernelFiles(StringRef Path);

/// Returns the selection by --kernel, --hash and --instance.
RecordingFilter getFilter();
/// Calls \p F for each kernel file with the launches that getFilter() selects.
/// Prints the errors of unreadable files and returns the tool's exit code.
/// Fails if nothing is selected.
Expected<int>
forEachKernel(StringRef Path,
              function_ref<void(StringRef File, const RecordedKernel &K)> F);

/// Prints where the time of an application goes to standard error.
void printProfile(const Profile &P);

/// Returns "12.0 KiB (12288 bytes)"; below 1 KiB only the bytes.
std::string formatSize(uint64_t Bytes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_RECORD_COMMANDS_H
