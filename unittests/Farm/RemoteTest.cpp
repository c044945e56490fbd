//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinators and workers that speak over the loopback device.
//
//===----------------------------------------------------------------------===//

#include "Authentication.h"
#include "NodePool.h"
#include "Process.h"
#include "ReplayFarmTest.h"
#include "Socket.h"
#include "Staging.h"
#include "gmock/gmock.h"
#include <csignal>
#include <poll.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(AuthenticationTest, HMAC) {
  // RFC 4231, cases 1, 2 and 6.
  EXPECT_EQ(
      computeHMAC(std::string(20, '\x0b'), "Hi There"),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(
      computeHMAC("Jefe", "what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      computeHMAC(std::string(131, '\xaa'),
                  "Test Using Larger Than Block-Size Key - Hash Key First"),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(AuthenticationTest, ProofsAreOfOneSideAndOneConnection) {
  std::string N = makeNonce();
  EXPECT_EQ(N.size(), 64u);
  EXPECT_NE(N, makeNonce());
  std::string P = makeProof("t", FarmRole::Worker, "c", N);
  EXPECT_TRUE(isSameProof(P, makeProof("t", FarmRole::Worker, "c", N)));
  EXPECT_FALSE(isSameProof(P, makeProof("u", FarmRole::Worker, "c", N)));
  EXPECT_FALSE(isSameProof(P, makeProof("t", FarmRole::Coordinator, "c", N)));
  EXPECT_FALSE(isSameProof(P, makeProof("t", FarmRole::Worker, "d", N)));
  EXPECT_FALSE(isSameProof(P, makeProof("t", FarmRole::Worker, "c", "n")));
  EXPECT_FALSE(isSameProof(P, ""));
}

namespace {
class RemoteTest : public ReplayFarmTest {
protected:
  RemoteTest() : Cache("mneme-cache", /*Unique=*/true) {
    Options.Devices = {"none"};
    Options.Listen = ":0";
    Options.Token = "secret";
    Options.Message = [&](StringRef Text) { Said.push_back(Text.str()); };
    Worker.Token = "secret";
    Worker.CacheDir = Cache.path("files").str().str();
    Worker.Devices = {"host"};
    Worker.CompileJobs = 1;
    Worker.ConnectSeconds = 60;
  }
  ~RemoteTest() override { Farm.reset(); }

  /// Starts a worker; it says at last how it ended, and before what it did.
  std::unique_ptr<Process> startWorker() {
    Worker.Coordinator = Farm->address();
    Expected<std::unique_ptr<Process>> P = Process::start(
        [&](Channel &Link) {
          Worker.Note = [&](StringRef Text) {
            cantFail(Link.write(json::Object{{"said", Text}}));
          };
          Error E = runFarmWorker(Worker);
          std::string How = E ? toString(std::move(E)) : "well";
          cantFail(Link.write(json::Object{{"ended", How}}));
        },
        {});
    return cantFail(std::move(P));
  }

  /// Waits for a worker's end while the farm does what there is to do.
  std::string getEnd(Process &P) {
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (std::chrono::steady_clock::now() < Deadline) {
      Expected<std::optional<Frame>> F = P.channel().Parser.next();
      if (!F)
        return toString(F.takeError());
      if (*F) {
        if (std::optional<StringRef> How = (*F)->Head.getString("ended"))
          return How->str();
        WorkerSaid.push_back(
            (*F)->Head.getString("said").value_or("").str());
        continue;
      }
      if (Farm)
        collectSome(0.01);
      pollfd Wait = {P.channel().fd(), POLLIN, 0};
      ::poll(&Wait, 1, 20);
      Expected<bool> Open = P.channel().receive();
      if (!Open)
        return toString(Open.takeError());
      if (!*Open && P.channel().Parser.empty())
        return "no word";
    }
    return "never";
  }

  void collectSome(double Seconds) {
    Expected<std::vector<Evaluation>> Some = Farm->wait(Seconds);
    ASSERT_THAT_EXPECTED(Some, Succeeded());
    for (Evaluation &E : *Some)
      Done[E.Id] = std::move(E);
  }
  void collectAll(size_t N) {
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (Done.size() < N && std::chrono::steady_clock::now() < Deadline)
      collectSome(0.5);
    ASSERT_EQ(Done.size(), N);
  }
  /// Has it a device to itself?
  static bool isReady(const json::Value &Worker) {
    const json::Object *State = Worker.getAsObject()->getObject("farm");
    return all_of(*State->getArray("devices"), [](const json::Value &D) {
      return !D.getAsObject()->get("waiting");
    });
  }
  void waitForWorkers(size_t N) {
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (std::chrono::steady_clock::now() < Deadline) {
      collectSome(0.05);
      json::Object About = Farm->describe();
      const json::Array *List = About.getArray("workers");
      if (List && List->size() == N && all_of(*List, isReady))
        return;
      ::usleep(20000);
    }
    FAIL() << "where are they?";
  }

  unittest::TempDir Cache;
  FarmWorkerOptions Worker;
  std::vector<std::string> Said, WorkerSaid;
  std::map<uint64_t, Evaluation> Done;
};
} // namespace

TEST_F(RemoteTest, AWorkerEvaluates) {
  start();
  // Nobody is there yet.
  submit(0, {});
  submit(1, {{"passes", "default<O1>"}});
  collectSome(0.05);
  EXPECT_TRUE(Done.empty());
  std::unique_ptr<Process> W = startWorker();
  submit(2, {{"passes", "no-such-pass"}});
  submit(3, {{"block.x", 2}});
  submit(4, {{"block.x", 5}});
  for (uint64_t I = 5; I != 20; ++I)
    submit(I, {{"passes", "default<O2>"}, {"codegen_opt", I % 3}});
  collectAll(20);
  EXPECT_EQ(Done[0].Failure, "") << Done[0].Error;
  EXPECT_EQ(Done[0].Id, 0u);
  EXPECT_EQ(Done[1].Failure, "") << Done[1].Error;
  EXPECT_EQ(Done[2].Failure, "Invalid");
  EXPECT_EQ(Done[3].Failure, "Mismatch");
  EXPECT_EQ(Done[4].Failure, "Crash");
  for (uint64_t I = 5; I != 20; ++I) {
    EXPECT_EQ(Done[I].Failure, "") << Done[I].Error;
    if (Done[I].DuplicateOf)
      EXPECT_FALSE(Done[*Done[I].DuplicateOf].DuplicateOf);
  }
  Expected<PairedEvaluation> P = Farm->comparePaired(
      {request(30, {}), request(31, {{"codegen_opt", 0}})}, 5);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "") << P->Error;
  EXPECT_EQ(P->Id, 30u);
  EXPECT_EQ(P->Samples.size(), 2u);
  Farm.reset();
  EXPECT_EQ(getEnd(*W), "well");
  EXPECT_THAT(WorkerSaid, Contains(HasSubstr("fetching")));
}

TEST_F(RemoteTest, WorkersShareWithThisMachine) {
  Options.Devices = {"host"};
  Options.CompileJobs = 1;
  start();
  std::unique_ptr<Process> W = startWorker();
  waitForWorkers(1);
  for (uint64_t I = 0; I != 60; ++I)
    submit(I, {{"maxnreg", 16 + I}, {"llvm.unroll-threshold", 100 + I}});
  collectAll(60);
  for (auto &[Id, E] : Done) {
    EXPECT_EQ(E.Failure, "") << E.Error;
    EXPECT_FALSE(E.Worker.empty());
  }
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.Requests, 60u);
  EXPECT_EQ(S.Results, 60u);
  EXPECT_GE(S.Runners.size(), 2u);
}

