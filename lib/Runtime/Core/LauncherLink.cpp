//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LauncherLink.h"
#include "Descriptor.h"
#include "Shortage.h"
#include "Transfer.h"
#include "Variables.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/Ranks.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace mneme;

/// Size of the address range for compiled kernels: enough for any program, at
/// no cost. A smaller range is used if addresses are scarce.
static constexpr uint64_t CodeRegionSize = 1ull << 30;
static constexpr uint64_t MinCodeRegionSize = 16ull << 20;

/// Time limit of one exchange, longer than any compilation. If the launcher
/// hangs, the recording fails, but the application continues.
static constexpr int64_t MaxExchangeSeconds = 600;

LauncherLink &LauncherLink::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(LauncherLink) static char Storage[sizeof(LauncherLink)];
  static LauncherLink &L = *new (Storage) LauncherLink;
  return L;
}

//===----------------------------------------------------------------------===//
// The socket
//===----------------------------------------------------------------------===//

/// Returns the error message of a failed transfer.
static const char *whyFailed(const Transfer &T) {
  return T.isLate() ? "the launcher does not answer" : "the launcher is gone";
}

LauncherLink::LauncherLink(int Socket) {
  own(Socket);
  Pid = getpid();
}

void LauncherLink::own(int TheFd) {
  Fd = TheFd;
  struct stat S = {};
  if (Fd >= 0 && !fstat(Fd, &S))
    Socket = {S.st_dev, S.st_ino};
}

bool LauncherLink::isOurs() const {
  struct stat S;
  return Fd >= 0 && !fstat(Fd, &S) && S.st_dev == Socket.Device &&
         S.st_ino == Socket.File;
}

void LauncherLink::hangUp() {
  // Do not close the number if the program closed the socket and reused its
  // number.
  if (isOurs())
    close(Fd);
  Fd = -1;
}

std::string LauncherLink::fail(const std::string &Why) {
  hangUp();
  if (!attempt([&] { Broken = Why; }))
    Broken = outOfMemory();
  return Broken;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

/// Sends a request and receives the header of its answer. \returns null, or the
/// reason why the connection is unusable.
const char *LauncherLink::send(uint32_t Type, const void *Body, size_t Size,
                               MnemeWireHeader &Answer) {
  MnemeWireHeader H = {MNEME_WIRE_MAGIC, Type, Size};
  Transfer T(Fd, MaxExchangeSeconds);
  if (!T.send(&H, sizeof(H)) || !T.send(Body, Size) ||
      !T.receive(&Answer, sizeof(Answer)))
    return whyFailed(T);
  if (Answer.Magic != MNEME_WIRE_MAGIC || Answer.Type != Type)
    return "the launcher sent a malformed answer";
  return nullptr;
}

std::string LauncherLink::exchange(uint32_t Type, const WireWriter &Body,
                                   std::string &Answer, uint64_t MaxAnswer) {
  Answer.clear();
  // Reserve memory now, so that a short answer cannot fail to fit after the
  // launcher has processed the request.
  Answer.reserve(std::min<uint64_t>(MaxAnswer, 4096));
  MnemeWireHeader H;
  if (const char *Why = send(Type, Body.body().data(), Body.body().size(), H))
    return fail(Why);
  if (H.Size > MaxAnswer)
    return fail("the launcher sent a malformed answer");
  // Grow the buffer as data arrives: the stated size may be wrong. If memory
  // runs out, the rest is still received, so that the next answer can be read.
  constexpr size_t Step = 1 << 20;
  Transfer T(Fd, MaxExchangeSeconds);
  char Surplus[4096];
  bool Fits = true;
  for (uint64_t Done = 0, N; Done != H.Size; Done += N) {
    N = std::min<uint64_t>(H.Size - Done, Fits ? Step : sizeof(Surplus));
    if (Fits && !attempt([&] { Answer.resize(Done + N); })) {
      Fits = false;
      N = std::min<uint64_t>(N, sizeof(Surplus));
    }
    if (!T.receive(Fits ? &Answer[Done] : Surplus, N))
      return fail(whyFailed(T));
  }
  if (!Fits) {
    Answer = std::string();
    throw std::bad_alloc();
  }
  WireReader R(Answer.data(), Answer.size());
  std::string Error = R.str();
  if (!R.ok() || (!Error.empty() && !R.atEnd()))
    return fail("the launcher sent a malformed answer");
  return Error;
}

/// \returns an empty string if the connection is usable, or the reason if not.
std::string LauncherLink::whyUnusable() {
  if (Fd < 0)
    return Broken;
  if (getpid() != Pid)
    return "the process was forked after its first use of the device";
  if (!isOurs())
    return fail("the program has closed the connection to the launcher");
  return "";
}

std::string LauncherLink::request(uint32_t Type, const WireWriter &Body,
                                  std::string &Answer, uint64_t MaxAnswer) {
  Uncancelled Here;
  std::string Error = connect();
  if (!Error.empty())
    return Error;
  std::lock_guard<std::mutex> Guard(Lock);
  Error = whyUnusable();
  return Error.empty() ? exchange(Type, Body, Answer, MaxAnswer) : Error;
}

void LauncherLink::notify(uint32_t Type, const void *Body, size_t Size) {
  Uncancelled Here;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Fd < 0 || getpid() != Pid || !isOurs())
    return;
  MnemeWireHeader H = {};
  if (send(Type, Body, Size, H))
    return hangUp();
  Transfer T(Fd, MaxExchangeSeconds);
  char Surplus[4096];
  for (uint64_t Left = std::min<uint64_t>(H.Size, MaxShortAnswer), N; Left;
       Left -= N) {
    N = std::min<uint64_t>(Left, sizeof(Surplus));
    if (!T.receive(Surplus, N))
      return hangUp();
  }
}

