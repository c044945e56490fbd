//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypedPointers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <vector>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// A word, a quoted name, a string or a character, and the white space and
/// comments behind it.
struct Token {
  std::string Text, Space;
};

class Upgrade {
public:
  explicit Upgrade(StringRef Rest) : Rest(Rest) {}
  std::optional<std::string> run();

private:
  Token next();
  bool replacePointer();
  bool popType(std::string &Type);
  bool popGroup(char Open, char Close, std::string &Type);
  std::string pop();
  StringRef top(size_t Depth = 0) const {
    return Depth < Out.size() ? StringRef(Out[Out.size() - 1 - Depth].Text)
                              : StringRef();
  }

  StringRef Rest;
  std::vector<Token> Out;
  std::string Pointee; ///< Of the last pointer; empty after a comma.
  bool HasAny = false;
};
} // namespace

static bool isWord(char C) {
  return isAlnum(C) || C == '_' || C == '.' || C == '$' || C == '-';
}

Token Upgrade::next() {
  size_t End = 1;
  char First = Rest.front();
  // Names may be quoted: %"a b", @"x", $"c".
  bool IsName = First == '%' || First == '@' || First == '$' || First == '!';
  if (IsName && Rest.size() > 1 && Rest[1] == '"')
    End = Rest.find('"', 2) == StringRef::npos ? Rest.size()
                                               : Rest.find('"', 2) + 1;
  else if (First == '"')
    End = Rest.find('"', 1) == StringRef::npos ? Rest.size()
                                               : Rest.find('"', 1) + 1;
  else if (IsName || isWord(First))
    while (End < Rest.size() && isWord(Rest[End]))
      ++End;
  Token T{Rest.take_front(End).str(), ""};
  Rest = Rest.drop_front(End);
  size_t Space = 0;
  while (Space < Rest.size()) {
    if (Rest[Space] == ';')
      Space = std::min(Rest.find('\n', Space), Rest.size());
    else if (isSpace(Rest[Space]))
      ++Space;
    else
      break;
  }
  T.Space = Rest.take_front(Space).str();
  Rest = Rest.drop_front(Space);
  return T;
}

/// Removes the last token. \returns it with its space.
std::string Upgrade::pop() {
  std::string Text = Out.back().Text + Out.back().Space;
  Out.pop_back();
  return Text;
}

bool Upgrade::popGroup(char Open, char Close, std::string &Type) {
  unsigned Depth = 0;
  while (!Out.empty()) {
    StringRef Text = Out.back().Text;
    if (Text == StringRef(&Close, 1))
      ++Depth;
    bool IsEnd = Text == StringRef(&Open, 1) && !--Depth;
    Type = pop() + Type;
    if (IsEnd)
      return true;
  }
  return false;
}

/// Removes the type that ends at the last token.
bool Upgrade::popType(std::string &Type) {
  StringRef Last = top();
  if (Last == "}")
    return popGroup('{', '}', Type);
  if (Last == "]")
    return popGroup('[', ']', Type);
  if (Last == ">")
    return popGroup('<', '>', Type);
  if (Last == ")") {
    if (!popGroup('(', ')', Type))
      return false;
    return popType(Type); // what the function returns
  }
  if (Last.empty() || !(isWord(Last[0]) || Last[0] == '%'))
    return false;
  Type = pop() + Type;
  return true;
}

/// Replaces the type that ends at the last token by a pointer: a star follows.
bool Upgrade::replacePointer() {
  std::string AddressSpace;
  if (top() == ")" && top(2) == "(" && top(3) == "addrspace")
    for (unsigned I = 0; I != 4; ++I)
      AddressSpace = Out.back().Text + AddressSpace, Out.pop_back();
  Pointee.clear();
  if (!popType(Pointee))
    return false;
  Pointee = StringRef(Pointee).rtrim().str();
  // One token, so that it can be a pointee as a whole.
  Out.push_back({AddressSpace.empty() ? "ptr" : "ptr " + AddressSpace, ""});
  return HasAny = true;
}

std::optional<std::string> Upgrade::run() {
  std::string Result;
  // The space before the first token.
  Token Begin{"", ""};
  size_t At = 0;
  while (At < Rest.size() && (isSpace(Rest[At]) || Rest[At] == ';'))
    At = Rest[At] == ';' ? std::min(Rest.find('\n', At), Rest.size()) : At + 1;
  Begin.Space = Rest.take_front(At).str();
  Rest = Rest.drop_front(At);
  while (!Rest.empty()) {
    Token T = next();
    if (T.Text == "*") {
      if (!replacePointer())
        return std::nullopt;
      Out.back().Space = T.Space;
      continue;
    }
    if (T.Text == "," || T.Text == "{" || T.Text == "=")
      Pointee.clear();
    // A promise about vtables, which has another form since LLVM 19.
    if (T.Text == "inrange" && !Rest.starts_with("("))
      continue;
    bool NeedsType =
        (T.Text == "byval" || T.Text == "sret" || T.Text == "inalloca") &&
        !Pointee.empty() && !Rest.starts_with("(");
    if (NeedsType)
      T.Text += "(" + Pointee + ")";
    Out.push_back(std::move(T));
  }
  if (!HasAny)
    return std::nullopt;
  Result = Begin.Space;
  for (const Token &T : Out)
    Result += T.Text + T.Space;
  return Result;
}

std::optional<std::string> mneme::upgradeTypedPointers(StringRef Text) {
  return Upgrade(Text).run();
}