TEST_F(RemoteTest, FilesAreFetchedOnce) {
  start();
  std::unique_ptr<Process> W = startWorker();
  waitForWorkers(1);
  W->kill();
  W.reset();
  std::unique_ptr<Process> Second = startWorker();
  waitForWorkers(1);
  submit(0, {});
  collectAll(1);
  // One that is damaged is fetched again.
  std::string Damaged;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator I(Worker.CacheDir, EC), E;
       I != E && !EC; I.increment(EC))
    if (sys::path::extension(I->path()) == ".bc")
      Damaged = I->path();
  ASSERT_FALSE(Damaged.empty());
  ASSERT_THAT_ERROR(writeFileAtomically(Damaged, "nonsense"), Succeeded());
  std::unique_ptr<Process> Third = startWorker();
  waitForWorkers(2);
  Farm.reset();
  EXPECT_EQ(getEnd(*Second), "well");
  EXPECT_THAT(WorkerSaid, Not(Contains(HasSubstr("fetching"))));
  EXPECT_EQ(getEnd(*Third), "well");
  EXPECT_THAT(WorkerSaid, Contains(HasSubstr("fetching RecordedIR")));
  EXPECT_THAT(WorkerSaid, Not(Contains(HasSubstr("json"))));
}

TEST_F(RemoteTest, AWrongTokenIsRefused) {
  Options.Devices = {"host"};
  start();
  Worker.Token = "guess";
  std::unique_ptr<Process> W = startWorker();
  EXPECT_EQ(getEnd(*W), "the coordinator refused: wrong token");
  EXPECT_THAT(Said, Contains(HasSubstr("wrong token")));
  Worker.Token = "";
  W = startWorker();
  EXPECT_THAT(getEnd(*W), HasSubstr("MNEME_TOKEN"));
  submit(0, {});
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "");
}

