//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

std::string mneme::pathIn(StringRef Folder, const Twine &Name) {
  SmallString<128> Path(Folder);
  sys::path::append(Path, Name);
  return std::string(Path);
}

//===----------------------------------------------------------------------===//
// Temporary files beside what is written
//===----------------------------------------------------------------------===//

static constexpr StringLiteral TemporaryMark = ".mneme-", TemporaryEnd = ".tmp";
static constexpr StringLiteral RandomPart = "%%%%%%%%";

/// \returns whether createTemporary() could have chosen \p Name.
static bool isTemporaryName(StringRef Name) {
  return Name.consume_front(".") && Name.consume_back(TemporaryEnd) &&
         Name.size() > RandomPart.size() &&
         llvm::all_of(Name.take_back(RandomPart.size()), isHexDigit) &&
         Name.drop_back(RandomPart.size()).ends_with(TemporaryMark);
}

/// Removes abandoned temporary files. Does so once per folder and process,
/// because listing a large folder takes time.
static void removeAbandonedIn(StringRef Dir) {
  static std::mutex Lock;
  static StringSet<> Done;
  {
    std::lock_guard<std::mutex> Guard(Lock);
    if (!Done.insert(Dir).second)
      return;
  }
  removeAbandoned(Dir, isTemporaryName);
}

