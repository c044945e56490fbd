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
#include <unistd.h>

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

TEST(Folder, LockIsNoLink) {
  unittest::TempDir Dir("mneme-folder", /*Unique=*/true);
  std::string Other(Dir.path("other"));
  ASSERT_EQ(::symlink(Other.c_str(), Dir.path(".lock").c_str()), 0);
  EXPECT_THAT_EXPECTED(lockFolder(Dir.path()), Failed());
  EXPECT_FALSE(sys::fs::exists(Other));
}

TEST(Folder, StagingFolders) {
  unittest::TempDir Dir("mneme-folder", /*Unique=*/true);
  Expected<PrivateFolder> Staging = createStagingFolder(Dir.path());
  ASSERT_THAT_EXPECTED(Staging, Succeeded());
  EXPECT_TRUE(isStagingFolderName(sys::path::filename(Staging->path())));
  EXPECT_FALSE(isStagingFolderName(".recording-x"));
  EXPECT_FALSE(isStagingFolderName(".recordings"));
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
