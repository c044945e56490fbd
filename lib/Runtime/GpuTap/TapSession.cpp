//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The device, its memory, and what launches go to.
///
//===----------------------------------------------------------------------===//

#include "TapSession.h"
#include "DriverTap.h"
#include "Environment.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>
#include <utility>

using namespace mneme;

TapSession &TapSession::get() {
  // Never destroyed: applications exit in any order.
  alignas(TapSession) static char Storage[sizeof(TapSession)];
  static TapSession &S = *new (Storage) TapSession;
  return S;
}

RuntimeFacts mneme::runtimeFacts() { return {"cuda", nullptr, 0}; }

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

enum {
  AttributeMultiprocessors = 16,
  AttributeMajor = 75,
  AttributeMinor = 76,
  AttributePageableMemoryAccess = 88,
  AttributeConcurrentManagedAccess = 89,
};

bool TapSession::loadDriver() {
  if (!Driver && NoDriver.empty())
    Driver = CudaDriver::load(NoDriver);
  if (Driver && !Waiting)
    Waiting = std::make_unique<Waiter>(*Driver);
  return Driver;
}

CUcontext TapSession::currentContext() const {
  CUcontext C = nullptr;
  return Driver->CtxGetCurrent(&C) ? nullptr : C;
}

static std::string versionText(int V) {
  return std::to_string(V / 1000) + "." + std::to_string(V % 1000 / 10);
}

Gpu *TapSession::gpuOf(CUcontext C) const {
  auto I = std::find_if(Gpus.begin(), Gpus.end(),
                        [C](const auto &G) { return G->Context == C; });
  return C && I != Gpus.end() ? I->get() : nullptr;
}

Gpu *TapSession::ownerOf(uint64_t Address) const {
  auto I = std::find_if(Gpus.begin(), Gpus.end(), [&](const auto &G) {
    return Address >= G->begin() && Address < G->end();
  });
  return I != Gpus.end() ? I->get() : nullptr;
}

/// Whether \p C is the context of a device that the runtime uses. Others come
/// and go, and nobody says when.
bool TapSession::isPrimary(CUcontext C) const {
  CUdevice Device;
  CUcontext Primary = nullptr;
  if (Driver->CtxGetDevice(&Device) ||
      Driver->DevicePrimaryCtxRetain(&Primary, Device))
    return false;
  Driver->DevicePrimaryCtxRelease(Device);
  return C == Primary;
}

/// \p G.Context is current.
std::string TapSession::bindTo(Gpu &G, const CudaRuntime &R) {
  CUresult E = Driver->CtxGetDevice(&G.Device);
  char Name[128] = {};
  int Major = 0, Minor = 0, Processors = 0, Version = 0, Shared = 0,
      Pageable = 0;
  if (!E)
    E = Driver->DeviceGetName(Name, sizeof(Name) - 1, G.Device);
  if (!E)
    E = Driver->DeviceGetAttribute(&Major, AttributeMajor, G.Device);
  if (!E)
    E = Driver->DeviceGetAttribute(&Minor, AttributeMinor, G.Device);
  if (!E)
    E = Driver->DeviceGetAttribute(&Processors, AttributeMultiprocessors,
                                   G.Device);
  if (!E)
    E = Driver->DeviceGetAttribute(&Shared, AttributeConcurrentManagedAccess,
                                   G.Device);
  if (!E)
    E = Driver->DeviceGetAttribute(&Pageable, AttributePageableMemoryAccess,
                                   G.Device);
  if (!E)
    E = Driver->DriverGetVersion(&Version);
  if (E)
    return "cannot ask the device what it is: " + Driver->describe(E);
  G.Multiprocessors = Processors;
  G.ManagedIsShared = Shared;
  G.ReadsHost = Pageable;
  G.Arch = Major * 10 + Minor;
  G.Facts.Name = Name;
  G.Facts.Arch = "sm_" + std::to_string(G.Arch);
  G.Facts.Driver = versionText(Version);
  if (R.RuntimeGetVersion && !R.RuntimeGetVersion(&Version))
    G.Facts.Runtime = versionText(Version);
  const Gpu &First = *Gpus.front();
  if (&G == &First)
    Program::get().setDevice(G.Arch);
  else if (!isPrimary(G.Context))
    return "launched in another context than the device's primary one";
  return reserve(G);
}

