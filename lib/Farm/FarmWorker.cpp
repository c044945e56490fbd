//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine that evaluates for a coordinator elsewhere: NodePool.h has the
// messages.
//
//===----------------------------------------------------------------------===//

#include "Authentication.h"
#include "LocalFarm.h"
#include "Messages.h"
#include "Socket.h"
#include "llvm/Support/FormatVariadic.h"
#include <deque>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// How often the coordinator hears how things are.
static constexpr double StateSeconds = 2;

/// How often it is looked whether there is a device by now.
static constexpr double OpenSeconds = 0.05;

/// What a coordinator may be silent: it says nothing while its sampler thinks.
static constexpr double DefaultSilenceSeconds = 600;

/// What a coordinator may take to answer before the study begins; it looks at
/// its connections when it waits for results.
static constexpr int GreetingSeconds = 120;

namespace {
class FarmWorker {
public:
  FarmWorker(FarmWorkerOptions Options, int FD)
      : Options(std::move(Options)), Link(FD) {}

  Error run();

private:
  FarmWorkerOptions Options;
  Channel Link;
  RemoteStudy Study;
  std::unique_ptr<LocalFarm> Farm;
  /// The study's, by ticket.
  std::map<uint64_t, uint64_t> Ids;
  bool Ended = false;
  bool Closed = false; ///< By the coordinator; what it said may be there yet.
  std::deque<Frame> Later; ///< What came while it compared.
  unsigned Offered = 0;    ///< In the last state.
  std::chrono::steady_clock::time_point LastState, Heard;

  void note(const Twine &Text) const {
    if (Options.Note)
      Options.Note(Text.str());
  }
  Expected<Frame> readFrame();
  Error greet();
  Error fetch(unsigned File, function_ref<Error(StringRef)> Write);
  Error open();
  Error evaluate();
  Error handle(Frame F);
  Error compare(const json::Object &Message);
  Expected<bool> goesOn(uint64_t Number);
  Error readLink();
  Expected<std::optional<Frame>> takeFrame();
  Error receive();
  Error sendState();
  Error sendStateIfDue();
  Error sendResult(Evaluation E);
};
} // namespace

/// The next message. Waits for it, but not for ever.
Expected<Frame> FarmWorker::readFrame() {
  while (true) {
    Expected<std::optional<Frame>> F = Link.Parser.next();
    if (!F)
      return F.takeError();
    if (*F) {
      if ((*F)->Head.get("end"))
        Ended = true;
      if (Ended)
        return createStringError("the study has ended");
      return std::move(**F);
    }
    pollfd Wait = {Link.fd(), POLLIN, 0};
    int Ready = ::poll(&Wait, 1, GreetingSeconds * 1000);
    if (Ready < 0 && errno == EINTR)
      continue;
    if (Ready <= 0)
      return createStringError("the coordinator does not answer");
    Expected<bool> Open = Link.receive();
    if (!Open)
      return Open.takeError();
    if (!*Open && Link.Parser.empty())
      return createStringError("the coordinator has closed the connection");
  }
}

Error FarmWorker::greet() {
  Expected<Frame> Hello = readFrame();
  if (!Hello)
    return Hello.takeError();
  std::string Challenge = Hello->Head.getString("challenge").value_or("").str();
  if (Challenge.empty())
    return createStringError("whoever is there is no coordinator");
  std::string Nonce = makeNonce();
  char Host[256] = {};
  ::gethostname(Host, sizeof(Host) - 1);
  if (Error E = Link.write(json::Object{
          {"version", getProtocolVersion()},
          {"name", json::fixUTF8(formatv("{0}:{1}", Host, ::getpid()).str())},
          {"nonce", Nonce},
          {"proof", makeProof(Options.Token, FarmRole::Worker, Challenge,
                              Nonce)}}))
    return E;
  Expected<Frame> Answer = readFrame();
  if (!Answer)
    return Answer.takeError();
  if (std::optional<StringRef> Why = Answer->Head.getString("refused"))
    return createStringError("the coordinator refused: " + *Why);
  if (!isSameProof(Answer->Head.getString("proof").value_or(""),
                   makeProof(Options.Token, FarmRole::Coordinator, Challenge,
                             Nonce)))
    return createStringError("the coordinator does not know the token");
  return readMember<RemoteStudy>(Answer->Head, "study").moveInto(Study);
}

