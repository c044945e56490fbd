//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "StudyBuilder.h"
#include "llvm/Mneme/Study/SearchSpace.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// "--name=text" each.
CommandLineSpace parse(ArrayRef<StringRef> Arguments) {
  CommandLineSpace Space;
  for (StringRef A : Arguments) {
    A.consume_front("--");
    auto [Name, Text] = A.split('=');
    Space.push_back({Name.str(), Text.str()});
  }
  return Space;
}

std::string describe(const Parameter &P) {
  std::string Text = P.Name + ": ";
  switch (P.Kind) {
  case Parameter::Int:
  case Parameter::Real:
    Text += P.Low.print() + ".." + P.High.print();
    if (P.Scale == Parameter::Log)
      Text += ":*2";
    else if (P.Step)
      Text += ":" + P.Step.print();
    break;
  case Parameter::Bool:
    Text += "bool";
    break;
  case Parameter::Choice:
    for (const Expr &C : P.Choices)
      Text += (&C == &P.Choices[0] ? "" : ", ") + C.print();
    break;
  case Parameter::Pipeline:
    Text += "'" + P.Space + "'";
    break;
  }
  return Text + (P.When ? " when " + P.When.print() : "") + "\n";
}

/// A line for everything in the study.
std::string describe(const Study &S) {
  std::string Text;
  for (const Parameter &P : S.Parameters)
    Text += describe(P);
  for (const DerivedValue &D : S.Derived)
    Text += D.Name + " is " + D.Is.print() + "\n";
  for (const Constraint &C : S.Constraints)
    Text += "require " + C.Holds.print() + "\n";
  for (const ConfigField &F : S.Fields)
    Text += F.Key + " = " + F.Is.print() + "\n";
  for (const Objective &O : S.Objectives)
    Text += (O.Dir == Direction::Minimize ? "least " : "most ") + O.Metric +
            "\n";
  return Text;
}

std::string apply(ArrayRef<StringRef> Arguments, Study S = {}) {
  if (Error E = applyToStudy(parse(Arguments), S))
    return toString(std::move(E));
  return describe(S);
}

TEST(CommandLineSpaceTest, NoOptions) { EXPECT_EQ(apply({}), "least time\n"); }

