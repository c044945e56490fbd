//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodePool.h"
#include "Authentication.h"
#include "Messages.h"
#include "Socket.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Connections of which nobody knows whose they are, and how long they may be
/// that.
static constexpr unsigned MaxStrangers = 64;
static constexpr double GreetingSeconds = 30;

/// What may wait to be sent to one worker.
static constexpr uint64_t MaxQueuedBytes = 16 * PieceBytes;

std::string mneme::getProtocolVersion() {
  return ("Mneme " + getVersion() + ", LLVM " LLVM_VERSION_STRING).str();
}

NodePool::NodePool(int Listener, std::string Token, RemoteStudy Study,
                   MappedFiles Files, double SilenceSeconds,
                   std::function<void(StringRef)> Message,
                   std::function<void(StringRef)> Note)
    : Listener(Listener), Token(std::move(Token)), Study(std::move(Study)),
      Files(std::move(Files)), SilenceSeconds(SilenceSeconds),
      Message(std::move(Message)),
      Note(std::move(Note)) {}

NodePool::~NodePool() {
  for (auto &N : Nodes) {
    if (N->State != Node::Staging && N->State != Node::Ready)
      continue;
    N->Link.queue(json::Object{{"end", true}});
    N->Link.flush();
  }
  ::close(Listener);
}

void NodePool::tell(const Twine &Text) const {
  if (Message)
    Message(Text.str());
}

void NodePool::addTo(std::vector<pollfd> &Waits) const {
  Waits.push_back({Listener, POLLIN, 0});
  for (const auto &N : Nodes) {
    short Events = POLLIN;
    if (N->Link.hasQueued())
      Events |= POLLOUT;
    Waits.push_back({N->Link.fd(), Events, 0});
  }
}

void NodePool::accept() {
  std::string From;
  int FD;
  while ((FD = acceptConnection(Listener, From)) >= 0) {
    auto Strangers = count_if(
        Nodes, [](const auto &N) { return N->State == Node::Stranger; });
    if (Strangers >= MaxStrangers) {
      ::close(FD);
      continue;
    }
    auto N = std::make_unique<Node>(FD);
    N->From = From;
    N->Since = std::chrono::steady_clock::now();
    N->Challenge = makeNonce();
    N->Link.Parser.Limits = FrameLimits::stranger();
    N->Link.queue(json::Object{{"challenge", N->Challenge}});
    Nodes.push_back(std::move(N));
  }
}

void NodePool::lose(Node &N, StringRef Why) {
  if (N.State == Node::Gone)
    return;
  if (N.State == Node::Stranger)
    tell("refused a worker at " + N.From + ": " + Why);
  else
    tell("lost the worker " + N.Name + " at " + N.From + ": " + Why);
  N.State = Node::Gone;
  for (uint64_t Ticket : N.Sent)
    Results.emplace_back(Ticket, std::nullopt);
  N.Sent.clear();
  if (N.Comparing)
    ComparisonLost = ("the worker " + N.Name + " was lost: " + Why).str();
  N.Comparing = 0;
}

/// Who is it?
Error NodePool::greet(Node &N, const json::Object &Message) {
  StringRef Version = Message.getString("version").value_or("");
  StringRef Nonce = Message.getString("nonce").value_or("");
  StringRef Proof = Message.getString("proof").value_or("");
  auto Refuse = [&](const Twine &Why) {
    N.Link.queue(json::Object{{"refused", Why.str()}});
    N.Link.flush();
    return createStringError(Why);
  };
  if (!isSameProof(Proof,
                   makeProof(Token, FarmRole::Worker, N.Challenge, Nonce)))
    return Refuse("wrong token");
  if (Version != getProtocolVersion())
    return Refuse("the worker is " + Version + ", the coordinator is " +
                  getProtocolVersion());
  N.State = Node::Staging;
  N.Name = Message.getString("name").value_or("").str();
  N.Link.Parser.Limits = FrameLimits();
  N.Link.queue(json::Object{
      {"proof",
       makeProof(Token, FarmRole::Coordinator, N.Challenge, Nonce)},
      {"study", toJSON(Study)}});
  return Error::success();
}

