//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinator with real processes that do what a configuration says.
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Configurations: "ir", "assembly", "code": the hashes, each by default the
/// one before; "launch"; "time": nanoseconds; "compile", "run": what happens;
/// "once": a file that is made by the first process that comes there, all
/// others do nothing special.
class FakeBackend final : public FarmBackend {
public:
  /// Of all processes.
  struct Shared {
    std::atomic<int> Compiled, Run, Opened, Running, MostRunning;
    std::atomic<int> OpenFails, LastIsGone;
    std::atomic<unsigned> Instance, Switches;
  };
  Shared *S;
  std::string Exclusive;

  FakeBackend() {
    S = static_cast<Shared *>(::mmap(nullptr, sizeof(Shared),
                                     PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    new (S) Shared();
  }
  ~FakeBackend() override { ::munmap(S, sizeof(Shared)); }

  static std::string get(const EvaluationRequest &R, StringRef Key,
                         StringRef Default = "") {
    return R.Config.getString(Key).value_or(Default).str();
  }

  Expected<FarmKeys> keys(const EvaluationRequest &R) const override {
    if (get(R, "key") == "bad")
      return createStringError("a bad key");
    FarmKeys K;
    K.Process = get(R, "process");
    json::Object Code = R.Config;
    Code.erase("launch");
    Code.erase("time");
    raw_string_ostream(K.Compile) << json::Value(std::move(Code));
    K.Launch = get(R, "launch") +
               std::to_string(R.Config.getNumber("time").value_or(0));
    return K;
  }

  /// A child's only socket.
  static int findChannel() {
    struct stat S;
    int FD = 0;
    while (::fstat(FD, &S) != 0 || !S_ISSOCK(S.st_mode))
      ++FD;
    return FD;
  }

  /// Does what a configuration says to the process.
  static void act(const EvaluationRequest &R, StringRef Key) {
    std::string What = get(R, Key);
    std::string Once = get(R, "once");
    if (!What.empty() && !Once.empty()) {
      int FD = ::open(Once.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
      if (FD < 0)
        return;
      ::close(FD);
    }
    if (What == "crash") {
      // A sanitizer would take its time to describe it.
      ::signal(SIGSEGV, SIG_DFL);
      ::raise(SIGSEGV);
    } else if (What == "exit")
      ::_exit(3);
    else if (What == "killed")
      ::raise(SIGKILL);
    else if (What == "fatal")
      report_fatal_error("cannot select");
    else if (What == "abort") {
      ::fputs("noise\nx.cpp:1: Assertion `false' failed.\nmore\n", stderr);
      ::abort();
    } else if (What == "garbage") {
      (void)!::write(findChannel(), "garbage\n", 8);
      ::pause();
    } else if (What == "eat") {
      std::vector<std::unique_ptr<char[]>> All;
      while (true) {
        All.emplace_back(new char[1 << 20]);
        memset(All.back().get(), 1, 1 << 20);
      }
    } else if (What == "close") {
      ::close(findChannel());
      while (true)
        ::pause();
    } else if (What == "hang") {
      ::signal(SIGTERM, SIG_IGN);
      while (true)
        ::pause();
    }
  }

  /// As a timer says it, which can be broken.
  static double getTime(const EvaluationRequest &R, StringRef Key) {
    double Time = R.Config.getNumber("time").value_or(100);
    return get(R, Key) == "nan"   ? std::nan("")
           : get(R, Key) == "inf" ? std::numeric_limits<double>::infinity()
                                  : Time;
  }

  Expected<FarmCode> compile(const EvaluationRequest &R, KnownFn Known,
                             function_ref<void(StringRef)> Stage) override {
    ++S->Compiled;
    if (Served && *Served != get(R, "process"))
      report_fatal_error("a process for all");
    Served = get(R, "process");
    if (get(R, "compile") == "invalid")
      return createStringError("no such pass");
    FarmCode C;
    C.IRHash = get(R, "ir", get(R, "code"));
    C.AssemblyHash = get(R, "assembly", C.IRHash);
    Stage("the pass pipeline");
    act(R, "compile");
    if (get(R, "compile") == "sleep")
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    C.Stopped = Known(Duplicate::IR, C.IRHash);
    if (C.Stopped)
      return C;
    Stage("code generation");
    act(R, "codegen");
    C.Stopped = Known(Duplicate::Assembly, C.AssemblyHash);
    if (C.Stopped)
      return C;
    if (get(R, "compile") == "error") {
      C.Failure = "CompileError";
      C.Error = "wrong";
      return C;
    }
    C.CodeHash = get(R, "code");
    C.Bytes = "code " + C.CodeHash;
    C.Bytes.resize(1000, '.');
    return C;
  }

  Expected<Opened> openDevice(StringRef Name, StageFn) override {
    ++S->Opened;
    if (S->OpenFails-- > 0)
      return createStringError("no device '" + Name + "'");
    if (S->LastIsGone && Name == "b")
      return createStringError("no device any more");
    Opened O;
    O.Info.Name = Name.str();
    O.Info.UUID = ("GPU-" + Name).str();
    O.Exclusive = Exclusive;
    return std::move(O);
  }

  Expected<Evaluation> run(const EvaluationRequest &R, const FarmCode &Code,
                           StageFn Stage) override {
    int Running = ++S->Running;
    S->MostRunning = std::max<int>(S->MostRunning, Running);
    ++S->Run;
    if (S->Instance.exchange(R.Instance) != R.Instance)
      ++S->Switches;
    EXPECT_EQ(Code.Bytes.find("code " + Code.CodeHash), 0u);
    Stage("the launch", R.LaunchTimeout);
    act(R, "run");
    if (get(R, "run") == "sleep")
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // Until two have run at once. The launch's time limit ends it.
    while (get(R, "run") == "meet" && S->MostRunning < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Evaluation E;
    // It takes the device with it, and then nothing works there.
    Spent |= get(R, "run") == "spend";
    if (Spent) {
      E.Failure = "Crash";
    } else if (get(R, "run") == "wrong") {
      E.Failure = "Mismatch";
      E.Error = "all of it";
    } else {
      E.Samples = {getTime(R, "run")};
      E.Metrics["time"] = E.Samples[0];
      E.Stopped = R.StopAbove > 0 && E.Samples[0] > R.StopAbove;
    }
    if (get(R, "run") == "pretend") {
      E.CodeHash = get(R, "as");
      E.DuplicateKind = Duplicate::Code;
      E.DuplicateOf = 12345;
      E.Worker = E.Device = "elsewhere";
      E.Started = 1;
    }
    --S->Running;
    return E;
  }

  Expected<PairedEvaluation> compare(ArrayRef<EvaluationRequest> Requests,
                                     ArrayRef<const FarmCode *> Codes,
                                     unsigned Rounds, StageFn Stage) override {
    EXPECT_EQ(S->Running, 0);
    PairedEvaluation P;
    Stage("the launch", 5);
    for (size_t I = 0; I != Requests.size(); ++I) {
      act(Requests[I], "compare");
      EXPECT_EQ(Codes[I]->CodeHash, get(Requests[I], "code"));
      P.Samples.emplace_back(Rounds, getTime(Requests[I], "compare"));
    }
    for (const EvaluationRequest &R : Requests) {
      std::string What = get(R, "compare");
      if (What == "fewer lists")
        P.Samples.pop_back();
      else if (What == "more lists")
        P.Samples.push_back(P.Samples[0]);
      else if (What == "no lists")
        P.Samples.clear();
      else if (What == "a short list")
        P.Samples.back().pop_back();
      else if (What == "an empty list")
        P.Samples.back().clear();
      else if (What == "short lists")
        for (std::vector<double> &S : P.Samples)
          S.resize(1);
    }
    return P;
  }

  bool isSpent() const override { return Spent; }
  bool Spent = false;
  std::optional<std::string> Served; ///< In this compile process.
};

/// An object that can be written as {{"key", value}, ...} in a call.
struct Conf : json::Object {
  Conf(std::initializer_list<KV> L) : json::Object(L) {}
};

class FarmTest : public testing::Test {
protected:
  FarmTest() : Dir("mneme-farm", /*Unique=*/true) {
    Config.Devices = {"fake"};
    Config.CompileJobs = 2;
    Config.CompileTimeout = 30;
    Config.LaunchTimeout = 30;
  }

  void start() {
    Farm.emplace(Backend, Config);
    Farm->start();
  }

  static EvaluationRequest request(uint64_t Id, Conf C) {
    EvaluationRequest R;
    R.Id = Id;
    R.Config = std::move(C);
    return R;
  }
  void submit(uint64_t Id, Conf C) {
    ASSERT_THAT_ERROR(Farm->submit(request(Id, std::move(C))), Succeeded());
  }

  /// All results, by Id; each comes once.
  std::map<uint64_t, Evaluation> collect() {
    std::map<uint64_t, Evaluation> All;
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!Farm->isIdle() || All.empty()) {
      Expected<std::vector<Evaluation>> Some = Farm->wait(0.5);
      if (!Some) {
        ADD_FAILURE() << toString(Some.takeError());
        break;
      }
      for (Evaluation &E : *Some) {
        uint64_t Id = E.Id;
        EXPECT_TRUE(All.emplace(Id, std::move(E)).second) << Id;
      }
      if (std::chrono::steady_clock::now() > Deadline) {
        ADD_FAILURE() << "something is lost";
        break;
      }
    }
    return All;
  }
  Evaluation evaluate(Conf C) {
    submit(1000, std::move(C));
    return collect()[1000];
  }
  std::string once(StringRef Name) {
    SmallString<128> P(Dir.path());
    sys::path::append(P, Name);
    return std::string(P);
  }

  unittest::TempDir Dir;
  FakeBackend Backend;
  FarmConfig Config;
  std::optional<Coordinator> Farm;
};

} // namespace

TEST_F(FarmTest, EvaluatesAll) {
  start();
  for (uint64_t I = 0; I != 100; ++I)
    submit(I, {{"code", "c" + std::to_string(I)}, {"time", 100 + I}});
  std::map<uint64_t, Evaluation> All = collect();
  ASSERT_EQ(All.size(), 100u);
  for (auto &[Id, E] : All) {
    EXPECT_EQ(E.Failure, "") << E.Error;
    EXPECT_THAT(E.Samples, ElementsAre(100.0 + Id));
    EXPECT_EQ(E.CodeHash, "c" + std::to_string(Id));
    EXPECT_EQ(E.DuplicateKind, Duplicate::None);
    EXPECT_FALSE(E.DuplicateOf);
    EXPECT_GT(E.Started, 0);
    EXPECT_GE(E.Ended, E.Started);
    EXPECT_FALSE(E.Worker.empty());
  }
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.Results, 100u);
  EXPECT_EQ(S.Compiles, 100u);
  EXPECT_EQ(S.Runs, 100u);
  EXPECT_EQ(S.RunnerDeaths + S.CompilerDeaths, 0u);
  ASSERT_EQ(S.Runners.size(), 1u);
  EXPECT_EQ(S.Runners[0].Runs, 100u);
  EXPECT_LE(S.Runners[0].idleShare(), 1);
  EXPECT_EQ(Backend.S->MostRunning, 1);
}

TEST_F(FarmTest, UsesAllDevices) {
  Config.Devices = {"a", "b"};
  start();
  for (uint64_t I = 0; I != 12; ++I)
    submit(I, {{"code", std::to_string(I)}, {"run", "meet"}});
  EXPECT_EQ(collect().size(), 12u);
  EXPECT_EQ(Backend.S->MostRunning, 2);
  FarmStatistics S = Farm->statistics();
  EXPECT_GT(S.Runners[0].Runs, 0u);
  EXPECT_GT(S.Runners[1].Runs, 0u);
}

TEST_F(FarmTest, ResultsSayWhereTheyAreFrom) {
  Config.Devices = {"a", "b"};
  start();
  std::set<std::string> Seen;
  for (uint64_t I = 0; I != 12; ++I)
    submit(I, {{"code", std::to_string(I)}, {"run", "meet"}});
  for (auto &[Id, E] : collect())
    Seen.insert(E.Device);
  EXPECT_THAT(Seen, ElementsAre(testing::EndsWith("/GPU-a"),
                                testing::EndsWith("/GPU-b")));
  EXPECT_THAT(*Seen.begin(), Not(testing::StartsWith("/"))) << "no machine";
  // Whoever wants a device gets it, whatever is known.
  uint64_t Id = 100;
  std::map<uint64_t, std::string> Wanted;
  for (unsigned I = 0; I != 6; ++I)
    for (const std::string &Device : Seen) {
      EvaluationRequest R = request(Id, {{"code", "1"}, {"run", "sleep"}});
      R.Device = Wanted[Id] = Device;
      ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
      ++Id;
    }
  for (auto &[Id, E] : collect()) {
    EXPECT_EQ(E.Failure, "");
    EXPECT_EQ(E.Device, Wanted[Id]);
    EXPECT_FALSE(E.DuplicateOf);
  }
  EvaluationRequest R = request(1, {{"code", "1"}});
  R.Device = "elsewhere/GPU-c";
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  Evaluation E = collect()[1];
  EXPECT_EQ(E.Failure, "WorkerLost");
  EXPECT_EQ(E.Error, "'elsewhere/GPU-c' is gone");
}

TEST_F(FarmTest, WhatWantsALostDeviceDoesNotWait) {
  Config.Devices = {"a", "b"};
  Config.Spare = false;
  start();
  std::string Last;
  for (uint64_t I = 0; !StringRef(Last).ends_with("GPU-b"); ++I) {
    submit(I, {{"code", std::to_string(I)}, {"run", "sleep"}});
    submit(1000 + I, {{"code", std::to_string(1000 + I)}, {"run", "sleep"}});
    for (auto &[Id, E] : collect())
      Last = std::max(Last, E.Device);
  }
  Backend.S->LastIsGone = 1;
  for (uint64_t I = 5000; I != 5010; ++I) {
    EvaluationRequest R = request(I, {{"code", std::to_string(I)},
                                      {"run", I == 5000 ? "crash" : "ok"},
                                      {"compile", "sleep"}});
    R.Device = Last;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  }
  auto All = collect();
  ASSERT_EQ(All.size(), 10u);
  EXPECT_EQ(All[5000].Failure, "Crash");
  EXPECT_EQ(All[5000].Device, Last);
  EXPECT_EQ(All[5009].Failure, "WorkerLost");
  for (uint64_t I = 5001; I != 5009; ++I)
    EXPECT_TRUE(All[I].Failure.empty() || All[I].Failure == "WorkerLost") << I;
  EXPECT_EQ(evaluate({{"code", "after"}}).Failure, "");
}

TEST_F(FarmTest, EachDeviceHasItsLimit) {
  Config.Devices = {"a", "b"};
  start();
  std::set<std::string> Seen;
  for (uint64_t I = 0; Seen.size() < 2; I += 2) {
    submit(I, {{"code", std::to_string(I)}, {"run", "sleep"}});
    submit(I + 1, {{"code", std::to_string(I + 1)}, {"run", "sleep"}});
    for (auto &[Id, E] : collect())
      Seen.insert(E.Device);
  }
  uint64_t Id = 100;
  for (const std::string &Device : Seen) {
    EvaluationRequest R = request(Id++, {{"code", "1"}, {"time", 100}});
    R.StopAboveOn[*Seen.begin()] = 50;
    R.Device = Device;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  }
  auto All = collect();
  EXPECT_TRUE(All[100].Stopped);
  EXPECT_FALSE(All[101].Stopped);
}

TEST_F(FarmTest, FindsDuplicatesAtEachLevel) {
  start();
  submit(0, {{"ir", "i"}, {"assembly", "a"}, {"code", "c"}, {"x", "0"}});
  EXPECT_EQ(collect()[0].Failure, "");
  submit(1, {{"ir", "i"}, {"assembly", "a"}, {"code", "c"}, {"x", "0"}});
  submit(2, {{"ir", "i"}, {"assembly", "a"}, {"code", "c"}, {"x", "1"}});
  submit(3, {{"ir", "i3"}, {"assembly", "a"}, {"code", "c"}});
  submit(4, {{"ir", "i4"}, {"assembly", "a4"}, {"code", "c"}});
  submit(5, {{"ir", "i5"}, {"assembly", "a5"}, {"code", "c5"}});
  auto All = collect();
  EXPECT_EQ(All[1].DuplicateKind, Duplicate::Config);
  EXPECT_EQ(All[2].DuplicateKind, Duplicate::IR);
  EXPECT_EQ(All[3].DuplicateKind, Duplicate::Assembly);
  EXPECT_EQ(All[4].DuplicateKind, Duplicate::Code);
  EXPECT_EQ(All[5].DuplicateKind, Duplicate::None);
  for (uint64_t I = 1; I != 5; ++I) {
    EXPECT_EQ(All[I].DuplicateOf, 0u);
    EXPECT_THAT(All[I].Samples, ElementsAre(100.0));
    EXPECT_EQ(All[I].CodeHash, "c");
  }
  EXPECT_EQ(All[3].IRHash, "i3");
  EXPECT_EQ(All[4].AssemblyHash, "a4");
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.Runs, 2u);
  EXPECT_EQ(S.SameIR, 1u);
  EXPECT_EQ(S.SameAssembly, 1u);
  EXPECT_EQ(S.SameCode, 1u);
  EXPECT_EQ(S.Reused, 4u);
}

