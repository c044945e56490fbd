//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What samplers share: the history as scores, one ask's points, randomness.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SAMPLERS_SAMPLERSUPPORT_H
#define LLVM_MNEME_LIB_SAMPLERS_SAMPLERSUPPORT_H

#include "llvm/Mneme/Samplers/Sampler.h"

namespace llvm {
namespace mneme {

/// Uniform in [0, N); N > 0. (The standard's distributions are not the same
/// everywhere.)
uint64_t randomBelow(RandomEngine &Random, uint64_t N);
/// Uniform in [0, 1).
double randomUnit(RandomEngine &Random);
/// For an engine: equal inputs give equal seeds, similar ones unlike seeds.
uint64_t mixSeed(uint64_t Seed, uint64_t Number);

template <typename T> void shuffle(std::vector<T> &V, RandomEngine &Random) {
  for (size_t I = V.size(); I > 1; --I)
    std::swap(V[I - 1], V[randomBelow(Random, I)]);
}

/// A finished trial that is neither a canary nor suspect.
struct Observation {
  const Trial *T;
  /// With signs, so that less is better. Empty: failed.
  std::vector<double> Y;
  /// Less is better. Of one objective it is Y; of several the number of the
  /// front, from 0, and less than 1 for how crowded it is there. Infinite:
  /// failed.
  double Score;
  bool failed() const { return Y.empty(); }
};

/// The history as samplers look at it.
struct Observations {
  std::vector<Observation> Done; ///< In the order of the trials' numbers.
  std::vector<const Trial *> Running;
  explicit Observations(const SamplerContext &Context);
  /// The best first: indices into Done of what did not fail, of equal code
  /// only the first.
  std::vector<size_t> ranked() const;
  /// For what takes longer the more there are: leaves \p Max of very many, a
  /// quarter of which are the best, and the others evenly spread over time.
  void thin(size_t Max = 1000);
};

/// The front of each point, from 0; none dominates another of its front.
std::vector<unsigned> getFronts(ArrayRef<std::vector<double>> Y);
/// How far the neighbours on its front are, relative to the front's extent; at
/// the ends infinite.
std::vector<double> getCrowding(ArrayRef<std::vector<double>> Y,
                                ArrayRef<unsigned> Fronts);

/// All valid points that have another value than \p P in one ordered dimension,
/// however far away; \p MaxValues of them at random in a dimension that has
/// more, and \p Max in all. (SearchSpace::neighbours() has those of other
/// dimensions.)
std::vector<Point> getOtherValues(const SearchSpace &Space, const Point &P,
                                  unsigned MaxValues, RandomEngine &Random,
                                  size_t Max = SIZE_MAX);

/// The points of one ask(): new and distinct.
class Batch {
public:
  Batch(const SamplerContext &Context, unsigned N) : Context(Context), N(N) {}
  bool isFull() const { return Points.size() >= N; }
  size_t size() const { return Points.size(); }
  unsigned missing() const { return N - Points.size(); }
  bool isNew(uint64_t Digest) const;
  bool isNew(const Point &P) const { return isNew(Context.Space.digest(P)); }
  /// False: \p P, which is valid and canonical, is not new, or N are there.
  bool add(Point P);
  const std::vector<Point> &points() const { return Points; }
  std::vector<Point> take() { return std::move(Points); }

private:
  const SamplerContext &Context;
  unsigned N;
  std::vector<Point> Points;
  DenseSet<uint64_t> Digests;
};

/// Random valid points that were not proposed before; in spaces that are not
/// too large, all of them.
class UnseenPoints {
public:
  explicit UnseenPoints(const SamplerContext &Context) : Context(Context) {}
  /// One that \p B does not have either.
  std::optional<Point> draw(const Batch &B, RandomEngine &Random);
  void fill(Batch &B, RandomEngine &Random);

private:
  const SamplerContext &Context;
  /// Numbers of what was left when random tries found nothing new any more: a
  /// cache, what is proposed does not depend on when it was made.
  std::optional<std::vector<uint64_t>> Left;
  bool findLeft();
};

/// The first points of a search: the same in every call.
class StartPoints {
public:
  StartPoints(const SamplerContext &Context, unsigned N)
      : Context(Context), N(N) {}
  /// Adds those that were not proposed yet.
  void fill(Batch &B);
  bool contains(uint64_t Digest);

private:
  const SamplerContext &Context;
  unsigned N;
  std::vector<Point> Points;
  DenseSet<uint64_t> Digests;
  void make();
};

/// A sampler that begins with points of StartPoints and then proposes children
/// of the best ones.
class PopulationSampler : public Sampler {
public:
  Expected<std::vector<Point>> ask(unsigned N) final;

protected:
  PopulationSampler(const SamplerContext &Context, unsigned NumStart)
      : Sampler(Context), Start(Context, NumStart), Unseen(Context) {}

  /// Chooses the parents of the next children. \returns false if there are
  /// none.
  virtual bool choosePopulation(const Observations &History) = 0;
  virtual std::optional<Point> makeChild(RandomEngine &Random) const = 0;

private:
  StartPoints Start;
  UnseenPoints Unseen;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SAMPLERS_SAMPLERSUPPORT_H
