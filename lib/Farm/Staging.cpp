//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Record/PageStore.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Names of staged files that may be anywhere on the coordinator's machine.
static constexpr StringLiteral IRName = "other-ir", AppName = "application";

//===----------------------------------------------------------------------===//
// The coordinator's side
//===----------------------------------------------------------------------===//

static Error addFile(RemoteStudy &S, MappedFiles &Files, StringRef Name,
                     StringRef Path) {
  if (any_of(S.Files, [&](const StagedFile &F) { return F.Name == Name; }))
    return Error::success(); // launches can share files
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  S.Files.push_back({Name.str(), (*Buffer)->getBufferSize(),
                     toHexString(digest128((*Buffer)->getBuffer()))});
  Files.push_back(std::move(*Buffer));
  return Error::success();
}

Expected<RemoteStudy>
mneme::makeRemoteStudy(StringRef Database, const ReplayOptions &Base,
                       ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                       MappedFiles &Files) {
  RemoteStudy S;
  S.Base = Base;
  S.Config = makeConfig(Base);
  S.Config.erase("ir"); // travels with the recording
  S.HasIR = !Base.IRFile.empty();
  S.HasSource = !Base.SourceDir.empty();
  S.HasApp = !Base.App.empty();
  std::string Dir = sys::fs::is_directory(Database)
                        ? Database.str()
                        : sys::path::parent_path(Database).str();
  const RecordedKernel &K = Plans.front()->kernel();
  S.Database = sys::fs::is_directory(Database)
                   ? K.StaticHash + ".json"
                   : sys::path::filename(Database).str();
  std::vector<std::string> Names = {S.Database};
  append_range(Names, K.codeFiles());
  auto Pages = std::make_shared<PageStore>(Dir);
  for (const std::unique_ptr<ReplayPlan> &P : Plans) {
    S.RecordIds.push_back(P->instance().DynamicHash);
    for (const std::string &Name :
         {P->instance().Prologue, P->instance().Epilogue}) {
      // Opening a snapshot finds the files that contain its pages.
      Expected<Snapshot> Opened = Snapshot::open(pathIn(Dir, Name), Pages);
      if (!Opened)
        return Opened.takeError();
      Names.push_back(Name);
    }
  }
  for (const Digest128 &Id : Pages->opened())
    Names.push_back(PageFile::nameOf(Id));
  for (const std::string &Name : Names)
    if (Error E = addFile(S, Files, Name, pathIn(Dir, Name)))
      return std::move(E);
  if (S.HasIR)
    if (Error E = addFile(S, Files, IRName, Base.IRFile))
      return std::move(E);
  if (S.HasSource)
    for (StringRef Name : {SourceInfoName, UnitSourceName})
      if (Error E = addFile(S, Files, Name, pathIn(Base.SourceDir, Name)))
        return std::move(E);
  if (S.HasApp)
    if (Error E = addFile(S, Files, AppName, Base.App))
      return std::move(E);
  return std::move(S);
}

//===----------------------------------------------------------------------===//
// The worker's side
//===----------------------------------------------------------------------===//

std::string RemoteStudy::digest() const {
  std::string Text;
  for (const StagedFile &F : Files)
    Text += F.Name + "\n" + F.Digest + "\n";
  return toHexString(digest128(Text));
}

Error RemoteStudy::locate(StringRef Dir) {
  if (Error E = applyConfig(Config, Base))
    return E;
  auto Locate = [&](std::string &Path, StringRef Name) -> Error {
    if (none_of(Files, [&](const StagedFile &F) { return F.Name == Name; }))
      return createStringError("the study lacks the file '" + Name + "'");
    Path = pathIn(Dir, Name);
    return Error::success();
  };
  std::string Name = Database;
  if (Error E = Locate(Database, Name))
    return E;
  if (HasIR)
    if (Error E = Locate(Base.IRFile, IRName))
      return E;
  if (HasSource) {
    for (StringRef Name : {SourceInfoName, UnitSourceName})
      if (Error E = Locate(Base.SourceDir, Name))
        return E;
    Base.SourceDir = Dir.str();
  }
  if (HasApp)
    if (Error E = Locate(Base.App, AppName))
      return E;
  return Error::success();
}

static bool isWhole(StringRef Path, const StagedFile &F) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer) {
    consumeError(Buffer.takeError());
    return false;
  }
  return (*Buffer)->getBufferSize() == F.Size &&
         toHexString(digest128((*Buffer)->getBuffer())) == F.Digest;
}

/// Returns an error if two files have the same name, or \p Dir has too little
/// space.
static Error checkFiles(const RemoteStudy &S, ArrayRef<unsigned> Missing,
                        StringRef Dir) {
  StringSet<> Names;
  for (const StagedFile &F : S.Files)
    if (!Names.insert(F.Name).second)
      return createStringError("the study has two files '" + F.Name + "'");
  ErrorOr<sys::fs::space_info> Space = sys::fs::disk_space(Dir);
  if (!Space)
    return createFileError(Dir, Space.getError());
  uint64_t Left = Space->available;
  for (unsigned I : Missing) {
    if (S.Files[I].Size > Left)
      return createStringError(
          formatv("'{0}' has no room for the study's files: '{1}' has {2} "
                  "bytes; use another folder (XDG_CACHE_HOME)",
                  Dir, S.Files[I].Name, S.Files[I].Size)
              .str());
    Left -= S.Files[I].Size;
  }
  return Error::success();
}

Expected<std::string> mneme::stage(const RemoteStudy &S, StringRef CacheDir,
                                   FetchFn Fetch) {
  if (Error E = makeOwnFolder(CacheDir, /*Secret=*/true))
    return std::move(E);
  std::string Dir = pathIn(CacheDir, S.digest());
  if (Error E = makeOwnFolder(Dir, /*Secret=*/true))
    return std::move(E);
  std::string LockPath = Dir + ".lock";
  Expected<LockedFile> Lock = LockedFile::wait(LockPath);
  if (!Lock)
    return Lock.takeError();
  std::vector<unsigned> Missing;
  for (unsigned I = 0; I != S.Files.size(); ++I)
    if (!isWhole(pathIn(Dir, S.Files[I].Name), S.Files[I]))
      Missing.push_back(I);
  if (Error E = checkFiles(S, Missing, Dir))
    return std::move(E);
  for (unsigned I : Missing) {
    const StagedFile &F = S.Files[I];
    std::string Path = pathIn(Dir, F.Name);
    Error E = writeFileAtomically(Path, [&](raw_ostream &OS) {
      return Fetch(I, [&](StringRef Bytes) {
        OS << Bytes;
        return Error::success();
      });
    });
    if (E)
      return std::move(E);
    if (!isWhole(Path, F)) {
      sys::fs::remove(Path);
      return createStringError("'" + F.Name + "' was damaged in transfer");
    }
  }
  return Dir;
}
