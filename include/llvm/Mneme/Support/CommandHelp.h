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
/// of --help, and errors that say what was expected.
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

/// Parses the command line like cl::ParseCommandLineOptions(), and exits with 1
/// if it is invalid. Its errors name the subcommand that was probably meant,
/// and the positional arguments that are required.
void parseCommandLine(int Argc, const char *const *Argv, StringRef Overview);

/// Returns the error for the value \p Text of an option with the values of
/// \p Parser, all of which it lists.
std::string describeUnknownValue(StringRef Text,
                                 const cl::generic_parser_base &Parser);

/// LLVM's parser of enumerations, with an error that lists the values.
template <typename T> class EnumParser : public cl::parser<T> {
public:
  explicit EnumParser(cl::Option &O) : cl::parser<T>(O) {}

  bool parse(cl::Option &O, StringRef Name, StringRef Text, T &Value) {
    // An option without a name has its values as names.
    bool IsKnown = !O.hasArgStr();
    for (unsigned I = 0, E = this->getNumOptions(); I != E; ++I)
      IsKnown |= this->getOption(I) == Text;
    return IsKnown ? cl::parser<T>::parse(O, Name, Text, Value)
                   : O.error(describeUnknownValue(Text, *this), Name);
  }
};

/// An option whose values are an enumeration.
template <typename T> using EnumOption = cl::opt<T, false, EnumParser<T>>;

/// Values of options that are on unless the user says "off".
enum class OnOff { Off, On };
inline cl::ValuesClass makeOnOffValues() {
  return cl::values(clEnumValN(OnOff::On, "on", "yes (default)"),
                    clEnumValN(OnOff::Off, "off", "no"));
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_COMMANDHELP_H
