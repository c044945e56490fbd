//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

PipelineSpace parse(StringRef Text) {
  return cantFail(PipelineSpace::parse(Text));
}

std::vector<std::string> pipelines(StringRef Text) {
  PipelineSpace S = parse(Text);
  std::vector<std::string> All;
  S.enumerate([&](const PipelinePoint &P) {
    All.push_back(S.print(P));
    return true;
  });
  return All;
}

std::string count(StringRef Text) {
  return toString(parse(Text).count(), 10, /*Signed=*/false);
}

/// "1:2: message".
std::string errorOf(StringRef Text) {
  Expected<PipelineSpace> S = PipelineSpace::parse(Text);
  return S ? "" : toString(S.takeError());
}

TEST(PipelineSpaceTest, APipelineIsASpaceOfOne) {
  for (StringRef Text :
       {"", "default<O3>", "clang<O2>", "module(function<eager-inv>(sroa))",
        "cgscc(devirt<4>(inline<only-mandatory>)),print<da><normalized-results>"
        ",function(loop-mssa(licm<no-allowspeculation>))",
        "memprof-use<profile-filename=/a/b.prof>", "function(require<domtree>)"})
    EXPECT_THAT(pipelines(Text), ElementsAre(Text));
}

TEST(PipelineSpaceTest, Alternatives) {
  EXPECT_THAT(pipelines("{sroa|gvn,dse|}"), ElementsAre("sroa", "gvn,dse", ""));
  EXPECT_THAT(pipelines("a,{b|},c"), ElementsAre("a,b,c", "a,c"));
  EXPECT_THAT(pipelines("default<{O1|O2}>"),
              ElementsAre("default<O1>", "default<O2>"));
  EXPECT_THAT(pipelines("{loop|loop-mssa}(licm)"),
              ElementsAre("loop(licm)", "loop-mssa(licm)"));
  EXPECT_THAT(pipelines("loop{|-mssa}(licm)"),
              ElementsAre("loop(licm)", "loop-mssa(licm)"));
  EXPECT_THAT(pipelines("gvn{|<no-pre>}"), ElementsAre("gvn", "gvn<no-pre>"));
  EXPECT_THAT(pipelines("{a{1|2}|b}"), ElementsAre("a1", "a2", "b"));
}

TEST(PipelineSpaceTest, NothingIsLeftOfWhatIsEmpty) {
  EXPECT_THAT(pipelines("a?,b,c?"), ElementsAre("b", "b,c", "a,b", "a,b,c"));
  EXPECT_THAT(pipelines("function(a?)"), ElementsAre("", "function(a)"));
  EXPECT_THAT(pipelines("module(x,function(loop({a|})))"),
              ElementsAre("module(x,function(loop(a)))", "module(x)"));
  EXPECT_THAT(pipelines("x<a?;b;c?>"),
              ElementsAre("x<b>", "x<b;c>", "x<a;b>", "x<a;b;c>"));
  EXPECT_THAT(pipelines("x<a?>"), ElementsAre("x", "x<a>"));
  EXPECT_THAT(pipelines("x<{a;b|c}>"), ElementsAre("x<a;b>", "x<c>"));
}

TEST(PipelineSpaceTest, Integers) {
  EXPECT_THAT(pipelines("x<n=[1..3]>"),
              ElementsAre("x<n=1>", "x<n=2>", "x<n=3>"));
  EXPECT_THAT(pipelines("x<[-4..5:4]>"), ElementsAre("x<-4>", "x<0>", "x<4>"));
  EXPECT_THAT(pipelines("devirt<[2..3]>(x)"),
              ElementsAre("devirt<2>(x)", "devirt<3>(x)"));
  EXPECT_THAT(pipelines("x[7..7]"), ElementsAre("x7"));
}

TEST(PipelineSpaceTest, Permutations) {
  EXPECT_THAT(pipelines("perm(a,b,c)"), ElementsAre("a,b,c", "a,c,b", "b,a,c",
                                                    "b,c,a", "c,a,b", "c,b,a"));
  EXPECT_THAT(pipelines("perm({a,b},c?)"),
              ElementsAre("a,b", "a,b,c", "a,b", "c,a,b"));
  EXPECT_EQ(count("perm(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y)"),
            "15511210043330985984000000");
}

