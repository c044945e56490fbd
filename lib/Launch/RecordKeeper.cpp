//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordKeeper.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <poll.h>

using namespace llvm;
using namespace llvm::mneme;

RecordKeeper::RecordKeeper(std::string TheDir, StringRef HashInput)
    : Dir(std::move(TheDir)),
      HashInputs(std::begin(LaunchInputs), std::end(LaunchInputs)) {
  if (!HashInput.empty())
    HashInputs.push_back(HashInput.str());
}

/// A folder has one set of inputs for the dynamic hash. Otherwise it could
/// contain a launch twice.
Error RecordKeeper::checkHashInputs(const RecordedKernel &K) const {
  if (K.Instances.empty() || K.DynamicHashInputs == HashInputs)
    return Error::success();
  return createFileError(
      Dir, createStringError("holds launches that are distinguished by " +
                             join(K.DynamicHashInputs, ", ") + ", not by " +
                             join(HashInputs, ", ") +
                             ": give the same --record-id, or another folder"));
}

std::string RecordKeeper::pathOf(const Twine &File) const {
  return pathIn(Dir, File);
}

Error RecordKeeper::prepare(bool MustBeOwn) {
  if (Dir.empty())
    return Error::success();
  if (MustBeOwn) {
    if (Error E = makeOwnFolder(Dir))
      return E;
  } else if (std::error_code EC = sys::fs::create_directories(Dir)) {
    return createFileError(Dir, EC);
  }
  Expected<LockedFile> Lock = lockFolder(Dir);
  if (!Lock)
    return Lock.takeError();
  removeAbandoned(Dir, isStagingFolderName);
  Expected<std::vector<std::string>> Files = findKernelFiles(Dir);
  if (!Files) {
    consumeError(Files.takeError()); // The folder has no recordings yet.
    Files = std::vector<std::string>();
  }
  for (const std::string &File : *Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    // A damaged file affects only its own kernel.
    if (!K)
      consumeError(K.takeError());
    else if (Error E = checkHashInputs(*K))
      return E;
  }
  return createStagingFolder(Dir).moveInto(Staging);
}

void RecordKeeper::addKernel(const LaunchedKernel &K, StringRef Device) {
  std::string Hash = toHexString(K.StaticHash);
  auto [It, New] = Kernels.try_emplace(Hash);
  if (!New)
    return;
  RecordedKernel &F = It->second.File;
  F.KernelName = K.Name;
  F.DemangledName = demangleSymbol(K.Name);
  F.StaticHash = Hash;
  F.Triple = K.Triple;
  F.Arch = K.Arch;
  F.OptLevel = K.OptLevel;
  F.Device = Device.str();
  F.Toolchain = K.Toolchain;
  F.Modules = {moduleName(Hash)};
  F.ModuleDigests = {toHexString(digest128(K.Bitcode))};
  if (!K.Image.empty())
    F.Image = {imageName(Hash, K.IsPTX, K.ImageArch), toHexString(digest128(K.Image)),
               K.ImageArch, K.IsPTX, K.IsImageOnly};
  F.Configuration = K.Configuration;
  F.Args = K.Args;
  F.DynamicHashInputs = HashInputs;
  It->second.Bitcode = K.Bitcode;
  It->second.Image = K.Image;
}

Error RecordKeeper::writeCode(Kernel &K) {
  auto Write = [&](const std::string &File, StringRef Bytes) {
    std::string Path = pathOf(File);
    NotSynced.insert(Path);
    return writeFileAtomically(Path, Bytes, /*Sync=*/false);
  };
  if (Error E = Write(K.File.Modules.front(), K.Bitcode))
    return E;
  return K.Image.empty() ? Error::success() : Write(K.File.Image.File, K.Image);
}