TEST_F(FarmTest, FindsDuplicatesOfWhatIsOnItsWay) {
  Config.CompileJobs = 4;
  start();
  for (uint64_t I = 0; I != 40; ++I)
    submit(I, {{"code", std::to_string(I % 4)},
               {"x", std::to_string(I)},
               {"compile", "sleep"}});
  auto All = collect();
  ASSERT_EQ(All.size(), 40u);
  for (auto &[Id, E] : All) {
    EXPECT_EQ(E.Failure, "");
    EXPECT_EQ(E.CodeHash, std::to_string(Id % 4));
    if (E.DuplicateOf) {
      EXPECT_EQ(*E.DuplicateOf % 4, Id % 4);
      EXPECT_FALSE(All[*E.DuplicateOf].DuplicateOf);
    }
  }
  EXPECT_EQ(Farm->statistics().Runs, 4u);
}

TEST_F(FarmTest, ProcessesAreNotSharedByThoseWhoMustNot) {
  Config.CompileJobs = 3;
  start();
  for (uint64_t I = 0; I != 40; ++I)
    submit(I, {{"code", std::to_string(I)},
               {"process", std::to_string(I / 4 % 5)}});
  for (auto &[Id, E] : collect())
    EXPECT_EQ(E.Failure, "") << E.Error;
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.CompilerDeaths, 0u);
  EXPECT_LT(S.Starts, 35u) << "those who may do";
}

