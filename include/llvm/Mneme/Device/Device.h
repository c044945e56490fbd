//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The device interface for replay. Memory is mapped at the addresses of the
/// recording, in the arena; each process has one arena. The interface is
/// independent of recordings.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_DEVICE_H
#define LLVM_MNEME_DEVICE_DEVICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

class GPUDevice;

/// The status of a launch. A crash of the kernel is a result, not an error.
enum class LaunchStatus {
  Ok,
  InvalidConfiguration, ///< More threads or shared memory than available.
  IllegalAddress,
  Timeout,
  Trap,
  Assert,
  IllegalInstruction,
  Unsupported,
  Deadlock,
  OutOfMemory,
};

StringRef getLaunchStatusName(LaunchStatus S);

/// The result of a launch.
struct LaunchOutcome {
  LaunchStatus Status = LaunchStatus::Ok;
  /// Time of the kernel alone, as measured by the device; for several launches,
  /// the mean.
  double Nanoseconds = 0;
  std::string Message; ///< For the user; empty if Ok.

  /// Returns the message, or the name of the status if there is none.
  std::string describe() const;
};

/// The order in which the host device runs blocks and threads.
struct HostSchedule {
  enum OrderKind {
    Parallel,   ///< Blocks on all cores, in no fixed order.
    Sequential, ///< One block after the other, on one core.
    Shuffled,   ///< Blocks on all cores, started in an order that Seed
                ///< determines.
    Random,     ///< Interleaved on one core, in an order that Seed determines.
  };
  OrderKind Order = Parallel;
  uint64_t Seed = 0;
  /// Random only: the launch fails if the threads of a warp do not execute
  /// equally many barriers that a warp must execute as a whole. Kernels with
  /// threads that return before a barrier fail, too.
  bool Strict = false;
  /// Random only: the threads of a warp are not together when they could be, so
  /// __activemask() reports any of them.
  bool Splits = false;

  /// Parses "parallel", "sequential", "shuffled:SEED" or "random:SEED"; empty
  /// means parallel.
  static Expected<HostSchedule> parse(StringRef Text);
  /// Returns the text that parse() reads.
  std::string toString() const;
};

/// The configuration of a launch.
struct LaunchConfig {
  Dim3 Grid, Block;
  uint64_t DynamicShared = 0; ///< Bytes.
  double TimeoutSeconds = 0;  ///< 0: none.
  bool Cooperative = false;   ///< All blocks are resident, for grid.sync().
  Dim3 Cluster;               ///< Size of a cluster, in blocks: NVIDIA GPUs.
  HostSchedule Schedule;      ///< Host device only.
  /// Host device only: the contents of local and shared memory at the start
  /// (MnemeHostFill). 0: shared memory is zero, local memory indeterminate.
  uint64_t Fill = 0;
  /// GPUs: number of launches, back to back, measured together. Only the first
  /// one starts in the state that Device::launch() documents.
  unsigned Repeat = 1;
};

/// Machine code for a device and the data its loader needs. Created by
/// lib/Compile (GPU) or lib/Device/Host.
struct DeviceImage {
  std::string Triple;
  std::string Arch;
  std::string KernelName;
  SmallVector<char, 0> Object; ///< cubin, code object or host ELF object.
  /// Host only: opaque data for the executor.
  std::shared_ptr<void> HostInfo;
  /// Device variables that the image references.
  std::vector<std::string> Globals;
  /// GPU only: variables of the image that the recording lacks and that the
  /// kernel can write.
  std::vector<std::string> OwnVariables;
  /// GPU only: the variables whose addresses the image has in its array
  /// MNEME_VARIABLE_SLOTS, in order.
  std::vector<std::string> Slots;
  /// GPU only: the layout of the arguments.
  std::vector<KernelArg> Args;
};

/// A loaded kernel. Must be destroyed before its Device.
class DeviceKernel {
public:
  virtual ~DeviceKernel() = default;
  /// Returns true if a launch can read data that the previous launch left in
  /// static shared memory or in the image's own variables.
  virtual bool keepsState() const { return false; }
};

/// Granularity in bytes for reserving addresses outside the arena on a GPU: the
/// driver chooses the address of smaller reservations (seen with 580.159).
constexpr uint64_t OutsideGranule = uint64_t(32) << 20;

/// A device that runs kernels: the host or a GPU.
class Device {
public:
  virtual ~Device() = default;

  /// Returns the name: "host", "cuda:0".
  virtual std::string getName() const = 0;
  /// Returns the required target of images; empty on the host, which accepts
  /// any.
  virtual std::string getArch() const = 0;
  /// Returns null for a device without its own memory.
  virtual GPUDevice *asGPU() { return nullptr; }

  /// Reserves the device addresses [\p Base, \p Base + \p Size). Fails if any
  /// of them is in use. Call once.
  virtual Error reserveArena(uint64_t Base, uint64_t Size) = 0;
  /// Maps zeroed memory at [\p Address, +\p Size) in the arena. The device may
  /// round to its pages; ranges of two calls may share a page.
  virtual Error mapMemory(uint64_t Address, uint64_t Size) = 0;
  /// Maps zeroed memory at [\p Address, +\p Size) outside the arena, which must
  /// be reserved already. Fails if any page of it, rounded as above, is in use
  /// other than by an earlier call.
  virtual Error mapOutside(uint64_t Address, uint64_t Size) = 0;
  /// Returns the granularity in bytes of mapMemory() and mapOutside().
  virtual uint64_t mappingGranule() const { return 1; }
  virtual Error write(uint64_t Address, ArrayRef<char> Data) = 0;
  virtual Error read(uint64_t Address, MutableArrayRef<char> Data) = 0;

  /// Creates the texture or surface object that the MnemeTexture at \p Handle
  /// describes. Its elements are in mapped memory. In the arguments of
  /// launches, the device's own handle then replaces \p Handle at multiples of
  /// 8 bytes. The host device uses \p Handle itself.
  virtual Error makeObject(uint64_t Handle) { return Error::success(); }

  /// Loads an image. \p Globals has the address of each of the image's
  /// variables. If the image defines these variables itself, launch() copies
  /// from and to these addresses.
  virtual Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) = 0;

  /// Launches a kernel and waits for it. \p Args has one pointer to host memory
  /// per kernel argument. Each launch starts with zeroed shared memory and with
  /// the image's own variables as load() left them, so that previous launches
  /// have no effect. Fails only if the device is lost.
  virtual Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                         const LaunchConfig &Config,
                                         ArrayRef<void *> Args) = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_DEVICE_H
