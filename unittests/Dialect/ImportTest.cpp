//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Import.h"
#include "../Study/StudyBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

//===----------------------------------------------------------------------===//
// There and back
//===----------------------------------------------------------------------===//

std::string describe(const Expr &E) {
  return E ? (getTypeName(E.type()) + " " + E.print()).str() : "-";
}

/// All of a study, a line each. The order of fields means nothing.
std::string describe(const Study &S) {
  std::string Text;
  raw_string_ostream OS(Text);
  OS << "study " << S.Name << '\n';
  for (const Parameter &P : S.Parameters) {
    OS << "parameter " << P.Name << ' ' << int(P.Kind) << ' ' << int(P.Scale)
       << " low " << describe(P.Low) << " high " << describe(P.High) << " step "
       << describe(P.Step) << " space '" << P.Space << "' when "
       << describe(P.When) << " default " << describe(P.Default) << " choices";
    for (const Expr &C : P.Choices)
      OS << ' ' << describe(C) << ';';
    OS << '\n';
  }
  for (const DerivedValue &D : S.Derived)
    OS << "derived " << D.Name << ' ' << describe(D.Is) << '\n';
  for (const Constraint &C : S.Constraints)
    OS << "require " << describe(C.Holds) << " '" << C.Message << "'\n";
  std::vector<std::string> Fields;
  for (const ConfigField &F : S.Fields)
    Fields.push_back("field " + F.Key + " = " + describe(F.Is) + " when " +
                     describe(F.When));
  sort(Fields);
  for (const std::string &F : Fields)
    OS << F << '\n';
  for (const Objective &O : S.Objectives)
    OS << "objective " << O.Metric << ' ' << int(O.Dir) << '\n';
  return Text;
}

void expectRoundTrip(const Study &S) {
  Expected<std::string> Text = printStudy(S);
  ASSERT_THAT_EXPECTED(Text, Succeeded());
  SCOPED_TRACE(*Text);
  Expected<Study> Again = parseStudy(*Text, "study.mlir");
  ASSERT_THAT_EXPECTED(Again, Succeeded());
  EXPECT_EQ(describe(S), describe(*Again));
  Expected<std::string> Second = printStudy(*Again);
  ASSERT_THAT_EXPECTED(Second, Succeeded());
  EXPECT_EQ(*Text, *Second);
}

TEST(StudyTextTest, OneOfEverything) {
  StudyBuilder B;
  B.S.Name = "all";
  B.range("block", "32", "1024", "32")
      .startWith("recorded.block.x")
      .range("rows", "1", "min(recorded.block.y * 2, 64)")
      .log()
      .range("rate", "0.1", "recorded.cooperative ? 1.0 : 2.5")
      .log()
      .startWith("0.30000000000000004")
      .boolean("specialize")
      .startWith("true")
      .choice("opt", {"\"1\"", "\"a \\\"quoted\\\" one\"",
                      "recorded.opt_level"})
      .when("specialize && block > 64")
      .startWith("\"1\"")
      .choice("size", {"recorded.block", "recorded.block / 2"})
      .choice("flag", {"true", "false"})
      .choice("real", {"0.5", "1e300"})
      .pipeline("passes", "default<{O1|O2|O3}>")
      .startWith("\"default<O3>\"")
      .range("llvm.unroll-threshold", "50", "400", "50")
      .when("!specialize")
      .boolean("llvm.enable-x")
      .derive("grid", "ceildiv(recorded.threads, block)")
      .derive("half", "grid / 2")
      .require("grid >= 2", "too \"few\" blocks")
      .require("half < 1000000 || specialize")
      .require("opt != \"3\" && opt == recorded.opt_level")
      .field("block.x", "block")
      .field("grid.x", "grid", "specialize")
      .field("passes", "passes")
      .field("codegen_opt", "3")
      .field("specialize", "specialize")
      .field("target_cpu", "\"sm_90\"")
      .field("llvm.half", "half")
      .field("llvm.factor", "rate")
      .field("llvm.text", "opt", "specialize")
      .field("llvm.unroll-threshold", "0")
      .field("llvm.enable-x", "true");
  // These two are parameters, whose names are no names of expressions.
  B.S.Fields[B.S.Fields.size() - 2].Is =
      Expr::parameter("llvm.unroll-threshold", ValueType::Int);
  B.S.Fields.back().Is = Expr::parameter("llvm.enable-x", ValueType::Bool);
  B.S.Fields[B.S.Fields.size() - 2].When = B.expr("!specialize");
  B.objective("occupancy", Direction::Maximize);
  expectRoundTrip(B.S);
}