TEST(PipelineSpaceTest, Sequences) {
  EXPECT_THAT(pipelines("seq<0..2>(a|b)"),
              ElementsAre("", "a", "b", "a,a", "a,b", "b,a", "b,b"));
  EXPECT_THAT(pipelines("f(seq<2>(a|b<[1..2]>))"),
              ElementsAre("f(a,a)", "f(a,b<1>)", "f(a,b<2>)", "f(b<1>,a)",
                          "f(b<1>,b<1>)", "f(b<1>,b<2>)", "f(b<2>,a)",
                          "f(b<2>,b<1>)", "f(b<2>,b<2>)"));
  APInt Power(256, 10);
  for (unsigned I = 1; I != 64; ++I)
    Power *= 10;
  EXPECT_EQ(count("seq<64>(a|b|c|d|e|f|g|h|i|j)"),
            toString(Power, 10, /*Signed=*/false));
}

TEST(PipelineSpaceTest, NamedChoicesAreOneDecision) {
  EXPECT_THAT(pipelines("$p={a|b},x($p)"), ElementsAre("a,x(a)", "b,x(b)"));
  EXPECT_THAT(pipelines("x<$n=[1..2]>,y<$n>"),
              ElementsAre("x<1>,y<1>", "x<2>,y<2>"));
  EXPECT_THAT(pipelines("seq<2>(a<$n={1|2}>|b)"),
              ElementsAre("b,b", "b,a<1>", "b,a<2>", "a<1>,b", "a<2>,b",
                          "a<1>,a<1>", "a<2>,a<2>"));
  EXPECT_THAT(pipelines("$p={a,b},c,$p"), ElementsAre("a,b,c,a,b"));
  // Not used, not chosen.
  EXPECT_EQ(count("x<$n=[1..100]>?,y<$n>?"), "301");
  EXPECT_EQ(count("{$a={1|2|$b=[3..6]},{$a|$b}|$b}"), "22");
}

TEST(PipelineSpaceTest, DefinitionsComeBeforeThePipeline) {
  EXPECT_THAT(pipelines("$n=[1..2]; x<$n>,y<$n>"),
              ElementsAre("x<1>,y<1>", "x<2>,y<2>"));
  EXPECT_THAT(pipelines("$p={a|b,c};$q={$p|d};f($q),$q"),
              ElementsAre("f(a),a", "f(b,c),b,c", "f(d),d"));
  EXPECT_THAT(pipelines("$p={a|b};seq<2>($p)"), ElementsAre("a,a", "b,b"));
  EXPECT_EQ(parse(" $p={a|b} ;\n$q={$p|d}; $q,$p=").print(),
            "$p={a|b};$q={$p|d};$q,$p=");
  // The first use of a name makes the choice where there is no definition.
  EXPECT_THAT(pipelines("$p={a|b};$q={$p|c},x"),
              ElementsAre("a,x", "b,x", "c,x"));
  EXPECT_EQ(parse("$p={a|b};$q={$p|c},x").decisions()[1].ActiveIf.size(), 1u);
  EXPECT_EQ(errorOf("$p={a|b};x"), "1:1: '$p' is not used");
  EXPECT_EQ(errorOf("$p={a|b};$q={$p|$p};x"), "1:10: '$q' is not used");
}

TEST(PipelineSpaceTest, DecisionsHaveConditionsAndNames) {
  PipelineSpace S = parse("a?,{b|c<[1..9:2]>},$n={p|q|},seq<1..2>(d|$n),"
                          "perm(e,f)");
  std::vector<std::string> Names;
  for (const PipelineDecision &D : S.decisions())
    Names.push_back(D.Name);
  EXPECT_THAT(Names, ElementsAre("0", "1", "1.1.0.1.0", "3", "3.0", "3.1",
                                 "4#0", "$n"));
  const PipelineDecision &Integer = S.decisions()[2];
  EXPECT_EQ(Integer.Kind, PipelineDecision::Integer);
  EXPECT_EQ(Integer.Count, 5u);
  EXPECT_EQ(Integer.Low, 1);
  EXPECT_EQ(Integer.Step, 2);
  ASSERT_EQ(Integer.ActiveIf.size(), 1u);
  EXPECT_EQ(Integer.ActiveIf[0].Decision, 1u);
  EXPECT_EQ(Integer.ActiveIf[0].From, 1u);
  EXPECT_EQ(Integer.ActiveIf[0].To, 2u);
  EXPECT_THAT(S.decisions()[7].Labels, ElementsAre("p", "q", ""));
  EXPECT_THAT(S.decisions()[7].ActiveIf, IsEmpty());

  PipelinePoint P(8);
  EXPECT_FALSE(S.isActive(P, 2));
  EXPECT_FALSE(S.isActive(P, 5));
  P[1] = P[3] = 1;
  EXPECT_TRUE(S.isActive(P, 2));
  EXPECT_TRUE(S.isActive(P, 5));
}

