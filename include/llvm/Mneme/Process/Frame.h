//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Messages between processes, as frames: a line "KEY BYTES JSON" and, after
/// it, BYTES bytes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_FRAME_H
#define LLVM_MNEME_PROCESS_FRAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// A message's name and limits.
struct MessageKind {
  StringLiteral Key = "";
  uint64_t LineBytes = 0;
  uint64_t Bytes = 0; ///< After the line.
};

struct Frame {
  size_t Kind = 0; ///< Index into the kinds that the parser knows.
  json::Object Head;
  std::string Bytes;
};

/// The line of a frame.
std::string printFrameLine(const MessageKind &Kind, json::Object Head,
                           uint64_t Bytes);

/// Parses frames from a stream of bytes. All errors are StreamErrors.
class FrameParser {
public:
  /// Accepts \p Kinds, which outlive the parser.
  explicit FrameParser(ArrayRef<MessageKind> Kinds) : Kinds(Kinds) {}

  /// Skips all text before the line \p Text, which outlives the parser. A
  /// launcher, a shell or a module system may have written it.
  void expectGreeting(StringRef Text) { Greeting = Text; }
  bool isGreeted() const { return Greeting.empty(); }

  void append(StringRef Data) { Buffer.append(Data.begin(), Data.end()); }
  /// The next whole frame, if there is one. After an Error the rest of the
  /// stream cannot be parsed.
  Expected<std::optional<Frame>> next();
  /// Is there nothing of a frame?
  bool empty() const { return !Head && Begin == Buffer.size(); }
  /// The start of what was not parsed yet, quoted for a message.
  std::string quoteRest() const;

private:
  ArrayRef<MessageKind> Kinds;
  StringRef Greeting; ///< Empty: not expected (any more).
  std::string Buffer;
  size_t Begin = 0;   ///< Of what was not taken yet.
  size_t Scanned = 0; ///< Where the search for the end of the line goes on.
  std::optional<Frame> Head; ///< Its bytes are still to come.
  uint64_t Wanted = 0;

  Expected<bool> skipToGreeting();
  Expected<std::optional<size_t>> findKind(StringRef Line, bool IsWhole) const;
  Error parseHead(size_t Kind, StringRef Line);
  void take(size_t N);
};

/// One end of a connection. Owns the descriptors.
class Channel {
public:
  /// \p In and \p Out: one socket, or two pipes.
  Channel(int In, int Out, ArrayRef<MessageKind> Kinds)
      : Parser(Kinds), In(In), Out(Out) {}
  Channel(int Socket, ArrayRef<MessageKind> Kinds)
      : Channel(Socket, Socket, Kinds) {}
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  ~Channel();

  FrameParser Parser;
  int in() const { return In; }
  /// -1: closed.
  int out() const { return Out; }

  //===--- Of a process that has nothing else to do. ---------------------===//

  /// Waits until all is sent. Error: the other side is gone.
  Error write(StringRef Line, StringRef Bytes);
  /// Waits for the next frame. Nothing: the other side has closed. Errors:
  /// StreamError (Late, TooLong, Malformed).
  Expected<std::optional<Frame>> read(Deadline Until = {});

  //===--- Of a poll loop, after makeNonBlocking(). ----------------------===//

  Error makeNonBlocking();
  /// \p Bytes are sent later, and not copied.
  void queue(std::string Line, std::shared_ptr<const std::string> Bytes);
  bool hasQueued() const { return !Queue.empty(); }
  uint64_t queuedBytes() const { return Queued; }
  /// Sends what can be sent now. Once the other side is gone, drops what is
  /// queued; receive() tells, after the last messages from there.
  void flush();
  /// Takes what can be received now. \returns false when the other side has
  /// closed.
  Expected<bool> receive();
  /// Sends no more; of two pipes, closes the second.
  void closeOutput();

  uint64_t sent() const { return Sent; }
  uint64_t received() const { return Received; }

private:
  int In, Out;
  std::deque<std::shared_ptr<const std::string>> Queue;
  size_t Offset = 0; ///< Of the first one that is sent.
  bool Broken = false;
  uint64_t Queued = 0, Sent = 0, Received = 0;

  ssize_t writeSome(StringRef Data);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_FRAME_H
