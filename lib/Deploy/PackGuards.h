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
class Triple;
namespace mneme {
struct CompiledKernel;
struct CompileOptions;
struct KernelConfig;
struct SpecializeOptions;
struct WinnerLaunch;

/// Returns true if packages have code for a target.
bool isPackageable(const Triple &T);

/// Returns the launch of \p Plan.
WinnerLaunch getLaunch(const ReplayPlan &Plan);

/// Sets the launch, its grade, the guards and the number of threads per block
/// of the winner, the only variant of \p K. Fails with a PackRefusal if \p O
/// does not admit the grade.
Error addGuards(const ReplayPlan &Plan, const MeasuredWinner &Winner,
                const PackOptions &O, PackagedKernel &K);

/// Sets the number of threads per block that the attributes of a kernel admit,
/// and the guards of a required block. Fails with a PackRefusal if they do not
/// admit \p Block, with which the variant was measured or is launched.
Error limitThreads(const Function &Kernel, std::optional<Dim3> Block,
                   PackagedVariant &V);

/// Adds the guards of code that is specialized by \p S: the values of
/// arguments, and the dimensions. \p M is the module before that.
void addSpecialized(const Module &M, StringRef Kernel,
                    const SpecializeOptions &S, const WinnerLaunch &L,
                    ArrayRef<MnemePackageArg> Args, PackagedVariant &V);

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

/// Returns why the kernel's code for a GPU cannot be in a package if it was not
/// compiled with --deployable: it uses a variable that can change, of which an
/// image has its own. Empty if it can.
std::string findOwnVariable(const Module &M);

/// Adds the variables of the application that the code of a preprocessed module
/// uses (Transforms/Deployable.h).
void addVariables(const Module &M, PackagedVariant &V);

/// Returns true if the code is for the values of the recorded launch only.
bool isSpecialized(const KernelConfig &C);

/// Returns true if the code depends on the recorded launch: it is specialized,
/// or has launch bounds from the block.
bool needsLaunch(const KernelConfig &C);

/// Returns what in a configuration may change results for other data than the
/// recorded, as "the pass 'lower-atomic'"; empty if nothing does. \p Pipeline is
/// the whole pipeline.
std::string findMeaningChange(const CompileConfig &C, StringRef Pipeline,
                              bool HasPlugins);

/// Returns a pass of Mneme in a pipeline: no guards are known for any. Empty if
/// there is none. An application judges planted faults, too.
std::string findUnguardedPass(StringRef Pipeline, bool IsJudgedByApp = false);

/// Reads the object \p Key of \p O: three numbers, of at least 1. \returns
/// false if there is none.
bool readDims(const json::Object &O, StringRef Key, Dim3 &D);

/// Copies the properties of an image.
void describeImage(const CompiledKernel &Code, bool OnHost, PackagedVariant &V);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H
