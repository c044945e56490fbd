//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemoteWorkers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Process/Deadline.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace llvm;
using namespace llvm::mneme;

/// Maximum size of the data queued for one worker; a comparison's message fits.
static constexpr uint64_t MaxQueuedBytes =
    2 * message::CompareThere::Kind.LineBytes;

/// Maximum number of restarts of a worker, and of one that was never ready. The
/// count starts again at 0 after a worker was ready for WellSeconds.
static constexpr unsigned MaxRestarts = 5, MaxFirstRestarts = 2;
static constexpr double WellSeconds = 600;

/// Maximum number of lines of a worker's standard error that are passed on.
static constexpr unsigned MaxLines = 1000;

/// Time limit for a launcher to exit after its input is closed, and then after
/// SIGTERM.
static constexpr double CloseSeconds = 5, TerminateSeconds = 2;

std::string mneme::getProtocolVersion() {
  return ("Mneme " + getVersion() + ", LLVM " LLVM_VERSION_STRING).str();
}

bool RemoteWorkers::Node::hasDevice(StringRef Id, bool Usable) const {
  return any_of(Farm.Devices, [&](const FarmDeviceState &D) {
    return D.Id == Id && (!Usable || (D.Error.empty() && !D.Waiting));
  });
}

RemoteWorkers::RemoteWorkers(RemoteWorkersOptions O, RemoteStudy Study,
                             MappedFiles Files)
    : Options(std::move(O)), Study(std::move(Study)), Files(std::move(Files)) {
  for (WorkerCommand &Command : Options.Workers) {
    Nodes.push_back(std::make_unique<Node>());
    Nodes.back()->Command = std::move(Command);
    Nodes.back()->Next = Clock::now();
  }
}

RemoteWorkers::~RemoteWorkers() {
  for (auto &N : Nodes) {
    if (!N->P)
      continue;
    if (N->State == Node::Staging || N->State == Node::Ready) {
      queue(N->link(), message::End());
      N->link().flush();
    }
    N->link().closeOutput();
  }
  // Read their remaining output, because they may wait until it is read.
  auto HaveEnded = [&] {
    bool Ended = true;
    for (auto &N : Nodes) {
      if (!N->P)
        continue;
      if (Expected<bool> Open = N->link().receive(); !Open)
        consumeError(Open.takeError());
      relayMessages(*N);
      Ended &= N->P->reap();
    }
    for (auto &[P, Deadline] : Leaving)
      Ended &= P->reap();
    return Ended;
  };
  if (waitUntil(HaveEnded, CloseSeconds))
    return;
  for (auto &N : Nodes)
    if (N->P)
      N->P->terminate();
  waitUntil(HaveEnded, TerminateSeconds); // Process kills the rest
}

void RemoteWorkers::tell(const Twine &Text) const {
  if (Options.Message)
    Options.Message(Text.str());
}

void RemoteWorkers::note(const Twine &Text) const {
  if (Options.Note)
    Options.Note(Text.str());
}

//===----------------------------------------------------------------------===//
// Beginnings and ends
//===----------------------------------------------------------------------===//

void RemoteWorkers::start(Node &N) {
  Expected<std::unique_ptr<Process>> P =
      Starter ? Starter(N.Command)
              : Process::launch(N.Command.Words, MessageSet<FromWorker>::Kinds);
  N.Name = N.Command.Host;
  N.Capacity = 0;
  N.Lines = 0;
  N.ReadySince.reset();
  N.Given.clear();
  N.Farm = FarmDescription();
  N.Stats = FarmStatistics();
  N.Heard = Clock::now();
  N.State = Node::Starting;
  if (!P)
    return lose(N, toString(P.takeError()), /*ForGood=*/true);
  N.P = std::move(*P);
  N.link().Parser.expectGreeting(WorkerGreeting);
}

void RemoteWorkers::lose(Node &N, const Twine &Why, bool ForGood) {
  N.Complaint = Why.str();
  for (uint64_t Ticket : N.Sent)
    Results.push_back({Ticket, OutsideResult::Lost, {}});
  N.Sent.clear();
  if (N.Comparing)
    ComparisonLost = "the worker " + N.Name + " was lost: " + N.Complaint;
  N.Comparing.reset();
  if (N.P) {
    N.Stats.BytesSent += N.link().sent();
    N.Stats.BytesReceived += N.link().received();
    relayMessages(N);
    N.link().closeOutput();
    N.P->terminate();
    Leaving.emplace_back(std::move(N.P), inSeconds(TerminateSeconds));
  }
  Past += N.Stats;
  N.Stats = FarmStatistics();
  if (N.ReadySince && secondsSince(*N.ReadySince) > WellSeconds)
    N.Restarts = 0;
  N.Capacity = 0;
  if (ForGood || N.Restarts >= (N.WasReady ? MaxRestarts : MaxFirstRestarts)) {
    N.State = Node::GivenUp;
    tell("dropped the worker " + N.Name + ": " + N.Complaint);
    return;
  }
  double Pause = Options.RestartSeconds * (1u << N.Restarts++);
  N.State = Node::Waiting;
  N.Next = inSeconds(Pause);
  tell(formatv("lost the worker {0}: {1}; restarting it in {2} s", N.Name,
               N.Complaint, printSeconds(Pause))
           .str());
}

