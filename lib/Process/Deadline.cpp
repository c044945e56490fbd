//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>

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

StarvationClock::StarvationClock(pid_t Pid, double Limit)
    : Pid(Pid), Left(MaxExtension * Limit) {
  Start.Wall = steadySeconds();
  if (Pid)
    read(Pid, Last);
}

void StarvationClock::read(pid_t Pid, Times &T) {
  std::error_code EC;
  std::string Threads = formatv("/proc/{0}/task", Pid);
  for (sys::fs::directory_iterator I(Threads, EC), End; I != End && !EC;
       I.increment(EC)) {
    pid_t Thread;
    if (sys::path::filename(I->path()).getAsInteger(10, Thread))
      continue;
    T[Thread] = readThreadTimes((I->path() + "/schedstat").c_str());
    // The file has no size, so it cannot be mapped.
    if (FILE *F = ::fopen((I->path() + "/children").c_str(), "re")) {
      pid_t Descendant;
      while (::fscanf(F, "%d", &Descendant) == 1)
        read(Descendant, T);
      ::fclose(F);
    }
  }
}

double StarvationClock::take() {
  if (!Pid || Left <= 0)
    return 0;
  Times Now;
  read(Pid, Now);
  double Starved = 0;
  for (const auto &[Thread, T] : Now) {
    auto Before = Last.try_emplace(Thread, Start).first->second;
    Starved = std::max(Starved, getStarvation(Before, T));
  }
  Start.Wall = steadySeconds();
  Last = std::move(Now);
  Left -= Starved;
  return Starved;
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
