//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/ChildTask.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Support/ChildProcess.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Signals.h"
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Child
//===----------------------------------------------------------------------===//

uint64_t mneme::getDataBytes() {
  std::FILE *File = std::fopen("/proc/self/statm", "re");
  if (!File)
    return 0;
  unsigned long Pages = 0;
  bool Read = std::fscanf(File, "%*u %*u %*u %*u %*u %lu", &Pages) == 1;
  std::fclose(File);
  return Read ? Pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void mneme::limitMemory(uint64_t Bytes) {
  if (LLVM_ADDRESS_SANITIZER_BUILD)
    return;
  // Not RLIMIT_AS: address space that is only reserved costs nothing.
  rlim_t Limit = getDataBytes() + Bytes;
  rlimit Data = {Limit, Limit};
  ::setrlimit(RLIMIT_DATA, &Data);
}

static void applyLimits(const ChildLimits &Limits) {
  rlimit NoCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &NoCore);
  if (Limits.Bytes)
    limitMemory(Limits.Bytes);
  if (Limits.Seconds <= 0)
    return;
  // The signal ends the process whatever it is doing, even if the parent is
  // busy.
  sigset_t Alarm;
  sigemptyset(&Alarm);
  sigaddset(&Alarm, SIGALRM);
  ::signal(SIGALRM, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &Alarm, nullptr);
  constexpr double Longest = 1e9;
  double Whole, Rest = std::modf(std::min(Limits.Seconds, Longest), &Whole);
  itimerval Timer = {};
  Timer.it_value.tv_sec = static_cast<time_t>(Whole);
  Timer.it_value.tv_usec =
      std::max<suseconds_t>(static_cast<suseconds_t>(Rest * 1e6), 1);
  ::setitimer(ITIMER_REAL, &Timer, nullptr);
}

static void writeAll(int FD, StringRef Bytes) {
  while (!Bytes.empty()) {
    ssize_t N =
        sys::RetryAfterSignal(-1, ::write, FD, Bytes.data(), Bytes.size());
    if (N <= 0)
      ::_exit(1);
    Bytes = Bytes.drop_front(N);
  }
}

/// The child's answer is one byte that says whether the work succeeded, then
/// the result or the message.
[[noreturn]] static void runWork(ChildTask::WorkFn Work, pid_t Parent, int Pipe,
                                 int Messages, const ChildLimits &Limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != Parent)
    ::_exit(1);
  // The parent reports a crash in one line; the user needs no stack trace.
  sys::unregisterHandlers();
  remove_fatal_error_handler();
  remove_bad_alloc_error_handler();
  ::dup2(Messages, STDERR_FILENO);
  applyLimits(Limits);
  Expected<std::string> Result = Work();
  writeAll(Pipe, Result ? "+" : "-");
  writeAll(Pipe, Result ? *Result : toString(Result.takeError()));
  // No destructors: the parent's objects are not the child's to destroy.
  ::_exit(0);
}

//===----------------------------------------------------------------------===//
// Parent
//===----------------------------------------------------------------------===//

static Error systemError(const Twine &What) {
  return createStringError(What + ": " + sys::StrError());
}

Expected<ChildTask> ChildTask::start(StringRef Name, WorkFn Work,
                                     ChildLimits Limits) {
  ChildTask T;
  T.Name = Name.str();
  T.Limits = Limits;
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return systemError("cannot make a pipe");
  T.Pipe = Ends[0];
  T.Messages = ::memfd_create("mneme-child", MFD_CLOEXEC);
  T.Start = std::chrono::steady_clock::now();
  pid_t Parent = ::getpid();
  T.Process = ::fork();
  if (T.Process == 0)
    runWork(Work, Parent, Ends[1], T.Messages, Limits);
  int Reason = errno;
  ::close(Ends[1]);
  errno = Reason;
  if (T.Process < 0)
    return systemError("cannot start a process");
  ::fcntl(T.Pipe, F_SETFL, O_NONBLOCK);
  return std::move(T);
}

ChildTask &ChildTask::operator=(ChildTask &&Other) {
  std::swap(Name, Other.Name);
  std::swap(Limits, Other.Limits);
  std::swap(Process, Other.Process);
  std::swap(Pipe, Other.Pipe);
  std::swap(Messages, Other.Messages);
  std::swap(Result, Other.Result);
  std::swap(Start, Other.Start);
  return *this;
}

ChildTask::~ChildTask() {
  if (Process > 0) {
    ::kill(Process, SIGKILL);
    waitForChild(Process);
  }
  for (int FD : {Pipe, Messages})
    if (FD >= 0)
      ::close(FD);
}

bool ChildTask::poll() {
  char Chunk[1 << 16];
  while (true) {
    ssize_t N = sys::RetryAfterSignal(
        -1, ::read, Pipe, static_cast<void *>(Chunk), sizeof(Chunk));
    if (N < 0 && errno == EAGAIN)
      return false;
    if (N <= 0)
      return true;
    Result.append(Chunk, N);
  }
}

/// The line of report_fatal_error or of an assertion, or the first one.
static std::string findLastWords(int Messages) {
  std::string Text(4096, '\0');
  ssize_t N = ::pread(Messages, Text.data(), Text.size(), 0);
  Text.resize(std::max<ssize_t>(N, 0));
  SmallVector<StringRef> Lines;
  StringRef(Text).split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines)
    if (Line.consume_front("LLVM ERROR: ") || Line.contains("Assertion `"))
      return Line.str();
  return Lines.empty() ? "" : Lines.front().str();
}

Expected<std::string> ChildTask::finish() {
  int Status = waitForChild(Process);
  Process = -1;
  if (WIFEXITED(Status) && WEXITSTATUS(Status) == 0 && !Result.empty()) {
    if (Result[0] != '+')
      return createStringError(StringRef(Result).drop_front());
    Result.erase(0, 1);
    return std::move(Result);
  }
  if (WIFSIGNALED(Status) && WTERMSIG(Status) == SIGALRM && Limits.Seconds > 0)
    return createStringError("%s did not end within %g s", Name.c_str(),
                             Limits.Seconds);
  std::string Words = findLastWords(Messages);
  if (StringRef(Words).contains("bad_alloc") ||
      StringRef(Words).contains_insensitive("out of memory"))
    return createStringError(
        Limits.Bytes ? formatv("{0} needs more than {1} MiB of memory", Name,
                               Limits.Bytes >> 20)
                           .str()
                     : "out of memory");
  std::string Message = Name + " " + describeExit(Status);
  if (!Words.empty())
    Message += ": " + Words;
  return createStringError(Message);
}

uint64_t ChildTask::elapsedNanoseconds() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now() - Start)
      .count();
}

Expected<std::string> mneme::runInChild(StringRef Name, ChildTask::WorkFn Work,
                                        ChildLimits Limits) {
  Expected<ChildTask> T = ChildTask::start(Name, Work, Limits);
  if (!T)
    return T.takeError();
  pollfd Wait = {T->fd(), POLLIN, 0};
  while (!T->poll())
    ::poll(&Wait, 1, -1);
  return T->finish();
}
