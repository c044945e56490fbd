//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An NVIDIA or AMD GPU as a device. Programs, copies and launches go through a
/// backend; memory at fixed addresses, events and attributes come from the
/// driver. For AMD GPUs, the driver is HIP (CudaDriver::loadHip).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_CUDADEVICE_H
#define LLVM_MNEME_LIB_DEVICE_GPU_CUDADEVICE_H

#include "CounterProfiler.h"
#include "GPUBackend.h"
#include "Nvml.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include <chrono>
#include <map>

namespace llvm {
namespace mneme {

using ::mneme::CUarray;
using ::mneme::CudaMapping;
using ::mneme::CUmodule;
using ::mneme::CUtexObject;

/// \returns the initialized driver, or HIP, or an error that says why it cannot
/// be used. Sets \p NumDevices to the number of devices, at least one.
Expected<const CudaDriver *> startCudaDriver(bool IsHip, unsigned &NumDevices);

/// \returns the driver's description of device \p Ordinal.
Expected<GPUInfo> queryGPU(const CudaDriver &Driver, unsigned Ordinal);

/// Returns the cycles of the multiprocessor clock between two samples, which
/// are about 100 us apart. The counter of gfx11 has only 20 bits.
uint64_t countCycles(const MnemeClockSample &From, const MnemeClockSample &To);

/// A variable of the recording for which an image has memory of its own.
struct GlobalPlace {
  std::string Name;
  uint64_t Home;  ///< Address in the recording.
  uint64_t Image; ///< Address in the loaded image.
  uint64_t Size;
  bool Constant; ///< No kernel can write it.
};

/// \returns whether the context that reported \p R is no longer usable.
bool isFatal(CUresult R);

/// Elements that are in recorded memory, but that textures need in an array.
struct ArrayElements {
  CUarray Array = nullptr;
  bool IsMipmapped = false;
  bool IsWritten = false;                  ///< By surfaces.
  std::vector<::mneme::CUmemcpy3D> Copies; ///< Of each level, into the array.
};

/// A texture or surface object of a recording.
struct CudaObject {
  CUtexObject Object = 0;
  bool IsSurface = false;
};

class CudaDevice;

class CudaKernel final : public DeviceKernel {
public:
  CudaKernel(CudaDevice &Device) : Device(Device) {}
  ~CudaKernel() override;

  CudaDevice &Device;
  std::string Name;
  GPUBackend::Program Program = nullptr;
  GPUBackend::Kernel Kernel = nullptr;
  CUfunction Function = nullptr;
  std::vector<KernelArg> Layout;
  std::vector<GlobalPlace> Globals;
  std::vector<uint64_t> Slots; ///< Contents of MNEME_VARIABLE_SLOTS.
  uint64_t StaticShared = 0; ///< Bytes.
  /// A copy of the variables that only this image has, as load() found them,
  /// and the copies that restore them; null if there are none.
  uint64_t OwnContents = 0;
  std::unique_ptr<CopyPlan> RestoreOwn;
  /// The image, to be reloaded instead if the driver does not find all of them.
  SmallVector<char, 0> Reloaded;

  bool keepsState() const override {
    return StaticShared || RestoreOwn || !Reloaded.empty();
  }
  /// Dynamic shared memory that the function may use at present.
  uint64_t AllowedShared = 0;
};

class CudaDevice final : public GPUDevice {
public:
  /// \p Name is "cuda:0", "hip:0" or "offload:0".
  static Expected<std::unique_ptr<GPUDevice>>
  create(const CudaDriver &Driver, unsigned Ordinal, std::string Name);
  ~CudaDevice() override;

  std::string getName() const override { return Name; }
  std::string getArch() const override { return Info.Arch; }
  const GPUInfo &info() const override { return Info; }
  GPUState readState() override;
  StringRef getBackendName() const override { return Backend->getName(); }
  uint64_t leakedBytes() const override { return Backend->leakedBytes(); }
  Error setTimer(GPUTimer Timer) override;
  StringRef getTimerName() const override {
    return Timer == GPUTimer::CUPTI      ? "cupti"
           : Timer == GPUTimer::Dispatch ? "dispatch"
                                         : "events";
  }

  // Memory
  Error reserveArena(uint64_t Base, uint64_t Size) override;
  Error mapMemory(uint64_t Address, uint64_t Size) override;
  Error mapOutside(uint64_t Address, uint64_t Size) override;
  uint64_t mappingGranule() const override {
    return Mapping ? Mapping->granularity() : 1;
  }
  Error write(uint64_t Address, ArrayRef<char> Data) override;
  Error read(uint64_t Address, MutableArrayRef<char> Data) override;
  Expected<uint64_t> availableMemory() override;
  Expected<uint64_t> allocate(uint64_t Size) override;
  Error release(uint64_t Address) override;
  Error fill(uint64_t Address, uint8_t Byte, uint64_t Size) override;
  Error copy(uint64_t To, uint64_t From, uint64_t Size) override;
  Error flushCache() override;
  Error cleanCache() override;
  Error synchronize() override;

