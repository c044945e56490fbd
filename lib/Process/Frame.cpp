//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Frame.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr size_t ChunkBytes = size_t(1) << 18;

/// Maximum length of a message's key.
static constexpr size_t MaxKeyBytes = 32;

/// Maximum size of a launcher's output before the worker's greeting.
static constexpr size_t MaxNoiseBytes = size_t(64) << 10;

/// Number of bytes of a stream that an error message quotes.
static constexpr size_t QuotedBytes = 80;

static Error malformed(const Twine &Message) {
  return make_error<StreamError>(StreamError::Malformed, Message);
}

static Error tooLong(const Twine &Message) {
  return make_error<StreamError>(StreamError::TooLong, Message);
}

/// Members of a line in FrameForm::Object.
static constexpr StringLiteral TypeMember = "type", BytesMember = "bytes";

std::string mneme::printFrameLine(const MessageKind &Kind, json::Object Head,
                                  uint64_t Bytes, FrameForm Form) {
  std::string Line;
  if (Form == FrameForm::Object) {
    Head[TypeMember] = Kind.Key;
    if (Bytes)
      Head[BytesMember] = Bytes;
    raw_string_ostream(Line) << json::Value(std::move(Head)) << '\n';
    return Line;
  }
  raw_string_ostream(Line) << Kind.Key << ' ' << Bytes << ' '
                           << json::Value(std::move(Head)) << '\n';
  return Line;
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

static std::string quote(StringRef Text) {
  std::string Quoted;
  raw_string_ostream OS(Quoted);
  OS << '\'';
  printEscapedString(Text.take_front(QuotedBytes), OS);
  OS << (Text.size() > QuotedBytes ? "...'" : "'");
  return Quoted;
}

std::string FrameParser::quoteRest() const {
  return quote(StringRef(Buffer).drop_front(Begin));
}

/// Skips the input up to the end of the greeting. \returns false if the
/// greeting is not complete yet.
Expected<bool> FrameParser::skipToGreeting() {
  size_t At = StringRef(Buffer).find(Greeting, Begin);
  size_t End = At + Greeting.size();
  if (At == std::string::npos || End == Buffer.size()) {
    if (Buffer.size() - Begin > MaxNoiseBytes)
      return tooLong("expected the worker's greeting within " +
                     Twine(MaxNoiseBytes) + " bytes, got " + quoteRest());
    return false;
  }
  if (Buffer[End] != '\n')
    return malformed("the greeting has wrong line endings: the stream passes "
                     "through a terminal; use a launcher that allocates none");
  take(End + 1 - Begin);
  Greeting = "";
  return true;
}

/// \returns the index of the message's kind, or std::nullopt if its key is not
/// complete yet.
Expected<std::optional<size_t>> FrameParser::findKind(StringRef Line,
                                                      bool IsWhole) const {
  size_t End = Line.find(' ');
  if (End == StringRef::npos && !IsWhole && Line.size() <= MaxKeyBytes)
    return std::nullopt;
  for (size_t I = 0; I != Kinds.size(); ++I)
    if (Line.take_front(End) == Kinds[I].Key)
      return I;
  return malformed("expected a message, got " + quote(Line));
}

Error FrameParser::parseHead(size_t Kind, StringRef Line) {
  const MessageKind &K = Kinds[Kind];
  auto Refuse = [&](const Twine &Why) {
    return malformed("malformed message '" + K.Key + "': " + Why);
  };
  auto [Number, Text] = Line.drop_front(K.Key.size()).ltrim(' ').split(' ');
  if (!to_integer(Number, Wanted, 10))
    return Refuse("expected a number of bytes, got " + quote(Number));
  if (Wanted > K.Bytes)
    return tooLong("malformed message '" + K.Key + "': more than " +
                   Twine(K.Bytes) + " bytes follow it");
  Expected<json::Value> Parsed = parseJSON(Text);
  if (!Parsed)
    return Refuse(llvm::toString(Parsed.takeError()));
  json::Object *O = Parsed->getAsObject();
  if (!O)
    return Refuse("expected an object");
  Head = Frame{Kind, std::move(*O), {}};
  return Error::success();
}

void FrameParser::take(size_t N) {
  Begin += N;
  Scanned = Begin;
  if (Begin == Buffer.size()) {
    Buffer.clear();
  } else if (Begin > ChunkBytes && Begin > Buffer.size() / 2) {
    Buffer.erase(0, Begin);
  } else {
    return;
  }
  Begin = Scanned = 0;
}

Error FrameParser::parseObject(StringRef Line) {
  Expected<json::Value> Parsed = parseJSON(Line);
  if (!Parsed)
    return malformed("malformed message: " +
                     llvm::toString(Parsed.takeError()));
  json::Object *O = Parsed->getAsObject();
  std::optional<StringRef> Type;
  if (O)
    Type = O->getString(TypeMember);
  if (!Type)
    return malformed("expected an object with a type, got " + quote(Line));
  size_t Kind = 0;
  while (Kind != Kinds.size() && Kinds[Kind].Key != *Type)
    ++Kind;
  bool IsKnown = Kind != Kinds.size();
  if (IsKnown && Line.size() > Kinds[Kind].LineBytes)
    return tooLong("malformed message '" + *Type + "': longer than " +
                   Twine(Kinds[Kind].LineBytes) + " bytes");
  Wanted = 0;
  if (const json::Value *V = O->get(BytesMember)) {
    std::optional<uint64_t> N = V->getAsUINT64();
    if (!N)
      return malformed("malformed message '" + *Type +
                       "': expected a number of bytes");
    Wanted = *N;
  }
  if (uint64_t Most = IsKnown ? Kinds[Kind].Bytes : 0; Wanted > Most)
    return tooLong("malformed message '" + *Type + "': more than " +
                   Twine(Most) + " bytes follow it");
  if (IsKnown)
    O->erase(TypeMember);
  O->erase(BytesMember);
  Head = Frame{Kind, std::move(*O), {}};
  return Error::success();
}

/// Parses the next line. \returns false if it is not complete yet.
Expected<bool> FrameParser::parseLine() {
  size_t End = Buffer.find('\n', Scanned);
  bool IsWhole = End != std::string::npos;
  StringRef Line = StringRef(Buffer).slice(Begin, End);
  if (Form == FrameForm::Keyed) {
    Expected<std::optional<size_t>> Kind = findKind(Line, IsWhole);
    if (!Kind)
      return Kind.takeError();
    if (*Kind && Line.size() > Kinds[**Kind].LineBytes)
      return tooLong("malformed message '" + Kinds[**Kind].Key +
                     "': longer than " + Twine(Kinds[**Kind].LineBytes) +
                     " bytes");
    if (IsWhole)
      if (Error E = parseHead(**Kind, Line))
        return std::move(E);
  } else {
    uint64_t Most = 0;
    for (const MessageKind &K : Kinds)
      Most = std::max(Most, K.LineBytes);
    if (Line.size() > Most)
      return tooLong("a message is longer than " + Twine(Most) + " bytes");
    if (IsWhole)
      if (Error E = parseObject(Line))
        return std::move(E);
  }
  if (IsWhole)
    take(Line.size() + 1);
  else
    Scanned = Buffer.size();
  return IsWhole;
}

Expected<std::optional<Frame>> FrameParser::next() {
  if (!isGreeted()) {
    Expected<bool> Found = skipToGreeting();
    if (!Found)
      return Found.takeError();
    if (!*Found)
      return std::nullopt;
  }
  if (!Head) {
    Expected<bool> Parsed = parseLine();
    if (!Parsed)
      return Parsed.takeError();
    if (!*Parsed)
      return std::nullopt;
  }
  if (Buffer.size() - Begin < Wanted)
    return std::nullopt;
  Frame F = std::move(*Head);
  F.Bytes = Buffer.substr(Begin, Wanted);
  Head.reset();
  take(Wanted);
  return std::move(F);
}

//===----------------------------------------------------------------------===//
// Channel
//===----------------------------------------------------------------------===//

Channel::~Channel() {
  closeOutput();
  if (In >= 0)
    ::close(In);
}

void Channel::closeOutput() {
  if (Out >= 0 && Out != In)
    ::close(Out);
  Out = -1;
  Queue.clear();
  Queued = Offset = 0;
  Broken = true;
}

/// Calls write(), and returns EPIPE instead of raising SIGPIPE if the pipe has
/// no reader.
static ssize_t writeToPipe(int FD, StringRef Data) {
  sigset_t Pipe, Before, Pending;
  sigemptyset(&Pipe);
  sigaddset(&Pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &Pipe, &Before);
  sigpending(&Pending);
  bool WasPending = sigismember(&Pending, SIGPIPE);
  ssize_t N = sys::RetryAfterSignal(-1, ::write, FD, Data.data(), Data.size());
  int Errno = errno;
  if (N < 0 && Errno == EPIPE && !WasPending) {
    timespec Now = {0, 0};
    sys::RetryAfterSignal(-1, ::sigtimedwait, &Pipe, nullptr, &Now);
  }
  pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  errno = Errno;
  return N;
}

ssize_t Channel::writeSome(StringRef Data) {
  if (In != Out)
    return writeToPipe(Out, Data);
  return sys::RetryAfterSignal(-1, ::send, Out, Data.data(), Data.size(),
                               MSG_NOSIGNAL);
}

/// Sends a descriptor with the beginning of \p Data.
ssize_t Channel::writeAttached(StringRef Data, int Attached) {
  alignas(cmsghdr) char Control[CMSG_SPACE(sizeof(int))] = {};
  iovec Part = {const_cast<char *>(Data.data()), Data.size()};
  msghdr Message = {};
  Message.msg_iov = &Part;
  Message.msg_iovlen = 1;
  Message.msg_control = Control;
  Message.msg_controllen = sizeof(Control);
  cmsghdr *Header = CMSG_FIRSTHDR(&Message);
  Header->cmsg_level = SOL_SOCKET;
  Header->cmsg_type = SCM_RIGHTS;
  Header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(Header), &Attached, sizeof(int));
  return sys::RetryAfterSignal(-1, ::sendmsg, Out, &Message, MSG_NOSIGNAL);
}