Error FarmWorker::fetch(unsigned File,
                        function_ref<Error(StringRef)> Write) {
  uint64_t Size = Study.Files[File].Size, Asked = 0, Got = 0;
  note(formatv("fetching {0}, {1} bytes", Study.Files[File].Name, Size).str());
  while (Got < Size) {
    for (; Asked < Size && Asked < Got + PiecesAhead * PieceBytes;
         Asked += std::min(PieceBytes, Size - Asked))
      if (Error E = Link.write(
              json::Object{{"get", File},
                           {"offset", Asked},
                           {"size", std::min(PieceBytes, Size - Asked)}}))
        return E;
    Expected<Frame> F = readFrame();
    if (!F)
      return F.takeError();
    if (F->Head.getInteger("data") != File ||
        F->Head.getInteger("offset") != static_cast<int64_t>(Got) ||
        F->Bytes.size() != std::min(PieceBytes, Size - Got))
      return createStringError("the coordinator sent another part of a file");
    if (Error E = Write(F->Bytes))
      return E;
    Got += F->Bytes.size();
  }
  return Error::success();
}

Error FarmWorker::open() {
  std::string Cache =
      Options.CacheDir.empty() ? getDefaultCacheDir() : Options.CacheDir;
  Expected<std::string> Dir =
      stage(Study, Cache, [&](unsigned File, auto Write) {
        return fetch(File, Write);
      });
  if (!Dir)
    return Dir.takeError();
  Study.locate(*Dir);
  FarmOptions O;
  static_cast<FarmResources &>(O) = Options;
  O.CompileTimeout = Study.CompileTimeout;
  O.LaunchTimeout = Study.LaunchTimeout;
  O.Database = Study.Database;
  O.RecordIds = Study.RecordIds;
  O.Base = Study.Base;
  return LocalFarm::create(std::move(O)).moveInto(Farm);
}

Error FarmWorker::sendState() {
  LastState = std::chrono::steady_clock::now();
  return Link.write(json::Object{{"state", Farm->describe()},
                                 {"statistics", toJSON(Farm->statistics())},
                                 {"capacity", Offered = Farm->offer()}});
}

Error FarmWorker::sendStateIfDue() {
  bool Due = Farm->offer() != Offered ||
             std::chrono::steady_clock::now() - LastState >=
                 std::chrono::duration<double>(StateSeconds);
  return Due ? sendState() : Error::success();
}

/// What is there by now. Error: nobody is.
Error FarmWorker::readLink() {
  auto Now = std::chrono::steady_clock::now();
  pollfd Wait = {Link.fd(), POLLIN, 0};
  if (!Closed && ::poll(&Wait, 1, 0) > 0) {
    Expected<bool> Open = Link.receive();
    if (!Open)
      return Open.takeError();
    Closed = !*Open;
    Heard = Now;
  }
  if (Now - Heard > std::chrono::duration<double>(
                        Options.SilenceSeconds.value_or(DefaultSilenceSeconds)))
    return createStringError("the coordinator says nothing any more");
  return Error::success();
}

Expected<std::optional<Frame>> FarmWorker::takeFrame() {
  if (Later.empty())
    return Link.Parser.next();
  Frame F = std::move(Later.front());
  Later.pop_front();
  return std::move(F);
}

/// While it compares: says that it is alive, and \returns whether somebody still
/// wants to know. All else waits.
Expected<bool> FarmWorker::goesOn(uint64_t Number) {
  if (Error E = sendStateIfDue())
    return std::move(E);
  if (Error E = readLink())
    return std::move(E);
  while (true) {
    Expected<std::optional<Frame>> F = Link.Parser.next();
    if (!F)
      return F.takeError();
    if (!*F)
      return !Closed;
    if ((*F)->Head.getInteger("stop") == static_cast<int64_t>(Number))
      return false;
    bool IsEnd = (*F)->Head.get("end");
    Later.push_back(std::move(**F));
    if (IsEnd)
      return false;
  }
}

