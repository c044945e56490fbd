//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans and replays against a device that is a few lines of C++, so that
// nothing here depends on a compiler for some target.
//
//===----------------------------------------------------------------------===//

#include "FakeGPU.h"
#include "SmallRecording.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Config/Targets.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <functional>
#include <map>
#include <set>
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {

/// Memory is a map of bytes; a kernel is a function.
class FakeDevice : public Device {
public:
  using Body = std::function<LaunchStatus(FakeDevice &, ArrayRef<void *>)>;
  struct Kernel : DeviceKernel {};

  std::string getName() const override { return "fake"; }
  std::string getArch() const override { return ""; }
  Error reserveArena(uint64_t, uint64_t) override { return Error::success(); }
  Error mapMemory(uint64_t Address, uint64_t Size) override {
    for (uint64_t I = 0; I != Size; ++I)
      Memory[Address + I] = 0;
    return Error::success();
  }
  Error mapOutside(uint64_t Address, uint64_t Size) override {
    return mapMemory(Address, Size);
  }
  uint64_t mappingGranule() const override { return Granule; }
  Error write(uint64_t Address, ArrayRef<char> Data) override {
    Written += Data.size();
    for (char C : Data)
      Memory[Address++] = C;
    return Error::success();
  }
  Error read(uint64_t Address, MutableArrayRef<char> Data) override {
    for (char &C : Data)
      C = Memory[Address++];
    return Error::success();
  }
  Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &, ArrayRef<KernelGlobal>) override {
    return std::make_unique<Kernel>();
  }
  Expected<LaunchOutcome> launch(DeviceKernel &, const LaunchConfig &Config,
                                 ArrayRef<void *> Args) override {
    Fill = Config.Fill;
    LaunchOutcome O;
    O.Status = Run(*this, Args);
    return O;
  }

  std::map<uint64_t, char> Memory;
  uint64_t Written = 0;
  uint64_t Granule = 1;
  uint64_t Fill = 0; ///< Of the last launch.
  Body Run;
};

class ReplayTest : public SmallRecording {};

LaunchStatus add(FakeDevice &D, ArrayRef<void *> Args) {
  D.Memory[*static_cast<uint64_t *>(Args[0])] +=
      *static_cast<uint32_t *>(Args[1]);
  return LaunchStatus::Ok;
}

std::vector<ComparePart> wholeRegions(const RecordedState &S) {
  std::vector<ComparePart> Parts;
  for (size_t I = 0; I != S.regions().size(); ++I)
    Parts.push_back({I, 0, S.regions()[I].Info.Size, "", {}});
  return Parts;
}

} // namespace

TEST_F(ReplayTest, RestoresCompareAndRepeat) {
  RecordedState S = state();
  FakeDevice D;
  D.Run = add;
  Expected<Replayer> R = Replayer::create(S, D);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  // Only pages that are not zero were written, as far as their regions go.
  EXPECT_EQ(D.Written, Page + 8);
  FakeDevice::Kernel Kernel;
  for (int I = 0; I != 3; ++I) {
    D.Written = 0;
    ASSERT_THAT_ERROR(R->restore(), Succeeded());
    // Nothing before the first launch, then the page that the launch changes.
    EXPECT_EQ(D.Written, I == 0 ? 0 : Page);
    EXPECT_EQ(D.Memory[Base], 10);
    ASSERT_THAT_EXPECTED(R->launch(Kernel, {}), Succeeded());
    auto Reports = R->compare(wholeRegions(S));
    ASSERT_THAT_EXPECTED(Reports, Succeeded());
    for (const BufferReport &B : Reports->Buffers)
      EXPECT_TRUE(B.Stats.Pass);
  }
}

TEST_F(ReplayTest, StrayWritesAreFoundAndUndone) {
  RecordedState S = state();
  FakeDevice D;
  D.Run = [](FakeDevice &D, ArrayRef<void *> Args) {
    D.Memory[Base + 2 * Page + 7] = 1; // not in the epilogue
    D.Memory[Base + 4 * Page] = 2;
    return add(D, Args);
  };
  Expected<Replayer> R = Replayer::create(S, D);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  FakeDevice::Kernel Kernel;
  ASSERT_THAT_EXPECTED(R->launch(Kernel, {}), Succeeded());
  auto Reports = R->compare(wholeRegions(S));
  ASSERT_THAT_EXPECTED(Reports, Succeeded());
  EXPECT_EQ(Reports->Buffers[0].Stats.Mismatches, 1u);
  EXPECT_EQ(Reports->Buffers[0].Stats.First, 2 * Page + 7);
  EXPECT_EQ(Reports->Buffers[1].Stats.Mismatches, 1u);
  EXPECT_TRUE(Reports->Buffers[1].IsGlobal);
  EXPECT_EQ(R->dirty().size(), 3u);
  ASSERT_THAT_ERROR(R->restore(), Succeeded());
  EXPECT_EQ(D.Memory[Base + 2 * Page + 7], 0);
  EXPECT_EQ(D.Memory[Base + 4 * Page], 1);
}

TEST_F(ReplayTest, WritesOutsideOfBuffersAreAMismatch) {
  auto P = cantFail(plan());
  auto D = std::make_unique<FakeDevice>();
  FakeDevice &TheDevice = *D;
  D->Granule = Page;
  auto Session = cantFail(ReplaySession::create(*P, std::move(D)));
  TheDevice.Run = [](FakeDevice &D, ArrayRef<void *> Args) {
    D.Memory[Base + 4 * Page + 8 + 100] = 1;
    return add(D, Args);
  };
  ReplayResult R =
      cantFail(Session->run(*P, CompiledKernel(), [](ReplayStage) {}));
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_EQ(R.Error, "memory outside of all buffers was written, first 100 "
                     "bytes past the end of buffer 1");
  ASSERT_TRUE(R.Stray);
  EXPECT_EQ(R.Stray->Address, Base + 4 * Page + 108);
  // The next one finds nothing of that.
  TheDevice.Run = add;
  R = cantFail(Session->run(*P, CompiledKernel(), [](ReplayStage) {}));
  EXPECT_EQ(R.V, Verdict::Match);
  EXPECT_FALSE(R.Stray);
}

TEST_F(ReplayTest, WithoutComparisonEverythingIsRestored) {
  RecordedState S = state();
  FakeDevice D;
  D.Run = [](FakeDevice &D, ArrayRef<void *>) {
    D.Memory[Base + Page + 1] = 1;
    return LaunchStatus::Ok;
  };
  Expected<Replayer> R = Replayer::create(S, D);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  R->markAllDirty();
  FakeDevice::Kernel Kernel;
  ASSERT_THAT_EXPECTED(R->launch(Kernel, {}), Succeeded());
  ASSERT_THAT_ERROR(R->restore(), Succeeded());
  EXPECT_EQ(D.Memory[Base + Page + 1], 0);
}

//===----------------------------------------------------------------------===//
// What is timed is what was verified
//===----------------------------------------------------------------------===//

/// The kernel works in its first launches only.
template <typename Device>
typename Device::Body workAtFirst(unsigned Launches, unsigned &Count,
                                  typename Device::Body Work) {
  Count = 0;
  return [=, &Count](auto &&...Args) {
    return Count++ < Launches ? Work(Args...) : LaunchStatus::Ok;
  };
}

