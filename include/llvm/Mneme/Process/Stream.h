//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Descriptors of pipes and sockets between processes, and lines of text on
/// them. Frame.h has messages.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_STREAM_H
#define LLVM_MNEME_PROCESS_STREAM_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cerrno>
#include <string>
#include <utility>

namespace llvm {
namespace mneme {

/// Returns the Error of a failed system call: \p What and the text of \p Code.
/// A shortage of resources is a ShortageError.
Error systemError(const Twine &What, int Code = errno);

/// Owns a file descriptor.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int FD) : FD(FD) {}
  Descriptor(Descriptor &&Other) : FD(Other.release()) {}
  Descriptor &operator=(Descriptor &&Other) {
    std::swap(FD, Other.FD);
    return *this;
  }
  ~Descriptor() { reset(); }

  explicit operator bool() const { return FD >= 0; }
  int get() const { return FD; }
  int release() { return std::exchange(FD, -1); }
  void reset();

private:
  int FD = -1;
};

/// The two ends of a pipe or a socket. Programs do not inherit them.
struct Pipe {
  Descriptor Read, Write;

  static Expected<Pipe> create();
  /// Creates a socket whose ends can both be read and written.
  static Expected<Pipe> createSocket();
};

/// Takes standard input and output of this process for a protocol: Read and
/// Write of the result. Afterwards, standard input is empty, and whatever the
/// tool, a plugin or a kernel prints goes to standard error.
Expected<Pipe> takeStandardStreams();

/// Makes read() and write() fail instead of block.
Error makeNonBlocking(int FD);

/// The reason why a stream has no further data.
class StreamError : public ErrorInfo<StreamError> {
public:
  static char ID;
  enum Kind {
    Late,      ///< The deadline has passed.
    Closed,    ///< The other side has closed the stream or has ended.
    TooLong,   ///< A line or message exceeds its limit.
    Malformed, ///< The data is not what the protocol allows here.
  };
  StreamError(Kind TheKind, const Twine &Message)
      : TheKind(TheKind), Message(Message.str()) {}

  Kind kind() const { return TheKind; }
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override;

private:
  Kind TheKind;
  std::string Message;
};

/// Waits until \p Events (POLLIN, POLLOUT) of \p FD arrive. \p HasEnded returns
/// true if the other side's process has ended, while one of its children may
/// still have the stream open. Fails with StreamErrors (Late, Closed).
Error waitFor(int FD, short Events, Deadline Until,
              function_ref<bool()> HasEnded = nullptr);

/// Reads lines from a descriptor.
class LineReader {
public:
  explicit LineReader(int FD, size_t MaxBytes = SIZE_MAX)
      : FD(FD), MaxBytes(MaxBytes) {}

  /// Waits for the next line and returns it without its newline. Fails with
  /// StreamErrors (Late, Closed, TooLong). Drops an unterminated last line.
  /// \p HasEnded is that of waitFor().
  Expected<std::string> next(Deadline Until = {},
                             function_ref<bool()> HasEnded = nullptr);

private:
  int FD;
  size_t MaxBytes; ///< Largest size of a line.
  std::string Buffer;
  size_t Scanned = 0; ///< Bytes of Buffer without a newline.
};

/// Writes all of \p Text. Fails if the other side has closed the stream.
Error writeAll(int FD, StringRef Text);

/// Writes a line of JSON in one piece. Ends this process if the other side has
/// closed the stream: for children whose only purpose is to serve it.
void writeLineOrExit(int FD, json::Object Message);

/// Reads until the other side closes the stream.
std::string readToEnd(int FD);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_STREAM_H
