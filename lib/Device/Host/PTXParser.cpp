//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXParser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::ptx;

bool Statement::has(StringRef Modifier) const {
  return is_contained(drop_begin(Opcode), Modifier);
}

namespace {
class Parser {
  StringRef Rest;

public:
  explicit Parser(StringRef Text) : Rest(Text) {}
  bool run(SmallVectorImpl<Statement> &Statements);

private:
  void skipSpace();
  bool consume(char C);
  StringRef takeName();
  bool parseStatement(Statement &S);
  bool parseDeclaration(Statement &S);
  bool parseOperand(Operand &O);
  template <typename ListT> bool parseOperands(ListT &Operands, char End);
  bool parseNumber(Operand &O);
};
} // namespace

void Parser::skipSpace() {
  for (;;) {
    Rest = Rest.ltrim();
    if (Rest.starts_with("//"))
      Rest = Rest.drop_while([](char C) { return C != '\n'; });
    else if (Rest.starts_with("/*"))
      Rest =
          Rest.substr(Rest.find("*/")).drop_front(Rest.contains("*/") ? 2 : 0);
    else
      return;
  }
}

bool Parser::consume(char C) {
  skipSpace();
  return Rest.consume_front(StringRef(&C, 1));
}

/// Reads an identifier, $0 or %tid.x. Only special registers include the text
/// after a dot. Opcodes are split elsewhere.
StringRef Parser::takeName() {
  skipSpace();
  bool Special = Rest.starts_with("%");
  size_t I = Special ? 1 : 0;
  while (I < Rest.size() && (isAlnum(Rest[I]) || Rest[I] == '_' ||
                             Rest[I] == '$' || (Special && Rest[I] == '.')))
    ++I;
  StringRef Name = Rest.take_front(I);
  Rest = Rest.drop_front(I);
  return Name;
}

bool Parser::parseNumber(Operand &O) {
  bool Negative = Rest.consume_front("-");
  O.Kind = Operand::Integer;
  auto TakeHex = [&](unsigned Digits) {
    Rest = Rest.drop_front(2);
    bool Bad = Rest.take_front(Digits).getAsInteger(16, O.Bits);
    Rest = Rest.drop_front(std::min<size_t>(Digits, Rest.size()));
    return !Bad && !Negative;
  };
  if (Rest.starts_with_insensitive("0f"))
    return TakeHex(8);
  if (Rest.starts_with_insensitive("0d"))
    return TakeHex(16);

  StringRef Text =
      Rest.take_while([](char C) { return isAlnum(C) || C == '.'; });
  // The sign of an exponent: 1.0e-5.
  if (Text.contains('.') && Text.ends_with_insensitive("e") &&
      Rest.size() > Text.size() && StringRef("+-").contains(Rest[Text.size()]))
    Text =
        Rest.take_front(Text.size() + 1 +
                        Rest.drop_front(Text.size() + 1).find_if_not(isDigit));
  Rest = Rest.drop_front(Text.size());
  if (Text.contains('.')) {
    O.Kind = Operand::Real;
    if (Text.getAsDouble(O.Number))
      return false;
    O.Number = Negative ? -O.Number : O.Number;
    return true;
  }
  Text.consume_back("U");
  if (Text.getAsInteger(0, O.Bits))
    return false;
  if (Negative)
    O.Bits = -O.Bits;
  return true;
}

bool Parser::parseOperand(Operand &O) {
  skipSpace();
  if (Rest.empty())
    return false;
  if (consume('{')) {
    O.Kind = Operand::Vector;
    return parseOperands(O.Elements, '}');
  }
  if (consume('[')) {
    O.Kind = Operand::Address;
    Operand Base;
    if (!parseOperand(Base))
      return false;
    O.Elements.push_back(Base);
    if (consume('+')) {
      Operand Offset;
      skipSpace();
      if (!parseNumber(Offset) || Offset.Kind != Operand::Integer)
        return false;
      O.Bits = Offset.Bits;
    }
    // The coordinates of a texture or surface.
    if (consume(','))
      return parseOperands(O.Elements, ']');
    return consume(']');
  }
  if (isDigit(Rest[0]) || Rest[0] == '-')
    return parseNumber(O);
  O.Negated = consume('!');
  O.Text = takeName();
  if (consume('|'))
    O.Second = takeName();
  return !O.Text.empty();
}

template <typename ListT>
bool Parser::parseOperands(ListT &Operands, char End) {
  if (consume(End))
    return true;
  do {
    Operands.emplace_back();
    if (!parseOperand(Operands.back()))
      return false;
  } while (consume(','));
  return consume(End);
}

/// Parses ".reg .u32 a, b<4>;".
bool Parser::parseDeclaration(Statement &S) {
  S.Kind = Statement::Declaration;
  if (!Rest.consume_front(".reg") || !consume('.'))
    return false;
  S.Opcode.push_back(takeName());
  do {
    Operand Name;
    Name.Text = takeName();
    if (Name.Text.empty())
      return false;
    if (consume('<')) {
      StringRef Count = Rest.take_while(isDigit);
      Rest = Rest.drop_front(Count.size());
      if (Count.getAsInteger(10, S.Count) || S.Count > 256 || !consume('>'))
        return false;
    }
    S.Operands.push_back(Name);
  } while (consume(','));
  return consume(';');
}

bool Parser::parseStatement(Statement &S) {
  if (Rest.starts_with(".reg"))
    return parseDeclaration(S);
  if (consume('@')) {
    S.Predicate.emplace();
    if (!parseOperand(*S.Predicate) || S.Predicate->Kind != Operand::Name)
      return false;
  }
  skipSpace();
  StringRef Opcode = Rest.take_while([](char C) {
    return isAlnum(C) || C == '_' || C == '.' || C == ':' || C == '$';
  });
  // A label ends in its only colon; L2::128B has two in a row.
  if (Opcode.ends_with(":") && !S.Predicate) {
    Rest = Rest.drop_front(Opcode.size());
    S.Kind = Statement::Label;
    S.Opcode.push_back(Opcode.drop_back());
    return !Opcode.drop_back().empty();
  }
  Rest = Rest.drop_front(Opcode.size());
  Opcode.split(S.Opcode, '.');
  // Cache hints have no effect here, nor have their operands. Neither has the
  // detail of shared::cta but for isspacep, and some blocks get a multicast.
  bool HasPolicy = is_contained(S.Opcode, "L2::cache_hint");
  bool IsMulticast = is_contained(S.Opcode, "multicast::cluster");
  if (S.Opcode.front() != "isspacep")
    erase_if(S.Opcode, [](StringRef Part) { return Part.contains("::"); });
  if (IsMulticast)
    S.Opcode.push_back("multicast");
  if (S.Opcode.empty() || S.Opcode.front().empty() ||
      !parseOperands(S.Operands, ';') || (HasPolicy && S.Operands.empty()))
    return false;
  if (HasPolicy)
    S.Operands.pop_back();
  return true;
}

bool Parser::run(SmallVectorImpl<Statement> &Statements) {
  // Braces only limit the scope of names.
  int Depth = 0;
  for (;;) {
    skipSpace();
    if (Rest.empty())
      return Depth == 0;
    if (consume('{')) {
      ++Depth;
    } else if (consume('}')) {
      if (--Depth < 0)
        return false;
    } else if (!consume(';')) {
      Statements.emplace_back();
      if (!parseStatement(Statements.back()))
        return false;
    }
  }
}

std::optional<SmallVector<Statement, 0>> ptx::parse(StringRef Text) {
  SmallVector<Statement, 0> Statements;
  if (!Parser(Text).run(Statements))
    return std::nullopt;
  return Statements;
}
