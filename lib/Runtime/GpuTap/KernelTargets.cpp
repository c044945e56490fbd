//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTargets.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"

#include <algorithm>
#include <utility>

using namespace mneme;

namespace {
/// The targets that a thread has launched lately.
struct RecentTargets {
  static constexpr unsigned Size = 64;
  unsigned Generation;
  struct {
    const void *Stub;
    Target *T;
  } Slots[Size];
};
} // namespace

// The runtime is preloaded, so the static TLS block has room.
static thread_local RecentTargets Recent
    __attribute__((tls_model("initial-exec")));

Target &KernelTargets::find(const CudaRuntime &R, const void *Stub) {
  RecentTargets &Cache = Recent;
  Program &Code = Program::get();
  if (unsigned Now = Code.generation(); Cache.Generation != Now) {
    Cache = {};
    Cache.Generation = Now;
  }
  uint64_t Key = reinterpret_cast<uint64_t>(Stub);
  auto &Slot = Cache.Slots[(Key >> 4 ^ Key >> 10) % RecentTargets::Size];
  if (Slot.Stub == Stub && Slot.T)
    return *Slot.T;
  Target *T = &Unknown;
  if (!TapState::Forked) {
    Code.retry();
    T = &Unloaded;
    attempt([&] { T = &lookUp(R, Stub); });
    if (T == &Unknown && Code.isIncomplete())
      T = &Unloaded;
  }
  // The next launch may find memory.
  if (T != &Unloaded)
    Slot = {Stub, T};
  return *T;
}

/// Whether launches of kernels with this name are to be recorded. May throw.
bool KernelTargets::selects(const std::string &Name) {
  if (!Selection::get().includesRank())
    return false;
  std::string Error = LauncherLink::get().connect();
  if (Error.empty())
    return Records.selects(Name);
  static bool Told = false;
  if (!std::exchange(Told, true))
    tell("mneme: error: nothing is recorded: %s\n", Error.c_str());
  return false;
}

/// Takes the session's lock. May throw, with nothing done.
Target &KernelTargets::lookUp(const CudaRuntime &R, const void *Stub) {
  std::lock_guard<std::mutex> Guard(State.Lock);
  IndexEntry Entry;
  bool Indexed = Program::get().find(Stub, MNEME_INDEX_KERNEL, Entry);
  bool Selected = Indexed && selects(Entry.Name);
  // The device determines which of several payloads is used.
  if (Selected && Devs.all().empty() && Devs.bind(R))
    Program::get().find(Stub, MNEME_INDEX_KERNEL, Entry);
  return Indexed ? get(Entry, Selected) : Unknown;
}

Target &KernelTargets::get(const IndexEntry &Entry, bool Selected) {
  std::unique_ptr<Target> &T =
      Targets[{hashOf(*Entry.Payload), Entry.Number, Entry.Name}];
  if (!T) {
    auto New = std::make_unique<Target>();
    New->Name = Entry.Name;
    New->Selected = Selected;
    New->Entry = Entry;
    T = std::move(New);
  }
  return *T;
}

/// \p Found gets the variables \p Names of a module. \returns an empty string,
/// or why launches that use them cannot be recorded.
std::string
KernelTargets::loadVariables(const DeviceModule &Code,
                             const std::vector<std::string> &Names,
                             const std::vector<ModuleVariable> &Known,
                             std::vector<const ShadowedVariable *> &Found) {
  for (const std::string &Name : Names) {
    auto Fail = [&](const char *Why) {
      return "variable '" + Name + "' " + Why;
    };
    auto V = std::find_if(Known.begin(), Known.end(),
                          [&](const auto &V) { return V.Name == Name; });
    if (V == Known.end())
      return Fail("belongs to another translation unit");
    std::unique_ptr<ShadowedVariable> &S =
        Variables[{Code.Hash, Code.Copy, Name}];
    if (!S) {
      IndexEntry E;
      const void *Shadow = Program::get().findShadow(Code, Name, E);
      // A constant without a shadow has its initial value, which the code
      // contains.
      if (!Shadow && V->Constant)
        continue;
      if (!Shadow)
        return Fail("exists only in device code");
      if (E.Flags & MNEME_VARIABLE_MANAGED)
        return Fail("is __managed__");
      auto New = std::make_unique<ShadowedVariable>();
      *New = {{Name, 0, V->Size}, Shadow, &runtimeOf(E.Object)};
      AddressMap::Allocation *Home = Devs.homes().allocate(V->Size);
      if (!Home)
        return Fail("has no address left for it");
      New->V.Address = Home->Address;
      S = std::move(New);
    }
    Found.push_back(S.get());
  }
  return "";
}

void KernelTargets::load(Target &T) {
  if (T.Loaded)
    return;
  DeviceModule Code = Program::get().moduleOf(T.Entry);
  std::unique_ptr<LoadedModule> &M = Modules[Code.key()];
  if (!M) {
    auto New = std::make_unique<LoadedModule>();
    New->Error = bringModule(Code, New->Variables);
    M = std::move(New);
  }
  std::string Problem = M->Error;
  Kernel K;
  std::vector<const ShadowedVariable *> Found;
  if (Problem.empty()) {
    KernelFacts F;
    std::string Answer;
    WireReader Rest(nullptr, 0);
    Problem = requestKernel(Code, T.Entry, /*ForHost=*/false, F, Answer, Rest);
    if (Problem.empty())
      Problem = F.Obstacle;
    if (Problem.empty())
      Problem = loadVariables(Code, F.Reached, M->Variables, Found);
    if (Problem.empty()) {
      K.Name = T.Name;
      K.StaticHash = std::move(F.StaticHash);
      K.Args = std::move(F.Args);
      K.Handles = std::move(F.Handles);
      for (const ShadowedVariable *S : Found)
        K.Reached.push_back(&S->V);
      K.Records = &Records.recordsOf(K, F.HeldLaunches);
    }
  }
  T.Problem = std::move(Problem);
  T.K = std::move(K);
  T.Variables = std::move(Found);
  T.Loaded = true;
}

void KernelTargets::countLaunches() {
  for (const auto &[Key, T] : Targets)
    if (uint64_t N = T->Launches)
      T->Selected ? Records.countSkipped("the device had failed before", N)
                  : Records.countUnselected(T->Name, N);
}
