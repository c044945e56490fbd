//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Additions to LLVM's command line parser: examples and exit codes at the end
/// of --help, and errors for options that the subcommand does not have.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_COMMANDHELP_H
#define LLVM_MNEME_SUPPORT_COMMANDHELP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

struct CommandHelp {
  StringLiteral Command; ///< Empty: the tool itself.
  StringLiteral Examples;
  StringLiteral ExitCodes;
};

/// Makes --help print the row of the subcommand that \p Argv names, or else the
/// first row. Call it once, before the command line is parsed.
void addCommandHelp(ArrayRef<CommandHelp> Table, int Argc,
                    const char *const *Argv);

/// Fails if the chosen subcommand was given an option of \p Categories that it
/// does not have. LLVM accepts top-level options with every subcommand.
Error checkSubCommand(ArrayRef<const cl::OptionCategory *> Categories);

/// Values of options that are on unless the user says "off".
enum class OnOff { Off, On };
inline cl::ValuesClass makeOnOffValues() {
  return cl::values(clEnumValN(OnOff::On, "on", "yes (default)"),
                    clEnumValN(OnOff::Off, "off", "no"));
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_COMMANDHELP_H
