//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Feeds arbitrary messages to a farm: to a coordinator those of compile
/// processes, run processes and workers, to a worker those of its study. If an
/// input begins with 's', the rest is the stream from a study. If it begins
/// with 'm' and a digit, the rest is messages of that set in Messages.def,
/// which are only read and written. Other inputs have lines:
///
///   c..., r..., w...   the latest compile process, run process or worker sends
///                      the rest of the line
///   x and c, r or w    it closes its connection
///   h and letters      valid answers: o opens the device, c compiles, r runs,
///                      g greets, s sends the state, e evaluates
///   n                  submits another job
///   q and a line       sends the line like c, r or w, then compares two
///                      configurations
///
//===----------------------------------------------------------------------===//

#include "FarmWorker.h"
#include "PlayedFarm.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <fcntl.h>
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Coordinators
//===----------------------------------------------------------------------===//

namespace {
/// A coordinator with a device and a worker.
class Exchange {
public:
  Exchange();
  ~Exchange() { F.Farm.reset(); }
  void doLine(StringRef Line);
  void check();

private:
  PlayedFarm F;
  Players<ToWorker> Workers;
  std::optional<RemoteWorkers> Pool;
  uint64_t Jobs = 0;

  void submit();
  void say(char Who, StringRef Text);
  void close(char Who);
  void doWell(char What);
  void compare(StringRef Line);
};
} // namespace

static Evaluation makeResult() {
  Evaluation E;
  E.Samples = {5};
  E.Metrics["time"] = 5;
  E.Device = "host/host";
  return E;
}

Exchange::Exchange() {
  RemoteWorkersOptions O;
  O.Workers = {{"w", {}}};
  O.RestartSeconds = 0;
  RemoteStudy S;
  S.Database = "k.json";
  S.Files = {{"file", 10, std::string(32, '0')}};
  MappedFiles Files;
  Files.push_back(MemoryBuffer::getMemBuffer("0123456789"));
  Pool.emplace(std::move(O), std::move(S), std::move(Files));
  Pool->setStarter([this](const WorkerCommand &) {
    return Workers.start(MessageSet<FromWorker>::Kinds);
  });
  F.Farm->setOutside(&*Pool);
  for (unsigned I = 0; I != 3; ++I)
    submit();
  F.turn();
}

/// Every third job has the code of the previous one.
void Exchange::submit() {
  ++Jobs;
  F.submit(Jobs, "c" + std::to_string(Jobs - (Jobs % 3 == 0)));
}

void Exchange::say(char Who, StringRef Text) {
  std::string Line = (Text + "\n").str();
  if (Who == 'c' && F.Compilers.size())
    F.Compilers.last().sayText(Line);
  else if (Who == 'r' && F.Runners.size())
    F.Runners.last().sayText(Line);
  else if (Who == 'w' && Workers.size())
    Workers.last().sayText(Line);
}

void Exchange::close(char Who) {
  if (Who == 'c' && F.Compilers.size())
    F.Compilers.last().close();
  else if (Who == 'r' && F.Runners.size())
    F.Runners.last().close();
  else if (Who == 'w' && Workers.size())
    Workers.last().close();
}

void Exchange::doWell(char What) {
  Player<ToWorker> &W = Workers.last();
  switch (What) {
  case 'o':
    return F.open();
  case 'c':
    return F.compile();
  case 'r':
    if (std::optional<uint64_t> Ticket = F.beginRun())
      F.finishRun(*Ticket, 5);
    return;
  case 'g':
    W.sayText("\n" + WorkerGreeting.str() + "\n");
    W.say(message::Hello{getProtocolVersion(), "host:1"});
    F.turn();
    W.hear<message::Start>();
    return;
  case 's': {
    message::State S;
    S.Farm.Host = "host";
    S.Farm.Devices = {{"host", "host/host", {}, "", false}};
    S.Capacity = 4;
    W.say(S);
    F.turn();
    W.hear<message::Heard>();
    return;
  }
  case 'e':
    while (std::optional<message::Evaluate> M = W.hear<message::Evaluate>()) {
      W.say(message::Evaluated{M->Ticket, makeResult()});
      F.turn();
    }
    return;
  }
}

void Exchange::compare(StringRef Line) {
  if (!Line.empty())
    say(Line.front(), Line.drop_front());
  unsigned Turns = 0;
  Expected<PairedEvaluation> P = F.Farm->comparePaired(
      {PlayedFarm::request(100, "c1"), PlayedFarm::request(101, "c2")}, 2,
      [&] { return ++Turns == 4; });
  if (!P)
    return consumeError(P.takeError());
  if (Error E = checkPaired(*P, 2, 2))
    report_fatal_error(std::move(E));
}

