//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// "lfbo": likelihood-free Bayesian optimization (Song et al., 2022). A forest
/// learns which points are among the best; what it likes best near the best
/// points is next.
///
//===----------------------------------------------------------------------===//

#include "Forest.h"
#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned NumStart = 15;
static constexpr unsigned NumTrees = 60;
/// The best ones of so many trials are good: the first share up to the limit,
/// then the second.
static constexpr double GoodShare = 0.2, LateGoodShare = 0.1;
static constexpr size_t LateTrials = 200;
/// Candidates: the neighbours of the best points, points with another value in
/// one dimension, points two steps away, and valid points from anywhere.
static constexpr size_t NumBest = 5;
static constexpr unsigned MaxValues = 16; ///< Of one dimension of one point.
static constexpr unsigned NumTwoSteps = 20; ///< Of each.
static constexpr unsigned NumAnywhere = 200;
/// Of points that are asked for this share is random.
static constexpr double Epsilon = 0.1;
/// How much being in the same leaves as a point that is asked for or runs
/// counts against a candidate.
static constexpr double SimilarityPenalty = 0.75;

namespace {
class LFBOSampler : public Sampler {
public:
  explicit LFBOSampler(const SamplerContext &Context)
      : Sampler(Context), Start(Context, NumStart), Unseen(Context) {}

  Expected<std::vector<Point>> ask(unsigned N) override {
    RandomEngine Random = makeRandom();
    Batch B(Context, N);
    Start.fill(B);
    if (!B.isFull()) {
      Observations History(Context);
      History.thin();
      std::vector<size_t> Ranked = History.ranked();
      if (!Ranked.empty())
        fill(B, History, Ranked, Random);
    }
    Unseen.fill(B, Random);
    return B.take();
  }

private:
  StartPoints Start;
  UnseenPoints Unseen;

  struct Candidate {
    Point P;
    double Score = 0;
    std::vector<uint32_t> Leaves;
  };

  std::vector<float> encode(const Point &P) const;
  Forest learn(const Observations &History, ArrayRef<size_t> Ranked,
               RandomEngine &Random) const;
  std::vector<Candidate> findCandidates(const Batch &B,
                                        const Observations &History,
                                        ArrayRef<size_t> Ranked,
                                        RandomEngine &Random) const;
  void fill(Batch &B, const Observations &History, ArrayRef<size_t> Ranked,
            RandomEngine &Random);
};
} // namespace

/// What does not matter has a value of its own, below all others.
std::vector<float> LFBOSampler::encode(const Point &P) const {
  std::vector<float> Features;
  for (auto [I, D] : enumerate(Context.Space.dimensions())) {
    if (!Context.Space.isActive(P, I))
      Features.push_back(-1);
    else
      Features.push_back(D.Kind == Dimension::Real ? toUnit(D, P[I]) : P[I]);
  }
  return Features;
}

Forest LFBOSampler::learn(const Observations &History, ArrayRef<size_t> Ranked,
                          RandomEngine &Random) const {
  double Share = History.Done.size() > LateTrials ? LateGoodShare : GoodShare;
  size_t NumGood = std::ceil(Share * History.Done.size());
  NumGood = std::clamp<size_t>(NumGood, 1, Ranked.size());
  double Threshold = History.Done[Ranked[NumGood - 1]].Score;
  double Best = History.Done[Ranked.front()].Score;

  // A good one weighs as much as it is better than the threshold; the one at
  // the threshold still a little.
  double Least = Threshold > Best ? (Threshold - Best) * 0.1 : 1;
  std::vector<Forest::Example> Examples;
  double Good = 0, Bad = 0;
  for (const Observation &O : History.Done) {
    bool IsGood = O.Score <= Threshold;
    double Weight = IsGood ? Threshold - O.Score + Least : 1;
    (IsGood ? Good : Bad) += Weight;
    Examples.push_back({encode(O.T->P), IsGood, Weight});
  }
  for (Forest::Example &E : Examples)
    E.Weight /= E.Good ? Good : Bad;

  std::vector<bool> Categorical;
  for (const Dimension &D : Context.Space.dimensions())
    Categorical.push_back(D.Kind == Dimension::Categorical);
  return Forest(NumTrees, std::move(Categorical), Examples, Random);
}

std::vector<LFBOSampler::Candidate>
LFBOSampler::findCandidates(const Batch &B, const Observations &History,
                            ArrayRef<size_t> Ranked,
                            RandomEngine &Random) const {
  std::vector<Candidate> Candidates;
  DenseSet<uint64_t> Seen;
  auto Add = [&](std::optional<Point> P) {
    if (P && B.isNew(*P) && Seen.insert(Context.Space.digest(*P)).second)
      Candidates.push_back({std::move(*P)});
  };
  for (size_t I : Ranked.take_front(NumBest)) {
    const Point &P = History.Done[I].T->P;
    for (Point &Neighbour : Context.Space.neighbours(P, Random))
      Add(std::move(Neighbour));
    for (Point &Other : getOtherValues(Context.Space, P, MaxValues, Random))
      Add(std::move(Other));
    for (unsigned K = 0; K != NumTwoSteps; ++K)
      Add(Context.Space.mutate(P, 2, Random));
  }
  for (unsigned K = 0; K != NumAnywhere; ++K)
    Add(Context.Space.sample(Random));
  // Of equally likely ones any may be first.
  shuffle(Candidates, Random);
  return Candidates;
}

void LFBOSampler::fill(Batch &B, const Observations &History,
                       ArrayRef<size_t> Ranked, RandomEngine &Random) {
  Forest F = learn(History, Ranked, Random);
  std::vector<Candidate> Candidates =
      findCandidates(B, History, Ranked, Random);
  for (Candidate &C : Candidates)
    C.Score = F.predict(encode(C.P), C.Leaves);

  auto Penalize = [&](const Point &P) {
    std::vector<uint32_t> Leaves;
    F.predict(encode(P), Leaves);
    for (Candidate &C : Candidates)
      C.Score -= SimilarityPenalty * Forest::similarity(C.Leaves, Leaves);
  };
  for (const Trial *T : History.Running)
    Penalize(T->P);
  for (const Point &P : B.points())
    Penalize(P);

  while (!B.isFull()) {
    if (randomUnit(Random) < Epsilon)
      if (std::optional<Point> P = Unseen.draw(B, Random)) {
        B.add(*P);
        Penalize(*P);
        continue;
      }
    auto Best = llvm::max_element(
        Candidates, [](const Candidate &X, const Candidate &Y) {
          return X.Score < Y.Score;
        });
    if (Best == Candidates.end())
      return;
    Point P = std::move(Best->P);
    Candidates.erase(Best);
    // A random one may have been the same.
    if (B.add(P))
      Penalize(P);
  }
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createLFBOSampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<LFBOSampler>(Context);
}
} // namespace mneme
} // namespace llvm
