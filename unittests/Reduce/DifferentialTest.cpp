//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Reduce/Differential.h"
#include "../Replay/SmallRecording.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class DifferentialTest : public SmallRecording {
protected:
  /// A plan of other IR of the kernel.
  std::unique_ptr<ReplayPlan> planOf(StringRef Body, ReplayOptions O = {}) {
    O.IRFile = path("other.ll");
    EXPECT_THAT_ERROR(
        writeFileAtomically(
            O.IRFile,
            ("target triple = \"nvptx64-nvidia-cuda\"\n"
             "@counter = addrspace(1) externally_initialized global i64 0\n"
             "define ptx_kernel void @add(ptr %p, i32 %n) "
             "\"target-cpu\"=\"sm_90\" {\n" +
             Body + "  ret void\n}\n")
                .str()),
        Succeeded());
    O.Passes = "";
    O.Envelope.Replays = 0;
    return cantFail(plan(std::move(O)));
  }
};
} // namespace

TEST_F(DifferentialTest, CaptureTellsWhatWasChanged) {
  auto Plan = planOf("  %q = getelementptr i8, ptr %p, i64 8200\n"
                     "  store i8 7, ptr %q\n");
  CapturedReplay R = cantFail(captureReplay(*Plan, /*Trace=*/true));
  EXPECT_EQ(R.Result.V, Verdict::Mismatch);
  ASSERT_EQ(R.Changed.size(), 1u);
  EXPECT_EQ(R.Changed[0].Address, Base + 2 * Page);
  ASSERT_EQ(R.Changed[0].Bytes.size(), Page);
  EXPECT_EQ(R.Changed[0].Bytes[8], 7);
  EXPECT_EQ(R.Touched, std::vector<uint64_t>{Base + 2 * Page});
}

TEST_F(DifferentialTest, ReadingIsTouching) {
  auto Plan = planOf("  %q = getelementptr i8, ptr %p, i64 4096\n"
                     "  %v = load volatile i8, ptr %q\n"
                     "  store i8 %v, ptr %p\n");
  CapturedReplay R = cantFail(captureReplay(*Plan, /*Trace=*/true));
  EXPECT_EQ(R.Touched, (std::vector<uint64_t>{Base, Base + Page}));
  EXPECT_EQ(R.Changed.size(), 1u);
  R = cantFail(captureReplay(*Plan));
  EXPECT_TRUE(R.Touched.empty());
}

TEST_F(DifferentialTest, CaptureOfACrash) {
  auto Plan = planOf("  store i8 0, ptr inttoptr (i64 64 to ptr)\n");
  for (bool Trace : {false, true}) {
    CapturedReplay R = cantFail(captureReplay(*Plan, Trace));
    EXPECT_EQ(R.Result.V, Verdict::Crash);
    EXPECT_TRUE(R.Changed.empty());
  }
}

TEST_F(DifferentialTest, OutcomeIsExpected) {
  auto Plan = planOf("  store i8 7, ptr %p\n");
  EXPECT_EQ(cantFail(runIsolatedReplay(*Plan)).V, Verdict::Mismatch);
  CapturedReplay R = cantFail(captureReplay(*Plan));
  auto Expecting = Plan->withOutcome(R.Changed);
  EXPECT_EQ(cantFail(runIsolatedReplay(*Expecting)).V, Verdict::Match);
  // Variants expect it, too; the plan itself does what it did.
  auto Variant = cantFail(Expecting->vary(Plan->options()));
  EXPECT_EQ(cantFail(runIsolatedReplay(*Variant)).V, Verdict::Match);
  EXPECT_EQ(cantFail(runIsolatedReplay(*Plan)).V, Verdict::Mismatch);
}

TEST_F(DifferentialTest, WrittenRecording) {
  auto Plan = planOf("  store i8 7, ptr %p\n");
  CapturedReplay R = cantFail(captureReplay(*Plan));
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan->cloneModule(Context);
  NewRecording New;
  New.Kernel = Plan->kernel();
  New.ArenaBase = Plan->state().arenaBase();
  New.ArenaSize = Plan->state().arenaSize();
  New.Args = Plan->state().args();
  for (const RecordedRegion &Region : Plan->state().regions())
    New.Regions.push_back(Region.Info);
  New.Annotations = Plan->state().annotations();
  New.Before = {{Base, std::vector<char>(Page)}};
  New.Before[0].Bytes[1] = 5;
  New.After = R.Changed;
  New.After[0].Bytes[1] = 5;
  std::string Folder = path("new");
  RecordedKernel Written = cantFail(writeRecording(Folder, *M, std::move(New)));
  EXPECT_EQ(checkKernel(Folder, Written).Problems, std::vector<std::string>());
  ReplayOptions O;
  O.Device = "host";
  auto Again = cantFail(ReplayPlan::create(Folder, O));
  EXPECT_EQ(Again->state().args(), Plan->state().args());
  ASSERT_EQ(Again->state().annotations().size(), 1u);
  EXPECT_EQ(Again->state().annotations()[0].Tag, "out");
  EXPECT_EQ(Again->state().stored().size(), 1u);
  EXPECT_EQ(cantFail(runIsolatedReplay(*Again)).V, Verdict::Match);
}

TEST_F(DifferentialTest, Sides) {
  DifferentialOptions D;
  D.Good.Device = "host";
  D.Good.Passes = "default<O1>";
  auto Plan = planOf("  store i32 %n, ptr %p\n");
  DifferentialResult R = cantFail(compareSides(*Plan, D));
  EXPECT_EQ(R.D, Difference::None) << R.Reason;
  EXPECT_EQ(R.Expectation.size(), 1u);
  auto Crash = planOf("  store i8 0, ptr inttoptr (i64 64 to ptr)\n");
  R = cantFail(compareSides(*Crash, D));
  EXPECT_EQ(R.D, Difference::Untestable);
  EXPECT_EQ(R.Reason.find("the good side fails: Crash"), 0u) << R.Reason;
}

TEST_F(DifferentialTest, UnknownCriterion) {
  DifferentialOptions D;
  D.By = "beauty";
  auto Plan = planOf("");
  Expected<DifferentialResult> R = compareSides(*Plan, D);
  ASSERT_FALSE(R);
  EXPECT_NE(toString(R.takeError()).find("cannot compare by 'beauty'"),
            std::string::npos);
}

TEST(CrossChecks, Names) {
  EXPECT_EQ(printCrossChecks(getAllCrossChecks()),
            "fill0,fill255,no-passes,O1,finish");
  EXPECT_EQ(printCrossChecks({}), "none");
  EXPECT_EQ(cantFail(parseCrossChecks("none")).size(), 0u);
  std::vector<CrossCheck> Two = cantFail(parseCrossChecks("O1,fill0"));
  EXPECT_EQ(printCrossChecks(Two), "O1,fill0");
  auto Bad = parseCrossChecks("fill0,luck");
  ASSERT_FALSE(Bad);
  EXPECT_EQ(toString(Bad.takeError()),
            "unknown cross-check 'luck': expected 'none' or a list of "
            "fill0,fill255,no-passes,O1,finish");
}
