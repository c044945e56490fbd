//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

namespace {
class SourceLexer {
public:
  explicit SourceLexer(StringRef Text) : Text(Text) {}
  std::vector<SourceToken> run();

private:
  char at(size_t I) const { return I < Text.size() ? Text[I] : '\0'; }
  /// Returns the size of a line continuation at \p I; 0 if there is none.
  size_t continuation(size_t I) const {
    if (at(I) != '\\')
      return 0;
    size_t Size = 1 + (at(I + 1) == '\r');
    return at(I + Size) == '\n' ? Size + 1 : 0;
  }
  bool skipSpace();
  void skipLiteral(char Quote);
  void skipRawString();
  void skipDirective();
  void add(SourceToken::KindTy Kind, size_t Begin) {
    Tokens.push_back({Kind, Begin, At});
    AtLineStart = false;
  }

  StringRef Text;
  size_t At = 0;
  bool AtLineStart = true;
  std::vector<SourceToken> Tokens;
};
} // namespace

static bool isWordStart(char C) { return isAlpha(C) || C == '_' || C & 0x80; }
static bool isWordPart(char C) { return isWordStart(C) || isDigit(C); }

/// Skips white space, comments and line continuations. \returns false at the
/// end.
bool SourceLexer::skipSpace() {
  while (At < Text.size()) {
    if (Text[At] == '\n') {
      AtLineStart = true;
      ++At;
    } else if (isSpace(Text[At])) {
      ++At;
    } else if (size_t Size = continuation(At)) {
      At += Size;
    } else if (Text.substr(At, 2) == "//") {
      while (At < Text.size() && Text[At] != '\n')
        At += std::max<size_t>(continuation(At), 1);
    } else if (Text.substr(At, 2) == "/*") {
      size_t End = Text.find("*/", At + 2);
      At = End == StringRef::npos ? Text.size() : End + 2;
    } else {
      return true;
    }
  }
  return false;
}

/// \p At is behind the opening quote.
void SourceLexer::skipLiteral(char Quote) {
  while (At < Text.size() && Text[At] != '\n') {
    if (size_t Size = continuation(At))
      At += Size;
    else if (Text[At] == '\\')
      At += 2;
    else if (Text[At++] == Quote)
      return;
  }
  At = std::min(At, Text.size());
}

/// \p At is at the opening quote.
void SourceLexer::skipRawString() {
  size_t Open = Text.find('(', At);
  constexpr size_t MaxDelimiter = 16;
  if (Open == StringRef::npos || Open - At > MaxDelimiter + 1) {
    ++At;
    return;
  }
  std::string End = (")" + Text.slice(At + 1, Open) + "\"").str();
  size_t Close = Text.find(End, Open);
  At = Close == StringRef::npos ? Text.size() : Close + End.size();
}

void SourceLexer::skipDirective() {
  while (At < Text.size() && Text[At] != '\n') {
    if (size_t Size = continuation(At)) {
      At += Size;
    } else if (Text.substr(At, 2) == "/*") {
      size_t End = Text.find("*/", At + 2);
      At = End == StringRef::npos ? Text.size() : End + 2;
    } else if (Text.substr(At, 2) == "//") {
      while (At < Text.size() && Text[At] != '\n')
        At += std::max<size_t>(continuation(At), 1);
    } else if (Text[At] == '"') {
      ++At;
      skipLiteral('"');
    } else {
      ++At;
    }
  }
}

std::vector<SourceToken> SourceLexer::run() {
  while (skipSpace()) {
    size_t Begin = At;
    char C = Text[At];
    if (C == '#' && AtLineStart) {
      skipDirective();
      add(SourceToken::Directive, Begin);
    } else if (isWordStart(C)) {
      while (isWordPart(at(At)))
        ++At;
      StringRef Word = Text.slice(Begin, At);
      bool IsRaw = is_contained({"R", "LR", "uR", "UR", "u8R"}, Word);
      if (at(At) == '"' && IsRaw) {
        skipRawString();
        add(SourceToken::Literal, Begin);
      } else {
        add(SourceToken::Word, Begin);
      }
    } else if (isDigit(C) || (C == '.' && isDigit(at(At + 1)))) {
      while (isWordPart(at(At)) || at(At) == '.' ||
             (at(At) == '\'' && isWordPart(at(At + 1))) ||
             (is_contained({'+', '-'}, at(At)) &&
              is_contained({'e', 'E', 'p', 'P'}, at(At - 1)) &&
              !(Text.substr(Begin, 2).equals_insensitive("0x") &&
                toLower(at(At - 1)) == 'e')))
        ++At;
      add(SourceToken::Number, Begin);
    } else if (C == '"' || C == '\'') {
      ++At;
      skipLiteral(C);
      add(SourceToken::Literal, Begin);
    } else {
      ++At;
      add(SourceToken::Punctuation, Begin);
    }
  }
  return std::move(Tokens);
}

std::vector<SourceToken> mneme::lexSource(StringRef Text) {
  return SourceLexer(Text).run();
}

