//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Compare.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace llvm::mneme;

static constexpr double Inf = std::numeric_limits<double>::infinity();

template <typename T> static ArrayRef<char> bytesOf(const std::vector<T> &V) {
  return {reinterpret_cast<const char *>(V.data()), V.size() * sizeof(T)};
}

template <typename T>
static CompareStats compare(const std::vector<T> &Expected,
                            const std::vector<T> &Actual,
                            const CompareRule &Rule) {
  return compareMemory(bytesOf(Expected), bytesOf(Actual), Rule);
}

static CompareRule makeRule(uint32_t DType, uint32_t Tolerance = 0,
                            double Value = 0, uint32_t Norm = 0,
                            NaNRule NaN = NaNRule::Equal) {
  CompareRule R;
  R.DType = DType;
  R.Tolerance = Tolerance;
  R.Value = Value;
  R.Norm = Norm;
  R.NaN = NaN;
  return R;
}

TEST(CompareTest, EqualBytesMatchUnderEveryType) {
  std::vector<uint32_t> V(1000, 0x12345678);
  for (uint32_t D = MNEME_DTYPE_BYTES; D <= MNEME_DTYPE_U64; ++D) {
    CompareStats S = compare(V, V, makeRule(D));
    EXPECT_TRUE(S.Pass);
    EXPECT_EQ(S.Elements, 4000 / getDTypeSize(D));
    EXPECT_EQ(S.Differences + S.Mismatches, 0u);
    EXPECT_FALSE(S.First);
  }
}

TEST(CompareTest, FirstMismatchAndCount) {
  std::vector<uint8_t> E(1000), A(1000);
  A[300] = 7;
  A[301] = 1;
  A[999] = 255;
  CompareStats S = compare(E, A, makeRule(MNEME_DTYPE_BYTES));
  EXPECT_FALSE(S.Pass);
  EXPECT_EQ(S.Mismatches, 3u);
  EXPECT_EQ(S.First, 300u);
  EXPECT_EQ(S.Expected, "0x00");
  EXPECT_EQ(S.Actual, "0x07");
}

TEST(CompareTest, ExactMeansBits) {
  std::vector<float> E = {0.0f}, A = {-0.0f};
  EXPECT_FALSE(compare(E, A, makeRule(MNEME_DTYPE_F32)).Pass);
  CompareStats S =
      compare(E, A, makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_ULP, 0));
  EXPECT_TRUE(S.Pass);
  EXPECT_EQ(S.Differences, 1u);
}

TEST(CompareTest, UlpCountsAcrossZeroAndExponents) {
  float Tiny = std::numeric_limits<float>::denorm_min();
  std::vector<float> E = {-Tiny, 1.0f, 2.0f},
                     A = {Tiny, std::nextafter(1.0f, 0.0f),
                          std::nextafter(2.0f, 3.0f)};
  CompareStats S =
      compare(E, A, makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_ULP, 1));
  EXPECT_EQ(S.MaxUlp, 2);
  EXPECT_EQ(S.Mismatches, 1u);
  EXPECT_EQ(S.First, 0u);
  EXPECT_TRUE(
      compare(E, A, makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_ULP, 2)).Pass);
}

TEST(CompareTest, AbsoluteAndRelative) {
  std::vector<double> E = {100, 0, -1e-3}, A = {101, 1e-9, -1.1e-3};
  CompareStats S =
      compare(E, A, makeRule(MNEME_DTYPE_F64, MNEME_TOLERANCE_ABS, 0.5));
  EXPECT_EQ(S.Mismatches, 1u);
  EXPECT_DOUBLE_EQ(S.MaxAbs, 1);
  EXPECT_EQ(S.MaxRel, Inf); // a recorded zero has no relative error
  S = compare(E, A, makeRule(MNEME_DTYPE_F64, MNEME_TOLERANCE_REL, 0.05));
  EXPECT_EQ(S.Mismatches, 2u);
  EXPECT_EQ(S.First, 1u);
  EXPECT_EQ(S.Actual, "1.0000000000000001e-09");
}

TEST(CompareTest, HalfAndBFloat) {
  // 1.0 and its upper neighbour.
  std::vector<uint16_t> E = {0x3c00}, A = {0x3c01};
  CompareStats S =
      compare(E, A, makeRule(MNEME_DTYPE_F16, MNEME_TOLERANCE_ULP, 1));
  EXPECT_TRUE(S.Pass);
  EXPECT_DOUBLE_EQ(S.MaxAbs, std::ldexp(1, -10));
  E = {0x3f80}, A = {0x3f81};
  S = compare(E, A, makeRule(MNEME_DTYPE_BF16, MNEME_TOLERANCE_ULP, 1));
  EXPECT_TRUE(S.Pass);
  EXPECT_DOUBLE_EQ(S.MaxAbs, std::ldexp(1, -7));
  // Subnormal half, infinity.
  E = {0x0001, 0x7bff}, A = {0x0000, 0x7c00};
  S = compare(E, A, makeRule(MNEME_DTYPE_F16));
  EXPECT_EQ(S.Mismatches, 2u);
  EXPECT_EQ(S.MaxUlp, 1);
  EXPECT_EQ(S.MaxAbs, Inf);
}

