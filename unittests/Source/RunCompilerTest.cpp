//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Runtime/WarmStart.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using unittest::TempDir;

namespace {
class WarmProgramTest : public testing::Test {
protected:
  WarmProgram start(const std::string &Library = MNEME_TEST_WARM) {
    return cantFail(WarmProgram::start("/bin/cat", Library, {}));
  }
  std::string file(StringRef Name, StringRef Contents) {
    std::string Path(Folder.path(Name));
    cantFail(writeFileAtomically(Path, Contents, /*Sync=*/false));
    return Path;
  }
  /// \returns what the run wrote, or nothing if it does not run.
  std::optional<std::string> run(int Socket, ArrayRef<std::string> Words,
                                 const WarmStop &Stop = {}) {
    std::string Path(Folder.path("out"));
    CompilerSetup Setup;
    Descriptor Out(
        ::open(Path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    Setup.Out = Out.get();
    std::optional<CompilerRun> Run = runWarm(Socket, Words, Setup, Stop);
    if (!Run)
      return std::nullopt;
    Messages = Run->Messages;
    Status = Run->Status;
    Lookups = Run->Lookups;
    return cantFail(readFile(Path))->getBuffer().str();
  }
  /// A file that a run stops at.
  WarmStop stop(StringRef Contents, int Copy = -1) {
    WarmStop Stop;
    Stop.Path = file("rest", "");
    Stop.Contents = Contents.str();
    Stop.Copy = Copy;
    return Stop;
  }

  TempDir Folder{"warm", /*Unique=*/true};
  std::string Messages, Lookups;
  int Status = 0;
};
} // namespace

TEST_F(WarmProgramTest, RunsAgain) {
  WarmProgram P = start();
  std::string A = file("a", "first"), B = file("b", "second");
  EXPECT_EQ(run(P.socket(), {"cat", A}), "first");
  EXPECT_EQ(run(P.socket(), {"cat", B, A}), "secondfirst");
  EXPECT_EQ(Status, 0);
  EXPECT_FALSE(P.hasEnded());
}

TEST_F(WarmProgramTest, ReportsFailures) {
  WarmProgram P = start();
  EXPECT_EQ(run(P.socket(), {"cat", std::string(Folder.path("none"))}), "");
  EXPECT_EQ(WEXITSTATUS(Status), 1);
  EXPECT_NE(Messages.find("No such file"), std::string::npos) << Messages;
}

TEST_F(WarmProgramTest, GoesOnFromCopies) {
  WarmProgram P = start();
  std::string A = file("a", "before "), B = file("b", " after");
  Pipe Ends = cantFail(createWarmSocket());
  WarmStop Stop = stop("1", Ends.Read.get());
  EXPECT_EQ(run(P.socket(), {"cat", A, Stop.Path, B}, Stop), "before 1 after");
  Ends.Read.reset();
  EXPECT_FALSE(hasWarmEnded(Ends.Write.get()));
  // What came before the file is done.
  EXPECT_EQ(run(Ends.Write.get(), {}, stop("2")), "2 after");
  EXPECT_EQ(run(Ends.Write.get(), {}, stop("3")), "3 after");
}

TEST_F(WarmProgramTest, NotesLookups) {
  WarmProgram P = start();
  auto Noted = [](char What, const std::string &Path) {
    struct stat S;
    return What +
           (::stat(Path.c_str(), &S) ? std::string() : mnemeFileIdentity(S)) +
           ':' + Path + '\0';
  };
  std::string A = file("a", "a"), B = file("b", "b"), None(Folder.path("none"));
  Pipe Ends = cantFail(createWarmSocket());
  WarmStop Stop = stop("1", Ends.Read.get());
  run(P.socket(), {"cat", A, None, Stop.Path, B}, Stop);
  std::string Before = Noted('+', A) + Noted('-', None);
  EXPECT_EQ(Lookups, Before + Noted('+', B));
  // Those of the run that left the copy are its own, too.
  run(Ends.Write.get(), {}, stop("2"));
  EXPECT_EQ(Lookups, Before + Noted('+', B));
  run(P.socket(), {"cat", B});
  EXPECT_EQ(Lookups, Noted('+', B));
}

TEST_F(WarmProgramTest, StopsWithoutCopy) {
  WarmProgram P = start();
  WarmStop Stop = stop("contents");
  EXPECT_EQ(run(P.socket(), {"cat", Stop.Path}, Stop), "contents");
}

TEST_F(WarmProgramTest, NoCopyIfItStopsNowhere) {
  WarmProgram P = start();
  Pipe Ends = cantFail(createWarmSocket());
  EXPECT_EQ(
      run(P.socket(), {"cat", file("a", "a")}, stop("1", Ends.Read.get())),
      "a");
  Ends.Read.reset();
  EXPECT_TRUE(hasWarmEnded(Ends.Write.get()));
  EXPECT_EQ(run(Ends.Write.get(), {}, stop("2")), std::nullopt);
}

TEST_F(WarmProgramTest, EndsWithoutLibrary) {
  WarmProgram P = start("/nowhere/libmneme_warm.so");
  EXPECT_EQ(run(P.socket(), {"cat", file("a", "a")}), std::nullopt);
  EXPECT_TRUE(P.hasEnded());
}

TEST_F(WarmProgramTest, RefusesLongRequests) {
  WarmProgram P = start();
  EXPECT_EQ(run(P.socket(), {"cat", std::string(1 << 20, 'a')}), std::nullopt);
  EXPECT_EQ(run(P.socket(), {"cat", file("a", "a")}), "a");
}

TEST_F(WarmProgramTest, RunsEndWithThoseWhoAsk) {
  WarmProgram P = start();
  std::string Fifo(Folder.path("fifo"));
  ASSERT_EQ(::mkfifo(Fifo.c_str(), 0600), 0);
  {
    ChildTask Asks =
        cantFail(ChildTask::startWith("the one who asks",
                                      [&]() -> Expected<std::string> {
                                        run(P.socket(), {"cat", Fifo});
                                        return "";
                                      },
                                      {}, {P.socket()}));
    // The run is at the file.
    Descriptor Write(::open(Fifo.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(Write);
    // It ends with the task, although there may be more to read.
    int FD = Write.release();
    Asks = cantFail(ChildTask::start(
        "nothing", []() -> Expected<std::string> { return ""; }));
    ::signal(SIGPIPE, SIG_IGN);
    while (::write(FD, "a", 1) == 1)
      ::usleep(1000);
    EXPECT_EQ(errno, EPIPE);
    ::close(FD);
  }
  EXPECT_EQ(run(P.socket(), {"cat", file("a", "a")}), "a");
}
