//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace llvm::mneme;

size_t mneme::getLineWidth(bool OnStandardError) {
  size_t Width = OnStandardError ? sys::Process::StandardErrColumns()
                                 : sys::Process::StandardOutColumns();
  return Width ? Width : 120;
}

SmallVector<size_t, 8> TextTable::measure() const {
  SmallVector<size_t, 8> Widths(Rows[0].size(), 0);
  for (const Row &R : Rows)
    for (auto [Width, Cell] : zip_equal(Widths, R))
      Width = std::max(Width, Cell.size());
  return Widths;
}

std::string mneme::shorten(StringRef Text, size_t Width) {
  constexpr StringLiteral Dots = "...";
  if (Text.size() <= Width)
    return Text.str();
  size_t Tail = (Width - Dots.size()) / 2;
  return (Text.take_front(Width - Dots.size() - Tail) + Dots +
          Text.take_back(Tail))
      .str();
}

void TextTable::fit(size_t Columns) {
  constexpr size_t Kept = 24;
  SmallVector<size_t, 8> Widths = measure();
  size_t Others = 0;
  for (size_t Width : drop_begin(Widths))
    Others += 2 + Width;
  size_t First = std::max(Kept, Columns - std::min(Columns, Others));
  for (Row &R : Rows)
    R.front() = shorten(R.front(), First);
}

void TextTable::print(raw_ostream &OS, StringRef Sides) const {
  SmallVector<size_t, 8> Widths = measure();
  for (auto [I, R] : enumerate(Rows)) {
    // Omit empty cells at the end of a line.
    size_t Last = R.size();
    while (Last > 1 && R[Last - 1].empty())
      --Last;
    for (size_t C = 0; C != Last; ++C) {
      std::string Space(Widths[C] - R[C].size(), ' ');
      if (Sides[C] == 'r')
        OS << Space;
      auto Found = Colors.find({I, C});
      if (Found == Colors.end())
        OS << R[C];
      else
        WithColor(OS, Found->second) << R[C];
      if (C + 1 != Last)
        OS << (Sides[C] == 'r' ? "" : Space) << "  ";
    }
    OS << '\n';
  }
}
