//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "nsga2": evolution towards a Pareto set (Deb et al., 2002). It
/// runs in a steady state: without generations, no worker waits for the end of
/// one. The population consists of the best trials of the history.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class NSGA2Sampler : public PopulationSampler {
  static constexpr unsigned PopulationSize = 50;
  static constexpr double CrossoverShare = 0.9;

public:
  explicit NSGA2Sampler(const SamplerContext &Context)
      : PopulationSampler(Context, PopulationSize) {}

private:
  std::vector<const Point *> Population; ///< Best first.

  bool choosePopulation(const Observations &History) override;
  std::optional<Point> makeChild(RandomEngine &Random) const override;
};
} // namespace

static double drawNumber(const Dimension &D, RandomEngine &Random) {
  return D.Kind == Dimension::Real ? fromUnit(D, randomUnit(Random))
                                   : randomBelow(Random, D.Count);
}

/// Redraws each active dimension with a probability of one over the number of
/// active dimensions. Draws are uniform, so that all values are reachable.
/// SearchSpace::mutate() changes the decisions of pipelines.
static std::optional<Point> mutateUniformly(const SearchSpace &Space, Point P,
                                            RandomEngine &Random) {
  BitVector Active = Space.activity(P);
  unsigned NumActive = Active.count();
  unsigned Steps = 0;
  for (auto [I, D] : enumerate(Space.dimensions())) {
    // Mutation may activate an inactive dimension, which needs a value then.
    if (!Active[I])
      P[I] = drawNumber(D, Random);
    else if (randomBelow(Random, NumActive))
      continue;
    else if (D.Decision)
      ++Steps;
    else
      P[I] = drawNumber(D, Random);
  }
  Space.canonicalize(P);
  if (Steps)
    return Space.mutate(P, Steps, Random);
  if (!Space.isValid(P))
    return std::nullopt;
  return P;
}

bool NSGA2Sampler::choosePopulation(const Observations &History) {
  // All others dominate failed trials, which are not among the parents.
  std::vector<size_t> Ranked = History.ranked();
  Population.clear();
  for (size_t I : ArrayRef(Ranked).take_front(PopulationSize))
    Population.push_back(&History.Done[I].T->P);
  return !Population.empty();
}

std::optional<Point> NSGA2Sampler::makeChild(RandomEngine &Random) const {
  // The population is ordered by score, that is by front, then by crowding.
  auto Select = [&]() -> const Point & {
    size_t A = randomBelow(Random, Population.size());
    size_t B = randomBelow(Random, Population.size());
    return *Population[std::min(A, B)];
  };
  Point Child = Select();
  if (randomUnit(Random) < CrossoverShare)
    if (std::optional<Point> Crossed =
            Context.Space.crossover(Child, Select(), Random))
      Child = std::move(*Crossed);
  return mutateUniformly(Context.Space, std::move(Child), Random);
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createNSGA2Sampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<NSGA2Sampler>(Context);
}
} // namespace mneme
} // namespace llvm
