//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The evaluator of a study that replays recorded launches on the devices of
/// this machine and through workers on other machines.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_REPLAYFARM_H
#define LLVM_MNEME_FARM_REPLAYFARM_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// A worker's share of a machine's GPUs.
struct DeviceShare {
  unsigned Index = 0, Count = 1;
};

/// The resources of one machine.
struct FarmResources {
  /// "host", "cuda:0", ..., "none" (only workers run kernels). Empty or "auto":
  /// the share of the GPUs that can run the recording, otherwise the host.
  std::vector<std::string> Devices;
  /// Unset: this process's GPU according to its rank on the node
  /// (getLocalRank()), otherwise all GPUs.
  std::optional<DeviceShare> Share;
  /// Number of run processes for the host device, which divide its cores.
  unsigned HostWorkers = 1;
  /// Each of these processes uses all cores: for verdicts without times.
  bool ShareCores = false;
  /// Number of compile processes; unset: one per core, except for one core per
  /// run process if there are more than two cores.
  std::optional<unsigned> CompileJobs;
  double CompileTimeout = 60; ///< Seconds per candidate; 0: no limit.
  /// Seconds per launch; 0: ten times the first verified launch, at least one
  /// second.
  double LaunchTimeout = 0;
  /// Bytes per compile process; unset: its share of the memory; 0: no limit.
  std::optional<uint64_t> CompileMemory;
  int CompileNice = 10;
  uint64_t CodeBytes = uint64_t(512) << 20; ///< Size of the machine code cache.
  bool Spare = true; ///< Keep a second run process per device for crashes.
  /// The study drops a worker, and a worker its study, after this many seconds
  /// of silence. Unset: 60 for a worker, 600 for a study, which sends nothing
  /// while its sampler computes.
  std::optional<double> SilenceSeconds;
  /// Receives messages for the user: a GPU is in use, a worker was lost.
  std::function<void(StringRef)> Message;
  /// Receives notes on normal events: a worker connected, a file was fetched.
  std::function<void(StringRef)> Note;
};

/// The command that starts a worker.
struct WorkerCommand {
  std::string Host;               ///< For messages.
  std::vector<std::string> Words; ///< Program and arguments; no shell.
};

/// Parses hosts with numbers of workers: "a,b*2".
Expected<std::vector<WorkerCommand>>
makeWorkerCommands(ArrayRef<std::string> Hosts, StringRef Launcher,
                   StringRef Tool, ArrayRef<std::string> Options);

struct FarmOptions : FarmResources {
  /// A kernel's JSON file, or a folder that contains one.
  std::string Database;
  /// One recorded launch per EvaluationRequest::Instance. Empty: the one in
  /// Base.RecordId.
  std::vector<std::string> RecordIds;
  /// Options that configurations do not set. With Base.Resources, also compiles
  /// for the GPU if the host runs the kernel. Without Base.Execute, launches
  /// nothing and only determines metrics of the code. Base.Device is ignored.
  ReplayOptions Base;
  /// Controls files that were read before the study, as loadControls() returns
  /// them, by name. Others are read when a request names them.
  StringMap<std::string> Controls;
  std::vector<WorkerCommand> Workers;
};

/// Evaluates configurations by replaying recorded launches.
class ReplayFarm : public Evaluator {
public:
  /// Starts the processes, which prepare in the background. Call it and all
  /// methods in a process with one thread that has not used a GPU. Fails on
  /// errors in recording, options or devices.
  static Expected<std::unique_ptr<ReplayFarm>> create(FarmOptions Options);
  /// Kills all running processes.
  ~ReplayFarm() override = default;

  /// Returns the plans of the recorded launches with Base; parallel to
  /// RecordIds.
  virtual ArrayRef<std::unique_ptr<ReplayPlan>> plans() const = 0;
  /// Returns the power of each verification, parallel to RecordIds. Unknown if
  /// this machine launches nothing.
  virtual ArrayRef<VerificationPower> powers() const = 0;
  virtual FarmStatistics statistics() const = 0;

  using Evaluator::wait;
  /// Like wait(), but also returns when the descriptor \p Also becomes
  /// readable.
  virtual Expected<std::vector<Evaluation>> wait(double Seconds, int Also) = 0;
  /// Ends the requests \p Ids that have not begun: their results are Cancelled.
  /// Others continue.
  virtual void withdraw(const DenseSet<uint64_t> &Ids) = 0;
};

/// Returns the name of the farm's first device, as for --device.
std::string getFirstDevice(const ReplayFarm &Farm);

struct FarmWorkerOptions : FarmResources {
  /// Programs, plugins and files that the user permits: OptTool, LlcTool,
  /// Ptxas, Plugins, LLVMOptions; and CudaPath.
  ReplayOptions Own;
  /// Also permit all other programs and files named in configurations.
  bool AllowPrograms = false;
  /// Folder for recordings by content. Empty: below XDG_CACHE_HOME, or in the
  /// temporary folder.
  std::string CacheDir;
};

/// Evaluates for the study that started this process until the study ends. They
/// communicate over standard input and output, which must not be used
/// otherwise. Fails if there is no study, the connection is lost, or no device
/// is usable.
Error runFarmWorker(FarmWorkerOptions Options);

/// Returns the version of this build. A study and its workers must have the
/// same build, because machine code and messages differ between builds.
std::string getProtocolVersion();

/// Returns the rank of this process among those that a launcher (Flux, Slurm,
/// Open MPI, MPICH, PALS) has started on this machine.
std::optional<unsigned> getLocalRank();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_REPLAYFARM_H
