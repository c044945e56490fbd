//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/SearchSpace.h"
#include "StudyBuilder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {

SearchSpace create(const StudyBuilder &B) {
  return cantFail(SearchSpace::create(B.S, makeFacts()));
}

std::string errorOf(const StudyBuilder &B) {
  Expected<SearchSpace> S = SearchSpace::create(B.S, makeFacts());
  return S ? "no error" : toString(S.takeError());
}

/// The values of a parameter in all points, in order.
std::set<Value> valuesOf(const SearchSpace &S, StringRef Name) {
  std::set<Value> Values;
  for (uint64_t I = 0, E = S.count()->getZExtValue(); I != E; ++I) {
    StringMap<Value> V = S.values(S.at(APInt(64, I)));
    if (auto It = V.find(Name); It != V.end())
      Values.insert(It->second);
  }
  return Values;
}

Value textOf(const SearchSpace &S, const Point &P, StringRef Name) {
  return S.values(P).lookup(Name);
}

std::string configOf(const SearchSpace &S, const Point &P) {
  Expected<json::Object> C = S.configure(P);
  if (!C)
    return toString(C.takeError());
  std::string Text;
  raw_string_ostream(Text) << json::Value(std::move(*C));
  return Text;
}

//===----------------------------------------------------------------------===//
// Values and dimensions
//===----------------------------------------------------------------------===//

TEST(SearchSpaceTest, DimensionsOfEveryKind) {
  StudyBuilder B;
  B.range("int", "10", "20", "3")
      .range("log", "32", "1000")
      .log()
      .range("real", "1.0", "100.0")
      .log()
      .boolean("bool")
      .choice("text", {"'a'", "'b'", "'a'"})
      .choice("numbers", {"64", "128", "512"})
      .choice("muddle", {"64", "512", "128"})
      .pipeline("passes", "function(sroa?,{gvn|licm},x<n=[1..4]>)");
  SearchSpace S = create(B);
  ArrayRef<Dimension> D = S.dimensions();
  ASSERT_EQ(D.size(), 10u);
  const struct {
    const char *Name;
    Dimension::KindTy Kind;
    uint64_t Count;
  } Wanted[] = {{"int", Dimension::Ordered, 4},
                {"log", Dimension::Ordered, 5},
                {"real", Dimension::Real, 0},
                {"bool", Dimension::Categorical, 2},
                {"text", Dimension::Categorical, 2},
                {"numbers", Dimension::Ordered, 3},
                {"muddle", Dimension::Categorical, 3},
                {nullptr, Dimension::Categorical, 2},
                {nullptr, Dimension::Categorical, 2},
                {nullptr, Dimension::Ordered, 4}};
  for (size_t I = 0; I != D.size(); ++I) {
    if (Wanted[I].Name)
      EXPECT_EQ(D[I].Name, Wanted[I].Name);
    else
      EXPECT_TRUE(StringRef(D[I].Name).starts_with("passes/")) << D[I].Name;
    EXPECT_EQ(D[I].Kind, Wanted[I].Kind) << I;
    EXPECT_EQ(D[I].Count, Wanted[I].Count) << I;
    EXPECT_EQ(D[I].Decision.has_value(), I >= 7) << I;
    if (D[I].Kind != Dimension::Real) {
      EXPECT_EQ(D[I].Low, 0);
      EXPECT_EQ(D[I].High, double(D[I].Count - 1));
    }
  }
  EXPECT_EQ(D[2].Low, 1);
  EXPECT_EQ(D[2].High, 100);
  EXPECT_TRUE(D[2].Log);
  EXPECT_EQ(S.count(), std::nullopt);
}

TEST(SearchSpaceTest, ValuesOfRanges) {
  using Ints = std::set<Value>;
  auto Set = [](std::initializer_list<int64_t> Values) {
    Ints S;
    for (int64_t V : Values)
      S.insert(Value(V));
    return S;
  };
  StudyBuilder B;
  B.range("step", "-5", "6", "5")
      .range("log", "24", "100")
      .log()
      .range("recorded", "recorded.block.x - 1", "recorded.block.x");
  SearchSpace S = create(B);
  EXPECT_EQ(*S.count(), 3u * 3 * 2);
  EXPECT_EQ(valuesOf(S, "step"), Set({-5, 0, 5}));
  EXPECT_EQ(valuesOf(S, "log"), Set({24, 48, 96}));
  EXPECT_EQ(valuesOf(S, "recorded"), Set({255, 256}));
}

TEST(SearchSpaceTest, RangesAtTheEndsOfIntegers) {
  StudyBuilder B;
  B.range("n", "-9223372036854775808", "9223372036854775807",
          "4611686018427387904")
      .range("m", "4611686018427387904", "9223372036854775807")
      .log();
  SearchSpace S = create(B);
  EXPECT_EQ(*S.count(), 4u);
  EXPECT_EQ(valuesOf(S, "n"),
            (std::set<Value>{INT64_MIN, -(int64_t(1) << 62), int64_t(0),
                             int64_t(1) << 62}));
  EXPECT_EQ(valuesOf(S, "m"), (std::set<Value>{int64_t(1) << 62}));
}

TEST(SearchSpaceTest, AStudyWithoutParametersHasOnePoint) {
  StudyBuilder B;
  B.field("passes", "'default<O1>'");
  SearchSpace S = create(B);
  EXPECT_EQ(*S.count(), 1u);
  EXPECT_EQ(*S.countValid(), 1u);
  RandomEngine R(1);
  EXPECT_EQ(S.sample(R), Point());
  EXPECT_EQ(S.stratified(5, R).size(), 1u);
  EXPECT_TRUE(S.neighbours({}, R).empty());
  EXPECT_EQ(S.mutate({}, 1, R), std::nullopt);
  EXPECT_EQ(configOf(S, {}), R"({"passes":"default<O1>"})");
}

