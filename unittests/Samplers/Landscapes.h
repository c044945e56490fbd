//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Small search spaces with made-up times, in the manner of real ones: cliffs
/// of occupancy, sizes that fit and sizes that do not, points that fail,
/// parameters that exist only with others, sequences of passes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_TUNE_SAMPLERS_LANDSCAPES_H
#define LLVM_MNEME_UNITTESTS_TUNE_SAMPLERS_LANDSCAPES_H

#include "llvm/Mneme/Samplers/Sampler.h"
#include <functional>

namespace llvm {
namespace mneme {

/// What comes out at a point.
struct Outcome {
  std::vector<double> Values; ///< One an objective; empty: it failed.
  /// Points with equal code are duplicates; empty: there is no other one.
  std::string Code;
};

struct Landscape {
  std::string Name;
  std::string Description;
  SearchSpace Space;
  std::vector<Direction> Directions;
  std::function<Outcome(const StringMap<Value> &)> Evaluate;

  Outcome evaluate(const Point &P) const { return Evaluate(Space.values(P)); }
  /// All valid points. Only for spaces that can be numbered.
  std::vector<Point> points() const;
  /// The least value of the first objective. Looks at all points, once.
  double optimum() const;
  mutable std::optional<double> Optimum;
};

/// Those with one objective, which is minimized.
std::vector<Landscape> makeLandscapes();
/// Another such one, of which a single point is within 1 % of the optimum: in
/// 62400 a matter of luck.
Landscape makeOrder();
/// Time against registers.
Landscape makeTradeOff();

/// A study as the tuner runs it, but for the waiting.
class SimulatedStudy {
public:
  SimulatedStudy(const Landscape &L, uint64_t Seed);
  /// Makes a trial of the point; it runs until finish().
  void begin(const Point &P, TrialKind Kind = TrialKind::Search);
  void finish(uint64_t Number);
  /// Up to \p N trials, asked for and finished \p Batch at a time. \returns how
  /// many there were; fewer: the sampler had no more.
  Expected<unsigned> run(Sampler &S, unsigned N, unsigned Batch = 1);
  /// The default point, if it is valid, as the tuner does.
  void start();

  /// Of the first \p N trials the best value; infinite if all failed.
  double best(size_t N = SIZE_MAX) const;

  const Landscape &L;
  std::vector<Trial> History;
  DenseSet<uint64_t> Proposed;
  SamplerContext Context;

private:
  StringMap<uint64_t> FirstWithCode;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_TUNE_SAMPLERS_LANDSCAPES_H
