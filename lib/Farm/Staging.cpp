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
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Names of files that lie anywhere on the coordinator's machine.
static constexpr StringLiteral IRName = "other-ir", AppName = "application";

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const StagedFile &F) {
  return json::Object{
      {"name", F.Name}, {"size", F.Size}, {"digest", F.Digest}};
}

/// It becomes a part of a path.
static bool isPlainName(StringRef Name) {
  return !Name.empty() && Name.front() != '.' && Name.size() < 200 &&
         Name.find_first_of(StringRef("/\\\0", 3)) == StringRef::npos;
}

bool mneme::fromJSON(const json::Value &V, StagedFile &F, json::Path P) {
  json::ObjectMapper O(V, P);
  if (!O || !O.map("name", F.Name) || !O.map("size", F.Size) ||
      !O.map("digest", F.Digest))
    return false;
  if (!isPlainName(F.Name)) {
    P.field("name").report("no file name");
    return false;
  }
  if (!parseDigest128(F.Digest)) {
    P.field("digest").report("no digest");
    return false;
  }
  return true;
}

template <typename T>
static json::Value printOptional(const std::optional<T> &V) {
  return V ? json::Value(static_cast<int64_t>(*V)) : json::Value(nullptr);
}

/// What configurations can set, and the rest of what a replay depends on.
static json::Value printOptions(const ReplayOptions &O) {
  json::Array Tolerances, Types;
  for (const ToleranceSpec &T : O.Tolerances)
    Tolerances.push_back(json::Object{
        {"kind", T.Kind}, {"value", T.Value}, {"buffer", T.Buffer}});
  for (const ElementTypeSpec &T : O.ElementTypes)
    Types.push_back(json::Object{{"type", T.DType}, {"buffer", T.Buffer}});
  // Other IR travels with the recording.
  json::Object Config = makeConfig(O);
  Config.erase("ir");
  json::Object Object{
      {"config", std::move(Config)},
      {"arch", O.Arch},
      {"plugins", json::Array(O.Plugins)},
      {"assembler", static_cast<int>(O.Assembler)},
      {"other_ir", !O.IRFile.empty()},
      {"application", !O.App.empty()},
      {"host_strategy", static_cast<int>(O.Host.Strategy)},
      {"host_finish", static_cast<int>(O.Host.Finish)},
      {"resources", O.Resources},
      {"verify", O.Verify},
      {"iterations", printOptional(O.Iterations)},
      {"warmup", printOptional(O.Warmup)},
      {"adaptive", O.Adaptive},
      {"timer", static_cast<int>(O.Timer)},
      {"timeout", O.Timeout},
      {"tolerances", std::move(Tolerances)},
      {"element_types", std::move(Types)},
      {"norm", printOptional(O.Norm)},
      {"nan", static_cast<int>(O.NaN)}};
  if (O.Cache)
    Object["cache"] = getCacheModeName(*O.Cache);
  return std::move(Object);
}

template <typename T>
static bool mapEnum(json::ObjectMapper &O, StringLiteral Key, T &Out, T Last,
                    json::Path P) {
  int64_t Value = 0;
  if (!O.map(Key, Value))
    return false;
  if (Value < 0 || Value > static_cast<int64_t>(Last)) {
    P.field(Key).report("unknown value");
    return false;
  }
  Out = static_cast<T>(Value);
  return true;
}

template <typename T>
static bool mapList(const json::Value &V, StringRef Key, std::vector<T> &Out,
                    json::Path P,
                    function_ref<bool(json::ObjectMapper &, T &)> Map) {
  const json::Array *List = V.getAsObject()->getArray(Key);
  if (!List) {
    P.field(Key).report("expected array");
    return false;
  }
  for (const json::Value &Item : *List) {
    json::ObjectMapper O(Item, P.field(Key).index(Out.size()));
    if (!O || !Map(O, Out.emplace_back()))
      return false;
  }
  return true;
}

static bool readOptions(const json::Value &V, ReplayOptions &R, json::Path P) {
  json::ObjectMapper O(V, P);
  bool OtherIR = false, App = false;
  std::optional<std::string> Cache;
  if (!O || !O.map("arch", R.Arch) || !O.map("plugins", R.Plugins) ||
      !mapEnum(O, "assembler", R.Assembler, PTXCompiler::Library, P) ||
      !O.map("other_ir", OtherIR) || !O.map("application", App) ||
      !mapEnum(O, "host_strategy", R.Host.Strategy, HostStrategy::Fiber, P) ||
      !mapEnum(O, "host_finish", R.Host.Finish, HostFinish::None, P) ||
      !O.map("resources", R.Resources) || !O.map("verify", R.Verify) ||
      !O.map("iterations", R.Iterations) || !O.map("warmup", R.Warmup) ||
      !O.map("adaptive", R.Adaptive) ||
      !mapEnum(O, "timer", R.Timer, GPUTimer::CUPTI, P) ||
      !O.map("timeout", R.Timeout) || !O.map("norm", R.Norm) ||
      !mapEnum(O, "nan", R.NaN, NaNRule::Error, P) || !O.map("cache", Cache))
    return false;
  if (!mapList<ToleranceSpec>(V, "tolerances", R.Tolerances, P,
                              [](json::ObjectMapper &O, ToleranceSpec &T) {
                                return O.map("kind", T.Kind) &&
                                       O.map("value", T.Value) &&
                                       O.map("buffer", T.Buffer);
                              }) ||
      !mapList<ElementTypeSpec>(V, "element_types", R.ElementTypes, P,
                                [](json::ObjectMapper &O, ElementTypeSpec &T) {
                                  return O.map("type", T.DType) &&
                                         O.map("buffer", T.Buffer);
                                }))
    return false;
  if (Cache)
    R.Cache = *Cache == "cold" ? CacheMode::Cold : CacheMode::Warm;
  if (OtherIR)
    R.IRFile = IRName.str();
  if (App)
    R.App = AppName.str();
  const json::Object *Config = V.getAsObject()->getObject("config");
  if (!Config) {
    P.field("config").report("expected object");
    return false;
  }
  if (Error E = applyConfig(*Config, R)) {
    consumeError(std::move(E));
    P.field("config").report("no configuration");
    return false;
  }
  return true;
}

