//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Folder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Record/PageStore.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral StagingPrefix = ".recording-";

static std::string pathIn(StringRef Dir, const Twine &File) {
  SmallString<128> Path(Dir);
  sys::path::append(Path, File);
  return std::string(Path);
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

LockedFile::~LockedFile() {
  if (FD >= 0)
    ::close(FD);
}

LockedFile LockedFile::open(const std::string &Path, int Flags,
                            int Operation) {
  LockedFile File;
  File.FD = ::open(Path.c_str(), Flags | O_CLOEXEC, 0666);
  while (File && ::flock(File.FD, Operation) != 0) {
    int Reason = errno;
    if (Reason == EINTR)
      continue;
    File = LockedFile();
    errno = Reason;
    break;
  }
  return File;
}

bool LockedFile::isLinked() const {
  struct stat S;
  return ::fstat(FD, &S) == 0 && S.st_nlink != 0;
}

Expected<LockedFile> mneme::lockFolder(StringRef Dir) {
  LockedFile Lock =
      LockedFile::open(pathIn(Dir, ".lock"), O_RDWR | O_CREAT, LOCK_EX);
  if (!Lock)
    return createFileError(Dir, errnoAsErrorCode());
  return std::move(Lock);
}

//===----------------------------------------------------------------------===//
// StagingFolder
//===----------------------------------------------------------------------===//

bool StagingFolder::isName(StringRef Name) {
  return Name.starts_with(StagingPrefix);
}

LockedFile StagingFolder::tryLock(const std::string &Path) {
  return LockedFile::open(Path, O_RDONLY | O_DIRECTORY, LOCK_EX | LOCK_NB);
}

Expected<StagingFolder> StagingFolder::create(StringRef Below) {
  while (true) {
    StagingFolder F;
    std::string Path = pathIn(Below, StagingPrefix + "XXXXXX");
    if (!::mkdtemp(Path.data()))
      return createFileError(Below, errnoAsErrorCode());
    F.Path = std::move(Path);
    F.Lock = tryLock(F.Path);
    // Before it was locked, somebody may have taken it for abandoned.
    bool IsTaken = F.Lock ? !F.Lock.isLinked()
                          : errno == EWOULDBLOCK || errno == ENOENT;
    // Without a lock: some file systems cannot lock folders.
    if (!IsTaken)
      return std::move(F);
  }
}

StagingFolder::~StagingFolder() {
  if (!Path.empty())
    sys::fs::remove_directories(Path);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string mneme::snapshotName(bool Epilogue, StringRef StaticHash,
                                StringRef DynamicHash) {
  return (Twine("DeviceState.") + (Epilogue ? "epilogue." : "prologue.") +
          StaticHash + "." + DynamicHash + ".mneme")
      .str();
}

std::string mneme::moduleName(StringRef StaticHash) {
  return ("RecordedIR_" + StaticHash + ".bc").str();
}

bool mneme::isArtifact(StringRef Name) {
  return (Name.starts_with("DeviceState.") && Name.ends_with(".mneme")) ||
         PageFile::idOf(Name) ||
         (Name.starts_with("RecordedIR_") && Name.ends_with(".bc")) ||
         (Name.starts_with(".") && Name.ends_with(".tmp") &&
          (Name.contains("RecordedIR_") || Name.contains(".json.") ||
           Name.starts_with(".Pages.")));
}
