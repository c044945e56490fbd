//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Manage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Runtime/SnapshotFile.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Selecting recordings
//===----------------------------------------------------------------------===//

Error RecordingFilter::check() const {
  std::string Problem;
  if (!KernelRegex.empty() && !Regex(KernelRegex).isValid(Problem))
    return createStringError("invalid regular expression '" + KernelRegex +
                             "': " + Problem);
  auto IsBeginning = [](StringRef Text, size_t Digits) {
    return !Text.empty() && Text.size() <= Digits &&
           Text.find_first_not_of("0123456789abcdef") == StringRef::npos;
  };
  for (const std::string &Hash : StaticHashes)
    if (!IsBeginning(Hash, 32))
      return createStringError("'" + Hash +
                               "' is not the beginning of a static hash");
  for (const std::string &Hash : DynamicHashes)
    if (!IsBeginning(Hash, 16))
      return createStringError("'" + Hash +
                               "' is not the beginning of a dynamic hash");
  return Error::success();
}

static bool fits(ArrayRef<std::string> Beginnings, StringRef Hash) {
  return Beginnings.empty() || llvm::any_of(Beginnings, [&](StringRef B) {
           return Hash.starts_with(B);
         });
}

std::optional<RecordedKernel>
RecordingFilter::select(const RecordedKernel &K) const {
  Regex Pattern(KernelRegex);
  if (!fits(StaticHashes, K.StaticHash) ||
      (!KernelRegex.empty() && !Pattern.match(K.KernelName) &&
       !Pattern.match(K.DemangledName)))
    return std::nullopt;
  RecordedKernel Some = K;
  llvm::erase_if(Some.Instances, [&](const RecordedInstance &I) {
    return !fits(DynamicHashes, I.DynamicHash);
  });
  if (Some.Instances.empty())
    return std::nullopt;
  return Some;
}

