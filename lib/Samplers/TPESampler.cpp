//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "tpe": tree-structured Parzen estimators with Optuna's settings
/// (multivariate, grouped, constant liar). It proposes only valid unseen
/// points.
///
/// One density is estimated from the good trials and one from the bad trials.
/// The next point is likely in the first and unlikely in the second. Dimensions
/// that are active in the same trials form a group with its own densities.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned NumRandomTrials = 10;
static constexpr unsigned NumCandidates = 24; ///< Valid and unseen.
/// Maximum number of draws to find them; fewer candidates have to do then.
static constexpr unsigned MaxDraws = 20 * NumCandidates;
static constexpr double BestShare = 0.1;
static constexpr size_t MaxGood = 25;
static constexpr double PriorWeight = 1;
/// Densities are not cached for dimensions with more values.
static constexpr uint64_t MaxKnown = 128;
/// The last trials, up to this number, have full weight. Of those before, older
/// trials weigh less.
static constexpr size_t NumFlat = 25;

namespace {

/// One dimension of a mixture: a kernel for each trial, and the prior.
class Parzen {
public:
  Parzen(const Dimension &D, ArrayRef<double> Values, double Width);
  double draw(size_t Kernel, RandomEngine &Random) const;
  double logDensity(size_t Kernel, double X) const;

private:
  const Dimension &D;
  double Low, High; ///< Bounds on the continuous scale, half a step wider.
  std::vector<double> Centers;
  double Width = 0, PriorWidth = 0, CategoricalPrior = 0;

  double toScale(double X) const { return D.Log ? std::log(X) : X; }
  double width(size_t Kernel) const {
    return Kernel == Centers.size() ? PriorWidth : Width;
  }
  double center(size_t Kernel) const {
    return Kernel == Centers.size() ? (Low + High) / 2 : Centers[Kernel];
  }
  double mass(size_t Kernel, double From, double To) const;

  /// Cache of logDensity() of an ordered dimension, by center and value: a
  /// history has many kernels with few centers.
  mutable std::vector<double> Known;
  double &known(size_t Kernel, double X) const {
    size_t Row = Kernel == Centers.size() ? D.Count : Centers[Kernel];
    return Known[Row * D.Count + X];
  }
};

/// The joint density of dimensions that are active together.
class Mixture {
public:
  Mixture(ArrayRef<Dimension> Dimensions, ArrayRef<unsigned> Group,
          ArrayRef<const Point *> Points);
  void draw(Point &P, RandomEngine &Random) const;
  double logDensity(const Point &P) const;

private:
  ArrayRef<unsigned> Group;
  std::vector<Parzen> Parts; ///< One for each dimension of the group.
  std::vector<double> Weights;
};

class TPESampler : public Sampler {
public:
  explicit TPESampler(const SamplerContext &Context)
      : Sampler(Context), Unseen(Context) {}
  Expected<std::vector<Point>> ask(unsigned N) override;

private:
  UnseenPoints Unseen;
  using Groups = std::vector<std::vector<unsigned>>;
  Groups findGroups(ArrayRef<const Point *> Points) const;
  std::vector<Mixture> estimate(const Groups &G,
                                ArrayRef<const Point *> Points) const;
  double rate(const Groups &G, ArrayRef<Mixture> Mixtures,
              const Point &P) const;
  std::optional<Point> choose(const Batch &B, ArrayRef<const Point *> Good,
                              ArrayRef<const Point *> Bad,
                              RandomEngine &Random) const;
};

} // namespace

//===----------------------------------------------------------------------===//
// Densities
//===----------------------------------------------------------------------===//

static double normalCDF(double X) { return 0.5 * std::erfc(-X * M_SQRT1_2); }

Parzen::Parzen(const Dimension &D, ArrayRef<double> Values, double Width)
    : D(D) {
  double HalfStep = D.Kind == Dimension::Real ? 0 : 0.5;
  Low = toScale(D.Low) - HalfStep;
  High = toScale(D.High) + HalfStep;
  for (double V : Values)
    Centers.push_back(toScale(V));
  double Range = High - Low;
  size_t NumKernels = Values.size() + 1;
  PriorWidth = Range;
  this->Width = std::clamp(Width * Range,
                           Range / std::min<double>(100, 1 + NumKernels),
                           Range);
  CategoricalPrior = PriorWeight / NumKernels;
  if (D.Kind == Dimension::Ordered && D.Count <= MaxKnown)
    Known.assign((D.Count + 1) * D.Count, NAN);
}

