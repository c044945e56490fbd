//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Expr.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

ValueType mneme::getType(const Value &V) { return ValueType(V.index()); }

StringRef mneme::getTypeName(ValueType T) {
  static constexpr StringLiteral Names[] = {"bool", "int", "real", "text"};
  return Names[unsigned(T)];
}

json::Value mneme::toJSON(const Value &V) {
  return std::visit([](const auto &X) { return json::Value(X); }, V);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {
/// The spelling and the number of operands of an operator.
struct OpInfo {
  StringLiteral Spelling;
  unsigned Operands;
};

/// The types that an operator accepts, as bits, and the type of its result.
struct Signature {
  unsigned Types;
  std::optional<ValueType> Result; ///< Unset: the type of the operands.
};
} // namespace

static constexpr OpInfo OpInfos[] = {
#define EXPR_OP(Name, Spelling, Operands) {Spelling, Operands},
#include "llvm/Mneme/Study/ExprOps.def"
};
static const OpInfo &getInfo(ExprOp Op) { return OpInfos[unsigned(Op)]; }

static constexpr unsigned bit(ValueType T) { return 1u << unsigned(T); }
static constexpr unsigned Bools = bit(ValueType::Bool);
static constexpr unsigned Ints = bit(ValueType::Int);
static constexpr unsigned Reals = bit(ValueType::Real);
static constexpr unsigned Texts = bit(ValueType::Text);

static Signature getSignature(ExprOp Op) {
  switch (Op) {
  case ExprOp::Add:
  case ExprOp::Sub:
  case ExprOp::Mul:
  case ExprOp::Div:
  case ExprOp::Min:
  case ExprOp::Max:
  case ExprOp::Neg:
    return {Ints | Reals, std::nullopt};
  case ExprOp::Rem:
  case ExprOp::CeilDiv:
  case ExprOp::Pow2:
  case ExprOp::Log2:
    return {Ints, ValueType::Int};
  case ExprOp::And:
  case ExprOp::Or:
  case ExprOp::Xor:
  case ExprOp::Not:
    return {Bools, ValueType::Bool};
  case ExprOp::Eq:
  case ExprOp::Ne:
    return {Bools | Ints | Reals | Texts, ValueType::Bool};
  case ExprOp::Lt:
  case ExprOp::Le:
  case ExprOp::Gt:
  case ExprOp::Ge:
    return {Ints | Reals, ValueType::Bool};
  case ExprOp::Select: // The types of the last two operands.
    return {Bools | Ints | Reals | Texts, std::nullopt};
  case ExprOp::ToInt:
    return {Bools | Reals, ValueType::Int};
  case ExprOp::ToReal:
    return {Ints, ValueType::Real};
  }
  llvm_unreachable("all operators are handled");
}

static Error typeError(ExprOp Op, const Twine &Message) {
  return createStringError("'" + Twine(getInfo(Op).Spelling) + "' " + Message);
}

Expected<ValueType> mneme::checkOp(ExprOp Op, ArrayRef<ValueType> Operands) {
  unsigned Wanted = getInfo(Op).Operands;
  if (Operands.size() != Wanted)
    return typeError(Op, "takes " + Twine(Wanted) + " operand" +
                             (Wanted == 1 ? "" : "s") + ", not " +
                             Twine(Operands.size()));
  if (Op == ExprOp::Select) {
    if (Operands[0] != ValueType::Bool)
      return typeError(Op,
                       "needs a bool first, not " + getTypeName(Operands[0]));
    Operands = Operands.drop_front();
  }
  Signature S = getSignature(Op);
  for (ValueType T : Operands) {
    if (S.Types & bit(T))
      continue;
    SmallVector<StringRef, 4> Names;
    for (unsigned I = 0; I != std::variant_size_v<Value>; ++I)
      if (S.Types & (1u << I))
        Names.push_back(getTypeName(ValueType(I)));
    return typeError(Op, "needs " + join(Names, " or ") + ", not " +
                             getTypeName(T));
  }
  if (Operands.size() == 2 && Operands[0] != Operands[1])
    return typeError(Op, "needs operands of one type, not " +
                             getTypeName(Operands[0]) + " and " +
                             getTypeName(Operands[1]));
  return S.Result.value_or(Operands.front());
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

struct Expr::Node {
  KindTy Kind = Constant;
  ValueType Type = ValueType::Bool;
  Value V;
  std::string Name;
  ExprOp Op = ExprOp::Add;
  std::vector<Expr> Operands;
};

Expr Expr::constant(Value V) {
  auto N = std::make_shared<Node>();
  N->Type = getType(V);
  N->V = std::move(V);
  Expr E;
  E.N = std::move(N);
  return E;
}

Expr Expr::parameter(StringRef Name, ValueType Type) {
  auto N = std::make_shared<Node>();
  N->Kind = Parameter;
  N->Type = Type;
  N->Name = Name.str();
  Expr E;
  E.N = std::move(N);
  return E;
}

Expr Expr::recorded(StringRef Name) {
  auto N = std::make_shared<Node>();
  N->Kind = Recorded;
  // checkStudy() rejects unknown names.
  N->Type = getRecordedType(Name).value_or(ValueType::Int);
  N->Name = Name.str();
  Expr E;
  E.N = std::move(N);
  return E;
}

Expr Expr::op(ExprOp Op, ArrayRef<Expr> Operands) {
  SmallVector<ValueType, 3> Types;
  for (const Expr &O : Operands)
    Types.push_back(O.type());
  auto N = std::make_shared<Node>();
  N->Kind = Expr::Op;
  N->Type = cantFail(checkOp(Op, Types), "operands of a wrong type");
  N->Op = Op;
  N->Operands = Operands.vec();
  Expr E;
  E.N = std::move(N);
  return E;
}

Expr::KindTy Expr::kind() const { return N->Kind; }
ValueType Expr::type() const { return N->Type; }
const Value &Expr::value() const { return N->V; }
StringRef Expr::name() const { return N->Name; }
ExprOp Expr::op() const { return N->Op; }
ArrayRef<Expr> Expr::operands() const { return N->Operands; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Expected<Value> fail(StringRef What) { return createStringError(What); }
static Expected<Value> overflow() { return fail("overflow"); }

static Expected<Value> evaluateInts(ExprOp Op, int64_t A, int64_t B) {
  int64_t R;
  switch (Op) {
  case ExprOp::Add:
    return AddOverflow(A, B, R) ? overflow() : R;
  case ExprOp::Sub:
    return SubOverflow(A, B, R) ? overflow() : R;
  case ExprOp::Mul:
    return MulOverflow(A, B, R) ? overflow() : R;
  case ExprOp::Div:
  case ExprOp::Rem:
  case ExprOp::CeilDiv:
    if (B == 0)
      return fail("division by zero");
    if (A == std::numeric_limits<int64_t>::min() && B == -1)
      return overflow();
    if (Op == ExprOp::Rem)
      return A % B;
    R = A / B;
    if (Op == ExprOp::CeilDiv && A % B != 0 && (A < 0) == (B < 0))
      ++R;
    return R;
  case ExprOp::Min:
    return std::min(A, B);
  case ExprOp::Max:
    return std::max(A, B);
  case ExprOp::Neg:
    return SubOverflow(int64_t(0), A, R) ? overflow() : R;
  case ExprOp::Pow2:
    if (A < 0 || A > 62)
      return fail("no 64-bit integer is 2 to the power of " + itostr(A));
    return int64_t(1) << A;
  case ExprOp::Log2:
    if (A <= 0)
      return fail("log2 of non-positive value " + itostr(A));
    return int64_t(Log2_64(A));
  case ExprOp::Lt:
    return A < B;
  case ExprOp::Le:
    return A <= B;
  case ExprOp::Gt:
    return A > B;
  case ExprOp::Ge:
    return A >= B;
  case ExprOp::ToReal:
    return double(A);
  default:
    llvm_unreachable("checked by checkOp()");
  }
}

static Expected<Value> checkFinite(double R) {
  return std::isfinite(R) ? Expected<Value>(R) : overflow();
}

static Expected<Value> evaluateReals(ExprOp Op, double A, double B) {
  switch (Op) {
  case ExprOp::Add:
    return checkFinite(A + B);
  case ExprOp::Sub:
    return checkFinite(A - B);
  case ExprOp::Mul:
    return checkFinite(A * B);
  case ExprOp::Div:
    return B == 0 ? fail("division by zero") : checkFinite(A / B);
  case ExprOp::Min:
    return std::min(A, B);
  case ExprOp::Max:
    return std::max(A, B);
  case ExprOp::Neg:
    return -A;
  case ExprOp::Lt:
    return A < B;
  case ExprOp::Le:
    return A <= B;
  case ExprOp::Gt:
    return A > B;
  case ExprOp::Ge:
    return A >= B;
  case ExprOp::ToInt:
    // Both bounds are exact as doubles; the upper bound is too large by one.
    if (!(A > -0x1p63 && A < 0x1p63))
      return overflow();
    return int64_t(A);
  default:
    llvm_unreachable("checked by checkOp()");
  }
}

Expected<Value> mneme::computeOp(ExprOp Op, const Value &A, const Value &B) {
  if (Op == ExprOp::Eq)
    return A == B;
  if (Op == ExprOp::Ne)
    return A != B;
  if (const int64_t *I = std::get_if<int64_t>(&A)) {
    const int64_t *J = std::get_if<int64_t>(&B);
    return evaluateInts(Op, *I, J ? *J : 0);
  }
  if (const double *X = std::get_if<double>(&A)) {
    const double *Y = std::get_if<double>(&B);
    return evaluateReals(Op, *X, Y ? *Y : 0);
  }
  bool X = std::get<bool>(A);
  if (Op == ExprOp::Not)
    return !X;
  if (Op == ExprOp::ToInt)
    return int64_t(X);
  assert(Op == ExprOp::Xor && "checked by checkOp()");
  return X != std::get<bool>(B);
}

Expected<Value> Expr::evaluate(LookupFn Lookup) const {
  if (N->Kind == Constant)
    return N->V;
  if (N->Kind != Op)
    return Lookup(N->Name, N->Kind);

  ArrayRef<Expr> Operands = N->Operands;
  Expected<Value> A = Operands[0].evaluate(Lookup);
  if (!A)
    return A;
  switch (N->Op) {
  case ExprOp::And:
    if (!std::get<bool>(*A))
      return false;
    return Operands[1].evaluate(Lookup);
  case ExprOp::Or:
    if (std::get<bool>(*A))
      return true;
    return Operands[1].evaluate(Lookup);
  case ExprOp::Select:
    return Operands[std::get<bool>(*A) ? 1 : 2].evaluate(Lookup);
  default:
    break;
  }
  Value B;
  if (Operands.size() > 1) {
    Expected<Value> Second = Operands[1].evaluate(Lookup);
    if (!Second)
      return Second;
    B = std::move(*Second);
  }
  Expected<Value> R = computeOp(N->Op, *A, B);
  if (R)
    return R;
  return createStringError(toString(R.takeError()) + " in '" + print() + "'");
}

Expr Expr::fold(
    function_ref<std::optional<Value>(StringRef, KindTy)> Known) const {
  if (N->Kind == Constant)
    return *this;
  if (N->Kind != Op) {
    std::optional<Value> V = Known(N->Name, N->Kind);
    return V ? constant(std::move(*V)) : *this;
  }
  SmallVector<Expr, 3> Operands;
  for (const Expr &O : N->Operands)
    Operands.push_back(O.fold(Known));
  auto IsConstant = [](const Expr &E) { return E.kind() == Constant; };
  // The first operand alone may determine the value.
  if (IsConstant(Operands[0])) {
    const bool *First = std::get_if<bool>(&Operands[0].value());
    if (N->Op == ExprOp::Select)
      return Operands[*First ? 1 : 2];
    if (N->Op == ExprOp::And)
      return *First ? Operands[1] : Operands[0];
    if (N->Op == ExprOp::Or)
      return *First ? Operands[0] : Operands[1];
  }
  Expr E = op(N->Op, Operands);
  if (!all_of(Operands, IsConstant))
    return E;
  auto None = [](StringRef, KindTy) -> Expected<Value> {
    llvm_unreachable("there are only constants");
  };
  Expected<Value> V = E.evaluate(None);
  if (V)
    return constant(std::move(*V));
  consumeError(V.takeError()); // Reported when it is evaluated.
  return E;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Returns the precedence of a binary or ternary operator; 0 for others.
static unsigned getPrecedence(ExprOp Op) {
  switch (Op) {
  case ExprOp::Select:
    return 1;
  case ExprOp::Or:
    return 2;
  case ExprOp::And:
    return 3;
  case ExprOp::Xor:
    return 4;
  case ExprOp::Eq:
  case ExprOp::Ne:
    return 5;
  case ExprOp::Lt:
  case ExprOp::Le:
  case ExprOp::Gt:
  case ExprOp::Ge:
    return 6;
  case ExprOp::Add:
  case ExprOp::Sub:
    return 7;
  case ExprOp::Mul:
  case ExprOp::Div:
  case ExprOp::Rem:
    return 8;
  default:
    return 0;
  }
}
/// The precedence of prefix ! and -, and of expressions that never need
/// brackets.
static constexpr unsigned UnaryPrecedence = 9, PrimaryPrecedence = 10;

static bool isNameStart(char C) { return isAlpha(C) || C == '_' || C == '$'; }
static bool isNameChar(char C) {
  return isNameStart(C) || isDigit(C) || C == '.';
}

static bool isPlainName(StringRef Name) {
  return !Name.empty() && isNameStart(Name.front()) &&
         all_of(Name, isNameChar) && Name != "true" && Name != "false";
}

static std::string printName(StringRef Name) {
  return isPlainName(Name) ? Name.str() : ("`" + Name + "`").str();
}

/// Prints the shortest text that is read as the same number, with a point or
/// exponent.
static std::string printReal(double D) {
  std::string S = printShortest(D);
  if (StringRef(S).find_first_of(".e") == StringRef::npos)
    S += ".0";
  return S;
}

static std::string printText(StringRef Text) {
  std::string S = "\"";
  for (char C : Text) {
    if (C == '"' || C == '\\')
      S += {'\\', C};
    else if (isPrint(C) || uint8_t(C) >= 0x80)
      S += C;
    else
      S += {'\\', 'x', hexdigit(uint8_t(C) >> 4, true),
            hexdigit(C & 15, true)};
  }
  return S + '"';
}

std::string mneme::print(const Value &V) {
  switch (getType(V)) {
  case ValueType::Bool:
    return std::get<bool>(V) ? "true" : "false";
  case ValueType::Int:
    return itostr(std::get<int64_t>(V));
  case ValueType::Real:
    return printReal(std::get<double>(V));
  case ValueType::Text:
    return printText(std::get<std::string>(V));
  }
  llvm_unreachable("all types are handled");
}

/// Returns the text of an expression and its precedence.
static std::pair<std::string, unsigned> printTree(const Expr &E);

static std::string printOperand(const Expr &E, unsigned Precedence) {
  auto [Text, Inner] = printTree(E);
  return Inner < Precedence ? "(" + Text + ")" : Text;
}

static std::pair<std::string, unsigned> printTree(const Expr &E) {
  switch (E.kind()) {
  case Expr::Constant: {
    std::string S = print(E.value());
    return {S, S[0] == '-' ? UnaryPrecedence : PrimaryPrecedence};
  }
  case Expr::Parameter:
    return {printName(E.name()), PrimaryPrecedence};
  case Expr::Recorded:
    return {("recorded." + E.name()).str(), PrimaryPrecedence};
  case Expr::Op:
    break;
  }
  ArrayRef<Expr> O = E.operands();
  std::string Op = getInfo(E.op()).Spelling.str();
  if (E.op() == ExprOp::Select)
    return {printOperand(O[0], 2) + " ? " + printOperand(O[1], 1) + " : " +
                printOperand(O[2], 1),
            1};
  if (E.op() == ExprOp::Not)
    return {Op + printOperand(O[0], UnaryPrecedence), UnaryPrecedence};
  // A number needs brackets: "-1" would be read as a constant.
  if (E.op() == ExprOp::Neg)
    return {Op + printOperand(O[0], O[0].kind() == Expr::Constant
                                        ? PrimaryPrecedence + 1
                                        : PrimaryPrecedence),
            UnaryPrecedence};
  if (unsigned P = getPrecedence(E.op()))
    return {printOperand(O[0], P) + " " + Op + " " + printOperand(O[1], P + 1),
            P};
  SmallVector<std::string, 2> Arguments;
  for (const Expr &A : O)
    Arguments.push_back(printTree(A).first);
  return {Op + "(" + join(Arguments, ", ") + ")", PrimaryPrecedence};
}

std::string Expr::print() const { return printTree(*this).first; }

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
struct BinaryOp {
  StringLiteral Text;
  ExprOp Op;
};

/// A recursive descent parser. Rest is the unparsed text; its start gives
/// columns.
class Parser {
public:
  using TypeFn = function_ref<Expected<ValueType>(StringRef)>;
  Parser(StringRef Text, TypeFn TypeOf)
      : Text(Text), Rest(Text), TypeOf(TypeOf) {}

  Expected<Expr> parse();

private:
  /// A tree and its height. Functions that walk the tree recursively must not
  /// exhaust the stack.
  struct Tree {
    Expr E;
    unsigned Height = 1;
  };
  static constexpr unsigned MaxHeight = 200;

  Expected<Tree> parseSelect();
  Expected<Tree> parseBinary(unsigned Precedence);
  Expected<Tree> parseUnary();
  Expected<Tree> parsePrimary();
  Expected<Tree> parseNumber(bool Negative);
  Expected<Tree> parseText();
  Expected<Tree> parseCall(StringRef Function, size_t At);
  Expected<Tree> parseName();
  Expected<Tree> makeName(StringRef Name, bool Quoted, size_t At);
  Expected<Tree> makeOp(ExprOp Op, MutableArrayRef<Tree> Operands, size_t At);

  const BinaryOp *peekBinary();
  void skipSpace() { Rest = Rest.ltrim(); }
  size_t position() {
    skipSpace();
    return Text.size() - Rest.size();
  }
  bool consume(StringRef Token) {
    skipSpace();
    return Rest.consume_front(Token);
  }
  Error expect(StringRef Token) {
    if (consume(Token))
      return Error::success();
    return error(position(), "expected '" + Token + "'");
  }
  Error error(size_t At, const Twine &Message) {
    return makeTextError(Text, At, Message);
  }

  StringRef Text, Rest;
  TypeFn TypeOf;
  unsigned Depth = 0;
};
} // namespace

/// Longer operators precede their prefixes.
static constexpr BinaryOp BinaryOps[] = {
    {"||", ExprOp::Or}, {"&&", ExprOp::And}, {"^", ExprOp::Xor},
    {"==", ExprOp::Eq}, {"!=", ExprOp::Ne},  {"<=", ExprOp::Le},
    {"<", ExprOp::Lt},  {">=", ExprOp::Ge},  {">", ExprOp::Gt},
    {"+", ExprOp::Add}, {"-", ExprOp::Sub},  {"*", ExprOp::Mul},
    {"/", ExprOp::Div}, {"%", ExprOp::Rem}};

const BinaryOp *Parser::peekBinary() {
  skipSpace();
  for (const BinaryOp &B : BinaryOps)
    if (Rest.starts_with(B.Text))
      return &B;
  return nullptr;
}

Expected<Expr> Parser::parse() {
  Expected<Tree> T = parseSelect();
  if (!T)
    return T.takeError();
  skipSpace();
  if (!Rest.empty())
    return error(position(), "unexpected '" + Rest.take_front() + "'");
  return T->E;
}

Expected<Parser::Tree> Parser::makeOp(ExprOp Op, MutableArrayRef<Tree> Operands,
                                      size_t At) {
  // Integers among reals become reals.
  MutableArrayRef<Tree> Alike = Operands;
  if (Op == ExprOp::Select)
    Alike = Alike.drop_front();
  auto IsOf = [](ValueType T) {
    return [T](const Tree &O) { return O.E.type() == T; };
  };
  if (Alike.size() == 2 && any_of(Alike, IsOf(ValueType::Int)) &&
      any_of(Alike, IsOf(ValueType::Real)))
    for (Tree &O : Alike)
      if (O.E.type() == ValueType::Int) {
        O.E = Expr::op(ExprOp::ToReal, O.E);
        ++O.Height;
      }

  SmallVector<Expr, 3> Exprs;
  SmallVector<ValueType, 3> Types;
  unsigned Height = 0;
  for (const Tree &O : Operands) {
    Exprs.push_back(O.E);
    Types.push_back(O.E.type());
    Height = std::max(Height, O.Height);
  }
  if (Expected<ValueType> T = checkOp(Op, Types); !T)
    return error(At, toString(T.takeError()));
  if (Height >= MaxHeight)
    return error(At, "the expression is nested too deeply");
  return Tree{Expr::op(Op, Exprs), Height + 1};
}

Expected<Parser::Tree> Parser::parseSelect() {
  if (++Depth > MaxHeight)
    return error(position(), "the expression is nested too deeply");
  Expected<Tree> Condition = parseBinary(getPrecedence(ExprOp::Or));
  if (!Condition)
    return Condition;
  size_t At = position();
  if (consume("?")) {
    Expected<Tree> Then = parseSelect();
    if (!Then)
      return Then;
    if (Error E = expect(":"))
      return E;
    Expected<Tree> Else = parseSelect();
    if (!Else)
      return Else;
    Tree Operands[] = {*Condition, *Then, *Else};
    Condition = makeOp(ExprOp::Select, Operands, At);
  }
  --Depth;
  return Condition;
}

Expected<Parser::Tree> Parser::parseBinary(unsigned Precedence) {
  Expected<Tree> Left = parseUnary();
  while (Left) {
    const BinaryOp *B = peekBinary();
    if (!B || getPrecedence(B->Op) < Precedence)
      break;
    size_t At = position();
    consume(B->Text);
    Expected<Tree> Right = parseBinary(getPrecedence(B->Op) + 1);
    if (!Right)
      return Right;
    Tree Operands[] = {*Left, *Right};
    Left = makeOp(B->Op, Operands, At);
  }
  return Left;
}

Expected<Parser::Tree> Parser::parseUnary() {
  size_t At = position();
  std::optional<ExprOp> Op;
  if (consume("!"))
    Op = ExprOp::Not;
  else if (consume("-"))
    Op = ExprOp::Neg;
  if (!Op)
    return parsePrimary();
  if (*Op == ExprOp::Neg && !Rest.empty() && isDigit(Rest.front()))
    return parseNumber(/*Negative=*/true);
  if (++Depth > MaxHeight)
    return error(At, "the expression is nested too deeply");
  Expected<Tree> Operand = parseUnary();
  --Depth;
  if (!Operand)
    return Operand;
  return makeOp(*Op, *Operand, At);
}

Expected<Parser::Tree> Parser::parsePrimary() {
  size_t At = position();
  if (Rest.empty())
    return error(At, "expected an expression");
  if (consume("(")) {
    Expected<Tree> Inner = parseSelect();
    if (!Inner)
      return Inner;
    if (Error E = expect(")"))
      return E;
    return Inner;
  }
  char C = Rest.front();
  if (isDigit(C))
    return parseNumber(/*Negative=*/false);
  if (C == '"' || C == '\'')
    return parseText();
  if (C == '`' || isNameStart(C))
    return parseName();
  return error(At, "expected an expression, not '" + Twine(C) + "'");
}

Expected<Parser::Tree> Parser::parseNumber(bool Negative) {
  size_t At = position();
  StringRef Start = Rest;
  auto SkipDigits = [&] { Rest = Rest.drop_while(isDigit); };
  bool IsReal = false;
  SkipDigits();
  if (Rest.size() > 1 && Rest[0] == '.' && isDigit(Rest[1])) {
    IsReal = true;
    Rest = Rest.drop_front();
    SkipDigits();
  }
  StringRef BeforeExponent = Rest;
  if (Rest.consume_front_insensitive("e")) {
    if (!Rest.consume_front("-"))
      Rest.consume_front("+");
    if (Rest.empty() || !isDigit(Rest.front()))
      Rest = BeforeExponent;
    else
      IsReal = true;
    SkipDigits();
  }
  StringRef Number = Start.drop_back(Rest.size());
  if (!Rest.empty() && isNameChar(Rest.front()))
    return error(At, "invalid number '" +
                         Number.str() + Rest.take_while(isNameChar) + "'");

  std::string Signed = ((Negative ? "-" : "") + Number).str();
  if (IsReal) {
    double D;
    if (StringRef(Signed).getAsDouble(D) || !std::isfinite(D))
      return error(At, "the number '" + Number + "' is too large");
    return Tree{Expr::constant(D)};
  }
  int64_t I;
  if (StringRef(Signed).getAsInteger(10, I))
    return error(At, "the number '" + Number + "' is too large");
  return Tree{Expr::constant(I)};
}

Expected<Parser::Tree> Parser::parseText() {
  size_t At = position();
  char Quote = Rest.front();
  Rest = Rest.drop_front();
  std::string S;
  while (!Rest.empty() && Rest.front() != Quote) {
    char C = Rest.front();
    Rest = Rest.drop_front();
    if (C != '\\') {
      S += C;
      continue;
    }
    size_t Escape = Text.size() - Rest.size() - 1;
    uint8_t Byte;
    if (!Rest.empty() && StringRef("\\\"'").contains(Rest.front())) {
      S += Rest.front();
      Rest = Rest.drop_front();
    } else if (Rest.size() >= 3 && Rest[0] == 'x' &&
               !Rest.substr(1, 2).getAsInteger(16, Byte)) {
      S += char(Byte);
      Rest = Rest.drop_front(3);
    } else {
      return error(Escape, "expected '\\', a quote or 'x' with two hexadecimal "
                           "digits after '\\'");
    }
  }
  if (Rest.empty())
    return error(At, "unterminated string");
  Rest = Rest.drop_front();
  return Tree{Expr::constant(std::move(S))};
}

Expected<Parser::Tree> Parser::parseName() {
  size_t At = position();
  if (consume("`")) {
    size_t End = Rest.find('`');
    if (End == StringRef::npos)
      return error(At, "unterminated name");
    StringRef Name = Rest.take_front(End);
    Rest = Rest.drop_front(End + 1);
    return makeName(Name, /*Quoted=*/true, At);
  }
  StringRef Name = Rest.take_while(isNameChar);
  Rest = Rest.drop_front(Name.size());
  skipSpace();
  if (Rest.starts_with("("))
    return parseCall(Name, At);
  return makeName(Name, /*Quoted=*/false, At);
}

Expected<Parser::Tree> Parser::makeName(StringRef Name, bool Quoted,
                                        size_t At) {
  if (!Quoted && (Name == "true" || Name == "false"))
    return Tree{Expr::constant(Name == "true")};
  if (!Quoted && Name.consume_front("recorded.")) {
    if (getRecordedType(Name))
      return Tree{Expr::recorded(Name)};
    return error(At, "there is no recorded '" + Name + "', but: " +
                         join(getRecordedNames(), ", "));
  }
  Expected<ValueType> T = TypeOf(Name);
  if (!T)
    return error(At, toString(T.takeError()));
  return Tree{Expr::parameter(Name, *T)};
}

Expected<Parser::Tree> Parser::parseCall(StringRef Function, size_t At) {
  std::optional<ExprOp> Op;
  SmallVector<StringRef, 8> Functions;
  for (unsigned I = 0; I != std::size(OpInfos); ++I) {
    if (!isAlpha(OpInfos[I].Spelling[0]))
      continue;
    Functions.push_back(OpInfos[I].Spelling);
    if (OpInfos[I].Spelling == Function)
      Op = ExprOp(I);
  }
  if (!Op)
    return error(At, "there is no function '" + Function + "', but: " +
                         join(Functions, ", "));
  consume("(");
  SmallVector<Tree, 2> Arguments;
  if (!consume(")")) {
    do {
      Expected<Tree> A = parseSelect();
      if (!A)
        return A;
      Arguments.push_back(*A);
    } while (consume(","));
    if (Error E = expect(")"))
      return E;
  }
  // min and max of more than two arguments.
  if ((*Op == ExprOp::Min || *Op == ExprOp::Max) && Arguments.size() > 2) {
    Tree First = Arguments[0];
    for (const Tree &A : drop_begin(Arguments)) {
      Tree Pair[] = {First, A};
      Expected<Tree> T = makeOp(*Op, Pair, At);
      if (!T)
        return T;
      First = *T;
    }
    return First;
  }
  // A value of the target type needs no conversion.
  if (Arguments.size() == 1) {
    ValueType T = Arguments[0].E.type();
    if ((*Op == ExprOp::ToInt && T == ValueType::Int) ||
        (*Op == ExprOp::ToReal && T == ValueType::Real))
      return Arguments[0];
  }
  return makeOp(*Op, Arguments, At);
}

Expected<Expr>
mneme::parseExpr(StringRef Text,
                 function_ref<Expected<ValueType>(StringRef Parameter)>
                     TypeOf) {
  return Parser(Text, TypeOf).parse();
}
