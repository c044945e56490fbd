//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays of a small recording on the host device, in a farm.
//
//===----------------------------------------------------------------------===//

#include "ReplayFarmTest.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

TEST_F(ReplayFarmTest, EvaluatesOnTheHost) {
  start();
  submit(0, {});
  submit(1, {{"passes", "default<O1>"}});
  submit(2, {{"passes", "default<O3>"}});
  submit(3, {{"passes", "no-such-pass"}});
  submit(4, {{"color", "red"}});
  submit(5, {{"block.x", 0}});
  auto All = collect();
  ASSERT_EQ(All.size(), 6u);
  for (uint64_t Id : {0, 1, 2}) {
    const Evaluation &E = All[Id];
    EXPECT_EQ(E.Failure, "") << E.Error;
    EXPECT_EQ(E.Samples.size(), ReplayOptions::HostIterations);
    EXPECT_GT(E.Metrics.lookup("time"), 0);
    EXPECT_FALSE(E.CodeHash.empty());
    EXPECT_FALSE(E.IRHash.empty());
  }
  EXPECT_EQ(All[3].Failure, "Invalid");
  EXPECT_THAT(All[3].Error, HasSubstr("no-such-pass"));
  EXPECT_EQ(All[4].Failure, "Invalid");
  EXPECT_THAT(All[4].Error, HasSubstr("color"));
  EXPECT_EQ(All[5].Failure, "Invalid");
  // O1 and O3 make one of so small a kernel.
  EXPECT_GE(Farm->statistics().Reused, 1u);
  json::Object About = Farm->describe();
  const json::Array *Devices = About.getArray("devices");
  ASSERT_TRUE(Devices && Devices->size() == 1);
  EXPECT_EQ((*Devices)[0].getAsObject()->getString("name"), "host");
}

TEST_F(ReplayFarmTest, KernelsMayDoWhatTheyWant) {
  start();
  submit(0, {});
  submit(1, {{"block.x", 2}});
  submit(2, {{"block.x", 3}}, /*LaunchTimeout=*/1);
  submit(3, {{"block.x", 4}});
  submit(4, {{"block.x", 5}});
  submit(5, {{"block.x", 6}});
  submit(6, {{"passes", "default<O1>"}});
  auto All = collect();
  ASSERT_EQ(All.size(), 7u);
  EXPECT_EQ(All[0].Failure, "") << All[0].Error;
  EXPECT_EQ(All[1].Failure, "Mismatch") << All[1].Error;
  EXPECT_TRUE(All[1].Samples.empty());
  EXPECT_EQ(All[2].Failure, "Timeout") << All[2].Error;
  EXPECT_EQ(All[3].Failure, "Crash") << All[3].Error;
  EXPECT_EQ(All[4].Failure, "Crash") << All[4].Error;
  EXPECT_EQ(All[5].Failure, "Mismatch") << All[5].Error;
  EXPECT_EQ(All[6].Failure, "") << All[6].Error;
}

TEST_F(ReplayFarmTest, CompilersMayCrash) {
  start();
  submit(0, {{"passes", "trigger-crash-module"}});
  submit(1, {{"passes", "default<O2>"}});
  auto All = collect();
  EXPECT_EQ(All[0].Failure, "CompileError");
  EXPECT_THAT(All[0].Error, HasSubstr("the pass pipeline"));
  EXPECT_EQ(All[1].Failure, "") << All[1].Error;
}

TEST_F(ReplayFarmTest, OptionsOfLLVMDoNotStayInForce) {
  Options.CompileJobs = 1;
  start();
  submit(0, {{"passes", "default<O3>"}});
  Evaluation Whole = collect()[0];
  // No pass that can be left out is run; LLVM's own reset knows nothing of it.
  Farm.reset();
  start();
  submit(1, {{"passes", "default<O3>"}, {"llvm.opt-bisect-limit", 0}});
  submit(2, {{"passes", "default<O3>"}});
  submit(3, {{"passes", "default<O3>"}, {"llvm.opt-bisect-limit", 1000000}});
  auto All = collect();
  for (auto &[Id, E] : All)
    EXPECT_EQ(E.Failure, "") << E.Error;
  EXPECT_NE(All[1].CodeHash, Whole.CodeHash) << "it has an effect";
  EXPECT_EQ(All[2].IRHash, Whole.IRHash);
  EXPECT_EQ(All[2].CodeHash, Whole.CodeHash);
  EXPECT_EQ(All[3].CodeHash, Whole.CodeHash);
}

