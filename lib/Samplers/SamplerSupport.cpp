//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Runtime/Scramble.h"
#include <cmath>
#include <limits>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

uint64_t mneme::randomBelow(RandomEngine &Random, uint64_t N) {
  // Reject the highest numbers, which would favour small results.
  uint64_t Limit = RandomEngine::max() - RandomEngine::max() % N;
  uint64_t R = Random();
  while (R >= Limit)
    R = Random();
  return R % N;
}

double mneme::randomUnit(RandomEngine &Random) {
  return static_cast<double>(Random() >> 11) * 0x1p-53;
}

uint64_t mneme::mixSeed(uint64_t Seed, uint64_t Number) {
  return scramble(Seed * 0xd1342543de82ef95 + Number * 0x9e3779b97f4a7c15 + 1);
}

//===----------------------------------------------------------------------===//
// The history
//===----------------------------------------------------------------------===//

/// \returns the values with signs such that less is better, or nothing if the
/// trial failed.
static std::vector<double> getMinimized(const Trial &T,
                                        ArrayRef<Direction> Directions) {
  if (T.State == TrialState::Failed || T.Values.size() != Directions.size())
    return {};
  std::vector<double> Y;
  for (auto [V, D] : zip(T.Values, Directions)) {
    if (!std::isfinite(V))
      return {};
    Y.push_back(D == Direction::Minimize ? V : -V);
  }
  return Y;
}

Observations::Observations(const SamplerContext &Context) {
  for (const Trial &T : Context.History) {
    if (T.Kind == TrialKind::Canary)
      continue;
    if (T.State == TrialState::Running) {
      Running.push_back(&T);
      continue;
    }
    if (T.Suspect)
      continue;
    std::vector<double> Y = getMinimized(T, Context.Directions);
    double Score =
        Y.empty() ? std::numeric_limits<double>::infinity() : Y.front();
    Done.push_back({&T, std::move(Y), Score});
  }
  if (Context.Directions.size() < 2)
    return;

  std::vector<size_t> Complete;
  std::vector<std::vector<double>> Y;
  for (auto [I, O] : enumerate(Done)) {
    if (O.failed())
      continue;
    Complete.push_back(I);
    Y.push_back(O.Y);
  }
  std::vector<unsigned> Fronts = getFronts(Y);
  std::vector<double> Crowding = getCrowding(Y, Fronts);
  for (auto [I, F, C] : zip(Complete, Fronts, Crowding))
    Done[I].Score = F + (std::isinf(C) ? 0 : 0.9 / (1 + C));
}

std::vector<size_t> Observations::ranked() const {
  std::vector<size_t> Order;
  for (auto [I, O] : enumerate(Done))
    if (!O.failed() && !O.T->DuplicateOf)
      Order.push_back(I);
  llvm::sort(Order, [&](size_t A, size_t B) {
    return std::pair(Done[A].Score, A) < std::pair(Done[B].Score, B);
  });
  return Order;
}

void Observations::thin(size_t Max) {
  if (Done.size() <= Max)
    return;
  std::vector<size_t> Best = ranked();
  Best.resize(std::min(Best.size(), Max / 4));
  std::vector<bool> Kept(Done.size());
  for (size_t I : Best)
    Kept[I] = true;
  size_t Others = Done.size() - Best.size(), Wanted = Max - Best.size();
  std::vector<Observation> Few;
  size_t Seen = 0;
  for (size_t I = 0; I != Done.size(); ++I) {
    bool IsNext = false;
    if (!Kept[I]) {
      IsNext = Seen * Wanted / Others != (Seen + 1) * Wanted / Others;
      ++Seen;
    }
    if (Kept[I] || IsNext)
      Few.push_back(std::move(Done[I]));
  }
  Done = std::move(Few);
}

static bool dominatesMinimized(ArrayRef<double> A, ArrayRef<double> B) {
  bool Better = false;
  for (auto [X, Y] : zip(A, B)) {
    if (X > Y)
      return false;
    Better |= X < Y;
  }
  return Better;
}

std::vector<unsigned> mneme::getFronts(ArrayRef<std::vector<double>> Y) {
  std::vector<size_t> Order(Y.size());
  std::iota(Order.begin(), Order.end(), 0);
  // In this order, only earlier points dominate a point.
  llvm::sort(Order, [&](size_t A, size_t B) {
    return std::tie(Y[A], A) < std::tie(Y[B], B);
  });

  std::vector<unsigned> Result(Y.size());
  std::vector<std::vector<size_t>> Fronts;
  for (size_t I : Order) {
    // If a front dominates a point, all earlier fronts do.
    auto First = llvm::partition_point(Fronts, [&](ArrayRef<size_t> Front) {
      return any_of(llvm::reverse(Front), [&](size_t J) {
        return dominatesMinimized(Y[J], Y[I]);
      });
    });
    Result[I] = First - Fronts.begin();
    if (First == Fronts.end())
      Fronts.emplace_back(1, I);
    else
      First->push_back(I);
  }
  return Result;
}

