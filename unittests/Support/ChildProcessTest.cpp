//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/ChildProcess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// It may take so long on the slowest machine.
static constexpr double Forever = 600;

static pid_t start(function_ref<int()> Body) {
  pid_t Child = ::fork();
  if (Child == 0)
    ::_exit(Body());
  EXPECT_GT(Child, 0);
  return Child;
}

static pid_t startSleeper() {
  return start([] {
    while (true)
      ::pause();
    return 0;
  });
}

TEST(ChildProcess, ExitsAreDescribed) {
  pid_t Child = start([] { return 3; });
  EXPECT_EQ(describeExit(waitForChild(Child)),
            "ended the process with exit code 3");
  Child = startSleeper();
  ::kill(Child, SIGKILL);
  EXPECT_EQ(describeExit(waitForChild(Child)), "died of signal 9 (Killed)");
}

TEST(ChildProcess, WaitingHasALimit) {
  pid_t Child = startSleeper();
  EXPECT_EQ(waitForChild(Child, 0.01), std::nullopt);
  ::kill(Child, SIGKILL);
  std::optional<int> Status = waitForChild(Child, Forever);
  ASSERT_TRUE(Status);
  EXPECT_TRUE(WIFSIGNALED(*Status));
  // It is none now, which does not take forever to find out.
  EXPECT_EQ(waitForChild(Child, Forever), UnknownStatus);
  EXPECT_EQ(waitForChild(Child), UnknownStatus);
  EXPECT_EQ(describeExit(UnknownStatus), "ended, but how is not known");
}

TEST(ChildProcess, EndsAreKnownWhereTheyWereIgnored) {
  // It is inherited from a daemon.
  struct sigaction Ignore = {}, Old;
  Ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &Ignore, &Old), 0);
  EXPECT_EQ(waitForChild(start([] { return 3; })), UnknownStatus);
  expectChildren();
  pid_t Child = start([] { return 3; });
  EXPECT_EQ(describeExit(waitForChild(Child)),
            "ended the process with exit code 3");
  ::sigaction(SIGCHLD, &Old, nullptr);
}

static volatile sig_atomic_t NumSignals;

TEST(ChildProcess, SignalsDoNotEndTheWaiting) {
  struct sigaction Count = {}, Old;
  Count.sa_handler = [](int) { NumSignals = NumSignals + 1; };
  ASSERT_EQ(::sigaction(SIGUSR1, &Count, &Old), 0);
  for (bool IsLimited : {false, true}) {
    NumSignals = 0;
    pid_t Parent = ::getpid();
    pid_t Child = start([&] {
      for (int I = 0; I != 20; ++I) {
        ::kill(Parent, SIGUSR1);
        ::usleep(1000);
      }
      return 7;
    });
    int Status = IsLimited ? waitForChild(Child, Forever).value_or(-1)
                           : waitForChild(Child);
    EXPECT_TRUE(WIFEXITED(Status));
    EXPECT_EQ(WEXITSTATUS(Status), 7);
    EXPECT_GT(NumSignals, 0);
  }
  ::sigaction(SIGUSR1, &Old, nullptr);
}

TEST(ChildProcess, ItIsAskedUntilItIsOver) {
  int Asked = 0;
  EXPECT_TRUE(waitUntil([&] { return ++Asked == 4; }, Forever));
  EXPECT_EQ(Asked, 4);
  Asked = 0;
  EXPECT_FALSE(waitUntil([&] { return ++Asked == 0; }, 0));
  EXPECT_EQ(Asked, 1);
  EXPECT_TRUE(waitUntil([] { return true; }, 0));
}