TEST_F(FarmTest, SomeHaveAProcessOfTheirOwn) {
  start();
  for (uint64_t I = 0; I != 10; ++I) {
    EvaluationRequest R = request(I, {{"code", std::to_string(I)}});
    R.OwnProcess = I >= 5;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  }
  for (auto &[Id, E] : collect())
    EXPECT_EQ(E.Failure, "") << E.Error;
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.Compiles, 10u);
  EXPECT_EQ(S.CompilerDeaths, 0u);
  // The others share processes, at most one per compile job.
  EXPECT_GE(S.Starts, 6u);
  EXPECT_LT(S.Starts, 12u);
}

TEST_F(FarmTest, LaunchesNeedNoCompilation) {
  start();
  for (uint64_t I = 0; I != 20; ++I)
    submit(I, {{"code", "c"}, {"launch", std::to_string(I)}});
  auto All = collect();
  for (auto &[Id, E] : All) {
    EXPECT_EQ(E.Failure, "");
    EXPECT_EQ(E.DuplicateKind, Duplicate::None);
  }
  FarmStatistics S = Farm->statistics();
  EXPECT_EQ(S.Compiles, 1u);
  EXPECT_EQ(S.Runs, 20u);
  EXPECT_EQ(S.SameConfig, 19u);
}

