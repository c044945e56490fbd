//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Limits of the size of a pipeline space, far beyond practical searches. They
/// bound the memory and the time of computations on a space.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_LIMITS_H
#define LLVM_MNEME_LIB_PIPELINE_LIMITS_H

#include <cstdint>

namespace llvm {
namespace mneme {

constexpr unsigned MaxPipelineText = 1 << 16;   ///< Bytes of a space.
constexpr unsigned MaxPipelineDepth = 64;       ///< Nested brackets.
constexpr unsigned MaxPipelineSeq = 1000;       ///< Steps of a seq.
constexpr uint64_t MaxPipelineValues = 1 << 30; ///< Of an integer range.
/// Decisions of a point, uses of named choices and steps of seqs.
constexpr uint64_t MaxPipelineDecisions = 1 << 16;
constexpr uint64_t MaxPipelinePrinted = 1 << 20; ///< Bytes of a pipeline.
constexpr uint64_t MaxPipelineBits = 1 << 14;    ///< Of the number of points.
constexpr unsigned MaxPipelineShared = 64; ///< Names used more than once.
/// Conditions of decisions.
constexpr uint64_t MaxPipelineConditions = 1 << 20;
/// Sets of shared names that points can use.
constexpr unsigned MaxPipelineSets = 1 << 10;

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_LIMITS_H
