//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many points there are, and which has which number. A part of the tree
/// that chooses independently is a product, alternatives are a sum; a shared
/// named choice counts once for a point that uses it, so that the ways are kept
/// apart by the set of those that are used.
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
  /// Fills in the ways of the nodes. Error: the space is too large.
  Error count(PipelineTree &T);

  const APInt &total() const { return Total; }
  /// The point with the number \p Index of total()'s width; all zeros before.
  void at(const PipelineTree &T, APInt Index, PipelinePoint &P) const;
  /// A point at random, any as likely as another; all zeros before.
  void draw(const PipelineTree &T, RandomEngine &Random,
            PipelinePoint &P) const;
  /// Of a canonical point.
  APInt indexOf(const PipelineTree &T, const PipelinePoint &P) const;

private:
  APInt Total;
  unsigned Width = 0;
  /// In how many ways the shared named choices of a set can be chosen.
  std::map<uint64_t, APInt> Filled;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_COUNTING_H
