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
#include "llvm/Mneme/Record/Manage.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

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

// Each returns the tool's exit code. An Error makes it 1.
/// Runs the tool without a subcommand. \p Argv0 is the tool's path;
/// \p HasSeparator is true if the command line contains "--".
Expected<int> runRecord(const char *Argv0, bool HasSeparator);
/// Replays recorded launches with unoptimized CPU code, for \p Seconds, and
/// warns of results that differ from those of the optimized code that ran.
/// \param Launches  files of kernels, each with a dynamic hash.
void checkCode(ArrayRef<std::pair<std::string, std::string>> Launches,
               const HostOptions &Recorded, double Seconds);
Expected<int> runListKernels();
Expected<int> runList();
Expected<int> runShow();
Expected<int> runCheck();
Expected<int> runCopy();
Expected<int> runMove();
Expected<int> runPrune();
Expected<int> runExport();
Expected<int> runImport();
/// \p Argv0 is the tool's path.
Expected<int> runSource(const char *Argv0);
Expected<int> runCompileSource(const char *Argv0);

/// Adds examples and exit codes to --help.
void addHelp(int Argc, const char *const *Argv);

/// isConfigWanted() returns true if --print-config was given; runPrintConfig()
/// prints the requested values. \p Argv0 is the tool's path.
bool isConfigWanted();
Expected<int> runPrintConfig(const char *Argv0);

/// Returns the build or install tree that contains the tool \p Argv0; libraries
/// are in its folder lib.
std::string getInstallPrefix(const char *Argv0);

/// Prints "error: …" to stderr, for commands that continue after an error.
void printError(Error E);
/// Prints "warning: …" to stderr.
void printWarning(const Twine &Text);

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

/// Returns "2x3x1".
std::string formatDims(const Dim3 &D);
/// Returns "12.0 KiB (12288 bytes)"; below 1 KiB only the bytes.
std::string formatSize(uint64_t Bytes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_RECORD_COMMANDS_H