TEST(StudyTextTest, EveryOperator) {
  Study S;
  S.Name = "operators";
  S.Objectives.push_back({"time", Direction::Minimize});
  auto Add = [&](StringRef Name, Parameter::KindTy Kind, Value First) {
    Parameter P;
    P.Name = Name.str();
    P.Kind = Kind;
    P.Low = P.High = Expr::constant(First);
    if (Kind == Parameter::Choice) {
      P.Choices = {P.Low};
      P.Low = P.High = Expr();
    }
    S.Parameters.push_back(P);
    return Expr::parameter(Name, P.type());
  };
  const Expr Of[] = {Add("b", Parameter::Choice, true),
                     Add("i", Parameter::Int, int64_t(7)),
                     Add("r", Parameter::Real, 0.5),
                     Add("t", Parameter::Choice, std::string("x"))};
  struct {
    ExprOp Op;
    unsigned Operands;
  } Ops[] = {
#define EXPR_OP(Name, Spelling, Operands) {ExprOp::Name, Operands},
#include "llvm/Mneme/Study/ExprOps.def"
  };
  unsigned Number = 0;
  for (auto O : Ops) {
    unsigned Before = Number;
    for (const Expr &E : Of) {
      SmallVector<Expr, 3> Operands(O.Operands, E);
      if (O.Op == ExprOp::Select)
        Operands[0] = Of[0];
      SmallVector<ValueType, 3> Types;
      for (const Expr &Operand : Operands)
        Types.push_back(Operand.type());
      if (Expected<ValueType> T = checkOp(O.Op, Types); !T) {
        consumeError(T.takeError());
        continue;
      }
      S.Derived.push_back(
          {"d" + std::to_string(Number++), Expr::op(O.Op, Operands)});
    }
    EXPECT_GT(Number, Before);
  }
  expectRoundTrip(S);
}

TEST(StudyTextTest, AStudyThatIsWrongIsNotPrinted) {
  StudyBuilder B;
  B.range("a", "8", "4");
  EXPECT_THAT_EXPECTED(
      printStudy(B.S),
      FailedWithMessage("parameter 'a': the range 8..4 is empty"));
}

TEST(StudyTextTest, AStudyWithoutAName) {
  StudyBuilder B;
  Expected<std::string> Text = printStudy(B.S);
  ASSERT_THAT_EXPECTED(Text, Succeeded());
  EXPECT_TRUE(StringRef(*Text).starts_with("mneme.study @study {\n")) << *Text;
}

//===----------------------------------------------------------------------===//
// Text to studies
//===----------------------------------------------------------------------===//

const char Rest[] = "mneme.config {}\nmneme.objective minimize \"time\"\n}\n";

Expected<Study> parse(const Twine &Body) {
  return parseStudy(("mneme.study @s {\n" + Body + "\n" + Rest).str(),
                    "s.mlir");
}

std::string errorOf(const Twine &Body) {
  Expected<Study> S = parse(Body);
  return S ? "" : toString(S.takeError());
}

