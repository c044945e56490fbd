//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ServedSpace.h"
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::serve;
using testing::HasSubstr;

namespace {
/// As llvm::json::Object, to be written in a call.
struct Fields : json::Object {
  Fields(std::initializer_list<KV> L) : json::Object(L) {}
};
} // namespace

static RecordedFacts getFacts() {
  return makeRecordedFacts({64, 1, 1}, {256, 1, 1}, 0, false, "2", "sm_90",
                           "k");
}

static Study getBlocks() {
  Study S;
  S.Name = "blocks";
  cantFail(applyToStudy({{"block-x", "64..256:64"}, {"require", "block.x != 128"}},
                        S));
  return S;
}

static message::Tell tell(uint64_t Number, std::vector<double> Values) {
  message::Tell T;
  T.Number = Number;
  T.Values = std::move(Values);
  return T;
}

TEST(ServedSpaceTest, ProposesEachPointOnceAndTheDefaultFirst) {
  auto Space = ServedSpace::create(getBlocks(), getFacts(), "random", 1);
  ASSERT_THAT_EXPECTED(Space, Succeeded());
  message::SpaceMade Made = (*Space)->describe();
  EXPECT_EQ(Made.Count, "4");
  EXPECT_EQ(Made.Default, json::Object({{"block.x", 256}}));
  auto First = (*Space)->ask(1);
  ASSERT_THAT_EXPECTED(First, Succeeded());
  ASSERT_EQ(First->size(), 1u);
  EXPECT_EQ(First->front().Point, json::Object({{"block.x", 256}}));
  EXPECT_EQ(First->front().Config.getInteger("grid.x"), 64);
  auto Rest = (*Space)->ask(10);
  ASSERT_THAT_EXPECTED(Rest, Succeeded());
  EXPECT_EQ(Rest->size(), 2u);
  for (auto [I, P] : enumerate(*Rest)) {
    EXPECT_EQ(P.Number, I + 1);
    EXPECT_NE(P.Point.getInteger("block.x"), 128);
  }
  auto None = (*Space)->ask(1);
  ASSERT_THAT_EXPECTED(None, Succeeded());
  EXPECT_TRUE(None->empty());
}

TEST(ServedSpaceTest, TakesEachResultOnce) {
  auto Space = ServedSpace::create(getBlocks(), getFacts(), "lfbo", 1);
  ASSERT_THAT_EXPECTED(Space, Succeeded());
  ASSERT_THAT_EXPECTED((*Space)->ask(2), Succeeded());
  EXPECT_THAT_ERROR((*Space)->tell(tell(0, {5})), Succeeded());
  EXPECT_THAT_ERROR((*Space)->tell(tell(0, {5})),
                    FailedWithMessage("the result of proposal 0 is known"));
  EXPECT_THAT_ERROR((*Space)->tell(tell(7, {5})),
                    FailedWithMessage("there is no proposal 7"));
  EXPECT_THAT_ERROR((*Space)->tell(tell(1, {5, 6})),
                    FailedWithMessage("expected 1 values, got 2"));
  EXPECT_THAT_ERROR((*Space)->tell(tell(1, {})), Succeeded());
  // A point of another source is not proposed any more.
  message::Tell Own;
  Own.Point = Fields{{"block.x", 64}};
  Own.Values = {3};
  EXPECT_THAT_ERROR((*Space)->tell(Own), Succeeded());
  auto Rest = (*Space)->ask(10);
  ASSERT_THAT_EXPECTED(Rest, Succeeded());
  EXPECT_LE(Rest->size(), 1u);
}

TEST(ServedSpaceTest, ConvertsPoints) {
  auto Space = ServedSpace::create(getBlocks(), getFacts(), "random", 1);
  ASSERT_THAT_EXPECTED(Space, Succeeded());
  auto P = (*Space)->configure(Fields{{"block.x", 64}});
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Config, json::Object({{"block.x", 64}, {"grid.x", 256}}));
  EXPECT_THAT_EXPECTED((*Space)->configure(Fields{{"block.x", 128}}), Failed());
  EXPECT_THAT_EXPECTED(
      (*Space)->configure(Fields{{"block.y", 1}}),
      FailedWithMessage("there is no parameter 'block.y'"));
}

TEST(ServedSpaceTest, ReadsWhatItDescribes) {
  json::Array List{
      json::Object{{"name", "i"}, {"kind", "int"}, {"low", 2}, {"high", 9},
                   {"step", 3}},
      json::Object{{"name", "l"}, {"kind", "int"}, {"low", 1}, {"high", 8},
                   {"log", true}},
      json::Object{{"name", "r"}, {"kind", "real"}, {"low", 0}, {"high", 1},
                   {"default", 1}},
      json::Object{{"name", "b"}, {"kind", "bool"}},
      json::Object{{"name", "c"}, {"kind", "choice"},
                   {"values", json::Array{"x", "y"}}},
      json::Object{{"name", "p"}, {"kind", "pipeline"},
                   {"space", "default<{O1|O2}>"}}};
  auto Parameters = parseParameters(List);
  ASSERT_THAT_EXPECTED(Parameters, Succeeded());
  Study S;
  S.Name = "s";
  S.Parameters = std::move(*Parameters);
  S.Objectives = {{"time", Direction::Minimize}};
  auto Space = ServedSpace::create(std::move(S), getFacts(), "random", 1);
  ASSERT_THAT_EXPECTED(Space, Succeeded());
  message::SpaceMade Made = (*Space)->describe();
  ASSERT_EQ(Made.Parameters.size(), 6u);
  EXPECT_EQ(Made.Default.getNumber("r"), 1);
  // In the described form, they are the same parameters.
  for (json::Value &V : Made.Parameters)
    V.getAsObject()->erase("decisions");
  auto Again = parseParameters(Made.Parameters);
  ASSERT_THAT_EXPECTED(Again, Succeeded());
  EXPECT_EQ(Again->size(), 6u);
}

TEST(ServedSpaceTest, RefusesNonsense) {
  auto Parse = [](Fields O) {
    O["name"] = "x";
    return toString(parseParameters(json::Array{json::Object(std::move(O))}).takeError());
  };
  EXPECT_THAT(Parse(Fields{{"kind", "int"}, {"low", 1.5}, {"high", 2}}),
              HasSubstr("parameter 'x': 'low': expected an integer"));
  EXPECT_THAT(Parse(Fields{{"kind", "int"}, {"low", 1}}),
              HasSubstr("'high' is missing"));
  EXPECT_THAT(Parse(Fields{{"kind", "set"}}), HasSubstr("expected the kind"));
  EXPECT_THAT(Parse(Fields{{"kind", "bool"}, {"lo", 1}}),
              HasSubstr("unknown member 'lo'"));
  EXPECT_THAT_EXPECTED(
      ServedSpace::create(getBlocks(), getFacts(), "external=x", 1),
      FailedWithMessage(HasSubstr("runs in the client")));
  EXPECT_THAT_EXPECTED(
      ServedSpace::create(getBlocks(), getFacts(), "nonsense", 1), Failed());
}
