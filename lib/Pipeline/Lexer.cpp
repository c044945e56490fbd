//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"

using namespace llvm;
using namespace llvm::mneme;

void PipelineLexer::advance(size_t Bytes) {
  for (char C : Rest.take_front(Bytes)) {
    ++Pos.Column;
    if (C == '\n')
      Pos = {Pos.Line + 1, 1};
  }
  Rest = Rest.drop_front(Bytes);
}

bool PipelineLexer::skipSpace() {
  bool Any = false;
  while (!Rest.empty() &&
         (isSpace(Rest[0]) || (Rest[0] == '#' && isSpecial('#')))) {
    advance(Rest[0] == '#' ? std::min(Rest.find('\n'), Rest.size()) : 1);
    Any = true;
  }
  return Any;
}

static bool isIdentifier(char C) { return isAlnum(C) || C == '_'; }

bool PipelineLexer::isSymbol(char C) const {
  return StringRef(",;()<>").contains(C) ||
         (isSpecial(C) && StringRef("{|}[]?").contains(C));
}

/// \returns whether \p C can be part of a word. Non-ASCII bytes can, because
/// file names may have them.
bool PipelineLexer::isText(char C) const {
  return static_cast<unsigned char>(C) > ' ' && C != 0x7f && !isSymbol(C) &&
         !isSpecial(C);
}

Expected<PipelineToken> PipelineLexer::next() {
  PipelineToken T;
  T.SpaceBefore = skipSpace();
  T.Pos = Pos;
  if (Rest.empty())
    return T;

  if (isSymbol(Rest[0])) {
    T.Kind = PipelineToken::Symbol;
    T.Spelling = Rest[0];
    advance(1);
    return T;
  }

  if (Rest[0] == '$' && isSpecial('$')) {
    size_t Size = 1 + Rest.drop_front().take_while(isIdentifier).size();
    if (Size == 1)
      return makeError(Pos, "expected a name after '$'");
    T.Kind = PipelineToken::Name;
    T.Spelling = Rest.take_front(Size).str();
    advance(Size);
    if (Rest.starts_with("={") || Rest.starts_with("=[")) {
      T.Kind = PipelineToken::Bind;
      advance(1);
    }
    return T;
  }

  T.Kind = PipelineToken::Text;
  while (!Rest.empty()) {
    bool Escape = Rest[0] == '\\' && isSpecial('\\');
    if (Escape && (Rest.size() == 1 || !isEscapable(Rest[1])))
      return makeError(Pos, "expected one of '{}|?[]$#\\' after '\\'");
    if (!Escape && !isText(Rest[0]))
      break;
    T.Spelling += Rest[Escape];
    advance(1 + Escape);
  }
  if (T.Spelling.empty())
    return makeError(Pos, "unexpected byte 0x" +
                              utohexstr(static_cast<unsigned char>(Rest[0])));
  return T;
}
