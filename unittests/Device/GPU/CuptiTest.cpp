//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cupti.h"
#include "FakeCupti/FakeCupti.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <dlfcn.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {

constexpr int Kernel = 10, Memset = 2;

/// Over a CUPTI of the name that is looked for first.
class CuptiTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    void *Library = dlopen(MNEME_TEST_FAKE_CUPTI, RTLD_NOW);
    ASSERT_TRUE(Library) << dlerror();
    Fake = static_cast<FakeCupti *>(dlsym(Library, "fake_cupti"));
    ASSERT_TRUE(Fake);
  }
  void SetUp() override { ASSERT_THAT_ERROR(enableCupti(), Succeeded()); }
  void TearDown() override {
    EXPECT_EQ(Fake->BuffersOut, 0u);
    disableCupti();
    EXPECT_FALSE(Fake->Enabled);
  }

  static FakeCupti *Fake;
};
FakeCupti *CuptiTest::Fake;

TEST_F(CuptiTest, AddsUpLaunches) {
  Fake->Add({Kernel, 0, "k", 1000, 1500});
  EXPECT_EQ(takeCuptiTime(0, "k", 1), 500.0);
  Fake->Add({Kernel, 0, "k", 2000, 2100});
  Fake->Add({Kernel, 0, "k", 3000, 3011});
  EXPECT_EQ(takeCuptiTime(0, "k", 2), 111.0);
}

TEST_F(CuptiTest, TakesThatKernelOnThatDevice) {
  Fake->Add({Kernel, 1, "k", 1000, 1010});
  Fake->Add({Kernel, 0, "mneme_clock", 1000, 1100});
  Fake->Add({Memset, 0, "k", 1100, 1200});
  Fake->Add({Kernel, 0, "k", 1200, 1300});
  Fake->Add({Kernel, 0, "k2", 1300, 1500});
  EXPECT_EQ(takeCuptiTime(0, "k", 1), 100.0);
  // The other device's is still there.
  EXPECT_EQ(takeCuptiTime(1, "k", 1), 10.0);
}

TEST_F(CuptiTest, KnowsNothingOfAnotherNumberOfLaunches) {
  Fake->Add({Kernel, 0, "k", 1000, 1010});
  EXPECT_EQ(takeCuptiTime(0, "k", 2), std::nullopt);
  // Forgotten.
  EXPECT_EQ(takeCuptiTime(0, "k", 1), std::nullopt);
  Fake->Add({Kernel, 0, "k", 1000, 1010});
  Fake->Add({Kernel, 0, "k", 1000, 1010});
  EXPECT_EQ(takeCuptiTime(0, "k", 1), std::nullopt);
}

TEST_F(CuptiTest, ForcesBuffersWithOpenRecords) {
  Fake->Add({Kernel, 1, "endless", 0, 0});
  Fake->Add({Kernel, 0, "k", 1000, 1010});
  EXPECT_EQ(takeCuptiTime(0, "k", 1), 10.0);
  EXPECT_EQ(takeCuptiTime(1, "endless", 1), std::nullopt);
}

TEST_F(CuptiTest, IsOnAsLongAsSomebodyWantsIt) {
  EXPECT_TRUE(Fake->Enabled);
  ASSERT_THAT_ERROR(enableCupti(), Succeeded());
  disableCupti();
  EXPECT_TRUE(Fake->Enabled);
  disableCupti();
  EXPECT_FALSE(Fake->Enabled);
  Fake->EnableResult = 39;
  EXPECT_THAT_ERROR(
      enableCupti(),
      FailedWithMessage("CUPTI cannot report kernels: CUPTI_ERROR_FAKE"));
  Fake->EnableResult = 0;
  ASSERT_THAT_ERROR(enableCupti(), Succeeded());
}

} // namespace
