//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FarmResources.h"
#include "Messages.h"
#include "Process.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Triple.h"
#include <sched.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Time limit for a driver to list its GPUs.
static constexpr double ProbeSeconds = 120;

/// Minimum memory limit of a compile process: LLVM and a large kernel.
static constexpr uint64_t MinCompileBytes = uint64_t(1) << 30;

std::optional<unsigned> mneme::getLocalRank() {
  // Flux, Slurm, Open MPI, MPICH and relatives, PALS.
  for (const char *Name :
       {"FLUX_TASK_LOCAL_ID", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID", "PALS_LOCAL_RANKID"}) {
    std::optional<std::string> Text = sys::Process::GetEnv(Name);
    unsigned Rank = 0;
    if (Text && to_integer(*Text, Rank, 10))
      return Rank;
  }
  return std::nullopt;
}

std::vector<unsigned> mneme::getUsableCores() {
  std::vector<unsigned> Cores;
  cpu_set_t Set;
  CPU_ZERO(&Set);
  if (::sched_getaffinity(0, sizeof(Set), &Set) == 0)
    for (unsigned I = 0; I != CPU_SETSIZE; ++I)
      if (CPU_ISSET(I, &Set))
        Cores.push_back(I);
  if (Cores.empty())
    Cores.push_back(0);
  return Cores;
}

std::vector<std::vector<unsigned>>
mneme::divideCores(ArrayRef<unsigned> Cores, unsigned Parts) {
  std::vector<std::vector<unsigned>> Result(Parts);
  for (unsigned I = 0; I != Parts; ++I) {
    size_t Begin = Cores.size() * I / Parts;
    size_t End = Cores.size() * (I + 1) / Parts;
    // If there are more parts than cores, parts share cores.
    End = std::max(End, Begin + 1);
    Result[I].assign(Cores.begin() + Begin, Cores.begin() + End);
  }
  return Result;
}

/// \returns the GPUs that can run a plan's code. A child process asks the
/// driver, because a process that has used a driver must not be forked.
static Expected<std::vector<std::string>> findUsableGPUs(const ReplayPlan &P) {
  std::vector<std::string> Names;
  auto Probe = [&](Channel &Link) {
    std::vector<std::string> Found;
    Expected<std::vector<GPUDescription>> GPUs = findGPUs();
    if (GPUs) {
      for (const GPUDescription &G : *GPUs)
        if (isArchCompatible(P.compiler().arch(), G.Info.Arch))
          Found.push_back(G.Name);
    } else {
      consumeError(GPUs.takeError()); // none, for whatever reason
    }
    consumeError(send(Link, message::Found{std::move(Found)}));
  };
  Expected<std::unique_ptr<Process>> Child =
      Process::start(Probe, {}, MessageSet<FromProbe>::Kinds, {});
  if (!Child)
    return Child.takeError();
  Expected<std::optional<Frame>> F =
      (*Child)->channel().read(Deadline::after(ProbeSeconds));
  if (!F)
    return createStringError("the driver cannot list the GPUs: " +
                             toString(F.takeError()));
  if (!*F) // the driver crashed: no GPU is usable
    return Names;
  Expected<FromProbe> M = MessageSet<FromProbe>::decode(std::move(**F));
  if (!M)
    return M.takeError();
  return std::get<message::Found>(*M).GPUs;
}

std::vector<std::string> mneme::takeShare(ArrayRef<std::string> GPUs,
                                          DeviceShare Share) {
  // A launcher may make only one GPU visible to each worker.
  if (GPUs.size() == 1)
    return GPUs.vec();
  std::vector<std::string> Taken;
  for (size_t I = Share.Index; I < GPUs.size(); I += Share.Count)
    Taken.push_back(GPUs[I]);
  if (Taken.empty())
    Taken.push_back(GPUs[Share.Index % GPUs.size()]);
  return Taken;
}

static Expected<std::vector<std::string>> chooseDevices(const FarmResources &R,
                                                        const ReplayPlan &P) {
  ArrayRef<std::string> Wanted = R.Devices;
  if (Wanted.size() == 1 && Wanted.front() == "none")
    return std::vector<std::string>();
  if (!Wanted.empty() && !(Wanted.size() == 1 && Wanted.front() == "auto"))
    return Wanted.vec();
  Expected<std::vector<std::string>> GPUs = findUsableGPUs(P);
  if (!GPUs)
    return GPUs.takeError();
  if (GPUs->empty())
    return std::vector<std::string>{"host"};
  if (R.Share)
    return takeShare(*GPUs, *R.Share);
  if (std::optional<unsigned> Rank = getLocalRank())
    return std::vector<std::string>{(*GPUs)[*Rank % GPUs->size()]};
  return GPUs;
}

static Error checkDevices(ArrayRef<std::string> Devices) {
  StringSet<> Seen;
  for (const std::string &Name : Devices) {
    if (Name != "host" && !isGPUDeviceName(Name))
      return createStringError("unknown device '" + Name + "'");
    if ((Name == "host") != (Devices.front() == "host"))
      return createStringError("cannot tune for the host and for GPUs at once");
    if (!Seen.insert(Name).second)
      return createStringError("device '" + Name + "' is named twice");
  }
  return Error::success();
}

/// Rejects numbers of processes that are no use and would take the machine's
/// memory.
static Error checkProcesses(StringRef Option, unsigned Processes,
                            size_t Cores) {
  size_t Most = std::max<size_t>(64, 8 * Cores);
  if (Processes <= Most)
    return Error::success();
  return createStringError(
      formatv("impossible --{0}={1}: at most {2} processes on {3} cores",
              Option, Processes, Most, Cores)
          .str());
}

Expected<FarmConfig> mneme::makeFarmConfig(const FarmResources &R,
                                           const ReplayPlan &Plan,
                                           bool &IsGPU) {
  Expected<std::vector<std::string>> Devices = chooseDevices(R, Plan);
  if (!Devices)
    return Devices.takeError();
  if (Error E = checkDevices(*Devices))
    return std::move(E);
  FarmConfig C;
  C.Devices = std::move(*Devices);
  IsGPU = !C.Devices.empty() && C.Devices.front() != "host";
  std::vector<unsigned> Cores = getUsableCores();
  if (Error E = checkProcesses("workers", R.HostWorkers, Cores.size()))
    return std::move(E);
  if (Error E = checkProcesses("compile-jobs", R.CompileJobs.value_or(0),
                               Cores.size()))
    return std::move(E);
  bool IsHost = !C.Devices.empty() && !IsGPU;
  if (IsHost && R.HostWorkers > 1) {
    C.Devices.assign(R.HostWorkers, "host");
    if (!R.ShareCores)
      C.Cores = divideCores(Cores, R.HostWorkers);
  }
  unsigned N = Cores.size(), Runners = C.Devices.size();
  // A run process that waits for its device needs a core of its own.
  unsigned Jobs = N <= 2 ? N : std::max<int>(N - Runners, 1);
  C.CompileJobs = C.Devices.empty()
                      ? 0
                      : std::max(R.CompileJobs.value_or(Jobs), 1u);
  C.CompileTimeout = R.CompileTimeout;
  C.LaunchTimeout = R.LaunchTimeout;
  uint64_t Memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  C.CompileMemory = R.CompileMemory.value_or(
      std::max(Memory / (C.CompileJobs + 1), MinCompileBytes));
  C.CompileNice = R.CompileNice;
  C.CodeBytes = R.CodeBytes;
  C.Spare = R.Spare;
  // Opening a GPU takes as long as hundreds of evaluations.
  C.OpenSpare = IsGPU;
  C.PauseCompilesToCompare = IsHost;
  C.Message = R.Message;
  return std::move(C);
}
