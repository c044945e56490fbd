//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordKeeper.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {
class RecordKeeperTest : public testing::Test {
protected:
  RecordKeeperTest() : Dir("mneme-recorder", /*Unique=*/true) {
    K.Name = "_Z1kv";
    K.StaticHash.fill(0x11);
    K.Triple = "nvptx64-nvidia-cuda";
    K.Bitcode = "bitcode";
    Launch.StaticHash = Hash;
    Launch.Instance.DynamicHash = "0000000000000022";
    Launch.Instance.Prologue = "prologue";
    Launch.Instance.Epilogue = "epilogue";
    Launch.ArenaBase = MNEME_ARENA_BASE;
    Launch.ArenaSize = 4096;
  }

  static ProcessSummary summary(uint64_t Occurrences, bool IsRecorded) {
    ProcessSummary S;
    S.Kernels.push_back({std::string(32, '1'), "_Z1kv", "0000000000000022",
                         Occurrences, IsRecorded});
    return S;
  }

  /// Adds a launch with snapshots of these contents.
  Expected<bool> add(RecordKeeper &R, StringRef Contents = "new") {
    cantFail(writeFileAtomically(R.staging() + "/p.1", Contents));
    cantFail(writeFileAtomically(R.staging() + "/e.1", Contents));
    return R.addLaunch(Launch, "p.1", "e.1");
  }

  std::string contents(StringRef File) {
    return (*cantFail(readFile(Dir.path(File)))).getBuffer().str();
  }

  RecordedKernel read() {
    return cantFail(readKernelFile(Dir.path(Hash + ".json")));
  }

  unittest::TempDir Dir;
  const std::string Hash = std::string(32, '1');
  LaunchedKernel K;
  RecordedLaunch Launch;
};
} // namespace

TEST_F(RecordKeeperTest, OneWayToTellLaunchesApart) {
  RecordKeeper First{std::string(Dir.path())};
  RecordKeeper Second{std::string(Dir.path()), "Scalars"};
  // Both begin before there is anything in the folder.
  ASSERT_THAT_ERROR(First.prepare(), Succeeded());
  ASSERT_THAT_ERROR(Second.prepare(), Succeeded());
  First.addKernel(K, "host");
  Second.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(First), HasValue(true));
  Launch.Instance.DynamicHash = "0000000000000033";
  EXPECT_THAT_EXPECTED(
      add(Second),
      FailedWithMessage(HasSubstr("Cooperative, not by StaticHash, GridDims, "
                                  "BlockDims, SharedMem, Cooperative, "
                                  "Scalars")));
  EXPECT_EQ(read().Instances.size(), 1u);
  // Later ones are told at once.
  RecordKeeper Third{std::string(Dir.path()), "Ordinal"};
  EXPECT_THAT_ERROR(Third.prepare(),
                    FailedWithMessage(HasSubstr("give the same --record-id")));
  RecordKeeper Fourth{std::string(Dir.path())};
  EXPECT_THAT_ERROR(Fourth.prepare(), Succeeded());
}

TEST_F(RecordKeeperTest, WritesKernelAndBitcode) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  RecordedKernel File = read();
  EXPECT_EQ(File.DemangledName, "k()");
  EXPECT_EQ(File.Modules,
            std::vector<std::string>{"RecordedIR_" + Hash + ".bc"});
  EXPECT_EQ(File.VASize, 4096u);
  ASSERT_EQ(File.Instances.size(), 1u);
  EXPECT_EQ(File.Instances[0].Occurrences, 1u);
  auto Bitcode = readFile(Dir.path(File.Modules[0]));
  ASSERT_THAT_EXPECTED(Bitcode, Succeeded());
  EXPECT_EQ((*Bitcode)->getBuffer().str(), "bitcode");
}

TEST_F(RecordKeeperTest, ALimitCountsExistingFiles) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  cantFail(writeFileAtomically(Dir.path("other"), std::string(2000, 'x')));
  R.limit(2000);
  EXPECT_THAT_ERROR(R.checkStagingRoom(), Succeeded());
  EXPECT_THAT_EXPECTED(add(R), FailedWithMessage(MNEME_REASON_FULL));
  EXPECT_THAT_ERROR(R.checkStagingRoom(), FailedWithMessage(MNEME_REASON_FULL));
  R.limit(3000);
  EXPECT_THAT_ERROR(R.checkStagingRoom(), Succeeded());
  EXPECT_THAT_EXPECTED(add(R), HasValue(true));
}