json::Value mneme::toJSON(const RemoteStudy &S) {
  json::Array Files;
  for (const StagedFile &F : S.Files)
    Files.push_back(toJSON(F));
  return json::Object{{"options", printOptions(S.Base)},
                      {"record_ids", json::Array(S.RecordIds)},
                      {"compile_timeout", S.CompileTimeout},
                      {"launch_timeout", S.LaunchTimeout},
                      {"database", S.Database},
                      {"files", std::move(Files)}};
}

bool mneme::fromJSON(const json::Value &V, RemoteStudy &S, json::Path P) {
  json::ObjectMapper O(V, P);
  if (!O || !O.map("record_ids", S.RecordIds) ||
      !O.map("compile_timeout", S.CompileTimeout) ||
      !O.map("launch_timeout", S.LaunchTimeout) ||
      !O.map("database", S.Database) || !O.map("files", S.Files))
    return false;
  const json::Value *Options = V.getAsObject()->get("options");
  if (!Options) {
    P.field("options").report("missing value");
    return false;
  }
  if (!readOptions(*Options, S.Base, P.field("options")))
    return false;
  StringSet<> Names;
  for (const StagedFile &F : S.Files)
    if (!Names.insert(F.Name).second) {
      P.field("files").report("a name twice");
      return false;
    }
  if (!Names.contains(S.Database) ||
      (!S.Base.IRFile.empty() && !Names.contains(IRName)) ||
      (!S.Base.App.empty() && !Names.contains(AppName))) {
    P.field("files").report("a file is missing");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The coordinator's side
//===----------------------------------------------------------------------===//

static std::string inFolder(StringRef Dir, StringRef Name) {
  SmallString<128> Path(Dir);
  sys::path::append(Path, Name);
  return std::string(Path);
}

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
  std::string Dir = sys::fs::is_directory(Database)
                        ? Database.str()
                        : sys::path::parent_path(Database).str();
  const RecordedKernel &K = Plans.front()->kernel();
  S.Database = sys::fs::is_directory(Database)
                   ? K.StaticHash + ".json"
                   : sys::path::filename(Database).str();
  std::vector<std::string> Names = {S.Database};
  append_range(Names, K.Modules);
  auto Pages = std::make_shared<PageStore>(Dir);
  for (const std::unique_ptr<ReplayPlan> &P : Plans) {
    S.RecordIds.push_back(P->instance().DynamicHash);
    for (const std::string &Name :
         {P->instance().Prologue, P->instance().Epilogue}) {
      // It knows which files its pages are in.
      Expected<Snapshot> Opened = Snapshot::open(inFolder(Dir, Name), Pages);
      if (!Opened)
        return Opened.takeError();
      Names.push_back(Name);
    }
  }
  for (const Digest128 &Id : Pages->opened())
    Names.push_back(PageFile::nameOf(Id));
  for (const std::string &Name : Names)
    if (Error E = addFile(S, Files, Name, inFolder(Dir, Name)))
      return std::move(E);
  if (!Base.IRFile.empty())
    if (Error E = addFile(S, Files, IRName, Base.IRFile))
      return std::move(E);
  if (!Base.App.empty())
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

void RemoteStudy::locate(StringRef Dir) {
  Database = inFolder(Dir, Database);
  if (!Base.IRFile.empty())
    Base.IRFile = inFolder(Dir, IRName);
  if (!Base.App.empty())
    Base.App = inFolder(Dir, AppName);
}

std::string mneme::getDefaultCacheDir() {
  if (std::optional<std::string> Dir = sys::Process::GetEnv("XDG_CACHE_HOME"))
    if (sys::path::is_absolute(*Dir))
      return inFolder(*Dir, "mneme");
  SmallString<128> Temporary;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Temporary);
  return inFolder(Temporary, "mneme-" + std::to_string(::getuid()));
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

Expected<std::string> mneme::stage(const RemoteStudy &S, StringRef CacheDir,
                                   FetchFn Fetch) {
  if (Error E = makeOwnFolder(CacheDir, /*Secret=*/true))
    return std::move(E);
  std::string Dir = inFolder(CacheDir, S.digest());
  if (Error E = makeOwnFolder(Dir, /*Secret=*/true))
    return std::move(E);
  std::string LockPath = Dir + ".lock";
  Expected<LockedFile> Lock = LockedFile::wait(LockPath);
  if (!Lock)
    return Lock.takeError();
  for (unsigned I = 0; I != S.Files.size(); ++I) {
    const StagedFile &F = S.Files[I];
    std::string Path = inFolder(Dir, F.Name);
    if (isWhole(Path, F))
      continue;
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
      return createStringError("'" + F.Name + "' was damaged on its way");
    }
  }
  return Dir;
}
