//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/ChildProcess.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

static bool IgnoresChildren = false;

void mneme::expectChildren() {
  IgnoresChildren = ::signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

void mneme::restoreChildSignals() {
  if (IgnoresChildren)
    ::signal(SIGCHLD, SIG_IGN);
}

std::string mneme::describeExit(int Status) {
  if (Status == UnknownStatus)
    return "ended, but how is not known";
  if (WIFSIGNALED(Status))
    return formatv("died of signal {0} ({1})", WTERMSIG(Status),
                   ::strsignal(WTERMSIG(Status)))
        .str();
  return formatv("ended the process with exit code {0}",
                 WIFEXITED(Status) ? WEXITSTATUS(Status) : -1)
      .str();
}

int mneme::waitForChild(pid_t Child) {
  int Status = 0;
  pid_t Ended = sys::RetryAfterSignal(-1, ::waitpid, Child, &Status, 0);
  return Ended == Child ? Status : UnknownStatus;
}

std::optional<int> mneme::waitForChild(pid_t Child, double Seconds) {
  int Status = 0;
  pid_t Ended = 0;
  waitUntil(
      [&] {
        Ended = sys::RetryAfterSignal(-1, ::waitpid, Child, &Status, WNOHANG);
        return Ended != 0;
      },
      Seconds);
  if (Ended == 0)
    return std::nullopt;
  return Ended == Child ? Status : UnknownStatus;
}

bool mneme::waitUntil(function_ref<bool()> IsOver, double Seconds) {
  auto Deadline =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(Seconds);
  std::chrono::microseconds Pause(20);
  while (!IsOver()) {
    if (std::chrono::steady_clock::now() >= Deadline)
      return false;
    std::this_thread::sleep_for(Pause);
    Pause = std::min(Pause * 2, std::chrono::microseconds(2000));
  }
  return true;
}
