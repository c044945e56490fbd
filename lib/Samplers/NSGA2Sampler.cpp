//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// "nsga2": evolution towards a Pareto set (Deb et al., 2002), in a steady
/// state: there are no generations that anybody would have to wait for. The
/// population is the best part of the history.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class NSGA2Sampler : public Sampler {
  static constexpr unsigned PopulationSize = 50;
  static constexpr double CrossoverShare = 0.9;
  /// Attempts to find a new child, per child.
  static constexpr unsigned MaxTries = 50;

public:
  explicit NSGA2Sampler(const SamplerContext &Context)
      : Sampler(Context), Start(Context, PopulationSize), Unseen(Context) {}

  Expected<std::vector<Point>> ask(unsigned N) override;

private:
  StartPoints Start;
  UnseenPoints Unseen;

  std::optional<Point> makeChild(const Observations &History,
                                 ArrayRef<size_t> Population,
                                 RandomEngine &Random) const;
};
} // namespace

static double drawNumber(const Dimension &D, RandomEngine &Random) {
  return D.Kind == Dimension::Real ? fromUnit(D, randomUnit(Random))
                                   : randomBelow(Random, D.Count);
}

/// Each dimension that matters is drawn again with a probability of one in
/// their number: uniformly, so that no value is out of reach. Pipelines change
/// in their own way.
static std::optional<Point> mutateUniformly(const SearchSpace &Space, Point P,
                                            RandomEngine &Random) {
  BitVector Active = Space.activity(P);
  unsigned NumActive = Active.count();
  unsigned Steps = 0;
  for (auto [I, D] : enumerate(Space.dimensions())) {
    // What begins to matter by this has some value or other.
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

std::optional<Point> NSGA2Sampler::makeChild(const Observations &History,
                                             ArrayRef<size_t> Population,
                                             RandomEngine &Random) const {
  // The score orders by front, then by crowding; so does the population.
  auto Select = [&]() -> const Point & {
    size_t A = randomBelow(Random, Population.size());
    size_t B = randomBelow(Random, Population.size());
    return History.Done[Population[std::min(A, B)]].T->P;
  };
  Point Child = Select();
  if (randomUnit(Random) < CrossoverShare)
    if (std::optional<Point> Crossed =
            Context.Space.crossover(Child, Select(), Random))
      Child = std::move(*Crossed);
  return mutateUniformly(Context.Space, std::move(Child), Random);
}

Expected<std::vector<Point>> NSGA2Sampler::ask(unsigned N) {
  RandomEngine Random = makeRandom();
  Batch B(Context, N);
  Start.fill(B);
  if (!B.isFull()) {
    Observations History(Context);
    // What failed is dominated by all others: it is not among the parents.
    std::vector<size_t> Population = History.ranked();
    if (Population.size() > PopulationSize)
      Population.resize(PopulationSize);
    for (unsigned Try = 0; !Population.empty() && !B.isFull(); ++Try) {
      if (Try == MaxTries * N)
        break;
      if (std::optional<Point> P = makeChild(History, Population, Random))
        B.add(std::move(*P));
    }
  }
  Unseen.fill(B, Random);
  return B.take();
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createNSGA2Sampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<NSGA2Sampler>(Context);
}
} // namespace mneme
} // namespace llvm
