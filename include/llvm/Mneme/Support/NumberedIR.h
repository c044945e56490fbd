//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares textual IR, in which the numbers of metadata nodes ("!6") and
/// attribute groups ("#1") mean something else in each module.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_NUMBEREDIR_H
#define LLVM_MNEME_SUPPORT_NUMBEREDIR_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <utility>

namespace llvm {
namespace mneme {

/// A metadata node ('!') or an attribute group ('#').
using IRNumber = std::pair<char, unsigned>;

/// Two modules with joint numbers: equal numbers have equal definitions.
struct JointIR {
  std::string Before, After; ///< Texts without the definitions.
  /// Definitions of both modules: "!6 = !{!7}". They may follow either text or
  /// any mixture of the texts' lines.
  std::map<IRNumber, std::string> Definitions;

  /// Returns the definitions as lines of IR.
  std::string printDefinitions() const;
};

/// Numbers \p After jointly with \p Before, whose numbers remain.
JointIR numberJointly(StringRef Before, StringRef After);

/// As makeDiff(), for parts of the texts of \p Joint. Appends the definitions
/// of the nodes and groups that a change adds or removes.
/// \param RenumberedValues  lines that differ only in the numbers of values are
/// the same, as in makeCodeDiff().
std::string makeIRDiff(const JointIR &Joint, StringRef Before, StringRef After,
                       bool RenumberedValues, unsigned Context = 3);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_NUMBEREDIR_H
