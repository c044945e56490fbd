//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes that say what they should not: a candidate has overwritten their
// memory. That costs this candidate its verdict, and no other.
//
//===----------------------------------------------------------------------===//

#include "PlayedFarm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
struct Hostile {
  std::string Says, Complaint;
};

/// "done" with one of its parts replaced.
std::string done(StringRef Part, StringRef By, uint64_t Ticket = 2) {
  std::string Line =
      "done 0 "
      "{\"outcome\":{\"compared\":\"exact\",\"error\":\"\",\"failure\":\"\","
      "\"metrics\":"
      "{\"time\":5},\"run_seconds\":1,\"samples\":[5],\"stopped\":false},"
      "\"spent\":false,\"ticket\":" +
      std::to_string(Ticket) + "}\n";
  size_t At = Line.find(Part);
  EXPECT_NE(At, std::string::npos) << Part.str();
  return Line.replace(At, Part.size(), By.str());
}
} // namespace

/// A candidate between two honest ones, in one run process.
static void expectCrash(const Hostile &H) {
  PlayedFarm F;
  F.open();
  for (uint64_t Id : {1, 2, 3})
    F.submit(Id, "c" + std::to_string(Id));
  F.compile();
  F.finishRun(*F.beginRun(), 100);
  ASSERT_EQ(F.beginRun(), 2u);
  F.Runners.last().sayText(H.Says);
  F.turn();
  ASSERT_EQ(F.Runners.size(), 2u) << H.Says;
  F.open();
  ASSERT_EQ(F.beginRun(), 3u) << H.Says;
  F.finishRun(3, 300);
  ASSERT_EQ(F.Done.size(), 3u) << H.Says;
  EXPECT_EQ(F.Done[2].Failure, "Crash") << H.Says;
  EXPECT_THAT(F.Done[2].Error, HasSubstr("broke the farm's protocol: "));
  EXPECT_THAT(F.Done[2].Error, HasSubstr(H.Complaint));
  EXPECT_TRUE(F.Done[2].Samples.empty());
  EXPECT_TRUE(F.Done[2].Metrics.empty());
  for (uint64_t Id : {1, 3}) {
    EXPECT_EQ(F.Done[Id].Failure, "") << H.Says;
    EXPECT_EQ(F.Done[Id].CodeHash, "c" + std::to_string(Id));
    EXPECT_THAT(F.Done[Id].Samples, ElementsAre(100.0 * Id));
  }
}

TEST(HostileRunProcess, MalformedMessages) {
  std::string Nested(1000, '[');
  for (const Hostile &H : std::initializer_list<Hostile>{
           {"garbage\n", "expected a message, got 'garbage'"},
           {std::string(40, 'x'), "expected a message, got 'xxx"},
           {"done\n", "expected a number of bytes"},
           {"done -1 {}\n", "expected a number of bytes"},
           {"done 99999999999999999999 {}\n", "expected a number of bytes"},
           {"done 1 {}\n", "'done': more than 0 bytes follow it"},
           {"done 0 [1]\n", "'done': expected an object"},
           {"done 0 {\n", "'done': "},
           {"done 0 {\"a\":\"\xff\"}\n", "UTF-8"},
           {"done 0 {\"a\":" + Nested + "}\n", "nested too deeply"},
           {"begin 0 " + std::string(5000, ' '), "longer than 4096 bytes"},
           {"fatal 0 {\"error\":1}\n", "expected a string"},
           {done("\"spent\":false", "\"spent\":0"), "expected true or false"},
           {done("\"spent\":false,", ""), "missing value"},
           {done("\"spent\"", "\"extra\":1,\"spent\""), "unknown field"},
           {done("\"ticket\":2", "\"ticket\":-2"), "integer in range"},
           {done("\"ticket\":2", "\"ticket\":2.5"), "integer in range"},
           {done("\"ticket\":2", "\"ticket\":1e300"), "integer in range"},
           {done("[5]", "5"), "expected an array"},
           {done("[5]", "[\"5\"]"), "number in range"},
           {done("[5]", "[1e999]"), "number in range"},
           {done("[5]", "[-5]"), "number in range"},
           {done("[5]", "[0]"), "number in range"},
           {done("[5]", "[1e-320]"), "number in range"},
           {done("[5]", "[1e30]"), "number in range"},
           {done("[5]", "[NaN]"), "'done': "},
           {done("\"time\":5", "\"time\":-1e999"), "number in range"},
           {done("\"time\":5", "\"time\":0"), "another name or number"},
           {done("\"time\":5", "\"beauty\":5"), "another name or number"},
           {done("\"run_seconds\":1", "\"run_seconds\":1e999"),
            "number in range"},
           {done("\"failure\":\"\"", "\"failure\":\"Match\""),
            "the name of a failure"},
           {done("\"failure\":\"\"", "\"failure\":\"Cancelled\""),
            "the name of a failure"},
           {done("\"error\":\"\"", "\"error\":\"\\u001b[31m\""),
            "control characters"}})
    expectCrash(H);
}