StringRef mneme::getDirectiveName(StringRef Directive, std::string &Rest) {
  StringRef Body = Directive;
  Body.consume_front("#");
  // Comments and continuations become single spaces.
  std::string Plain;
  for (size_t I = 0; I < Body.size(); ++I) {
    StringRef Ahead = Body.drop_front(I);
    if (Ahead.starts_with("\\\n") || Ahead.starts_with("\\\r\n")) {
      I = Body.find('\n', I);
      Plain += ' ';
    } else if (Ahead.starts_with("/*")) {
      I = std::min(Body.find("*/", I + 2), Body.size() - 2) + 1;
      Plain += ' ';
    } else if (Ahead.starts_with("//")) {
      break;
    } else {
      Plain += Body[I];
    }
  }
  StringRef All = StringRef(Plain).trim();
  StringRef Name = All.take_while(isAlpha);
  Rest = All.drop_front(Name.size()).trim().str();
  size_t At = Directive.find(Name);
  return Name.empty() ? StringRef() : Directive.substr(At, Name.size());
}

unsigned mneme::countOpenConditionals(StringRef Text) {
  unsigned Open = 0;
  std::string Rest;
  for (const SourceToken &T : lexSource(Text)) {
    if (T.Kind != SourceToken::Directive)
      continue;
    StringRef Name = getDirectiveName(T.in(Text), Rest);
    if (Name == "if" || Name == "ifdef" || Name == "ifndef")
      ++Open;
    else if (Name == "endif" && Open)
      --Open;
  }
  return Open;
}

LineTable::LineTable(StringRef Text) : Size(Text.size()) {
  Begins.push_back(0);
  for (size_t At = Text.find('\n'); At != StringRef::npos;
       At = Text.find('\n', At + 1))
    Begins.push_back(At + 1);
}

unsigned LineTable::lineOf(size_t Offset) const {
  return llvm::upper_bound(Begins, Offset) - Begins.begin();
}

size_t LineTable::offsetOf(unsigned Line) const {
  return Line - 1 < Begins.size() ? Begins[Line - 1] : Size;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// Steps over tokens. Skips all branches of a conditional but the first, since
/// brackets may be unbalanced across branches.
class TokenWalk {
public:
  TokenWalk(StringRef Text, ArrayRef<SourceToken> Tokens, size_t Index)
      : Text(Text), Tokens(Tokens), Index(Index) {
    skipDirectives();
  }
  bool atEnd() const { return Index >= Tokens.size(); }
  size_t index() const { return Index; }
  void next() {
    ++Index;
    skipDirectives();
  }
  char punctuation() const {
    const SourceToken &T = Tokens[Index];
    return T.Kind == SourceToken::Punctuation ? Text[T.Begin] : '\0';
  }

private:
  StringRef directive() {
    return getDirectiveName(Tokens[Index].in(Text), Rest);
  }
  void skipDirectives() {
    while (!atEnd() && Tokens[Index].Kind == SourceToken::Directive) {
      if (StringRef(directive()).starts_with("el"))
        skipBranches();
      else
        ++Index;
    }
  }
  void skipBranches() {
    for (unsigned Depth = 1; Depth && !atEnd(); ++Index) {
      if (Tokens[Index].Kind != SourceToken::Directive)
        continue;
      StringRef Name = directive();
      if (Name.starts_with("if"))
        ++Depth;
      else if (Name == "endif")
        --Depth;
    }
  }

  StringRef Text;
  ArrayRef<SourceToken> Tokens;
  size_t Index;
  std::string Rest;
};
} // namespace

static bool isOpening(char C) { return C == '(' || C == '[' || C == '{'; }
static bool isClosing(char C) { return C == ')' || C == ']' || C == '}'; }

size_t mneme::findClosing(StringRef Text, ArrayRef<SourceToken> Tokens,
                          size_t Index) {
  unsigned Depth = 0;
  for (TokenWalk W(Text, Tokens, Index); !W.atEnd(); W.next()) {
    if (isOpening(W.punctuation()))
      ++Depth;
    else if (isClosing(W.punctuation()) && --Depth == 0)
      return W.index();
  }
  return Tokens.size();
}

namespace {
/// Tokens of "operator()" before its parameters.
constexpr size_t MaxOperator = 3;

/// What an opening brace outside of functions begins.
enum class BraceKind { Container, Function, Other };

class FunctionFinder {
public:
  FunctionFinder(StringRef Text, ArrayRef<SourceToken> Tokens)
      : Text(Text), Tokens(Tokens) {}
  std::vector<FunctionExtent> run();

private:
  StringRef text(size_t I) const { return Tokens[I].in(Text); }
  BraceKind classify(ArrayRef<size_t> Head) const;
  void addFunction(ArrayRef<size_t> Head, size_t Brace, size_t Close);
  /// Returns the position in \p Head of the parameters' parenthesis.
  std::optional<size_t> findParameters(ArrayRef<size_t> Head) const;