Expected<std::vector<RecordedKernel>>
RecordingFilter::choose(ArrayRef<RecordedKernel> Kernels, StringRef Dir) const {
  if (Error E = check())
    return std::move(E);
  std::vector<RecordedKernel> Chosen;
  std::string Names;
  for (const RecordedKernel &K : Kernels) {
    if (std::optional<RecordedKernel> Some = select(K))
      Chosen.push_back(std::move(*Some));
    Names += "\n  " + K.displayName();
  }
  if (Chosen.empty())
    return createFileError(
        Dir, createStringError("holds no such recording; there are:" + Names));
  return Chosen;
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Reads the kernels of the folder \p Name, or the single kernel of the file
/// \p Name, which is then replaced by its folder.
static Expected<std::vector<RecordedKernel>> readKernels(StringRef &Name) {
  if (!sys::fs::is_regular_file(Name))
    return readDatabase(Name);
  Expected<RecordedKernel> K = readKernelFile(Name);
  if (!K)
    return K.takeError();
  Name = sys::path::parent_path(Name);
  if (Name.empty())
    Name = ".";
  return std::vector<RecordedKernel>{std::move(*K)};
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

namespace {
/// Copies launches from one folder to another.
class Copier {
public:
  Copier(StringRef From, StringRef To, StringRef Staging)
      : From(From), To(To), Staging(Staging),
        Pages(std::make_shared<PageStore>(From)) {}

  Error copy(RecordedKernel K);
  ManageStats Stats;
  std::vector<RecordedKernel> Copied; ///< Launches that the target did not
                                      ///< have.

private:
  /// Returns the target's file for \p K without changing it; without instances
  /// if the target has none.
  Expected<RecordedKernel> readTarget(const RecordedKernel &K) const;
  /// Moves all files of the staging folder into the target.
  Error moveIn(const RecordedKernel &K);
  Error copySnapshot(bool Epilogue, const RecordedKernel &K,
                     const RecordedInstance &I, ::mneme::PageFile &NewPages,
                     ::mneme::SnapshotFile &Out);
  /// Sets the digests of \p I to those of its copy.
  Error copyInstance(const RecordedKernel &K, RecordedInstance &I);
  Error copyModule(const RecordedKernel &K, RecordedKernel &Target);
  Error moveFile(StringRef Name);

  StringRef From, To, Staging;
  std::shared_ptr<PageStore> Pages;
  ::mneme::PageIndex Known;
  std::vector<std::string> NewPageFiles; ///< Names in the staging folder.
};
} // namespace

/// Copies all records except those about pages, which depend on the folder. The
/// file has been validated before.
static void copyRecords(StringRef File, ::mneme::SnapshotFile &Out) {
  for (size_t At = sizeof(MnemeSnapshotHeader); At < File.size();) {
    MnemeRecordHeader R;
    std::memcpy(&R, File.data() + At, sizeof(R));
    StringRef Payload = File.substr(At + sizeof(R), R.Size);
    if (R.Type == MNEME_RECORD_REGION) {
      MnemeRegionRecord Region;
      std::memcpy(&Region, Payload.data(), sizeof(Region));
      Out.region(Region, Payload.drop_front(sizeof(Region)).str());
    } else if (R.Type != MNEME_RECORD_PAGE_FILES &&
               R.Type != MNEME_RECORD_PAGES && R.Type != MNEME_RECORD_END) {
      Out.record(R.Type, Payload.data(), Payload.size(), nullptr, 0, R.Flags);
    }
    At += sizeof(R) + alignTo(R.Size, 8);
  }
}

Error Copier::copySnapshot(bool Epilogue, const RecordedKernel &K,
                           const RecordedInstance &I,
                           ::mneme::PageFile &NewPages,
                           ::mneme::SnapshotFile &Out) {
  // Number of data ranges to decompress before they are compressed again.
  constexpr size_t BatchSize = 64;
  Expected<Snapshot> S = openSnapshot(From, Epilogue, K, I, Pages);
  if (!S)
    return S.takeError();
  StringRef Name = Epilogue ? I.Epilogue : I.Prologue;
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(pathIn(From, Name));
  if (!File)
    return File.takeError();
  Out.open(pathIn(Staging, Name), S->header(), NewPages);
  copyRecords((*File)->getBuffer(), Out);
  std::vector<std::vector<char>> Batch;
  for (const SnapshotData &D : S->data()) {
    if (Batch.size() == BatchSize) {
      Out.drain();
      Batch.clear();
    }
    Batch.emplace_back(D.RawSize);
    if (Error E = S->decode(D, Batch.back()))
      return E;
    Out.data(Batch.back().data(), D.Address, D.RawSize);
  }
  Out.close();
  return Out.error().empty() ? Error::success()
                             : createStringError(Out.error());
}

Error Copier::moveFile(StringRef Name) {
  std::string Source = pathIn(Staging, Name), Target = pathIn(To, Name);
  uint64_t Size = 0;
  if (!sys::fs::file_size(Source, Size))
    Stats.Bytes += Size;
  if (std::error_code EC = sys::fs::rename(Source, Target))
    return createFileError(Target, EC);
  return Error::success();
}

/// Copies a launch to the staging folder.
Error Copier::copyInstance(const RecordedKernel &K, RecordedInstance &I) {
  ::mneme::PageFile NewPages;
  NewPages.open(Staging.str(), Known);
  ::mneme::SnapshotFile Prologue, Epilogue;
  if (Error E = copySnapshot(/*Epilogue=*/false, K, I, NewPages, Prologue))
    return E;
  if (Error E = copySnapshot(/*Epilogue=*/true, K, I, NewPages, Epilogue))
    return E;
  NewPages.close();
  Prologue.write();
  Epilogue.write();
  for (const std::string &Problem :
       {NewPages.error(), Prologue.error(), Epilogue.error()})
    if (!Problem.empty())
      return createStringError(Problem);
  std::vector<std::string> Files = {I.Prologue, I.Epilogue};
  if (!NewPages.empty()) {
    Files.push_back(::mneme::pageFileName(NewPages.id()));
    NewPageFiles.push_back(Files.back());
    Known.add(NewPages.id(), NewPages.digests());
  }
  for (const std::string &Name : Files)
    if (Error E = syncFile(pathIn(Staging, Name)))
      return E;
  Prologue.leave();
  Epilogue.leave();
  return I.seal(pathIn(Staging, I.Prologue), pathIn(Staging, I.Epilogue));
}

/// Writes the kernel's IR. An existing file may be damaged or written by
/// another compiler, so it is replaced unless launches in the target need it.
Error Copier::copyModule(const RecordedKernel &K, RecordedKernel &Target) {
  std::string Path = pathIn(To, Target.Modules.front());
  Expected<std::unique_ptr<MemoryBuffer>> File = readModule(From, K);
  if (!File)
    return File.takeError();
  if (Target.Instances.empty())
    Target.ModuleDigests = {toHexString(digest128((*File)->getBuffer()))};
  if (sys::fs::exists(Path)) {
    Expected<std::unique_ptr<MemoryBuffer>> There = readFile(Path, MaxIRFile);
    if (!There)
      return There.takeError();
    if ((*There)->getBuffer() == (*File)->getBuffer())
      return Error::success();
    if (!Target.Instances.empty())
      return createFileError(
          Path, createStringError("is not the same as in '" + From + "'"));
  }
  Stats.Bytes += (*File)->getBufferSize();
  return writeFileAtomically(Path, (*File)->getBuffer());
}

/// Requires the standard file names: files of the target are replaced by name,
/// and other names would let a foreign recording replace arbitrary files.
static Error checkNames(const RecordedKernel &K) {
  auto Refuse = [&](StringRef Name, StringRef Expected) {
    return createStringError("kernel " + K.StaticHash + ": file '" + Name +
                             "' where '" + Expected + "' is expected");
  };
  std::string Module = moduleName(K.StaticHash);
  for (const std::string &Name : K.Modules)
    if (Name != Module)
      return Refuse(Name, Module);
  std::string Image = imageName(K.StaticHash, K.Image.IsPTX, K.Image.Arch);
  if (!K.Image.File.empty() && K.Image.File != Image)
    return Refuse(K.Image.File, Image);
  for (const RecordedInstance &I : K.Instances)
    for (bool Epilogue : {false, true}) {
      StringRef Name = Epilogue ? I.Epilogue : I.Prologue;
      std::string Expected =
          snapshotName(Epilogue, K.StaticHash, I.DynamicHash);
      if (Name != Expected)
        return Refuse(Name, Expected);
    }
  return Error::success();
}

Expected<RecordedKernel> Copier::readTarget(const RecordedKernel &K) const {
  std::string KernelFile = pathIn(To, K.StaticHash + ".json");
  RecordedKernel New = K;
  New.Instances.clear();
  if (!sys::fs::exists(KernelFile))
    return New;
  Expected<RecordedKernel> Old = readKernelFile(KernelFile);
  if (!Old)
    return Old.takeError();
  auto Refuse = [&](StringRef What) {
    return createFileError(KernelFile,
                           createStringError("has another " + What));
  };
  if (Old->KernelName != K.KernelName)
    return Refuse("kernel");
  if (Old->Instances.empty())
    return New;
  if (Old->DynamicHashInputs != K.DynamicHashInputs)
    return Refuse("way to tell launches apart (DynamicHashInputs)");
  if (Error E = checkNames(*Old))
    return createFileError(KernelFile, std::move(E));
  // The way of recording is stored per kernel; that of the first launch stays.
  return Old;
}

Error Copier::moveIn(const RecordedKernel &K) {
  Expected<LockedFile> Lock = lockFolder(To);
  if (!Lock)
    return Lock.takeError();
  // Read again: launchers may have added launches meanwhile.
  Expected<RecordedKernel> Target = readTarget(K);
  if (!Target)
    return Target.takeError();
  if (Error E = copyModule(K, *Target))
    return E;
  if (!K.Image.File.empty() && Target->Instances.empty()) {
    Expected<std::unique_ptr<MemoryBuffer>> Image = readImage(From, K);
    if (!Image)
      return Image.takeError();
    Stats.Bytes += (*Image)->getBufferSize();
    if (Error E = writeFileAtomically(pathIn(To, K.Image.File),
                                      (*Image)->getBuffer()))
      return E;
  }
  for (const std::string &Name : NewPageFiles)
    if (Error E = moveFile(Name))
      return E;
  NewPageFiles.clear();
  RecordedKernel Added = K;
  Added.Instances.clear();
  for (const RecordedInstance &I : K.Instances) {
    if (Target->findInstance(I.DynamicHash)) {
      ++Stats.AlreadyThere;
      continue;
    }
    if (Error E = moveFile(I.Epilogue))
      return E;
    if (Error E = moveFile(I.Prologue))
      return E;
    Added.Instances.push_back(I);
  }
  ++Stats.Kernels;
  if (Added.Instances.empty())
    return Error::success();
  llvm::append_range(Target->Instances, Added.Instances);
  Target->addArena(K.VAddr, K.VASize);
  if (Error E = writeKernelFile(pathIn(To, K.StaticHash + ".json"), *Target))
    return E;
  Stats.Instances += Added.Instances.size();
  Copied.push_back(std::move(Added));
  return Error::success();
}

Error Copier::copy(RecordedKernel K) {
  if (Error E = checkNames(K))
    return createFileError(From, std::move(E));
  Expected<RecordedKernel> Target = readTarget(K);
  if (!Target)
    return Target.takeError();
  std::vector<std::string> Problems = checkModules(From, K);
  if (!Problems.empty())
    return createStringError(Problems.front());
  Known.readFolder(To.str());
  for (RecordedInstance &I : K.Instances)
    if (!Target->findInstance(I.DynamicHash))
      if (Error E = copyInstance(K, I))
        return E;
  return moveIn(K);
}

/// Sets \p Copied to the launches that the target did not have.
static Expected<ManageStats>
copyKernels(StringRef From, ArrayRef<RecordedKernel> Kernels, StringRef To,
            std::vector<RecordedKernel> *Copied = nullptr) {
  if (std::error_code EC = sys::fs::create_directories(To))
    return createFileError(To, EC);
  if (sys::fs::equivalent(From, To))
    return createFileError(To,
                           createStringError("is both source and destination"));
  Expected<PrivateFolder> Staging = createStagingFolder(To);
  if (!Staging)
    return Staging.takeError();
  Copier C(From, To, Staging->path());
  for (const RecordedKernel &K : Kernels)
    if (Error E = C.copy(K))
      return std::move(E);
  if (Copied)
    *Copied = std::move(C.Copied);
  return std::move(C.Stats);
}

/// Sets \p From to the name of the folder.
static Expected<std::vector<RecordedKernel>>
readChosen(StringRef &From, const RecordingFilter &Which) {
  Expected<std::vector<RecordedKernel>> All = readKernels(From);
  if (!All)
    return All.takeError();
  return Which.choose(*All, From);
}

Expected<ManageStats> llvm::mneme::copyRecordings(StringRef From,
                                                  const RecordingFilter &Which,
                                                  StringRef To) {
  Expected<std::vector<RecordedKernel>> Chosen = readChosen(From, Which);
  if (!Chosen)
    return Chosen.takeError();
  return copyKernels(From, *Chosen, To);
}

//===----------------------------------------------------------------------===//
// Removing
//===----------------------------------------------------------------------===//

/// Returns all files that the kernel files of \p Kernels refer to.
static Expected<StringSet<>> findNeeded(StringRef Dir,
                                        ArrayRef<RecordedKernel> Kernels) {
  StringSet<> Needed;
  auto Pages = std::make_shared<PageStore>(Dir);
  for (const RecordedKernel &K : Kernels) {
    if (!K.Instances.empty())
      Needed.insert_range(K.codeFiles());
    for (const RecordedInstance &I : K.Instances)
      for (bool Epilogue : {false, true}) {
        Expected<Snapshot> S = openSnapshot(Dir, Epilogue, K, I, Pages);
        if (!S)
          return S.takeError();
        Needed.insert(Epilogue ? I.Epilogue : I.Prologue);
        for (const PageFile *F : S->pageFiles())
          Needed.insert(PageFile::nameOf(F->id()));
      }
  }
  return Needed;
}

namespace {
/// A staging folder of a killed launcher, locked so that no other process uses
/// it.
struct AbandonedFolder {
  std::string Name;
  LockedFile Lock;
};
} // namespace

/// Fails if a staging folder is in use.
static Expected<std::vector<AbandonedFolder>> findAbandoned(StringRef Dir) {
  std::vector<AbandonedFolder> Folders;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Dir, EC), End; !EC && It != End;
       It.increment(EC)) {
    StringRef Name = sys::path::filename(It->path());
    // A link or file of such a name was not made by a launcher.
    if (!isStagingFolderName(Name) || !isRealFolder(It->path()))
      continue;
    LockedFile Lock = LockedFile::tryFolder(It->path());
    if (!Lock)
      return createFileError(
          Dir, createStringError("is being recorded into, or copied to"));
    Folders.push_back({Name.str(), std::move(Lock)});
  }
  if (EC)
    return createFileError(Dir, EC);
  return std::move(Folders);
}

