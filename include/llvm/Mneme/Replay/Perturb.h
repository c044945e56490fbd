//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recorded launches with other inputs: a candidate that was made for the
/// recorded ones fails on them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_PERTURB_H
#define LLVM_MNEME_REPLAY_PERTURB_H

#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// Writes a recording of the launch of \p Plan, a plan of the recorded IR, to
/// the folder \p Dir. The elements of each buffer that the kernel accesses only
/// as floating-point numbers are in another order, which \p Seed decides. The
/// outcome is what the recorded code computes on the plan's device.
/// \returns the kernel's file. Fails if there is no such buffer, or if the
/// recorded code fails on these inputs.
Expected<std::string> writePerturbed(const ReplayPlan &Plan, StringRef Dir,
                                     uint64_t Seed);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_PERTURB_H