static bool wouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK; }

Error Channel::write(StringRef Line, StringRef Bytes) {
  for (StringRef Rest : {Line, Bytes})
    while (!Rest.empty()) {
      ssize_t N = writeSome(Rest);
      if (N < 0 && wouldBlock()) { // another process set O_NONBLOCK
        pollfd Wait = {Out, POLLOUT, 0};
        ::poll(&Wait, 1, -1);
        continue;
      }
      if (N <= 0)
        return systemError("cannot send");
      Rest = Rest.drop_front(N);
      Sent += N;
    }
  return Error::success();
}

Expected<std::optional<Frame>> Channel::read(Deadline Until) {
  while (true) {
    Expected<std::optional<Frame>> F = Parser.next();
    if (!F || *F)
      return F;
    if (Error E = waitFor(In, POLLIN, Until))
      return std::move(E);
    Expected<bool> Open = receive();
    if (!Open)
      return Open.takeError();
    if (!*Open)
      return std::nullopt;
  }
}

Error Channel::makeNonBlocking() {
  for (int FD : {In, Out})
    if (Error E = mneme::makeNonBlocking(FD))
      return E;
  return Error::success();
}

void Channel::queue(std::string Line,
                    std::shared_ptr<const std::string> Bytes) {
  if (Broken)
    return;
  queue(std::move(Line), Descriptor());
  if (!Bytes || Bytes->empty())
    return;
  Queued += Bytes->size();
  Queue.push_back({std::move(Bytes), Descriptor()});
}

