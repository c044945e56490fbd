//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace llvm::mneme;

/// Longer lines, such as JSON without line breaks, would hide the message.
static constexpr size_t MaxQuotedLine = 1024;

char TextError::ID;

void TextError::log(raw_ostream &OS) const {
  OS << Line << ':' << Column << ": " << Message;
}

std::error_code TextError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

Error mneme::makeTextError(StringRef Text, size_t Offset,
                           const Twine &Message) {
  StringRef Before = Text.take_front(Offset);
  size_t LineStart = Before.rfind('\n') + 1; // npos + 1 is 0.
  return make_error<TextError>(Before.count('\n') + 1, Offset - LineStart + 1,
                               Message);
}

static StringRef getLine(StringRef Text, unsigned Line) {
  while (--Line && !Text.empty())
    Text = Text.split('\n').second;
  return Text.split('\n').first.rtrim('\r');
}

static std::string quote(StringRef Name, StringRef Text, const TextError &E,
                         unsigned FirstLine) {
  StringRef Line = getLine(Text, E.Line);
  unsigned Number = E.Line + FirstLine - 1;
  if (Line.empty() || Line.size() > MaxQuotedLine)
    return (Name + ":" + Twine(Number) + ":" + Twine(E.Column) + ": " +
            E.Message)
        .str();
  SourceMgr SM;
  SMDiagnostic D(SM, SMLoc(), Name, Number, E.Column - 1, SourceMgr::DK_Error,
                 E.Message, Line, {});
  std::string Quoted;
  raw_string_ostream OS(Quoted);
  D.print(/*ProgName=*/nullptr, OS, /*ShowColors=*/false,
          /*ShowKindLabel=*/false);
  return StringRef(Quoted).rtrim('\n').str();
}

Error mneme::quoteText(StringRef Name, StringRef Text, Error E,
                       unsigned FirstLine) {
  std::string Quoted;
  handleAllErrors(
      std::move(E),
      [&](const TextError &T) { Quoted = quote(Name, Text, T, FirstLine); },
      [&](const ErrorInfoBase &Other) {
        Quoted = quote(Name, Text, TextError(1, 1, Other.message()), FirstLine);
      });
  return Quoted.empty() ? Error::success() : createStringError(Quoted);
}
