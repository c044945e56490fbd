//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

char SourceError::ID;

std::error_code SourceError::convertToErrorCode() const {
  return inconvertibleErrorCode();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

// Found by argument-dependent lookup.
namespace llvm {
namespace mneme {
static json::Value toJSON(const SourceFixIt &F) {
  return json::Object{{"line", F.Begin.Line},
                      {"column", F.Begin.Column},
                      {"end_line", F.End.Line},
                      {"end_column", F.End.Column},
                      {"text", json::fixUTF8(F.Text)}};
}

static bool fromJSON(const json::Value &V, SourceFixIt &F, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("line", F.Begin.Line) && O.map("column", F.Begin.Column) &&
         O.map("end_line", F.End.Line) && O.map("end_column", F.End.Column) &&
         O.map("text", F.Text);
}
} // namespace mneme
} // namespace llvm

json::Value mneme::toJSON(const SourceDiagnostic &D) {
  json::Array FixIts, Notes;
  for (const SourceFixIt &F : D.FixIts)
    FixIts.push_back(toJSON(F));
  for (const SourceDiagnostic &Note : D.Notes)
    Notes.push_back(toJSON(Note));
  return json::Object{{"file", json::fixUTF8(D.Where.File)},
                      {"line", D.Where.Line},
                      {"column", D.Where.Column},
                      {"severity", D.Severity},
                      {"message", json::fixUTF8(D.Message)},
                      {"fixits", std::move(FixIts)},
                      {"notes", std::move(Notes)}};
}

bool mneme::fromJSON(const json::Value &V, SourceDiagnostic &D, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("file", D.Where.File) && O.map("line", D.Where.Line) &&
         O.map("column", D.Where.Column) && O.map("severity", D.Severity) &&
         O.map("message", D.Message) && O.map("fixits", D.FixIts) &&
         O.map("notes", D.Notes);
}

//===----------------------------------------------------------------------===//
// Clang's messages
//===----------------------------------------------------------------------===//

/// Reads "LINE:COLUMN" from the front of \p Text.
static bool consumePosition(StringRef &Text, SourcePosition &P) {
  return !Text.consumeInteger(10, P.Line) && Text.consume_front(":") &&
         !Text.consumeInteger(10, P.Column);
}

/// Parses "FILE:LINE:COLUMN: SEVERITY: message".
static std::optional<SourceDiagnostic> parseMessage(StringRef Line) {
  for (StringRef Severity : {"fatal error", "error", "warning", "note"}) {
    std::string Infix = (Severity + ": ").str();
    size_t At = Line.find(Infix);
    if (At == StringRef::npos)
      continue;
    StringRef Where = Line.take_front(At);
    if (!Where.empty() && !Where.ends_with(": "))
      continue;
    SourceDiagnostic D;
    D.Severity = Severity.str();
    D.Message = Line.drop_front(At + Infix.size()).str();
    Where.consume_back(": ");
    auto [Rest, Column] = Where.rsplit(':');
    auto [File, LineText] = Rest.rsplit(':');
    if (to_integer(Column, D.Where.Column) &&
        to_integer(LineText, D.Where.Line))
      D.Where.File = File.str();
    return D;
  }
  return std::nullopt;
}

/// Parses fix-it:"FILE":{LINE:COLUMN-LINE:COLUMN}:"text", without the file.
static std::optional<SourceFixIt> parseFixIt(StringRef Line) {
  SourceFixIt F;
  if (!Line.consume_front("fix-it:\""))
    return std::nullopt;
  size_t Quote = Line.find("\":{");
  if (Quote == StringRef::npos)
    return std::nullopt;
  Line = Line.drop_front(Quote + 3);
  if (!consumePosition(Line, F.Begin) || !Line.consume_front("-") ||
      !consumePosition(Line, F.End) || !Line.consume_front("}:\"") ||
      !Line.consume_back("\""))
    return std::nullopt;
  for (size_t I = 0; I < Line.size(); ++I) {
    if (Line[I] == '\\' && I + 1 < Line.size())
      ++I;
    F.Text += Line[I];
  }
  return F;
}

/// Returns true for a line of the source below a message ("   12 | text"),
/// which may look like a message. Without these lines, clang prints no fix-its.
static bool isSnippet(StringRef Line) {
  return Line.ltrim(" 0123456789").starts_with("|");
}

std::vector<SourceDiagnostic> mneme::parseDiagnostics(
    StringRef Messages,
    function_ref<SourcePosition(SourcePosition)> Translate) {
  std::vector<SourceDiagnostic> All;
  SourceDiagnostic *Last = nullptr;
  std::string File; ///< Of the last message, in the text.
  for (StringRef Line : split(Messages, '\n')) {
    if (isSnippet(Line))
      continue;
    if (std::optional<SourceFixIt> F = parseFixIt(Line)) {
      // Clang prints the file of the line markers, but the line of the text.
      F->Begin.File = F->End.File = File;
      F->Begin = Translate(F->Begin);
      F->End = Translate(F->End);
      if (Last)
        Last->FixIts.push_back(std::move(*F));
      continue;
    }
    std::optional<SourceDiagnostic> D = parseMessage(Line);
    if (!D)
      continue;
    File = D->Where.File;
    D->Where = Translate(D->Where);
    std::vector<SourceDiagnostic> &List =
        D->Severity == "note" && !All.empty() ? All.back().Notes : All;
    List.push_back(std::move(*D));
    Last = &List.back();
  }
  return All;
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

static void print(const SourceDiagnostic &D, StringRef Version,
                  const LineTable &Lines, raw_ostream &OS) {
  if (!D.Where.File.empty())
    OS << formatv("{0}:{1}:{2}: ", D.Where.File, D.Where.Line, D.Where.Column);
  OS << D.Severity << ": " << D.Message << '\n';
  constexpr size_t MaxLine = 200;
  if (D.Where.File == "kernel.cu" && D.Where.Line &&
      D.Where.Line <= Lines.count()) {
    StringRef Line = Version.slice(Lines.offsetOf(D.Where.Line),
                                   Lines.offsetOf(D.Where.Line + 1));
    Line = Line.rtrim();
    if (Line.size() <= MaxLine) {
      OS << "  " << Line << "\n  ";
      for (char C : Line.take_front(D.Where.Column ? D.Where.Column - 1 : 0))
        OS << (C == '\t' ? '\t' : ' ');
      OS << "^\n";
    }
  }
  for (const SourceFixIt &F : D.FixIts)
    OS << formatv("  fix: replace {0}:{1} to {2}:{3} with '{4}'\n",
                  F.Begin.Line, F.Begin.Column, F.End.Line, F.End.Column,
                  F.Text);
  for (const SourceDiagnostic &Note : D.Notes)
    print(Note, Version, Lines, OS);
}

std::string mneme::printDiagnostics(ArrayRef<SourceDiagnostic> Diagnostics,
                                    StringRef Version) {
  LineTable Lines(Version);
  std::string Text;
  size_t Left = 0;
  for (bool Errors : {true, false})
    for (const SourceDiagnostic &D : Diagnostics) {
      if (D.isError() != Errors)
        continue;
      std::string One;
      raw_string_ostream OS(One);
      print(D, Version, Lines, OS);
      constexpr size_t Reserve = 64;
      if (Text.size() + One.size() + Reserve > MaxDiagnosticText)
        ++Left;
      else
        Text += One;
    }
  if (Left)
    Text += formatv("{0} more\n", Left).str();
  return StringRef(Text).rtrim().str();
}

Error mneme::makeSourceError(Error E, StringRef Version) {
  if (!E || E.isA<SourceError>() || E.isA<ShortageError>())
    return E;
  SourceDiagnostic D;
  D.Severity = "error";
  D.Message = toString(std::move(E));
  return make_error<SourceError>(std::vector{std::move(D)}, Version);
}
