//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A child process that exchanges lines of text with this process.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_LINEPROCESS_H
#define LLVM_MNEME_PROCESS_LINEPROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <string>

namespace llvm {
namespace mneme {

/// A shell command in its own process group. The lines are on its standard
/// input and output; its standard error is inherited.
class LineProcess {
public:
  /// \param Stop  Returns true to stop waiting for an answer; may be null.
  static Expected<std::unique_ptr<LineProcess>>
  start(StringRef Command, double Seconds,
        std::function<bool()> Stop = nullptr);
  /// Closes the input, waits for the exit for a short time, then kills the
  /// group.
  ~LineProcess();

  /// Errors: the program ended, or it does not read in time.
  Error send(StringRef Line);
  /// \returns a line without its newline. Errors: the program ended, no line
  /// came in time, or a line is longer than MaxLine.
  Expected<std::string> receive();

  static constexpr size_t MaxLine = 1 << 20;

private:
  LineProcess(Child Program, Descriptor In, Descriptor Out, double Seconds,
              std::function<bool()> Stop)
      : In(std::move(In)), Out(std::move(Out)), Program(std::move(Program)),
        Lines(this->Out.get(), MaxLine), Seconds(Seconds),
        Stop(std::move(Stop)) {}
  Descriptor In, Out;
  Child Program;
  LineReader Lines;
  double Seconds;     ///< Limit for reading a line and for an answer.
  std::function<bool()> Stop;
  bool Hangs = false; ///< Do not wait for the program to exit.

  bool isStopped() const { return Stop && Stop(); }
  Error explain(Error E, StringRef Verb);
  Error describeEnd();
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_LINEPROCESS_H
