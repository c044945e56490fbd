//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitLibraries.h"
#include "../Driver/CudaTypes.h"
#include "../Driver/HipLibraries.h"
#include "Clock.h"
#include "Descriptor.h"
#include "Jit.h"
#include "Shortage.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>

using namespace mneme;

static std::string currentFolder() {
  char Path[PATH_MAX];
  return getcwd(Path, sizeof(Path)) ? Path : "/";
}

//===----------------------------------------------------------------------===//
// Getting libraries
//===----------------------------------------------------------------------===//

LinkStatus Jit::build(const JitSource &Source, JitBuilt &Built) {
  uint64_t Start = now();
  std::string Folder = currentFolder();
  std::string Identity, Bytes;
  LinkStatus S = identify(Source.Target, Identity);
  if (S.K != LinkStatus::Ok)
    return S;
  std::string Key = makeSourceKey(Identity, Source, Folder);
  auto IsCurrent = [&] {
    JitInputs Inputs;
    return JitInputs::decode(Bytes, Inputs) && Inputs.isCurrent(Folder);
  };
  if (findInCache(Key, JitFile::Facts, Bytes, IsCurrent) &&
      findInCache(Key + Bytes, JitFile::Code, Built.Library,
                  [&] { return isSharedLibrary(Built.Library); })) {
    Built.Origin = JitOrigin::Disk;
  } else if (Settings.Mode == JitMode::Cached) {
    return {LinkStatus::Refused, describeReason(JitReason::NotCached)};
  } else {
    WireWriter Body;
    writeFields(Body, Source);
    Body.str(Folder);
    Body.str(Settings.Cache);
    Body.u64(Settings.CacheSize);
    Body.str(Settings.CudaPath);
    S = Link.build(Source.Target, Body.body(), Built);
  }
  if (S.K != LinkStatus::Ok || Built.Library.empty())
    return S;
  BuiltSource Record = {Source, jitDigest(Key), Built.Origin, Built.Nanoseconds,
                        now() - Start};
  Record.Source.Text.clear();
  Record.Source.Tail.clear();
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Built.Note.empty())
    Note = Built.Note;
  Sources.push_back(std::move(Record));
  return S;
}

//===----------------------------------------------------------------------===//
// Loading libraries
//===----------------------------------------------------------------------===//

/// Returns the architecture of the current device of HIP: "gfx90a"; empty
/// without one.
static std::string findHipArchitecture() {
  int Device = 0;
  void *Runtime = RTLD_DEFAULT;
  if (!dlsym(Runtime, "hipGetDevice"))
    for (const char *Name : HipLibraries)
      if ((Runtime = dlopen(Name, RTLD_LAZY | RTLD_LOCAL)))
        break;
  auto Find = [&](const char *Name) { return dlsym(Runtime, Name); };
  auto *GetDevice = reinterpret_cast<int (*)(int *)>(Find("hipGetDevice"));
  if (!GetDevice || GetDevice(&Device))
    return "";
  auto FindProperties = [&](const char *Name) {
    return reinterpret_cast<HipGetProperties>(Find(Name));
  };
  return readHipArch(FindProperties("hipGetDevicePropertiesR0600"),
                     FindProperties("hipGetDeviceProperties"), Device);
}

/// Returns the architecture of the current device: "sm_90"; empty without one.
static std::string findArchitecture() {
  // cudaDevAttrComputeCapabilityMajor and CU_DEVICE_ATTRIBUTE_...
  constexpr int MajorAttribute = 75, MinorAttribute = 76;
  int Device = 0, Major = 0, Minor = 0;
  auto Ask = [&](auto *Get) {
    return Get && !Get(&Major, MajorAttribute, Device) &&
           !Get(&Minor, MinorAttribute, Device);
  };
  using GetAttribute = int(int *, int, int);
  auto Find = [](void *From, const char *Name) { return dlsym(From, Name); };
  auto *GetDevice =
      reinterpret_cast<int (*)(int *)>(Find(RTLD_DEFAULT, "cudaGetDevice"));
  bool Ok = GetDevice && !GetDevice(&Device) &&
            Ask(reinterpret_cast<GetAttribute *>(
                Find(RTLD_DEFAULT, "cudaDeviceGetAttribute")));
  if (!Ok) {
    // The application has its CUDA runtime inside.
    void *Driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    auto *Init =
        Driver ? reinterpret_cast<int (*)(unsigned)>(Find(Driver, "cuInit"))
               : nullptr;
    Device = 0;
    Ok = Init && !Init(0) &&
         Ask(reinterpret_cast<GetAttribute *>(
             Find(Driver, "cuDeviceGetAttribute")));
  }
  return Ok ? "sm_" + std::to_string(Major * 10 + Minor) : "";
}

/// Returns another path of a descriptor with each call: the loader takes a
/// library with a known path for the same.
static std::string uniquePath(int Fd) {
  static std::atomic<uint32_t> Count{0};
  std::string Path = "/proc/self/fd";
  for (uint32_t Number = Count++; Number; Number /= 2)
    Path += Number % 2 ? "/." : "/";
  return Path + "/" + std::to_string(Fd);
}