TEST(CommandLineSpaceTest, Values) {
  const std::pair<const char *, const char *> Cases[] = {
      // Numbers.
      {"--maxnreg=32..128:32", "maxnreg: 32..128:32\nmaxnreg = maxnreg\n"},
      {"--maxnreg=1..3", "maxnreg: 1..3\nmaxnreg = maxnreg\n"},
      {"--maxnreg= 16 .. 128 : *2 ",
       "maxnreg: 16..128:*2\nmaxnreg = maxnreg\n"},
      {"--maxnreg=0,32,64", "maxnreg: 0, 32, 64\nmaxnreg = maxnreg\n"},
      {"--maxnreg=64", "maxnreg = 64\n"},
      {"--maxnreg=recorded.block.x..max(256, recorded.block)",
       "maxnreg: recorded.block.x..max(256, recorded.block)\n"
       "maxnreg = maxnreg\n"},
      {"--maxnreg=min(32, 64),128",
       "maxnreg: min(32, 64), 128\nmaxnreg = maxnreg\n"},
      {"--maxnreg=65536 / recorded.block",
       "maxnreg = 65536 / recorded.block\n"},
      {"--codegen-opt=2..3", "codegen_opt: 2..3\ncodegen_opt = codegen_opt\n"},
      {"--shared-mem=0,1024", "shared_mem: 0, 1024\nshared_mem = shared_mem\n"},
      {"--grid=100,200", "grid.x: 100, 200\ngrid.x = grid.x\n"},
      {"--grid-y=recorded.grid.y * 2", "grid.y = recorded.grid.y * 2\n"},
      // Switches.
      {"--specialize=on", "specialize = true\n"},
      {"--specialize=off", "specialize = false\n"},
      {"--specialize=both", "specialize: bool\nspecialize = specialize\n"},
      {"--specialize-dims=on|off",
       "specialize_dims: bool\nspecialize_dims = specialize_dims\n"},
      {"--specialize-ranges=off|on",
       "specialize_ranges: bool\nspecialize_ranges = specialize_ranges\n"},
      {"--launch-bounds=both",
       "set_launch_bounds: bool\nset_launch_bounds = set_launch_bounds\n"},
      // Texts.
      {"--ptxas-options=-dlcm=ca", "ptxas_options = \"-dlcm=ca\"\n"},
      {"--ptxas-options=|-dlcm=cg | -O2 -v",
       "ptxas_options: \"\", \"-dlcm=cg\", \"-O2 -v\"\n"
       "ptxas_options = ptxas_options\n"},
      {"--ptxas-controls=| a b.acf|a.acf|",
       "ptxas_controls: \"\", \"a b.acf\", \"a.acf\"\n"
       "ptxas_controls = ptxas_controls\n"},
      // Pipelines.
      {"--passes=default<{O1|O2}>",
       "passes: 'default<{O1|O2}>'\npasses = passes\n"},
      {"--passes=function(sroa, gvn)", "passes = \"function(sroa,gvn)\"\n"},
      // Options of LLVM.
      {"--opt=unroll-threshold=50..400:50",
       "unroll-threshold: 50..400:50\n"
       "llvm.unroll-threshold = `unroll-threshold`\n"},
      {"--opt=unroll-threshold=100", "llvm.unroll-threshold = 100\n"},
      {"--opt=unroll-threshold=100,200",
       "unroll-threshold: 100, 200\n"
       "llvm.unroll-threshold = `unroll-threshold`\n"},
      {"--opt=unroll-threshold=100|200",
       "unroll-threshold: 100, 200\n"
       "llvm.unroll-threshold = `unroll-threshold`\n"},
      {"--opt=unroll-runtime=on", "llvm.unroll-runtime = true\n"},
      {"--opt=unroll-runtime=on|off",
       "unroll-runtime: bool\nllvm.unroll-runtime = `unroll-runtime`\n"},
      {"--opt=unroll-runtime=both",
       "unroll-runtime: bool\nllvm.unroll-runtime = `unroll-runtime`\n"},
      {"--opt=regalloc=greedy", "llvm.regalloc = \"greedy\"\n"},
      {"--opt=regalloc=fast|greedy",
       "regalloc: \"fast\", \"greedy\"\nllvm.regalloc = regalloc\n"},
      {"--opt=factor=0.5..2", "factor: 0.5..2.0\nllvm.factor = factor\n"},
      {"--opt=factor=0.5..2:*2", "factor: 0.5..2.0:*2\nllvm.factor = factor\n"},
      {"--opt=factor=1,2.5", "factor: 1.0, 2.5\nllvm.factor = factor\n"},
      {"--opt=size=recorded.block * 2", "llvm.size = recorded.block * 2\n"},
      {"--opt=recorded.x=1", "llvm.recorded.x = 1\n"},
      // What has no field.
      {"--derive=warps=ceildiv(recorded.block, 32)",
       "warps is ceildiv(recorded.block, 32)\n"},
      {"--require=recorded.block > 32", "require recorded.block > 32\n"}};
  for (const auto &[Argument, Wanted] : Cases)
    EXPECT_EQ(apply({Argument}), std::string(Wanted) + "least time\n")
        << Argument;
}

TEST(CommandLineSpaceTest, Objectives) {
  EXPECT_EQ(apply({"--objective=time"}), "least time\n");
  EXPECT_EQ(apply({"--objective=time:min, reg_usage"}),
            "least time\nleast reg_usage\n");
  EXPECT_EQ(apply({"--objective=occupancy,obj_size:max"}),
            "most occupancy\nmost obj_size\n");
  EXPECT_EQ(apply({"--objective=code_size"},
                  StudyBuilder().objective("reg_usage").S),
            "least code_size\n");
}