// Beside the first arena, so many places are tried for another one.
static constexpr unsigned MaxPlaces = 16;

std::string TapSession::reserveFirst(CudaMapping &M, uint64_t Total) const {
  uint64_t Base = arenaBaseFromEnv();
  uint64_t Size = arenaSizeFromEnv();
  // Less will do where buffers could still take all of the device's memory.
  std::string Error = M.reserve(Base, Size);
  while (!M.size() && Size / 8 * 3 >= Total) {
    Size /= 2;
    M.reserve(Base, Size);
  }
  return M.size() ? "" : Error;
}

/// Below the first arena: above it is what Linux maps.
std::string TapSession::reserveBeside(CudaMapping &M) const {
  uint64_t Base = arenaBaseFromEnv();
  uint64_t Size = arenaSizeFromEnv();
  std::string Error = "there are no addresses for another device's memory";
  for (unsigned I = 0; !M.size() && I != MaxPlaces && Base > Size; ++I) {
    if (!ownerOf(Base))
      Error = M.reserve(Base, Size);
    Base -= Size;
  }
  return M.size() ? "" : Error;
}

std::string TapSession::reserve(Gpu &G) {
  size_t Total = 0;
  if (CUresult E = Driver->DeviceTotalMem(&Total, G.Device))
    return "cannot ask for the size of device memory: " + Driver->describe(E);
  auto M = std::make_unique<CudaMapping>(*Driver, G.Device);
  std::string Error =
      &G == Gpus.front().get() ? reserveFirst(*M, Total) : reserveBeside(*M);
  if (!Error.empty())
    return Error;
  // Variables have their places at the end, so that those of buffers do not
  // depend on which kernels are recorded.
  uint64_t Buffers = M->size() / 4 * 3;
  if (!Homes.size())
    Homes.assign(0, M->size() - Buffers);
  G.Homes = M->base() + Buffers;
  G.Heap.assign(M->base(), Buffers);
  G.MaxUnused = Total / 32;
  G.Mapping = std::move(M);
  noteRange(G);
  return "";
}

/// Memory of arenas is for those devices that could access what the runtime
/// gives: the runtime cannot tell the driver so when the program asks for it.
void TapSession::shareMemory(Gpu &New) {
  auto Share = [&](const Gpu &Of, const Gpu &With) {
    int Can = 0;
    if (Of.Mapping &&
        !Driver->DeviceCanAccessPeer(&Can, With.Device, Of.Device) && Can)
      Of.Mapping->share(With.Device);
  };
  for (const auto &G : Gpus)
    if (Driver->DeviceCanAccessPeer && G->Device != New.Device) {
      Share(*G, New);
      Share(New, *G);
    }
}

/// Those that have allocated nothing are not known yet.
void TapSession::connectDevices(const CudaRuntime &R) {
  // Within a launch that is recorded, all that can be done is.
  if (Off || Gate::isInside())
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  bool HasDriver = false;
  attempt([&] { HasDriver = loadDriver(); });
  if (!HasDriver || !currentContext())
    return;
  CUcontext Current = currentContext();
  attempt([&] { bind(R); });
  for (CUcontext C : activeContexts())
    if (!gpuOf(C)) {
      Driver->CtxSetCurrent(C);
      attempt([&] { bind(R); });
    }
  if (currentContext() != Current)
    Driver->CtxSetCurrent(Current);
}

/// The range only grows: what lies in it is looked up.
void TapSession::noteRange(const Gpu &G) {
  uint64_t Begin = ArenasBegin, End = Begin + ArenasSize;
  Begin = ArenasSize ? std::min(Begin, G.begin()) : G.begin();
  End = std::max(End, G.end());
  // In this order, nobody takes memory of an arena for other memory meanwhile.
  ArenasSize = End - Begin;
  ArenasBegin = Begin;
}

/// Frees memory that the runtime has given us. That waits for all streams,
/// which may wait for the application: not now, if there will be another time.
void TapSession::freeLater(CUdeviceptr P) {
  Gpu *G = gpuOf(currentContext());
  if (!G) {
    Driver->MemFree(P);
    return;
  }
  std::lock_guard<std::mutex> Guard(WriterLock);
  // Better lost than waited for.
  if (!attempt([&] { makeRoom(G->Spare, G->NumBuffers + 1); }))
    return;
  ++G->NumBuffers;
  G->Spare.push_back({P, 1});
}

