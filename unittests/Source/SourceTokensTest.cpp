//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include "llvm/ADT/Twine.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;

static std::vector<std::string> lex(StringRef Text) {
  std::vector<std::string> Words;
  for (const SourceToken &T : lexSource(Text))
    Words.push_back(T.in(Text).str());
  return Words;
}

TEST(SourceTokensTest, SkipsCommentsAndContinuations) {
  EXPECT_THAT(lex("a/*b*/c // d\\\n e\nf\\\ng"),
              ElementsAre("a", "c", "f", "g"));
  EXPECT_THAT(lex("a /* open"), ElementsAre("a"));
}

TEST(SourceTokensTest, ReadsLiterals) {
  EXPECT_THAT(
      lex(R"("a\"/*" 'x' R"x(a")x" u8"b")"),
      ElementsAre(R"("a\"/*")", "'x'", R"y(R"x(a")x")y", "u8", "\"b\""));
  // As in skipped text: don't
  EXPECT_THAT(lex("don't\nb"), ElementsAre("don", "'t", "b"));
}

TEST(SourceTokensTest, ReadsNumbers) {
  EXPECT_THAT(lex("1'000u 0x1p-3f .5e+3 0xe+1"),
              ElementsAre("1'000u", "0x1p-3f", ".5e+3", "0xe", "+", "1"));
}

TEST(SourceTokensTest, ReadsWholeDirectives) {
  EXPECT_THAT(
      lex("a # b\n #define X /* \n */ \"//\" \\\n 3 // c\nd"),
      ElementsAre("a", "#", "b", "#define X /* \n */ \"//\" \\\n 3 // c", "d"));
  std::string Rest;
  EXPECT_EQ(getDirectiveName("#  include /* x */ \\\n  \"a.h\" // b", Rest),
            "include");
  EXPECT_EQ(Rest, "\"a.h\"");
}

TEST(SourceTokensTest, CountsOpenConditionals) {
  EXPECT_EQ(countOpenConditionals("#if A\n#ifdef B\n#else\n#endif\n#ifndef C"),
            2u);
  EXPECT_EQ(countOpenConditionals("#endif\n// #if\n"), 0u);
}

TEST(SourceTokensTest, FindsLines) {
  LineTable Lines("ab\n\nc");
  EXPECT_EQ(Lines.count(), 3u);
  EXPECT_EQ(Lines.lineOf(0), 1u);
  EXPECT_EQ(Lines.lineOf(2), 1u);
  EXPECT_EQ(Lines.lineOf(3), 2u);
  EXPECT_EQ(Lines.lineOf(4), 3u);
  EXPECT_EQ(Lines.offsetOf(3), 4u);
  EXPECT_EQ(Lines.offsetOf(4), 5u);
}

static std::vector<std::string> find(StringRef Text) {
  std::vector<std::string> Names;
  std::vector<SourceToken> Tokens = lexSource(Text);
  for (const FunctionExtent &F : findFunctions(Text, Tokens))
    Names.push_back((F.Name + "@" + Text.slice(F.Begin, F.BodyBegin).rtrim() +
                     "@" + Text.slice(F.BodyBegin, F.End))
                        .str());
  return Names;
}

TEST(SourceTokensTest, FindsFunctions) {
  EXPECT_THAT(find("int x = 3; void f();\n"
                   "template <class T> __global__ void\n"
                   "__launch_bounds__(256, 2) k(T *p) { if (p) { *p = 1; } }\n"
                   "struct S { int a; };"),
              ElementsAre("k@template <class T> __global__ void\n"
                          "__launch_bounds__(256, 2) k(T *p)@"
                          "{ if (p) { *p = 1; } }"));
}

TEST(SourceTokensTest, FindsFunctionsInNamespacesAndClasses) {
  EXPECT_THAT(
      find("namespace a { namespace { extern \"C\" {\n"
           "struct S { public: __device__ int get() const { return 1; } "
           "int v; };\n"
           "void f() {} } } }\nvoid g() noexcept(true) {}"),
      ElementsAre("get@__device__ int get() const@{ return 1; }",
                  "f@void f()@{}", "g@void g() noexcept(true)@{}"));
  EXPECT_THAT(find("struct A { int operator()(int x) { return x; } };"),
              ElementsAre("operator()@int operator()(int x)@{ return x; }"));
}

TEST(SourceTokensTest, TakesOneBranchOfConditionals) {
  EXPECT_THAT(find("void f(int a) {\n#ifdef X\n if (a) {\n#else\n if (!a) {\n"
                   "#endif\n}}\nvoid g() {}"),
              ElementsAre(testing::StartsWith("f@"), "g@void g()@{}"));
}

TEST(SourceTokensTest, IsNotFooledByInitializers) {
  EXPECT_THAT(
      find("int a[] = {1, 2}, b[2] {3}; auto l = [](int x) { return x; };"
           "enum E { A }; struct alignas(16) T { int x; } t;\n"
           "void f() {}"),
      ElementsAre("f@void f()@{}"));
}

TEST(SourceTokensTest, FindsClosingBrackets) {
  StringRef Text = "f(a[1], {2}) + g";
  std::vector<SourceToken> Tokens = lexSource(Text);
  EXPECT_EQ(Tokens[findClosing(Text, Tokens, 1)].in(Text), ")");
  EXPECT_EQ(findClosing("(", lexSource("("), 0), 1u);
}
