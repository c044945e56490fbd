//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws points, and moves from points to others.
//
//===----------------------------------------------------------------------===//

#include "SearchSpaceImpl.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

std::optional<Point> SearchSpace::sample(RandomEngine &Random) const {
  Point P = I->makeEmpty();
  for (const Part &Of : I->Valid)
    if (!I->drawValid(P, Of, Random))
      return std::nullopt;
  return P;
}

//===----------------------------------------------------------------------===//
// Stratified points
//===----------------------------------------------------------------------===//

/// Gives the same order with every standard library.
template <typename T>
static void shuffleEvenly(MutableArrayRef<T> Range, RandomEngine &Random) {
  for (size_t K = Range.size(); K > 1; --K)
    std::swap(Range[K - 1], Range[drawBelow(K, Random)]);
}

/// Returns the index of the number's stratum, of N equal strata of the
/// dimension.
static unsigned getShare(const Dimension &D, double Number, unsigned N) {
  double Unit = D.Kind == Dimension::Real ? toUnit(D, Number)
                                          : (Number + 0.5) / double(D.Count);
  return std::min(unsigned(Unit * N), N - 1);
}

namespace {
/// A Latin hypercube over parts in which every combination is valid. For each
/// other part, draws several points and takes the one whose values were used
/// least.
class Stratifier {
public:
  Stratifier(const SearchSpace::Impl &I, unsigned N, RandomEngine &Random);
  std::optional<Point> next(unsigned Number);
  /// Counts the values of a point.
  void use(const Point &P);

private:
  bool isFree(const Part &Of) const {
    return Of.Checks.empty() && Of.Parameters.size() == 1 &&
           !I.Parameters[Of.Parameters.front()].When;
  }
  uint64_t getCost(const Point &P, const Part &Of) const;

  const SearchSpace::Impl &I;
  unsigned N;
  RandomEngine &Random;
  /// By dimension. Shares: the stratum of each point, for free parts. Used: how
  /// often each stratum was used.
  std::vector<std::vector<unsigned>> Shares, Used;
};
} // namespace

Stratifier::Stratifier(const SearchSpace::Impl &I, unsigned N,
                       RandomEngine &Random)
    : I(I), N(N), Random(Random), Shares(I.Dimensions.size()),
      Used(I.Dimensions.size(), std::vector<unsigned>(N)) {
  for (const Part &Of : I.Valid) {
    if (!isFree(Of))
      continue;
    const BoundParameter &B = I.Parameters[Of.Parameters.front()];
    for (unsigned D = B.FirstDim, E = D + B.NumDims; D != E; ++D) {
      for (unsigned K = 0; K != N; ++K)
        Shares[D].push_back(K);
      shuffleEvenly<unsigned>(Shares[D], Random);
    }
  }
}

uint64_t Stratifier::getCost(const Point &P, const Part &Of) const {
  uint64_t Cost = 0;
  PointView View(I, P);
  for (unsigned K : Of.Parameters) {
    if (!View.exists(K))
      continue;
    const BoundParameter &B = I.Parameters[K];
    for (unsigned D = B.FirstDim, E = D + B.NumDims; D != E; ++D)
      Cost += Used[D][getShare(I.Dimensions[D], P[D], N)];
  }
  return Cost;
}

std::optional<Point> Stratifier::next(unsigned Number) {
  constexpr unsigned Draws = 32;
  Point P = I.makeEmpty();
  for (const Part &Of : I.Valid) {
    if (!isFree(Of)) {
      Point Best;
      uint64_t BestCost = ~uint64_t(0);
      for (unsigned T = 0; T != Draws; ++T) {
        if (!I.drawValid(P, Of, Random))
          return std::nullopt;
        if (uint64_t Cost = getCost(P, Of); Cost < BestCost) {
          BestCost = Cost;
          Best = P;
        }
      }
      P = std::move(Best);
      continue;
    }
    unsigned K = Of.Parameters.front();
    const BoundParameter &B = I.Parameters[K];
    for (unsigned D = B.FirstDim, E = D + B.NumDims; D != E; ++D) {
      double Unit = (Shares[D][Number] + drawUnit(Random)) / N;
      const Dimension &Dim = I.Dimensions[D];
      P[D] = Dim.Kind == Dimension::Real
                 ? fromUnit(Dim, Unit)
                 : std::min(std::floor(Unit * double(Dim.Count)), Dim.High);
    }
    if (B.Space) {
      PipelinePoint PP = I.getPipelinePoint(P, K);
      B.Space->canonicalize(PP);
      I.setPipelinePoint(P, K, PP);
    }
  }
  return P;
}