TEST(PipelineSpaceTest, CanonicalPointsHaveZerosWhereNothingMatters) {
  PipelineSpace S = parse("{a|b<[1..4]>}");
  PipelinePoint P = {0, 3}, Q = {1, 99};
  S.canonicalize(P);
  S.canonicalize(Q);
  EXPECT_THAT(P, ElementsAre(0, 0));
  EXPECT_THAT(Q, ElementsAre(1, 3));
}

TEST(PipelineSpaceTest, SpaceAndCommentsStandBetweenElements) {
  EXPECT_EQ(parse("# first\n module ( function (\n  sroa , # second\n"
                  "  { gvn | dse , adce } ? ) ,\n"
                  "  x< a ; b=[1..2] > ,\tseq<2>\r\n( y | $z={u} ) )\n")
                .print(),
            "module(function(sroa,{gvn|dse,adce}?),x<a;b=[1..2]>,"
            "seq<2>(y|$z={u}))");
  // But not in a word.
  EXPECT_EQ(errorOf("x<b= [1..2]>"), "1:6: expected ';' or '>', not '['");
  EXPECT_EQ(errorOf("x <b>"), "1:3: expected ',' or the end, not '<'");
}

TEST(PipelineSpaceTest, NormalForm) {
  EXPECT_EQ(parse(" a , { b | c } ?,x< p ;q=[1..4:1]; > # end").print(),
            "a,{b|c}?,x<p;q=[1..4]>");
  EXPECT_EQ(parse("seq<3..3>(a|b),perm( a )").print(), "seq<3>(a|b),perm(a)");
  EXPECT_EQ(parse("x<a\\[0\\|1\\]=\\\\>").print(), "x<a\\[0\\|1\\]=\\\\>");
}

TEST(PipelineSpaceTest, EscapedCharactersAreText) {
  EXPECT_THAT(pipelines("lower-allow-check<cutoffs\\[0\\|1\\]=[7..8]>"),
              ElementsAre("lower-allow-check<cutoffs[0|1]=7>",
                          "lower-allow-check<cutoffs[0|1]=8>"));
}

TEST(PipelineSpaceTest, FindsPipelines) {
  PipelineSpace S = parse("function({sroa|sroa<modify-cfg>},gvn?,loop(licm?),"
                          "seq<0..9>(a|a-b|b<n=[1..12]>),perm(x,y,z))");
  for (StringRef Text :
       {"function(sroa,x,y,z)", "function(sroa<modify-cfg>,gvn,z,x,y)",
        "function(sroa,loop(licm),a-b,a,b<n=12>,b<n=1>,y,z,x)"}) {
    std::optional<PipelinePoint> P = S.find(Text);
    ASSERT_TRUE(P) << Text.str();
    EXPECT_EQ(S.print(*P), Text);
  }
  EXPECT_TRUE(S.find(" function( sroa,\n x, y, z ) "));
  for (StringRef Text :
       {"", "function()", "function(sroa)", "function(sroa,x,y,z),",
        "function(sroa,,x,y,z)", "function(sroa,loop(),x,y,z)",
        "function(sroa,b<n=13>,x,y,z)", "function(sroa,b<n=01>,x,y,z)",
        "function(sroa,x,y)", "function(sroa,x,x,z)",
        "function(sroa,a,a,a,a,a,a,a,a,a,a,x,y,z)"})
    EXPECT_FALSE(S.find(Text)) << Text.str();
}

