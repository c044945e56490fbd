//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ServerLink.h"
#include "Descriptor.h"
#include "Hex.h"
#include "JSONWriter.h"
#include "Threads.h"
#include "Transfer.h"
#include "llvm/Mneme/Runtime/JitCache.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace mneme;

/// Time for a server to start.
static constexpr int StartSeconds = 20;
/// Attempts to start one in the life of the process.
static constexpr unsigned MaxFailures = 3;

static LinkStatus noServer(std::string Why) {
  return {LinkStatus::NoServer, std::move(Why)};
}

//===----------------------------------------------------------------------===//
// The socket
//===----------------------------------------------------------------------===//

/// Makes a folder that only this user can use. \returns false if it is not.
static bool makeOwnFolder(const std::string &Path) {
  mkdir(Path.c_str(), 0700);
  struct stat Status;
  return !lstat(Path.c_str(), &Status) && S_ISDIR(Status.st_mode) &&
         Status.st_uid == geteuid() && !(Status.st_mode & 077);
}

/// One server for each build, which its program identifies.
LinkStatus ServerLink::findSocket(std::string &Path) {
  struct stat Status;
  if (Settings.Server.empty() || stat(Settings.Server.c_str(), &Status))
    return noServer("'" + Settings.Server + "' does not exist");
  WireWriter W;
  W.u32(MNEME_JIT_VERSION);
  W.str(Settings.Server);
  for (uint64_t Value :
       {uint64_t(Status.st_dev), uint64_t(Status.st_ino),
        uint64_t(Status.st_size), uint64_t(Status.st_mtim.tv_sec),
        uint64_t(Status.st_mtim.tv_nsec)})
    W.u64(Value);
  std::string Digest = jitDigest(W.body());
  std::string Name = "/" + hexDigits(Digest.data(), 8);
  const char *Runtime = secure_getenv("XDG_RUNTIME_DIR");
  std::string Folders[] = {
      Runtime && *Runtime == '/' ? std::string(Runtime) + "/mneme-jit" : "",
      "/tmp/mneme-jit-" + std::to_string(geteuid())};
  for (const std::string &Folder : Folders) {
    if (Folder.empty() ||
        Folder.size() + Name.size() >= sizeof(sockaddr_un::sun_path) ||
        !makeOwnFolder(Folder))
      continue;
    Path = Folder + Name;
    return {};
  }
  return noServer("'" + Folders[1] +
                  "' is not a folder that only this user can access");
}