Expected<bool>
RecordKeeper::update(Kernel &K,
                     function_ref<Expected<bool>(RecordedKernel &)> Edit) {
  Expected<LockedFile> Lock = lockFolder(Dir);
  if (!Lock)
    return Lock.takeError();
  std::string Path = pathOf(K.File.StaticHash + ".json");
  RecordedKernel File = K.File;
  bool Replaces = sys::fs::exists(Path);
  json::Value Before = nullptr;
  if (Replaces) {
    Expected<RecordedKernel> Old = readKernelFile(Path);
    if (!Old)
      return Old.takeError();
    if (Error E = checkHashInputs(*Old))
      return std::move(E);
    Before = toJSON(*Old);
    // The properties of the first recording apply to all launches in the file.
    if (!Old->Instances.empty())
      File = std::move(*Old);
  }
  Expected<bool> Changed = Edit(File);
  if (!Changed || !*Changed)
    return Changed;
  // A new file can wait for sync(). If other launchers rely on the old file,
  // its replacement and all files that it names must be on the disk first.
  auto Own = Created.find(Path);
  bool Sync = Replaces && (Own == Created.end() || Own->second != Before);
  if (Sync)
    if (Error E = sync())
      return std::move(E);
  if (Error E = writeKernelFile(Path, File, Sync))
    return std::move(E);
  if (!Sync)
    Created.insert_or_assign(Path, toJSON(File));
  noteNotSynced(Path);
  return Changed;
}

bool RecordKeeper::holds(const RecordedInstance &I) const {
  return sys::fs::exists(pathOf(I.Prologue)) &&
         sys::fs::exists(pathOf(I.Epilogue));
}

std::vector<std::string> RecordKeeper::heldLaunches(StringRef StaticHash) {
  std::vector<std::string> Hashes;
  Expected<RecordedKernel> File = readKernelFile(pathOf(StaticHash + ".json"));
  // The file is missing, or damaged. The next launch reports damage.
  if (!File)
    consumeError(File.takeError());
  else
    for (const RecordedInstance &I : File->Instances)
      if (holds(I))
        Hashes.push_back(I.DynamicHash);
  if (auto K = Kernels.find(StaticHash); K != Kernels.end() && !K->second.Held)
    K->second.Held = Hashes.size();
  return Hashes;
}

/// Page files are named by content, so it does not matter which launcher made
/// one or whether it is replaced.
Error RecordKeeper::movePages(const std::string &File) {
  std::string From = staging() + "/" + File, To = pathOf(File);
  if (sys::fs::exists(To)) {
    if (!sys::fs::exists(From)) // Moved with another launch.
      return Error::success();
    // Others may rely on the old file, so its replacement must be on the disk.
    if (Error E = syncFile(From))
      return E;
  }
  if (std::error_code EC = sys::fs::rename(From, To))
    return createFileError(To, EC);
  noteNotSynced(To);
  return Error::success();
}

/// \returns the total size of the files in a folder, without subfolders.
static uint64_t sumFiles(const Twine &Folder) {
  uint64_t Total = 0, Size;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Folder, EC), End; !EC && It != End;
       It.increment(EC))
    if (sys::fs::is_regular_file(It->path()) &&
        !sys::fs::file_size(It->path(), Size))
      Total += Size;
  return Total;
}

Error RecordKeeper::checkStagingRoom() const {
  return MaxBytes && sumFiles(Dir) + sumFiles(staging()) > MaxBytes
             ? createStringError(MNEME_REASON_FULL)
             : Error::success();
}

Error RecordKeeper::checkRoom(const RecordedLaunch &L, StringRef Prologue,
                              StringRef Epilogue) const {
  if (!MaxBytes)
    return Error::success();
  uint64_t Total = sumFiles(Dir), Size;
  SmallVector<StringRef> New = {Prologue, Epilogue};
  for (const std::string &File : L.PageFiles)
    if (!sys::fs::exists(pathOf(File)))
      New.push_back(File);
  for (StringRef File : New)
    if (!sys::fs::file_size(staging() + "/" + File, Size))
      Total += Size;
  return Total > MaxBytes ? createStringError(MNEME_REASON_FULL)
                          : Error::success();
}

void RecordKeeper::noteNotSynced(const std::string &Path) {
  uint64_t Size = 0;
  if (NotSynced.insert(Path).second && !sys::fs::file_size(Path, Size))
    NotSyncedBytes += Size;
  IsFolderSynced = false;
}

