//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A study bound to a recorded launch: dimensions with a finite number of
/// values (but real ones), points, and the configurations that they stand for.
/// All that samplers know of what they search.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_SEARCHSPACE_H
#define LLVM_MNEME_TUNE_SEARCHSPACE_H

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Tune/Recorded.h"
#include "llvm/Mneme/Tune/Study.h"
#include <memory>

namespace llvm {
namespace mneme {

/// One number of a point. A pipeline parameter has a dimension for each
/// decision of its space, every other parameter one.
struct Dimension {
  enum KindTy {
    Ordered,     ///< Count values that have an order: integers, lengths.
    Categorical, ///< Count values without one: alternatives, booleans.
    Real,        ///< Any number in [Low, High].
  };
  std::string Name; ///< The parameter's, and "/" and the decision's.
  KindTy Kind = Categorical;
  uint64_t Count = 0;               ///< 0 if Real.
  double Low = 0, High = 0;         ///< If Real; else 0 and Count - 1.
  bool Log = false;                 ///< If Real: even on a logarithmic scale.
  unsigned Parameter = 0;           ///< Of the study.
  std::optional<unsigned> Decision; ///< Of the parameter's pipeline space.
};

/// A number between Low and High on a scale from 0 to 1, logarithmic if the
/// dimension is, and back.
double toUnit(const Dimension &D, double Number);
double fromUnit(const Dimension &D, double Unit);

/// A number for each dimension: of a discrete one the number of its value, from
/// 0, exactly. Canonical points have 0 (Low, if real) where a dimension does
/// not matter.
using Point = std::vector<double>;

class SearchSpace {
public:
  /// Errors: what checkStudy() finds, an empty range, a recorded fact that is
  /// not there, a study without any point.
  static Expected<SearchSpace> create(Study S, RecordedFacts Recorded);
  SearchSpace(SearchSpace &&);
  SearchSpace &operator=(SearchSpace &&);
  ~SearchSpace();

  const Study &study() const;
  const RecordedFacts &recorded() const;
  ArrayRef<Dimension> dimensions() const;

  /// What the number \p X of a dimension stands for: a value of the parameter;
  /// of a pipeline's decision the label of an alternative, whether the optional
  /// part is there, or the integer.
  Value dimensionValue(unsigned Dim, double X) const;

  /// Does the dimension matter at this point?
  bool isActive(const Point &P, unsigned Dim) const;
  /// isActive() of all dimensions.
  BitVector activity(const Point &P) const;
  void canonicalize(Point &P) const;
  /// Of a canonical point; equal points have equal digests.
  uint64_t digest(const Point &P) const;

  /// The value of each parameter, by name; without those that do not exist
  /// there.
  StringMap<Value> values(const Point &P) const;
  /// The configuration (keys of Replay/Config.def; sorted when printed). Error:
  /// why the point is none, a constraint's message or a failed computation.
  Expected<json::Object> configure(const Point &P) const;
  /// Is it what a configuration without the key has?
  bool isAsRecorded(StringRef Key, const json::Value &V) const;
  /// What a field of configurations is computed from: the keys that its
  /// parameters go straight into, or else their names. Empty: it is computed
  /// from nothing else.
  std::vector<std::string> getSources(StringRef Key) const;
  /// Do all constraints hold?
  bool isValid(const Point &P) const;
  /// The point with these values; parameters that are not named have their
  /// defaults. Error: an unknown name, a value that the parameter cannot have.
  Expected<Point> makePoint(const StringMap<Value> &Values) const;

  /// The point of the defaults; valid or not.
  Point defaultPoint() const;
  /// Canonical points, valid or not, as wide as it takes; unset with real
  /// dimensions, and where too many combinations of parameters decide which
  /// other ones exist (over 100 000 that depend on each other).
  std::optional<APInt> count() const;
  /// The point with this number, which is below count(); valid or not.
  Point at(const APInt &Index) const;
  /// The same for valid points alone; unset too where too many combinations of
  /// parameters that constraints speak of would have to be tried.
  std::optional<APInt> countValid() const;
  Point validAt(const APInt &Index) const;

  /// A valid point, any as likely as another; unset: none was found in a great
  /// many tries.
  std::optional<Point> sample(RandomEngine &Random) const;
  /// \p N points that share out the values of each dimension evenly
  /// (stratified); valid, distinct, perhaps fewer.
  std::vector<Point> stratified(unsigned N, RandomEngine &Random) const;
  /// All valid points one step away: an ordered dimension one up or down, a
  /// categorical one to any other value (of more than 16: 16 at random), a real
  /// one by some tenths, a pipeline's neighbours. Distinct, without \p P. Of
  /// more than \p Max steps as many are drawn.
  std::vector<Point> neighbours(const Point &P, RandomEngine &Random,
                                size_t Max = SIZE_MAX) const;
  /// A valid point \p Steps random steps away; unset: none was found.
  std::optional<Point> mutate(const Point &P, unsigned Steps,
                              RandomEngine &Random) const;
  /// A valid point with values of both; unset: none was found.
  std::optional<Point> crossover(const Point &A, const Point &B,
                                 RandomEngine &Random) const;

  struct Impl;

private:
  std::unique_ptr<Impl> I;
  explicit SearchSpace(std::unique_ptr<Impl> I);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_SEARCHSPACE_H
