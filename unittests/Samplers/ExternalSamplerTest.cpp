//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Programs of the shell as samplers. (test/Tune has some in Python.)
///
//===----------------------------------------------------------------------===//

#include "../../lib/Samplers/ExternalSampler.h"
#include "../Study/StudyBuilder.h"
#include "Landscapes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

class ExternalSampler : public testing::Test {
protected:
  Landscape L = [] {
    StudyBuilder B;
    B.S.Name = "small";
    B.range("block.x", "32", "128", "32")
        .boolean("specialize")
        .range("unroll", "1", "8")
        .log()
        .range("ratio", "0.5", "2.0")
        .when("specialize")
        .choice("level", {"'O1'", "'O3'"})
        .pipeline("passes", "function({sroa|gvn},dse?)")
        .require("block.x * unroll <= 512", "too much");
    B.S.Objectives[0].Metric = "time";
    return Landscape{"small",
                     "",
                     cantFail(SearchSpace::create(B.S, makeFacts())),
                     {Direction::Minimize},
                     [](const StringMap<Value> &V) -> Outcome {
                       return {{1.5}, ""};
                     },
                     std::nullopt};
  }();
  SimulatedStudy Study{L, 7};
  SmallString<128> Folder;

  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("external-sampler", Folder));
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  std::string path(StringRef Name) { return (Folder + "/" + Name).str(); }
  std::string read(StringRef Name) {
    auto B = MemoryBuffer::getFile(path(Name));
    return B ? (*B)->getBuffer().str() : "";
  }

  std::unique_ptr<Sampler> start(const Twine &Command,
                                 std::chrono::milliseconds Limit = 60s) {
    return cantFail(createExternalSampler(Study.Context, Command.str(), Limit));
  }
  /// Reads the greeting; then answers each line with one of \p Answers.
  std::unique_ptr<Sampler> startWith(ArrayRef<StringRef> Answers) {
    std::string Script = "read greeting; ";
    for (StringRef A : Answers)
      Script += ("read -r line; printf '%s\\n' \"$line\" >> " +
                 path("log") + "; echo '" + A + "'; ")
                    .str();
    return start(Script + "cat >> " + path("log"));
  }
  std::string askForError(Sampler &S, unsigned N = 1) {
    auto Points = S.ask(N);
    return Points ? "none" : toString(Points.takeError());
  }
};

TEST_F(ExternalSampler, HearsWhatTheSpaceIs) {
  start("read -r line; printf '%s\\n' \"$line\" > " + path("greeting") +
        "; cat");
  // The destructor waited for the end of the program.
  auto V = json::parse(read("greeting"));
  ASSERT_THAT_EXPECTED(V, Succeeded());
  auto Expected = json::parse(R"json({
    "mneme_sampler": 1, "study": "small", "seed": 7,
    "objectives": [{"metric": "time", "direction": "minimize"}],
    "parameters": [
      {"name": "block.x", "kind": "int", "low": 32, "high": 128, "step": 32,
       "default": 32},
      {"name": "specialize", "kind": "bool", "values": [false, true],
       "default": false},
      {"name": "unroll", "kind": "int", "values": [1, 2, 4, 8], "default": 1},
      {"name": "ratio", "kind": "real", "low": 0.5, "high": 2, "log": false,
       "when": "specialize"},
      {"name": "level", "kind": "choice", "values": ["O1", "O3"],
       "default": "O1"},
      {"name": "passes", "kind": "pipeline",
       "space": "function({sroa|gvn},dse?)", "default": "function(sroa)",
       "decisions": []}]})json");
  ASSERT_THAT_EXPECTED(Expected, Succeeded());
  // Decisions have names that the space chose.
  json::Object &Pipeline =
      *(*V->getAsObject()->getArray("parameters"))[5].getAsObject();
  json::Array Decisions = std::move(*Pipeline.getArray("decisions"));
  Pipeline["decisions"] = json::Array();
  EXPECT_EQ(*V, *Expected);
  ASSERT_EQ(Decisions.size(), 2u);
  for (const json::Value &D : Decisions) {
    EXPECT_EQ(D.getAsObject()->getInteger("count"), 2);
    EXPECT_THAT(D.getAsObject()->getString("name")->str(),
                StartsWith("passes/"));
  }
}

