//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::serve;

/// Requests of a client that may be under way.
static constexpr size_t MaxOutstanding = 65536;

/// A client whose answers take more bytes than this is not read, until it has
/// received them.
static constexpr uint64_t MaxQueued = uint64_t(256) << 20;

static constexpr size_t MaxClients = 256;

/// Seconds between checks when nothing happens.
static constexpr double IdleSeconds = 60;

/// Returns true for a Unix socket.
static bool isUnixSocket(int FD) {
  int Domain = 0;
  socklen_t Size = sizeof(Domain);
  return ::getsockopt(FD, SOL_SOCKET, SO_DOMAIN, &Domain, &Size) == 0 &&
         Domain == AF_UNIX;
}

Client::Client(uint64_t Serial, int In, int Out)
    : Serial(Serial),
      Link(In, Out, MessageSet<ToServer>::Kinds, FrameForm::Object),
      TakesDescriptors(isUnixSocket(Out)) {}

bool Client::hasLeft() const {
  pollfd Wait = {Link.out(), 0, 0};
  return ::poll(&Wait, 1, 0) > 0 && (Wait.revents & (POLLERR | POLLHUP));
}

Server::Server(ServeOptions Options) : O(std::move(Options)) {}

Server::~Server() {
  if (Listener)
    ::unlink(O.Listen.c_str());
}

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

Error Server::readKernel() {
  File = O.Farm.Database;
  struct stat Status;
  if (::stat(File.c_str(), &Status) == 0 && S_ISDIR(Status.st_mode)) {
    Expected<std::vector<std::string>> Files = findKernelFiles(File);
    if (!Files)
      return Files.takeError();
    if (Files->size() > 1)
      return createFileError(
          File, createStringError(
                    "holds several kernels: name the file of one"));
    File = Files->front();
  }
  if (Error E = readKernelFile(File).moveInto(Kernel))
    return E;
  Ids = O.Farm.RecordIds;
  if (Ids.empty())
    for (const RecordedInstance &I : Kernel.Instances)
      Ids.push_back(I.DynamicHash);
  if (Ids.empty())
    return createFileError(File,
                           createStringError("holds no recorded launch"));
  for (std::string &Id : Ids) {
    if (Error E = completeRecordId(Id, {Kernel}).moveInto(Id))
      return createFileError(File, std::move(E));
    if (!Kernel.findInstance(Id))
      return createFileError(File,
                             createStringError("no record '" + Id + "'"));
  }
  Plans.resize(Ids.size());
  O.Farm.Database = File;
  O.Farm.RecordIds = Ids;
  O.Farm.Message = [this](StringRef Text) { note("warning", Text); };
  O.Farm.Note = [this](StringRef Text) { note("note", Text); };
  return Error::success();
}

/// Changes the events of a descriptor that the poll set waits for.
Error Server::watch(int FD, uint32_t &Now, uint32_t Wanted) {
  if (Now == Wanted)
    return Error::success();
  epoll_event Event = {};
  Event.events = Wanted;
  Event.data.fd = FD;
  int Change = !Wanted ? EPOLL_CTL_DEL : Now ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(Events.get(), Change, FD, &Event) != 0)
    return systemError("cannot wait for a client");
  Now = Wanted;
  return Error::success();
}

Error Server::listen() {
  sockaddr_un Address = {};
  Address.sun_family = AF_UNIX;
  if (O.Listen.size() >= sizeof(Address.sun_path))
    return createStringError(formatv("'{0}': the path of a socket has at most "
                                     "{1} bytes",
                                     O.Listen, sizeof(Address.sun_path) - 1)
                                 .str());
  llvm::copy(O.Listen, Address.sun_path);
  Descriptor Socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!Socket)
    return systemError("cannot make a socket");
  // The socket is created with these permissions, so that no other user can
  // connect before they are set.
  mode_t Before = ::umask(0177);
  int Bound = ::bind(Socket.get(), reinterpret_cast<sockaddr *>(&Address),
                     sizeof(Address));
  ::umask(Before);
  if (Bound != 0)
    return systemError("cannot create the socket '" + O.Listen + "'");
  Listener = std::move(Socket);
  if (::listen(Listener.get(), 16) != 0)
    return systemError("cannot create the socket '" + O.Listen + "'");
  uint32_t None = 0;
  return watch(Listener.get(), None, EPOLLIN);
}

Error Server::addClient(int In, int Out) {
  Clients.push_back(std::make_unique<Client>(NextSerial++, In, Out));
  Client &C = *Clients.back();
  if (errorToBool(watch(In, C.InEvents, EPOLLIN))) {
    // A file cannot be waited for, and need not be.
    while (true) {
      Expected<bool> Open = C.Link.receive();
      if (!Open)
        return Open.takeError();
      if (!*Open)
        break;
    }
    C.IsClosed = true;
  } else if (Error E = C.Link.makeNonBlocking()) {
    return E;
  }
  return Error::success();
}