TEST_F(FarmTest, StaysWithTheMemoryThatIsThere) {
  start();
  for (uint64_t I = 0; I != 20; ++I) {
    EvaluationRequest R =
        request(I, {{"code", "c"}, {"launch", std::to_string(I)}});
    R.Instance = I % 2;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  }
  EXPECT_EQ(collect().size(), 20u);
  EXPECT_EQ(Backend.S->Switches, 1u);
  // Nobody waits for ever.
  for (uint64_t I = 100; I != 200; ++I) {
    EvaluationRequest R =
        request(I, {{"code", "d"}, {"launch", std::to_string(I)}});
    R.Instance = I == 101 ? 2 : 0;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  }
  EXPECT_EQ(collect().size(), 100u);
  EXPECT_EQ(Backend.S->Switches, 4u);
}

TEST_F(FarmTest, FreshIsMeasuredAgain) {
  start();
  submit(0, {{"code", "c"}});
  collect();
  EvaluationRequest R = request(1, {{"code", "c"}});
  R.Fresh = true;
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  Evaluation E = collect()[1];
  EXPECT_EQ(E.DuplicateKind, Duplicate::None);
  EXPECT_EQ(Farm->statistics().Runs, 2u);
  EXPECT_EQ(Farm->statistics().Compiles, 1u);
  // From now on that counts.
  submit(2, {{"code", "c"}});
  EXPECT_EQ(collect()[2].DuplicateOf, 1u);
  submit(3, {{"code", "c"}, {"x", "1"}});
  EXPECT_EQ(collect()[3].DuplicateOf, 1u);
  // What is measured of a device does not.
  R = request(4, {{"code", "c"}});
  R.Fresh = true;
  R.Device = E.Device;
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  EXPECT_EQ(collect()[4].DuplicateKind, Duplicate::None);
  submit(5, {{"code", "c"}});
  EXPECT_EQ(collect()[5].DuplicateOf, 1u);
}

TEST_F(FarmTest, WhatWasStoppedIsMeasuredForThoseWhoWantMore) {
  start();
  auto Submit = [&](uint64_t Id, double StopAbove, StringRef X) {
    EvaluationRequest R =
        request(Id, {{"code", "c"}, {"x", X}, {"time", 100}});
    R.StopAbove = StopAbove;
    ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  };
  Submit(0, 50, "0");
  EXPECT_TRUE(collect()[0].Stopped);
  Submit(1, 50, "1");
  EXPECT_EQ(collect()[1].DuplicateOf, 0u);
  Submit(2, 40, "2");
  EXPECT_EQ(collect()[2].DuplicateOf, 0u);
  Submit(3, 0, "2");
  Evaluation E = collect()[3];
  EXPECT_FALSE(E.Stopped);
  EXPECT_FALSE(E.DuplicateOf);
  // From now on the whole measurement counts.
  Submit(4, 40, "4");
  EXPECT_EQ(collect()[4].DuplicateOf, 3u);
}

