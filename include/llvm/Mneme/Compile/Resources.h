//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the resource usage of a kernel from its machine code.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_RESOURCES_H
#define LLVM_MNEME_COMPILE_RESOURCES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>

namespace llvm {
namespace mneme {

/// Sizes are in bytes; values that the target does not have or report are
/// unset.
struct KernelResources {
  /// Per thread (AMDGPU: vector registers).
  std::optional<uint64_t> Registers;
  std::optional<uint64_t> ScalarRegisters; ///< AMDGPU, per wave.
  std::optional<uint64_t> AccumRegisters;  ///< AMDGPU AGPRs.
  std::optional<uint64_t> SpillStores; ///< Bytes (NVPTX) or registers (AMDGPU).
  std::optional<uint64_t> SpillLoads;  ///< NVPTX.
  std::optional<uint64_t> ScalarSpills; ///< AMDGPU, registers.
  std::optional<uint64_t> Local;        ///< Stack frame or scratch memory per
                                        ///< thread.
  std::optional<uint64_t> Shared;   ///< Static shared memory or LDS per block.
  std::optional<uint64_t> Constant; ///< The module's constant variables.
  std::optional<uint64_t> Params;   ///< Parameters.
  std::optional<uint64_t> Barriers; ///< NVPTX.
  std::optional<uint64_t> CodeSize; ///< Machine code of the kernel.
  /// Limit of threads per block in the image, if any.
  std::optional<uint64_t> MaxThreads;
  std::optional<uint64_t> WaveSize; ///< AMDGPU, lanes.
};

/// Reads the resources of \p Kernel from an ELF image: a cubin, or an AMDGPU
/// object or code object. Fails if the image is damaged or lacks the kernel.
Expected<KernelResources> readResources(StringRef Image, StringRef Kernel);

/// Adds the data on \p Kernel that only `ptxas -v` prints (spills).
void readPtxasLog(StringRef Log, StringRef Kernel, KernelResources &R);

json::Value toJSON(const KernelResources &R);
bool fromJSON(const json::Value &V, KernelResources &R, json::Path P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_RESOURCES_H
