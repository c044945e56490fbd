//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <cstdlib>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static std::string errorOf(ChildTask::WorkFn Work, ChildLimits Limits = {}) {
  Expected<std::string> Result = runInChild("the reader", Work, Limits);
  return Result ? "no error" : toString(Result.takeError());
}

TEST(ChildTask, ReturnsItsResult) {
  EXPECT_THAT_EXPECTED(
      runInChild("the reader", [] { return std::string("result"); }, {}),
      HasValue("result"));
  EXPECT_THAT_EXPECTED(
      runInChild("the reader", [] { return std::string(); }, {}), HasValue(""));
  // More than a pipe holds.
  std::string Large(10 << 20, 'x');
  EXPECT_THAT_EXPECTED(runInChild("the reader", [&] { return Large; }, {}),
                       HasValue(Large));
}

TEST(ChildTask, ReturnsItsError) {
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              return createStringError("no such kernel");
            }),
            "no such kernel");
}

TEST(ChildTask, CrashIsAnError) {
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              // Sanitizers turn SIGSEGV into a message of theirs.
              ::raise(SIGILL);
              return std::string();
            }),
            "the reader died of signal 4 (Illegal instruction)");
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              report_fatal_error("cannot select: this");
            }),
            "the reader died of signal 6 (Aborted): cannot select: this");
  EXPECT_EQ(errorOf([]() -> Expected<std::string> { ::_exit(0); }),
            "the reader ended the process with exit code 0");
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              (void)!::write(STDERR_FILENO, "last words\n", 11);
              ::_exit(3);
            }),
            "the reader ended the process with exit code 3: last words");
}

TEST(ChildTask, TimeIsLimited) {
  EXPECT_EQ(errorOf(
                []() -> Expected<std::string> {
                  while (true)
                    ::pause();
                },
                {/*Seconds=*/0.01}),
            "the reader did not end within 0.01 s");
  // Even where the parent blocks and ignores the signal.
  struct sigaction Ignore = {}, Old;
  Ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGALRM, &Ignore, &Old), 0);
  sigset_t Alarm, Mask;
  sigemptyset(&Alarm);
  sigaddset(&Alarm, SIGALRM);
  ::sigprocmask(SIG_BLOCK, &Alarm, &Mask);
  EXPECT_EQ(errorOf(
                []() -> Expected<std::string> {
                  while (true)
                    ::pause();
                },
                {/*Seconds=*/0.01}),
            "the reader did not end within 0.01 s");
  ::sigprocmask(SIG_SETMASK, &Mask, nullptr);
  ::sigaction(SIGALRM, &Old, nullptr);
}

/// The first processor that this process may use.
static unsigned getCore() {
  cpu_set_t Cores;
  unsigned Core = 0;
  if (::sched_getaffinity(0, sizeof(Cores), &Cores) == 0)
    while (!CPU_ISSET(Core, &Cores))
      ++Core;
  return Core;
}

static Expected<std::string> spin(double Seconds) {
  auto Used = [] {
    timespec T;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &T);
    return T.tv_sec + T.tv_nsec * 1e-9;
  };
  for (double End = Used() + Seconds; Used() < End;)
    ;
  return "result";
}

TEST(ChildTask, LoadOfTheMachineDoesNotCount) {
  ChildLimits OnOneCore;
  OnOneCore.Cores = {getCore()};
  std::vector<ChildTask> Others;
  StarvationClock Starved(::getpid(), 1);
  for (int I = 0; I != 4; ++I) {
    Expected<ChildTask> T =
        ChildTask::start("the other", [] { return spin(1e9); }, OnOneCore);
    ASSERT_THAT_EXPECTED(T, Succeeded());
    Others.push_back(std::move(*T));
  }
  OnOneCore.Seconds = 0.4;
  EXPECT_THAT_EXPECTED(runInChild(
                           "the reader", [] { return spin(0.2); }, OnOneCore),
                       HasValue("result"));
  // Each of the others waited for the rest of them.
  EXPECT_GT(Starved.take(), 0.1);
}

TEST(ChildTask, MemoryIsLimited) {
  if (LLVM_ADDRESS_SANITIZER_BUILD)
    GTEST_SKIP() << "no limit is in force";
  constexpr size_t Size = size_t(1) << 30;
  auto Work = []() -> Expected<std::string> {
    // The optimizer must not take it away.
    volatile char *Bytes = new char[Size];
    Bytes[Size - 1] = 'x';
    return std::string(1, Bytes[Size - 1]);
  };
  EXPECT_EQ(errorOf(Work, {0, Size / 2}),
            "the reader needs more than 512 MiB of memory");
  EXPECT_EQ(errorOf(Work, {0, 2 * Size}), "no error");
}

TEST(ChildTask, EndsWithItsOwner) {
  // The child has no descriptor to report with.
  auto *Running = static_cast<volatile pid_t *>(
      ::mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(Running, MAP_FAILED);
  {
    Expected<ChildTask> T =
        ChildTask::start("the reader", [&]() -> Expected<std::string> {
          *Running = ::getpid();
          while (true)
            ::pause();
        });
    ASSERT_THAT_EXPECTED(T, Succeeded());
    ASSERT_TRUE(waitUntil([&] { return *Running != 0; }, 600));
    EXPECT_FALSE(T->poll());
    EXPECT_EQ(::kill(*Running, 0), 0);
  }
  EXPECT_EQ(::kill(*Running, 0), -1);
  ::munmap(const_cast<pid_t *>(Running), sizeof(pid_t));
}
