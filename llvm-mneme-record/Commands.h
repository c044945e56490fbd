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

#include "llvm/Mneme/Record/Manage.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

// The options by their groups in --help.
extern cl::OptionCategory RecordCategory;
extern cl::OptionCategory SelectionCategory;
extern cl::OptionCategory DeviceCategory;
extern cl::OptionCategory SnapshotCategory;
/// Those of the subcommands.
extern cl::OptionCategory CommandCategory;

extern cl::SubCommand ListKernelsCommand;
// Options in other files have these subcommands, too.
cl::SubCommand &getListCommand();
cl::SubCommand &getShowCommand();
extern cl::SubCommand CheckCommand;
extern cl::SubCommand CopyCommand;
extern cl::SubCommand MoveCommand;
extern cl::SubCommand PruneCommand;
extern cl::SubCommand ExportCommand;
extern cl::SubCommand ImportCommand;

// Each returns the tool's exit code. An Error makes it 1.
/// No subcommand: \p Argv0 is the tool, \p HasSeparator tells whether "--" was
/// there.
Expected<int> runRecord(const char *Argv0, bool HasSeparator);
Expected<int> runListKernels();
Expected<int> runList();
Expected<int> runShow();
Expected<int> runCheck();
Expected<int> runCopy();
Expected<int> runMove();
Expected<int> runPrune();
Expected<int> runExport();
Expected<int> runImport();

/// Adds examples and exit codes to --help.
void addHelp(int Argc, const char *const *Argv);

/// Whether --print-config was given, and what it prints. \p Argv0 is the tool.
bool isConfigWanted();
Expected<int> runPrintConfig(const char *Argv0);

/// The build or install tree that the tool \p Argv0 is in: its libraries are
/// in lib, below.
std::string getInstallPrefix(const char *Argv0);

/// "error: …" on stderr; for commands that go on after it.
void printError(Error E);
/// "warning: …" on stderr.
void printWarning(const Twine &Text);

/// The kernel files of a folder, or \p Path itself when it is a file.
Expected<std::vector<std::string>> getKernelFiles(StringRef Path);

/// What --kernel, --hash and --instance select.
RecordingFilter getFilter();
/// Calls \p F with what getFilter() selects of each kernel file. Prints the
/// errors of files that cannot be read, and returns the tool's exit code. Fails
/// if nothing is selected.
Expected<int>
forEachKernel(StringRef Path,
              function_ref<void(StringRef File, const RecordedKernel &K)> F);

/// "2x3x1".
std::string formatDims(const Dim3 &D);
/// "12.0 KiB (12288 bytes)", without the parentheses below 1 KiB.
std::string formatSize(uint64_t Bytes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_RECORD_COMMANDS_H
