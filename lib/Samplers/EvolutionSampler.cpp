//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "evolution", for spaces with sequences and permutations of
/// passes. It makes children with the space's own mutation and crossover, which
/// can insert, remove, swap and splice elements. Long sequences are not
/// penalized.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned NumStart = 20;
static constexpr unsigned PopulationSize = 30;
static constexpr unsigned TournamentSize = 3;
/// Share of children with two parents, and share of points without any.
static constexpr double CrossoverShare = 0.4;
static constexpr double ImmigrantShare = 0.1;
/// Probability that another mutation step follows a step.
static constexpr double NextStepShare = 0.4;
/// Number of duplicates that halves the interest in a member.
static constexpr double HalvingDuplicates = 8;

namespace {
class EvolutionSampler : public PopulationSampler {
public:
  explicit EvolutionSampler(const SamplerContext &Context)
      : PopulationSampler(Context, NumStart) {}

private:
  struct Member {
    const Point *P;
    /// Number of other points with the same code. Many of them mean a flat
    /// neighbourhood.
    unsigned Duplicates;
  };
  std::vector<Member> Population;

  bool choosePopulation(const Observations &History) override;
  std::optional<Point> makeChild(RandomEngine &Random) const override;
  const Point &select(RandomEngine &Random) const;
};
} // namespace

/// Selects the best trials of the history, best first, each code once.
bool EvolutionSampler::choosePopulation(const Observations &History) {
  DenseMap<uint64_t, unsigned> Duplicates;
  for (const Observation &O : History.Done)
    if (O.T->DuplicateOf)
      ++Duplicates[*O.T->DuplicateOf];
  Population.clear();
  for (size_t I : History.ranked()) {
    const Trial &T = *History.Done[I].T;
    Population.push_back({&T.P, Duplicates.lookup(T.Number)});
    if (Population.size() == PopulationSize)
      break;
  }
  return !Population.empty();
}

const Point &EvolutionSampler::select(RandomEngine &Random) const {
  size_t Winner = randomBelow(Random, Population.size());
  for (unsigned K = 1; K != TournamentSize; ++K) {
    size_t Other = randomBelow(Random, Population.size());
    double Interest = HalvingDuplicates /
                      (HalvingDuplicates + Population[Other].Duplicates);
    if (Other < Winner && randomUnit(Random) < Interest)
      Winner = Other;
  }
  return *Population[Winner].P;
}

std::optional<Point> EvolutionSampler::makeChild(RandomEngine &Random) const {
  if (randomUnit(Random) < ImmigrantShare)
    return Context.Space.sample(Random);
  const Point &Parent = select(Random);
  unsigned Steps = 1;
  while (randomUnit(Random) < NextStepShare)
    ++Steps;
  if (randomUnit(Random) >= CrossoverShare)
    return Context.Space.mutate(Parent, Steps, Random);
  std::optional<Point> Child =
      Context.Space.crossover(Parent, select(Random), Random);
  // Half of the children of two parents are not mutated.
  if (!Child || randomUnit(Random) < 0.5)
    return Child;
  return Context.Space.mutate(*Child, 1, Random);
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createEvolutionSampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<EvolutionSampler>(Context);
}
} // namespace mneme
} // namespace llvm
