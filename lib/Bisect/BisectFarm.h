//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The farm of a bisection.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_BISECTFARM_H
#define LLVM_MNEME_LIB_BISECT_BISECTFARM_H

#include "llvm/Mneme/Bisect/ReplayBisect.h"

namespace llvm {
namespace mneme {

/// Returns the options of a farm for the launch of \p Plan.
FarmOptions makeFarmOptions(const ReplayPlan &Plan,
                            const ReplayBisectOptions &O);

/// Starts the farm. Fails if the launch is vacuous and verdicts decide, unless
/// the options allow it.
Expected<std::unique_ptr<ReplayFarm>> startFarm(const ReplayPlan &Plan,
                                                const ReplayBisectOptions &O);

/// Returns true if the kernel runs on the host device. Valid after the first
/// replay.
bool isOnHost(const Evaluator &E);

/// Returns "cuda:0 (NVIDIA H200)", or a text that says that \p What needs no
/// launch.
std::string describeDevice(const Evaluator &E, const Criterion &What);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_BISECTFARM_H
