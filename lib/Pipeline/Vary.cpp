//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Neighbours, mutations and crossover of points, with moves for sequences and
/// permutations.
///
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// \returns a uniform random number in [0, \p N). Unlike std's distributions,
/// it is the same with every standard library.
static uint64_t pick(RandomEngine &Random, uint64_t N) {
  uint64_t Uneven = -N % N, R;
  do
    R = Random();
  while (R < Uneven);
  return R % N;
}

static bool isPlain(const PipelineDecision &D) {
  return D.Kind == PipelineDecision::Alternative ||
         D.Kind == PipelineDecision::Optional ||
         D.Kind == PipelineDecision::Integer;
}

//===----------------------------------------------------------------------===//
// Sequences and permutations that are active at a point
//===----------------------------------------------------------------------===//

namespace {
struct Site {
  const PipelineNode *N;
  unsigned Base;
  bool InSeq;

  unsigned first() const { return Base + N->First; }
  bool isSeq() const { return N->Kind == PipelineNode::Seq; }
  /// The number of decisions that form a unit: all of a seq, or the ranks of a
  /// perm.
  unsigned size() const {
    return isSeq() ? N->NumDecisions : unsigned(N->size() - 1);
  }
};

class SiteFinder {
public:
  SiteFinder(const PipelineTree &T, const PipelinePoint &P) : T(T), P(P) {}
  std::vector<Site> run() {
    visit(*T.Root, 0, false);
    return std::move(Sites);
  }

private:
  const PipelineTree &T;
  const PipelinePoint &P;
  uint64_t Seen = 0; ///< Shared named choices, by bit.
  std::vector<Site> Sites;

  void visit(const PipelineNode &N, unsigned Base, bool InSeq);
};
} // namespace

void SiteFinder::visit(const PipelineNode &N, unsigned Base, bool InSeq) {
  if (!N.varies())
    return;
  switch (N.Kind) {
  case PipelineNode::Choice:
    return visit(chosen(N, Base + N.First, P), Base, InSeq);
  case PipelineNode::Optional:
    if (P[Base + N.First])
      visit(N.child(0), Base, InSeq);
    return;
  case PipelineNode::Use: {
    const PipelineBinding &B = T.Bindings[N.Binding];
    uint64_t Bit = B.Shared ? uint64_t(1) << B.Bit : 0;
    if (Seen & Bit)
      return;
    Seen |= Bit;
    return visit(*B.Definition, T.base(N, Base), InSeq && !B.Shared);
  }
  case PipelineNode::Seq:
    Sites.push_back({&N, Base, InSeq});
    for (unsigned I = 0, E = lengthOf(N, Base, P); I != E; ++I)
      visit(chosen(N, Base + N.slot(I), P), Base + N.slot(I), true);
    return;
  case PipelineNode::Perm:
    if (N.size() > 1)
      Sites.push_back({&N, Base, InSeq});
    break;
  default:
    break;
  }
  for (const auto &C : N.Children)
    visit(*C, Base, InSeq);
}

//===----------------------------------------------------------------------===//
// A sequence's slots
//===----------------------------------------------------------------------===//

namespace {
/// A copy of the slots of a Seq at a point, to be rearranged.
class Slots {
public:
  Slots(const Site &At, const PipelinePoint &P)
      : N(*At.N), Base(At.Base), Count(lengthOf(N, Base, P)),
        Values(begin(P), begin(P) + Count * N.Stride) {}

  size_t size() const { return Count; }
  bool canGrow() const { return int64_t(Count) < N.High; }
  bool canShrink() const { return int64_t(Count) > N.Low; }
  ArrayRef<uint64_t> slot(size_t I) const {
    return ArrayRef(Values).slice(I * N.Stride, N.Stride);
  }

  void insert(size_t I, ArrayRef<uint64_t> Slot) {
    Values.insert(at(I), Slot.begin(), Slot.end());
    ++Count;
  }
  void erase(size_t I) {
    Values.erase(at(I), at(I + 1));
    --Count;
  }
  void replace(size_t I, ArrayRef<uint64_t> Slot) { llvm::copy(Slot, at(I)); }
  void swap(size_t I, size_t J) { std::swap_ranges(at(I), at(I + 1), at(J)); }

  /// Writes the slots back; the Seq must allow their number.
  void store(PipelinePoint &P) const {
    if (N.hasLength())
      P[Base + N.First] = Count - N.Low;
    llvm::copy(Values, P.begin() + Base + N.slot(0));
  }

private:
  const PipelineNode &N;
  unsigned Base;
  size_t Count;
  std::vector<uint64_t> Values; ///< Of all slots, one after the other.