static Expected<std::vector<std::string>>
findArtifactsBut(const StringSet<> &Needed, StringRef Dir) {
  std::vector<std::string> Names;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Dir, EC), End; !EC && It != End;
       It.increment(EC)) {
    StringRef Name = sys::path::filename(It->path());
    if (isArtifact(Name) && !Needed.contains(Name))
      Names.push_back(Name.str());
  }
  if (EC)
    return createFileError(Dir, EC);
  llvm::sort(Names);
  return Names;
}

namespace {
/// Removes files of a folder, or, in a dry run, counts the files to remove.
class Remover {
public:
  Remover(StringRef Dir, bool IsDryRun, ManageStats &Stats)
      : Dir(Dir), IsDryRun(IsDryRun), Stats(Stats) {}

  Error remove(StringRef Name) {
    std::string Path = pathIn(Dir, Name);
    uint64_t Size = 0;
    if (!isStagingFolderName(Name) && !sys::fs::file_size(Path, Size))
      Stats.Bytes += Size;
    Stats.Files.push_back(Name.str());
    if (IsDryRun)
      return Error::success();
    if (isStagingFolderName(Name))
      return removeTree(Path);
    // Recording makes no folders of other names; one that is not empty is kept.
    std::error_code EC = sys::fs::remove(Path);
    return EC ? createFileError(Path, EC) : Error::success();
  }

private:
  StringRef Dir;
  bool IsDryRun;
  ManageStats &Stats;
};
} // namespace

