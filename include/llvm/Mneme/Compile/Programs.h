//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Running other programs on files that go away.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PROGRAMS_H
#define LLVM_MNEME_COMPILE_PROGRAMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// A temporary file that goes away with its scope. Its folder is its own: a
/// program may replace the file, but not the lock that says it is in use.
struct ScratchFile {
  SmallString<128> Path;
  PrivateFolder Folder;

  ScratchFile() = default;
  ~ScratchFile();
  static Error create(StringRef Suffix, ScratchFile &F,
                      StringRef Contents = "");
  /// All that is in it by now.
  Expected<SmallVector<char, 0>> read() const;
};

/// Runs \p Args, whose first is the program's file, with an empty standard
/// input, in a process group of its own that does not outlive this process or
/// the time limit. The scratch files of this thread do not either, however this
/// process ends.
/// \param Log      what it prints.
/// \param Seconds  it may take so long; 0: forever.
/// \returns an Error with the program's own words when it fails, a ToolTimeout
/// (ExternalTools.h) when it does not end.
Error runProgram(ArrayRef<StringRef> Args, std::string &Log,
                 double Seconds = 0);

/// The same where an exit code is an answer: what is printed as an error is
/// dropped.
/// \returns the exit code; unset: a signal ended it.
Expected<std::optional<int>> askProgram(ArrayRef<StringRef> Args,
                                        std::string &Output,
                                        double Seconds = 0);

/// While it lives, hears of each program that this thread begins to run, just
/// before it does: each has a time limit of its own.
class ProgramObserver {
public:
  explicit ProgramObserver(std::function<void()> Begins);
  ~ProgramObserver();
  ProgramObserver(const ProgramObserver &) = delete;
  ProgramObserver &operator=(const ProgramObserver &) = delete;

private:
  std::function<void()> Begins;
  const std::function<void()> *Outer;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PROGRAMS_H
