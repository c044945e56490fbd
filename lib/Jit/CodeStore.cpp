//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeStore.h"
#include "BuildSource.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::JitFile;
using ::mneme::JitOrigin;
using ::mneme::JitTarget;
using ::mneme::JitToolchain;

static constexpr uint64_t MemoryLimit = uint64_t(128) << 20;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Removes files, or only notes, until all of these have less than 7/8 of \p
/// Limit bytes.
static void removeOld(StringRef Folder, uint64_t Limit, bool OnlyNotes) {
  struct File {
    sys::TimePoint<> Used;
    uint64_t Size;
    std::string Path;
  };
  std::vector<File> Files;
  uint64_t Total = 0;
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC, /*follow_symlinks=*/false),
       End;
       I != End && !EC; I.increment(EC)) {
    StringRef Name = sys::path::filename(I->path());
    sys::fs::file_status Status;
    auto IsOf = [&](JitFile Kind) {
      return ::mneme::isJitFileName(Name.str(), Kind);
    };
    bool IsCounted =
        IsOf(JitFile::Toolchain) ||
        (!OnlyNotes && (IsOf(JitFile::Facts) || IsOf(JitFile::Code)));
    if (!IsCounted || sys::fs::status(I->path(), Status, /*follow=*/false))
      continue;
    Files.push_back(
        {Status.getLastModificationTime(), Status.getSize(), I->path()});
    Total += Status.getSize();
  }
  if (Total <= Limit)
    return;
  llvm::sort(Files,
             [](const File &A, const File &B) { return A.Used < B.Used; });
  for (const File &F : Files) {
    if (Total <= Limit / 8 * 7)
      break;
    // A process that reads it keeps its contents.
    if (!sys::fs::remove(F.Path))
      Total -= F.Size;
  }
}

void CodeStore::remember(const std::string &Key, JitFile Kind,
                         const std::string &Contents) {
  std::string Name = ::mneme::jitFileName(Key, Kind);
  if (auto Old = ByName.find(Name); Old != ByName.end()) {
    Bytes -= Old->second->Contents.size() + Old->second->Key.size();
    Entries.erase(Old->second);
  }
  Entries.push_front({Name, Key, Contents});
  ByName[Name] = Entries.begin();
  Bytes += Contents.size() + Key.size();
  while (Bytes > MemoryLimit && Entries.size() > 1) {
    Bytes -= Entries.back().Contents.size() + Entries.back().Key.size();
    ByName.erase(Entries.back().Name);
    Entries.pop_back();
  }
}

std::optional<CodeStore::Found>
CodeStore::find(const std::string &Folder, const std::string &Key, JitFile Kind,
                function_ref<bool(const std::string &)> IsValid) {
  std::string Name = ::mneme::jitFileName(Key, Kind);
  if (auto It = ByName.find(Name);
      It != ByName.end() && It->second->Key == Key) {
    Entries.splice(Entries.begin(), Entries, It->second);
    return Found{It->second->Contents, JitOrigin::Memory};
  }
  Found F = {"", JitOrigin::Disk};
  if (Folder.empty() ||
      ::mneme::readJitFile(Folder, Key, Kind, F.Contents) !=
          ::mneme::JitRead::Found ||
      !IsValid(F.Contents))
    return std::nullopt;
  remember(Key, Kind, F.Contents);
  return F;
}

Error CodeStore::write(const std::string &Folder, uint64_t Limit,
                       const std::string &Key, JitFile Kind,
                       const std::string &Contents, bool IsNote) {
  remember(Key, Kind, Contents);
  if (Folder.empty())
    return Error::success();
  if (Error E = makeOwnFolder(Folder, /*Secret=*/true))
    return E;
  std::string File = ::mneme::jitFileBytes(Key, Contents);
  if (Error E =
          writeFileAtomically(pathIn(Folder, ::mneme::jitFileName(Key, Kind)),
                              File, /*Sync=*/false))
    return E;
  // Counting takes a while for many files.
  auto [It, IsNew] = Written.try_emplace({Folder, IsNote}, 0);
  It->second += File.size();
  if (Limit && (IsNew || It->second > Limit / 16)) {
    It->second = 0;
    removeOld(Folder, Limit, /*OnlyNotes=*/IsNote);
  }
  return Error::success();
}

