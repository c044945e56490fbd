//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row of Config.def is one option: this program has a row more than the
// tools (ExtraSettings.def), and no other code knows of it.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/SettingFlags.h"
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::ElementsAre;

static std::string programKey(StringRef Program) { return Program.str(); }

TEST(ExtraSettingTest, IsAnOptionOfReplay) {
  // The command line knows them until the process ends.
  static cl::OptionCategory Category("settings");
  static SettingFlags Flags([](const SettingInfo &) { return &Category; });
  const char *Words[] = {"replay", "--extra-level=7", "--maxnreg=64"};
  ASSERT_TRUE(cl::ParseCommandLineOptions(std::size(Words), Words));
  KernelConfig C;
  Flags.apply(C);
  EXPECT_EQ(C.ExtraLevel, 7u);
  EXPECT_EQ(C.MaxRegisters, 64u);
  EXPECT_TRUE(Flags.isGiven("extra_level"));
  EXPECT_FALSE(Flags.isGiven("codegen_opt"));
  EXPECT_EQ(cl::getRegisteredOptions().lookup("extra-level")->HelpStr,
            "Setting of a test");
}

TEST(ExtraSettingTest, IsAKeyOfConfigurations) {
  KernelConfig C;
  ASSERT_THAT_ERROR(applyConfig(json::Object{{"extra_level", 3}}, C),
                    Succeeded());
  EXPECT_EQ(C.ExtraLevel, 3u);
  EXPECT_EQ(makeConfig(C), (json::Object{{"extra_level", 3}}));
  EXPECT_THAT_ERROR(
      checkConfig(json::Object{{"extra_level", "x"}}),
      FailedWithMessage("'extra_level': \"x\" is not an integer"));
}

TEST(ExtraSettingTest, IsInTheKeyOfItsStage) {
  CompileConfig Without, With;
  With.ExtraLevel = 3;
  auto IsEqualFrom = [&](SettingStage Stage) {
    return getKey(Without, Stage, programKey) ==
           getKey(With, Stage, programKey);
  };
  EXPECT_FALSE(IsEqualFrom(SettingStage::Pipeline));
  EXPECT_FALSE(IsEqualFrom(SettingStage::CodeGen));
  EXPECT_TRUE(IsEqualFrom(SettingStage::Assembler));
}

TEST(ExtraSettingTest, IsAnOptionOfTune) {
  Study S;
  ASSERT_THAT_ERROR(applyToStudy({{"extra", "0..3"}}, S), Succeeded());
  ASSERT_EQ(S.Fields.size(), 1u);
  EXPECT_EQ(S.Fields[0].Key, "extra_level");
  ASSERT_EQ(S.Parameters.size(), 1u);
  EXPECT_EQ(S.Parameters[0].Kind, Parameter::Int);
  std::vector<StringRef> Names;
  for (const SpaceOptionInfo &O : getSpaceOptions())
    Names.push_back(O.Name);
  EXPECT_THAT(Names, Contains("extra"));
}

TEST(ExtraSettingTest, IsASettingOfBisection) {
  json::Object Side;
  EXPECT_TRUE(needsValue(getOptionKey("extra-level")));
  ASSERT_THAT_ERROR(addOption(Side, "extra-level", "2"), Succeeded());
  EXPECT_EQ(Side, (json::Object{{"extra_level", 2}}));
  EXPECT_THAT(makeOptions(Side), ElementsAre("--extra-level=2"));
  EXPECT_EQ(getSettingStage("extra_level"), SettingStage::CodeGen);
  EXPECT_THAT(getOptionNames(), Contains("extra-level"));
}