  StringRef Text;
  ArrayRef<SourceToken> Tokens;
  std::vector<FunctionExtent> Functions;
};
} // namespace

/// \p Head holds the indices of the tokens between the previous declaration and
/// an opening brace.
BraceKind FunctionFinder::classify(ArrayRef<size_t> Head) const {
  if (Head.empty())
    return BraceKind::Other;
  bool IsExtern = Head.size() == 2 && text(Head[0]) == "extern" &&
                  Tokens[Head[1]].Kind == SourceToken::Literal;
  if (IsExtern ||
      any_of(Head, [&](size_t I) { return text(I) == "namespace"; }))
    return BraceKind::Container;
  // "= {" of a variable.
  if (text(Head.back()) == "=" || text(Head.back()) == "]")
    return BraceKind::Other;
  if (findParameters(Head))
    return BraceKind::Function;
  bool IsType = any_of(Head, [&](size_t I) {
    return is_contained({"struct", "class", "union"}, text(I));
  });
  return IsType ? BraceKind::Container : BraceKind::Other;
}

/// The parameters are the last parentheses that follow a name and precede at
/// most qualifiers, an exception specification or a return type.
std::optional<size_t>
FunctionFinder::findParameters(ArrayRef<size_t> Head) const {
  int Depth = 0;
  std::optional<size_t> Found;
  size_t Open = 0;
  bool HasArrow = false;
  for (auto [Position, I] : enumerate(Head)) {
    StringRef T = text(I);
    if (T == "(" && Depth++ == 0)
      Open = Position;
    else if (T == ")" && --Depth == 0) {
      StringRef Name = Open ? text(Head[Open - 1]) : "";
      bool IsAttribute =
          is_contained({"__launch_bounds__", "__attribute__", "alignas",
                        "__align__", "noexcept", "decltype", "__maxnreg__",
                        "__cluster_dims__", "__block_size__"},
                       Name);
      // "operator()(…)", "operator+=(…)"
      bool IsOperator = any_of(Head.take_front(Open).take_back(MaxOperator),
                               [&](size_t I) { return text(I) == "operator"; });
      bool IsName = Open && (Tokens[Head[Open - 1]].Kind == SourceToken::Word ||
                             IsOperator);
      if (IsName && !IsAttribute && !HasArrow)
        Found = Open;
    } else if (Depth == 0 && T == ">" && Position &&
               text(Head[Position - 1]) == "-")
      HasArrow = true;
    else if (Depth == 0 && Found &&
             is_contained({"=", ";", "struct", "class", "union", "enum"}, T))
      return std::nullopt;
  }
  return Found;
}

void FunctionFinder::addFunction(ArrayRef<size_t> Head, size_t Brace,
                                 size_t Close) {
  size_t Position = *findParameters(Head), Open = Head[Position];
  FunctionExtent F;
  F.Name = text(Open - 1);
  for (size_t Back = 1; Back <= std::min(Position, MaxOperator); ++Back)
    if (size_t I = Head[Position - Back]; text(I) == "operator")
      F.Name = Text.slice(Tokens[I].Begin, Tokens[Open - 1].End);
  F.Begin = Tokens[Head.front()].Begin;
  F.ParametersBegin = Tokens[Open].Begin;
  size_t Last = findClosing(Text, Tokens, Open);
  F.ParametersEnd = Last < Tokens.size() ? Tokens[Last].End : Text.size();
  F.BodyBegin = Tokens[Brace].Begin;
  F.End = Tokens[Close].End;
  Functions.push_back(F);
}

std::vector<FunctionExtent> FunctionFinder::run() {
  SmallVector<size_t, 32> Head;
  unsigned Parentheses = 0;
  TokenWalk W(Text, Tokens, 0);
  while (!W.atEnd()) {
    char C = W.punctuation();
    if (C == '(')
      ++Parentheses;
    else if (C == ')' && Parentheses)
      --Parentheses;
    if (C == '{' && !Parentheses) {
      BraceKind Kind = classify(Head);
      if (Kind == BraceKind::Container) {
        Head.clear();
        W.next();
        continue;
      }
      size_t Close = findClosing(Text, Tokens, W.index());
      if (Close == Tokens.size())
        break;
      // "int a = {1}, b;" ends at its semicolon.
      if (Kind == BraceKind::Function) {
        addFunction(Head, W.index(), Close);
        Head.clear();
      }
      while (!W.atEnd() && W.index() < Close)
        W.next();
      if (!W.atEnd())
        W.next();
      continue;
    }
    bool IsLabel =
        C == ':' && Head.size() == 1 &&
        is_contained({"public", "private", "protected"}, text(Head[0]));
    if (!Parentheses && (C == ';' || C == '}' || IsLabel))
      Head.clear();
    else
      Head.push_back(W.index());
    W.next();
  }
  return std::move(Functions);
}

std::vector<FunctionExtent> mneme::findFunctions(StringRef Text,
                                                 ArrayRef<SourceToken> Tokens) {
  return FunctionFinder(Text, Tokens).run();
}
