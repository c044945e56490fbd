//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asks LLVM whether it knows the passes of a pipeline space.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PIPELINESPACECHECK_H
#define LLVM_MNEME_COMPILE_PIPELINESPACECHECK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"

namespace llvm {
class TargetMachine;
namespace mneme {

/// Parses each pass of each alternative in its place, integers at their ends
/// (PipelineSpace::probes()). The error is a PipelineSpaceError: the first pass
/// that is unknown, misplaced or has wrong parameters, LLVM's own words for it,
/// and what may have been meant. \p TM's passes, \p Plugins' and Mneme's are
/// known.
Error checkPipelineSpace(TargetMachine &TM, const PipelineSpace &Space,
                         ArrayRef<std::string> Plugins = {});

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PIPELINESPACECHECK_H
