//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Child.h"
#include "Waiting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;
using unittest::TempDir;

static Child start(function_ref<void()> Body,
                   const ChildOptions &O = ChildOptions()) {
  return cantFail(Child::fork(Body, O));
}

static void sleepForever() {
  while (true)
    ::pause();
}

/// A command of the shell whose standard output is \p Out.
static Child startShell(StringRef Command, const Pipe &Out,
                        ChildOptions O = ChildOptions()) {
  O.Out = Out.Write.get();
  return cantFail(Child::spawn("/bin/sh", {"/bin/sh", "-c", Command.str()}, O));
}

/// The number that \p FD delivers in a line.
static pid_t readPid(int FD) {
  pid_t Pid = 0;
  EXPECT_TRUE(to_integer(cantFail(LineReader(FD).next()), Pid));
  return Pid;
}

/// A process that nobody has waited for has ended, too.
static bool isRunning(pid_t Pid) {
  auto Stat = MemoryBuffer::getFileAsStream("/proc/" + Twine(Pid) + "/stat");
  if (!Stat)
    return false;
  StringRef State = (*Stat)->getBuffer().rsplit(") ").second;
  return !State.starts_with("Z") && !State.starts_with("X");
}

static bool ends(pid_t Pid) {
  return waitUntil([&] { return !isRunning(Pid); }, Forever);
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

TEST(Child, ExitsAreDescribed) {
  Child C = start([] { ::_exit(3); });
  EXPECT_EQ(describeExit(C.wait()), "ended the process with exit code 3");
  C = start(sleepForever);
  C.kill();
  EXPECT_EQ(describeExit(C.wait()), "died of signal 9 (Killed)");
  EXPECT_EQ(start([] {}).wait(), 0);
}

TEST(Child, WaitingHasALimit) {
  Child C = start(sleepForever);
  EXPECT_FALSE(C.wait(0.01));
  EXPECT_FALSE(C.hasEnded());
  C.kill();
  ASSERT_TRUE(C.wait(Forever));
  EXPECT_TRUE(WIFSIGNALED(C.status()));
  // It does not take forever to find out again.
  EXPECT_TRUE(C.wait(Forever));
  EXPECT_EQ(C.wait(), C.status());
}

TEST(Child, EndsAreKnownWhereTheyWereIgnored) {
  // It is inherited from a daemon.
  struct sigaction Ignore = {}, Old;
  Ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &Ignore, &Old), 0);
  Child C = start([] { ::_exit(3); });
  EXPECT_EQ(C.wait(), UnknownStatus);
  EXPECT_EQ(describeExit(UnknownStatus), "ended in an unknown way");
  prepareSignals();
  C = start([] { ::_exit(3); });
  EXPECT_EQ(describeExit(C.wait()), "ended the process with exit code 3");
  ::sigaction(SIGCHLD, &Old, nullptr);
}

static volatile sig_atomic_t NumSignals;

TEST(Child, SignalsDoNotEndTheWaiting) {
  struct sigaction Count = {}, Old;
  Count.sa_handler = [](int) { NumSignals = NumSignals + 1; };
  ASSERT_EQ(::sigaction(SIGUSR1, &Count, &Old), 0);
  for (bool IsLimited : {false, true}) {
    NumSignals = 0;
    pid_t Parent = ::getpid();
    Child C = start([&] {
      for (int I = 0; I != 20; ++I) {
        ::kill(Parent, SIGUSR1);
        ::usleep(1000);
      }
      ::_exit(7);
    });
    if (IsLimited)
      EXPECT_TRUE(C.wait(Forever));
    int Status = C.wait();
    EXPECT_TRUE(WIFEXITED(Status));
    EXPECT_EQ(WEXITSTATUS(Status), 7);
    EXPECT_GT(NumSignals, 0);
  }
  ::sigaction(SIGUSR1, &Old, nullptr);
}

TEST(Child, DestructorLeavesNoZombie) {
  pid_t Pid;
  {
    Child C = start(sleepForever);
    Pid = C.pid();
    Child Moved = std::move(C);
    EXPECT_TRUE(isRunning(Pid));
  }
  EXPECT_EQ(::kill(Pid, 0), -1);
}