void Stratifier::use(const Point &P) {
  for (auto [D, Dim] : enumerate(I.Dimensions))
    ++Used[D][getShare(Dim, P[D], N)];
}

std::vector<Point> SearchSpace::stratified(unsigned N,
                                           RandomEngine &Random) const {
  std::vector<Point> Points;
  if (N == 0)
    return Points;
  std::optional<APInt> Count = countValid();
  if (Count && Count->ule(N)) {
    for (uint64_t K = 0, E = Count->getZExtValue(); K != E; ++K)
      Points.push_back(validAt(APInt(64, K)));
    shuffleEvenly<Point>(Points, Random);
    return Points;
  }
  Stratifier Strata(*I, N, Random);
  DenseSet<uint64_t> Seen;
  for (unsigned K = 0; K != N; ++K) {
    std::optional<Point> P = Strata.next(K);
    // Replace a duplicate by any other point.
    for (unsigned T = 0; P && T != 100 && Seen.contains(digest(*P)); ++T)
      P = sample(Random);
    if (!P || !Seen.insert(digest(*P)).second)
      continue;
    Strata.use(*P);
    Points.push_back(std::move(*P));
  }
  return Points;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

BitVector SearchSpace::Impl::getExisting(const Point &P) const {
  if (!HasConditions)
    return BitVector(Parameters.size(), true);
  BitVector Existing(Parameters.size());
  PointView View(*this, P);
  for (unsigned K = 0; K != Parameters.size(); ++K)
    if (View.exists(K))
      Existing.set(K);
  return Existing;
}

void SearchSpace::Impl::settle(Point &P, const BitVector &Before,
                               RandomEngine *Random) const {
  if (!HasConditions)
    return;
  PointView View(*this, P);
  for (unsigned K = 0; K != Parameters.size(); ++K) {
    if (!View.exists(K))
      clear(P, K);
    else if (Before[K])
      continue;
    else if (Random)
      draw(P, K, *Random);
    else
      setNumbers(P, K, Parameters[K].Default);
  }
}

/// Moves a number by \p Distance on the scale of the dimension, at most to its
/// bound.
static double moveBy(const Dimension &D, double Number, double Distance) {
  return fromUnit(D, std::clamp(toUnit(D, Number) + Distance, 0.0, 1.0));
}

std::vector<Point> SearchSpace::neighbours(const Point &P, RandomEngine &Random,
                                           size_t Max) const {
  constexpr unsigned MaxOthers = 16;
  BitVector Existing = I->getExisting(P);
  // A parameter and its new numbers.
  using Step = std::pair<unsigned, SmallVector<double, 1>>;
  std::vector<Step> Steps;
  for (unsigned K : Existing.set_bits()) {
    const BoundParameter &B = I->Parameters[K];
    if (B.Space) {
      for (const PipelinePoint &PP :
           B.Space->neighbours(I->getPipelinePoint(P, K), Max, Random))
        Steps.push_back({K, SmallVector<double, 1>(PP.begin(), PP.end())});
      continue;
    }
    const Dimension &D = I->Dimensions[B.FirstDim];
    const double Here = P[B.FirstDim];
    auto Add = [&](double V) { Steps.push_back({K, {V}}); };
    if (D.Kind == Dimension::Real) {
      for (double Distance : {-0.3, -0.1, 0.1, 0.3})
        Add(moveBy(D, Here, Distance));
    } else if (D.Kind == Dimension::Ordered) {
      if (Here > 0)
        Add(Here - 1);
      if (Here < D.High)
        Add(Here + 1);
    } else {
      std::vector<double> Others;
      for (uint64_t V = 0; V != D.Count; ++V)
        if (double(V) != Here)
          Others.push_back(double(V));
      if (Others.size() > MaxOthers) {
        shuffleEvenly<double>(Others, Random);
        Others.resize(MaxOthers);
      }
      for (double V : Others)
        Add(V);
    }
  }
  if (Steps.size() > Max) {
    shuffleEvenly<Step>(Steps, Random);
    Steps.resize(Max);
  }
  std::vector<Point> Points;
  DenseSet<uint64_t> Seen = {digest(P)};
  for (const auto &[K, Numbers] : Steps) {
    Point Q = P;
    I->setNumbers(Q, K, Numbers);
    I->settle(Q, Existing, nullptr);
    if (isValid(Q) && Seen.insert(digest(Q)).second)
      Points.push_back(std::move(Q));
  }
  return Points;
}

/// Changes one dimension; all dimensions are equally likely.
void SearchSpace::Impl::step(Point &P, RandomEngine &Random) const {
  BitVector Existing = getExisting(P);
  SmallVector<unsigned, 32> Candidates; // One parameter per dimension.
  for (unsigned K : Existing.set_bits()) {
    const BoundParameter &B = Parameters[K];
    if (!B.Space) {
      if (Dimensions[B.FirstDim].High > Dimensions[B.FirstDim].Low)
        Candidates.push_back(K);
      continue;
    }
    for (auto [N, IsActive] :
         enumerate(B.Space->activity(getPipelinePoint(P, K))))
      if (IsActive && Dimensions[B.FirstDim + N].High > 0)
        Candidates.push_back(K);
  }
  if (Candidates.empty())
    return;
  unsigned K = Candidates[drawBelow(Candidates.size(), Random)];
  const BoundParameter &B = Parameters[K];
  if (B.Space) {
    setPipelinePoint(P, K,
                     B.Space->mutate(getPipelinePoint(P, K), Random));
  } else {
    const Dimension &D = Dimensions[B.FirstDim];
    double &Number = P[B.FirstDim];
    if (D.Kind == Dimension::Real) {
      Number = moveBy(D, Number, (drawUnit(Random) - 0.5) * 0.6);
    } else if (D.Kind == Dimension::Ordered) {
      // Mostly small steps; long ranges also need large ones.
      uint64_t Distance = 1;
      while (Distance < D.Count / 8 && drawBelow(2, Random))
        Distance *= 2;
      bool Up = Number == 0 || (Number < D.High && drawBelow(2, Random));
      Number += Up ? double(Distance) : -double(Distance);
      Number = std::clamp(Number, 0.0, D.High);
    } else {
      // Any other value.
      double Other = double(drawBelow(D.Count - 1, Random));
      Number = Other < Number ? Other : Other + 1;
    }
  }
  settle(P, Existing, &Random);
}

std::optional<Point> SearchSpace::mutate(const Point &P, unsigned Steps,
                                         RandomEngine &Random) const {
  constexpr unsigned MaxMutations = 100;
  uint64_t Own = digest(P);
  for (unsigned T = 0; T != MaxMutations; ++T) {
    Point Q = P;
    for (unsigned K = 0; K != Steps; ++K)
      I->step(Q, Random);
    if (digest(Q) != Own && isValid(Q))
      return Q;
  }
  // Constraints may rule out all small steps: redraw a part.
  for (unsigned T = 0; T != MaxMutations && !I->Valid.empty(); ++T) {
    Point Q = P;
    const Part &Of = I->Valid[drawBelow(I->Valid.size(), Random)];
    if (I->drawValid(Q, Of, Random) && digest(Q) != Own && isValid(Q))
      return Q;
  }
  return std::nullopt;
}

std::optional<Point> SearchSpace::crossover(const Point &A, const Point &B,
                                            RandomEngine &Random) const {
  constexpr unsigned MaxCrossings = 50;
  BitVector InA = I->getExisting(A), InB = I->getExisting(B);
  BitVector InEither = InA;
  InEither |= InB;
  for (unsigned T = 0; T != MaxCrossings; ++T) {
    Point Q = A;
    for (auto [K, Parameter] : enumerate(I->Parameters)) {
      bool Both = InA[K] && InB[K];
      if (Both && Parameter.Space && drawBelow(2, Random)) {
        I->setPipelinePoint(
            Q, K,
            Parameter.Space->crossover(I->getPipelinePoint(A, K),
                                       I->getPipelinePoint(B, K), Random));
      } else if (Both ? drawBelow(2, Random) : InB[K]) {
        I->setNumbers(Q, K,
                      ArrayRef(B).slice(Parameter.FirstDim,
                                        Parameter.NumDims));
      }
    }
    I->settle(Q, InEither, &Random);
    if (isValid(Q))
      return Q;
  }
  // Take whole parts, which stay valid.
  Point Q = A;
  for (const Part &Of : I->Valid)
    if (drawBelow(2, Random))
      for (unsigned K : Of.Parameters) {
        const BoundParameter &Parameter = I->Parameters[K];
        I->setNumbers(Q, K,
                      ArrayRef(B).slice(Parameter.FirstDim,
                                        Parameter.NumDims));
      }
  if (isValid(Q))
    return Q;
  return std::nullopt;
}
