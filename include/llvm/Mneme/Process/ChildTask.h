//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs work that may crash, hang or exhaust memory, such as reading damaged
/// bitcode, in a forked process with limits. The caller gets a string or an
/// Error.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_CHILDTASK_H
#define LLVM_MNEME_PROCESS_CHILDTASK_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <cstdint>
#include <string>

namespace llvm {
namespace mneme {

/// A child process that computes one string.
class ChildTask {
public:
  using WorkFn = function_ref<Expected<std::string>()>;

  /// Forks a child that runs \p Work. \p Name is the subject of messages about
  /// the process, such as "the compiler". \p Work must not acquire locks that
  /// another thread of this process may hold.
  static Expected<ChildTask> start(StringRef Name, WorkFn Work,
                                   ChildLimits Limits = {}) {
    return startWith(Name, Work, std::move(Limits), {});
  }
  /// Likewise. The child keeps the descriptors \p Kept.
  static Expected<ChildTask> startWith(StringRef Name, WorkFn Work,
                                       ChildLimits Limits, ArrayRef<int> Kept);

  /// Returns a file descriptor that becomes readable when poll() can progress.
  int fd() const { return Answer.get(); }
  /// Reads available data from the pipe without blocking. \returns true at the
  /// end of the result.
  bool poll();
  /// Returns the result, after poll() has returned true. Errors are those of
  /// the work, or describe how the process ended, with its last message to
  /// standard error.
  Expected<std::string> finish();
  /// Waits for the end, and returns the result like finish().
  Expected<std::string> wait();
  uint64_t elapsedNanoseconds() const;

private:
  ChildTask(StringRef Name, ChildLimits Limits, Child Process,
            Descriptor Answer, Descriptor Messages);
  std::string Name;
  ChildLimits Limits;
  Descriptor Answer;
  Descriptor Messages; ///< Standard error of the child.
  Child Process;
  std::string Result;
  std::chrono::steady_clock::time_point Start;
};

/// Runs a ChildTask and waits for its result.
Expected<std::string> runInChild(StringRef Name, ChildTask::WorkFn Work,
                                 ChildLimits Limits);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_CHILDTASK_H
