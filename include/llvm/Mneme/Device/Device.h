//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What replay needs of a device. Memory lives at the addresses of the
/// recording, in the arena; there is one arena a process. Nothing here knows of
/// recordings.
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

/// What a launch did, as data: a crash of the kernel is a result, not an error.
enum class LaunchStatus {
  Ok,
  InvalidConfiguration, ///< Refused: more threads or shared memory than there
                        ///< is.
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

struct LaunchOutcome {
  LaunchStatus Status = LaunchStatus::Ok;
  /// The kernel alone, as the device measures it; of one of several launches,
  /// the mean.
  double Nanoseconds = 0;
  std::string Message;      ///< For the user; empty when Ok.
};

struct LaunchConfig {
  Dim3 Grid, Block;
  uint64_t DynamicShared = 0; ///< Bytes.
  double TimeoutSeconds = 0;  ///< 0 = none.
  bool Cooperative = false;   ///< All blocks at once, for grid.sync().
  /// GPUs: number of launches, back to back, measured together. Only the first
  /// begins as Device::launch() says.
  unsigned Repeat = 1;
};

/// Machine code that a device can load, with what its loader must know. Made by
/// lib/Compile (GPU) or lib/Device/Host.
struct DeviceImage {
  std::string Triple;
  std::string Arch;
  std::string KernelName;
  SmallVector<char, 0> Object; ///< cubin, code object or host ELF object.
  /// Host only: facts for the executor, opaque to everybody else.
  std::shared_ptr<void> HostInfo;
  /// Device variables that the image refers to.
  std::vector<std::string> Globals;
  /// GPU only: variables of the image that the recording does not have and that
  /// the kernel can write.
  std::vector<std::string> OwnVariables;
  /// GPU only: where the arguments lie.
  std::vector<KernelArg> Args;
};

/// A loaded kernel. Dies before its Device.
class DeviceKernel {
public:
  virtual ~DeviceKernel() = default;
  /// Can a launch read what the launch before it left in static shared memory or
  /// in the image's own variables?
  virtual bool keepsState() const { return false; }
};

/// A GPU outside of the arena reserves addresses in multiples of this, in bytes:
/// the driver puts what is smaller where it likes (seen with 580.159).
constexpr uint64_t OutsideGranule = uint64_t(32) << 20;

class Device {
public:
  virtual ~Device() = default;

  /// "host", "cuda:0".
  virtual std::string getName() const = 0;
  /// The target that images must be for; empty on the host, which takes any.
  virtual std::string getArch() const = 0;
  /// Null for a device without memory of its own.
  virtual GPUDevice *asGPU() { return nullptr; }

  /// Reserves [\p Base, \p Base + \p Size) of device addresses. Error when any
  /// of it is taken. Call once.
  virtual Error reserveArena(uint64_t Base, uint64_t Size) = 0;
  /// Puts zeroed memory at [\p Address, +\p Size) of the arena. The device may
  /// round to its pages; ranges of two calls may share a page.
  virtual Error mapMemory(uint64_t Address, uint64_t Size) = 0;
  /// Puts zeroed memory at [\p Address, +\p Size), outside of the arena, which
  /// is there already. Error when any page of it, rounded as above, is taken by
  /// anything but an earlier call.
  virtual Error mapOutside(uint64_t Address, uint64_t Size) = 0;
  /// mapMemory() and mapOutside() map whole multiples of this, in bytes.
  virtual uint64_t mappingGranule() const { return 1; }
  virtual Error write(uint64_t Address, ArrayRef<char> Data) = 0;
  virtual Error read(uint64_t Address, MutableArrayRef<char> Data) = 0;

  /// \p Globals gives the address of each of the image's variables. Where the
  /// image brings its own places for them, launch() copies from and to these
  /// addresses.
  virtual Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) = 0;

  /// Launches and waits. \p Args: one pointer per kernel argument, to host
  /// memory. The launch finds shared memory zeroed and the image's own variables
  /// as load() left them, so that no launch can tell that there was another one
  /// before it. Error only when the device itself is lost.
  virtual Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                         const LaunchConfig &Config,
                                         ArrayRef<void *> Args) = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_DEVICE_H
