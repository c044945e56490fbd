//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FarmWorker.h"
#include "LocalFarm.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/FormatVariadic.h"
#include <poll.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Interval in seconds between a worker's state messages.
static constexpr double StateSeconds = 2;

/// Interval in seconds between checks whether a device has been opened.
static constexpr double OpenSeconds = 0.05;

/// Long, because a study sends nothing while its sampler computes.
static constexpr double DefaultSilenceSeconds = 600;

/// Maximum number of messages that wait during a comparison: twice the number
/// of evaluations under way.
static constexpr size_t MaxLater = 32768;

WorkerSession::WorkerSession(FarmWorkerOptions O, Channel &Link, OpenFn Open)
    : Options(std::move(O)), Link(Link), OpenFarm(std::move(Open)),
      SilenceSeconds(Options.SilenceSeconds.value_or(DefaultSilenceSeconds)),
      Own(makeConfig(Options.Own)) {}

void WorkerSession::note(const Twine &Text) const {
  if (Options.Note)
    Options.Note(Text.str());
}

static Error makeClosed() {
  return createStringError("the study has closed the connection");
}

static Error makeSilent() {
  return createStringError("the study has stopped sending");
}

/// Waits for the next message before the study begins.
Expected<ToWorker> WorkerSession::waitForMessage() {
  Clock::time_point Deadline = inSeconds(SilenceSeconds);
  while (true) {
    Expected<std::optional<ToWorker>> M = nextMessage<ToWorker>(Link.Parser);
    if (!M)
      return M.takeError();
    if (*M) {
      Ended = std::holds_alternative<message::End>(**M);
      if (Ended)
        return createStringError("the study has ended");
      return std::move(**M);
    }
    if (Clock::now() >= Deadline)
      return makeSilent();
    pollfd Wait = {Link.in(), POLLIN, 0};
    if (::poll(&Wait, 1, 1000) <= 0)
      continue;
    Expected<bool> Open = Link.receive();
    if (!Open)
      return Open.takeError();
    if (!*Open)
      return makeClosed();
  }
}

Error WorkerSession::greet() {
  // Output of others before the greeting may lack a newline.
  if (Error E = Link.write(("\n" + WorkerGreeting + "\n").str(), {}))
    return E;
  char Host[256] = {};
  ::gethostname(Host, sizeof(Host) - 1);
  if (Error E =
          send(Link, message::Hello{getProtocolVersion(),
                                    formatv("{0}:{1}", Host, ::getpid())}))
    return E;
  Expected<ToWorker> Answer = waitForMessage();
  if (!Answer)
    return Answer.takeError();
  if (auto *M = std::get_if<message::Refused>(&*Answer))
    return createStringError("the study refused this worker: " + M->Error);
  auto *M = std::get_if<message::Start>(&*Answer);
  if (!M)
    return createStringError("unexpected answer to 'hello'");
  Study = std::move(M->Study);
  return Error::success();
}

/// Returns an error if \p What has side effects that this worker was not
/// started with.
Error WorkerSession::checkPrograms(const json::Object &Config,
                                   StringRef What) const {
  if (Options.AllowPrograms)
    return Error::success();
  std::vector<ConfigSideEffect> Effects = findSideEffects(Config, Own);
  if (Effects.empty())
    return Error::success();
  return createStringError(
      "in " + What + ", " +
      join(map_range(
               Effects,
               [](const ConfigSideEffect &E) { return mneme::toString(E); }),
           ", ") +
      ", which this worker was not started with; add the option or "
      "--allow-programs to --worker-options");
}

Error WorkerSession::checkStudy() const {
  for (const std::string &Plugin : Study.Base.Plugins)
    if (!is_contained(Options.Own.Plugins, Plugin))
      return createStringError("the study loads the pass plugin '" + Plugin +
                               "', which this worker was not started with; add "
                               "--load-pass-plugin to --worker-options");
  return checkPrograms(Study.Config, "the study's options");
}