Error NodePool::sendPiece(Node &N, const json::Object &Message) {
  std::optional<int64_t> File = Message.getInteger("get");
  std::optional<int64_t> Offset = Message.getInteger("offset");
  std::optional<int64_t> Size = Message.getInteger("size");
  if (!File || *File < 0 || static_cast<uint64_t>(*File) >= Files.size() ||
      !Offset || *Offset < 0 || !Size || *Size <= 0 ||
      static_cast<uint64_t>(*Size) > PieceBytes)
    return createStringError("a request for no part of a file");
  StringRef Whole = Files[*File]->getBuffer();
  if (static_cast<uint64_t>(*Offset) >= Whole.size() ||
      N.Link.queuedBytes() > MaxQueuedBytes)
    return createStringError("a request for no part of a file");
  N.Link.queue(
      json::Object{{"data", *File}, {"offset", *Offset}},
      std::make_shared<const std::string>(Whole.substr(*Offset, *Size)));
  return Error::success();
}

Error NodePool::takeState(Node &N, const json::Object &Message) {
  std::optional<int64_t> Capacity = Message.getInteger("capacity");
  if (!Capacity || *Capacity < 0 || *Capacity > 100000)
    return createStringError("a worker of an impossible size");
  N.Capacity = *Capacity;
  N.Devices.clear();
  if (const json::Value *About = Message.get("state")) {
    N.About = *About;
    const json::Object *State = About->getAsObject();
    const json::Array *List = State ? State->getArray("devices") : nullptr;
    for (const json::Value &D : List ? *List : json::Array())
      if (const json::Object *O = D.getAsObject();
          O && !O->get("error") && !O->get("waiting"))
        N.Devices.push_back(O->getString("id").value_or("").str());
  }
  N.Link.queue(json::Object{{"heard", true}});
  Expected<FarmStatistics> S =
      readMember<FarmStatistics>(Message, "statistics");
  if (!S)
    return S.takeError();
  N.Stats = std::move(*S);
  return Error::success();
}

Error NodePool::takeResult(Node &N, const json::Object &Message) {
  std::optional<int64_t> Ticket = Message.getInteger("result");
  auto Sent = find(N.Sent, static_cast<uint64_t>(Ticket.value_or(0)));
  if (Sent == N.Sent.end())
    return createStringError("a result that nobody asked for");
  Expected<Evaluation> E = readMember<Evaluation>(Message, "evaluation");
  if (!E)
    return E.takeError();
  Results.emplace_back(*Sent, std::move(*E));
  N.Sent.erase(Sent);
  return Error::success();
}

Error NodePool::takeCancelled(Node &N, const json::Array &Tickets) {
  for (const json::Value &T : Tickets) {
    std::optional<int64_t> Ticket = T.getAsInteger();
    auto Sent = find(N.Sent, static_cast<uint64_t>(Ticket.value_or(0)));
    if (Sent == N.Sent.end())
      return createStringError("something else was cancelled");
    Evaluation E;
    E.Failure = Evaluation::Cancelled.str();
    Results.emplace_back(*Sent, std::move(E));
    N.Sent.erase(Sent);
  }
  return Error::success();
}

Error NodePool::takeCompared(Node &N, const json::Object &Message) {
  Expected<PairedEvaluation> P =
      readMember<PairedEvaluation>(Message, "paired");
  if (!P)
    return P.takeError();
  // It can have been at its end when it was stopped.
  if (!N.Comparing ||
      Message.getInteger("compared") != static_cast<int64_t>(N.Comparing))
    return Error::success();
  N.Comparing = 0;
  Compared = std::move(*P);
  return Error::success();
}

Error NodePool::handle(Node &N, Frame F) {
  if (N.State == Node::Stranger)
    return greet(N, F.Head);
  if (F.Head.get("get"))
    return sendPiece(N, F.Head);
  if (std::optional<StringRef> Why = F.Head.getString("failed"))
    return createStringError(*Why);
  if (F.Head.get("capacity")) {
    if (N.State == Node::Staging && Note)
      Note("worker " + N.Name + " at " + N.From);
    N.State = Node::Ready;
    return takeState(N, F.Head);
  }
  if (N.State != Node::Ready)
    return createStringError("an unknown message");
  if (F.Head.get("result"))
    return takeResult(N, F.Head);
  if (const json::Array *Tickets = F.Head.getArray("cancelled"))
    return takeCancelled(N, *Tickets);
  if (F.Head.get("compared"))
    return takeCompared(N, F.Head);
  return createStringError("an unknown message");
}

