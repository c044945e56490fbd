//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Socket.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// A machine that does not answer for about so many seconds is gone.
static constexpr int IdleSeconds = 20, ProbeSeconds = 5, Probes = 4;

namespace {
struct FreeAddresses {
  void operator()(addrinfo *A) const { ::freeaddrinfo(A); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;
} // namespace

static Expected<Addresses> resolve(StringRef Address, bool Listens) {
  auto [Host, Port] = Address.rsplit(':');
  unsigned Number = 0;
  if (!to_integer(Port, Number, 10) || Number > 65535 ||
      (Number == 0 && !Listens) || (Host.empty() && !Listens))
    return createStringError("'" + Address + "' is no HOST:PORT");
  if (Host.empty())
    Host = "127.0.0.1";
  if (Host.size() > 2 && Host.front() == '[' && Host.back() == ']')
    Host = Host.drop_front().drop_back();
  addrinfo Hints = {};
  Hints.ai_socktype = SOCK_STREAM;
  Hints.ai_flags = AI_NUMERICSERV | (Listens ? AI_PASSIVE : 0);
  addrinfo *Found = nullptr;
  int Status =
      ::getaddrinfo(Host.str().c_str(), Port.str().c_str(), &Hints, &Found);
  if (Status != 0)
    return createStringError("'" + Address + "': " + ::gai_strerror(Status));
  return Addresses(Found);
}

static void setOption(int FD, int Level, int Name, int Value) {
  (void)::setsockopt(FD, Level, Name, &Value, sizeof(Value));
}

/// Small messages at once; a machine that is gone is noticed.
static void setUp(int FD) {
  setOption(FD, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(FD, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(FD, IPPROTO_TCP, TCP_KEEPIDLE, IdleSeconds);
  setOption(FD, IPPROTO_TCP, TCP_KEEPINTVL, ProbeSeconds);
  setOption(FD, IPPROTO_TCP, TCP_KEEPCNT, Probes);
  setOption(FD, IPPROTO_TCP, TCP_USER_TIMEOUT,
            1000 * (IdleSeconds + Probes * ProbeSeconds));
}

static std::string printAddress(const sockaddr_storage &A, socklen_t Size) {
  char Host[NI_MAXHOST], Port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr *>(&A), Size, Host,
                    sizeof(Host), Port, sizeof(Port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  std::string Name = Host;
  if (A.ss_family == AF_INET6)
    Name = "[" + Name + "]";
  return Name + ":" + Port;
}

Expected<int> mneme::listenAt(StringRef Address) {
  Expected<Addresses> Found = resolve(Address, /*Listens=*/true);
  if (!Found)
    return Found.takeError();
  const addrinfo &A = **Found;
  int FD = ::socket(A.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (FD >= 0) {
    setOption(FD, SOL_SOCKET, SO_REUSEADDR, 1);
    if (::bind(FD, A.ai_addr, A.ai_addrlen) == 0 && ::listen(FD, 64) == 0)
      return FD;
  }
  std::error_code EC = errnoAsErrorCode();
  if (FD >= 0)
    ::close(FD);
  return createStringError("cannot listen at '" + Address +
                           "': " + EC.message());
}

std::string mneme::getLocalAddress(int FD) {
  sockaddr_storage A = {};
  socklen_t Size = sizeof(A);
  if (::getsockname(FD, reinterpret_cast<sockaddr *>(&A), &Size) != 0)
    return "";
  return printAddress(A, Size);
}

int mneme::acceptConnection(int Listener, std::string &From) {
  sockaddr_storage A = {};
  socklen_t Size = sizeof(A);
  int FD = ::accept4(Listener, reinterpret_cast<sockaddr *>(&A), &Size,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (FD < 0)
    return -1;
  setUp(FD);
  From = printAddress(A, Size);
  return FD;
}

Expected<int> mneme::connectTo(StringRef Address, double Seconds) {
  auto Deadline = std::chrono::steady_clock::now() +
                  std::chrono::duration<double>(Seconds);
  while (true) {
    Expected<Addresses> Found = resolve(Address, /*Listens=*/false);
    if (!Found)
      return Found.takeError();
    std::error_code EC;
    for (addrinfo *A = Found->get(); A; A = A->ai_next) {
      int FD = ::socket(A->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (FD < 0) {
        EC = errnoAsErrorCode();
        continue;
      }
      // Also how long connect() waits.
      timeval Limit = {static_cast<time_t>(Seconds) + 1, 0};
      ::setsockopt(FD, SOL_SOCKET, SO_SNDTIMEO, &Limit, sizeof(Limit));
      if (::connect(FD, A->ai_addr, A->ai_addrlen) == 0) {
        Limit = {};
        ::setsockopt(FD, SOL_SOCKET, SO_SNDTIMEO, &Limit, sizeof(Limit));
        setUp(FD);
        return FD;
      }
      EC = errnoAsErrorCode();
      ::close(FD);
    }
    if (std::chrono::steady_clock::now() >= Deadline)
      return createStringError("cannot connect to '" + Address +
                               "': " + EC.message());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}
