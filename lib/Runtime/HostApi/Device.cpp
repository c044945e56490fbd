//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Environment.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace mneme;

static thread_local CudaError LastError = cudaSuccess;

RuntimeFacts mneme::runtimeFacts() {
  RuntimeFacts F = {"host", nullptr, 0};
  F.Symbols = mneme_host_symbols(&F.NumSymbols);
  return F;
}

Device &Device::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(Device) static char Storage[sizeof(Device)];
  static Device &D = *new (Storage) Device;
  return D;
}

Device::Device() {
  cpu_set_t Set;
  int N = sched_getaffinity(0, sizeof(Set), &Set) ? 1 : CPU_COUNT(&Set);
  Cores = N > 0 ? N : 1;
  Workers = integerFromEnv("MNEME_HOST_WORKERS", 0);
  Profiles = integerFromEnv(MNEME_ENV_PROFILE, 0);
  if (const char *S = getVariable(MNEME_ENV_TIMEOUT))
    TimeoutSeconds = parseDecimal(S, nullptr);
  // A forked child has the memory but no worker threads.
  pthread_atfork(nullptr, nullptr, [] { Device::get().Forked = true; });
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

CudaError Device::setError(CudaError E) {
  if (E)
    LastError = E;
  return E;
}

CudaError Device::result(CudaError E) {
  if (CudaError S = sticky())
    E = S;
  return setError(E);
}

CudaError Device::peekLastError() const {
  CudaError S = sticky();
  return S ? S : LastError;
}

CudaError Device::takeLastError() {
  CudaError E = peekLastError();
  LastError = cudaSuccess;
  return E;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr uint64_t MinArenaSize = 64ull << 20;

bool Device::ensureArena() {
  if (Memory.size())
    return true;
  if (ArenaFailed)
    return false;
  uint64_t Base = arenaBaseFromEnv();
  uint64_t Size = arenaSizeFromEnv();
  std::string Error;
  if (!attempt([&] {
        Error = Memory.reserve(Base, Size);
        // The size is an upper limit: try smaller ones if addresses are scarce.
        while (!Memory.size() && Size > MinArenaSize)
          Memory.reserve(Base, Size /= 2);
      }))
    return false;
  if (Memory.size())
    return true;
  tell("mneme: error: no device memory: %s\n", Error.c_str());
  ArenaFailed = true;
  return false;
}

CudaError Device::allocate(void **Ptr, uint64_t Size, uint32_t Kind,
                           uint32_t Flags) {
  if (sticky())
    return sticky();
  if (!Ptr)
    return cudaErrorInvalidValue;
  *Ptr = nullptr;
  if (!Size)
    return cudaSuccess;
  std::lock_guard<std::mutex> Guard(MemoryLock);
  if (!ensureArena())
    return cudaErrorMemoryAllocation;
  Arena::Allocation *A = Memory.allocate(Size, Kind);
  if (!A)
    return cudaErrorMemoryAllocation;
  A->Flags = Flags;
  *Ptr = reinterpret_cast<void *>(A->Address);
  return cudaSuccess;
}

CudaError Device::release(void *Ptr, uint32_t Kinds) {
  if (!Ptr)
    return cudaSuccess;
  std::lock_guard<std::mutex> Guard(MemoryLock);
  Arena::Allocation *A = Memory.find(Ptr);
  uint64_t Address = reinterpret_cast<uint64_t>(Ptr);
  if (!A || A->Address != Address || !(Kinds >> A->Kind & 1))
    return cudaErrorInvalidValue;
  Notes.erase(Notes.lower_bound(Address),
              Notes.lower_bound(Address + std::max<uint64_t>(A->Size, 1)));
  Memory.release(Address);
  return cudaSuccess;
}

bool Device::find(const void *Ptr, Arena::Allocation &Found) {
  std::lock_guard<std::mutex> Guard(MemoryLock);
  Arena::Allocation *A = Memory.find(Ptr);
  if (A)
    Found = *A;
  return A;
}

void Device::markMapped(const void *Ptr) {
  std::lock_guard<std::mutex> Guard(MemoryLock);
  if (Arena::Allocation *A = Memory.find(Ptr))
    A->Flags |= FlagMapped;
  auto I = findRegistered(reinterpret_cast<uint64_t>(Ptr));
  if (I != RegisteredHost.end())
    I->second.IsMapped = true;
}

std::map<uint64_t, Device::Registered>::iterator
Device::findRegistered(uint64_t Address) {
  auto I = RegisteredHost.upper_bound(Address);
  if (I == RegisteredHost.begin() ||
      Address - std::prev(I)->first >= std::prev(I)->second.Size)
    return RegisteredHost.end();
  return std::prev(I);
}

/// Returns true if [Ptr, Ptr + Size) is valid as the device side of a copy:
/// within one allocation, or registered host memory.
bool Device::validCopySide(const void *Ptr, uint64_t Size) {
  std::lock_guard<std::mutex> Guard(MemoryLock);
  uint64_t Address = reinterpret_cast<uint64_t>(Ptr);
  if (Arena::Allocation *A = Memory.find(Ptr)) {
    uint64_t Left = A->Size - (Address - A->Address);
    return Size <= Left;
  }
  auto I = findRegistered(Address);
  return I != RegisteredHost.end() &&
         Size <= I->second.Size - (Address - I->first);
}

CudaError Device::copy(void *Dst, const void *Src, uint64_t Size, int Kind) {
  if (sticky())
    return sticky();
  if (Kind < cudaMemcpyHostToHost || Kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (!Size)
    return cudaSuccess;
  bool ToDevice =
      Kind == cudaMemcpyHostToDevice || Kind == cudaMemcpyDeviceToDevice;
  bool FromDevice =
      Kind == cudaMemcpyDeviceToHost || Kind == cudaMemcpyDeviceToDevice;
  std::shared_lock<std::shared_mutex> Guard(CopyLock);
  // Rejects memory outside of the device's memory or past the end of an
  // allocation.
  if ((ToDevice || Memory.contains(Dst)) && !validCopySide(Dst, Size))
    return cudaErrorInvalidValue;
  if ((FromDevice || Memory.contains(Src)) && !validCopySide(Src, Size))
    return cudaErrorInvalidValue;
  return mneme_host_copy(Dst, Src, Size, /*AsksHandlers=*/true)
             ? cudaErrorInvalidValue
             : cudaSuccess;
}

CudaError Device::copy2D(void *Dst, uint64_t DstPitch, const void *Src,
                         uint64_t SrcPitch, uint64_t Width, uint64_t Height,
                         int Kind) {
  if (Width > DstPitch || Width > SrcPitch)
    return cudaErrorInvalidPitchValue;
  if (!Width || !Height)
    return copy(Dst, Src, 0, Kind);
  if (Width == DstPitch && Width == SrcPitch)
    return copy(Dst, Src, Width * Height, Kind);
  for (uint64_t Row = 0; Row != Height; ++Row)
    if (CudaError E =
            copy(static_cast<char *>(Dst) + Row * DstPitch,
                 static_cast<const char *>(Src) + Row * SrcPitch, Width, Kind))
      return E;
  return cudaSuccess;
}

CudaError Device::set(void *Dst, int Value, uint64_t Size) {
  if (sticky())
    return sticky();
  if (!Size)
    return cudaSuccess;
  if (!validCopySide(Dst, Size) ||
      mneme_host_set(Dst, Value, Size, /*AsksHandlers=*/true))
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

/// Returns the bytes of memory that are available without swapping.
static uint64_t availableMemory() {
  uint64_t KiB = 0;
  if (FILE *F = fopen("/proc/meminfo", "re")) {
    char Line[128];
    while (fgets(Line, sizeof(Line), F))
      if (sscanf(Line, "MemAvailable: %" SCNu64, &KiB) == 1)
        break;
    fclose(F);
  }
  return KiB << 10;
}

void Device::memoryInfo(uint64_t &Free, uint64_t &Total) {
  // Memory available at the first call: host memory that the application
  // allocates later must not count as device memory.
  static const uint64_t Available = availableMemory();
  std::lock_guard<std::mutex> Guard(MemoryLock);
  Total = uint64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  Free = Available - std::min(Available, Memory.bytesInUse());
}

/// Returns false if the process may have mapped the memory elsewhere, too.
/// Pages of private mappings that can be written belong to one address.
static bool hasOwnPages(uint64_t Address, uint64_t Size) {
  FILE *F = fopen("/proc/self/maps", "re");
  if (!F)
    return false;
  uint64_t Begin = 0, End = 0;
  char Rights[5] = {};
  bool StartsLine = true;
  char Part[256];
  while (Size && fgets(Part, sizeof(Part), F)) {
    if (StartsLine &&
        sscanf(Part, "%" SCNx64 "-%" SCNx64 " %4s", &Begin, &End, Rights) ==
            3 &&
        Address >= Begin && Address < End && Rights[1] == 'w' &&
        Rights[3] == 'p') {
      uint64_t Found = std::min(Size, End - Address);
      Address += Found;
      Size -= Found;
    }
    StartsLine = strchr(Part, '\n');
  }
  fclose(F);
  return !Size;
}

CudaError Device::registerHost(void *Ptr, uint64_t Size, bool IsMapped) {
  uint64_t Address = reinterpret_cast<uint64_t>(Ptr);
  if (!Ptr || !Size || Address + Size < Address)
    return cudaErrorInvalidValue;
  std::lock_guard<std::mutex> Guard(MemoryLock);
  auto Next = RegisteredHost.lower_bound(Address);
  bool Overlaps = Next != RegisteredHost.end() && Next->first - Address < Size;
  if (Overlaps || Memory.contains(Ptr) ||
      findRegistered(Address) != RegisteredHost.end())
    return cudaErrorHostMemoryAlreadyRegistered;
  bool HasOwnPages = hasOwnPages(Address, Size);
  return attempt(
             [&] { RegisteredHost[Address] = {Size, IsMapped, HasOwnPages}; })
             ? cudaSuccess
             : cudaErrorMemoryAllocation;
}

CudaError Device::unregisterHost(void *Ptr) {
  std::lock_guard<std::mutex> Guard(MemoryLock);
  return RegisteredHost.erase(reinterpret_cast<uint64_t>(Ptr))
             ? cudaSuccess
             : cudaErrorHostMemoryNotRegistered;
}

bool Device::isRegisteredHost(const void *Ptr) {
  return !Memory.contains(Ptr) && validCopySide(Ptr, 1);
}

CudaError Device::registerManaged(void **Pointer, const void *Initial,
                                  const char *Name, uint64_t Size) {
  void *Ptr = nullptr;
  if (CudaError E = allocate(&Ptr, std::max<uint64_t>(Size, 1), KindManaged))
    return E;
  memcpy(Ptr, Initial, Size);
  bool IsKnown;
  {
    std::lock_guard<std::mutex> Guard(MemoryLock);
    IsKnown = attempt(
        [&] { ManagedVariables[Name] = reinterpret_cast<uint64_t>(Ptr); });
  }
  if (!IsKnown) {
    release(Ptr, 1u << KindManaged);
    return cudaErrorMemoryAllocation;
  }
  *Pointer = Ptr;
  return cudaSuccess;
}

void Device::annotate(Annotation A) {
  std::lock_guard<std::mutex> Guard(MemoryLock);
  mneme::annotate(Notes, Memory.addresses(), std::move(A));
}

//===----------------------------------------------------------------------===//
// Modules and kernels
//===----------------------------------------------------------------------===//

static void printError(const char *What, const std::string &Name,
                       const std::string &Why) {
  tell("mneme: error: %s '%s': %s\n", What, Name.c_str(), Why.c_str());
}

static uint64_t defaultDynamicShared(const HostKernel &K) {
  return DeviceLimits::SharedPerBlock -
         std::min(DeviceLimits::SharedPerBlock, K.Host.StaticShared);
}

Module *Device::loadModule(const DeviceModule &Code) {
  auto Known = Modules.find(Code.key());
  if (Known != Modules.end())
    return Known->second.get();
  std::vector<ModuleVariable> Variables;
  std::string Error = bringModule(Code, Variables);
  Module *M = addModule(Code.key(), std::move(Error), Variables);
  // Without the launcher, no module has code, for the same reason.
  bool IsNew = std::exchange(LoadError, M->Error) != M->Error;
  if (!M->Error.empty() && IsNew) {
    const MnemePayloadHeader *First = Code.Payloads.front();
    printError("cannot load device code of",
               reinterpret_cast<const char *>(First) + First->SourceOffset,
               M->Error);
  }
  return M;
}

/// Gives the variables of a module memory and their initial values.
Module *Device::addModule(const DeviceModule::Key &Key, std::string Error,
                          const std::vector<ModuleVariable> &Variables) {
  auto M = std::make_unique<Module>();
  M->Error = std::move(Error);
  try {
    for (const ModuleVariable &T : Variables) {
      Variable &V = M->Variables[T.Name];
      void *Ptr = nullptr;
      // A variable of zero bytes still has an address.
      if (allocate(&Ptr, std::max<uint64_t>(T.Size, 1), KindVariable))
        throw std::bad_alloc();
      V = {T.Name, reinterpret_cast<uint64_t>(Ptr), T.Size};
      std::lock_guard<std::mutex> Guard(MemoryLock);
      Memory.find(V.Address)->Owner = &V;
    }
    if (M->Error.empty())
      initialize(*M, Key);
    return (Modules[Key] = std::move(M)).get();
  } catch (...) {
    if (M)
      releaseVariables(*M);
    throw;
  }
}

void Device::releaseVariables(const Module &M) {
  for (const auto &[Name, V] : M.Variables)
    release(reinterpret_cast<void *>(V.Address), 1u << KindVariable);
}

/// Gives the variables their initial values.
void Device::initialize(Module &M, const DeviceModule::Key &Key) {
  WireWriter Initialize;
  Initialize.str(Key.first);
  Initialize.u32(Key.second);
  Initialize.u32(M.Variables.size());
  uint64_t Total = 0;
  for (const auto &[Name, V] : M.Variables) {
    Initialize.str(Name);
    Initialize.u64(V.Address);
    Total += sizeof(uint64_t) + V.Size;
  }
  std::string Answer;
  M.Error = LauncherLink::get().request(MNEME_WIRE_INITIALIZE, Initialize,
                                        Answer, MaxShortAnswer + Total);
  if (!M.Error.empty())
    return;
  WireReader Contents = LauncherLink::reader(Answer);
  for (const auto &[Name, V] : M.Variables) {
    size_t Size;
    const char *Bytes = Contents.bytes(Size);
    if (Size != V.Size) {
      M.Error = "the launcher sent a malformed answer";
      return;
    }
    memcpy(reinterpret_cast<void *>(V.Address), Bytes, Size);
    std::lock_guard<std::mutex> Guard(MemoryLock);
    auto Managed = ManagedVariables.find(Name);
    if (Managed != ManagedVariables.end() && V.Size == sizeof(void *))
      memcpy(reinterpret_cast<void *>(V.Address), &Managed->second,
             sizeof(void *));
  }
}

void Device::reset() {
  takeLastError();
  std::lock_guard<std::mutex> Guard(LaunchLock);
  mneme_host_free_heap();
  for (const auto &[Key, K] : Kernels)
    K->MaxDynamicShared = defaultDynamicShared(*K);
  WasReset = true;
}

/// Completes a reset. As on a GPU, this happens at the next use: programs
/// usually end after a reset.
CudaError Device::renewModules() {
  if (!WasReset)
    return cudaSuccess;
  if (!attempt([&] {
        for (const auto &[Key, M] : Modules)
          if (M && M->Error.empty())
            initialize(*M, Key);
      }))
    return cudaErrorMemoryAllocation;
  WasReset = false;
  for (const auto &[Key, M] : Modules)
    if (M && !M->Error.empty())
      return cudaErrorInitializationError;
  return cudaSuccess;
}

CudaError Device::findVariable(const void *Shadow, Variable &V) {
  if (sticky())
    return sticky();
  Program::get().retry();
  CudaError E = cudaErrorMemoryAllocation;
  attempt([&] { E = lookUpVariable(Shadow, V); });
  return E;
}

CudaError Device::lookUpVariable(const void *Shadow, Variable &V) {
  IndexEntry Entry;
  if (!Program::get().find(Shadow, MNEME_INDEX_VARIABLE, Entry))
    return cudaErrorInvalidSymbol;
  std::lock_guard<std::mutex> Guard(LaunchLock);
  if (CudaError E = renewModules())
    return E;
  Module *M = loadModule(Program::get().moduleOf(Entry));
  auto I = M->Variables.find(Entry.Name);
  if (I == M->Variables.end())
    return cudaErrorInvalidSymbol;
  V = I->second;
  return cudaSuccess;
}

bool Device::placeSegments(WireReader &R, std::string &Error) {
  uint32_t Count = R.u32();
  for (uint32_t I = 0; I != Count && R.ok(); ++I) {
    uint64_t Address = R.u64();
    uint32_t Protection = R.u32();
    size_t Size;
    const char *Bytes = R.bytes(Size);
    if (!Size)
      continue;
    if (Address % Arena::PageSize ||
        !LauncherLink::get().ownsCode(Address, Size)) {
      Error = "the launcher placed code outside the region for it";
      return false;
    }
    void *Place = reinterpret_cast<void *>(Address);
    if (mprotect(Place, Size, PROT_READ | PROT_WRITE))
      throw std::bad_alloc();
    memcpy(Place, Bytes, Size);
    if (mprotect(Place, Size,
                 Protection & (PROT_READ | PROT_WRITE | PROT_EXEC))) {
      Error = "cannot protect compiled code";
      return false;
    }
  }
  if (R.ok() && R.atEnd())
    return true;
  Error = "the launcher sent a malformed answer";
  return false;
}

bool mneme::isSane(const MnemeHostKernel &K) {
  return K.Strategy <= MNEME_HOST_FIBER &&
         (K.WaveSize == 32 || K.WaveSize == 64) &&
         LauncherLink::get().ownsCode(reinterpret_cast<uint64_t>(K.Entry), 1);
}

CudaError Device::loadKernel(const void *Stub, const IndexEntry &Entry,
                             HostKernel &K) {
  DeviceModule Code = Program::get().moduleOf(Entry);
  Module *M = loadModule(Code);
  if (!M->Error.empty()) // Reported by loadModule.
    return cudaErrorInvalidDeviceFunction;
  CudaError E =
      loadCode({Code.key(), hashOf(*Entry.Payload), Entry.Name}, *M, K);
  if (E)
    return E;
  findJit(K, Stub, Entry, Code, *M);
  return cudaSuccess;
}

CudaError Device::loadCode(const KernelRequest &Q, const Module &M,
                           HostKernel &K) {
  KernelFacts Facts;
  std::string Answer;
  WireReader R(nullptr, 0);
  std::string Error = requestKernel(Q, /*ForHost=*/true, Facts, Answer, R);
  if (!Error.empty()) {
    printError("kernel", Q.Name, Error);
    return cudaErrorInvalidDeviceFunction;
  }
  K.StaticHash = std::move(Facts.StaticHash);
  K.Args = std::move(Facts.Args);
  K.Obstacle = std::move(Facts.Obstacle);
  for (const std::string &Name : Facts.Reached) {
    auto I = M.Variables.find(Name);
    if (I != M.Variables.end())
      K.Reached.push_back(&I->second);
  }
  K.Host = readHostKernel(R);
  K.Host.Name = K.Name.c_str();
  if (placeSegments(R, Error) && !isSane(K.Host))
    Error = "the launcher sent a malformed answer";
  if (!Error.empty()) {
    printError("kernel", Q.Name, Error);
    return cudaErrorInvalidDeviceFunction;
  }
  K.Records = &Records.recordsOf(K, Facts.HeldLaunches);
  findTuned(K, Q.Module);
  K.MaxDynamicShared = defaultDynamicShared(K);
  return cudaSuccess;
}

CudaError Device::findKernel(const void *Stub, HostKernel *&K) {
  Program::get().retry();
  K = nullptr;
  if (!attempt([&] { K = lookUpKernel(Stub); }))
    return cudaErrorMemoryAllocation;
  if (K)
    return K->Error;
  return Program::get().isIncomplete() ? cudaErrorMemoryAllocation
                                       : cudaErrorInvalidDeviceFunction;
}

HostKernel *Device::lookUpKernel(const void *Stub) {
  std::lock_guard<std::mutex> Guard(LaunchLock);
  if (Generation != Program::get().generation()) {
    Generation = Program::get().generation();
    KernelsByStub.clear();
  }
  auto Known = KernelsByStub.find(Stub);
  if (Known != KernelsByStub.end())
    return Known->second;
  if (HostKernel *K = lookUpLibraryKernel(Stub))
    return KernelsByStub[Stub] = K;
  IndexEntry Entry;
  bool Indexed = Program::get().find(Stub, MNEME_INDEX_KERNEL, Entry);
  std::string Name = Indexed ? Entry.Name : Program::get().registeredName(Stub);
  // Do not store the failure: a library that defines the kernel may be loaded
  // later.
  if (Name.empty())
    return nullptr;
  std::string Code = Indexed ? hashOf(*Entry.Payload) : "";
  uint32_t Copy = Indexed ? Entry.Number : 0;
  std::unique_ptr<HostKernel> &K = Kernels[{Code, Copy, Name}];
  if (!K) {
    auto New = std::make_unique<HostKernel>();
    New->Name = Name;
    if (Indexed) {
      New->Error = loadKernel(Stub, Entry, *New);
    } else {
      New->Error = cudaErrorInvalidDeviceFunction;
      printError("kernel", Name,
                 "its source was not compiled with MnemePass, or its device "
                 "code is damaged, so there is nothing to run on the host "
                 "device");
    }
    K = std::move(New);
  }
  return KernelsByStub[Stub] = K.get();
}

CudaError Device::setMaxDynamicShared(const void *Stub, int64_t Bytes) {
  HostKernel *K;
  if (CudaError E = findKernel(Stub, K))
    return E;
  if (Bytes < 0 || K->Host.StaticShared + uint64_t(Bytes) >
                       DeviceLimits::SharedPerBlockOptin)
    return cudaErrorInvalidValue;
  std::lock_guard<std::mutex> Guard(LaunchLock);
  K->MaxDynamicShared = Bytes;
  return cudaSuccess;
}

unsigned Device::maxActiveBlocks(uint64_t StaticShared, unsigned BlockSize,
                                 uint64_t DynamicShared) {
  if (!BlockSize || BlockSize > DeviceLimits::MaxThreadsPerBlock ||
      StaticShared + DynamicShared > DeviceLimits::SharedPerBlockOptin)
    return 0;
  unsigned Threads = (BlockSize + 31) / 32 * 32;
  uint64_t Shared = StaticShared + DynamicShared + DeviceLimits::ReservedShared;
  return std::min<uint64_t>({DeviceLimits::BlocksPerMultiprocessor,
                             DeviceLimits::ThreadsPerMultiprocessor / Threads,
                             DeviceLimits::SharedPerMultiprocessor / Shared});
}

unsigned Device::warpSize() {
  if (!Program::get().isAMD())
    return 32;
  return Program::get().architecture() >= 0x1000 ? 32 : 64;
}

void Device::computeCapability(int &Major, int &Minor) {
  unsigned Arch = Program::get().architecture();
  if (!Arch)
    Arch = 90;
  if (Program::get().isAMD()) {
    // gfx90a is 9.0, gfx1030 is 10.3: the last digit is the stepping.
    unsigned High = Arch >> 8;
    Major = High > 0xf ? (High >> 4) * 10 + (High & 0xf) : High;
    Minor = Arch >> 4 & 0xf;
    return;
  }
  Major = Arch / 10;
  Minor = Arch % 10;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CudaError validShape(const LaunchShape &S) {
  uint64_t Threads = uint64_t(S.Block.X) * S.Block.Y * S.Block.Z;
  if (!Threads || Threads > DeviceLimits::MaxThreadsPerBlock ||
      S.Block.X > DeviceLimits::MaxThreadsPerBlock ||
      S.Block.Y > DeviceLimits::MaxThreadsPerBlock ||
      S.Block.Z > DeviceLimits::MaxBlockZ)
    return cudaErrorInvalidConfiguration;
  if (!S.Grid.X || !S.Grid.Y || !S.Grid.Z ||
      S.Grid.X > DeviceLimits::MaxGridX || S.Grid.Y > DeviceLimits::MaxGridYZ ||
      S.Grid.Z > DeviceLimits::MaxGridYZ)
    return cudaErrorInvalidConfiguration;
  return cudaSuccess;
}

static bool hasClusters(const LaunchShape &S) {
  return S.Cluster.X > 1 || S.Cluster.Y > 1 || S.Cluster.Z > 1;
}

unsigned Device::maxCluster(const HostKernel &K) {
  constexpr unsigned MaxPortable = 8;
  return K.AllowsLargeClusters ? MNEME_HOST_MAX_CLUSTER : MaxPortable;
}

/// Returns the size of clusters that the launch, the kernel or the function
/// gives, in this order.
static Dim3 clusterOf(const HostKernel &K, const LaunchShape &Shape) {
  const uint32_t *Own = K.Host.ClusterDim[0] ? K.Host.ClusterDim : K.Cluster;
  if (hasClusters(Shape) || !isCluster(Own))
    return Shape.Cluster;
  return {std::max(1u, Own[0]), std::max(1u, Own[1]), std::max(1u, Own[2])};
}

CudaError Device::validCluster(const HostKernel &K, const LaunchShape &Shape) {
  if (!Shape.Cluster.X || !Shape.Cluster.Y || !Shape.Cluster.Z)
    return cudaErrorInvalidClusterSize;
  const Dim3 Cluster = clusterOf(K, Shape);
  const unsigned Size[] = {Cluster.X, Cluster.Y, Cluster.Z};
  const unsigned Grid[] = {Shape.Grid.X, Shape.Grid.Y, Shape.Grid.Z};
  const uint32_t *Required = K.Host.ClusterDim;
  uint64_t Blocks = 1;
  for (unsigned I = 0; I != 3; ++I) {
    if (Size[I] > MNEME_HOST_MAX_CLUSTER || Grid[I] % Size[I] ||
        (Required[I] && Size[I] != Required[I]))
      return cudaErrorInvalidClusterSize;
    Blocks *= Size[I];
  }
  return Blocks > maxCluster(K) ? cudaErrorInvalidClusterSize : cudaSuccess;
}

unsigned Device::maxActiveClusters(const HostKernel &K,
                                   const LaunchShape &Shape) const {
  const Dim3 &Block = Shape.Block, Cluster = clusterOf(K, Shape);
  return Cores *
         maxActiveBlocks(K, Block.X * Block.Y * Block.Z, Shape.DynamicShared) /
         (Cluster.X * Cluster.Y * Cluster.Z);
}

static CudaError errorOf(int Status) {
  switch (Status) {
  case MNEME_HOST_OK:
    return cudaSuccess;
  case MNEME_HOST_INVALID_CONFIG:
    return cudaErrorInvalidConfiguration;
  case MNEME_HOST_ILLEGAL_ADDRESS:
    return cudaErrorIllegalAddress;
  case MNEME_HOST_TIMEOUT:
  case MNEME_HOST_DEADLOCK:
    return cudaErrorLaunchTimeout;
  case MNEME_HOST_ASSERT:
    return cudaErrorAssert;
  case MNEME_HOST_ILLEGAL_INSTRUCTION:
    return cudaErrorIllegalInstruction;
  case MNEME_HOST_UNSUPPORTED:
    return cudaErrorNotSupported;
  case MNEME_HOST_OUT_OF_MEMORY:
    return cudaErrorMemoryAllocation;
  default:
    return cudaErrorLaunchFailure;
  }
}

CudaError Device::run(HostKernel &K, const MnemeHostLaunch &L) {
  MnemeHostResult Result = {};
  return report(K, L, Result, mneme_host_launch(&K.Host, &L, &Result));
}

/// Reports a failed launch. \returns the error that the executor's \p Status
/// stands for.
CudaError Device::report(const HostKernel &K, const MnemeHostLaunch &L,
                         MnemeHostResult &Result, int Status) {
  CudaError E = errorOf(Status);
  if (!E)
    return E;
  Result.Message[sizeof(Result.Message) - 1] = 0;
  tell("mneme: error: kernel '%s' <<<(%u,%u,%u), (%u,%u,%u)>>>: %s\n",
       K.Name.c_str(), L.Grid[0], L.Grid[1], L.Grid[2], L.Block[0], L.Block[1],
       L.Block[2], Result.Message);
  return E;
}

CudaError Device::launch(const void *Stub, const LaunchShape &Given,
                         void **Args) {
  if (sticky())
    return sticky();
  if (Forked)
    return cudaErrorInitializationError;
  HostKernel *K;
  if (CudaError E = findKernel(Stub, K)) {
    if (!K && E != cudaErrorMemoryAllocation)
      tell("mneme: error: launch of an unknown kernel: no payload of MnemePass "
           "describes its stub\n");
    return E;
  }
  LaunchShape Shape = Given;
  // As if the launch gave it, so that a recording has it.
  if (!K->Host.ClusterDim[0])
    Shape.Cluster = clusterOf(*K, Shape);
  if (CudaError E = validShape(Shape))
    return E;
  if (Shape.DynamicShared > K->MaxDynamicShared)
    return cudaErrorInvalidValue;
  unsigned BlockSize = Shape.Block.X * Shape.Block.Y * Shape.Block.Z;
  uint64_t Blocks = uint64_t(Shape.Grid.X) * Shape.Grid.Y * Shape.Grid.Z;
  if (Shape.Cooperative &&
      Blocks >
          uint64_t(Cores) * maxActiveBlocks(*K, BlockSize, Shape.DynamicShared))
    return cudaErrorCooperativeLaunchTooLarge;
  if (CudaError E = validCluster(*K, Shape))
    return E;

  MnemeHostLaunch L = {};
  L.Grid[0] = Shape.Grid.X;
  L.Grid[1] = Shape.Grid.Y;
  L.Grid[2] = Shape.Grid.Z;
  L.Block[0] = Shape.Block.X;
  L.Block[1] = Shape.Block.Y;
  L.Block[2] = Shape.Block.Z;
  L.DynamicShared = Shape.DynamicShared;
  L.Cooperative = Shape.Cooperative;
  if (hasClusters(Shape)) {
    L.Cluster[0] = Shape.Cluster.X;
    L.Cluster[1] = Shape.Cluster.Y;
    L.Cluster[2] = Shape.Cluster.Z;
  }
  L.Workers = Workers;
  L.TimeoutSeconds = TimeoutSeconds;
  L.Args = Args;

  std::lock_guard<std::mutex> Guard(LaunchLock);
  if (CudaError E = renewModules())
    return E;
  LaunchId Id;
  CudaError E;
  if (Finished || !Records.wants(*K, Shape, Args, Id)) {
    uint64_t Start = Profiles ? Recorder::now() : 0;
    E = K->Tuned ? runTuned(*K, Shape, L) : runJit(*K, Shape, L);
    if (Profiles && !E)
      Profile.add(K->Name.c_str(), Shape.Grid, Shape.Block, Shape.DynamicShared,
                  Recorder::now() - Start);
  } else {
    Uncancelled Here;
    // Memory must not be allocated or freed between prologue and epilogue.
    std::lock_guard<std::mutex> MemoryGuard(MemoryLock);
    std::unique_ptr<Recording> R;
    if (K->Args.empty() || Args)
      R = beginRecording(*K, Shape, Id, Args);
    else
      Records.skip(*K, "launched without arguments");
    uint64_t Start = Recorder::now();
    E = run(*K, L);
    uint64_t Time = Recorder::now() - Start;
    if (R && E)
      Records.abandon(std::move(R), "the launch failed");
    else if (R && !Records.keeps(*R, Time))
      Records.discard(std::move(R));
    else if (R)
      finishRecording(std::move(R), Args);
  }
  // As on a GPU, the launch itself returns errors in its configuration; an
  // error inside the kernel is returned by later calls and is sticky.
  if (E == cudaErrorInvalidConfiguration || E == cudaErrorMemoryAllocation)
    return E;
  if (E)
    Sticky = E;
  return cudaSuccess;
}

void Device::finish() {
  if (Forked)
    return;
  // Another thread may be in a launch that never ends.
  if (!LaunchLock.try_lock())
    return;
  Profile.send(/*Arch=*/"");
  Records.summarize();
  Finished = true;
  LaunchLock.unlock();
}

__attribute__((destructor)) static void finishAtExit() {
  // Most processes under the launcher, such as shells, never use a device.
  if (LauncherLink::get().connected())
    Device::get().finish();
}