TEST_F(ReplayTest, AKernelThatStopsWorkingIsWrong) {
  auto P = cantFail(plan());
  auto D = std::make_unique<FakeDevice>();
  FakeDevice &TheDevice = *D;
  auto Session = cantFail(ReplaySession::create(*P, std::move(D)));
  CompiledKernel Code;
  auto Ignore = [](ReplayStage) {};
  unsigned Count;
  for (unsigned Works : {1, 2, 4}) {
    TheDevice.Run = workAtFirst<FakeDevice>(Works, Count, add);
    ReplayResult R = cantFail(Session->run(*P, Code, Ignore));
    // One launch is verified, one warms up, three are timed.
    EXPECT_EQ(Count >= 5, true);
    EXPECT_EQ(R.V, Verdict::Mismatch);
    EXPECT_THAT(
        R.Error,
        HasSubstr("the first launch verified, a later one did not: 1 of "));
    EXPECT_FALSE(R.Measured);
  }
  TheDevice.Run = add;
  ReplayResult R = cantFail(Session->run(*P, Code, Ignore));
  EXPECT_EQ(R.V, Verdict::Match);
  EXPECT_EQ(R.nanoseconds().size(), 3u);
  // Side by side, too.
  TheDevice.Run = workAtFirst<FakeDevice>(6, Count, add);
  PairedResult Paired = cantFail(
      Session->compare({{P.get(), &Code}, {P.get(), &Code}}, 4, 1, Ignore));
  EXPECT_EQ(Paired.Failed, 0u);
  EXPECT_EQ(Paired.V, Verdict::Mismatch);
  EXPECT_TRUE(Paired.Measured.empty());
}

TEST_F(ReplayTest, TimedLaunchesCanBeCompared) {
  for (bool Compares : {false, true}) {
    ReplayOptions O;
    O.Envelope.Replays = 0;
    O.Iterations = 200;
    O.Untrusted = Compares;
    auto P = cantFail(plan(O));
    auto D = std::make_unique<FakeDevice>();
    FakeDevice &TheDevice = *D;
    auto Session = cantFail(ReplaySession::create(*P, std::move(D)));
    // Wrong, but for the launches that are compared in any case.
    unsigned Count = 0;
    TheDevice.Run = [&](FakeDevice &D, ArrayRef<void *> Args) {
      bool IsRight = ++Count < 20 || Count > 180;
      return IsRight ? add(D, Args) : LaunchStatus::Ok;
    };
    ReplayResult R =
        cantFail(Session->run(*P, CompiledKernel(), [](ReplayStage) {}));
    EXPECT_EQ(R.V, Compares ? Verdict::Mismatch : Verdict::Match);
    EXPECT_EQ(R.Measured.has_value(), !Compares);
    if (Compares)
      EXPECT_THAT(R.Error, HasSubstr("the first launch verified, a later one "
                                     "did not: "));
  }
}

TEST_F(ReplayTest, UntrustedCodeStartsFromEachKindOfMemory) {
  for (bool Untrusted : {false, true}) {
    ReplayOptions O;
    O.Envelope.Replays = 0;
    O.Iterations = 0;
    O.Untrusted = Untrusted;
    auto P = cantFail(plan(O));
    auto D = std::make_unique<FakeDevice>();
    FakeDevice &TheDevice = *D;
    TheDevice.Granule = Page;
    auto Session = cantFail(ReplaySession::create(*P, std::move(D)));
    std::vector<uint64_t> Fills;
    std::set<char> Behind;
    TheDevice.Run = [&](FakeDevice &D, ArrayRef<void *> Args) {
      Fills.push_back(D.Fill);
      Behind.insert(D.Memory[Base + 4 * Page + 1000]);
      return add(D, Args);
    };
    auto Ignore = [](ReplayStage) {};
    ReplayResult R = cantFail(Session->run(*P, CompiledKernel(), Ignore));
    EXPECT_EQ(R.V, Verdict::Match) << R.Error;
    EXPECT_EQ(R.ComparedLaunches, Untrusted ? 4u : 1u);
    EXPECT_TRUE(Behind.count(0));
    if (!Untrusted) {
      EXPECT_THAT(Fills, testing::Each(0));
      continue;
    }
    EXPECT_GT(Behind.size(), 1u);
    EXPECT_THAT(Fills,
                testing::UnorderedElementsAre(
                    testing::Ge(MNEME_HOST_FILL_RANDOM), MNEME_HOST_FILL_ZEROS,
                    MNEME_HOST_FILL_ONES, MNEME_HOST_FILL_LEFT));
    // A write is found, also of a zero.
    TheDevice.Run = [&](FakeDevice &D, ArrayRef<void *> Args) {
      for (unsigned I = 0; I != 16; ++I)
        D.Memory[Base + 4 * Page + 1000 + I] = 0;
      return add(D, Args);
    };
    R = cantFail(Session->run(*P, CompiledKernel(), Ignore));
    EXPECT_EQ(R.V, Verdict::Mismatch);
    EXPECT_TRUE(R.Stray);
  }
}

/// A search on a GPU.
class SearchTest : public SmallRecording {
protected:
  void SetUp() override {
    ReplayOptions O;
    O.Quick = true;
    O.Envelope.Replays = 0;
    P = cantFail(plan(O));
    auto D = std::make_unique<FakeGPU>();
    GPU = D.get();
    Session = cantFail(ReplaySession::create(*P, std::move(D)));
    Work = [](ArrayRef<void *> Args) {
      *reinterpret_cast<char *>(*static_cast<uint64_t *>(Args[0])) +=
          *static_cast<uint32_t *>(Args[1]);
      return LaunchStatus::Ok;
    };
    workAtFirst(~0u);
  }
  void workAtFirst(unsigned Launches) {
    GPU->Run = ::workAtFirst<FakeGPU>(Launches, Count, Work);
  }
  ReplayResult run() {
    return cantFail(Session->run(*P, CompiledKernel(), [](ReplayStage) {}));
  }

  std::unique_ptr<ReplayPlan> P;
  std::unique_ptr<ReplaySession> Session;
  FakeGPU *GPU;
  FakeGPU::Body Work;
  unsigned Count = 0;
};

TEST_F(SearchTest, ComparesAShortLaunchAfterItWasTimed) {
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Match);
  EXPECT_EQ(R.nanoseconds().size(), 7u);
  for (unsigned Works : {0, 1, 4}) {
    workAtFirst(Works);
    R = run();
    EXPECT_EQ(R.V, Verdict::Mismatch);
    EXPECT_THAT(R.Error, HasSubstr(" differ, first at 0: 10 instead of 15"));
    EXPECT_FALSE(R.Measured);
  }
}

TEST_F(SearchTest, LaunchesThatAreTimedTogetherCanBeCompared) {
  ReplayOptions O;
  O.Quick = true;
  O.Envelope.Replays = 0;
  O.Iterations = 200;
  for (bool Compares : {false, true}) {
    O.Untrusted = Compares;
    std::unique_ptr<ReplayPlan> Variant = cantFail(P->vary(O));
    Count = 0;
    GPU->Run = [&](auto &&...Args) {
      bool IsRight = ++Count < 20 || Count > 180;
      return IsRight ? Work(Args...) : LaunchStatus::Ok;
    };
    ReplayResult R =
        cantFail(Session->run(*Variant, CompiledKernel(), [](ReplayStage) {}));
    EXPECT_EQ(R.V, Compares ? Verdict::Mismatch : Verdict::Match);
    EXPECT_EQ(R.Measured.has_value(), !Compares);
  }
}