Error Server::run() {
  Events = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!Events)
    return systemError("cannot wait for clients");
  if (Error E = readKernel())
    return E;
  if (!O.Listen.empty()) {
    if (Error E = listen())
      return E;
  } else {
    Expected<Pipe> Streams = takeStandardStreams();
    if (!Streams)
      return Streams.takeError();
    if (Error E = addClient(Streams->Read.release(), Streams->Write.release()))
      return E;
  }
  serveClients();
  while (!isFinished())
    if (Error E = turn())
      return E;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

bool Server::isFinished() const {
  return Clients.empty() && (!Listener || NextSerial > 1);
}

Error Server::turn() {
  if (!Farm) {
    epoll_event Event;
    ::epoll_wait(Events.get(), &Event, 1, int(IdleSeconds * 1000));
    serveClients();
    return Error::success();
  }
  takeResults(IdleSeconds);
  serveClients();
  return Error::success();
}

/// Waits for results and sends them.
void Server::takeResults(double Seconds) {
  Expected<std::vector<Evaluation>> Results =
      Farm->wait(Seconds, Events.get());
  if (!Results)
    return loseFarm(Results.takeError());
  for (Evaluation &E : *Results)
    sendResult(std::move(E));
}

Client *Server::find(uint64_t Serial) {
  auto It = find_if(Clients, [&](const std::unique_ptr<Client> &C) {
    return C->Serial == Serial;
  });
  return It == Clients.end() ? nullptr : It->get();
}

/// Handles everything that has arrived, without waiting.
void Server::serveClients() {
  ++Depth;
  if (Listener)
    acceptClients();
  serveTasks();
  takeLater();
  // A request may add tasks, but no clients.
  for (size_t I = 0; I != Clients.size(); ++I)
    receive(*Clients[I]);
  // A comparison that ended meanwhile has let others wait. Nothing would wake
  // the server for them.
  takeLater();
  closeClients();
  for (const std::unique_ptr<Client> &C : Clients)
    flush(*C);
  --Depth;
}

