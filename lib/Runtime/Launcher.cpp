//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"
#include "Descriptor.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/Ranks.h"

#include <cerrno>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace mneme;

// Compiled kernels live in this much address space; nothing of it is committed.
static constexpr uint64_t CodeRegionSize = 1ull << 30;

// No answer is larger than this: a size beyond it means a broken peer, and must
// not make us allocate.
static constexpr uint64_t MaxAnswer = 1ull << 40;

Launcher &Launcher::get() {
  // Never destroyed: applications exit in any order.
  static Launcher &L = *new Launcher;
  return L;
}

static bool sendAll(int Fd, const void *Data, size_t Size) {
  return transferAll(Size, [&](size_t Done, size_t Left) {
    return send(Fd, static_cast<const char *>(Data) + Done, Left, MSG_NOSIGNAL);
  });
}

static bool receiveAll(int Fd, void *Data, size_t Size) {
  return transferAll(Size, [&](size_t Done, size_t Left) {
    return recv(Fd, static_cast<char *>(Data) + Done, Left, 0);
  });
}

/// Programs close descriptors that they do not know, and open files under their
/// numbers.
bool Launcher::isOurs() const {
  struct stat S;
  return Fd >= 0 && !fstat(Fd, &S) && S.st_dev == Socket.Device &&
         S.st_ino == Socket.File;
}

std::string Launcher::fail(std::string Why) {
  if (isOurs())
    close(Fd);
  Fd = -1;
  return Broken = std::move(Why);
}

std::string Launcher::exchange(uint32_t Type, const WireWriter &Body,
                               std::string &Answer) {
  MnemeWireHeader H = {MNEME_WIRE_MAGIC, Type, Body.body().size()};
  if (!sendAll(Fd, &H, sizeof(H)) ||
      !sendAll(Fd, Body.body().data(), Body.body().size()) ||
      !receiveAll(Fd, &H, sizeof(H)))
    return fail("the launcher is gone");
  if (H.Magic != MNEME_WIRE_MAGIC || H.Type != Type || H.Size > MaxAnswer)
    return fail("the launcher gave an answer that is none");
  Answer.resize(H.Size);
  if (!receiveAll(Fd, &Answer[0], H.Size))
    return fail("the launcher is gone");
  WireReader R(Answer.data(), Answer.size());
  std::string Error = R.str();
  if (!R.ok())
    return fail("the launcher gave an answer that is none");
  return Error;
}

std::string Launcher::connect() {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Fd >= 0)
    return "";
  if (!Broken.empty())
    return Broken;
  const char *Path = getenv(MNEME_ENV_SOCKET);
  if (!Path || !*Path)
    return fail(MNEME_ENV_SOCKET " is not set: run the program under "
                                 "llvm-mneme-record");
  sockaddr_un Addr = {};
  Addr.sun_family = AF_UNIX;
  if (strlen(Path) >= sizeof(Addr.sun_path))
    return fail(std::string("socket path '") + Path + "' is too long");
  strcpy(Addr.sun_path, Path);
  Fd = moveAway(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct stat S = {};
  if (Fd >= 0 && !fstat(Fd, &S))
    Socket = {S.st_dev, S.st_ino};
  if (Fd < 0 ||
      ::connect(Fd, reinterpret_cast<sockaddr *>(&Addr), sizeof(Addr)))
    return fail(std::string("cannot connect to the launcher at '") + Path +
                "': " + strerror(errno));

  RuntimeFacts Facts = runtimeFacts();
  if (Facts.NumSymbols) {
    void *Code = mmap(nullptr, CodeRegionSize, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (Code == MAP_FAILED)
      return fail("no address space for compiled kernels");
    CodeBase = reinterpret_cast<uint64_t>(Code);
    CodeSize = CodeRegionSize;
  }
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
  std::string Error = exchange(MNEME_WIRE_HELLO, Hello, Answer);
  if (!Error.empty())
    return fail(Error);
  WireReader R = reader(Answer);
  Directory = R.str();
  Database = R.str();
  return "";
}

std::string Launcher::request(uint32_t Type, const WireWriter &Body,
                              std::string &Answer) {
  std::string Error = connect();
  if (!Error.empty())
    return Error;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Fd < 0)
    return Broken;
  if (getpid() != Pid)
    return "the process was forked after its first use of the device";
  if (!isOurs())
    return fail("the program has closed the connection to the launcher");
  return exchange(Type, Body, Answer);
}
