//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles device IR (NVPTX or AMDGPU, optimized or not) for this machine's
/// CPU.
///
/// lowerKernelForHost runs a sequence of small module passes, which
/// mneme-pass-opt can run individually; HostPasses.h lists them and the
/// placeholders they use. The result has one entry function per kernel, in one
/// of four forms (MnemeHostStrategy).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_HOST_HOSTCOMPILER_H
#define LLVM_MNEME_DEVICE_HOST_HOSTCOMPILER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <functional>
#include <memory>

namespace llvm {
class Module;
namespace mneme {

enum class HostStrategy { Auto, Loop, Region, Coroutine, Fiber };

/// How much the CPU pipeline optimizes after lowering. Only None preserves all
/// differences between the user's pipelines; see docs/HostDevice.rst.
enum class HostFinish { O3, O1, Min, None };

struct HostOptions {
  HostStrategy Strategy = HostStrategy::Auto;
  HostFinish Finish = HostFinish::O3;
  /// Of LLVM's code generator for the CPU, after the finish.
  CodeGenOptLevel CodeGen = CodeGenOptLevel::Default;
  /// Make code that a random schedule can reorder: of Coroutine or Fiber, by
  /// default of Fiber, whose threads it can also stop at memory accesses.
  bool Interleave = false;
};

/// Properties of a kernel found by the lowering; accompany the object.
struct HostKernelInfo {
  std::string Name;
  std::string Entry; ///< Symbol of the entry function.
  HostStrategy Strategy = HostStrategy::Loop;
  /// Why faster strategies are impossible; empty for the fastest.
  std::string Reason;
  uint32_t StaticShared = 0;
  uint32_t WaveSize = 32;
  /// The result of atomics depends on the order of threads. Blocks then run
  /// sequentially, so that a replay is comparable with its recording.
  bool Ordered = false;
  /// Blocks of a cluster along each axis, if the kernel requires a size; else
  /// empty.
  std::vector<uint32_t> ClusterDim;
  uint64_t ContextSize = 0;
  unsigned NumArgs = 0;
  /// Device variables in the arena: external symbols of the object.
  std::vector<std::string> Globals;
};

/// Returns the kernel for the executor, without its name, for code at \p Entry.
MnemeHostKernel toExecutorKernel(const HostKernelInfo &Info, uint64_t Entry);

StringRef getHostStrategyName(HostStrategy S);
StringRef getHostFinishName(HostFinish F);
Expected<HostStrategy> parseHostStrategy(StringRef Name);
Expected<HostFinish> parseHostFinish(StringRef Name);

/// Lowers \p Kernel. Converts \p M, which may contain other kernels, to a host
/// module with only the kernel's entry function and its callees.
Expected<HostKernelInfo> lowerKernelForHost(Module &M, StringRef Kernel,
                                            const HostOptions &Options);

/// Lowers, finishes and emits. DeviceImage::HostInfo is the HostKernelInfo.
/// \param Assembly  receives the code of the object as assembly; may be null.
Expected<DeviceImage> compileKernelForHost(Module &M, StringRef Kernel,
                                           const HostOptions &Options,
                                           std::string *Assembly = nullptr);

/// Returns the HostKernelInfo of an image from compileKernelForHost.
const HostKernelInfo &getHostKernelInfo(const DeviceImage &Image);
/// Sets the HostKernelInfo of an image.
void setHostKernelInfo(DeviceImage &Image, HostKernelInfo Info);

json::Value toJSON(const HostKernelInfo &Info);
bool fromJSON(const json::Value &V, HostKernelInfo &Info, json::Path P);

/// A variable of a module in device memory (mutable or visible to the host), as
/// opposed to constants that stay in the image.
struct HostVariable {
  std::string Name;
  uint64_t Size = 0;
  uint64_t Alignment = 1;
  bool Constant = false; ///< __constant__
};
/// Returns all such variables of \p M.
std::vector<HostVariable> findHostVariables(const Module &M);
/// Returns those that \p Kernel can reach.
std::vector<std::string> findReachedVariables(const Module &M,
                                              StringRef Kernel);

/// Evaluates the initializer of each variable, once all variables have
/// addresses. \p AddressOf returns 0 for unknown names.
/// \returns contents in the order of findHostVariables.
Expected<std::vector<std::string>>
evaluateInitializers(const Module &M,
                     function_ref<uint64_t(StringRef)> AddressOf);

/// A segment of an object linked to fixed addresses, possibly in another
/// process.
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
/// external symbols; if it returns 0 for an unknown one, the Error names it.
Expected<LinkedImage> linkHostObject(MemoryBufferRef Object, StringRef Entry,
                                     uint64_t Base, uint64_t Size,
                                     function_ref<uint64_t(StringRef)> Lookup);

/// Creates the host device of this process.
std::unique_ptr<Device> createHostDevice();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_HOST_HOSTCOMPILER_H
