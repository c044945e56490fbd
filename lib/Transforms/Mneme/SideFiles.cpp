//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideFiles.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static StringRef getExtension(SideFile Kind) {
  switch (Kind) {
  case SideFile::Payload:
    return ".payload";
  case SideFile::LaunchRules:
    return ".launches";
  case SideFile::Source:
    return ".source";
  case SideFile::Jit:
    return ".jit";
  }
  llvm_unreachable("unknown side file");
}

/// Returns $TMPDIR/mneme-<uid>, which only the user may write to: its files end
/// up in executables.
static Expected<std::string> getSideDirectory() {
  SmallString<128> Dir;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Dir);
  sys::path::append(Dir, "mneme-" + Twine(::getuid()));
  if (Error E = makeOwnFolder(Dir, /*Secret=*/true))
    return std::move(E);
  return Dir.str().str();
}

/// Returns the start time of \p Pid in clock ticks since boot, which
/// distinguishes it from other processes with the same number; empty if no such
/// process exists.
static std::string getStartTime(StringRef Pid) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Stat =
      MemoryBuffer::getFileAsStream("/proc/" + Pid + "/stat");
  if (!Stat)
    return "";
  // The second field, the program's name in parentheses, may contain any
  // character.
  StringRef Text = (*Stat)->getBuffer();
  SmallVector<StringRef, 64> Fields;
  Text.drop_front(Text.rfind(')') + 1).split(Fields, ' ', -1, false);
  constexpr size_t StartTimeField = 22 - 3;
  return Fields.size() > StartTimeField ? Fields[StartTimeField].str() : "";
}

/// Containers may share a directory while their process numbers differ.
static std::string getPidNamespace() {
  char Link[64];
  ssize_t Size = ::readlink("/proc/self/ns/pid", Link, sizeof(Link));
  StringRef Text(Link, Size > 0 ? Size : 0);
  Text.consume_front("pid:[");
  Text.consume_back("]");
  return to_integer(Text, Size) ? Text.str() : "0";
}

/// Returns "<pid namespace>-<pid>-<start time>-", the common prefix of one
/// driver invocation's file names.
static std::string getDriverPrefix() {
  std::string Pid = utostr(::getppid());
  return getPidNamespace() + "-" + Pid + "-" + getStartTime(Pid) + "-";
}

static std::string getSourcePrefix(StringRef SourceName) {
  return getDriverPrefix() + toHexString(digest64(SourceName)) + "-";
}

/// Removes files of drivers that have ended. Failures are ignored: another
/// compilation may be removing the same files.
static void collectStaleFiles(StringRef Dir) {
  std::string Namespace = getPidNamespace();
  sys::TimePoint<> Now = std::chrono::system_clock::now();
  std::error_code EC;
  for (sys::fs::directory_iterator I(Dir, EC), End; I != End && !EC;
       I.increment(EC)) {
    SmallVector<StringRef, 8> Parts;
    sys::path::filename(I->path()).split(Parts, '-');
    if (Parts.size() < 4)
      continue;
    bool IsStale;
    if (Parts[0] == Namespace) {
      IsStale = getStartTime(Parts[1]) != Parts[2];
    } else {
      // A process of another namespace cannot be looked up, but no compilation
      // takes a day.
      sys::fs::file_status Status;
      IsStale = !sys::fs::status(I->path(), Status) &&
                Now - Status.getLastModificationTime() > std::chrono::hours(24);
    }
    if (IsStale)
      sys::fs::remove(I->path());
  }
}

Error mneme::writeSideFile(StringRef SourceName, StringRef Target,
                           StringRef Contents, SideFile Kind) {
  Expected<std::string> Dir = getSideDirectory();
  if (!Dir)
    return Dir.takeError();
  collectStaleFiles(*Dir);
  SmallString<128> Path(*Dir);
  sys::path::append(Path, getSourcePrefix(SourceName) +
                              toHexString(digest64(Target)) +
                              getExtension(Kind));
  return writeToOutput(Path, [&](raw_ostream &OS) {
    OS << Contents;
    return Error::success();
  });
}

Expected<std::vector<std::string>> mneme::takeSideFiles(StringRef SourceName,
                                                        SideFile Kind) {
  Expected<std::string> Dir = getSideDirectory();
  if (!Dir)
    return Dir.takeError();
  std::string Prefix = getSourcePrefix(SourceName);
  std::vector<std::string> Paths;
  std::error_code EC;
  for (sys::fs::directory_iterator I(*Dir, EC), End; I != End && !EC;
       I.increment(EC)) {
    StringRef Name = sys::path::filename(I->path());
    if (Name.starts_with(Prefix) && Name.ends_with(getExtension(Kind)))
      Paths.push_back(I->path());
  }
  if (EC)
    return createFileError(*Dir, EC);
  llvm::sort(Paths);
  std::vector<std::string> Payloads;
  for (const std::string &Path : Paths) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> Buffer = MemoryBuffer::getFile(
        Path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!Buffer)
      return createFileError(Path, Buffer.getError());
    Payloads.push_back((*Buffer)->getBuffer().str());
    sys::fs::remove(Path);
  }
  return Payloads;
}