TEST_F(FarmTest, FailuresOfTheCompilerAreResults) {
  Config.CompileTimeout = 2;
  start();
  submit(0, {{"code", "0"}, {"compile", "crash"}});
  submit(1, {{"code", "1"}, {"compile", "hang"}});
  submit(2, {{"code", "2"}, {"compile", "fatal"}});
  submit(3, {{"code", "3"}, {"compile", "abort"}});
  submit(4, {{"code", "4"}, {"compile", "invalid"}});
  submit(5, {{"code", "5"}, {"compile", "error"}});
  submit(6, {{"code", "6"}, {"compile", "garbage"}});
  submit(7, {{"code", "7"}, {"codegen", "exit"}});
  submit(8, {{"code", "8"}, {"compile", "close"}});
  submit(9, {{"code", "9"}});
  submit(10, {{"key", "bad"}});
  auto All = collect();
  ASSERT_EQ(All.size(), 11u);
  EXPECT_EQ(All[0].Failure, "CompileError");
  EXPECT_THAT(All[0].Error,
              HasSubstr("the pass pipeline died of signal 11 (Segm"));
  EXPECT_EQ(All[1].Failure, "Timeout");
  EXPECT_EQ(All[1].Error, "the pass pipeline did not end within 2 s");
  EXPECT_EQ(All[2].Failure, "CompileError");
  EXPECT_EQ(All[2].Error, "cannot select");
  EXPECT_EQ(All[3].Failure, "CompileError");
  EXPECT_THAT(All[3].Error, HasSubstr("x.cpp:1: Assertion `false' failed."));
  EXPECT_EQ(All[4].Failure, "Invalid");
  EXPECT_EQ(All[4].Error, "no such pass");
  EXPECT_EQ(All[5].Failure, "CompileError");
  EXPECT_EQ(All[5].Error, "wrong");
  EXPECT_EQ(All[6].Failure, "CompileError");
  EXPECT_EQ(All[7].Failure, "CompileError");
  EXPECT_EQ(All[7].Error, "code generation ended the process with exit code 3");
  EXPECT_EQ(All[8].Failure, "CompileError");
  EXPECT_EQ(All[9].Failure, "");
  EXPECT_EQ(All[10].Failure, "Invalid");
  EXPECT_EQ(All[10].Error, "a bad key");

  // Known by now.
  uint64_t Before = Farm->statistics().Compiles;
  submit(11, {{"code", "0"}, {"compile", "crash"}});
  submit(12, {{"code", "7"}, {"codegen", "exit"}, {"x", "x"}});
  All = collect();
  EXPECT_EQ(All[11].Failure, "CompileError");
  EXPECT_EQ(All[11].DuplicateOf, 0u);
  EXPECT_EQ(All[12].Failure, "CompileError");
  EXPECT_EQ(All[12].DuplicateOf, 7u);
  EXPECT_EQ(All[12].DuplicateKind, Duplicate::IR);
  EXPECT_EQ(Farm->statistics().Compiles, Before + 1);
}

#if !LLVM_ADDRESS_SANITIZER_BUILD
TEST_F(FarmTest, MemoryIsLimited) {
  Config.CompileMemory = uint64_t(100) << 20;
  start();
  submit(0, {{"code", "0"}, {"compile", "eat"}});
  submit(1, {{"code", "1"}});
  auto All = collect();
  EXPECT_EQ(All[0].Failure, "CompileError");
  EXPECT_THAT(All[0].Error, HasSubstr("out of memory: it may have 100 MiB"));
  EXPECT_EQ(All[1].Failure, "");
}
#endif

TEST_F(FarmTest, FailuresOfKernelsAreResults) {
  for (bool Spare : {true, false}) {
    Config.Spare = Config.OpenSpare = Spare;
    start();
    auto Submit = [&](uint64_t Id, StringRef Run, double Limit) {
      EvaluationRequest R =
          request(Id, {{"code", std::to_string(Id)}, {"run", Run}});
      R.LaunchTimeout = Limit;
      ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
    };
    Submit(0, "crash", 30);
    Submit(1, "ok", 30);
    Submit(2, "hang", 0.1);
    Submit(3, "fatal", 30);
    Submit(4, "wrong", 30);
    Submit(5, "garbage", 30);
    Submit(6, "close", 30);
    for (uint64_t I = 7; I != 16; ++I)
      Submit(I, "ok", 30);
    auto All = collect();
    ASSERT_EQ(All.size(), 16u);
    EXPECT_EQ(All[0].Failure, "Crash");
    EXPECT_THAT(All[0].Error, HasSubstr("the launch died of signal 11"));
    EXPECT_EQ(All[2].Failure, "Timeout");
    EXPECT_EQ(All[2].Error, "the launch did not end within 0.1 s");
    EXPECT_EQ(All[3].Failure, "Crash");
    EXPECT_EQ(All[3].Error, "cannot select");
    EXPECT_EQ(All[4].Failure, "Mismatch");
    EXPECT_EQ(All[5].Failure, "Crash");
    EXPECT_EQ(All[6].Failure, "Crash");
    for (uint64_t Id : {1, 7, 8, 9, 10, 11, 12, 13, 14, 15})
      EXPECT_EQ(All[Id].Failure, "") << All[Id].Error;
    EXPECT_EQ(Farm->statistics().RunnerDeaths, 5u);
    // A crash is known.
    Submit(20, "ok", 30);
    submit(21, {{"code", "0"}, {"run", "crash"}});
    All = collect();
    EXPECT_EQ(All[21].Failure, "Crash");
    EXPECT_EQ(All[21].DuplicateOf, 0u);
    EXPECT_EQ(Farm->statistics().RunnerDeaths, 5u);
  }
}

