//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requests in, results out: hands them to compile and run processes of this
/// machine, and to other machines; finds what is equal; replaces what dies. One
/// thread, one poll loop, and nothing that could take long.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_COORDINATOR_H
#define LLVM_MNEME_LIB_FARM_COORDINATOR_H

#include "DeviceLock.h"
#include "Messages.h"
#include "Process.h"
#include "Tables.h"
#include "llvm/Mneme/Support/Clock.h"
#include <deque>
#include <map>
#include <poll.h>

namespace llvm {
namespace mneme {

/// What may pass until a process says what it begins.
constexpr double SetupSeconds = 300;

/// How often a lock that somebody has is looked at.
constexpr double LockSeconds = 0.1;

/// How often a job may be begun again because somebody killed the process.
constexpr unsigned MaxLosses = 1;

/// Jobs that wait in a run process's connection, so that it never does.
constexpr unsigned Prefetched = 2;

/// A request that is under way.
struct Job {
  uint64_t Ticket = 0; ///< Its number here, from 1.
  EvaluationRequest Request;
  FarmKeys Keys;
  enum StateTy {
    Waiting,   ///< For code that is to be compiled, or is being compiled.
    Compiling, ///< It is its own configuration that is compiled.
    Ready,     ///< To be run.
    Sent,      ///< To a run process.
    Following, ///< Another one that will have the same result.
    Away,      ///< On another machine.
    Held,      ///< To be compared; there is code.
    Failed,    ///< To be compared; there is none.
  };
  StateTy State = Waiting;
  bool ForPair = false;
  CodeEntry *Code = nullptr;
  ResultEntry *Result = nullptr; ///< Null: its result is nobody else's.
  /// How its code was found to be another one's.
  Duplicate Level = Duplicate::None;
  std::string IRHash, AssemblyHash;
  unsigned Losses = 0; ///< Processes and machines that were lost under it.
  bool Stays = false;  ///< A worker has declined it.
  unsigned Overtaken = 0; ///< By jobs of another recorded launch.
  double CompileSeconds = 0;
  double Started = 0; ///< Seconds since the epoch; 0: not yet.
  FailureKind Failure; ///< If Failed.
  std::string Error;
};

/// What a worker says about a job, or is said of it when it is lost.
struct OutsideResult {
  enum KindTy {
    Done,
    Lost,     ///< Must be done again.
    Declined, ///< No worker will do it: Result.Error.
  };
  uint64_t Ticket = 0;
  KindTy Kind = Lost;
  Evaluation Result;
};

/// Workers.
class Outside {
public:
  virtual ~Outside() = default;
  virtual void addTo(std::vector<pollfd> &Waits) const = 0;
  /// Receives, sends, starts workers; never waits.
  virtual void serve() = 0;
  /// How long serve() need not be called if nothing is received; at most
  /// \p Seconds.
  virtual double untilNextTime(double Seconds) const = 0;
  /// Error: no worker is left, and none will be started.
  virtual Error checkAlive() const = 0;
  /// Requests that could be under way there.
  virtual unsigned capacity() const = 0;
  /// \returns false when no machine has room, or none has the device that is
  /// asked for.
  virtual bool submit(uint64_t Ticket, const EvaluationRequest &R) = 0;
  /// The results of what is not begun there will be Cancelled.
  virtual void cancel() = 0;
  virtual std::vector<OutsideResult> take() = 0;
  /// \returns false when there is no machine that has a device.
  virtual bool compare(ArrayRef<EvaluationRequest> Requests,
                       unsigned Rounds) = 0;
  /// Unset: not there yet. An Error: lost.
  virtual Expected<std::optional<PairedEvaluation>> takeComparison() = 0;
  /// Nobody waits for the comparison any more.
  virtual void stopComparison() = 0;
  virtual void addTo(FarmStatistics &S) const = 0;
  virtual json::Array describe() const = 0;
};

class Coordinator {
public:
  /// \p Backend outlives it.
  Coordinator(FarmBackend &Backend, FarmConfig Config);
  ~Coordinator();

  /// Instead of forking: tests play the processes.
  using StartFn =
      std::function<Expected<std::unique_ptr<Process>>(bool IsCompiler)>;
  void setStarter(StartFn F) { Starter = std::move(F); }

  /// Starts the run processes.
  void start();
  void setOutside(Outside *O) { Others = O; }