TEST(SearchSpaceTest, MakePointAndValues) {
  StudyBuilder B;
  B.range("int", "10", "20", "3")
      .range("log", "32", "1024")
      .log()
      .range("real", "0.0", "1.0")
      .boolean("bool")
      .choice("text", {"'a'", "'b'"})
      .pipeline("passes", "function({sroa|gvn,licm?})");
  SearchSpace S = create(B);
  StringMap<Value> V = {{"int", int64_t(16)},
                        {"log", int64_t(128)},
                        {"real", 0.25},
                        {"bool", true},
                        {"text", std::string("b")},
                        {"passes", std::string("function(gvn,licm)")}};
  Expected<Point> P = S.makePoint(V);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  StringMap<Value> Back = S.values(*P);
  EXPECT_EQ(Back.size(), V.size());
  for (const auto &Entry : V)
    EXPECT_EQ(Back[Entry.getKey()], Entry.getValue()) << Entry.getKey().str();

  // As JSON has them.
  V["int"] = 16.0;
  V["real"] = int64_t(1);
  P = S.makePoint(V);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(textOf(S, *P, "int"), Value(int64_t(16)));
  EXPECT_EQ(textOf(S, *P, "real"), Value(1.0));

  const std::pair<const char *, Value> Wrong[] = {
      {"int", int64_t(11)},   {"int", int64_t(22)},   {"int", int64_t(7)},
      {"int", 13.5},          {"int", "13"},          {"int", true},
      {"log", int64_t(96)},   {"log", int64_t(2048)}, {"real", 1.5},
      {"real", -0.5},         {"bool", int64_t(1)},   {"text", "c"},
      {"passes", "function(licm)"}, {"passes", int64_t(0)}};
  for (const auto &[Name, Bad] : Wrong) {
    StringMap<Value> W = {{Name, Bad}};
    EXPECT_THAT_EXPECTED(S.makePoint(W),
                         FailedWithMessage("parameter '" + std::string(Name) +
                                           "' cannot be " + print(Bad)));
  }
  StringMap<Value> Unknown = {{"ints", int64_t(16)}};
  EXPECT_THAT_EXPECTED(S.makePoint(Unknown),
                       FailedWithMessage("there is no parameter 'ints'"));
}

TEST(SearchSpaceTest, CanonicalizeRepairsNumbers) {
  StudyBuilder B;
  B.range("n", "0", "9").range("r", "0.5", "2.0");
  SearchSpace S = create(B);
  Point P = {3.4, 1.0};
  S.canonicalize(P);
  EXPECT_EQ(P, (Point{3, 1}));
  P = {-0.2, 9.0};
  S.canonicalize(P);
  EXPECT_EQ(P, (Point{0, 2}));
  EXPECT_FALSE(std::signbit(P[0]));
  P = {1e300, std::nan("")};
  S.canonicalize(P);
  EXPECT_EQ(P, (Point{9, 0.5}));
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

TEST(SearchSpaceTest, Configure) {
  StudyBuilder B;
  B.range("block", "64", "1024", "64")
      .boolean("fast")
      .range("threshold", "0.5", "1.5")
      .derive("grid", "ceildiv(recorded.threads, block)")
      .require("grid <= 200", "too many blocks")
      .require("block != 640")
      .field("block.x", "block")
      .field("grid.x", "grid")
      .field("specialize", "fast")
      .field("llvm.threshold", "threshold")
      .field("maxnreg", "65536 / (block - 896)");
  SearchSpace S = create(B);
  auto At = [&](int64_t Block) {
    StringMap<Value> V = {{"block", Block}, {"threshold", 0.5}};
    return cantFail(S.makePoint(V));
  };
  EXPECT_EQ(configOf(S, At(1024)),
            R"({"block.x":1024,"grid.x":25,"llvm.threshold":0.5,)"
            R"("maxnreg":512,"specialize":false})");
  EXPECT_TRUE(S.isValid(At(1024)));
  EXPECT_EQ(configOf(S, At(64)), "too many blocks");
  EXPECT_FALSE(S.isValid(At(64)));
  EXPECT_EQ(configOf(S, At(640)), "'block != 640' does not hold");
  // What cannot be computed is as bad.
  EXPECT_EQ(configOf(S, At(896)),
            "field 'maxnreg': division by zero in '65536 / (block - 896)'");
  EXPECT_FALSE(S.isValid(At(896)));
}

TEST(SearchSpaceTest, FieldsThatAreNotAlwaysSet) {
  StudyBuilder B;
  B.range("registers", "0", "4")
      .boolean("limit")
      .field("specialize", "limit")
      .field("maxnreg", "64 / registers", "limit")
      .field("block.x", "32", "128 / registers > 32");
  SearchSpace S = create(B);
  auto At = [&](int64_t Registers, bool Limit) {
    StringMap<Value> V = {{"registers", Registers}, {"limit", Limit}};
    return cantFail(S.makePoint(V));
  };
  EXPECT_EQ(configOf(S, At(2, true)),
            R"({"block.x":32,"maxnreg":32,"specialize":true})");
  EXPECT_EQ(configOf(S, At(4, false)), R"({"specialize":false})");
  EXPECT_TRUE(S.isValid(At(4, false)));
  EXPECT_EQ(configOf(S, At(0, false)),
            "field 'block.x': division by zero in '128 / registers'");
  EXPECT_FALSE(S.isValid(At(0, false)));
}

TEST(SearchSpaceTest, AFieldIsComputedOnlyWhereItIsSet) {
  StudyBuilder B;
  B.range("registers", "0", "4")
      .field("maxnreg", "64 / registers", "registers > 0");
  SearchSpace S = create(B);
  EXPECT_EQ(configOf(S, S.defaultPoint()), "{}");
  EXPECT_TRUE(S.isValid(S.defaultPoint()));
}

TEST(SearchSpaceTest, DefaultsAreAsRecorded) {
  StudyBuilder B;
  B.range("x", "32", "1024", "32")
      .range("y", "2", "8")
      .range("z", "1", "8")
      .startWith("4")
      .range("other", "32", "1024", "32")
      .choice("passes", {"'default<O1>'", "'default<O3>'", "'default<O2>'"})
      .choice("codegen", {"1", "2", "3"})
      .choice("regs", {"32", "64", "0"})
      .choice("specialize", {"true", "false"})
      .choice("threshold", {"100", "0"})
      .field("block.x", "x")
      .field("block.y", "y")
      .field("block.z", "z")
      .field("grid.x", "other + 1")
      .field("passes", "passes")
      .field("codegen_opt", "codegen")
      .field("maxnreg", "regs")
      .field("specialize", "specialize")
      .field("llvm.unroll-threshold", "threshold");
  SearchSpace S = create(B);
  StringMap<Value> V = S.values(S.defaultPoint());
  EXPECT_EQ(V["x"], Value(int64_t(256)));
  EXPECT_EQ(V["y"], Value(int64_t(2))); // 1 is not there.
  EXPECT_EQ(V["z"], Value(int64_t(4)));
  EXPECT_EQ(V["other"], Value(int64_t(32)));
  EXPECT_EQ(V["passes"], Value("default<O3>"));
  EXPECT_EQ(V["codegen"], Value(int64_t(3)));
  EXPECT_EQ(V["regs"], Value(int64_t(0)));
  EXPECT_EQ(V["specialize"], Value(false));
  EXPECT_EQ(V["threshold"], Value(int64_t(100)));
  StringMap<Value> None;
  EXPECT_THAT_EXPECTED(S.makePoint(None), HasValue(S.defaultPoint()));
}

TEST(SearchSpaceTest, ThePipelineStartsAsRecorded) {
  StudyBuilder B;
  B.pipeline("passes", "{default<{O1|O2}>|clang<{O2|O3}>}")
      .field("passes", "passes");
  SearchSpace S = create(B);
  EXPECT_EQ(textOf(S, S.defaultPoint(), "passes"), Value("clang<O3>"));
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

TEST(SearchSpaceTest, ErrorsOfBinding) {
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "1", "recorded.grid.z - 1")),
            "parameter 'n': the range 1..0 is empty");
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "1", "8", "recorded.shared_mem")),
            "parameter 'n': the step 0 is not positive");
  EXPECT_EQ(
      errorOf(StudyBuilder().range("n", "recorded.shared_mem", "8").log()),
      "parameter 'n': the lower bound 0 of a logarithmic range is not "
      "positive");
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "1", "8 / recorded.shared_mem")),
            "parameter 'n': division by zero in '8 / recorded.shared_mem'");
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "0", "9223372036854775807")),
            "parameter 'n': the range 0..9223372036854775807 has too many "
            "values");
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "1", "8").startWith("9")),
            "parameter 'n': the default 9 is not one of its values");
  EXPECT_EQ(
      errorOf(StudyBuilder().pipeline("p", "{a|b}").startWith("'c'")),
      "parameter 'p': the default \"c\" is not one of its values");
  StudyBuilder Wrong;
  Wrong.S.Objectives.clear();
  EXPECT_EQ(errorOf(Wrong), "the study has no objective");
}

