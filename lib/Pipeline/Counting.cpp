//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counting.h"
#include "Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// \returns whether the node chooses its children independently of each other.
static bool isProduct(const PipelineNode &N) {
  return N.Kind != PipelineNode::Choice && N.Kind != PipelineNode::Optional &&
         N.Kind != PipelineNode::Seq;
}

static const APInt *waysWith(const Ways &W, uint64_t Used) {
  auto It = llvm::find_if(W, [&](const auto &E) { return E.first == Used; });
  return It == W.end() ? nullptr : &It->second;
}

//===----------------------------------------------------------------------===//
// Upper bound of the number of bits of the number of points
//===----------------------------------------------------------------------===//

static uint64_t countBits(const PipelineTree &T, const PipelineNode &N) {
  uint64_t Sum = 0, Max = 0;
  for (const auto &C : N.Children) {
    uint64_t Bits = C->varies() ? countBits(T, *C) : 0;
    Sum += Bits;
    Max = std::max(Max, Bits);
  }
  switch (N.Kind) {
  case PipelineNode::Range:
    return Log2_64_Ceil(N.numValues());
  case PipelineNode::Choice:
    return Max + Log2_64_Ceil(N.size());
  case PipelineNode::Optional:
    return Max + 1;
  case PipelineNode::Seq:
    return N.High * (Max + Log2_64_Ceil(N.size())) +
           Log2_64_Ceil(N.High - N.Low + 1);
  case PipelineNode::Perm:
    return Sum + N.size() * Log2_64_Ceil(N.size());
  case PipelineNode::Use: // The caller counts shared choices once.
    return T.Bindings[N.Binding].Shared ? 0 : countBits(T, T.definition(N));
  default:
    return Sum;
  }
}

//===----------------------------------------------------------------------===//
// Ways of each node
//===----------------------------------------------------------------------===//

namespace {
class WaysBuilder {
public:
  WaysBuilder(PipelineTree &T, unsigned Width) : T(T), Width(Width) {}
  Error build(PipelineNode &N);
  APInt number(uint64_t N) const { return APInt(Width, N); }

private:
  PipelineTree &T;
  unsigned Width;

  Ways one() const { return {{0, number(1)}}; }
  Error buildSeq(PipelineNode &N, const Ways &Slot);
  Error buildProduct(PipelineNode &N);
};
} // namespace

static Error checkSets(const PipelineNode &N, size_t Sets) {
  if (Sets <= MaxPipelineSets)
    return Error::success();
  return makeError(N.Pos, "named choices are used in too many combinations");
}

static Ways sorted(const std::map<uint64_t, APInt> &M) {
  return Ways(M.begin(), M.end());
}

static void addTo(std::map<uint64_t, APInt> &M, uint64_t Used,
                  const APInt &Count) {
  auto [It, New] = M.try_emplace(Used, Count);
  if (!New)
    It->second += Count;
}

static void addTo(std::map<uint64_t, APInt> &M, const Ways &W) {
  for (const auto &[Used, Count] : W)
    addTo(M, Used, Count);
}

static Ways multiply(const Ways &A, const Ways &B) {
  std::map<uint64_t, APInt> Product;
  for (const auto &[UsedA, CountA] : A)
    for (const auto &[UsedB, CountB] : B)
      addTo(Product, UsedA | UsedB, CountA * CountB);
  return sorted(Product);
}

Error WaysBuilder::build(PipelineNode &N) {
  if (!N.varies()) {
    N.Total = one();
    return Error::success();
  }
  for (auto &C : N.Children)
    if (Error E = build(*C))
      return E;
  if (isProduct(N))
    return buildProduct(N);

  std::map<uint64_t, APInt> Sum;
  if (N.Kind == PipelineNode::Optional)
    addTo(Sum, 0, number(1));
  for (const auto &C : N.Children)
    addTo(Sum, C->Total);
  N.Total = sorted(Sum);
  if (Error E = checkSets(N, N.Total.size()))
    return E;
  return N.Kind == PipelineNode::Seq ? buildSeq(N, Ways(N.Total))
                                     : Error::success();
}

