//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs other programs on temporary files.
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

/// A temporary file in a folder of its own, deleted at the end of its scope. A
/// program may replace the file, but not the lock that marks it as in use.
struct ScratchFile {
  SmallString<128> Path;
  PrivateFolder Folder;

  ScratchFile() = default;
  ~ScratchFile();
  /// Creates the file with \p Contents; its name ends in \p Suffix.
  static Error create(StringRef Suffix, ScratchFile &F,
                      StringRef Contents = "");
  /// Returns the current contents.
  Expected<SmallVector<char, 0>> read() const;
};

/// Runs \p Args, with the program file first, and with the file \p In as
/// standard input; without one, it is empty.
/// Its process group is killed when this process ends or the time limit
/// expires. The scratch files of this thread are then deleted, too.
/// \param Log      receives the output.
/// \param Seconds  the time limit; 0: none.
/// \returns an Error with the program's message if it fails, or a ToolTimeout
/// (ExternalTools.h) on timeout.
Error runProgram(ArrayRef<StringRef> Args, std::string &Log, double Seconds = 0,
                 StringRef In = "");
/// The same with the file that receives the output, which another thread may
/// read meanwhile.
Error runProgram(ArrayRef<StringRef> Args, ScratchFile &Out, std::string &Log,
                 double Seconds, StringRef In = "");

/// Runs a program whose exit code is a result. Discards its standard error.
/// \returns the exit code; unset if a signal killed the program.
Expected<std::optional<int>> askProgram(ArrayRef<StringRef> Args,
                                        std::string &Output,
                                        double Seconds = 0);

/// During its lifetime, calls Begins immediately before this thread starts a
/// program, because each program has its own time limit.
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

/// Calls this thread's observer for a program that another process starts.
void observeProgram();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PROGRAMS_H
