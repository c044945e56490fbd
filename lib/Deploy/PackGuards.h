//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H
#define LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H

#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Deploy/PackWinner.h"

namespace llvm {
class Function;
class Module;
namespace mneme {
struct CompiledKernel;
struct CompileOptions;
struct KernelConfig;

/// Sets the launch, its grade, the guards and the number of threads per block
/// of the winner. Fails with a PackRefusal if \p O does not admit the grade.
Error addGuards(const ReplayPlan &Plan, const MeasuredWinner &Winner,
                const PackOptions &O, PackagedVariant &V);

/// Sets the number of threads per block that the attributes of a kernel admit,
/// and the guards of a required block. Fails with a PackRefusal if they do not
/// admit \p Block, with which the variant was measured or is launched.
Error limitThreads(const Function &Kernel, std::optional<Dim3> Block,
                   PackagedVariant &V);

/// A recorded launch and the variant that serves it.
struct ServedLaunch {
  const ReplayPlan *Plan;
  PackagedVariant Variant;
};

/// Unless all launches are to be served, adds soft guards for the integer
/// arguments of one launch that differ in \p All and have no guard.
void addOwnArguments(const ReplayPlan &Own, ArrayRef<const ReplayPlan *> All,
                     const PackOptions &O, PackagedVariant &V);

/// If several launches are served by the same code, adds a variant to \p K for
/// those between them: the soft guards admit the ranges of the grid, the block,
/// the shared memory and the integer arguments that differ.
void addBetween(ArrayRef<ServedLaunch> Launches, PackagedKernel &K);

/// Fails with a PackRefusal if the kernel uses a variable that can change: an
/// image for a GPU has a copy of its own.
Error checkVariables(const Module &M);

/// Returns true if the code is for the values of the recorded launch only.
bool isSpecialized(const KernelConfig &C);

/// Returns true if the code depends on the recorded launch: it is specialized,
/// or has launch bounds from the block.
bool needsLaunch(const KernelConfig &C);

/// Returns the pass of a pipeline that specializes or initializes the code, for
/// which no guards are known; empty if there is none.
StringRef findUnguardedPass(StringRef Pipeline);

/// Copies the properties of an image.
void describeImage(const CompiledKernel &Code, bool OnHost, PackagedVariant &V);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H
