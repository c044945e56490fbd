//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Detects code that cannot be replayed from a recording of memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_OBSTACLES_H
#define LLVM_MNEME_LIB_LAUNCH_OBSTACLES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

/// The obstacle of kernels that call through pointers from before the launch.
inline constexpr StringLiteral CallsFromMemory =
    "its code calls functions whose addresses are in memory";

/// \returns the reason why launches of \p Kernel in an extracted module cannot
/// be replayed; usually empty. If there are calls through pointers, it takes as
/// long as an optimization pipeline.
/// \param ForHost The launches are on the host device.
/// \param Handles Receives the parameters that are handles of textures and
/// surfaces, unless \p ForHost.
std::string findObstacle(const Module &M, StringRef Kernel, bool ForHost,
                         std::vector<::mneme::HandleParameter> &Handles);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_OBSTACLES_H
