//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts points, and draws them by parts.
//
//===----------------------------------------------------------------------===//

#include "SearchSpaceImpl.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Random numbers: the same with every standard library
//===----------------------------------------------------------------------===//

uint64_t mneme::drawBelow(uint64_t N, RandomEngine &Random) {
  // 2^64 modulo N. Rejecting smaller numbers leaves a multiple of N.
  uint64_t Excess = -N % N;
  while (true)
    if (uint64_t R = Random(); R >= Excess)
      return R % N;
}

APInt mneme::drawBelow(const APInt &N, RandomEngine &Random) {
  unsigned Bits = N.getActiveBits(), Width = N.getBitWidth();
  if (Bits <= 64)
    return APInt(Width, drawBelow(N.getZExtValue(), Random));
  while (true) {
    SmallVector<uint64_t, 8> Words(APInt::getNumWords(Bits));
    for (uint64_t &W : Words)
      W = Random();
    // The constructor drops the upper bits.
    APInt R = APInt(Bits, Words).zextOrTrunc(Width);
    if (R.ult(N))
      return R;
  }
}

double mneme::drawUnit(RandomEngine &Random) {
  return double(Random() >> 11) * 0x1p-53;
}

//===----------------------------------------------------------------------===//
// One parameter
//===----------------------------------------------------------------------===//

APInt SearchSpace::Impl::getCount(unsigned Parameter) const {
  const BoundParameter &B = Parameters[Parameter];
  if (B.Space)
    return B.Space->count().zextOrTrunc(Width);
  return APInt(Width, std::max<uint64_t>(B.Count, 1));
}

void SearchSpace::Impl::setChoice(Point &P, unsigned Parameter,
                                  const APInt &Index) const {
  const BoundParameter &B = Parameters[Parameter];
  if (B.Space)
    setPipelinePoint(
        P, Parameter,
        B.Space->at(Index.zextOrTrunc(B.Space->count().getBitWidth())));
  else
    P[B.FirstDim] = B.Count ? double(Index.getZExtValue()) : B.RealLow;
}

void SearchSpace::Impl::draw(Point &P, unsigned Parameter,
                             RandomEngine &Random) const {
  const BoundParameter &B = Parameters[Parameter];
  if (B.Space)
    setPipelinePoint(P, Parameter, B.Space->sample(Random));
  else if (B.Count)
    P[B.FirstDim] = double(drawBelow(B.Count, Random));
  else
    P[B.FirstDim] = fromUnit(Dimensions[B.FirstDim], drawUnit(Random));
}

double mneme::fromUnit(const Dimension &D, double Unit) {
  double V = D.Log ? D.Low * std::pow(D.High / D.Low, Unit)
                   : D.Low + (D.High - D.Low) * Unit;
  return std::min(std::max(V, D.Low), D.High);
}

