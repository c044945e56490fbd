//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SmallRecording.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
class ConfigTest : public SmallRecording {
protected:
  std::string write(StringRef Text) {
    cantFail(writeFileAtomically(path("best.json"), Text));
    return path("best.json");
  }
};

ReplayOptions applied(StringRef Text, ReplayOptions O = {}) {
  json::Value V = cantFail(json::parse(Text));
  EXPECT_THAT_ERROR(applyConfig(*V.getAsObject(), O), Succeeded());
  return O;
}

std::string refused(StringRef Text) {
  json::Value V = cantFail(json::parse(Text));
  ReplayOptions O;
  return toString(applyConfig(*V.getAsObject(), O));
}

/// A value of each field that is not as recorded.
json::Object setAll() {
  json::Object All;
  for (const SettingInfo &S : getSettings())
    All[S.Key] = S.Type == SettingType::Bool ? json::Value(true)
                 : S.Type == SettingType::Int
                     ? json::Value(int64_t(All.size() + 1))
                     : json::Value((S.Key + " x").str());
  return All;
}
} // namespace

TEST_F(ConfigTest, NothingIsAsRecorded) {
  EXPECT_TRUE(makeConfig({}).empty());
  ReplayOptions O = applied("{}");
  EXPECT_TRUE(makeConfig(O).empty());
}

TEST_F(ConfigTest, BaselinesAreVerifiedAlike) {
  ReplayOptions O;
  O.Arch = "sm_90";
  O.CudaPath = "/cuda";
  O.Assembler = PTXCompiler::Library;
  O.Device = "cuda:1";
  O.Verify = false;
  O.Timeout = 7;
  O.ShowsOutput = false;
  O.Passes = "default<O1>";
  O.Iterations = 5;
  ReplayOptions B = getBaselineOptions(O);
  EXPECT_EQ(B.Arch, O.Arch);
  EXPECT_EQ(B.CudaPath, O.CudaPath);
  EXPECT_EQ(B.Assembler, O.Assembler);
  EXPECT_EQ(B.Device, O.Device);
  EXPECT_EQ(B.Verify, O.Verify);
  EXPECT_EQ(B.Timeout, O.Timeout);
  EXPECT_EQ(B.ShowsOutput, O.ShowsOutput);
  EXPECT_FALSE(B.Passes);
  EXPECT_FALSE(B.Iterations);
}

TEST_F(ConfigTest, EveryFieldOfTheTableComesBack) {
  json::Object All = setAll();
  ReplayOptions O;
  ASSERT_THAT_ERROR(applyConfig(All, O), Succeeded());
  EXPECT_EQ(O.Passes, "passes x");
  EXPECT_THAT(O.PtxasOptions, ElementsAre("ptxas_options", "x"));
  EXPECT_EQ(json::Value(makeConfig(O)), json::Value(std::move(All)));
}

TEST_F(ConfigTest, WhatIsNotSaidStays) {
  ReplayOptions O;
  O.Block[0] = 64;
  O.Specialize = true;
  O = applied(R"({"block.y": 4, "specialize_dims": true})", O);
  EXPECT_EQ(O.Block[0], 64u);
  EXPECT_EQ(O.Block[1], 4u);
  EXPECT_TRUE(O.Specialize);
  EXPECT_TRUE(O.SpecializeDims);
  EXPECT_FALSE(applied(R"({"specialize": false})", O).Specialize);
  // No passes at all are something else than those that were recorded.
  EXPECT_EQ(applied(R"({"passes": ""})").Passes, "");
}

TEST_F(ConfigTest, OptionsOfLLVM) {
  ReplayOptions O;
  O.LLVMOptions = {{"b", "old"}, {"z", "kept"}};
  O = applied(R"({"llvm.b": 500, "llvm.a": true, "llvm.c": ["x", "y"],
                  "llvm.r": 0.5, "llvm.flag": ""})",
              O);
  // In an order that does not depend on that of the file.
  EXPECT_THAT(O.LLVMOptions,
              ElementsAre(LLVMOption{"z", "kept"}, LLVMOption{"a", "true"},
                          LLVMOption{"b", "500"}, LLVMOption{"c", "x"},
                          LLVMOption{"c", "y"}, LLVMOption{"flag", ""},
                          LLVMOption{"r", "0.5"}));
  ReplayOptions Again;
  ASSERT_THAT_ERROR(applyConfig(makeConfig(O), Again), Succeeded());
  EXPECT_EQ(makeConfig(Again), makeConfig(O));
}

