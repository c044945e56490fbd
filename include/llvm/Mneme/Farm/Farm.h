//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compile processes that feed run processes. The coordinator, this process,
/// neither compiles nor opens a device, so that a candidate that crashes, hangs
/// or exhausts memory becomes a result.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_FARM_H
#define LLVM_MNEME_FARM_FARM_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Study/Evaluator.h"
#include <functional>
#include <memory>

namespace llvm {
namespace mneme {

/// The result of a compile process.
struct FarmCode {
  FailureKind Failure; ///< None if there is code.
  std::string Error;
  std::string IRHash, AssemblyHash, CodeHash; ///< As far as known.
  /// Of a version of a source; see Evaluation.
  std::vector<SourceDiagnostic> Diagnostics;
  std::vector<std::string> Suspicions;
  bool Stopped = false; ///< Compilation stopped at known code; Bytes is empty.
  double CompileSeconds = 0;
  std::string Bytes; ///< Code in a form that only run processes read.
};

/// Requests with equal keys are compiled to the same code and launched the same
/// way.
struct FarmKeys {
  std::string Compile, Launch;
  /// A compile process serves only requests with the same Process key, because
  /// settings of one request might affect later ones.
  std::string Process;
};

/// An open device.
struct DeviceInfo {
  std::string Name, Arch;
  std::string GPU, Driver, UUID; ///< Empty for the host device.
};

/// The work of a farm's processes.
class FarmBackend {
public:
  virtual ~FarmBackend() = default;

  //===--- In the coordinator: pure computation on the request. ----------===//

  /// Returns the keys of a request. An Error means "Invalid": no such
  /// configuration.
  virtual Expected<FarmKeys> keys(const EvaluationRequest &R) const = 0;

  //===--- In compile processes. -----------------------------------------===//

  using KnownFn = function_ref<bool(Duplicate Level, StringRef Hash)>;
  /// Compiles a request. Passes the hashes of IR and assembly to \p Known,
  /// which returns whether to stop. \p Stage receives a description of each
  /// stage ("the pass pipeline"), for the message on a timeout. An Error means
  /// "Invalid", as above.
  virtual Expected<FarmCode> compile(const EvaluationRequest &R, KnownFn Known,
                                     function_ref<void(StringRef)> Stage) = 0;

  //===--- In run processes. ---------------------------------------------===//

  struct Opened {
    DeviceInfo Info;
    std::string Exclusive; ///< A resource that one farm may use at a time; may
                           ///< be empty.
  };
  /// Called with the description of each stage and its time limit in seconds.
  using StageFn = function_ref<void(StringRef, double)>;
  virtual Expected<Opened> openDevice(StringRef Name, StageFn Stage) = 0;
  /// Verifies and measures a candidate: sets Failure, Error, Stopped, Metrics
  /// and Samples. An Error means "Invalid": the launch cannot be set up.
  virtual Expected<Evaluation> run(const EvaluationRequest &R,
                                   const FarmCode &Code, StageFn Stage) = 0;
  /// Takes equally many samples of each candidate. Sets Failure, Error and
  /// Samples.
  virtual Expected<PairedEvaluation>
  compare(ArrayRef<EvaluationRequest> Requests,
          ArrayRef<const FarmCode *> Codes, unsigned Rounds, StageFn Stage) = 0;
  /// Returns true if the run process must be replaced.
  virtual bool isSpent() const = 0;
};

/// The setup of a farm; see ReplayFarm.h for user options.
struct FarmConfig {
  /// One run process each; processes of the same name share a device ("host").
  std::vector<std::string> Devices;
  unsigned CompileJobs = 1;
  /// Cores of each device's run process; empty: all. Parallel to Devices.
  std::vector<std::vector<unsigned>> Cores;
  double CompileTimeout = 60; ///< Seconds per candidate.
  double LaunchTimeout = 0;   ///< Seconds; 0: ten times the first verified
                              ///< launch.
  uint64_t CompileMemory = 0; ///< Bytes per compile process; 0: no limit.
  int CompileNice = 10;
  uint64_t CodeBytes = uint64_t(512) << 20; ///< Size of the code caches, also
                                            ///< per process.
  bool Spare = true;      ///< Keep a second run process per device on
                          ///< standby.
  bool OpenSpare = false; ///< The spare process opens the device.
  bool PauseCompilesToCompare = false; ///< Compilations use the device's cores.
  bool Executes = true;                ///< Verified candidates have samples.
  /// Seconds between checks whether to continue a comparison.
  double TurnSeconds = 1;
  /// Time limit in seconds for a stage of a run process, in addition to the
  /// limits for preparation and launch; 0: no limit.
  double StageTimeout = 300;
  /// Receives messages for the user.
  std::function<void(StringRef)> Message;
};

/// Cumulative statistics. The counts are those of Counts.def.
struct FarmStatistics {
#define FARM_COUNT(Name, Key, Description) uint64_t Name = 0;
#include "llvm/Mneme/Farm/Counts.def"
  double CompileSeconds = 0; ///< In all compile processes.
  struct Runner {
    std::string Name;
    uint64_t Runs = 0;
    double BusySeconds = 0, OpenSeconds = 0; ///< Open: available for work.
    double idleShare() const {
      return OpenSeconds > 0 ? 1 - BusySeconds / OpenSeconds : 0;
    }
  };
  std::vector<Runner> Runners; ///< As Devices, then those of other machines.

  /// Adds the work of another machine, except requests and results.
  FarmStatistics &operator+=(const FarmStatistics &Other);
};
json::Value toJSON(const FarmStatistics &S);

/// One device of a farm.
struct FarmDeviceState {
  std::string Name; ///< As in --device.
  std::string Id;   ///< Evaluation::Device.
  DeviceInfo Info;
  std::string Error;    ///< Why the device is no longer used; empty if it is.
  bool Waiting = false; ///< Not open yet, or in use by another process.
};
/// One machine of a farm.
struct FarmDescription {
  std::string Host;
  unsigned CompileJobs = 0;
  std::vector<FarmDeviceState> Devices;
};
/// Returns the value of Evaluator::describe().
json::Object describe(const FarmDescription &D);
/// Returns the devices of Evaluator::describe(): "cuda:0 NVIDIA H200, cuda:1
/// NVIDIA H200 of node7".
std::string describeDevices(const json::Object &Description);
/// Returns the name of the GPU with this Evaluation::Device; empty if unknown.
std::string findGPUName(const json::Object &Description, StringRef Device);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_FARM_H