/// Returns \p All without the launches of \p Gone.
static std::vector<RecordedKernel> subtract(ArrayRef<RecordedKernel> All,
                                            ArrayRef<RecordedKernel> Gone) {
  StringSet<> Names;
  for (const RecordedKernel &K : Gone)
    for (const RecordedInstance &I : K.Instances)
      Names.insert(K.StaticHash + "." + I.DynamicHash);
  std::vector<RecordedKernel> Rest(All);
  for (RecordedKernel &K : Rest)
    llvm::erase_if(K.Instances, [&](const RecordedInstance &I) {
      return Names.contains(K.StaticHash + "." + I.DynamicHash);
    });
  return Rest;
}

/// Calls \p Choose while the folder is locked.
static Expected<ManageStats>
removeRecordings(StringRef Dir, bool IsDryRun,
                 function_ref<Expected<std::vector<RecordedKernel>>(
                     ArrayRef<RecordedKernel>)>
                     Choose) {
  // Check before the lock file is created: the folder may contain no
  // recordings.
  Expected<std::vector<std::string>> Files = findKernelFiles(Dir);
  if (!Files)
    return Files.takeError();
  Expected<LockedFile> Lock = lockFolder(Dir);
  if (!Lock)
    return Lock.takeError();
  Expected<std::vector<RecordedKernel>> All = readDatabase(Dir);
  if (!All)
    return All.takeError();
  Expected<std::vector<RecordedKernel>> Chosen = Choose(*All);
  if (!Chosen)
    return Chosen.takeError();
  std::vector<RecordedKernel> Rest = subtract(*All, *Chosen);
  Expected<StringSet<>> Needed = findNeeded(Dir, Rest);
  if (!Needed)
    return createStringError(toString(Needed.takeError()) +
                             ": nothing is removed, as files that it needs are "
                             "unknown; select the damaged launch, too");
  Expected<std::vector<AbandonedFolder>> Folders = findAbandoned(Dir);
  if (!Folders)
    return Folders.takeError();

  ManageStats Stats;
  Remover R(Dir, IsDryRun, Stats);
  // Remove references before the files that they refer to.
  for (const auto &[Before, After] : llvm::zip_equal(*All, Rest)) {
    size_t NumGone = Before.Instances.size() - After.Instances.size();
    Stats.Instances += NumGone;
    std::string KernelFile = Before.StaticHash + ".json";
    if (After.Instances.empty()) {
      ++Stats.Kernels;
      if (Error E = R.remove(KernelFile))
        return std::move(E);
    } else if (NumGone && !IsDryRun) {
      if (Error E = writeKernelFile(pathIn(Dir, KernelFile), After))
        return std::move(E);
    }
  }
  Expected<std::vector<std::string>> Others = findArtifactsBut(*Needed, Dir);
  if (!Others)
    return Others.takeError();
  for (const AbandonedFolder &F : *Folders)
    Others->push_back(F.Name);
  for (const std::string &Name : *Others)
    if (Error E = R.remove(Name))
      return std::move(E);
  return Stats;
}

