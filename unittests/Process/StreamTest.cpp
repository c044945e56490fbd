//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Stream.h"
#include "Waiting.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <poll.h>
#include <pthread.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static std::optional<StreamError::Kind> kindOf(Error E) {
  std::optional<StreamError::Kind> Kind;
  handleAllErrors(
      std::move(E), [&](const StreamError &S) { Kind = S.kind(); },
      [](const ErrorInfoBase &) {});
  return Kind;
}

TEST(Deadline, Milliseconds) {
  EXPECT_EQ(Deadline().milliseconds(), -1);
  EXPECT_FALSE(Deadline().hasPassed());
  EXPECT_EQ(Deadline::ofLimit(0).milliseconds(), -1);
  EXPECT_EQ(Deadline::after(0).milliseconds(), 0);
  EXPECT_TRUE(Deadline::after(0).hasPassed());
  EXPECT_EQ(Deadline::after(-1).milliseconds(), 0);
  EXPECT_EQ(Deadline::after(1e300).milliseconds(), 1 << 30);
  EXPECT_FALSE(Deadline::ofLimit(1e300).hasPassed());
  int Left = Deadline::ofLimit(Forever).milliseconds();
  EXPECT_GT(Left, 0);
  EXPECT_LE(Left, Forever * 1000);
}

TEST(Deadline, ItIsAskedUntilItIsOver) {
  int Asked = 0;
  EXPECT_TRUE(waitUntil([&] { return ++Asked == 4; }, Forever));
  EXPECT_EQ(Asked, 4);
  Asked = 0;
  EXPECT_FALSE(waitUntil([&] { return ++Asked == 0; }, 0));
  EXPECT_EQ(Asked, 1);
  EXPECT_TRUE(waitUntil([] { return true; }, 0));
}

TEST(Stream, ErrorsNameTheReason) {
  EXPECT_EQ(toString(systemError("cannot make a pipe", EMFILE)),
            "cannot make a pipe: Too many open files: raise the limit (ulimit "
            "-n)");
  Error E = systemError("cannot send", EPIPE);
  EXPECT_FALSE(E.isA<ShortageError>());
  EXPECT_EQ(toString(std::move(E)), "cannot send: Broken pipe");
}

TEST(Stream, LinesAreCutAnywhere) {
  StringRef Text = "first\n\nlast line\nrest";
  for (size_t Cut = 0; Cut <= Text.size(); ++Cut) {
    Pipe P = cantFail(Pipe::create());
    LineReader Lines(P.Read.get());
    std::thread Writer([&] {
      cantFail(writeAll(P.Write.get(), Text.take_front(Cut)));
      cantFail(writeAll(P.Write.get(), Text.drop_front(Cut)));
      P.Write.reset();
    });
    for (StringRef Line : {"first", "", "last line"})
      EXPECT_THAT_EXPECTED(Lines.next(), HasValue(Line.str()));
    EXPECT_EQ(kindOf(Lines.next().takeError()), StreamError::Closed);
    Writer.join();
  }
}

TEST(Stream, LinesHaveALimit) {
  Pipe P = cantFail(Pipe::create());
  LineReader Lines(P.Read.get(), /*MaxBytes=*/4);
  cantFail(writeAll(P.Write.get(), "1234\n12345"));
  EXPECT_THAT_EXPECTED(Lines.next(), HasValue("1234"));
  Error E = Lines.next().takeError();
  EXPECT_EQ(toString(std::move(E)),
            "more than 4 bytes without an end of a line");
  EXPECT_EQ(kindOf(Lines.next().takeError()), StreamError::TooLong);
  cantFail(writeAll(P.Write.get(), "\n"));
  EXPECT_EQ(kindOf(Lines.next().takeError()), StreamError::TooLong);
}

TEST(Stream, LinesHaveADeadline) {
  Pipe P = cantFail(Pipe::create());
  LineReader Lines(P.Read.get());
  cantFail(writeAll(P.Write.get(), "whole\npart"));
  // What is there is read, however late.
  EXPECT_THAT_EXPECTED(Lines.next(Deadline::after(0)), HasValue("whole"));
  EXPECT_EQ(kindOf(Lines.next(Deadline::after(0.01)).takeError()),
            StreamError::Late);
  cantFail(writeAll(P.Write.get(), "\n"));
  EXPECT_THAT_EXPECTED(Lines.next(Deadline::after(0)), HasValue("part"));
}

TEST(Stream, AProcessMayEndWhileItsStreamIsOpen) {
  Pipe P = cantFail(Pipe::create());
  LineReader Lines(P.Read.get());
  bool HasEnded = false;
  auto Asks = [&] { return std::exchange(HasEnded, true); };
  cantFail(writeAll(P.Write.get(), "last\n"));
  EXPECT_THAT_EXPECTED(Lines.next({}, Asks), HasValue("last"));
  EXPECT_EQ(kindOf(Lines.next({}, Asks).takeError()), StreamError::Closed);
}

TEST(Stream, SignalsDoNotEndTheWaiting) {
  struct sigaction Nothing = {}, Old;
  Nothing.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &Nothing, &Old), 0);
  Pipe P = cantFail(Pipe::create());
  pthread_t Reader = ::pthread_self();
  std::thread Writer([&] {
    for (int I = 0; I != 20; ++I) {
      ::pthread_kill(Reader, SIGUSR1);
      ::usleep(1000);
    }
    cantFail(writeAll(P.Write.get(), "line\n"));
  });
  EXPECT_THAT_EXPECTED(LineReader(P.Read.get()).next(Deadline::after(Forever)),
                       HasValue("line"));
  Writer.join();
  ::sigaction(SIGUSR1, &Old, nullptr);
}