TEST_F(ReplayFarmTest, ComparesSideBySide) {
  start();
  submit(9, {{"passes", "default<O1>"}});
  Expected<PairedEvaluation> P =
      Farm->comparePaired({request(1, {}), request(2, {{"codegen_opt", 0}}),
                           request(3, {{"passes", "default<O3>"}})},
                          6);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "") << P->Error;
  ASSERT_EQ(P->Samples.size(), 3u);
  for (const std::vector<double> &S : P->Samples) {
    EXPECT_GE(S.size(), 6u);
    EXPECT_EQ(S.size(), P->Samples[0].size());
  }
  P = Farm->comparePaired({request(1, {}), request(2, {{"block.x", 2}})}, 6);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "Mismatch");
  EXPECT_EQ(collect()[9].Failure, "");
}

TEST_F(ReplayFarmTest, SeveralRecordedLaunches) {
  K.Instances.push_back(K.Instances[0]);
  K.Instances[1].DynamicHash = "0000000000000023";
  K.Instances[1].Prologue = "p2";
  K.Instances[1].Epilogue = "e2";
  for (auto [Name, Kind] : {std::pair("p2", MNEME_SNAPSHOT_PROLOGUE),
                            std::pair("e2", MNEME_SNAPSHOT_EPILOGUE)}) {
    SnapshotBuilder B = Builder(Kind);
    B.Header.DynamicHash = 0x23;
    if (Kind == MNEME_SNAPSHOT_PROLOGUE)
      B.args({SnapshotBuilder::bytes(Base),
              SnapshotBuilder::bytes(uint32_t(7))});
    B.region(0, 3 * Page, 0).region(4 * Page, 8, 1, "counter");
    if (Kind == MNEME_SNAPSHOT_PROLOGUE)
      B.data(0, std::string(1, 20));
    else
      B.data(0, std::string(1, 27) + std::string(Page - 1, 0));
    ASSERT_THAT_ERROR(writeFileAtomically(path(Name), B.close()), Succeeded());
  }
  writePageFiles();
  Options.RecordIds = {"0000000000000022", "0000000000000023"};
  start();
  ASSERT_EQ(Farm->plans().size(), 2u);
  for (uint64_t I = 0; I != 8; ++I) {
    EvaluationRequest R = request(
        I, {{"passes", I < 4 ? "default<O1>" : "default<O3>"},
            {"specialize", I % 4 < 2}});
    R.Instance = I % 2;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
    ++Pending;
  }
  EvaluationRequest R = request(8, {});
  R.Instance = 2;
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  ++Pending;
  auto All = collect();
  for (uint64_t I = 0; I != 8; ++I) {
    EXPECT_EQ(All[I].Failure, "") << I << ": " << All[I].Error;
    // What was measured of one launch says nothing of the other.
    if (All[I].DuplicateOf)
      EXPECT_EQ(*All[I].DuplicateOf % 2, I % 2);
  }
  EXPECT_EQ(All[8].Failure, "Invalid");
}

TEST_F(ReplayFarmTest, RefusesWhatCannotBe) {
  writeAll();
  auto GetError = [&](std::vector<std::string> Devices) {
    Options.Devices = std::move(Devices);
    auto Created = ReplayFarm::create(Options);
    return Created ? "no error" : toString(Created.takeError());
  };
  EXPECT_EQ(GetError({"abacus"}), "unknown device 'abacus'");
  EXPECT_EQ(GetError({"host", "cuda:0"}),
            "cannot tune for the host and for GPUs at once");
  EXPECT_EQ(GetError({"host", "host"}), "device 'host' is named twice");
  Options.RecordIds = {"0000000000000099"};
  EXPECT_THAT(GetError({"host"}), HasSubstr("0000000000000099"));
}

TEST_F(ReplayFarmTest, LocalRanks) {
  for (const char *Name :
       {"FLUX_TASK_LOCAL_ID", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID", "PALS_LOCAL_RANKID"})
    ::unsetenv(Name);
  EXPECT_EQ(getLocalRank(), std::nullopt);
  ::setenv("PALS_LOCAL_RANKID", "3", 1);
  EXPECT_EQ(getLocalRank(), 3u);
  ::setenv("SLURM_LOCALID", "1", 1);
  EXPECT_EQ(getLocalRank(), 1u);
  ::setenv("SLURM_LOCALID", "x", 1);
  EXPECT_EQ(getLocalRank(), 3u);
  ::unsetenv("SLURM_LOCALID");
  ::unsetenv("PALS_LOCAL_RANKID");
}