double mneme::toUnit(const Dimension &D, double Number) {
  if (D.High <= D.Low)
    return 0;
  return D.Log ? std::log(Number / D.Low) / std::log(D.High / D.Low)
               : (Number - D.Low) / (D.High - D.Low);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

std::vector<Part> SearchSpace::Impl::makeParts(bool WithChecks) const {
  unsigned N = Parameters.size();
  IntEqClasses Classes(N);
  auto Join = [&](const BitVector &Uses, std::optional<unsigned> With) {
    for (unsigned U : Uses.set_bits()) {
      if (With)
        Classes.join(*With, U);
      With = U;
    }
  };
  for (unsigned K = 0; K != N; ++K)
    if (Parameters[K].When)
      Join(getUses(Parameters[K].When), K);
  if (WithChecks)
    for (const Check &C : Checks)
      Join(C.Uses, std::nullopt);
  Classes.compress();

  // Classes are numbered in the order of their first parameters.
  std::vector<Part> Parts(Classes.getNumClasses());
  for (unsigned K = 0; K != N; ++K)
    Parts[Classes[K]].Parameters.push_back(K);
  if (WithChecks)
    for (auto [Number, C] : enumerate(Checks))
      if (C.Uses.any())
        Parts[Classes[C.Uses.find_first()]].Checks.push_back(Number);
  for (Part &Of : Parts)
    buildTable(Of);
  return Parts;
}

void SearchSpace::Impl::buildTable(Part &Into) const {
  bool IsReal = any_of(Into.Parameters, [&](unsigned K) {
    return !Parameters[K].Count && !Parameters[K].Space;
  });
  if (Into.Parameters.size() == 1 && Into.Checks.empty()) {
    // A condition, which uses only recorded facts here, requires a table.
    unsigned K = Into.Parameters.front();
    if (!Parameters[K].When) {
      if (!IsReal)
        Into.Count = getCount(K);
      return;
    }
  }
  Into.Table = makePartTable(*this, Into);
  if (Into.Table && !IsReal)
    Into.Count =
        Into.Table->End.empty() ? APInt(Width, 0) : Into.Table->End.back();
}

/// Limits of draws from a part without a table: per valid point, and before the
/// part counts as one without valid points.
static constexpr unsigned MaxPartTries = 200000, MaxFirstTries = 1000000;

Error SearchSpace::Impl::findParts() {
  for (unsigned K = 0; K != Parameters.size(); ++K) {
    const BoundParameter &B = Parameters[K];
    Width += B.Space ? B.Space->count().getActiveBits()
                     : 64 - countl_zero(B.Count);
  }
  Shape = makeParts(/*WithChecks=*/false);
  Valid = makeParts(/*WithChecks=*/true);
  for (Part &V : Valid)
    for (auto [Number, Of] : enumerate(Shape))
      if (is_contained(V.Parameters, Of.Parameters.front()))
        V.Inner.push_back(Number);

  Point P = makeEmpty();
  for (auto [K, B] : enumerate(Parameters))
    setNumbers(P, K, B.Default);
  for (const Check &C : Checks)
    if (C.Uses.none())
      if (Error E = PointView(*this, P).check(C))
        return E;
  for (const Part &V : Valid) {
    if (V.Checks.empty())
      continue;
    bool Found;
    if (V.Table) {
      Found = !V.Table->End.empty();
    } else {
      Found = holds(P, V.Checks);
      RandomEngine Random(1);
      for (unsigned T = 0; !Found && T < MaxFirstTries; T += MaxPartTries)
        Found = drawValid(P, V, Random);
    }
    if (Found)
      continue;
    SmallVector<std::string, 4> Whats;
    for (unsigned C : V.Checks)
      Whats.push_back(Checks[C].What);
    std::string Text = join(Whats, "; ");
    return createStringError(
        V.Table ? "no point is valid: " + Text
                : formatv("no valid point was found in {0} tries: {1}",
                          MaxFirstTries, Text)
                      .str());
  }
  return Error::success();
}

std::optional<APInt>
SearchSpace::Impl::getTotal(ArrayRef<Part> Parts) const {
  APInt Total(Width, 1);
  for (const Part &Of : Parts) {
    if (!Of.Count)
      return std::nullopt;
    Total *= *Of.Count;
  }
  return Total;
}

/// Returns the row with point \p Number, which becomes the number within the
/// row.
static size_t findRow(const PartTable &T, APInt &Number) {
  size_t Row = upper_bound(T.End, Number,
                           [](const APInt &A, const APInt &B) {
                             return A.ult(B);
                           }) -
               T.End.begin();
  if (Row)
    Number -= T.End[Row - 1];
  return Row;
}

/// Sets the controls to the values in a row. \returns the existing other
/// parameters of \p Of.
static SmallVector<unsigned, 8> setRow(const SearchSpace::Impl &I, Point &P,
                                       const Part &Of, size_t Row) {
  const PartTable &T = *Of.Table;
  const uint32_t *Choices = T.Rows.data() + Row * T.Controls.size();
  for (auto [Column, K] : enumerate(T.Controls)) {
    if (Choices[Column] == PartTable::Absent)
      I.clear(P, K);
    else
      I.setChoice(P, K, APInt(I.Width, Choices[Column]));
  }
  SmallVector<unsigned, 8> Open;
  PointView View(I, P);
  for (unsigned K : Of.Parameters) {
    if (is_contained(T.Controls, K))
      continue;
    if (View.exists(K))
      Open.push_back(K);
    else
      I.clear(P, K);
  }
  return Open;
}

void SearchSpace::Impl::setPart(Point &P, const Part &Of, APInt Index) const {
  SmallVector<unsigned, 8> Open = {Of.Parameters.front()};
  if (Of.Table) {
    size_t Row = findRow(*Of.Table, Index);
    Open = setRow(*this, P, Of, Row);
  }
  for (unsigned K : reverse(Open)) {
    APInt Count = getCount(K);
    setChoice(P, K, Index.urem(Count));
    Index = Index.udiv(Count);
  }
}

Point SearchSpace::Impl::getPoint(ArrayRef<Part> Parts, APInt Index) const {
  Point P = makeEmpty();
  Index = Index.zextOrTrunc(Width);
  for (const Part &Of : reverse(Parts)) {
    setPart(P, Of, Index.urem(*Of.Count));
    Index = Index.udiv(*Of.Count);
  }
  return P;
}

void SearchSpace::Impl::drawShape(Point &P, const Part &Of,
                                  RandomEngine &Random) const {
  if (Of.Table) {
    APInt Number = drawBelow(Of.Table->End.back(), Random);
    size_t Row = findRow(*Of.Table, Number);
    for (unsigned K : setRow(*this, P, Of, Row))
      draw(P, K, Random);
    return;
  }
  if (!HasConditions) {
    for (unsigned K : Of.Parameters)
      draw(P, K, Random);
    return;
  }
  PointView View(*this, P);
  for (unsigned K : Of.Parameters) {
    if (View.exists(K))
      draw(P, K, Random);
    else
      clear(P, K);
  }
}

bool SearchSpace::Impl::holds(const Point &P, ArrayRef<unsigned> Which) const {
  if (Which.empty())
    return true;
  PointView View(*this, P);
  return all_of(Which, [&](unsigned C) { return View.holds(Checks[C]); });
}

bool SearchSpace::Impl::drawValid(Point &P, const Part &Of,
                                  RandomEngine &Random) const {
  if (Of.Table) {
    drawShape(P, Of, Random);
    return true;
  }
  for (unsigned T = 0; T != MaxPartTries; ++T) {
    for (unsigned Number : Of.Inner)
      drawShape(P, Shape[Number], Random);
    if (holds(P, Of.Checks))
      return true;
  }
  return false;
}

std::optional<APInt> SearchSpace::count() const {
  return I->getTotal(I->Shape);
}

Point SearchSpace::at(const APInt &Index) const {
  return I->getPoint(I->Shape, Index);
}

std::optional<APInt> SearchSpace::countValid() const {
  return I->getTotal(I->Valid);
}

Point SearchSpace::validAt(const APInt &Index) const {
  return I->getPoint(I->Valid, Index);
}
