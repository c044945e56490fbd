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

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::serve;
using testing::HasSubstr;

/// As the other side of a connection gets it.
template <typename M> static M sendAndReceive(const M &Message) {
  FrameParser P(M::Kind, FrameForm::Object);
  P.append(printFrameLine(M::Kind, makeHead(Message), 0, FrameForm::Object));
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

TEST(ServeMessagesTest, AllMessagesArriveAsTheyWereSent) {
  // With the values of a new object, which readers must accept, too.
#define FARM_MESSAGE(Name, Key, Line, Bytes, Description)                      \
  {                                                                            \
    message::Name M;                                                           \
    EXPECT_EQ(json::Value(makeHead(sendAndReceive(M))),                        \
              json::Value(makeHead(M)));                                       \
  }
#include "llvm/Mneme/Serve/Messages.def"
}

static Expected<ToServer> read(StringRef Line) {
  FrameParser P(MessageSet<ToServer>::Kinds, FrameForm::Object);
  P.append((Line + "\n").str());
  Expected<std::optional<Frame>> F = P.next();
  if (!F)
    return F.takeError();
  return MessageSet<ToServer>::decode(std::move(**F));
}

TEST(ServeMessagesTest, OptionalFieldsHaveDefaults) {
  Expected<ToServer> M = read(R"({"type":"submit","id":3})");
  ASSERT_THAT_EXPECTED(M, Succeeded());
  auto &S = std::get<message::Submit>(*M);
  EXPECT_EQ(S.Id, 3u);
  EXPECT_TRUE(S.Config.empty());
  EXPECT_TRUE(S.Measure);
  EXPECT_FALSE(S.Fresh);
  M = read(R"({"type":"compare","id":3,"configs":[{},{}]})");
  ASSERT_THAT_EXPECTED(M, Succeeded());
  EXPECT_EQ(std::get<message::Compare>(*M).Rounds, 30u);
  EXPECT_EQ(std::get<message::Compare>(*M).Configs.size(), 2u);
}

TEST(ServeMessagesTest, ErrorsNameTheField) {
  EXPECT_THAT_EXPECTED(
      read(R"({"type":"submit","id":3,"fresh":1})"),
      FailedWithMessage(HasSubstr("expected true or false at submit.fresh")));
  EXPECT_THAT_EXPECTED(
      read(R"({"type":"submit","id":3,"confg":{}})"),
      FailedWithMessage(HasSubstr("unknown field at submit.confg")));
  EXPECT_THAT_EXPECTED(
      read(R"({"type":"compare","id":3})"),
      FailedWithMessage(HasSubstr("missing value at compare.configs")));
  EXPECT_THAT_EXPECTED(
      read(R"({"type":"tell","id":3,"space":1,"values":[1e999]})"),
      FailedWithMessage(HasSubstr("expected a finite number")));
}

static constexpr StringLiteral PageHead =
    R"(==================
The serve protocol
==================

.. contents::
   :local:
   :depth: 1

Messages between a client, such as the Python package (:doc:`Python`), and ``llvm-mneme-replay serve``. Any language with
JSON and Unix sockets can speak it. A message is a line with a JSON object, in UTF-8, nested at most 64 levels:

.. code-block:: text

  {"type": "submit", "id": 5, "config": {"passes": "default<O3>", "block.x": 128}}
  {"type": "result", "id": 5, "failure": "", "metrics": {"time": 11520}, "samples": [11520, 11498, 11601], ...}

``type`` is the name of the message; the other members are the fields below. If bytes follow the line, ``bytes`` is
their number. An object has no other members.

* The client starts the server with standard input and output for the messages, best as two ends of one Unix socket
  (``socketpair``), or connects to the socket of ``--listen=unix:PATH``. Only the user who started the server can connect.
* ``id`` is a number that the client chooses, different from those of its requests under way. Each request has exactly
  one answer with its ``id``, and answers come in any order. ``failed`` answers a request that cannot be carried out. A
  configuration that miscompiles, crashes or does not compile is a ``result``, not a failed request.
* ``hello`` is the first request. A server of another version of the protocol, now 1, answers ``failed`` and closes the
  connection. It also does so after a line that is not a message. An unknown field or type fails only its own request.
* At most 65536 requests of a client are under way. A client that does not read its answers is not read either.
* Evaluations are compiled and run concurrently; equal code is measured once (:doc:`DeveloperGuide`). A comparison, and
  memory ``result``, have the device alone: evaluations that are requested meanwhile wait.
* When the client closes its end, its evaluations are cancelled. The server ends, with all child processes, when its
  client has gone, or its last client with ``--listen``. ``quit`` instead waits for all answers.
* Memory arrives as a read-only descriptor (``memfd``, ``SCM_RIGHTS``) if the connection is a Unix socket, otherwise as
  bytes after the line.

The server is not a boundary between users: a client may name programs and plugins in configurations, as on a command
line.

This page is generated from ``include/llvm/Mneme/Serve/Messages.def``. To update it:
``MNEME_UPDATE_DOCS=1 build/unittests/Serve/MnemeServeTests --gtest_filter='*Documentation*'``.
)";

TEST(ServeMessagesTest, DocumentationIsOfThisProtocol) {
  std::string Text = PageHead.str();
  raw_string_ostream OS(Text);
  serve::printMessages(OS);
  EXPECT_THAT(Text, HasSubstr("now " + std::to_string(ServeProtocolVersion)));
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
