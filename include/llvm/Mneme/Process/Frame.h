//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Messages between processes. A message is a frame: a line, followed by bytes.
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
  uint64_t Bytes = 0; ///< Largest number of bytes after the line.
};

struct Frame {
  size_t Kind = 0; ///< Index into the kinds that the parser knows.
  json::Object Head;
  std::string Bytes;
};

/// The form of a frame's line.
enum class FrameForm {
  Keyed, ///< KEY BYTES JSON
  /// A JSON object. Its member "type" is the key, "bytes" the number of bytes
  /// (default: 0). A frame of unknown type has the number of kinds as Kind and
  /// no bytes.
  Object,
};

/// Returns the line of a frame.
std::string printFrameLine(const MessageKind &Kind, json::Object Head,
                           uint64_t Bytes, FrameForm Form = FrameForm::Keyed);

/// Parses frames from a stream of bytes. All errors are StreamErrors.
class FrameParser {
public:
  /// Accepts frames of \p Kinds, which must outlive the parser.
  explicit FrameParser(ArrayRef<MessageKind> Kinds,
                       FrameForm Form = FrameForm::Keyed)
      : Kinds(Kinds), Form(Form) {}

  /// Skips all text before the line \p Text, which must outlive the parser. A
  /// launcher, a shell or a module system may have written it.
  void expectGreeting(StringRef Text) { Greeting = Text; }
  bool isGreeted() const { return Greeting.empty(); }

  void append(StringRef Data) { Buffer.append(Data.begin(), Data.end()); }
  /// Returns the next frame, or nothing if it is incomplete. After an Error,
  /// the rest of the stream cannot be parsed.
  Expected<std::optional<Frame>> next();
  /// Returns true if no frame has begun.
  bool empty() const { return !Head && Begin == Buffer.size(); }
  /// Returns the start of the unparsed data, quoted for a message.
  std::string quoteRest() const;

private:
  ArrayRef<MessageKind> Kinds;
  FrameForm Form;
  StringRef Greeting; ///< Empty: not expected, or found.
  std::string Buffer;
  size_t Begin = 0;   ///< Start of the unparsed data.
  size_t Scanned = 0; ///< Where the search for the end of the line continues.
  std::optional<Frame> Head; ///< A frame whose bytes are incomplete.
  uint64_t Wanted = 0;

  Expected<bool> skipToGreeting();
  Expected<std::optional<size_t>> findKind(StringRef Line, bool IsWhole) const;
  Error parseHead(size_t Kind, StringRef Line);
  Error parseObject(StringRef Line);
  Expected<bool> parseLine();
  void take(size_t N);
};

/// One end of a connection. Closes the descriptors.
class Channel {
public:
  /// \p In and \p Out are one socket, or the ends of two pipes.
  Channel(int In, int Out, ArrayRef<MessageKind> Kinds,
          FrameForm Form = FrameForm::Keyed)
      : Parser(Kinds, Form), In(In), Out(Out) {}
  Channel(int Socket, ArrayRef<MessageKind> Kinds)
      : Channel(Socket, Socket, Kinds) {}
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  ~Channel();

  FrameParser Parser;
  int in() const { return In; }
  /// Returns -1 if closed.
  int out() const { return Out; }

  //===--- Blocking operations --------------------------------------------===//

  /// Sends everything. Fails if the other side has closed the connection.
  Error write(StringRef Line, StringRef Bytes);
  /// Waits for the next frame. Returns nothing if the other side has closed the
  /// connection. Fails with StreamErrors (Late, TooLong, Malformed).
  Expected<std::optional<Frame>> read(Deadline Until = {});

  //===--- Operations for a poll loop, after makeNonBlocking() ------------===//

  Error makeNonBlocking();
  /// Queues a frame to be sent. Does not copy \p Bytes.
  void queue(std::string Line, std::shared_ptr<const std::string> Bytes);
  /// Queues a frame without bytes, and a descriptor to be sent with it. The
  /// output is a Unix socket.
  void queue(std::string Line, Descriptor Attached);
  bool hasQueued() const { return !Queue.empty(); }
  uint64_t queuedBytes() const { return Queued; }
  /// Sends as much as possible without blocking. If the other side has closed
  /// the connection, drops the queue; receive() reports that after its last
  /// messages.
  void flush();
  /// Receives the available data. \returns false if the other side has closed
  /// the connection.
  Expected<bool> receive();
  /// Ends sending. Closes the output if it is a pipe.
  void closeOutput();

  uint64_t sent() const { return Sent; }
  uint64_t received() const { return Received; }

private:
  int In, Out;
  struct Entry {
    std::shared_ptr<const std::string> Data;
    Descriptor Attached; ///< Sent with the first byte.
  };
  std::deque<Entry> Queue;
  size_t Offset = 0; ///< Bytes sent of the first element.
  bool Broken = false;
  uint64_t Queued = 0, Sent = 0, Received = 0;

  ssize_t writeSome(StringRef Data);
  ssize_t writeAttached(StringRef Data, int Attached);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_FRAME_H