/// Syncs the files that have not been pruned meanwhile.
static Error syncFiles(const std::set<std::string> &Paths) {
  Error Result = Error::success();
  for (const std::string &Path : Paths)
    if (sys::fs::exists(Path))
      Result = joinErrors(std::move(Result), syncFile(Path));
  return Result;
}

/// \returns whether no child process is syncing any more.
bool RecordKeeper::takeSynced(bool Wait) {
  while (Syncing && !Syncing->poll()) {
    if (!Wait)
      return false;
    pollfd End = {Syncing->fd(), POLLIN, 0};
    ::poll(&End, 1, -1);
  }
  if (!Syncing)
    return true;
  // Files that could not be synced are left for the end, which reports errors.
  if (Expected<std::string> Done = Syncing->finish(); !Done) {
    consumeError(Done.takeError());
    NotSynced.insert(BeingSynced.begin(), BeingSynced.end());
  }
  Syncing.reset();
  BeingSynced.clear();
  return true;
}

void RecordKeeper::syncInBackground() {
  // Smaller amounts take little time at the end.
  constexpr uint64_t MinBytes = 16 << 20;
  if (!takeSynced(/*Wait=*/false) || NotSyncedBytes < MinBytes)
    return;
  Expected<ChildTask> New =
      ChildTask::start("syncing", [&]() -> Expected<std::string> {
        if (Error E = syncFiles(NotSynced))
          return std::move(E);
        return "";
      });
  if (!New)
    return consumeError(New.takeError());
  Syncing = std::move(*New);
  BeingSynced = std::move(NotSynced);
  NotSynced.clear();
  NotSyncedBytes = 0;
}

Error RecordKeeper::sync() {
  auto Start = std::chrono::steady_clock::now();
  takeSynced(/*Wait=*/true);
  Error Result = syncFiles(NotSynced);
  if (!std::exchange(IsFolderSynced, true))
    Result = joinErrors(std::move(Result), syncFile(Dir));
  NotSynced.clear();
  NotSyncedBytes = 0;
  SyncTime += std::chrono::nanoseconds(std::chrono::steady_clock::now() - Start)
                  .count();
  return Result;
}

/// Adds those of \p More to \p Args; both ascend.
static void addArgs(std::vector<unsigned> &Args, ArrayRef<unsigned> More) {
  std::vector<unsigned> All;
  std::set_union(Args.begin(), Args.end(), More.begin(), More.end(),
                 std::back_inserter(All));
  Args = std::move(All);
}

Expected<bool> RecordKeeper::addLaunch(const RecordedLaunch &L,
                                       StringRef Prologue, StringRef Epilogue) {
  auto It = Kernels.find(L.StaticHash);
  if (It == Kernels.end())
    return createStringError("kernel " + L.StaticHash + " was never loaded");
  Kernel &K = It->second;
  RecordedInstance New = L.Instance;
  if (Error E = New.seal(staging() + "/" + Prologue.str(),
                         staging() + "/" + Epilogue.str()))
    return std::move(E);
  auto MoveIn = [&](StringRef File, StringRef Name) -> Error {
    // Replaces leftovers of a launcher that was killed.
    if (std::error_code EC =
            sys::fs::rename(staging() + "/" + File, pathOf(Name)))
      return createFileError(pathOf(Name), EC);
    noteNotSynced(pathOf(Name));
    return Error::success();
  };
  auto Edit = [&](RecordedKernel &File) -> Expected<bool> {
    auto Old = llvm::find_if(File.Instances, [&](const RecordedInstance &I) {
      return I.DynamicHash == L.Instance.DynamicHash;
    });
    bool IsNew = Old == File.Instances.end();
    if (!IsNew && holds(*Old))
      return false;
    // Launches in the file keep their module, which may be from another
    // compiler.
    if (File.Instances.empty())
      if (Error E = writeCode(K))
        return std::move(E);
    if (Error E = checkRoom(L, Prologue, Epilogue))
      return std::move(E);
    for (const std::string &Name : L.PageFiles)
      if (Error E = movePages(Name))
        return std::move(E);
    if (Error E = MoveIn(Epilogue, L.Instance.Epilogue))
      return std::move(E);
    if (Error E = MoveIn(Prologue, L.Instance.Prologue))
      return std::move(E);
    if (IsNew && File.Instances.empty()) {
      File.Globals = L.Globals;
      File.VASize = 0;
    }
    File.addArena(L.ArenaBase, L.ArenaSize);
    if (IsNew) {
      File.Instances.push_back(New);
      return true;
    }
    RecordedInstance Before = std::exchange(*Old, New);
    Old->Occurrences += Before.Occurrences;
    addArgs(Old->VaryingArgs, Before.VaryingArgs);
    return true;
  };
  Expected<bool> Added = update(K, Edit);
  if (!Added || !*Added)
    return Added;
  Row &R = Rows[{K.File.KernelName, L.StaticHash}];
  if (!R.Instances++)
    R.First = L.Instance.DynamicHash;
  R.Unchanged += !L.ChangesMemory;
  R.Stored += L.StoredBytes;
  R.Raw += L.RawBytes;
  OmittedRegions += L.Instance.OmittedRegions;
  OmittedBytes += L.Instance.OmittedBytes;
  return true;
}

