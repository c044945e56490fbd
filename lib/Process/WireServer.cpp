//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/WireServer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Mneme/Support/Printable.h"
#include <cerrno>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// A process greets as soon as it has connected. A connection without a
/// greeting is closed after this time, or after ShortSilence if the server
/// cannot accept others until then.
static constexpr std::chrono::seconds MaxSilence(30);
static constexpr size_t MaxStrangers = 256;
/// Descriptors that a server needs for other purposes.
static constexpr size_t OwnDescriptors = 32;

//===----------------------------------------------------------------------===//
// WirePeer
//===----------------------------------------------------------------------===//

WirePeer::WirePeer(int FD, uint32_t Magic, uint32_t Greeting)
    : FD(FD), Magic(Magic), Greeting(Greeting) {}

/// Returns the number of bytes of the current request that are not received
/// yet.
size_t WirePeer::missing() const {
  MnemeWireHeader Header;
  if (In.size() < sizeof(Header))
    return sizeof(Header) - In.size();
  memcpy(&Header, In.data(), sizeof(Header));
  return sizeof(Header) + Header.Size - In.size();
}

void WirePeer::addTo(std::vector<pollfd> &Waits) const {
  // A client that has closed its end would always be readable.
  bool Receives = isListening() && missing();
  short Events = (Receives ? POLLIN : 0) | (Out.empty() ? 0 : POLLOUT);
  if (Events)
    Waits.push_back({FD.get(), Events, 0});
}

bool WirePeer::isGone() const {
  pollfd Wait = {FD.get(), 0, 0};
  return HasEnded || (::poll(&Wait, 1, 0) > 0 && Wait.revents);
}

bool WirePeer::receive(LimitFn Limit) {
  bool Any = false;
  char Chunk[1 << 16];
  while (isListening()) {
    size_t Missing = missing();
    // A complete request waits until it is taken.
    if (!Missing)
      break;
    ssize_t N = ::recv(FD.get(), Chunk, std::min(Missing, sizeof(Chunk)), 0);
    if (N < 0 && errno == EINTR)
      continue;
    if (N < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    Any = true;
    if (N <= 0) {
      HasEnded = true;
      break;
    }
    In.append(Chunk, N);
    if (!checkHeader(Limit))
      break;
  }
  return Any;
}

/// Rejects an invalid request as soon as its header is complete.
bool WirePeer::checkHeader(LimitFn Limit) {
  MnemeWireHeader Header;
  if (In.size() < sizeof(Header))
    return true;
  memcpy(&Header, In.data(), sizeof(Header));
  uint64_t Max = Limit(HasGreeted ? Header.Type : Greeting);
  if (Header.Magic == Magic && Header.Size <= Max)
    return true;
  Type = Header.Type;
  refuse(createStringError("not a message of Mneme's runtime"));
  return false;
}

bool WirePeer::send() {
  bool Any = false;
  while (!Out.empty()) {
    ssize_t N = ::send(FD.get(), Out.data(), Out.size(), MSG_NOSIGNAL);
    if (N < 0 && errno == EINTR)
      continue;
    if (N < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    Any = true;
    if (N <= 0) {
      // The process has ended and does not read the answer.
      HasEnded = true;
      Out.clear();
    } else {
      Out.erase(0, N);
    }
  }
  return Any;
}

bool WirePeer::hasRequest() const {
  return !isBusy() && !IsRefused && Out.empty() &&
         In.size() >= sizeof(MnemeWireHeader) && !missing();
}

std::string WirePeer::takeRequest() {
  MnemeWireHeader Header;
  memcpy(&Header, In.data(), sizeof(Header));
  Type = Header.Type;
  std::string Body = std::exchange(In, std::string());
  Body.erase(0, sizeof(Header));
  return Body;
}

void WirePeer::answer(StringRef Body) {
  MnemeWireHeader Header = {Magic, Type, Body.size()};
  Out.append(reinterpret_cast<const char *>(&Header), sizeof(Header));
  Out += Body;
}

void WirePeer::answerError(Error E) {
  ::mneme::WireWriter W;
  std::string Text = printableMessage(toString(std::move(E)));
  W.str(Text.substr(0, ::mneme::MaxWireError));
  answer(W.body());
}

void WirePeer::refuse(Error E) {
  answerError(std::move(E));
  In.clear();
  IsRefused = true;
}

//===----------------------------------------------------------------------===//
// WireListener
//===----------------------------------------------------------------------===//

WireListener::WireListener(size_t DescriptorsOfPeer) {
  rlimit Limit = {};
  ::getrlimit(RLIMIT_NOFILE, &Limit);
  size_t Descriptors = Limit.rlim_cur;
  MaxPeers = Descriptors > OwnDescriptors + DescriptorsOfPeer
                 ? (Descriptors - OwnDescriptors) / DescriptorsOfPeer
                 : 1;
}

Error WireListener::listen(StringRef Path) {
  sockaddr_un Address = {};
  Address.sun_family = AF_UNIX;
  if (Path.size() >= sizeof(Address.sun_path))
    return createFileError(Path, createStringError("too long for a socket"));
  llvm::copy(Path, Address.sun_path);
  FD = Descriptor(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // The socket is for this user only.
  mode_t Mask = ::umask(0177);
  bool Ok = FD &&
            ::bind(FD.get(), reinterpret_cast<sockaddr *>(&Address),
                   sizeof(Address)) == 0 &&
            ::listen(FD.get(), SOMAXCONN) == 0;
  Error E = Ok ? Error::success() : createFileError(Path, errnoAsErrorCode());
  ::umask(Mask);
  return E;
}

bool WireListener::canAccept(size_t Peers, size_t Strangers) const {
  return FD && Peers < MaxPeers &&
         Strangers < std::min(MaxStrangers, (MaxPeers + 1) / 2);
}

void WireListener::addTo(std::vector<pollfd> &Waits, size_t Peers,
                         size_t Strangers) const {
  if (canAccept(Peers, Strangers) && !IsShort)
    Waits.push_back({FD.get(), POLLIN, 0});
}

WirePeer::Clock::duration WireListener::patience(size_t Peers,
                                                 size_t Strangers) const {
  return canAccept(Peers, Strangers) ? MaxSilence : ShortSilence;
}

static bool isSameUser(int FD) {
  ucred Peer = {};
  socklen_t Size = sizeof(Peer);
  return ::getsockopt(FD, SOL_SOCKET, SO_PEERCRED, &Peer, &Size) == 0 &&
         Peer.uid == ::geteuid();
}

bool WireListener::accept(function_ref<bool()> CanMore,
                          function_ref<void(int)> Adopt) {
  bool Any = false;
  IsShort = false;
  while (CanMore()) {
    int Peer =
        ::accept4(FD.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    IsShort = Peer < 0 && (errno == EMFILE || errno == ENFILE ||
                           errno == ENOMEM || errno == ENOBUFS);
    if (Peer < 0)
      break;
    Any = true;
    if (isSameUser(Peer))
      Adopt(Peer);
    else
      ::close(Peer);
  }
  return Any;
}