TEST(CommandLineSpaceTest, BlocksBringTheirGrid) {
  EXPECT_EQ(apply({"--block-x=64..1024:64"}),
            "block.x: 64..1024:64\n"
            "require block.x * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = block.x\n"
            "grid.x = ceildiv(recorded.threads.x, block.x)\n"
            "least time\n");
  EXPECT_EQ(apply({"--block-y=1,2,4", "--block-x=128"}),
            "block.y: 1, 2, 4\n"
            "require 128 * block.y * recorded.block.z <= 1024\n"
            "block.y = block.y\n"
            "block.x = 128\n"
            "grid.x = ceildiv(recorded.threads.x, 128)\n"
            "grid.y = ceildiv(recorded.threads.y, block.y)\n"
            "least time\n");
  // Not where one is given.
  EXPECT_EQ(apply({"--grid=ceildiv(recorded.threads, block.x)",
                   "--block-x=64,128"}),
            "block.x: 64, 128\n"
            "require block.x * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = block.x\n"
            "grid.x = ceildiv(recorded.threads, block.x)\n"
            "least time\n");
  EXPECT_EQ(apply({"--block-x=64,128", "--grid-x=recorded.grid.x"}),
            "block.x: 64, 128\n"
            "require block.x * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = block.x\n"
            "grid.x = recorded.grid.x\n"
            "least time\n");
}

TEST(CommandLineSpaceTest, NamesMeanWhatTheConfigurationHas) {
  // In any order: a parameter, a derived value, a field, what was recorded.
  EXPECT_EQ(apply({"--require=warps <= 16 && grid.y == 1 && shared_mem == 0",
                   "--derive=warps=ceildiv(threads_of_block, 32)",
                   "--derive=threads_of_block=block.x * block.y",
                   "--block-x=64,128", "--grid-y=1",
                   "--require=`unroll-count` < 8 || `llvm.unroll-count` > 9",
                   "--opt=unroll-count=1..16"}),
            "block.x: 64, 128\n"
            "unroll-count: 1..16\n"
            "threads_of_block is block.x * recorded.block.y\n"
            "warps is ceildiv(threads_of_block, 32)\n"
            "require warps <= 16 && 1 == 1 && recorded.shared_mem == 0\n"
            "require `unroll-count` < 8 || `unroll-count` > 9\n"
            "require block.x * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = block.x\n"
            "grid.y = 1\n"
            "llvm.unroll-count = `unroll-count`\n"
            "grid.x = ceildiv(recorded.threads.x, block.x)\n"
            "least time\n");
}

/// As the preset "launch" does.
Study makeComputedBlocks() {
  return StudyBuilder()
      .range("warps", "1", "32")
      .range("block.x", "1", "64")
      .require("min(warps * 32, block.x) <= 512")
      .field("block.x", "min(warps * 32, block.x)")
      .field("grid.x",
             "ceildiv(recorded.threads.x, min(warps * 32, block.x)) + 1")
      .S;
}

TEST(CommandLineSpaceTest, BlocksThatWereComputedHaveAnotherGrid) {
  // What was computed is replaced wherever it was; parameters that nothing
  // needs any more go, and with them their names.
  EXPECT_EQ(apply({"--block-x=32,64"}, makeComputedBlocks()),
            "block.x: 32, 64\n"
            "require block.x <= 512\n"
            "require block.x * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = block.x\n"
            "grid.x = ceildiv(recorded.threads.x, block.x)\n"
            "least time\n");
  EXPECT_EQ(apply({"--block-x=128", "--grid-x=7"}, makeComputedBlocks()),
            "require 128 <= 512\n"
            "require 128 * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = 128\n"
            "grid.x = 7\n"
            "least time\n");
}