TEST_F(FarmTest, TimesThatAreNoneAreRefused) {
  start();
  submit(0, {{"code", "0"}, {"run", "nan"}});
  submit(1, {{"code", "1"}, {"run", "inf"}});
  submit(2, {{"code", "2"}, {"time", 0}});
  submit(3, {{"code", "3"}, {"time", -1}});
  submit(4, {{"code", "4"}});
  auto All = collect();
  StringRef Times[] = {"nan", "inf", "0.00", "-1.00"};
  for (auto [Id, Time] : enumerate(Times)) {
    EXPECT_EQ(All[Id].Failure, "Unsupported") << Id;
    EXPECT_EQ(
        StringRef(All[Id].Error).lower(),
        formatv("a measured time is not a positive number: '{0}'", Time).str());
    EXPECT_TRUE(All[Id].Samples.empty());
    EXPECT_TRUE(All[Id].Metrics.empty());
  }
  EXPECT_EQ(All[4].Failure, "");
  Expected<PairedEvaluation> P = Farm->comparePaired(
      {request(5, {{"code", "4"}}),
       request(6, {{"code", "6"}, {"compare", "nan"}})},
      3);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "Unsupported");
  EXPECT_EQ(Farm->statistics().RunnerDeaths, 0u);
}

TEST_F(FarmTest, WhatWasSentAheadIsNotToBlame) {
  start();
  submit(0, {{"code", "c0"}, {"run", "sleep"}});
  submit(1, {{"code", "c1"}, {"run", "spend"}});
  for (uint64_t I = 2; I != 12; ++I)
    submit(I, {{"code", "c" + std::to_string(I)}});
  for (auto &[Id, E] : collect())
    EXPECT_EQ(E.Failure, Id == 1 ? "Crash" : "") << Id;
  EXPECT_EQ(Farm->statistics().RunnerDeaths, 0u);
}

TEST_F(FarmTest, WhatSomebodyElseKilledIsDoneAgain) {
  start();
  submit(0, {{"code", "0"}, {"compile", "killed"}, {"once", once("a")}});
  submit(1, {{"code", "1"}, {"run", "killed"}, {"once", once("b")}});
  // But not for ever: it may be what eats all memory.
  submit(2, {{"code", "2"}, {"compile", "killed"}});
  submit(3, {{"code", "3"}, {"run", "killed"}});
  auto All = collect();
  EXPECT_EQ(All[0].Failure, "") << All[0].Error;
  EXPECT_EQ(All[1].Failure, "") << All[1].Error;
  EXPECT_EQ(All[2].Failure, "CompileError");
  EXPECT_THAT(All[2].Error, HasSubstr("died of signal 9"));
  EXPECT_EQ(All[3].Failure, "Crash");
  EXPECT_THAT(All[3].Error, HasSubstr("died of signal 9"));
  EXPECT_GE(Farm->statistics().Requeued, 4u);
}

TEST_F(FarmTest, DevicesThatCannotBeOpenedEndIt) {
  Backend.S->OpenFails = 100;
  start();
  submit(0, {{"code", "0"}});
  while (true) {
    Expected<std::vector<Evaluation>> R = Farm->wait(1);
    if (R) {
      EXPECT_TRUE(R->empty());
      continue;
    }
    EXPECT_THAT_ERROR(R.takeError(),
                      FailedWithMessage("no run process stays alive on fake: "
                                        "no device 'fake'"));
    break;
  }
  EXPECT_EQ(Backend.S->Opened, 3);
  EXPECT_THAT_EXPECTED(
      Farm->comparePaired({request(1, {{"code", "0"}})}, 3), Failed());
}

TEST_F(FarmTest, DevicesMayFailToOpenOnce) {
  Backend.S->OpenFails = 2;
  start();
  EXPECT_EQ(evaluate({{"code", "0"}}).Failure, "");
}

TEST_F(FarmTest, OneDeviceOfTwoMayBeGone) {
  Config.Devices = {"a", "b"};
  Backend.S->OpenFails = 3; // of the two, one may take all of these, or not
  start();
  for (uint64_t I = 0; I != 10; ++I)
    submit(I, {{"code", std::to_string(I)}});
  EXPECT_EQ(collect().size(), 10u);
}

TEST_F(FarmTest, CodeIsDroppedAndMadeAgain) {
  Config.CodeBytes = 2500; // two images
  start();
  for (unsigned Round = 0; Round != 3; ++Round)
    for (uint64_t I = 0; I != 6; ++I) {
      submit(Round * 6 + I,
             {{"code", std::to_string(I)}, {"launch", std::to_string(Round)}});
      auto All = collect();
      EXPECT_EQ(All[Round * 6 + I].Failure, "");
      EXPECT_EQ(All[Round * 6 + I].DuplicateKind, Duplicate::None);
    }
  EXPECT_EQ(Farm->statistics().Compiles, 18u);
}

TEST_F(FarmTest, Compares) {
  start();
  for (uint64_t I = 0; I != 10; ++I)
    submit(I, {{"code", std::to_string(I)}, {"run", "sleep"}});
  Expected<PairedEvaluation> P = Farm->comparePaired(
      {request(50, {{"code", "x"}, {"time", 1}}),
       request(51, {{"code", "3"}, {"run", "sleep"}, {"time", 2}}),
       request(52, {{"code", "x"}, {"time", 3}})},
      4);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Id, 50u);
  EXPECT_EQ(P->Failure, "") << P->Error;
  EXPECT_THAT(P->Samples, ElementsAre(ElementsAre(1, 1, 1, 1),
                                      ElementsAre(2, 2, 2, 2),
                                      ElementsAre(3, 3, 3, 3)));
  // The others come all the same.
  EXPECT_EQ(collect().size(), 10u);
}

