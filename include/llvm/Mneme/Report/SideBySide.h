//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shows the code of two compilations of one kernel next to each other.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPORT_SIDEBYSIDE_H
#define LLVM_MNEME_REPORT_SIDEBYSIDE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/Error.h"
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
namespace mneme {

/// One form of the code on one side.
struct ShownCode {
  std::string Text;
  std::string Missing; ///< Why there is no text; else empty.
  uint64_t Instructions = 0;
};

/// One form of the code on both sides.
struct CodePair {
  std::string Title, Id; ///< "optimized IR", "ir"
  /// Regular expression for names whose numbers do not count: lines that differ
  /// only in these correspond to each other.
  std::string NumberedNames;
  std::array<ShownCode, 2> Sides; ///< Good, bad.
};

/// The comparison of two sides.
struct SideBySide {
  std::string Kernel;
  std::vector<std::string> Facts;   ///< Recording, launch, device.
  std::string Outcome;              ///< In words.
  std::array<std::string, 2> Names; ///< Good, bad: pipeline or options.
  /// Metrics of Config/Metrics.def.
  std::array<StringMap<double>, 2> Metrics;
  /// Time of the bad side by that of the good side, if measured.
  std::optional<RatioEstimate> TimeRatio;
  std::vector<CodePair> Code;
};

/// Prints metrics, then the code in two columns. Markers between them: '|' for
/// changed lines, '<' and '>' for lines of one side, '~' for lines that differ
/// only in the numbers of names.
/// \param Width  of the terminal in characters.
void printSideBySide(raw_ostream &OS, const SideBySide &S, unsigned Width);

/// Writes the same as a self-contained HTML page.
Error writeSideBySidePage(const SideBySide &S, StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPORT_SIDEBYSIDE_H
