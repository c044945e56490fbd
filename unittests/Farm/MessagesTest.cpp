//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

/// As the other side of a connection gets it.
template <typename M> static M sendAndReceive(const M &Message) {
  FrameParser P(M::Kind);
  P.append(printFrameLine(M::Kind, makeHead(Message), 0));
  Expected<std::optional<Frame>> F = P.next();
  M Result;
  if (!F || !*F) {
    ADD_FAILURE() << "no frame";
    consumeError(F.takeError());
    return Result;
  }
  json::Path::Root Root;
  EXPECT_TRUE(readHead(json::Value(std::move((*F)->Head)), Result, Root))
      << toString(Root.getError());
  return Result;
}

// What cannot be empty.
template <typename M> static void fill(M &) {}
static void fill(message::Ask &M) { M.Level = Duplicate::IR; }
static void fill(message::Start &M) { M.Study.Database = "k.json"; }

TEST(MessagesTest, AllMessagesArriveAsTheyWereSent) {
  // With the values of a new object, which readers must accept, too.
#define FARM_MESSAGE(Name, Key, Line, Bytes, Description)                      \
  {                                                                            \
    message::Name M;                                                           \
    fill(M);                                                                   \
    EXPECT_EQ(json::Value(makeHead(sendAndReceive(M))),                        \
              json::Value(makeHead(M)));                                       \
  }
#include "llvm/Mneme/Farm/Messages.def"
}

TEST(MessagesTest, KeysOutliveWhatTheyWereWrittenFrom) {
  message::Evaluate M;
  M.Request.StopAboveOn["cuda:0"] = 1.5;
  json::Object Head = makeHead(M);
  json::Object *Limits = Head.getObject("request")->getObject("stop_above_on");
  ASSERT_TRUE(Limits && Limits->size() == 1);
  StringRef Key = Limits->begin()->first;
  EXPECT_EQ(Key, "cuda:0");
  EXPECT_NE(Key.data(), M.Request.StopAboveOn.begin()->first().data());
}

TEST(MessagesTest, ResultsArriveAsTheyWereSent) {
  Evaluation E;
  E.Failure = "Mismatch";
  E.Error = "two\nlines";
  E.Level = CompareLevel::Envelope;
  E.Stopped = true;
  E.Metrics["time"] = 12.5;
  E.Metrics["reg_usage"] = 0;
  E.Samples = {12.5, 13};
  E.IRHash = "i";
  E.CodeHash = "c#1";
  E.DuplicateKind = Duplicate::Assembly;
  E.DuplicateOf = uint64_t(1) << 40;
  E.RunSeconds = 0.5;
  E.Device = "h\303\266st/GPU";
  Evaluation Back = sendAndReceive(message::Evaluated{3, E}).Result;
  EXPECT_EQ(Back.Failure, E.Failure);
  EXPECT_EQ(Back.Error, E.Error);
  EXPECT_EQ(Back.Level, E.Level);
  EXPECT_EQ(Back.Stopped, E.Stopped);
  EXPECT_EQ(Back.Metrics, E.Metrics);
  EXPECT_EQ(Back.Samples, E.Samples);
  EXPECT_EQ(Back.IRHash, E.IRHash);
  EXPECT_EQ(Back.CodeHash, E.CodeHash);
  EXPECT_EQ(Back.DuplicateKind, E.DuplicateKind);
  EXPECT_EQ(Back.DuplicateOf, E.DuplicateOf);
  EXPECT_EQ(Back.RunSeconds, E.RunSeconds);
  EXPECT_EQ(Back.Device, E.Device);
}

TEST(MessagesTest, TextsAreMadeToFit) {
  Evaluation E;
  E.Error = "\xff\x1b[31m" + std::string(100000, 'x');
  E.Device = "two\nlines";
  E.Metrics["time"] = std::numeric_limits<double>::infinity();
  Evaluation Back = sendAndReceive(message::Evaluated{3, E}).Result;
  EXPECT_THAT(Back.Error, testing::StartsWith("\xef\xbf\xbd [31mxxx"));
  EXPECT_EQ(Back.Error.size(), 65536u);
  EXPECT_EQ(Back.Device, "two lines");
  EXPECT_TRUE(Back.Metrics.empty());
  // Not in the middle of a character.
  E.Error = std::string(65535, 'x') + "\303\266";
  EXPECT_EQ(sendAndReceive(message::Evaluated{3, E}).Result.Error,
            std::string(65535, 'x'));
}

TEST(MessagesTest, RequestsThatCannotBeSentAreRefused) {
  EvaluationRequest R;
  EXPECT_THAT_EXPECTED(checkRequest(R), Succeeded());
  R.LaunchTimeout = -1;
  EXPECT_THAT_EXPECTED(checkRequest(R), Failed());
  R.LaunchTimeout = std::nan("");
  EXPECT_THAT_EXPECTED(checkRequest(R), Failed());
  R.LaunchTimeout = 1;
  R.Config["passes"] = std::string(20 << 20, 'x');
  EXPECT_THAT_EXPECTED(
      checkRequest(R),
      FailedWithMessage("a configuration of more than 16777216 bytes"));
}

static const char *PageHead = R"(=================
The farm protocol
=================

.. contents::
   :local:
   :depth: 1

Messages between the coordinator of a farm, its compile and run processes, and workers on other machines
(:doc:`DeveloperGuide`). A message is a line, followed by bytes for some kinds:

.. code-block:: text

  KIND BYTES JSON

``KIND`` is the name of the message, ``BYTES`` the number of bytes that follow the line, ``JSON`` an object with
exactly the fields below, nested at most 64 levels. The receiver checks all of this before it processes a message; a
process or worker that violates it is killed or dropped. A worker's stream starts with the line
``mneme-farm-worker 5f3b9c0e7ad84216``; up to 64 KiB before it are skipped.

This page is generated from ``include/llvm/Mneme/Farm/Messages.def``. To update it:
``MNEME_UPDATE_DOCS=1 build/unittests/Farm/MnemeFarmTests --gtest_filter='*Documentation*'``.
)";

TEST(MessagesTest, DocumentationIsOfThisProtocol) {
  std::string Text = PageHead;
  raw_string_ostream OS(Text);
  printMessages(OS);
  EXPECT_THAT(Text, HasSubstr(WorkerGreeting.str()));
  if (::getenv("MNEME_UPDATE_DOCS")) {
    std::error_code EC;
    raw_fd_ostream(MNEME_PROTOCOL_PAGE, EC) << Text;
    ASSERT_FALSE(EC);
  }
  ErrorOr<std::unique_ptr<MemoryBuffer>> Page =
      MemoryBuffer::getFile(MNEME_PROTOCOL_PAGE);
  if (!Page)
    GTEST_SKIP() << "no sources here";
  EXPECT_EQ((*Page)->getBuffer(), Text) << "see the end of the page's head";
}
