//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coordinators and workers that they start, which are this program once more.
//
//===----------------------------------------------------------------------===//

#include "FarmResources.h"
#include "Messages.h"
#include "ReplayFarmTest.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "gmock/gmock.h"
#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A worker, started by the tests below. What GoogleTest prints before it is
/// what a launcher may write.
TEST(WorkerProcess, DISABLED_Run) {
  auto Get = [](StringRef Name) {
    return sys::Process::GetEnv(("MNEME_TEST_" + Name).str()).value_or("");
  };
  FarmWorkerOptions W;
  W.CacheDir = Get("CACHE");
  W.Devices = {Get("DEVICE")};
  W.CompileJobs = 1;
  if (std::string Silence = Get("SILENCE"); !Silence.empty())
    W.SilenceSeconds = std::stod(Silence);
  W.Note = [](StringRef Text) { errs() << "note: " << Text << '\n'; };
  Error E = runFarmWorker(std::move(W));
  outs() << "this is no message\n";
  outs().flush();
  if (!E)
    ::_exit(0);
  errs() << "error: " << toString(std::move(E)) << '\n';
  ::_exit(1);
}

namespace {
class RemoteTest : public ReplayFarmTest {
protected:
  RemoteTest() : Cache("mneme-cache", /*Unique=*/true) {
    Options.Devices = {"none"};
    Options.Message = [&](StringRef Text) { Said.push_back(Text.str()); };
    Options.Note = [&](StringRef Text) { Notes.push_back(Text.str()); };
    // The one test that a worker runs is of any shard, and its report is not
    // this process's.
    Worker = {"env",
              "--unset=GTEST_TOTAL_SHARDS",
              "--unset=GTEST_SHARD_INDEX",
              "--unset=GTEST_OUTPUT",
              "MNEME_TEST_CACHE=" + Cache.path("files").str().str(),
              "MNEME_TEST_DEVICE=host",
              sys::fs::getMainExecutable(nullptr, nullptr),
              "--gtest_also_run_disabled_tests",
              "--gtest_filter=WorkerProcess.DISABLED_Run"};
  }
  ~RemoteTest() override { Farm.reset(); }

  /// The farm, and so many workers.
  void startWith(unsigned Workers) {
    Options.Workers.assign(Workers, {"w", Worker});
    start();
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
  /// Waits until \p N have a device to themselves. \returns their processes.
  std::vector<pid_t> waitForWorkers(size_t N) {
    auto IsReady = [](const json::Value &Worker) {
      const json::Object *State = Worker.getAsObject()->getObject("farm");
      return all_of(*State->getArray("devices"), [](const json::Value &D) {
        return !D.getAsObject()->get("waiting");
      });
    };
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    while (std::chrono::steady_clock::now() < Deadline) {
      collectSome(0.05);
      json::Object About = Farm->describe();
      const json::Array *List = About.getArray("workers");
      if (List && List->size() == N && all_of(*List, IsReady)) {
        std::vector<pid_t> Pids;
        for (const json::Value &W : *List) {
          // "w (host:pid)"
          StringRef Name = *W.getAsObject()->getString("name");
          int Pid = 0;
          EXPECT_TRUE(to_integer(Name.rsplit(':').second.drop_back(), Pid));
          Pids.push_back(Pid);
        }
        return Pids;
      }
      ::usleep(20000);
    }
    // The tests send signals to them.
    report_fatal_error("the workers are not ready after three minutes");
  }

  unittest::TempDir Cache;
  std::vector<std::string> Worker, Said, Notes;
  std::map<uint64_t, Evaluation> Done;
};
} // namespace

TEST_F(RemoteTest, AWorkerEvaluates) {
  startWith(1);
  submit(0, {});
  submit(1, {{"passes", "default<O1>"}});
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
  EXPECT_THAT(Notes, Contains(HasSubstr("w: note: fetching")));
  // It ended by itself, and its last words were no message.
  EXPECT_THAT(Notes, Contains("w: this is no message"));
  EXPECT_TRUE(Said.empty()) << Said.front();
}

TEST_F(RemoteTest, WorkersShareWithThisMachine) {
  Options.Devices = {"host"};
  Options.CompileJobs = 1;
  startWith(1);
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
  startWith(1);
  waitForWorkers(1);
  EXPECT_THAT(Notes, Contains(HasSubstr("fetching")));
  Farm.reset();
  Notes.clear();
  startWith(1);
  submit(0, {});
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "");
  Farm.reset();
  EXPECT_THAT(Notes, Not(Contains(HasSubstr("fetching"))));
  // One that is damaged is fetched again.
  std::string Damaged;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator I(Cache.path(), EC), E;
       I != E && !EC; I.increment(EC))
    if (sys::path::extension(I->path()) == ".bc")
      Damaged = I->path();
  ASSERT_FALSE(Damaged.empty());
  ASSERT_THAT_ERROR(writeFileAtomically(Damaged, "nonsense"), Succeeded());
  startWith(1);
  waitForWorkers(1);
  EXPECT_THAT(Notes, Contains(HasSubstr("fetching RecordedIR")));
  EXPECT_THAT(Notes, Not(Contains(HasSubstr("json"))));
}

