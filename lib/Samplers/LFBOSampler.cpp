//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "lfbo": likelihood-free Bayesian optimization (Song et al.,
/// 2022). A forest learns to predict which points are among the best. The next
/// point is the candidate with the highest prediction, mostly from the
/// neighbourhood of the best points.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Samplers/Forest.h"
#include <cmath>
#include <numeric>

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned NumTrees = 60;
/// Share of the trials that count as good: GoodShare for up to LateTrials
/// trials, LateGoodShare for more.
static constexpr double GoodShare = 0.2, LateGoodShare = 0.1;
static constexpr size_t LateTrials = 200;
/// The forest learns from at most this many trials. More trials make it slower,
/// but not better.
static constexpr size_t MaxExamples = 200;
/// Candidates: the neighbours of the best points, points with another value in
/// one dimension, points two steps away, and random valid points.
static constexpr size_t NumBest = 5;
static constexpr size_t NumTwoSteps = 40; ///< For each of the best points.
static constexpr size_t NumAnywhere = 200;
/// With more dimensions, a point has more neighbours and each takes longer. At
/// most NearTimesSquare / dimensions^2 candidates of each kind are drawn, but
/// at least MinNear. Up to about 30 dimensions, these are all candidates.
static constexpr size_t NearTimesSquare = 240000, MinNear = 16;
/// The forest sees the pairwise products of the first integer parameters, at
/// most of this many. More products would hide the other features.
static constexpr size_t MaxFactors = 8;
/// Share of proposed points that are random.
static constexpr double Epsilon = 0.1;
/// Weight of the penalty on a candidate for being in the same leaves as a point
/// that is proposed or running.
static constexpr double SimilarityPenalty = 0.1;
/// A point that is proposed alone is rated by all trees. If other points are
/// proposed or running, each point is rated by a random sample of this share of
/// the trees, which is like a bootstrap of the forest.
static constexpr double ListenedShare = 0.5;

namespace {
class LFBOSampler : public Sampler {
  static constexpr unsigned NumStart = 15;
  /// Maximum number of other values of one dimension of a point.
  static constexpr unsigned MaxValues = 16;

public:
  explicit LFBOSampler(const SamplerContext &Context)
      : Sampler(Context), Start(Context, NumStart), Unseen(Context) {
    for (auto [I, D] : enumerate(Context.Space.dimensions()))
      if (isInteger(D) && Factors.size() != MaxFactors)
        Factors.push_back(I);
  }

