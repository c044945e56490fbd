//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

Error mneme::systemError(const Twine &What, int Code) {
  std::error_code EC(Code, std::generic_category());
  return recognizeShortage(createStringError(EC, What + ": " + EC.message()));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

void Descriptor::reset() {
  if (FD >= 0)
    ::close(release());
}

Expected<Pipe> Pipe::create() {
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return systemError("cannot make a pipe");
  return Pipe{Descriptor(Ends[0]), Descriptor(Ends[1])};
}

Expected<Pipe> Pipe::createSocket() {
  int Ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends) != 0)
    return systemError("cannot make a connection");
  return Pipe{Descriptor(Ends[0]), Descriptor(Ends[1])};
}

Expected<Pipe> mneme::takeStandardStreams() {
  Descriptor In(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  Descriptor Out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  Descriptor Null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!In || !Out || !Null || ::dup2(Null.get(), STDIN_FILENO) < 0 ||
      ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return systemError("cannot take the standard streams");
  return Pipe{std::move(In), std::move(Out)};
}

Error mneme::makeNonBlocking(int FD) {
  int Flags = ::fcntl(FD, F_GETFL);
  if (Flags < 0 || ::fcntl(FD, F_SETFL, Flags | O_NONBLOCK) != 0)
    return systemError("cannot set up a connection");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

char StreamError::ID;

void StreamError::log(raw_ostream &OS) const { OS << Message; }

std::error_code StreamError::convertToErrorCode() const {
  switch (TheKind) {
  case Late:
    return std::make_error_code(std::errc::timed_out);
  case Closed:
    return std::make_error_code(std::errc::broken_pipe);
  case TooLong:
    return std::make_error_code(std::errc::message_size);
  case Malformed:
    return std::make_error_code(std::errc::bad_message);
  }
  llvm_unreachable("unknown kind");
}

Error mneme::waitFor(int FD, short Events, Deadline Until,
                     function_ref<bool()> HasEnded) {
  constexpr unsigned SliceMilliseconds = 200;
  while (true) {
    // Check before polling: the process may write and end in between.
    bool Ended = HasEnded && HasEnded();
    unsigned Wait = Until.milliseconds(); // no deadline: -1 becomes the maximum
    if (HasEnded)
      Wait = Ended ? 0 : std::min(Wait, SliceMilliseconds);
    pollfd Poll = {FD, Events, 0};
    int Ready = ::poll(&Poll, 1, static_cast<int>(Wait));
    if (Ready > 0)
      return Error::success();
    if (Ready < 0 && errno != EINTR)
      return systemError("cannot wait for a connection");
    if (Ended)
      return make_error<StreamError>(StreamError::Closed, "the process ended");
    if (Until.hasPassed())
      return make_error<StreamError>(StreamError::Late,
                                     "no data before the deadline");
  }
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

Expected<std::string> LineReader::next(Deadline Until,
                                       function_ref<bool()> HasEnded) {
  while (true) {
    size_t End = Buffer.find('\n', Scanned);
    if (std::min(End, Buffer.size()) > MaxBytes)
      return make_error<StreamError>(StreamError::TooLong,
                                     "more than " + Twine(MaxBytes) +
                                         " bytes without an end of a line");
    if (End != std::string::npos) {
      std::string Line = Buffer.substr(0, End);
      Buffer.erase(0, End + 1);
      Scanned = 0;
      return std::move(Line);
    }
    Scanned = Buffer.size();
    if (Error E = waitFor(FD, POLLIN, Until, HasEnded))
      return std::move(E);
    char Chunk[1 << 16];
    ssize_t N = ::read(FD, Chunk, sizeof(Chunk));
    if (N > 0)
      Buffer.append(Chunk, N);
    else if (N == 0)
      return make_error<StreamError>(StreamError::Closed,
                                     "the other side closed the stream");
    else if (errno != EINTR && errno != EAGAIN)
      return systemError("cannot receive");
  }
}

Error mneme::writeAll(int FD, StringRef Text) {
  while (!Text.empty()) {
    ssize_t N =
        sys::RetryAfterSignal(-1, ::write, FD, Text.data(), Text.size());
    if (N <= 0)
      return systemError("cannot send");
    Text = Text.drop_front(N);
  }
  return Error::success();
}

void mneme::writeLineOrExit(int FD, json::Object Message) {
  std::string Line;
  raw_string_ostream(Line) << json::Value(std::move(Message)) << '\n';
  if (errorToBool(writeAll(FD, Line)))
    ::_exit(1);
}

std::string mneme::readToEnd(int FD) {
  std::string Text;
  char Chunk[1 << 16];
  ssize_t N;
  while ((N = sys::RetryAfterSignal(-1, ::read, FD, static_cast<void *>(Chunk),
                                    sizeof(Chunk))) > 0)
    Text.append(Chunk, N);
  return Text;
}