/// Creates a file beside \p Path and locks it. Other processes do not remove it
/// while it is locked.
static Expected<sys::fs::TempFile> createTemporary(StringRef Path,
                                                   unsigned Mode) {
  // In a model, it stands for a random digit.
  if (Path.contains('%'))
    return createStringError(std::errc::invalid_argument,
                             "no '%' can be in the path of a file to write");
  StringRef Parent = sys::path::parent_path(Path);
  removeAbandonedIn(Parent.empty() ? "." : Parent);
  SmallString<128> Model(Parent);
  // The leading dot keeps leftovers of interrupted runs from being taken for
  // artifacts.
  sys::path::append(Model, "." + sys::path::filename(Path) + TemporaryMark +
                               RandomPart + TemporaryEnd);
  while (true) {
    Expected<sys::fs::TempFile> Temp = sys::fs::TempFile::create(Model, Mode);
    if (!Temp)
      return Temp.takeError();
    // Another process may have removed it as abandoned before it was locked.
    // Some file systems have no locks.
    struct stat S;
    bool IsTaken = ::flock(Temp->FD, LOCK_EX | LOCK_NB) != 0
                       ? errno == EWOULDBLOCK
                       : ::fstat(Temp->FD, &S) == 0 && S.st_nlink == 0;
    if (!IsTaken)
      return std::move(*Temp);
    consumeError(Temp->discard());
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Runs \p Write on a stream for \p FD and flushes it. \p FD stays open.
static Error writeTo(int FD, function_ref<Error(raw_ostream &)> Write) {
  raw_fd_ostream OS(FD, /*shouldClose=*/false);
  Error E = Write(OS);
  OS.flush();
  if (!E && OS.has_error())
    E = errorCodeToError(OS.error());
  OS.clear_error();
  return E;
}

/// \returns whether a rename to \p Path would replace a device, a FIFO or a
/// socket.
static bool isSpecial(StringRef Path) {
  struct stat S;
  return ::stat(Path.str().c_str(), &S) == 0 && !S_ISREG(S.st_mode) &&
         !S_ISDIR(S.st_mode);
}

/// Renames \p Temp to \p Path. TempFile::keep(Path) is not used because it
/// falls back to a copy, which follows links and writes into other users'
/// files.
static Error keepAs(sys::fs::TempFile Temp, StringRef Path) {
  if (std::error_code EC = sys::fs::rename(Temp.TmpName, Path))
    return joinErrors(errorCodeToError(EC), Temp.discard());
  return Temp.keep();
}

static Error writeAs(unsigned Mode, StringRef Path,
                     function_ref<Error(raw_ostream &)> Write, bool Sync) {
  if (isSpecial(Path)) {
    Expected<int> FD = openToWrite(Path, 0);
    if (!FD)
      return FD.takeError();
    Error E = writeTo(*FD, Write);
    ::close(*FD);
    return E ? createFileError(Path, std::move(E)) : Error::success();
  }
  Expected<sys::fs::TempFile> Temp = createTemporary(Path, Mode);
  if (!Temp)
    return createFileError(Path, Temp.takeError());
  Error E = writeTo(Temp->FD, Write);
  if (!E && Sync && ::fsync(Temp->FD) != 0)
    E = errorCodeToError(errnoAsErrorCode());
  if (!E)
    E = keepAs(std::move(*Temp), Path);
  else
    E = joinErrors(std::move(E), Temp->discard());
  return E ? createFileError(Path, std::move(E)) : Error::success();
}

Error mneme::writeFileAtomically(StringRef Path,
                                 function_ref<Error(raw_ostream &)> Write,
                                 bool Sync) {
  return writeAs(sys::fs::all_read | sys::fs::all_write, Path, Write, Sync);
}

static auto print(StringRef Text) {
  return [Text](raw_ostream &OS) {
    OS << Text;
    return Error::success();
  };
}

Error mneme::writeFileAtomically(StringRef Path, StringRef Contents,
                                 bool Sync) {
  return writeFileAtomically(Path, print(Contents), Sync);
}

Error mneme::writeScript(StringRef Path, StringRef Text) {
  return writeAs(sys::fs::all_all, Path, print(Text), /*Sync=*/true);
}

Error llvm::mneme::syncFile(StringRef Path) {
  int FD =
      ::open(Path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (FD < 0)
    return createFileError(Path, errnoAsErrorCode());
  // fsync() reports EINVAL for a file that cannot be synced.
  std::error_code EC;
  if (::fsync(FD) != 0 && errno != EINVAL)
    EC = errnoAsErrorCode();
  ::close(FD);
  return EC ? createFileError(Path, EC) : Error::success();
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Opens \p Path without waiting for the other end of a FIFO, and fills \p S.
static Expected<int> openFile(StringRef Path, int Flags, struct stat &S) {
  int FD =
      sys::RetryAfterSignal(-1, ::open, Path.str().c_str(),
                            Flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (FD < 0)
    return createFileError(Path, errnoAsErrorCode());
  if (::fstat(FD, &S) == 0)
    return FD;
  std::error_code EC = errnoAsErrorCode();
  ::close(FD);
  return createFileError(Path, EC);
}

Expected<int> mneme::openToWrite(StringRef Path, int Flags) {
  struct stat S;
  Expected<int> FD = openFile(Path, O_WRONLY | O_CREAT | Flags, S);
  // Writes to a FIFO wait for a slow reader.
  if (FD && !S_ISREG(S.st_mode))
    ::fcntl(*FD, F_SETFL, ::fcntl(*FD, F_GETFL) & ~O_NONBLOCK);
  return FD;
}

static StringRef describeType(mode_t Mode) {
  if (S_ISFIFO(Mode))
    return "a pipe";
  if (S_ISSOCK(Mode))
    return "a socket";
  return "a device";
}

Expected<int> mneme::openToRead(StringRef Path, uint64_t MaxSize) {
  struct stat S;
  Expected<int> FD = openFile(Path, O_RDONLY, S);
  if (!FD)
    return FD;
  Error E = Error::success();
  if (S_ISDIR(S.st_mode))
    E = createFileError(Path, std::make_error_code(std::errc::is_a_directory));
  else if (!S_ISREG(S.st_mode))
    E = createFileError(Path, createStringError(describeType(S.st_mode) +
                                                ", expected a regular file"));
  else if (static_cast<uint64_t>(S.st_size) > MaxSize)
    E = createFileError(
        Path, createStringError(
                  formatv("{0} bytes, expected at most {1}", S.st_size, MaxSize)
                      .str()));
  if (!E)
    return FD;
  ::close(*FD);
  return std::move(E);
}

static Expected<std::unique_ptr<MemoryBuffer>> readOpened(StringRef Path,
                                                          Expected<int> FD,
                                                          bool NullTerminated,
                                                          bool InMemory) {
  if (!FD)
    return FD.takeError();
  ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getOpenFile(
      *FD, Path, /*FileSize=*/-1, NullTerminated, /*IsVolatile=*/InMemory);
  ::close(*FD);
  if (!Buffer)
    return createFileError(Path, Buffer.getError());
  return std::move(*Buffer);
}

Expected<std::unique_ptr<MemoryBuffer>>
mneme::readFile(StringRef Path, uint64_t MaxSize, bool NullTerminated) {
  return readOpened(Path, openToRead(Path, MaxSize), NullTerminated,
                    /*InMemory=*/false);
}

Expected<std::string> mneme::findProgram(StringRef Name) {
  ErrorOr<std::string> Path = sys::findProgramByName(Name);
  if (Path)
    return *Path;
  std::string Text = ("'" + Name + "': ").str() + Path.getError().message();
  // The current folder is usually not in PATH.
  if (!Name.contains('/') && sys::fs::can_execute(Name))
    Text += ("; did you mean './" + Name + "'?").str();
  return createStringError(Text);
}

Expected<std::unique_ptr<MemoryBuffer>> mneme::readTextFile(StringRef Path) {
  return readOpened(Path, openToRead(Path, MaxTextFile),
                    /*NullTerminated=*/true, /*InMemory=*/true);
}