void RecordKeeper::addReasons(const std::map<std::string, uint64_t> &Why) {
  for (const auto &[Reason, Times] : Why)
    Reasons[Reason] += Times;
}

Error RecordKeeper::addLaunches(
    Kernel &K, const StringMap<const ProcessSummary::Kernel *> &Launches) {
  if (!sys::fs::exists(pathOf(K.File.StaticHash + ".json")))
    return Error::success();
  return update(K,
                [&](RecordedKernel &File) {
                  bool Changed = false;
                  for (RecordedInstance &I : File.Instances) {
                    const auto *More = Launches.lookup(I.DynamicHash);
                    if (!More)
                      continue;
                    I.Occurrences += More->countRest();
                    addArgs(I.VaryingArgs, More->VaryingArgs);
                    Changed = true;
                  }
                  return Changed;
                })
      .takeError();
}

Error RecordKeeper::addSummary(const ProcessSummary &S) {
  ++Reports;
  Seen += S.Seen;
  Recorded += S.Recorded;
  Skipped += S.Skipped;
  RecordTime += S.Nanoseconds;
  WriteTime += S.FinalWait;
  addReasons(S.Reasons);
  // Write each kernel's file only once: the summary may have an entry for every
  // launch.
  std::map<std::string, StringMap<const ProcessSummary::Kernel *>> Launches;
  for (const ProcessSummary::Kernel &K : S.Kernels) {
    Rows[{K.Name, K.StaticHash}].Launches += K.Occurrences;
    if (!Dir.empty() && Kernels.contains(K.StaticHash) && K.countRest())
      Launches[K.StaticHash][K.DynamicHash] = &K;
  }
  Error Result = Error::success();
  for (const auto &[StaticHash, OfKernel] : Launches)
    Result = joinErrors(std::move(Result),
                        addLaunches(Kernels[StaticHash], OfKernel));
  return Result;
}

Error llvm::mneme::refuseSelection(StringRef What, StringRef KernelRegex,
                                   ArrayRef<std::string> Symbols) {
  std::string Text;
  for (StringRef Symbol : Symbols)
    Text += "\n  " + printable(demangleSymbol(Symbol));
  return createStringError(What + " matches --kernel='" + KernelRegex +
                           "'; there are:" + Text);
}

Error RecordKeeper::checkSelection(StringRef KernelRegex) const {
  auto Found = Reasons.find(MNEME_REASON_NOT_SELECTED);
  if (Found == Reasons.end() || Found->second != Seen)
    return Error::success();
  std::vector<std::string> Symbols;
  for (const auto &[Key, R] : Rows)
    Symbols.push_back(Key.first);
  return refuseSelection("no launched kernel", KernelRegex, Symbols);
}

