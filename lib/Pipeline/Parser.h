//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_PARSER_H
#define LLVM_MNEME_LIB_PIPELINE_PARSER_H

#include "AST.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

/// Errors are PipelineSpaceErrors.
Expected<PipelineTree> parsePipelineTree(StringRef Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_PARSER_H