/// Loads a library that is in no file.
static void *loadLibrary(const std::string &Bytes, std::string &Error) {
  OwnedDescriptor Fd(memfd_create("mneme-jit", MFD_CLOEXEC));
  if (Fd < 0 || !transferAll(
                    Bytes.size(),
                    [&](size_t Done, size_t Left) {
                      return ::write(Fd, Bytes.data() + Done, Left);
                    })) {
    Error = "no memory for code";
    return nullptr;
  }
  void *Handle = dlopen(uniquePath(Fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!Handle)
    Error = dlerror();
  return Handle;
}

static std::string makeText(const char *Text, size_t Size) {
  return Size ? std::string(Text, Size) : std::string();
}

/// Adds the folders that the environment names: that of the server is of
/// another process.
static void addFoldersOfEnvironment(JitSource &S) {
  // Clang's own folders of libraries come before those of LIBRARY_PATH.
  static constexpr const char *Variables[][2] = {
      {"CPATH", "-I"},
      {"CPLUS_INCLUDE_PATH", "-isystem"},
      {"LIBRARY_PATH", "-L"}};
  for (auto [Name, Option] : Variables) {
    bool IsLinker = !strcmp(Option, "-L");
    const char *Value = IsLinker || S.Language == JitLanguage::Cpp
                            ? secure_getenv(Name)
                            : nullptr;
    for (std::string Rest = Value ? Value : ""; !Rest.empty();) {
      std::string Path = Rest.substr(0, Rest.find(':'));
      Rest.erase(0, Path.size() + 1);
      if (IsLinker)
        S.Options.push_back("-Xlinker");
      Path = Path.empty() ? "." : Path;
      // nvcc takes two words only.
      if (!strcmp(Option, "-isystem"))
        S.Options.insert(S.Options.end(), {Option, Path});
      else
        S.Options.push_back(Option + Path);
    }
  }
  if (S.Target != JitTarget::HipLibrary)
    return;
  // Options of the program come later, and have precedence.
  static constexpr const char *Places[][2] = {
      {"ROCM_PATH", "--rocm-path="},
      {"HIP_PATH", "--hip-path="},
      {"HIP_DEVICE_LIB_PATH", "--rocm-device-lib-path="}};
  for (auto [Name, Option] : Places)
    if (const char *Value = secure_getenv(Name); Value && *Value)
      S.Options.insert(S.Options.begin(), std::string(Option) + Value);
}

static JitSource readSource(const mneme_jit_source &From) {
  JitSource S;
  static constexpr JitTarget Targets[] = {
      JitTarget::Library, JitTarget::CudaLibrary, JitTarget::HipLibrary};
  S.Target = Targets[std::min(From.has_kernels, 2u)];
  S.Language = JitLanguage(From.language);
  S.Compiler = JitCompiler(From.compiler);
  S.Text = makeText(From.text, From.text_size);
  S.Tail = makeText(From.tail, From.tail_size);
  S.Options.assign(From.options, From.options + From.num_options);
  addFoldersOfEnvironment(S);
  return S;
}

namespace {
/// The libraries of the process.
class Libraries {
public:
  static Libraries &get() {
    // Never destroyed, because applications may use it while they exit.
    alignas(Libraries) static char Storage[sizeof(Libraries)];
    static Libraries &L = *new (Storage) Libraries;
    return L;
  }
  /// May throw.
  template <typename Fn> void *find(JitSource S, Fn Report);

private:
  struct Library {
    std::mutex Lock; ///< Held while it is compiled.
    void *Handle = nullptr;
  };
  std::mutex Lock;
  std::unordered_map<std::string, std::unique_ptr<Library>> ByKey;
};
} // namespace

template <typename Fn> void *Libraries::find(JitSource S, Fn Report) {
  auto Fail = [&](const std::string &Text) {
    Report(JitMessage{"error", "", Text});
    return nullptr;
  };
  if (S.Target != JitTarget::Library) {
    S.Arch = S.Target == JitTarget::HipLibrary ? findHipArchitecture()
                                               : findArchitecture();
    if (S.Arch.empty())
      return Fail("no device for kernels: run the program on a GPU, or with "
                  "llvm-mneme-record --no-record --device=host "
                  "--any-executable");
  }
  WireWriter Key;
  writeFields(Key, S);
  Library *L;
  {
    std::lock_guard<std::mutex> Guard(Lock);
    std::unique_ptr<Library> &Known = ByKey[Key.body()];
    if (!Known)
      Known = std::make_unique<Library>();
    L = Known.get();
  }
  std::lock_guard<std::mutex> Guard(L->Lock);
  if (L->Handle)
    return L->Handle;
  JitBuilt Built;
  LinkStatus Status = Jit::get().build(S, Built);
  for (const JitMessage &M : Built.Messages)
    Report(M);
  if (Status.K == LinkStatus::NoServer)
    return Fail("no compile server: " + Status.Text);
  if (Status.K != LinkStatus::Ok)
    return Fail(Status.Text);
  if (Built.Library.empty())
    return nullptr;
  std::string Error;
  L->Handle = loadLibrary(Built.Library, Error);
  return L->Handle ? L->Handle : Fail("the code cannot be loaded: " + Error);
}

extern "C" __attribute__((visibility("default"))) void *
__mneme_jit_build(const mneme_jit_source *S, mneme_jit_message_fn *OnMessage,
                  void *Data) {
  Uncancelled Here;
  auto Report = [&](const JitMessage &M) {
    OnMessage(Data, M.Severity.c_str(), M.File.c_str(), M.Line, M.Column,
              M.Text.c_str());
  };
  void *Handle = nullptr;
  if (S->size != sizeof(*S)) {
    OnMessage(Data, "error", "", 0, 0,
              "mneme/jit_module.h and the runtime are of different versions");
    return nullptr;
  }
  Jit::get().start();
  if (!attempt([&] { Handle = Libraries::get().find(readSource(*S), Report); }))
    OnMessage(Data, "error", "", 0, 0, "out of memory");
  return Handle;
}
