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

/// Returns a monotonic time in nanoseconds.
inline uint64_t now() {
  timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return T.tv_sec * 1000000000ull + T.tv_nsec;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_CLOCK_H
