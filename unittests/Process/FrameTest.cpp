//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Frame.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstring>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

static constexpr MessageKind Kinds[] = {{"small", 60, 0},
                                        {"large", 1000, 10000000}};
static constexpr StringLiteral Greeting = "hello from the other side";

/// As llvm::json::Object, to be written in a call.
struct Fields : json::Object {
  Fields(std::initializer_list<KV> L) : json::Object(L) {}
};

static std::string line(size_t Kind, Fields Head, uint64_t Bytes = 0) {
  return printFrameLine(Kinds[Kind], std::move(Head), Bytes);
}

TEST(FrameTest, ComesOutAsItWentIn) {
  std::string Image("a\n{\0}b", 6);
  std::string Stream =
      line(1, {{"do", "x\ny"}}, 6) + Image + line(0, {{"n", 2}});
  EXPECT_EQ(line(0, {{"n", 2}}), "small 0 {\"n\":2}\n");
  // In pieces of every size.
  for (size_t Step = 1; Step <= Stream.size(); ++Step) {
    FrameParser P(Kinds);
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
    EXPECT_EQ(Frames[0].Kind, 1u);
    EXPECT_EQ(Frames[0].Head.getString("do"), "x\ny");
    EXPECT_EQ(Frames[0].Bytes, Image);
    EXPECT_EQ(Frames[1].Kind, 0u);
    EXPECT_EQ(Frames[1].Head.getInteger("n"), 2);
    EXPECT_TRUE(Frames[1].Bytes.empty());
    EXPECT_TRUE(P.empty());
  }
}

static std::string getError(StringRef Stream) {
  FrameParser P(Kinds);
  P.append(Stream);
  Expected<std::optional<Frame>> F = P.next();
  return F ? "no error" : toString(F.takeError());
}

TEST(FrameTest, ObjectsComeOutAsTheyWentIn) {
  std::string Stream =
      printFrameLine(Kinds[1], Fields{{"do", "x"}}, 3, FrameForm::Object) +
      "a\nb" + "{\"type\":\"other\",\"id\":7}\n" +
      printFrameLine(Kinds[0], Fields{{"n", 2}}, 0, FrameForm::Object);
  EXPECT_TRUE(StringRef(Stream).contains("{\"n\":2,\"type\":\"small\"}\n"));
  for (size_t Step = 1; Step <= Stream.size(); ++Step) {
    FrameParser P(Kinds, FrameForm::Object);
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
    ASSERT_EQ(Frames.size(), 3u);
    EXPECT_EQ(Frames[0].Kind, 1u);
    EXPECT_EQ(json::Value(std::move(Frames[0].Head)),
              json::Value(Fields{{"do", "x"}}));
    EXPECT_EQ(Frames[0].Bytes, "a\nb");
    // An unknown type keeps its object, for an answer.
    EXPECT_EQ(Frames[1].Kind, std::size(Kinds));
    EXPECT_EQ(Frames[1].Head.getInteger("id"), 7);
    EXPECT_EQ(Frames[2].Kind, 0u);
    EXPECT_TRUE(P.empty());
  }
}

TEST(FrameTest, RefusesNonsenseObjects) {
  auto GetError = [](StringRef Stream) {
    FrameParser P(Kinds, FrameForm::Object);
    P.append(Stream);
    Expected<std::optional<Frame>> F = P.next();
    return F ? "no error" : toString(F.takeError());
  };
  EXPECT_THAT(GetError("[]\n"), HasSubstr("expected an object with a type"));
  EXPECT_THAT(GetError("{\"type\":1}\n"), HasSubstr("with a type"));
  EXPECT_THAT(GetError("{\"type\"\n"), HasSubstr("malformed message"));
  EXPECT_THAT(GetError("{\"type\":\"small\",\"bytes\":1}\n"),
              HasSubstr("more than 0 bytes"));
  EXPECT_THAT(GetError("{\"type\":\"other\",\"bytes\":1}\n"),
              HasSubstr("more than 0 bytes"));
  EXPECT_THAT(GetError("{\"type\":\"large\",\"bytes\":-1}\n"),
              HasSubstr("expected a number of bytes"));
  EXPECT_THAT(GetError("{\"type\":\"small\",\"x\":\"" +
                       std::string(60, 'x') + "\"}\n"),
              HasSubstr("longer than 60 bytes"));
  EXPECT_THAT(GetError(std::string(1001, ' ')),
              HasSubstr("longer than 1000 bytes"));
}