TEST_F(RemoteTest, GarbageIsRefused) {
  Options.Devices = {"host"};
  start();
  std::vector<std::unique_ptr<Channel>> Links;
  for (std::string Text :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100000, 'x'),
        std::string("{\"bytes\": 99999999999}\n"),
        std::string("{\"result\": 1, \"evaluation\": {}}\n"),
        std::string("{\"get\": 0, \"offset\": 0, \"size\": 10}\n"),
        std::string("{\"proof\": \"\", \"version\": 1}\n")}) {
    Expected<int> FD = connectTo(Farm->address(), 10);
    ASSERT_THAT_EXPECTED(FD, Succeeded());
    Links.push_back(std::make_unique<Channel>(*FD));
    ASSERT_EQ(::write(*FD, Text.data(), Text.size()),
              static_cast<ssize_t>(Text.size()));
  }
  submit(0, {});
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "");
  for (unsigned I = 0; Said.size() < Links.size() && I != 100; ++I) {
    submit(I, {{"maxnreg", I + 1}});
    collectSome(0.1);
  }
  EXPECT_EQ(Said.size(), Links.size());
  for (const std::string &Text : Said)
    EXPECT_THAT(Text, HasSubstr("refused a worker at 127.0.0.1:"));
}

TEST_F(RemoteTest, NothingIsLostWithAWorker) {
  start();
  std::vector<std::unique_ptr<Process>> Workers;
  Workers.push_back(startWorker());
  waitForWorkers(1);
  for (uint64_t I = 0; I != 40; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  collectSome(1);
  Workers[0]->kill();
  Workers.push_back(startWorker());
  collectAll(40);
  for (auto &[Id, E] : Done)
    EXPECT_EQ(E.Failure, "") << E.Error;
  EXPECT_THAT(Said, Contains(HasSubstr("lost the worker")));
  EXPECT_EQ(Farm->statistics().Results, 40u);
}

TEST_F(RemoteTest, ASilentWorkerIsGivenUp) {
  Options.SilenceSeconds = 10;
  start();
  std::unique_ptr<Process> First = startWorker();
  waitForWorkers(1);
  First->pause(true);
  for (uint64_t I = 0; I != 20; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  std::unique_ptr<Process> Second = startWorker();
  collectAll(20);
  for (auto &[Id, E] : Done)
    EXPECT_EQ(E.Failure, "") << E.Error;
  EXPECT_THAT(Said, Contains(HasSubstr("says nothing any more")));
  // It learns that when it goes on.
  First->pause(false);
  EXPECT_THAT(getEnd(*First), Not(HasSubstr("well")));
}

TEST_F(RemoteTest, ASilentCoordinatorIsGivenUp) {
  Worker.SilenceSeconds = 4;
  start();
  std::unique_ptr<Process> W = startWorker();
  waitForWorkers(1);
  // Nobody looks at the connection.
  std::unique_ptr<ReplayFarm> Silent = std::move(Farm);
  EXPECT_EQ(getEnd(*W), "the coordinator says nothing any more");
}

TEST_F(RemoteTest, AWorkerMayHangInAComparison) {
  Options.SilenceSeconds = 10;
  start();
  std::unique_ptr<Process> First = startWorker();
  waitForWorkers(1);
  std::unique_ptr<Process> Second = startWorker();
  waitForWorkers(2);
  First->pause(true);
  Expected<PairedEvaluation> P = Farm->comparePaired(
      {request(1, {}), request(2, {{"codegen_opt", 0}})}, 5);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "") << P->Error;
  EXPECT_EQ(P->Samples.size(), 2u);
  EXPECT_THAT(P->Device, testing::EndsWith("/host"));
  EXPECT_THAT(Said, Contains(HasSubstr("says nothing any more")));
}

TEST_F(RemoteTest, RemoteComparisonsCanBeBrokenOff) {
  start();
  std::unique_ptr<Process> W = startWorker();
  waitForWorkers(1);
  for (bool Hangs : {true, false}) {
    W->pause(Hangs);
    unsigned Asked = 0;
    Expected<PairedEvaluation> P = Farm->comparePaired(
        {request(1, {}), request(2, {{"codegen_opt", 0}})}, 1000000,
        [&] { return ++Asked > 2; });
    ASSERT_THAT_EXPECTED(P, Succeeded());
    EXPECT_EQ(P->Failure, PairedEvaluation::Interrupted);
    W->pause(false);
  }
  submit(0, {});
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "");
  EXPECT_TRUE(Said.empty()) << Said.front();
}