TEST(CommandLineSpaceTest, BoundsNeedTheirSwitch) {
  EXPECT_EQ(apply({"--min-blocks=1..4"}),
            "min_blocks_per_sm: 1..4\n"
            "set_launch_bounds = true\n"
            "min_blocks_per_sm = min_blocks_per_sm\n"
            "least time\n");
  EXPECT_EQ(apply({"--min-blocks=1..4", "--launch-bounds=both",
                   "--max-threads=256,512"}),
            "set_launch_bounds: bool\n"
            "min_blocks_per_sm: 1..4 when set_launch_bounds\n"
            "max_threads: 256, 512 when set_launch_bounds\n"
            "set_launch_bounds = set_launch_bounds\n"
            "min_blocks_per_sm = min_blocks_per_sm\n"
            "max_threads = max_threads\n"
            "least time\n");
  EXPECT_EQ(apply({"--min-blocks=1..4", "--launch-bounds=off"}),
            "--min-blocks:1:1: it has no effect while set_launch_bounds is "
            "off\n1..4\n^");
}

//===----------------------------------------------------------------------===//
// Presets
//===----------------------------------------------------------------------===//

Study makePreset() {
  return StudyBuilder()
      .range("threads", "32", "1024")
      .log()
      .choice("opt", {"'O1'", "'O2'", "'O3'"})
      .pipeline("passes", "default<{O1|O2}>")
      .boolean("bounds")
      .range("blocks", "1", "8")
      .when("bounds && threads <= 512")
      .derive("grid", "ceildiv(recorded.threads, threads)")
      .require("grid >= 10")
      .field("block.x", "threads")
      .field("grid.x", "grid")
      .field("passes", "passes")
      .field("llvm.level", "opt")
      .field("set_launch_bounds", "bounds")
      .field("min_blocks_per_sm", "blocks")
      .S;
}

TEST(CommandLineSpaceTest, ParametersOfAPresetGetOtherValues) {
  EXPECT_EQ(apply({"--block-x=64,96", "--min-blocks=2,4",
                   "--passes=default<{O2|O3}>"},
                  makePreset()),
            "threads: 64, 96\n"
            "opt: \"O1\", \"O2\", \"O3\"\n"
            "passes: 'default<{O2|O3}>'\n"
            "bounds: bool\n"
            "blocks: 2, 4 when bounds && threads <= 512\n"
            "grid is ceildiv(recorded.threads, threads)\n"
            "require grid >= 10\n"
            "require threads * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = threads\n"
            "grid.x = grid\n"
            "passes = passes\n"
            "llvm.level = opt\n"
            "set_launch_bounds = bounds\n"
            "min_blocks_per_sm = blocks\n"
            "least time\n");
}

TEST(CommandLineSpaceTest, ParametersOfAPresetBecomeConstants) {
  EXPECT_EQ(apply({"--block-x=128", "--launch-bounds=on", "--opt=level=O3",
                   "--passes=default<O3>"},
                  makePreset()),
            "blocks: 1..8 when true && 128 <= 512\n"
            "grid is ceildiv(recorded.threads, 128)\n"
            "require grid >= 10\n"
            "require 128 * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = 128\n"
            "grid.x = grid\n"
            "passes = \"default<O3>\"\n"
            "llvm.level = \"O3\"\n"
            "set_launch_bounds = true\n"
            "min_blocks_per_sm = blocks\n"
            "least time\n");
}

TEST(CommandLineSpaceTest, WhatAPresetDoesNotNeedAnyMoreIsDropped) {
  StudyBuilder B;
  B.range("exponent", "5", "10")
      .range("other", "1", "3")
      .derive("threads", "pow2(exponent)")
      .derive("twice", "threads * 2")
      .field("block.x", "threads")
      .field("maxnreg", "other");
  EXPECT_EQ(apply({"--block-x=64,96"}, B.S),
            "other: 1..3\n"
            "block.x: 64, 96\n"
            "require block.x * recorded.block.y * recorded.block.z <= 1024\n"
            "block.x = block.x\n"
            "maxnreg = other\n"
            "grid.x = ceildiv(recorded.threads.x, block.x)\n"
            "least time\n");
}