  // Counters
  Expected<LaunchOutcome>
  count(DeviceKernel &Kernel, const LaunchConfig &Config, ArrayRef<void *> Args,
        const CounterSet &Counters, function_ref<Error()> Prepare,
        CounterReading &Reading) override;
  Expected<LaunchOutcome>
  sample(DeviceKernel &Kernel, const LaunchConfig &Config,
         ArrayRef<void *> Args, ArrayRef<char> Image, double Nanoseconds,
         function_ref<Error()> Prepare, PCReading &Reading) override;
  Error checkCounters(const CounterSet &Counters) override;
  std::optional<double> readEnergy() override {
    return readNvmlEnergy(Info.UUID);
  }

  // Work of the memory kernels
  Expected<std::unique_ptr<CopyPlan>>
  planCopies(ArrayRef<MnemeCopyPart> Parts) override;
  Error copy(CopyPlan &Plan) override;
  Expected<std::vector<MnemeCompareResult>>
  compare(ArrayRef<MnemeComparePart> Parts) override;
  Expected<std::vector<uint8_t>>
  diffPages(ArrayRef<MnemeDiffPart> Parts) override;
  Expected<double> measureClock() override;

  // Kernels
  Error makeObject(uint64_t Handle) override;
  Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) override;
  Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                 const LaunchConfig &Config,
                                 ArrayRef<void *> Args) override;
  Expected<LaunchOutcome>
  launchMany(DeviceKernel &Kernel, const LaunchConfig &Config,
             ArrayRef<void *> Args, unsigned Count,
             function_ref<Error()> Prepare,
             std::vector<double> &Nanoseconds) override;
  Expected<GPUKernelInfo> describe(DeviceKernel &Kernel) override;
  Expected<unsigned> getOccupancy(DeviceKernel &Kernel, unsigned BlockThreads,
                                  uint64_t DynamicShared) override;

  /// Makes the context current, in order to free resources of the device.
  /// \returns false if the device is lost. Nothing may be freed then, because
  /// the driver may wait for a kernel that never ends.
  bool enterToFree();

private:
  friend class CudaKernel;

  /// Kernels of mneme_memory_kernels_ptx or mneme_memory_kernels_hip.
  struct MemoryKernel {
    CUfunction Function = nullptr;
    unsigned MaxBlocks = 0; ///< Maximum number of resident blocks.
  };
  /// Pinned host memory. Copies from it run while it is filled.
  struct StagingSlot {
    char *Memory = nullptr;
    CUevent Done = nullptr; ///< The last copy from or to it.
  };

  CudaDevice(const CudaDriver &Driver, unsigned Ordinal, std::string Name)
      : Driver(Driver), Ordinal(Ordinal), Name(std::move(Name)) {}

  Error open();
  Error loadMemoryKernels();
  Error openStaging();

  /// Makes the context current; call it first. Error: the context is lost.
  Error enter();
  /// Returns the error "cannot <what>: <text of R>". Notes if \p R means that
  /// the context is lost.
  Error failure(const GPUResult &R, const Twine &What);
  Error check(const GPUResult &R, const Twine &What) {
    return R ? failure(R, What) : Error::success();
  }
  Error check(CUresult R, const Twine &What) {
    return R ? failure(GPUResult(R), What) : Error::success();
  }
  std::string describe(const GPUResult &R) const {
    return R.Message.empty() ? Driver.describe(R.Code) : R.Message;
  }
  /// Makes every later call fail. Nothing is freed any more.
  void lose(const Twine &Why) {
    if (Lost.empty())
      Lost = Why.str();
  }

  /// \returns memory for tables and results, valid until the next call.
  Expected<uint64_t> getScratch(uint64_t Size);
  /// Maps zeroed memory at [\p Address, +\p Size) of \p M.
  Error mapIn(CudaMapping &M, uint64_t Address, uint64_t Size);
  Error launchMemoryKernel(const MemoryKernel &K, uint64_t Tiles,
                           MutableArrayRef<void *> Args);
  /// Zeroes the shared memory of all multiprocessors.
  Error enqueueClearShared();
  /// Keeps the device busy for this time. \p Times  of the dispatch; may be
  /// null.
  Error enqueueSpin(uint64_t Nanoseconds, const EventPair &Times = {});
  CUresult nextStagingSlot();
  Error readStaged(uint64_t Address, MutableArrayRef<char> Data);