TEST_F(SearchTest, LaunchesALongKernelOnce) {
  GPU->Nanoseconds = 2e8;
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Match);
  EXPECT_EQ(Count, 1u);
  ASSERT_TRUE(R.Measured);
  EXPECT_EQ(R.Measured->Nanoseconds, std::vector<double>{2e8});
  EXPECT_EQ(R.Measured->Stop, StopReason::Time);
  // What is wrong is not launched again but to tell whether it is each time.
  workAtFirst(0);
  R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_EQ(Count, 2u);
  EXPECT_FALSE(R.Measured);
  // Two more launches of what takes less.
  GPU->Nanoseconds = 4e7;
  workAtFirst(~0u);
  R = run();
  EXPECT_EQ(R.V, Verdict::Match);
  EXPECT_EQ(Count, 3u);
  EXPECT_EQ(R.nanoseconds().size(), 3u);
}

TEST(HeldAddresses, KeepsThemFreeUntilTheyAreWanted) {
  constexpr uint64_t Granule = OutsideGranule, Outside = 0x6f0000000000;
  std::vector<RecordedRegion> Regions(4);
  Regions[0].Info.Address = Outside - Granule; // of the arena
  Regions[1].Info.Address = Outside + 1000;
  Regions[2].Info.Address = Outside + Granule - 4;
  Regions[3].Info.Address = Outside + 8 * Granule;
  for (RecordedRegion &R : Regions) {
    R.Info.Size = 8;
    R.Info.Kind = MNEME_REGION_PINNED;
  }
  Regions[0].Info.Kind = MNEME_REGION_HEAP;
  auto IsFree = [](uint64_t Address) {
    void *Wanted = reinterpret_cast<void *>(Address);
    void *Got = mmap(Wanted, Page, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (Got != MAP_FAILED)
      munmap(Got, Page);
    return Got == Wanted;
  };
  HeldAddresses Held(Regions);
  EXPECT_TRUE(IsFree(Outside - Page));
  EXPECT_FALSE(IsFree(Outside));
  EXPECT_FALSE(IsFree(Outside + 2 * Granule - Page));
  EXPECT_TRUE(IsFree(Outside + 2 * Granule));
  EXPECT_FALSE(IsFree(Outside + 8 * Granule));
  // What is there already stays as it is.
  HeldAddresses Others(Regions);
  Others = HeldAddresses();
  EXPECT_FALSE(IsFree(Outside));
  Held.release();
  EXPECT_TRUE(IsFree(Outside));
  EXPECT_TRUE(IsFree(Outside + 8 * Granule));
}

TEST_F(ReplayTest, PlanFollowsTheRecording) {
  auto P = plan();
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ((*P)->instance().DynamicHash, "0000000000000022");
  EXPECT_EQ((*P)->compiler().pipeline(), "clang<O2>");
  EXPECT_EQ((*P)->compiler().codeGenLevel(), 2u);
  std::vector<KernelGlobal> Globals = (*P)->globals();
  ASSERT_EQ(Globals.size(), 1u);
  EXPECT_EQ(Globals[0].Name, "counter");
  EXPECT_EQ(Globals[0].Address, Base + 4 * Page);
}

TEST_F(ReplayTest, AnnotationsSplitBuffers) {
  auto P = plan();
  ASSERT_THAT_EXPECTED(P, Succeeded());
  ArrayRef<ComparePart> Parts = (*P)->comparison().Parts;
  ASSERT_EQ(Parts.size(), 4u);
  EXPECT_EQ(Parts[0].Size, Page);
  EXPECT_EQ(Parts[1].Offset, Page);
  EXPECT_EQ(Parts[1].Size, 16u);
  EXPECT_EQ(Parts[1].Name, "out");
  EXPECT_EQ(Parts[1].Rule.DType, uint32_t(MNEME_DTYPE_F32));
  EXPECT_EQ(Parts[1].Rule.Tolerance, uint32_t(MNEME_TOLERANCE_ABS));
  EXPECT_EQ(Parts[1].Rule.Value, 0.5);
  EXPECT_EQ(Parts[2].Size, 2 * Page - 16);
  EXPECT_EQ(Parts[2].Rule.Tolerance, uint32_t(MNEME_TOLERANCE_EXACT));
  EXPECT_EQ(Parts[3].Name, "counter");
}

TEST_F(ReplayTest, TolerancesChooseBuffers) {
  ReplayOptions O;
  O.Tolerances = {cantFail(parseTolerance("ulp:3")),
                  cantFail(parseTolerance("rel:0.25@counter"))};
  O.ElementTypes = {cantFail(parseElementType("f64@1"))};
  O.Norm = MNEME_NORM_LINF;
  auto P = plan(O);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  ArrayRef<ComparePart> Parts = (*P)->comparison().Parts;
  EXPECT_EQ(Parts[0].Rule.Tolerance, uint32_t(MNEME_TOLERANCE_EXACT));
  EXPECT_EQ(Parts[1].Rule.Tolerance, uint32_t(MNEME_TOLERANCE_ULP));
  EXPECT_EQ(Parts[1].Rule.Norm, uint32_t(MNEME_NORM_LINF));
  EXPECT_EQ(Parts[3].Rule.DType, uint32_t(MNEME_DTYPE_F64));
  EXPECT_EQ(Parts[3].Rule.Value, 0.25);

  O.Tolerances = {cantFail(parseTolerance("abs:1@out"))};
  EXPECT_EQ(planError(O), "no error");
  O.Tolerances = {cantFail(parseTolerance("abs:1@none"))};
  EXPECT_EQ(planError(O), "--tolerance: no buffer 'none' in the recording, "
                          "which has 2");
}

TEST_F(ReplayTest, SpecializationTakesTheRecordedValues) {
  ReplayOptions O;
  O.Specialize = O.SpecializeDims = O.SetLaunchBounds = true;
  O.Block[0] = 64;
  auto P = plan(O);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  const SpecializeOptions &SO = (*P)->compiler().options().Specialize;
  EXPECT_EQ(SO.Args.size(), 1u); // the pointer stays
  EXPECT_EQ(SO.Args.at(1), 5u);
  EXPECT_EQ(SO.Block->X, 64u);
  EXPECT_EQ(SO.MaxThreads, 64u);
}

TEST_F(ReplayTest, RefusesRecordingsThatDoNotFit) {
  std::string GoodAfter = After, GoodBefore = Before, GoodIR = IR;
  After = Builder(MNEME_SNAPSHOT_EPILOGUE).region(0, 2 * Page, 0).close();
  EXPECT_THAT(planError(), HasSubstr("its regions are not those of p"));
  After = GoodBefore;
  EXPECT_THAT(planError(), HasSubstr("is a prologue, not an epilogue"));
  After = GoodAfter;
  Before = Builder(MNEME_SNAPSHOT_PROLOGUE)
               .args({SnapshotBuilder::bytes(Base)})
               .region(0, 3 * Page, 0)
               .region(4 * Page, 8, 1, "counter")
               .close();
  EXPECT_THAT(planError(),
              HasSubstr("its arguments are not those of the kernel"));
  Before = GoodBefore;
  IR = "define void @other() { ret void }";
  EXPECT_THAT(planError(), HasSubstr("has no kernel 'add'"));
  IR = "target triple = \"nvptx64-nvidia-cuda\"\n"
       "define ptx_kernel void @add(ptr %p) { ret void }";
  EXPECT_THAT(planError(), HasSubstr("has 1 arguments in the recorded IR, 2 in "
                                     "the recording"));
  IR = "target triple = \"nvptx64-nvidia-cuda\"\n"
       "define ptx_kernel void @add(ptr %p, i32 %n) { ret void }";
  EXPECT_THAT(planError(), HasSubstr("has no target-cpu"));
  IR = GoodIR;
  ReplayOptions O;
  O.Timeout = -1;
  EXPECT_THAT(planError(O), HasSubstr("invalid --timeout=-1"));
  K.Instances[0].DynamicHash = "0000000000000023";
  EXPECT_THAT(planError(), HasSubstr("belongs to record 0000000000000022"));
}

TEST_F(ReplayTest, ResultSurvivesJSON) {
  ReplayResult R;
  R.V = Verdict::MatchWithinTolerance;
  R.Error = "text with \"quotes\"";
  R.Executed = true;
  R.StartTime = 1.5;
  R.EndTime = 2.5;
  R.Times.Parse = 0.1;
  R.Times.Compare = 0.2;
  R.ObjectSize = 1234;
  R.CodeHash = "abc";
  R.Assembler = "cuda_13";
  R.Measured.emplace();
  R.Measured->Nanoseconds = {1, 2, 3.5};
  R.Measured->Timer = "cupti";
  R.Compared.emplace();
  R.Compared->Kind = Baseline::App;
  R.Compared->V = Verdict::Match;
  R.Compared->Measured.emplace();
  R.Compared->Measured->Nanoseconds = {4, 5, 6};
  R.Compared->Speedup = RatioEstimate{1.5, 1.25, 2};
  R.GPU.emplace();
  R.GPU->State.Temperature = 41;
  R.GPU->State.Power = 130.5;
  R.GPU->Info.Name = "NVIDIA H200";
  R.GPU->Retargeted = "sm_80";
  R.GPU->Occupancy = 0.75;
  R.Resources.emplace();
  R.Resources->Registers = 32;
  R.Device = "fake";
  R.HostStrategy = "loop";
  R.Buffers.resize(1);
  std::string Text;
  raw_string_ostream(Text) << toJSON(R);
  Expected<json::Value> Parsed = json::parse(Text);
  ASSERT_THAT_EXPECTED(Parsed, Succeeded());
  ReplayResult Back;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(*Parsed, Back, Root)) << toString(Root.getError());
  EXPECT_EQ(toJSON(Back), toJSON(R));
  EXPECT_TRUE(Back.verified());
  EXPECT_FALSE(Back.failed());
  EXPECT_EQ(Back.nanoseconds(), R.nanoseconds());
  EXPECT_EQ(Back.GPU->Retargeted, "sm_80");
  EXPECT_EQ(Back.Compared->Speedup->High, 2);
}