std::vector<double> mneme::getCrowding(ArrayRef<std::vector<double>> Y,
                                       ArrayRef<unsigned> Fronts) {
  constexpr double Infinity = std::numeric_limits<double>::infinity();
  std::map<unsigned, std::vector<size_t>> Members;
  for (auto [I, F] : enumerate(Fronts))
    Members[F].push_back(I);

  std::vector<double> Distance(Y.size(), 0);
  for (auto &[F, Front] : Members) {
    for (size_t D = 0; D != Y[Front.front()].size(); ++D) {
      llvm::sort(Front, [&](size_t A, size_t B) {
        return std::pair(Y[A][D], A) < std::pair(Y[B][D], B);
      });
      double Extent = Y[Front.back()][D] - Y[Front.front()][D];
      Distance[Front.front()] = Distance[Front.back()] = Infinity;
      if (Extent <= 0)
        continue;
      for (size_t I = 1; I + 1 < Front.size(); ++I)
        Distance[Front[I]] +=
            (Y[Front[I + 1]][D] - Y[Front[I - 1]][D]) / Extent;
    }
  }
  return Distance;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

std::vector<Point> mneme::getOtherValues(const SearchSpace &Space,
                                         const Point &P, unsigned MaxValues,
                                         RandomEngine &Random, size_t Max) {
  BitVector Active = Space.activity(P);
  std::vector<std::pair<unsigned, uint64_t>> Changes;
  auto Add = [&](unsigned Dim, uint64_t Value) {
    if (Value != P[Dim])
      Changes.push_back({Dim, Value});
  };
  for (auto [I, D] : enumerate(Space.dimensions())) {
    if (D.Kind != Dimension::Ordered || !Active[I])
      continue;
    if (D.Count <= MaxValues)
      for (uint64_t V = 0; V != D.Count; ++V)
        Add(I, V);
    else
      for (unsigned K = 0; K != MaxValues; ++K)
        Add(I, randomBelow(Random, D.Count));
  }
  if (Changes.size() > Max) {
    shuffle(Changes, Random);
    Changes.resize(Max);
  }
  std::vector<Point> Others;
  for (auto [Dim, Value] : Changes) {
    Point Other = P;
    Other[Dim] = Value;
    Space.canonicalize(Other);
    if (Space.isValid(Other))
      Others.push_back(std::move(Other));
  }
  return Others;
}

bool Batch::isNew(uint64_t Digest) const {
  return !Context.Proposed.contains(Digest) && !Digests.contains(Digest);
}

bool Batch::add(Point P) {
  uint64_t Digest = Context.Space.digest(P);
  if (isFull() || !isNew(Digest))
    return false;
  Digests.insert(Digest);
  Points.push_back(std::move(P));
  return true;
}

/// Spaces with more points are not enumerated.
static constexpr uint64_t MaxEnumerated = 1 << 20;
/// If 2 % of the points are unseen, this many draws find none of them with a
/// probability of 2 %.
static constexpr unsigned MaxUnseenTries = 200;

bool UnseenPoints::findLeft() {
  if (Left)
    return true;
  std::optional<APInt> Count = Context.Space.countValid();
  if (!Count || Count->ugt(MaxEnumerated))
    return false;
  Left.emplace(Count->getZExtValue());
  std::iota(Left->begin(), Left->end(), 0);
  return true;
}

std::optional<Point> UnseenPoints::draw(const Batch &B, RandomEngine &Random) {
  for (unsigned Try = 0; Try != MaxUnseenTries; ++Try) {
    std::optional<Point> P = Context.Space.sample(Random);
    if (!P)
      break;
    if (B.isNew(*P))
      return P;
  }
  if (!findLeft())
    return std::nullopt;
  auto At = [&](uint64_t I) { return Context.Space.validAt(APInt(64, I)); };
  erase_if(*Left, [&](uint64_t I) {
    return Context.Proposed.contains(Context.Space.digest(At(I)));
  });
  std::vector<uint64_t> Numbers = *Left;
  while (!Numbers.empty()) {
    uint64_t &Chosen = Numbers[randomBelow(Random, Numbers.size())];
    Point P = At(Chosen);
    if (B.isNew(P))
      return P;
    Chosen = Numbers.back();
    Numbers.pop_back();
  }
  return std::nullopt;
}

void UnseenPoints::fill(Batch &B, RandomEngine &Random) {
  while (!B.isFull()) {
    std::optional<Point> P = draw(B, Random);
    if (!P || !B.add(std::move(*P)))
      return;
  }
}

void StartPoints::make() {
  if (!Points.empty())
    return;
  RandomEngine Random(mixSeed(Context.Seed, 0));
  Points = Context.Space.stratified(N, Random);
  for (const Point &P : Points)
    Digests.insert(Context.Space.digest(P));
}

void StartPoints::fill(Batch &B) {
  make();
  for (const Point &P : Points)
    B.add(P);
}

bool StartPoints::contains(uint64_t Digest) {
  make();
  return Digests.contains(Digest);
}

//===----------------------------------------------------------------------===//
// PopulationSampler
//===----------------------------------------------------------------------===//

/// Maximum number of attempts to find a new child, per child.
static constexpr unsigned MaxTries = 50;

Expected<std::vector<Point>> PopulationSampler::ask(unsigned N) {
  RandomEngine Random = makeRandom();
  Batch B(Context, N);
  Start.fill(B);
  if (!B.isFull() && choosePopulation(Observations(Context)))
    for (unsigned Try = 0; Try != MaxTries * N && !B.isFull(); ++Try)
      if (std::optional<Point> P = makeChild(Random))
        B.add(std::move(*P));
  Unseen.fill(B, Random);
  return B.take();
}