/// \returns the probability of [From, To] in a truncated normal distribution.
double Parzen::mass(size_t Kernel, double From, double To) const {
  auto CDF = [&](double X) {
    return normalCDF((X - center(Kernel)) / width(Kernel));
  };
  return (CDF(To) - CDF(From)) / (CDF(High) - CDF(Low));
}

double Parzen::draw(size_t Kernel, RandomEngine &Random) const {
  if (D.Kind == Dimension::Categorical) {
    double Total = 1 + CategoricalPrior * D.Count;
    if (Kernel != Centers.size() && randomUnit(Random) * Total < 1)
      return Centers[Kernel];
    return randomBelow(Random, D.Count);
  }
  // Bisection: the function has no closed-form inverse, and this is exact
  // enough.
  double U = randomUnit(Random), From = Low, To = High;
  for (unsigned I = 0; I != 40; ++I) {
    double Middle = (From + To) / 2;
    (mass(Kernel, Low, Middle) < U ? From : To) = Middle;
  }
  if (D.Kind == Dimension::Real)
    return std::clamp(D.Log ? std::exp(From) : From, D.Low, D.High);
  return std::clamp(std::round(From), D.Low, D.High);
}

double Parzen::logDensity(size_t Kernel, double X) const {
  if (D.Kind == Dimension::Categorical) {
    if (Kernel == Centers.size())
      return -std::log(D.Count);
    double Own = X == Centers[Kernel];
    return std::log((Own + CategoricalPrior) /
                    (1 + CategoricalPrior * D.Count));
  }
  if (D.Kind == Dimension::Ordered) {
    if (!Known.empty() && !std::isnan(known(Kernel, X)))
      return known(Kernel, X);
    double Log = std::log(mass(Kernel, X - 0.5, X + 0.5) + 1e-300);
    if (!Known.empty())
      known(Kernel, X) = Log;
    return Log;
  }
  double Z = (toScale(X) - center(Kernel)) / width(Kernel);
  return -0.5 * Z * Z -
         std::log(width(Kernel) * std::sqrt(2 * M_PI) *
                  (normalCDF((High - center(Kernel)) / width(Kernel)) -
                   normalCDF((Low - center(Kernel)) / width(Kernel))));
}

Mixture::Mixture(ArrayRef<Dimension> Dimensions, ArrayRef<unsigned> Group,
                 ArrayRef<const Point *> Points)
    : Group(Group) {
  size_t N = Points.size();
  double Width = 0.2 * std::pow(std::max<size_t>(N, 1),
                                -1.0 / (Group.size() + 4));
  for (unsigned Dim : Group) {
    std::vector<double> Values;
    for (const Point *P : Points)
      Values.push_back((*P)[Dim]);
    Parts.emplace_back(Dimensions[Dim], Values, Width);
  }
  size_t NumRamp = N - std::min(N, NumFlat);
  for (size_t I = 0; I != N; ++I) {
    double Ramp = NumRamp < 2 ? 1 : double(I) / (NumRamp - 1);
    Weights.push_back(I < NumRamp ? 1.0 / N + (1 - 1.0 / N) * Ramp : 1);
  }
  Weights.push_back(PriorWeight);
  double Sum = std::accumulate(Weights.begin(), Weights.end(), 0.0);
  for (double &W : Weights)
    W /= Sum;
}

void Mixture::draw(Point &P, RandomEngine &Random) const {
  double U = randomUnit(Random);
  size_t Kernel = 0;
  while (Kernel + 1 != Weights.size() && U >= Weights[Kernel])
    U -= Weights[Kernel++];
  for (auto [Dim, Part] : zip(Group, Parts))
    P[Dim] = Part.draw(Kernel, Random);
}

double Mixture::logDensity(const Point &P) const {
  std::vector<double> Logs;
  for (auto [Kernel, W] : enumerate(Weights)) {
    double Log = std::log(W);
    for (auto [Dim, Part] : zip(Group, Parts))
      Log += Part.logDensity(Kernel, P[Dim]);
    Logs.push_back(Log);
  }
  double Max = *llvm::max_element(Logs), Sum = 0;
  for (double Log : Logs)
    Sum += std::exp(Log - Max);
  return Max + std::log(Sum);
}

//===----------------------------------------------------------------------===//
// The sampler
//===----------------------------------------------------------------------===//

