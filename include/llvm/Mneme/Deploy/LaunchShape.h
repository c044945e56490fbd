//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides from the IR whether a kernel may be launched with other thread
/// blocks.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_LAUNCHSHAPE_H
#define LLVM_MNEME_DEPLOY_LAUNCHSHAPE_H

#include "llvm/Support/Error.h"
#include <set>
#include <string>
#include <utility>

namespace llvm {
class Module;
class StringRef;
namespace mneme {
class ReplayPlan;

/// The special registers that describe a launch.
enum class LaunchRegister {
  ThreadIndex, ///< threadIdx
  BlockIndex,  ///< blockIdx
  BlockSize,   ///< blockDim
  GridSize,    ///< gridDim
};

/// Returns the registers and axes that a module for NVIDIA GPUs reads.
std::set<std::pair<LaunchRegister, unsigned>>
findLaunchRegisters(const Module &M);

/// Returns an empty string if the results of \p Kernel depend on the launch
/// only through the number of threads along each axis, provided that this
/// number is below 2^31 and that threads do not race: it uses only
/// blockIdx * blockDim + threadIdx and gridDim * blockDim, no shared memory,
/// barrier or other communication in a block or warp, and no atomics whose
/// results depend on their order. Otherwise returns the reason. Simplifies
/// \p M, which should have no other kernels.
std::string findShapeDependence(Module &M, StringRef Kernel);

/// Returns why another shape of the launch is not proven to give the same
/// results; empty if it is. Analyzes the plan's IR in another process; fails if
/// that does.
Expected<std::string> explainShapeDependence(const ReplayPlan &Plan);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_LAUNCHSHAPE_H