void NodePool::receive(Node &N) {
  uint64_t Before = N.Link.received();
  Expected<bool> Open = N.Link.receive();
  if (N.Link.received() != Before)
    N.Heard = std::chrono::steady_clock::now();
  while (N.State != Node::Gone) {
    Expected<std::optional<Frame>> F = N.Link.Parser.next();
    if (F && !*F)
      break;
    if (Error E = F ? handle(N, std::move(**F)) : F.takeError())
      lose(N, toString(std::move(E)));
  }
  if (!Open)
    lose(N, toString(Open.takeError()));
  else if (!*Open)
    lose(N, "the connection was closed");
}

void NodePool::serve() {
  accept();
  auto Now = std::chrono::steady_clock::now();
  for (auto &N : Nodes) {
    receive(*N);
    if (N->State == Node::Stranger &&
        Now - N->Since > std::chrono::duration<double>(GreetingSeconds))
      lose(*N, "it says nothing");
    // It is stopped, or hangs, while its machine keeps the connection; or the
    // network does.
    if (N->State == Node::Ready &&
        Now - N->Heard > std::chrono::duration<double>(SilenceSeconds))
      lose(*N, "it says nothing any more");
    if (N->State != Node::Gone)
      N->Link.flush();
  }
  for (auto &N : Nodes)
    if (N->State == Node::Gone)
      Past += N->Stats;
  erase_if(Nodes, [](const auto &N) { return N->State == Node::Gone; });
}

unsigned NodePool::capacity() const {
  unsigned Sum = 0;
  for (const auto &N : Nodes)
    if (N->State == Node::Ready)
      Sum += N->Capacity;
  return Sum;
}

bool NodePool::submit(uint64_t Ticket, const EvaluationRequest &R) {
  // To the one with the most room; a device that is asked for has none beside
  // it.
  Node *Best = nullptr;
  auto MayHave = [&](const Node &N) {
    if (N.State != Node::Ready)
      return false;
    return R.Device.empty() ? !N.Comparing && N.Sent.size() < N.Capacity
                            : is_contained(N.Devices, R.Device);
  };
  for (auto &N : Nodes)
    if (MayHave(*N) &&
        (!Best || N->Sent.size() * Best->Capacity <
                      Best->Sent.size() * N->Capacity))
      Best = N.get();
  if (!Best)
    return false;
  Best->Sent.push_back(Ticket);
  Best->Link.queue(json::Object{{"evaluate", Ticket}, {"request", toJSON(R)}});
  Best->Link.flush();
  return true;
}

void NodePool::cancel() {
  for (auto &N : Nodes) {
    if (N->State != Node::Ready || N->Sent.empty())
      continue;
    N->Link.queue(json::Object{{"cancel", true}});
    N->Link.flush();
  }
}

std::vector<std::pair<uint64_t, std::optional<Evaluation>>> NodePool::take() {
  return std::exchange(Results, {});
}

bool NodePool::compare(ArrayRef<EvaluationRequest> Requests, unsigned Rounds) {
  for (auto &N : Nodes) {
    if (N->State != Node::Ready || N->Capacity == 0)
      continue;
    N->Comparing = ++Comparisons;
    json::Array List;
    for (const EvaluationRequest &R : Requests)
      List.push_back(toJSON(R));
    N->Link.queue(json::Object{{"compare", N->Comparing},
                               {"requests", std::move(List)},
                               {"rounds", Rounds}});
    N->Link.flush();
    return true;
  }
  return false;
}

Expected<std::optional<PairedEvaluation>> NodePool::takeComparison() {
  if (!ComparisonLost.empty())
    return createStringError(std::exchange(ComparisonLost, ""));
  return std::exchange(Compared, std::nullopt);
}

void NodePool::stopComparison() {
  for (auto &N : Nodes) {
    if (!N->Comparing)
      continue;
    N->Link.queue(json::Object{{"stop", std::exchange(N->Comparing, 0)}});
    N->Link.flush();
  }
  Compared.reset();
  ComparisonLost.clear();
}

void NodePool::addTo(FarmStatistics &S) const {
  S += Past;
  for (const auto &N : Nodes) {
    FarmStatistics Named = N->Stats;
    for (FarmStatistics::Runner &R : Named.Runners)
      R.Name = N->Name + " " + R.Name;
    S += Named;
    S.BytesSent += N->Link.sent();
    S.BytesReceived += N->Link.received();
  }
}

json::Array NodePool::describe() const {
  json::Array List;
  for (const auto &N : Nodes)
    if (N->State == Node::Ready)
      List.push_back(json::Object{{"name", json::fixUTF8(N->Name)},
                                  {"address", N->From},
                                  {"farm", N->About}});
  return List;
}
