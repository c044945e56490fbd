//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Search strategies, listed in Samplers.def.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SAMPLERS_SAMPLER_H
#define LLVM_MNEME_SAMPLERS_SAMPLER_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/Mneme/Study/Trial.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// The state of a running study that samplers may use. Owned by the tuner.
struct SamplerContext {
  const SearchSpace &Space;
  std::vector<Direction> Directions; ///< One per objective.
  uint64_t Seed = 0;
  /// All trials so far, ordered by number, including running ones. A duplicate
  /// of an earlier trial's code has the values of that trial.
  const std::vector<Trial> &History;
  /// Digests of all points proposed so far, by any source.
  const DenseSet<uint64_t> &Proposed;
};

/// A search strategy.
class Sampler {
public:
  virtual ~Sampler() = default;

  /// Returns up to \p N distinct, valid, canonical points that are not in
  /// Proposed. An empty result means that there is nothing left to propose,
  /// either currently (if trials are running) or permanently. The result
  /// depends only on the context, so that a resumed study continues
  /// identically.
  virtual Expected<std::vector<Point>> ask(unsigned N) = 0;

  /// Called when a trial has ended and is in the history. Most samplers only
  /// read the history.
  virtual void tell(const Trial &) {}

protected:
  explicit Sampler(const SamplerContext &Context) : Context(Context) {}
  const SamplerContext &Context;

  /// Returns a generator for one ask(), seeded by the seed and the length of
  /// the history.
  RandomEngine makeRandom() const;
};

struct SamplerOptions {
  /// For "file": a JSON lines file of {"parameter": value, ...}. For
  /// "external": a shell command that speaks the protocol in docs/Samplers.
  std::string Argument;
};

/// Creates a sampler of Samplers.def by its name, or by "file=PATH" or
/// "external=COMMAND". \p Context must outlive the sampler. Fails if there is
/// no such sampler (the error lists all) or if it does not support the space.
Expected<std::unique_ptr<Sampler>> createSampler(StringRef Name,
                                                 const SamplerContext &Context);
/// Prints one line per sampler: its name, two spaces and a description.
void listSamplers(raw_ostream &OS);

/// Returns true if \p A is at least as good as \p B in all objectives and
/// better in at least one.
bool dominates(ArrayRef<double> A, ArrayRef<double> B,
               ArrayRef<Direction> Directions);
/// Returns the numbers of the trials that no other trial dominates. Only
/// complete trials that are not suspect count, and only the first of equal
/// code.
std::vector<uint64_t> getParetoFront(ArrayRef<Trial> Trials,
                                     ArrayRef<Direction> Directions);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SAMPLERS_SAMPLER_H