TEST_F(RecordKeeperTest, SealsWhatItWrites) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  RecordedKernel File = read();
  EXPECT_TRUE(File.isSealed());
  EXPECT_EQ(File.ModuleDigests[0], toHexString(digest128("bitcode")));
  EXPECT_EQ(File.Instances[0].PrologueDigest, toHexString(digest128("new")));
  EXPECT_EQ(File.Instances[0].EpilogueDigest, toHexString(digest128("new")));
}

TEST_F(RecordKeeperTest, KeepsTheModuleOfEarlierLaunches) {
  // Of another compiler: the same code, other bytes.
  LaunchedKernel Other = K;
  Other.Bitcode = "other bitcode";
  RecordKeeper First{std::string(Dir.path())}, Second{std::string(Dir.path())};
  ASSERT_THAT_ERROR(First.prepare(), Succeeded());
  ASSERT_THAT_ERROR(Second.prepare(), Succeeded());
  First.addKernel(K, "host");
  Second.addKernel(Other, "host");
  ASSERT_THAT_EXPECTED(add(First), HasValue(true));
  Launch.Instance.DynamicHash = "0000000000000033";
  ASSERT_THAT_EXPECTED(add(Second), HasValue(true));
  RecordedKernel File = read();
  EXPECT_EQ(File.Instances.size(), 2u);
  EXPECT_TRUE(File.isSealed());
  EXPECT_EQ(contents(File.Modules[0]), "bitcode");
  EXPECT_EQ(File.ModuleDigests[0], toHexString(digest128("bitcode")));
}

TEST_F(RecordKeeperTest, ReplacesAModuleWithoutLaunches) {
  // A launcher that was killed has left it.
  std::string Module = "RecordedIR_" + Hash + ".bc";
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path(Module), "left"), Succeeded());
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  EXPECT_EQ(contents(Module), "bitcode");
}

TEST_F(RecordKeeperTest, AddsToFilesWithoutDigests) {
  {
    RecordKeeper R{std::string(Dir.path())};
    ASSERT_THAT_ERROR(R.prepare(), Succeeded());
    R.addKernel(K, "host");
    ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  }
  RecordedKernel Old = read();
  Old.ModuleDigests.clear();
  ASSERT_THAT_ERROR(writeKernelFile(Dir.path(Hash + ".json"), Old),
                    Succeeded());
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  Launch.Instance.DynamicHash = "0000000000000033";
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  // What was there may be damaged: it is not sealed unseen.
  EXPECT_EQ(read().Instances.size(), 2u);
  EXPECT_FALSE(read().isSealed());
}

TEST_F(RecordKeeperTest, RefusesUnknownKernel) {
  RecordKeeper R{std::string(Dir.path())};
  EXPECT_THAT_EXPECTED(
      R.addLaunch(Launch, "p.1", "e.1"),
      FailedWithMessage("kernel " + Hash + " was never loaded"));
}

TEST_F(RecordKeeperTest, CountsEveryLaunchOnce) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  ASSERT_THAT_ERROR(R.addSummary(summary(10, /*IsRecorded=*/true)),
                    Succeeded());
  EXPECT_EQ(read().Instances[0].Occurrences, 10u);
  ASSERT_THAT_ERROR(R.addSummary(summary(5, /*IsRecorded=*/false)),
                    Succeeded());
  EXPECT_EQ(read().Instances[0].Occurrences, 15u);
}

