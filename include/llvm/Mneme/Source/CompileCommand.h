//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The device compilations in the commands of an application's build.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_COMPILECOMMAND_H
#define LLVM_MNEME_SOURCE_COMPILECOMMAND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A command of a build.
struct CompileCommand {
  std::vector<std::string> Words; ///< With the compiler first.
  std::string Directory;          ///< Empty: the current one.
  std::string File;               ///< The source, if known.
};

/// Splits a command line as a shell does, such as a line of `clang -###`.
std::vector<std::string> splitCommand(StringRef Text);

/// Reads a compile_commands.json.
Expected<std::vector<CompileCommand>> readCompileCommands(StringRef Path);

/// One device compilation: `clang -cc1` for one source and one architecture.
struct DeviceJob {
  std::string Program;            ///< The clang.
  std::vector<std::string> Words; ///< From "-cc1", without output and input.
  std::string Input;
  std::string Directory;

  /// Returns the value that follows \p Option; empty if there is none.
  StringRef valueOf(StringRef Option) const;
};

/// Asks the compiler of a command, or nvcc-as-clang for nvcc, for its device
/// compilations. \p ToolFolder contains nvcc-as-clang.
Expected<std::vector<DeviceJob>> findDeviceJobs(const CompileCommand &Command,
                                                StringRef ToolFolder);

/// Returns those options of a device compilation that affect the IR of a text
/// without inclusions: neither search paths nor plugins nor outputs.
std::vector<std::string> selectOptions(ArrayRef<std::string> Words);

/// Returns the bitcode files that a device compilation links, such as
/// libdevice.
std::vector<std::string> getLinkedBitcode(ArrayRef<std::string> Words);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_COMPILECOMMAND_H
