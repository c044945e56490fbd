//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a kernel needs of the GPU, read from its machine code.
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

/// Sizes are bytes; what a target does not have or say is unset.
struct KernelResources {
  std::optional<uint64_t>
      Registers; ///< Of a thread (AMDGPU: vector registers).
  std::optional<uint64_t> ScalarRegisters; ///< AMDGPU, of a wave.
  std::optional<uint64_t> AccumRegisters;  ///< AMDGPU AGPRs.
  std::optional<uint64_t> SpillStores; ///< Bytes (NVPTX) or registers (AMDGPU).
  std::optional<uint64_t> SpillLoads;  ///< NVPTX.
  std::optional<uint64_t> ScalarSpills; ///< AMDGPU, registers.
  std::optional<uint64_t> Local;        ///< Stack frame or scratch of a thread.
  std::optional<uint64_t> Shared;   ///< Static shared memory or LDS of a block.
  std::optional<uint64_t> Constant; ///< The module's own constant variables.
  std::optional<uint64_t> Params;   ///< Parameters.
  std::optional<uint64_t> Barriers; ///< NVPTX.
  std::optional<uint64_t> CodeSize; ///< Machine code of the kernel.
  std::optional<uint64_t>
      MaxThreads; ///< Of a block, when the image limits them.
};

/// Reads the ELF image of \p Kernel: a cubin, or an AMDGPU object or code
/// object. A damaged image, or one without the kernel, is an Error.
Expected<KernelResources> readResources(StringRef Image, StringRef Kernel);

/// Adds what only `ptxas -v` prints (spills) about \p Kernel.
void readPtxasLog(StringRef Log, StringRef Kernel, KernelResources &R);

json::Value toJSON(const KernelResources &R);
bool fromJSON(const json::Value &V, KernelResources &R, json::Path P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_RESOURCES_H
