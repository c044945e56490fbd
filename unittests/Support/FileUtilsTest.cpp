//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

namespace {

struct FileUtilsTest : ::testing::Test {
  SmallString<128> Dir;
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("mneme-fileutils", Dir));
  }
  void TearDown() override { sys::fs::remove_directories(Dir); }
  std::string path(StringRef Name) {
    SmallString<128> P(Dir);
    sys::path::append(P, Name);
    return P.str().str();
  }
  size_t count() {
    std::error_code EC;
    size_t N = 0;
    for (sys::fs::directory_iterator I(Dir, EC), E; I != E; I.increment(EC))
      ++N;
    return N;
  }
};

TEST_F(FileUtilsTest, WritesAndReplaces) {
  ASSERT_THAT_ERROR(writeFileAtomically(path("a"), "one"), Succeeded());
  ASSERT_THAT_ERROR(writeFileAtomically(path("a"), "two"), Succeeded());
  auto B = readFile(path("a"));
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ((*B)->getBuffer().str(), "two");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FileUtilsTest, FailureLeavesTheOldFile) {
  ASSERT_THAT_ERROR(writeFileAtomically(path("a"), "one"), Succeeded());
  Error E = writeFileAtomically(path("a"), [](raw_ostream &OS) {
    OS << "half";
    return createStringError("source ran dry");
  });
  EXPECT_EQ(toString(std::move(E)), "'" + path("a") + "': source ran dry");
  auto B = readFile(path("a"));
  ASSERT_THAT_EXPECTED(B, Succeeded());
  EXPECT_EQ((*B)->getBuffer().str(), "one");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FileUtilsTest, LinksAreReplacedRatherThanFollowed) {
  ASSERT_THAT_ERROR(writeFileAtomically(path("theirs"), "precious"),
                    Succeeded());
  ASSERT_EQ(::symlink(path("theirs").c_str(), path("link").c_str()), 0);
  ASSERT_THAT_ERROR(writeFileAtomically(path("link"), "new"), Succeeded());
  EXPECT_EQ(cantFail(readFile(path("theirs")))->getBuffer().str(), "precious");
  EXPECT_EQ(cantFail(readFile(path("link")))->getBuffer().str(), "new");
}

TEST_F(FileUtilsTest, ScriptsCanBeExecuted) {
  ASSERT_THAT_ERROR(writeScript(path("script"), "#!/bin/sh\n"), Succeeded());
  EXPECT_TRUE(sys::fs::can_execute(path("script")));
  ASSERT_THAT_ERROR(writeFileAtomically(path("text"), "x"), Succeeded());
  EXPECT_FALSE(sys::fs::can_execute(path("text")));
}

TEST_F(FileUtilsTest, OnlyRegularFilesAreRead) {
  auto Why = [](Expected<int> FD) {
    return FD ? std::to_string(::close(*FD)) : toString(FD.takeError());
  };
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(Why(openToRead(path("fifo"))),
            "'" + path("fifo") + "': a pipe, expected a regular file");
  EXPECT_EQ(Why(openToRead("/dev/zero")),
            "'/dev/zero': a device, expected a regular file");
  EXPECT_EQ(Why(openToRead(Dir)), "'" + Dir.str().str() + "': Is a directory");
  ASSERT_THAT_ERROR(writeFileAtomically(path("file"), "12345"), Succeeded());
  EXPECT_EQ(Why(openToRead(path("file"), 5)), "0");
  EXPECT_EQ(Why(openToRead(path("file"), 4)),
            "'" + path("file") + "': 5 bytes, expected at most 4");
  ASSERT_EQ(::truncate(path("file").c_str(), MaxTextFile + 1), 0);
  EXPECT_THAT_EXPECTED(readTextFile(path("file")), Failed());
  EXPECT_THAT_EXPECTED(readFile(path("file")), Succeeded());
}

TEST_F(FileUtilsTest, DevicesAndFifosAreWrittenTo) {
  EXPECT_THAT_ERROR(writeFileAtomically("/dev/null", "x"), Succeeded());
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  // There is no other end.
  EXPECT_THAT_ERROR(writeFileAtomically(path("fifo"), "x"), Failed());
  int Reader = ::open(path("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_THAT_ERROR(writeFileAtomically(path("fifo"), "x"), Succeeded());
  char C = 0;
  EXPECT_EQ(::read(Reader, &C, 1), 1);
  EXPECT_EQ(C, 'x');
  ::close(Reader);
  EXPECT_EQ(count(), 1u);
}

/// Writes a file in a process of its own, which waits in the middle of it until
/// it is killed.
static Child writeForever(const std::string &Path) {
  Pipe Ready = cantFail(Pipe::create());
  int FD = Ready.Write.get();
  ChildOptions O;
  O.Kept = {FD};
  Child Writer = cantFail(Child::fork(
      [&] {
        consumeError(writeFileAtomically(Path, [&](raw_ostream &) {
          (void)!::write(FD, "x", 1);
          ::pause();
          return Error::success();
        }));
      },
      O));
  char C;
  EXPECT_EQ(::read(Ready.Read.get(), &C, 1), 1);
  return Writer;
}

TEST_F(FileUtilsTest, RemovesWhatKilledWritersLeft) {
  // Each process looks once.
  auto WriteInProcess = [&](const std::string &Path) {
    Child Writer = cantFail(
        Child::fork([&] { ::_exit(writeFileAtomically(Path, "x") ? 1 : 0); },
                    ChildOptions()));
    EXPECT_EQ(Writer.wait(), 0);
  };
  Child Writer = writeForever(path("report.html"));
  // A user's own.
  WriteInProcess(path(".mine.0a1b2c3d.tmp"));
  EXPECT_EQ(count(), 2u);
  WriteInProcess(path("other"));
  EXPECT_EQ(count(), 3u); // it is in use
  Writer.kill();
  Writer.wait();
  EXPECT_EQ(count(), 3u);
  WriteInProcess(path("other"));
  EXPECT_EQ(count(), 2u);
  EXPECT_FALSE(sys::fs::exists(path("report.html")));
}

TEST_F(FileUtilsTest, APercentSignIsRefused) {
  Error E = writeFileAtomically(path("50%"), "x");
  EXPECT_NE(toString(std::move(E)).find("50%': no '%' can be in the path"),
            std::string::npos);
}

TEST_F(FileUtilsTest, ErrorsNameTheFile) {
  Error E = writeFileAtomically(path("no/such/file"), "x");
  EXPECT_NE(toString(std::move(E)).find("no/such/file"), std::string::npos);
  auto B = readFile(path("absent"));
  ASSERT_FALSE(bool(B));
  EXPECT_NE(toString(B.takeError()).find("absent"), std::string::npos);
}

} // namespace
