//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Searches for what makes something bad, by asking about parts of it. Nothing
/// here knows what the parts are.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_SEARCH_H
#define LLVM_MNEME_BISECT_SEARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace llvm {
namespace mneme {

enum class Answer {
  Good,
  Bad,
  Unresolved, ///< It cannot be told: something else went wrong.
};
StringRef getAnswerName(Answer A); ///< "good", ...

/// Answers of so many questions, in their order. All may be asked at once.
using AskPositionsFn =
    function_ref<Expected<std::vector<Answer>>(ArrayRef<size_t>)>;
using AskSetsFn =
    function_ref<Expected<std::vector<Answer>>(ArrayRef<BitVector>)>;

/// Where good turns bad. All positions between the two are unresolved.
struct Boundary {
  size_t LastGood = 0, FirstBad = 0;
};

/// Finds a place between position 0, which is good, and \p Last, which is bad,
/// where it turns bad; if there are several of them, one of the first. Asks
/// about \p Width positions at once: each time there are Width + 1 times fewer
/// left. Unresolved positions are avoided as long as there are others.
Expected<Boundary> findBoundary(size_t Last, unsigned Width,
                                AskPositionsFn Ask);

/// Finds the first of \p Sets whose answer is \p Wanted, by asking in batches
/// of \p Width. Which one it is does not depend on Width.
Expected<std::optional<size_t>> findFirst(ArrayRef<BitVector> Sets,
                                          Answer Wanted, unsigned Width,
                                          AskSetsFn Ask);

/// The smallest part of \p Start (no element of it can be taken away) whose
/// answer is \p Wanted, as that of Start is. Asks about sets with all of
/// \p Always, too.
Expected<BitVector> minimize(const BitVector &Start, const BitVector &Always,
                             Answer Wanted, unsigned Width, AskSetsFn Ask);

/// Parts of \p All that follow each other: halves, quarters, ..., at last
/// single elements. Not All itself.
std::vector<BitVector> makeChunks(const BitVector &All);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_SEARCH_H
