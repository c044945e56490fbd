//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplicationCheck.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {

Expected<std::string> check(std::vector<std::string> Archs,
                            std::vector<GpuFacts> Devices) {
  return checkArchitectures(Archs, Devices);
}

TEST(Application, RunsWhereItWasCompiledFor) {
  const GpuFacts H200 = {"NVIDIA H200", "sm_90"};
  EXPECT_THAT_EXPECTED(check({"sm_90"}, {H200}), HasValue(""));
  EXPECT_THAT_EXPECTED(check({"sm_90a"}, {H200}), HasValue(""));
  EXPECT_THAT_EXPECTED(check({"gfx90a", "sm_80", "sm_90"}, {H200}),
                       HasValue(""));
  EXPECT_THAT_EXPECTED(check({"sm_86"}, {H200, {"NVIDIA L40", "sm_89"}}),
                       HasValue(""));
}

TEST(Application, MayRunThroughPTX) {
  EXPECT_THAT_EXPECTED(
      check({"sm_80"}, {{"NVIDIA H200", "sm_90"}}),
      HasValue(
          "its kernels are for sm_80, the device is an sm_90 (NVIDIA H200): "
          "the recordings hold the code that its PTX was compiled from"));
}

TEST(Application, DoesNotRunElsewhere) {
  const char *Text = "its kernels are for sm_90a, sm_100, the device is an "
                     "sm_80 (A100): none of them runs there";
  EXPECT_THAT_EXPECTED(check({"sm_90a", "sm_100"}, {{"A100", "sm_80"}}),
                       FailedWithMessage(Text));
  // What is for one architecture only has no PTX for others.
  EXPECT_THAT_EXPECTED(check({"sm_90a"}, {{"B200", "sm_100"}}), Failed());
}

} // namespace
