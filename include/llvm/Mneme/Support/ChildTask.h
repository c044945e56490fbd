//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Work that may crash, hang or exhaust memory, such as reading damaged
/// bitcode, done in a forked process under limits. The caller gets a string or
/// an Error.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_CHILDTASK_H
#define LLVM_MNEME_SUPPORT_CHILDTASK_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace llvm {
namespace mneme {

/// What a child process may take. 0: no limit.
struct ChildLimits {
  double Seconds = 0; ///< Wall clock.
  /// Private memory, on top of what the process has when it starts.
  uint64_t Bytes = 0;
};

/// Writable private memory of this process, as RLIMIT_DATA counts it; 0 if that
/// is unknown.
uint64_t getDataBytes();

/// Limits the private memory of this process to \p Bytes more than it has. Does
/// nothing under AddressSanitizer, whose shadow memory exceeds any limit.
void limitMemory(uint64_t Bytes);

/// A child process that computes one string.
class ChildTask {
public:
  using WorkFn = function_ref<Expected<std::string>()>;

  /// Forks. \p Name is the subject of messages about the process: "the
  /// compiler". The work must take no lock that another thread of this process
  /// may hold.
  static Expected<ChildTask> start(StringRef Name, WorkFn Work,
                                   ChildLimits Limits = {});
  ChildTask(ChildTask &&Other) { *this = std::move(Other); }
  ChildTask &operator=(ChildTask &&Other);
  /// Kills the process if it still runs.
  ~ChildTask();

  /// Becomes readable when poll() has something to do.
  int fd() const { return Pipe; }
  /// Takes what the pipe holds without waiting. \returns true at the end of the
  /// result.
  bool poll();
  /// After poll() returned true. Error: the work's own, or how the process
  /// ended, with the last message it wrote to standard error.
  Expected<std::string> finish();
  uint64_t elapsedNanoseconds() const;

private:
  ChildTask() = default;
  std::string Name;
  ChildLimits Limits;
  pid_t Process = -1;
  int Pipe = -1;
  int Messages = -1; ///< Standard error of the child.
  std::string Result;
  std::chrono::steady_clock::time_point Start;
};

/// Starts a ChildTask and waits for its end.
Expected<std::string> runInChild(StringRef Name, ChildTask::WorkFn Work,
                                 ChildLimits Limits);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_CHILDTASK_H
