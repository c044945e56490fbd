//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates all combinations of the parameters in a part that control others.
// Skips ranges of values in which a constraint cannot hold.
//
//===----------------------------------------------------------------------===//

#include "SearchSpaceImpl.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// Limits of the rows of a table, and of the ranges examined to find them.
static constexpr unsigned MaxRows = 1u << 17, MaxRanges = 1u << 18;

namespace {
class TableBuilder {
public:
  TableBuilder(const SearchSpace::Impl &I, const Part &Of);
  std::optional<PartTable> build();

private:
  /// The state of a parameter during the enumeration.
  struct Known {
    enum { Open, Split, Chosen, Absent } State = Open;
    uint32_t First = 0, Last = 0; ///< For Split and Chosen.
  };

  // Return false if a limit is exceeded.
  bool visit(unsigned Position, const APInt &Weight);
  bool visitRange(unsigned Position, uint32_t First, uint32_t Last,
                  const APInt &Weight);
  bool addRow(const APInt &Weight);

  /// Returns true if the parameter's range violates a constraint.
  bool isImpossible(unsigned Parameter) const;
  ValueRange getRange(const Expr &E) const;
  ValueRange getParameterRange(unsigned Parameter) const;

  const SearchSpace::Impl &I;
  const Part &Of;
  Point P;
  BitVector IsControl;
  std::vector<Known> State; ///< Indexed by parameter.
  PartTable Table;
  APInt Total;
  unsigned Rows = 0, Ranges = 0;
};
} // namespace

TableBuilder::TableBuilder(const SearchSpace::Impl &I, const Part &Of)
    : I(I), Of(Of), P(I.makeEmpty()), IsControl(I.Parameters.size()),
      State(I.Parameters.size()), Total(I.Width, 0) {
  for (unsigned K : Of.Parameters)
    if (const Expr &When = I.Parameters[K].When)
      IsControl |= I.getUses(When);
  for (unsigned C : Of.Checks)
    IsControl |= I.Checks[C].Uses;
}

std::optional<PartTable> TableBuilder::build() {
  for (unsigned K : Of.Parameters)
    if (IsControl[K]) {
      const BoundParameter &B = I.Parameters[K];
      if ((!B.Count && !B.Space) || I.getCount(K).uge(PartTable::Absent))
        return std::nullopt;
      Table.Controls.push_back(K);
    }
  if (!visit(0, APInt(I.Width, 1)))
    return std::nullopt;
  return std::move(Table);
}

/// Returns the range of the values with indices from \p First to \p Last.
static ValueRange getRangeOf(const SearchSpace::Impl &I,
                             const BoundParameter &B, uint64_t First,
                             uint64_t Last) {
  if (B.Choices.empty())
    return std::make_pair(I.getValue(B, First), I.getValue(B, Last));
  auto Slice = ArrayRef(B.Choices).slice(First, Last - First + 1);
  return std::make_pair(*min_element(Slice), *max_element(Slice));
}

ValueRange TableBuilder::getParameterRange(unsigned Parameter) const {
  const BoundParameter &B = I.Parameters[Parameter];
  const Known &Is = State[Parameter];
  if (Is.State == Known::Absent)
    return std::make_pair(B.Absent, B.Absent);
  if (B.Space) {
    if (Is.State != Known::Chosen)
      return std::nullopt;
    Value V = I.getValue(P, Parameter);
    return std::make_pair(V, V);
  }
  if (Is.State != Known::Open)
    return getRangeOf(I, B, Is.First, Is.Last);
  // The value of an absent parameter is one of its values, too.
  return B.Count ? getRangeOf(I, B, 0, B.Count - 1)
                 : std::make_pair(Value(B.RealLow), Value(B.RealHigh));
}

ValueRange TableBuilder::getRange(const Expr &E) const {
  return mneme::getRange(
      E, [&](StringRef Name, Expr::KindTy Kind) -> ValueRange {
        if (Kind != Expr::Parameter)
          return std::nullopt;
        unsigned Slot = I.Slots.lookup(Name);
        if (Slot < I.Parameters.size())
          return getParameterRange(Slot);
        return getRange(I.Derived[Slot - I.Parameters.size()]);
      });
}

bool TableBuilder::isImpossible(unsigned Parameter) const {
  return any_of(Of.Checks, [&](unsigned Number) {
    const Check &C = I.Checks[Number];
    if (!C.MustHold || !C.Uses[Parameter])
      return false;
    ValueRange R = getRange(C.E);
    return R && !std::get<bool>(R->second);
  });
}

bool TableBuilder::addRow(const APInt &Weight) {
  PointView View(I, P);
  if (!all_of(Of.Checks, [&](unsigned C) { return View.holds(I.Checks[C]); }))
    return true;
  if (++Rows > MaxRows)
    return false;
  for (unsigned K : Table.Controls)
    Table.Rows.push_back(State[K].State == Known::Absent ? PartTable::Absent
                                                         : State[K].First);
  Total += Weight;
  Table.End.push_back(Total);
  return true;
}

bool TableBuilder::visit(unsigned Position, const APInt &Weight) {
  if (Position == Of.Parameters.size())
    return addRow(Weight);
  unsigned K = Of.Parameters[Position];
  const Known Before = State[K];
  bool Continues;
  if (I.Parameters[K].When && !PointView(I, P).exists(K)) {
    State[K].State = Known::Absent;
    I.clear(P, K);
    Continues = visit(Position + 1, Weight);
  } else if (APInt Count = I.getCount(K); IsControl[K]) {
    Continues = visitRange(Position, 0, Count.getZExtValue() - 1, Weight);
  } else {
    Continues = visit(Position + 1, Weight * Count);
  }
  State[K] = Before;
  return Continues;
}

bool TableBuilder::visitRange(unsigned Position, uint32_t First, uint32_t Last,
                              const APInt &Weight) {
  if (++Ranges > MaxRanges)
    return false;
  unsigned K = Of.Parameters[Position];
  State[K] = {First == Last ? Known::Chosen : Known::Split, First, Last};
  if (First == Last)
    I.setChoice(P, K, APInt(I.Width, First));
  if (isImpossible(K))
    return true;
  if (First == Last)
    return visit(Position + 1, Weight);
  uint32_t Middle = First + (Last - First) / 2;
  return visitRange(Position, First, Middle, Weight) &&
         visitRange(Position, Middle + 1, Last, Weight);
}

std::optional<PartTable> mneme::makePartTable(const SearchSpace::Impl &I,
                                              const Part &Of) {
  return TableBuilder(I, Of).build();
}