Expected<ManageStats> llvm::mneme::pruneRecordings(StringRef Dir,
                                                   const RecordingFilter &Which,
                                                   bool IsDryRun) {
  using Kernels = std::vector<RecordedKernel>;
  return removeRecordings(
      Dir, IsDryRun, [&](ArrayRef<RecordedKernel> All) -> Expected<Kernels> {
        return Which.isEmpty() ? Kernels() : Which.choose(All, Dir);
      });
}

/// Waits until the launches \p Copied are on disk, then reads them from folder
/// \p To.
static Error checkCopies(StringRef To, ArrayRef<RecordedKernel> Copied) {
  if (Error E = syncFile(To))
    return E;
  auto Pages = std::make_shared<PageStore>(To);
  for (const RecordedKernel &K : Copied) {
    Expected<RecordedKernel> There =
        readKernelFile(pathIn(To, K.StaticHash + ".json"));
    if (!There)
      return There.takeError();
    llvm::erase_if(There->Instances, [&](const RecordedInstance &I) {
      return !K.findInstance(I.DynamicHash);
    });
    std::vector<std::string> Problems = checkKernel(To, *There, Pages).Problems;
    if (!Problems.empty())
      return createStringError(Problems.front() +
                               ": nothing is removed from the source");
  }
  return Error::success();
}

