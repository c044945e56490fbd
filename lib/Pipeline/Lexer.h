//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_LEXER_H
#define LLVM_MNEME_LIB_PIPELINE_LEXER_H

#include "AST.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

struct PipelineToken {
  enum KindTy {
    End,
    Text,   ///< Ordinary characters.
    Symbol, ///< One of , ; ( ) < > { | } [ ] ?
    Name,   ///< "$x".
    Bind,   ///< "$x=" before '{' or '['.
  };
  KindTy Kind = End;
  SourcePos Pos;
  std::string Spelling;     ///< Of Text without escapes, of Bind without '='.
  bool SpaceBefore = false; ///< Or a comment, or the start of the text.

  bool is(char C) const { return Kind == Symbol && Spelling[0] == C; }
};

/// In a single pipeline, the special characters of spaces are ordinary ones.
enum class PipelineSyntax { Space, Pipeline };

class PipelineLexer {
public:
  PipelineLexer(StringRef Text, PipelineSyntax Syntax)
      : Rest(Text), Syntax(Syntax) {}
  Expected<PipelineToken> next();

  /// \returns whether \p C needs a '\' to be an ordinary character in a space.
  static bool isEscapable(char C) {
    return StringRef("{}|?[]$#\\").contains(C);
  }

private:
  StringRef Rest;
  PipelineSyntax Syntax;
  SourcePos Pos;

  bool isSpecial(char C) const {
    return Syntax == PipelineSyntax::Space && isEscapable(C);
  }
  bool isSymbol(char C) const;
  bool isText(char C) const;
  void advance(size_t Bytes);
  bool skipSpace();
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_LEXER_H
