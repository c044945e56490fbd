//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sends arbitrary bytes over the socket between the launcher and the
/// application, to either side (llvm/Mneme/Runtime/Wire.h). In any case, the
/// launcher sends whole answers or closes the connection, and the application's
/// side ends its request.
///
/// The first byte of an input selects the receiver of the rest:
///
///   'a'  the application, as the answer to a request. Next byte: its type
///   'r'  the launcher, byte by byte
///   else the launcher, as messages after a valid greeting. Each message is a
///        byte for the type, two for the size, and a body of that size
///
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "LauncherLink.h"
#include "Server.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mneme {
RuntimeFacts runtimeFacts() { return {"host", nullptr, 0}; }
} // namespace mneme

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireReader;
using ::mneme::WireWriter;

/// Starts no processes, which would take longer than everything else.
static Expected<ChildTask> startNothing(StringRef, ChildTask::WorkFn,
                                        ChildLimits) {
  return createStringError("no processes here");
}

namespace {
/// A launcher that records into a temporary folder.
struct Launch {
  Launch() {
    SmallString<128> Folder;
    if (sys::fs::createUniqueDirectory("mneme-launch-fuzzer", Folder))
      report_fatal_error("no temporary folder");
    Records.emplace(Folder.str().str());
    cantFail(Records->prepare());
    S.emplace(*Records, HostOptions(), startNothing);
  }
  ~Launch() {
    std::string Folder = Records->directory();
    S.reset();
    Records.reset();
    sys::fs::remove_directories(Folder);
  }

  std::optional<RecordKeeper> Records;
  std::optional<Server> S;
};

struct SocketPair {
  SocketPair() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends))
      report_fatal_error("no sockets");
  }
  int Ends[2];
};
} // namespace

static void sendAll(int FD, StringRef Bytes) {
  while (!Bytes.empty()) {
    ssize_t N = ::send(FD, Bytes.data(), Bytes.size(), MSG_NOSIGNAL);
    if (N <= 0)
      return;
    Bytes = Bytes.drop_front(N);
  }
}

static std::string message(uint32_t Type, StringRef Body) {
  MnemeWireHeader H = {MNEME_WIRE_MAGIC, Type, Body.size()};
  std::string Bytes(reinterpret_cast<const char *>(&H), sizeof(H));
  return Bytes += Body;
}

/// Checks that the launcher has sent only whole answers.
static void checkAnswers(StringRef Bytes) {
  MnemeWireHeader H;
  while (!Bytes.empty()) {
    if (Bytes.size() < sizeof(H))
      report_fatal_error("half a header");
    memcpy(&H, Bytes.data(), sizeof(H));
    Bytes = Bytes.drop_front(sizeof(H));
    if (H.Magic != MNEME_WIRE_MAGIC || H.Size > Bytes.size())
      report_fatal_error("half an answer");
    WireReader R(Bytes.data(), H.Size);
    std::string Error = R.str();
    if (!R.ok() || (!Error.empty() && !R.atEnd()))
      report_fatal_error("an answer without its beginning");
    Bytes = Bytes.drop_front(H.Size);
  }
}

static void speakToLauncher(StringRef Bytes) {
  static Launch L;
  SocketPair Sockets;
  for (int FD : Sockets.Ends)
    ::fcntl(FD, F_SETFL, O_NONBLOCK);
  L.S->adopt(Sockets.Ends[0]);
  std::string Answers;
  bool IsOver = false;
  while (L.S->hasConnections()) {
    ssize_t N =
        ::send(Sockets.Ends[1], Bytes.data(), Bytes.size(), MSG_NOSIGNAL);
    if (N > 0)
      Bytes = Bytes.drop_front(N);
    if (Bytes.empty() && !std::exchange(IsOver, true))
      ::shutdown(Sockets.Ends[1], SHUT_WR);
    L.S->serve();
    char Chunk[4096];
    while ((N = ::recv(Sockets.Ends[1], Chunk, sizeof(Chunk), 0)) > 0)
      Answers.append(Chunk, N);
  }
  ::close(Sockets.Ends[1]);
  checkAnswers(Answers);
}

static std::string greeting() {
  WireWriter W;
  W.u32(MNEME_WIRE_VERSION);
  W.u32(1);
  W.str("host");
  W.str("");
  W.u64(4096);
  W.u64(1 << 20);
  W.u32(0);
  return message(MNEME_WIRE_HELLO, W.body());
}

static void speakInMessages(StringRef Bytes) {
  std::string Stream = greeting();
  while (Bytes.size() >= 3) {
    uint32_t Type = Bytes[0] & 15;
    size_t Size = uint8_t(Bytes[1]) | uint8_t(Bytes[2]) << 8;
    Stream += message(Type, Bytes.substr(3, Size));
    Bytes = Bytes.drop_front(std::min(Bytes.size(), 3 + Size));
  }
  speakToLauncher(Stream);
}

static void answerApplication(uint32_t Type, StringRef Bytes) {
  SocketPair Sockets;
  sendAll(Sockets.Ends[0], Bytes);
  ::shutdown(Sockets.Ends[0], SHUT_WR);
  ::mneme::LauncherLink L(Sockets.Ends[1]);
  std::string Answer;
  // A broken connection usually stays broken.
  for (int I = 0; I != 2; ++I) {
    std::string Error = L.request(Type, WireWriter(), Answer);
    if (!Error.empty())
      continue;
    WireReader R = ::mneme::LauncherLink::reader(Answer);
    std::vector<::mneme::ModuleVariable> Variables;
    ::mneme::KernelFacts Facts;
    if (Type == MNEME_WIRE_LOAD_MODULE)
      readModuleVariables(R, Variables);
    else if (Type == MNEME_WIRE_LOAD_KERNEL)
      readKernelFacts(R, Facts);
  }
  ::close(Sockets.Ends[0]);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  StringRef Bytes(reinterpret_cast<const char *>(Data), Size);
  if (Bytes.size() < 2 || Size > 100000)
    return 0;
  char Who = Bytes[0];
  Bytes = Bytes.drop_front();
  if (Who == 'a')
    answerApplication(Bytes[0] & 15, Bytes.drop_front());
  else if (Who == 'r')
    speakToLauncher(Bytes);
  else
    speakInMessages(Bytes);
  return 0;
}
