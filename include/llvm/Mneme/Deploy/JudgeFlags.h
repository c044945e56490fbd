//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The command-line options of tools that let the application judge.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_JUDGEFLAGS_H
#define LLVM_MNEME_DEPLOY_JUDGEFLAGS_H

#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Replay/Plan.h"
#include <optional>

namespace llvm {
namespace cl {
class OptionCategory;
class SubCommand;
} // namespace cl
namespace mneme {

/// Registers --judge-by, --check, --ignore-lines, --output-file and
/// --app-timeout. Create it before parsing the command line.
class JudgeFlags {
public:
  JudgeFlags(cl::SubCommand &Command, cl::OptionCategory &Category);
  ~JudgeFlags();

  /// With --judge-by=app or \p Other, an option without a value, removes "--" and
  /// all words after it, which are the application's. Call it before parsing the
  /// command line.
  void takeCommand(SmallVectorImpl<const char *> &Arguments,
                   StringRef Other = "");

  /// Returns the application; none if memory is compared. Fails if an option
  /// has no meaning without the others, or \p R compares within tolerances.
  Expected<std::optional<ApplicationOptions>> read(const ReplayOptions &R,
                                                   const char *Argv0) const;
  /// Returns the application after "--", whether it judges or not; none if there
  /// is no command.
  Expected<std::optional<ApplicationOptions>>
  readApplication(const ReplayOptions &R, const char *Argv0) const;

private:
  struct Options;
  std::unique_ptr<Options> O;
  std::vector<std::string> Command;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_JUDGEFLAGS_H
