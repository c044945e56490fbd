//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the processes of a farm say to each other, here and over a network: a
/// line of JSON and, where its "bytes" says so, as many bytes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_FRAME_H
#define LLVM_MNEME_LIB_FARM_FRAME_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

struct Frame {
  json::Object Head;
  std::string Bytes;
};

/// What is believed of the other side.
struct FrameLimits {
  size_t HeadBytes = size_t(64) << 20;
  uint64_t Bytes = uint64_t(4) << 30;

  /// Before it has shown who it is.
  static FrameLimits stranger() { return {4096, 0}; }
};

/// The line of a frame.
std::string printFrameHead(json::Object Head, uint64_t Bytes);

/// Frames out of a stream of bytes.
class FrameParser {
public:
  FrameLimits Limits;

  void append(StringRef Data) { Buffer.append(Data.begin(), Data.end()); }
  /// The next whole frame, if there is one. After an Error nothing makes sense
  /// any more.
  Expected<std::optional<Frame>> next();
  bool empty() const { return !Head && Begin == Buffer.size(); }

private:
  std::string Buffer;
  size_t Begin = 0;   ///< Of what was not taken yet.
  size_t Scanned = 0; ///< Where the search for the end of the line goes on.
  std::optional<json::Object> Head; ///< Its bytes are still to come.
  uint64_t Wanted = 0;

  Error parseHead(StringRef Line);
  void take(size_t N);
};

/// One end of a connection. Owns the descriptor.
class Channel {
public:
  explicit Channel(int FD) : FD(FD) {}
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  ~Channel();

  int fd() const { return FD; }
  FrameParser Parser;

  //===--- Of a process that has nothing else to do: these wait. ---------===//

  /// Error: nobody is there any more.
  Error write(json::Object Head, StringRef Bytes = {});
  /// Nothing: the other side has closed.
  Expected<std::optional<Frame>> read();

  //===--- Of a poll loop, after makeNonBlocking(). ----------------------===//

  Error makeNonBlocking();
  /// \p Bytes are sent later, and not copied.
  void queue(json::Object Head, std::shared_ptr<const std::string> Bytes = {});
  bool hasQueued() const { return !Queue.empty(); }
  uint64_t queuedBytes() const { return Queued; }
  /// Sends what goes. Nothing more is queued for one who is gone, which
  /// receive() will tell, after what was said before.
  void flush();
  /// Takes what there is. \returns false when the other side has closed.
  Expected<bool> receive();

  uint64_t sent() const { return Sent; }
  uint64_t received() const { return Received; }

private:
  int FD;
  std::deque<std::shared_ptr<const std::string>> Queue;
  size_t Offset = 0; ///< Of the first one that is sent.
  bool Broken = false;
  uint64_t Queued = 0, Sent = 0, Received = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_FRAME_H