TEST_F(FarmTest, ComparisonsFailAsEvaluationsDo) {
  Config.PauseCompilesToCompare = true;
  start();
  auto Compare = [&](Conf Bad) {
    Expected<PairedEvaluation> P = Farm->comparePaired(
        {request(1, {{"code", "x"}}), request(2, std::move(Bad))}, 2);
    if (P)
      return std::move(*P);
    ADD_FAILURE() << toString(P.takeError());
    return PairedEvaluation();
  };
  submit(7, {{"code", "7"}, {"compile", "sleep"}});
  EXPECT_EQ(Compare({{"code", "0"}, {"compile", "crash"}}).Failure,
            "CompileError");
  EXPECT_EQ(Compare({{"code", "1"}, {"compile", "invalid"}}).Failure,
            "Invalid");
  EXPECT_EQ(Compare({{"key", "bad"}}).Failure, "Invalid");
  EXPECT_EQ(Compare({{"code", "2"}, {"compare", "crash"}}).Failure, "Crash");
  EXPECT_EQ(Compare({{"code", "3"}, {"compare", "killed"}}).Failure, "Crash");
  EXPECT_EQ(Compare({{"code", "4"},
                     {"compare", "killed"},
                     {"once", once("c")}})
                .Failure,
            "");
  EXPECT_EQ(Compare({{"code", "5"}}).Samples.size(), 2u);
  EXPECT_EQ(collect().size(), 1u);
}

TEST_F(FarmTest, ComparisonsThatLackSamplesFail) {
  start();
  for (StringRef What : {"fewer lists", "more lists", "no lists",
                         "a short list", "an empty list", "short lists"}) {
    Expected<PairedEvaluation> P =
        Farm->comparePaired({request(1, {{"code", "x"}}),
                             request(2, {{"code", std::to_string(What.size())},
                                         {"compare", What}})},
                            3);
    ASSERT_THAT_EXPECTED(P, Succeeded());
    EXPECT_EQ(P->Failure, "Crash") << What.str();
    EXPECT_TRUE(P->Samples.empty()) << What.str();
  }
  Expected<PairedEvaluation> P =
      Farm->comparePaired({request(1, {{"code", "x"}})}, 3);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Failure, "") << P->Error;
}

TEST_F(FarmTest, ARunProcessSpeaksOnlyOfItsCandidate) {
  start();
  submit(0, {{"code", "honest"}, {"time", 100}});
  EXPECT_EQ(collect()[0].Failure, "");
  EvaluationRequest R = request(
      1,
      {{"code", "liar"}, {"run", "pretend"}, {"as", "honest"}, {"time", 100}});
  R.Fresh = true;
  ASSERT_THAT_ERROR(Farm->submit(std::move(R)), Succeeded());
  Evaluation E = collect()[1];
  EXPECT_EQ(E.CodeHash, "liar");
  EXPECT_EQ(E.DuplicateKind, Duplicate::None);
  EXPECT_FALSE(E.DuplicateOf);
  EXPECT_THAT(E.Device, Not("elsewhere"));
  EXPECT_THAT(E.Worker, Not("elsewhere"));
  EXPECT_GT(E.Started, 1);
  // The result of the other candidate is as it was.
  submit(2, {{"code", "honest"}, {"x", "1"}, {"time", 100}});
  E = collect()[2];
  EXPECT_EQ(E.DuplicateOf, 0u);
  EXPECT_THAT(E.Samples, ElementsAre(100.0));
}

TEST_F(FarmTest, ComparisonsCanBeBrokenOff) {
  for (bool Pause : {true, false}) {
    Config.PauseCompilesToCompare = Pause;
    start();
    submit(7, {{"code", "7"}, {"compile", "sleep"}});
    for (StringRef Where : {"compare", "compile"}) {
      unsigned Asked = 0;
      Expected<PairedEvaluation> P = Farm->comparePaired(
          {request(1, {{"code", "x"}}),
           request(2, {{"code", ("y" + Where).str()}, {Where, "hang"}})},
          2, [&] { return Backend.S->Running == 0 && ++Asked > 5; });
      ASSERT_THAT_EXPECTED(P, Succeeded());
      EXPECT_EQ(P->Failure, PairedEvaluation::Interrupted);
      EXPECT_EQ(P->Id, 1u);
    }
    EXPECT_EQ(collect().size(), 1u);
    Expected<PairedEvaluation> P =
        Farm->comparePaired({request(1, {{"code", "x"}})}, 2);
    ASSERT_THAT_EXPECTED(P, Succeeded());
    EXPECT_EQ(P->Failure, "") << P->Error;
    EXPECT_EQ(Farm->statistics().RunnerDeaths, 0u);
  }
}

TEST_F(FarmTest, CancelForgetsWhatIsNotBegun) {
  Config.CompileJobs = 1;
  start();
  for (uint64_t I = 0; I != 20; ++I)
    submit(I, {{"code", std::to_string(I / 2)},
               {"x", std::to_string(I % 2)},
               {"compile", "sleep"}});
  std::vector<uint64_t> Forgotten = Farm->cancel();
  EXPECT_GT(Forgotten.size(), 10u);
  auto All = collect();
  EXPECT_EQ(All.size() + Forgotten.size(), 20u);
  for (uint64_t Id : Forgotten)
    EXPECT_EQ(All.count(Id), 0u);
  // It can be asked for again.
  submit(19, {{"code", "9"}, {"x", "1"}, {"compile", "sleep"}});
  EXPECT_EQ(collect()[19].Failure, "");
}

