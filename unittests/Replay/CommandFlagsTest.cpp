//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommandFlagsTest, ComeBackFromACommandLine) {
  // The command line knows them until the process ends.
  static ReplayFlags Flags;
  ReplayOptions R;
  R.Device = "cuda:1";
  R.Host = {HostStrategy::Fiber, HostFinish::Min};
  R.Cache = CacheMode::Warm;
  R.Timer = GPUTimer::Events;
  R.Assembler = PTXCompiler::Library;
  R.CudaPath = "/cuda";
  R.Norm = MNEME_NORM_L2;
  R.NaN = NaNRule::Error;
  R.Tolerances = {{MNEME_TOLERANCE_ABS, 1e-6, "3"},
                  {MNEME_TOLERANCE_ULP, 4, ""}};
  R.ElementTypes = {{MNEME_DTYPE_F32, "out"}};
  R.Unordered = {{{{"q", 16}}, "n", 4}};
  R.Envelope.Replays = 30;
  R.Plugins = {"/a.so", "/b.so"};
  std::vector<std::string> Words = makeFlags(R);
  EXPECT_THAT(
      Words,
      ElementsAre("--device=cuda:1", "--host-finish=min",
                  "--host-strategy=fiber", "--cache=warm", "--timer=events",
                  "--ptx-compiler=nvptxcompiler", "--cuda-path=/cuda",
                  "--norm=l2", "--nan=error", "--no-poison", "--envelope=30",
                  "--tolerance=abs:1e-06@3", "--tolerance=ulp:4",
                  "--dtype=f32@out", "--unordered=q:16,count=n+4",
                  "--load-pass-plugin=/a.so", "--load-pass-plugin=/b.so"));

  std::vector<const char *> Argv = {"replay", "--mllvm=-a=1", "--opt-tool=opt"};
  for (const std::string &Word : Words)
    Argv.push_back(Word.c_str());
  ASSERT_TRUE(cl::ParseCommandLineOptions(Argv.size(), Argv.data()));
  ReplayOptions Back;
  ASSERT_THAT_ERROR(Flags.apply(Back), Succeeded());
  EXPECT_EQ(makeFlags(Back), Words);
  EXPECT_FALSE(Back.Poison);
  EXPECT_EQ(Back.OptTool, "opt");
  EXPECT_EQ(Flags.describe(), "--host-finish=min\n"
                              "--host-strategy=fiber\n"
                              "--cache=warm\n"
                              "--timer=events\n"
                              "--ptx-compiler=nvptxcompiler\n"
                              "--norm=l2\n"
                              "--nan=error\n"
                              "--no-poison=true\n"
                              "--envelope=30\n"
                              "--tolerance=abs:1e-06@3,ulp:4\n"
                              "--dtype=f32@out\n"
                              "--unordered=q:16,count=n+4\n"
                              "--opt-tool=opt\n"
                              "--load-pass-plugin=/a.so,/b.so\n"
                              "--mllvm=-a=1\n");
}

TEST(CommandFlagsTest, FilesHaveOptionsThatAffectResults) {
  ReplayOptions R;
  R.Poison = true;
  R.Device = "cuda:1";
  R.Host.Finish = HostFinish::None;
  R.Cache = CacheMode::Warm;
  R.Tolerances = {cantFail(parseTolerance("rel:0.5@x")),
                  cantFail(parseTolerance("ulp:4"))};
  R.Plugins = {"/a.so"};
  json::Object O = makeResultOptions(R, /*OnHost=*/true);
  EXPECT_EQ(json::Value(json::Object(O)),
            json::Value(json::Object{
                {"host_finish", "none"},
                {"host_strategy", "auto"},
                {"cache", "warm"},
                {"tolerance", json::Array{"rel:0.5@x", "ulp:4"}}}));
  EXPECT_FALSE(makeResultOptions(R, /*OnHost=*/false).get("host_finish"));
  ReplayOptions Back;
  Back.Poison = true;
  ASSERT_THAT_ERROR(applyResultOptions(O, Back), Succeeded());
  EXPECT_EQ(makeResultOptions(Back, true), O);
  EXPECT_EQ(Back.Host.Finish, HostFinish::None);
  R.Poison = false;
  O = makeResultOptions(R, true);
  ASSERT_THAT_ERROR(applyResultOptions(O, Back), Succeeded());
  EXPECT_FALSE(Back.Poison);
  // A file names no other files.
  EXPECT_EQ(toString(applyResultOptions(
                json::Object{{"load_pass_plugin", json::Array{"/a.so"}}}, Back)),
            "'load_pass_plugin': unknown option");
  EXPECT_EQ(toString(applyResultOptions(json::Object{{"cache", "hot"}}, Back)),
            "'cache': expected cold, warm, got 'hot'");
  EXPECT_EQ(toString(applyResultOptions(json::Object{{"tolerance", 1}}, Back)),
            "'tolerance': expected an array, got 1");
}

TEST(CommandFlagsTest, DefaultsNeedNoOption) {
  ReplayOptions R;
  R.Poison = true;
  EXPECT_THAT(makeFlags(R), IsEmpty());
}