TEST(Child, LastWords) {
  EXPECT_EQ(findLastWords("").Text, "");
  EXPECT_EQ(findLastWords("a\nb\n").Text, "b");
  EXPECT_EQ(findLastWords("a\nLLVM ERROR: cannot select\n #0 main\n").Text,
            "cannot select");
  EXPECT_EQ(findLastWords("f.cpp:1: f(): Assertion `X' failed.\n#0\n").Text,
            "f.cpp:1: f(): Assertion `X' failed.");
  EXPECT_EQ(findLastWords("==1==ERROR: AddressSanitizer: SEGV\n #0 f").Text,
            "==1==ERROR: AddressSanitizer: SEGV");
  EXPECT_TRUE(findLastWords("LLVM ERROR: out of memory\n").IsOutOfMemory);
  EXPECT_TRUE(findLastWords("what():  std::bad_alloc\nx\n").IsOutOfMemory);
  EXPECT_FALSE(findLastWords("a\n").IsOutOfMemory);
}

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

TEST(Child, FunctionHasOnlyItsDescriptors) {
  // Further ones, before and behind the one that it keeps.
  Descriptor First(::open("/dev/null", O_RDONLY));
  Pipe Answer = cantFail(Pipe::create());
  Descriptor Last(::open("/dev/null", O_RDONLY));
  int FD = Answer.Write.get();
  ChildOptions O;
  O.Kept = {FD};
  Child C = start(
      [&] {
        for (int I = 0; I != 1024; ++I)
          if (::fcntl(I, F_GETFD) >= 0)
            cantFail(writeAll(FD, std::to_string(I) + " "));
      },
      O);
  Answer.Write.reset();
  EXPECT_EQ(readToEnd(Answer.Read.get()), "0 1 2 " + std::to_string(FD) + " ");
  EXPECT_EQ(C.wait(), 0);
}

TEST(Child, ProgramHasOnlyItsStreams) {
  Descriptor Other(::open("/dev/null", O_RDONLY)); // not closed by exec
  Pipe Out = cantFail(Pipe::create());
  std::string Command;
  for (int FD = 0; FD <= Other.get(); ++FD)
    Command += formatv("test ! -e /proc/$$/fd/{0} || echo {0}\n", FD);
  Child C = startShell(Command + "exit 0", Out);
  Out.Write.reset();
  EXPECT_EQ(readToEnd(Out.Read.get()), "0\n1\n2\n");
  EXPECT_EQ(C.wait(), 0);
}

TEST(Child, StreamsGoWhereTheyAreToGo) {
  Pipe In = cantFail(Pipe::create()), Out = cantFail(Pipe::create()),
       Err = cantFail(Pipe::create());
  ChildOptions O;
  O.In = In.Read.get();
  O.Err = Err.Write.get();
  O.Environment = {{"MNEME_A", "a b"}, {"MNEME_B", ""}};
  ::setenv("MNEME_B", "old", 1);
  ::setenv("MNEME_C", "c", 1);
  Child C =
      startShell("read line; echo $line; echo \"$MNEME_A/$MNEME_B/$MNEME_C\" "
                 ">&2",
                 Out, O);
  Out.Write.reset();
  Err.Write.reset();
  cantFail(writeAll(In.Write.get(), "a line\n"));
  EXPECT_EQ(readToEnd(Out.Read.get()), "a line\n");
  EXPECT_EQ(readToEnd(Err.Read.get()), "a b//c\n");
  // Without any: no end of a terminal.
  Pipe Nothing = cantFail(Pipe::create());
  C = startShell("cat; echo end", Nothing);
  Nothing.Write.reset();
  EXPECT_EQ(readToEnd(Nothing.Read.get()), "end\n");
}

TEST(Child, SignalsAreReset) {
  struct sigaction Ignore = {}, Old;
  Ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGTERM, &Ignore, &Old), 0);
  sigset_t Terminate, Before;
  sigemptyset(&Terminate);
  sigaddset(&Terminate, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &Terminate, &Before);
  Pipe Out = cantFail(Pipe::create());
  Child Function = start(sleepForever);
  Child Program = startShell("echo $$; exec sleep 1000", Out);
  EXPECT_EQ(readPid(Out.Read.get()), Program.pid());
  ::pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  ::sigaction(SIGTERM, &Old, nullptr);
  for (Child *C : {&Function, &Program}) {
    C->signal(SIGTERM);
    EXPECT_EQ(describeExit(C->wait()), "died of signal 15 (Terminated)");
  }
}

