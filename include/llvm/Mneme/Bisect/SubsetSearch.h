//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Searches for the cause of a bad result by testing parts of it. The
/// algorithms are independent of the kind of parts.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_SUBSETSEARCH_H
#define LLVM_MNEME_BISECT_SUBSETSEARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace llvm {
namespace mneme {

/// The result of a test.
enum class Answer {
  Good,
  Bad,
  Unresolved, ///< The test failed for another reason.
};
StringRef getAnswerName(Answer A); ///< "good", ...

/// Returns the answers for all positions or sets, in order. They may be tested
/// in parallel.
using AskPositionsFn =
    function_ref<Expected<std::vector<Answer>>(ArrayRef<size_t>)>;
using AskSetsFn =
    function_ref<Expected<std::vector<Answer>>(ArrayRef<BitVector>)>;

/// The boundary between good and bad. All positions in between are unresolved.
struct Boundary {
  size_t LastGood = 0, FirstBad = 0;
};

/// Finds a boundary between position 0, which is good, and \p Last, which is
/// bad; if there are several, one of the first. Tests \p Width positions at
/// once, which divides the range by Width + 1. Avoids unresolved positions as
/// long as possible.
Expected<Boundary> findBoundary(size_t Last, unsigned Width,
                                AskPositionsFn Ask);

/// Finds the first of \p Sets with the answer \p Wanted, testing batches of
/// \p Width sets. The result does not depend on Width.
Expected<std::optional<size_t>> findFirst(ArrayRef<BitVector> Sets,
                                          Answer Wanted, unsigned Width,
                                          AskSetsFn Ask);

/// Returns a minimal subset of \p Start with the answer \p Wanted, which Start
/// also has: no element can be removed. Adds all of \p Always to each tested
/// set.
Expected<BitVector> minimize(const BitVector &Start, const BitVector &Always,
                             Answer Wanted, unsigned Width, AskSetsFn Ask);

/// Returns contiguous parts of \p All: halves, quarters, ..., finally single
/// elements. Does not include All itself.
std::vector<BitVector> makeChunks(const BitVector &All);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_SUBSETSEARCH_H
