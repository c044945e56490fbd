//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program that is spoken with in lines.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TUNE_SAMPLERS_LINEPROCESS_H
#define LLVM_MNEME_LIB_TUNE_SAMPLERS_LINEPROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <string>
#include <sys/types.h>

namespace llvm {
namespace mneme {

/// A command of the shell in a process group of its own, with its standard
/// input and output. What it writes to standard error stays visible.
class LineProcess {
public:
  static Expected<std::unique_ptr<LineProcess>>
  start(StringRef Command, std::chrono::milliseconds Timeout);
  /// Ends the input, waits a little, then kills the group.
  ~LineProcess();

  /// Errors: the program ended, it does not read in time.
  Error send(StringRef Line);
  /// Without the end of the line. Errors: the program ended, no line in time, a
  /// line that is longer than MaxLine.
  Expected<std::string> receive();

  static constexpr size_t MaxLine = 1 << 20;

private:
  LineProcess(pid_t Process, int In, int Out, std::chrono::milliseconds Timeout)
      : Process(Process), In(In), Out(Out), Timeout(Timeout) {}
  pid_t Process; ///< 0: it ended and was waited for.
  int In, Out;
  std::chrono::milliseconds Timeout;
  bool Hangs = false; ///< There is no use in waiting for its end.
  std::string Buffer; ///< Read, but not handed out yet.

  Error waitFor(int File, short Events,
                std::chrono::steady_clock::time_point Until);
  Error describeEnd();
  bool hasEnded() const;
  bool reap(std::chrono::milliseconds Patience, int &Status);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TUNE_SAMPLERS_LINEPROCESS_H