void Server::acceptClients() {
  while (true) {
    Descriptor Socket(
        ::accept4(Listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!Socket)
      return;
    // The permissions of the socket keep out other users, except on systems
    // that ignore them.
    ucred Peer = {};
    socklen_t Size = sizeof(Peer);
    if (::getsockopt(Socket.get(), SOL_SOCKET, SO_PEERCRED, &Peer, &Size) !=
            0 ||
        Peer.uid != ::geteuid() || Clients.size() == MaxClients)
      continue;
    int FD = Socket.release();
    if (Error E = addClient(FD, FD))
      O.Message(toString(std::move(E)));
  }
}

void Server::receive(Client &C) {
  while (!C.Quits && !C.IsDone) {
    Expected<std::optional<Frame>> Next = C.Link.Parser.next();
    if (!Next) {
      refuse(C, 0, Reason::Request, Next.takeError());
      return drop(C);
    }
    if (*Next) {
      take(C, std::move(**Next));
      continue;
    }
    if (C.IsClosed || C.Link.queuedBytes() > MaxQueued)
      return;
    uint64_t Before = C.Link.received();
    Expected<bool> Open = C.Link.receive();
    if (!Open) {
      consumeError(Open.takeError());
      C.IsClosed = true;
    } else if (!*Open) {
      C.IsClosed = true;
    } else if (C.Link.received() == Before) {
      return; // nothing has arrived
    }
  }
}

void Server::take(Client &C, Frame F) {
  uint64_t Id = F.Head.getInteger("id").value_or(0);
  if (F.Kind == std::size(MessageSet<ToServer>::Kinds))
    return refuse(C, Id, Reason::Request,
                  "unknown type '" +
                      F.Head.getString("type").value_or("").str() + "'");
  StringRef Key = MessageSet<ToServer>::Kinds[F.Kind].Key;
  Expected<ToServer> Message = MessageSet<ToServer>::decode(std::move(F));
  if (!Message)
    return refuse(C, Id, Reason::Request, Message.takeError());
  if (!C.IsGreeted && !std::holds_alternative<message::Hello>(*Message))
    return refuse(C, Id, Reason::Request,
                  "'" + Key + "' before 'hello', which must be the first");
  if (C.Outstanding.count(Id))
    return refuse(C, 0, Reason::Request,
                  formatv("request {0} is under way", Id).str());
  if (C.Outstanding.size() == MaxOutstanding)
    return refuse(C, Id, Reason::Limit,
                  formatv("more than {0} requests under way", MaxOutstanding)
                      .str());
  C.Outstanding.insert(Id);
  if (mustWait(C, *Message))
    Later.push_back({C.Serial, std::move(*Message)});
  else
    dispatch(C, std::move(*Message));
}

void Server::dispatch(Client &C, ToServer Message) {
  std::visit([&](auto &M) { handle(C, M); }, Message);
}

bool Server::usesDevice() const {
  return Comparing || any_of(Tasks, [](const std::unique_ptr<Task> &T) {
           return T->NeedsDevice;
         });
}

/// Evaluations wait while a comparison or a task has the device; a task that
/// needs the device waits for evaluations. Requests of a client keep their
/// order.
bool Server::mustWait(const Client &C, const ToServer &Message) const {
  auto *M = std::get_if<message::Memory>(&Message);
  bool NeedsIdle = M && M->When == "result";
  if (!NeedsIdle && !std::holds_alternative<message::Submit>(Message) &&
      !std::holds_alternative<message::Compare>(Message) &&
      !std::holds_alternative<message::Open>(Message))
    return false;
  return usesDevice() || (NeedsIdle && !Tickets.empty()) ||
         any_of(Later, [&](const auto &L) { return L.first == C.Serial; });
}

void Server::takeLater() {
  while (!Later.empty()) {
    auto &[Serial, Message] = Later.front();
    Client *C = find(Serial);
    bool NeedsIdle = std::holds_alternative<message::Memory>(Message);
    if (C && (usesDevice() || (NeedsIdle && !Tickets.empty())))
      return;
    ToServer Next = std::move(Message);
    Later.pop_front();
    if (C)
      dispatch(*C, std::move(Next));
  }
}

/// Gives up the requests of a client that has left.
void Server::drop(Client &C) {
  DenseSet<uint64_t> Left;
  for (auto &[Ticket, T] : Tickets)
    if (T.Serial == C.Serial)
      Left.insert(Ticket);
  if (Farm && !Left.empty())
    Farm->withdraw(Left);
  if (Comparing && Comparing->Serial == C.Serial)
    Comparing->IsStopped = true;
  erase_if(Tasks, [&](const std::unique_ptr<Task> &T) {
    return T->Serial == C.Serial;
  });
  C.IsDone = true;
}

void Server::closeClients() {
  for (const std::unique_ptr<Client> &C : Clients) {
    if (C->Quits && C->Outstanding.size() == 1) {
      answer(*C, message::Done{*C->Quits});
      C->Quits.reset();
      C->IsDone = true;
    }
    flush(*C);
    if (C->hasLeft() || (C->IsClosed && !C->Quits && !C->IsDone))
      drop(*C);
  }
  // Callers up the stack use clients.
  if (Depth == 1)
    erase_if(Clients, [](const std::unique_ptr<Client> &C) {
      return C->IsDone && (!C->Link.hasQueued() || C->hasLeft());
    });
}

void Server::flush(Client &C) {
  C.Link.flush();
  int In = C.Link.in(), Out = C.Link.out();
  bool Reads = !C.IsClosed && !C.IsDone && !C.Quits &&
               C.Link.queuedBytes() <= MaxQueued;
  uint32_t ToRead = Reads ? EPOLLIN : 0;
  uint32_t ToWrite = C.Link.hasQueued() ? EPOLLOUT : 0;
  // Files cannot be waited for.
  if (In == Out) {
    consumeError(watch(In, C.InEvents, ToRead | ToWrite));
    return;
  }
  consumeError(watch(In, C.InEvents, ToRead));
  if (Out >= 0)
    consumeError(watch(Out, C.OutEvents, ToWrite));
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

static StringRef getReasonName(Reason R) {
  switch (R) {
  case Reason::Request:
    return "request";
  case Reason::Setup:
    return "setup";
  case Reason::Limit:
    return "limit";
  case Reason::Lost:
    return "lost";
  }
  llvm_unreachable("unknown reason");
}

void Server::refuse(Client &C, uint64_t Id, Reason Why, const Twine &Error) {
  answer(C, message::Failed{Id, getReasonName(Why).str(),
                            printableMessage(Error.str())});
}

void Server::refuse(Client &C, uint64_t Id, Reason Why, Error E) {
  refuse(C, Id, Why, toString(std::move(E)));
}

void Server::note(StringRef Level, StringRef Text) {
  if (none_of(Clients, [](const auto &C) { return C->IsGreeted; })) {
    O.Message(Text);
    return;
  }
  for (const std::unique_ptr<Client> &C : Clients)
    if (C->IsGreeted) {
      send(*C, message::Note{Level.str(), Text.str()});
      // The farm may wait long, for the device that the note is about.
      flush(*C);
    }
}

Error mneme::runServer(ServeOptions Options) {
  return Server(std::move(Options)).run();
}
