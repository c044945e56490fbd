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

#ifndef LLVM_MNEME_LIB_SAMPLERS_LINEPROCESS_H
#define LLVM_MNEME_LIB_SAMPLERS_LINEPROCESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
namespace mneme {

/// A command of the shell in a process group of its own, with its standard
/// input and output. What it writes to standard error stays visible.
class LineProcess {
public:
  static Expected<std::unique_ptr<LineProcess>> start(StringRef Command,
                                                      double Seconds);
  /// Ends the input, waits a little, then kills the group.
  ~LineProcess();

  /// Errors: the program ended, it does not read in time.
  Error send(StringRef Line);
  /// Without the end of the line. Errors: the program ended, no line in time, a
  /// line that is longer than MaxLine.
  Expected<std::string> receive();

  static constexpr size_t MaxLine = 1 << 20;

private:
  LineProcess(Child Program, Descriptor In, Descriptor Out, double Seconds)
      : In(std::move(In)), Out(std::move(Out)), Program(std::move(Program)),
        Lines(this->Out.get(), MaxLine), Seconds(Seconds) {}
  Descriptor In, Out;
  Child Program;
  LineReader Lines;
  double Seconds;     ///< That it may take to read or to answer.
  bool Hangs = false; ///< There is no use in waiting for its end.

  Error explain(Error E, StringRef Verb);
  Error describeEnd();
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SAMPLERS_LINEPROCESS_H
