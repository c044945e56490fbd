//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The server: one thread, one poll loop. It compiles nothing and opens no
/// device. The farm and child processes do that.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SERVE_SERVER_H
#define LLVM_MNEME_LIB_SERVE_SERVER_H

#include "Messages.h"
#include "ServedSpace.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Support/Folders.h"
#include <deque>
#include <map>
#include <set>

namespace llvm {
namespace mneme {
namespace serve {

/// The reason of a failed request.
enum class Reason { Request, Setup, Limit, Lost };

/// A connection.
struct Client {
  Client(uint64_t Serial, int In, int Out);

  const uint64_t Serial; ///< Not reused.
  Channel Link;
  std::string Name;
  bool TakesDescriptors = false;
  bool IsGreeted = false;
  bool IsClosed = false;           ///< It sends no more.
  bool IsDone = false;             ///< It gets no more answers.
  std::optional<uint64_t> Quits;   ///< The id of quit.
  std::set<uint64_t> Outstanding;  ///< Ids of requests without an answer.
  uint64_t NextSpace = 1;
  std::map<uint64_t, std::unique_ptr<ServedSpace>> Spaces;
  /// Events of its descriptors in the poll set.
  uint32_t InEvents = 0, OutEvents = 0;

  /// Returns true if its process has died or closed both ends.
  bool hasLeft() const;
};

class Server {
public:
  explicit Server(ServeOptions Options);
  ~Server();
  Error run();

private:
  ServeOptions O;
  std::string File; ///< The kernel's.
  RecordedKernel Kernel;
  std::vector<std::string> Ids; ///< Record ids of the launches.
  /// By launch; null until needed.
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  std::unique_ptr<ReplayFarm> Farm; ///< Null until opened.
  std::string FarmLost;             ///< Why it cannot evaluate any more.

  Descriptor Events;   ///< The poll set.
  Descriptor Listener; ///< Unset with standard streams.
  std::vector<std::unique_ptr<Client>> Clients;
  uint64_t NextSerial = 1;

  /// An evaluation under way, by the id that the farm knows.
  struct Ticket {
    uint64_t Serial, Id; ///< Client and request.
    std::string IRFile;
  };
  std::map<uint64_t, Ticket> Tickets;
  /// Client and request of all tickets so far.
  std::vector<std::pair<uint64_t, uint64_t>> Origins;

  /// The files of IR that requests sent, while they are needed.
  std::optional<PrivateFolder> IRFolder;
  StringMap<unsigned> IRUsers; ///< By path.

  /// A child process that reads IR or memory for a request.
  struct Task {
    Task(ChildTask Child, uint64_t Serial, uint64_t Id)
        : Child(std::move(Child)), Serial(Serial), Id(Id) {}
    ChildTask Child;
    uint64_t Serial, Id; ///< Client and request.
    bool NeedsDevice = false;
    Descriptor Memory; ///< That it fills; unset: its result is the answer.
    uint64_t Size = 0;
  };
  std::vector<std::unique_ptr<Task>> Tasks;

  /// Requests that wait for the end of a comparison or of a task that uses the
  /// device.
  std::deque<std::pair<uint64_t, ToServer>> Later;
  struct Comparison {
    uint64_t Serial, Id;
    bool IsStopped = false;
  };
  std::optional<Comparison> Comparing;
  unsigned Depth = 0; ///< Of serveClients().

  // Setting up.
  Error readKernel();
  Error listen();
  Error addClient(int In, int Out);
  Error watch(int FD, uint32_t &Events, uint32_t Wanted);

  // The loop.
  bool isFinished() const;
  Error turn();
  void takeResults(double Seconds);
  void serveClients();
  void acceptClients();
  void receive(Client &C);
  void take(Client &C, Frame F);
  void dispatch(Client &C, ToServer Message);
  bool mustWait(const Client &C, const ToServer &Message) const;
  void takeLater();
  void closeClients();
  void drop(Client &C);
  void flush(Client &C);
  Client *find(uint64_t Serial);
  bool usesDevice() const;

  // Answers.
  template <typename M>
  void send(Client &C, M Message,
            std::shared_ptr<const std::string> Bytes = nullptr);
  template <typename M>
  void answer(Client &C, M Message,
              std::shared_ptr<const std::string> Bytes = nullptr);
  void refuse(Client &C, uint64_t Id, Reason Why, const Twine &Error);
  void refuse(Client &C, uint64_t Id, Reason Why, Error E);
  void note(StringRef Level, StringRef Text);

  // Requests.
  void handle(Client &C, message::Hello &M);
  void handle(Client &C, message::List &M);
  void handle(Client &C, message::Show &M);
  void handle(Client &C, message::Open &M);
  void handle(Client &C, message::Submit &M);
  void handle(Client &C, message::Compare &M);
  void handle(Client &C, message::Cancel &M);
  void handle(Client &C, message::IR &M);
  void handle(Client &C, message::Memory &M);
  void handle(Client &C, message::Space &M);
  void handle(Client &C, message::Ask &M);
  void handle(Client &C, message::Tell &M);
  void handle(Client &C, message::Configure &M);
  void handle(Client &C, message::Drop &M);
  void handle(Client &C, message::Stats &M);
  void handle(Client &C, message::Quit &M);

  /// Returns the number of a record. Otherwise, refuses the request.
  std::optional<unsigned> findInstance(Client &C, uint64_t Request,
                                       StringRef RecordId);
  /// Returns the plan of a launch with the server's options. Otherwise, refuses
  /// the request.
  const ReplayPlan *findPlan(Client &C, uint64_t Request, unsigned Instance);
  Error openFarm();
  void sendResult(Evaluation E);
  void loseFarm(Error E);
  Expected<std::string> keepIR(std::string Bytes);
  void releaseIR(StringRef Path);
  Expected<std::unique_ptr<ReplayPlan>>
  varyPlan(const ReplayPlan &Plan, json::Object Config, StringRef IRFile,
           bool WillCompile);
  Error startTask(Task T);
  void serveTasks();
  Expected<Study> makeStudy(const message::Space &M) const;
};

template <typename M>
void Server::send(Client &C, M Message,
                  std::shared_ptr<const std::string> Bytes) {
  std::string Line = printFrameLine(M::Kind, makeHead(Message),
                                    Bytes ? Bytes->size() : 0,
                                    FrameForm::Object);
  C.Link.queue(std::move(Line), std::move(Bytes));
}

template <typename M>
void Server::answer(Client &C, M Message,
                    std::shared_ptr<const std::string> Bytes) {
  C.Outstanding.erase(Message.Id);
  send(C, std::move(Message), std::move(Bytes));
}

} // namespace serve
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SERVE_SERVER_H
