//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Guards against versions of a kernel that deceive their evaluator, in the IR.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_GUARDS_H
#define LLVM_MNEME_SOURCE_GUARDS_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

/// What guards found in a version that the recorded kernel lacks.
struct GuardFindings {
  /// Reasons to reject the version: it can reach memory or code other than its
  /// own.
  std::vector<std::string> Refusals;
  /// Reasons not to trust its results: it can tell launches apart.
  std::vector<std::string> Suspicions;
};

/// The suspicion of code that depends on which threads of a warp run together.
/// It does not hold once such code was tested (HostSchedule::Splits).
inline constexpr StringLiteral ActiveMaskSuspicion =
    "it calls 'llvm.nvvm.activemask'";

/// Compares the module of a version of a kernel with that of the recorded one.
/// Both contain only the kernel and what it needs.
GuardFindings findGuarded(const Module &Version, const Module &Recorded);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_GUARDS_H
