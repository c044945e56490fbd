//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Command-line options of all tools that replay: devices, how to compile, how
/// to time and to judge.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_COMMANDFLAGS_H
#define LLVM_MNEME_REPLAY_COMMANDFLAGS_H

#include "llvm/Mneme/Replay/Plan.h"
#include <memory>

namespace llvm {
namespace cl {
class OptionCategory;
} // namespace cl
namespace mneme {

/// Make one before the command line is parsed; it registers the options.
class ReplayFlags {
public:
  explicit ReplayFlags(cl::OptionCategory &Category,
                       HostFinish DefaultFinish = HostFinish::O3);
  ~ReplayFlags();

  /// Sets what the user gave. Options of LLVM (-mllvm) take the place of those
  /// of that name in \p O. Error: a value that makes no sense.
  Error apply(ReplayOptions &O) const;
  /// A line "--name=value" each, given or not, of what changes results or
  /// times: of all but the device and where CUDA is.
  std::string describe() const;
  /// Was --host-finish given?
  bool hasHostFinish() const;
  /// --allow-programs: may files name programs and other files?
  bool allowsPrograms() const;

private:
  struct Options;
  std::unique_ptr<Options> O;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_COMMANDFLAGS_H
