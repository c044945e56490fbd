//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Jail.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using unittest::TempDir;

/// Returns what \p Body returns in a child in jail \p J.
static std::string runConfined(const Jail &J,
                               function_ref<std::string()> Body) {
  Pipe Ends = cantFail(Pipe::create());
  ChildOptions O;
  O.Kept = {Ends.Write.get()};
  O.Confined = &J;
  Child C = cantFail(
      Child::fork([&] { cantFail(writeAll(Ends.Write.get(), Body())); }, O));
  Ends.Write.reset();
  return readToEnd(Ends.Read.get());
}

static std::string tryToOpen(const std::string &Path, int Flags) {
  int FD = ::open(Path.c_str(), Flags | O_CLOEXEC, 0600);
  return FD >= 0 ? "opened" : strerror(errno);
}

TEST(JailTest, WorksHere) { EXPECT_THAT_ERROR(testJail(), Succeeded()); }

TEST(JailTest, HasNoNetworkAndNoOtherProcesses) {
  Jail J = cantFail(Jail::create({}));
  EXPECT_EQ(runConfined(J,
                        []() -> std::string {
                          for (int Family : {AF_INET, AF_INET6, AF_UNIX})
                            if (::socket(Family, SOCK_STREAM, 0) >= 0)
                              return "socket";
                          if (::kill(::getppid(), 0) == 0)
                            return "kill";
                          return "confined";
                        }),
            "confined");
}

TEST(JailTest, SeesOnlyNamedFiles) {
  TempDir Dir("jail", /*Unique=*/true);
  std::string Read = Dir.path("read").str().str(),
              Other = Dir.path("other").str().str(),
              Folder = Dir.path("folder").str().str();
  ASSERT_THAT_ERROR(writeFileAtomically(Read, "x"), Succeeded());
  ASSERT_THAT_ERROR(writeFileAtomically(Other, "x"), Succeeded());
  ASSERT_FALSE(sys::fs::create_directory(Folder));
  JailPaths Paths;
  Paths.Readable = {Read, Dir.path("missing").str().str()};
  Paths.Writable = {Folder};
  Jail J = cantFail(Jail::create(Paths));
  if (!J.confinesFiles())
    GTEST_SKIP() << "no Landlock";
  EXPECT_EQ(runConfined(J, [&] { return tryToOpen(Read, O_RDONLY); }),
            "opened");
  EXPECT_EQ(runConfined(J, [&] { return tryToOpen(Read, O_WRONLY); }),
            "Permission denied");
  EXPECT_EQ(runConfined(J, [&] { return tryToOpen(Other, O_RDONLY); }),
            "Permission denied");
  EXPECT_EQ(
      runConfined(J,
                  [&] { return tryToOpen(Folder + "/a", O_WRONLY | O_CREAT); }),
      "opened");
}

TEST(JailTest, ConfinesProgramsWithoutEnvironment) {
  Jail J = cantFail(Jail::create({}));
  Pipe Out = cantFail(Pipe::create());
  ASSERT_EQ(::setenv("MNEME_JAIL_TEST", "secret", 1), 0);
  ChildOptions O;
  O.Out = Out.Write.get();
  O.Confined = &J;
  O.OnlyEnvironment = true;
  O.Directory = "/usr";
  {
    Child C =
        cantFail(Child::spawn("/bin/sh",
                              {"/bin/sh", "-c",
                               "echo \"$MNEME_JAIL_TEST\" $PWD; kill -0 $PPID "
                               "2>/dev/null && echo killed"},
                              O));
    Out.Write.reset();
    C.wait();
  }
  EXPECT_EQ(readToEnd(Out.Read.get()), " /usr\n");
}
