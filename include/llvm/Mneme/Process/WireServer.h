//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The listening side of a Unix socket that carries messages as in
/// Runtime/Wire.h: a header and a body, one request at a time per connection.
/// For servers with one thread and a poll loop.
///
/// Peers are processes of the same user, but may be damaged or foreign. A
/// connection has one request in memory at a time, limited by the size of its
/// type. Connections without a greeting are limited in number and time.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_WIRESERVER_H
#define LLVM_MNEME_PROCESS_WIRESERVER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A connection.
class WirePeer {
public:
  using Clock = std::chrono::steady_clock;
  /// Returns the largest body of a request by its type.
  using LimitFn = function_ref<uint64_t(uint32_t Type)>;

  /// \param Magic     of all messages.
  /// \param Greeting  the type of the first request.
  WirePeer(int FD, uint32_t Magic, uint32_t Greeting);
  WirePeer(const WirePeer &) = delete;
  WirePeer &operator=(const WirePeer &) = delete;
  virtual ~WirePeer() = default;

  /// Returns true while the current request is worked on.
  virtual bool isBusy() const = 0;

  /// Returns true until a complete greeting has been received.
  bool isStranger() const { return !HasGreeted && missing(); }
  /// Returns true if nothing is to be sent, and nothing more will come.
  bool isOver() const {
    return Out.empty() && !isBusy() && (HasEnded || IsRefused);
  }
  /// Returns true if nothing can be sent any more, also while a request is
  /// worked on.
  bool isGone() const;
  Clock::time_point since() const { return Since; }

  void addTo(std::vector<pollfd> &Waits) const;
  /// Receives and sends what is possible without waiting. \returns whether
  /// there was any.
  bool receive(LimitFn Limit);
  bool send();

  /// Returns true if a request is complete and can be worked on.
  bool hasRequest() const;
  /// Returns the body of the request, and sets the type to answer.
  std::string takeRequest();
  uint32_t type() const { return Type; }

  void greet() { HasGreeted = true; }
  bool hasGreeted() const { return HasGreeted; }
  void answer(StringRef Body);
  /// Answers with an error message of at most 64 KiB.
  void answerError(Error E);
  /// The same, and ends the connection.
  void refuse(Error E);
  void end() { HasEnded = true; }

private:
  size_t missing() const;
  bool isListening() const { return !HasEnded && !isBusy() && Out.empty(); }
  bool checkHeader(LimitFn Limit);

  Descriptor FD;
  uint32_t Magic, Greeting;
  uint32_t Type = 0;
  /// One request, or its beginning. Its size is checked with its header.
  std::string In;
  std::string Out;
  bool HasGreeted = false;
  bool HasEnded = false;  ///< No more requests will come.
  bool IsRefused = false; ///< Close once Out is sent.
  Clock::time_point Since = Clock::now();
};

/// The socket on which a server listens.
class WireListener {
public:
  /// \param DescriptorsOfPeer  most descriptors per connection.
  explicit WireListener(size_t DescriptorsOfPeer);

  /// Listens on a Unix socket at \p Path, which only this user can connect to.
  Error listen(StringRef Path);

  /// Adds the socket unless no connection can be accepted now.
  void addTo(std::vector<pollfd> &Waits, size_t Peers, size_t Strangers) const;
  /// Accepts connections of this user and calls \p Adopt for each. \p CanMore
  /// is asked before. \returns whether there were any.
  bool accept(function_ref<bool()> CanMore, function_ref<void(int)> Adopt);
  /// Returns true if another connection can be accepted.
  bool canAccept(size_t Peers, size_t Strangers) const;
  /// Returns true if there was no descriptor or memory for another one.
  bool isShort() const { return IsShort; }
  /// The time in which a connection must greet.
  WirePeer::Clock::duration patience(size_t Peers, size_t Strangers) const;

  static constexpr std::chrono::seconds ShortSilence{1};

private:
  Descriptor FD;
  size_t MaxPeers; ///< Limited by descriptors.
  bool IsShort = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_WIRESERVER_H