Error FarmWorker::compare(const json::Object &Message) {
  uint64_t Number = Message.getInteger("compare").value_or(0);
  auto Requests =
      readMember<std::vector<EvaluationRequest>>(Message, "requests");
  if (!Requests)
    return Requests.takeError();
  Error Lost = Error::success();
  auto Stop = [&] {
    if (Lost)
      return true;
    Expected<bool> Goes = goesOn(Number);
    if (Goes)
      return !*Goes;
    Lost = Goes.takeError();
    return true;
  };
  Expected<PairedEvaluation> P = Farm->comparePaired(
      *Requests, Message.getInteger("rounds").value_or(1), Stop);
  if (Lost) {
    if (!P)
      consumeError(P.takeError());
    return Lost;
  }
  if (!P)
    return P.takeError();
  if (P->Failure == PairedEvaluation::Interrupted)
    return Error::success();
  return Link.write(
      json::Object{{"compared", Number}, {"paired", toJSON(*P)}});
}

Error FarmWorker::handle(Frame F) {
  if (F.Head.get("end")) {
    Ended = true;
    return Error::success();
  }
  if (F.Head.get("heard") || F.Head.get("stop")) // that it heard is enough
    return Error::success();
  if (F.Head.get("cancel")) {
    json::Array Tickets;
    for (uint64_t Ticket : Farm->cancel())
      Tickets.push_back(Ticket);
    return Link.write(json::Object{{"cancelled", std::move(Tickets)}});
  }
  if (std::optional<int64_t> Ticket = F.Head.getInteger("evaluate")) {
    Expected<EvaluationRequest> R =
        readMember<EvaluationRequest>(F.Head, "request");
    if (!R)
      return R.takeError();
    // Tickets tell all requests apart; those of a study need not.
    Ids[*Ticket] = R->Id;
    R->Id = *Ticket;
    return Farm->submit(std::move(*R));
  }
  if (F.Head.getInteger("compare"))
    return compare(F.Head);
  return createStringError("an unknown message");
}

/// Takes what there is.
Error FarmWorker::receive() {
  if (Error E = readLink())
    return E;
  while (!Ended) {
    Expected<std::optional<Frame>> F = takeFrame();
    if (!F)
      return F.takeError();
    if (!*F)
      break;
    if (Error E = handle(std::move(**F)))
      return E;
  }
  if (Closed && !Ended)
    return createStringError("the coordinator has closed the connection");
  return Error::success();
}

Error FarmWorker::sendResult(Evaluation E) {
  uint64_t Ticket = E.Id;
  E.Id = Ids[Ticket];
  if (E.DuplicateOf)
    E.DuplicateOf = Ids[*E.DuplicateOf];
  return Link.write(
      json::Object{{"result", Ticket}, {"evaluation", toJSON(E)}});
}

Error FarmWorker::evaluate() {
  Heard = std::chrono::steady_clock::now();
  if (Error E = sendState())
    return E;
  while (!Ended) {
    Expected<std::vector<Evaluation>> Some =
        Farm->waitFor(Offered ? StateSeconds : OpenSeconds, Link.fd());
    if (!Some) {
      std::string Why = toString(Some.takeError());
      consumeError(Link.write(json::Object{{"failed", json::fixUTF8(Why)}}));
      return createStringError(Why);
    }
    for (Evaluation &E : *Some)
      if (Error Failed = sendResult(std::move(E)))
        return Failed;
    if (Error E = receive())
      return E;
    if (Error E = sendStateIfDue())
      return E;
  }
  return Error::success();
}

Error FarmWorker::run() {
  if (Error E = greet())
    return E;
  if (Error E = open()) {
    if (Ended) {
      consumeError(std::move(E));
      return Error::success();
    }
    std::string Why = toString(std::move(E));
    consumeError(Link.write(json::Object{{"failed", json::fixUTF8(Why)}}));
    return createStringError(Why);
  }
  Error E = evaluate();
  if (!Ended)
    return E;
  consumeError(std::move(E));
  return Error::success();
}

Error mneme::runFarmWorker(FarmWorkerOptions Options) {
  if (Options.Token.empty())
    return createStringError(
        "a worker needs the token of its coordinator: set MNEME_TOKEN");
  Expected<int> FD = connectTo(Options.Coordinator, Options.ConnectSeconds);
  if (!FD)
    return FD.takeError();
  return FarmWorker(std::move(Options), *FD).run();
}
