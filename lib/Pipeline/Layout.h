//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_LAYOUT_H
#define LLVM_MNEME_LIB_PIPELINE_LAYOUT_H

#include "AST.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"

namespace llvm {
namespace mneme {

/// Gives each decision its place in a point. The decisions of a shared named
/// choice come after those of all its uses. Error: the space is too large.
Error layOutDecisions(PipelineTree &T);

/// The decisions of a tree that is laid out, in the order of their places.
/// Error: there are too many conditions.
Expected<std::vector<PipelineDecision>>
describeDecisions(const PipelineTree &T);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_LAYOUT_H
