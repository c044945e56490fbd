//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitEntries.h"
#include "CodeImage.h"
#include "Jit.h"
#include "JitLibraries.h"
#include "LoadedSections.h"
#include "PayloadKernels.h"
#include "Program.h"
#include "Shortage.h"
#include "Variables.h"
#include "llvm/Mneme/Runtime/JitEnvironment.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <sys/uio.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>
#include <zstd.h>

using namespace mneme;

namespace {
/// The functions and kernels of the process.
struct Entries {
  std::mutex Lock;
  std::unordered_map<const void *, const MnemeJitEntry *> Kernels;
  std::vector<MnemeJitEntry *> Functions;
  uint64_t Unloads = 0; ///< For which Functions is valid.

  static Entries &get() {
    // Never destroyed, because applications may use it while they exit.
    alignas(Entries) static char Storage[sizeof(Entries)];
    static Entries &E = *new (Storage) Entries;
    return E;
  }
};

/// Host functions: the plugin wrote a table of addresses.
class FunctionLoader final : public JitLoader, SymbolSource {
public:
  explicit FunctionLoader(const MnemeJitEntry &E) : Entry(E) {
    const char *Name = E.AddressNames;
    for (uint64_t I = 0; I != E.NumAddresses; ++I, Name += strlen(Name) + 1)
      Addresses[Name] = const_cast<void *>(E.Addresses[I]);
  }
  void *load(JitImage &Image, std::string &Error) override {
    char *Base = static_cast<char *>(loadCodeImage(Image, *this, Error));
    return Base ? Base + Image.Entry : nullptr;
  }
  bool read(void *To, const void *From, uint64_t Size) override {
    // The pointer may be invalid, if the code as compiled never follows it.
    iovec Local = {To, Size}, Remote = {const_cast<void *>(From), Size};
    return process_vm_readv(getpid(), &Local, 1, &Remote, 1, 0) ==
           ssize_t(Size);
  }
  std::vector<const MnemePayloadHeader *> payloads() override {
    return {Entry.Payload};
  }
  void *find(const std::string &Name) const override {
    auto Known = Addresses.find(Name);
    if (Known != Addresses.end())
      return Known->second;
    // What the code generator calls by itself, such as memcpy and fmod.
    if (void *Found = dlsym(RTLD_DEFAULT, Name.c_str()))
      return Found;
    static void *Math = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
    return Math ? dlsym(Math, Name.c_str()) : nullptr;
  }

private:
  MnemeJitEntry Entry;
  std::unordered_map<std::string, void *> Addresses;
};
} // namespace

static JitSite *makeSite(const MnemeJitEntry &E) {
  JitRequest Q;
  Q.Target = JitTarget::Function;
  Q.Code = Q.Unit = hashOf(*E.Payload);
  Q.Symbol = E.Name;
  Q.Fields.assign(E.Fields, E.Fields + E.NumFields);
  Jit::get().complete(Q);
  return &Jit::get().add(std::make_unique<JitSite>(
      Jit::get(), std::move(Q), std::make_unique<FunctionLoader>(E)));
}

/// Calls of a function come here.
static void *dispatch(MnemeJitEntry *E, const void *const *Places) {
  // A forked child has no use of locks.
  if (!Jit::get().isOn())
    return nullptr;
  auto *Site =
      static_cast<JitSite *>(__atomic_load_n(&E->State, __ATOMIC_ACQUIRE));
  if (!Site) {
    static std::mutex &Lock = *new std::mutex;
    std::lock_guard<std::mutex> Guard(Lock);
    Site = static_cast<JitSite *>(E->State);
    if (!Site && !attempt([&] {
          Site = makeSite(*E);
          __atomic_store_n(&E->State, Site, __ATOMIC_RELEASE);
        }))
      return nullptr;
  }
  JitLaunch L;
  L.Places = Places;
  JitVariant *V = Site->find(L);
  return V ? V->Code : nullptr;
}

static bool isIntact(const MnemeJitEntry &E) {
  return E.Name && E.HostPtr && E.NumFields <= 64 &&
         (!E.NumFields || E.Fields) &&
         (E.Kind == MNEME_JIT_KERNEL ||
          (E.Kind == MNEME_JIT_FUNCTION && E.Payload && E.AddressNames &&
           (!E.NumAddresses || E.Addresses)));
}

void mneme::attachJitEntries(MnemeJitEntry *Begin, MnemeJitEntry *End) {
  if (Begin >= End)
    return;
  Jit::get().start();
  Entries &All = Entries::get();
  std::lock_guard<std::mutex> Guard(All.Lock);
  if (All.Functions.empty())
    All.Unloads = countUnloads();
  for (MnemeJitEntry *E = Begin; E < End; ++E) {
    // Linkers pad merged sections with zeros. A dispatcher is that of another
    // runtime, or ours.
    if (!isIntact(*E) || E->Dispatch)
      continue;
    attempt([&] {
      if (E->Kind == MNEME_JIT_KERNEL) {
        All.Kernels[E->HostPtr] = E;
        return;
      }
      if (!Jit::get().isOn())
        return;
      All.Functions.push_back(E);
      // A library that was loaded again has its first contents.
      E->State = nullptr;
      E->Reserved = 1;
      __atomic_store_n(&E->Dispatch, dispatch, __ATOMIC_RELEASE);
    });
  }
}

using VisitFn = void(MnemeJitEntry *Begin, MnemeJitEntry *End);

