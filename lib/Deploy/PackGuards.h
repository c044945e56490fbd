//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H
#define LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H

#include "llvm/Mneme/Deploy/PackWinner.h"

namespace llvm {
namespace mneme {

/// Sets the launch, its grade, the guards and the number of threads per block
/// of the winner. Fails with a PackRefusal if \p O does not admit the grade.
Error addGuards(const ReplayPlan &Plan, const MeasuredWinner &Winner,
                const PackOptions &O, PackagedVariant &V);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_PACKGUARDS_H
