//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/WarmStart.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/Errno.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

bool CompilerRun::succeeded() const {
  return WIFEXITED(Status) && WEXITSTATUS(Status) == 0;
}

std::string CompilerRun::describeFailure() const {
  for (StringRef Line : split(Messages, '\n'))
    if (size_t At = Line.find("error: "); At != StringRef::npos)
      return Line.trim().str();
  LastWords Last = findLastWords(Messages);
  std::string How = describeExit(Status);
  return Last.Text.empty() ? How : How + ": " + Last.Text;
}

/// Reads at most MaxMessages and drops the rest, so that the compiler does not
/// wait.
static std::string readMessages(int FD) {
  std::string Text;
  char Buffer[1 << 14];
  while (true) {
    ssize_t Size = ::read(FD, Buffer, sizeof(Buffer));
    if (Size < 0 && errno == EINTR)
      continue;
    if (Size <= 0)
      return Text;
    Text.append(Buffer, std::min<size_t>(Size, MaxMessages - Text.size()));
  }
}

Expected<CompilerRun> mneme::runCompiler(const std::string &Program,
                                         ArrayRef<std::string> Words,
                                         const CompilerSetup &Setup) {
  Expected<Pipe> Ends = Pipe::create();
  if (!Ends)
    return Ends.takeError();
  ChildOptions O;
  O.In = Setup.In;
  O.Out = Setup.Out;
  O.Err = Ends->Write.get();
  O.Directory = Setup.Directory;
  O.Limits = Setup.Limits;
  O.Environment = Setup.Environment;
  if (Setup.Confined) {
    O.Confined = Setup.Confined;
    O.OnlyEnvironment = true;
  }
  auto Start = std::chrono::steady_clock::now();
  Expected<Child> C = Child::spawn(Program, Words, O);
  if (!C)
    return C.takeError();
  Ends->Write.reset();
  CompilerRun Run;
  Run.Messages = readMessages(Ends->Read.get());
  Run.Status = C->wait();
  Run.IsLate = WIFSIGNALED(Run.Status) && (WTERMSIG(Run.Status) == SIGALRM ||
                                           WTERMSIG(Run.Status) == SIGXCPU);
  Run.Seconds = secondsSince(Start);
  return std::move(Run);
}

//===----------------------------------------------------------------------===//
// Warm programs
//===----------------------------------------------------------------------===//

Expected<Pipe> mneme::createWarmSocket() {
  int Ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, Ends) != 0)
    return systemError("cannot create a socket");
  return Pipe{Descriptor(Ends[0]), Descriptor(Ends[1])};
}

std::optional<bool> mneme::hasWarmStopped(int Socket) {
  char Byte;
  ssize_t Size =
      sys::RetryAfterSignal(-1, ::recv, Socket, &Byte, 1, MSG_DONTWAIT);
  if (Size < 0 && errno == EAGAIN)
    return std::nullopt;
  return Size == 1;
}

bool mneme::hasWarmEnded(int Socket) {
  pollfd Wait = {Socket, 0, 0};
  return ::poll(&Wait, 1, 0) > 0 && Wait.revents;
}

bool WarmProgram::hasEnded() const { return hasWarmEnded(Socket.get()); }

Expected<WarmProgram> WarmProgram::start(const std::string &Program,
                                         const std::string &Library,
                                         ChildLimits Limits) {
  Expected<Pipe> Ends = createWarmSocket();
  if (!Ends)
    return Ends.takeError();
  ChildOptions O;
  static_assert(MNEME_WARM_SOCKET == STDIN_FILENO);
  O.In = Ends->Read.get();
  O.Err = NullStream;
  O.Limits = std::move(Limits);
  O.Environment = {{"LD_PRELOAD", Library}};
  // What it does without the library.
  Expected<Child> C = Child::spawn(Program, {Program, "--version"}, O);
  if (!C)
    return C.takeError();
  return WarmProgram(std::move(Ends->Write), std::move(*C));
}