TEST(SearchSpaceTest, ARecordedFactThatIsMissing) {
  RecordedFacts F = makeFacts();
  F.erase("threads");
  auto ErrorOf = [&](const StudyBuilder &B) {
    Expected<SearchSpace> S = SearchSpace::create(B.S, F);
    return S ? "no error" : toString(S.takeError());
  };
  EXPECT_EQ(ErrorOf(StudyBuilder().range("n", "1", "recorded.threads")),
            "parameter 'n': 'recorded.threads' is not known");
  EXPECT_EQ(ErrorOf(StudyBuilder().field("grid.x", "recorded.threads")),
            "field 'grid.x': 'recorded.threads' is not known");
}

TEST(SearchSpaceTest, ASpaceWithoutPoints) {
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "1", "8").require("n > 8")),
            "no point is valid: 'n > 8' does not hold");
  EXPECT_EQ(errorOf(StudyBuilder()
                        .range("n", "1", "8")
                        .range("m", "1", "8")
                        .require("n + m > 8", "large")
                        .require("n * m < 8", "small")
                        .require("n != m")),
            // 1 and 8, but 8 is not below 8.
            "no point is valid: large; small; 'n != m' does not hold");
  EXPECT_EQ(errorOf(StudyBuilder().range("n", "1", "8").require(
                "recorded.block.x < 64", "only small blocks")),
            "no point is valid for this recording: only small blocks");
  EXPECT_EQ(errorOf(StudyBuilder()
                        .range("n", "1", "1000000000")
                        .require("n * 2 == 7", "odd")),
            "no point is valid: odd");
  EXPECT_EQ(errorOf(StudyBuilder()
                        .range("r", "0.0", "1.0")
                        .require("r * r > 2.0", "too small")),
            "no valid point was found in 1000000 tries: too small");
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

TEST(SearchSpaceTest, ParametersThatAreThereSometimes) {
  StudyBuilder B;
  B.boolean("bounds")
      .range("blocks", "1", "4")
      .when("bounds")
      .range("extra", "10", "12")
      .when("blocks > 2")
      .startWith("11")
      .field("set_launch_bounds", "bounds")
      .field("min_blocks_per_sm", "blocks")
      .field("maxnreg", "extra");
  SearchSpace S = create(B);
  // Without bounds: 1. With: 2 with blocks of 1 and 2, 2 * 3 of 3 and 4.
  EXPECT_EQ(*S.count(), 1u + 2 + 6);

  Point P = {0, 3, 2};
  EXPECT_FALSE(S.isActive(P, 1));
  S.canonicalize(P);
  EXPECT_EQ(P, (Point{0, 0, 0}));
  EXPECT_EQ(S.values(P).size(), 1u);
  // The first value, and the one to start with.
  EXPECT_EQ(configOf(S, P), R"({"maxnreg":11,"min_blocks_per_sm":1,)"
                            R"("set_launch_bounds":false})");
  P = {1, 3, 2};
  EXPECT_TRUE(S.isActive(P, 1));
  EXPECT_TRUE(S.isActive(P, 2));
  Point Q = P;
  S.canonicalize(Q);
  EXPECT_EQ(Q, P);
  EXPECT_EQ(configOf(S, P), R"({"maxnreg":12,"min_blocks_per_sm":4,)"
                            R"("set_launch_bounds":true})");

  StringMap<Value> V = {{"bounds", false}, {"blocks", int64_t(3)}};
  EXPECT_THAT_EXPECTED(S.makePoint(V), HasValue(Point{0, 0, 0}));
}

