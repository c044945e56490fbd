//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceLock.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Opens the file, which may be another user's, and creates it only if it does
/// not exist. Follows no link and waits for no FIFO, because all users can
/// write to the folder. Nothing is ever written to the file.
static int openLockFile(const char *Path) {
  constexpr int Flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int FD = -1;
  for (int Try = 0; Try < 2 && FD < 0; ++Try) {
    FD = ::open(Path, Flags);
    if (FD >= 0 || errno != ENOENT)
      break;
    FD = ::open(Path, Flags | O_CREAT | O_EXCL, 0644);
    if (FD < 0 && errno != EEXIST)
      break;
  }
  return FD;
}

Expected<std::optional<DeviceLock>> DeviceLock::tryLock(StringRef Name) {
  SmallString<128> Path;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Path);
  std::string File = "mneme-" + Name.str() + ".lock";
  for (char &C : File)
    if (!isAlnum(C) && C != '-' && C != '.')
      C = '_';
  sys::path::append(Path, File);
  int FD = openLockFile(Path.c_str());
  if (FD < 0)
    return createFileError(Path, errnoAsErrorCode());
  if (::flock(FD, LOCK_EX | LOCK_NB) == 0)
    return DeviceLock(FD);
  std::error_code EC = errnoAsErrorCode();
  ::close(FD);
  if (EC == std::errc::operation_would_block)
    return std::nullopt;
  return createFileError(Path, EC);
}

DeviceLock::~DeviceLock() {
  if (FD >= 0)
    ::close(FD);
}
