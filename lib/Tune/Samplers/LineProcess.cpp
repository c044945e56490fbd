//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LineProcess.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Mneme/Support/ChildProcess.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

extern char **environ;

static Error systemError(const Twine &What) {
  return createStringError(What + ": " + sys::StrError());
}

Expected<std::unique_ptr<LineProcess>>
LineProcess::start(StringRef Command, std::chrono::milliseconds Timeout) {
  // The input is a socket: unlike a pipe it can be written to without SIGPIPE.
  int In[2], Out[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, In))
    return systemError("cannot make a socket");
  scope_exit CloseIn([&] { close(In[0]), close(In[1]); });
  if (pipe2(Out, O_CLOEXEC))
    return systemError("cannot make a pipe");
  scope_exit CloseOut([&] { close(Out[0]), close(Out[1]); });

  posix_spawn_file_actions_t Actions;
  posix_spawnattr_t Attributes;
  posix_spawn_file_actions_init(&Actions);
  posix_spawnattr_init(&Attributes);
  scope_exit Destroy([&] {
    posix_spawn_file_actions_destroy(&Actions);
    posix_spawnattr_destroy(&Attributes);
  });
  posix_spawn_file_actions_adddup2(&Actions, In[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&Actions, Out[1], STDOUT_FILENO);
  posix_spawnattr_setpgroup(&Attributes, 0);
  sigset_t Default;
  sigemptyset(&Default);
  sigaddset(&Default, SIGPIPE);
  posix_spawnattr_setsigdefault(&Attributes, &Default);
  posix_spawnattr_setflags(&Attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);

  std::string Text = Command.str();
  char Shell[] = "/bin/sh", Option[] = "-c";
  char *Arguments[] = {Shell, Option, Text.data(), nullptr};
  pid_t Process;
  errno = posix_spawn(&Process, Shell, &Actions, &Attributes, Arguments,
                      environ);
  if (errno)
    return systemError("cannot start a shell");
  CloseIn.release();
  CloseOut.release();
  close(In[1]);
  close(Out[1]);
  return std::unique_ptr<LineProcess>(
      new LineProcess(Process, In[0], Out[0], Timeout));
}

LineProcess::~LineProcess() {
  close(In);
  close(Out);
  int Status;
  if (Process && !reap(Hangs ? 0s : 2s, Status)) {
    kill(-Process, SIGKILL);
    reap(10s, Status);
  }
}

/// Has the program ended, in time? Its group is killed then: nothing of it may
/// stay.
bool LineProcess::reap(std::chrono::milliseconds Patience, int &Status) {
  std::optional<int> Ended =
      waitForChild(Process, std::chrono::duration<double>(Patience).count());
  if (!Ended || *Ended == UnknownStatus)
    return false;
  Status = *Ended;
  kill(-Process, SIGKILL);
  Process = 0;
  return true;
}

/// Has it, without waiting for it?
bool LineProcess::hasEnded() const {
  siginfo_t Info = {};
  return !Process || (waitid(P_PID, Process, &Info,
                             WEXITED | WNOHANG | WNOWAIT) == 0 &&
                      Info.si_pid == Process);
}

Error LineProcess::describeEnd() {
  int Status;
  if (!Process || !reap(2s, Status)) {
    Hangs = true;
    return createStringError("it closed its output");
  }
  if (WIFSIGNALED(Status))
    return createStringError("it was killed by signal " +
                             Twine(WTERMSIG(Status)) + ", " +
                             strsignal(WTERMSIG(Status)));
  return createStringError("it ended with exit status " +
                           Twine(WEXITSTATUS(Status)));
}

Error LineProcess::waitFor(int File, short Events, Clock::time_point Until) {
  while (true) {
    // A child of the program may keep its files open: look whether it lives,
    // and after that whether it wrote something before it ended.
    bool Ended = hasEnded();
    auto Left = std::chrono::duration_cast<std::chrono::milliseconds>(
        Until - Clock::now());
    auto Slice = Ended ? 0ms : std::clamp(Left, 0ms, 200ms);
    pollfd Poll{File, Events, 0};
    int N = poll(&Poll, 1, Slice.count());
    if (N > 0)
      return Error::success();
    if (N < 0 && errno != EINTR)
      return systemError("cannot wait for it");
    if (Ended)
      return describeEnd();
    if (Left <= 0ms) {
      Hangs = true;
      return createStringError(formatv("it did not {0} within {1:f1} s",
                                       Events == POLLIN ? "answer" : "read",
                                       Timeout.count() / 1000.0));
    }
  }
}

Error LineProcess::send(StringRef Line) {
  std::string Text = (Line + "\n").str();
  StringRef Rest = Text;
  auto Until = Clock::now() + Timeout;
  while (!Rest.empty()) {
    ssize_t N =
        ::send(In, Rest.data(), Rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (N >= 0)
      Rest = Rest.drop_front(N);
    else if (errno == EPIPE || errno == ECONNRESET)
      return describeEnd();
    else if (errno == EAGAIN) {
      if (Error E = waitFor(In, POLLOUT, Until))
        return E;
    } else if (errno != EINTR)
      return systemError("cannot write to it");
  }
  return Error::success();
}

Expected<std::string> LineProcess::receive() {
  auto Until = Clock::now() + Timeout;
  while (true) {
    if (size_t End = Buffer.find('\n'); End != std::string::npos) {
      std::string Line = Buffer.substr(0, End);
      Buffer.erase(0, End + 1);
      return Line;
    }
    if (Buffer.size() > MaxLine)
      return createStringError("it wrote more than " + Twine(MaxLine) +
                               " bytes without an end of a line");
    if (Error E = waitFor(Out, POLLIN, Until))
      return E;
    char Bytes[4096];
    ssize_t N = read(Out, Bytes, sizeof(Bytes));
    if (N > 0)
      Buffer.append(Bytes, N);
    else if (N == 0)
      return describeEnd();
    else if (errno != EINTR)
      return systemError("cannot read from it");
  }
}
