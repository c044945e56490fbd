//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/MinimizeSet.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

using namespace llvm;
using namespace llvm::mneme;

/// Divides \p Kept into \p Chunks parts of about equal size. \returns for each
/// part the set \p Kept without that part.
static std::vector<BitVector> makeComplements(const BitVector &Kept,
                                              size_t Chunks) {
  SmallVector<unsigned> Elements(Kept.set_bits());
  std::vector<BitVector> Sets(Chunks, Kept);
  for (size_t I = 0; I != Elements.size(); ++I)
    Sets[I * Chunks / Elements.size()].reset(Elements[I]);
  return Sets;
}

Expected<BitVector> mneme::minimizeSet(size_t Size, FirstPassingFn Test) {
  BitVector Kept(Size, true);
  // With one chunk, the first test is of the empty set.
  size_t Chunks = 1;
  while (Kept.any()) {
    std::vector<BitVector> Sets = makeComplements(Kept, Chunks);
    Expected<std::optional<size_t>> Passing = Test(Sets);
    if (!Passing)
      return Passing.takeError();
    size_t Count = Kept.count();
    if (*Passing) {
      Kept = Sets[**Passing];
      Chunks = std::min<size_t>(std::max<size_t>(Chunks - 1, 2), Kept.count());
    } else if (Chunks == Count) {
      break;
    } else {
      Chunks = std::min<size_t>(Chunks * 2, Count);
    }
  }
  return Kept;
}
