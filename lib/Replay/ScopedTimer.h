//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_SCOPEDTIMER_H
#define LLVM_MNEME_LIB_REPLAY_SCOPEDTIMER_H

#include "llvm/Mneme/Support/Clock.h"
#include <chrono>

namespace llvm {
namespace mneme {

/// Adds the duration of its scope to a sum.
class ScopedTimer {
public:
  explicit ScopedTimer(double &Sum)
      : Sum(Sum), Start(std::chrono::steady_clock::now()) {}
  ~ScopedTimer() { Sum += secondsSince(Start); }

private:
  double &Sum;
  std::chrono::steady_clock::time_point Start;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_SCOPEDTIMER_H
