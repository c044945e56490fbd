//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frame.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/socket.h>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

TEST(FrameTest, ComesOutAsItWentIn) {
  std::string Image("a\n{\0}b", 6);
  std::string Stream = printFrameHead(json::Object{{"do", "x\ny"}}, 6) + Image +
                       printFrameHead(json::Object{{"n", 2}}, 0);
  // In pieces of every size.
  for (size_t Step = 1; Step <= Stream.size(); ++Step) {
    FrameParser P;
    std::vector<Frame> Frames;
    for (size_t I = 0; I < Stream.size(); I += Step) {
      P.append(StringRef(Stream).substr(I, Step));
      while (true) {
        Expected<std::optional<Frame>> F = P.next();
        ASSERT_THAT_EXPECTED(F, Succeeded());
        if (!*F)
          break;
        Frames.push_back(std::move(**F));
      }
    }
    ASSERT_EQ(Frames.size(), 2u);
    EXPECT_EQ(Frames[0].Head.getString("do"), "x\ny");
    EXPECT_EQ(Frames[0].Bytes, Image);
    EXPECT_EQ(Frames[1].Head.getInteger("n"), 2);
    EXPECT_TRUE(Frames[1].Bytes.empty());
    EXPECT_TRUE(P.empty());
  }
}

static std::string getError(StringRef Stream, FrameLimits Limits = {}) {
  FrameParser P;
  P.Limits = Limits;
  P.append(Stream);
  Expected<std::optional<Frame>> F = P.next();
  return F ? "no error" : toString(F.takeError());
}

TEST(FrameTest, RefusesNonsense) {
  EXPECT_THAT(getError("GET / HTTP/1.1\r\n"), HasSubstr("no JSON"));
  EXPECT_THAT(getError("[1]\n"), HasSubstr("no object"));
  EXPECT_THAT(getError("{\"bytes\": -1}\n"), HasSubstr("too many bytes"));
  EXPECT_THAT(getError("{\"bytes\": \"1\"}\n"), HasSubstr("too many bytes"));
  EXPECT_THAT(getError("{\"bytes\": 1e18}\n"), HasSubstr("too many bytes"));
  EXPECT_THAT(getError("{\"bytes\": 1}\n", FrameLimits::stranger()),
              HasSubstr("too many bytes"));
  // Before the end of the line is there.
  EXPECT_THAT(getError(std::string(5000, 'x'), FrameLimits::stranger()),
              HasSubstr("too long"));
  std::string Deep =
      "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}\n";
  EXPECT_THAT(getError(Deep), HasSubstr("nested too deeply"));
  // Brackets of a text are none.
  EXPECT_EQ(getError("{\"a\":\"" + std::string(1000, '[') + "\\\"[\"}\n"),
            "no error");
}

TEST(FrameTest, ChannelsSendWhatDoesNotFitAtOnce) {
  int Ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, Ends), 0);
  Channel Poller(Ends[0]);
  auto Waiter = std::make_unique<Channel>(Ends[1]);
  ASSERT_THAT_ERROR(Poller.makeNonBlocking(), Succeeded());
  auto Large = std::make_shared<const std::string>(5000000, 'z');
  Poller.queue(json::Object{{"n", 1}}, Large);
  Poller.queue(json::Object{{"n", 2}});
  Poller.flush();
  EXPECT_TRUE(Poller.hasQueued());
  std::thread Reader([&] {
    Expected<std::optional<Frame>> F = Waiter->read();
    ASSERT_THAT_EXPECTED(F, Succeeded());
    ASSERT_TRUE(*F);
    EXPECT_EQ((*F)->Bytes, *Large);
    F = Waiter->read();
    ASSERT_THAT_EXPECTED(F, Succeeded());
    ASSERT_TRUE(*F);
    EXPECT_EQ((*F)->Head.getInteger("n"), 2);
    EXPECT_THAT_ERROR(Waiter->write(json::Object{{"ok", true}}), Succeeded());
    Waiter.reset();
  });
  while (Poller.hasQueued())
    Poller.flush();
  EXPECT_EQ(Poller.queuedBytes(), 0u);
  Reader.join();
  EXPECT_THAT_EXPECTED(Poller.receive(), HasValue(true));
  Expected<std::optional<Frame>> F = Poller.Parser.next();
  ASSERT_THAT_EXPECTED(F, Succeeded());
  EXPECT_TRUE(*F);
  EXPECT_THAT_EXPECTED(Poller.receive(), HasValue(false));
}

TEST(FrameTest, LastWordsAreHeard) {
  int Ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, Ends), 0);
  Channel Poller(Ends[0]);
  ASSERT_THAT_ERROR(Poller.makeNonBlocking(), Succeeded());
  auto Dying = std::make_unique<Channel>(Ends[1]);
  Poller.queue(json::Object{{"n", 1}});
  Poller.flush();
  EXPECT_THAT_ERROR(Dying->write(json::Object{{"last", "words"}}), Succeeded());
  Dying.reset(); // without having read
  Poller.queue(json::Object{{"n", 2}});
  Poller.flush();
  EXPECT_FALSE(Poller.hasQueued());
  EXPECT_THAT_EXPECTED(Poller.receive(), HasValue(true));
  Expected<std::optional<Frame>> F = Poller.Parser.next();
  ASSERT_THAT_EXPECTED(F, Succeeded());
  ASSERT_TRUE(*F);
  EXPECT_EQ((*F)->Head.getString("last"), "words");
  EXPECT_THAT_EXPECTED(Poller.receive(), HasValue(false));
}
