//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a kernel without an executor, one thread after the other: the IR that
/// the kernel's own IR needs besides, once the CPU's target replaces the GPU's.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_HOST_THREADSUPPORT_H
#define LLVM_MNEME_DEVICE_HOST_THREADSUPPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace llvm {
class Module;
namespace mneme {

/// Symbols of the module that makeThreadSupport() returns.
/// void(const void *Args): runs one thread.
inline constexpr StringLiteral RunThreadSymbol = "run.thread";
/// 12 unsigned numbers: tid, ntid, ctaid, nctaid, each with x, y and z. The
/// program defines them.
inline constexpr StringLiteral RegistersSymbol = "gpu.registers";

/// In the kernel's IR, the prefix of the functions that replace intrinsics: the
/// program renames @llvm.nvvm.X to @nvvm.X.
inline constexpr StringLiteral IntrinsicPrefix = "nvvm.";

/// Returns the text of a module without a target. It defines, for one thread at
/// a time, NVPTX's intrinsics that \p Sides use, under their new names, shared
/// memory of dynamic size, and a function that calls \p Kernel with arguments
/// in memory. Fails with the reason if a side needs more: threads that wait for
/// others, or a service of the GPU's runtime.
/// \param Sides    compilations of one kernel, in one context.
/// \param Offsets  of the parameters in the memory of the arguments.
/// \param DynamicShared  bytes.
Expected<std::string> makeThreadSupport(ArrayRef<Module *> Sides,
                                        StringRef Kernel,
                                        ArrayRef<uint64_t> Offsets,
                                        uint64_t DynamicShared);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_HOST_THREADSUPPORT_H