TEST(Child, MissingProgramIsAnError) {
  Expected<Child> C = Child::spawn("/no/such", {"/no/such"}, ChildOptions());
  EXPECT_THAT_EXPECTED(C, FailedWithMessage("cannot run '/no/such': No such "
                                            "file or directory"));
  ChildOptions O;
  O.IsUsers = true;
  C = Child::spawn("/", {"/"}, O);
  EXPECT_EQ(errorToErrorCode(C.takeError()), std::errc::permission_denied);
}

TEST(Child, Limits) {
  ChildOptions O;
  O.Limits.ProcessorSeconds = 1;
  Child C = start(
      [] {
        for (volatile unsigned I = 0;; I = I + 1)
          ;
      },
      O);
  EXPECT_EQ(describeExit(C.wait()),
            "died of signal 24 (CPU time limit exceeded)");

  TempDir Dir("limits", /*Unique=*/true);
  std::string Path(Dir.path("file"));
  O = ChildOptions();
  O.Limits.FileBytes = 1000;
  C = start(
      [&] {
        Descriptor File(::open(Path.c_str(), O_WRONLY | O_CREAT, 0600));
        std::string Text(1001, 'x');
        for (int I = 0; I != 2; ++I)
          consumeError(writeAll(File.get(), Text));
      },
      O);
  EXPECT_EQ(describeExit(C.wait()),
            "died of signal 25 (File size limit exceeded)");
  uint64_t Size;
  ASSERT_FALSE(sys::fs::file_size(Path, Size));
  EXPECT_EQ(Size, 1000u);

  for (bool ShowsCrash : {false, true}) {
    rlimit Core;
    ASSERT_EQ(::getrlimit(RLIMIT_CORE, &Core), 0);
    O = ChildOptions();
    O.ShowsCrash = ShowsCrash;
    C = start(
        [&] {
          rlimit Own;
          ::getrlimit(RLIMIT_CORE, &Own);
          ::_exit(Own.rlim_cur == (ShowsCrash ? Core.rlim_cur : 0));
        },
        O);
    EXPECT_EQ(WEXITSTATUS(C.wait()), 1);
  }

  O = ChildOptions();
  O.Limits.Nice = 3;
  int Nice = ::nice(0);
  // An exit code is not negative.
  C = start([] { ::_exit(::nice(0) + 20); }, O);
  EXPECT_EQ(WEXITSTATUS(C.wait()), std::min(Nice + 3, 19) + 20);
}

TEST(Child, ProgramsHaveLimits) {
  ChildOptions O;
  O.Limits.Seconds = 0.01;
  Pipe Out = cantFail(Pipe::create());
  Child C = startShell("exec sleep 1000", Out, O);
  EXPECT_EQ(describeExit(C.wait()), "died of signal 14 (Alarm clock)");
}

//===----------------------------------------------------------------------===//
// Groups and orphans
//===----------------------------------------------------------------------===//

TEST(Child, ItsChildrenAreKilledWithIt) {
  Pipe Out = cantFail(Pipe::create());
  Child C = startShell("sleep 1000 & echo $!; wait", Out);
  pid_t Sleeper = readPid(Out.Read.get());
  EXPECT_TRUE(isRunning(Sleeper));
  C.kill();
  C.wait();
  EXPECT_TRUE(ends(Sleeper));
}

TEST(Child, ItsEndIsThatOfItsChildren) {
  Pipe Out = cantFail(Pipe::create());
  Child C = startShell("sleep 1000 & echo $!", Out);
  pid_t Sleeper = readPid(Out.Read.get());
  EXPECT_EQ(C.wait(), 0);
  EXPECT_TRUE(ends(Sleeper));
}

