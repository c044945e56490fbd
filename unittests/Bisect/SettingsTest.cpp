//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

std::string print(const json::Object &Config) {
  return formatv("{0}", json::Value(json::Object(Config))).str();
}

std::string parse(StringRef Text) {
  Expected<json::Object> Config = parseSide(Text);
  if (!Config)
    return "error: " + toString(Config.takeError());
  return print(*Config);
}

TEST(BisectSettings, KnowEachKey) {
  for (const SettingInfo &S : getSettings()) {
    EXPECT_NE(getOptionName(S.Key), "") << S.Key.str();
    EXPECT_EQ(getOptionKey(getOptionName(S.Key)), S.Key);
    EXPECT_EQ(getSettingStage(S.Key), S.Stage);
    EXPECT_EQ(isLaunchField(S.Key), S.Stage == SettingStage::Launch);
  }
  EXPECT_EQ(getOptionName("llvm.x"), "mllvm");
  EXPECT_EQ(getOptionName("nothing"), "");
  EXPECT_EQ(getSettingStage("llvm.x"), SettingStage::Pipeline);
}

TEST(BisectSettings, AreReadAsTyped) {
  EXPECT_EQ(parse(""), "{}");
  EXPECT_EQ(parse("default<O1>"), R"({"passes":"default<O1>"})");
  EXPECT_EQ(parse("--passes='sroa, gvn' -codegen-opt 1 --specialize"),
            R"({"codegen_opt":1,"passes":"sroa, gvn","specialize":true})");
  EXPECT_EQ(parse("--specialize=false --block-dim-x=64"),
            R"({"block.x":64,"specialize":false})");
  EXPECT_EQ(parse("--mllvm=-unroll-threshold=50 -mllvm -enable-gvn-hoist"),
            R"({"llvm.enable-gvn-hoist":"","llvm.unroll-threshold":"50"})");
  EXPECT_EQ(parse("--mllvm=-a=1 --mllvm=-a=2"), R"({"llvm.a":["1","2"]})");
}

TEST(BisectSettings, RefuseWhatMakesNoSense) {
  EXPECT_THAT(parse("--device=host"),
              testing::HasSubstr("'--device=host' cannot be set for one side"));
  EXPECT_EQ(parse("--codegen-opt=x"), "error: invalid --codegen-opt=x");
  EXPECT_EQ(parse("--specialize=maybe"), "error: invalid --specialize=maybe");
  EXPECT_EQ(parse("--passes"), "error: '--passes' needs a value");
  EXPECT_EQ(parse("default<O1> default<O2>"),
            "error: unexpected 'default<O2>'");
  EXPECT_THAT(parse("@/nowhere/at-all.json"),
              testing::HasSubstr("/nowhere/at-all.json"));
  EXPECT_THAT(parse("--maxnreg=99999999999"), testing::HasSubstr("maxnreg"));
}

TEST(BisectSettings, AreReadFromFiles) {
  unittest::TempDir Dir("bisect-settings", /*Unique=*/true);
  SmallString<128> Path = Dir.path("best.json");
  unittest::TempFile File(Path, "",
                          R"({"config": {"passes": "gvn", "maxnreg": 64}})");
  EXPECT_EQ(parse(Path), R"({"maxnreg":64,"passes":"gvn"})");
  EXPECT_EQ(parse(("@" + Path + " --maxnreg=32").str()),
            R"({"maxnreg":32,"passes":"gvn"})");
  EXPECT_EQ(parse(("--config=" + Path).str()),
            R"({"maxnreg":64,"passes":"gvn"})");
}

TEST(BisectSettings, MakeOptionsThatAreReadBack) {
  json::Object Config{{"passes", "function(sroa<modify-cfg>),it's"},
                      {"specialize", true},
                      {"block.x", 64},
                      {"llvm.a", json::Array{"1", "2"}},
                      {"llvm.b", ""}};
  std::vector<std::string> Options = makeOptions(Config);
  EXPECT_THAT(Options,
              testing::ElementsAre("--block-dim-x=64", "--mllvm=-a=1",
                                   "--mllvm=-a=2", "--mllvm=-b",
                                   "--passes=function(sroa<modify-cfg>),it's",
                                   "--specialize"));
  EXPECT_EQ(parse(quoteCommand(Options)), print(Config));
}

TEST(BisectSettings, KnowTools) {
  unittest::TempDir Dir("bisect-tools", /*Unique=*/true);
  unittest::TempFile Opt(Dir.path("opt-21"), "", "x");
  unittest::TempFile Other(Dir.path("option"), "", "x");
  Expected<json::Object> Config = parseTool(Opt.path());
  ASSERT_THAT_EXPECTED(Config, Succeeded());
  EXPECT_EQ(Config->getString("opt_tool"), Opt.path());
  EXPECT_THAT_EXPECTED(parseTool(Other.path()),
                       FailedWithMessage(testing::HasSubstr(
                           "is neither opt, clang, llc or ptxas")));
  EXPECT_THAT_EXPECTED(parseTool("/nowhere/opt"),
                       FailedWithMessage("no such tool: '/nowhere/opt'"));
  // A folder: what can be executed of it.
  unittest::TempFile LLC(Dir.path("llc"), "", "x");
  ASSERT_FALSE(sys::fs::setPermissions(LLC.path(), sys::fs::all_all));
  Config = parseTool(Dir.path());
  ASSERT_THAT_EXPECTED(Config, Succeeded());
  EXPECT_EQ(Config->size(), 1u);
  EXPECT_EQ(Config->getString("llc_tool"), LLC.path());
}

} // namespace