Expected<ManageStats> llvm::mneme::moveRecordings(StringRef From,
                                                  const RecordingFilter &Which,
                                                  StringRef To) {
  Expected<std::vector<RecordedKernel>> Chosen = readChosen(From, Which);
  if (!Chosen)
    return Chosen.takeError();
  // Check before copying anything.
  if (Error E = findAbandoned(From).takeError())
    return std::move(E);
  std::vector<RecordedKernel> Copied;
  Expected<ManageStats> Stats = copyKernels(From, *Chosen, To, &Copied);
  if (!Stats || Copied.empty())
    return Stats;
  if (Error E = checkCopies(To, Copied))
    return std::move(E);
  Expected<ManageStats> Removed =
      removeRecordings(From, /*IsDryRun=*/false, [&](ArrayRef<RecordedKernel>) {
        return Expected<std::vector<RecordedKernel>>(Copied);
      });
  if (!Removed)
    return Removed.takeError();
  return Stats;
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

/// The size field of an archive member has ten decimal digits.
static constexpr uint64_t MaxMember = 9999999999;

/// Returns true for names that exportRecordings() uses: none of them leads out
/// of the folder.
static bool isExported(StringRef Name) {
  if (Name.empty() || Name.starts_with(".") || Name.contains('/') ||
      Name.contains('\0'))
    return false;
  return isRecordingFile(Name);
}

static bool hasKernelFiles(StringRef Dir) {
  Expected<std::vector<std::string>> Files = findKernelFiles(Dir);
  if (Files)
    return true;
  consumeError(Files.takeError());
  return false;
}

Expected<ManageStats>
llvm::mneme::exportRecordings(StringRef From, const RecordingFilter &Which,
                              StringRef File) {
  // The archive would replace a recording's file, or be removed as one.
  if (isExported(sys::path::filename(File)))
    return createFileError(
        File, createStringError("is a name for files of recordings"));
  SmallString<128> Folder(File);
  sys::path::remove_filename(Folder);
  if (Folder.empty())
    Folder = ".";
  // For example the lock, which other processes hold under this name.
  if (sys::path::filename(File).starts_with(".") && hasKernelFiles(Folder))
    return createFileError(
        File, createStringError("names that start with '.' are reserved in a "
                                "folder of recordings"));
  Expected<PrivateFolder> Staging = createStagingFolder(Folder);
  if (!Staging)
    return Staging.takeError();
  Expected<ManageStats> Stats = copyRecordings(From, Which, Staging->path());
  if (!Stats)
    return Stats.takeError();
  std::vector<std::string> Names;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Staging->path(), EC), End;
       !EC && It != End; It.increment(EC))
    if (StringRef Name = sys::path::filename(It->path()); Name != ".lock")
      Names.push_back(Name.str());
  if (EC)
    return createFileError(Staging->path(), EC);
  llvm::sort(Names);
  std::vector<NewArchiveMember> Members;
  for (const std::string &Name : Names) {
    Expected<NewArchiveMember> Member = NewArchiveMember::getFile(
        pathIn(Staging->path(), Name), /*Deterministic=*/true);
    if (!Member)
      return Member.takeError();
    if (Member->Buf->getBufferSize() > MaxMember)
      return createFileError(
          File, createStringError(formatv("'{0}' has {1} bytes, an archive's "
                                          "member has at most {2}",
                                          Name, Member->Buf->getBufferSize(),
                                          MaxMember)));
    Member->MemberName = Name;
    Members.push_back(std::move(*Member));
  }
  if (Error E = writeFileAtomically(File, [&](raw_ostream &OS) {
        return writeArchiveToStream(OS, Members, SymtabWritingMode::NoSymtab,
                                    object::Archive::K_GNU,
                                    /*Deterministic=*/true, /*Thin=*/false);
      }))
    return std::move(E);
  sys::fs::file_size(File, Stats->Bytes);
  return Stats;
}

