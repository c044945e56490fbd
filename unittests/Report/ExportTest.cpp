//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/Export.h"
#include "ReportParts.h"
#include "SampleStudy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

class ExportTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("mneme-export", Folder));
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  std::string path(StringRef Name) const { return (Folder + "/" + Name).str(); }
  json::Value readJSON(StringRef Name) const {
    return cantFail(
        json::parse((*MemoryBuffer::getFile(path(Name)))->getBuffer()));
  }
  StudyRecord record(bool Win = true) {
    Outcome = makeSampleOutcome(Trials, Win);
    return makeSampleRecord(Space, Trials, Outcome);
  }

  SmallString<128> Folder;
  SearchSpace Space = makeSampleSpace();
  std::vector<Trial> Trials = makeSampleTrials(Space, 40);
  StudyOutcome Outcome;
};

TEST_F(ExportTest, WritesTheBest) {
  StudyRecord R = record();
  ASSERT_THAT_ERROR(writeBest(R, path("best.json")), Succeeded());
  json::Value V = readJSON("best.json");
  const json::Object &O = *V.getAsObject();
  const Trial &Winner = *R.winner();
  EXPECT_EQ(O.getInteger("trial"), static_cast<int64_t>(Winner.Number));
  EXPECT_EQ(*O.getObject("config"), Winner.Config);
  EXPECT_EQ(O.getString("code_hash"), StringRef(Winner.CodeHash));
  EXPECT_EQ(O.getObject("metrics")->getNumber("time"), Winner.Values[0]);
  const json::Object *Expected = O.getObject("expected");
  EXPECT_EQ(Expected->getObject("speedup")->getNumber("low"),
            Outcome.Final.Confirmed->Speedup.Low);
  EXPECT_EQ(Expected->getObject("baseline_ns")->getNumber("median"),
            Winner.BaselineNanoseconds);
  EXPECT_LE(*Expected->getObject("time_ns")->getNumber("low"),
            *Expected->getObject("time_ns")->getNumber("median"));
}

TEST_F(ExportTest, TimesOfTheBestAreOfOneDevice) {
  StudyRecord R = record();
  for (Trial &T : Trials)
    if (&T == R.winner())
      T.BaselineNanoseconds = 1234; // As it was there.
  json::Object O = makeBest(R);
  EXPECT_EQ(
      O.getObject("expected")->getObject("baseline_ns")->getNumber("median"),
      1234);
}

TEST_F(ExportTest, ReportsNoRateWithoutTrialsOfThisRun) {
  StudyRecord R = record();
  auto HasRate = [&] {
    cantFail(writeReport(R, path("report.html")));
    return (*MemoryBuffer::getFile(path("report.html")))
        ->getBuffer()
        .contains("trials a second");
  };
  EXPECT_TRUE(HasRate());
  Outcome.Resumed = Outcome.Complete + Outcome.Pruned + Outcome.Failed;
  EXPECT_FALSE(HasRate());
}

/// Settings that follow from the launch, and code that depends on it, are those
/// of that launch, also for winners of single launches.
TEST_F(ExportTest, BestHasConfigAndCodeOfEachLaunch) {
  StudyRecord R = record();
  Outcome.Instances.push_back(Outcome.Instances.front());
  Outcome.Instances.back().Id = "0011223344556677";
  for (RetestedTrial &T : Outcome.Final.Candidates) {
    std::string Number = std::to_string(T.Number);
    T.Configs.push_back(T.Configs.front());
    for (auto [I, Config] : enumerate(T.Configs)) {
      Config["max_threads"] = 32 + 224 * I;
      T.CodeHashes.push_back("code" + Number + "on" + std::to_string(I));
    }
    T.PerInstance = {T.Speedup, T.Speedup};
  }
  RetestedTrial &Other = Outcome.Final.Candidates[1];
  Other.PerInstance[1] = {3, 2.9, 3.1};
  Outcome.Final.Confirmed = Outcome.Final.Candidates[0];
  Outcome.Regrets = {{0, Outcome.Final.Candidates[0].Number, 1.5, 1.5},
                     {1, Other.Number, 3, 1.5}};
  json::Object Best = makeBest(R);
  std::string Common =
      "code" + std::to_string(Outcome.Final.Candidates[0].Number);
  const json::Array &Configs = *Best.getArray("instance_configs");
  ASSERT_EQ(Configs.size(), 2u);
  for (auto [I, V] : enumerate(Configs)) {
    const json::Object &O = *V.getAsObject();
    EXPECT_EQ(O.getString("record_id"), StringRef(Outcome.Instances[I].Id));
    EXPECT_EQ(O.getString("code_hash"), Common + "on" + std::to_string(I));
    EXPECT_EQ(O.getObject("config")->getInteger("max_threads"), 32 + 224 * I);
  }
  const json::Array &Own = *Best.getArray("instance_winners");
  ASSERT_EQ(Own.size(), 1u);
  const json::Object &O = *Own.front().getAsObject();
  EXPECT_EQ(O.getString("record_id"), StringRef("0011223344556677"));
  EXPECT_EQ(O.getInteger("trial"), static_cast<int64_t>(Other.Number));
  EXPECT_EQ(O.getString("code_hash"),
            "code" + std::to_string(Other.Number) + "on1");
  EXPECT_EQ(O.getObject("config")->getInteger("max_threads"), 256);
}