TEST_F(FarmTest, WithdrawsOnlyWhatIsNamed) {
  Config.CompileJobs = 1;
  start();
  // Pairs of equal code: the second follows the first.
  for (uint64_t I = 0; I != 20; ++I)
    submit(I, {{"code", std::to_string(I / 2)}, {"compile", "sleep"}});
  DenseSet<uint64_t> Named = {10, 13, 14, 15, 99};
  Farm->withdraw(Named);
  auto All = collect();
  ASSERT_EQ(All.size(), 20u);
  for (auto &[Id, E] : All)
    EXPECT_EQ(E.Failure, Id == 10 || Id == 13 || Id == 14 || Id == 15
                             ? FailureKind(Evaluation::Cancelled)
                             : FailureKind())
        << Id << ": " << E.Error;
  EXPECT_EQ(Farm->statistics().Requests, 16u);
  // Cancelled code can be asked for again.
  submit(20, {{"code", "7"}, {"compile", "sleep"}});
  EXPECT_EQ(collect()[20].Failure, "");
}

TEST_F(FarmTest, RemembersWhatAnEarlierRunFound) {
  start();
  Evaluation Known;
  Known.Id = 77;
  Known.IRHash = "i";
  Known.AssemblyHash = "a";
  Known.CodeHash = "c";
  Known.Samples = {42};
  Conf Same{{"ir", "i"}, {"assembly", "a"}, {"code", "c"}};
  Farm->remember(request(77, Same), Known);
  Evaluation Crash;
  Crash.Id = 78;
  Crash.IRHash = "j";
  Crash.Failure = "CompileError";
  Crash.Error = "as before";
  Farm->remember(request(78, {{"ir", "j"}}), Crash);

  submit(0, Same);
  submit(1, {{"ir", "i"}, {"code", "c"}, {"x", "1"}});
  submit(2, {{"ir", "i2"}, {"assembly", "a2"}, {"code", "c"}});
  submit(3, {{"ir", "j"}, {"code", "j"}, {"x", "3"}});
  auto All = collect();
  for (uint64_t I = 0; I != 3; ++I) {
    EXPECT_EQ(All[I].DuplicateOf, 77u) << I;
    EXPECT_THAT(All[I].Samples, ElementsAre(42.0));
  }
  EXPECT_EQ(All[0].DuplicateKind, Duplicate::Config);
  EXPECT_EQ(All[1].DuplicateKind, Duplicate::IR);
  EXPECT_EQ(All[2].DuplicateKind, Duplicate::Code);
  EXPECT_EQ(All[3].Failure, "CompileError");
  EXPECT_EQ(All[3].Error, "as before");
  EXPECT_EQ(All[3].DuplicateOf, 78u);
  EXPECT_EQ(Farm->statistics().Runs, 0u);
  // Another launch needs the code, which nobody has.
  submit(4, {{"ir", "i"},
             {"assembly", "a"},
             {"code", "c"},
             {"launch", "other"}});
  Evaluation E = collect()[4];
  EXPECT_EQ(E.Failure, "");
  EXPECT_FALSE(E.DuplicateOf);
}

TEST_F(FarmTest, WaitsNoLongerThanItShould) {
  start();
  auto Begin = std::chrono::steady_clock::now();
  Expected<std::vector<Evaluation>> R = Farm->wait(60);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_LT(std::chrono::steady_clock::now() - Begin, std::chrono::seconds(30));
  submit(0, {{"code", "0"}, {"run", "hang"}});
  R = Farm->wait(0.01);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_TRUE(R->empty());
}

TEST_F(FarmTest, OneFarmAtATimeTimesADevice) {
  Backend.Exclusive = "gpu-test-" + std::to_string(::getpid());
  start();
  EXPECT_EQ(evaluate({{"code", "0"}}).Failure, "");
  std::vector<std::string> Said;
  Config.Message = [&](StringRef Text) { Said.push_back(Text.str()); };
  EXPECT_GT(Farm->offer(), 0u);
  std::optional<Coordinator> Second(std::in_place, Backend, Config);
  Second->start();
  EXPECT_EQ(Second->offer(), 0u);
  ASSERT_THAT_ERROR(Second->submit(request(1, {{"code", "1"}})), Succeeded());
  while (Said.empty())
    EXPECT_TRUE(cantFail(Second->wait(0.2)).empty());
  EXPECT_THAT(Said, ElementsAre("fake: in use by another program of Mneme; "
                                "waiting for it"));
  EXPECT_EQ(Second->offer(), 0u);
  // The first one goes on, with a process that takes over, too.
  EXPECT_EQ(evaluate({{"code", "2"}, {"run", "crash"}}).Failure, "Crash");
  EXPECT_EQ(evaluate({{"code", "3"}}).Failure, "");
  Farm.reset();
  std::vector<Evaluation> Done;
  while (Done.empty())
    Done = cantFail(Second->wait(1));
  EXPECT_EQ(Done.front().Failure, "");
  EXPECT_EQ(Said.size(), 1u);
  EXPECT_GT(Second->offer(), 0u);
  // Nothing must wait for a device for it to be locked.
  Coordinator Third(Backend, Config);
  Third.start();
  while (Said.size() == 1)
    EXPECT_TRUE(cantFail(Third.wait(0)).empty());
  EXPECT_EQ(Third.offer(), 0u);
  Second.reset();
  while (Third.offer() == 0)
    EXPECT_TRUE(cantFail(Third.wait(0)).empty());
  SmallString<128> File;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, File);
  sys::path::append(File, "mneme-" + Backend.Exclusive + ".lock");
  EXPECT_FALSE(sys::fs::remove(File, /*IgnoreNonExisting=*/false));
}
