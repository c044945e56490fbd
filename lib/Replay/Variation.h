//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds what several outcomes of the same launch have in common: the size of
/// their errors, or records that only change their order.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_VARIATION_H
#define LLVM_MNEME_LIB_REPLAY_VARIATION_H

#include "llvm/Mneme/Replay/Envelope.h"

namespace llvm {
namespace mneme {

/// The outcomes of one part. The first one is the recorded outcome.
struct PartOutcomes {
  uint32_t Buffer = 0;                ///< BufferReport::Id.
  uint32_t DType = MNEME_DTYPE_BYTES; ///< Of its elements, if known.
  uint32_t Stride =
      0; ///< Bytes with which the kernel addresses it; 0: unknown.
  /// The replays run other code than the recorded launch, and the IR permits it
  /// to round differently.
  bool MayRound = false;
  std::vector<ArrayRef<char>> All; ///< Of equal size; empty: never varies.
};

/// A 4-byte or 8-byte number that the launch changed to the same value in all
/// outcomes, so that it may be a counter.
struct CounterCandidate {
  UnorderedRecords::CounterPlace Place;
  uint64_t Value;
};

/// Refines \p Plan by the rules that explain all outcomes.
/// \param Outcomes  parallel to the parts of \p Plan.
/// \param[out] Variations  one per part that varies; Name is not set.
void explainOutcomes(ComparePlan &Plan, ArrayRef<PartOutcomes> Outcomes,
                     ArrayRef<CounterCandidate> Counters,
                     std::vector<BufferVariation> &Variations);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_VARIATION_H
