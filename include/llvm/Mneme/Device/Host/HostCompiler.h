//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device IR (NVPTX or AMDGPU, optimized or not) to code for this machine's
/// CPU.
///
/// lowerKernelForHost is a chain of small module passes, each of which
/// mneme-pass-opt can run alone; HostPasses.h names them and says what each
/// expects. The chain ends with one entry function per kernel in one of four
/// forms (MnemeHostStrategy).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_HOST_HOSTCOMPILER_H
#define LLVM_MNEME_DEVICE_HOST_HOSTCOMPILER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <functional>
#include <memory>

namespace llvm {
class Module;
namespace mneme {

enum class HostStrategy { Auto, Loop, Region, Coroutine, Fiber };

/// How much the CPU pipeline may still do after lowering. Only None leaves the
/// differences between the user's pipelines standing; see docs/HostDevice.rst.
enum class HostFinish { O3, O1, Min, None };

struct HostOptions {
  HostStrategy Strategy = HostStrategy::Auto;
  HostFinish Finish = HostFinish::O3;
};

/// What the lowering found out about a kernel; travels beside the object.
struct HostKernelInfo {
  std::string Name;
  std::string Entry; ///< Symbol of the entry function.
  HostStrategy Strategy = HostStrategy::Loop;
  std::string
      Reason; ///< Why not a faster strategy; empty when it is the first.
  uint32_t StaticShared = 0;
  uint32_t WaveSize = 32;
  bool Cooperative = false;
  /// Atomics whose outcome depends on which thread comes first: blocks run one
  /// after another, so that a replay can be compared with its recording.
  bool Ordered = false;
  uint64_t ContextSize = 0;
  unsigned NumArgs = 0;
  /// Device variables that live in the arena: external symbols of the object.
  std::vector<std::string> Globals;
};

/// What the executor runs, but its name, once the code lies at \p Entry.
MnemeHostKernel toExecutorKernel(const HostKernelInfo &Info, uint64_t Entry);

StringRef getHostStrategyName(HostStrategy S);
StringRef getHostFinishName(HostFinish F);
Expected<HostStrategy> parseHostStrategy(StringRef Name);
Expected<HostFinish> parseHostFinish(StringRef Name);

/// Lowers \p Kernel: \p M, which may hold other kernels, becomes a module for
/// the host that holds the kernel's entry function and what that calls.
Expected<HostKernelInfo> lowerKernelForHost(Module &M, StringRef Kernel,
                                            const HostOptions &Options);

/// Runs the finishing pipeline on a lowered module.
void finishHostModule(Module &M, HostFinish Finish);

/// Lowers, finishes and emits. DeviceImage::HostInfo holds the HostKernelInfo.
Expected<DeviceImage> compileKernelForHost(Module &M, StringRef Kernel,
                                           const HostOptions &Options);

/// The HostKernelInfo of an image that compileKernelForHost made.
const HostKernelInfo &getHostKernelInfo(const DeviceImage &Image);
void setHostKernelInfo(DeviceImage &Image, HostKernelInfo Info);

json::Value toJSON(const HostKernelInfo &Info);
bool fromJSON(const json::Value &V, HostKernelInfo &Info, json::Path P);

/// Variables of \p M that live in device memory (mutable, or visible to the
/// host), as opposed to constants that stay in the image. Names and sizes.
struct HostVariable {
  std::string Name;
  uint64_t Size = 0;
  uint64_t Alignment = 1;
  bool Constant = false; ///< __constant__
};
std::vector<HostVariable> findHostVariables(const Module &M);
/// Those of them that \p Kernel can reach.
std::vector<std::string> findReachedVariables(const Module &M,
                                              StringRef Kernel);

/// The bytes of each variable's initializer, once all variables have addresses.
/// \p AddressOf returns 0 for a name it does not know.
/// \returns contents in findHostVariables' order.
Expected<std::vector<std::string>>
evaluateInitializers(const Module &M,
                     function_ref<uint64_t(StringRef)> AddressOf);

/// An object linked to run at given addresses, perhaps in another process.
struct LinkedSegment {
  uint64_t Address = 0;
  uint32_t Protection = 0; ///< PROT_* of <sys/mman.h>.
  std::string Contents;
};
struct LinkedImage {
  uint64_t Entry = 0;
  std::vector<LinkedSegment> Segments;
};

/// Links \p Object (JITLink) into [\p Base, +\p Size). \p Lookup resolves
/// external symbols and returns 0 for one it does not know, which makes an
/// error that names it.
Expected<LinkedImage> linkHostObject(MemoryBufferRef Object, StringRef Entry,
                                     uint64_t Base, uint64_t Size,
                                     function_ref<uint64_t(StringRef)> Lookup);

/// The host device of this process.
std::unique_ptr<Device> createHostDevice();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_HOST_HOSTCOMPILER_H