static int connectTo(const std::string &Path) {
  sockaddr_un Address = {};
  Address.sun_family = AF_UNIX;
  strcpy(Address.sun_path, Path.c_str());
  int Fd = moveAway(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (Fd < 0)
    return -1;
  ucred Peer = {};
  socklen_t Size = sizeof(Peer);
  if (!connect(Fd, reinterpret_cast<sockaddr *>(&Address), sizeof(Address)) &&
      !getsockopt(Fd, SOL_SOCKET, SO_PEERCRED, &Peer, &Size) &&
      Peer.uid == geteuid())
    return Fd;
  close(Fd);
  return -1;
}

//===----------------------------------------------------------------------===//
// Starting a server
//===----------------------------------------------------------------------===//

namespace {
/// What the processes between the application and the server need. They share
/// the application's memory, and its thread waits for them.
struct Start {
  const char *Program;
  char *const *Words;
  char *const *Environment;
  int ReadyFd;
  char *Stack; ///< For the second process: its top.
};
} // namespace

/// The descriptor of the socket in the server.
static constexpr int ReadyInServer = 3;

/// Only system calls from here on: the memory is the application's.
static int runServer(void *Data) {
  auto &S = *static_cast<Start *>(Data);
  setsid();
  int Null = open("/dev/null", O_RDWR);
  for (int Fd : {0, 1, 2})
    if (Null >= 0)
      dup2(Null, Fd);
  if (S.ReadyFd != ReadyInServer)
    dup2(S.ReadyFd, ReadyInServer);
  else
    fcntl(ReadyInServer, F_SETFD, 0);
  if (syscall(SYS_close_range, ReadyInServer + 1, ~0u, 0))
    for (int Fd = ReadyInServer + 1; Fd != 4096; ++Fd)
      close(Fd);
  if (chdir("/")) {
  }
  sigset_t None;
  sigemptyset(&None);
  sigprocmask(SIG_SETMASK, &None, nullptr);
  for (int Signal = 1; Signal != NSIG; ++Signal) {
    struct sigaction Default = {};
    Default.sa_handler = SIG_DFL;
    sigaction(Signal, &Default, nullptr);
  }
  execve(S.Program, S.Words, S.Environment);
  _exit(127);
}

/// Starts the server and ends, so that the server is no child of the
/// application.
static int startServer(void *Data) {
  auto &S = *static_cast<Start *>(Data);
  int Child = clone(runServer, S.Stack, CLONE_VM | CLONE_VFORK | SIGCHLD, Data);
  _exit(Child < 0);
}

/// Returns the application's environment without what concerns only it.
static std::vector<char *> makeEnvironment() {
  std::vector<char *> Kept;
  for (char **Variable = environ; Variable && *Variable; ++Variable) {
    bool IsOurs = false;
    for (const char *Prefix :
         {"LD_PRELOAD=", "LD_AUDIT=", "MNEME_", "PROTEUS_"})
      IsOurs |= !strncmp(*Variable, Prefix, strlen(Prefix));
    if (!IsOurs)
      Kept.push_back(*Variable);
  }
  Kept.push_back(nullptr);
  return Kept;
}

LinkStatus ServerLink::start(const std::string &Socket) {
  if (Failures >= MaxFailures)
    return noServer("it could not be started " + std::to_string(MaxFailures) +
                    " times");
  int Ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends))
    return noServer(std::string("no descriptor: ") + strerror(errno));
  OwnedDescriptor Read(moveAway(Ends[0]));
  int Write = moveAway(Ends[1]);
  std::string Problem = run(Socket, Write);
  close(Write);
  // A server that is ready, or finds one, writes a byte. One that has ended has
  // closed its end.
  Transfer T(Read, StartSeconds);
  char Byte;
  if (Problem.empty() && !T.receive(&Byte, 1))
    Problem = T.isLate() ? "it does not start" : "it has ended at its start";
  if (Problem.empty())
    return {};
  ++Failures;
  return noServer("'" + Settings.Server + "': " + Problem);
}

