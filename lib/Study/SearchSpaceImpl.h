//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The representation of a search space. Points are drawn by parts. A part
/// consists of the parameters whose existence or validity depends on each
/// other; different parts are independent.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_STUDY_SEARCHSPACEIMPL_H
#define LLVM_MNEME_LIB_STUDY_SEARCHSPACEIMPL_H

#include "llvm/Mneme/Study/SearchSpace.h"

namespace llvm {
namespace mneme {

/// A parameter bound to a recording.
struct BoundParameter {
  unsigned FirstDim = 0, NumDims = 1;
  uint64_t Count = 0;        ///< Number of values; 0 for reals and pipelines.
  int64_t Low = 0, Step = 1; ///< Int.
  bool Log = false;
  double RealLow = 0, RealHigh = 0;
  std::vector<Value> Choices;
  std::optional<PipelineSpace> Space;
  Expr When;             ///< Unset: the parameter always exists.
  Value Absent;          ///< Its value when it does not exist.
  std::vector<double> Default; ///< Numbers of the dimensions.
};

/// A condition that must hold, or an expression that must have a value.
struct Check {
  Expr E;
  bool MustHold;
  std::string What;   ///< Description for errors.
  BitVector Uses;     ///< The parameters it uses.
};

/// All combinations of the parameters of a part that control others.
struct PartTable {
  std::vector<unsigned> Controls; ///< Parameters, in order.
  /// One row per combination: the indices of the values, or Absent if a
  /// parameter does not exist.
  std::vector<uint32_t> Rows;
  static constexpr uint32_t Absent = ~0u;
  /// Number of points in each row and all rows before it.
  std::vector<APInt> End;
};

/// Parameters that depend on each other.
struct Part {
  std::vector<unsigned> Parameters; ///< In the study's order.
  std::vector<unsigned> Checks;     ///< Empty: all points of the part are
                                    ///< valid.
  /// Unset if there are too many combinations, if real parameters are among
  /// them, or if a single parameter needs none.
  std::optional<PartTable> Table;
  /// Number of points; unset if unknown.
  std::optional<APInt> Count;
  std::vector<unsigned> Inner; ///< Indices in Shape of the parts that this one
                               ///< contains.
};

struct SearchSpace::Impl {
  Study S;
  RecordedFacts Recorded;
  std::vector<Dimension> Dimensions;
  std::vector<BoundParameter> Parameters;
  std::vector<Expr> Derived, Fields; ///< With recorded facts substituted.
  std::vector<Expr> FieldWhens;      ///< Likewise; may be unset.
  std::vector<Check> Checks;
  StringMap<unsigned> Slots; ///< Parameters, then derived values.
  bool HasConditions = false; ///< Some parameters exist only under a condition.
  unsigned Width = 1;        ///< Bit width for any number of points.
  std::vector<Part> Shape;   ///< Parts that are connected by conditions.
  std::vector<Part> Valid;   ///< Parts that are connected by conditions and
                             ///< checks.

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
  /// Returns the value with this index. Not for pipelines.
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

  /// Gives values to parameters that exist but did not in \p Before, and clears
  /// those that no longer exist. \p Random: null for defaults.
  void settle(Point &P, const BitVector &Before, RandomEngine *Random) const;
  BitVector getExisting(const Point &P) const;
  void step(Point &P, RandomEngine &Random) const;
};

/// A view of a point that computes everything at most once. The point may
/// change in parameters that were not queried.
class PointView {
public:
  PointView(const SearchSpace::Impl &I, const Point &P);
  /// Returns false if the condition cannot be evaluated.
  bool exists(unsigned Parameter);
  /// Returns the value, whether or not the parameter exists.
  Expected<Value> getValue(unsigned Slot);
  Expected<Value> evaluate(const Expr &E);
  /// Succeeds if the check holds.
  Error check(const Check &C);
  bool holds(const Check &C);

private:
  const SearchSpace::Impl &I;
  const Point &P;
  SmallVector<int8_t, 16> Exists; ///< -1: unknown.
  SmallVector<std::optional<Value>, 8> Derived;
};

/// Returns nothing if there are too many rows, the search takes too long, or
/// real parameters control others.
std::optional<PartTable> makePartTable(const SearchSpace::Impl &I,
                                       const Part &Of);

/// Returns a uniformly distributed number below \p N, which is not 0.
uint64_t drawBelow(uint64_t N, RandomEngine &Random);
APInt drawBelow(const APInt &N, RandomEngine &Random);
/// Returns a number in [0, 1).
double drawUnit(RandomEngine &Random);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_STUDY_SEARCHSPACEIMPL_H