TEST(FrameTest, RefusesNonsense) {
  EXPECT_EQ(getError("GET / HTTP/1.1\r\n"),
            "expected a message, got 'GET / HTTP/1.1\\0D'");
  EXPECT_EQ(getError("small 0 [1]\n"),
            "malformed message 'small': expected an object");
  EXPECT_EQ(getError("small x {}\n"), "malformed message 'small': expected a "
                                      "number of bytes, got 'x'");
  EXPECT_EQ(getError("small 1 {}\n"),
            "malformed message 'small': more than 0 bytes follow it");
  EXPECT_EQ(getError("large 10000001 {}\n"),
            "malformed message 'large': more than 10000000 bytes follow it");
  // Before the end of the line is there.
  EXPECT_EQ(getError(std::string(33, 'x')),
            "expected a message, got '" + std::string(33, 'x') + "'");
  EXPECT_EQ(getError("small 0 " + std::string(60, ' ')),
            "malformed message 'small': longer than 60 bytes");
  EXPECT_EQ(getError("small 0 {" + std::string(50, '[')), "no error");
  std::string Deep =
      "large 0 {\"a\":" + std::string(100, '[') + std::string(100, ']') + "}\n";
  EXPECT_EQ(getError(Deep),
            "malformed message 'large': 1:1: nested too deeply");
  // Brackets of a text are none.
  EXPECT_EQ(
      getError("large 0 {\"a\":\"" + std::string(100, '[') + "\\\"[\"}\n"),
      "no error");
}

TEST(FrameTest, CutStreamsHaveNoFrame) {
  std::string Whole = line(1, {{"n", 1}}, 3) + "abc";
  for (size_t Size = 0; Size <= Whole.size(); ++Size) {
    Pipe Ends = cantFail(Pipe::createSocket());
    Channel Link(Ends.Read.release(), Kinds);
    ASSERT_THAT_ERROR(writeAll(Ends.Write.get(), Whole.substr(0, Size)),
                      Succeeded());
    if (Size != Whole.size()) { // nor before the deadline
      Expected<std::optional<Frame>> F = Link.read(Deadline::after(0));
      EXPECT_TRUE(F.errorIsA<StreamError>());
      EXPECT_EQ(toString(F.takeError()), "no data before the deadline");
    }
    Ends.Write.reset();
    Expected<std::optional<Frame>> F = Link.read();
    ASSERT_THAT_EXPECTED(F, Succeeded());
    EXPECT_EQ(bool(*F), Size == Whole.size());
    EXPECT_EQ(Link.Parser.empty(), Size == 0 || Size == Whole.size());
  }
}

TEST(FrameTest, ErrorsHaveAKind) {
  auto KindOf = [](StringRef Stream) {
    FrameParser P(Kinds);
    P.append(Stream);
    StreamError::Kind Kind = StreamError::Late;
    handleAllErrors(P.next().takeError(),
                    [&](const StreamError &E) { Kind = E.kind(); });
    return Kind;
  };
  EXPECT_EQ(KindOf("garbage\n"), StreamError::Malformed);
  EXPECT_EQ(KindOf("small 0 {]\n"), StreamError::Malformed);
  EXPECT_EQ(KindOf("small 1 {}\n"), StreamError::TooLong);
  EXPECT_EQ(KindOf("small 0 " + std::string(60, ' ')), StreamError::TooLong);
}

TEST(FrameTest, SkipsNoiseBeforeTheGreeting) {
  std::string Noise = "Last login\nmodules: a b\n% " + Greeting.str();
  std::string Stream = Noise + "\n" + line(0, {{"n", 1}});
  for (size_t Step : {size_t(1), size_t(7), Stream.size()}) {
    FrameParser P(Kinds);
    P.expectGreeting(Greeting);
    std::optional<Frame> Found;
    for (size_t I = 0; I < Stream.size(); I += Step) {
      P.append(StringRef(Stream).substr(I, Step));
      Expected<std::optional<Frame>> F = P.next();
      ASSERT_THAT_EXPECTED(F, Succeeded());
      EXPECT_EQ(P.isGreeted(), I + Step > Noise.size());
      if (*F)
        Found = std::move(**F);
    }
    ASSERT_TRUE(Found);
    EXPECT_EQ(Found->Head.getInteger("n"), 1);
  }
}

