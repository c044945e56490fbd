//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts and numbers the points of a pipeline space. A node that chooses its
/// children independently is a product; alternatives are a sum. A shared named
/// choice counts once in a point that uses it. Ways are therefore counted
/// separately for each set of shared named choices that they use.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_COUNTING_H
#define LLVM_MNEME_LIB_PIPELINE_COUNTING_H

#include "AST.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include <map>

namespace llvm {
namespace mneme {

class PipelineCounter {
public:
  /// Computes the ways of the nodes. Error: the space is too large.
  Error count(PipelineTree &T);

  const APInt &total() const { return Total; }
  /// Sets \p P to the point with number \p Index, which has total()'s width. \p
  /// P must be all zeros.
  void at(const PipelineTree &T, APInt Index, PipelinePoint &P) const;
  /// Sets \p P to a random point, all with the same probability. \p P must be
  /// all zeros.
  void draw(const PipelineTree &T, RandomEngine &Random,
            PipelinePoint &P) const;
  /// \returns the number of a canonical point.
  APInt indexOf(const PipelineTree &T, const PipelinePoint &P) const;

private:
  APInt Total;
  unsigned Width = 0;
  /// The number of ways to choose the shared named choices of a set.
  std::map<uint64_t, APInt> Filled;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_COUNTING_H