Error CodeStore::add(const std::string &Folder, uint64_t Limit,
                     const std::string &Key, JitFile Kind,
                     const std::string &Contents) {
  return write(Folder, Limit, Key, Kind, Contents, /*IsNote=*/false);
}

Error CodeStore::update(const std::string &Folder, uint64_t Limit,
                        const std::string &Key, JitFile Kind,
                        const std::string &Contents) {
  std::string There;
  if (Folder.empty() ||
      ::mneme::readJitFile(Folder, Key, Kind, There) !=
          ::mneme::JitRead::Found ||
      There == Contents)
    return Error::success();
  return add(Folder, Limit, Key, Kind, Contents);
}

Error CodeStore::addNote(const std::string &Folder, const std::string &Key,
                         const std::string &Contents) {
  constexpr uint64_t NotesLimit = 4 << 20;
  // It may also be the folder of a cache.
  return write(Folder, NotesLimit, Key, JitFile::Toolchain, Contents,
               /*IsNote=*/true);
}

//===----------------------------------------------------------------------===//
// The toolchain
//===----------------------------------------------------------------------===//

/// Returns true for libraries that make code: of LLVM, and of GNU's linker.
static bool makesCode(StringRef Path) {
  StringRef Name = sys::path::filename(Path);
  return any_of(ArrayRef<StringRef>{"libLLVM", "libclang", "liblld", "libbfd"},
                [&](StringRef Start) { return Name.starts_with(Start); });
}

/// Returns the paths of this program and of LLVM's libraries in it.
static std::vector<std::string> findOwnFiles() {
  std::vector<std::string> Paths;
  dl_iterate_phdr(
      [](dl_phdr_info *Info, size_t, void *Data) {
        auto &Paths = *static_cast<std::vector<std::string> *>(Data);
        StringRef Name = Info->dlpi_name ? Info->dlpi_name : "";
        if (Name.empty() && Paths.empty())
          Paths.push_back("/proc/self/exe");
        else if (makesCode(Name))
          Paths.push_back(Name.str());
        return 0;
      },
      &Paths);
  return Paths;
}

/// Returns the paths of libraries in a program that make code.
static std::vector<std::string> findLibraries(const std::string &Program) {
  Descriptor Out(::memfd_create("mneme-libraries", MFD_CLOEXEC));
  CompilerSetup Setup;
  Setup.Out = Out.get();
  // The loader lists them instead of starting the program.
  Setup.Environment = {{"LD_TRACE_LOADED_OBJECTS", "1"}};
  Expected<CompilerRun> Run = runCompiler(Program, {Program}, Setup);
  consumeError(Run.takeError());
  ::lseek(Out.get(), 0, SEEK_SET);
  std::string Text = readToEnd(Out.get());
  std::vector<std::string> Paths;
  for (StringRef Line : split(Text, '\n')) {
    StringRef Path = Line.split(" => ").second.rsplit(" (").first;
    if (makesCode(Path))
      Paths.push_back(Path.str());
  }
  return Paths;
}

/// Finds the programs that compile sources. To ask a clang for its version
/// takes as long as to compile a small function.
static Expected<SourceTools> findTools(const std::string &Folder,
                                       CodeStore &Store) {
  std::string Key = getVersion().str() + " clang " +
                    sys::Process::GetEnv("PATH").value_or("") + ' ' +
                    sys::Process::GetEnv("LD_LIBRARY_PATH").value_or("");
  JitToolchain Last;
  auto Decode = [&](const std::string &Bytes) {
    Last = {};
    return JitToolchain::decode(Bytes, Last);
  };
  std::optional<CodeStore::Found> Known =
      Store.find(Folder, Key, JitFile::Toolchain, Decode);
  bool IsKnown = Known && Decode(Known->Contents) && Last.isCurrent();
  Expected<SourceTools> Tools = SourceTools::find(
      "/proc/self/exe", IsKnown ? Last.Files.front().Path : "");
  if (!Tools)
    return Tools;
  // By now, there may be another linker in an earlier folder.
  std::vector<std::string> Programs = {Tools->Clang};
  for (const std::string &Linker : {Tools->Linker, Tools->SmallLinker})
    if (!Linker.empty())
      Programs.push_back(Linker);
  auto IsSame = [](const auto &Each) {
    return std::get<0>(Each) == std::get<1>(Each).Path;
  };
  if (IsKnown && Last.Files.size() >= Programs.size() &&
      all_of(zip(Programs, Last.Files), IsSame)) {
    for (const JitToolchain::File &F : drop_begin(Last.Files, Programs.size()))
      Tools->Libraries.push_back(F.Path);
    return Tools;
  }
  for (const std::string &Program : Programs)
    append_range(Tools->Libraries, findLibraries(Program));
  JitToolchain Now;
  auto Add = [&](const std::string &Path) { return Now.add(Path); };
  if (all_of(Programs, Add) && all_of(Tools->Libraries, Add)) {
    Now.Identity = ::mneme::jitDigest(Key);
    consumeError(Store.addNote(Folder, Key, Now.encode()));
  }
  return Tools;
}

