//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How long a thread ran and how long it waited for a processor. Time limits
/// that subtract the waiting depend on the work and not on the load of the
/// machine.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_THREADTIMES_H
#define LLVM_MNEME_RUNTIME_THREADTIMES_H

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace llvm {
namespace mneme {

/// Seconds, by the scheduler's account.
struct ThreadTimes {
  double Running = 0;
  double Waiting = 0; ///< Ready to run, but without a processor.
  double Wall = 0;    ///< Of a monotonic clock.
};

/// Reads a file such as /proc/self/task/1/schedstat. Async-signal-safe.
/// \returns zeros but for the clock if it cannot be read.
inline ThreadTimes
readThreadTimes(const char *Path = "/proc/thread-self/schedstat") {
  ThreadTimes T;
  timespec Now;
  clock_gettime(CLOCK_MONOTONIC, &Now);
  T.Wall = Now.tv_sec + Now.tv_nsec * 1e-9;
  int FD = open(Path, O_RDONLY | O_CLOEXEC);
  if (FD < 0)
    return T;
  char Text[64]; // Two numbers of at most 20 digits come first.
  ssize_t Size = read(FD, Text, sizeof(Text));
  close(FD);
  double *Next = &T.Running;
  for (ssize_t I = 0; I < Size; ++I)
    if (Text[I] >= '0' && Text[I] <= '9')
      *Next = *Next * 10 + (Text[I] - '0') * 1e-9;
    else if (Next == &T.Running)
      Next = &T.Waiting;
    else
      break;
  return T;
}

/// A time limit is extended up to this multiple: threads that only wait for one
/// another must end, too.
inline constexpr double MaxExtension = 10;

/// Returns the seconds of waiting between two readings; 0 if they are too few
/// for a time limit to be extended.
inline double getStarvation(const ThreadTimes &From, const ThreadTimes &To) {
  constexpr double Least = 0.1;
  double Waiting = To.Waiting - From.Waiting;
  // A limited share of a processor may be counted more than once.
  double Idle = To.Wall - From.Wall - (To.Running - From.Running);
  double Starved = Waiting < Idle ? Waiting : Idle;
  return Starved < Least ? 0 : Starved;
}

/// Extends a time limit of the calling thread by the time during which the
/// thread had no processor.
class ThreadExtension {
public:
  /// For no limit.
  ThreadExtension() = default;
  /// Starts now, for a limit of \p Limit seconds.
  explicit ThreadExtension(double Limit)
      : Left(MaxExtension * Limit), Last(readThreadTimes()) {}

  /// Returns the seconds by which the limit is extended, since the start or the
  /// last call; 0 if it is not. Async-signal-safe.
  double take() {
    if (Left <= 0)
      return 0;
    ThreadTimes Now = readThreadTimes();
    double More = getStarvation(Last, Now);
    Last = Now;
    Left -= More;
    return More;
  }

private:
  double Left = 0; ///< What the limit can still be extended by.
  ThreadTimes Last;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RUNTIME_THREADTIMES_H
