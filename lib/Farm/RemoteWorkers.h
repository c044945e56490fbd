//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The coordinator's side of workers. Starts each worker with its launcher's
/// command, communicates over the command's standard streams, and restarts lost
/// workers. Messages.def defines the messages ToWorker and FromWorker.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_REMOTEWORKERS_H
#define LLVM_MNEME_LIB_FARM_REMOTEWORKERS_H

#include "Coordinator.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Support/Clock.h"

namespace llvm {
namespace mneme {

/// Number of pieces of a file that are requested at a time.
constexpr unsigned PiecesAhead = 4;

struct RemoteWorkersOptions {
  std::vector<WorkerCommand> Workers;
  /// A worker that sends nothing for this time is lost.
  double SilenceSeconds = 60;
  /// The limit while it fetches files and opens its device.
  double SetupSeconds = 600;
  /// Pause before a worker's first restart; it doubles each time.
  double RestartSeconds = 1;
  std::function<void(StringRef)> Message, Note; ///< As FarmResources'.
};

class RemoteWorkers final : public Outside {
public:
  RemoteWorkers(RemoteWorkersOptions Options, RemoteStudy Study,
                MappedFiles Files);
  /// Ends all workers, and waits until they have ended.
  ~RemoteWorkers() override;

  /// Replaces running a command: tests act as the worker.
  using StartFn =
      std::function<Expected<std::unique_ptr<Process>>(const WorkerCommand &)>;
  void setStarter(StartFn F) { Starter = std::move(F); }

  void addTo(std::vector<pollfd> &Waits) const override;
  void serve() override;
  double untilNextTime(double Seconds) const override;
  Error checkAlive() const override;
  unsigned capacity() const override;
  bool submit(uint64_t Ticket, const EvaluationRequest &R) override;
  void cancel() override;
  std::vector<OutsideResult> take() override;
  bool compare(ArrayRef<EvaluationRequest> Requests, unsigned Rounds) override;
  Expected<std::optional<PairedEvaluation>> takeComparison() override;
  void stopComparison() override;
  void addTo(FarmStatistics &S) const override;
  json::Array describe() const override;

private:
  using Clock = std::chrono::steady_clock;

  struct Node {
    WorkerCommand Command;
    enum StateTy {
      Waiting,  ///< To be started at Next.
      Starting, ///< Its launcher runs; nothing was received.
      Staging,  ///< It fetches files, opens its device.
      Ready,
      Ending,  ///< It has closed its output and must exit by Next.
      GivenUp, ///< It will not be started again.
    } State = Waiting;
    Clock::time_point Next;
    unsigned Restarts = 0;
    bool WasReady = false; ///< At least once.
    std::string Complaint; ///< Why it was lost last.

    // Of the process that runs now.
    Clock::time_point Heard;
    std::optional<Clock::time_point> ReadySince;
    unsigned Lines = 0; ///< Written to standard error.
    std::unique_ptr<Process> P;
    std::string Name;
    unsigned Capacity = 0;
    struct GivenRequest {
      uint64_t Id = 0;
      bool Measure = true;
    };
    std::map<uint64_t, GivenRequest> Given; ///< All requests, by ticket.
    std::vector<uint64_t> Sent;         ///< Tickets under way.
    struct ComparisonSent {
      uint64_t Ticket = 0;
      size_t Members = 0;
      unsigned Rounds = 0;
    };
    std::optional<ComparisonSent> Comparing;
    FarmDescription Farm;
    FarmStatistics Stats;

    Channel &link() const { return P->channel(); }
    double silence() const { return secondsSince(Heard); }
    bool hasDevice(StringRef Id, bool Usable) const;
  };

  RemoteWorkersOptions Options;
  RemoteStudy Study;
  MappedFiles Files;
  StartFn Starter;
  std::vector<std::unique_ptr<Node>> Nodes;
  /// Launchers that must exit, and when they are killed.
  std::vector<std::pair<std::unique_ptr<Process>, Clock::time_point>> Leaving;
  std::vector<OutsideResult> Results;
  std::optional<PairedEvaluation> Compared;
  std::string ComparisonLost;
  uint64_t Comparisons = 0;
  FarmStatistics Past; ///< Of lost workers.

  void start(Node &N);
  void receive(Node &N);
  void relayMessages(Node &N);
  Error handle(Node &N, FromWorker Message);
  Error take(Node &N, message::Hello M);
  Error take(Node &N, message::Get M);
  Error take(Node &N, message::State M);
  Error take(Node &N, message::Evaluated M);
  Error take(Node &N, message::Declined M);
  Error take(Node &N, message::Cancelled M);
  Error take(Node &N, message::ComparedThere M);
  Error take(Node &N, message::Failed M);
  Error finishTicket(Node &N, uint64_t Ticket, OutsideResult::KindTy Kind,
                     Evaluation E);
  double getLimit(const Node &N) const;
  void checkTimes(Node &N);
  void expectEnd(Node &N);
  /// \param ForGood A restart would fail, too.
  void lose(Node &N, const Twine &Why, bool ForGood = false);
  void tell(const Twine &Text) const;
  void note(const Twine &Text) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_REMOTEWORKERS_H