TEST(PipelineSpaceTest, FindsNamedChoicesOnlyWhereTheyAgree) {
  PipelineSpace S = parse("x<$n=[1..20]>,$p={a|b},$p,y<$n>");
  EXPECT_TRUE(S.find("x<12>,b,b,y<12>"));
  EXPECT_FALSE(S.find("x<12>,b,a,y<12>"));
  EXPECT_FALSE(S.find("x<12>,b,b,y<1>"));
}

TEST(PipelineSpaceTest, FindGivesUp) {
  PipelineSpace S = parse("seq<40>(a?|{a|})");
  EXPECT_FALSE(S.find("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,b"));
}

std::string repeat(StringRef Text, unsigned N) {
  std::string All;
  while (N--)
    All += Text;
  return All;
}

TEST(PipelineSpaceTest, Limits) {
  EXPECT_EQ(errorOf(repeat("f(", 64) + "x" + repeat(")", 64)), "");
  EXPECT_EQ(errorOf(repeat("f(", 65) + "x" + repeat(")", 65)),
            "1:130: more than 64 levels of nesting");
  EXPECT_EQ(errorOf(repeat("{", 100000)), "1:1: a text of more than 65536 "
                                          "bytes");
  EXPECT_EQ(errorOf(repeat("{", 60000)),
            "1:65: more than 64 levels of nesting");
  EXPECT_EQ(errorOf(repeat("perm(", 65)),
            "1:321: more than 64 levels of nesting");
  EXPECT_EQ(errorOf(repeat("x<", 65)),
            "1:130: more than 64 levels of nesting");
  EXPECT_EQ(errorOf("seq<1001>(a)"),
            "1:5: a sequence of more than 1000 steps in '1001'");
  EXPECT_EQ(errorOf("seq<1000>(seq<1000>(a))"),
            "1:1: more than 65536 decisions");
  EXPECT_EQ(errorOf("seq<1000>(perm(" + repeat("a,", 99) + "a))"),
            "1:1: more than 65536 decisions");
  EXPECT_EQ(errorOf("seq<1000>(a{[0..1000000]|[1..1000000]})"),
            "1:1: more than 2^16384 points");
  EXPECT_EQ(errorOf("x<[0..9223372036854775807]>"),
            "1:4: too wide a range in '0..9223372036854775807'");
  EXPECT_EQ(errorOf("x<[-9223372036854775808..9223372036854775807]>"),
            "1:4: too wide a range in "
            "'-9223372036854775808..9223372036854775807'");
  EXPECT_EQ(errorOf("x<[9223372036854775806..9223372036854775807:5]>"), "");
}

/// Names used twice, each in one of two alternatives.
TEST(PipelineSpaceTest, LimitsOfNamedChoices) {
  auto Space = [](unsigned N, bool Optional) {
    std::string Text = "x";
    for (unsigned I = 0; I != N; ++I) {
      std::string Name = "$n" + std::to_string(I);
      Text += ",{" + Name + "={a|b}," + Name;
      Text += Optional ? "|}" : "}";
    }
    return Text;
  };
  EXPECT_EQ(errorOf(Space(64, false)), "");
  EXPECT_EQ(errorOf(Space(65, false)),
            "1:1136: more than 64 named choices that are used often");
  EXPECT_EQ(errorOf(Space(10, true)), "");
  EXPECT_EQ(errorOf(Space(11, true)),
            "1:1: named choices are used in too many combinations");
  // Each doubles the text.
  std::string Text = "$n0={a,b}";
  for (unsigned I = 1; I != 30; ++I)
    Text += ",$n" + std::to_string(I) + "={$n" + std::to_string(I - 1) +
            ",$n" + std::to_string(I - 1) + "}";
  EXPECT_THAT(errorOf(Text),
              testing::EndsWith("pipelines of more than 1048576 bytes"));
}

TEST(PipelineSpaceTest, ErrorsHavePlaces) {
  Expected<PipelineSpace> S = PipelineSpace::parse("module(\n  a,\n  b!c{)");
  ASSERT_FALSE(S);
  handleAllErrors(S.takeError(), [](const TextError &E) {
    EXPECT_EQ(E.Line, 3u);
    EXPECT_EQ(E.Column, 7u);
    EXPECT_EQ(E.Message, "expected a pass, '|' or '}', not ')'");
  });
}

std::vector<std::string> probes(StringRef Text) {
  std::vector<std::string> All;
  for (const PipelineProbe &P : parse(Text).probes())
    All.push_back(P.Pipeline);
  return All;
}

