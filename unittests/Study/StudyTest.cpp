//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// A study that has one of everything.
StudyBuilder makeStudy() {
  StudyBuilder B;
  B.range("block", "32", "1024", "32")
      .range("rate", "0.5", "recorded.cooperative ? 1.0 : 2.0")
      .log()
      .boolean("specialize")
      .choice("opt", {"\"1\"", "\"2\"", "recorded.opt_level"})
      .when("specialize && block > 64")
      .startWith("\"2\"")
      .pipeline("passes", "default<{O1|O2|O3}>")
      .derive("grid", "ceildiv(recorded.threads, block)")
      .derive("half", "grid / 2")
      .require("grid >= 2", "too few blocks")
      .require("half < 1000000 || specialize")
      .field("block.x", "block")
      .field("grid.x", "grid")
      .field("passes", "passes")
      .field("specialize", "specialize")
      .field("llvm.unroll-threshold", "half")
      .field("llvm.some-factor", "rate")
      .objective("reg_usage");
  return B;
}

std::string errorOf(const Study &S) {
  return toString(checkStudy(S));
}

TEST(StudyTest, ARightOneHasNoError) {
  EXPECT_THAT_ERROR(checkStudy(makeStudy().S), Succeeded());
}

TEST(StudyTest, TypesOfParameters) {
  StudyBuilder B = makeStudy();
  const ValueType Wanted[] = {ValueType::Int, ValueType::Real, ValueType::Bool,
                              ValueType::Text, ValueType::Text};
  for (size_t I = 0; I != std::size(Wanted); ++I)
    EXPECT_EQ(B.S.Parameters[I].type(), Wanted[I]);
  EXPECT_EQ(B.S.findParameter("opt"), &B.S.Parameters[3]);
  EXPECT_EQ(B.S.findParameter("grid"), nullptr);
}

struct Mistake {
  std::string Error;
  void (*Make)(Study &);
};

