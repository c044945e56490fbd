//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The clock of measured times.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_CLOCK_H
#define MNEME_LIB_RUNTIME_BASE_CLOCK_H

#include <cstdint>
#include <time.h>

namespace mneme {

/// Returns the nanoseconds of a clock.
inline uint64_t readClock(clockid_t Clock) {
  timespec T;
  clock_gettime(Clock, &T);
  return T.tv_sec * 1000000000ull + T.tv_nsec;
}

/// Returns a monotonic time in nanoseconds.
inline uint64_t now() { return readClock(CLOCK_MONOTONIC); }

/// Returns the nanoseconds for which CPUs have run threads of this process.
inline uint64_t cpuTime() { return readClock(CLOCK_PROCESS_CPUTIME_ID); }

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_CLOCK_H
