//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints tables with aligned columns.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_TEXTTABLE_H
#define LLVM_MNEME_SUPPORT_TEXTTABLE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Returns the width of lines on standard output or standard error: that of its
/// terminal; 120 for a file or pipe.
size_t getLineWidth(bool OnStandardError);

/// Returns \p Text with at most \p Width characters: the first and the last
/// ones, and dots between them. \p Width is at least 4.
std::string shorten(StringRef Text, size_t Width);

/// A table whose columns are as wide as their widest cell.
class TextTable {
public:
  using Row = SmallVector<std::string, 8>;
  explicit TextTable(Row Heads) { Rows.push_back(std::move(Heads)); }
  /// \p R must have one cell per column.
  void add(Row R) { Rows.push_back(std::move(R)); }
  /// Colors a cell of the last row, if the stream supports colors.
  void color(unsigned Column, raw_ostream::Colors C) {
    Colors[{Rows.size() - 1, Column}] = C;
  }
  /// Shortens the cells of the first column in their middle, so that a line has
  /// at most \p Columns characters. Keeps 24 characters of each cell.
  void fit(size_t Columns);
  bool empty() const { return Rows.size() == 1; }
  /// \param Sides  'r' for each right-aligned column, 'l' for the others.
  void print(raw_ostream &OS, StringRef Sides) const;

private:
  /// Returns the width of each column.
  SmallVector<size_t, 8> measure() const;

  std::vector<Row> Rows;
  std::map<std::pair<size_t, unsigned>, raw_ostream::Colors> Colors;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_TEXTTABLE_H
