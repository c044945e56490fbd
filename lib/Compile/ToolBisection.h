//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts that are common to the programs of ExternalTools.h: input, errors,
/// remarks, and the numbers of pass executions, which come from LLVM's
/// -opt-bisect-limit.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_COMPILE_TOOLBISECTION_H
#define LLVM_MNEME_LIB_COMPILE_TOOLBISECTION_H

#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/Programs.h"

namespace llvm {
class raw_ostream;
namespace mneme {

SmallVector<StringRef, 32> getRefs(ArrayRef<std::string> Texts);

/// Writes the module in a form that the program can read.
Error writeModule(const Module &M, const ToolInfo &Tool, ScratchFile &File);

/// Returns an error for an intrinsic that an older LLVM does not know.
Error makeUnknownIntrinsic(const ToolInfo &Tool, StringRef Name);

/// Adds the versions to an error: different LLVM versions may not be able to
/// read each other's IR.
Error explainVersions(const ToolInfo &Tool, Error E);

/// Runs a program on a file that writeModule() has written. \returns what it
/// wrote to \p Out. \p Log receives what it printed, \p RemarksOut (may be
/// null) its remarks.
Expected<SmallVector<char, 0>>
runTool(const ToolInfo &Tool, const ToolTarget &Target,
        std::vector<std::string> Args, const ScratchFile &In,
        const ScratchFile &Out, std::string &Log, raw_ostream *RemarksOut);

/// Returns the option that skips nothing but prints the executions.
StringRef getWholeBisection();

bool isBisectionLine(StringRef Line);

/// Returns the executions that a program has printed, with their number there,
/// unit and occurrence.
std::vector<PassExecution> parseBisection(StringRef Log);

/// Returns PassListing::Unnumbered for a program that cannot number its
/// executions.
std::string describeUnnumbered(const ToolInfo &Tool);

/// The executions that a program is to run, by its own numbers.
class BisectionRanges {
public:
  /// Numbers must be added in ascending order.
  void add(unsigned Number);
  /// Adds all numbers from \p First.
  void addRest(unsigned First);
  bool endsWith(unsigned Number) const {
    return !Ranges.empty() && Ranges.back().second == Number;
  }
  /// Returns true if no execution is skipped.
  bool isWhole() const;
  /// Returns "-opt-bisect=1-40,57", or "-opt-bisect-limit=40" for a prefix.
  /// Fails with a PassSetError if the program's LLVM is too old for ranges.
  /// \param Last  number of the program's last execution.
  Expected<std::string> getOption(const ToolInfo &Tool, unsigned Last) const;

private:
  SmallVector<std::pair<unsigned, unsigned>, 16> Ranges;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_COMPILE_TOOLBISECTION_H