/// Lets the runtime make its context, for the device that the thread has
/// chosen. \returns an error of its own.
int TapSession::makeContext(const CudaRuntime &R) {
  if (R.Malloc) {
    void *Any;
    if (int E = R.Malloc(&Any, 1))
      return E;
    freeLater(reinterpret_cast<CUdeviceptr>(Any));
    return cudaSuccess;
  }
  // An object that allocates nothing itself has the first device, as a rule.
  CUdevice First;
  CUcontext C;
  CUresult E = Driver->Init(0);
  if (!E)
    E = Driver->DeviceGet(&First, 0);
  if (!E)
    E = Driver->DevicePrimaryCtxRetain(&C, First);
  return E ? E : Driver->CtxSetCurrent(C);
}

/// Finds out about the device that the calling thread uses, the first time.
/// \returns null when it has no arena. May throw, with nothing done.
Gpu *TapSession::bind(const CudaRuntime &R) {
  if (!loadDriver())
    return nullptr;
  if (!currentContext() && makeContext(R)) // The runtime will say so, too.
    return nullptr;
  CUcontext C = currentContext();
  if (Gpu *G = gpuOf(C))
    return G->isUsable() ? G : nullptr;
  Gpus.push_back(std::make_unique<Gpu>());
  Gpu &G = *Gpus.back();
  G.Context = C;
  try {
    G.Unusable = bindTo(G, R);
    shareMemory(G);
  } catch (...) {
    Gpus.pop_back();
    throw;
  }
  // Of others, the launches say it.
  if (!G.Unusable.empty() && Gpus.size() == 1)
    tell("mneme: error: nothing is recorded: %s\n", G.Unusable.c_str());
  if (!G.isUsable())
    return nullptr;
  // To load code may be to wait for all streams, later. What is wrong, the
  // first launch says.
  if (!WaitsForAll)
    attempt([&] { prepare(G); });
  static bool Registered = false;
  if (Registered)
    return &G;
  Registered = true;
  pthread_atfork(nullptr, nullptr, [] {
    Forked = true;
    TapSession::get().Off = true;
  });
  // After the driver was initialized, hence before it ends.
  atexit([] { TapSession::get().finish(); });
  return &G;
}

/// So that the device can be worked with.
std::string TapSession::prepare(Gpu &G) {
  if (!G.Kernels)
    G.Kernels = std::make_unique<DeviceKernels>(*Driver);
  for (std::unique_ptr<DeviceWork> *Work : {&G.Work, &G.WriterWork})
    if (!*Work)
      *Work =
          std::make_unique<DeviceWork>(*Driver, *G.Kernels, G.Multiprocessors);
  std::string Error = G.Kernels->load();
  if (Error.empty())
    Error = G.Work->prepare();
  return Error.empty() ? G.WriterWork->prepare() : Error;
}

