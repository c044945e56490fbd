//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The requests of a coordinator: their states, duplicates and results.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_JOBTABLE_H
#define LLVM_MNEME_LIB_FARM_JOBTABLE_H

#include "FarmContext.h"
#include "Outside.h"
#include "Tables.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>
#include <map>

namespace llvm {
namespace mneme {

/// A request that is under way.
struct Job {
  uint64_t Ticket = 0; ///< Its number here, from 1.
  EvaluationRequest Request;
  FarmKeys Keys;
  enum StateTy {
    Waiting,   ///< For code that is to be compiled, or is being compiled.
    Compiling, ///< Its own configuration is being compiled.
    Ready,     ///< To be run.
    Sent,      ///< To a run process.
    Following, ///< Another job, which will have the same result.
    Away,      ///< On another machine.
    Held,      ///< In a comparison; its code is ready.
    Failed,    ///< In a comparison; it has no code.
  };
  StateTy State = Waiting;
  bool ForPair = false;
  CodeEntry *Code = nullptr;
  ResultEntry *Result = nullptr; ///< Null: no other job can use its result.
  /// The level at which its code was found to equal another job's.
  Duplicate Level = Duplicate::None;
  std::string IRHash, AssemblyHash;
  unsigned Losses = 0;    ///< Processes and machines lost while they had it.
  bool Stays = false;     ///< A worker has declined it.
  unsigned Overtaken = 0; ///< By jobs of another recorded launch.
  double CompileSeconds = 0;
  double Started = 0;  ///< Seconds since the epoch; 0: not yet.
  FailureKind Failure; ///< If Failed.
  std::string Error;

  /// Returns the key of compile processes that may serve it.
  std::string getProcessKey() const {
    return Request.OwnProcess ? Keys.Process + "#" + std::to_string(Ticket)
                              : Keys.Process;
  }
};

class JobTable {
public:
  /// \p IsHere tells whether a device (Evaluation::Device) is on this machine.
  JobTable(FarmContext &F, std::function<bool(StringRef Device)> IsHere)
      : Codes(F.Config.CodeBytes), F(F), IsHere(std::move(IsHere)) {}
  void setOutside(Outside *O) { Others = O; }

  CodeTable Codes;
  std::deque<CodeEntry *> CompileQueue;
  std::deque<uint64_t> ReadyQueue; ///< Tickets of jobs to run.
  std::vector<Evaluation> Finished;

  bool empty() const { return Jobs.empty(); }
  Job *find(uint64_t Ticket);
  /// Creates a job that is not admitted yet.
  Job &add(EvaluationRequest R);
  void erase(uint64_t Ticket) { Jobs.erase(Ticket); }

  void submit(EvaluationRequest R);
  void remember(const EvaluationRequest &R, const Evaluation &Known);
  /// Drops jobs that have not begun. \returns the ids of their requests.
  std::vector<uint64_t> cancel();
  /// Ends the jobs of the requests \p Ids that have not begun here, as
  /// Cancelled.
  void withdraw(const DenseSet<uint64_t> &Ids);

  /// Looks up the job's result, then its code.
  void admit(Job &J);
  /// Continues a job whose code is known.
  void route(Job &J);
  /// Submits a job to the machine of its device.
  void sendThere(Job &J);
  /// Continues a job that left this machine.
  void takeBack(Job &J);
  /// Moves jobs of lost devices of this machine.
  void moveTargeted();

  void finish(Job &J, Evaluation E);
  void fail(Job &J, FailureKind Failure, StringRef Error);
  /// Call when the job no longer needs its code's bytes.
  void leaveCode(Job &J);
  static std::vector<Job *> takeWaiting(CodeEntry &C);

private:
  FarmContext &F;
  std::function<bool(StringRef Device)> IsHere;
  Outside *Others = nullptr;
  std::map<uint64_t, std::unique_ptr<Job>> Jobs; ///< By ticket, in order.
  uint64_t NextTicket = 1;
  ResultTable Results;

  void waitForCode(Job &J, CodeEntry &C);
  void finishAs(Job &J, const ResultEntry &R, Duplicate Level);
  void settle(ResultEntry &R, const EvaluationRequest &Leader,
              const Evaluation &E);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_JOBTABLE_H
