//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_COUNTERSEARCH_H
#define LLVM_MNEME_LIB_BISECT_COUNTERSEARCH_H

#include "Questions.h"
#include "llvm/Mneme/Bisect/Bisect.h"

namespace llvm {
namespace mneme {

/// Searches for the rewrite of a pass execution that makes a configuration bad,
/// with LLVM's debug counters: -debug-counter=NAME=CHUNKS lets only the queries
/// with these counts succeed. A counter counts the whole compilation, so that
/// only the counts of the one execution are searched; all others succeed.
class CounterSearch {
public:
  /// \param Bad      a bad configuration in which the execution runs.
  /// \param Listing  of \p Bad, with PassExecution::Counters.
  CounterSearch(Questions &Q, const json::Object &Bad,
                const PassListing &Listing)
      : Q(Q), BadConfig(Bad), Listing(Listing) {}

  /// BlamedRewrite::Missing says why there is no rewrite. Error: the judge's.
  Expected<BlamedRewrite> run(const PassExecution &E);

private:
  Questions &Q;
  const json::Object &BadConfig;
  const PassListing &Listing;
  CounterRange Range; ///< The queries that are searched.
  bool IsLast = true; ///< No later execution queries the counter.

  Expected<std::optional<CounterRange>>
  chooseCounter(ArrayRef<CounterRange> Ranges);
  void setRange(const CounterRange &R);
  std::string printChunks(const BitVector &Counts) const;
  json::Object withCounts(const BitVector &Counts) const;
  Error search(BlamedRewrite &Out);
  Expected<std::optional<BitVector>> minimizeCounts(unsigned Last);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_COUNTERSEARCH_H
