//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunedKernels.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Runtime/DeployEnvironment.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

#include <chrono>
#include <cstdlib>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::DeployDevice;
using ::mneme::Fallback;
using ::mneme::LaunchFacts;
using ::mneme::LaunchPlan;
using ::mneme::Program;
using ::mneme::TunedKernel;
using ::mneme::TunedKernels;
using ::mneme::TunedStub;
using ::mneme::TunedVariant;
using ::mneme::Verdict;
using ::mneme::VerifyReason;

void ::mneme::patchSlots(MnemeHook *, MnemeHook *) {}

namespace {

/// A payload with one kernel "k" of one argument.
struct alignas(8) OneKernel {
  MnemePayloadHeader Header;
  MnemePayloadKernel Kernel;
  MnemePayloadArg Arg;
  char Hash[16];
  char Strings[16];
};

constexpr OneKernel makePayload(char Hash) {
  OneKernel P = {};
  for (unsigned I = 0; I != 8; ++I)
    P.Header.Magic[I] = MNEME_PAYLOAD_MAGIC[I];
  P.Header.TotalSize = sizeof(P);
  P.Header.TripleOffset = P.Header.SourceOffset = offsetof(OneKernel, Strings);
  P.Header.ArchOffset = offsetof(OneKernel, Strings);
  P.Header.NumKernels = 1;
  P.Header.KernelsOffset = offsetof(OneKernel, Kernel);
  P.Kernel.NumArgs = 1;
  P.Kernel.ArgsOffset = offsetof(OneKernel, Arg);
  P.Kernel.StaticHashOffset = offsetof(OneKernel, Hash);
  P.Kernel.NameOffset = offsetof(OneKernel, Strings) + 6;
  P.Arg.Size = 4;
  for (char &C : P.Hash)
    C = Hash;
  const char Text[] = "sm_90\0k";
  for (unsigned I = 0; I != sizeof(Text); ++I)
    P.Strings[I] = Text[I];
  return P;
}

// Two of the kernels are in the package. In a segment of a file, as the runtime
// requires.
constexpr OneKernel Payloads[] = {makePayload(1), makePayload(2),
                                  makePayload(3)};
constexpr unsigned NumStubs = 48;
char Stubs[NumStubs];

TunedPackage makePackage() {
  TunedPackage P;
  for (uint8_t Hash : {1, 2}) {
    PackagedKernel &K = P.Kernels.emplace_back();
    K.StaticHash.fill(Hash);
    K.Name = "k";
    K.Args = {{4, 0}};
    PackagedVariant &V = K.Variants.emplace_back();
    V.Fields.ImageKind = MNEME_IMAGE_CUBIN;
    V.Fields.Arch = 90;
    V.Fields.DynamicShared = MNEME_SHARED_SAME;
    V.Fields.MaxThreads = 1024;
    V.Entry = "k";
    V.ArchName = "sm_90";
    V.Image = "code";
  }
  return P;
}

class TunedKernelsTest : public testing::Test {
protected:
  /// A process opens its packages once.
  static void SetUpTestSuite() {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("tuned", Folder));
    std::string Path = (Folder + "/k.mneme").str();
    ASSERT_THAT_ERROR(writePackage(Path, makePackage()), Succeeded());
    ASSERT_FALSE(setenv(MNEME_ENV_TUNED, Path.c_str(), 1));
    ASSERT_FALSE(setenv(MNEME_ENV_TUNED_VERIFY, "100", 1));
    Path = (Folder + "/report").str();
    ASSERT_FALSE(setenv(MNEME_ENV_TUNED_REPORT, Path.c_str(), 1));
    TunedKernels::get().start();
    ASSERT_TRUE(TunedKernels::get().isActive());
    ASSERT_TRUE(TunedKernels::get().verifies());
  }
  static void TearDownTestSuite() { sys::fs::remove_directories(Folder); }

  static std::string read(StringRef Name) {
    auto File = MemoryBuffer::getFile(Folder + "/" + Name);
    return File ? (*File)->getBuffer().str() : "";
  }

  static SmallString<128> Folder;
  TunedKernels &Kernels = TunedKernels::get();
};
SmallString<128> TunedKernelsTest::Folder;

