//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FarmResources.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;

static std::vector<WorkerCommand> make(std::vector<std::string> Hosts,
                                       StringRef Launcher,
                                       std::vector<std::string> Options = {}) {
  Expected<std::vector<WorkerCommand>> Commands =
      makeWorkerCommands(Hosts, Launcher, "/opt/my tools/tune", Options);
  if (Commands)
    return std::move(*Commands);
  ADD_FAILURE() << toString(Commands.takeError());
  return {};
}

static std::string getError(std::vector<std::string> Hosts,
                            StringRef Launcher) {
  Expected<std::vector<WorkerCommand>> Commands =
      makeWorkerCommands(Hosts, Launcher, "tune", {});
  return Commands ? "no error" : toString(Commands.takeError());
}

TEST(LauncherTest, AppendsTheCommandAsWords) {
  std::vector<WorkerCommand> C =
      make({"a", "b"}, "srun --overlap -N1 -w{host} --comment='two words'",
           {"--device=cuda:0", "--x=$HOME;"});
  ASSERT_EQ(C.size(), 2u);
  EXPECT_EQ(C[0].Host, "a");
  EXPECT_THAT(C[0].Words,
              ElementsAre("srun", "--overlap", "-N1", "-wa",
                          "--comment=two words", "/opt/my tools/tune",
                          "--worker=-", "--device=cuda:0", "--x=$HOME;"));
  EXPECT_EQ(C[1].Words[3], "-wb");
}

TEST(LauncherTest, QuotesTheCommandForAShell) {
  std::vector<WorkerCommand> C =
      make({"a"}, "env -i docker exec -i {host} sh -c 'cd /tmp && {command}'",
           {"--x=$HOME;"});
  ASSERT_EQ(C.size(), 1u);
  EXPECT_EQ(C[0].Words.back(),
            "cd /tmp && '/opt/my tools/tune' --worker=- '--x=$HOME;'");
  // ssh gives one text to a shell.
  C = make({"u@a"}, "/usr/bin/ssh -T {host}");
  EXPECT_THAT(C[0].Words, ElementsAre("/usr/bin/ssh", "-T", "u@a",
                                      "'/opt/my tools/tune' --worker=-"));
}

TEST(LauncherTest, SeveralOfOneHostShareItsGPUs) {
  std::vector<WorkerCommand> C = make({"a*2", "b"}, "run {host}");
  ASSERT_EQ(C.size(), 3u);
  EXPECT_EQ(C[0].Words.back(), "--worker-share=0/2");
  EXPECT_EQ(C[1].Words.back(), "--worker-share=1/2");
  EXPECT_EQ(C[2].Words.back(), "--worker=-");
  std::vector<std::string> GPUs = {"0", "1", "2", "3", "4"};
  EXPECT_THAT(takeShare(GPUs, {0, 2}), ElementsAre("0", "2", "4"));
  EXPECT_THAT(takeShare(GPUs, {1, 2}), ElementsAre("1", "3"));
  EXPECT_THAT(takeShare(GPUs, {6, 8}), ElementsAre("1"));
  EXPECT_EQ(takeShare(GPUs, {0, 1}), GPUs);
  // Where the launcher shows each worker one.
  EXPECT_THAT(takeShare({"7"}, {1, 2}), ElementsAre("7"));
}

TEST(LauncherTest, NeedsNoHosts) {
  std::vector<WorkerCommand> C = make({}, "/bin/kubectl exec -i pod --");
  ASSERT_EQ(C.size(), 1u);
  EXPECT_EQ(C[0].Host, "kubectl");
}

TEST(LauncherTest, RefusesWhatCannotBe) {
  EXPECT_EQ(getError({"a"}, ""), "--launcher is empty");
  EXPECT_THAT(getError({"a"}, "ssh a"), HasSubstr("'ssh a' lacks {host}"));
  EXPECT_THAT(getError({}, "ssh {host}"), HasSubstr("there are no --hosts"));
  for (const char *Host : {"", "*2", "-oProxyCommand=x", "a b", "a\n"})
    EXPECT_THAT(getError({Host}, "ssh {host}"), HasSubstr("invalid host"))
        << Host;
  for (const char *Host : {"a*", "a*0", "a*-1", "a*2000", "a*2*2"})
    EXPECT_THAT(getError({Host}, "ssh {host}"),
                HasSubstr("expected a number of workers from 1 to 1024"))
        << Host;
  EXPECT_THAT(
      getError({"a*1024", "b*1024", "c*1024", "d*1024", "e"}, "ssh {host}"),
      HasSubstr("more than 4096 workers"));
}
