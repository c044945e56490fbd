//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "ils": iterated local search with first improvement. As soon as
/// a neighbour is better, the search continues from it. The search begins at
/// the best of a few start points. If no neighbour is better, it restarts near
/// the best point or at a random point.
///
/// The sampler has no state except caches: each ask() reconstructs the
/// searches from the history.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Each restart is NumKicks random steps away from the best point, with
/// probability KickShare, or at a random point.
static constexpr unsigned NumKicks = 4;
static constexpr double KickShare = 0.5;

namespace {
class ILSSampler : public Sampler {
  static constexpr unsigned NumStart = 10;
  /// Maximum number of values of one dimension in a neighbourhood.
  static constexpr unsigned MaxValues = 16;

public:
  explicit ILSSampler(const SamplerContext &Context)
      : Sampler(Context), Start(Context, NumStart), Unseen(Context) {}

  Expected<std::vector<Point>> ask(unsigned N) override;

private:
  /// The neighbours of a point, in the order in which they are tried.
  struct Neighbourhood {
    std::vector<Point> Points;
    DenseSet<uint64_t> Digests;
  };
  /// One local search.
  struct Climb {
    const Observation *Top;
    /// Digests of the neighbours of all points on the way, so that late results
    /// can be assigned to their search.
    DenseSet<uint64_t> Around;
  };

  StartPoints Start;
  UnseenPoints Unseen;
  /// A cache, by trial number.
  std::map<uint64_t, Neighbourhood> Neighbourhoods;

  const Neighbourhood &around(const Trial &T);
  std::vector<Climb> retrace(const Observations &History);
};
} // namespace

const ILSSampler::Neighbourhood &ILSSampler::around(const Trial &T) {
  auto [It, New] = Neighbourhoods.try_emplace(T.Number);
  Neighbourhood &Result = It->second;
  if (!New)
    return Result;
  RandomEngine Random(mixSeed(Context.Seed, ~T.Number));
  std::vector<Point> Points = Context.Space.neighbours(T.P, Random);
  shuffle(Points, Random);
  // Points one step away come first: they are more likely to be better.
  std::vector<Point> Others =
      getOtherValues(Context.Space, T.P, MaxValues, Random);
  shuffle(Others, Random);
  append_range(Points, Others);
  for (Point &P : Points)
    if (Result.Digests.insert(Context.Space.digest(P)).second)
      Result.Points.push_back(std::move(P));
  return Result;
}

std::vector<ILSSampler::Climb>
ILSSampler::retrace(const Observations &History) {
  std::vector<Climb> Climbs;
  auto MoveTo = [&](Climb &C, const Observation &O) {
    C.Top = &O;
    const DenseSet<uint64_t> &Digests = around(*O.T).Digests;
    C.Around.insert(Digests.begin(), Digests.end());
  };
  const Observation *BestStart = nullptr;
  for (const Observation &O : History.Done) {
    uint64_t Digest = Context.Space.digest(O.T->P);
    // Of the start points, only the best one begins a search.
    if (O.T->Kind == TrialKind::Start || Start.contains(Digest)) {
      if (!O.failed() && (!BestStart || O.Score < BestStart->Score))
        BestStart = &O;
      continue;
    }
    if (Climbs.empty() && BestStart)
      MoveTo(Climbs.emplace_back(), *BestStart);
    auto Near = find_if(llvm::reverse(Climbs), [&](const Climb &C) {
      return C.Around.contains(Digest);
    });
    if (O.failed())
      continue;
    if (Near == Climbs.rend())
      MoveTo(Climbs.emplace_back(), O);
    else if (O.Score < Near->Top->Score)
      MoveTo(*Near, O);
  }
  if (Climbs.empty() && BestStart)
    MoveTo(Climbs.emplace_back(), *BestStart);
  return Climbs;
}

Expected<std::vector<Point>> ILSSampler::ask(unsigned N) {
  RandomEngine Random = makeRandom();
  Batch B(Context, N);
  Start.fill(B);
  if (B.isFull())
    return B.take();
  Observations History(Context);
  std::vector<Climb> Climbs = retrace(History);

  // The last search comes first; late results may have improved others.
  for (const Climb &C : llvm::reverse(Climbs))
    for (const Point &P : around(*C.Top->T).Points)
      B.add(P);

  if (!Climbs.empty()) {
    const Climb &Best = *llvm::min_element(
        Climbs, [](const Climb &X, const Climb &Y) {
          return X.Top->Score < Y.Top->Score;
        });
    while (!B.isFull() && randomUnit(Random) < KickShare) {
      std::optional<Point> P =
          Context.Space.mutate(Best.Top->T->P, NumKicks, Random);
      if (!P || !B.add(std::move(*P)))
        break;
    }
  }
  Unseen.fill(B, Random);
  return B.take();
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createILSSampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<ILSSampler>(Context);
}
} // namespace mneme
} // namespace llvm
