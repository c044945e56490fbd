//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compares texts line by line.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_LINEDIFF_H
#define LLVM_MNEME_SUPPORT_LINEDIFF_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Splits \p Text at newlines. A trailing newline does not begin another line.
std::vector<StringRef> splitLines(StringRef Text);

/// A line of one or both texts.
struct DiffLine {
  char Kind; ///< ' ': both, '-': only the first, '+': only the second.
  /// Index of the line in each text. For a line of only one text, the other
  /// index is that of the other text's next line.
  size_t A, B;
};

/// Returns all lines (or words) of both texts in order, with as many as
/// possible in common; unset if too many lines differ.
std::optional<std::vector<DiffLine>> compareLines(ArrayRef<StringRef> A,
                                                  ArrayRef<StringRef> B);

/// Returns removed and added lines with \p Context lines around them. If there
/// are too many differences, only reports that the texts differ.
std::string makeDiff(StringRef Before, StringRef After, unsigned Context = 3);

/// The same for code, in which a new value renumbers all later ones: a line
/// that differs only in the numbers of values ("%r12", "!7", "$L__BB0_3") is
/// the same if these values have the same definitions, or if one definition
/// replaces the other. Empty if only numbers differ.
/// \param Sigils  first characters of numbered names.
std::string makeCodeDiff(StringRef Before, StringRef After,
                         unsigned Context = 3, StringRef Sigils = "%!#$");

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_LINEDIFF_H
