//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The evaluator of a study that replays recorded launches: on the devices of
/// this machine, and by workers on other machines.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_REPLAYFARM_H
#define LLVM_MNEME_FARM_REPLAYFARM_H

#include "llvm/Mneme/Farm/Farm.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// Which GPUs of a machine one of several workers there takes.
struct DeviceShare {
  unsigned Index = 0, Count = 1;
};

/// What one machine gives.
struct FarmResources {
  /// "host", "cuda:0", ..., "none" (workers run). Empty or "auto": the share of
  /// the GPUs that can run the recording, else the host.
  std::vector<std::string> Devices;
  /// Unset: this process's GPU by its number on the node (getLocalRank()), else
  /// all GPUs.
  std::optional<DeviceShare> Share;
  /// Run processes of the host device, which share its cores.
  unsigned HostWorkers = 1;
  /// Compile processes; unset: a core each, but for one a run process where
  /// there are more than two.
  std::optional<unsigned> CompileJobs;
  double CompileTimeout = 60; ///< Seconds of a candidate; 0: none.
  /// Seconds of a launch; 0: as long as ten of the first that verifies, and no
  /// less than one second.
  double LaunchTimeout = 0;
  /// Bytes of a compile process; unset: its share of the memory; 0: no limit.
  std::optional<uint64_t> CompileMemory;
  int CompileNice = 10;
  uint64_t CodeBytes = uint64_t(512) << 20; ///< Machine code that is kept.
  bool Spare = true; ///< A second run process per device waits for a crash.
  /// Seconds of silence after which the study drops a worker, and a worker its
  /// study. Unset: 60 for a worker, 600 for a study, which sends nothing while
  /// its sampler computes.
  std::optional<double> SilenceSeconds;
  /// What the user should know now: a GPU is in use, a worker was lost.
  std::function<void(StringRef)> Message;
  /// What is as it should be: a worker came, a file is fetched.
  std::function<void(StringRef)> Note;
};

/// How a worker is started.
struct WorkerCommand {
  std::string Host;               ///< In messages.
  std::vector<std::string> Words; ///< The program and its arguments; no shell.
};

/// "a,b*2": hosts, each with the number of its workers.
Expected<std::vector<WorkerCommand>>
makeWorkerCommands(ArrayRef<std::string> Hosts, StringRef Launcher,
                   StringRef Tool, ArrayRef<std::string> Options);

struct FarmOptions : FarmResources {
  /// A kernel's JSON file, or a folder that holds one.
  std::string Database;
  /// One recorded launch for each EvaluationRequest::Instance. Empty: the one
  /// that Base.RecordId says.
  std::vector<std::string> RecordIds;
  /// What configurations do not set. Base.Resources: also compile for the GPU
  /// where the host runs the kernel. Without Base.Execute nothing is launched:
  /// there are metrics of the code alone. Its Device is not looked at.
  ReplayOptions Base;
  std::vector<WorkerCommand> Workers;
};

class ReplayFarm : public Evaluator {
public:
  /// Starts the processes; they prepare while this returns. Call it, and all
  /// that follows, in a process with one thread that has not used a GPU.
  /// Errors: recording, options, devices.
  static Expected<std::unique_ptr<ReplayFarm>> create(FarmOptions Options);
  /// Kills what runs.
  ~ReplayFarm() override = default;

  /// The plans of the recorded launches, under Base; as RecordIds.
  virtual ArrayRef<std::unique_ptr<ReplayPlan>> plans() const = 0;
  /// How much their verification can notice, as RecordIds. Nothing is known
  /// where this machine launches nothing.
  virtual ArrayRef<VerificationPower> powers() const = 0;
  virtual FarmStatistics statistics() const = 0;
};

struct FarmWorkerOptions : FarmResources {
  /// Programs, plugins and files that the user lets it use: OptTool, LlcTool,
  /// Ptxas, Plugins, LLVMOptions; and where CudaPath is.
  ReplayOptions Own;
  /// Whatever else configurations name may be used, too.
  bool AllowPrograms = false;
  /// Where recordings are kept, by content. Empty: below XDG_CACHE_HOME, or
  /// where temporary files are.
  std::string CacheDir;
};

/// Evaluates for the study that has started this process, until that ends: they
/// talk over standard input and output, which nothing else uses from now on.
/// Errors: no study, connection lost, no usable device.
Error runFarmWorker(FarmWorkerOptions Options);

/// This process's number among those that a launcher (Flux, Slurm, Open MPI,
/// MPICH, PALS) has started on this machine.
std::optional<unsigned> getLocalRank();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_REPLAYFARM_H
