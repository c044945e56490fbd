//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Environment.h"
#include "Message.h"
#include "Program.h"
#include "Shortage.h"

#include <algorithm>
#include <utility>

using namespace mneme;

// As cuda.h has them.
enum {
  AttributeMultiprocessors = 16,
  AttributePageableMemoryAccess = 88,
  AttributeConcurrentManagedAccess = 89,
};

//===----------------------------------------------------------------------===//
// Look-ups
//===----------------------------------------------------------------------===//

Gpu *Devices::find(CUcontext C) const {
  auto I = std::find_if(Gpus.begin(), Gpus.end(),
                        [C](const auto &G) { return G->Context == C; });
  return C && I != Gpus.end() ? I->get() : nullptr;
}

Gpu *Devices::ownerOf(uint64_t Address) const {
  auto I = std::find_if(Gpus.begin(), Gpus.end(), [&](const auto &G) {
    return Address >= G->begin() && Address < G->end();
  });
  return I != Gpus.end() ? I->get() : nullptr;
}

const AddressMap::Allocation *Devices::findAllocation(uint64_t Address) const {
  const Gpu *G = ownerOf(Address);
  return G ? G->Heap.find(Address) : nullptr;
}

Waiter::Contexts Devices::activeContexts() const {
  Waiter::Contexts Contexts;
  if (!Gpus.empty())
    Contexts.push_back(Gpus.front()->Context);
  int Count = 0;
  Driver->DeviceGetCount(&Count);
  for (int I = 0; I != Count; ++I) {
    CUdevice Device;
    unsigned Flags;
    int IsActive = 0;
    CUcontext C = nullptr;
    if (Driver->DeviceGet(&Device, I) ||
        Driver->DevicePrimaryCtxGetState(Device, &Flags, &IsActive) ||
        !IsActive || Driver->DevicePrimaryCtxRetain(&C, Device))
      continue;
    Driver->DevicePrimaryCtxRelease(Device);
    if (std::find(Contexts.begin(), Contexts.end(), C) == Contexts.end())
      Contexts.push_back(C);
  }
  return Contexts;
}

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

/// Reserves the first arena, at MNEME_VA_BASE. \p Total: bytes of device
/// memory.
std::string Devices::reserveFirst(CudaMapping &M, uint64_t Total) const {
  uint64_t Base = arenaBaseFromEnv();
  uint64_t Size = arenaSizeFromEnv();
  // A smaller range is enough if its three quarters for buffers can still hold
  // all device memory.
  std::string Error = M.reserve(Base, Size);
  while (!M.size() && Size / 8 * 3 >= Total) {
    Size /= 2;
    M.reserve(Base, Size);
  }
  return M.size() ? "" : Error;
}

/// Reserves the arena of another device, below the first one: Linux maps its
/// own memory above.
std::string Devices::reserveBeside(CudaMapping &M) const {
  constexpr unsigned MaxTries = 16;
  uint64_t Base = arenaBaseFromEnv();
  uint64_t Size = arenaSizeFromEnv();
  std::string Error = "there are no addresses for another device's memory";
  for (unsigned I = 0; !M.size() && I != MaxTries && Base > Size; ++I) {
    if (!ownerOf(Base))
      Error = M.reserve(Base, Size);
    Base -= Size;
  }
  return M.size() ? "" : Error;
}