  unsigned capacity() const;
  /// The same without other machines, of devices that nobody else can have: 0
  /// until one is open, and locked if it must be.
  unsigned offer() const;
  Error submit(EvaluationRequest R);
  /// \p Also: a descriptor; returns when it becomes readable. -1: none.
  Expected<std::vector<Evaluation>> wait(double Seconds, int Also = -1);
  Expected<PairedEvaluation>
  comparePaired(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                function_ref<bool()> Stop = nullptr);
  void remember(const EvaluationRequest &R, const Evaluation &Known);
  std::vector<uint64_t> cancel();
  /// This machine.
  FarmDescription describeFarm() const;
  /// With the workers.
  json::Object describe() const;
  FarmStatistics statistics() const;
  /// There is nothing under way.
  bool isIdle() const { return Jobs.empty(); }

private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  struct Worker {
    std::unique_ptr<Process> P;
    std::string Stage, Fatal;
    std::string Shortage;  ///< What it ended for: not its job's fault.
    std::string Complaint; ///< About what it sent.
    double Limit = 0; ///< Seconds of the stage; 0: none.
    std::optional<Time> Deadline;
    bool TimedOut = false;
    std::optional<Time> Ending; ///< It is to be gone by then.
    std::optional<size_t> PollIndex; ///< In this turn.
  };
  struct Compiler : Worker {
    bool Busy = false;
    std::optional<std::string> Serves; ///< FarmKeys::Process; unset: nothing.
    uint64_t Owner = 0; ///< Whose configuration it is; see Jobs.
    uint64_t RequestId = 0;
    CodeEntry *Code = nullptr; ///< Null: it was found to be another one's.
    unsigned Asked = 0;        ///< Levels, a bit each.
    Time Begin;
  };
  struct Runner : Worker {
    bool Opening = false, Opened = false, Spent = false, Begun = false;
    std::string Exclusive, OpenError;
    DeviceInfo Info;
    Time Since; ///< That it is open.
    std::deque<uint64_t> Sent; ///< See Jobs.
    double LaunchLimit = 0;    ///< The longest of what was sent, in seconds.
    unsigned Instance = 0; ///< Of the job that was sent last.
    struct ComparisonSent {
      uint64_t Ticket = 0;
      size_t Members = 0;
      unsigned Rounds = 0;
      Time When;
    };
    std::optional<ComparisonSent> Comparing;
    /// Hashes of the code that it has, last used first.
    std::list<std::pair<std::string, uint64_t>> Holds;
    uint64_t HeldBytes = 0;
  };
  struct DeviceSlot {
    std::string Name, Id; ///< Id: Evaluation::Device.
    std::vector<unsigned> Cores;
    std::unique_ptr<Runner> Active, Spare;
    /// It was of no use any more, and is not gone yet.
    std::unique_ptr<Runner> Leaving;
    unsigned Failures = 0, SpareFailures = 0; ///< In a row.
    std::string Reason; ///< Why there is none any more; else empty.
    std::optional<DeviceLock> Lock;
    std::string Locked;
    bool Told = false; ///< That it waits for the lock.
    bool Owned = false; ///< It was open and, if it must be, locked.
    Time NextTry;
    uint64_t Runs = 0;
    double Busy = 0, Open = 0; ///< Of those that are gone, too.
    std::vector<double> LaunchLimits; ///< By instance; 0: not known.
  };
  struct Comparison {
    std::vector<uint64_t> Members;
    DeviceSlot *Device = nullptr;
    bool Sent = false;
    std::optional<PairedEvaluation> Result;
    unsigned Losses = 0;
  };

  FarmBackend &Backend;
  FarmConfig Config;
  Outside *Others = nullptr;
  StartFn Starter;
  std::string Host;

  std::map<uint64_t, std::unique_ptr<Job>> Jobs; ///< By ticket, in order.
  uint64_t NextTicket = 1;
  CodeTable Codes;
  ResultTable Results;
  std::deque<CodeEntry *> CompileQueue;
  std::deque<uint64_t> ReadyQueue;
  std::vector<Evaluation> Finished;
  std::vector<std::unique_ptr<Compiler>> Compilers;
  std::vector<std::unique_ptr<DeviceSlot>> Devices;
  Comparison *Current = nullptr;
  std::optional<Time> Paused; ///< Since then compile processes are.
  FarmStatistics Stats;
  uint64_t BytesSent = 0, BytesReceived = 0; ///< Of processes that are gone.
  unsigned CompileStartFailures = 0;

