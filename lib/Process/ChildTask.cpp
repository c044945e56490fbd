//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

ChildTask::ChildTask(StringRef Name, ChildLimits Limits, Child Process,
                     Descriptor Answer, Descriptor Messages)
    : Name(Name), Limits(std::move(Limits)), Answer(std::move(Answer)),
      Messages(std::move(Messages)), Process(std::move(Process)),
      Start(std::chrono::steady_clock::now()) {}

/// The child answers with '+' and the result, or '-' and the error message.
Expected<ChildTask> ChildTask::startWith(StringRef Name, WorkFn Work,
                                         ChildLimits Limits,
                                         ArrayRef<int> Kept) {
  Expected<Pipe> Answer = Pipe::create();
  if (!Answer)
    return Answer.takeError();
  int FD = Answer->Write.get();
  // Not a pipe: the child must not wait for a reader of its messages.
  Descriptor Messages(::memfd_create("mneme-child", MFD_CLOEXEC));
  ChildOptions O;
  O.Out = NullStream;
  O.Err = Messages ? Messages.get() : NullStream;
  O.Kept = {FD};
  append_range(O.Kept, Kept);
  O.Limits = Limits;
  Expected<Child> Process = Child::fork(
      [&] {
        Expected<std::string> Result = Work();
        if (errorToBool(writeAll(FD, Result ? "+" : "-")) ||
            errorToBool(
                writeAll(FD, Result ? *Result : toString(Result.takeError()))))
          ::_exit(1);
      },
      O);
  if (!Process)
    return Process.takeError();
  if (Error E = makeNonBlocking(Answer->Read.get()))
    return std::move(E);
  return ChildTask(Name, std::move(Limits), std::move(*Process),
                   std::move(Answer->Read), std::move(Messages));
}

bool ChildTask::poll() {
  char Chunk[1 << 16];
  while (true) {
    ssize_t N = sys::RetryAfterSignal(
        -1, ::read, fd(), static_cast<void *>(Chunk), sizeof(Chunk));
    if (N < 0 && errno == EAGAIN)
      return false;
    if (N <= 0)
      return true;
    Result.append(Chunk, N);
  }
}

static std::string readTail(int FD) {
  std::string Text(8192, '\0');
  off_t End = ::lseek(FD, 0, SEEK_END);
  ssize_t N = ::pread(FD, Text.data(), Text.size(),
                      std::max<off_t>(End - off_t(Text.size()), 0));
  Text.resize(std::max<ssize_t>(N, 0));
  return Text;
}

Expected<std::string> ChildTask::finish() {
  int Status = Process.wait();
  if (WIFEXITED(Status) && WEXITSTATUS(Status) == 0 && !Result.empty()) {
    if (Result[0] != '+')
      return createStringError(StringRef(Result).drop_front());
    Result.erase(0, 1);
    return std::move(Result);
  }
  if (WIFSIGNALED(Status) && WTERMSIG(Status) == SIGALRM && Limits.Seconds > 0)
    return createStringError("%s did not end within %g s", Name.c_str(),
                             Limits.Seconds);
  LastWords Words = findLastWords(readTail(Messages.get()));
  if (Words.IsOutOfMemory)
    return createStringError(
        Limits.Bytes ? formatv("{0} needs more than {1} MiB of memory", Name,
                               Limits.Bytes >> 20)
                           .str()
                     : Words.Text);
  std::string Message = Name + " " + describeExit(Status);
  if (!Words.Text.empty())
    Message += ": " + Words.Text;
  return createStringError(Message);
}

Expected<std::string> ChildTask::wait() {
  while (!poll())
    if (Error E = waitFor(fd(), POLLIN, Deadline()))
      return std::move(E);
  return finish();
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
  return T->wait();
}
