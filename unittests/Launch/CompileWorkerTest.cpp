//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileWorker.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

TEST(LaunchedKernel, RoundTrip) {
  LaunchedKernel K;
  K.Name = "k";
  K.StaticHash[3] = 7;
  K.Triple = "nvptx64-nvidia-cuda";
  K.Arch = "sm_90";
  K.OptLevel = "3";
  K.Toolchain = "clang 22.1.8";
  K.Args = {{4, 8, MNEME_ARG_VALUE, "n", "i32"}};
  K.Globals = {"g", "h"};
  K.Bitcode = std::string("BC\0\xff", 4);
  K.Object = "object";
  K.Entry = "entry";
  K.Host.Strategy = MNEME_HOST_REGION;
  K.Host.StaticShared = 1;
  K.Host.WaveSize = 64;
  K.Host.ContextSize = 9;
  K.Host.Ordered = 1;
  std::string Text = K.encode();
  std::optional<LaunchedKernel> R = LaunchedKernel::decode(Text);
  ASSERT_TRUE(R);
  EXPECT_EQ(R->encode(), Text);
  EXPECT_EQ(R->Bitcode, K.Bitcode);
  EXPECT_EQ(R->Globals, K.Globals);
  EXPECT_EQ(R->Entry, K.Entry);
  EXPECT_EQ(R->Host.Strategy, uint32_t(MNEME_HOST_REGION));
  EXPECT_EQ(R->Host.StaticShared, 1u);
  EXPECT_EQ(R->Host.WaveSize, 64u);
  EXPECT_EQ(R->Host.ContextSize, 9u);
  EXPECT_EQ(R->Host.Ordered, 1u);
  for (size_t Size = 0; Size < Text.size(); ++Size)
    EXPECT_FALSE(LaunchedKernel::decode(StringRef(Text).take_front(Size)));
  EXPECT_FALSE(LaunchedKernel::decode(Text + "x"));
}
