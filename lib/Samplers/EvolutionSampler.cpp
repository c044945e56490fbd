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
static constexpr unsigned MaxTries = 50;

namespace {
class EvolutionSampler : public Sampler {
public:
  explicit EvolutionSampler(const SamplerContext &Context)
      : Sampler(Context), Start(Context, NumStart), Unseen(Context) {}

  Expected<std::vector<Point>> ask(unsigned N) override;

private:
  StartPoints Start;
  UnseenPoints Unseen;

  struct Member {
    const Point *P;
    /// How many other points have the same code: its surroundings are flat.
    unsigned Duplicates;
  };
  std::vector<Member> getPopulation() const;
  const Point &select(ArrayRef<Member> Population, RandomEngine &Random) const;
  std::optional<Point> makeChild(ArrayRef<Member> Population,
                                 RandomEngine &Random) const;
};
} // namespace

/// The best ones of the history, the best first, each code once.
std::vector<EvolutionSampler::Member> EvolutionSampler::getPopulation() const {
  Observations History(Context);
  DenseMap<uint64_t, unsigned> Duplicates;
  for (const Observation &O : History.Done)
    if (O.T->DuplicateOf)
      ++Duplicates[*O.T->DuplicateOf];
  std::vector<Member> Population;
  for (size_t I : History.ranked()) {
    const Trial &T = *History.Done[I].T;
    Population.push_back({&T.P, Duplicates.lookup(T.Number)});
    if (Population.size() == PopulationSize)
      break;
  }
  return Population;
}

const Point &EvolutionSampler::select(ArrayRef<Member> Population,
                                      RandomEngine &Random) const {
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

std::optional<Point> EvolutionSampler::makeChild(ArrayRef<Member> Population,
                                                 RandomEngine &Random) const {
  const Point &Parent = select(Population, Random);
  unsigned Steps = 1;
  while (randomUnit(Random) < NextStepShare)
    ++Steps;
  if (randomUnit(Random) >= CrossoverShare)
    return Context.Space.mutate(Parent, Steps, Random);
  std::optional<Point> Child = Context.Space.crossover(
      Parent, select(Population, Random), Random);
  // Half of these children are as their parents made them.
  if (!Child || randomUnit(Random) < 0.5)
    return Child;
  return Context.Space.mutate(*Child, 1, Random);
}

Expected<std::vector<Point>> EvolutionSampler::ask(unsigned N) {
  RandomEngine Random = makeRandom();
  Batch B(Context, N);
  Start.fill(B);
  if (!B.isFull()) {
    std::vector<Member> Population = getPopulation();
    for (unsigned Try = 0; !Population.empty() && !B.isFull(); ++Try) {
      if (Try == MaxTries * N)
        break;
      std::optional<Point> P = randomUnit(Random) < ImmigrantShare
                                   ? Context.Space.sample(Random)
                                   : makeChild(Population, Random);
      if (P)
        B.add(std::move(*P));
    }
  }
  Unseen.fill(B, Random);
  return B.take();
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createEvolutionSampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<EvolutionSampler>(Context);
}
} // namespace mneme
} // namespace llvm
