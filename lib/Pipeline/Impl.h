//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_IMPL_H
#define LLVM_MNEME_LIB_PIPELINE_IMPL_H

#include "AST.h"
#include "Counting.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"

namespace llvm {
namespace mneme {

struct PipelineSpace::Impl {
  PipelineTree Tree;
  std::vector<PipelineDecision> Decisions;
  PipelineCounter Counter;
};

/// The pipeline of a point.
std::string printPoint(const PipelineTree &T, const PipelinePoint &P);
/// The text of a node without decisions.
std::string printWord(const PipelineTree &T, const PipelineNode &N);

/// \returns the alternative of a Choice, or of a Seq's slot, that is chosen at
/// \p Decision.
inline const PipelineNode &chosen(const PipelineNode &N, unsigned Decision,
                                  const PipelinePoint &P) {
  return N.child(N.size() > 1 ? P[Decision] : 0);
}

/// \returns the number of steps of a Seq.
inline unsigned lengthOf(const PipelineNode &N, unsigned Base,
                         const PipelinePoint &P) {
  return N.Low + (N.hasLength() ? P[Base + N.First] : 0);
}

/// \returns the order of a Perm's children.
std::vector<unsigned> orderOf(const PipelineNode &N, unsigned Base,
                              const PipelinePoint &P);
/// Sets the decisions of a Perm such that orderOf() returns \p Order.
void setOrder(const PipelineNode &N, unsigned Base, ArrayRef<unsigned> Order,
              PipelinePoint &P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_IMPL_H