TEST_F(ConfigTest, WordsForPtxasAreQuoted) {
  ReplayOptions O;
  O.PtxasOptions = {"-O1", "a b", "q\"\\'"};
  ReplayOptions Again;
  ASSERT_THAT_ERROR(applyConfig(makeConfig(O), Again), Succeeded());
  EXPECT_EQ(Again.PtxasOptions, O.PtxasOptions);
}

TEST_F(ConfigTest, RefusesWithKeyAndValue) {
  EXPECT_THAT(refused(R"({"blok.x": 5})"),
              HasSubstr("'blok.x' is not a setting; did you mean 'block.x'?"));
  EXPECT_EQ(refused(R"({"block.x": "5"})"),
            "'block.x': \"5\" is not an integer");
  EXPECT_EQ(refused(R"({"block.x": 2.5})"), "'block.x': 2.5 is not an integer");
  EXPECT_EQ(refused(R"({"block.x": -1})"), "'block.x': -1 is out of range");
  EXPECT_EQ(refused(R"({"block.x": 4294967296})"),
            "'block.x': 4294967296 is out of range");
  EXPECT_EQ(refused(R"({"specialize": 1})"),
            "'specialize': 1 is neither true nor false");
  EXPECT_EQ(refused(R"({"passes": null})"), "'passes': null is not a string");
  EXPECT_EQ(refused(R"({"llvm.a": {}})"),
            "'llvm.a': {} is not a valid option value");
  EXPECT_EQ(refused(R"({"llvm.a": []})"),
            "'llvm.a': [] is not a valid option value");
  EXPECT_EQ(refused(R"({"llvm.": 1})"),
            "'llvm.': 1 names no option: expected llvm.NAME");
  EXPECT_EQ(refused(R"({"llvm.a=b": 1})"),
            "'llvm.a=b': 1 names no option: expected llvm.NAME");
}

TEST_F(ConfigTest, EqualCodeHasAnEqualDigest) {
  auto Base = plan();
  ASSERT_THAT_EXPECTED(Base, Succeeded());
  auto Digest = [&](StringRef Config) {
    ReplayOptions O = applied(Config, (*Base)->options());
    // With and without what compiling needs.
    std::string Digest = getCompileDigest(*cantFail((*Base)->vary(O, false)));
    EXPECT_EQ(getCompileDigest(*cantFail((*Base)->vary(O))), Digest);
    return Digest;
  };
  std::string Recorded = Digest("{}");
  // The launch is not in the code, ...
  EXPECT_EQ(Digest(R"({"block.x": 64, "grid.y": 2, "shared_mem": 16})"),
            Recorded);
  std::set<std::string> Different = {Recorded};
  for (StringRef Config :
       {R"({"passes": "default<O3>"})", R"({"run_passes": "none"})",
        R"({"run_passes": "gvn"})", R"({"skip_passes": "gvn"})",
        R"({"codegen_opt": 1})",
        R"({"target_cpu": "sm_80"})", R"({"target_features": "+ptx88"})",
        R"({"maxnreg": 32})", R"({"ptxas_options": "-O1"})",
        R"({"arch": "sm_80"})",
        R"({"specialize": true})", R"({"specialize_dims": true})",
        // ... unless it is put there.
        R"({"specialize_dims": true, "block.x": 64})",
        R"({"specialize_dims": true, "grid.x": 2})",
        R"({"specialize_ranges": true})",
        R"({"specialize_ranges": true, "block.x": 64})",
        R"({"set_launch_bounds": true})",
        R"({"set_launch_bounds": true, "block.x": 64})",
        R"({"set_launch_bounds": true, "min_blocks_per_sm": 2})",
        R"({"llvm.unroll-threshold": 500})"})
    EXPECT_TRUE(Different.insert(Digest(Config)).second) << Config.str();
  // What is said and what follows are the same.
  EXPECT_EQ(Digest(R"({"specialize_dims": true, "block.x": 32})"),
            Digest(R"({"specialize_dims": true})"));
  EXPECT_EQ(Digest(R"({"set_launch_bounds": true, "grid.x": 7})"),
            Digest(R"({"set_launch_bounds": true, "max_threads": 32})"));
}