Error WorkerSession::fetch(unsigned File,
                           function_ref<Error(StringRef)> Write) {
  uint64_t Size = Study.Files[File].Size, Asked = 0, Got = 0;
  note(formatv("fetching {0}, {1} bytes", Study.Files[File].Name, Size).str());
  while (Got < Size) {
    for (; Asked < Size && Asked < Got + PiecesAhead * PieceBytes;
         Asked += std::min(PieceBytes, Size - Asked))
      if (Error E =
              send(Link, message::Get{File, Asked,
                                      std::min(PieceBytes, Size - Asked)}))
        return E;
    Expected<ToWorker> Message = waitForMessage();
    if (!Message)
      return Message.takeError();
    auto *M = std::get_if<message::Data>(&*Message);
    if (!M || M->File != File || M->Offset != Got ||
        M->Bytes.size() != std::min(PieceBytes, Size - Got))
      return createStringError("the study sent the wrong part of a file");
    if (Error E = Write(M->Bytes))
      return E;
    Got += M->Bytes.size();
  }
  return Error::success();
}

/// Reports an error that a restarted worker would have, too.
Error WorkerSession::fail(Error E) {
  std::string Why = toString(std::move(E));
  consumeError(send(Link, message::Failed{Why}));
  return createStringError(Why);
}

Error WorkerSession::open() {
  if (Error E = checkStudy())
    return fail(std::move(E));
  std::string Cache =
      Options.CacheDir.empty() ? getDefaultCacheDir() : Options.CacheDir;
  Expected<std::string> Dir =
      stage(Study, Cache, [&](unsigned File, auto Write) {
        return fetch(File, Write);
      });
  if (!Dir)
    return Dir.takeError();
  Study.Base.CudaPath = Options.Own.CudaPath;
  if (Error E = Study.locate(*Dir))
    return fail(std::move(E));
  if (Error E = OpenFarm(Study).moveInto(Farm))
    return fail(std::move(E));
  return Error::success();
}

Error WorkerSession::sendState() {
  LastState = Clock::now();
  Offered = Farm->offer();
  return send(
      Link, message::State{Farm->describeFarm(), Farm->statistics(), Offered});
}

Error WorkerSession::sendStateIfDue() {
  bool Due =
      Farm->offer() != Offered || secondsSince(LastState) >= StateSeconds;
  return Due ? sendState() : Error::success();
}

/// Receives pending messages. Error: the study is silent, or the connection is
/// broken.
Error WorkerSession::readLink() {
  pollfd Wait = {Link.in(), POLLIN, 0};
  if (!Closed && ::poll(&Wait, 1, 0) > 0) {
    Expected<bool> Open = Link.receive();
    if (!Open)
      return Open.takeError();
    Closed = !*Open;
    Heard = Clock::now();
  }
  return secondsSince(Heard) > SilenceSeconds ? makeSilent() : Error::success();
}

Expected<std::optional<ToWorker>> WorkerSession::nextToTake() {
  if (Later.empty())
    return nextMessage<ToWorker>(Link.Parser);
  ToWorker M = std::move(Later.front());
  Later.pop_front();
  return std::move(M);
}

/// Runs during a comparison: sends the state when due and receives messages.
/// \returns whether the result is still wanted. Other messages wait in Later.
Expected<bool> WorkerSession::goesOn(uint64_t Ticket) {
  if (Error E = sendStateIfDue())
    return std::move(E);
  if (Error E = readLink())
    return std::move(E);
  while (true) {
    Expected<std::optional<ToWorker>> Next = nextMessage<ToWorker>(Link.Parser);
    if (!Next)
      return Next.takeError();
    if (!*Next)
      return !Closed;
    if (auto *M = std::get_if<message::Stop>(&**Next); M && M->Ticket == Ticket)
      return false;
    if (std::holds_alternative<message::Heard>(**Next))
      continue;
    bool IsEnd = std::holds_alternative<message::End>(**Next);
    if (Later.size() == MaxLater)
      return createStringError("more messages than a comparison can wait for");
    Later.push_back(std::move(**Next));
    if (IsEnd)
      return false;
  }
}

Error WorkerSession::take(message::CompareThere &M) {
  auto Answer = [&](PairedEvaluation P) {
    return send(Link, message::ComparedThere{M.Ticket, std::move(P)});
  };
  for (const EvaluationRequest &R : M.Requests)
    if (Error E = checkPrograms(R.Config, "a configuration")) {
      PairedEvaluation P;
      P.Failure = FailureKind::WorkerLost;
      P.Error = toString(std::move(E));
      return Answer(std::move(P));
    }
  Error Lost = Error::success();
  auto Stop = [&] {
    if (Lost)
      return true;
    Expected<bool> Goes = goesOn(M.Ticket);
    if (Goes)
      return !*Goes;
    Lost = Goes.takeError();
    return true;
  };
  Expected<PairedEvaluation> P =
      Farm->comparePaired(M.Requests, M.Rounds, Stop);
  if (Lost) {
    if (!P)
      consumeError(P.takeError());
    return Lost;
  }
  if (!P)
    return fail(P.takeError());
  if (P->Failure == PairedEvaluation::Interrupted)
    return Error::success();
  // The comparison may have opened the device, so report it first.
  if (Error E = sendState())
    return E;
  return Answer(std::move(*P));
}