TEST(HostileRunProcess, MessagesOutOfTurn) {
  DeviceInfo Other;
  Other.UUID = "another";
  for (const Hostile &H : std::initializer_list<Hostile>{
           {printFrameLine(message::Opened::Kind,
                           makeHead(message::Opened{Other, "lock"}), 0),
            "unexpected message 'opened'"},
           {"open-failed 0 {\"error\":\"x\"}\n", "'open-failed'"},
           {"begin 0 {\"ticket\":2}\n", "unexpected message 'begin'"},
           {"begin 0 {\"ticket\":3}\n", "unexpected message 'begin'"},
           {done("", "", 1), "unexpected message 'done'"},
           {done("", "", 3), "unexpected message 'done'"},
           {done("", "", 99), "unexpected message 'done'"},
           {done("[5]", "[]"), "a result has no samples"},
           {done("\"failure\":\"\"", "\"failure\":\"WorkerLost\""),
            "cannot fail as WorkerLost"},
           {"compared 0 "
            "{\"paired\":{\"device\":\"\",\"error\":\"\",\"failure\":"
            "\"\",\"samples\":[],\"worker\":\"\"},\"spent\":false,\"ticket\":2}"
            "\n",
            "unexpected message 'compared'"}})
    expectCrash(H);
}

TEST(HostileRunProcess, IsKilledBeforeItSpeaksOfOthers) {
  // The second message would be the result of the next job.
  expectCrash({done("[5]", "[]") + "begin 0 {\"ticket\":3}\n" + done("", "", 3),
               "a result has no samples"});
}

TEST(HostileCompileProcess, CostsOneVerdict) {
  std::string Code = "{\"code\":{\"assembly\":\"\",\"code\":\"c2\","
                     "\"compile_seconds\":1,\"error\":\"\",\"failure\":\"\","
                     "\"ir\":\"\",\"stopped\":false}}\n";
  auto Replace = [&](StringRef Part, StringRef By) {
    std::string Text = "compiled 0 " + Code;
    return Text.replace(Text.find(Part), Part.size(), By.str());
  };
  for (const Hostile &H : std::initializer_list<Hostile>{
           {"compiled 0 " + Code, "the code is empty"},
           {"compiled 9999999999 " + Code, "bytes follow it"},
           {Replace("\"stopped\":false", "\"stopped\":true"),
            "unexpected message 'compiled'"},
           {Replace("\"failure\":\"\"", "\"failure\":\"WorkerLost\""),
            "cannot fail as WorkerLost"},
           {Replace("\"code\":\"c2\"", "\"code\":\"c2\\n0\""),
            "expected a hash"},
           {"ask 0 {\"hash\":\"\",\"level\":\"ir\"}\n",
            "unexpected message 'ask'"},
           {"ask 0 {\"hash\":\"x\",\"level\":\"code\"}\n", "ir or assembly"},
           {"ask 0 {\"hash\":\"x\",\"level\":\"ir\"}\n"
            "ask 0 {\"hash\":\"y\",\"level\":\"ir\"}\n",
            "unexpected message 'ask'"},
           {"begin 0 {\"ticket\":1}\n", "expected a message"}}) {
    PlayedFarm F;
    F.open();
    F.submit(1, "c1");
    F.compile();
    F.submit(2, "c2");
    F.turn();
    ASSERT_TRUE(F.Compilers.last().hear<message::Compile>());
    F.Compilers.last().sayText(H.Says);
    F.turn();
    F.submit(3, "c3");
    F.compile();
    F.finishRun(*F.beginRun(), 100);
    F.finishRun(*F.beginRun(), 300);
    ASSERT_EQ(F.Done.size(), 3u) << H.Says;
    EXPECT_EQ(F.Done[2].Failure, "CompileError") << H.Says;
    EXPECT_THAT(F.Done[2].Error, HasSubstr(H.Complaint));
    EXPECT_EQ(F.Done[1].Failure, "");
    EXPECT_EQ(F.Done[3].Failure, "");
  }
}