TEST(SearchSpaceTest, AConditionOnAPipeline) {
  StudyBuilder B;
  B.pipeline("passes", "{default<{O1|O3}>|function(sroa,gvn?)}")
      .range("threshold", "1", "10")
      .when("passes == 'default<O3>'");
  SearchSpace S = create(B);
  EXPECT_EQ(*S.count(), 3u + 10);
  StringMap<Value> V = {{"passes", std::string("default<O3>")},
                        {"threshold", int64_t(5)}};
  Point P = cantFail(S.makePoint(V));
  EXPECT_EQ(textOf(S, P, "threshold"), Value(int64_t(5)));
  V["passes"] = std::string("function(sroa)");
  EXPECT_EQ(S.values(cantFail(S.makePoint(V))).count("threshold"), 0u);
}

TEST(SearchSpaceTest, AConditionOfRecordedFacts) {
  StudyBuilder B;
  B.range("x", "1", "4")
      .when("recorded.threads.x > 1")
      .range("y", "1", "4")
      .when("recorded.threads.y > 1");
  SearchSpace S = create(B);
  EXPECT_EQ(*S.count(), 4u);
  RandomEngine R(1);
  for (unsigned I = 0; I != 20; ++I)
    EXPECT_EQ((*S.sample(R))[1], 0);
}

TEST(SearchSpaceTest, AConditionThatCannotBeComputed) {
  StudyBuilder B;
  B.range("n", "0", "3").range("m", "1", "5").when("12 / n > 4");
  SearchSpace S = create(B);
  EXPECT_EQ(*S.count(), 1u + 5 + 5 + 1);
  EXPECT_EQ(*S.countValid(), 5u + 5 + 1);
  EXPECT_EQ(configOf(S, {0, 0}),
            "the condition of 'm': division by zero in '12 / n'");
}

TEST(SearchSpaceTest, ManyConditionsThatHaveNothingToDoWithEachOther) {
  StudyBuilder B;
  for (unsigned I = 0; I != 40; ++I) {
    std::string N = std::to_string(I);
    B.boolean("on" + N).range("n" + N, "1", "9").when("on" + N);
  }
  SearchSpace S = create(B);
  APInt Wanted(200, 1);
  for (unsigned I = 0; I != 40; ++I)
    Wanted *= 10;
  ASSERT_TRUE(S.count());
  EXPECT_EQ(S.count()->zextOrTrunc(200), Wanted);
  // Numbers and points are one to one.
  RandomEngine R(3);
  std::set<Point> Seen;
  for (unsigned I = 0; I != 100; ++I) {
    APInt Index(S.count()->getBitWidth(), R());
    Index = Index.shl(60);
    Index += I;
    Point P = S.at(Index);
    Point Q = P;
    S.canonicalize(Q);
    EXPECT_EQ(P, Q);
    Seen.insert(P);
  }
  EXPECT_EQ(Seen.size(), 100u);
}

TEST(SearchSpaceTest, TooManyCombinationsToCount) {
  StudyBuilder B;
  std::string All = "true";
  for (unsigned I = 0; I != 20; ++I) {
    std::string N = "on" + std::to_string(I);
    B.boolean(N);
    All += " && " + N;
  }
  B.range("n", "1", "9").when(All).range("m", "1", "9").when("!on3");
  SearchSpace S = create(B);
  EXPECT_EQ(S.count(), std::nullopt);
  EXPECT_EQ(S.countValid(), std::nullopt);
  RandomEngine R(1);
  for (unsigned I = 0; I != 100; ++I) {
    Point P = *S.sample(R), Q = P;
    S.canonicalize(Q);
    EXPECT_EQ(P, Q);
  }
}

//===----------------------------------------------------------------------===//
// Everything against brute force
//===----------------------------------------------------------------------===//

/// A small study with random conditions and constraints.
StudyBuilder makeRandomStudy(RandomEngine &R) {
  auto Below = [&](unsigned N) { return unsigned(R() % N); };
  StudyBuilder B;
  std::vector<std::string> Numbers, Bools, Texts;
  auto Condition = [&]() -> std::string {
    std::vector<std::string> C;
    if (!Numbers.empty()) {
      std::string A = Numbers[Below(Numbers.size())];
      std::string Other = Numbers[Below(Numbers.size())];
      C.push_back(A + " > " + std::to_string(Below(4)));
      C.push_back(A + " % 2 == " + std::to_string(Below(2)));
      C.push_back(A + " != " + Other + " + 1");
      C.push_back("6 / " + A + " > 2"); // May fail.
    }
    if (!Bools.empty()) {
      C.push_back(Bools[Below(Bools.size())]);
      C.push_back("!" + Bools[Below(Bools.size())]);
    }
    if (!Texts.empty())
      C.push_back(Texts[Below(Texts.size())] + " != 'a'");
    if (C.empty())
      return "recorded.block == 256";
    return C[Below(C.size())];
  };
  unsigned N = 1 + Below(5);
  for (unsigned I = 0; I != N; ++I) {
    std::string Name = "p" + std::to_string(I);
    std::string When = Below(2) ? Condition() : "";
    switch (Below(5)) {
    case 0:
      B.range(Name, std::to_string(Below(3)), std::to_string(2 + Below(4)));
      Numbers.push_back(Name);
      break;
    case 1:
      B.range(Name, std::to_string(1 + Below(3)), "8").log();
      Numbers.push_back(Name);
      break;
    case 2:
      B.boolean(Name);
      Bools.push_back(Name);
      break;
    case 3:
      B.choice(Name, {"'a'", "'b'", "'c'"});
      Texts.push_back(Name);
      break;
    case 4:
      B.pipeline(Name, Below(2) ? "{a|b?|c<n=[1..3]>}" : "seq<1..2>(a|b)");
      Texts.push_back(Name);
      break;
    }
    if (!When.empty())
      B.when(When);
  }
  if (!Numbers.empty() && Below(2))
    B.derive("sum", Numbers[Below(Numbers.size())] + " + " +
                        Numbers[Below(Numbers.size())])
        .field("maxnreg", "12 / sum");
  for (unsigned I = Below(3); I != 0; --I)
    B.require(Condition());
  return B;
}