TEST_F(ConfigTest, SideEffects) {
  auto Find = [](StringRef Text, StringRef Own = "{}") {
    std::string Found;
    for (const ConfigSideEffect &E :
         findSideEffects(*cantFail(json::parse(Text)).getAsObject(),
                         *cantFail(json::parse(Own)).getAsObject()))
      Found += toString(E) + "\n";
    return Found;
  };
  EXPECT_EQ(Find("{}"), "");
  EXPECT_EQ(Find(R"({"passes": "default<O3>", "ptxas_options": "-O1 -v",
                     "llvm.unroll-threshold": 5, "block.x": 3})"),
            "");
  EXPECT_EQ(Find(R"({"ptxas": "/x", "opt_tool": "/y", "llc_tool": "/z",
                     "ir": "k.ll"})"),
            "'ir' reads files\n'llc_tool' runs programs\n"
            "'opt_tool' runs programs\n'ptxas' runs programs\n");
  EXPECT_EQ(Find(R"({"passes": "gvn,dot-cfg", "ptxas_options": "-o 'x y'",
                     "llvm.ir-dump-directory": ["x"], "llvm.load": "y.so"})"),
            "'llvm.ir-dump-directory' writes files\n"
            "'llvm.load' loads plugins\n"
            "'dot-cfg' in 'passes' writes files\n"
            "'-o' in 'ptxas_options' may read or write files\n");
  EXPECT_EQ(Find(R"({"ptxas_controls": "a.acf"})"),
            "'ptxas_controls' reads files\n");
  EXPECT_EQ(Find(R"({"ptxas_controls": "hex:1f01"})"), "");
  // What the user has said, too, with the same value.
  EXPECT_EQ(Find(R"({"opt_tool": "/y", "ptxas": "/x"})",
                 R"({"opt_tool": "/y", "ptxas": "/other"})"),
            "'ptxas' runs programs\n");
  // As the default, and as what applyConfig() refuses.
  EXPECT_EQ(Find(R"({"opt_tool": "", "passes": 5, "nothing": "/x"})"), "");
}

TEST_F(ConfigTest, ReadsFiles) {
  auto File = readConfigFile(write(
      R"({"config": {"block.x": 64}, "static_hash": "11", "record_id": "22",
          "speedup": 1.5})"));
  ASSERT_THAT_EXPECTED(File, Succeeded());
  EXPECT_EQ(File->Config.getInteger("block.x"), 64);
  EXPECT_EQ(File->StaticHash, "11");
  EXPECT_EQ(File->RecordId, "22");
  auto P = plan();
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_THAT(toString(checkConfigFile(*File, (*P)->kernel())),
              HasSubstr("best.json': is for the kernel with static_hash 11, "
                        "the recording is of 'add' with 1111"));
  File->StaticHash = K.StaticHash;
  EXPECT_THAT_ERROR(checkConfigFile(*File, (*P)->kernel()), Succeeded());
  File->StaticHash.clear();
  EXPECT_THAT_ERROR(checkConfigFile(*File, (*P)->kernel()), Succeeded());
}

TEST_F(ConfigTest, RefusesFiles) {
  auto Error = [&](StringRef Text) {
    auto File = readConfigFile(write(Text));
    return File ? "no error" : toString(File.takeError());
  };
  EXPECT_THAT(Error("{"), HasSubstr("best.json:1:1: expected"));
  EXPECT_THAT(Error("[]"), HasSubstr("best.json:1:1: no configuration"));
  EXPECT_THAT(Error("{\"config\": 5}"),
              HasSubstr("best.json:1:2: no configuration"));
  EXPECT_THAT(
      Error(R"({"config": {"blok": 1}})"),
      HasSubstr("best.json:1:13: 'blok' is not a setting: there are passes, "));
  EXPECT_THAT(
      Error(R"({"config": {}, "record_id": 5})"),
      HasSubstr("best.json:1:16: 'record_id': expected a string, got 5"));
  EXPECT_THAT_EXPECTED(readConfigFile(path("none.json")), Failed());
}