void Channel::queue(std::string Line, Descriptor Attached) {
  if (Broken)
    return;
  Queued += Line.size();
  Queue.push_back({std::make_shared<const std::string>(std::move(Line)),
                   std::move(Attached)});
}

void Channel::flush() {
  while (!Queue.empty()) {
    const Entry &First = Queue.front();
    StringRef Rest = StringRef(*First.Data).drop_front(Offset);
    ssize_t N = First.Attached && Offset == 0
                    ? writeAttached(Rest, First.Attached.get())
                    : writeSome(Rest);
    if (N < 0 && wouldBlock())
      return;
    if (N < 0) {
      // The other side may have sent messages before it closed the connection.
      Queue.clear();
      Queued = Offset = 0;
      Broken = true;
      return;
    }
    Sent += N;
    Queued -= N;
    Offset += N;
    if (Offset < First.Data->size())
      continue;
    Queue.pop_front();
    Offset = 0;
  }
}

Expected<bool> Channel::receive() {
  char Chunk[1 << 16];
  ssize_t N = sys::RetryAfterSignal(-1, ::read, In, static_cast<void *>(Chunk),
                                    sizeof(Chunk));
  if (N < 0 && wouldBlock())
    return true;
  // A process that died with unread messages resets the connection.
  if (N == 0 || (N < 0 && errno == ECONNRESET))
    return false;
  if (N < 0)
    return systemError("cannot receive");
  Received += N;
  Parser.append(StringRef(Chunk, N));
  return true;
}
