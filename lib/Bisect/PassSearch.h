//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_PASSSEARCH_H
#define LLVM_MNEME_LIB_BISECT_PASSSEARCH_H

#include "Questions.h"
#include "llvm/Mneme/Bisect/Bisect.h"
#include <cmath>

namespace llvm {
namespace mneme {

/// Prints a share in the syntax of --threshold, rounded up: "7%".
std::string printThreshold(double Share);

/// One search for the pass executions that make a configuration bad.
class PassSearch {
public:
  /// \param Good  the good side; \p Q's judge knows its result.
  /// \param Bad   the bad side; selects no passes itself.
  /// \param Half  the half to search first.
  PassSearch(Questions &Q, const BisectSubject &Subject,
             const json::Object &Good, const json::Object &Bad, FaultyHalf Half,
             BisectDepth Depth)
      : Q(Q), J(Q.judge()), Subject(Subject), GoodConfig(Good), BadConfig(Bad),
        Half(Half), Depth(Depth) {}

  /// Makes run() first search the executions that only one of the two pipelines
  /// has.
  void comparePipelines() { GoodHasPipeline = true; }

  /// Runs the search. If it succeeds, PassAnswer::HealedConfig or SpoiledConfig
  /// is set. Fails if the judge does, or passes cannot be listed.
  Error run();

  PassAnswer &answer() { return Out; }
  const PassListing &listing() const { return Listing; }
  /// Returns the answer with all searched executions skipped.
  Answer withoutAny() const { return WithoutScope; }
  /// Returns true if no member of the answer belongs to the half that was
  /// searched first.
  bool isOfOtherHalf() const;

  /// Returns the bad side with only these executions of the scope.
  json::Object withRun(const BitVector &Run) const;
  /// Returns the bad side without these executions.
  json::Object withSkip(const BitVector &Skip) const;
  /// Returns the set of these numbers, as large as the search's other sets.
  BitVector makeSet(ArrayRef<unsigned> Numbers) const;

private:
  Questions &Q;
  Judge &J;
  const BisectSubject &Subject;
  const json::Object &GoodConfig, &BadConfig;
  FaultyHalf Half;
  BisectDepth Depth;
  bool GoodHasPipeline = false;
  PassAnswer Out;
  PassListing Listing;     ///< Of BadConfig.
  PassListing GoodListing; ///< Of GoodConfig, if that has a pipeline.
  BitVector All;           ///< The numbers of all executions.
  BitVector InHalf;     ///< The executions of the half; all if it is unknown.
  BitVector Scope;      ///< The executions to search; all others run.
  BitVector Candidates; ///< The executions of Scope that changed something.
  Answer WithoutScope = Answer::Unresolved;
  /// The set that helps most when skipped, though it is not good, and the
  /// badness without that set.
  BitVector Best;
  double BestBadness = HUGE_VAL;

  Expected<std::vector<Answer>> askRun(ArrayRef<BitVector> Sets);
  Expected<std::vector<Answer>> askSkip(ArrayRef<BitVector> Sets);

  Error listPasses();
  BitVector chooseCandidates(const PassListing &L) const;
  void setScope(BitVector NewScope);
  Error searchAll();
  Error searchScope();
  bool found() const { return Out.HealedConfig || Out.SpoiledConfig; }

  // Two pipelines.
  Error searchDifference();
  Error findMissing(const BitVector &OnlyGood);

  // If it is good without the scope.
  Error searchPrefix();
  Expected<Boundary> findFirstBad(ArrayRef<unsigned> Ends,
                                  const BitVector &Skipped);
  Expected<std::optional<BitVector>> findSkipSet(BitVector Skip);
  Expected<ChangeKind> classify(unsigned Number);
  Expected<bool> changesWithout(unsigned Number, unsigned Skipped);
  Expected<std::optional<BitVector>> findCause(unsigned Last);
  Error preferFacts();
  void noteBehind(FailureKind Failure, StringRef Spec);
  void usePrefix(const BitVector &First, unsigned Last);
  void useSkipSet(const BitVector &Skip);
  void noteRunSet(const BitVector &Set);
  Error findRunSet(const BitVector &First, unsigned Last);
  Error searchSets(const BitVector &First, unsigned Last);

  // If it is not good without the scope.
  Error climb();
  Expected<std::vector<BitVector>> addSubstitutes(ArrayRef<BitVector> Groups,
                                                  const BitVector &Skip);
  Error useBest();
  double badness(const json::Object &Config) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_PASSSEARCH_H
