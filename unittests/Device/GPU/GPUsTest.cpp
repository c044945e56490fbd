//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <dlfcn.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(GPUsTest, KnowsTheirNames) {
  for (StringRef Name :
       {"cuda", "cuda:0", "cuda:12", "hip", "hip:3", "offload", "offload:1"})
    EXPECT_TRUE(isGPUDeviceName(Name)) << Name.str();
  for (StringRef Name : {"", "host", "cuda:", "cuda:x", "cuda:-1", "cuda:1x",
                         "cuda0", "CUDA", "hip:", "offload:0:1", ":0"})
    EXPECT_FALSE(isGPUDeviceName(Name)) << Name.str();
}

TEST(GPUsTest, RunsCodeOfItsMajorArchitecture) {
  EXPECT_TRUE(isArchCompatible("sm_90", "sm_90"));
  EXPECT_TRUE(isArchCompatible("sm_80", "sm_86"));
  EXPECT_TRUE(isArchCompatible("sm_120", "sm_121"));
  EXPECT_FALSE(isArchCompatible("sm_86", "sm_80"));
  EXPECT_FALSE(isArchCompatible("sm_80", "sm_90"));
  EXPECT_FALSE(isArchCompatible("sm_90", "sm_100"));
  // Not major 1.
  EXPECT_FALSE(isArchCompatible("sm_100", "sm_120"));
}

TEST(GPUsTest, RunsSpecificCodeWhereItIsFor) {
  EXPECT_TRUE(isArchCompatible("sm_90a", "sm_90"));
  EXPECT_TRUE(isArchCompatible("sm_100a", "sm_100"));
  EXPECT_FALSE(isArchCompatible("sm_100a", "sm_103"));
  EXPECT_TRUE(isArchCompatible("sm_100f", "sm_103"));
  EXPECT_FALSE(isArchCompatible("sm_103f", "sm_100"));
}

TEST(GPUsTest, RunsNothingOfOtherVendors) {
  EXPECT_FALSE(isArchCompatible("gfx90a", "sm_90"));
  EXPECT_FALSE(isArchCompatible("", "sm_90"));
  EXPECT_FALSE(isArchCompatible("sm_90x", "sm_90"));
  EXPECT_FALSE(isArchCompatible("sm_", "sm_90"));
}

TEST(GPUsTest, CountsCyclesOfSmallCounters) {
  EXPECT_EQ(countCycles({0, 1000}, {0, 251000}), 250000u);
  EXPECT_EQ(countCycles({0, uint64_t(1) << 40}, {0, (uint64_t(1) << 40) + 5}),
            5u);
  // gfx11's counter has 20 bits.
  EXPECT_EQ(countCycles({0, 0xffff0}, {0, 0x10}), 0x20u);
}

TEST(GPUsTest, RunsCodeOfItsAMDProcessor) {
  EXPECT_TRUE(isArchCompatible("gfx90a", "gfx90a"));
  EXPECT_FALSE(isArchCompatible("gfx90a", "gfx942"));
  EXPECT_FALSE(isArchCompatible("gfx1100", "gfx1101"));
  EXPECT_FALSE(isArchCompatible("sm_90", "gfx90a"));
  // Of a family.
  EXPECT_TRUE(isArchCompatible("gfx11-generic", "gfx1100"));
  EXPECT_TRUE(isArchCompatible("gfx9-4-generic", "gfx942:sramecc+:xnack-"));
  EXPECT_FALSE(isArchCompatible("gfx9-generic", "gfx90a"));
  EXPECT_FALSE(isArchCompatible("gfx11-generic", "gfx1030"));
}

TEST(GPUsTest, ComparesAMDSettings) {
  StringRef Device = "gfx90a:sramecc+:xnack-";
  EXPECT_TRUE(isArchCompatible("gfx90a", Device));
  EXPECT_TRUE(isArchCompatible("gfx90a:xnack-", Device));
  EXPECT_TRUE(isArchCompatible("gfx90a:sramecc+:xnack-", Device));
  EXPECT_FALSE(isArchCompatible("gfx90a:xnack+", Device));
  EXPECT_FALSE(isArchCompatible("gfx90a:sramecc-", Device));
  // A device that says nothing of it has none.
  EXPECT_FALSE(isArchCompatible("gfx90a:xnack+", "gfx90a"));
}

TEST(GPUsTest, OpensGPUsOnly) {
  EXPECT_THAT_EXPECTED(createGPUDevice("host"),
                       FailedWithMessage("'host' is not the name of a GPU"));
}

TEST(GPUsTest, SaysThatThereIsNoDriver) {
  if (dlopen("libcuda.so.1", RTLD_LAZY))
    GTEST_SKIP() << "this machine has a driver";
  for (const char *Name : {"libamdhip64.so.7", "libamdhip64.so.6",
                           "libamdhip64.so.5", "libamdhip64.so"})
    if (dlopen(Name, RTLD_LAZY))
      GTEST_SKIP() << "this machine has HIP";
  const char *Text = "no CUDA driver: cannot load libcuda.so.1";
  EXPECT_THAT_EXPECTED(findGPUs(), FailedWithMessage(Text));
  EXPECT_THAT_EXPECTED(createGPUDevice("cuda:0"), FailedWithMessage(Text));
  EXPECT_THAT_EXPECTED(createGPUDevice("offload"), FailedWithMessage(Text));
  EXPECT_THAT_EXPECTED(
      createGPUDevice("hip"),
      FailedWithMessage("no HIP runtime: cannot load libamdhip64.so"));
}

} // namespace
