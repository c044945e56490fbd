//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Turns requests into results. The parts have their own state: jobs and
/// duplicates (JobTable.h), compile processes (CompilerPool.h), run processes
/// and devices (RunnerPool.h), other machines (Outside.h). The coordinator
/// connects them in one thread and one poll loop, in which nothing takes long.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_COORDINATOR_H
#define LLVM_MNEME_LIB_FARM_COORDINATOR_H

#include "CompilerPool.h"
#include "RunnerPool.h"

namespace llvm {
namespace mneme {

class Coordinator {
public:
  /// \p Backend must outlive the coordinator.
  Coordinator(FarmBackend &Backend, FarmConfig Config);
  ~Coordinator();

  /// Replaces forking: tests act as the processes.
  void setStarter(StartProcessFn Fn) { F.Starter = std::move(Fn); }

  /// Starts the run processes.
  void start() { Runners.start(); }
  void setOutside(Outside *O);

  unsigned capacity() const;
  /// Returns the capacity of this machine's devices that are open and, if
  /// necessary, locked.
  unsigned offer() const;
  Error submit(EvaluationRequest R);
  /// \param Also A descriptor, or -1: wait() also returns when it becomes
  /// readable.
  Expected<std::vector<Evaluation>> wait(double Seconds, int Also = -1);
  Expected<PairedEvaluation>
  comparePaired(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                function_ref<bool()> Stop = nullptr);
  void remember(const EvaluationRequest &R, const Evaluation &Known) {
    Jobs.remember(R, Known);
  }
  std::vector<uint64_t> cancel() { return Jobs.cancel(); }
  void withdraw(const DenseSet<uint64_t> &Ids) { Jobs.withdraw(Ids); }
  /// Describes this machine.
  FarmDescription describeFarm() const;
  /// Describes this machine and the workers.
  json::Object describe() const;
  FarmStatistics statistics() const;
  /// \returns whether no job is under way.
  bool isIdle() const { return Jobs.empty(); }

private:
  FarmContext F;
  Outside *Others = nullptr;
  JobTable Jobs;
  CompilerPool Compilers;
  RunnerPool Runners;

  // The loop.
  void dispatch();
  void dispatchOutside();
  void serveOutside();
  void pump(double Seconds, int Also, bool &AlsoReady);
  double untilNextTime(double Seconds) const;
  Error checkAlive() const;
  void forEachWorker(function_ref<void(WorkerProcess &)> Fn) const;

  // Comparisons.
  Expected<PairedEvaluation> compareHere(ArrayRef<EvaluationRequest> Requests,
                                         unsigned Rounds,
                                         function_ref<bool()> Stop);
  Expected<PairedEvaluation> compareOutside(
      ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
      function_ref<bool()> Stop);
  Expected<bool> turn(function_ref<bool()> Stop);
  RunnerPool::Device *chooseDevice() const;
  void pauseCompilers(bool Stop);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_COORDINATOR_H
