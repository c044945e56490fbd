//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

void TextTable::print(raw_ostream &OS, StringRef Sides) const {
  SmallVector<size_t, 8> Widths(Rows[0].size(), 0);
  for (const Row &R : Rows)
    for (auto [Width, Cell] : zip_equal(Widths, R))
      Width = std::max(Width, Cell.size());
  for (const Row &R : Rows) {
    std::string Line;
    for (auto [Cell, Width, Side] : zip_equal(R, Widths, Sides)) {
      std::string Space(Width - Cell.size(), ' ');
      Line += Side == 'r' ? Space + Cell : Cell + Space;
      Line += "  ";
    }
    OS << StringRef(Line).rtrim() << '\n';
  }
}