std::string Devices::reserve(Gpu &G) {
  size_t Total = 0;
  if (CUresult E = Driver->DeviceTotalMem(&Total, G.Device))
    return "cannot ask for the size of device memory: " + Driver->describe(E);
  auto M = std::make_unique<CudaMapping>(*Driver, G.Device);
  M->makeExportable();
  std::string Error =
      &G == Gpus.front().get() ? reserveFirst(*M, Total) : reserveBeside(*M);
  if (!Error.empty())
    return Error;
  // Variables are at the end, so that the addresses of buffers do not depend on
  // which kernels are recorded.
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

/// Adds an arena to the range of mayOwn(), which never shrinks.
void Devices::noteRange(const Gpu &G) {
  uint64_t Begin = ArenasBegin, End = Begin + ArenasSize;
  Begin = ArenasSize ? std::min(Begin, G.begin()) : G.begin();
  End = std::max(End, G.end());
  // In this order, a concurrent mayOwn() is never false for an arena's memory.
  ArenasSize = End - Begin;
  ArenasBegin = Begin;
}

/// Lets devices access each other's arenas as far as their peers allow it. When
/// the application enables access, the runtime tells the driver of its own
/// memory only.
void Devices::shareMemory(Gpu &New) {
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

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// \p G.Context is current. \returns an empty string, or why nothing can be
/// recorded there.
std::string Devices::bindTo(Gpu &G, const CudaRuntime &R) {
  char Name[128] = {};
  int Processors = 0, Version = 0, Shared = 0, Pageable = 0;
  const std::pair<int, int *> Attributes[] = {
      {AttributeMultiprocessors, &Processors},
      {AttributeConcurrentManagedAccess, &Shared},
      {AttributePageableMemoryAccess, &Pageable},
  };
  CUresult E = Driver->CtxGetDevice(&G.Device);
  if (!E)
    E = Driver->DeviceGetName(Name, sizeof(Name) - 1, G.Device);
  for (auto [Attribute, Value] : Attributes)
    if (!E)
      E = Driver->DeviceGetAttribute(Value, Attribute, G.Device);
  if (!E)
    E = Driver->DriverGetVersion(&Version);
  if (E)
    return "cannot ask the device what it is: " + Driver->describe(E);
  G.Multiprocessors = Processors;
  G.ManagedIsShared = Shared;
  G.ReadsHost = Pageable;
  G.Facts.Name = Name;
  G.Facts.Arch = Driver->archOf(G.Device);
  G.Arch = parseArchitecture(G.Facts.Arch.c_str());
  G.Facts.Driver = Driver->describeVersion(Version);
  if (R.RuntimeGetVersion && !R.RuntimeGetVersion(&Version))
    G.Facts.Runtime = Driver->describeVersion(Version);
  const Gpu &First = *Gpus.front();
  if (&G == &First)
    Program::get().setDevice(G.Arch);
  else if (!Driver.isPrimary(G.Context))
    return "launched in another context than the device's primary one";
  return reserve(G);
}

int Devices::makeContext(const CudaRuntime &R) {
  if (R.Malloc) {
    void *Any;
    if (int E = R.Malloc(&Any, 1))
      return E;
    Buffers.freeLater(find(Driver.currentContext()),
                      reinterpret_cast<CUdeviceptr>(Any));
    return cudaSuccess;
  }
  // An object that does not call cudaMalloc usually works on the first device.
  CUdevice First;
  CUcontext C;
  CUresult E = Driver->Init(0);
  if (!E)
    E = Driver->DeviceGet(&First, 0);
  if (!E)
    E = Driver->DevicePrimaryCtxRetain(&C, First);
  return E ? E : Driver->CtxSetCurrent(C);
}

Gpu *Devices::bind(const CudaRuntime &R) {
  if (!Driver.load())
    return nullptr;
  // The runtime reports this error itself.
  if (!Driver.currentContext() && makeContext(R))
    return nullptr;
  CUcontext C = Driver.currentContext();
  if (Gpu *G = find(C))
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
  // For further devices, the reason is given for each skipped launch.
  if (!G.Unusable.empty() && Gpus.size() == 1)
    tell("mneme: error: nothing is recorded: %s\n", G.Unusable.c_str());
  if (!G.isUsable())
    return nullptr;
  // Loading code later may wait for all streams. The first launch reports
  // errors.
  if (!State.WaitsForAll)
    attempt([&] { prepare(G); });
  if (auto Call = std::exchange(OnFirst, nullptr))
    Call();
  return &G;
}

void Devices::connect(const CudaRuntime &R) {
  // A call from within a recorded launch: the lock is held, and the devices are
  // bound.
  if (State.Off || Gate::isInside())
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  bool HasDriver = false;
  attempt([&] { HasDriver = Driver.load(); });
  if (!HasDriver || !Driver.currentContext())
    return;
  CUcontext Current = Driver.currentContext();
  attempt([&] { bind(R); });
  for (CUcontext C : activeContexts())
    if (!find(C)) {
      Driver->CtxSetCurrent(C);
      attempt([&] { bind(R); });
    }
  if (Driver.currentContext() != Current)
    Driver->CtxSetCurrent(Current);
}

std::string Devices::prepare(Gpu &G) {
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

void Devices::giveUp(Gpu &G) {
  if (!attempt([&] { G.Unusable = "the device had failed before"; }))
    G.Unusable = outOfMemory();
  if (Gpus.size() == 1)
    State.Off = true;
}

void Devices::remove(const Gpu &G) {
  Gpus.erase(std::find_if(Gpus.begin(), Gpus.end(), [&](const auto &Other) {
    return Other.get() == &G;
  }));
}
