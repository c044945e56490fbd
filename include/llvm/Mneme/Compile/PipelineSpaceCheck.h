//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks that LLVM knows the passes of a pipeline space.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PIPELINESPACECHECK_H
#define LLVM_MNEME_COMPILE_PIPELINESPACECHECK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"

namespace llvm {
class TargetMachine;
namespace mneme {

/// Parses \p Passes without running them. The error quotes the
/// pass at fault with a caret, if it can be found.
Error checkPipeline(TargetMachine &TM, StringRef Passes,
                    ArrayRef<std::string> Plugins = {});

/// Parses each pass of each alternative in its context, with integers at their
/// bounds (PipelineSpace::probes()). Returns a TextError for the first pass
/// that is unknown, misplaced or has wrong parameters, with LLVM's message and
/// a suggestion. Known passes are those of \p TM, \p Plugins and Mneme.
Error checkPipelineSpace(TargetMachine &TM, const PipelineSpace &Space,
                         ArrayRef<std::string> Plugins = {});

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PIPELINESPACECHECK_H