TEST(CompareTest, IntegersOfEveryWidth) {
  std::vector<int8_t> E = {-128}, A = {127};
  EXPECT_EQ(compare(E, A, makeRule(MNEME_DTYPE_I8)).MaxAbs, 255);
  std::vector<uint64_t> X = {0}, Y = {~0ull};
  EXPECT_EQ(compare(X, Y, makeRule(MNEME_DTYPE_I64)).MaxAbs, 1);
  EXPECT_EQ(compare(X, Y, makeRule(MNEME_DTYPE_U64)).MaxAbs, std::ldexp(1, 64));
  EXPECT_EQ(compare(X, Y, makeRule(MNEME_DTYPE_U64)).Actual,
            "18446744073709551615");
  std::vector<int16_t> P = {5, 5}, Q = {5, 8};
  EXPECT_TRUE(
      compare(P, Q, makeRule(MNEME_DTYPE_I16, MNEME_TOLERANCE_ABS, 3)).Pass);
  EXPECT_FALSE(
      compare(P, Q, makeRule(MNEME_DTYPE_I16, MNEME_TOLERANCE_ABS, 2)).Pass);
}

TEST(CompareTest, NaN) {
  float NaN = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> E = {NaN, 1}, Same = {-NaN, 1}, Lost = {0, 1},
                     New = {NaN, NaN};
  CompareRule Equal = makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_ABS, 1e30);
  CompareRule Strict =
      makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_ABS, 1e30, 0, NaNRule::Error);
  EXPECT_TRUE(compare(E, Same, Equal).Pass);
  EXPECT_FALSE(compare(E, Lost, Equal).Pass);
  EXPECT_FALSE(compare(E, New, Equal).Pass);
  // With the strict rule a NaN is wrong even where one was recorded.
  EXPECT_FALSE(compare(E, E, Strict).Pass);
  EXPECT_FALSE(compare(E, Same, Strict).Pass);
  EXPECT_EQ(compare(E, Lost, Equal).MaxAbs, Inf);
  // A norm does not hide one either.
  for (uint32_t Norm : {MNEME_NORM_L1, MNEME_NORM_L2, MNEME_NORM_LINF}) {
    CompareRule R = makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_ABS, 1e30, Norm);
    EXPECT_FALSE(compare(E, New, R).Pass);
    EXPECT_FALSE(compare(E, Lost, R).Pass);
    EXPECT_TRUE(compare(E, Same, R).Pass);
  }
}

TEST(CompareTest, EqualInfinitiesAreEqual) {
  std::vector<double> E = {Inf, 1}, A = {Inf, 1.5};
  CompareStats S =
      compare(E, A, makeRule(MNEME_DTYPE_F64, MNEME_TOLERANCE_ABS, 0.5));
  EXPECT_TRUE(S.Pass);
  EXPECT_EQ(S.MaxAbs, 0.5);
}

TEST(CompareTest, Norms) {
  std::vector<double> E = {3, 4, 0, 5}, A = {0, 0, 0, 5};
  auto Norm = [&](uint32_t Kind, uint32_t Norm) {
    return *compare(E, A, makeRule(MNEME_DTYPE_F64, Kind, 0, Norm)).NormError;
  };
  EXPECT_DOUBLE_EQ(Norm(MNEME_TOLERANCE_ABS, MNEME_NORM_L1), 7);
  EXPECT_DOUBLE_EQ(Norm(MNEME_TOLERANCE_ABS, MNEME_NORM_L2), 5);
  EXPECT_DOUBLE_EQ(Norm(MNEME_TOLERANCE_ABS, MNEME_NORM_LINF), 4);
  EXPECT_DOUBLE_EQ(Norm(MNEME_TOLERANCE_REL, MNEME_NORM_L1), 7. / 12);
  EXPECT_DOUBLE_EQ(Norm(MNEME_TOLERANCE_REL, MNEME_NORM_L2),
                   5 / std::sqrt(50.));
  EXPECT_DOUBLE_EQ(Norm(MNEME_TOLERANCE_REL, MNEME_NORM_LINF), 0.8);
  CompareStats S = compare(
      E, A, makeRule(MNEME_DTYPE_F64, MNEME_TOLERANCE_ABS, 5, MNEME_NORM_L2));
  EXPECT_TRUE(S.Pass);
  EXPECT_EQ(S.Mismatches, 0u);
  EXPECT_EQ(S.Differences, 2u);
  // Exact stays exact whatever the norm.
  EXPECT_FALSE(
      compare(E, A, makeRule(MNEME_DTYPE_F64, 0, 0, MNEME_NORM_L2)).Pass);
}

