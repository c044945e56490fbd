//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_TIME_H
#define LLVM_MNEME_LIB_FARM_TIME_H

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <string>

namespace llvm {
namespace mneme {

/// Seconds since the epoch.
inline double epochSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline double secondsSince(std::chrono::steady_clock::time_point T) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - T)
      .count();
}

inline std::chrono::steady_clock::time_point inSeconds(double S) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(S));
}

/// Seconds for a message: "0.5", "10".
inline std::string printSeconds(double S) {
  std::string Text;
  raw_string_ostream(Text) << format("%.4g", S);
  return Text;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_TIME_H
