//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// "evolution": for spaces with sequences and permutations of passes. Children
/// are made with the space's own mutation and crossover, which know how to
/// insert, remove, swap and splice. Length costs nothing.
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
/// Of the children this share has two parents; of all points this share none.
static constexpr double CrossoverShare = 0.4;
static constexpr double ImmigrantShare = 0.1;
/// After one step of a mutation another one follows that often.
static constexpr double NextStepShare = 0.4;
/// So many points with the code of a member halve the interest in it.
static constexpr double HalvingDuplicates = 8;

namespace {
class EvolutionSampler : public PopulationSampler {
public:
  explicit EvolutionSampler(const SamplerContext &Context)
      : PopulationSampler(Context, NumStart) {}

private:
  struct Member {
    const Point *P;
    /// How many other points have the same code: its surroundings are flat.
    unsigned Duplicates;
  };
  std::vector<Member> Population;

  bool choosePopulation(const Observations &History) override;
  std::optional<Point> makeChild(RandomEngine &Random) const override;
  const Point &select(RandomEngine &Random) const;
};
} // namespace

/// The best ones of the history, the best first, each code once.
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
  // Half of these children are as their parents made them.
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