TEST(PipelineSpaceTest, ProbesHaveEachPassInItsPlace) {
  EXPECT_THAT(probes("m(f({a|b},c<[1..9]>))"),
              ElementsAre("m(f(a))", "m(f(b))", "m(f(c<1>))", "m(f(c<9>))"));
  EXPECT_THAT(probes("f(perm(a,g({b|c})?),seq<3..7>(d|e))"),
              ElementsAre("f(a)", "f(g(b))", "f(g(c))", "f(d)", "f(e)"));
  // The ends of ranges that a step does not meet.
  EXPECT_THAT(probes("x<[1..10:4]>"), ElementsAre("x<1>", "x<9>"));
  // Named choices agree within a word and between an adaptor and its passes.
  EXPECT_THAT(probes("$l={f|g}{x|y}({a<$l>|b})"),
              ElementsAre("fx(a<f>)", "fx(b)", "fy(a<f>)", "fy(b)", "gx(a<g>)",
                          "gx(b)", "gy(a<g>)", "gy(b)"));
}

TEST(PipelineSpaceTest, ProbesHaveWhatCanComeFirst) {
  EXPECT_THAT(probes("{m,n|f},x"),
              ElementsAre("m", "n", "m,n", "f", "x", "f,x", "m,x"));
  EXPECT_THAT(probes("a?,f(b,c?)"),
              ElementsAre("a", "f(b)", "f(c)", "a,f(b)", "a,f(c)"));
  EXPECT_THAT(probes("perm(a,{b|c})"),
              ElementsAre("a", "b", "c", "b,a", "c,a", "a,b", "a,c"));
  EXPECT_THAT(probes("seq<2>(a|{m|f})"),
              testing::UnorderedElementsAre("a", "m", "f", "a,a", "f,a", "m,a",
                                            "a,m", "f,m", "m,m", "a,f", "f,f",
                                            "m,f"));
  // They agree: never "m,f".
  EXPECT_THAT(probes("$k={m|f},$k"), ElementsAre("m", "f", "f,f", "m,m"));
}

TEST(PipelineSpaceTest, CanName) {
  auto CanName = [](StringRef Text, StringRef Pass) {
    return cantFail(PipelineSpace::parse(Text)).canName(Pass);
  };
  EXPECT_TRUE(CanName("a,f(b,dot)", "dot"));
  EXPECT_TRUE(CanName("a,f(b,dot)", "f"));
  EXPECT_FALSE(CanName("a,f(b,dots)", "dot"));
  EXPECT_FALSE(CanName("a,f(b,do,t)", "dot"));
  EXPECT_FALSE(CanName("x<dot>", "dot"));
  EXPECT_TRUE(CanName("dot<x;y>?", "dot"));
  EXPECT_TRUE(CanName("perm(a,seq<1..3>(b|{c|dot}))", "dot"));
  // Glued together.
  EXPECT_TRUE(CanName("{a|do}{|t|x}", "dot"));
  EXPECT_TRUE(CanName("{a|do}{|t|x}", "ax"));
  EXPECT_FALSE(CanName("{a|do}{|t|x}", "t"));
  EXPECT_TRUE(CanName("x[1..64]{-y|}", "x32-y"));
  EXPECT_FALSE(CanName("x[1..64]", "x65"));
  EXPECT_TRUE(CanName("$a={do|x};$b={$a|y};{$b}t", "dot"));
  EXPECT_FALSE(CanName("$x={a|b};$y={$x$x|c};$z={$y$y|d};$z$z", "dot"));
}

TEST(PipelineSpaceTest, ProbesAreFew) {
  // 4^16 combinations in a word, 2^64 in the nesting.
  EXPECT_LT(probes("x<" + repeat("a{1|2|3|4};", 16) + ">").size(), 1000u);
  EXPECT_EQ(probes(repeat("perm(", 63) + "x" + repeat(")", 63)).size(), 1u);
  EXPECT_LE(probes("f(" + repeat("perm(a{1|2},b?,", 60) + "x" +
                   repeat(")", 61))
                .size(),
            4u);
  EXPECT_LE(probes(repeat("{a|b}{c|d}{e|f}{g|h}(", 30) + "x" + repeat(")", 30))
                .size(),
            1u << 16);
}

} // namespace