TEST_F(ReplayTest, VerdictNamesAndExitCodes) {
  auto P = plan();
  ASSERT_THAT_EXPECTED(P, Succeeded());
  for (int I = 0; I <= static_cast<int>(Verdict::NotVerified); ++I) {
    ReplayResult R;
    R.V = static_cast<Verdict>(I);
    EXPECT_EQ(parseVerdict(getVerdictName(R.V)), R.V);
    EXPECT_EQ(getExitCode(**P, R), R.verified() ? 0 : 2);
  }
  EXPECT_FALSE(parseVerdict("Perfect"));
  ReplayOptions O;
  O.Verify = false;
  P = plan(O);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  ReplayResult R;
  EXPECT_EQ(getExitCode(**P, R), 0);
  R.V = Verdict::Crash;
  EXPECT_EQ(getExitCode(**P, R), 2);
}

/// The kernel for AMDGPU.
static std::string forAMDGPU(std::string IR) {
  auto Replace = [&](StringRef From, StringRef To) {
    size_t At = IR.find(From.str());
    ASSERT_NE(At, std::string::npos);
    IR.replace(At, From.size(), To.str());
  };
  Replace("nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa");
  Replace("ptx_kernel", "amdgpu_kernel");
  Replace("sm_90", "gfx90a");
  return IR;
}

TEST_F(ReplayTest, RunsOnTheHostDevice) {
  K.Instances[0].Block = {1, 1, 1};
  for (bool AMDGPU : {false, true}) {
    if (AMDGPU && !LLVM_HAS_AMDGPU_TARGET)
      continue;
    if (AMDGPU) {
      IR = forAMDGPU(IR);
      K.Triple = "amdgcn-amd-amdhsa";
      K.Arch = "gfx90a";
    }
    for (const char *Passes : {"", "default<O1>", "default<O3>"}) {
      ReplayOptions O;
      O.Passes = Passes;
      auto P = plan(O);
      ASSERT_THAT_EXPECTED(P, Succeeded());
      Expected<ReplayResult> R = runIsolatedReplay(**P);
      ASSERT_THAT_EXPECTED(R, Succeeded());
      EXPECT_EQ(R->V, Verdict::Match) << R->Error;
      EXPECT_EQ(R->Device, "host");
      EXPECT_EQ(R->nanoseconds().size(), O.HostIterations);
      EXPECT_EQ(R->Buffers.size(), 4u);
      EXPECT_GT(R->Times.Codegen, 0);
      EXPECT_GT(R->EndTime, R->StartTime);
    }
    // Two threads add twice.
    ReplayOptions Twice;
    Twice.Block[0] = 2;
    auto P = plan(Twice);
    ASSERT_THAT_EXPECTED(P, Succeeded());
    Expected<ReplayResult> R = runIsolatedReplay(**P);
    ASSERT_THAT_EXPECTED(R, Succeeded());
    EXPECT_EQ(R->V, Verdict::Mismatch);
    EXPECT_THAT(R->Error, HasSubstr("of buffer 0 differ, first at 0: 20 "
                                    "instead of 15"));
  }
}

TEST_F(ReplayTest, MemoryThatDoesNotExistIsAShortage) {
  constexpr uint64_t Huge = uint64_t(500) << 30;
  if (getAvailableMemory() > 4 * Huge)
    GTEST_SKIP() << "a machine with that much memory";
  Before = Builder(MNEME_SNAPSHOT_PROLOGUE)
               .args({SnapshotBuilder::bytes(Base),
                      SnapshotBuilder::bytes(uint32_t(5))})
               .region(0, Huge, 0)
               .close();
  After = Builder(MNEME_SNAPSHOT_EPILOGUE).region(0, Huge, 0).close();
  RecordedState State = state();
  std::unique_ptr<Device> D = createHostDevice();
  Error E = Replayer::create(State, *D).takeError();
  EXPECT_TRUE(E.isA<ShortageError>());
  EXPECT_THAT(toString(std::move(E)),
              HasSubstr("out of memory: the 512000 MiB of the recording take "
                        "2048000 MiB on the host device, "));
  // No verdict about the kernel.
  auto P = plan();
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_THAT(toString(replay(**P).takeError()), HasSubstr("out of memory"));
}