TEST(HostileCompileProcess, SpeaksOnlyWhenAsked) {
  PlayedFarm F;
  F.open();
  F.submit(1, "c1");
  F.compile();
  // It has nothing to do.
  F.Compilers.last().say(message::Compiled{PlayedFarm::code("x")}, "code");
  F.turn();
  F.submit(2, "c2");
  F.turn();
  EXPECT_EQ(F.Compilers.size(), 2u);
  F.compile();
  F.finishRun(*F.beginRun(), 100);
  F.finishRun(*F.beginRun(), 200);
  EXPECT_EQ(F.Done[1].Failure, "");
  EXPECT_EQ(F.Done[2].CodeHash, "c2");
}

namespace {
/// A coordinator without devices, whose one worker the test plays.
struct PlayedStudy {
  PlayedStudy() : F(/*WithDevice=*/false) {
    RemoteWorkersOptions O;
    O.Workers = {{"w", {}}};
    O.RestartSeconds = 0;
    O.Message = [this](StringRef Text) { Said.push_back(Text.str()); };
    RemoteStudy Study;
    Study.Database = "file";
    Study.Files = {{"file", 10, std::string(32, '0')}};
    MappedFiles Files;
    Files.push_back(MemoryBuffer::getMemBuffer("0123456789"));
    Pool.emplace(std::move(O), std::move(Study), std::move(Files));
    Pool->setStarter([this](const WorkerCommand &) {
      return Workers.start(MessageSet<FromWorker>::Kinds);
    });
    F.Farm->setOutside(&*Pool);
    F.turn();
  }
  ~PlayedStudy() { F.Farm.reset(); }

  Player<ToWorker> &worker() { return Workers.last(); }
  template <typename T> void say(const T &Message) {
    worker().say(Message);
    F.turn();
  }
  void sayText(StringRef Text) {
    worker().sayText(Text);
    F.turn();
  }
  void greet() {
    worker().sayText("\n" + WorkerGreeting.str() + "\n");
    say(message::Hello{getProtocolVersion(), "host:1"});
    ASSERT_TRUE(worker().hear<message::Start>());
  }
  static message::State state() {
    message::State S;
    S.Farm.Host = "host";
    S.Farm.Devices = {{"host", "host/host", {}, "", false}};
    S.Capacity = 4;
    return S;
  }
  /// Until it can evaluate.
  void prepare() {
    greet();
    say(state());
    ASSERT_TRUE(worker().hear<message::Heard>());
  }
  static Evaluation result() {
    Evaluation E;
    E.Samples = {5};
    E.Metrics["time"] = 5;
    E.Device = "host/host";
    return E;
  }
  /// Does the next job well.
  void evaluate() {
    std::optional<message::Evaluate> M = worker().hear<message::Evaluate>();
    ASSERT_TRUE(M);
    EXPECT_EQ(M->Request.Id, M->Ticket);
    say(message::Evaluated{M->Ticket, result()});
  }