/// Starts the program with one end of a socket. \returns an error message.
std::string ServerLink::run(const std::string &Socket, int ReadyFd) {
  std::string Words[] = {Settings.Server, "--socket=" + Socket,
                         "--program=" + Settings.Server,
                         "--idle=" + decimal(Settings.IdleSeconds),
                         "--ready-fd=" + std::to_string(ReadyInServer)};
  std::vector<char *> Argv;
  for (std::string &Word : Words)
    Argv.push_back(&Word[0]);
  Argv.push_back(nullptr);
  std::vector<char *> Environment = makeEnvironment();

  constexpr size_t StackSize = 64 << 10;
  char *Stacks =
      static_cast<char *>(mmap(nullptr, 2 * StackSize, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (Stacks == MAP_FAILED)
    return "out of memory";
  Start S = {Settings.Server.c_str(), Argv.data(), Environment.data(), ReadyFd,
             Stacks + StackSize};
  // No handler may run in a process that shares the memory. Without an exit
  // signal, the application's handlers and calls of wait() do not see the
  // child.
  BlockedSignals Here;
  int Child =
      clone(startServer, Stacks + 2 * StackSize, CLONE_VM | CLONE_VFORK, &S);
  int Error = Child < 0 ? errno : EAGAIN;
  int Status = 0;
  while (Child > 0 && waitpid(Child, &Status, __WCLONE) < 0 && errno == EINTR)
    ;
  munmap(Stacks, 2 * StackSize);
  return Child < 0 || Status ? strerror(Error) : "";
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

LinkStatus ServerLink::open(int &Fd) {
  std::string Socket;
  if (LinkStatus S = findSocket(Socket); S.K != LinkStatus::Ok)
    return S;
  Fd = connectTo(Socket);
  if (Fd < 0)
    if (LinkStatus S = start(Socket); S.K != LinkStatus::Ok)
      return S;
  // A server that has just ended has left the socket for a moment.
  for (int Tries = 0; Fd < 0 && Tries != 50; ++Tries) {
    Fd = connectTo(Socket);
    if (Fd < 0)
      usleep(10000);
  }
  return Fd < 0 ? noServer("cannot connect to '" + Socket +
                           "': " + strerror(errno))
                : LinkStatus();
}

/// Sends a request and receives what follows the error message of the answer.
LinkStatus ServerLink::exchange(int Fd, uint32_t Type, const std::string &Body,
                                std::string &Answer) {
  MnemeWireHeader H = {MNEME_JIT_WIRE_MAGIC, Type, Body.size()};
  Transfer T(Fd, int64_t(Settings.TimeoutSeconds));
  auto Fail = [&] {
    return noServer(T.isLate() ? "it does not answer" : "it has ended");
  };
  if (!T.send(&H, sizeof(H)) || !T.send(Body.data(), Body.size()) ||
      !T.receive(&H, sizeof(H)))
    return Fail();
  if (H.Magic != MNEME_JIT_WIRE_MAGIC || H.Type != Type ||
      H.Size > MaxJitAnswer)
    return noServer("its answer is malformed");
  Answer.clear();
  // The stated size may be wrong.
  constexpr uint64_t Step = 1 << 20;
  for (uint64_t Done = 0; Done != H.Size;) {
    uint64_t N = std::min<uint64_t>(H.Size - Done, Step);
    Answer.resize(Done + N);
    if (!T.receive(&Answer[Done], N))
      return Fail();
    Done += N;
  }
  WireReader R(Answer.data(), Answer.size());
  std::string Error = R.str();
  if (!R.ok())
    return noServer("its answer is malformed");
  if (!Error.empty())
    return {LinkStatus::Refused, std::move(Error)};
  Answer.erase(0, sizeof(uint64_t));
  return {};
}

/// Opens a connection and greets.
LinkStatus ServerLink::connect(JitTarget Target, int &Fd,
                               std::string &Identity) {
  WireWriter Hello;
  Hello.u32(MNEME_JIT_VERSION);
  Hello.u32(uint32_t(Target));
  Hello.str(usesCuda(Target) ? Settings.CudaPath : "");
  Hello.str(Settings.Cache);
  std::lock_guard<std::mutex> Guard(Lock);
  LinkStatus S;
  // A server that has been idle may end as it is connected to.
  for (int Tries = 0; Tries != 2; ++Tries) {
    S = open(Fd);
    if (S.K != LinkStatus::Ok)
      return S;
    std::string Answer;
    S = exchange(Fd, MNEME_JIT_HELLO, Hello.body(), Answer);
    WireReader R(Answer.data(), Answer.size());
    if (S.K == LinkStatus::Ok) {
      Identity = R.str();
      constexpr size_t IdentitySize = 16;
      if (R.ok() && R.atEnd() && Identity.size() == IdentitySize)
        return S;
      S = noServer("its answer is malformed");
    }
    close(Fd);
    if (S.K == LinkStatus::Refused)
      break;
  }
  return S;
}

LinkStatus ServerLink::identify(JitTarget Target, std::string &Identity) {
  int Fd = -1;
  LinkStatus S = connect(Target, Fd, Identity);
  if (S.K == LinkStatus::Ok)
    close(Fd);
  return S;
}

LinkStatus ServerLink::request(JitTarget Target, uint32_t Type,
                               const std::string &Body, std::string &Answer) {
  // A connection for each: the application may close descriptors meanwhile.
  int Fd = -1;
  LinkStatus S = connect(Target, Fd, Answer);
  if (S.K != LinkStatus::Ok)
    return S;
  OwnedDescriptor Owned(Fd);
  return exchange(Fd, Type, Body, Answer);
}

LinkStatus ServerLink::compile(JitTarget Target, const std::string &Body,
                               JitAnswer &Answer) {
  std::string Bytes;
  LinkStatus S = request(Target, MNEME_JIT_COMPILE, Body, Bytes);
  if (S.K != LinkStatus::Ok)
    return S;
  WireReader R(Bytes.data(), Bytes.size());
  Answer.Facts = R.str();
  Answer.Image = R.str();
  Answer.Origin = JitOrigin(R.u32());
  Answer.Note = R.str();
  return R.ok() && R.atEnd() ? S : noServer("its answer is malformed");
}

LinkStatus ServerLink::build(JitTarget Target, const std::string &Body,
                             JitBuilt &Built) {
  std::string Bytes;
  LinkStatus S = request(Target, MNEME_JIT_BUILD, Body, Bytes);
  if (S.K != LinkStatus::Ok)
    return S;
  WireReader R(Bytes.data(), Bytes.size());
  return readBuilt(R, Built) ? S : noServer("its answer is malformed");
}
