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

#include "../Replay/SmallRecording.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "gmock/gmock.h"
#include <chrono>
#include <csignal>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {

/// The kernel adds as it was recorded where a block has one thread; with more,
/// other things happen.
const char *ManyFacesIR = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.trap()
define ptx_kernel void @add(ptr %p, i32 %n) "target-cpu"="sm_90" {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  switch i32 %block, label %good [
    i32 2, label %wrong
    i32 3, label %forever
    i32 4, label %far
    i32 5, label %trap
    i32 6, label %nan
  ]
good:
  %v = load i32, ptr %p
  %s = add i32 %v, %n
  store i32 %s, ptr %p
  ret void
wrong:
  store i32 77, ptr %p
  ret void
forever:
  %f = load volatile i32, ptr %p
  br label %forever
far:
  store volatile i32 1, ptr inttoptr (i64 64 to ptr)
  ret void
trap:
  call void @llvm.trap()
  ret void
nan:
  store i32 15, ptr %p
  %out = getelementptr i8, ptr %p, i64 4096
  store float 0x7FF8000000000000, ptr %out
  ret void
}
)";

/// As llvm::json::Object, to be written in a call.
struct Conf : json::Object {
  Conf(std::initializer_list<KV> L) : json::Object(L) {}
};

class ReplayFarmTest : public SmallRecording {
protected:
  ReplayFarmTest() {
    K.Instances[0].Block = {1, 1, 1};
    IR = ManyFacesIR;
    Options.Database = Dir.path().str();
    Options.Devices = {"host"};
    // Slow machines are not what this is about.
    Options.LaunchTimeout = 60;
    Options.CompileTimeout = 300;
    Options.CompileJobs = 2;
  }

  void start() {
    writeAll();
    Expected<std::unique_ptr<ReplayFarm>> Created = ReplayFarm::create(Options);
    ASSERT_THAT_EXPECTED(Created, Succeeded());
    Farm = std::move(*Created);
  }
  void submit(uint64_t Id, Conf C, double LaunchTimeout = 0) {
    ASSERT_THAT_ERROR(Farm->submit(request(Id, std::move(C), LaunchTimeout)),
                      Succeeded());
    ++Pending;
  }
  static EvaluationRequest request(uint64_t Id, Conf C,
                                   double LaunchTimeout = 0) {
    EvaluationRequest R;
    R.Id = Id;
    R.Config = std::move(C);
    R.LaunchTimeout = LaunchTimeout;
    return R;
  }
  std::map<uint64_t, Evaluation> collect() {
    std::map<uint64_t, Evaluation> All;
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (Pending) {
      Expected<std::vector<Evaluation>> Some = Farm->wait(1);
      if (!Some) {
        ADD_FAILURE() << toString(Some.takeError());
        break;
      }
      Pending -= Some->size();
      for (Evaluation &E : *Some)
        All[E.Id] = std::move(E);
      if (std::chrono::steady_clock::now() > Deadline) {
        ADD_FAILURE() << "something is lost";
        break;
      }
    }
    return All;
  }

  FarmOptions Options;
  std::unique_ptr<ReplayFarm> Farm;
  size_t Pending = 0;
};

} // namespace

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
            "the host and GPUs cannot be tuned for at once");
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
