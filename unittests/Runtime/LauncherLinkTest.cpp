//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LauncherLink.h"
#include "FailingNew.h"
#include "Kernel.h"
#include "gtest/gtest.h"
#include <new>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace mneme;

RuntimeFacts mneme::runtimeFacts() { return {"host", nullptr, 0}; }

namespace {

constexpr char Gone[] = "the launcher is gone";
constexpr char None[] = "the launcher sent a malformed answer";

std::string message(uint32_t Type, const std::string &Body,
                    uint64_t Size = UINT64_MAX) {
  MnemeWireHeader H = {MNEME_WIRE_MAGIC, Type,
                       Size == UINT64_MAX ? Body.size() : Size};
  return std::string(reinterpret_cast<char *>(&H), sizeof(H)) + Body;
}

std::string body(const std::string &Error, const std::string &Rest = "") {
  WireWriter W;
  W.str(Error);
  return W.body() + Rest;
}

/// A launcher that has said everything in advance, and then hangs up.
class LauncherTest : public testing::Test {
protected:
  void answer(const std::string &Bytes) {
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, Ends));
    Sender = std::thread([this, Bytes] {
      for (size_t Done = 0; Done != Bytes.size();) {
        ssize_t N = send(Ends[1], Bytes.data() + Done, Bytes.size() - Done,
                         MSG_NOSIGNAL);
        if (N <= 0)
          break;
        Done += N;
      }
      shutdown(Ends[1], SHUT_WR);
    });
    L = std::make_unique<LauncherLink>(Ends[0]);
  }
  void TearDown() override {
    L.reset();
    if (Sender.joinable())
      Sender.join();
    close(Ends[1]);
  }
  std::string request(uint64_t Max = MaxShortAnswer) {
    return L->request(MNEME_WIRE_RECORDED, WireWriter(), Answer, Max);
  }

  int Ends[2];
  std::thread Sender;
  std::unique_ptr<LauncherLink> L;
  std::string Answer;
};

TEST_F(LauncherTest, TakesAnswers) {
  answer(message(MNEME_WIRE_RECORDED, body("", "rest")) +
         message(MNEME_WIRE_RECORDED, body("no")));
  EXPECT_EQ("", request());
  EXPECT_EQ(body("", "rest"), Answer);
  EXPECT_EQ("no", request());
  EXPECT_TRUE(L->connected());
  EXPECT_EQ(Gone, request());
  EXPECT_FALSE(L->connected());
  EXPECT_EQ(Gone, request());
}

TEST_F(LauncherTest, RefusesOtherTypes) {
  answer(message(MNEME_WIRE_HELLO, body("")));
  EXPECT_EQ(None, request());
  EXPECT_FALSE(L->connected());
}

TEST_F(LauncherTest, RefusesLongAnswers) {
  answer(message(MNEME_WIRE_RECORDED, body("", std::string(100, 'x'))));
  EXPECT_EQ(None, request(/*Max=*/50));
}

TEST_F(LauncherTest, AllocatesNoMoreThanArrives) {
  // As much as the address space has.
  answer(message(MNEME_WIRE_RECORDED, body(""), uint64_t(1) << 46));
  EXPECT_EQ(Gone, request(/*Max=*/uint64_t(1) << 47));
}

TEST_F(LauncherTest, RefusesErrorsWithSomethingBehind) {
  answer(message(MNEME_WIRE_RECORDED, body("no", "rest")));
  EXPECT_EQ(None, request());
}

TEST_F(LauncherTest, RefusesStringsOverTheEnd) {
  WireWriter W;
  W.u64(9);
  W.u32(0);
  answer(message(MNEME_WIRE_RECORDED, W.body()));
  EXPECT_EQ(None, request());
}

/// What there is no memory for is received all the same.
TEST_F(LauncherTest, FindsTheNextAnswerWithoutMemory) {
  const std::string Long = body("", std::string(3 << 20, 'x'));
  forEachFailure([&](uint64_t Index, bool AllFollowing) {
    answer(message(MNEME_WIRE_RECORDED, Long) +
           message(MNEME_WIRE_RECORDED, body("", "next")));
    bool HasFailed, IsThrown = false;
    {
      // The sender's thread may come to its end at any time.
      FailingNew Failing(Index, AllFollowing);
      try {
        EXPECT_EQ("", request(uint64_t(1) << 30));
      } catch (const std::bad_alloc &) {
        IsThrown = true;
      }
      HasFailed = Failing.hasFailed();
    }
    EXPECT_TRUE(IsThrown || Answer == Long);
    EXPECT_TRUE(L->connected());
    EXPECT_EQ("", request(uint64_t(1) << 30));
    // Nothing was sent where not even the request had memory.
    EXPECT_TRUE(Answer == body("", "next") || (IsThrown && Answer == Long));
    TearDown();
    return HasFailed;
  });
  answer("");
}

TEST_F(LauncherTest, NotifiesWithoutMemory) {
  answer(message(MNEME_WIRE_WITHDRAW, body("")) +
         message(MNEME_WIRE_RECORDED, body("", "next")));
  {
    FailingNew Failing(0, /*AllFollowing=*/true);
    FixedWriter<64> W;
    W.bytes("0123456789abcdef", 16);
    W.u64(1);
    L->notify(MNEME_WIRE_WITHDRAW, W.data(), W.size());
    EXPECT_FALSE(Failing.hasFailed());
  }
  EXPECT_EQ("", request());
  EXPECT_EQ(body("", "next"), Answer);
}

/// The runtime would read so many bytes from the application's arguments.
TEST(AnswersTest, ArgumentsHaveALimit) {
  for (uint32_t Size : {8u, 1u << 30}) {
    WireWriter W;
    W.bytes("0123456789abcdef", 16);
    W.u32(1);
    W.u32(Size);
    W.u32(0);
    W.u32(0);
    W.u32(0);
    W.str("");
    W.u32(0);
    W.u32(0);
    WireReader R(W.body().data(), W.body().size());
    KernelFacts Facts;
    EXPECT_EQ(Size == 8, readKernelFacts(R, Facts));
  }
}

} // namespace