  PipelinePoint::const_iterator begin(const PipelinePoint &P) const {
    return P.begin() + Base + N.slot(0);
  }
  std::vector<uint64_t>::iterator at(size_t I) {
    return Values.begin() + I * N.Stride;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

namespace {
class NeighbourFinder {
public:
  NeighbourFinder(const PipelineSpace &Space, const PipelineTree &T,
                  const PipelinePoint &P)
      : Space(Space), P(P), Sites(SiteFinder(T, P).run()) {
    findChanges();
  }
  /// \param Random May be null if there are at most \p Max neighbours.
  std::vector<PipelinePoint> run(size_t Max, RandomEngine *Random);

private:
  /// One change of the point. Changes are found first and made later, because
  /// long sequences have many.
  struct Change {
    enum KindTy { SetValue, SwapRanks, Erase, Insert, SwapSlots } Kind;
    unsigned At; ///< A decision for SetValue, else a site.
    uint64_t Where, Alternative = 0;
  };

  const PipelineSpace &Space;
  const PipelinePoint &P;
  const std::vector<Site> Sites;
  std::vector<Change> Changes;

  void findChanges();
  void findValues(unsigned Decision, const PipelineDecision &D);
  void findEdits(unsigned Seq);
  PipelinePoint make(const Change &C) const;
};
} // namespace

void NeighbourFinder::findValues(unsigned Decision, const PipelineDecision &D) {
  uint64_t Now = P[Decision];
  auto Add = [&](uint64_t Value) {
    Changes.push_back({Change::SetValue, Decision, Value});
  };
  if (D.Kind != PipelineDecision::Integer) {
    for (uint64_t Value = 0; Value != D.Count; ++Value)
      if (Value != Now)
        Add(Value);
    return;
  }
  if (Now > 0)
    Add(Now - 1);
  if (Now + 1 < D.Count)
    Add(Now + 1);
}

void NeighbourFinder::findEdits(unsigned Seq) {
  const PipelineNode &N = *Sites[Seq].N;
  const Slots Now(Sites[Seq], P);
  for (size_t I = 0; I != Now.size() && Now.canShrink(); ++I)
    Changes.push_back({Change::Erase, Seq, I});
  for (size_t I = 0; I <= Now.size() && Now.canGrow(); ++I)
    for (size_t Alternative = 0; Alternative != N.size(); ++Alternative)
      Changes.push_back({Change::Insert, Seq, I, Alternative});
  for (size_t I = 0; I + 1 < Now.size(); ++I)
    Changes.push_back({Change::SwapSlots, Seq, I});
}

void NeighbourFinder::findChanges() {
  std::vector<bool> Active = Space.activity(P);
  for (auto [I, D] : enumerate(Space.decisions()))
    if (Active[I] && isPlain(D))
      findValues(I, D);
  for (auto [I, S] : enumerate(Sites)) {
    if (S.isSeq())
      findEdits(I);
    else
      for (size_t Rank = 0; Rank + 1 < S.N->size(); ++Rank)
        Changes.push_back({Change::SwapRanks, unsigned(I), Rank});
  }
}

PipelinePoint NeighbourFinder::make(const Change &C) const {
  PipelinePoint Q = P;
  if (C.Kind == Change::SetValue) {
    Q[C.At] = C.Where;
  } else if (C.Kind == Change::SwapRanks) {
    const Site &Perm = Sites[C.At];
    std::vector<unsigned> Order = orderOf(*Perm.N, Perm.Base, P);
    std::swap(Order[C.Where], Order[C.Where + 1]);
    setOrder(*Perm.N, Perm.Base, Order, Q);
  } else {
    const PipelineNode &N = *Sites[C.At].N;
    Slots S(Sites[C.At], P);
    if (C.Kind == Change::Erase) {
      S.erase(C.Where);
    } else if (C.Kind == Change::Insert) {
      std::vector<uint64_t> New(N.Stride);
      if (N.size() > 1)
        New[0] = C.Alternative;
      S.insert(C.Where, New);
    } else {
      S.swap(C.Where, C.Where + 1);
    }
    S.store(Q);
  }
  Space.canonicalize(Q);
  return Q;
}

std::vector<PipelinePoint> NeighbourFinder::run(size_t Max,
                                                RandomEngine *Random) {
  if (Changes.size() > Max) {
    for (size_t I = 0; I != Max; ++I)
      std::swap(Changes[I], Changes[I + pick(*Random, Changes.size() - I)]);
    Changes.resize(Max);
  }
  std::set<PipelinePoint> Seen = {P};
  std::vector<PipelinePoint> Found;
  for (const Change &C : Changes)
    if (PipelinePoint Q = make(C); Seen.insert(Q).second)
      Found.push_back(std::move(Q));
  return Found;
}

std::vector<PipelinePoint>
PipelineSpace::neighbours(const PipelinePoint &P) const {
  return NeighbourFinder(*this, I->Tree, P).run(SIZE_MAX, nullptr);
}

std::vector<PipelinePoint>
PipelineSpace::neighbours(const PipelinePoint &P, size_t Max,
                          RandomEngine &Random) const {
  return NeighbourFinder(*this, I->Tree, P).run(Max, &Random);
}

//===----------------------------------------------------------------------===//
// Mutation
//===----------------------------------------------------------------------===//

namespace {
class Mutator {
public:
  Mutator(const PipelineSpace &Space, const PipelineTree &T,
          const PipelinePoint &P, RandomEngine &Random);
  PipelinePoint run();

private:
  const PipelineSpace &Space;
  const PipelinePoint &P;
  RandomEngine &Random;
  std::vector<bool> Active;
  std::vector<unsigned> Plain; ///< Active ones.
  std::vector<Site> Sites;
  /// A site has one entry for each of its places.
  std::vector<unsigned> SiteOfPlace;

  size_t pick(size_t N) { return ::pick(Random, N); }
  PipelinePoint change();
  void changeValue(PipelinePoint &Q, unsigned Decision);
  void swapTwo(PipelinePoint &Q, const Site &Perm);
  void editSeq(PipelinePoint &Q, const Site &Seq);
  std::vector<uint64_t> randomSlot(const Site &Seq);
  /// Draws values for decisions that were inactive before, except in [From,
  /// To).
  void settle(PipelinePoint &Q, unsigned From = 0, unsigned To = 0);
};
} // namespace

Mutator::Mutator(const PipelineSpace &Space, const PipelineTree &T,
                 const PipelinePoint &P, RandomEngine &Random)
    : Space(Space), P(P), Random(Random), Active(Space.activity(P)),
      Sites(SiteFinder(T, P).run()) {
  for (auto [I, D] : enumerate(Space.decisions()))
    if (Active[I] && isPlain(D))
      Plain.push_back(I);
  for (auto [I, S] : enumerate(Sites)) {
    size_t Places =
        S.isSeq() ? std::max(lengthOf(*S.N, S.Base, P), 1u) : S.N->size() - 1;
    SiteOfPlace.insert(SiteOfPlace.end(), Places, I);
  }
}

void Mutator::settle(PipelinePoint &Q, unsigned From, unsigned To) {
  for (auto [I, D] : enumerate(Space.decisions())) {
    bool Fresh = !Active[I] && (I < From || I >= To);
    if (Fresh)
      Q[I] = pick(D.Count); // canonicalize() resets it if it is still inactive
  }
  Space.canonicalize(Q);
}

void Mutator::changeValue(PipelinePoint &Q, unsigned Decision) {
  uint64_t Value = pick(Space.decisions()[Decision].Count - 1);
  Q[Decision] = Value + (Value >= P[Decision]);
  settle(Q);
}

void Mutator::swapTwo(PipelinePoint &Q, const Site &Perm) {
  std::vector<unsigned> Order = orderOf(*Perm.N, Perm.Base, P);
  size_t A = pick(Order.size()), B = pick(Order.size() - 1);
  std::swap(Order[A], Order[B + (B >= A)]);
  setOrder(*Perm.N, Perm.Base, Order, Q);
}

std::vector<uint64_t> Mutator::randomSlot(const Site &Seq) {
  std::vector<uint64_t> S(Seq.N->Stride);
  for (auto [I, Value] : enumerate(S))
    Value = pick(Space.decisions()[Seq.Base + Seq.N->slot(0) + I].Count);
  return S;
}

void Mutator::editSeq(PipelinePoint &Q, const Site &Seq) {
  Slots S(Seq, P);
  size_t Size = S.size();
  enum EditTy { Insert, Remove, Replace, Swap, Move };
  SmallVector<EditTy, 5> Edits;
  if (S.canGrow())
    Edits.push_back(Insert);
  if (S.canShrink())
    Edits.push_back(Remove);
  if (Size > 0)
    Edits.push_back(Replace);
  if (Size > 1)
    Edits.push_back(Swap);
  if (Size > 2)
    Edits.push_back(Move);

  EditTy Edit = Edits[pick(Edits.size())];
  if (Edit == Insert) {
    size_t Where = pick(Size + 1);
    S.insert(Where, randomSlot(Seq));
  } else if (Edit == Remove) {
    S.erase(pick(Size));
  } else if (Edit == Replace) {
    std::vector<uint64_t> New = randomSlot(Seq);
    S.replace(pick(Size), New);
  } else {
    size_t A = pick(Size), B = pick(Size - 1);
    B += B >= A;
    if (Edit == Swap) {
      S.swap(A, B);
    } else {
      std::vector<uint64_t> Moved = S.slot(A).vec();
      S.erase(A);
      S.insert(B, Moved);
    }
  }
  S.store(Q);
  settle(Q, Seq.first(), Seq.first() + Seq.size());
}

PipelinePoint Mutator::change() {
  PipelinePoint Q = P;
  size_t Which = pick(Plain.size() + SiteOfPlace.size());
  if (Which < Plain.size()) {
    changeValue(Q, Plain[Which]);
    return Q;
  }
  const Site &S = Sites[SiteOfPlace[Which - Plain.size()]];
  S.isSeq() ? editSeq(Q, S) : swapTwo(Q, S);
  return Q;
}

PipelinePoint Mutator::run() {
  if (Plain.empty() && Sites.empty())
    return P;
  // A change may have no effect, such as swapping equal elements.
  for (unsigned Try = 0; Try != 16; ++Try)
    if (PipelinePoint Q = change(); Q != P)
      return Q;
  std::vector<PipelinePoint> All = Space.neighbours(P);
  return All.empty() ? P : All[pick(All.size())];
}

PipelinePoint PipelineSpace::mutate(const PipelinePoint &P,
                                    RandomEngine &Random) const {
  return Mutator(*this, I->Tree, P, Random).run();
}

//===----------------------------------------------------------------------===//
// Crossover
//===----------------------------------------------------------------------===//

/// Joins the beginning of \p A's sequence and the end of \p B's, cut at random.
static void splice(const Site &Seq, const PipelinePoint &A,
                   const PipelinePoint &B, RandomEngine &Random,
                   PipelinePoint &Child) {
  Slots S(Seq, A);
  const Slots Other(Seq, B);
  int64_t Head = pick(Random, S.size() + 1);
  int64_t Min = std::max<int64_t>(Seq.N->Low - Head, 0);
  int64_t Max = std::min<int64_t>(Seq.N->High - Head, Other.size());
  int64_t Tail = Min + pick(Random, Max - Min + 1);
  while (int64_t(S.size()) > Head)
    S.erase(S.size() - 1);
  for (int64_t I = Other.size() - Tail; I != int64_t(Other.size()); ++I)
    S.insert(S.size(), Other.slot(I));
  S.store(Child);
}

PipelinePoint PipelineSpace::crossover(const PipelinePoint &A,
                                       const PipelinePoint &B,
                                       RandomEngine &Random) const {
  PipelinePoint Child = A;
  std::vector<bool> Ready(A.size());
  // Sites that are inherited as a whole, by their first decision.
  std::map<unsigned, Site> InA, InB;
  for (const Site &S : SiteFinder(I->Tree, A).run())
    if (!S.InSeq && S.size())
      InA.try_emplace(S.first(), S);
  for (const Site &S : SiteFinder(I->Tree, B).run())
    if (!S.InSeq && S.size())
      InB.try_emplace(S.first(), S);

  for (const auto &[First, S] : InA)
    std::fill_n(Ready.begin() + First, S.size(), true);
  for (const auto &[First, S] : InB) {
    std::fill_n(Ready.begin() + First, S.size(), true);
    bool Both = InA.count(First);
    if (Both && S.isSeq())
      splice(S, A, B, Random, Child);
    else if (!Both || pick(Random, 2))
      std::copy_n(B.begin() + First, S.size(), Child.begin() + First);
  }

  std::vector<bool> ActiveA = activity(A), ActiveB = activity(B);
  for (size_t D = 0; D != A.size(); ++D)
    if (!Ready[D] && ActiveB[D] && (!ActiveA[D] || pick(Random, 2)))
      Child[D] = B[D];
  canonicalize(Child);
  return Child;
}
