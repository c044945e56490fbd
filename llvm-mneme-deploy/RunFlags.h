//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The options of the subcommands that run an application with packages.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TOOLS_DEPLOY_RUNFLAGS_H
#define LLVM_MNEME_TOOLS_DEPLOY_RUNFLAGS_H

#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Process/ToolMain.h"
#include "llvm/Support/CommandLine.h"

namespace llvm {
namespace mneme {

class RunFlags {
public:
  explicit RunFlags(cl::SubCommand &Command);

  struct Values {
    std::vector<std::string> Packages; ///< Absolute paths, at least one.
    std::vector<std::string> Command;  ///< Not empty.
    ServeSettings Serve;
    LaunchDevice Device;
  };
  /// Checks the options.
  Expected<Values> read(ToolArgs Args) const;

private:
  cl::list<std::string> Words;
  EnumOption<LaunchDevice> Device;
  cl::opt<std::string> Scope, LaunchShape, Code, DeviceMatch;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_DEPLOY_RUNFLAGS_H
