//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A study bound to a recorded launch: dimensions (discrete ones with finitely
/// many values, and real ones), points, and the configurations that points
/// represent. Samplers know the search space only through this interface.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_SEARCHSPACE_H
#define LLVM_MNEME_STUDY_SEARCHSPACE_H

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Study/Study.h"
#include <memory>

namespace llvm {
namespace mneme {

/// One coordinate of a point. A pipeline parameter has one dimension per
/// decision of its space, any other parameter a single one.
struct Dimension {
  enum KindTy {
    Ordered,     ///< Count ordered values: integers, lengths.
    Categorical, ///< Count unordered values: alternatives, booleans.
    Real,        ///< Any number in [Low, High].
  };
  std::string Name; ///< Name of the parameter, plus "/" and the name of the
                    ///< decision.
  KindTy Kind = Categorical;
  uint64_t Count = 0;               ///< 0 for Real.
  double Low = 0, High = 0;         ///< Bounds of Real; otherwise 0 and Count -
                                    ///< 1.
  bool Log = false;                 ///< Real only: uniform on a logarithmic
                                    ///< scale.
  unsigned Parameter = 0;           ///< Index in the study.
  std::optional<unsigned> Decision; ///< Index in the parameter's pipeline
                                    ///< space.
};

/// Map a number between Low and High to [0, 1] and back, logarithmically if the
/// dimension is.
double toUnit(const Dimension &D, double Number);
double fromUnit(const Dimension &D, double Unit);

/// One number per dimension: the index of the value if discrete, exactly.
/// Canonical points have 0 (Low if real) in all inactive dimensions.
using Point = std::vector<double>;

/// The search space of a study for one recorded launch.
class SearchSpace {
public:
  /// Binds a study to a recorded launch. Fails on errors that checkStudy()
  /// finds, empty ranges, missing recorded facts and empty search spaces.
  static Expected<SearchSpace> create(Study S, RecordedFacts Recorded);
  SearchSpace(SearchSpace &&);
  SearchSpace &operator=(SearchSpace &&);
  ~SearchSpace();

  const Study &study() const;
  const RecordedFacts &recorded() const;
  ArrayRef<Dimension> dimensions() const;

  /// Returns the value that the number \p X represents in a dimension. For a
  /// decision of a pipeline that is the label of an alternative, whether the
  /// optional part is present, or the integer.
  Value dimensionValue(unsigned Dim, double X) const;

  /// Returns true if the dimension has an effect at this point.
  bool isActive(const Point &P, unsigned Dim) const;
  /// Returns isActive() for each dimension.
  BitVector activity(const Point &P) const;
  /// Resets inactive dimensions to their canonical values.
  void canonicalize(Point &P) const;
  /// Returns a digest of a canonical point. Equal points have equal digests.
  uint64_t digest(const Point &P) const;

  /// Returns the values of the existing parameters by name.
  StringMap<Value> values(const Point &P) const;
  /// Returns the configuration with keys of Config/Config.def. Fails for an
  /// invalid point; the error is a constraint's message or that of a failed
  /// computation.
  Expected<json::Object> configure(const Point &P) const;
  /// Returns true if \p V equals the value without the key.
  bool isAsRecorded(StringRef Key, const json::Value &V) const;
  /// Returns the origins of a configuration field: keys that its parameters
  /// directly set, otherwise their names. Empty if the field depends on nothing
  /// else.
  std::vector<std::string> getSources(StringRef Key) const;
  /// Returns true if all constraints hold.
  bool isValid(const Point &P) const;
  /// Returns the point with these values, and defaults for unnamed parameters.
  /// Fails on unknown names and invalid values.
  Expected<Point> makePoint(const StringMap<Value> &Values) const;

  /// Returns the point of all defaults, which may be invalid.
  Point defaultPoint() const;
  /// Returns the number of canonical points, valid or not, with the necessary
  /// bit width. Unset if there are real dimensions or more than 100 000
  /// combinations of interdependent parameters that decide which others exist.
  std::optional<APInt> count() const;
  /// Returns the point with this index below count(); it may be invalid.
  Point at(const APInt &Index) const;
  /// Like count(), for valid points only. Also unset if constraints would
  /// require testing too many combinations of parameters.
  std::optional<APInt> countValid() const;
  /// Like at(), for valid points only.
  Point validAt(const APInt &Index) const;

  /// Returns a uniformly distributed valid point; unset if many attempts found
  /// none.
  std::optional<Point> sample(RandomEngine &Random) const;
  /// Returns up to \p N distinct valid points that cover the values of each
  /// dimension evenly (stratified).
  std::vector<Point> stratified(unsigned N, RandomEngine &Random) const;
  /// Returns the distinct valid neighbours of \p P, excluding \p P. A step
  /// changes an ordered dimension by one, a categorical one to any other value
  /// (16 random ones if there are more), a real one by some tenths, or moves to
  /// a neighbour of a pipeline. Draws \p Max steps if there are more.
  std::vector<Point> neighbours(const Point &P, RandomEngine &Random,
                                size_t Max = SIZE_MAX) const;
  /// Returns a valid point \p Steps random steps away; unset if none was found.
  std::optional<Point> mutate(const Point &P, unsigned Steps,
                              RandomEngine &Random) const;
  /// Returns a valid point with values from both; unset if none was found.
  std::optional<Point> crossover(const Point &A, const Point &B,
                                 RandomEngine &Random) const;

  struct Impl;

private:
  std::unique_ptr<Impl> I;
  explicit SearchSpace(std::unique_ptr<Impl> I);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_SEARCHSPACE_H
