//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Time stamps, durations and time limits, in seconds.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_CLOCK_H
#define LLVM_MNEME_SUPPORT_CLOCK_H

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <string>

namespace llvm {
namespace mneme {

/// Returns the seconds since the epoch, for time stamps.
inline double epochSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns the seconds of a monotonic clock, for durations and time limits.
inline double steadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Returns the seconds that have passed since \p T.
inline double secondsSince(std::chrono::steady_clock::time_point T) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - T)
      .count();
}

/// Returns the time \p S seconds from now.
inline std::chrono::steady_clock::time_point inSeconds(double S) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(S));
}

/// Returns seconds as text for a message: "0.5", "10".
inline std::string printSeconds(double S) {
  std::string Text;
  raw_string_ostream(Text) << format("%.4g", S);
  return Text;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_CLOCK_H