/// Groups the dimensions that are active at the same subset of \p Points.
TPESampler::Groups
TPESampler::findGroups(ArrayRef<const Point *> Points) const {
  std::vector<BitVector> OfPoints;
  for (const Point *P : Points)
    OfPoints.push_back(Context.Space.activity(*P));
  std::map<std::vector<bool>, std::vector<unsigned>> ByActivity;
  for (unsigned Dim = 0; Dim != Context.Space.dimensions().size(); ++Dim) {
    std::vector<bool> Active;
    for (const BitVector &Of : OfPoints)
      Active.push_back(Of[Dim]);
    ByActivity[Active].push_back(Dim);
  }
  Groups Result;
  for (auto &[Active, Group] : ByActivity)
    Result.push_back(std::move(Group));
  return Result;
}

std::vector<Mixture>
TPESampler::estimate(const Groups &G, ArrayRef<const Point *> Points) const {
  std::vector<BitVector> OfPoints;
  for (const Point *P : Points)
    OfPoints.push_back(Context.Space.activity(*P));
  std::vector<Mixture> Result;
  for (const std::vector<unsigned> &Group : G) {
    std::vector<const Point *> Active;
    for (auto [P, Of] : zip_equal(Points, OfPoints))
      if (Of[Group.front()])
        Active.push_back(P);
    Result.emplace_back(Context.Space.dimensions(), Group, Active);
  }
  return Result;
}

double TPESampler::rate(const Groups &G, ArrayRef<Mixture> Mixtures,
                        const Point &P) const {
  double Sum = 0;
  BitVector Active = Context.Space.activity(P);
  for (auto [Group, M] : zip(G, Mixtures))
    if (Active[Group.front()])
      Sum += M.logDensity(P);
  return Sum;
}

std::optional<Point> TPESampler::choose(const Batch &B,
                                        ArrayRef<const Point *> Good,
                                        ArrayRef<const Point *> Bad,
                                        RandomEngine &Random) const {
  std::vector<const Point *> All(Good);
  append_range(All, Bad);
  Groups G = findGroups(All);
  std::vector<Mixture> Likely = estimate(G, Good), Unlikely = estimate(G, Bad);

  std::optional<Point> Best;
  double BestRating = 0;
  unsigned Found = 0;
  for (unsigned I = 0; I != MaxDraws && Found != NumCandidates; ++I) {
    Point P(Context.Space.dimensions().size());
    for (const Mixture &M : Likely)
      M.draw(P, Random);
    Context.Space.canonicalize(P);
    if (!B.isNew(P) || !Context.Space.isValid(P))
      continue;
    ++Found;
    double Rating = rate(G, Likely, P) - rate(G, Unlikely, P);
    if (!Best || Rating > BestRating) {
      BestRating = Rating;
      Best = std::move(P);
    }
  }
  return Best;
}

Expected<std::vector<Point>> TPESampler::ask(unsigned N) {
  RandomEngine Random = makeRandom();
  Batch B(Context, N);
  Observations History(Context);
  History.thin();
  std::vector<size_t> Ranked = History.ranked();
  if (History.Done.size() >= NumRandomTrials && !Ranked.empty()) {
    size_t NumGood =
        std::min<size_t>(std::ceil(BestShare * History.Done.size()), MaxGood);
    Ranked.resize(std::min(Ranked.size(), NumGood));
    // Order by trial number: later trials weigh more.
    llvm::sort(Ranked);
    std::vector<const Point *> Good, Bad;
    double Threshold = -INFINITY;
    for (size_t I : Ranked) {
      Good.push_back(&History.Done[I].T->P);
      Threshold = std::max(Threshold, History.Done[I].Score);
    }
    for (auto [I, O] : enumerate(History.Done)) {
      // A duplicate that is as good as a good trial adds no information.
      bool Same = O.T->DuplicateOf && O.Score <= Threshold;
      if (!Same && !is_contained(Ranked, I))
        Bad.push_back(&O.T->P);
    }
    for (const Trial *T : History.Running)
      Bad.push_back(&T->P);

    // The points proposed here run soon. Count them as bad, like running
    // trials.
    std::vector<Point> Asked;
    Asked.reserve(N);
    while (!B.isFull()) {
      std::optional<Point> P = choose(B, Good, Bad, Random);
      if (!P)
        break;
      B.add(*P);
      Asked.push_back(std::move(*P));
      Bad.push_back(&Asked.back());
    }
  }
  Unseen.fill(B, Random);
  return B.take();
}

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createTPESampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<TPESampler>(Context);
}
} // namespace mneme
} // namespace llvm