TEST(ParseStudyTest, BoundsAndConditionsHaveNoDerivedValues) {
  Expected<Study> S = parse(R"(
    %threads = mneme.recorded "threads"
    %two = arith.constant 2 : i64
    %0 = arith.divsi %threads, %two : i64
    %half = mneme.derived "half" = %0 : i64
    %a = mneme.int "a" in [1 to %half] default %half
    %1 = arith.addi %a, %half : i64
    %sum = mneme.derived "sum" = %1 : i64
    %c = arith.cmpi slt, %sum, %two : i64
    %b = mneme.choice "b" in {%half} : i64 when %c
    mneme.require %c)");
  ASSERT_THAT_EXPECTED(S, Succeeded());
  EXPECT_EQ(S->Parameters[0].High.print(), "recorded.threads / 2");
  EXPECT_EQ(S->Parameters[0].Default.print(), "recorded.threads / 2");
  EXPECT_EQ(S->Parameters[1].Choices[0].print(), "recorded.threads / 2");
  EXPECT_EQ(S->Parameters[1].When.print(), "a + recorded.threads / 2 < 2");
  EXPECT_EQ(S->Derived[1].Is.print(), "a + half");
  EXPECT_EQ(S->Constraints[0].Holds.print(), "sum < 2");
}

TEST(ParseStudyTest, OptionsAreFields) {
  Expected<Study> S = parse(R"(
    %on = mneme.bool "on"
    mneme.int option "unroll-threshold" in [50 to 400] when %on)");
  ASSERT_THAT_EXPECTED(S, Succeeded());
  EXPECT_EQ(S->Parameters[1].Name, "llvm.unroll-threshold");
  ASSERT_EQ(S->Fields.size(), 1u);
  EXPECT_EQ(S->Fields[0].Key, "llvm.unroll-threshold");
  EXPECT_EQ(S->Fields[0].Is.name(), "llvm.unroll-threshold");
  EXPECT_EQ(S->Fields[0].When.print(), "on");
}

TEST(ParseStudyTest, ErrorsHaveTheirPlace) {
  EXPECT_EQ(errorOf("%a = mneme.int \"a\" in [8 to 4]"),
            "s.mlir:2:6: 'mneme.int' op has an empty range: 8 is above 4\n"
            "%a = mneme.int \"a\" in [8 to 4]\n     ^");
  EXPECT_EQ(errorOf("%p = mneme.pipeline \"p\" in \"a,{b|c\" \",d\""),
            "s.mlir:2:40: custom op 'mneme.pipeline' expected ',', '|' or '}', "
            "not the end\n%p = mneme.pipeline \"p\" in \"a,{b|c\" \",d\"\n" +
                std::string(39, ' ') + "^");
  std::string Twice = errorOf("%a = mneme.int \"a\" in [1 to 2]\n"
                              "  %b = mneme.bool \"a\"");
  EXPECT_THAT(Twice, testing::StartsWith(
                         "s.mlir:3:8: 'mneme.bool' op is the second parameter "
                         "or derived value 'a'\n"));
  EXPECT_THAT(Twice, testing::HasSubstr("s.mlir:2:6: note: the first is here"));
  EXPECT_THAT(errorOf("%a = foo.bar"),
              testing::StartsWith("s.mlir:2:6: Dialect `foo' not found"));
}

TEST(ParseStudyTest, ExactlyOneStudy) {
  EXPECT_THAT_EXPECTED(parseStudy("", "s.mlir"),
                       FailedWithMessage("s.mlir: has 0 studies, not one"));
  std::string One = std::string("mneme.study @a {") + Rest;
  std::string Two = One + "mneme.study @b {" + Rest;
  EXPECT_THAT_EXPECTED(parseStudy(Two, "s.mlir"),
                       FailedWithMessage("s.mlir: has 2 studies, not one"));
  EXPECT_THAT_EXPECTED(parseStudy("module {\n" + One + "}", "s.mlir"),
                       Succeeded());
}

TEST(ParseStudyTest, SharedValuesMakeNoHugeTrees) {
  std::string Body = "%v0 = mneme.int \"a\" in [1 to 2]\n";
  for (unsigned I = 1; I != 100; ++I) {
    std::string Last = "%v" + std::to_string(I - 1);
    Body += "%v" + std::to_string(I) + " = arith.addi " + Last + ", " + Last +
            " : i64\n";
  }
  EXPECT_THAT(errorOf(Body),
              testing::HasSubstr("is the root of too large an expression"));
}

} // namespace
