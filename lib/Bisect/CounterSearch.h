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

/// Searches for the rewrite of a pass execution that makes a configuration bad.
/// Uses LLVM's debug counters: with -debug-counter=NAME=CHUNKS, only the
/// queries with these counts succeed. Counters count queries of the whole
/// compilation. The search varies the counts of one execution and lets all
/// others succeed.
class CounterSearch {
public:
  /// \param Bad      a bad configuration that runs the execution.
  /// \param Listing  pass executions of \p Bad, with PassExecution::Counters.
  CounterSearch(Questions &Q, const json::Object &Bad,
                const PassListing &Listing)
      : Q(Q), BadConfig(Bad), Listing(Listing) {}

  /// Returns the rewrite; BlamedRewrite::Missing is the reason if none was
  /// found. Fails if the judge does.
  Expected<BlamedRewrite> run(const PassExecution &E);

private:
  Questions &Q;
  const json::Object &BadConfig;
  const PassListing &Listing;
  CounterRange Range; ///< The queries of the execution.
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
