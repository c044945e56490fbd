//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The devices of a coordinator and their run processes: one in use per device,
/// and a spare that replaces it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_RUNNERPOOL_H
#define LLVM_MNEME_LIB_FARM_RUNNERPOOL_H

#include "DeviceLock.h"
#include "JobTable.h"
#include "WorkerProcess.h"
#include <list>

namespace llvm {
namespace mneme {

/// Time limit until a process reports its first stage, in seconds.
constexpr double SetupSeconds = 300;

/// Number of jobs in a run process's connection, so that the process never
/// waits.
constexpr unsigned Prefetched = 2;

class RunnerPool {
  using Clock = WorkerProcess::Clock;
  using Time = WorkerProcess::Time;

  struct Runner : WorkerProcess {
    bool Opening = false, Opened = false, Spent = false, Begun = false;
    std::string Exclusive, OpenError;
    DeviceInfo Info;
    Time Since;                ///< When its device was opened.
    std::deque<uint64_t> Sent; ///< Tickets.
    double LaunchLimit = 0;    ///< Longest launch limit sent, in seconds.
    unsigned Instance = 0;     ///< Of the job that was sent last.
    struct ComparisonSent {
      uint64_t Ticket = 0;
      size_t Members = 0;
      unsigned Rounds = 0;
      Time When;
    };
    std::optional<ComparisonSent> Comparing;
    /// Hashes and sizes of the code that it has, most recently used first.
    std::list<std::pair<std::string, uint64_t>> Holds;
    uint64_t HeldBytes = 0;
  };

public:
  struct Device {
    std::string Name, Id; ///< Id: Evaluation::Device.
    std::vector<unsigned> Cores;
    std::unique_ptr<Runner> Active, Spare;
    /// A spent process that has not exited yet.
    std::unique_ptr<Runner> Leaving;
    unsigned Failures = 0, SpareFailures = 0; ///< Consecutive.
    std::string Reason; ///< Why the device is lost, or empty.
    std::optional<DeviceLock> Lock;
    std::string Locked;
    bool Told = false;  ///< The wait for the lock was reported.
    bool Owned = false; ///< It was open and, if required, locked.
    Time NextTry;
    uint64_t Runs = 0;
    double Busy = 0, Open = 0;        ///< Including processes that are gone.
    std::vector<double> LaunchLimits; ///< By instance; 0: not known.
  };

  /// A comparison with exclusive use of devices.
  struct Comparison {
    std::vector<uint64_t> Members; ///< Tickets.
    Device *On = nullptr;
    bool Sent = false;
    std::optional<PairedEvaluation> Result;
    unsigned Losses = 0;
  };

  RunnerPool(FarmContext &F, JobTable &Jobs);
  void start();

  bool empty() const { return Devices.empty(); }
  /// Returns true if a device is not lost.
  bool hasDevice() const { return numDevices() != 0; }
  unsigned numDevices(bool Owned = false) const;
  /// Returns true if \p Id is a device of this machine. With \p MustOwn, it
  /// must not wait for a lock.
  bool isHere(StringRef Id, bool MustOwn) const;
  /// Chooses a device for a comparison. With \p MayWait, another program may
  /// have locked it.
  Device *chooseDevice(bool MayWait) const;
  const Device &firstDevice() const { return *Devices.front(); }

  /// Locks devices, even if there is nothing to run.
  void takeLocks();
  /// Sends jobs of the queue to devices.
  void dispatch();
  /// Takes messages.
  void serve(ArrayRef<pollfd> Waits);
  /// Kills processes past their limits and replaces lost ones.
  void checkTimes();
  double untilNextTime(double Seconds) const;
  void forEach(function_ref<void(WorkerProcess &)> Fn) const;

  /// The comparison under way, or null. Its devices get no jobs.
  Comparison *Current = nullptr;
  /// Returns true if nothing runs on the devices of the comparison, and \p D is
  /// open and locked. Tries to lock it.
  bool isReadyToCompare(Device &D);
  void sendComparison(Comparison &C, unsigned Rounds);
  /// Aborts a comparison.
  void breakOff(Comparison &C);

  void describe(FarmDescription &Farm) const;
  void addTo(FarmStatistics &S) const;

private:
  FarmContext &F;
  JobTable &Jobs;
  std::vector<std::unique_ptr<Device>> Devices;

  Expected<std::unique_ptr<Runner>> startRunner(Device &D, bool Open);
  void openDevice(Device &D, Runner &R);
  void fill(Device &D);
  bool isUsable(Device &D);
  bool isReserved(const Device &D) const;
  void sendCode(Runner &R, const CodeEntry &Code);
  Job *takeReady(const Device &D);
  void sendJob(Device &D, Job &J);
  double getLaunchTimeout(const Device &D, const EvaluationRequest &R) const;
  Error take(Device &D, Runner &R, message::Opened M);
  Error take(Device &D, Runner &R, message::OpenFailed M);
  Error take(Device &D, Runner &R, message::Begin M);
  Error take(Device &D, Runner &R, message::RunStage M);
  Error take(Device &D, Runner &R, message::Done M);
  Error take(Device &D, Runner &R, message::Compared M);
  Error take(Device &D, Runner &R, message::Fatal M);
  Error take(Device &D, Runner &R, message::Shortage M);
  Error checkOutcome(const EvaluationRequest &R, const Evaluation &E) const;
  void finishWork(Runner &R, bool Spent);
  void end(Device &D, bool IsSpare);
  void replace(Device &D);
  void requeue(Runner &R);
  void takeLock(Device &D);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_RUNNERPOOL_H