TEST(CommandLineSpaceTest, TheLaunchIsKept) {
  auto Keep = [](Study S, ArrayRef<StringRef> Arguments) {
    EXPECT_FALSE(errorToBool(applyToStudy(parse(Arguments), S)));
    keepLaunch(S);
    EXPECT_FALSE(errorToBool(checkStudy(S)));
    return describe(S);
  };
  EXPECT_EQ(Keep({}, {"--block-x=32,64", "--maxnreg=1..3"}),
            "maxnreg: 1..3\n"
            "require recorded.block.x * recorded.block.y * recorded.block.z <= "
            "1024\n"
            "maxnreg = maxnreg\n"
            "least time\n");
  // What other fields share with the launch has its default.
  StudyBuilder B;
  B.range("exponent", "5", "10")
      .range("other", "1", "3")
      .derive("threads", "pow2(exponent)")
      .field("block.x", "threads")
      .field("max_threads", "exponent * 2")
      .field("maxnreg", "other");
  EXPECT_EQ(Keep(B.S, {}), "other: 1..3\n"
                           "max_threads = 5 * 2\n"
                           "maxnreg = other\n"
                           "least time\n");
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

TEST(CommandLineSpaceTest, Mistakes) {
  const std::pair<std::vector<StringRef>, const char *> Cases[] = {
      {{"--maxnreg=64.."}, "--maxnreg:1:5: expected an expression"},
      {{"--maxnreg=64..128:"}, "--maxnreg:1:9: expected an expression"},
      {{"--maxnreg=64..128:x"},
       "--maxnreg:1:9: 'x' is neither a number nor recorded"},
      {{"--maxnreg=1,,2"}, "--maxnreg:1:3: expected an expression"},
      {{"--maxnreg="}, "--maxnreg:1:1: expected an expression"},
      {{"--maxnreg=1,'a'"}, "--maxnreg:1:3: expected a number, got \"a\""},
      {{"--maxnreg=on"}, "--maxnreg:1:1: there is no parameter 'on'"},
      {{"--maxnreg=0.5..2"}, "--maxnreg:1:1: needs int, not real"},
      {{"--maxnreg=true"}, "--maxnreg:1:1: needs int, not bool"},
      {{"--opt=f=0.5..2:0.1"}, "--opt:1:10: a range of reals has no step"},
      {{"--opt=unroll-threshold"}, "--opt:1:1: expected NAME=values"},
      {{"--opt==5"}, "--opt:1:1: expected NAME=values"},
      {{"--opt=x=1..y"}, "--opt:1:6: 'y' is neither a number nor recorded"},
      {{"--opt=x=a,b"}, "--opt:1:3: 'a' is neither a number nor recorded"},
      {{"--specialize=yes"}, "--specialize:1:1: expected on, off or both"},
      {{"--require=block.x"}, "--require:1:1: needs bool, not int"},
      {{"--require=warps > 1"}, "--require:1:1: there is no parameter 'warps'"},
      {{"--require=maxnreg > 1"},
       "--require:1:1: there is no parameter 'maxnreg'"},
      {{"--derive=a b=1"}, "--derive:1:1: a name may not contain ' '"},
      {{"--derive=a"}, "--derive:1:1: expected NAME=expression"},
      {{"--derive=a=1", "--derive=a=2"},
       "--derive:1:1: the name 'a' is used already"},
      {{"--derive=a=b + 1", "--derive=b=a + 1"},
       "--derive:1:3: 'a' depends on itself"},
      {{"--block-x=block.x * 2"}, "--block-x:1:1: 'block.x' depends on itself"},
      // The mistake is in the option that is needed.
      {{"--derive=a=maxnreg * 2", "--maxnreg=1..2..3"},
       "--maxnreg:1:4: invalid number '2..3'"},
      {{"--objective=tim"},
       "--objective:1:1: there is no metric 'tim'; did you mean 'time'?"},
      {{"--objective=time:best"},
       "--objective:1:6: expected min or max, not 'best'"},
      {{"--objective=time,time:max"}, "--objective:1:6: 'time' occurs twice"},
      {{"--maxnreg=1", "--maxnreg=2"},
       "--maxnreg='2': there is --maxnreg already"},
      {{"--grid=1", "--grid-x=2"}, "--grid-x='2': there is --grid already"},
      {{"--grids=1"}, "there is no option '--grids' of a space"},
      {{"--maxnreg=64..32"}, "--maxnreg:1:1: the range 64..32 is empty"},
  };
  for (const auto &[Arguments, Wanted] : Cases) {
    std::string Message = apply(Arguments);
    EXPECT_EQ(StringRef(Message).split('\n').first, Wanted);
  }
}

TEST(CommandLineSpaceTest, MistakesAreQuoted) {
  EXPECT_EQ(apply({"--block-x=64..x:2"}),
            "--block-x:1:5: 'x' is neither a number nor recorded\n"
            "64..x:2\n"
            "    ^");
  EXPECT_EQ(apply({"--require=block.x >\n  blok.y"}),
            "--require:2:3: there is no parameter 'blok.y'\n"
            "  blok.y\n"
            "  ^");
  EXPECT_EQ(apply({"--passes=function({gvn|sroa)"}),
            "--passes:1:19: expected ',', '|' or '}', not ')'\n"
            "function({gvn|sroa)\n"
            "                  ^");
}

TEST(CommandLineSpaceTest, AnyTextIsAStudyOrAnError) {
  static constexpr StringLiteral Pieces[] = {
      "1",  "64", "..", ":",  "*2", ",",     "|",       "(",      ")",
      "'",  "\"", "`",  "x",  "=",  "on",    "both",    "block.x", "min(",
      "-",  "?",  "<",  "&&", "\\", "0.5",   "recorded.block", " ", "{",
      "}",  "a",  "maxnreg",  "time", "", "9223372036854775807", "/"};
  std::vector<SpaceOptionInfo> Names = getSpaceOptions();
  std::mt19937_64 R(1);
  unsigned Good = 0, Bad = 0;
  for (unsigned I = 0; I != 40000; ++I) {
    CommandLineSpace Space;
    for (unsigned N = 1 + R() % 2; N != 0; --N) {
      std::string Text;
      for (unsigned L = R() % 6; L != 0; --L)
        Text += Pieces[R() % std::size(Pieces)].str();
      Space.push_back({Names[R() % Names.size()].Name.str(), Text});
    }
    Study S;
    if (Error E = applyToStudy(Space, S)) {
      ++Bad;
      EXPECT_FALSE(toString(std::move(E)).empty());
      continue;
    }
    ++Good;
    // What is left to be wrong is about the recording.
    Expected<SearchSpace> Bound = SearchSpace::create(S, makeFacts());
    if (!Bound)
      consumeError(Bound.takeError());
    else if (!Bound->dimensions().empty())
      EXPECT_TRUE(Bound->sample(R).has_value());
  }
  EXPECT_GT(Good, 1000u);
  EXPECT_GT(Bad, 1000u);
}

//===----------------------------------------------------------------------===//
// All the way
//===----------------------------------------------------------------------===//

TEST(CommandLineSpaceTest, ASpaceToSearch) {
  Study S;
  ASSERT_THAT_ERROR(
      applyToStudy(parse({"--block-x=32..1024:*2", "--block-y=1,2,4",
                          "--passes=default<{O1|O2|O3}>",
                          "--launch-bounds=both", "--min-blocks=1..4",
                          "--require=block.x >= block.y * 16"}),
                   S),
      Succeeded());
  Expected<SearchSpace> Space = SearchSpace::create(S, makeFacts());
  ASSERT_THAT_EXPECTED(Space, Succeeded());
  EXPECT_EQ(*Space->count(), 6u * 3 * 3 * (1 + 4));
  // 3 * 6, without 2 * 1024, 4 * 1024, 4 * 512 and 4 * 32.
  EXPECT_EQ(*Space->countValid(), 14u * 3 * 5);
  // It starts as recorded.
  Expected<json::Object> Start = Space->configure(Space->defaultPoint());
  ASSERT_THAT_EXPECTED(Start, Succeeded());
  EXPECT_EQ(*Start, (json::Object{{"block.x", 256},
                                  {"block.y", 1},
                                  {"grid.x", 100},
                                  {"grid.y", 1},
                                  {"passes", "default<O3>"},
                                  {"set_launch_bounds", false},
                                  {"min_blocks_per_sm", 1}}));
}

} // namespace