/// All canonical points, by going through all numbers of all dimensions.
std::set<Point> enumerateAll(const SearchSpace &S) {
  std::set<Point> All;
  Point P(S.dimensions().size(), 0);
  while (true) {
    Point Q = P;
    S.canonicalize(Q);
    All.insert(Q);
    size_t D = 0;
    while (D != P.size() && ++P[D] > S.dimensions()[D].High)
      P[D++] = 0;
    if (D == P.size())
      return All;
  }
}

void checkAgainstBruteForce(const SearchSpace &S, RandomEngine &R) {
  std::set<Point> All = enumerateAll(S), Valid;
  std::set<uint64_t> Digests;
  for (const Point &P : All) {
    // isValid() and configure() agree.
    bool IsConfig = errorToBool(S.configure(P).takeError()) == false;
    EXPECT_EQ(S.isValid(P), IsConfig);
    if (IsConfig)
      Valid.insert(P);
    Digests.insert(S.digest(P));
    // Values make the point again, unless it starts elsewhere.
    EXPECT_THAT_EXPECTED(S.makePoint(S.values(P)), HasValue(P));
  }
  EXPECT_EQ(Digests.size(), All.size());

  ASSERT_TRUE(S.count());
  EXPECT_EQ(*S.count(), All.size());
  std::set<Point> Counted;
  for (uint64_t I = 0, E = S.count()->getZExtValue(); I != E; ++I)
    Counted.insert(S.at(APInt(64, I)));
  EXPECT_EQ(Counted, All);
  ASSERT_TRUE(S.countValid());
  EXPECT_EQ(*S.countValid(), Valid.size());
  Counted.clear();
  for (uint64_t I = 0, E = S.countValid()->getZExtValue(); I != E; ++I)
    Counted.insert(S.validAt(APInt(64, I)));
  EXPECT_EQ(Counted, Valid);
  EXPECT_TRUE(All.count(S.defaultPoint()));

  for (unsigned I = 0; I != 20; ++I) {
    std::optional<Point> P = S.sample(R);
    ASSERT_TRUE(P);
    ASSERT_TRUE(Valid.count(*P));
    std::set<Point> Seen;
    for (const Point &Q : S.neighbours(*P, R)) {
      EXPECT_TRUE(Valid.count(Q));
      EXPECT_NE(Q, *P);
      EXPECT_TRUE(Seen.insert(Q).second);
    }
    std::optional<Point> M = S.mutate(*P, 1 + I % 3, R);
    EXPECT_EQ(M.has_value(), Valid.size() > 1);
    if (M) {
      EXPECT_TRUE(Valid.count(*M));
      EXPECT_NE(*M, *P);
    }
    std::optional<Point> C = S.crossover(*P, *S.sample(R), R);
    ASSERT_TRUE(C);
    EXPECT_TRUE(Valid.count(*C));
  }
  for (unsigned N : {1u, 5u, 1000u}) {
    std::vector<Point> Points = S.stratified(N, R);
    std::set<Point> Distinct(Points.begin(), Points.end());
    EXPECT_EQ(Distinct.size(), Points.size());
    EXPECT_TRUE(all_of(Points, [&](const Point &P) { return Valid.count(P); }));
    if (Valid.size() <= N)
      EXPECT_EQ(Distinct, Valid);
    else
      EXPECT_GT(Points.size(), 0u);
  }
}