TEST_F(RecordKeeperTest, KeepsTheFirstOfTwo) {
  RecordKeeper First{std::string(Dir.path())}, Second{std::string(Dir.path())};
  for (RecordKeeper *R : {&First, &Second}) {
    ASSERT_THAT_ERROR(R->prepare(), Succeeded());
    R->addKernel(K, "host");
  }
  EXPECT_TRUE(Second.heldLaunches(Hash).empty());
  EXPECT_THAT_EXPECTED(add(First, "first"), HasValue(true));
  EXPECT_THAT_EXPECTED(add(Second, "second"), HasValue(false));
  EXPECT_EQ(contents("prologue"), "first");
  EXPECT_EQ(contents("epilogue"), "first");
  EXPECT_EQ(read().Instances[0].Occurrences, 1u);
  EXPECT_EQ(Second.heldLaunches(Hash),
            std::vector<std::string>{"0000000000000022"});
  ASSERT_THAT_ERROR(Second.addSummary(summary(3, /*IsRecorded=*/false)),
                    Succeeded());
  EXPECT_EQ(read().Instances[0].Occurrences, 4u);
}

TEST_F(RecordKeeperTest, ReplacesWhatIsNotWhole) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  // A launcher was killed before it wrote the kernel's file.
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path("epilogue"), "old"),
                    Succeeded());
  EXPECT_THAT_EXPECTED(add(R), HasValue(true));
  EXPECT_EQ(contents("epilogue"), "new");
  // Somebody removed a file.
  sys::fs::remove(Dir.path("prologue"));
  EXPECT_TRUE(R.heldLaunches(Hash).empty());
  EXPECT_THAT_EXPECTED(add(R, "newer"), HasValue(true));
  EXPECT_EQ(contents("prologue"), "newer");
  EXPECT_EQ(contents("epilogue"), "newer");
  EXPECT_EQ(read().Instances.size(), 1u);
}

TEST_F(RecordKeeperTest, ReplacesBitcodeThatIsLeft) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  std::string Bitcode = moduleName(Hash);
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path(Bitcode), ""), Succeeded());
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  EXPECT_EQ(contents(Bitcode), "bitcode");
}

TEST_F(RecordKeeperTest, RemovesWhatIsLeft) {
  std::string Staging;
  {
    RecordKeeper R{std::string(Dir.path())};
    ASSERT_THAT_ERROR(R.prepare(), Succeeded());
    Staging = R.staging();
    ASSERT_THAT_ERROR(writeFileAtomically(Staging + "/p.1", "half"),
                      Succeeded());
  }
  EXPECT_FALSE(sys::fs::exists(Staging));
  EXPECT_TRUE(sys::fs::exists(Dir.path()));
}

TEST_F(RecordKeeperTest, RemovesWhatAKilledLauncherLeft) {
  std::string Left(Dir.path(".recording-killed"));
  ASSERT_FALSE(sys::fs::create_directory(Left));
  ASSERT_THAT_ERROR(writeFileAtomically(Left + "/p.1", "half"), Succeeded());
  RecordKeeper Running{std::string(Dir.path())}, R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(Running.prepare(), Succeeded());
  EXPECT_FALSE(sys::fs::exists(Left));
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  EXPECT_TRUE(sys::fs::exists(Running.staging()));
}

TEST_F(RecordKeeperTest, HoldsLaunchesOfSeveralArenas) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  Launch.Instance.DynamicHash = "0000000000000033";
  Launch.Instance.Prologue = "other prologue";
  Launch.Instance.Epilogue = "other epilogue";
  uint64_t Base = Launch.ArenaBase, Size = Launch.ArenaSize;
  Launch.ArenaBase = Base - 2 * Size;
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  RecordedKernel File = read();
  EXPECT_EQ(File.Instances.size(), 2u);
  EXPECT_EQ(File.VAddr, Base - 2 * Size);
  EXPECT_EQ(File.VASize, 3 * Size);
}

TEST_F(RecordKeeperTest, KeepsADamagedFile) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path(Hash + ".json"), "{}"),
                    Succeeded());
  EXPECT_THAT(toString(add(R).takeError()), HasSubstr("missing key"));
  auto File = readFile(Dir.path(Hash + ".json"));
  ASSERT_THAT_EXPECTED(File, Succeeded());
  EXPECT_EQ((*File)->getBuffer().str(), "{}");
}

