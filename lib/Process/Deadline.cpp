//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstdio>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using Clock = std::chrono::steady_clock;

Deadline Deadline::after(double Seconds) {
  constexpr double Longest = 1e9; // avoids overflow of the clock's type
  Deadline D;
  D.End = inSeconds(std::min(Seconds, Longest));
  return D;
}

bool Deadline::hasPassed() const { return End && Clock::now() >= *End; }

int Deadline::milliseconds() const {
  if (!End)
    return -1;
  auto Left =
      std::chrono::ceil<std::chrono::milliseconds>(*End - Clock::now()).count();
  return std::clamp<int64_t>(Left, 0, 1 << 30);
}

StarvationClock::Account StarvationClock::read() const {
  Account A;
  A.Wall = steadySeconds();
  unsigned long long Running, Waiting;
  // The file has no size, so it cannot be mapped.
  FILE *F =
      Pid ? ::fopen(formatv("/proc/{0}/schedstat", Pid).str().c_str(), "re")
          : nullptr;
  if (!F)
    return A;
  if (::fscanf(F, "%llu %llu", &Running, &Waiting) == 2) {
    A.Running = Running * 1e-9;
    A.Waiting = Waiting * 1e-9;
  }
  ::fclose(F);
  return A;
}

double StarvationClock::take() {
  Account Now = read();
  // A limited share of a processor may be counted more than once.
  double Starved =
      std::min(Now.Waiting - Last.Waiting,
               Now.Wall - Last.Wall - (Now.Running - Last.Running));
  Last = Now;
  return std::max(Starved, 0.0);
}

bool mneme::waitUntil(function_ref<bool()> IsOver, double Seconds) {
  Deadline End = Deadline::after(Seconds);
  std::chrono::microseconds Pause(20);
  while (!IsOver()) {
    if (End.hasPassed())
      return false;
    std::this_thread::sleep_for(Pause);
    Pause = std::min(Pause * 2, std::chrono::microseconds(2000));
  }
  return true;
}