TEST(SearchSpaceTest, AgreesWithBruteForce) {
  RandomEngine R(7);
  unsigned Checked = 0, Empty = 0, Conditional = 0, Constrained = 0;
  while (Checked != 300) {
    StudyBuilder B = makeRandomStudy(R);
    Expected<SearchSpace> S = SearchSpace::create(B.S, makeFacts());
    if (!S) {
      // Nothing else can be wrong.
      std::string Message = toString(S.takeError());
      EXPECT_TRUE(StringRef(Message).starts_with("no point is valid"))
          << Message;
      ++Empty;
      continue;
    }
    ++Checked;
    Constrained += !B.S.Constraints.empty();
    Conditional += any_of(B.S.Parameters,
                          [](const Parameter &P) { return bool(P.When); });
    checkAgainstBruteForce(*S, R);
    if (HasFailure()) {
      for (const Parameter &P : B.S.Parameters)
        errs() << P.Name << " " << P.Kind
               << (P.When ? " when " + P.When.print() : "") << "\n";
      for (const Constraint &C : B.S.Constraints)
        errs() << "require " << C.Holds.print() << "\n";
      return;
    }
  }
  EXPECT_GT(Conditional, 100u);
  EXPECT_GT(Constrained, 100u);
  EXPECT_LT(Empty, 200u);
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

/// No share is further from even than chance makes it.
void expectEven(const std::map<Point, unsigned> &Counts, unsigned Draws,
                size_t Cells) {
  EXPECT_EQ(Counts.size(), Cells);
  double Even = double(Draws) / double(Cells), Chi = 0;
  for (const auto &Entry : Counts)
    Chi += (Entry.second - Even) * (Entry.second - Even) / Even;
  // Mean Cells - 1, variance twice that.
  double Freedom = double(Cells) - 1;
  EXPECT_LT(Chi, Freedom + 5 * std::sqrt(2 * Freedom));
}

TEST(SearchSpaceTest, EveryValidPointIsAsLikely) {
  StudyBuilder B;
  B.boolean("on")
      .range("n", "1", "20")
      .when("on")
      .range("m", "1", "4")
      .pipeline("p", "{a|b?|c<n=[1..3]>}")
      .require("n * m <= 30");
  SearchSpace S = create(B);
  size_t Valid = S.countValid()->getZExtValue();
  EXPECT_LT(Valid, S.count()->getZExtValue());
  RandomEngine R(5);
  std::map<Point, unsigned> Counts;
  for (unsigned I = 0; I != 100000; ++I)
    ++Counts[*S.sample(R)];
  expectEven(Counts, 100000, Valid);
}

TEST(SearchSpaceTest, TriesAreAsEvenAsTables) {
  // A real parameter under a constraint leaves no table.
  StudyBuilder B;
  B.range("n", "1", "20").range("r", "0.0", "1.0").require("n < 5 || r < 0.5");
  SearchSpace S = create(B);
  EXPECT_EQ(S.countValid(), std::nullopt);
  RandomEngine R(5);
  std::map<Point, unsigned> Counts;
  for (unsigned I = 0; I != 40000; ++I) {
    Point P = *S.sample(R);
    ASSERT_TRUE(S.isValid(P));
    // 4 whole ones and 16 halves.
    ++Counts[{P[0], double(P[1] < 0.5)}];
  }
  expectEven(Counts, 40000, 24);
}

TEST(SearchSpaceTest, TightConstraints) {
  // 1000 of a million.
  StudyBuilder B;
  B.range("x", "1", "1000")
      .range("y", "1", "1000")
      .require("x == y", "square")
      .pipeline("passes", "seq<1..30>(a|b|c)");
  SearchSpace S = create(B);
  RandomEngine R(1);
  std::set<double> Seen;
  for (unsigned I = 0; I != 300; ++I) {
    std::optional<Point> P = S.sample(R);
    ASSERT_TRUE(P);
    EXPECT_EQ((*P)[0], (*P)[1]);
    Seen.insert((*P)[0]);
    std::optional<Point> Q = S.mutate(*P, 1, R);
    ASSERT_TRUE(Q);
    EXPECT_TRUE(S.isValid(*Q));
    std::optional<Point> C = S.crossover(*P, *Q, R);
    ASSERT_TRUE(C);
    EXPECT_TRUE(S.isValid(*C));
  }
  EXPECT_GT(Seen.size(), 200u);
}

TEST(SearchSpaceTest, ATableForWhatConstraintsSpeakOf) {
  // The rest of the space may be as large as it likes.
  StudyBuilder B;
  B.range("x", "1", "256")
      .range("y", "1", "256")
      .require("x * y == 256")
      .pipeline("passes", "seq<1..60>(a|b|c|d)");
  SearchSpace S = create(B);
  ASSERT_TRUE(S.countValid());
  APInt Pipelines(200, 0), Power(200, 1);
  for (unsigned I = 1; I <= 60; ++I)
    Pipelines += Power <<= 2;
  EXPECT_EQ(S.countValid()->zextOrTrunc(200), Pipelines * 9);
  RandomEngine R(1);
  std::set<std::pair<double, double>> Seen;
  for (unsigned I = 0; I != 200; ++I) {
    Point P = *S.sample(R);
    EXPECT_TRUE(S.isValid(P));
    Seen.insert({P[0], P[1]});
  }
  EXPECT_EQ(Seen.size(), 9u);
}

TEST(SearchSpaceTest, BlocksOfEveryShape) {
  // One of 2000, which would be many tries.
  StudyBuilder B;
  B.range("x", "1", "1024")
      .range("y", "1", "1024")
      .range("z", "1", "64")
      .derive("threads", "x * y * z")
      .require("threads <= 1024")
      .require("threads % 32 == 0");
  SearchSpace S = create(B);
  uint64_t Wanted = 0;
  for (uint64_t X = 1; X <= 1024; ++X)
    for (uint64_t Y = 1; X * Y <= 1024; ++Y)
      for (uint64_t Z = 1; Z <= 64 && X * Y * Z <= 1024; ++Z)
        Wanted += X * Y * Z % 32 == 0;
  ASSERT_TRUE(S.countValid());
  EXPECT_EQ(*S.countValid(), Wanted);
  EXPECT_EQ(*S.count(), 1024u * 1024 * 64);
  for (uint64_t K = 0; K < Wanted; K += 97)
    EXPECT_TRUE(S.isValid(S.validAt(APInt(64, K))));
}

TEST(SearchSpaceTest, LogarithmicRealsAreEvenOnTheirScale) {
  StudyBuilder B;
  B.range("r", "1.0", "10000.0").log();
  SearchSpace S = create(B);
  RandomEngine R(1);
  unsigned Small = 0;
  for (unsigned I = 0; I != 2000; ++I) {
    Point P = *S.sample(R);
    EXPECT_GE(P[0], 1);
    EXPECT_LE(P[0], 10000);
    Small += P[0] < 100;
  }
  EXPECT_NEAR(Small, 1000, 120);
  const Dimension &D = S.dimensions()[0];
  EXPECT_DOUBLE_EQ(toUnit(D, 100), 0.5);
  EXPECT_DOUBLE_EQ(fromUnit(D, 0.25), 10);
}

TEST(SearchSpaceTest, TheSameSeedGivesTheSame) {
  StudyBuilder B;
  B.range("n", "1", "100")
      .boolean("on")
      .range("r", "0.0", "1.0")
      .when("on")
      .pipeline("p", "seq<2..5>(a|b|c)")
      .require("n > 3");
  SearchSpace S = create(B), T = create(B);
  RandomEngine RS(9), RT(9);
  T.defaultPoint();
  for (unsigned I = 0; I != 20; ++I) {
    Point P = *S.sample(RS);
    EXPECT_EQ(P, *T.sample(RT));
    EXPECT_EQ(S.mutate(P, 2, RS), T.mutate(P, 2, RT));
    EXPECT_EQ(S.neighbours(P, RS), T.neighbours(P, RT));
    EXPECT_EQ(S.stratified(7, RS), T.stratified(7, RT));
    EXPECT_EQ(S.digest(P), T.digest(P));
  }
}

//===----------------------------------------------------------------------===//
// Stratified points
//===----------------------------------------------------------------------===//

TEST(SearchSpaceTest, StratifiedPointsShareOutAllValues) {
  StudyBuilder B;
  B.range("n", "1", "5")
      .boolean("on")
      .range("r", "0.0", "1.0")
      .range("l", "1.0", "1024.0")
      .log()
      .pipeline("p", "{a|b|c|d}");
  SearchSpace S = create(B);
  RandomEngine R(2);
  std::vector<Point> Points = S.stratified(20, R);
  ASSERT_EQ(Points.size(), 20u);
  for (auto [D, Dim] : enumerate(S.dimensions())) {
    // In as many shares as there are values, or points.
    unsigned Shares = Dim.Count ? Dim.Count : 20;
    std::vector<unsigned> Used(Shares);
    for (const Point &P : Points)
      ++Used[Dim.Count
                 ? unsigned(P[D])
                 : std::min(unsigned(toUnit(Dim, P[D]) * 20), 19u)];
    for (unsigned U : Used)
      EXPECT_EQ(U, 20 / Shares) << Dim.Name;
  }
}

TEST(SearchSpaceTest, StratifiedPointsUnderConstraintsAreNearlyEven) {
  StudyBuilder B;
  B.range("x", "1", "16")
      .range("y", "1", "16")
      .require("x + y <= 17")
      .boolean("on");
  SearchSpace S = create(B);
  RandomEngine R(2);
  std::vector<Point> Points = S.stratified(16, R);
  ASSERT_EQ(Points.size(), 16u);
  std::set<double> X, Y;
  unsigned On = 0;
  for (const Point &P : Points) {
    EXPECT_TRUE(S.isValid(P));
    X.insert(P[0]);
    Y.insert(P[1]);
    On += P[2] == 1;
  }
  // Independent draws would have about 9 different ones.
  EXPECT_GE(X.size(), 12u);
  EXPECT_GE(Y.size(), 12u);
  EXPECT_EQ(On, 8u);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST(SearchSpaceTest, NeighboursAreOneStepAway) {
  StudyBuilder B;
  B.range("n", "1", "5")
      .boolean("on")
      .choice("text", {"'a'", "'b'", "'c'"})
      .range("r", "0.0", "1.0");
  SearchSpace S = create(B);
  RandomEngine R(1);
  std::vector<Point> N = S.neighbours({2, 0, 1, 0.5}, R);
  std::set<Point> Got(N.begin(), N.end());
  std::set<Point> Wanted = {{1, 0, 1, 0.5}, {3, 0, 1, 0.5}, {2, 1, 1, 0.5},
                            {2, 0, 0, 0.5}, {2, 0, 2, 0.5}, {2, 0, 1, 0.2},
                            {2, 0, 1, 0.4}, {2, 0, 1, 0.6}, {2, 0, 1, 0.8}};
  EXPECT_EQ(Got.size(), Wanted.size());
  for (const Point &W : Wanted)
    EXPECT_TRUE(any_of(Got, [&](const Point &G) {
      return ArrayRef(G).drop_back() == ArrayRef(W).drop_back() &&
             std::abs(G.back() - W.back()) < 1e-9;
    }));
  // At the ends.
  EXPECT_EQ(S.neighbours({0, 0, 0, 0.0}, R).size(), 1u + 1 + 2 + 2);
}

TEST(SearchSpaceTest, NeighboursOfLongLists) {
  StudyBuilder B;
  std::vector<std::string> Texts;
  for (unsigned I = 0; I != 100; ++I)
    Texts.push_back("'t" + std::to_string(I) + "'");
  B.choice("text", std::vector<StringRef>(Texts.begin(), Texts.end()));
  SearchSpace S = create(B);
  RandomEngine R(1);
  EXPECT_EQ(S.neighbours({5}, R).size(), 16u);
}

TEST(SearchSpaceTest, SomeOfManyNeighbours) {
  StudyBuilder B;
  B.pipeline("p", "function(seq<1..20>(a|b|c))").boolean("on");
  for (char C = 'a'; C <= 'z'; ++C)
    B.range(std::string("n") + C, "0", "9");
  SearchSpace S = create(B);
  RandomEngine R(1);
  Point P = *S.sample(R);
  std::vector<Point> All = S.neighbours(P, R);
  std::set<Point> Known(All.begin(), All.end());
  EXPECT_EQ(S.neighbours(P, R, 1000), All);
  std::set<unsigned> Changed;
  for (unsigned I = 0; I != 20; ++I) {
    std::vector<Point> Some = S.neighbours(P, R, 10);
    EXPECT_EQ(Some.size(), 10u);
    for (const Point &Q : Some) {
      EXPECT_TRUE(Known.count(Q));
      for (auto [Dim, D] : enumerate(S.dimensions()))
        if (P[Dim] != Q[Dim])
          Changed.insert(D.Parameter);
    }
  }
  EXPECT_EQ(Changed.size(), 28u) << "any of them";
}

TEST(SearchSpaceTest, ActivityIsThatOfEachDimension) {
  StudyBuilder B;
  B.boolean("on")
      .range("n", "1", "5")
      .when("on")
      .pipeline("p", "function(seq<1..4>(a|{b|c}),d?)")
      .when("!on || n > 2");
  SearchSpace S = create(B);
  RandomEngine R(1);
  unsigned Inactive = 0;
  for (unsigned I = 0; I != 50; ++I) {
    Point P = *S.sample(R);
    BitVector Active = S.activity(P);
    ASSERT_EQ(Active.size(), P.size());
    for (unsigned Dim = 0; Dim != P.size(); ++Dim)
      EXPECT_EQ(Active[Dim], S.isActive(P, Dim));
    Inactive += Active.size() - Active.count();
  }
  EXPECT_GT(Inactive, 0u);
}

TEST(SearchSpaceTest, KnowsWhatIsAsRecorded) {
  StudyBuilder B;
  B.range("threads", "32", "512", "32")
      .range("x", "1", "4")
      .derive("cells", "threads * x")
      .pipeline("p", "{clang<O3>|default<O3>}")
      .field("block.x", "threads")
      .field("grid.x", "ceildiv(recorded.threads, cells)")
      .field("shared_mem", "x * 4")
      .field("passes", "p")
      .field("maxnreg", "32")
      .field("llvm.unroll", "x");
  SearchSpace S = create(B);
  EXPECT_TRUE(S.isAsRecorded("block.x", 256));
  EXPECT_FALSE(S.isAsRecorded("block.x", 128));
  EXPECT_TRUE(S.isAsRecorded("grid.x", 100));
  EXPECT_TRUE(S.isAsRecorded("shared_mem", 0));
  EXPECT_TRUE(S.isAsRecorded("codegen_opt", 3));
  EXPECT_TRUE(S.isAsRecorded("specialize", false));
  EXPECT_TRUE(S.isAsRecorded("maxnreg", 0));
  EXPECT_TRUE(S.isAsRecorded("passes", "clang<O3>"));
  EXPECT_FALSE(S.isAsRecorded("passes", "default<O3>")) << "near, not equal";
  EXPECT_FALSE(S.isAsRecorded("llvm.unroll", 0)) << "its default is not known";

  EXPECT_TRUE(S.getSources("block.x").empty());
  EXPECT_EQ(S.getSources("grid.x"),
            (std::vector<std::string>{"block.x", "llvm.unroll"}));
  EXPECT_EQ(S.getSources("shared_mem"),
            std::vector<std::string>{"llvm.unroll"});
  EXPECT_TRUE(S.getSources("maxnreg").empty());
  EXPECT_TRUE(S.getSources("none").empty());
}

TEST(SearchSpaceTest, WhatANeighbourGainsStartsAtItsDefault) {
  StudyBuilder B;
  B.boolean("on").range("n", "1", "5").when("on").startWith("3");
  SearchSpace S = create(B);
  RandomEngine R(1);
  EXPECT_EQ(S.neighbours({0, 0}, R), (std::vector<Point>{{1, 2}}));
  std::vector<Point> N = S.neighbours({1, 2}, R);
  EXPECT_EQ(std::set<Point>(N.begin(), N.end()),
            (std::set<Point>{{0, 0}, {1, 1}, {1, 3}}));
}

TEST(SearchSpaceTest, PipelinesChangeByTheirStructure) {
  StudyBuilder B;
  B.pipeline("p", "function(perm(a,b,c,d))").boolean("on");
  SearchSpace S = create(B);
  StringMap<Value> V = {{"p", std::string("function(a,b,c,d)")}};
  Point P = cantFail(S.makePoint(V));
  RandomEngine R(1);
  std::set<std::string> Texts;
  unsigned Others = 0;
  for (const Point &Q : S.neighbours(P, R)) {
    std::string Text = std::get<std::string>(textOf(S, Q, "p"));
    if (Text == "function(a,b,c,d)")
      ++Others;
    else
      Texts.insert(Text);
  }
  EXPECT_EQ(Others, 1u);
  for (const char *Swapped :
       {"function(b,a,c,d)", "function(a,c,b,d)", "function(a,b,d,c)"})
    EXPECT_TRUE(Texts.count(Swapped)) << Swapped;
}

TEST(SearchSpaceTest, MutationsReachEverything) {
  StudyBuilder B;
  B.range("n", "1", "50")
      .boolean("on")
      .choice("text", {"'a'", "'b'", "'c'"})
      .when("on")
      .range("r", "0.0", "1.0")
      .pipeline("p", "seq<1..3>(a|b)");
  SearchSpace S = create(B);
  RandomEngine R(1);
  Point P = S.defaultPoint();
  std::vector<std::set<double>> Seen(P.size());
  for (unsigned I = 0; I != 3000; ++I) {
    std::optional<Point> Q = S.mutate(P, 1, R);
    ASSERT_TRUE(Q);
    Point C = *Q;
    S.canonicalize(C);
    ASSERT_EQ(C, *Q);
    P = *Q;
    for (auto [D, Number] : enumerate(P))
      Seen[D].insert(Number);
  }
  for (auto [D, Dim] : enumerate(S.dimensions()))
    EXPECT_GE(Seen[D].size(), Dim.Count ? Dim.Count : 100) << Dim.Name;
}

TEST(SearchSpaceTest, CrossoverTakesFromBoth) {
  StudyBuilder B;
  for (unsigned I = 0; I != 8; ++I)
    B.range("n" + std::to_string(I), "1", "9");
  SearchSpace S = create(B);
  Point A(8, 2), C(8, 7);
  RandomEngine R(1);
  unsigned Mixed = 0;
  for (unsigned I = 0; I != 100; ++I) {
    Point Q = *S.crossover(A, C, R);
    EXPECT_TRUE(all_of(Q, [](double N) { return N == 2 || N == 7; }));
    Mixed += is_contained(Q, 2.0) && is_contained(Q, 7.0);
  }
  EXPECT_GT(Mixed, 90u);
}

TEST(SearchSpaceTest, DigestsTellPointsApart) {
  StudyBuilder B;
  B.range("n", "0", "9").range("m", "0", "9").range("r", "0.0", "1.0");
  SearchSpace S = create(B);
  EXPECT_EQ(S.digest({1, 2, 0.5}), S.digest({1, 2, 0.5}));
  EXPECT_NE(S.digest({1, 2, 0.5}), S.digest({2, 1, 0.5}));
  EXPECT_NE(S.digest({1, 2, 0.5}), S.digest({1, 2, 0.25}));
}

} // namespace