Error WaysBuilder::buildSeq(PipelineNode &N, const Ways &Slot) {
  std::map<uint64_t, APInt> Sum;
  N.Tail.push_back(one());
  for (int64_t I = 0;; ++I) {
    if (I >= N.Low)
      addTo(Sum, N.Tail.back());
    if (I == N.High)
      break;
    N.Tail.push_back(multiply(Slot, N.Tail.back()));
    if (Error E = checkSets(N, N.Tail.back().size()))
      return E;
  }
  N.Total = sorted(Sum);
  return checkSets(N, N.Total.size());
}

Error WaysBuilder::buildProduct(PipelineNode &N) {
  if (N.Kind == PipelineNode::Range) {
    N.Total = {{0, number(N.numValues())}};
    return Error::success();
  }
  if (N.Kind == PipelineNode::Use) {
    PipelineBinding &B = T.Bindings[N.Binding];
    if (B.Shared) {
      N.Total = {{uint64_t(1) << B.Bit, number(1)}};
      return Error::success();
    }
    if (Error E = build(*B.Definition))
      return E;
    N.Total = B.Definition->Total;
    return Error::success();
  }
  for (const auto &C : N.Children)
    if (C->varies())
      N.Varying.push_back(C.get());
  N.Tail.assign(N.Varying.size() + 1, one());
  for (size_t I = N.Varying.size(); I-- > 0;) {
    N.Tail[I] = multiply(N.Varying[I]->Total, N.Tail[I + 1]);
    if (Error E = checkSets(N, N.Tail[I].size()))
      return E;
  }
  N.Total = N.Tail[0];
  if (N.Kind != PipelineNode::Perm)
    return Error::success();
  for (uint64_t I = 2; I <= N.size(); ++I)
    for (auto &[Used, Count] : N.Total)
      Count *= number(I);
  return Error::success();
}

/// \returns the latest shared named choice in a set. Its definition uses only
/// earlier ones.
static unsigned latest(uint64_t Used) { return Log2_64(Used); }

/// Calls \p F(Below, Count, Left) for the latest shared named choice of \p
/// Used: \p Count ways of its definition use the set \p Below, and \p Left is
/// the set that remains to be filled.
template <typename Fn>
static void forEachFilling(const PipelineTree &T, uint64_t Used, Fn F) {
  unsigned Bit = latest(Used);
  const PipelineNode &D = *T.Bindings[T.Shared[Bit]].Definition;
  for (const auto &[Below, Count] : D.Total)
    F(Below, Count, (Used & ~(uint64_t(1) << Bit)) | Below);
}

