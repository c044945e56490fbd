//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a machine has for a farm: its GPUs, cores, memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_FARMRESOURCES_H
#define LLVM_MNEME_LIB_FARM_FARMRESOURCES_H

#include "llvm/Mneme/Farm/ReplayFarm.h"

namespace llvm {
namespace mneme {

/// Decides which devices, cores and compile processes a farm has. \p IsGPU:
/// do GPUs run, or does the host? Errors: devices that do not go together.
Expected<FarmConfig> makeFarmConfig(const FarmResources &R,
                                    const ReplayPlan &Plan, bool &IsGPU);

/// One worker's of some GPUs.
std::vector<std::string> takeShare(ArrayRef<std::string> GPUs,
                                   DeviceShare Share);

/// Cores that this process may use, in order.
std::vector<unsigned> getUsableCores();

/// \p Cores in as many parts, as equal as can be.
std::vector<std::vector<unsigned>> divideCores(ArrayRef<unsigned> Cores,
                                               unsigned Parts);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_FARMRESOURCES_H
