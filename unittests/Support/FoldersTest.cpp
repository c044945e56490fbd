//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {
class FoldersTest : public ::testing::Test {
protected:
  unittest::TempDir Dir{"mneme-folders", /*Unique=*/true};

  std::string path(StringRef Name) { return std::string(Dir.path(Name)); }
  std::string make(StringRef Name) {
    EXPECT_FALSE(sys::fs::create_directories(path(Name)));
    return path(Name);
  }
  std::string write(StringRef Name) {
    EXPECT_THAT_ERROR(writeFileAtomically(path(Name), "x"), Succeeded());
    return path(Name);
  }
  std::string link(StringRef To, StringRef Name) {
    EXPECT_EQ(::symlink(path(To).c_str(), path(Name).c_str()), 0);
    return path(Name);
  }
  bool exists(StringRef Name) {
    struct stat S;
    return ::lstat(path(Name).c_str(), &S) == 0;
  }
};
} // namespace

TEST_F(FoldersTest, RemovesTrees) {
  make("tree/a/b");
  write("tree/a/file");
  write("tree/a/b/file");
  EXPECT_THAT_ERROR(removeTree(path("tree")), Succeeded());
  EXPECT_FALSE(exists("tree"));
  EXPECT_THAT_ERROR(removeTree(write("file")), Succeeded());
  EXPECT_FALSE(exists("file"));
  EXPECT_THAT_ERROR(removeTree(path("none")), Succeeded());
  EXPECT_THAT_ERROR(removeTree(path("no/such/folder")), Succeeded());
}

TEST_F(FoldersTest, RemovesLinksRatherThanTheirTargets) {
  make("foreign/a");
  write("foreign/a/file");
  link("foreign", "top");
  make("tree");
  link("foreign", "tree/inner");
  link("foreign/a/file", "tree/to-file");
  link("nothing", "tree/dangling");
  EXPECT_THAT_ERROR(removeTree(path("top")), Succeeded());
  EXPECT_THAT_ERROR(removeTree(path("tree")), Succeeded());
  EXPECT_FALSE(exists("top"));
  EXPECT_FALSE(exists("tree"));
  EXPECT_TRUE(exists("foreign/a/file"));
}

TEST_F(FoldersTest, RefusesWhatIsNoName) {
  for (StringRef Path : {"", ".", "..", "/", "x/.."})
    EXPECT_THAT_ERROR(removeTree(Path), Failed()) << Path.str();
}

TEST_F(FoldersTest, RefusesEndlessNesting) {
  std::string Name = "deep";
  for (unsigned I = 0; I != 100; ++I)
    Name += "/d";
  make(Name);
  EXPECT_THAT(toString(removeTree(path("deep"))), HasSubstr("deep'"));
  EXPECT_TRUE(exists("deep"));
}

TEST_F(FoldersTest, LocksFollowNoLinks) {
  make("folder");
  write("file");
  link("folder", "to-folder");
  link("file", "to-file");
  link("none", "dangling");
  EXPECT_TRUE(bool(LockedFile::tryFolder(path("folder"))));
  EXPECT_FALSE(bool(LockedFile::tryFolder(path("to-folder"))));
  EXPECT_FALSE(bool(LockedFile::open(path("to-file"), O_RDWR, LOCK_EX)));
  EXPECT_FALSE(
      bool(LockedFile::open(path("dangling"), O_RDWR | O_CREAT, LOCK_EX)));
  EXPECT_FALSE(exists("none"));
}

TEST_F(FoldersTest, LockTellsWhetherItIsLinked) {
  LockedFile Lock;
  EXPECT_FALSE(Lock);
  std::string Path = make("folder");
  Lock = LockedFile::tryFolder(Path);
  ASSERT_TRUE(bool(Lock));
  EXPECT_TRUE(Lock.isLinked());
  EXPECT_THAT_ERROR(removeTree(Path), Succeeded());
  EXPECT_FALSE(Lock.isLinked());
}

TEST_F(FoldersTest, PrivateFolderIsLockedWhileItIsThere) {
  std::string Path;
  {
    PrivateFolder Kept;
    EXPECT_EQ(Kept.path(), "");
    ASSERT_THAT_ERROR(PrivateFolder::create(Dir.path(), "work-").moveInto(Kept),
                      Succeeded());
    Path = Kept.path();
    EXPECT_TRUE(PrivateFolder::isName(sys::path::filename(Path), "work-"));
    EXPECT_TRUE(isRealFolder(Path));
    EXPECT_FALSE(LockedFile::tryFolder(Path));
    EXPECT_THAT_ERROR(writeFileAtomically(Kept.pathOf("file"), "x"),
                      Succeeded());
  }
  EXPECT_FALSE(sys::fs::exists(Path));
  EXPECT_THAT_EXPECTED(PrivateFolder::create(path("nosuch"), "work-"),
                       Failed());
}

TEST_F(FoldersTest, Names) {
  EXPECT_TRUE(PrivateFolder::isName("work-aB3xyz", "work-"));
  EXPECT_FALSE(PrivateFolder::isName("work-aB3xy", "work-"));
  EXPECT_FALSE(PrivateFolder::isName("work-aB3xyzz", "work-"));
  EXPECT_FALSE(PrivateFolder::isName("work-aB3x.z", "work-"));
  EXPECT_FALSE(PrivateFolder::isName("wark-aB3xyz", "work-"));
}

