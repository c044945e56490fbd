//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Folders.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/BlockedSignals.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace llvm::mneme;

/// Maximum depth of a folder tree to remove. Each level holds a file descriptor
/// while it is removed.
static constexpr unsigned MaxDepth = 64;

/// Parts of the names that PrivateFolder::create() is called with.
static constexpr StringLiteral MkdtempPart = "XXXXXX";
static constexpr StringLiteral TemporaryPrefix = "mneme-run-";

static constexpr int OpenFolderFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

namespace {
/// Closes a file at the end of the scope.
struct ClosedAtEnd {
  const int FD;
  ~ClosedAtEnd() { ::close(FD); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Removing
//===----------------------------------------------------------------------===//

/// Lists the names in an open folder and closes \p FD.
static std::error_code listFolder(int FD, std::vector<std::string> &Names) {
  DIR *Dir = ::fdopendir(FD);
  if (!Dir) {
    std::error_code EC = errnoAsErrorCode();
    ::close(FD);
    return EC;
  }
  std::unique_ptr<DIR, int (*)(DIR *)> Close(Dir, ::closedir);
  errno = 0;
  while (const dirent *Entry = ::readdir(Dir)) {
    StringRef Name = Entry->d_name;
    if (Name != "." && Name != "..")
      Names.push_back(Name.str());
    errno = 0;
  }
  return errno ? errnoAsErrorCode() : std::error_code();
}

static std::error_code removeAt(int Dir, const char *Name, unsigned Depth = 0);

/// Removes what one listing of a folder has. \returns false if it is empty, or
/// nothing in it could be removed.
static bool removeContents(int FD, unsigned Depth, std::error_code &EC) {
  struct KernelEntry {
    uint64_t Inode, Offset;
    uint16_t Size;
    uint8_t Type;
    char Name[];
  };
  alignas(KernelEntry) char Buffer[4096];
  bool HasRemoved = false;
  EC = {};
  ::lseek(FD, 0, SEEK_SET);
  while (true) {
    long Bytes = ::syscall(SYS_getdents64, FD, Buffer, sizeof(Buffer));
    if (Bytes < 0)
      EC = errnoAsErrorCode();
    if (Bytes <= 0)
      return HasRemoved;
    for (long At = 0; At < Bytes;) {
      auto *Entry = reinterpret_cast<KernelEntry *>(Buffer + At);
      At += Entry->Size;
      StringRef Name = Entry->Name;
      if (Name == "." || Name == "..")
        continue;
      if (std::error_code Failed = removeAt(FD, Entry->Name, Depth + 1))
        EC = Failed;
      else
        HasRemoved = true;
    }
  }
}

/// Makes nothing but system calls: a signal handler uses it.
static std::error_code removeAt(int Dir, const char *Name, unsigned Depth) {
  auto IsGone = [] { return errno == ENOENT; };
  if (::unlinkat(Dir, Name, 0) == 0 || IsGone())
    return {};
  // POSIX specifies EPERM for folders. EPERM also means that a file must not be
  // removed.
  std::error_code EC = errnoAsErrorCode();
  if (errno != EISDIR && errno != EPERM)
    return EC;
  int FD = ::openat(Dir, Name, OpenFolderFlags);
  if (FD < 0)
    return errno == ENOTDIR || errno == ELOOP ? EC : errnoAsErrorCode();
  ClosedAtEnd Close{FD};
  if (Depth == MaxDepth)
    return std::make_error_code(std::errc::filename_too_long);
  // A listing may lack entries if others are removed meanwhile.
  while (removeContents(FD, Depth, EC))
    ;
  if (EC || ::unlinkat(Dir, Name, AT_REMOVEDIR) == 0 || IsGone())
    return EC;
  return errnoAsErrorCode();
}

Error mneme::removeTree(StringRef Path) {
  StringRef Name = sys::path::filename(Path);
  StringRef Parent = sys::path::parent_path(Path);
  if (Name == "." || Name == ".." || Name == "/" || Name.empty())
    return createFileError(Path,
                           std::make_error_code(std::errc::invalid_argument));
  std::string In = Parent.empty() ? "." : Parent.str();
  int Dir = ::open(In.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (Dir < 0)
    return errno == ENOENT ? Error::success()
                           : createFileError(Path, errnoAsErrorCode());
  std::error_code EC = removeAt(Dir, Name.str().c_str());
  ::close(Dir);
  return EC ? createFileError(Path, EC) : Error::success();
}

bool mneme::isRealFolder(StringRef Path) {
  struct stat S;
  return ::lstat(Path.str().c_str(), &S) == 0 && S_ISDIR(S.st_mode);
}

//===----------------------------------------------------------------------===//
// Locks
//===----------------------------------------------------------------------===//

LockedFile::~LockedFile() {
  if (FD >= 0)
    ::close(FD);
}

LockedFile LockedFile::open(const std::string &Path, int Flags, int Operation) {
  LockedFile File;
  File.FD =
      ::open(Path.c_str(),
             Flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
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

LockedFile LockedFile::tryFolder(const std::string &Path) {
  return open(Path, O_RDONLY | O_DIRECTORY, LOCK_EX | LOCK_NB);
}

Expected<LockedFile> LockedFile::wait(const std::string &Path) {
  LockedFile File = open(Path, O_RDWR | O_CREAT, LOCK_EX);
  if (File)
    return std::move(File);
  if (errno == ELOOP)
    return createFileError(
        Path, createStringError("is a symbolic link, which could lock a file "
                                "of another user: remove it"));
  std::error_code EC = errnoAsErrorCode();
  // If the file does not exist, the folder does not allow creating it.
  StringRef Folder = sys::path::parent_path(Path);
  return createFileError(
      Folder.empty() || sys::fs::exists(Path) ? StringRef(Path) : Folder, EC);
}

bool LockedFile::isLinked() const {
  struct stat S;
  return ::fstat(FD, &S) == 0 && S.st_nlink != 0;
}

/// Removes a file or folder that this user owns and that is not locked.
static void removeIfAbandoned(int Dir, const std::string &Name) {
  int FD = ::openat(Dir, Name.c_str(),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (FD < 0)
    return;
  ClosedAtEnd Close{FD};
  struct stat Locked, Named;
  bool IsOurs = ::fstat(FD, &Locked) == 0 && Locked.st_uid == ::geteuid() &&
                (S_ISREG(Locked.st_mode) || S_ISDIR(Locked.st_mode));
  // The owner may have renamed it before it was locked here.
  if (IsOurs && ::flock(FD, LOCK_EX | LOCK_NB) == 0 &&
      ::fstatat(Dir, Name.c_str(), &Named, AT_SYMLINK_NOFOLLOW) == 0 &&
      Named.st_dev == Locked.st_dev && Named.st_ino == Locked.st_ino)
    removeAt(Dir, Name.c_str());
}

void mneme::removeAbandoned(StringRef Dir,
                            function_ref<bool(StringRef Name)> IsName) {
  int FD = ::open(Dir.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (FD < 0)
    return;
  ClosedAtEnd Close{FD};
  std::vector<std::string> Names;
  listFolder(::fcntl(FD, F_DUPFD_CLOEXEC, 0), Names);
  for (const std::string &Name : Names)
    if (IsName(Name))
      removeIfAbandoned(FD, Name);
}

//===----------------------------------------------------------------------===//
// PrivateFolder
//===----------------------------------------------------------------------===//

bool PrivateFolder::isName(StringRef Name, StringRef Prefix) {
  return Name.consume_front(Prefix) && Name.size() == MkdtempPart.size() &&
         llvm::all_of(Name, isAlnum);
}

/// The folders of this process, for the signal handler. Its elements are never
/// freed, but used again: a handler may run at any moment, in any thread.
struct PrivateFolder::Registered {
  std::atomic<bool> IsUsed{true};
  /// Null if there is no folder, or a thread has taken it to remove it.
  std::atomic<char *> Path{nullptr};
  pid_t Owner = 0;                   ///< Not a child that has inherited this.
  Registered *Next = nullptr;

  static std::atomic<Registered *> First;

  static Registered *get();
  void set(const std::string &TheFolder) {
    Owner = ::getpid();
    Path = ::strdup(TheFolder.c_str());
  }
  void reset() {
    std::free(Path.exchange(nullptr));
    IsUsed = false;
  }
};

std::atomic<PrivateFolder::Registered *> PrivateFolder::Registered::First;

PrivateFolder::Registered *PrivateFolder::Registered::get() {
  for (Registered *R = First; R; R = R->Next)
    if (!R->IsUsed.exchange(true))
      return R;
  auto *New = new Registered;
  New->Next = First;
  while (!First.compare_exchange_weak(New->Next, New))
    ;
  return New;
}

/// The signals that end a tool, and their dispositions before ours.
static constexpr int EndSignals[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction Before[std::size(EndSignals)];

/// Makes nothing but system calls.
void PrivateFolder::removeAll() {
  for (Registered *R = Registered::First; R; R = R->Next)
    if (R->Owner == ::getpid())
      if (char *Path = R->Path.exchange(nullptr))
        removeAt(AT_FDCWD, Path);
}

static void endBySignal(int Signal) {
  PrivateFolder::removeAll();
  for (auto [S, Old] : zip_equal(EndSignals, Before))
    if (S == Signal)
      ::sigaction(S, &Old, nullptr);
  // It is delivered when this handler returns.
  ::raise(Signal);
}

void PrivateFolder::removeOnSignals() {
  for (auto [S, Old] : zip_equal(EndSignals, Before)) {
    struct sigaction Now, New = {};
    if (::sigaction(S, nullptr, &Now) != 0 || Now.sa_handler == SIG_IGN ||
        Now.sa_handler == endBySignal)
      continue;
    Old = Now;
    New.sa_handler = endBySignal;
    ::sigaction(S, &New, nullptr);
  }
}

Expected<PrivateFolder> PrivateFolder::create(StringRef Below,
                                              StringRef Prefix) {
  // No signal may end the process between the creation and the registration.
  BlockedSignals Blocked;
  while (true) {
    PrivateFolder F;
    std::string Path = pathIn(Below, Prefix + MkdtempPart);
    if (!::mkdtemp(Path.data()))
      return createFileError(Below, errnoAsErrorCode());
    F.Path = std::move(Path);
    F.Entry = Registered::get();
    F.Entry->set(F.Path);
    F.Lock = LockedFile::tryFolder(F.Path);
    // Another process may have removed it as abandoned before it was locked.
    bool IsTaken =
        F.Lock ? !F.Lock.isLinked() : errno == EWOULDBLOCK || errno == ENOENT;
    // Some file systems cannot lock folders: go on without a lock.
    if (!IsTaken)
      return std::move(F);
  }
}

static void removeTemporaryIn(StringRef Base) {
  removeAbandoned(Base, [](StringRef Name) {
    return PrivateFolder::isName(Name, TemporaryPrefix);
  });
}

void PrivateFolder::removeAbandonedTemporary() {
  SmallString<64> Base;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Base);
  removeTemporaryIn(Base);
}

Expected<PrivateFolder> PrivateFolder::createTemporary(bool ForSockets) {
  // The path of a Unix socket has at most 107 characters.
  constexpr size_t MaxBase = 64;
  SmallString<MaxBase> Base;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Base);
  if (ForSockets &&
      (Base.size() > MaxBase || Base.find_first_of(" :") != StringRef::npos))
    Base = "/tmp";
  static std::once_flag Cleaned; // slow in a large folder
  std::call_once(Cleaned, [&] { removeTemporaryIn(Base); });
  return create(Base, TemporaryPrefix);
}

PrivateFolder::~PrivateFolder() {
  if (Path.empty())
    return;
  consumeError(removeTree(Path));
  Entry->reset();
}

std::string PrivateFolder::pathOf(StringRef Name) const {
  return pathIn(Path, Name);
}

//===----------------------------------------------------------------------===//
// Folders of results
//===----------------------------------------------------------------------===//

Error mneme::makeOwnFolder(StringRef Dir, bool Secret) {
  // Not group-writable, whatever the umask.
  auto Permissions = static_cast<sys::fs::perms>(Secret ? 0700 : 0755);
  struct stat S;
  std::string Path = Dir.str();
  // Unlike stat(), lstat() finds dangling symbolic links.
  if (::lstat(Path.c_str(), &S) != 0) {
    if (std::error_code EC = sys::fs::create_directories(
            Dir, /*IgnoreExisting=*/true, Permissions))
      return createFileError(Dir, EC);
    if (::lstat(Path.c_str(), &S) != 0)
      return createFileError(Dir, errnoAsErrorCode());
  }
  auto Refuse = [&](StringRef Why) {
    return createFileError(
        Dir, createStringError(Why + ": remove it, or name another folder"));
  };
  if (S_ISLNK(S.st_mode))
    return Refuse("is a symbolic link");
  if (!S_ISDIR(S.st_mode))
    return Refuse("is not a folder");
  if (S.st_uid != ::geteuid())
    return Refuse("belongs to another user");
  if (S.st_mode & (S_IWGRP | S_IWOTH))
    return Refuse("other users can write to it");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The user's folders
//===----------------------------------------------------------------------===//

std::optional<std::string> mneme::getUserFolder(StringRef Variable) {
  std::optional<std::string> Folder = sys::Process::GetEnv(Variable);
  return Folder && sys::path::is_absolute(*Folder) ? Folder : std::nullopt;
}

std::string mneme::getDefaultCacheDir() {
  if (std::optional<std::string> Folder = getUserFolder("XDG_CACHE_HOME"))
    return pathIn(*Folder, "mneme");
  SmallString<128> Temporary;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Temporary);
  return pathIn(Temporary, "mneme-" + std::to_string(::getuid()));
}
