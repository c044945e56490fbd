//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Changed launches of tuned kernels: a device compilation writes the rules to
/// a side file, and the host compilation adds them to the launch stubs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_LAUNCHRULES_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_LAUNCHRULES_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
namespace mneme {

/// Launches with blocks of \c From threads have blocks of \c To threads
/// instead, and as many as have the same threads along each axis. Launches for
/// which there is no such number are unchanged.
struct LaunchRule {
  std::string Kernel; ///< Device symbol.
  uint32_t From[3], To[3];
};

/// Writes the rules of device module \p M, possibly none.
Error writeLaunchRules(const Module &M, const std::vector<LaunchRule> &Rules);

/// Returns the rules that the device compilations of host module \p M wrote.
/// Fails unless all of them wrote the same.
Expected<std::vector<LaunchRule>> takeLaunchRules(const Module &M);

/// Makes launch stub \p Stub follow a rule. Fails if it is not a stub.
Error addLaunchRule(Function &Stub, const LaunchRule &Rule);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_LAUNCHRULES_H