/// Two ends of a connection: one socket, or two pipes.
static void connect(bool Pipes, std::unique_ptr<Channel> &Poller,
                    std::unique_ptr<Channel> &Waiter) {
  int A[2], B[2];
  if (Pipes) {
    ASSERT_EQ(::pipe(A), 0);
    ASSERT_EQ(::pipe(B), 0);
    Poller = std::make_unique<Channel>(A[0], B[1], Kinds);
    Waiter = std::make_unique<Channel>(B[0], A[1], Kinds);
  } else {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, A), 0);
    Poller = std::make_unique<Channel>(A[0], Kinds);
    Waiter = std::make_unique<Channel>(A[1], Kinds);
  }
  ASSERT_THAT_ERROR(Poller->makeNonBlocking(), Succeeded());
}

TEST(FrameTest, DescriptorsArriveWithTheirLine) {
  std::unique_ptr<Channel> Poller, Waiter;
  connect(/*Pipes=*/false, Poller, Waiter);
  Expected<Pipe> P = Pipe::create();
  ASSERT_THAT_EXPECTED(P, Succeeded());
  Poller->queue(line(0, {{"n", 1}}), std::move(P->Read));
  Poller->flush();
  char Text[200], Control[CMSG_SPACE(sizeof(int))];
  iovec Part = {Text, sizeof(Text)};
  msghdr Message = {};
  Message.msg_iov = &Part;
  Message.msg_iovlen = 1;
  Message.msg_control = Control;
  Message.msg_controllen = sizeof(Control);
  ssize_t N = ::recvmsg(Waiter->in(), &Message, 0);
  ASSERT_GT(N, 0);
  EXPECT_EQ(StringRef(Text, N), line(0, {{"n", 1}}));
  cmsghdr *Header = CMSG_FIRSTHDR(&Message);
  ASSERT_TRUE(Header);
  int FD = -1;
  std::memcpy(&FD, CMSG_DATA(Header), sizeof(int));
  // It is the other end of the pipe.
  ASSERT_EQ(::write(P->Write.get(), "x", 1), 1);
  EXPECT_EQ(::read(FD, Text, 1), 1);
  ::close(FD);
}

TEST(FrameTest, ChannelsSendWhatDoesNotFitAtOnce) {
  for (bool Pipes : {false, true}) {
    std::unique_ptr<Channel> Poller, Waiter;
    connect(Pipes, Poller, Waiter);
    auto Large = std::make_shared<const std::string>(5000000, 'z');
    Poller->queue(line(1, {{"n", 1}}, Large->size()), Large);
    Poller->queue(line(0, {{"n", 2}}), nullptr);
    Poller->flush();
    EXPECT_TRUE(Poller->hasQueued());
    std::thread Reader([&] {
      Expected<std::optional<Frame>> F = Waiter->read();
      ASSERT_THAT_EXPECTED(F, Succeeded());
      ASSERT_TRUE(*F);
      EXPECT_EQ((*F)->Bytes, *Large);
      F = Waiter->read();
      ASSERT_THAT_EXPECTED(F, Succeeded());
      ASSERT_TRUE(*F);
      EXPECT_EQ((*F)->Head.getInteger("n"), 2);
      EXPECT_THAT_ERROR(Waiter->write(line(0, {{"ok", true}}), {}),
                        Succeeded());
      Waiter.reset();
    });
    while (Poller->hasQueued())
      Poller->flush();
    EXPECT_EQ(Poller->queuedBytes(), 0u);
    Reader.join();
    EXPECT_THAT_EXPECTED(Poller->receive(), HasValue(true));
    Expected<std::optional<Frame>> F = Poller->Parser.next();
    ASSERT_THAT_EXPECTED(F, Succeeded());
    EXPECT_TRUE(*F);
    EXPECT_THAT_EXPECTED(Poller->receive(), HasValue(false));
  }
}

TEST(FrameTest, LastWordsAreHeard) {
  for (bool Pipes : {false, true}) {
    std::unique_ptr<Channel> Poller, Dying;
    connect(Pipes, Poller, Dying);
    Poller->queue(line(0, {{"n", 1}}), nullptr);
    Poller->flush();
    EXPECT_THAT_ERROR(Dying->write(line(0, {{"last", "words"}}), {}),
                      Succeeded());
    Dying.reset(); // without having read
    Poller->queue(line(0, {{"n", 2}}), nullptr);
    Poller->flush(); // no SIGPIPE
    EXPECT_FALSE(Poller->hasQueued());
    EXPECT_THAT_EXPECTED(Poller->receive(), HasValue(true));
    Expected<std::optional<Frame>> F = Poller->Parser.next();
    ASSERT_THAT_EXPECTED(F, Succeeded());
    ASSERT_TRUE(*F);
    EXPECT_EQ((*F)->Head.getString("last"), "words");
    EXPECT_THAT_EXPECTED(Poller->receive(), HasValue(false));
  }
}