  PlayedFarm F;
  Players<ToWorker> Workers;
  std::optional<RemoteWorkers> Pool;
  std::vector<std::string> Said;
};
} // namespace

TEST(HostileWorker, IsOneThatDoesNotFollowThis) {
  PlayedStudy S;
  S.sayText("Welcome to node7!\nLast login: never");
  S.greet();
  S.say(message::Get{0, 8, 2});
  std::optional<message::Data> D = S.worker().hear<message::Data>();
  ASSERT_TRUE(D);
  EXPECT_EQ(D->Bytes, "89");
  S.say(PlayedStudy::state());
  ASSERT_TRUE(S.worker().hear<message::Heard>());
  S.F.submit(7, "c");
  S.evaluate();
  ASSERT_EQ(S.F.Done.size(), 1u);
  EXPECT_EQ(S.F.Done[7].Failure, "");
  EXPECT_THAT(S.F.Done[7].Samples, ElementsAre(5.0));
  EXPECT_EQ(S.F.Done[7].Device, "host/host");
  EXPECT_TRUE(S.Said.empty());
}

TEST(HostileWorker, OfAnotherBuildIsGivenUp) {
  PlayedStudy S;
  S.worker().sayText(WorkerGreeting.str() + "\n");
  S.say(message::Hello{"Mneme 0, LLVM 1", "host:1"});
  EXPECT_TRUE(S.worker().hear<message::Refused>());
  ASSERT_EQ(S.Said.size(), 1u);
  EXPECT_THAT(S.Said[0], HasSubstr("dropped the worker w: the worker is Mneme "
                                   "0, LLVM 1, the study is Mneme "));
  S.F.submit(1, "c");
  S.F.turn();
  EXPECT_THAT(S.F.Lost, HasSubstr("no worker is left: w: the worker is Mneme"));
}

TEST(HostileWorker, ThatNeverWasReadyIsStartedThreeTimes) {
  PlayedStudy S;
  for (const Hostile &H : std::initializer_list<Hostile>{
           {std::string(70000, 'x'), "expected the worker's greeting"},
           {WorkerGreeting.str() + "\r\n", "passes through a terminal"},
           {WorkerGreeting.str() + "\nnonsense\n", "expected a message"}}) {
    S.Said.clear();
    S.sayText(H.Says);
    ASSERT_EQ(S.Said.size(), 1u) << H.Complaint;
    EXPECT_THAT(S.Said[0], HasSubstr(H.Complaint));
    S.F.turn();
  }
  EXPECT_THAT(S.Said[0], HasSubstr("dropped the worker w: "));
  EXPECT_EQ(S.Workers.size(), 3u);
}