TEST_F(FoldersTest, RemovesWhatKilledProcessesLeft) {
  Pipe Ready = cantFail(Pipe::create());
  int FD = Ready.Write.get();
  ChildOptions O;
  O.Kept = {FD};
  Child Owner = cantFail(Child::fork(
      [&] {
        Expected<PrivateFolder> F = PrivateFolder::create(Dir.path(), "work-");
        char C = F && !writeFileAtomically(F->pathOf("file"), "x") ? 'y' : 'n';
        if (::write(FD, &C, 1) == 1)
          ::pause();
      },
      O));
  char C = 0;
  ASSERT_EQ(::read(Ready.Read.get(), &C, 1), 1);
  EXPECT_EQ(C, 'y');
  make("foreign");
  write("foreign/file");
  link("foreign", "work-abcdef");
  ASSERT_EQ(::mkfifo(path("work-fifo00").c_str(), 0600), 0);
  make("other-abcdef");
  auto Count = [&] {
    unsigned Found = 0;
    std::error_code EC;
    for (sys::fs::directory_iterator It(Dir.path(), EC), End; It != End;
         It.increment(EC))
      Found += isRealFolder(It->path()) &&
               sys::path::filename(It->path()).starts_with("work-");
    return Found;
  };
  auto Remove = [&] {
    removeAbandoned(Dir.path(), [](StringRef Name) {
      return PrivateFolder::isName(Name, "work-");
    });
  };
  Remove();
  EXPECT_EQ(Count(), 1u);
  Owner.kill();
  Owner.wait();
  Remove();
  EXPECT_EQ(Count(), 0u);
  EXPECT_TRUE(exists("foreign/file"));
  EXPECT_TRUE(exists("work-abcdef"));
  EXPECT_TRUE(exists("work-fifo00"));
  EXPECT_TRUE(exists("other-abcdef"));
}

/// Of the process that ends, not of a child that has inherited its state.
TEST_F(FoldersTest, SignalsRemovePrivateFolders) {
  for (int Signal : {SIGINT, SIGTERM, SIGHUP}) {
    make("below");
    Child Owner = cantFail(Child::fork(
        [&] {
          auto Create = [&] {
            return cantFail(PrivateFolder::create(path("below"), "work-"));
          };
          PrivateFolder First = Create();
          { PrivateFolder Removed = Create(); }
          PrivateFolder Second = Create(), Moved = std::move(First);
          if (sys::fs::create_directories(Moved.pathOf("a/b")))
            ::_exit(1);
          // More than one listing takes.
          for (int I = 0; I != 300; ++I)
            cantFail(writeFileAtomically(
                Moved.pathOf("a/b/long-name-of-a-file-" + std::to_string(I)),
                "x"));
          pid_t Heir = ::fork();
          if (Heir == 0)
            ::raise(Signal);
          ::waitpid(Heir, nullptr, 0);
          if (!sys::fs::exists(Moved.pathOf("a/b")) ||
              !sys::fs::exists(Second.path()))
            ::_exit(2);
          ::raise(Signal);
          ::_exit(3);
        },
        ChildOptions()));
    int Status = Owner.wait();
    EXPECT_TRUE(WIFSIGNALED(Status)) << describeExit(Status);
    EXPECT_EQ(WTERMSIG(Status), Signal);
    // Empty.
    EXPECT_EQ(::rmdir(path("below").c_str()), 0);
  }
}

TEST_F(FoldersTest, OwnFolders) {
  auto Why = [&](StringRef Name) {
    return toString(makeOwnFolder(path(Name)));
  };
  mode_t Old = ::umask(0);
  EXPECT_EQ(Why("new/results"), "");
  ::umask(Old);
  struct stat S;
  ASSERT_EQ(::stat(path("new/results").c_str(), &S), 0);
  EXPECT_EQ(S.st_mode & 0777, 0755u);
  EXPECT_EQ(Why("new/results"), "");
  EXPECT_THAT_ERROR(makeOwnFolder(path("secret"), /*Secret=*/true),
                    Succeeded());
  ASSERT_EQ(::stat(path("secret").c_str(), &S), 0);
  EXPECT_EQ(S.st_mode & 0777, 0700u);

  link("new", "link");
  link("none", "dangling");
  write("file");
  EXPECT_THAT(Why("link"), HasSubstr("link': is a symbolic link"));
  EXPECT_THAT(Why("dangling"), HasSubstr("is a symbolic link"));
  EXPECT_FALSE(exists("none"));
  EXPECT_THAT(Why("file"), HasSubstr("file': is not a folder"));
  ASSERT_EQ(::chmod(path("secret").c_str(), 0770), 0);
  EXPECT_THAT(Why("secret"), HasSubstr("other users can write to it"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(make("theirs").c_str(), 12345, 12345), 0);
    EXPECT_THAT(Why("theirs"), HasSubstr("belongs to another user"));
  }
}