TEST_F(RemoteTest, NothingIsLostWithAWorker) {
  startWith(1);
  pid_t Pid = waitForWorkers(1)[0];
  for (uint64_t I = 0; I != 40; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  collectSome(1);
  ::kill(Pid, SIGKILL);
  collectAll(40);
  for (auto &[Id, E] : Done)
    EXPECT_EQ(E.Failure, "") << E.Error;
  EXPECT_THAT(Said, Contains(HasSubstr("it died of signal 9")));
  EXPECT_THAT(Said, Contains(HasSubstr("restarting it in 1 s")));
  EXPECT_EQ(Farm->statistics().Results, 40u);
  EXPECT_NE(waitForWorkers(1)[0], Pid);
}

TEST_F(RemoteTest, ASilentWorkerIsGivenUp) {
  Options.SilenceSeconds = 10;
  startWith(2);
  pid_t First = waitForWorkers(2)[0];
  ::kill(First, SIGSTOP);
  for (uint64_t I = 0; I != 20; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  collectAll(20);
  for (auto &[Id, E] : Done)
    EXPECT_EQ(E.Failure, "") << E.Error;
  EXPECT_THAT(Said, Contains(HasSubstr("it has sent nothing for 10 s")));
}

TEST_F(RemoteTest, ASilentStudyIsGivenUp) {
  Worker.insert(find(Worker, "MNEME_TEST_DEVICE=host"), "MNEME_TEST_SILENCE=4");
  startWith(1);
  std::string Stat = formatv("/proc/{0}/stat", waitForWorkers(1)[0]);
  // Nobody serves the connection until the worker has ended.
  auto HasEnded = [&] {
    ErrorOr<std::unique_ptr<MemoryBuffer>> File =
        MemoryBuffer::getFileAsStream(Stat);
    return File && (*File)->getBuffer().contains(") Z ");
  };
  auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(3);
  while (!HasEnded() && std::chrono::steady_clock::now() < Deadline)
    ::usleep(50000);
  EXPECT_TRUE(HasEnded());
  while (Said.empty() && std::chrono::steady_clock::now() < Deadline)
    collectSome(0.05);
  EXPECT_THAT(Said, Contains(HasSubstr("the study has stopped sending")));
}

TEST_F(RemoteTest, AWorkerMayHangInAComparison) {
  Options.SilenceSeconds = 10;
  startWith(2);
  ::kill(waitForWorkers(2)[0], SIGSTOP);
  Expected<PairedEvaluation> P = Farm->comparePaired(
      {request(1, {}), request(2, {{"codegen_opt", 0}})}, 5);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "") << P->Error;
  EXPECT_EQ(P->Samples.size(), 2u);
  EXPECT_THAT(P->Device, testing::EndsWith("/host"));
  EXPECT_THAT(Said, Contains(HasSubstr("it has sent nothing for 10 s")));
}

TEST_F(RemoteTest, RemoteComparisonsCanBeBrokenOff) {
  startWith(1);
  pid_t Pid = waitForWorkers(1)[0];
  for (bool Hangs : {true, false}) {
    ::kill(Pid, Hangs ? SIGSTOP : SIGCONT);
    unsigned Asked = 0;
    Expected<PairedEvaluation> P =
        Farm->comparePaired({request(1, {}), request(2, {{"codegen_opt", 0}})},
                            50000, [&] { return ++Asked > 2; });
    ASSERT_THAT_EXPECTED(P, Succeeded());
    EXPECT_EQ(P->Failure, PairedEvaluation::Interrupted);
    ::kill(Pid, SIGCONT);
  }
  submit(0, {});
  collectAll(1);
  EXPECT_EQ(Done[0].Failure, "");
  EXPECT_TRUE(Said.empty()) << Said.front();
}

TEST_F(RemoteTest, CancelReachesWorkers) {
  startWith(1);
  pid_t Pid = waitForWorkers(1)[0];
  ::kill(Pid, SIGSTOP);
  for (uint64_t I = 0; I != 30; ++I)
    submit(I, {{"maxnreg", 16 + I}});
  collectSome(0.05);
  size_t Forgotten = Farm->cancel().size();
  EXPECT_GT(Forgotten, 10u);
  ::kill(Pid, SIGCONT);
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
  startWith(1);
  EvaluationRequest R = request(0, {});
  R.Device = "elsewhere/host";
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  submit(1, {});
  collectAll(2);
  EXPECT_EQ(Done[0].Failure, "WorkerLost");
  EXPECT_THAT(Done[1].Device, testing::EndsWith("/host"));
  R = request(2, {});
  R.Device = Done[1].Device;
  ASSERT_THAT_ERROR(Farm->submit(R), Succeeded());
  collectAll(3);
  EXPECT_EQ(Done[2].Failure, "") << Done[2].Error;
  EXPECT_FALSE(Done[2].DuplicateOf);
  // What is gone is not waited for.
  ::kill(waitForWorkers(1)[0], SIGKILL);
  while (Said.empty())
    collectSome(0.05);
  ASSERT_THAT_ERROR(Farm->submit((R.Id = 3, R)), Succeeded());
  collectAll(4);
  EXPECT_EQ(Done[3].Failure, "WorkerLost");
}

TEST_F(RemoteTest, WorkersThatCannotEvaluateAreNotStartedAgain) {
  *find(Worker, "MNEME_TEST_DEVICE=host") = "MNEME_TEST_DEVICE=cuda:77";
  startWith(1);
  submit(0, {});
  std::string Lost;
  while (Lost.empty()) {
    Expected<std::vector<Evaluation>> Some = Farm->wait(1);
    if (!Some)
      Lost = toString(Some.takeError());
  }
  // Without a driver, it names that.
  EXPECT_THAT(Lost, testing::ContainsRegex(
                        "^no worker is left: w: .*(cuda:77|CUDA driver)"));
  EXPECT_EQ(Said.size(), 1u);
  EXPECT_THAT(Said, Contains(HasSubstr("dropped the worker w (")));
}

TEST_F(RemoteTest, LaunchersThatCannotRunEndTheFarm) {
  for (auto [Command, Complaint] :
       {std::pair(std::vector<std::string>{"/no/such/launcher"},
                  "cannot run '/no/such/launcher'"),
        std::pair(std::vector<std::string>{"sh", "-c",
                                           "echo what; echo why >&2; exit 5"},
                  "it ended the process with exit code 5: why; instead of a "
                  "greeting it wrote 'what\\0A'")}) {
    Worker = Command;
    startWith(1);
    std::string Lost;
    while (Lost.empty()) {
      Expected<std::vector<Evaluation>> Some = Farm->wait(1);
      if (!Some)
        Lost = toString(Some.takeError());
    }
    EXPECT_THAT(Lost, HasSubstr(Complaint));
  }
  EXPECT_THAT(Notes, Contains("w: why"));
}

TEST_F(RemoteTest, NeedsADeviceOrWorkers) {
  writeAll();
  auto Created = ReplayFarm::create(Options);
  EXPECT_THAT_EXPECTED(
      Created, FailedWithMessage("no device, and no workers: give --device or "
                                 "--hosts"));
}

TEST_F(RemoteTest, RunProcessesDivideTheCoresUnlessTheyShareThem) {
  writeAll();
  auto Plan = ReplayPlan::create(Dir.path(), ReplayOptions());
  ASSERT_THAT_EXPECTED(Plan, Succeeded());
  FarmResources R;
  R.Devices = {"host"};
  R.HostWorkers = 2;
  for (bool Share : {false, true}) {
    R.ShareCores = Share;
    bool IsGPU = true;
    Expected<FarmConfig> C = makeFarmConfig(R, **Plan, IsGPU);
    ASSERT_THAT_EXPECTED(C, Succeeded());
    EXPECT_FALSE(IsGPU);
    EXPECT_EQ(C->Devices.size(), 2u);
    EXPECT_EQ(C->Cores.size(), Share ? 0u : 2u);
  }
}

TEST_F(RemoteTest, StudiesArriveAsTheyWereSent) {
  ReplayOptions O;
  O.Passes = "default<O1>";
  O.Host.Finish = HostFinish::Min;
  O.Iterations = 9;
  O.Cache = CacheMode::Cold;
  O.Norm = 2;
  O.NaN = NaNRule::Error;
  O.Resources = true;
  O.Plugins = {"/p.so"};
  O.Tolerances = {cantFail(parseTolerance("abs:1e-3"))};
  O.ElementTypes = {cantFail(parseElementType("f32@out"))};
  writeAll();
  auto Plan = ReplayPlan::create(Dir.path(), ReplayOptions());
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

  json::Object Head = makeHead(message::Start{*S});
  message::Start Back;
  json::Path::Root Root;
  ASSERT_TRUE(readHead(json::Value(json::Object(Head)), Back, Root))
      << toString(Root.getError());
  EXPECT_EQ(json::Value(makeHead(Back)), json::Value(json::Object(Head)));
  EXPECT_EQ(Back.Study.digest(), S->digest());
  ASSERT_THAT_ERROR(Back.Study.locate("/there"), Succeeded());
  const ReplayOptions &There = Back.Study.Base;
  EXPECT_EQ(There.Passes, O.Passes);
  EXPECT_EQ(There.Host.Finish, O.Host.Finish);
  EXPECT_EQ(There.Iterations, O.Iterations);
  EXPECT_EQ(There.Tolerances, O.Tolerances);
  EXPECT_EQ(There.ElementTypes, O.ElementTypes);
  EXPECT_EQ(There.Cache, O.Cache);
  EXPECT_EQ(There.Norm, O.Norm);
  EXPECT_EQ(There.NaN, O.NaN);
  EXPECT_EQ(There.Plugins, O.Plugins);
  EXPECT_EQ(Back.Study.Database, "/there/" + S->Database);

  // Names of files are no paths.
  for (const char *Name : {"../x", "/etc/x", ".x", "", "a/b", "a\\b", "a\nb"}) {
    json::Object Bad = Head;
    json::Array *List = Bad.getObject("study")->getArray("files");
    (*(*List)[1].getAsObject())["name"] = Name;
    EXPECT_FALSE(readHead(json::Value(std::move(Bad)), Back, Root)) << Name;
  }
}

TEST_F(RemoteTest, StagingChecksWhatItGets) {
  RemoteStudy S;
  std::string Contents = "contents";
  S.Files = {{"a", Contents.size(), toHexString(digest128(Contents))}};
  auto Fetch = [&](unsigned, function_ref<Error(StringRef)> Write) {
    return Write(Contents);
  };
  std::string CacheDir = Cache.path("staging").str().str();
  Expected<std::string> Folder = stage(S, CacheDir, Fetch);
  ASSERT_THAT_EXPECTED(Folder, Succeeded());
  EXPECT_TRUE(sys::fs::exists(*Folder + "/a"));
  // Other contents.
  S.Files[0].Name = "b";
  Contents[0] = 'C';
  EXPECT_THAT_EXPECTED(stage(S, CacheDir, Fetch),
                       FailedWithMessage("'b' was damaged in transfer"));
  // More than there is room for.
  S.Files[0].Size = uint64_t(1) << 53;
  EXPECT_THAT(toString(stage(S, CacheDir, Fetch).takeError()),
              HasSubstr("has no room for the study's files"));
  S.Files[0].Size = 8;
  S.Files.push_back(S.Files[0]);
  EXPECT_THAT_EXPECTED(stage(S, CacheDir, Fetch),
                       FailedWithMessage("the study has two files 'b'"));
  // Somebody else's folder.
  ASSERT_EQ(::chmod(CacheDir.c_str(), 0777), 0);
  EXPECT_THAT(toString(stage(S, CacheDir, Fetch).takeError()),
              HasSubstr("other users can write to it"));
}
