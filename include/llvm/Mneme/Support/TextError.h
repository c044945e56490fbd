//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Errors at a position of a text that a user wrote: an expression, a pipeline
/// space, a configuration file. The parser reports line and column; the code
/// that knows the name of the file or option adds the line and a caret.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_TEXTERROR_H
#define LLVM_MNEME_SUPPORT_TEXTERROR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// An error and its position in a text.
class TextError : public ErrorInfo<TextError> {
public:
  static char ID;
  TextError(unsigned Line, unsigned Column, const Twine &Message)
      : Line(Line), Column(Column), Message(Message.str()) {}
  unsigned Line, Column; ///< From 1; columns in bytes.
  std::string Message;
  /// Prints "1:14: expected ')'".
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override;
};

/// Returns a TextError at the byte \p Offset of \p Text.
Error makeTextError(StringRef Text, size_t Offset, const Twine &Message);

/// Returns \p E as an SMDiagnostic prints it: "NAME:LINE:COLUMN: message", the
/// line of \p Text, and a caret. \p Name is a file or an option ("--passes").
/// An error without a position is about the whole text: the caret is at its
/// start. \p FirstLine is the number of the first line of \p Text.
Error quoteText(StringRef Name, StringRef Text, Error E,
                unsigned FirstLine = 1);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_TEXTERROR_H
