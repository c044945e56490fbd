//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a search space is made of. Points are drawn in parts: parameters whose
/// existence or validity depends on each other are a part, and parts have
/// nothing to do with each other.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_STUDY_SEARCHSPACEIMPL_H
#define LLVM_MNEME_LIB_STUDY_SEARCHSPACEIMPL_H

#include "llvm/Mneme/Study/SearchSpace.h"

namespace llvm {
namespace mneme {

/// A parameter whose values are known.
struct BoundParameter {
  unsigned FirstDim = 0, NumDims = 1;
  uint64_t Count = 0;        ///< Of values; 0: real, or a pipeline.
  int64_t Low = 0, Step = 1; ///< Int.
  bool Log = false;
  double RealLow = 0, RealHigh = 0;
  std::vector<Value> Choices;
  std::optional<PipelineSpace> Space;
  Expr When;             ///< Unset: it always exists.
  Value Absent;          ///< Where it does not exist.
  std::vector<double> Default; ///< Numbers of its dimensions.
};

/// What must hold, or at least have a value.
struct Check {
  Expr E;
  bool MustHold;
  std::string What;   ///< For an error.
  BitVector Uses;     ///< Parameters.
};

/// All values of the parameters of a part that decide about others.
struct PartTable {
  std::vector<unsigned> Controls; ///< Parameters, in order.
  /// One row for each combination: numbers of their values, Absent where a
  /// parameter does not exist.
  std::vector<uint32_t> Rows;
  static constexpr uint32_t Absent = ~0u;
  /// Number of points of this row and all before it.
  std::vector<APInt> End;
};

/// Parameters that depend on each other.
struct Part {
  std::vector<unsigned> Parameters; ///< In order.
  std::vector<unsigned> Checks;     ///< Empty: all its points count.
  /// Unset: there are too many combinations, or real parameters among them; or
  /// none is needed, for a single parameter.
  std::optional<PartTable> Table;
  /// Points; unset if that is not known.
  std::optional<APInt> Count;
  std::vector<unsigned> Inner; ///< The parts without checks in it.
};

struct SearchSpace::Impl {
  Study S;
  RecordedFacts Recorded;
  std::vector<Dimension> Dimensions;
  std::vector<BoundParameter> Parameters;
  std::vector<Expr> Derived, Fields; ///< With recorded facts put in.
  std::vector<Expr> FieldWhens;      ///< Likewise; perhaps unset.
  std::vector<Check> Checks;
  StringMap<unsigned> Slots; ///< Parameters, then derived values.
  bool HasConditions = false; ///< Some parameter does not exist everywhere.
  unsigned Width = 1;        ///< Bits that hold any number of points.
  std::vector<Part> Shape;   ///< Depending by conditions.
  std::vector<Part> Valid;   ///< By conditions and checks.

  // Binding.
  Error bind();
  Error bindParameter(const Parameter &P, BoundParameter &B);
  Error bindRange(const Parameter &P, BoundParameter &B);
  Error bindDefault(const Parameter &P, BoundParameter &B);
  Error bindChecks();
  Error findParts();
  void addDimensions(const Parameter &P, BoundParameter &B);
  Expr foldRecorded(const Expr &E) const;
  Expected<Value> evaluateFixed(const Expr &E) const;
  BitVector getUses(const Expr &E) const;
  bool canFail(const Expr &E) const;

  // One parameter of a point.
  Value getValue(const Point &P, unsigned Parameter) const;
  /// The value with this number, but of pipelines.
  Value getValue(const BoundParameter &B, uint64_t Index) const;
  PipelinePoint getPipelinePoint(const Point &P, unsigned Parameter) const;
  void setPipelinePoint(Point &P, unsigned Parameter,
                        const PipelinePoint &PP) const;
  std::optional<std::vector<double>> encode(const BoundParameter &B,
                                            const Value &V) const;
  APInt getCount(unsigned Parameter) const; ///< 1 if real.
  void setChoice(Point &P, unsigned Parameter, const APInt &Index) const;
  void setNumbers(Point &P, unsigned Parameter, ArrayRef<double> Numbers) const;
  void clear(Point &P, unsigned Parameter) const;
  void draw(Point &P, unsigned Parameter, RandomEngine &Random) const;

  // Parts.
  std::vector<Part> makeParts(bool WithChecks) const;
  void buildTable(Part &Into) const;
  std::optional<APInt> getTotal(ArrayRef<Part> Parts) const;
  Point getPoint(ArrayRef<Part> Parts, APInt Index) const;
  void setPart(Point &P, const Part &Of, APInt Index) const;
  void drawShape(Point &P, const Part &Of, RandomEngine &Random) const;
  bool drawValid(Point &P, const Part &Of, RandomEngine &Random) const;
  bool holds(const Point &P, ArrayRef<unsigned> Checks) const;
  Point makeEmpty() const;

  /// Parameters that exist now and did not in \p Before get a value, those that
  /// do not exist any more lose theirs. \p Random: null for defaults.
  void settle(Point &P, const BitVector &Before, RandomEngine *Random) const;
  BitVector getExisting(const Point &P) const;
  void step(Point &P, RandomEngine &Random) const;
};

/// A look at a point; computes everything at most once. The point may change
/// in parameters that nothing was asked about.
class PointView {
public:
  PointView(const SearchSpace::Impl &I, const Point &P);
  /// A condition that cannot be computed does not hold.
  bool exists(unsigned Parameter);
  /// Existing or not.
  Expected<Value> getValue(unsigned Slot);
  Expected<Value> evaluate(const Expr &E);
  /// Empty: the check holds.
  Error check(const Check &C);
  bool holds(const Check &C);

private:
  const SearchSpace::Impl &I;
  const Point &P;
  SmallVector<int8_t, 16> Exists; ///< -1: not known.
  SmallVector<std::optional<Value>, 8> Derived;
};

/// Unset: there are too many rows, or it takes too long to find them, or real
/// parameters decide.
std::optional<PartTable> makePartTable(const SearchSpace::Impl &I,
                                       const Part &Of);

/// Evenly below \p N, which is not 0.
uint64_t drawBelow(uint64_t N, RandomEngine &Random);
APInt drawBelow(const APInt &N, RandomEngine &Random);
/// In [0, 1).
double drawUnit(RandomEngine &Random);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_STUDY_SEARCHSPACEIMPL_H