static Error unpack(StringRef File, StringRef Dir) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(File);
  if (!Buffer)
    return Buffer.takeError();
  StringRef Bytes = (*Buffer)->getBuffer();
  if (!Bytes.starts_with(object::ArchiveMagic) &&
      !Bytes.starts_with(object::ThinArchiveMagic))
    return createFileError(File, createStringError("not an archive"));
  Expected<std::unique_ptr<object::Archive>> Archive =
      object::Archive::create((*Buffer)->getMemBufferRef());
  if (!Archive)
    return createFileError(File, Archive.takeError());
  if ((*Archive)->isThin())
    return createFileError(File, createStringError("a thin archive"));
  Error Broken = Error::success();
  auto Unpack = [&]() -> Error {
    for (const object::Archive::Child &C : (*Archive)->children(Broken)) {
      Expected<StringRef> Name = C.getName();
      if (!Name)
        return Name.takeError();
      if (!isExported(*Name))
        return createStringError("'" + *Name + "' is not part of a recording");
      Expected<StringRef> Bytes = C.getBuffer();
      if (!Bytes)
        return Bytes.takeError();
      // object::Archive does not check the size of the last member.
      if (Bytes->end() > (*Buffer)->getBufferEnd())
        return createStringError("'" + *Name + "' is cut off");
      if (sys::fs::exists(pathIn(Dir, *Name)))
        return createStringError("'" + *Name + "' occurs twice");
      if (Error E = writeFileAtomically(pathIn(Dir, *Name), *Bytes))
        return E;
    }
    return Error::success();
  };
  if (Error E = joinErrors(Unpack(), std::move(Broken)))
    return createFileError(File, std::move(E));
  return Error::success();
}

Expected<ManageStats> llvm::mneme::importRecordings(StringRef File,
                                                    StringRef To) {
  bool IsNew = !sys::fs::exists(To);
  if (std::error_code EC = sys::fs::create_directories(To))
    return createFileError(To, EC);
  scope_exit RemoveNew([&] {
    if (IsNew)
      sys::fs::remove(To);
  });
  Expected<PrivateFolder> Staging = createStagingFolder(To);
  if (!Staging)
    return Staging.takeError();
  if (Error E = unpack(File, Staging->path()))
    return std::move(E);
  Expected<std::vector<RecordedKernel>> Kernels = readDatabase(Staging->path());
  if (!Kernels) {
    consumeError(Kernels.takeError());
    return createFileError(
        File, createStringError("holds no recordings that can be read"));
  }
  auto Pages = std::make_shared<PageStore>(Staging->path());
  for (const RecordedKernel &K : *Kernels) {
    std::vector<std::string> Problems =
        checkKernel(Staging->path(), K, Pages).Problems;
    if (!Problems.empty())
      return createFileError(File, createStringError(Problems.front()));
  }
  Expected<ManageStats> Stats = copyKernels(Staging->path(), *Kernels, To);
  if (Stats)
    RemoveNew.release();
  return Stats;
}