TEST_F(RecordKeeperTest, KeepsHowTheFirstWasRecorded) {
  RecordKeeper GPU{std::string(Dir.path())}, Host{std::string(Dir.path())};
  ASSERT_THAT_ERROR(GPU.prepare(), Succeeded());
  K.Toolchain = "first";
  GPU.addKernel(K, "cuda");
  Launch.Globals = {{"g", 4, MNEME_ARENA_BASE}};
  ASSERT_THAT_EXPECTED(add(GPU), HasValue(true));
  ASSERT_THAT_ERROR(Host.prepare(), Succeeded());
  K.Toolchain = "second";
  Host.addKernel(K, "host");
  Launch.Globals = {{"g", 4, MNEME_ARENA_BASE + 64}};
  Launch.Instance.DynamicHash = "0000000000000033";
  ASSERT_THAT_EXPECTED(add(Host), HasValue(true));
  RecordedKernel File = read();
  EXPECT_EQ(File.Instances.size(), 2u);
  EXPECT_EQ(File.Device, "cuda");
  EXPECT_EQ(File.Toolchain, "first");
  ASSERT_EQ(File.Globals.size(), 1u);
  EXPECT_EQ(File.Globals[0].Address, MNEME_ARENA_BASE);
}

TEST_F(RecordKeeperTest, WaitsForTheLockOfOtherTools) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  std::atomic<bool> IsHeld = true, WasHeld = true;
  Expected<LockedFile> Lock = lockFolder(Dir.path());
  ASSERT_THAT_EXPECTED(Lock, Succeeded());
  std::thread Recording([&] {
    EXPECT_THAT_EXPECTED(add(R), HasValue(true));
    WasHeld = IsHeld.load();
  });
  // Time enough to go wrong, not to be right.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(sys::fs::exists(Dir.path(Hash + ".json")));
  IsHeld = false;
  *Lock = LockedFile();
  Recording.join();
  EXPECT_FALSE(WasHeld);
}

TEST_F(RecordKeeperTest, WritesAKernelsFileOnceForASummary) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addKernel(K, "host");
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  Launch.Instance.DynamicHash = "0000000000000033";
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  ProcessSummary S = summary(10, /*IsRecorded=*/true);
  S.Kernels.push_back({Hash, "_Z1kv", "0000000000000033", 7, false});
  S.Kernels.push_back({Hash, "_Z1kv", "0000000000000044", 3, false});
  ASSERT_THAT_ERROR(R.addSummary(S), Succeeded());
  RecordedKernel File = read();
  ASSERT_EQ(File.Instances.size(), 2u);
  EXPECT_EQ(File.Instances[0].Occurrences, 10u);
  EXPECT_EQ(File.Instances[1].Occurrences, 8u);
  // One error, not one a line.
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path(Hash + ".json"), "{}"),
                    Succeeded());
  std::string Problem = toString(R.addSummary(S));
  EXPECT_THAT(Problem, HasSubstr("missing key"));
  EXPECT_EQ(StringRef(Problem).count("missing key"), 1u);
}

TEST_F(RecordKeeperTest, PrintsTheSummary) {
  RecordKeeper R{std::string(Dir.path())};
  ASSERT_THAT_ERROR(R.prepare(), Succeeded());
  R.addProcess();
  R.addProcess();
  R.addKernel(K, "host");
  Launch.StoredBytes = 100;
  Launch.RawBytes = 4096;
  ASSERT_THAT_EXPECTED(add(R), HasValue(true));
  ProcessSummary S = summary(3, true);
  S.Seen = 3;
  S.Recorded = 1;
  S.Skipped = 2;
  S.Reasons["seen before"] = 2;
  S.Nanoseconds = 1500000000;
  ASSERT_THAT_ERROR(R.addSummary(S), Succeeded());
  std::string Text;
  raw_string_ostream OS(Text);
  R.print(OS);
  EXPECT_THAT(Text, HasSubstr("k()             1         3  4.0 KiB    100 B\n"));
  EXPECT_THAT(Text, HasSubstr("mneme: 3 launches seen, 1 recorded, 2 skipped\n"
                              "mneme:   2 skipped: seen before\n"));
  EXPECT_THAT(Text, HasSubstr("mneme: 1.500 s spent on recording"));
  EXPECT_THAT(Text,
              HasSubstr("mneme: 1 of 2 processes ended without a report"));
}