Error PipelineCounter::count(PipelineTree &T) {
  uint64_t Bits = countBits(T, *T.Root) + 1;
  for (unsigned I : T.Shared)
    Bits += countBits(T, *T.Bindings[I].Definition);
  if (Bits > MaxPipelineBits)
    return makeError(T.Root->Pos,
                     "more than 2^" + Twine(MaxPipelineBits) + " points");
  Width = std::max<unsigned>(Bits, 64);

  WaysBuilder Builder(T, Width);
  for (unsigned I : T.Shared)
    if (Error E = Builder.build(*T.Bindings[I].Definition))
      return E;
  if (Error E = Builder.build(*T.Root))
    return E;

  // Filling a set depends only on sets whose latest member is lower.
  std::vector<std::vector<uint64_t>> Pending(T.Shared.size());
  Filled.try_emplace(0, Builder.number(1));
  auto Want = [&](uint64_t Used) {
    if (Filled.try_emplace(Used, Builder.number(0)).second)
      Pending[latest(Used)].push_back(Used);
  };
  for (const auto &[Used, Count] : T.Root->Total)
    Want(Used);
  for (size_t Bit = Pending.size(); Bit-- > 0;)
    for (uint64_t Used : Pending[Bit]) {
      forEachFilling(T, Used, [&](uint64_t, const APInt &, uint64_t Left) {
        Want(Left);
      });
      if (Error E = checkSets(*T.Root, Filled.size()))
        return E;
    }
  for (const std::vector<uint64_t> &Sets : Pending)
    for (uint64_t Used : Sets)
      forEachFilling(T, Used,
                     [&](uint64_t, const APInt &Count, uint64_t Left) {
                       Filled[Used] += Count * Filled[Left];
                     });

  Total = Builder.number(0);
  for (const auto &[Used, Count] : T.Root->Total)
    Total += Count * Filled[Used];
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Number -> point
//===----------------------------------------------------------------------===//

namespace {
class Unranker {
public:
  Unranker(const PipelineTree &T, PipelinePoint &P) : T(T), P(P) {}
  /// Sets the decisions of \p N to the way with number \p Index of those that
  /// use exactly \p Used.
  void unrank(const PipelineNode &N, unsigned Base, uint64_t Used, APInt Index);

private:
  const PipelineTree &T;
  PipelinePoint &P;

  void unrankSum(const PipelineNode &N, unsigned Decision, unsigned Base,
                 uint64_t Used, APInt Index);
  void unrankSeq(const PipelineNode &N, unsigned Base, uint64_t Used,
                 APInt Index);
  void unrankProduct(const PipelineNode &N, unsigned Base, uint64_t Used,
                     APInt Index);
  void unrankPerm(const PipelineNode &N, unsigned Base, uint64_t Used,
                  APInt &Index);
};
} // namespace

/// Splits \p Index and \p Used of a product. \returns those of the first factor
/// and leaves those of the others.
static std::pair<uint64_t, APInt> takeFactor(const Ways &Head, const Ways &Tail,
                                             uint64_t &Used, APInt &Index) {
  for (const auto &[A, CountA] : Head)
    for (const auto &[B, CountB] : Tail) {
      if ((A | B) != Used)
        continue;
      // Usually there is only one way to split, and no product is needed.
      if (Head.size() != 1 || Tail.size() != 1) {
        APInt Count = CountA * CountB;
        if (Index.uge(Count)) {
          Index -= Count;
          continue;
        }
      }
      APInt Quotient, Remainder;
      APInt::udivrem(Index, CountB, Quotient, Remainder);
      Used = B;
      Index = std::move(Remainder);
      return {A, std::move(Quotient)};
    }
  llvm_unreachable("no such number");
}

void Unranker::unrankSum(const PipelineNode &N, unsigned Decision,
                         unsigned Base, uint64_t Used, APInt Index) {
  for (auto [I, C] : enumerate(N.Children)) {
    const APInt *Count = waysWith(C->Total, Used);
    if (!Count)
      continue;
    if (Index.uge(*Count)) {
      Index -= *Count;
      continue;
    }
    if (N.size() > 1)
      P[Decision] = I;
    return unrank(*C, Base, Used, std::move(Index));
  }
  llvm_unreachable("no such number");
}

/// The ways of one slot: the sum over the alternatives of a seq.
static Ways slotWays(const PipelineNode &Seq) {
  return Seq.High ? Seq.Tail[1] : Ways();
}

void Unranker::unrankSeq(const PipelineNode &N, unsigned Base, uint64_t Used,
                         APInt Index) {
  unsigned Length = N.Low;
  for (;; ++Length) {
    const APInt *Count = waysWith(N.Tail[Length], Used);
    if (!Count)
      continue;
    if (Index.ult(*Count))
      break;
    Index -= *Count;
  }
  if (N.hasLength())
    P[Base + N.First] = Length - N.Low;
  Ways Slot = slotWays(N);
  for (unsigned I = 0; I != Length; ++I) {
    auto [UsedHere, IndexHere] =
        takeFactor(Slot, N.Tail[Length - I - 1], Used, Index);
    unsigned At = Base + N.slot(I);
    unrankSum(N, At, At, UsedHere, std::move(IndexHere));
  }
}

void Unranker::unrankPerm(const PipelineNode &N, unsigned Base, uint64_t Used,
                          APInt &Index) {
  APInt Order, Rest;
  APInt::udivrem(Index, *waysWith(N.Tail[0], Used), Order, Rest);
  Index = std::move(Rest);
  for (size_t I = N.size() - 1; I-- > 0;) {
    uint64_t Rank;
    APInt::udivrem(Order, N.size() - I, Order, Rank);
    P[Base + N.First + I] = Rank;
  }
}

void Unranker::unrankProduct(const PipelineNode &N, unsigned Base,
                             uint64_t Used, APInt Index) {
  for (auto [I, C] : enumerate(N.Varying)) {
    auto [UsedHere, IndexHere] =
        takeFactor(C->Total, N.Tail[I + 1], Used, Index);
    unrank(*C, Base, UsedHere, std::move(IndexHere));
  }
}

void Unranker::unrank(const PipelineNode &N, unsigned Base, uint64_t Used,
                      APInt Index) {
  if (!N.varies())
    return;
  unsigned First = Base + N.First;
  switch (N.Kind) {
  case PipelineNode::Choice:
    return unrankSum(N, First, Base, Used, std::move(Index));
  case PipelineNode::Optional:
    if (!Used) {
      if (Index.isZero())
        return;
      --Index;
    }
    P[First] = 1;
    return unrank(N.child(0), Base, Used, std::move(Index));
  case PipelineNode::Range:
    P[First] = Index.getZExtValue();
    return;
  case PipelineNode::Seq:
    return unrankSeq(N, Base, Used, std::move(Index));
  case PipelineNode::Use:
    if (!T.Bindings[N.Binding].Shared)
      unrank(T.definition(N), Base, Used, std::move(Index));
    return;
  case PipelineNode::Perm:
    unrankPerm(N, Base, Used, Index);
    break;
  default:
    break;
  }
  unrankProduct(N, Base, Used, std::move(Index));
}

void PipelineCounter::at(const PipelineTree &T, APInt Index,
                         PipelinePoint &P) const {
  Unranker U(T, P);
  uint64_t Used = 0;
  APInt Rest;
  for (const auto &[Set, Count] : T.Root->Total) {
    const APInt &Fill = Filled.at(Set);
    APInt Here = Count * Fill;
    if (Index.uge(Here)) {
      Index -= Here;
      continue;
    }
    APInt Quotient;
    APInt::udivrem(Index, Fill, Quotient, Rest);
    U.unrank(*T.Root, 0, Set, std::move(Quotient));
    Used = Set;
    break;
  }
  while (Used) {
    const PipelineBinding &B = T.Bindings[T.Shared[latest(Used)]];
    bool Found = false;
    uint64_t Next = 0;
    forEachFilling(T, Used,
                   [&](uint64_t Below, const APInt &Count, uint64_t Left) {
                     if (Found)
                       return;
                     const APInt &Fill = Filled.at(Left);
                     APInt Here = Count * Fill;
                     if (Rest.uge(Here)) {
                       Rest -= Here;
                       return;
                     }
                     APInt Quotient, Remainder;
                     APInt::udivrem(Rest, Fill, Quotient, Remainder);
                     U.unrank(*B.Definition, B.Base, Below,
                              std::move(Quotient));
                     Rest = std::move(Remainder);
                     Next = Left;
                     Found = true;
                   });
    Used = Next;
  }
}

//===----------------------------------------------------------------------===//
// Random points
//===----------------------------------------------------------------------===//

/// \returns a uniform random number in [0, N). Unlike std's distributions, it
/// is the same with every standard library.
static uint64_t drawBelow(uint64_t N, RandomEngine &Random) {
  uint64_t Uneven = -N % N, R;
  do
    R = Random();
  while (R < Uneven);
  return R % N;
}

static APInt drawBelow(const APInt &N, RandomEngine &Random) {
  unsigned Bits = N.getActiveBits();
  SmallVector<uint64_t> Words(divideCeil(Bits, 64));
  // At least half of the numbers of this many bits are below N.
  APInt Index;
  do {
    for (uint64_t &Word : Words)
      Word = Random();
    Index = APInt(Bits, Words).zext(N.getBitWidth());
  } while (Index.uge(N));
  return Index;
}

namespace {
/// Draws a point of a space without shared named choices. Its parts are
/// independent of each other, so no numbers as wide as the total are needed.
class Drawer {
public:
  Drawer(const PipelineTree &T, RandomEngine &Random, PipelinePoint &P)
      : T(T), Random(Random), P(P) {}
  void draw(const PipelineNode &N, unsigned Base);

private:
  const PipelineTree &T;
  RandomEngine &Random;
  PipelinePoint &P;

  static const APInt &countOf(const Ways &W) { return W.front().second; }
  size_t drawOne(const APInt &Total, function_ref<const APInt &(size_t)> Of);
  void drawAlternative(const PipelineNode &N, const APInt &Total,
                       unsigned Decision, unsigned Base);
  void drawSeq(const PipelineNode &N, unsigned Base);
};
} // namespace

/// Draws an index with the weights \p Of, which add up to \p Total.
size_t Drawer::drawOne(const APInt &Total,
                       function_ref<const APInt &(size_t)> Of) {
  size_t I = 0;
  if (Total.getActiveBits() <= 64) {
    uint64_t Left = drawBelow(Total.getZExtValue(), Random);
    for (; Left >= Of(I).getZExtValue(); ++I)
      Left -= Of(I).getZExtValue();
    return I;
  }
  APInt Left = drawBelow(Total, Random);
  for (; Left.uge(Of(I)); ++I)
    Left -= Of(I);
  return I;
}

void Drawer::drawAlternative(const PipelineNode &N, const APInt &Total,
                             unsigned Decision, unsigned Base) {
  size_t Chosen = drawOne(Total, [&](size_t I) -> const APInt & {
    return countOf(N.child(I).Total);
  });
  if (N.size() > 1)
    P[Decision] = Chosen;
  draw(N.child(Chosen), Base);
}

void Drawer::drawSeq(const PipelineNode &N, unsigned Base) {
  size_t More = drawOne(countOf(N.Total), [&](size_t I) -> const APInt & {
    return countOf(N.Tail[N.Low + I]);
  });
  if (N.hasLength())
    P[Base + N.First] = More;
  for (unsigned I = 0; I != N.Low + More; ++I) {
    unsigned At = Base + N.slot(I);
    drawAlternative(N, countOf(N.Tail[1]), At, At);
  }
}

void Drawer::draw(const PipelineNode &N, unsigned Base) {
  if (!N.varies())
    return;
  unsigned First = Base + N.First;
  switch (N.Kind) {
  case PipelineNode::Choice:
    return drawAlternative(N, countOf(N.Total), First, Base);
  case PipelineNode::Optional:
    P[First] = !drawBelow(countOf(N.Total), Random).isZero();
    if (P[First])
      draw(N.child(0), Base);
    return;
  case PipelineNode::Range:
    P[First] = drawBelow(N.numValues(), Random);
    return;
  case PipelineNode::Seq:
    return drawSeq(N, Base);
  case PipelineNode::Use:
    return draw(T.definition(N), Base);
  case PipelineNode::Perm:
    for (size_t I = 0; I + 1 != N.size(); ++I)
      P[First + I] = drawBelow(uint64_t(N.size() - I), Random);
    break;
  default:
    break;
  }
  for (const PipelineNode *C : N.Varying)
    draw(*C, Base);
}

void PipelineCounter::draw(const PipelineTree &T, RandomEngine &Random,
                           PipelinePoint &P) const {
  // A total that fits into a word is drawn as one number.
  if (T.Shared.empty() && Total.getBitWidth() > 64)
    Drawer(T, Random, P).draw(*T.Root, 0);
  else
    at(T, drawBelow(Total, Random), P);
}

//===----------------------------------------------------------------------===//
// Point -> number
//===----------------------------------------------------------------------===//

namespace {
/// The number of a way among those that use the same set.
struct Ranked {
  uint64_t Used;
  APInt Index;
};

class Ranker {
public:
  Ranker(const PipelineTree &T, const PipelinePoint &P, unsigned Width)
      : T(T), P(P), Width(Width) {}
  Ranked rank(const PipelineNode &N, unsigned Base);

private:
  const PipelineTree &T;
  const PipelinePoint &P;
  unsigned Width;

  Ranked zero() const { return {0, APInt(Width, 0)}; }
  Ranked rankSum(const PipelineNode &N, unsigned Decision, unsigned Base);
  Ranked rankSeq(const PipelineNode &N, unsigned Base);
  Ranked rankProduct(const PipelineNode &N, unsigned Base);
};
} // namespace

/// The inverse of takeFactor().
static Ranked joinFactors(const Ways &Head, const Ways &Tail, const Ranked &H,
                          const Ranked &R) {
  Ranked Joined{H.Used | R.Used, APInt(R.Index.getBitWidth(), 0)};
  for (const auto &[A, CountA] : Head)
    for (const auto &[B, CountB] : Tail) {
      if ((A | B) != Joined.Used)
        continue;
      if (A == H.Used && B == R.Used) {
        Joined.Index += H.Index * CountB + R.Index;
        return Joined;
      }
      Joined.Index += CountA * CountB;
    }
  llvm_unreachable("a point of another space");
}

Ranked Ranker::rankSum(const PipelineNode &N, unsigned Decision,
                       unsigned Base) {
  size_t Chosen = N.size() > 1 ? P[Decision] : 0;
  Ranked R = rank(N.child(Chosen), Base);
  for (size_t I = 0; I != Chosen; ++I)
    if (const APInt *Count = waysWith(N.child(I).Total, R.Used))
      R.Index += *Count;
  return R;
}

Ranked Ranker::rankSeq(const PipelineNode &N, unsigned Base) {
  unsigned Length = N.Low + (N.hasLength() ? P[Base + N.First] : 0);
  Ways Slot = slotWays(N);
  Ranked R = zero();
  for (unsigned I = Length; I-- > 0;) {
    unsigned At = Base + N.slot(I);
    R = joinFactors(Slot, N.Tail[Length - I - 1], rankSum(N, At, At), R);
  }
  for (unsigned I = N.Low; I != Length; ++I)
    if (const APInt *Count = waysWith(N.Tail[I], R.Used))
      R.Index += *Count;
  return R;
}

Ranked Ranker::rankProduct(const PipelineNode &N, unsigned Base) {
  Ranked R = zero();
  for (size_t I = N.Varying.size(); I-- > 0;)
    R = joinFactors(N.Varying[I]->Total, N.Tail[I + 1],
                    rank(*N.Varying[I], Base), R);
  if (N.Kind != PipelineNode::Perm)
    return R;
  APInt Order(Width, 0);
  for (size_t I = 0; I + 1 < N.size(); ++I) {
    Order *= APInt(Width, N.size() - I);
    Order += P[Base + N.First + I];
  }
  R.Index += Order * *waysWith(N.Tail[0], R.Used);
  return R;
}

Ranked Ranker::rank(const PipelineNode &N, unsigned Base) {
  if (!N.varies())
    return zero();
  unsigned First = Base + N.First;
  switch (N.Kind) {
  case PipelineNode::Choice:
    return rankSum(N, First, Base);
  case PipelineNode::Optional: {
    if (!P[First])
      return zero();
    Ranked R = rank(N.child(0), Base);
    if (!R.Used)
      ++R.Index;
    return R;
  }
  case PipelineNode::Range:
    return {0, APInt(Width, P[First])};
  case PipelineNode::Seq:
    return rankSeq(N, Base);
  case PipelineNode::Use: {
    const PipelineBinding &B = T.Bindings[N.Binding];
    if (B.Shared)
      return {uint64_t(1) << B.Bit, APInt(Width, 0)};
    return rank(*B.Definition, Base);
  }
  default:
    return rankProduct(N, Base);
  }
}

APInt PipelineCounter::indexOf(const PipelineTree &T,
                               const PipelinePoint &P) const {
  Ranker R(T, P, Width);
  // Rank the set of named choices that the tree uses, then the way of the tree,
  // then the named choices, latest first.
  Ranked Root = R.rank(*T.Root, 0);
  APInt Index(Width, 0);
  for (const auto &[Set, Count] : T.Root->Total) {
    if (Set == Root.Used)
      break;
    Index += Count * Filled.at(Set);
  }
  Index += Root.Index * Filled.at(Root.Used);
  for (uint64_t Used = Root.Used; Used;) {
    const PipelineBinding &B = T.Bindings[T.Shared[latest(Used)]];
    Ranked Here = R.rank(*B.Definition, B.Base);
    bool Found = false;
    uint64_t Next = 0;
    forEachFilling(T, Used,
                   [&](uint64_t Below, const APInt &Count, uint64_t Left) {
                     if (Found)
                       return;
                     if (Below != Here.Used) {
                       Index += Count * Filled.at(Left);
                       return;
                     }
                     Index += Here.Index * Filled.at(Left);
                     Next = Left;
                     Found = true;
                   });
    Used = Next;
  }
  return Index;
}