TEST_F(RemoteTest, CancelReachesWorkers) {
  start();
  std::unique_ptr<Process> W = startWorker();
  waitForWorkers(1);
  W->pause(true);
  for (uint64_t I = 0; I != 30; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  collectSome(0.05);
  size_t Forgotten = Farm->cancel().size();
  EXPECT_GT(Forgotten, 10u);
  W->pause(false);
  collectAll(30 - Forgotten);
  size_t Cancelled = 0;
  for (auto &[Id, E] : Done)
    Cancelled += E.Failure == Evaluation::Cancelled;
  EXPECT_GT(Cancelled, 0u);
  EXPECT_LT(Cancelled, Done.size()) << "what was begun is done";
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.Requests, Done.size() - Cancelled);
  EXPECT_EQ(S.Results, Done.size() - Cancelled);
  // All can be asked for again.
  Done.clear();
  for (uint64_t I = 0; I != 30; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  collectAll(30);
  for (auto &[Id, E] : Done)
    EXPECT_EQ(E.Failure, "") << E.Error;
}

TEST_F(RemoteTest, DevicesOfWorkersCanBeAskedFor) {
  Options.Devices = {"host"};
  start();
  std::unique_ptr<Process> W = startWorker();
  waitForWorkers(1);
  EvaluationRequest R = request(0, {});
  R.Device = "elsewhere/host";
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "WorkerLost");
  submit(1, {});
  collectAll(2);
  EXPECT_THAT(Done[1].Device, testing::EndsWith("/host"));

  // Only the worker has it.
  Options.Devices = {"none"};
  Done.clear();
  Farm.reset();
  getEnd(*W);
  start();
  W = startWorker();
  submit(2, {});
  collectAll(1);
  R = request(3, {});
  R.Device = Done[2].Device;
  ASSERT_THAT_ERROR(Farm->submit(R), Succeeded());
  collectAll(2);
  EXPECT_EQ(Done[3].Failure, "") << Done[3].Error;
  EXPECT_FALSE(Done[3].DuplicateOf);
  W->kill();
  W.reset();
  ASSERT_THAT_ERROR(Farm->submit((R.Id = 4, R)), Succeeded());
  collectAll(3);
  EXPECT_EQ(Done[4].Failure, "WorkerLost");
}