Error WorkerSession::take(message::End &) {
  Ended = true;
  return Error::success();
}

Error WorkerSession::take(message::Cancel &) {
  message::Cancelled M;
  M.Tickets = Farm->cancel();
  for (uint64_t Ticket : M.Tickets)
    UnderWay.erase(Ticket);
  return send(Link, M);
}

Error WorkerSession::take(message::Evaluate &M) {
  if (M.Request.Id != M.Ticket || !UnderWay.insert(M.Ticket).second)
    return createStringError(
        formatv("ticket {0} is already in progress", M.Ticket).str());
  if (UnderWay.size() > MaxLater)
    return createStringError("more evaluations than a worker can have");
  if (Error E = checkPrograms(M.Request.Config, "the configuration")) {
    UnderWay.erase(M.Ticket);
    return send(Link, message::Declined{M.Ticket, toString(std::move(E))});
  }
  return Farm->submit(std::move(M.Request));
}

/// Receives and handles messages.
Error WorkerSession::receive() {
  if (Error E = readLink())
    return E;
  while (!Ended) {
    Expected<std::optional<ToWorker>> Next = nextToTake();
    if (!Next)
      return Next.takeError();
    if (!*Next)
      break;
    if (Error E = std::visit([&](auto &M) { return take(M); }, **Next))
      return E;
  }
  return Closed && !Ended ? makeClosed() : Error::success();
}

Error WorkerSession::sendResult(Evaluation E) {
  uint64_t Ticket = E.Id;
  UnderWay.erase(Ticket);
  return send(Link, message::Evaluated{Ticket, std::move(E)});
}

Error WorkerSession::evaluate() {
  Heard = Clock::now();
  if (Error E = sendState())
    return E;
  while (!Ended) {
    Expected<std::vector<Evaluation>> Some =
        Farm->wait(Offered ? StateSeconds : OpenSeconds, Link.in());
    if (!Some)
      return fail(Some.takeError());
    // A result may be from a device that was opened since the last state.
    if (Error E = sendStateIfDue())
      return E;
    for (Evaluation &E : *Some)
      if (Error Failed = sendResult(std::move(E)))
        return Failed;
    if (Error E = receive())
      return E;
  }
  return Error::success();
}

Error WorkerSession::run() {
  if (Error E = greet())
    return E;
  Error E = open();
  if (!E)
    E = evaluate();
  if (!Ended)
    return E;
  consumeError(std::move(E));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Standard streams
//===----------------------------------------------------------------------===//

Error mneme::runFarmWorker(FarmWorkerOptions Options) {
  if (::isatty(STDIN_FILENO) || ::isatty(STDOUT_FILENO))
    return createStringError(
        "a worker talks to its study over standard input and output, which are "
        "a terminal here; it is started by the study's --launcher");
  Expected<Pipe> Streams = takeStandardStreams();
  if (!Streams)
    return Streams.takeError();
  Channel Link(Streams->Read.release(), Streams->Write.release(),
               MessageSet<ToWorker>::Kinds);
  // The launcher's rank variables describe the launcher's own tasks.
  if (!Options.Share)
    Options.Share = DeviceShare();
  std::unique_ptr<LocalFarm> Farm;
  auto Open = [&](const RemoteStudy &S) -> Expected<Coordinator *> {
    FarmOptions O;
    static_cast<FarmResources &>(O) = Options;
    O.CompileTimeout = S.CompileTimeout;
    O.LaunchTimeout = S.LaunchTimeout;
    O.Database = S.Database;
    O.RecordIds = S.RecordIds;
    O.Base = S.Base;
    if (Error E = LocalFarm::create(std::move(O)).moveInto(Farm))
      return std::move(E);
    return &Farm->coordinator();
  };
  return WorkerSession(Options, Link, Open).run();
}