TEST(CompareTest, RelativeNormsOfHugeValues) {
  // The infinity is right, the other value is not.
  std::vector<double> E = {Inf, 1}, A = {Inf, 3};
  // Squares of these are no doubles.
  std::vector<double> Huge = {1e200, 1e200}, Off = {1e200, 2e200};
  for (uint32_t Norm : {MNEME_NORM_L1, MNEME_NORM_L2, MNEME_NORM_LINF}) {
    CompareRule R = makeRule(MNEME_DTYPE_F64, MNEME_TOLERANCE_REL, 0.1, Norm);
    EXPECT_FALSE(compare(E, A, R).Pass);
    EXPECT_DOUBLE_EQ(*compare(E, A, R).NormError, 2);
    EXPECT_FALSE(compare(Huge, Off, R).Pass);
    EXPECT_TRUE(compare(Huge, Huge, R).Pass);
  }
}

TEST(CompareTest, TailIsComparedAsBytes) {
  std::vector<char> E(11), A(11);
  A[10] = 1;
  CompareRule Rule = makeRule(MNEME_DTYPE_F64, MNEME_TOLERANCE_ABS, 1e9);
  CompareStats S = compareMemory(E, A, Rule);
  EXPECT_FALSE(S.Pass);
  EXPECT_EQ(S.Elements, 4u); // one double and three bytes
  EXPECT_EQ(S.First, 3u);
}

TEST(CompareTest, OptionTexts) {
  Expected<ToleranceSpec> T = parseTolerance("ulp:4@out");
  ASSERT_THAT_EXPECTED(T, Succeeded());
  EXPECT_EQ(T->Kind, uint32_t(MNEME_TOLERANCE_ULP));
  EXPECT_EQ(T->Value, 4);
  EXPECT_EQ(T->Buffer, "out");
  T = parseTolerance("exact@3");
  ASSERT_THAT_EXPECTED(T, Succeeded());
  EXPECT_EQ(T->Kind, uint32_t(MNEME_TOLERANCE_EXACT));
  for (const char *Bad : {"", "abs", "abs:", "abs:x", "abs:-1", "abs:nan",
                          "abs:inf", "rel:inf", "exact:1", "abs:1@", "lots:1"})
    EXPECT_THAT_EXPECTED(parseTolerance(Bad), Failed()) << Bad;
  Expected<ElementTypeSpec> D = parseElementType("bf16@2");
  ASSERT_THAT_EXPECTED(D, Succeeded());
  EXPECT_EQ(D->DType, uint32_t(MNEME_DTYPE_BF16));
  EXPECT_EQ(D->Buffer, "2");
  EXPECT_THAT_EXPECTED(parseElementType("f32@"), Failed());
  EXPECT_THAT_EXPECTED(parseNorm("linf"), HasValue(uint32_t(MNEME_NORM_LINF)));
  EXPECT_THAT_EXPECTED(parseNorm("L1"), Failed());
  EXPECT_THAT_EXPECTED(parseNaNRule("error"), HasValue(NaNRule::Error));
  EXPECT_THAT_EXPECTED(parseNaNRule(""), Failed());
}

TEST(CompareTest, ReportSurvivesJSON) {
  BufferReport R;
  R.Id = 3;
  R.IsGlobal = true;
  R.Name = "counter";
  R.Address = MNEME_ARENA_BASE;
  R.Size = 8;
  R.Rule = makeRule(MNEME_DTYPE_F32, MNEME_TOLERANCE_REL, 1e-6, MNEME_NORM_L2);
  R.Stats = compare<float>({1, 2}, {1, NAN}, R.Rule);
  R.Reproducible = false;
  Expected<json::Value> Parsed = json::parse([&] {
    std::string Text;
    raw_string_ostream(Text) << toJSON(R);
    return Text;
  }());
  ASSERT_THAT_EXPECTED(Parsed, Succeeded()); // infinities are valid JSON
  BufferReport Back;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(*Parsed, Back, Root)) << toString(Root.getError());
  EXPECT_EQ(toJSON(Back), toJSON(R));
  EXPECT_EQ(Back.Stats.MaxAbs, Inf);
  EXPECT_EQ(Back.Reproducible, false);
  EXPECT_EQ(Back.Address, R.Address);
}
