//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Deadlines of waiting callers.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_DEADLINE_H
#define LLVM_MNEME_PROCESS_DEADLINE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Runtime/ThreadTimes.h"
#include <chrono>
#include <map>
#include <optional>
#include <sys/types.h>

namespace llvm {
namespace mneme {

class Deadline {
public:
  /// Never passes.
  Deadline() = default;
  /// Passes in \p Seconds.
  static Deadline after(double Seconds);
  /// Passes in \p Seconds; never, if that is not positive, as in the options of
  /// the tools.
  static Deadline ofLimit(double Seconds) {
    return Seconds > 0 ? after(Seconds) : Deadline();
  }

  bool hasPassed() const;
  /// Returns the remaining milliseconds, rounded up, or -1 if the deadline
  /// never passes, as poll() expects.
  int milliseconds() const;

private:
  std::optional<std::chrono::steady_clock::time_point> End;
};

/// Measures how long a process is ready to run but has no processor, so that a
/// time limit depends on its work and not on the load of the machine.
class StarvationClock {
public:
  /// Measures nothing.
  StarvationClock() = default;
  /// Starts now, for the threads of a process and of its descendants, and for
  /// a limit of \p Limit seconds.
  StarvationClock(pid_t Pid, double Limit);

  /// Returns the seconds since the start or the last call, of the thread that
  /// waited longest. 0 if they are too few for the limit to be extended, or it
  /// was extended too often.
  double take();

private:
  using Times = std::map<pid_t, ThreadTimes>;
  pid_t Pid = 0;
  double Left = 0;   ///< What the limit can still be extended by.
  ThreadTimes Start; ///< Of a thread that did not exist then.
  Times Last;

  static void read(pid_t Pid, Times &T);
};

/// Calls \p IsOver, at least once, until it returns true or \p Seconds have
/// passed. The pauses between calls grow to a few milliseconds. \returns its
/// last result.
bool waitUntil(function_ref<bool()> IsOver, double Seconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_DEADLINE_H
