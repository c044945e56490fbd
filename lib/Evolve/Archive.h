//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The candidates of a search, on disk and by their properties.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_EVOLVE_ARCHIVE_H
#define LLVM_MNEME_LIB_EVOLVE_ARCHIVE_H

#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Evolve/Judge.h"
#include <random>

namespace llvm {
namespace mneme {

/// A trial of the inner search.
struct InnerTrial {
  json::Object Values;            ///< The point.
  FailureKind Failure;            ///< None if it verified.
  std::optional<double> Estimate; ///< Judgement::Estimate.
};

/// A version that was judged.
struct EvolvedCandidate {
  uint64_t Number = 0;
  std::optional<uint64_t> Parent;
  std::string Origin;      ///< "start", "crossover", "proposer", an operator.
  std::string Description; ///< Of the edit; may be empty.
  std::string Text;
  /// Of the first training launch, without the source: knobs and what the inner
  /// search found.
  json::Object Config;
  json::Object Values; ///< Point of the inner search; may be empty.
  Judgement J;
  std::vector<InnerTrial> Inner;
  double Cost = 0;

  bool verified() const { return J.Failure.empty() && J.Estimate; }
  double score() const { return verified() ? *J.Estimate : 0; }
};

/// All candidates. A line of the file history.jsonl, and a file of the folder
/// candidates, hold one each: a killed search loses none that was finished.
class Archive {
public:
  /// Opens the folder \p Dir, which must be new unless \p Resumes.
  static Expected<Archive> open(StringRef Dir, bool Resumes);

  ArrayRef<EvolvedCandidate> all() const { return All; }
  /// Adds a candidate, or replaces the one of its number.
  Error add(EvolvedCandidate C);
  /// Returns true if a version is known, and notes it otherwise.
  bool isKnown(StringRef Text);

  /// Chooses a parent among the elites (the best candidates for each
  /// combination of registers and shared memory) of an island: often the best.
  /// Null if there are none.
  const EvolvedCandidate *choose(unsigned Island, unsigned Islands,
                                 std::mt19937_64 &Random) const;
  /// Chooses any verified candidate; null if there is none.
  const EvolvedCandidate *chooseAny(std::mt19937_64 &Random) const;
  /// Returns the best verified candidates of different code or launch, best
  /// first.
  std::vector<const EvolvedCandidate *> best(size_t Count) const;
  std::string pathOf(uint64_t Number) const;

private:
  std::string Dir;
  std::vector<EvolvedCandidate> All;
  StringSet<> Known; ///< Digests of texts.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_EVOLVE_ARCHIVE_H
