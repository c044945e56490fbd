//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nvml.h"
#include "gtest/gtest.h"
#include <dlfcn.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {

TEST(NvmlTest, SaysWhatTheLibraryTells) {
  ASSERT_TRUE(dlopen(MNEME_TEST_FAKE_NVML, RTLD_NOW)) << dlerror();
  GPUState State = readNvmlState("GPU-fake");
  EXPECT_EQ(State.Temperature, 41u);
  EXPECT_EQ(State.Power, 130.5);
  EXPECT_EQ(State.ClockMHz, 1980u);
  EXPECT_FALSE(State.MemoryClockMHz);
}

TEST(NvmlTest, KnowsNothingOfOtherGPUs) {
  ASSERT_TRUE(dlopen(MNEME_TEST_FAKE_NVML, RTLD_NOW)) << dlerror();
  GPUState State = readNvmlState("GPU-other");
  EXPECT_FALSE(State.Temperature);
  EXPECT_FALSE(State.Power);
  EXPECT_FALSE(State.ClockMHz);
}

} // namespace
