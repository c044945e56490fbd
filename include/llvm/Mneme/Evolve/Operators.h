//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Edits of a kernel's source that need no model: a table of operators.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_EVOLVE_OPERATORS_H
#define LLVM_MNEME_EVOLVE_OPERATORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

enum class OperatorEffect { Exact, Rounds, Promises };
StringRef getEffectName(OperatorEffect E); ///< "exact", "rounds", "promises".

struct OperatorInfo {
  StringLiteral Name;
  OperatorEffect Effect;
  StringLiteral Help;
};
ArrayRef<OperatorInfo> getOperators();

/// What operators may assume about the launches.
struct OperatorFacts {
  unsigned BlockThreads = 0; ///< The largest.
  /// Values of the kernel's integer parameters, by position, as text; empty if
  /// they differ or are no integers.
  std::vector<std::string> Arguments;
};

/// One edit of a version: replacements of ranges, from front to back.
struct SourceEditing {
  struct Replacement {
    size_t Begin, End;
    std::string Text;
  };
  unsigned Operator = 0;   ///< Index of getOperators().
  std::string Description; ///< "unroll by 4: line 12".
  std::vector<Replacement> Parts;

  std::string apply(StringRef Version) const;
};

/// Returns all edits of the text between the marker lines. \p Allowed names the
/// operators; empty: all.
std::vector<SourceEditing> findEdits(StringRef Version,
                                     const OperatorFacts &Facts,
                                     ArrayRef<std::string> Allowed);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_EVOLVE_OPERATORS_H