/// A tool that runs \p Main. Once \p Check has returned it is killed, and its
/// group is not.
static void killAfter(function_ref<void()> Main, function_ref<void()> Check) {
  pid_t Tool = ::fork();
  ASSERT_GE(Tool, 0);
  if (Tool == 0) {
    Main();
    sleepForever();
  }
  Check();
  ::kill(Tool, SIGKILL);
  ::waitpid(Tool, nullptr, 0);
}

TEST(Child, FunctionDiesWithItsParent) {
  Pipe Out = cantFail(Pipe::create());
  int FD = Out.Write.get();
  std::optional<Child> Running;
  pid_t Pid = 0;
  killAfter(
      [&] {
        Running = start(sleepForever);
        cantFail(writeAll(FD, std::to_string(Running->pid()) + "\n"));
      },
      [&] { EXPECT_TRUE(isRunning(Pid = readPid(Out.Read.get()))); });
  EXPECT_TRUE(ends(Pid));
}

TEST(Child, ProgramsChildrenDieWithTheTool) {
  Pipe Out = cantFail(Pipe::create());
  TempDir Dir("orphans", /*Unique=*/true);
  std::string Path(Dir.path("file"));
  ASSERT_THAT_ERROR(writeFileAtomically(Path, "x"), Succeeded());
  pid_t Pid = 0;
  auto CleanUp = [&] { ::unlink(Path.c_str()); };
  std::optional<Child> Running;
  killAfter(
      [&] {
        ChildOptions O;
        O.CleanUp = CleanUp;
        Running =
            startShell("trap '' TERM; sleep 1000 & echo $!; wait", Out, O);
      },
      [&] { EXPECT_TRUE(isRunning(Pid = readPid(Out.Read.get()))); });
  EXPECT_TRUE(ends(Pid));
  EXPECT_TRUE(waitUntil([&] { return !sys::fs::exists(Path); }, Forever));
}

TEST(Child, ProgramMayEndWithinItsGrace) {
  Pipe Out = cantFail(Pipe::create());
  TempDir Dir("grace", /*Unique=*/true);
  std::string Path(Dir.path("file"));
  pid_t Pid = 0;
  std::optional<Child> Running;
  killAfter(
      [&] {
        Pipe In = cantFail(Pipe::create());
        ChildOptions O;
        O.In = In.Read.get();
        O.Grace = Forever;
        Running = startShell("echo $$; cat; echo done > " + Path, Out, O);
        In.Write.release(); // open until the death
      },
      [&] { EXPECT_TRUE(isRunning(Pid = readPid(Out.Read.get()))); });
  EXPECT_TRUE(ends(Pid));
  EXPECT_TRUE(sys::fs::exists(Path));
}

TEST(Child, ProgramThatDoesNotEndIsKilledAfterItsGrace) {
  Pipe Out = cantFail(Pipe::create());
  pid_t Pid = 0;
  std::optional<Child> Running;
  killAfter(
      [&] {
        ChildOptions O;
        O.OwnSession = true;
        O.Grace = 0.05;
        Running = startShell("trap '' TERM HUP; echo $$; while :; do sleep 1; "
                             "done",
                             Out, O);
      },
      [&] { EXPECT_TRUE(isRunning(Pid = readPid(Out.Read.get()))); });
  EXPECT_TRUE(ends(Pid));
}

TEST(Child, UsersProgramOutlivesItsParent) {
  TempDir Dir("users", /*Unique=*/true);
  std::string Begun(Dir.path("begun")), Go(Dir.path("go")),
      Ended(Dir.path("ended"));
  auto Appears = [](const std::string &Path) {
    return waitUntil([&] { return sys::fs::exists(Path); }, Forever);
  };
  std::optional<Child> Running;
  killAfter(
      [&] {
        ChildOptions O;
        O.IsUsers = true;
        sigemptyset(&O.Mask);
        std::string Command = "touch " + Begun + "; until test -e " + Go +
                              "; do sleep 0.01; done; touch " + Ended;
        Running =
            cantFail(Child::spawn("/bin/sh", {"/bin/sh", "-c", Command}, O));
      },
      [&] { EXPECT_TRUE(Appears(Begun)); });
  ASSERT_THAT_ERROR(writeFileAtomically(Go, ""), Succeeded());
  EXPECT_TRUE(Appears(Ended));
}