/// Sends a message with descriptors. \returns whether that was possible.
static bool sendRequest(int Socket, StringRef Message, ArrayRef<int> FDs) {
  alignas(cmsghdr) char
      Control[CMSG_SPACE(MnemeWarmDescriptors * sizeof(int))] = {};
  iovec Part = {const_cast<char *>(Message.data()), Message.size()};
  msghdr Header = {};
  Header.msg_iov = &Part;
  Header.msg_iovlen = 1;
  Header.msg_control = Control;
  Header.msg_controllen = CMSG_SPACE(FDs.size() * sizeof(int));
  cmsghdr *C = CMSG_FIRSTHDR(&Header);
  C->cmsg_level = SOL_SOCKET;
  C->cmsg_type = SCM_RIGHTS;
  C->cmsg_len = CMSG_LEN(FDs.size() * sizeof(int));
  std::memcpy(CMSG_DATA(C), FDs.data(), FDs.size() * sizeof(int));
  return sys::RetryAfterSignal(-1, ::sendmsg, Socket, &Header, MSG_NOSIGNAL) ==
         ssize_t(Message.size());
}

std::optional<CompilerRun> mneme::runWarm(int Socket,
                                          ArrayRef<std::string> Words,
                                          const CompilerSetup &Setup,
                                          const WarmStop &Stop) {
  auto Start = std::chrono::steady_clock::now();
  const char *Temporary = ::getenv("TMPDIR");
  MnemeWarmRequest Request = {uint32_t(::getpid()), uint32_t(Words.size())};
  std::string Message(reinterpret_cast<const char *>(&Request),
                      sizeof(Request));
  auto Add = [&](StringRef Text) {
    Message += Text;
    Message += '\0';
  };
  Add(Temporary ? Temporary : "");
  Add(Setup.Directory);
  Add(Stop.Path);
  for_each(Words, Add);
  Expected<Pipe> Answer = Pipe::createSocket(), Errors = Pipe::create();
  Descriptor Null(::open("/dev/null", O_RDWR | O_CLOEXEC)),
      Tail(::memfd_create("mneme-warm", MFD_CLOEXEC)),
      Lookups(::memfd_create("mneme-lookups", MFD_CLOEXEC));
  bool Ok = Answer && Errors && Null && Tail && Lookups &&
            Message.size() <= MNEME_WARM_MAX_REQUEST &&
            !errorToBool(writeAll(Tail.get(), Stop.Contents)) &&
            ::lseek(Tail.get(), 0, SEEK_SET) == 0;
  if (Ok) {
    auto Get = [&](int FD) { return FD < 0 ? Null.get() : FD; };
    SmallVector<int> FDs = {Answer->Write.get(), Get(Setup.In), Get(Setup.Out),
                            Errors->Write.get(), Lookups.get(), Tail.get()};
    if (Stop.Copy >= 0)
      FDs.push_back(Stop.Copy);
    Ok = sendRequest(Socket, Message, FDs);
  }
  if (!Answer || !Errors || !Ok) {
    consumeError(Answer.takeError());
    consumeError(Errors.takeError());
    return std::nullopt;
  }
  Answer->Write.reset();
  Errors->Write.reset();
  CompilerRun Run;
  Run.Messages = readMessages(Errors->Read.get());
  std::string Status = readToEnd(Answer->Read.get());
  if (Status.size() != sizeof(Run.Status))
    return std::nullopt;
  std::memcpy(&Run.Status, Status.data(), sizeof(Run.Status));
  if (WIFEXITED(Run.Status) && WEXITSTATUS(Run.Status) == MNEME_WARM_NOT_RUN)
    return std::nullopt;
  if (::lseek(Lookups.get(), 0, SEEK_SET) == 0)
    Run.Lookups = readToEnd(Lookups.get());
  Run.Seconds = secondsSince(Start);
  return std::move(Run);
}