void Exchange::doLine(StringRef Line) {
  if (Line.empty())
    return;
  StringRef Rest = Line.drop_front();
  switch (Line.front()) {
  case 'c':
  case 'r':
  case 'w':
    say(Line.front(), Rest);
    return F.turn();
  case 'x':
    if (!Rest.empty())
      close(Rest.front());
    return F.turn();
  case 'h':
    for (char What : Rest.take_front(16))
      doWell(What);
    return;
  case 'n':
    submit();
    return F.turn();
  case 'q':
    return compare(Rest);
  }
}

/// Whatever was sent, results must be valid.
void Exchange::check() {
  for (const auto &[Id, E] : F.Done) {
    if (Id == 0 || Id > Jobs || E.Id != Id)
      report_fatal_error("a result of no job");
    if (E.Failure.empty() && E.Samples.empty())
      report_fatal_error("a result without samples");
    if (E.DuplicateOf &&
        (*E.DuplicateOf == 0 || *E.DuplicateOf > Jobs || *E.DuplicateOf == Id))
      report_fatal_error("a duplicate of no job");
    for (double S : E.Samples)
      if (!rules::Sample::accepts(S))
        report_fatal_error("a sample that is no time");
    if (StringRef(E.CodeHash).contains('\n'))
      report_fatal_error("a hash of two lines");
  }
  // They can be written as JSON.
  (void)json::Value(F.Farm->describe());
  (void)toJSON(F.Farm->statistics());
}

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

/// Returns the worker's folder for files.
static const std::string &getCacheDir() {
  static const std::string *Dir = [] {
    SmallString<128> Path;
    if (std::error_code EC =
            sys::fs::createUniqueDirectory("mneme-farm-fuzzer", Path))
      report_fatal_error(Twine("no temporary folder: ") + EC.message());
    auto *Result = new std::string(Path);
    std::atexit([] { sys::fs::remove_directories(getCacheDir()); });
    return Result;
  }();
  return *Dir;
}

/// Runs a worker whose study sends \p Stream and closes the connection.
static void runWorker(StringRef Stream) {
  int In = ::memfd_create("study", MFD_CLOEXEC);
  int Out = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (In < 0 || Out < 0 ||
      ::write(In, Stream.data(), Stream.size()) !=
          static_cast<ssize_t>(Stream.size()))
    report_fatal_error("no stream");
  ::lseek(In, 0, SEEK_SET);
  Channel Link(In, Out, MessageSet<ToWorker>::Kinds);
  PlayedFarm F;
  FarmWorkerOptions Options;
  Options.CacheDir = getCacheDir();
  WorkerSession Session(Options, Link, [&](const RemoteStudy &) {
    return Expected<Coordinator *>(&*F.Farm);
  });
  consumeError(Session.run());
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

template <typename M> static json::Value getHead(const M &Message) {
  return json::Value(makeHead(Message));
}

/// Checks that each message that was read is the same after writing and reading
/// it again.
template <typename SetT> static void readMessages(StringRef Stream) {
  FrameParser Parser(MessageSet<SetT>::Kinds);
  Parser.append(Stream);
  while (true) {
    Expected<std::optional<SetT>> Next = nextMessage<SetT>(Parser);
    if (!Next)
      return consumeError(Next.takeError());
    if (!*Next)
      return;
    std::visit(
        [](const auto &M) {
          using T = std::decay_t<decltype(M)>;
          FrameParser Again(MessageSet<SetT>::Kinds);
          Again.append(printFrameLine(T::Kind, makeHead(M), M.Bytes.size()));
          Again.append(M.Bytes);
          Expected<std::optional<SetT>> Back = nextMessage<SetT>(Again);
          if (!Back)
            report_fatal_error(Back.takeError());
          if (!*Back || !std::holds_alternative<T>(**Back) ||
              getHead(std::get<T>(**Back)) != getHead(M))
            report_fatal_error("another message comes back");
        },
        **Next);
  }
}

static constexpr void (*MessageReaders[])(StringRef) = {
#define FARM_SET(Name, Sender, Receiver) readMessages<Name>,
#include "llvm/Mneme/Farm/Messages.def"
};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  StringRef Bytes(reinterpret_cast<const char *>(Data), Size);
  if (Bytes.consume_front("s")) {
    runWorker(Bytes);
    return 0;
  }
  if (Bytes.consume_front("m")) {
    if (size_t Set = Bytes.empty() ? ~0 : Bytes.front() - '0';
        Set < std::size(MessageReaders))
      MessageReaders[Set](Bytes.drop_front());
    return 0;
  }
  Exchange X;
  unsigned Lines = 0;
  while (!Bytes.empty() && ++Lines != 64) {
    auto [Line, Rest] = Bytes.split('\n');
    X.doLine(Line);
    Bytes = Rest;
  }
  X.check();
  return 0;
}
