//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptunaLog.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// The size of a read, and the longest line: that of a trial with a million
/// samples.
static constexpr uint64_t ReadSize = 4 << 20, MaxLine = 64 << 20;

OptunaFile::OptunaFile(StringRef Path, int FD, JournalOptions O)
    : Path(Path), LockPath((Path + ".lock").str()), FD(FD), O(O),
      LastSync(steadySeconds()) {}

OptunaFile::~OptunaFile() { ::close(FD); }

Error OptunaFile::fail(std::error_code EC) const {
  return createFileError(Path, EC);
}

Error OptunaFile::fail(const Twine &Message) const {
  return createFileError(Path, createStringError(Message));
}

Expected<std::unique_ptr<OptunaFile>>
OptunaFile::open(StringRef Path, bool Create, JournalOptions O) {
  // Do not follow a link to create a journal. When a study resumes, the journal
  // may be a link of the user.
  int FD =
      sys::RetryAfterSignal(-1, ::open, Path.str().c_str(),
                            O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK |
                                O_NOCTTY | (Create ? O_CREAT | O_NOFOLLOW : 0),
                            0666);
  if (FD < 0)
    return createFileError(Path, errnoAsErrorCode());
  std::unique_ptr<OptunaFile> File(new OptunaFile(Path, FD, O));
  struct stat S;
  if (::fstat(FD, &S) != 0)
    return createFileError(Path, errnoAsErrorCode());
  if (!S_ISREG(S.st_mode))
    return File->fail("not a regular file");
  if (static_cast<uint64_t>(S.st_size) > MaxJournalFile)
    return File->fail(Twine(S.st_size) + " bytes, expected at most " +
                      Twine(MaxJournalFile));
  if (std::error_code EC = sys::fs::real_path(Path, File->LockTarget))
    return createFileError(Path, EC);
  // Some file systems have no such locks; ignore that.
  if (::flock(FD, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return File->fail("in use by another llvm-mneme-tune");
  return std::move(File);
}

//===----------------------------------------------------------------------===//
// Optuna's lock: a symbolic link next to the file
//===----------------------------------------------------------------------===//

/// Takes over the stale lock \p Stale. Returns false if another process has
/// released or broken it first.
bool OptunaFile::breakLock(const struct stat &Stale) {
  std::string Own = LockPath + utostr(::getpid()) + ".rename";
  ::unlink(Own.c_str());
  if (::symlink(LockTarget.c_str(), Own.c_str()) != 0)
    return false;
  scope_exit Remove([&] { ::unlink(Own.c_str()); });
  // By now, the lock may be a fresh one of another process that has broken the
  // stale one. An exchange never leaves a gap in which a third process could
  // lock, not even when it is undone.
  auto Rename = [&](unsigned Flags) {
    return ::renameat2(AT_FDCWD, Own.c_str(), AT_FDCWD, LockPath.c_str(),
                       Flags) == 0;
  };
  // Renaming changes the ctime.
  auto IsStale = [&] {
    struct stat Old;
    return ::lstat(Own.c_str(), &Old) == 0 && Old.st_ino == Stale.st_ino &&
           Old.st_mtim.tv_sec == Stale.st_mtim.tv_sec &&
           Old.st_mtim.tv_nsec == Stale.st_mtim.tv_nsec;
  };
  if (Rename(RENAME_EXCHANGE)) {
    if (IsStale())
      return true;
    // This fails if the other process has released its lock, which is fine.
    Rename(RENAME_EXCHANGE);
    return false;
  }
  // NFS cannot exchange files.
  if ((errno == EINVAL || errno == ENOSYS) &&
      ::rename(LockPath.c_str(), Own.c_str()) == 0 && !IsStale())
    (void)!::link(Own.c_str(), LockPath.c_str());
  return false;
}

Error OptunaFile::lock() {
  double Begin = steadySeconds(), SeenSince = Begin;
  struct stat Seen = {};
  std::chrono::milliseconds Pause(1);
  while (::symlink(LockTarget.c_str(), LockPath.c_str()) != 0) {
    if (errno != EEXIST)
      return createFileError(LockPath, errnoAsErrorCode());
    struct stat Lock;
    if (::lstat(LockPath.c_str(), &Lock) != 0)
      continue; // The lock has just been released.
    if (Lock.st_ino != Seen.st_ino ||
        Lock.st_ctim.tv_sec != Seen.st_ctim.tv_sec ||
        Lock.st_ctim.tv_nsec != Seen.st_ctim.tv_nsec) {
      Seen = Lock;
      SeenSince = steadySeconds();
      Pause = std::chrono::milliseconds(1);
    } else if (steadySeconds() - SeenSince > O.StaleLock) {
      if (breakLock(Seen))
        break;
      continue;
    }
    if (steadySeconds() - Begin > O.LockTimeout)
      return fail("another program has kept '" + LockPath + "' for " +
                  Twine(static_cast<unsigned>(O.LockTimeout)) + " s");
    std::this_thread::sleep_for(Pause);
    Pause = std::min(Pause * 2, std::chrono::milliseconds(200));
  }
  return Error::success();
}

void OptunaFile::unlock() { ::unlink(LockPath.c_str()); }

//===----------------------------------------------------------------------===//
// Reading and appending
//===----------------------------------------------------------------------===//

Error mneme::damagedLine(StringRef Path, uint64_t Line, const Twine &Message) {
  return createStringError(Path + ":" + Twine(Line) + ": damaged line: " +
                           Message + "; --repair leaves it out");
}

Error OptunaFile::apply(StringRef Lines, LineFn Apply) {
  size_t End;
  while ((End = Lines.find('\n')) != StringRef::npos) {
    ++Line;
    Offset += End + 1;
    if (Error E = Apply(Lines.take_front(End)))
      return damagedLine(Path, Line, toString(std::move(E)));
    Lines = Lines.drop_front(End + 1);
  }
  return Error::success();
}

Error OptunaFile::read(LineFn Apply) {
  struct stat Stat;
  if (::fstat(FD, &Stat) != 0)
    return fail(errnoAsErrorCode());
  auto Size = static_cast<uint64_t>(Stat.st_size);
  if (Size < Offset)
    return fail("the journal was truncated by another process");
  // Text is the part of the file that starts at Offset, which apply() advances.
  std::string Text;
  for (uint64_t At = Offset; At < Size;) {
    size_t Kept = Text.size();
    if (Kept > MaxLine)
      return damagedLine(Path, Line + 1,
                         "more than " + Twine(MaxLine) + " bytes");
    Text.resize(Kept + std::min<uint64_t>(Size - At, ReadSize));
    ssize_t N = sys::RetryAfterSignal(-1, ::pread, FD, &Text[Kept],
                                      Text.size() - Kept, At);
    if (N < 0)
      return fail(errnoAsErrorCode());
    Text.resize(Kept + N);
    if (N == 0)
      break;
    At += N;
    if (Error E = apply(Text, Apply))
      return E;
    Text.erase(0, Text.size() - (At - Offset));
  }
  return Error::success();
}

/// Drops an incomplete last line. The file must be locked.
Error OptunaFile::dropTail() {
  struct stat Stat;
  if (::fstat(FD, &Stat) != 0)
    return fail(errnoAsErrorCode());
  uint64_t Tail = Stat.st_size - Offset;
  if (!Tail)
    return Error::success();
  if (::ftruncate(FD, Offset) != 0)
    return fail(errnoAsErrorCode());
  Dropped += Tail;
  return Error::success();
}

/// Writes all of \p Text or nothing.
Error OptunaFile::write(StringRef Text) {
  size_t Put = 0;
  while (Put < Text.size()) {
    ssize_t N = ::write(FD, Text.data() + Put, Text.size() - Put);
    if (N < 0 && errno == EINTR)
      continue;
    if (N <= 0) {
      std::error_code EC = errnoAsErrorCode();
      if (Put && ::ftruncate(FD, Offset) != 0)
        return joinErrors(fail(EC), fail(errnoAsErrorCode()));
      return fail(EC);
    }
    Put += N;
  }
  return Error::success();
}

Error OptunaFile::append(LineFn Apply, LineFn ApplyOwn,
                         function_ref<Expected<std::string>()> Make) {
  if (Error E = lock())
    return E;
  scope_exit Unlock([&] { unlock(); });
  if (Error E = read(Apply))
    return E;
  if (Error E = dropTail())
    return E;
  Expected<std::string> Text = Make();
  if (!Text)
    return Text.takeError();
  if (Text->empty())
    return Error::success();
  if (Error E = write(*Text))
    return E;
  if (Error E = apply(*Text, ApplyOwn))
    return E;
  return steadySeconds() - LastSync > O.SyncInterval ? sync()
                                                     : Error::success();
}

Error OptunaFile::sync() {
  LastSync = steadySeconds();
  // EINVAL: the file system does not support fsync().
  if (::fsync(FD) != 0 && errno != EINVAL)
    return fail(errnoAsErrorCode());
  return Error::success();
}
