//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Worker.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <poll.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static Expected<std::string> run(function_ref<Expected<std::string>()> Work) {
  Expected<Worker> W = Worker::start(Work);
  if (!W)
    return W.takeError();
  pollfd Wait = {W->fd(), POLLIN, 0};
  while (!W->poll())
    ::poll(&Wait, 1, -1);
  return W->finish();
}

static std::string errorOf(function_ref<Expected<std::string>()> Work) {
  Expected<std::string> Result = run(Work);
  return Result ? "no error" : toString(Result.takeError());
}

TEST(Worker, ReturnsItsResult) {
  EXPECT_THAT_EXPECTED(run([] { return std::string("result"); }),
                       HasValue("result"));
  EXPECT_THAT_EXPECTED(run([] { return std::string(); }), HasValue(""));
  // Much more than a pipe holds.
  std::string Large(10 << 20, 'x');
  EXPECT_THAT_EXPECTED(run([&] { return Large; }), HasValue(Large));
}

TEST(Worker, ReturnsItsError) {
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              return createStringError("no such kernel");
            }),
            "no such kernel");
}

TEST(Worker, CrashIsAnError) {
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              // Sanitizers turn SIGSEGV into a message of theirs.
              ::raise(SIGILL);
              return std::string();
            }),
            "the compiler crashed (Illegal instruction)");
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              report_fatal_error("cannot select: this");
            }),
            "the compiler crashed (Aborted): cannot select: this");
  EXPECT_EQ(errorOf([]() -> Expected<std::string> { ::_exit(0); }),
            "the compiler gave up");
  EXPECT_EQ(errorOf([]() -> Expected<std::string> {
              (void)!::write(STDERR_FILENO, "last words\n", 11);
              ::_exit(3);
            }),
            "the compiler gave up: last words");
}

TEST(Worker, EndsWithItsOwner) {
  pid_t Before = ::getpid();
  {
    Expected<Worker> W = Worker::start([]() -> Expected<std::string> {
      ::pause();
      return std::string();
    });
    ASSERT_THAT_EXPECTED(W, Succeeded());
    EXPECT_FALSE(W->poll());
  }
  EXPECT_EQ(::getpid(), Before);
}

TEST(CompiledKernel, RoundTrip) {
  CompiledKernel K;
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
  K.Host.Cooperative = 1;
  K.Host.ContextSize = 9;
  K.Host.Ordered = 1;
  std::string Text = K.encode();
  std::optional<CompiledKernel> R = CompiledKernel::decode(Text);
  ASSERT_TRUE(R);
  EXPECT_EQ(R->encode(), Text);
  EXPECT_EQ(R->Bitcode, K.Bitcode);
  EXPECT_EQ(R->Globals, K.Globals);
  EXPECT_EQ(R->Entry, K.Entry);
  EXPECT_EQ(R->Host.Strategy, uint32_t(MNEME_HOST_REGION));
  EXPECT_EQ(R->Host.StaticShared, 1u);
  EXPECT_EQ(R->Host.WaveSize, 64u);
  EXPECT_EQ(R->Host.Cooperative, 1u);
  EXPECT_EQ(R->Host.ContextSize, 9u);
  EXPECT_EQ(R->Host.Ordered, 1u);
  for (size_t Size = 0; Size < Text.size(); ++Size)
    EXPECT_FALSE(CompiledKernel::decode(StringRef(Text).take_front(Size)));
  EXPECT_FALSE(CompiledKernel::decode(Text + "x"));
}
