//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frame.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr size_t ChunkBytes = size_t(1) << 18;

static Error systemError(const Twine &What) {
  return createStringError(errnoAsErrorCode(), What);
}

std::string mneme::printFrameHead(json::Object Head, uint64_t Bytes) {
  if (Bytes)
    Head["bytes"] = static_cast<int64_t>(Bytes);
  std::string Line;
  raw_string_ostream(Line) << json::Value(std::move(Head)) << '\n';
  return Line;
}

Error FrameParser::parseHead(StringRef Line) {
  if (isNestedTooDeep(Line))
    return createStringError("a message is nested too deeply");
  Expected<json::Value> Parsed = json::parse(Line);
  if (!Parsed)
    return createStringError("a message is no JSON: " +
                             toString(Parsed.takeError()));
  json::Object *O = Parsed->getAsObject();
  if (!O)
    return createStringError("a message is no object");
  Wanted = 0;
  if (const json::Value *Bytes = O->get("bytes")) {
    std::optional<int64_t> N = Bytes->getAsInteger();
    if (!N || *N < 0 || static_cast<uint64_t>(*N) > Limits.Bytes)
      return createStringError("a message has too many bytes");
    Wanted = *N;
  }
  Head = std::move(*O);
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

Expected<std::optional<Frame>> FrameParser::next() {
  if (!Head) {
    size_t End = Buffer.find('\n', Scanned);
    size_t Length = (End == std::string::npos ? Buffer.size() : End) - Begin;
    if (Length > Limits.HeadBytes)
      return createStringError("a message is too long");
    if (End == std::string::npos) {
      Scanned = Buffer.size();
      return std::nullopt;
    }
    if (Error E = parseHead(StringRef(Buffer).substr(Begin, Length)))
      return std::move(E);
    take(Length + 1);
  }
  if (Buffer.size() - Begin < Wanted)
    return std::nullopt;
  Frame F;
  F.Head = std::move(*Head);
  F.Bytes = Buffer.substr(Begin, Wanted);
  Head.reset();
  take(Wanted);
  return std::move(F);
}

Channel::~Channel() {
  if (FD >= 0)
    ::close(FD);
}

Error Channel::write(json::Object Head, StringRef Bytes) {
  std::string Line = printFrameHead(std::move(Head), Bytes.size());
  for (StringRef Rest : {StringRef(Line), Bytes})
    while (!Rest.empty()) {
      ssize_t N = sys::RetryAfterSignal(-1, ::send, FD, Rest.data(),
                                        Rest.size(), MSG_NOSIGNAL);
      if (N <= 0)
        return systemError("cannot send");
      Rest = Rest.drop_front(N);
      Sent += N;
    }
  return Error::success();
}

Expected<std::optional<Frame>> Channel::read() {
  while (true) {
    Expected<std::optional<Frame>> F = Parser.next();
    if (!F || *F)
      return F;
    Expected<bool> Open = receive();
    if (!Open)
      return Open.takeError();
    if (!*Open)
      return std::nullopt;
  }
}

Error Channel::makeNonBlocking() {
  int Flags = ::fcntl(FD, F_GETFL);
  if (Flags < 0 || ::fcntl(FD, F_SETFL, Flags | O_NONBLOCK) != 0)
    return systemError("cannot set up a connection");
  return Error::success();
}

void Channel::queue(json::Object Head,
                    std::shared_ptr<const std::string> Bytes) {
  if (Broken)
    return;
  uint64_t Size = Bytes ? Bytes->size() : 0;
  Queue.push_back(std::make_shared<const std::string>(
      printFrameHead(std::move(Head), Size)));
  Queued += Queue.back()->size() + Size;
  if (Size)
    Queue.push_back(std::move(Bytes));
}

void Channel::flush() {
  while (!Queue.empty()) {
    StringRef Rest = StringRef(*Queue.front()).drop_front(Offset);
    ssize_t N = sys::RetryAfterSignal(-1, ::send, FD, Rest.data(), Rest.size(),
                                      MSG_NOSIGNAL);
    if (N < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (N < 0) {
      // Whoever is gone may have said something before.
      Queue.clear();
      Queued = Offset = 0;
      Broken = true;
      return;
    }
    Sent += N;
    Queued -= N;
    Offset += N;
    if (Offset < Queue.front()->size())
      continue;
    Queue.pop_front();
    Offset = 0;
  }
}

Expected<bool> Channel::receive() {
  char Chunk[1 << 16];
  ssize_t N = sys::RetryAfterSignal(-1, ::recv, FD, static_cast<void *>(Chunk),
                                    sizeof(Chunk), 0);
  if (N < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
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