bool mneme::isCaptureError(CUresult E) {
  return E >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         E <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/// The legacy stream is never captured, but fails where another is.
bool TapSession::isCapturing(CUstream S) const {
  int Status = 0;
  CUresult E = Driver->StreamIsCapturing(S, &Status);
  return E ? isCaptureError(E) : Status != 0;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// The last targets that a thread has launched.
struct RecentTargets {
  static constexpr unsigned Size = 64;
  unsigned Generation;
  struct {
    const void *Stub;
    Target *T;
  } Slots[Size];
};
} // namespace

// The runtime is preloaded, so there is room in the static block.
static thread_local RecentTargets Recent
    __attribute__((tls_model("initial-exec")));

Target &TapSession::targetOf(const Launch &L) {
  RecentTargets &Cache = Recent;
  if (unsigned Now = Program::get().generation(); Cache.Generation != Now) {
    Cache = {};
    Cache.Generation = Now;
  }
  uint64_t Key = reinterpret_cast<uint64_t>(L.Stub);
  auto &Slot = Cache.Slots[(Key >> 4 ^ Key >> 10) % RecentTargets::Size];
  if (Slot.Stub == L.Stub && Slot.T)
    return *Slot.T;
  Target &T = findTarget(L);
  // There may be memory the next time.
  if (&T != &Unloaded)
    Slot = {L.Stub, &T};
  return T;
}

/// Whether launches of kernels with this name are to be recorded.
bool TapSession::selects(const std::string &Name) {
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

Target &TapSession::findTarget(const Launch &L) {
  if (Forked) // Another thread may have held the lock then.
    return Unknown;
  Program::get().retry();
  Target *T = &Unloaded;
  attempt([&] { T = &lookUpTarget(L); });
  return T == &Unknown && Program::get().isIncomplete() ? Unloaded : *T;
}

Target &TapSession::lookUpTarget(const Launch &L) {
  std::lock_guard<std::mutex> Guard(Lock);
  IndexEntry Entry;
  bool Indexed = Program::get().find(L.Stub, MNEME_INDEX_KERNEL, Entry);
  bool Selected = Indexed && selects(Entry.Name);
  // Which payload is the right one depends on the device.
  if (Selected && Gpus.empty() && bind(L.Runtime))
    Program::get().find(L.Stub, MNEME_INDEX_KERNEL, Entry);
  return Indexed ? targetFor(Entry, Selected) : Unknown;
}

Target &TapSession::targetFor(const IndexEntry &Entry, bool Selected) {
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

/// \returns an empty string, or why a launch that reaches variables \p Names
/// cannot be recorded.
std::string
TapSession::loadVariables(const DeviceModule &Code,
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
      return Fail("is of another translation unit");
    std::unique_ptr<ShadowedVariable> &S =
        Variables[{Code.Hash, Code.Copy, Name}];
    if (!S) {
      IndexEntry E;
      const void *Shadow = Program::get().findShadow(Code, Name, E);
      // Nobody can have changed it: the code brings it along.
      if (!Shadow && V->Constant)
        continue;
      if (!Shadow)
        return Fail("is known to the device's code alone");
      if (E.Flags & MNEME_VARIABLE_MANAGED)
        return Fail("is __managed__");
      auto New = std::make_unique<ShadowedVariable>();
      *New = {{Name, 0, V->Size}, Shadow, &runtimeOf(E.Object)};
      AddressMap::Allocation *Home = Homes.allocate(V->Size);
      if (!Home)
        return Fail("has no address left for it");
      New->V.Address = Home->Address;
      S = std::move(New);
    }
    Found.push_back(S.get());
  }
  return "";
}

/// Asks the launcher about a kernel, once.
void TapSession::load(Target &T) {
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

// How long the end of the program waits for what its other threads do: a launch
// that they are recording, as a rule.
static constexpr unsigned ExitWait = 5000; // Microseconds.
static constexpr unsigned MaxExitWaits = 400;

void TapSession::finish() {
  if (Forked)
    return;
  // Another thread may be inside a launch that never ends.
  std::unique_lock<std::mutex> Guard(Lock, std::try_to_lock);
  for (unsigned I = 0; !Guard && I != MaxExitWaits; ++I) {
    usleep(ExitWait);
    Guard.try_lock();
  }
  if (!Guard)
    return;
  if (std::exchange(Finished, true))
    return;
  Off = true;
  uint64_t Start = Recorder::now();
  drain(/*GiveUp=*/true);
  Records.addFinalWait(Recorder::now() - Start);
  struct {
    uint64_t Launches;
    const char *Reason;
  } const Others[] = {
      {foreignLaunches(ForeignLaunch::ThroughDriver),
       "launched through the driver API"},
      {foreignLaunches(ForeignLaunch::AsGraph),
       "launched by a graph that was made through the driver API"},
      {Unknown.Launches, "not compiled with MnemePass"},
      {Unloaded.Launches, MNEME_REASON_MEMORY},
  };
  // Most processes under the launcher, like shells, never launch anything.
  for (size_t I : {0, 1, 3})
    if (Others[I].Launches)
      attempt([] { LauncherLink::get().connect(); });
  if (!LauncherLink::get().connected())
    return;
  for (const auto &[N, Reason] : Others)
    if (N)
      Records.countSkipped(Reason, N);
  for (const auto &[Key, T] : Targets)
    if (uint64_t N = T->Launches)
      T->Selected ? Records.countSkipped("the device had failed before", N)
                  : Records.countUnselected(T->Name, N);
  Records.summarize();
}

__attribute__((destructor)) static void finishAtExit() {
  TapSession::get().finish();
}