/// Threads look kernels up and launch them, while the objects that have the
/// kernels are loaded one by one.
TEST_F(TunedKernelsTest, ManyThreads) {
  std::vector<MnemeIndexEntry> Index(NumStubs);
  for (unsigned I = 0; I != NumStubs; ++I)
    Index[I] = {&Stubs[I], &Payloads[I % 3].Header, "k",
                0,         MNEME_INDEX_KERNEL,      0};
  const DeployDevice D = {
      MNEME_IMAGE_CUBIN,     90,       "GPU", 1024, {1024, 1024, 64},
      {65535, 65535, 65535}, 227 << 10};
  std::atomic<bool> IsLoaded{false};
  std::atomic<uint64_t> Served{0}, Verified{0}, Unmatched{0};
  auto Launch = [&](unsigned I) {
    int Value = 1;
    void *Args[] = {&Value};
    LaunchFacts L = {{4, 1, 1}, {256, 1, 1}, 0, false, Args};
    LaunchPlan Plan;
    TunedStub *S = Kernels.find(&Stubs[I], 0, 90);
    ASSERT_TRUE(S);
    if (!S->Kernel) {
      ++Unmatched;
      ++S->Unmatched;
      return;
    }
    EXPECT_NE(2u, I % 3);
    TunedVariant *V = Kernels.select(*S->Kernel, L, D, Plan);
    ASSERT_TRUE(V);
    Kernels.noteLaunch(*V);
    VerifyReason Why = Kernels.reasonToVerify(*V);
    if (Why != VerifyReason::None) {
      ++Verified;
      Kernels.finishVerification(*V, Why, Verdict::Same, {}, "");
    } else {
      ++V->Served;
      ++Served;
    }
    Kernels.noteCompletion(V);
  };
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 16; ++T)
    Threads.emplace_back([&, T] {
      for (unsigned I = T; !IsLoaded; ++I)
        Launch(I % NumStubs);
      for (unsigned I = 0; I != NumStubs; ++I)
        Launch(I);
    });
  for (MnemeIndexEntry &E : Index) {
    Program::get().attach(nullptr, nullptr, &E, &E + 1);
    std::this_thread::yield();
  }
  IsLoaded = true;
  for (std::thread &T : Threads)
    T.join();

  uint64_t Count = 0, SumServed = 0, SumVerified = 0;
  Kernels.forEach([&](TunedKernel &K) {
    ++Count;
    SumServed += K.Variants[0]->Served;
    SumVerified += K.Variants[0]->Verdicts[size_t(Verdict::Same)];
  });
  EXPECT_EQ(2u, Count);
  EXPECT_EQ(SumServed, Served);
  EXPECT_EQ(SumVerified, Verified);
  EXPECT_EQ(200u, Verified);
  // Each thread has launched all of them once more.
  EXPECT_GE(Served + Verified, 16u * NumStubs / 3 * 2);
  EXPECT_GE(Unmatched, 16u * NumStubs / 3);

  // A verification that was not possible is made up for if it was counted.
  Kernels.forEach([&](TunedKernel &K) {
    TunedVariant &V = *K.Variants[0];
    Kernels.finishVerification(V, VerifyReason::Rate, Verdict::Memory, {}, "");
    EXPECT_EQ(VerifyReason::None, Kernels.reasonToVerify(V));
    for (Verdict Result : {Verdict::Memory, Verdict::Capture}) {
      Kernels.finishVerification(V, VerifyReason::First, Result, {}, "");
      EXPECT_EQ(VerifyReason::First, Kernels.reasonToVerify(V));
      EXPECT_EQ(VerifyReason::None, Kernels.reasonToVerify(V));
    }
  });
}

TEST_F(TunedKernelsTest, ReplacesTheReportOnceTheLockIsFree) {
  std::string Report = (Folder + "/report").str(), Old = Report + ".old";
  ASSERT_THAT_ERROR(writeToOutput(Report,
                                  [](raw_ostream &OS) {
                                    OS << "old";
                                    return Error::success();
                                  }),
                    Succeeded());
  ASSERT_FALSE(sys::fs::create_hard_link(Report, Old));
  Kernels.noteKernels();
  std::unique_lock<std::mutex> Guard(Kernels.lock());
  std::thread Thread([&] { Kernels.finish(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ("old", read("report"));
  Guard.unlock();
  Thread.join();
  EXPECT_EQ("{\n \"packages\": [", StringRef(read("report")).take_front(16));
  // A reader of the old report does not see half of each.
  EXPECT_EQ("old", read("report.old"));
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC), End; I != End && !EC;
       I.increment(EC))
    EXPECT_FALSE(StringRef(I->path()).ends_with(".tmp")) << I->path();
}

} // namespace