TEST_F(RemoteTest, AWorkerWithoutDevicesSaysSo) {
  start();
  Worker.Devices = {"cuda:77"};
  std::unique_ptr<Process> W = startWorker();
  std::string End = getEnd(*W);
  EXPECT_THAT(End, Not(HasSubstr("well")));
  Worker.Devices = {"host"};
  W = startWorker();
  submit(0, {});
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "");
}

TEST_F(RemoteTest, RefusesWhatCannotBe) {
  writeAll();
  auto GetError = [&] {
    auto Created = ReplayFarm::create(Options);
    return Created ? "no error" : toString(Created.takeError());
  };
  Options.Token = "";
  EXPECT_THAT(GetError(), HasSubstr("MNEME_TOKEN"));
  Options.Token = "t";
  for (const char *Bad : {"x", "x:y", "1.2.3.4:99999", ":"}) {
    Options.Listen = Bad;
    EXPECT_THAT(GetError(), HasSubstr("HOST:PORT")) << Bad;
  }
  Options.Listen = "";
  EXPECT_EQ(GetError(), "no device, and no other machine can connect");
  Worker.Coordinator = "127.0.0.1";
  EXPECT_THAT_ERROR(runFarmWorker(Worker), Failed());
  // Nobody listens there.
  Worker.Coordinator = "127.0.0.1:1";
  Worker.ConnectSeconds = 0.2;
  std::string Text = toString(runFarmWorker(Worker));
  EXPECT_THAT(Text, HasSubstr("cannot connect to '127.0.0.1:1'"));
}

TEST_F(RemoteTest, StudiesSurviveJSON) {
  ReplayOptions O;
  O.Passes = "default<O1>";
  O.Host.Finish = HostFinish::Min;
  O.Iterations = 9;
  O.Cache = CacheMode::Cold;
  O.Norm = 2;
  O.NaN = NaNRule::Error;
  O.Resources = true;
  O.Tolerances = {cantFail(parseTolerance("abs:1e-3"))};
  auto Plan = plan(O);
  ASSERT_THAT_EXPECTED(Plan, Succeeded());
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  Plans.push_back(std::move(*Plan));
  MappedFiles Files;
  Expected<RemoteStudy> S = makeRemoteStudy(Dir.path(), O, Plans, Files);
  ASSERT_THAT_EXPECTED(S, Succeeded());
  std::vector<std::string> Names;
  for (const StagedFile &F : S->Files)
    Names.push_back(F.Name);
  EXPECT_THAT(Names, testing::IsSupersetOf({"p", "e"}));
  // Without these nothing could be replayed.
  EXPECT_THAT(Names, Contains(testing::StartsWith("Pages.")));
  json::Value V = toJSON(*S);
  RemoteStudy Back;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(V, Back, Root));
  EXPECT_EQ(toJSON(Back), V);
  EXPECT_EQ(Back.digest(), S->digest());
  EXPECT_EQ(Back.Base.Tolerances, O.Tolerances);
  EXPECT_EQ(Back.Base.Cache, O.Cache);

  // Whoever sends it may not choose where files go.
  for (const char *Name : {"../x", "/etc/x", ".x", "", "a/b"}) {
    json::Value Bad = V;
    (*(*Bad.getAsObject()->getArray("files"))[1].getAsObject())["name"] = Name;
    RemoteStudy Ignored;
    EXPECT_FALSE(fromJSON(Bad, Ignored, Root)) << Name;
  }
}
