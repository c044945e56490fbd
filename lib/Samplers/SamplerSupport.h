//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that samplers share: the history as scores, the points of one ask(),
/// and random numbers.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SAMPLERS_SAMPLERSUPPORT_H
#define LLVM_MNEME_LIB_SAMPLERS_SAMPLERSUPPORT_H

#include "llvm/Mneme/Samplers/Sampler.h"

namespace llvm {
namespace mneme {

/// Uniform in [0, N); N > 0. The standard's distributions give different
/// numbers with different libraries.
uint64_t randomBelow(RandomEngine &Random, uint64_t N);
/// Uniform in [0, 1).
double randomUnit(RandomEngine &Random);
/// Makes a seed for an engine. Equal inputs give equal seeds, similar inputs
/// give unrelated seeds.
uint64_t mixSeed(uint64_t Seed, uint64_t Number);

template <typename T> void shuffle(std::vector<T> &V, RandomEngine &Random) {
  for (size_t I = V.size(); I > 1; --I)
    std::swap(V[I - 1], V[randomBelow(Random, I)]);
}

/// A finished trial that is neither a canary nor suspect.
struct Observation {
  const Trial *T;
  /// The values with signs such that less is better. Empty if the trial failed.
  std::vector<double> Y;
  /// Less is better. For one objective, the only value of Y. For several, the
  /// number of the front, counted from 0, plus a crowding term less than 1.
  /// Infinite if the trial failed.
  double Score;
  bool failed() const { return Y.empty(); }
};

/// The history in the form that samplers use.
struct Observations {
  std::vector<Observation> Done; ///< In the order of the trials' numbers.
  std::vector<const Trial *> Running;
  explicit Observations(const SamplerContext &Context);
  /// \returns indices into Done, best first, without failed trials and
  /// duplicates.
  std::vector<size_t> ranked() const;
  /// Reduces Done to \p Max trials, for algorithms whose time depends on its
  /// size. A quarter of them are the best; the others are spread evenly over
  /// time.
  void thin(size_t Max = 1000);
};

/// \returns the front of each point, counted from 0. No point dominates another
/// one on its front.
std::vector<unsigned> getFronts(ArrayRef<std::vector<double>> Y);
/// \returns the distance between the neighbours of each point on its front,
/// relative to the front's extent. Infinite at the ends of a front.
std::vector<double> getCrowding(ArrayRef<std::vector<double>> Y,
                                ArrayRef<unsigned> Fronts);

/// \returns valid points that differ from \p P in one ordered dimension, by any
/// distance. Dimensions with more than \p MaxValues values contribute \p
/// MaxValues random ones. There are at most \p Max points in all.
/// SearchSpace::neighbours() has the neighbours in other dimensions.
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
  /// Adds \p P, which must be valid and canonical. \returns false if \p P is
  /// not new or the batch is full.
  bool add(Point P);
  const std::vector<Point> &points() const { return Points; }
  std::vector<Point> take() { return std::move(Points); }

private:
  const SamplerContext &Context;
  unsigned N;
  std::vector<Point> Points;
  DenseSet<uint64_t> Digests;
};

/// Draws random valid points that were not proposed before. In a space that is
/// small enough, finds all of them.
class UnseenPoints {
public:
  explicit UnseenPoints(const SamplerContext &Context) : Context(Context) {}
  /// \returns a point that is not in \p B either, or std::nullopt if none is
  /// found.
  std::optional<Point> draw(const Batch &B, RandomEngine &Random);
  void fill(Batch &B, RandomEngine &Random);

private:
  const SamplerContext &Context;
  /// Numbers of the points that were left when random draws found nothing new
  /// any more. A cache: the proposed points do not depend on when it was made.
  std::optional<std::vector<uint64_t>> Left;
  bool findLeft();
};

/// The first points of a search, the same in every call.
class StartPoints {
public:
  StartPoints(const SamplerContext &Context, unsigned N)
      : Context(Context), N(N) {}
  /// Adds the points that were not proposed yet.
  void fill(Batch &B);
  bool contains(uint64_t Digest);

private:
  const SamplerContext &Context;
  unsigned N;
  std::vector<Point> Points;
  DenseSet<uint64_t> Digests;
  void make();
};

/// A sampler that begins with StartPoints and then proposes children of the
/// best points.
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
