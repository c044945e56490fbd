//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Devices with memory of their own: what replay can do there without the host,
/// and how they are opened. All work of a device goes through one queue, in
/// order; what is said to be enqueued does not wait for it to be done.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_GPUDEVICE_H
#define LLVM_MNEME_DEVICE_GPUDEVICE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Device/MemoryKernels.h"
#include <vector>

namespace llvm {
class raw_ostream;
namespace mneme {

/// The machine, as every result notes it.
struct GPUInfo {
  std::string Name;   ///< "NVIDIA H200"
  std::string Arch;   ///< "sm_90"
  std::string Driver; ///< "13.0": the CUDA version that the driver supports.
  std::string UUID;
  uint64_t MemoryBytes = 0;
  uint64_t CacheBytes = 0; ///< Last level.
  unsigned Multiprocessors = 0;
  unsigned ThreadsPerMultiprocessor = 0;
  unsigned BlocksPerMultiprocessor = 0;
  uint64_t SharedPerBlock = 0; ///< With opt-in.
  unsigned ClockMHz = 0;       ///< Highest; 0 when the driver does not tell.
};

/// How a GPU is at one moment, as far as it is known.
struct GPUState {
  std::optional<unsigned> Temperature; ///< Degrees Celsius.
  std::optional<double> Power;         ///< Watts.
  std::optional<unsigned> ClockMHz;    ///< Of the multiprocessors.
  std::optional<unsigned> MemoryClockMHz;
};

/// What the driver says about a loaded kernel.
struct GPUKernelInfo {
  unsigned Registers = 0;
  uint64_t LocalBytes = 0;    ///< Of a thread: spills and arrays.
  uint64_t SharedBytes = 0;   ///< Static.
  uint64_t ConstantBytes = 0;
  unsigned MaxThreads = 0;    ///< Of a block.
};

/// Copies that were planned once, to be made many times.
class CopyPlan {
public:
  virtual ~CopyPlan() = default;
};

/// How device time is measured.
enum class GPUTimer {
  Auto,  ///< CUPTI where it can be loaded, else events.
  Events,
  CUPTI,
};

class GPUDevice : public Device {
public:
  GPUDevice *asGPU() override { return this; }

  virtual const GPUInfo &info() const = 0;
  /// Asks NVIDIA's management library, where there is one; the answer may be a
  /// second old.
  virtual GPUState readState() { return {}; }
  /// "driver" or "liboffload": through what the device is driven.
  virtual StringRef getBackendName() const = 0;
  /// Memory of the host that kernels which are no more left behind for good:
  /// liboffload keeps a copy of every image. Ever more, until the process ends.
  virtual uint64_t leakedBytes() const { return 0; }

  virtual Error setTimer(GPUTimer Timer) = 0;
  /// "cupti" or "events": where LaunchOutcome::Nanoseconds comes from.
  virtual StringRef getTimerName() const = 0;

  /// Makes \p Count launches, each after what \p Prepare enqueues for it, and
  /// waits once, where it can. All together have the time limit of one. What
  /// went wrong with one of them is the outcome of all; \p Nanoseconds are of
  /// each when nothing did.
  virtual Expected<LaunchOutcome>
  launchMany(DeviceKernel &Kernel, const LaunchConfig &Config,
             ArrayRef<void *> Args, unsigned Count,
             function_ref<Error()> Prepare, std::vector<double> &Nanoseconds);

  //===--- Memory outside the arena ---------------------------------------===//

  /// Bytes that allocate() could still give.
  virtual Expected<uint64_t> availableMemory() = 0;
  virtual Expected<uint64_t> allocate(uint64_t Size) = 0;
  virtual Error release(uint64_t Address) = 0;

  //===--- Enqueued work --------------------------------------------------===//

  virtual Error fill(uint64_t Address, uint8_t Byte, uint64_t Size) = 0;
  /// Device to device.
  virtual Error copy(uint64_t To, uint64_t From, uint64_t Size) = 0;
  virtual Expected<std::unique_ptr<CopyPlan>>
  planCopies(ArrayRef<MnemeCopyPart> Parts) = 0;
  virtual Error copy(CopyPlan &Plan) = 0;
  /// Overwrites the last level cache.
  virtual Error flushCache() = 0;
  virtual Error synchronize() = 0;

  //===--- Work that is waited for ----------------------------------------===//

  /// Compares on the device, all parts in one launch.
  virtual Expected<std::vector<MnemeCompareResult>>
  compare(ArrayRef<MnemeComparePart> Parts) = 0;
  /// \returns the flags of mneme_diff. FirstFlag of each part must count the
  /// pages of the parts before it.
  virtual Expected<std::vector<uint8_t>>
  diffPages(ArrayRef<MnemeDiffPart> Parts) = 0;

  virtual Expected<GPUKernelInfo> describe(DeviceKernel &Kernel) = 0;
  /// Blocks of \p Kernel that one multiprocessor can hold.
  virtual Expected<unsigned> getOccupancy(DeviceKernel &Kernel,
                                          unsigned BlockThreads,
                                          uint64_t DynamicShared) = 0;
  /// The clock of the multiprocessors now, in MHz, measured by a short kernel;
  /// 0 when it cannot be.
  virtual Expected<double> measureClock() = 0;
};

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
  std::string Name; ///< "cuda:0"
  GPUInfo Info;
};

/// The GPUs of this machine. Initializes the driver, so call it only in a
/// process that will not fork. An Error says why there is none: no driver, one
/// that is too old, no device.
Expected<std::vector<GPUDescription>> findGPUs();

/// Opens "cuda:0" (through the driver) or "offload:0" (through LLVM's
/// liboffload); the number may be left out.
Expected<std::unique_ptr<GPUDevice>> createGPUDevice(StringRef Name);

/// Whether \p Name is that of a GPU, present or not.
bool isGPUDeviceName(StringRef Name);

/// Whether machine code for \p CodeArch runs on a device of \p DeviceArch: on
/// the same major architecture of the same or a later minor one; sm_90a only on
/// sm_90.
bool isArchCompatible(StringRef CodeArch, StringRef DeviceArch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_GPUDEVICE_H
