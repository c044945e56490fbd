//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <sys/file.h>

using namespace llvm;
using namespace llvm::mneme;

TEST(Folder, OneHoldsTheLock) {
  unittest::TempDir Dir("mneme-folder", /*Unique=*/true);
  std::string Path(Dir.path(".lock"));
  auto Try = [&] {
    return bool(LockedFile::open(Path, O_RDWR, LOCK_EX | LOCK_NB));
  };
  {
    Expected<LockedFile> Lock = lockFolder(Dir.path());
    ASSERT_THAT_EXPECTED(Lock, Succeeded());
    EXPECT_FALSE(Try());
    LockedFile Moved = std::move(*Lock);
    EXPECT_FALSE(Try());
  }
  EXPECT_TRUE(Try());
  EXPECT_THAT_EXPECTED(lockFolder(Dir.path("nosuch")), Failed());
}

TEST(Folder, StagingFolderIsLockedWhileItIsThere) {
  unittest::TempDir Dir("mneme-folder", /*Unique=*/true);
  std::string Path;
  {
    StagingFolder Kept;
    EXPECT_EQ(Kept.path(), "");
    ASSERT_THAT_ERROR(StagingFolder::create(Dir.path()).moveInto(Kept),
                      Succeeded());
    Path = Kept.path();
    EXPECT_TRUE(StagingFolder::isName(sys::path::filename(Path)));
    EXPECT_TRUE(sys::fs::is_directory(Path));
    EXPECT_FALSE(StagingFolder::tryLock(Path));
  }
  EXPECT_FALSE(sys::fs::exists(Path));
  EXPECT_THAT_EXPECTED(StagingFolder::create(Dir.path("nosuch")), Failed());
}

TEST(Folder, KnowsWhatIsRemoved) {
  LockedFile Lock;
  EXPECT_FALSE(Lock);
  unittest::TempDir Dir("mneme-folder", /*Unique=*/true);
  std::string Path(Dir.path("left"));
  ASSERT_FALSE(sys::fs::create_directory(Path));
  Lock = StagingFolder::tryLock(Path);
  ASSERT_TRUE(bool(Lock));
  EXPECT_TRUE(Lock.isLinked());
  ASSERT_FALSE(sys::fs::remove(Path));
  EXPECT_FALSE(Lock.isLinked());
}

TEST(Folder, Artifacts) {
  std::string Static(32, '1'), Dynamic(16, '2');
  for (const std::string &Name :
       {snapshotName(/*Epilogue=*/false, Static, Dynamic),
        snapshotName(/*Epilogue=*/true, Static, Dynamic), moduleName(Static),
        "Pages." + Static + ".mneme",
        "." + moduleName(Static) + ".0a1b2c3d.tmp",
        "." + Static + ".json.0a1b2c3d.tmp"})
    EXPECT_TRUE(isArtifact(Name)) << Name;
  for (const char *Name : {"mine.txt", ".lock", "DeviceState.txt",
                           "Pages.1.mneme", "study.json", ".other.tmp"})
    EXPECT_FALSE(isArtifact(Name)) << Name;
}