static void visitLoadedEntries(VisitFn *Visit) {
  Uncancelled Here;
  dl_iterate_phdr(
      [](dl_phdr_info *Info, size_t, void *Visit) {
        LoadedSection Found = {MNEME_JIT_SECTION};
        if (findSections(*Info, &Found, 1) && Found.Begin)
          reinterpret_cast<VisitFn *>(Visit)(
              reinterpret_cast<MnemeJitEntry *>(Found.Begin),
              reinterpret_cast<MnemeJitEntry *>(Found.End));
        return 0;
      },
      reinterpret_cast<void *>(Visit));
}

void mneme::attachLoadedJitEntries() { visitLoadedEntries(attachJitEntries); }

const MnemeJitEntry *mneme::findJitKernel(const void *HostPtr) {
  Entries &All = Entries::get();
  std::lock_guard<std::mutex> Guard(All.Lock);
  auto Known = All.Kernels.find(HostPtr);
  return Known == All.Kernels.end() ? nullptr : Known->second;
}

//===----------------------------------------------------------------------===//
// mneme/jit.h
//===----------------------------------------------------------------------===//

void mneme::switchJitFunctions(bool On) {
  Jit::get().enable(On);
  Entries &All = Entries::get();
  if (uint64_t Now = countUnloads(); Now != All.Unloads) {
    // Some may be gone.
    {
      std::lock_guard<std::mutex> Guard(All.Lock);
      All.Functions.clear();
      All.Unloads = Now;
    }
    visitLoadedEntries([](MnemeJitEntry *Begin, MnemeJitEntry *End) {
      Entries &All = Entries::get();
      std::lock_guard<std::mutex> Guard(All.Lock);
      for (MnemeJitEntry *E = Begin; E < End; ++E)
        if (isIntact(*E) && E->Kind == MNEME_JIT_FUNCTION && E->Reserved)
          attempt([&] { All.Functions.push_back(E); });
    });
  }
  std::lock_guard<std::mutex> Guard(All.Lock);
  for (MnemeJitEntry *E : All.Functions)
    __atomic_store_n(&E->Dispatch, Jit::get().isOn() ? dispatch : nullptr,
                     __ATOMIC_RELEASE);
}

#define MNEME_EXPORT extern "C" __attribute__((visibility("default")))

MNEME_EXPORT void __mneme_jit_attach(MnemeJitEntry *Begin, MnemeJitEntry *End) {
  attachJitEntries(Begin, End);
}

MNEME_EXPORT void __mneme_jit_enable(int On) { switchJitFunctions(On); }

MNEME_EXPORT void __mneme_jit_plugin(const char *Path, const char *Pipeline) {
  if (Path)
    Jit::get().addPlugin(Path, Pipeline);
}

/// Returns the bitcode of a payload; empty if it cannot be decompressed. May
/// throw.
static std::string readBitcode(const MnemePayloadHeader &P) {
  constexpr uint64_t MaxSize = uint64_t(1) << 30;
  std::string Bitcode;
  if (P.BitcodeOffset > P.TotalSize ||
      P.StoredSize > P.TotalSize - P.BitcodeOffset || P.BitcodeSize > MaxSize)
    return Bitcode;
  const char *Stored = reinterpret_cast<const char *>(&P) + P.BitcodeOffset;
  if (!(P.Flags & MNEME_PAYLOAD_ZSTD))
    return std::string(Stored, P.StoredSize);
  Bitcode.resize(P.BitcodeSize);
  if (ZSTD_decompress(&Bitcode[0], Bitcode.size(), Stored, P.StoredSize) !=
      Bitcode.size())
    Bitcode.clear();
  return Bitcode;
}

MNEME_EXPORT int __mneme_jit_describe(const void *HostPtr,
                                      KernelCallback *OnKernel,
                                      VariableCallback *OnVariable,
                                      void *Data) {
  if (!findJitKernel(HostPtr))
    return 0;
  // Exceptions of the callbacks are the application's.
  IndexEntry Entry;
  if (!Program::get().find(HostPtr, MNEME_INDEX_KERNEL, Entry))
    return 0;
  const uint8_t *StaticHash = findStaticHash(*Entry.Payload, Entry.Name);
  std::string Bitcode = readBitcode(*Entry.Payload);
  OnKernel(Data, Entry.Name.c_str(),
           StaticHash ? StaticHash : Entry.Payload->Hash, Bitcode.data(),
           Bitcode.size());
  visitVariables(HostPtr, OnVariable, Data);
  return 1;
}

void *mneme::findJitFunction(const char *Name) {
  if (!strcmp(Name, "__mneme_jit_enable"))
    return reinterpret_cast<void *>(__mneme_jit_enable);
  if (!strcmp(Name, "__mneme_jit_plugin"))
    return reinterpret_cast<void *>(__mneme_jit_plugin);
  if (!strcmp(Name, "__mneme_jit_build"))
    return reinterpret_cast<void *>(__mneme_jit_build);
  if (!strcmp(Name, "__mneme_jit_describe"))
    return reinterpret_cast<void *>(__mneme_jit_describe);
  return nullptr;
}

__attribute__((constructor)) static void attachAtStart() {
  // Kernels that need no annotation have no entries.
  if (const char *Kernels = getSecureVariable(MNEME_ENV_JIT_KERNELS);
      Kernels && *Kernels)
    Jit::get().start();
  attachLoadedJitEntries();
}