TEST_F(ReplayTest, CompilesForAMDGPU) {
  if (!LLVM_HAS_AMDGPU_TARGET)
    GTEST_SKIP() << "LLVM has no AMDGPU";
  IR = forAMDGPU(IR);
  K.Triple = "amdgcn-amd-amdhsa";
  K.Arch = "gfx90a";
  ReplayOptions O;
  O.Execute = false;
  auto P = plan(O);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  Expected<ReplayResult> R = replay(**P);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_EQ(R->V, Verdict::NotVerified) << R->Error;
  EXPECT_EQ(getExitCode(**P, *R), 0);
  ASSERT_TRUE(R->Resources);
  EXPECT_GT(R->Resources->Registers.value_or(0), 0u);
  EXPECT_GT(R->ObjectSize, 0u);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

TEST_F(ReplayTest, EvaluatesVariantsInOneSession) {
  K.Instances[0].Block = {1, 1, 1};
  auto Base = plan();
  ASSERT_THAT_EXPECTED(Base, Succeeded());
  auto Report = [](ReplayStage) {};
  auto Session = ReplaySession::create(**Base, Report);
  ASSERT_THAT_EXPECTED(Session, Succeeded());
  auto Evaluate = [&](ReplayOptions O) {
    std::unique_ptr<ReplayPlan> Variant = cantFail((*Base)->vary(std::move(O)));
    return cantFail((*Session)->evaluate(*Variant, Report));
  };
  ReplayResult First = Evaluate({});
  EXPECT_EQ(First.V, Verdict::Match) << First.Error;
  EXPECT_GT(First.Times.Open, 0);
  EXPECT_GT(First.Times.Prepare, 0);

  // What a wrong variant writes is gone for the next one, ...
  ReplayOptions Wrong;
  Wrong.Block[0] = 2;
  EXPECT_EQ(Evaluate(Wrong).V, Verdict::Mismatch);
  ReplayOptions O3;
  O3.Passes = "default<O3>";
  ReplayResult Next = Evaluate(O3);
  EXPECT_EQ(Next.V, Verdict::Match) << Next.Error;
  EXPECT_EQ(Next.Times.Open, 0);
  EXPECT_EQ(Next.Times.Prepare, 0);

  // ... and one that crashes, having written, harms nobody. It is other IR.
  std::string Crashing = IR;
  size_t Store = Crashing.find("  ret void");
  Crashing.insert(Store,
                  "  %far = getelementptr i8, ptr %p, i64 5000\n"
                  "  store i8 7, ptr %far\n"
                  "  store volatile i32 0, ptr inttoptr (i64 64 to ptr)\n");
  ASSERT_THAT_ERROR(writeFileAtomically(path("crash.ll"), Crashing),
                    Succeeded());
  ReplayOptions Crash;
  Crash.IRFile = path("crash.ll");
  EXPECT_EQ(Evaluate(Crash).V, Verdict::Crash);
  EXPECT_FALSE((*Session)->isLost());
  Next = Evaluate(O3);
  EXPECT_EQ(Next.V, Verdict::Match) << Next.Error;

  // One compilation will do for launches.
  Expected<CompiledKernel> Code = (*Session)->compile(**Base, Report);
  ASSERT_THAT_EXPECTED(Code, Succeeded());
  for (unsigned Block : {1, 2, 1}) {
    ReplayOptions O;
    O.Block[0] = Block;
    auto Variant = cantFail((*Base)->vary(O));
    ReplayResult R = cantFail((*Session)->run(*Variant, *Code, Report));
    EXPECT_EQ(R.V, Block == 1 ? Verdict::Match : Verdict::Mismatch);
    EXPECT_EQ(R.Times.Codegen, Code->Times.Codegen);
  }

  ReplayOptions Bad;
  Bad.Passes = "no-such-pass";
  EXPECT_THAT_EXPECTED((*Base)->vary(Bad), Failed());
  ReplayOptions Cold;
  Cold.Cache = CacheMode::Cold;
  auto Variant = cantFail((*Base)->vary(Cold));
  EXPECT_THAT_EXPECTED((*Session)->evaluate(*Variant, Report),
                       FailedWithMessage("--cache=cold needs a GPU"));
}

TEST_F(ReplayTest, MeasuresBesideABaseline) {
  K.Instances[0].Block = {1, 1, 1};
  ReplayOptions O;
  O.Passes = "default<O1>";
  O.Compared = Baseline::Recompiled;
  O.Iterations = 10;
  auto P = plan(O);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  Expected<ReplayResult> R = runIsolatedReplay(**P);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  ASSERT_TRUE(R->Compared);
  EXPECT_EQ(R->Compared->Kind, Baseline::Recompiled);
  EXPECT_EQ(R->Compared->V, Verdict::Match) << R->Compared->Error;
  ASSERT_TRUE(R->Compared->Measured);
  EXPECT_EQ(R->Compared->Measured->Nanoseconds.size(), 10u);
  EXPECT_EQ(R->nanoseconds().size(), 10u);
  ASSERT_TRUE(R->Compared->Speedup);
  EXPECT_LE(R->Compared->Speedup->Low, R->Compared->Speedup->High);
  EXPECT_GT(R->Times.Baseline, 0);

  O.Compared = Baseline::App;
  EXPECT_THAT(planError(O), HasSubstr("--baseline=app needs the application"));
  O.App = "/nowhere/app";
  P = plan(O);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_THAT_EXPECTED(runIsolatedReplay(**P),
                       FailedWithMessage("--baseline=app needs a GPU"));
}

TEST_F(ReplayTest, RefusesOptionsThatWouldDoNothing) {
  ReplayOptions CompileOnly;
  CompileOnly.Execute = false;
  CompileOnly.Compared = Baseline::Recompiled;
  EXPECT_THAT(planError(CompileOnly), HasSubstr("--no-execute rules out"));
  ReplayOptions Timed;
  Timed.Device = "host";
  Timed.Timer = GPUTimer::CUPTI;
  auto P = plan(Timed);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_THAT_EXPECTED(runIsolatedReplay(**P),
                       FailedWithMessage("--timer needs a GPU"));
}

//===----------------------------------------------------------------------===//
// What a session does on a GPU
//===----------------------------------------------------------------------===//

/// Notes what happens in order: R restores, F flushes the cache, L launches, 3L
/// launches three times, C compares; what is in brackets is waited for once. A
/// session begins with a comparison, of memory that no launch has changed.
class LoggingGPU : public FakeGPU {
public:
  std::string Log;
  double Nanoseconds = 1e5;
  std::string Arch = "sm_90";
  GPUTimer Timer = GPUTimer::Auto;
  bool WasLaunched = false;
  bool IsLost = false; ///< Nothing can be launched any more.
  StringRef TimerName = "events";

  std::string getArch() const override { return Arch; }
  StringRef getTimerName() const override { return TimerName; }
  Error setTimer(GPUTimer T) override {
    Timer = T;
    return Error::success();
  }
  Error copy(CopyPlan &P) override {
    if (WasLaunched) // else it puts the memory there
      Log += 'R';
    return FakeGPU::copy(P);
  }
  Error synchronize() override {
    return IsLost ? createStringError("lost") : Error::success();
  }
  Error flushCache() override {
    Log += 'F';
    return Error::success();
  }
  Expected<std::vector<MnemeCompareResult>>
  compare(ArrayRef<MnemeComparePart> Parts) override {
    Log += 'C';
    return FakeGPU::compare(Parts);
  }
  Expected<LaunchOutcome> launch(DeviceKernel &K, const LaunchConfig &C,
                                 ArrayRef<void *> Args) override {
    if (IsLost)
      return createStringError("lost");
    if (C.Repeat > 1)
      Log += std::to_string(C.Repeat);
    Log += 'L';
    WasLaunched = true;
    Expected<LaunchOutcome> O = FakeGPU::launch(K, C, Args);
    O->Nanoseconds = Nanoseconds;
    return O;
  }
  Expected<LaunchOutcome> launchMany(DeviceKernel &K, const LaunchConfig &C,
                                     ArrayRef<void *> Args, unsigned Count,
                                     function_ref<Error()> Prepare,
                                     std::vector<double> &Times) override {
    Log += '(';
    Expected<LaunchOutcome> O =
        FakeGPU::launchMany(K, C, Args, Count, Prepare, Times);
    Log += ')';
    return O;
  }
};

class GPUSessionTest : public ReplayTest {
protected:
  GPUSessionTest() { K.Instances[0].Block = {1, 1, 1}; }

  /// A session of a plan with these options, on GPU.
  void open(ReplayOptions O = {}) {
    Plan = cantFail(plan(std::move(O)));
    auto Opened = std::make_unique<LoggingGPU>();
    GPU = Opened.get();
    GPU->Run = [](ArrayRef<void *> Args) {
      **static_cast<uint8_t **>(Args[0]) += *static_cast<uint32_t *>(Args[1]);
      return LaunchStatus::Ok;
    };
    Session = cantFail(ReplaySession::create(*Plan, std::move(Opened)));
  }
  ReplayResult run() {
    GPU->Log.clear();
    return cantFail(Session->run(*Plan, CompiledKernel(), Report));
  }

  /// IR that only writes, for the same effect.
  void makeWriteOnly() {
    size_t Load = IR.find("  %v = load i32, ptr %p");
    ASSERT_NE(Load, std::string::npos);
    IR.replace(Load, strlen("  %v = load i32, ptr %p"), "  %v = add i32 0, 10");
  }

  static constexpr auto Report = [](ReplayStage) {};
  std::unique_ptr<ReplayPlan> Plan;
  std::unique_ptr<ReplaySession> Session;
  LoggingGPU *GPU = nullptr;
};

TEST_F(GPUSessionTest, SamplesAreColdAndRestored) {
  ReplayOptions O;
  O.Warmup = 1;
  O.Iterations = 2;
  O.Timer = GPUTimer::Events;
  open(O);
  EXPECT_EQ(GPU->Timer, GPUTimer::Events);
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
  EXPECT_EQ(GPU->Log, "C"
                      "FLC"
                      "RFLRFLRFL"
                      "C");
  ASSERT_TRUE(R.Measured);
  EXPECT_EQ(R.Measured->Cache, CacheMode::Cold);
  EXPECT_TRUE(R.Measured->Restored);
  EXPECT_EQ(R.Measured->Timer, "events");
  ASSERT_TRUE(R.GPU);
  EXPECT_EQ(R.GPU->Backend, "fake");
  // The next one finds memory as the last launch left it.
  EXPECT_EQ(run().V, Verdict::Match);
  EXPECT_EQ(GPU->Log, "RFLC"
                      "RFLRFLRFL"
                      "C");
}

TEST_F(GPUSessionTest, WarmSamplesDoNotFlush) {
  ReplayOptions O;
  O.Warmup = 0;
  O.Iterations = 2;
  O.Cache = CacheMode::Warm;
  open(O);
  GPU->Nanoseconds = 2000;
  EXPECT_EQ(run().V, Verdict::Match);
  // However short: the kernel reads what it wrote.
  EXPECT_EQ(GPU->Log, "C"
                      "LC"
                      "RLRL"
                      "C");
}

TEST_F(GPUSessionTest, RestoresOnlyForKernelsThatReadWhatTheyWrite) {
  makeWriteOnly();
  ReplayOptions O;
  O.Warmup = 0;
  O.Iterations = 2;
  open(O);
  GPU->Run = [](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 15;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(GPU->Log, "C"
                      "FLC"
                      "FLFL"
                      "RFLC");
  EXPECT_FALSE(R.Measured->Restored);
  // But always before a launch that is verified.
  EXPECT_EQ(run().V, Verdict::Match);
  EXPECT_EQ(GPU->Log, "RFLC"
                      "FLFL"
                      "RFLC");
}

TEST_F(GPUSessionTest, RepeatsShortLaunchesOfSuchKernels) {
  makeWriteOnly();
  ReplayOptions O;
  O.Warmup = 1;
  O.Iterations = 2;
  O.Cache = CacheMode::Warm;
  open(O);
  GPU->Nanoseconds = 4000;
  GPU->Run = [](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 15;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(GPU->Log, "C"
                      "LC"
                      "L5L5L"
                      "RLC");
  EXPECT_EQ(R.Measured->Repeat, 5u);
}

TEST_F(GPUSessionTest, ASearchLaunchesSeveralAtOnce) {
  ReplayOptions O;
  O.Quick = true;
  O.Warmup = 1;
  O.LaunchTimeout = 60;
  open(O);
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
  EXPECT_EQ(GPU->Timer, GPUTimer::Events);
  // Compared once, as it is short.
  EXPECT_EQ(GPU->Log, "C"
                      "FL"
                      "RFL(RFLRFLRFLRFLRFLRFLRFL)"
                      "C");
  EXPECT_EQ(R.nanoseconds().size(), 7u);
  // What is good is measured again, one launch at a time.
  CompiledKernel Code;
  GPU->Log.clear();
  Expected<PairedResult> Pairs =
      Session->compare({{Plan.get(), &Code}}, 7, 1, Report);
  ASSERT_THAT_EXPECTED(Pairs, Succeeded());
  EXPECT_EQ(GPU->Timer, GPUTimer::Auto);
  EXPECT_EQ(GPU->Log.find('('), std::string::npos);
}

TEST_F(GPUSessionTest, LaunchesTogetherOnlyWhatTheTimeLimitOfOneAllows) {
  ReplayOptions O;
  O.Quick = true;
  O.Warmup = 0;
  O.Iterations = 2;
  O.LaunchTimeout = 1e-9;
  open(O);
  EXPECT_EQ(run().V, Verdict::Match);
  EXPECT_EQ(GPU->Log, "C"
                      "FL"
                      "(RFL)(RFL)"
                      "C");
}

TEST_F(GPUSessionTest, ACrashAmongSeveralLaunchesIsACrash) {
  ReplayOptions O;
  O.Quick = true;
  O.Warmup = 0;
  open(O);
  unsigned Launches = 0;
  GPU->Run = [&](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 15;
    if (++Launches < 4)
      return LaunchStatus::Ok;
    GPU->IsLost = true;
    return LaunchStatus::IllegalAddress;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Crash);
  EXPECT_FALSE(R.Measured);
  EXPECT_TRUE(Session->isLost());
}

TEST_F(GPUSessionTest, DoesNotTimeWhatIsWrong) {
  ReplayOptions O;
  O.Envelope.Replays = 0;
  open(O);
  GPU->Run = [](ArrayRef<void *>) { return LaunchStatus::Ok; };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  // Compared in elements, and launched again, to see whether it does the same.
  EXPECT_EQ(GPU->Log, "C"
                      "FLCC"
                      "RFL");
  EXPECT_FALSE(R.Measured);
  EXPECT_FALSE(Session->isSpent());
}

TEST_F(GPUSessionTest, TellsWhetherAMismatchIsReproducible) {
  ReplayOptions O;
  O.Envelope.Replays = 0;
  open(O);
  GPU->Run = [](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) += 7;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_EQ(R.Buffers.front().Reproducible, true);
  EXPECT_EQ(R.Buffers.back().Reproducible, std::nullopt); // it matches
  EXPECT_THAT(R.Error, Not(HasSubstr("second replay")));

  // Something that was not recorded, or a race. What the second launch writes
  // elsewhere is gone for the next one.
  unsigned Launches = 0;
  GPU->Run = [&](ArrayRef<void *> Args) {
    uint8_t *P = *static_cast<uint8_t **>(Args[0]);
    P[0] = 100 + ++Launches;
    P[2 * Page] = Launches == 2;
    return LaunchStatus::Ok;
  };
  R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_EQ(Launches, 2u);
  EXPECT_EQ(R.Buffers.front().Reproducible, false);
  EXPECT_THAT(R.Error, HasSubstr("second replay of it wrote other bytes"));
  GPU->Run = [](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 15;
    return LaunchStatus::Ok;
  };
  R = run();
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
}

/// Sessions with a kernel that writes \p Value to one of five elements, another
/// one in each launch, and 0 to the others. 15 at the first one was recorded.
class VaryingTest : public GPUSessionTest {
protected:
  void write(std::function<uint32_t(unsigned)> Value) {
    GPU->Run = [this, Value](ArrayRef<void *> Args) {
      uint32_t *P = *static_cast<uint32_t **>(Args[0]);
      std::fill(P, P + 5, 0);
      P[Launches % 5] = Value(Launches);
      ++Launches;
      return LaunchStatus::Ok;
    };
  }
  unsigned Launches = 1;
};

TEST_F(VaryingTest, RecordsInAnyOrderVerify) {
  open();
  auto Right = [](unsigned) { return 15; };
  write(Right);
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::MatchUnordered) << R.Error;
  EXPECT_EQ(R.Buffers.front().RecordSize, 4u);
  ASSERT_TRUE(R.Power.Envelope);
  EXPECT_EQ(R.Power.Envelope->Replays, 20u);
  EXPECT_EQ(R.Power.Envelope->Confirming, 5u);
  EXPECT_EQ(R.Power.Level, CompareLevel::Unordered);
  EXPECT_FALSE(R.Power.isVacuous());
  // As often as the envelope was measured, and after the last timed launch.
  EXPECT_EQ(R.ComparedLaunches, 21u);
  EXPECT_THAT(describeReason(R),
              HasSubstr("within the envelope of 20 replays of the "
                        "application's own code: buffer 0: the same 4-byte "
                        "records in another order (1 range)"));

  auto Wrong = [](unsigned) { return 14; };
  write(Wrong);
  R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_THAT(R.Error, HasSubstr("1 of 5 4-byte records are missing in any "
                                 "order (1 range), such as 15; first "
                                 "unexpected record at"));

  // A fault that shows in one of ten launches.
  Launches = 1;
  auto Rare = [](unsigned Launch) { return Launch % 10 ? 15 : 14; };
  write(Rare);
  R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_THAT(R.Error, HasSubstr("launch 10 of the same code: "));
}

TEST_F(VaryingTest, OtherNumbersAreForTheApplicationToJudge) {
  open();
  auto Any = [](unsigned Launch) { return 15 + Launch % 7; };
  write(Any);
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_THAT(R.Error, HasSubstr("buffer 0 cannot be judged: "));
  EXPECT_THAT(R.Error, HasSubstr("--judge-by=app"));
}

TEST_F(VaryingTest, WhatIsAlwaysWrongDoesNotVary) {
  open();
  GPU->Run = [&](ArrayRef<void *> Args) {
    ++Launches;
    **static_cast<uint8_t **>(Args[0]) = 16;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_THAT(R.Error,
              HasSubstr("first at 0: 16 instead of 15; 8 replays of the "
                        "application's own code do not leave the recorded "
                        "memory either, but agree with each other in buffer "
                        "0"));
  // Those, the candidate's, once more under the rules, and to see whether it
  // does the same again.
  EXPECT_EQ(Launches, 1u + 1 + 8 + 1 + 1);
}

TEST_F(VaryingTest, NothingIsMeasuredIfTheRecordedCodeIsRight) {
  open();
  GPU->Run = [&](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = Launches++ == 1 ? 16 : 15;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_FALSE(R.Power.Envelope);
  EXPECT_EQ(Launches, 1u + 1 + 3 + 1);
}

TEST_F(VaryingTest, LaunchesOfTheRecordedCodeDoNotHideAMismatch) {
  open();
  GPU->Run = [&](ArrayRef<void *> Args) {
    bool IsCandidate = Launches == 1 || Launches == 5;
    ++Launches;
    **static_cast<uint8_t **>(Args[0]) = IsCandidate ? 16 : 15;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_EQ(Launches, 6u);
  EXPECT_EQ(R.Buffers.front().Reproducible, true);
  EXPECT_THAT(R.Error, Not(HasSubstr("second replay")));
}

TEST_F(VaryingTest, AnEnvelopeCanBeDemanded) {
  ReplayOptions O;
  O.Envelope.Replays = 8;
  open(O);
  GPU->Run = [&](ArrayRef<void *> Args) {
    ++Launches;
    **static_cast<uint8_t **>(Args[0]) = 15;
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Match);
  ASSERT_TRUE(R.Power.Envelope);
  EXPECT_EQ(R.Power.Envelope->Replays, 8u);
  EXPECT_TRUE(R.Power.Envelope->Buffers.empty());
  EXPECT_EQ(R.Power.Level, CompareLevel::Tolerance); // an annotation
}

TEST_F(VaryingTest, RecordedCodeThatCrashesHasNoEnvelope) {
  open();
  GPU->Run = [&](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 16;
    return Launches++ == 2 ? LaunchStatus::Trap : LaunchStatus::Ok;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Mismatch);
  EXPECT_FALSE(R.Power.Envelope);
  EXPECT_THAT(R.Power.NoEnvelope, HasSubstr("cannot be replayed (trap)"));
}

TEST_F(GPUSessionTest, ABaselineMayCrash) {
  ReplayOptions O;
  O.Compared = Baseline::Recompiled;
  open(O);
  unsigned Launches = 0;
  GPU->Run = [&](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 15;
    if (++Launches == 1)
      return LaunchStatus::Ok;
    GPU->IsLost = true;
    return LaunchStatus::IllegalAddress;
  };
  ReplayResult R = run();
  EXPECT_EQ(R.V, Verdict::Match) << R.Error;
  EXPECT_FALSE(R.Measured);
  ASSERT_TRUE(R.Compared);
  EXPECT_EQ(R.Compared->V, Verdict::Crash) << R.Compared->Error;
  EXPECT_TRUE(Session->isLost());
}

TEST_F(GPUSessionTest, SamplesAreOfOneTimer) {
  ReplayOptions O;
  O.Warmup = 0;
  O.Iterations = 3;
  open(O);
  unsigned Launches = 0;
  GPU->TimerName = "cupti";
  GPU->Run = [&](ArrayRef<void *> Args) {
    **static_cast<uint8_t **>(Args[0]) = 15;
    // CUPTI gives up in the middle.
    if (++Launches == 3) {
      GPU->TimerName = "events";
      GPU->Nanoseconds = 2e5;
    }
    return LaunchStatus::Ok;
  };
  ReplayResult R = run();
  ASSERT_TRUE(R.Measured);
  EXPECT_EQ(R.Measured->Timer, "events");
  EXPECT_EQ(R.nanoseconds(), ArrayRef<double>({2e5, 2e5, 2e5}));
}

TEST_F(GPUSessionTest, IsLostWithTheDevice) {
  for (LaunchStatus S : {LaunchStatus::IllegalAddress, LaunchStatus::Timeout}) {
    open();
    GPU->Run = [=](ArrayRef<void *>) { return S; };
    ReplayResult R = run();
    EXPECT_EQ(R.V, S == LaunchStatus::Timeout ? Verdict::Timeout
                                              : Verdict::Crash);
    EXPECT_TRUE(Session->isLost());
    EXPECT_TRUE(Session->isSpent());
    EXPECT_THAT_EXPECTED(Session->run(*Plan, CompiledKernel(), Report),
                         FailedWithMessage("cuda:0 is lost"));
    Session.reset();
  }
  open();
  GPU->Run = [](ArrayRef<void *>) { return LaunchStatus::OutOfMemory; };
  EXPECT_EQ(run().V, Verdict::Unsupported);
  EXPECT_FALSE(Session->isLost());
  // Not by a launch.
  GPU->IsLost = true;
  EXPECT_THAT_EXPECTED(Session->run(*Plan, CompiledKernel(), Report),
                       FailedWithMessage("lost"));
  EXPECT_TRUE(Session->isLost());
}

TEST_F(GPUSessionTest, RunsOnlyCodeForTheDevice) {
  Plan = cantFail(plan());
  auto Other = std::make_unique<LoggingGPU>();
  Other->Arch = "sm_80";
  EXPECT_THAT_EXPECTED(
      ReplaySession::create(*Plan, std::move(Other)),
      FailedWithMessage("the recording is for sm_90, cuda:0 is sm_80: "
                        "retarget with --arch=sm_80"));
  if (!LLVM_HAS_AMDGPU_TARGET)
    return;
  IR = forAMDGPU(IR);
  K.Triple = "amdgcn-amd-amdhsa";
  K.Arch = "gfx90a";
  Plan = cantFail(plan());
  EXPECT_THAT_EXPECTED(
      ReplaySession::create(*Plan, std::make_unique<LoggingGPU>()),
      FailedWithMessage("the recording is for amdgcn-amd-amdhsa, which cuda:0 "
                        "cannot run: use --device=host"));
}

TEST_F(GPUSessionTest, ImagesHaveGapsBetweenArguments) {
  K.Args[1].Offset = 32;
  EXPECT_THAT_EXPECTED(
      plan(), FailedWithMessage("argument 1 of kernel 'add' has 4 bytes at "
                                "offset 8 in the recorded IR, 4 at 32 in the "
                                "recording"));
  K.Image.File = "RecordedImage_" + std::string(32, '2') + ".cubin";
  K.Image.Digest = std::string(32, '2');
  K.Image.Arch = "sm_90";
  K.Image.IsOnly = true;
  EXPECT_THAT_EXPECTED(plan(), Succeeded());
  K.Args[1].Size = 8;
  EXPECT_THAT_EXPECTED(plan(), Failed());
}

//===----------------------------------------------------------------------===//
// Does a launch read what it writes?
//===----------------------------------------------------------------------===//

class MemoryUseTest : public ReplayTest {
protected:
  /// A kernel of two pointers, the second one \p Second bytes into the arena.
  bool canReadWhatItWrites(StringRef Body, uint64_t Second = 4 * Page) {
    K.Args = {{8, 0, MNEME_ARG_POINTER, "p", "ptr"},
              {8, 8, MNEME_ARG_POINTER, "q", "ptr"}};
    Before = Builder(MNEME_SNAPSHOT_PROLOGUE)
                 .args({SnapshotBuilder::bytes(Base),
                        SnapshotBuilder::bytes(Base + Second)})
                 .region(0, 3 * Page, 0)
                 .region(4 * Page, 8, 1, "counter")
                 .close();
    IR = ("target triple = \"nvptx64-nvidia-cuda\"\n"
          "@counter = addrspace(1) externally_initialized global i64 0\n"
          "@tile = internal addrspace(3) global [32 x i32] undef\n"
          "declare ptr addrspace(4) @constants() memory(none)\n"
          "define linkonce_odr void @put(ptr %to, i32 %v) {\n"
          "  %slot = alloca ptr\n"
          "  store ptr %to, ptr %slot\n"
          "  %again = load ptr, ptr %slot\n"
          "  store i32 %v, ptr %again\n"
          "  ret void\n"
          "}\n"
          "define weak_odr ptx_kernel void @add(ptr %p, ptr %q) "
          "\"target-cpu\"=\"sm_90\" {\n" +
          Body + "\n  ret void\n}\n")
             .str();
    auto P = plan();
    if (!P) {
      ADD_FAILURE() << toString(P.takeError());
      return true;
    }
    return (*P)->canReadWhatItWrites();
  }

  static constexpr StringRef CopyBody = "%v = load i32, ptr %q\n"
                                        "call void @put(ptr %p, i32 %v)";
};

TEST_F(MemoryUseTest, CopyingDoesNot) {
  EXPECT_FALSE(canReadWhatItWrites(CopyBody));
  EXPECT_FALSE(canReadWhatItWrites("store i32 1, ptr %p"));
}

TEST_F(MemoryUseTest, OneBufferInBothRolesDoes) {
  EXPECT_TRUE(canReadWhatItWrites(CopyBody, /*Second=*/Page));
  EXPECT_TRUE(canReadWhatItWrites("%v = load i32, ptr %p\n"
                                  "%w = add i32 %v, 1\n"
                                  "store i32 %w, ptr %p"));
  EXPECT_TRUE(
      canReadWhatItWrites("%v = atomicrmw add ptr %p, i32 1 monotonic"));
}

TEST_F(MemoryUseTest, VariablesCount) {
  // Read and written through the argument; only read; written.
  EXPECT_TRUE(canReadWhatItWrites("%v = load i64, ptr addrspace(1) @counter\n"
                                  "store i64 %v, ptr %q"));
  EXPECT_FALSE(canReadWhatItWrites("%v = load i64, ptr addrspace(1) @counter\n"
                                   "store i64 %v, ptr %p"));
  EXPECT_TRUE(canReadWhatItWrites("store i64 1, ptr addrspace(1) @counter"));
}

TEST_F(MemoryUseTest, ParametersOfHIPAreCastThroughNumbers) {
  // Promoting the slots of parameters makes such pairs of conversions. The
  // block size is in constant memory.
  constexpr StringRef Cast = "%pn = ptrtoint ptr %p to i64\n"
                             "%pg = inttoptr i64 %pn to ptr addrspace(1)\n"
                             "%qn = ptrtoint ptr %q to i64\n"
                             "%qg = inttoptr i64 %qn to ptr addrspace(1)\n"
                             "%c = call ptr addrspace(4) @constants()\n"
                             "%s = load i32, ptr addrspace(4) %c\n"
                             "%v = load i32, ptr addrspace(1) %qg\n"
                             "%w = add i32 %v, %s\n";
  EXPECT_FALSE(
      canReadWhatItWrites((Cast + "store i32 %w, ptr addrspace(1) %pg").str()));
  EXPECT_TRUE(
      canReadWhatItWrites((Cast + "store i32 %w, ptr addrspace(1) %qg").str()));
  // Half of an address is another one.
  EXPECT_TRUE(canReadWhatItWrites("%n = ptrtoint ptr %q to i32\n"
                                  "%r = inttoptr i32 %n to ptr\n"
                                  "%v = load i32, ptr %r\n"
                                  "store i32 %v, ptr %p"));
}

TEST_F(MemoryUseTest, WhatIsNotUnderstoodDoes) {
  EXPECT_TRUE(canReadWhatItWrites("store i32 1, ptr addrspace(3) @tile"));
  EXPECT_TRUE(canReadWhatItWrites("%r = load ptr, ptr %q\n"
                                  "store i32 1, ptr %r"));
  // Nobody knows what is there.
  EXPECT_TRUE(canReadWhatItWrites(CopyBody, /*Second=*/16 * Page));
  // What is read may lie anywhere: a table of pointers, one in a variable, one
  // that is hidden in a number.
  EXPECT_TRUE(canReadWhatItWrites("%r = load ptr, ptr %q\n"
                                  "%v = load i32, ptr %r\n"
                                  "store i32 %v, ptr %p"));
  EXPECT_TRUE(canReadWhatItWrites("%r = load ptr, ptr addrspace(1) @counter\n"
                                  "%v = load i32, ptr %r\n"
                                  "store i32 %v, ptr %p"));
  EXPECT_TRUE(canReadWhatItWrites("%n = load i64, ptr %q\n"
                                  "%r = inttoptr i64 %n to ptr\n"
                                  "%v = load i32, ptr %r\n"
                                  "store i32 %v, ptr %p"));
}
