//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/LineProcess.h"
#include "llvm/Support/FormatVariadic.h"
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

using namespace llvm;
using namespace llvm::mneme;

/// Time limit for the program to exit after its input was closed.
static constexpr double EndSeconds = 2;

Expected<std::unique_ptr<LineProcess>>
LineProcess::start(StringRef Command, double Seconds,
                   std::function<bool()> Stop) {
  // The input is a socket: unlike a pipe, it can be written without SIGPIPE.
  Expected<Pipe> In = Pipe::createSocket();
  if (!In)
    return In.takeError();
  Expected<Pipe> Out = Pipe::create();
  if (!Out)
    return Out.takeError();
  ChildOptions O;
  O.In = In->Read.get();
  O.Out = Out->Write.get();
  O.Grace = EndSeconds;
  Expected<Child> Program =
      Child::spawn("/bin/sh", {"/bin/sh", "-c", Command.str()}, O);
  if (!Program)
    return Program.takeError();
  return std::unique_ptr<LineProcess>(
      new LineProcess(std::move(*Program), std::move(In->Write),
                      std::move(Out->Read), Seconds, std::move(Stop)));
}

LineProcess::~LineProcess() {
  In.reset();
  Out.reset();
  if (!Hangs)
    Program.wait(EndSeconds);
}

Error LineProcess::describeEnd() {
  if (!Program.wait(EndSeconds)) {
    Hangs = true;
    return createStringError("it closed its output");
  }
  int Status = Program.status();
  if (WIFSIGNALED(Status))
    return createStringError("it was killed by signal " +
                             Twine(WTERMSIG(Status)) + ", " +
                             strsignal(WTERMSIG(Status)));
  return createStringError("it ended with exit status " +
                           Twine(WEXITSTATUS(Status)));
}

Error LineProcess::explain(Error E, StringRef Verb) {
  return handleErrors(std::move(E), [&](const StreamError &S) -> Error {
    if (isStopped()) {
      Hangs = true;
      return createStringError("the wait for it was interrupted");
    }
    switch (S.kind()) {
    case StreamError::Late:
      Hangs = true;
      return createStringError(
          formatv("it did not {0} within {1:f1} s", Verb, Seconds));
    case StreamError::Closed:
      return describeEnd();
    case StreamError::TooLong:
    case StreamError::Malformed:
      return createStringError("it wrote " + S.message());
    }
    llvm_unreachable("unknown kind");
  });
}

Error LineProcess::send(StringRef Line) {
  std::string Text = (Line + "\n").str();
  StringRef Rest = Text;
  Deadline Until = Deadline::after(Seconds);
  while (!Rest.empty()) {
    ssize_t N =
        ::send(In.get(), Rest.data(), Rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (N >= 0)
      Rest = Rest.drop_front(N);
    else if (errno == EPIPE || errno == ECONNRESET)
      return describeEnd();
    else if (errno == EAGAIN) {
      if (Error E = waitFor(In.get(), POLLOUT, Until,
                            [&] { return isStopped() || Program.hasEnded(); }))
        return explain(std::move(E), "read");
    } else if (errno != EINTR)
      return systemError("cannot write to it");
  }
  return Error::success();
}

Expected<std::string> LineProcess::receive() {
  Expected<std::string> Line = Lines.next(
      Deadline::after(Seconds),
      [&] { return isStopped() || Program.hasEnded(); });
  if (!Line)
    return explain(Line.takeError(), "answer");
  return Line;
}