TEST(HostileWorker, CannotBreakTheStudy) {
  auto Line = [](const auto &M) {
    return printFrameLine(std::decay_t<decltype(M)>::Kind, makeHead(M), 0);
  };
  auto Result = [&](function_ref<void(Evaluation &)> Change) {
    Evaluation E = PlayedStudy::result();
    Change(E);
    return Line(message::Evaluated{1, E});
  };
  message::State Huge = PlayedStudy::state();
  Huge.Capacity = 100000;
  for (const Hostile &H : std::initializer_list<Hostile>{
           {"garbage\n", "expected a message, got 'garbage'"},
           {"done 0 {}\n", "expected a message, got 'done 0 {}'"},
           {Line(Huge), "integer in range"},
           {Line(message::Hello{"v", "n"}), "unexpected message 'hello'"},
           {Line(message::Get{0, 0, 1}), "unexpected message 'get'"},
           {Line(message::Cancelled{{99}}), "ticket 99 is not in progress"},
           {Line(message::Declined{99, "x"}), "ticket 99 is not in progress"},
           {Line(message::Evaluated{99, PlayedStudy::result()}),
            "ticket 99 is not in progress"},
           {Line(message::ComparedThere{9, {}}),
            "unexpected message 'compared-there'"},
           {Result([](Evaluation &E) { E.Samples.clear(); }),
            "a result has no samples"},
           {Result([](Evaluation &E) { E.Samples = {-1}; }), "number in range"},
           {Result([](Evaluation &E) { E.Device = ""; }),
            "a result without a device"},
           {Result([](Evaluation &E) { E.Device = "else/gpu"; }),
            "a result of 'else/gpu', which it does not have"},
           {Result([](Evaluation &E) { E.DuplicateOf = 1; }),
            "a duplicate without its kind"},
           {Result([](Evaluation &E) {
              E.DuplicateOf = 1;
              E.DuplicateKind = Duplicate::IR;
            }),
            "a duplicate of no request"},
           {Result([](Evaluation &E) {
              E.DuplicateOf = ~0u;
              E.DuplicateKind = Duplicate::IR;
            }),
            "a duplicate of no request"}}) {
    SCOPED_TRACE(H.Says);
    PlayedStudy S;
    S.prepare();
    S.F.submit(7, "c");
    ASSERT_TRUE(S.worker().hear<message::Evaluate>());
    S.sayText(H.Says);
    ASSERT_EQ(S.Said.size(), 1u);
    EXPECT_THAT(S.Said[0], HasSubstr("lost the worker w (host:1): "));
    EXPECT_THAT(S.Said[0], HasSubstr(H.Complaint));
    EXPECT_THAT(S.Said[0], HasSubstr("; restarting it in 0 s"));
    EXPECT_TRUE(S.F.Done.empty());
    // What it had is done by the next one.
    S.F.turn();
    ASSERT_EQ(S.Workers.size(), 2u);
    S.prepare();
    S.evaluate();
    ASSERT_EQ(S.F.Done.size(), 1u);
    EXPECT_EQ(S.F.Done[7].Failure, "");
  }
}

TEST(HostileWorker, CannotBreakAComparison) {
  for (const std::vector<std::vector<double>> &Samples :
       std::initializer_list<std::vector<std::vector<double>>>{
           {},
           {{1, 2, 3}},
           {{1, 2, 3}, {1, 2}},
           {{1, 2}, {1, 2}},
           {{}, {}},
           {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}}) {
    PlayedStudy S;
    S.prepare();
    // It answers before it is asked, which saves the test from waiting.
    PairedEvaluation Answer;
    Answer.Device = "host/host";
    Answer.Samples = Samples;
    S.worker().say(message::ComparedThere{1, Answer});
    Expected<PairedEvaluation> P = S.F.Farm->comparePaired(
        {PlayedFarm::request(1, "a"), PlayedFarm::request(2, "b")}, 3,
        [&] { return !S.Said.empty(); });
    if (!P) {
      ADD_FAILURE() << toString(P.takeError());
      continue;
    }
    EXPECT_EQ(P->Failure, PairedEvaluation::Interrupted);
    ASSERT_EQ(S.Said.size(), 1u);
    EXPECT_THAT(S.Said[0], HasSubstr("lost the worker w (host:1): a comparison "
                                     "of "));
  }
}

TEST(Worker, WhatItDeclinesIsNoVerdict) {
  PlayedStudy S;
  S.prepare();
  S.F.submit(7, "c");
  std::optional<message::Evaluate> M = S.worker().hear<message::Evaluate>();
  ASSERT_TRUE(M);
  S.say(message::Declined{M->Ticket, "'opt_tool' runs programs"});
  ASSERT_EQ(S.F.Done.size(), 1u);
  EXPECT_EQ(S.F.Done[7].Failure, "WorkerLost");
  EXPECT_EQ(S.F.Done[7].Error,
            "the worker w (host:1) declined: 'opt_tool' runs programs");
}