/// Call when a worker has closed its output. Its exit tells why.
void RemoteWorkers::expectEnd(Node &N) {
  N.State = Node::Ending;
  N.Capacity = 0;
  N.Next = inSeconds(TerminateSeconds);
}

/// Passes on what the worker and its launcher write to standard error.
void RemoteWorkers::relayMessages(Node &N) {
  N.P->readMessages();
  for (const std::string &Line : N.P->takeLines()) {
    // Control characters must not reach this terminal.
    json::Value Text = rules::Path::write(Line);
    if (N.Lines++ < MaxLines)
      note(N.Command.Host + ": " + *Text.getAsString());
    else if (N.Lines == MaxLines + 1)
      note(N.Command.Host + ": more than " + Twine(MaxLines) +
           " lines; the rest is left out");
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Error RemoteWorkers::take(Node &N, message::Hello M) {
  if (N.State != Node::Starting)
    return makeUnexpected(M);
  if (M.Version != getProtocolVersion()) {
    std::string Why = "the worker is " + M.Version + ", the study is " +
                      getProtocolVersion() + "; use the same build";
    queue(N.link(), message::Refused{Why});
    N.link().flush();
    lose(N, Why, /*ForGood=*/true);
    return Error::success();
  }
  N.State = Node::Staging;
  // Messages begin with the user's name of the worker.
  N.Name = N.Command.Host + " (" + M.Name + ")";
  queue(N.link(), message::Start{Study});
  return Error::success();
}

Error RemoteWorkers::take(Node &N, message::Get M) {
  if (N.State != Node::Staging)
    return makeUnexpected(M);
  if (M.File >= Files.size() || M.Size == 0)
    return createStringError("a request for an invalid part of a file");
  StringRef Whole = Files[M.File]->getBuffer();
  if (M.Offset >= Whole.size() || M.Size > Whole.size() - M.Offset)
    return createStringError("a request for an invalid part of a file");
  queue(N.link(), message::Data{M.File, M.Offset},
        std::make_shared<const std::string>(Whole.substr(M.Offset, M.Size)));
  return Error::success();
}

Error RemoteWorkers::take(Node &N, message::State M) {
  if (N.State != Node::Staging && N.State != Node::Ready)
    return makeUnexpected(M);
  if (N.State == Node::Staging) {
    note("worker " + N.Name);
    N.ReadySince = Clock::now();
    N.WasReady = true;
  }
  N.State = Node::Ready;
  N.Capacity = M.Capacity;
  N.Farm = std::move(M.Farm);
  N.Stats = std::move(M.Statistics);
  queue(N.link(), message::Heard());
  return Error::success();
}

/// Stores the result of a worker's job. Error: the worker has no such job.
Error RemoteWorkers::finishTicket(Node &N, uint64_t Ticket,
                                  OutsideResult::KindTy Kind, Evaluation E) {
  auto Sent = find(N.Sent, Ticket);
  if (Sent == N.Sent.end())
    return createStringError(
        formatv("ticket {0} is not in progress there", Ticket).str());
  N.Sent.erase(Sent);
  Results.push_back({Ticket, Kind, std::move(E)});
  return Error::success();
}

Error RemoteWorkers::take(Node &N, message::Evaluated M) {
  Evaluation &E = M.Result;
  if ((E.DuplicateKind == Duplicate::None) == E.DuplicateOf.has_value())
    return createStringError("a duplicate without its kind");
  if (E.DuplicateOf) {
    auto First = N.Given.find(*E.DuplicateOf);
    if (First == N.Given.end() || *E.DuplicateOf == M.Ticket)
      return createStringError("a duplicate of no request");
    E.DuplicateOf = First->second.Id;
  }
  auto Given = N.Given.find(M.Ticket);
  bool Measures =
      Study.Base.Execute && Given != N.Given.end() && Given->second.Measure;
  if (Measures && E.Failure.empty() && E.Samples.empty())
    return createStringError("a result has no samples");
  if (!E.Device.empty() && !N.hasDevice(E.Device, /*Usable=*/false))
    return createStringError("a result of '" + E.Device +
                             "', which it does not have");
  if (E.Failure.empty() && E.Device.empty())
    return createStringError("a result without a device");
  return finishTicket(N, M.Ticket, OutsideResult::Done, std::move(E));
}

Error RemoteWorkers::take(Node &N, message::Declined M) {
  Evaluation E;
  E.Error = "the worker " + N.Name + " declined: " + M.Error;
  return finishTicket(N, M.Ticket, OutsideResult::Declined, std::move(E));
}

Error RemoteWorkers::take(Node &N, message::Cancelled M) {
  for (uint64_t Ticket : M.Tickets) {
    Evaluation E;
    E.Failure = Evaluation::Cancelled;
    if (Error Unknown =
            finishTicket(N, Ticket, OutsideResult::Done, std::move(E)))
      return Unknown;
  }
  return Error::success();
}

Error RemoteWorkers::take(Node &N, message::ComparedThere M) {
  // The comparison may have ended just when it was stopped.
  if (!N.Comparing || M.Ticket != N.Comparing->Ticket)
    return M.Ticket && M.Ticket <= Comparisons ? Error::success()
                                               : makeUnexpected(M);
  if (Error E =
          checkPaired(M.Result, N.Comparing->Members, N.Comparing->Rounds))
    return E;
  if (M.Result.Failure.empty() &&
      !N.hasDevice(M.Result.Device, /*Usable=*/false))
    return createStringError("a comparison on '" + M.Result.Device +
                             "', which it does not have");
  N.Comparing.reset();
  Compared = std::move(M.Result);
  return Error::success();
}

Error RemoteWorkers::take(Node &N, message::Failed M) {
  lose(N, M.Error, /*ForGood=*/true);
  return Error::success();
}

Error RemoteWorkers::handle(Node &N, FromWorker Message) {
  return std::visit(
      [&](auto &M) -> Error {
        using T = std::decay_t<decltype(M)>;
        // All other messages are about jobs.
        if (!std::is_same_v<T, message::Hello> &&
            !std::is_same_v<T, message::Get> &&
            !std::is_same_v<T, message::State> &&
            !std::is_same_v<T, message::Failed> && N.State != Node::Ready)
          return makeUnexpected(M);
        return take(N, std::move(M));
      },
      Message);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void RemoteWorkers::addTo(std::vector<pollfd> &Waits) const {
  for (const auto &N : Nodes) {
    if (!N->P)
      continue;
    if (N->State != Node::Ending)
      Waits.push_back({N->link().in(), POLLIN, 0});
    if (N->link().hasQueued())
      Waits.push_back({N->link().out(), POLLOUT, 0});
    Waits.push_back({N->P->messages(), POLLIN, 0});
  }
}

void RemoteWorkers::receive(Node &N) {
  uint64_t Before = N.link().received();
  Expected<bool> Open = N.link().receive();
  if (N.link().received() != Before)
    N.Heard = Clock::now();
  while (N.P) {
    Expected<std::optional<FromWorker>> M =
        nextMessage<FromWorker>(N.link().Parser);
    if (M && !*M)
      break;
    if (Error E = M ? handle(N, std::move(**M)) : M.takeError())
      lose(N, toString(std::move(E)));
  }
  if (!N.P) {
    consumeError(Open.takeError());
    return;
  }
  if (!Open)
    lose(N, toString(Open.takeError()));
  else if (!*Open)
    expectEnd(N);
}

/// \returns the limit of a worker's silence, in seconds.
double RemoteWorkers::getLimit(const Node &N) const {
  return N.State == Node::Staging ? Options.SetupSeconds
                                  : Options.SilenceSeconds;
}

/// Drops a silent worker. Starts a worker again when its pause is over.
void RemoteWorkers::checkTimes(Node &N) {
  Clock::time_point Now = Clock::now();
  if (N.State == Node::Waiting && Now >= N.Next)
    return start(N);
  if (N.State == Node::Ending) {
    bool Gone = N.P->reap();
    if (!Gone && Now < N.Next)
      return;
    std::string Why =
        Gone ? "it " + N.P->describeEnd() : std::string("it closed its output");
    const FrameParser &Parser = N.link().Parser;
    if (!Parser.isGreeted() && !Parser.empty())
      Why += "; instead of a greeting it wrote " + Parser.quoteRest();
    return lose(N, Why);
  }
  if (!N.P)
    return;
  // The worker, its launcher or the network hangs.
  if (N.silence() > getLimit(N))
    return lose(N,
                "it has sent nothing for " + printSeconds(getLimit(N)) + " s");
  if (N.link().queuedBytes() > MaxQueuedBytes)
    return lose(N, "it does not read what it is sent");
}

void RemoteWorkers::serve() {
  for (auto &N : Nodes) {
    if (N->P) {
      relayMessages(*N);
      if (N->State != Node::Ending)
        receive(*N);
    }
    checkTimes(*N);
    if (N->P)
      N->link().flush();
  }
  Clock::time_point Now = Clock::now();
  erase_if(Leaving, [&](auto &L) {
    return L.first->reap() || Now >= L.second; // Process kills it
  });
}

double RemoteWorkers::untilNextTime(double Seconds) const {
  Clock::time_point Now = Clock::now();
  for (const auto &N : Nodes) {
    double Left = Seconds;
    if (N->State == Node::Waiting)
      Left = std::chrono::duration<double>(N->Next - Now).count();
    else if (N->State == Node::Ending)
      Left = 0.01; // no descriptor tells of its exit
    else if (N->P)
      Left = getLimit(*N) - N->silence();
    Seconds = std::min(Seconds, std::max(Left, 0.0));
  }
  return Seconds;
}

Error RemoteWorkers::checkAlive() const {
  std::string Complaints;
  for (const auto &N : Nodes) {
    if (N->State != Node::GivenUp)
      return Error::success();
    Complaints += (Complaints.empty() ? "" : "; ") + N->Command.Host + ": " +
                  N->Complaint;
  }
  return createStringError("no worker is left: " + Complaints);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

unsigned RemoteWorkers::capacity() const {
  unsigned Sum = 0;
  for (const auto &N : Nodes)
    Sum += N->Capacity;
  return Sum;
}

bool RemoteWorkers::submit(uint64_t Ticket, const EvaluationRequest &R) {
  // Choose the worker with the most free capacity. A worker with the requested
  // device needs none.
  Node *Best = nullptr;
  auto MayHave = [&](const Node &N) {
    if (N.State != Node::Ready)
      return false;
    return R.Device.empty() ? !N.Comparing && N.Sent.size() < N.Capacity
                            : N.hasDevice(R.Device, /*Usable=*/true);
  };
  for (auto &N : Nodes)
    if (MayHave(*N) &&
        (!Best || N->Sent.size() * Best->Capacity <
                      Best->Sent.size() * N->Capacity))
      Best = N.get();
  if (!Best)
    return false;
  Best->Sent.push_back(Ticket);
  Best->Given[Ticket] = {R.Id, R.Measure};
  message::Evaluate M{Ticket, R};
  M.Request.Id = Ticket; // unlike ids, tickets are unique
  queue(Best->link(), M);
  Best->link().flush();
  return true;
}

void RemoteWorkers::cancel() {
  for (auto &N : Nodes) {
    if (N->State != Node::Ready || N->Sent.empty())
      continue;
    queue(N->link(), message::Cancel());
    N->link().flush();
  }
}

std::vector<OutsideResult> RemoteWorkers::take() {
  return std::exchange(Results, {});
}

bool RemoteWorkers::compare(ArrayRef<EvaluationRequest> Requests,
                            unsigned Rounds) {
  for (auto &N : Nodes) {
    if (N->State != Node::Ready || N->Capacity == 0)
      continue;
    N->Comparing = Node::ComparisonSent{++Comparisons, Requests.size(), Rounds};
    queue(N->link(),
          message::CompareThere{Comparisons, Requests.vec(), Rounds});
    N->link().flush();
    return true;
  }
  return false;
}

Expected<std::optional<PairedEvaluation>> RemoteWorkers::takeComparison() {
  if (!ComparisonLost.empty())
    return createStringError(std::exchange(ComparisonLost, ""));
  return std::exchange(Compared, std::nullopt);
}

void RemoteWorkers::stopComparison() {
  for (auto &N : Nodes) {
    if (!N->Comparing)
      continue;
    queue(N->link(), message::Stop{N->Comparing->Ticket});
    N->link().flush();
    N->Comparing.reset();
  }
  Compared.reset();
  ComparisonLost.clear();
}

void RemoteWorkers::addTo(FarmStatistics &S) const {
  S += Past;
  for (const auto &N : Nodes) {
    FarmStatistics Named = N->Stats;
    for (FarmStatistics::Runner &R : Named.Runners)
      R.Name = N->Name + " " + R.Name;
    S += Named;
    if (!N->P)
      continue;
    S.BytesSent += N->link().sent();
    S.BytesReceived += N->link().received();
  }
}

json::Array RemoteWorkers::describe() const {
  json::Array List;
  for (const auto &N : Nodes)
    if (N->State == Node::Ready)
      List.push_back(json::Object{{"name", json::fixUTF8(N->Name)},
                                  {"host", json::fixUTF8(N->Command.Host)},
                                  {"farm", mneme::describe(N->Farm)}});
  return List;
}
