//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Config/SettingFlags.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llvm;
using namespace llvm::mneme;

TEST(SettingsTest, RowsAreConsistent) {
  StringSet<> Keys, Options, TuneOptions;
  for (const SettingInfo &S : getSettings()) {
    EXPECT_TRUE(Keys.insert(S.Key).second) << S.Key.str();
    EXPECT_TRUE(Options.insert(S.Option).second) << S.Key.str();
    EXPECT_EQ(S.Tuning == SettingTuning::None, S.TuneOption.empty())
        << S.Key.str();
    if (!S.TuneOption.empty()) {
      EXPECT_TRUE(TuneOptions.insert(S.TuneOption).second) << S.Key.str();
    }
    if (!S.DependsOn.empty()) {
      const SettingInfo *Switch = findSetting(S.DependsOn);
      ASSERT_TRUE(Switch) << S.Key.str();
      EXPECT_EQ(Switch->Type, SettingType::Bool) << S.Key.str();
    }
    bool IsOfInts = S.Tuning == SettingTuning::Numbers;
    bool IsOfBools = S.Tuning == SettingTuning::Switch;
    if (S.isSearched()) {
      EXPECT_EQ(IsOfInts, S.Type == SettingType::Int) << S.Key.str();
      EXPECT_EQ(IsOfBools, S.Type == SettingType::Bool) << S.Key.str();
    }
  }
}

TEST(SettingsTest, WantedOnesAreOptions) {
  // The command line knows them until the process ends.
  static cl::OptionCategory Category("settings");
  static SettingFlags Flags([](const SettingInfo &S) {
    return S.Tuning == SettingTuning::Fixed ? &Category : nullptr;
  });
  EXPECT_FALSE(cl::getRegisteredOptions().count("maxnreg"));
  const char *Words[] = {"tune", "--opt-tool=a"};
  ASSERT_TRUE(cl::ParseCommandLineOptions(std::size(Words), Words));
  KernelConfig C;
  C.LlcTool = "kept";
  Flags.apply(C);
  EXPECT_EQ(C.OptTool, "a");
  EXPECT_EQ(C.LlcTool, "kept");
}

TEST(SettingsTest, KeysHaveProgramsByTheirIdentity) {
  CompileConfig C;
  C.LlcTool = "llc";
  auto KeyOf = [&](SettingStage From, StringRef Identity) {
    return getKey(C, From, [&](StringRef) { return Identity.str(); });
  };
  EXPECT_NE(KeyOf(SettingStage::Pipeline, "21"),
            KeyOf(SettingStage::Pipeline, "22"));
  EXPECT_NE(KeyOf(SettingStage::CodeGen, "21"),
            KeyOf(SettingStage::CodeGen, "22"));
  EXPECT_EQ(KeyOf(SettingStage::Assembler, "21"),
            KeyOf(SettingStage::Assembler, "22"));
}

//===----------------------------------------------------------------------===//
// docs/Settings.rst
//===----------------------------------------------------------------------===//

static StringRef describe(SettingType T) {
  switch (T) {
  case SettingType::Bool:
    return "switch";
  case SettingType::Int:
    return "integer";
  case SettingType::Text:
    return "text";
  }
  llvm_unreachable("unknown type");
}

static StringRef describe(SettingStage S) {
  switch (S) {
  case SettingStage::Input:
    return "input";
  case SettingStage::Specialize:
    return "specialization";
  case SettingStage::Pipeline:
    return "pipeline";
  case SettingStage::CodeGen:
    return "code generation";
  case SettingStage::BackEnd:
    return "code generation, by another program";
  case SettingStage::Assembler:
    return "assembler";
  case SettingStage::Launch:
    return "launch";
  }
  llvm_unreachable("unknown stage");
}

static StringRef describe(SettingReach R) {
  switch (R) {
  case SettingReach::Nothing:
    return "";
  case SettingReach::RunsPrograms:
    return "runs a program";
  case SettingReach::ReadsFiles:
    return "reads a file";
  case SettingReach::Pipeline:
    return "effects of its passes";
  case SettingReach::PtxasWords:
    return "effects of its options";
  }
  llvm_unreachable("unknown reach");
}

static StringRef describe(SettingTuning T) {
  switch (T) {
  case SettingTuning::None:
    return "";
  case SettingTuning::Fixed:
    return "one value";
  case SettingTuning::Numbers:
    return "numbers";
  case SettingTuning::Switch:
    return "switch";
  case SettingTuning::Texts:
    return "alternatives";
  case SettingTuning::Pipeline:
    return "pipeline space";
  }
  llvm_unreachable("unknown tuning");
}

static constexpr StringLiteral PageHead = R"(========
Settings
========

The tunable settings of a replay. Studies (:doc:`Studies`), journals, ``best.json`` and the files of
``llvm-mneme-replay --config`` use the same keys. A setting that is not given keeps its recorded value. In addition,
``llvm.NAME`` sets the LLVM option ``-NAME`` for the compilation (``--mllvm`` of both tools, ``--opt`` of a study), and
``define.NAME`` a macro of the source (``--define``).

*Stage* is the first stage that a setting affects. Configurations that differ only in settings of the launch share one
compilation, unless specialization or launch bounds make the code depend on the launch. *Reach* is an effect outside the
compilation: a file that sets such a key needs ``--allow-programs`` (:doc:`Security`). The options of
``llvm-mneme-tune`` take a space of values of the given kind (:doc:`Studies`), or one value for the whole study.

This page is generated from ``include/llvm/Mneme/Config/Config.def``. To update it:
``MNEME_UPDATE_DOCS=1 build/unittests/Config/MnemeConfigTests --gtest_filter='*Documentation*'``.

.. list-table::
   :header-rows: 1

   * - key
     - type
     - ``llvm-mneme-replay``
     - ``llvm-mneme-tune``
     - stage
     - reach
     - meaning
)";

static std::string code(const Twine &Text) {
  return ("``" + Text + "``").str();
}

static void printSettings(raw_ostream &OS) {
  OS << PageHead;
  for (const SettingInfo &S : getSettings()) {
    std::string Tune;
    if (!S.TuneOption.empty())
      Tune = code("--" + S.TuneOption) + ", " + describe(S.Tuning).str();
    for (auto [Start, Cell] : {std::pair("   * - ", code(S.Key)),
                               {"     - ", describe(S.Type).str()},
                               {"     - ", code("--" + S.Option)},
                               {"     - ", Tune},
                               {"     - ", describe(S.Stage).str()},
                               {"     - ", describe(S.Reach).str()},
                               {"     - ", S.Help.str()}})
      OS << StringRef(Start + Cell).rtrim() << '\n';
  }
}

TEST(SettingsTest, DocumentationIsOfThisTable) {
  std::string Text;
  raw_string_ostream OS(Text);
  printSettings(OS);
  if (::getenv("MNEME_UPDATE_DOCS")) {
    std::error_code EC;
    raw_fd_ostream(MNEME_SETTINGS_PAGE, EC) << Text;
    ASSERT_FALSE(EC);
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> Page =
      MemoryBuffer::getFile(MNEME_SETTINGS_PAGE);
  if (!Page)
    GTEST_SKIP() << "no sources here";
  EXPECT_EQ((*Page)->getBuffer(), Text) << "see the head of the page";
}