//===----------------------------------------------------------------------===//
// Handshake
//===----------------------------------------------------------------------===//

std::string LauncherLink::connect() {
  Uncancelled Here;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Fd >= 0)
    return "";
  if (!Broken.empty())
    return Broken;
  try {
    std::string Error = open();
    return Error.empty() ? greet() : Error;
  } catch (...) {
    // Memory is short now, but the next request may succeed.
    hangUp();
    throw;
  }
}

std::string LauncherLink::open() {
  const char *Path = getVariable(MNEME_ENV_SOCKET);
  if (!Path || !*Path)
    return fail(MNEME_ENV_SOCKET " is not set: run the program under "
                                 "llvm-mneme-record");
  sockaddr_un Addr = {};
  Addr.sun_family = AF_UNIX;
  if (strlen(Path) >= sizeof(Addr.sun_path))
    return fail(std::string("socket path '") + Path + "' is too long");
  strcpy(Addr.sun_path, Path);
  own(moveAway(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  if (Fd < 0 ||
      ::connect(Fd, reinterpret_cast<sockaddr *>(&Addr), sizeof(Addr)))
    return fail(std::string("cannot connect to the launcher at '") + Path +
                "': " + strerror(errno));
  ucred Peer = {};
  socklen_t Size = sizeof(Peer);
  if (getsockopt(Fd, SOL_SOCKET, SO_PEERCRED, &Peer, &Size) ||
      Peer.uid != geteuid())
    return fail(std::string("the launcher at '") + Path +
                "' is another user's");
  return "";
}

std::string LauncherLink::greet() {
  RuntimeFacts Facts = runtimeFacts();
  for (uint64_t Bytes = CodeRegionSize;
       Facts.NumSymbols && !CodeSize && Bytes >= MinCodeRegionSize;
       Bytes /= 2) {
    void *Code = mmap(nullptr, Bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (Code == MAP_FAILED)
      continue;
    CodeBase = reinterpret_cast<uint64_t>(Code);
    CodeSize = Bytes;
  }
  if (Facts.NumSymbols && !CodeSize)
    return fail("no address space for compiled kernels");
  Pid = getpid();

  WireWriter Hello;
  Hello.u32(MNEME_WIRE_VERSION);
  Hello.u32(Pid);
  Hello.str(Facts.Device);
  ProcessRank Rank;
  Hello.str(findRank(Rank) ? Rank.Variable : "");
  Hello.u64(CodeBase);
  Hello.u64(CodeSize);
  Hello.u32(Facts.NumSymbols);
  for (size_t I = 0; I != Facts.NumSymbols; ++I) {
    Hello.str(Facts.Symbols[I].Name);
    Hello.u64(reinterpret_cast<uint64_t>(Facts.Symbols[I].Address));
  }
  std::string Answer;
  std::string Error = exchange(MNEME_WIRE_HELLO, Hello, Answer, MaxShortAnswer);
  if (!Error.empty())
    return fail(Error);
  WireReader R = reader(Answer);
  std::string TheirDirectory = R.str(), TheirDatabase = R.str();
  if (!R.ok() || !R.atEnd())
    return fail("the launcher sent a malformed answer");
  Directory = std::move(TheirDirectory);
  Database = std::move(TheirDatabase);
  return "";
}