bool RecordKeeper::hasRecorded(StringRef Symbol, uint64_t Launches) const {
  uint64_t Found = 0;
  for (const auto &K : Kernels)
    if (K.second.File.KernelName == Symbol)
      Found += K.second.Held.value_or(0);
  for (const auto &[Key, R] : Rows)
    if (Key.first == Symbol)
      Found += R.Instances;
  return Found >= Launches;
}

std::vector<std::pair<std::string, std::string>>
RecordKeeper::firstLaunches() const {
  std::vector<std::pair<std::string, std::string>> Launches;
  for (const auto &[Key, R] : Rows)
    if (!R.First.empty())
      Launches.push_back({pathOf(Key.second + ".json"), R.First});
  return Launches;
}

RecordKeeper::Totals RecordKeeper::count() const {
  Totals T;
  for (const auto &[Key, R] : Rows) {
    T.Instances += R.Instances;
    T.Stored += R.Stored;
    T.Kernels += R.Instances != 0;
  }
  return T;
}

std::string RecordKeeper::describe() const {
  Totals T = count();
  return formatv("{0} of {1} recorded, {2}", formatCount(T.Instances, "launch"),
                 formatCount(T.Kernels, "kernel"), formatBytes(T.Stored))
      .str();
}

static double seconds(uint64_t Nanoseconds) { return Nanoseconds * 1e-9; }

void RecordKeeper::print(raw_ostream &OS) const {
  TextTable Table({"kernel", "instances", "launches", "memory", "on disk"});
  for (const auto &[Key, R] : Rows)
    Table.add({printable(demangleSymbol(Key.first)), utostr(R.Instances),
               Reports ? utostr(R.Launches) : "-", formatBytes(R.Raw),
               formatBytes(R.Stored)});
  Table.fit(getLineWidth(/*OnStandardError=*/true));
  if (!Table.empty())
    Table.print(OS, "lrrrr");
  if (Reports || !Processes)
    OS << "mneme: " << formatCount(Seen, "launch") << " seen, " << Recorded
       << " recorded, " << Skipped << " skipped\n";
  for (const auto &[Reason, Times] : Reasons)
    OS << "mneme:   " << Times << " skipped: " << Reason << '\n';
  if (Reasons.count(MNEME_REASON_HELD))
    OS << "mneme:   the folder keeps the earlier recording of these launches, "
          "with its arguments and memory: record into another folder (-o)\n";
  Totals T = count();
  if (!Dir.empty())
    OS << "mneme: " << formatCount(T.Instances, "instance") << " of "
       << formatCount(T.Kernels, "kernel") << ", " << formatBytes(T.Stored)
       << " in '" << Dir << "'\n";
  for (const auto &[Key, R] : Rows)
    if (R.Unchanged)
      OS << formatv("mneme: {0} of {1} of '{2}' changed no memory: an empty "
                    "kernel may verify\n",
                    R.Unchanged, formatCount(R.Instances, "instance"),
                    printable(demangleSymbol(Key.first)));
  if (OmittedRegions)
    OS << "mneme: " << formatCount(OmittedRegions, "buffer") << " of "
       << formatBytes(OmittedBytes)
       << " omitted, because no pointer leads there\n";
  OS << formatv("mneme: {0:f3} s spent on recording, {1:f3} s on compiling",
                seconds(RecordTime), seconds(CompileTime));
  // If the program runs long enough, little time is spent at the end.
  constexpr uint64_t Noticeable = 100000000;
  if (WriteTime + SyncTime >= Noticeable)
    OS << formatv("; {0:f3} s on writing at the end, {1:f3} s on the disk",
                  seconds(WriteTime), seconds(SyncTime));
  OS << '\n';
  if (Processes == 0)
    OS << "mneme: no process of the application launched a kernel, or it was "
          "started without LD_PRELOAD and MNEME_* in its environment\n";
  else if (Reports < Processes)
    OS << "mneme: " << Processes - Reports << " of " << Processes
       << " processes ended without a report: their launches are not counted\n";
}
