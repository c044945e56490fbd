//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Resources of a machine for a farm: GPUs, cores, memory.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_FARMRESOURCES_H
#define LLVM_MNEME_LIB_FARM_FARMRESOURCES_H

#include "llvm/Mneme/Farm/ReplayFarm.h"

namespace llvm {
namespace mneme {

/// Chooses the devices, cores and compile processes of a farm. Sets \p IsGPU if
/// the devices are GPUs and not the host. Error: the devices cannot be
/// combined.
Expected<FarmConfig> makeFarmConfig(const FarmResources &R,
                                    const ReplayPlan &Plan, bool &IsGPU);

/// \returns one worker's share of \p GPUs.
std::vector<std::string> takeShare(ArrayRef<std::string> GPUs,
                                   DeviceShare Share);

/// Cores that this process may use, in order.
std::vector<unsigned> getUsableCores();

/// Divides \p Cores into \p Parts parts of almost equal size.
std::vector<std::vector<unsigned>> divideCores(ArrayRef<unsigned> Cores,
                                               unsigned Parts);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_FARMRESOURCES_H
