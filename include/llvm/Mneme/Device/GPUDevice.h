//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Devices with their own memory: operations that replay performs on them, and
/// functions to open them. All work on a device is submitted to one in-order
/// queue; enqueueing functions do not wait for completion.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_GPUDEVICE_H
#define LLVM_MNEME_DEVICE_GPUDEVICE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Config/Counters.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Runtime/MemoryKernels.h"
#include <vector>

namespace llvm {
class raw_ostream;
namespace mneme {

/// The GPU, as documented in each result.
struct GPUInfo {
  std::string Name;   ///< "NVIDIA H200"
  std::string Arch;   ///< "sm_90", "gfx90a:sramecc+:xnack-"
  std::string Driver; ///< "13.0": the CUDA version the driver supports; HIP's
                      ///< version.
  std::string UUID;
  uint64_t MemoryBytes = 0;
  uint64_t CacheBytes = 0; ///< Last-level cache.
  unsigned Multiprocessors = 0;
  unsigned ThreadsPerMultiprocessor = 0;
  unsigned BlocksPerMultiprocessor = 0;
  uint64_t SharedPerBlock = 0; ///< With opt-in.
  unsigned WaveSize = 32;      ///< Threads of a warp or wave.
  bool IsAMD = false;
  unsigned ClockMHz = 0; ///< Maximum clock; 0 if the driver does not
                         ///< report it.
};

/// The current state of a GPU, as far as known.
struct GPUState {
  std::optional<unsigned> Temperature; ///< Degrees Celsius.
  std::optional<double> Power;         ///< Watts.
  std::optional<unsigned> ClockMHz;    ///< Multiprocessor clock.
  std::optional<unsigned> MemoryClockMHz;
};

/// Kernel properties reported by the driver.
struct GPUKernelInfo {
  unsigned Registers = 0;
  uint64_t LocalBytes = 0;  ///< Per thread: spills and arrays.
  uint64_t SharedBytes = 0; ///< Static.
  uint64_t ConstantBytes = 0;
  unsigned MaxThreads = 0; ///< Per block.
};

/// Hardware counters of a launch.
struct CounterReading {
  StringMap<double> Values; ///< In the unit of Counters.def.
  /// Why counters are missing, with a fix; empty: none is.
  std::string Problem;
  unsigned Passes = 0; ///< Launches that were needed.
};

/// Samples of the warps at one machine instruction.
struct PCSamples {
  std::string Function;
  uint64_t Offset = 0;        ///< In the function, in bytes.
  unsigned Line = 0;          ///< Of the line table; 0: none.
  StringMap<uint64_t> Stalls; ///< Samples by what the warp waited for.
};
/// Samples of a kernel's program counters.
struct PCReading {
  std::vector<PCSamples> Samples;
  uint64_t Dropped = 0;
  unsigned Launches = 0;     ///< That were sampled.
  uint64_t PeriodCycles = 0; ///< Between two samples of a multiprocessor.
  /// Why there are no samples, with a fix; empty: there are.
  std::string Problem;
};

/// A set of copies to perform repeatedly.
class CopyPlan {
public:
  virtual ~CopyPlan() = default;
};

/// The timer for device times.
enum class GPUTimer {
  Auto, ///< CUPTI or dispatches if available, otherwise events.
  Events,
  CUPTI,
  Dispatch, ///< HIP's times of the launches themselves.
};

/// A GPU with its own memory.
class GPUDevice : public Device {
public:
  GPUDevice *asGPU() override { return this; }

  virtual const GPUInfo &info() const = 0;
  /// Queries NVIDIA's management library, if present. The data may be a second
  /// old.
  virtual GPUState readState() { return {}; }
  /// Returns "driver" or "liboffload".
  virtual StringRef getBackendName() const = 0;
  /// Returns the host memory in bytes leaked by destroyed kernels: liboffload
  /// keeps a copy of each image until the process ends.
  virtual uint64_t leakedBytes() const { return 0; }

  virtual Error setTimer(GPUTimer Timer) = 0;
  /// Returns the source of LaunchOutcome::Nanoseconds: "cupti", "dispatch" or
  /// "events".
  virtual StringRef getTimerName() const = 0;

  /// Makes \p Count launches, each after the work that \p Prepare enqueues,
  /// with a single wait if possible. The time limit applies to all launches
  /// together. A failed launch determines the outcome of all; if none fails,
  /// sets \p Nanoseconds to the time of each.
  virtual Expected<LaunchOutcome>
  launchMany(DeviceKernel &Kernel, const LaunchConfig &Config,
             ArrayRef<void *> Args, unsigned Count,
             function_ref<Error()> Prepare, std::vector<double> &Nanoseconds);

  /// Reads the hardware counters of \p Counters, except the energy, in several
  /// launches, each after the work that \p Prepare enqueues. A failed launch
  /// determines the outcome. If counters cannot be read, sets the problem in
  /// \p Reading.
  virtual Expected<LaunchOutcome>
  count(DeviceKernel &Kernel, const LaunchConfig &Config, ArrayRef<void *> Args,
        const CounterSet &Counters, function_ref<Error()> Prepare,
        CounterReading &Reading);
  /// Samples the program counters of launches, each after the work that
  /// \p Prepare enqueues. A failed launch determines the outcome. If nothing
  /// can be sampled, sets the problem in \p Reading.
  /// \param Image        the code of \p Kernel.
  /// \param Nanoseconds  time of a launch.
  virtual Expected<LaunchOutcome>
  sample(DeviceKernel &Kernel, const LaunchConfig &Config,
         ArrayRef<void *> Args, ArrayRef<char> Image, double Nanoseconds,
         function_ref<Error()> Prepare, PCReading &Reading);
  /// Fails if count() cannot read all of \p Counters, or readEnergy() the
  /// energy, with the reason and a fix.
  virtual Error checkCounters(const CounterSet &Counters);
  /// Returns the energy in joules that the GPU has used since the driver was
  /// loaded, which is updated ten times a second; unset if it is unknown.
  virtual std::optional<double> readEnergy() { return std::nullopt; }

