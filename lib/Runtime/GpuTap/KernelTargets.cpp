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
#include "RegisteredIR.h"
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

/// The target that the calling thread has found lately, or \p LookUp().
template <typename Fn>
Target &KernelTargets::findRecent(const void *Stub, unsigned Now, Target &None,
                                  Fn LookUp) {
  RecentTargets &Cache = Recent;
  if (Cache.Generation != Now) {
    Cache = {};
    Cache.Generation = Now;
  }
  uint64_t Key = reinterpret_cast<uint64_t>(Stub);
  auto &Slot = Cache.Slots[(Key >> 4 ^ Key >> 10) % RecentTargets::Size];
  if (Slot.Stub == Stub && Slot.T)
    return *Slot.T;
  Target *T = &None;
  if (!TapState::Forked) {
    T = &Unloaded;
    attempt([&] { T = &LookUp(); });
    if (T == &Unknown && Program::get().isIncomplete())
      T = &Unloaded;
  }
  // The next launch may find memory.
  if (T != &Unloaded)
    Slot = {Stub, T};
  return *T;
}

Target &KernelTargets::find(const CudaRuntime &R, const void *Stub) {
  // Stubs and handles share the cache, whose entries either change may outdate.
  unsigned Now = Program::get().generation() + Images.generation();
  return findRecent(Stub, Now, Unknown, [&]() -> Target & {
    Program::get().retry();
    return lookUp(R, Stub);
  });
}

Target &KernelTargets::findFunction(const void *Handle) {
  unsigned Now = Program::get().generation() + Images.generation();
  return findRecent(Handle, Now, Foreign,
                    [&]() -> Target & { return lookUpFunction(Handle); });
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

/// Takes the session's lock. May throw, with nothing done.
Target &KernelTargets::lookUpFunction(const void *Handle) {
  std::lock_guard<std::mutex> Guard(State.Lock);
  DriverFunction F;
  if (!Driver.load() || !Images.find(Handle, F))
    return Foreign;
  std::unique_ptr<Target> &T = Targets[{F.Image->digest(), 0, F.Name}];
  if (!T) {
    auto New = std::make_unique<Target>();
    New->Selected = selects(F.Name) &&
                    (!Selection::get().requiresIR() ||
                     RegisteredIRs::get().find(F.Image->digest(), F.Name));
    New->Name = F.Name;
    New->Image = F.Image;
    T = std::move(New);
  }
  return *T;
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
    std::string Error =
        noteVariable({Code.Hash, Code.Copy, Name}, Name, V->Size, Shadow,
                     &runtimeOf(E.Object), Found);
    if (!Error.empty())
      return Error;
  }
  return "";
}

/// Adds a variable to \p Found, with an address for recordings. \returns an
/// empty string, or why it cannot be recorded.
std::string
KernelTargets::noteVariable(const Symbol &Key, const std::string &Name,
                            uint64_t Size, const void *Shadow,
                            const CudaRuntime *Runtime,
                            std::vector<const ShadowedVariable *> &Found) {
  std::unique_ptr<ShadowedVariable> &S = Variables[Key];
  if (!S) {
    auto New = std::make_unique<ShadowedVariable>();
    *New = {{Name, 0, Size}, Shadow, Runtime};
    AddressMap::Allocation *Home = Devs.homes().allocate(Size);
    if (!Home)
      return "variable '" + Name + "' has no address left for it";
    New->V.Address = Home->Address;
    S = std::move(New);
  }
  Found.push_back(S.get());
  return "";
}

bool mneme::readLayout(const CudaDriver &Driver, const void *Handle,
                       bool IsKernel, std::vector<ImageParameter> &Layout) {
  constexpr size_t MaxParameters = 4096;
  if (IsKernel ? !Driver.KernelGetParamInfo : !Driver.FuncGetParamInfo)
    return false;
  auto *H = const_cast<void *>(Handle);
  for (size_t I = 0; I != MaxParameters; ++I) {
    size_t Offset = 0, Size = 0;
    CUresult E = IsKernel ? Driver.KernelGetParamInfo(static_cast<CUkernel>(H),
                                                      I, &Offset, &Size)
                          : Driver.FuncGetParamInfo(static_cast<CUfunction>(H),
                                                    I, &Offset, &Size);
    if (E)
      return E == CUDA_ERROR_INVALID_VALUE;
    Layout.push_back({uint32_t(Offset), uint32_t(Size)});
  }
  return false;
}

/// Asks the launcher about the kernel of an image. \returns an empty string, or
/// why its launches cannot be recorded. May throw.
std::string
KernelTargets::loadImage(Target &T, const void *Handle, Kernel &K,
                         std::vector<const ShadowedVariable *> &Found) {
  DriverFunction F;
  bool IsLoaded = Images.find(Handle, F);
  const Gpu *G = Devs.find(Driver.currentContext());
  if (!IsLoaded || !G)
    return "its image was unloaded";
  ImageRequest Q;
  Q.Data = T.Image->data();
  Q.Size = T.Image->size();
  Q.Kernel = T.Name;
  Q.Arch = G->Facts.Arch;
  Q.HasLayout = readLayout(*Driver, Handle, F.IsKernel, Q.Layout);
  RegisteredIRs &Registered = RegisteredIRs::get();
  if (const RegisteredIR *IR = Registered.find(T.Image->digest(), T.Name)) {
    Q.IR = &IR->IR;
    Q.Options = &IR->Options;
  } else if (Registered.isRegistered(T.Name)) {
    tell("mneme: warning: kernel '%s' is recorded without IR: the IR that is "
         "registered for its name is bound to another image; register it with "
         "the bytes that the program passes to the driver\n",
         T.Name.c_str());
  }
  KernelFacts Facts;
  std::vector<ModuleVariable> Known;
  std::string Problem = requestImageKernel(Q, Facts, Known);
  if (Problem.empty())
    Problem = Facts.Obstacle;
  for (const ModuleVariable &V : Known)
    if (Problem.empty())
      Problem = noteVariable({T.Image->digest(), 0, V.Name}, V.Name, V.Size,
                             nullptr, nullptr, Found);
  if (!Problem.empty())
    return Problem;
  K.Name = T.Name;
  K.StaticHash = std::move(Facts.StaticHash);
  K.Args = std::move(Facts.Args);
  K.Handles = std::move(Facts.Handles);
  for (const ShadowedVariable *S : Found)
    K.Reached.push_back(&S->V);
  K.Records = &Records.recordsOf(K, Facts.HeldLaunches);
  return "";
}

void KernelTargets::load(Target &T, const void *Stub) {
  if (T.Loaded)
    return;
  if (T.Image) {
    Kernel K;
    std::vector<const ShadowedVariable *> Found;
    std::string Problem = loadImage(T, Stub, K, Found);
    T.Problem = std::move(Problem);
    T.K = std::move(K);
    T.Variables = std::move(Found);
    T.Loaded = true;
    return;
  }
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
    Problem =
        requestKernel({Code.key(), hashOf(*T.Entry.Payload), T.Entry.Name},
                      /*ForHost=*/false, F, Answer, Rest);
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
    // Null if memory was short.
    if (uint64_t N = T ? T->Launches.load() : 0)
      T->Selected ? Records.countSkipped("the device had failed before", N)
                  : Records.countUnselected(T->Name, N);
}
