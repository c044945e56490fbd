//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tokens of a C++ source, without preprocessing. They suffice to find
/// functions, to edit a source, and to combine parts of two; clang and the
/// verification judge the result.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_SOURCETOKENS_H
#define LLVM_MNEME_SOURCE_SOURCETOKENS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <vector>

namespace llvm {
namespace mneme {

struct SourceToken {
  enum KindTy {
    Word, ///< Identifiers and keywords.
    Number,
    Literal,     ///< Strings and characters.
    Punctuation, ///< One character.
    Directive,   ///< A whole logical line, from '#' to before its newline.
  };
  KindTy Kind;
  size_t Begin, End; ///< Offsets in the text.

  StringRef in(StringRef Text) const { return Text.slice(Begin, End); }
};

/// Returns the tokens of \p Text. Comments and line continuations are white
/// space. Never fails: an unterminated comment or literal ends with the text or
/// line.
std::vector<SourceToken> lexSource(StringRef Text);

/// Returns the name of a directive, such as "include", and sets \p Rest to the
/// text behind it without comments, line continuations and outer white space.
StringRef getDirectiveName(StringRef Directive, std::string &Rest);

/// Returns the number of conditional directives that are open at the end of
/// \p Text.
unsigned countOpenConditionals(StringRef Text);

/// Offsets of lines in a text.
class LineTable {
public:
  explicit LineTable(StringRef Text);
  /// Returns the 1-based number of the line that contains an offset.
  unsigned lineOf(size_t Offset) const;
  /// Returns the offset of the beginning of a 1-based line; that of the end of
  /// the text for later lines.
  size_t offsetOf(unsigned Line) const;
  unsigned count() const { return Begins.size(); }

private:
  std::vector<size_t> Begins;
  size_t Size;
};

/// The definition of a function.
struct FunctionExtent {
  StringRef Name;
  size_t Begin; ///< Offset of the first token of its declaration.
  size_t ParametersBegin, ParametersEnd; ///< The parentheses.
  size_t BodyBegin, End;                 ///< From '{' to behind '}'.
};

/// Returns the definitions of functions outside of function bodies, in order.
/// \p Tokens are those of \p Text.
std::vector<FunctionExtent> findFunctions(StringRef Text,
                                          ArrayRef<SourceToken> Tokens);

/// Returns the index of the token that closes the bracket at \p Index;
/// Tokens.size() if none does. Of conditional directives, only the first
/// branch counts.
size_t findClosing(StringRef Text, ArrayRef<SourceToken> Tokens, size_t Index);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_SOURCETOKENS_H
