//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes, and --exit-code for llvm-reduce and git bisect run.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/Mneme/Reduce/Differential.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
enum class ExitCodes { Default, Interesting, Bisect };
} // namespace
static EnumOption<ExitCodes> ExitCode(
    "exit-code", cl::desc("Meaning of exit codes"),
    cl::init(ExitCodes::Default),
    cl::values(clEnumValN(ExitCodes::Default, "default",
                          "0 good, 2 bad, 3 undecided, 1 error (default)"),
               clEnumValN(ExitCodes::Interesting, "interesting",
                          "for llvm-reduce: 0 bad, 1 anything else"),
               clEnumValN(ExitCodes::Bisect, "bisect",
                          "for git bisect run: 0 good, 1 bad, 125 undecided")),
    cl::sub(cl::SubCommand::getTopLevel()), cl::sub(getCompareCommand()),
    cl::sub(getGuardCommand()), cl::cat(getCategory(OptionGroup::Comparison)));

int mneme::makeExitCode(Difference D) {
  switch (ExitCode) {
  case ExitCodes::Default:
    return D == Difference::None ? 0 : D == Difference::Present ? 2 : 3;
  case ExitCodes::Interesting:
    return D == Difference::Present ? 0 : 1;
  case ExitCodes::Bisect:
    return D == Difference::None ? 0 : D == Difference::Present ? 1 : 125;
  }
  llvm_unreachable("unknown meaning of exit codes");
}

int mneme::translateExitCode(int Code, Verdict V) {
  if (ExitCode == ExitCodes::Default)
    return Code;
  bool CannotTell = V == Verdict::CompileError || V == Verdict::Unsupported;
  return makeExitCode(Code == 0    ? Difference::None
                      : CannotTell ? Difference::Untestable
                                   : Difference::Present);
}

int mneme::getErrorExitCode(const Error &) {
  return ExitCode == ExitCodes::Bisect ? 125 : 1;
}
