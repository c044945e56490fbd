//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Expr.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace llvm;
using namespace llvm::mneme;

namespace {

const RecordedFacts &facts() {
  static const RecordedFacts F = makeRecordedFacts(
      {100, 1, 1}, {256, 1, 1}, 0, false, "3", "sm_90", "kernel");
  return F;
}

/// Parameters of all types.
const StringMap<Value> &parameters() {
  static const StringMap<Value> P = {
      {"n", int64_t(6)},      {"zero", int64_t(0)},
      {"r", 2.5},             {"on", true},
      {"off", false},         {"level", std::string("O3")},
      {"max", INT64_MAX},     {"min", INT64_MIN},
      {"block.x", int64_t(64)}, {"loop-unroll", int64_t(7)}};
  return P;
}

Expected<ValueType> typeOf(StringRef Name) {
  auto It = parameters().find(Name);
  if (It == parameters().end())
    return createStringError("there is no parameter '" + Name + "'");
  return getType(It->second);
}

Expected<Value> lookup(StringRef Name, Expr::KindTy Kind) {
  const auto &From = Kind == Expr::Parameter ? parameters() : facts();
  return From.lookup(Name);
}

Expected<Value> evaluate(StringRef Text) {
  Expected<Expr> E = parseExpr(Text, typeOf);
  if (!E)
    return E.takeError();
  return E->evaluate(lookup);
}

std::string errorOf(StringRef Text) {
  Expected<Value> V = evaluate(Text);
  return V ? "no error: " + print(*V) : toString(V.takeError());
}

TEST(ExprTest, Values) {
  const std::pair<const char *, Value> Cases[] = {
      {"1 + 2 * 3", int64_t(7)},
      {"(1 + 2) * 3", int64_t(9)},
      {"10 - 3 - 2", int64_t(5)},
      {"100 / 10 / 5", int64_t(2)},
      {"7 / -2", int64_t(-3)},
      {"-7 % 4", int64_t(-3)},
      {"-n + 1", int64_t(-5)},
      {"- 3", int64_t(-3)},
      {"2 - -3", int64_t(5)},
      {"-9223372036854775808", INT64_MIN},
      {"ceildiv(7, 2)", int64_t(4)},
      {"ceildiv(8, 2)", int64_t(4)},
      {"ceildiv(-7, 2)", int64_t(-3)},
      {"ceildiv(-7, -2)", int64_t(4)},
      {"ceildiv(recorded.threads, block.x)", int64_t(400)},
      {"min(3, 2)", int64_t(2)},
      {"max(1, 5, 3, n)", int64_t(6)},
      {"pow2(10)", int64_t(1024)},
      {"log2(1023)", int64_t(9)},
      {"log2(1)", int64_t(0)},
      {"int(2.9)", int64_t(2)},
      {"int(-2.9)", int64_t(-2)},
      {"int(on) + int(off)", int64_t(1)},
      {"int(n)", int64_t(6)},
      {"real(n)", 6.0},
      {"n * 0.5", 3.0},
      {"r + n", 8.5},
      {"1 / 2", int64_t(0)},
      {"1 / 2.0", 0.5},
      {"1e3", 1000.0},
      {"2.5e-1", 0.25},
      {"min(r, 2)", 2.0},
      {"max(r, 2)", 2.5},
      {"-r", -2.5},
      {"r - 1 == 1.5", true},
      {"r * 2 > n", false},
      {"r <= 2.5 && r >= 2.5 && !(r < 2.5)", true},
      {"1 < 2 && 2 < 3", true},
      {"n >= 6 == true", true},
      {"1 == 1.0", true},
      {"on || off && off", true},
      {"(on || off) && off", false},
      {"on ^ on || on", true},
      {"on ^ (on || on)", false},
      {"!on == off", true},
      {"level == \"O3\"", true},
      {"level != 'O3'", false},
      {"recorded.opt_level == \"3\"", true},
      {"on ? 1 : 2", int64_t(1)},
      {"off ? 1 : off ? 2 : 3", int64_t(3)},
      {"on ? off ? 1 : 2 : 3", int64_t(2)},
      {"on ? 1 : 2.5", 1.0},
      {"off ? \"a\" : 'b'", "b"},
      {"'it\\'s \\x41 \\\\'", "it's A \\"},
      {"`loop-unroll` + 1", int64_t(8)},
      {"`n`", int64_t(6)},
      {"  n\n+\t1 ", int64_t(7)},
      // What is not needed is not computed.
      {"zero != 0 && n / zero > 1", false},
      {"zero == 0 || n / zero > 1", true},
      {"zero == 0 ? 1 : n / zero", int64_t(1)},
  };
  for (const auto &[Text, Wanted] : Cases) {
    Expected<Value> V = evaluate(Text);
    ASSERT_THAT_EXPECTED(V, Succeeded()) << Text;
    EXPECT_EQ(*V, Wanted) << Text << " is " << print(*V);
  }
}

TEST(ExprTest, SyntaxErrorsHaveAColumn) {
  const std::pair<const char *, const char *> Cases[] = {
      {"", "1:1: expected an expression"},
      {"1 +", "1:4: expected an expression"},
      {"1 + * 2", "1:5: expected an expression, not '*'"},
      {"(1 + 2", "1:7: expected ')'"},
      {"1 2", "1:3: unexpected '2'"},
      {"1 & 2", "1:3: unexpected '&'"},
      {"n = 1", "1:3: unexpected '='"},
      {"on ? 1", "1:7: expected ':'"},
      {"min(1, 2", "1:9: expected ')'"},
      {"min(1)", "1:1: 'min' takes 2 operands, not 1"},
      {"pow2()", "1:1: 'pow2' takes 1 operand, not 0"},
      {"ceildiv(1, 2, 3)", "1:1: 'ceildiv' takes 2 operands, not 3"},
      {"1 + sqrt(2)", "1:5: there is no function 'sqrt', but: ceildiv, "
                      "min, max, pow2, log2, int, real"},
      {"1 + m", "1:5: there is no parameter 'm'"},
      {"block.y", "1:1: there is no parameter 'block.y'"},
      {"`a b`", "1:1: there is no parameter 'a b'"},
      {"`n", "1:1: unterminated name"},
      {"'n", "1:1: unterminated string"},
      {"'a\\q'", "1:3: expected '\\', a quote or 'x' with two "
                 "hexadecimal digits after '\\'"},
      {"9223372036854775808",
       "1:1: the number '9223372036854775808' is too large"},
      {"1 + 1e999", "1:5: the number '1e999' is too large"},
      {"12ab", "1:1: invalid number '12ab'"},
      {"1.", "1:1: invalid number '1.'"},
  };
  for (const auto &[Text, Wanted] : Cases)
    EXPECT_EQ(errorOf(Text), Wanted) << Text;
  EXPECT_TRUE(StringRef(errorOf("1 < recorded.warps"))
                  .starts_with("1:5: there is no recorded 'warps', but: "
                               "block.x, block.y, "));
}

TEST(ExprTest, TypeErrorsHaveAColumn) {
  const std::pair<const char *, const char *> Cases[] = {
      {"1 + on", "1:3: '+' needs int or real, not bool"},
      {"level * 2", "1:7: '*' needs int or real, not text"},
      {"r % 2", "1:3: '%' needs int, not real"},
      {"1 && on", "1:3: '&&' needs bool, not int"},
      {"!n", "1:1: '!' needs bool, not int"},
      {"-on", "1:1: '-' needs int or real, not bool"},
      {"level == 3", "1:7: '==' needs operands of one type, not text and int"},
      {"1 < 2 < 3", "1:7: '<' needs int or real, not bool"},
      {"level < 'a'", "1:7: '<' needs int or real, not text"},
      {"n ? 1 : 2", "1:3: '?:' needs a bool first, not int"},
      {"on ? 1 : 'a'",
       "1:4: '?:' needs operands of one type, not int and text"},
      {"int(level)", "1:1: 'int' needs bool or real, not text"},
      {"real(on)", "1:1: 'real' needs int, not bool"},
      {"pow2(r)", "1:1: 'pow2' needs int, not real"},
  };
  for (const auto &[Text, Wanted] : Cases)
    EXPECT_EQ(errorOf(Text), Wanted) << Text;
}

TEST(ExprTest, ComputationsThatFailSayWhich) {
  const std::pair<const char *, const char *> Cases[] = {
      {"1 + n / zero", "division by zero in 'n / zero'"},
      {"n % (zero * 2)", "division by zero in 'n % (zero * 2)'"},
      {"ceildiv(n, zero)", "division by zero in 'ceildiv(n, zero)'"},
      {"r / 0", "division by zero in 'r / real(0)'"},
      {"max + 1", "overflow in 'max + 1'"},
      {"min - 1", "overflow in 'min - 1'"},
      {"max * 2", "overflow in 'max * 2'"},
      {"-min", "overflow in '-min'"},
      {"min / -1", "overflow in 'min / -1'"},
      {"min % -1", "overflow in 'min % -1'"},
      {"1e300 * 1e300", "overflow in '1e+300 * 1e+300'"},
      {"int(1e19)", "overflow in 'int(1e+19)'"},
      {"pow2(63)", "no 64-bit integer is 2 to the power of 63 in 'pow2(63)'"},
      {"pow2(-1)", "no 64-bit integer is 2 to the power of -1 in 'pow2(-1)'"},
      {"log2(zero)", "log2 of non-positive value 0 in 'log2(zero)'"},
  };
  for (const auto &[Text, Wanted] : Cases)
    EXPECT_EQ(errorOf(Text), Wanted) << Text;
}

TEST(ExprTest, ErrorsOfTheLookupComeThrough) {
  Expected<Expr> E = parseExpr("n + 1", typeOf);
  ASSERT_THAT_EXPECTED(E, Succeeded());
  auto Fails = [](StringRef Name, Expr::KindTy) -> Expected<Value> {
    return createStringError(Name + " is not known");
  };
  EXPECT_THAT_EXPECTED(E->evaluate(Fails),
                       FailedWithMessage("n is not known"));
}

TEST(ExprTest, NestingHasALimit) {
  auto Repeat = [](StringRef S, unsigned N) {
    std::string R;
    while (N--)
      R += S;
    return R;
  };
  EXPECT_EQ(errorOf(Repeat("(", 150) + "1" + Repeat(")", 150)), "no error: 1");
  EXPECT_EQ(errorOf("1" + Repeat("+1", 150)), "no error: 151");
  const std::string Deep[] = {
      Repeat("(", 100000) + "1" + Repeat(")", 100000),
      "1" + Repeat("+1", 100000),
      Repeat("!", 100000) + "on",
      Repeat("- ", 100000) + "n",
      Repeat("on ? 1 : ", 100000) + "1",
      Repeat("min(1,", 100000) + "1" + Repeat(")", 100000),
      "max(" + Repeat("1,", 100000) + "1)"};
  for (const std::string &Text : Deep)
    EXPECT_TRUE(StringRef(errorOf(Text)).contains("nested too deeply"))
        << Text.substr(0, 20);
}

TEST(ExprTest, PrintsWithBracketsWhereTheyMatter) {
  const std::pair<const char *, const char *> Cases[] = {
      {"(1+2)*3", "(1 + 2) * 3"},
      {"1+(2*3)", "1 + 2 * 3"},
      {"1-(2-3)", "1 - (2 - 3)"},
      {"(1-2)-3", "1 - 2 - 3"},
      {"-(5)", "-(5)"},
      {"-5", "-5"},
      {"-(-n)", "-(-n)"},
      {"-(n*2)", "-(n * 2)"},
      {"2 - -5", "2 - -5"},
      {"!(on&&off)", "!(on && off)"},
      {"!!on", "!!on"},
      {"(on?1:2)+1", "(on ? 1 : 2) + 1"},
      {"(on?on:off)?1:2", "(on ? on : off) ? 1 : 2"},
      {"on?1:(off?2:3)", "on ? 1 : off ? 2 : 3"},
      {"max(1,n,3)", "max(max(1, n), 3)"},
      {"'a\"b'", "\"a\\\"b\""},
      {"`loop-unroll`", "`loop-unroll`"},
      {"`n`", "n"},
      {"n+0.5", "real(n) + 0.5"},
      {"1e20", "1e+20"},
      {"3.0", "3.0"},
      {"recorded.grid.x%2==0", "recorded.grid.x % 2 == 0"}};
  for (const auto &[Text, Wanted] : Cases) {
    Expected<Expr> E = parseExpr(Text, typeOf);
    ASSERT_THAT_EXPECTED(E, Succeeded()) << Text;
    EXPECT_EQ(E->print(), Wanted);
  }
}

/// A random tree of a type.
Expr makeTree(ValueType T, unsigned Depth, std::mt19937_64 &Random) {
  auto Pick = [&](unsigned N) { return unsigned(Random() % N); };
  auto Sub = [&](ValueType S) { return makeTree(S, Depth - 1, Random); };
  if (Depth == 0) {
    switch (T) {
    case ValueType::Bool:
      return Pick(2) ? Expr::constant(Pick(2) == 0)
                     : Expr::parameter(Pick(2) ? "on" : "off", T);
    case ValueType::Int:
      return Pick(2) ? Expr::constant(int64_t(Pick(20)) - 10)
                     : Expr::parameter(Pick(2) ? "n" : "loop-unroll", T);
    case ValueType::Real:
      return Pick(2) ? Expr::constant((double(Pick(200)) - 100) / 7)
                     : Expr::parameter("r", T);
    case ValueType::Text:
      return Pick(2) ? Expr::constant(std::string("a'\"\\\x01"))
                     : Expr::parameter("level", T);
    }
  }
  // Any operator that has this result.
  while (true) {
    static constexpr unsigned Operands[] = {
#define EXPR_OP(Name, Spelling, Operands) Operands,
#include "llvm/Mneme/Study/ExprOps.def"
    };
    unsigned Op = Pick(std::size(Operands));
    SmallVector<ValueType, 3> Types(Operands[Op], ValueType(Pick(4)));
    if (ExprOp(Op) == ExprOp::Select)
      Types[0] = ValueType::Bool;
    Expected<ValueType> Result = checkOp(ExprOp(Op), Types);
    if (!Result) {
      consumeError(Result.takeError());
      continue;
    }
    if (*Result != T) {
      if (T == ValueType::Text && Pick(4) == 0)
        return makeTree(T, 0, Random);
      continue;
    }
    SmallVector<Expr, 3> Children;
    for (ValueType S : Types)
      Children.push_back(Sub(S));
    return Expr::op(ExprOp(Op), Children);
  }
}

TEST(ExprTest, WhatIsPrintedReadsAsTheSame) {
  std::mt19937_64 Random(1);
  unsigned Computed = 0;
  for (unsigned I = 0; I != 2000; ++I) {
    Expr E = makeTree(ValueType(I % 4), I % 5, Random);
    std::string Text = E.print();
    Expected<Expr> Back = parseExpr(Text, typeOf);
    ASSERT_THAT_EXPECTED(Back, Succeeded()) << Text;
    EXPECT_EQ(Back->print(), Text);
    EXPECT_EQ(Back->type(), E.type());
    Expected<Value> A = E.evaluate(lookup), B = Back->evaluate(lookup);
    ASSERT_EQ(bool(A), bool(B)) << Text;
    if (A) {
      EXPECT_EQ(*A, *B) << Text;
      ++Computed;
    } else {
      EXPECT_EQ(toString(A.takeError()), toString(B.takeError()));
    }
  }
  EXPECT_GT(Computed, 1000u);
}

TEST(ExprTest, FoldsWhatIsKnown) {
  const std::pair<const char *, const char *> Cases[] = {
      {"1 + 2 * 3", "7"},
      {"recorded.block.x * 2 + n", "512 + n"},
      {"n + (recorded.grid.x - 1)", "n + 99"},
      {"recorded.cooperative && on", "false"},
      {"on && recorded.cooperative", "on && false"},
      {"!recorded.cooperative && on", "on"},
      {"recorded.cooperative || on", "on"},
      {"recorded.block.x > 1 || on", "true"},
      {"recorded.block.x > 1 ? n : n / zero", "n"},
      {"1 / recorded.shared_mem", "1 / 0"}};
  auto Known = [](StringRef Name,
                  Expr::KindTy Kind) -> std::optional<Value> {
    if (Kind != Expr::Recorded)
      return std::nullopt;
    return facts().lookup(Name);
  };
  for (const auto &[Text, Wanted] : Cases)
    EXPECT_EQ(cantFail(parseExpr(Text, typeOf)).fold(Known).print(), Wanted);
}

TEST(ExprTest, ValuesAreInTheirRanges) {
  std::mt19937_64 Random(3);
  auto Below = [&](int64_t N) { return int64_t(Random() % N); };
  unsigned Inside = 0, Narrow = 0;
  for (unsigned I = 0; I != 4000; ++I) {
    Expr E = makeTree(ValueType(I % 4), 1 + I % 4, Random);
    StringMap<std::pair<Value, Value>> Ranges;
    int64_t N = Below(20) - 10, U = Below(40);
    double R = double(Below(100)) / 7 - 5;
    Ranges["n"] = {N, N + Below(5)};
    Ranges["loop-unroll"] = {U, U + Below(5)};
    Ranges["r"] = {R, R + double(Below(3))};
    Ranges["on"] = {Value(Below(2) == 1), Value(true)};
    Ranges["off"] = {Value(false), Value(Below(2) == 1)};
    Ranges["level"] = {std::string("O2"), std::string("O3")};
    ValueRange Of =
        getRange(E, [&](StringRef Name, Expr::KindTy) -> ValueRange {
          return Ranges[Name];
        });
    if (!Of)
      continue;
    ASSERT_EQ(getType(Of->first), E.type());
    ASSERT_EQ(getType(Of->second), E.type());
    Narrow += Of->first == Of->second;
    for (unsigned K = 0; K != 20; ++K) {
      Expected<Value> V = E.evaluate([&](StringRef Name, Expr::KindTy)
                                         -> Expected<Value> {
        const auto &[Low, High] = Ranges[Name];
        if (const int64_t *L = std::get_if<int64_t>(&Low))
          return *L + Below(std::get<int64_t>(High) - *L + 1);
        if (const double *L = std::get_if<double>(&Low))
          return *L + (std::get<double>(High) - *L) * double(Below(11)) / 10;
        return Below(2) ? Low : High;
      });
      if (!V) {
        consumeError(V.takeError());
        continue;
      }
      ++Inside;
      EXPECT_GE(*V, Of->first) << E.print();
      EXPECT_LE(*V, Of->second) << E.print();
    }
  }
  EXPECT_GT(Inside, 20000u);
  EXPECT_GT(Narrow, 200u);
}

TEST(ExprTest, RangesThatDecide) {
  auto RangeOf = [](StringRef Text) {
    Expr E = cantFail(parseExpr(Text, typeOf));
    ValueRange R = getRange(E, [](StringRef Name, Expr::KindTy) -> ValueRange {
      if (Name == "n")
        return std::make_pair(Value(int64_t(4)), Value(int64_t(9)));
      if (Name == "zero")
        return std::make_pair(Value(int64_t(-1)), Value(int64_t(1)));
      return std::nullopt;
    });
    return R ? print(R->first) + ".." + print(R->second) : "anything";
  };
  const std::pair<const char *, const char *> Cases[] = {
      {"n * 2 - 1", "7..17"},
      {"n * zero", "-9..9"},
      {"ceildiv(100, n)", "12..25"},
      {"100 / zero", "anything"},
      {"n % 4", "0..3"},
      {"n % 16", "4..9"},
      {"n % 100 == 50", "false..false"},
      {"zero % 4", "anything"},
      {"n > 3", "true..true"},
      {"n > 4", "false..true"},
      {"n > 9 && on", "false..false"},
      {"on || n < 10", "true..true"},
      {"on || n < 9", "anything"},
      {"n == 3", "false..false"},
      {"n != 3", "true..true"},
      {"n == 5", "anything"},
      {"on ? n : 20", "4..20"},
      {"n > 3 ? 1 : 2", "1..1"},
      {"pow2(n)", "16..512"},
      {"log2(n)", "2..3"},
      {"log2(zero)", "anything"},
      {"real(n) / 2", "2.0..4.5"},
      {"int(real(n) * 0.5)", "2..4"},
      {"max + n", "anything"},
      {"min(n, 6)", "4..6"},
      {"!(n < 10)", "false..false"},
      {"-n", "-9..-4"}};
  for (const auto &[Text, Wanted] : Cases)
    EXPECT_EQ(RangeOf(Text), Wanted) << Text;
}

TEST(ExprTest, RealsReadAsTheSame) {
  std::mt19937_64 Random(2);
  for (unsigned I = 0; I != 1000; ++I) {
    uint64_t Bits = Random();
    double D;
    memcpy(&D, &Bits, sizeof(D));
    if (!std::isfinite(D))
      continue;
    Expected<Value> V = evaluate(print(Value(D)));
    ASSERT_THAT_EXPECTED(V, Succeeded()) << print(Value(D));
    EXPECT_EQ(*V, Value(D));
  }
}

TEST(ExprTest, ValuesAsJSON) {
  EXPECT_EQ(toJSON(Value(true)), json::Value(true));
  EXPECT_EQ(toJSON(Value(int64_t(5))), json::Value(5));
  EXPECT_EQ(toJSON(Value(0.5)), json::Value(0.5));
  EXPECT_EQ(toJSON(Value("x")), json::Value("x"));
}

} // namespace
