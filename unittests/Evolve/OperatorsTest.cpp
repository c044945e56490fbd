//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Evolve/Operators.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Returns the versions that an operator makes of a block.
static std::vector<std::string> edit(StringRef Operator, StringRef Block,
                                     OperatorFacts Facts = {}) {
  std::string Text = ("int Outside;\n// EVOLVE-BLOCK-START\n" + Twine(Block) +
                      "\n// EVOLVE-BLOCK-END\nfor (;;) sinf(1);\n")
                         .str();
  std::vector<std::string> Versions;
  for (const SourceEditing &E : findEdits(Text, Facts, {Operator.str()})) {
    EXPECT_EQ(getOperators()[E.Operator].Name, Operator);
    EXPECT_THAT(E.Description, HasSubstr("line "));
    std::string Version = E.apply(Text);
    // Text outside of blocks stays.
    EXPECT_TRUE(StringRef(Version).starts_with("int Outside;\n"));
    EXPECT_TRUE(StringRef(Version).ends_with("for (;;) sinf(1);\n"));
    StringRef Inner = StringRef(Version)
                          .split("EVOLVE-BLOCK-START\n")
                          .second.split("\n// EVOLVE-BLOCK-END")
                          .first;
    Versions.push_back(Inner.str());
  }
  return Versions;
}

TEST(OperatorsTest, UnrollsLoops) {
  std::vector<std::string> V = edit("unroll", "void f() { for (;;) g(); }");
  EXPECT_THAT(V, SizeIs(5));
  EXPECT_THAT(V, Contains("void f() { \n#pragma unroll 4\nfor (;;) g(); }"));
  // An own pragma is replaced.
  V = edit("unroll", "void f() {\n#pragma unroll 8\nfor (;;) g(); }");
  EXPECT_THAT(V, SizeIs(4));
  EXPECT_THAT(V, Contains("void f() {\n#pragma unroll 2\nfor (;;) g(); }"));
}

TEST(OperatorsTest, VectorizesLoops) {
  std::vector<std::string> V =
      edit("vectorize", "void f() {\n#pragma unroll 8\nfor (;;) g(); }");
  EXPECT_THAT(V, SizeIs(4));
  EXPECT_THAT(V, Contains("void f() {\n#pragma unroll 8\n\n#pragma clang loop "
                          "vectorize_width(4)\nfor (;;) g(); }"));
  // An own pragma is replaced, also before another one.
  V = edit("vectorize", "void f() {\n#pragma clang loop vectorize_width(2)\n"
                        "#pragma unroll 8\nfor (;;) g(); }");
  EXPECT_THAT(V, SizeIs(3));
  EXPECT_THAT(V, Contains("void f() {\n#pragma clang loop vectorize_width(8)\n"
                          "#pragma unroll 8\nfor (;;) g(); }"));
}

TEST(OperatorsTest, LaunchesFewerBlocks) {
  StringRef Kernel = "__global__ void k() { for (int I = 0; I < N; I += "
                     "gridDim.x * blockDim.x) f(); }";
  std::string Half =
      "\n// mneme-launch grid.x = ceildiv(recorded.grid.x, 2)\n" + Kernel.str();
  std::vector<std::string> V = edit("coarsen", Kernel);
  EXPECT_THAT(V, SizeIs(3));
  EXPECT_THAT(V, Contains(Half));
  V = edit("coarsen", Half);
  EXPECT_THAT(V, SizeIs(2));
  EXPECT_THAT(V, Contains("\n// mneme-launch grid.x = ceildiv(recorded.grid.x, "
                          "8)\n" +
                          Kernel.str()));
  // An author's own setting stays; without a loop, blocks would be missing.
  EXPECT_THAT(edit("coarsen", "// mneme-launch grid.x = 7\n" + Kernel.str()),
              IsEmpty());
  EXPECT_THAT(edit("coarsen", "__global__ void k() { f(gridDim.x); }"),
              IsEmpty());
}

TEST(OperatorsTest, PromisesThatPointersDoNotAlias) {
  EXPECT_THAT(
      edit("restrict", "__global__ void k(const float *A, int N, T<1, 2> *B) "
                       "{}"),
      ElementsAre("__global__ void k(const float * __restrict__ A, int N, "
                  "T<1, 2> * __restrict__ B) {}"));
  EXPECT_THAT(edit("restrict", "void k(float *__restrict__ A) {}"), IsEmpty());
}

TEST(OperatorsTest, ReadsThroughTheReadOnlyCache) {
  EXPECT_THAT(
      edit("ldg", "void k(const float *A, float *B) { B[0] = A[B[1]] + "
                  "A[2].x + *A; }"),
      ElementsAre("void k(const float *A, float *B) { B[0] = __ldg(&A[B[1]]) "
                  "+ A[2].x + *A; }"));
}

TEST(OperatorsTest, SetsLaunchBounds) {
  OperatorFacts Facts;
  EXPECT_THAT(edit("bounds", "__global__ void k() {}", Facts), IsEmpty());
  Facts.BlockThreads = 64;
  EXPECT_THAT(edit("bounds", "__global__ void k() {}", Facts),
              Contains("__global__ __launch_bounds__(64, 2) void k() {}"));
  EXPECT_THAT(
      edit("bounds", "__global__ __launch_bounds__(F(1)) void k() {}", Facts),
      Contains("__global__ __launch_bounds__(64, 4) void k() {}"));
}

TEST(OperatorsTest, DecidesInlining) {
  EXPECT_THAT(edit("inline", "__device__ int f() { return 1; }"),
              ElementsAre("__device__ __forceinline__ int f() { return 1; }",
                          "__device__ __noinline__ int f() { return 1; }"));
  EXPECT_THAT(edit("inline", "__noinline__ __device__ int f() { return 1; }"),
              ElementsAre("__forceinline__ __device__ int f() { return 1; }"));
}

TEST(OperatorsTest, ChangesArithmetic) {
  EXPECT_THAT(edit("fast", "float f(float X) { return sinf(X) + sinf; }"),
              ElementsAre("float f(float X) { return __sinf(X) + sinf; }"));
  EXPECT_THAT(edit("contract", "void f() { g(); }"),
              Contains("void f() {\n#pragma clang fp contract(off)\n g(); }"));
}

TEST(OperatorsTest, ChangesSizes) {
  EXPECT_THAT(edit("pad", "__shared__ float T[16][W];\n"
                          "__shared__ float U[16];"),
              ElementsAre("__shared__ float T[16][W + 1];\n"
                          "__shared__ float U[16];"));
  EXPECT_THAT(edit("number", "constexpr int N = 8;"),
              ElementsAre("constexpr int N = 16;", "constexpr int N = 4;"));
  EXPECT_THAT(edit("number", "#define N 1"), ElementsAre("#define N 2"));
}

TEST(OperatorsTest, AssumesArguments) {
  OperatorFacts Facts;
  Facts.Arguments = {"", "128"};
  EXPECT_THAT(edit("assume", "__global__ void k(int *P, int N) {}", Facts),
              ElementsAre("__global__ void k(int *P, int N) {\n"
                          "  __builtin_assume(N == 128);\n}"));
}