TEST_F(ExportTest, RecordsTheBaselineWhenNothingIsBetter) {
  StudyRecord R = record(false);
  json::Object O = makeBest(R);
  EXPECT_TRUE(O.getObject("config")->empty());
  EXPECT_EQ(O.getString("code_hash"), StringRef("00ff"));
  EXPECT_EQ(O.getObject("expected")->getObject("time_ns")->getNumber("median"),
            1500);
}

TEST_F(ExportTest, TellsProteusEverythingThatItReads) {
  StudyRecord R = record();
  for (Trial &T : Trials)
    if (&T == R.winner())
      T.Config = json::Object{{"specialize_dims", true},
                              {"set_launch_bounds", true},
                              {"max_threads", 512},
                              {"min_blocks_per_sm", 2},
                              {"maxnreg", 40}};
  ASSERT_THAT_ERROR(exportStudy("proteus", R, path("p.json")), Succeeded());
  json::Value V = readJSON("p.json");
  const json::Object *E = V.getAsObject()->getObject("_Z6kernelPfi");
  ASSERT_TRUE(E);
  // What the application is compiled with is said too: without a key Proteus
  // does something else.
  EXPECT_EQ(E->getString("Pipeline"), StringRef("default<O3>"));
  EXPECT_EQ(E->getBoolean("SpecializeArgs"), false);
  EXPECT_EQ(E->getBoolean("SpecializeDims"), true);
  EXPECT_EQ(E->getInteger("TunedMaxThreads"), 512);
  EXPECT_EQ(E->getInteger("MinBlocksPerSM"), 2);
  EXPECT_EQ(E->getString("OptLevel"), StringRef("3"));
  EXPECT_EQ(E->getObject("Mneme")
                ->getObject("not_said_above")
                ->getInteger("maxnreg"),
            40);
}

TEST_F(ExportTest, LeavesNothingBehindOnErrors) {
  StudyRecord R = record();
  for (StringRef Format : {"csv", "t4", "proteus"}) {
    std::string Path = path("folder");
    sys::fs::create_directory(Path);
    EXPECT_THAT_ERROR(exportStudy(Format, R, Path), Failed()) << Format.str();
    std::error_code EC;
    unsigned Files = 0;
    for (sys::fs::directory_iterator I(Folder, EC), E; I != E && !EC;
         I.increment(EC))
      ++Files;
    EXPECT_EQ(Files, 1u) << Format.str();
  }
}

TEST_F(ExportTest, KnowsWhatNeedsAWinner) {
  EXPECT_TRUE(exportsOnlyWinner("proteus"));
  EXPECT_FALSE(exportsOnlyWinner("csv"));
}

TEST_F(ExportTest, HasAnExtensionForEachFormat) {
  EXPECT_EQ(getExportExtension("csv"), StringRef("csv"));
  EXPECT_EQ(getExportExtension("xls"), std::nullopt);
  std::string List;
  raw_string_ostream OS(List);
  listExports(OS);
  for (StringRef Format : {"csv", "t4", "proteus", "package"})
    EXPECT_TRUE(StringRef(List).contains((Format + "  ").str()))
        << Format.str();
  EXPECT_EQ(StringRef(List).count('\n'), 4u);
}

//===----------------------------------------------------------------------===//
// Parts of the report
//===----------------------------------------------------------------------===//

std::string diff(StringRef Before, StringRef After) {
  std::string Text;
  raw_string_ostream OS(Text);
  writeWordDiff(OS, Before, After);
  StringRef Body = StringRef(Text).split('>').second;
  return Body.rsplit("</code>").first.str();
}

TEST(ReportPartsTest, ShowsWordsThatDiffer) {
  EXPECT_EQ(diff("a,b", "a,b"), "a,<wbr>b");
  EXPECT_EQ(diff("a(b)", "a(c)"), "a(<del>b</del><ins>c</ins>)");
  EXPECT_EQ(diff("", "sroa"), "<ins>sroa</ins>");
  EXPECT_EQ(diff("sroa", ""), "<del>sroa</del>");
  EXPECT_EQ(diff("x<O1>", "x<O2>"), "x&lt;<del>O1</del><ins>O2</ins>&gt;");
  EXPECT_EQ(diff("a,b,c", "a,c"), "a,<wbr><del>b,</del>c");
}

TEST(ReportPartsTest, FormatsNumbers) {
  EXPECT_EQ(formatMetric("time", 12.25), "12.25 ns");
  EXPECT_EQ(formatMetric("time", 12250), "12.25 us");
  EXPECT_EQ(formatMetric("time", 3.5e9), "3.5 s");
  EXPECT_EQ(formatMetric("reg_usage", 40), "40 registers");
  EXPECT_EQ(formatMetric("occupancy", 0.5), "50 %");
  EXPECT_EQ(formatMetric("unknown", 123456), "123456");
  EXPECT_EQ(formatNumber(0.000123456), "0.0001235");
  EXPECT_EQ(escapeHTML("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
  EXPECT_EQ(escapeHTML("\xff"), "\xef\xbf\xbd");
}

} // namespace