  /// Makes at least \p Count pairs in Events.
  Error openEvents(size_t Count);
  /// Returns the sum of the times of \p Pairs.
  Expected<double> readNanoseconds(ArrayRef<EventPair> Pairs);
  /// Enqueues a launch that \p Pairs time: one, or one for each repetition. A
  /// status other than Ok: the launch was refused, or an earlier one failed.
  Expected<LaunchOutcome> enqueueLaunch(CudaKernel &K,
                                        const LaunchConfig &Config,
                                        ArrayRef<void *> Args,
                                        ArrayRef<EventPair> Pairs);
  /// Waits for the enqueued work. A status other than Ok: a launch failed.
  LaunchOutcome finishLaunches(const CudaKernel &K,
                               const LaunchConfig &Config);
  LaunchOutcome failLaunch(const GPUResult &R, std::string Message);
  /// After the time limit of \p Config.
  LaunchOutcome failLate(const CudaKernel &K, const LaunchConfig &Config);

  Expected<ArrayElements *> makeArray(const MnemeTexture &T);
  void freeObjects();
  /// Copies elements from memory to the arrays or, if \p IsBack, the elements
  /// that surfaces may have changed back to memory.
  CUresult copyArrays(bool IsBack);
  Error findFunction(CudaKernel &K);
  Error findGlobals(CudaKernel &K, const DeviceImage &Image,
                    ArrayRef<KernelGlobal> Globals);
  Error findSlots(CudaKernel &K, const DeviceImage &Image,
                  ArrayRef<KernelGlobal> Globals);
  Error fillSlots(CudaKernel &K);
  Error keepOwnVariables(CudaKernel &K, const DeviceImage &Image);
  /// Restores the state after load(), if a launch could have changed it for the
  /// next one.
  Error resetState(CudaKernel &K, const LaunchConfig &Config);
  /// Allows the function this dynamic shared memory. \returns the driver's
  /// result.
  CUresult allowShared(CudaKernel &K, uint64_t DynamicShared);
  /// Whether the block is larger than the kernel can have, \p MaxThreads.
  bool exceedsThreads(const CudaKernel &K, const LaunchConfig &Config,
                      int &MaxThreads);
  std::string explainRefusal(const CudaKernel &K, const LaunchConfig &Config,
                             const GPUResult &R);
  Error startCupti();
  Error startDispatchTimes();
  /// Fails if counters cannot be read, with the reason.
  Error openProfiler(ArrayRef<const CounterInfo *> Counters);
  /// Profiles in \p Body, which sets the outcome, while no timer uses CUPTI.
  /// \param Problem  why that is not possible.
  Expected<LaunchOutcome> profile(function_ref<Error(LaunchOutcome &)> Body,
                                  std::string &Problem);
  /// Launches for one pass of \p P. \returns false if the launch failed.
  Expected<bool> launchInPass(LaunchProfiler &P, DeviceKernel &Kernel,
                              const LaunchConfig &Config, ArrayRef<void *> Args,
                              function_ref<Error()> Prepare,
                              LaunchOutcome &Outcome);
  GPUResult launchInPass(CudaKernel &K, const GPULaunch &L);

  const CudaDriver &Driver;
  unsigned Ordinal;
  CUdevice Handle = 0;
  std::string Name;
  GPUInfo Info;
  GPUState State; ///< As it was at StateTime.
  std::optional<std::chrono::steady_clock::time_point> StateTime;
  CUcontext Context = nullptr;
  std::unique_ptr<GPUBackend> Backend;
  std::unique_ptr<CudaMapping> Mapping;
  /// Mappings of mapOutside(), by address.
  std::map<uint64_t, std::unique_ptr<CudaMapping>> Outside;
  /// By the address of elements, and MNEME_RESOURCE_*.
  std::map<std::pair<uint64_t, uint32_t>, ArrayElements> Arrays;
  std::map<uint64_t, CudaObject> Objects; ///< By recorded handle.
  std::vector<EventPair> Events;
  /// The device has enough work for the time in which the host enqueues a
  /// launch.
  bool Occupied = false;
  GPUTimer Timer = GPUTimer::Events; ///< Never Auto.
  std::string Lost; ///< Why the context is dead; empty while it lives.

  CUmodule MemoryKernels = nullptr;
  MemoryKernel Compare, Diff, Copy, Clock, ClearShared;
  unsigned SharedToClear = 0; ///< Bytes of a block of ClearShared.

  static constexpr unsigned NumStagingSlots = 2;
  StagingSlot Staging[NumStagingSlots];
  unsigned FillingSlot = 0;
  uint64_t FilledBytes = 0; ///< Of that slot.
  uint64_t Scratch = 0, ScratchSize = 0;
  uint64_t FlushArea = 0;
  uint64_t CleanArea = 0;    ///< For reading; twice as large.
  uint64_t ClockSamples = 0; ///< Two MnemeClockSample.
  std::unique_ptr<CounterProfiler> Profiler; ///< Null until count().
  /// Of the next launch, which is a pass; null if it is none.
  LaunchProfiler *Watching = nullptr;
  std::string PassProblem; ///< Why a pass failed; empty: none did.
  /// Of the clock that the memory kernels read.
  double TicksPerNanosecond = 1;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_CUDADEVICE_H