TEST_F(ExternalSampler, TakesPoints) {
  std::string Decision;
  for (const Dimension &D : L.Space.dimensions())
    if (D.Decision)
      Decision = D.Name;
  std::string ByDecision = "{\"point\": {\"" + Decision + "\": 1}}";
  auto S = startWith(
      {R"json({"point": {"block.x": 64, "specialize": true, )json"
       R"json("ratio": 0.75, "level": "O3", "passes": "function(gvn)"}, )json"
       R"json("id": {"n": 3}})json",
       ByDecision, R"({"done": true})"});
  std::vector<Point> Points = cantFail(S->ask(5));
  ASSERT_EQ(Points.size(), 2u);
  StringMap<Value> V = L.Space.values(Points[0]);
  EXPECT_EQ(V["block.x"], Value(int64_t(64)));
  EXPECT_EQ(V["ratio"], Value(0.75));
  EXPECT_EQ(V["level"], Value("O3"));
  EXPECT_EQ(V["passes"], Value("function(gvn)"));
  EXPECT_EQ(L.Space.values(Points[1])["passes"], Value("function(sroa,dse)"));
  EXPECT_THAT_EXPECTED(S->ask(5), HasValue(testing::IsEmpty()));
}

TEST_F(ExternalSampler, IsToldWhatCameOut) {
  Study.start(); // Before the program knows anything.
  auto S = startWith({R"({"point": {"unroll": 2}, "id": 5})",
                      R"({"point": {"unroll": 4}})"});
  for (const Point &P : cantFail(S->ask(2)))
    Study.begin(P);
  Study.begin(Study.History.front().P, TrialKind::Canary);
  Study.finish(2);
  Study.History[2].State = TrialState::Failed;
  Study.History[2].Values.clear();
  Study.History[2].Failure = "Timeout";
  S->tell(Study.History[2]);
  Study.finish(1);
  Study.finish(3);
  S->tell(Study.History[1]);
  S.reset();

  SmallVector<StringRef> Lines;
  std::string Log = read("log");
  StringRef(Log).trim().split(Lines, '\n');
  ASSERT_EQ(Lines.size(), 5u) << Log;
  // The start is told before the first question.
  EXPECT_THAT(Lines[0].str(), HasSubstr("\"kind\":\"start\",\"number\":0"));
  EXPECT_EQ(Lines[1], "{\"ask\":true}");
  EXPECT_EQ(Lines[2], "{\"ask\":true}");
  EXPECT_THAT(Lines[3].str(),
              HasSubstr("\"failure\":\"Timeout\",\"kind\":\"search\","
                        "\"number\":2"));
  EXPECT_THAT(Lines[3].str(), HasSubstr("\"state\":\"failed\",\"values\":[]"));
  EXPECT_THAT(Lines[4].str(), HasSubstr("\"id\":5,"));
  EXPECT_THAT(Lines[4].str(),
              HasSubstr("\"state\":\"complete\",\"values\":[1.5]"));
  EXPECT_THAT(Lines[4].str(), HasSubstr("\"unroll\":2"));
}

TEST_F(ExternalSampler, SaysWhatIsWrongWithAPoint) {
  auto S = startWith({R"({"point": {"unrol": 2}})",
                      R"({"point": {"unroll": 3}})",
                      R"({"point": {"unroll": "2"}})",
                      R"({"point": {"block.x": 128, "unroll": 8}})",
                      R"({"points": 3})",
                      R"({"point": {"unroll": 2}})",
                      R"({"point": {"unroll": 2}})",
                      R"({"point": {"unroll": 4}})"});
  EXPECT_EQ(cantFail(S->ask(2)).size(), 2u);
  S.reset();
  std::string Log = read("log");
  EXPECT_THAT(Log, HasSubstr("there is no parameter 'unrol'"));
  EXPECT_THAT(Log, HasSubstr("parameter 'unroll' cannot be 3"));
  EXPECT_THAT(Log, HasSubstr("'unroll': expected int, not \\\"2\\\""));
  EXPECT_THAT(Log, HasSubstr("too much"));
  EXPECT_THAT(Log, HasSubstr("expected one of \\\"point\\\", \\\"wait\\\" and "
                             "\\\"done\\\""));
  EXPECT_THAT(Log, HasSubstr("this point was proposed before"));
}

