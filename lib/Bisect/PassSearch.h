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

/// As --threshold has it, rounded up: "7%".
std::string printThreshold(double Share);

/// One search for the pass executions that make a configuration bad.
class PassSearch {
public:
  /// \param Good  the good side, which J knows.
  /// \param Bad   chooses no passes itself.
  /// \param Half  is searched first.
  PassSearch(Questions &Q, const BisectSubject &Subject,
             const json::Object &Good, const json::Object &Bad, FaultyHalf Half,
             BisectDepth Depth)
      : Q(Q), J(Q.judge()), Subject(Subject), GoodConfig(Good), BadConfig(Bad),
        Half(Half), Depth(Depth) {}

  /// Searches the executions first that the good side's pipeline does not have.
  void comparePipelines() { GoodHasPipeline = true; }

  /// Found: PassAnswer::HealedConfig or SpoiledConfig is set. Error: the
  /// judge's, or passes cannot be listed.
  Error run();

  PassAnswer &answer() { return Out; }
  const PassListing &listing() const { return Listing; }
  /// What it is when nothing runs of what was searched.
  Answer withoutAny() const { return WithoutScope; }
  /// Is nothing of what was found of the half that was searched first?
  bool isOfOtherHalf() const;

  /// The bad side, only these executions of the scope run.
  json::Object withRun(const BitVector &Run) const;
  json::Object withSkip(const BitVector &Skip) const;
  /// As a set of this search.
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
  BitVector All;        ///< Numbers that there are.
  BitVector InHalf;     ///< Those of the half; all, if there is none.
  BitVector Scope;      ///< Those that may be skipped here; the rest runs.
  BitVector Candidates; ///< Those of Scope that changed something.
  Answer WithoutScope = Answer::Unresolved;
  /// What helped most of what is not good, and how bad it is without that.
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

  // Where it is good if nothing runs.
  Error searchPrefix();
  Expected<Boundary> findFirstBad(ArrayRef<unsigned> Ends,
                                  const BitVector &Skipped);
  Expected<std::optional<BitVector>> findSkipSet(BitVector Skip);
  Expected<std::optional<BitVector>> findCause();
  Error preferFacts();
  void noteBehind(FailureKind Failure, StringRef Spec);
  void usePrefix(const BitVector &First, unsigned Last);
  void useSkipSet(const BitVector &Skip);
  Error findRunSet(const BitVector &First, unsigned Last);
  Error searchSets(const BitVector &First, unsigned Last);

  // Where it is not.
  Error climb();
  Expected<std::vector<BitVector>> addSubstitutes(ArrayRef<BitVector> Groups,
                                                  const BitVector &Skip);
  Error useBest();
  double badness(const json::Object &Config) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_PASSSEARCH_H