  Expected<std::vector<Point>> ask(unsigned N) override {
    RandomEngine Random = makeRandom();
    Batch B(Context, N);
    Start.fill(B);
    if (!B.isFull()) {
      Observations History(Context);
      History.thin(MaxExamples);
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
  SmallVector<unsigned> Factors; ///< Dimensions.
  /// A cache, by trial number.
  DenseMap<uint64_t, std::vector<float>> Encoded;

  bool isInteger(const Dimension &D) const {
    return D.Kind == Dimension::Ordered && !D.Decision &&
           Context.Space.study().Parameters[D.Parameter].Kind ==
               Parameter::Int;
  }

  struct Candidate {
    Point P;
    std::vector<uint32_t> Leaves;
    double Penalty = 0;
    double Score = 0; ///< Rating by the drawn trees, less Penalty.
  };

  std::vector<float> encode(const Point &P) const;
  Forest learn(const Observations &History, RandomEngine &Random);
  std::vector<Candidate> findCandidates(const Batch &B,
                                        const Observations &History,
                                        ArrayRef<size_t> Ranked,
                                        RandomEngine &Random) const;
  void fill(Batch &B, const Observations &History, ArrayRef<size_t> Ranked,
            RandomEngine &Random);
};
} // namespace

/// \returns the binary logarithm of an integer parameter's value, or
/// std::nullopt if the value is not positive.
static std::optional<float> getLog(const SearchSpace &Space, const Point &P,
                                   unsigned Dim) {
  Value V = Space.dimensionValue(Dim, P[Dim]);
  const int64_t *N = std::get_if<int64_t>(&V);
  if (!N || *N <= 0)
    return std::nullopt;
  return std::log2(static_cast<float>(*N));
}

/// Encodes a point as features. An inactive dimension has a value of its own,
/// below all others. Threads per block, elements per tile and work per thread
/// are products of parameters. A dependence on such a product is a single split
/// of its feature, but many splits along its factors.
std::vector<float> LFBOSampler::encode(const Point &P) const {
  BitVector Active = Context.Space.activity(P);
  std::vector<float> Features;
  Features.reserve(P.size() + Factors.size() * (Factors.size() - 1) / 2);
  SmallVector<std::optional<float>, MaxFactors> Logs;
  for (unsigned Dim : Factors)
    Logs.push_back(Active[Dim] ? getLog(Context.Space, P, Dim) : std::nullopt);
  for (size_t I = 0; I != Logs.size(); ++I)
    for (size_t J = 0; J != I; ++J)
      Features.push_back(Logs[I] && Logs[J] ? *Logs[I] + *Logs[J] : -1);
  ArrayRef<Dimension> Dimensions = Context.Space.dimensions();
  for (size_t I = 0; I != P.size(); ++I) {
    const Dimension &D = Dimensions[I];
    if (!Active[I])
      Features.push_back(-1);
    else
      Features.push_back(D.Kind == Dimension::Real ? toUnit(D, P[I]) : P[I]);
  }
  return Features;
}

Forest LFBOSampler::learn(const Observations &History, RandomEngine &Random) {
  double Share = History.Done.size() > LateTrials ? LateGoodShare : GoodShare;
  // Rank all trials that did not fail, including duplicates. Otherwise, if many
  // trials had few distinct codes, all of these would be good.
  std::vector<double> Scores;
  for (const Observation &O : History.Done)
    if (!O.failed())
      Scores.push_back(O.Score);
  llvm::sort(Scores);
  size_t NumGood = std::ceil(Share * History.Done.size());
  NumGood = std::clamp<size_t>(NumGood, 1, Scores.size());
  double Threshold = Scores[NumGood - 1];
  double Best = Scores.front();

  // The weight of a good trial is its distance from the threshold, plus a
  // little so that the trial at the threshold counts, too.
  double Least = Threshold > Best ? (Threshold - Best) * 0.1 : 1;
  std::vector<Forest::Example> Examples;
  double Good = 0, Bad = 0;
  for (const Observation &O : History.Done) {
    bool IsGood = O.Score <= Threshold;
    double Weight = IsGood ? Threshold - O.Score + Least : 1;
    (IsGood ? Good : Bad) += Weight;
    auto [Features, IsNew] = Encoded.try_emplace(O.T->Number);
    if (IsNew)
      Features->second = encode(O.T->P);
    Examples.push_back({Features->second, IsGood, Weight});
  }
  for (Forest::Example &E : Examples)
    E.Weight /= E.Good ? Good : Bad;

  // The products are the first features.
  std::vector<bool> Categorical(Factors.size() * (Factors.size() - 1) / 2);
  for (const Dimension &D : Context.Space.dimensions())
    Categorical.push_back(D.Kind == Dimension::Categorical);
  return Forest(NumTrees, std::move(Categorical), Examples, Random);
}

std::vector<LFBOSampler::Candidate>
LFBOSampler::findCandidates(const Batch &B, const Observations &History,
                            ArrayRef<size_t> Ranked,
                            RandomEngine &Random) const {
  size_t Dimensions = std::max<size_t>(Context.Space.dimensions().size(), 1);
  size_t MaxNear =
      std::max(NearTimesSquare / (Dimensions * Dimensions), MinNear);
  std::vector<Candidate> Candidates;
  DenseSet<uint64_t> Seen;
  auto Add = [&](std::optional<Point> P) {
    if (!P)
      return;
    uint64_t Digest = Context.Space.digest(*P);
    if (B.isNew(Digest) && Seen.insert(Digest).second)
      Candidates.emplace_back().P = std::move(*P);
  };
  for (size_t I : Ranked.take_front(NumBest)) {
    const Point &P = History.Done[I].T->P;
    for (Point &Neighbour : Context.Space.neighbours(P, Random, MaxNear))
      Add(std::move(Neighbour));
    for (Point &Other :
         getOtherValues(Context.Space, P, MaxValues, Random, MaxNear))
      Add(std::move(Other));
    for (size_t K = 0; K != std::min(NumTwoSteps, MaxNear / 2); ++K)
      Add(Context.Space.mutate(P, 2, Random));
  }
  for (size_t K = 0; K != std::min(NumAnywhere, 2 * MaxNear); ++K)
    Add(Context.Space.sample(Random));
  // Shuffle, so that ties are broken at random.
  shuffle(Candidates, Random);
  return Candidates;
}

/// Draws the trees that rate a point if other points are proposed or running.
static std::vector<unsigned> drawTrees(RandomEngine &Random) {
  std::vector<unsigned> Trees;
  for (unsigned K = 0; K != unsigned(ListenedShare * NumTrees); ++K)
    Trees.push_back(randomBelow(Random, NumTrees));
  return Trees;
}

void LFBOSampler::fill(Batch &B, const Observations &History,
                       ArrayRef<size_t> Ranked, RandomEngine &Random) {
  Forest F = learn(History, Random);
  std::vector<Candidate> Candidates =
      findCandidates(B, History, Ranked, Random);
  std::vector<std::vector<float>> Features;
  for (const Candidate &C : Candidates)
    Features.push_back(encode(C.P));
  for (auto [C, Leaves] : zip_equal(Candidates, F.findAllLeaves(Features)))
    C.Leaves = std::move(Leaves);

  bool IsAlone = true;
  auto Penalize = [&](const Point &P) {
    IsAlone = false;
    std::vector<uint32_t> Leaves = F.findLeaves(encode(P));
    for (Candidate &C : Candidates)
      C.Penalty += SimilarityPenalty * Forest::similarity(C.Leaves, Leaves);
  };
  for (const Trial *T : History.Running)
    Penalize(T->P);
  for (const Point &P : B.points())
    Penalize(P);

  std::vector<unsigned> AllTrees(NumTrees);
  std::iota(AllTrees.begin(), AllTrees.end(), 0);
  while (!B.isFull()) {
    if (randomUnit(Random) < Epsilon)
      if (std::optional<Point> P = Unseen.draw(B, Random)) {
        B.add(*P);
        Penalize(*P);
        continue;
      }
    if (Candidates.empty())
      return;
    std::vector<unsigned> Trees = IsAlone ? AllTrees : drawTrees(Random);
    for (Candidate &C : Candidates)
      C.Score = F.predict(C.Leaves, Trees) - C.Penalty;
    auto Best = llvm::max_element(
        Candidates, [](const Candidate &X, const Candidate &Y) {
          return X.Score < Y.Score;
        });
    Point P = std::move(Best->P);
    Candidates.erase(Best);
    // A random point may have been the same.
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
