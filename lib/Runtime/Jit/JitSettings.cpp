//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitSettings.h"
#include "Descriptor.h"
#include "Settings.h"
#include "llvm/Mneme/Runtime/JitCache.h"
#include "llvm/Mneme/Runtime/JitEnvironment.h"

#include <climits>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

using namespace mneme;

static const char *getText(const char *Name) {
  const char *Text = getSecureVariable(Name);
  return Text && *Text ? Text : nullptr;
}

static bool readFile(const std::string &Path, std::string &Contents) {
  constexpr off_t MaxSize = 64 << 20;
  OwnedDescriptor Fd(
      open(Path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat Status;
  if (Fd < 0 || fstat(Fd, &Status) || !S_ISREG(Status.st_mode) ||
      Status.st_size > MaxSize)
    return false;
  Contents.resize(Status.st_size);
  return transferAll(Contents.size(), [&](size_t Done, size_t Left) {
    return ::read(Fd, &Contents[Done], Left);
  });
}

static std::string absolute(const std::string &Path) {
  if (Path.empty() || Path[0] == '/')
    return Path;
  char Here[PATH_MAX];
  return getcwd(Here, sizeof(Here)) ? std::string(Here) + "/" + Path : Path;
}

/// Calls \p Visit for each part of \p Text between separators.
template <typename Fn>
static void split(const std::string &Text, char Separator, Fn Visit) {
  for (size_t At = 0; At <= Text.size();) {
    size_t End = std::min(Text.find(Separator, At), Text.size());
    if (End != At)
      Visit(Text.substr(At, End - At));
    At = End + 1;
  }
}

static uint32_t readSpecialize() {
  constexpr uint32_t Default = JitArgs | JitBlock | JitBounds;
  static constexpr std::pair<const char *, uint32_t> Words[] = {
      {"args", JitArgs},
      {"block", JitBlock},
      {"grid", JitGrid},
      {"ranges", JitRanges},
      {"bounds", JitBounds}};
  uint32_t Result = 0;
  if (const char *Text = getSecureVariable(MNEME_ENV_JIT_SPECIALIZE)) {
    split(Text, ',', [&](const std::string &Word) {
      for (auto [Name, Bit] : Words)
        if (Word == Name) {
          Result |= Bit;
          return;
        }
      tell("mneme: warning: " MNEME_ENV_JIT_SPECIALIZE
           ": expected a list of 'args', 'block', 'grid', 'ranges' and "
           "'bounds', got '%s'\n",
           Word.c_str());
    });
    return Result;
  }
  Result = Default;
  // A variable of Proteus may also switch off what is on by default.
  auto Set = [&](const char *Name, uint32_t Bits) {
    if (const char *Text = getText(Name))
      Result = *Text == '0' ? Result & ~Bits : Result | Bits;
  };
  Set("PROTEUS_SPECIALIZE_ARGS", JitArgs);
  Set("PROTEUS_SPECIALIZE_DIMS", JitBlock | JitGrid);
  Set("PROTEUS_SPECIALIZE_DIMS_RANGE", JitRanges);
  Set("PROTEUS_SPECIALIZE_LAUNCH_BOUNDS", JitBounds);
  return Result;
}

static std::string findCache() {
  const char *Text = getText(MNEME_ENV_JIT_CACHE);
  if (!Text)
    Text = getText("PROTEUS_CACHE_DIR");
  const char *Proteus = getText("PROTEUS_USE_STORED_CACHE");
  if ((Text && !strcmp(Text, "none")) || (!Text && Proteus && *Proteus == '0'))
    return "";
  if (Text)
    return absolute(Text);
  if (const char *Folder = getText("XDG_CACHE_HOME"))
    return absolute(Folder) + "/mneme/jit";
  const char *Home = getText("HOME");
  return Home ? absolute(Home) + "/.cache/mneme/jit" : "";
}

/// Returns the program in the folder bin beside the runtime's lib.
static std::string findServer() {
  if (const char *Text = getText(MNEME_ENV_JIT_SERVER))
    return absolute(Text);
  Dl_info Info;
  char Real[PATH_MAX];
  if (!dladdr(reinterpret_cast<void *>(findServer), &Info) ||
      !realpath(Info.dli_fname, Real))
    return "";
  std::string Path = Real;
  for (int Up = 0; Up != 2; ++Up)
    Path.resize(std::min(Path.rfind('/'), Path.size()));
  return Path + "/bin/llvm-mneme-jitd";
}

static std::string findPasses() {
  if (const char *Text = getText(MNEME_ENV_JIT_PASSES))
    return Text;
  if (const char *Text = getText("PROTEUS_OPT_PIPELINE"))
    return Text;
  const char *Level = getText("PROTEUS_OPT_LEVEL");
  return Level && !Level[1] && strchr("0123sz", *Level)
             ? std::string("default<O") + Level + ">"
             : "";
}

static bool isSet(const char *Name) {
  const char *Text = getText(Name);
  return Text && *Text != '0';
}

void JitSettings::read() {
  const char *On = getText(MNEME_ENV_JIT);
  IsOn = On ? *On != '0' : !isSet("PROTEUS_DISABLE");
  uint32_t TheMode = isSet("PROTEUS_ASYNC_COMPILATION") &&
                             !isSet("PROTEUS_ASYNC_TEST_BLOCKING")
                         ? uint32_t(JitMode::Async)
                         : 0;
  choose(MNEME_ENV_JIT_MODE, {"block", "async", "cached"}, TheMode, false);
  Mode = JitMode(TheMode);
  Specialize = readSpecialize();
  double Number = MaxVariants;
  readNumber(MNEME_ENV_JIT_VARIANTS, Number, 4096, false);
  MaxVariants = uint32_t(Number);
  Passes = findPasses();
  if (const char *Path = getText(MNEME_ENV_JIT_CONFIG)) {
    if (!readFile(Path, Config))
      tell("mneme: warning: " MNEME_ENV_JIT_CONFIG ": cannot read '%s'\n",
           Path);
  } else if (const char *Level = getText("PROTEUS_CODEGEN_OPT_LEVEL");
             Level && !Level[1] && *Level >= '0' && *Level <= '3') {
    Config = std::string("{\"codegen_opt\": ") + Level + "}";
  }
  if (const char *Text = getText(MNEME_ENV_JIT_KERNELS))
    Kernels = Text;
  Cache = findCache();
  double Size = double(uint64_t(1) << 30);
  readNumber(MNEME_ENV_JIT_CACHE_SIZE, Size, 1e15, false);
  CacheSize = uint64_t(Size);
  if (const char *Text = getText(MNEME_ENV_JIT_SHARED_CACHE))
    split(Text, ':', [&](const std::string &Folder) {
      SharedCaches.push_back(absolute(Folder));
    });
  Times = isSet(MNEME_ENV_JIT_TIMES);
  if (const char *Text = getText(MNEME_ENV_JIT_REPORT))
    Report = Text;
  Server = findServer();
  for (const char *Name : {"MNEME_CUDA_PATH", "CUDA_HOME", "CUDA_PATH"})
    if (const char *Text = CudaPath.empty() ? getText(Name) : nullptr)
      CudaPath = absolute(Text);
  if (const char *Path = getText("PROTEUS_TUNED_KERNELS")) {
    std::string Contents;
    if (readFile(Path, Contents)) {
      TunedFile = absolute(Path);
      TunedDigest = jitDigest(Contents);
    } else {
      tell("mneme: warning: PROTEUS_TUNED_KERNELS: cannot read '%s'\n", Path);
    }
  }
  readNumber(MNEME_ENV_JIT_IDLE, IdleSeconds, 1e9, false);
  readNumber(MNEME_ENV_JIT_TIMEOUT, TimeoutSeconds, 1e6, false);
}
