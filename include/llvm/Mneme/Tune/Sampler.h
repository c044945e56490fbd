//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Who decides what to try next. One line each in Samplers.def.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_SAMPLER_H
#define LLVM_MNEME_TUNE_SAMPLER_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/Mneme/Tune/Trial.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// What samplers may know of a study that runs. The tuner keeps it.
struct SamplerContext {
  const SearchSpace &Space;
  std::vector<Direction> Directions; ///< One an objective.
  uint64_t Seed = 0;
  /// All trials so far in the order of their numbers; running ones too. What
  /// has equal code to an earlier trial is there with that one's values.
  const std::vector<Trial> &History;
  /// Digests of all points ever proposed, by whomever.
  const DenseSet<uint64_t> &Proposed;
};

class Sampler {
public:
  virtual ~Sampler() = default;

  /// Up to \p N valid, canonical points, none of which is in Proposed, no two
  /// of which are equal. None at all: there is nothing left to propose, now (if
  /// trials are running) or for good. What is proposed depends on the context
  /// alone, so that a study that was interrupted goes on as it would have.
  virtual Expected<std::vector<Point>> ask(unsigned N) = 0;

  /// A trial ended; it is in the history already. Most samplers just look
  /// there.
  virtual void tell(const Trial &) {}

protected:
  explicit Sampler(const SamplerContext &Context) : Context(Context) {}
  const SamplerContext &Context;

  /// For one ask(): the seed and the length of the history decide.
  RandomEngine makeRandom() const;
};

struct SamplerOptions {
  /// "file": a JSON lines file of {"parameter": value, ...}; "external": a
  /// command line for the shell, which speaks docs/Samplers' protocol.
  std::string Argument;
};

/// \p Name is one of Samplers.def, or "file=PATH", "external=COMMAND".
/// \p Context outlives the sampler. Error: no such sampler (with the names
/// that there are), one that cannot work in this space.
Expected<std::unique_ptr<Sampler>> createSampler(StringRef Name,
                                                 const SamplerContext &Context);
/// One line each: the name, two spaces, what it is.
void listSamplers(raw_ostream &OS);

/// Is \p A better than \p B in all objectives, or in some and equal in others?
bool dominates(ArrayRef<double> A, ArrayRef<double> B,
               ArrayRef<Direction> Directions);
/// Numbers of the trials that no other one dominates, complete ones only that
/// are not suspect, of equal code only the first.
std::vector<uint64_t> getParetoFront(ArrayRef<Trial> Trials,
                                     ArrayRef<Direction> Directions);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_SAMPLER_H
