//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace llvm::mneme;

void TextTable::print(raw_ostream &OS, StringRef Sides) const {
  SmallVector<size_t, 8> Widths(Rows[0].size(), 0);
  for (const Row &R : Rows)
    for (auto [Width, Cell] : zip_equal(Widths, R))
      Width = std::max(Width, Cell.size());
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