TEST(StudyTest, Mistakes) {
  std::vector<StringRef> Metrics;
  for (const MetricInfo &M : getMetricInfos())
    Metrics.push_back(M.Name);
  const Mistake Mistakes[] = {
      // Names.
      {"parameter '': it has no name",
       [](Study &S) { S.Parameters[0].Name = ""; }},
      {"parameter 'a b': a name may not contain ' '",
       [](Study &S) { S.Parameters[0].Name = "a b"; }},
      {"parameter 'a/b': a name may not contain '/'",
       [](Study &S) { S.Parameters[0].Name = "a/b"; }},
      {"parameter 'recorded.x': names that start with 'recorded.' are reserved "
       "for recorded facts",
       [](Study &S) { S.Parameters[0].Name = "recorded.x"; }},
      {"parameter 'block': the name is used twice",
       [](Study &S) { S.Parameters[1].Name = "block"; }},
      {"derived value 'block': the name is used twice",
       [](Study &S) { S.Derived[1].Name = "block"; }},
      // Ranges.
      {"parameter 'block': lower bound is missing",
       [](Study &S) { S.Parameters[0].Low = Expr(); }},
      {"parameter 'block': upper bound is missing",
       [](Study &S) { S.Parameters[0].High = Expr(); }},
      {"parameter 'block': upper bound must be int, not real",
       [](Study &S) { S.Parameters[0].High = Expr::constant(1.0); }},
      {"parameter 'rate': lower bound must be real, not int",
       [](Study &S) { S.Parameters[1].Low = Expr::constant(int64_t(1)); }},
      {"parameter 'block': the range 2048..1024 is empty",
       [](Study &S) { S.Parameters[0].Low = Expr::constant(int64_t(2048)); }},
      {"parameter 'block': the step 0 is not positive",
       [](Study &S) { S.Parameters[0].Step = Expr::constant(int64_t(0)); }},
      {"parameter 'block': step must be int, not bool",
       [](Study &S) { S.Parameters[0].Step = Expr::constant(true); }},
      {"parameter 'block': a logarithmic range has no step",
       [](Study &S) { S.Parameters[0].Scale = Parameter::Log; }},
      {"parameter 'block': the lower bound 0 of a logarithmic range is not "
       "positive",
       [](Study &S) {
         S.Parameters[0].Scale = Parameter::Log;
         S.Parameters[0].Step = Expr();
         S.Parameters[0].Low = Expr::constant(int64_t(0));
       }},
      {"parameter 'rate': the lower bound 0.0 of a logarithmic range is not "
       "positive",
       [](Study &S) { S.Parameters[1].Low = Expr::constant(0.0); }},
      {"parameter 'rate': a real range has no step",
       [](Study &S) { S.Parameters[1].Step = Expr::constant(0.1); }},
      {"parameter 'rate': lower bound: 'block' is neither a constant nor "
       "recorded",
       [](Study &S) {
         S.Parameters[1].Low = Expr::op(
             ExprOp::ToReal, Expr::parameter("block", ValueType::Int));
       }},
      // Choices.
      {"parameter 'opt': it has no choices",
       [](Study &S) {
         S.Parameters[3].Choices.clear();
         S.Parameters[3].Default = Expr();
       }},
      {"parameter 'opt': choices of two types, text and int",
       [](Study &S) {
         S.Parameters[3].Choices.push_back(Expr::constant(int64_t(3)));
       }},
      {"parameter 'opt': a choice is missing",
       [](Study &S) { S.Parameters[3].Choices.emplace_back(); }},
      {"parameter 'opt': choice: 'passes' is neither a constant nor recorded",
       [](Study &S) {
         S.Parameters[3].Choices.push_back(
             Expr::parameter("passes", ValueType::Text));
       }},
      // Conditions and defaults.
      {"parameter 'opt': condition must be bool, not int",
       [](Study &S) {
         S.Parameters[3].When = Expr::parameter("block", ValueType::Int);
       }},
      {"parameter 'specialize': condition: 'specialize' is declared later",
       [](Study &S) {
         S.Parameters[2].When = Expr::parameter("specialize", ValueType::Bool);
       }},
      {"parameter 'opt': condition: 'half' is declared later",
       [](Study &S) {
         S.Parameters[3].When = Expr::parameter("half", ValueType::Bool);
       }},
      {"parameter 'opt': condition: there is no parameter 'specialise'; did "
       "you mean 'specialize'?",
       [](Study &S) {
         S.Parameters[3].When = Expr::parameter("specialise", ValueType::Bool);
       }},
      {"parameter 'opt': condition: 'block' is int, not bool",
       [](Study &S) {
         S.Parameters[3].When = Expr::parameter("block", ValueType::Bool);
       }},
      {"parameter 'opt': default must be text, not int",
       [](Study &S) { S.Parameters[3].Default = Expr::constant(int64_t(3)); }},
      // Derived values and constraints.
      {"derived value 'grid': value is missing",
       [](Study &S) { S.Derived[0].Is = Expr(); }},
      {"derived value 'grid': value: 'half' is declared later",
       [](Study &S) {
         S.Derived[0].Is = Expr::parameter("half", ValueType::Int);
       }},
      {"derived value 'grid': value: there is no recorded 'threds'; did you "
       "mean 'threads'?",
       [](Study &S) { S.Derived[0].Is = Expr::recorded("threds"); }},
      {"constraint 'too few blocks': constraint must be bool, not int",
       [](Study &S) {
         S.Constraints[0].Holds = Expr::parameter("grid", ValueType::Int);
       }},
      {"constraint is missing", [](Study &S) { S.Constraints.emplace_back(); }},
      // Fields.
      {"field 'block.w': there is no configuration field 'block.w'; did you "
       "mean 'block.x'?",
       [](Study &S) { S.Fields[0].Key = "block.w"; }},
      {"field 'block.x': value must be int, not text",
       [](Study &S) {
         S.Fields[0].Is = Expr::parameter("opt", ValueType::Text);
       }},
      {"field 'block.x': value: there is no parameter 'blocks'; did you mean "
       "'block'?",
       [](Study &S) {
         S.Fields[0].Is = Expr::parameter("blocks", ValueType::Int);
       }},
      {"field 'block.x': condition must be bool, not int",
       [](Study &S) { S.Fields[0].When = S.Fields[0].Is; }},
      {"field 'block.x': it is set twice",
       [](Study &S) { S.Fields[1].Key = "block.x"; }},
      // Objectives.
      {"the study has no objective", [](Study &S) { S.Objectives.clear(); }},
      {"the objective 'time' occurs twice",
       [](Study &S) { S.Objectives[1].Metric = "time"; }},
      {"there is no metric 'tine'; did you mean 'time'?",
       [](Study &S) { S.Objectives[0].Metric = "tine"; }},
      {"there is no metric 'beauty'; there are: " + join(Metrics, ", "),
       [](Study &S) { S.Objectives[0].Metric = "beauty"; }},
  };
  for (const Mistake &M : Mistakes) {
    Study S = makeStudy().S;
    M.Make(S);
    EXPECT_EQ(errorOf(S), M.Error);
  }
}

TEST(StudyTest, TheErrorOfASpaceHasItsPlace) {
  Study S = makeStudy().S;
  S.Parameters[4].Space = "function({sroa|gvn)";
  EXPECT_TRUE(
      StringRef(errorOf(S)).starts_with("parameter 'passes': 1:"))
      << errorOf(S);
}

TEST(StudyTest, BoundsThatNeedARecordingAreNotChecked) {
  StudyBuilder B;
  B.range("n", "recorded.block", "4");
  EXPECT_THAT_ERROR(checkStudy(B.S), Succeeded());
}

TEST(StudyTest, FieldTypes) {
  auto TypeOf = [](StringRef Key) { return cantFail(getFieldType(Key)); };
  EXPECT_EQ(TypeOf("passes"), ValueType::Text);
  EXPECT_EQ(TypeOf("grid.z"), ValueType::Int);
  EXPECT_EQ(TypeOf("specialize"), ValueType::Bool);
  EXPECT_EQ(TypeOf("llvm.unroll-threshold"), std::nullopt);
  EXPECT_THAT_EXPECTED(getFieldType("llvm."), Failed());
}

TEST(StudyTest, MetricsHaveDirections) {
  EXPECT_EQ(getMetricDirection("time"), Direction::Minimize);
  EXPECT_EQ(getMetricDirection("occupancy"), Direction::Maximize);
  EXPECT_EQ(getMetricDirection("speed"), std::nullopt);
}

} // namespace
