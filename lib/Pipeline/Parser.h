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
#include "Lexer.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

/// Errors are TextErrors.
Expected<PipelineTree> parsePipelineTree(StringRef Text, PipelineSyntax Syntax);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_PARSER_H
