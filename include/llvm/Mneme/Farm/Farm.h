//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compile processes that feed run processes. The coordinator, which this is,
/// neither compiles nor opens a device: a candidate can crash, hang or eat
/// memory, and is then a result.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_FARM_H
#define LLVM_MNEME_FARM_FARM_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Tune/Evaluator.h"
#include <functional>
#include <memory>

namespace llvm {
namespace mneme {

/// What a compile process made.
struct FarmCode {
  std::string Failure; ///< A verdict's name; empty: there is code.
  std::string Error;
  std::string IRHash, AssemblyHash, CodeHash; ///< Those that are known.
  bool Stopped = false; ///< It was known: there is no code here.
  double CompileSeconds = 0;
  std::string Bytes; ///< The code, which only run processes look at.
};

/// Requests with equal texts are compiled to the same code, and launch the same
/// way.
struct FarmKeys {
  std::string Compile, Launch;
  /// A compile process serves requests with one such text: what is set in it
  /// for one might stay in force for others.
  std::string Process;
};

/// A device that is open.
struct DeviceInfo {
  std::string Name, Arch;
  std::string GPU, Driver, UUID; ///< Empty: it is the host device.
};

/// The work in the processes of a farm.
class FarmBackend {
public:
  virtual ~FarmBackend() = default;

  //===--- In the coordinator: pure computation on the request. ----------===//

  /// An Error is "Invalid": no such configuration.
  virtual Expected<FarmKeys> keys(const EvaluationRequest &R) const = 0;

  //===--- In compile processes. -----------------------------------------===//

  using KnownFn = function_ref<bool(Duplicate Level, StringRef Hash)>;
  /// \p Known is told the hash of IR and assembly, and says whether to stop.
  /// \p Stage: what begins, in words ("the pass pipeline"), for the message
  /// should it never end. An Error is "Invalid", as above.
  virtual Expected<FarmCode> compile(const EvaluationRequest &R, KnownFn Known,
                                     function_ref<void(StringRef)> Stage) = 0;

  //===--- In run processes. ---------------------------------------------===//

  struct Opened {
    DeviceInfo Info;
    std::string Exclusive; ///< Name of what one farm at a time may use; or "".
  };
  /// What begins, in words, and seconds that it may take.
  using StageFn = function_ref<void(StringRef, double)>;
  virtual Expected<Opened> openDevice(StringRef Name, StageFn Stage) = 0;
  /// Sets Failure, Error, Stopped, Metrics, Samples. An Error is
  /// "Invalid": such a launch cannot be set up.
  virtual Expected<Evaluation> run(const EvaluationRequest &R,
                                   const FarmCode &Code, StageFn Stage) = 0;
  /// As many samples of each. Sets Failure, Error, Samples.
  virtual Expected<PairedEvaluation>
  compare(ArrayRef<EvaluationRequest> Requests,
          ArrayRef<const FarmCode *> Codes, unsigned Rounds,
          StageFn Stage) = 0;
  /// The run process must be replaced.
  virtual bool isSpent() const = 0;
};

/// How a farm is set up; see ReplayFarm.h for what users choose.
struct FarmConfig {
  /// One run process each; several of one name share it ("host").
  std::vector<std::string> Devices;
  unsigned CompileJobs = 1;
  /// Cores of each device's run process; empty: all. As many as devices.
  std::vector<std::vector<unsigned>> Cores;
  double CompileTimeout = 60;   ///< Seconds of a candidate.
  double LaunchTimeout = 0;     ///< Seconds; 0: ten of the first that verify.
  uint64_t CompileMemory = 0;   ///< Bytes of a compile process; 0: no limit.
  int CompileNice = 10;
  uint64_t CodeBytes = uint64_t(512) << 20; ///< Kept; by each process, too.
  bool Spare = true;            ///< A process per device that waits to run.
  bool OpenSpare = false;       ///< It has opened the device.
  bool PauseCompilesToCompare = false; ///< They take the device's cores.
  bool Executes = true;                ///< What verifies has samples.
  /// How often a comparison asks whether to go on.
  double TurnSeconds = 1;
  /// The longest that a stage of a run process may take, beside what
  /// preparations and the launch may; 0: there is no limit.
  double StageTimeout = 300;
  /// What the user should know now.
  std::function<void(StringRef)> Message;
};

/// What has happened, from the beginning. The counts are those of
/// Counts.def.
struct FarmStatistics {
#define FARM_COUNT(Name, Key, Description) uint64_t Name = 0;
#include "llvm/Mneme/Farm/Counts.def"
  double CompileSeconds = 0; ///< Of all compile processes.
  struct Runner {
    std::string Name;
    uint64_t Runs = 0;
    double BusySeconds = 0, OpenSeconds = 0; ///< Open: there to be used.
    double idleShare() const {
      return OpenSeconds > 0 ? 1 - BusySeconds / OpenSeconds : 0;
    }
  };
  std::vector<Runner> Runners; ///< As Devices, then those of other machines.

  /// Adds the work of another machine: all but requests and results.
  FarmStatistics &operator+=(const FarmStatistics &Other);
};
json::Value toJSON(const FarmStatistics &S);

/// One machine of a farm.
struct FarmDeviceState {
  std::string Name; ///< As --device says it.
  std::string Id;   ///< Evaluation::Device.
  DeviceInfo Info;
  std::string Error;    ///< Why it is not used any more; empty: it is.
  bool Waiting = false; ///< It is not open yet, or another process has it.
};
struct FarmDescription {
  std::string Host;
  unsigned CompileJobs = 0;
  std::vector<FarmDeviceState> Devices;
};
/// As Evaluator::describe().
json::Object describe(const FarmDescription &D);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_FARM_H