/// Returns what changes with the contents of a file. To read all of LLVM takes
/// longer than to compile a small function, and linkers make build IDs of the
/// contents.
static Expected<std::string> identifyFile(const std::string &Path) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path);
  if (!File)
    return File.takeError();
  StringRef Contents = (*File)->getBuffer();
  if (makesCode(Path)) {
    Expected<std::unique_ptr<object::ObjectFile>> Object =
        object::ObjectFile::createObjectFile((*File)->getMemBufferRef());
    if (!Object)
      consumeError(Object.takeError());
    else if (object::BuildIDRef ID = object::getBuildID(Object->get());
             !ID.empty())
      return toHex(ID) + utostr(Contents.size());
  }
  return toHexString(digest128(Contents));
}

Expected<JitToolchain> llvm::mneme::findToolchain(
    const std::string &Program, const std::string &CudaPath, JitTarget Target,
    SourceTools &Tools, const std::string &Folder, CodeStore &Store) {
  std::vector<std::string> Files = findOwnFiles();
  if (isLibrary(Target)) {
    if (Error E = findTools(Folder, Store).moveInto(Tools))
      return std::move(E);
    Files.push_back(Tools.Clang);
    Files.push_back(Tools.Plugin);
    for (const std::string &Linker : {Tools.Linker, Tools.SmallLinker})
      if (!Linker.empty())
        Files.push_back(Linker);
    append_range(Files, Tools.Libraries);
  }
  if (usesCuda(Target)) {
    // Without ptxas, there may be the library that was linked.
    Expected<std::string> Ptxas = findPtxas(CudaPath);
    if (Ptxas)
      Files.push_back(*Ptxas);
    else
      consumeError(Ptxas.takeError());
  }
  JitToolchain T;
  std::vector<std::string> Different;
  for (const std::string &Path : Files) {
    // Clients know the program by its path only.
    const std::string &Shown = Path == "/proc/self/exe" ? Program : Path;
    SmallString<128> Real;
    sys::fs::UniqueID Running, Named;
    if (sys::fs::real_path(Shown, Real))
      return createStringError("cannot find '" + Shown + "'");
    if (any_of(T.Files, [&](const auto &F) { return F.Path == Real; }))
      continue;
    if (!T.add(std::string(Real)) || sys::fs::getUniqueID(Path, Running) ||
        sys::fs::getUniqueID(Shown, Named))
      return createStringError("cannot find '" + Shown + "'");
    if (Running != Named)
      return createStringError("'" + Shown + "' was replaced");
    Different.push_back(Path);
  }
  std::string Text = "LLVM " LLVM_VERSION_STRING " Mneme " + getVersion().str();
  std::string Key = Text + T.encode();
  constexpr size_t IdentitySize = 16;
  auto IsIdentity = [](const std::string &Bytes) {
    return Bytes.size() == IdentitySize;
  };
  if (std::optional<CodeStore::Found> Known =
          Store.find(Folder, Key, JitFile::Toolchain, IsIdentity)) {
    T.Identity = std::move(Known->Contents);
    return std::move(T);
  }
  for (const std::string &Path : Different) {
    Expected<std::string> Contents = identifyFile(Path);
    if (!Contents)
      return Contents.takeError();
    Text += *Contents;
  }
  T.Identity = ::mneme::jitDigest(Text);
  // Without it, the next server reads them.
  consumeError(Store.addNote(Folder, Key, T.Identity));
  return std::move(T);
}