TEST_F(ExternalSampler, GivesUpOnAProgramThatNeverLearns) {
  auto S = start("read greeting; while read line; do "
                 "echo '{\"point\": {\"unroll\": 3}}'; done");
  EXPECT_THAT(askForError(*S),
              HasSubstr("none of 100 answers can be tried; the last one: "
                        "parameter 'unroll' cannot be 3"));
}

TEST_F(ExternalSampler, WaitsWhenToldTo) {
  auto S = startWith({R"({"wait": true})", R"({"point": {"unroll": 2}})"});
  EXPECT_THAT_EXPECTED(S->ask(1), HasValue(testing::IsEmpty()));
  EXPECT_EQ(cantFail(S->ask(1)).size(), 1u);
}

TEST_F(ExternalSampler, RefusesWhatIsNoJSON) {
  auto S = startWith({"Hello!"});
  std::string Message = askForError(*S);
  EXPECT_THAT(Message, StartsWith("external sampler 'read greeting;"));
  EXPECT_THAT(Message, HasSubstr("expected a JSON object, got 'Hello!'"));
  // Nothing is asked of it again.
  EXPECT_EQ(askForError(*S), Message);
}

TEST_F(ExternalSampler, RefusesEndlessLines) {
  auto S = start("tr '\\n' x < /dev/zero");
  EXPECT_THAT(askForError(*S), HasSubstr("without an end of a line"));
}

TEST_F(ExternalSampler, TellsHowTheProgramEnded) {
  EXPECT_THAT(askForError(*start("read line; exit 3")),
              HasSubstr("it ended with exit status 3"));
  EXPECT_THAT(askForError(*start("read line; kill -9 $$")),
              HasSubstr("it was killed by signal 9, Killed"));
  EXPECT_THAT(askForError(*start("/nowhere/program")),
              HasSubstr("it ended with exit status 127"));
  EXPECT_THAT(askForError(*start("exec >&-; read line; exec sleep 100")),
              HasSubstr("it closed its output"));
}

TEST_F(ExternalSampler, EndsAProgramThatDoesNotAnswer) {
  auto S = start("echo $$ > " + path("pid") + "; sleep 100", 300ms);
  EXPECT_THAT(askForError(*S),
              HasSubstr("it did not answer within 0.3 s"));
  S.reset();
  int PID = 0;
  ASSERT_FALSE(StringRef(read("pid")).trim().getAsInteger(10, PID));
  EXPECT_EQ(kill(PID, 0), -1);
}

TEST_F(ExternalSampler, EndsAProgramThatDoesNotRead) {
  auto S = start("sleep 100", 300ms);
  // More than a socket holds.
  for (unsigned I = 0; I != 3000; ++I) {
    Study.begin(L.Space.defaultPoint());
    Study.finish(I);
  }
  EXPECT_THAT(askForError(*S), HasSubstr("it did not read within 0.3 s"));
}

TEST_F(ExternalSampler, LeavesNoProcessesBehind) {
  // The shell ends, a child of it stays.
  auto S = start("sleep 100 & echo $! > " + path("pid") +
                 "; read greeting; read line; exit 1");
  EXPECT_THAT(askForError(*S), HasSubstr("exit status 1"));
  S.reset();
  int PID = 0;
  ASSERT_FALSE(StringRef(read("pid")).trim().getAsInteger(10, PID));
  // Who adopted it may not have waited for it yet.
  for (unsigned I = 0; I != 100 && kill(PID, 0) == 0; ++I) {
    std::string State = ("/proc/" + Twine(PID) + "/stat").str();
    auto B = MemoryBuffer::getFileAsStream(State);
    if (!B || (*B)->getBuffer().contains(") Z "))
      return;
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(kill(PID, 0), -1);
}

TEST_F(ExternalSampler, NeedsACommand) {
  EXPECT_THAT_EXPECTED(
      createSampler("external", Study.Context),
      FailedWithMessage("external: no command: expected external=COMMAND"));
}

} // namespace