  // Jobs.
  Job *find(uint64_t Ticket);
  void admit(Job &J);
  void route(Job &J);
  void waitForCode(Job &J, CodeEntry &C);
  bool isHere(StringRef Device) const;
  void sendThere(Job &J);
  void moveTargeted();
  void finish(Job &J, Evaluation E);
  void finishAs(Job &J, const ResultEntry &R, Duplicate Level);
  void settle(ResultEntry &R, const EvaluationRequest &Leader,
              const Evaluation &E);
  void fail(Job &J, FailureKind Failure, StringRef Error);
  void leaveCode(Job &J);
  std::vector<Job *> takeWaiting(CodeEntry &C);

  // Compile processes.
  Compiler *getCompiler(StringRef Serves);
  void startCompile(Compiler &C, CodeEntry &Code);
  Error take(Compiler &C, message::CompileStage M);
  Error take(Compiler &C, message::Ask M);
  Error take(Compiler &C, message::Compiled M);
  Error take(Compiler &C, message::Invalid M);
  Error take(Compiler &C, message::Fatal M);
  Error take(Compiler &C, message::Shortage M);
  void finishCompile(Compiler &C, FarmCode Code);
  void giveUp(CodeEntry &Code, StringRef Why);
  void end(Compiler &C);

  // Run processes.
  Expected<std::unique_ptr<Runner>> startRunner(DeviceSlot &D, bool Open);
  void openDevice(DeviceSlot &D, Runner &R);
  void fill(DeviceSlot &D);
  bool hasDevice() const;
  bool isUsable(DeviceSlot &D);
  bool isReserved(const DeviceSlot &D) const;
  void sendCode(Runner &R, const CodeEntry &Code);
  Job *takeReady(const DeviceSlot &D);
  void sendJob(DeviceSlot &D, Job &J);
  double getLaunchTimeout(const DeviceSlot &D,
                          const EvaluationRequest &R) const;
  Error take(DeviceSlot &D, Runner &R, message::Opened M);
  Error take(DeviceSlot &D, Runner &R, message::OpenFailed M);
  Error take(DeviceSlot &D, Runner &R, message::Begin M);
  Error take(DeviceSlot &D, Runner &R, message::RunStage M);
  Error take(DeviceSlot &D, Runner &R, message::Done M);
  Error take(DeviceSlot &D, Runner &R, message::Compared M);
  Error take(DeviceSlot &D, Runner &R, message::Fatal M);
  Error take(DeviceSlot &D, Runner &R, message::Shortage M);
  Error checkOutcome(const EvaluationRequest &R, const Evaluation &E) const;
  void finishWork(Runner &R, bool Spent);
  void end(DeviceSlot &D, bool IsSpare);
  void replace(DeviceSlot &D);
  void requeue(Runner &R);
  std::string describeEnd(const Worker &W, StringRef Nothing) const;
  void takeLock(DeviceSlot &D);

  // The loop.
  void dispatch();
  void dispatchRuns();
  void dispatchCompiles();
  void dispatchOutside();
  void serveOutside();
  void pump(double Seconds, int Also, bool &AlsoReady);
  template <typename SetT, typename FnT>
  void serve(Worker &W, short Events, FnT Take);
  void setStage(Worker &W, StringRef Stage, double Limit);
  void expectEnd(Worker &W);
  void kill(Worker &W);
  void checkTimes();
  double untilNextTime(double Seconds) const;
  Error checkAlive() const;
  void tell(const Twine &Text) const;
  template <typename FnT> void forEachWorker(FnT Fn);

  // Comparisons.
  Expected<PairedEvaluation> compareHere(ArrayRef<EvaluationRequest> Requests,
                                         unsigned Rounds,
                                         function_ref<bool()> Stop);
  Expected<PairedEvaluation> compareOutside(
      ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
      function_ref<bool()> Stop);
  Expected<bool> turn(function_ref<bool()> Stop);
  DeviceSlot *chooseDevice() const;
  void sendComparison(Comparison &C, unsigned Rounds);
  bool isQuiet() const;
  void pauseCompilers(bool Stop);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_COORDINATOR_H
