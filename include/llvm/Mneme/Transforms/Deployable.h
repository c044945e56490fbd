//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-deployable: makes an image of its own use the variables of
/// the application, so that it can be launched instead of the application's
/// kernel.
///
/// * Variables in global memory: the image has their addresses in the array
///   VariableSlots, in constant memory, which the loader fills. The definitions
///   are removed.
/// * __constant__ variables: the image keeps its own, which the loader updates
///   from the application's. Their code stays as it was.
/// * Constants, and variables that nothing writes, belong to the image.
///
/// The order of the slots is in the named metadata VariableSlotsMetadata: name
/// and size in bytes of each variable.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_DEPLOYABLE_H
#define LLVM_MNEME_TRANSFORMS_DEPLOYABLE_H

#include "llvm/IR/PassManager.h"
#include "llvm/Mneme/Runtime/PackageFormat.h"
#include <string>
#include <vector>

namespace llvm {
class PassBuilder;
namespace mneme {

/// Name of an image's array of addresses of 8 bytes each.
inline constexpr StringLiteral VariableSlots = MNEME_VARIABLE_SLOTS;
inline constexpr StringLiteral VariableSlotsMetadata = "mneme.slots";

/// A variable of the application.
struct SharedVariable {
  std::string Name;
  uint64_t Size = 0; ///< Bytes.
};

/// Returns true for the objects that clang's and HIP's headers have for special
/// registers. Only a 'this' that is never used has their address.
bool isSpecialRegister(const GlobalVariable &G);

/// Returns why mneme-deployable cannot be applied to the module of an extracted
/// kernel; empty if it can.
std::string findUndeployable(const Module &M);

/// Return the variables in \p M: those with slots, in the slots' order, and
/// those that the image has a copy of. The latter are known only before a
/// pipeline removes unused ones.
std::vector<SharedVariable> getVariableSlots(const Module &M);
std::vector<SharedVariable> getVariableCopies(const Module &M);

/// Fills the slots of an optimized module with the variables themselves, for
/// the host device, whose images share the application's variables.
void resolveVariableSlots(Module &M);

/// Does nothing to modules that findUndeployable() objects to.
class DeployablePass : public PassInfoMixin<DeployablePass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

/// Registers "mneme-deployable" in \p PB.
void registerDeployablePass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_DEPLOYABLE_H