  //===--- Memory outside the arena ---------------------------------------===//

  /// Returns the bytes available to allocate().
  virtual Expected<uint64_t> availableMemory() = 0;
  virtual Expected<uint64_t> allocate(uint64_t Size) = 0;
  virtual Error release(uint64_t Address) = 0;

  //===--- Enqueued work --------------------------------------------------===//

  virtual Error fill(uint64_t Address, uint8_t Byte, uint64_t Size) = 0;
  /// Copies from device to device.
  virtual Error copy(uint64_t To, uint64_t From, uint64_t Size) = 0;
  virtual Expected<std::unique_ptr<CopyPlan>>
  planCopies(ArrayRef<MnemeCopyPart> Parts) = 0;
  virtual Error copy(CopyPlan &Plan) = 0;
  /// Overwrites the last-level cache.
  virtual Error flushCache() = 0;
  /// The same, and writes modified lines to memory, which would otherwise count
  /// as bytes that the next kernel writes.
  virtual Error cleanCache() { return flushCache(); }
  virtual Error synchronize() = 0;

  //===--- Synchronous work -----------------------------------------------===//

  /// Compares on the device, all parts in one launch.
  virtual Expected<std::vector<MnemeCompareResult>>
  compare(ArrayRef<MnemeComparePart> Parts) = 0;
  /// \returns the flags of mneme_diff. FirstFlag of each part must be the total
  /// number of pages in previous parts.
  virtual Expected<std::vector<uint8_t>>
  diffPages(ArrayRef<MnemeDiffPart> Parts) = 0;

  virtual Expected<GPUKernelInfo> describe(DeviceKernel &Kernel) = 0;
  /// Returns the number of resident blocks of \p Kernel per multiprocessor.
  virtual Expected<unsigned> getOccupancy(DeviceKernel &Kernel,
                                          unsigned BlockThreads,
                                          uint64_t DynamicShared) = 0;
  /// Measures the current multiprocessor clock in MHz with a short kernel;
  /// returns 0 if that is impossible.
  virtual Expected<double> measureClock() = 0;
};

inline Error GPUDevice::checkCounters(const CounterSet &Counters) {
  return Counters.empty() ? Error::success()
                          : createStringError("this device has no counters");
}

inline Expected<LaunchOutcome>
GPUDevice::count(DeviceKernel &, const LaunchConfig &, ArrayRef<void *>,
                 const CounterSet &Counters, function_ref<Error()>,
                 CounterReading &Reading) {
  Reading.Problem = toString(checkCounters(Counters));
  return LaunchOutcome();
}

inline Expected<LaunchOutcome>
GPUDevice::sample(DeviceKernel &, const LaunchConfig &, ArrayRef<void *>,
                  ArrayRef<char>, double, function_ref<Error()>,
                  PCReading &Reading) {
  Reading.Problem = "this device does not sample program counters";
  return LaunchOutcome();
}

inline Expected<LaunchOutcome>
GPUDevice::launchMany(DeviceKernel &Kernel, const LaunchConfig &Config,
                      ArrayRef<void *> Args, unsigned Count,
                      function_ref<Error()> Prepare,
                      std::vector<double> &Nanoseconds) {
  LaunchOutcome Outcome;
  Nanoseconds.clear();
  for (unsigned I = 0; I != Count && Outcome.Status == LaunchStatus::Ok; ++I) {
    if (Error E = Prepare())
      return E;
    if (Error E = launch(Kernel, Config, Args).moveInto(Outcome))
      return E;
    Nanoseconds.push_back(Outcome.Nanoseconds);
  }
  return Outcome;
}

/// One GPU of this machine.
struct GPUDescription {
  std::string Name;        ///< "cuda:0", "hip:0"
  std::string OffloadName; ///< "offload:0"; empty if findGPUs() was called with
                           ///< a kind, if the build has no liboffload, or if a
                           ///< broken CUDA driver hides the numbers.
  GPUInfo Info;
};

/// Finds the GPUs of this machine, only those of \p Kind ("cuda", "hip") if it
/// is not empty. Initializes the driver, so call it only in a process that will
/// not fork. Fails if there is none, with the reason: no driver, an outdated
/// driver, or no device.
Expected<std::vector<GPUDescription>> findGPUs(StringRef Kind = "");

/// Opens "cuda:0" (through the driver), "hip:0" (through HIP's module API) or
/// "offload:0" (through LLVM's liboffload: all NVIDIA GPUs, and then all AMD
/// GPUs); the number is optional. If the CUDA driver is broken, the numbers of
/// AMD GPUs are unknown, and "offload:0" fails with the reason.
Expected<std::unique_ptr<GPUDevice>> createGPUDevice(StringRef Name);

/// Returns true if \p Name names a GPU, present or not.
bool isGPUDeviceName(StringRef Name);

/// Returns true if machine code for \p CodeArch runs on a \p DeviceArch device:
/// with the same major and the same or a later minor architecture; sm_90a only
/// on sm_90. AMD: on the same processor, or on one of a generic architecture
/// (gfx11-generic), if their settings of xnack and sramecc do not contradict.
bool isArchCompatible(StringRef CodeArch, StringRef DeviceArch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_GPUDEVICE_H
