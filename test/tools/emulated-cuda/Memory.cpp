//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory of the emulated devices. Kernels read and write it at the addresses
/// that the driver gives out; a guard page follows each allocation.
///
//===----------------------------------------------------------------------===//

#include "AddressMap.h"
#include "Emulator.h"
#include "llvm/ADT/STLExtras.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace emulated;

static constexpr uint64_t PageSize = 4096;
static constexpr unsigned char FreshByte = 0xa5;
/// The rest of a larger allocation stays uncommitted.
static constexpr uint64_t FreshSize = uint64_t(16) << 20;
/// Where AddressSanitizer has nothing either.
static constexpr uint64_t SharedBase = 0x300000000000;
static constexpr uint64_t SharedSize = uint64_t(1) << 38;

namespace {
struct Allocation {
  CUdevice Device;
  uint64_t Size;   ///< As asked for.
  uint64_t Mapped; ///< With the guard page; 0 for managed memory.
  int File = -1;   ///< Behind memory that processes share.
  bool IsOpened = false; ///< Of another process.
};

/// Physical memory: lives until it is released and mapped nowhere.
struct Physical {
  CUdevice Device;
  uint64_t Size;
  int File;
  bool IsExportable = false, IsImported = false;
  unsigned Mappings = 0;
  bool Released = false;
};

struct Mapping {
  uint64_t Size;
  CUmemHandle Handle;
  std::set<CUdevice> Accessible = {}; ///< On these devices.
};

struct Memory {
  std::mutex Lock;
  std::map<CUdeviceptr, Allocation> Allocations;
  std::map<uint64_t, uint64_t> Pinned; ///< Address, bytes.
  /// Places of managed and of pinned memory, but not of what is registered.
  AddressMap Shared{{512, 0}};
  std::set<uint64_t> SharedGranules; ///< That are mapped.
  std::map<CUdeviceptr, uint64_t> Reserved;
  std::map<CUmemHandle, Physical> Handles;
  std::map<CUdeviceptr, Mapping> Mappings;
  std::map<CUdevice, uint64_t> Used;
  std::set<std::pair<CUdevice, CUdevice>> Peers; ///< Who may access whose.
  CUmemHandle NextHandle = 1;
};
} // namespace

static Memory &memory() {
  static Memory &M = *new Memory;
  return M;
}

static uint64_t roundUp(uint64_t Size) {
  return (Size + PageSize - 1) / PageSize * PageSize;
}

static void *toPointer(CUdeviceptr Address) {
  return reinterpret_cast<void *>(Address);
}

/// \returns the entry of \p Map that \p Address lies in, or end().
template <typename MapT, typename SizeT>
static auto findRange(MapT &Map, uint64_t Address, SizeT SizeOf) {
  auto I = Map.upper_bound(Address);
  if (I == Map.begin())
    return Map.end();
  --I;
  return Address - I->first < SizeOf(I->second) ? I : Map.end();
}

/// Takes \p Size bytes of \p Device's memory.
static bool takeMemory(Memory &M, CUdevice Device, uint64_t Size) {
  uint64_t &Used = M.Used[Device];
  if (Size > settings().MemoryBytes - Used)
    return false;
  Used += Size;
  return true;
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

static void *mapMemory(uint64_t Size) {
  void *Base = mmap(nullptr, roundUp(Size) + PageSize, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Base == MAP_FAILED)
    return nullptr;
  // It counts for RLIMIT_DATA once it can be written.
  if (mprotect(Base, roundUp(Size), PROT_READ | PROT_WRITE)) {
    munmap(Base, roundUp(Size) + PageSize);
    return nullptr;
  }
  std::memset(Base, FreshByte, std::min(Size, FreshSize));
  return Base;
}

static void *reserveAt(CUdeviceptr Address, uint64_t Size) {
  int Flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (Address)
    Flags |= MAP_FIXED_NOREPLACE;
  void *Base = mmap(toPointer(Address), Size, PROT_NONE, Flags, -1, 0);
  return Base == MAP_FAILED ? nullptr : Base;
}

/// Maps what of the range is not mapped. \returns an errno, EEXIST where something
/// else is.
static int mapShared(Memory &M, uint64_t Address, uint64_t Size) {
  for (uint64_t At = Address / Granularity * Granularity; At < Address + Size;
       At += Granularity) {
    if (M.SharedGranules.count(At))
      continue;
    if (!reserveAt(At, Granularity))
      return errno;
    if (mprotect(toPointer(At), Granularity, PROT_READ | PROT_WRITE)) {
      int Error = errno;
      munmap(toPointer(At), Granularity);
      return Error;
    }
    M.SharedGranules.insert(At);
  }
  return 0;
}

/// \returns null when there is no more.
static void *allocateShared(Memory &M, uint64_t Size) {
  if (!M.Shared.size())
    M.Shared.assign(SharedBase, SharedSize);
  // Places where something else is stay taken.
  while (AddressMap::Allocation *A = M.Shared.allocate(Size)) {
    int Error = mapShared(M, A->Address, Size);
    if (!Error) {
      std::memset(toPointer(A->Address), FreshByte, std::min(Size, FreshSize));
      return toPointer(A->Address);
    }
    if (Error == EEXIST)
      continue;
    M.Shared.release(A->Address);
    break;
  }
  return nullptr;
}

CUresult emulated::allocateMemory(CUdevice Device, uint64_t Size,
                                  CUdeviceptr &Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  if (Size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!takeMemory(M, Device, Size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *Base = mapMemory(Size);
  if (!Base) {
    M.Used[Device] -= Size;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Address = reinterpret_cast<CUdeviceptr>(Base);
  M.Allocations[Address] = {Device, Size, roundUp(Size) + PageSize};
  return CUDA_SUCCESS;
}

CUresult emulated::allocateManaged(CUdevice Device, uint64_t Size,
                                   CUdeviceptr &Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  if (!takeMemory(M, Device, Size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  Address = reinterpret_cast<CUdeviceptr>(allocateShared(M, Size));
  if (!Address) {
    M.Used[Device] -= Size;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  M.Allocations[Address] = {Device, Size, 0};
  return CUDA_SUCCESS;
}

CUresult emulated::freeMemory(CUdeviceptr Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  if (!Address)
    return CUDA_SUCCESS;
  auto I = M.Allocations.find(Address);
  if (I == M.Allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  if (!I->second.IsOpened)
    M.Used[I->second.Device] -= I->second.Size;
  if (I->second.Mapped)
    munmap(toPointer(Address), I->second.Mapped);
  else
    M.Shared.release(Address);
  if (I->second.File >= 0)
    close(I->second.File);
  M.Allocations.erase(I);
  return CUDA_SUCCESS;
}

static constexpr char SharedMagic[16] = "emulated memory";

CUresult emulated::shareMemory(CUdeviceptr Address, SharedAllocation &Shared) {
  static_assert(sizeof(SharedAllocation) == 64);
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto I = findRange(M.Allocations, Address,
                     [](const Allocation &A) { return A.Size; });
  // The driver has no handle for memory that is mapped, nor for managed memory.
  if (I == M.Allocations.end() || !I->second.Mapped || I->second.IsOpened)
    return CUDA_ERROR_INVALID_VALUE;
  Allocation &A = I->second;
  uint64_t Size = roundUp(A.Size);
  if (A.File < 0) {
    int File = memfd_create("emulated-cuda", MFD_CLOEXEC);
    if (File < 0 ||
        pwrite(File, toPointer(I->first), Size, 0) != ssize_t(Size) ||
        mmap(toPointer(I->first), Size, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, File, 0) == MAP_FAILED)
      return CUDA_ERROR_OUT_OF_MEMORY;
    A.File = File;
  }
  Shared = {};
  std::memcpy(Shared.Magic, SharedMagic, sizeof(SharedMagic));
  Shared.Process = getpid();
  Shared.File = A.File;
  Shared.Size = A.Size;
  Shared.Device = A.Device;
  return CUDA_SUCCESS;
}

CUresult emulated::openMemory(const SharedAllocation &Shared,
                              CUdeviceptr &Address) {
  if (std::memcmp(Shared.Magic, SharedMagic, sizeof(SharedMagic)))
    return CUDA_ERROR_INVALID_VALUE;
  if (Shared.Process == getpid())
    return CUDA_ERROR_INVALID_CONTEXT;
  std::string Path = "/proc/" + std::to_string(Shared.Process) + "/fd/" +
                     std::to_string(Shared.File);
  int File = open(Path.c_str(), O_RDWR | O_CLOEXEC);
  uint64_t Size = roundUp(Shared.Size);
  void *Base = File < 0 ? MAP_FAILED
                        : mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                               MAP_SHARED, File, 0);
  if (File >= 0)
    close(File);
  if (Base == MAP_FAILED)
    return CUDA_ERROR_INVALID_VALUE;
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  Address = reinterpret_cast<CUdeviceptr>(Base);
  M.Allocations[Address] = {Shared.Device, Shared.Size, Size, -1, true};
  return CUDA_SUCCESS;
}

bool emulated::isOpened(CUdeviceptr Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto I = M.Allocations.find(Address);
  return I != M.Allocations.end() && I->second.IsOpened;
}

bool emulated::isAllocation(CUdeviceptr Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  return M.Allocations.count(Address);
}

CUresult emulated::allocateHost(uint64_t Size, void *&Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  Address = Size ? allocateShared(M, Size) : nullptr;
  if (!Address)
    return Size ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
  M.Pinned[reinterpret_cast<uint64_t>(Address)] = Size;
  return CUDA_SUCCESS;
}

CUresult emulated::freeHost(void *Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto Begin = reinterpret_cast<uint64_t>(Address);
  if (!M.Pinned.count(Begin) || !M.Shared.release(Begin))
    return CUDA_ERROR_INVALID_VALUE;
  M.Pinned.erase(Begin);
  return CUDA_SUCCESS;
}

CUresult emulated::registerHost(void *Address, uint64_t Size) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto Begin = reinterpret_cast<uint64_t>(Address);
  if (!Begin || !Size)
    return CUDA_ERROR_INVALID_VALUE;
  auto Next = M.Pinned.lower_bound(Begin);
  if ((Next != M.Pinned.end() && Next->first < Begin + Size) ||
      findRange(M.Pinned, Begin, [](uint64_t Bytes) { return Bytes; }) !=
          M.Pinned.end())
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  M.Pinned[Begin] = Size;
  return CUDA_SUCCESS;
}

CUresult emulated::unregisterHost(void *Address) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto Begin = reinterpret_cast<uint64_t>(Address);
  if (!M.Pinned.count(Begin) || M.Shared.contains(Address))
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  M.Pinned.erase(Begin);
  return CUDA_SUCCESS;
}

uint64_t emulated::usedMemory(CUdevice Device) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  return M.Used[Device];
}

bool emulated::isPinned(const void *Address, uint64_t Size) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto Begin = reinterpret_cast<uint64_t>(Address);
  auto I = findRange(M.Pinned, Begin, [](uint64_t Bytes) { return Bytes; });
  return I != M.Pinned.end() && Size <= I->first + I->second - Begin;
}

MemoryKind emulated::kindOf(CUdeviceptr Address) {
  if (isPinned(toPointer(Address), 1))
    return MemoryKind::Pinned;
  if (!isDeviceMemory(Address, 1))
    return MemoryKind::None;
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  return M.Shared.contains(toPointer(Address)) ? MemoryKind::Managed
                                               : MemoryKind::Device;
}

bool emulated::findAllocation(CUdeviceptr Address, CUdeviceptr &Start,
                              size_t &Size) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto P = findRange(M.Pinned, Address, [](uint64_t Bytes) { return Bytes; });
  if (P != M.Pinned.end()) {
    Start = P->first;
    Size = P->second;
    return true;
  }
  auto A = findRange(M.Allocations, Address,
                     [](const Allocation &A) { return A.Size; });
  if (A == M.Allocations.end())
    return false;
  Start = A->first;
  Size = A->second.Size;
  return true;
}

bool emulated::isDeviceMemory(CUdeviceptr Address, uint64_t Size,
                              CUdevice Device) {
  // Its address on the device is that on the host.
  if (isPinned(toPointer(Address), Size))
    return true;
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto A = findRange(M.Allocations, Address,
                     [](const Allocation &A) { return A.Size; });
  if (A != M.Allocations.end())
    return Size <= A->first + A->second.Size - Address;
  // Mappings may touch.
  while (Size) {
    auto I = findRange(M.Mappings, Address,
                       [](const Mapping &Mapped) { return Mapped.Size; });
    if (I == M.Mappings.end() || I->second.Accessible.empty() ||
        (Device >= 0 && !I->second.Accessible.count(Device)))
      return false;
    uint64_t End = I->first + I->second.Size;
    uint64_t Here = std::min<uint64_t>(Size, End - Address);
    Address += Here;
    Size -= Here;
  }
  return true;
}

bool emulated::enablePeer(CUdevice Device, CUdevice Peer) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  return M.Peers.insert({Device, Peer}).second;
}

bool emulated::isOutOfReach(CUdeviceptr Address, CUdevice Device) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto A = findRange(M.Allocations, Address,
                     [](const Allocation &A) { return A.Size; });
  // Managed memory is everybody's, and what is opened is for whoever opened it.
  if (A != M.Allocations.end())
    return A->second.Mapped && !A->second.IsOpened &&
           A->second.Device != Device &&
           !M.Peers.count({Device, A->second.Device});
  auto I = findRange(M.Mappings, Address,
                     [](const Mapping &Mapped) { return Mapped.Size; });
  return I != M.Mappings.end() && !I->second.Accessible.count(Device);
}

//===----------------------------------------------------------------------===//
// Virtual memory
//===----------------------------------------------------------------------===//

/// What was mapped when the driver started, which it gives to nobody: address and
/// end.
static std::vector<std::pair<uint64_t, uint64_t>> Mapped;

void emulated::noteMappings() {
  std::ifstream Maps("/proc/self/maps");
  for (std::string Line; std::getline(Maps, Line);) {
    unsigned long long Begin, End;
    if (sscanf(Line.c_str(), "%llx-%llx", &Begin, &End) == 2)
      Mapped.emplace_back(Begin, End);
  }
}

static bool isTaken(CUdeviceptr Address, uint64_t Size) {
  const Settings &S = settings();
  return (Address < S.TakenBase + S.TakenSize &&
          S.TakenBase < Address + Size) ||
         llvm::any_of(Mapped, [&](const std::pair<uint64_t, uint64_t> &Range) {
           return Address < Range.second && Range.first < Address + Size;
         });
}

CUresult emulated::reserveAddresses(CUdeviceptr Hint, uint64_t Size,
                                    CUdeviceptr &Got) {
  if (!Size || Size % Granularity || Hint % Granularity)
    return CUDA_ERROR_INVALID_VALUE;
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  // The address is a hint only: one that driver 580 ignores below 32 MiB.
  void *Base = Hint && Size >= 32u << 20 && !isTaken(Hint, Size)
                   ? reserveAt(Hint, Size)
                   : nullptr;
  if (!Base) {
    Base = reserveAt(0, Size + Granularity);
    if (!Base)
      return CUDA_ERROR_OUT_OF_MEMORY;
    auto Begin = reinterpret_cast<uint64_t>(Base);
    uint64_t Aligned = (Begin + Granularity - 1) / Granularity * Granularity;
    if (Aligned != Begin)
      munmap(Base, Aligned - Begin);
    if (uint64_t Tail = Begin + Granularity - Aligned)
      munmap(toPointer(Aligned + Size), Tail);
    Base = toPointer(Aligned);
  }
  Got = reinterpret_cast<CUdeviceptr>(Base);
  M.Reserved[Got] = Size;
  return CUDA_SUCCESS;
}

CUresult emulated::freeAddresses(CUdeviceptr Address, uint64_t Size) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto I = M.Reserved.find(Address);
  if (I == M.Reserved.end() || I->second != Size)
    return CUDA_ERROR_INVALID_VALUE;
  auto Next = M.Mappings.lower_bound(Address);
  if (Next != M.Mappings.end() && Next->first < Address + Size)
    return CUDA_ERROR_INVALID_VALUE; // Still mapped.
  munmap(toPointer(Address), Size);
  M.Reserved.erase(I);
  return CUDA_SUCCESS;
}

static void dropUnused(Memory &M, CUmemHandle Handle) {
  auto I = M.Handles.find(Handle);
  Physical &P = I->second;
  if (!P.Released || P.Mappings)
    return;
  if (!P.IsImported)
    M.Used[P.Device] -= P.Size;
  close(P.File);
  M.Handles.erase(I);
}

/// The file's name has the device, for another process.
static constexpr char FileName[] = "emulated-cuda-";

CUresult emulated::exportHandle(CUmemHandle Handle, int &File) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto I = M.Handles.find(Handle);
  if (I == M.Handles.end() || !I->second.IsExportable)
    return CUDA_ERROR_INVALID_VALUE;
  File = fcntl(I->second.File, F_DUPFD_CLOEXEC, 0);
  return File < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult emulated::importHandle(int File, CUmemHandle &Handle) {
  char Name[64] = {};
  std::string Path = "/proc/self/fd/" + std::to_string(File);
  struct stat Status;
  if (readlink(Path.c_str(), Name, sizeof(Name) - 1) < 0 ||
      fstat(File, &Status))
    return CUDA_ERROR_INVALID_VALUE;
  const char *Device = strstr(Name, FileName);
  int Own = fcntl(File, F_DUPFD_CLOEXEC, 0);
  if (!Device || Own < 0)
    return CUDA_ERROR_INVALID_VALUE;
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  Handle = M.NextHandle++;
  M.Handles[Handle] = {atoi(Device + sizeof(FileName) - 1),
                       uint64_t(Status.st_size), Own,
                       /*IsExportable=*/true, /*IsImported=*/true};
  return CUDA_SUCCESS;
}

CUresult emulated::createHandle(CUdevice Device, uint64_t Size,
                                bool IsExportable, CUmemHandle &Handle) {
  if (!Size || Size % Granularity)
    return CUDA_ERROR_INVALID_VALUE;
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  if (!takeMemory(M, Device, Size))
    return CUDA_ERROR_OUT_OF_MEMORY;
  int File =
      memfd_create((FileName + std::to_string(Device)).c_str(), MFD_CLOEXEC);
  if (File < 0 || ftruncate(File, Size) != 0) {
    if (File >= 0)
      close(File);
    M.Used[Device] -= Size;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Handle = M.NextHandle++;
  M.Handles[Handle] = {Device, Size, File, IsExportable};
  uint64_t Fresh = std::min(Size, FreshSize);
  void *Base =
      mmap(nullptr, Fresh, PROT_READ | PROT_WRITE, MAP_SHARED, File, 0);
  if (Base != MAP_FAILED) {
    std::memset(Base, FreshByte, Fresh);
    munmap(Base, Fresh);
  }
  return CUDA_SUCCESS;
}

CUresult emulated::releaseHandle(CUmemHandle Handle) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto I = M.Handles.find(Handle);
  if (I == M.Handles.end() || I->second.Released)
    return CUDA_ERROR_INVALID_VALUE;
  I->second.Released = true;
  dropUnused(M, Handle);
  return CUDA_SUCCESS;
}

CUresult emulated::mapHandle(CUdeviceptr Address, uint64_t Size,
                             uint64_t Offset, CUmemHandle Handle) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto H = M.Handles.find(Handle);
  auto R =
      findRange(M.Reserved, Address, [](uint64_t Bytes) { return Bytes; });
  if (H == M.Handles.end() || H->second.Released || R == M.Reserved.end() ||
      Offset || Size != H->second.Size || Address % Granularity ||
      Size > R->first + R->second - Address)
    return CUDA_ERROR_INVALID_VALUE;
  auto Next = M.Mappings.lower_bound(Address);
  if (Next != M.Mappings.end() && Next->first < Address + Size)
    return CUDA_ERROR_ALREADY_MAPPED;
  if (findRange(M.Mappings, Address, [](const Mapping &Mapped) {
        return Mapped.Size;
      }) != M.Mappings.end())
    return CUDA_ERROR_ALREADY_MAPPED;
  // Nobody may touch it before allowAccess().
  if (mmap(toPointer(Address), Size, PROT_NONE, MAP_SHARED | MAP_FIXED,
           H->second.File, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  ++H->second.Mappings;
  M.Mappings[Address] = {Size, Handle};
  return CUDA_SUCCESS;
}

CUresult emulated::unmapHandle(CUdeviceptr Address, uint64_t Size) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  auto I = M.Mappings.find(Address);
  if (I == M.Mappings.end() || I->second.Size != Size)
    return CUDA_ERROR_INVALID_VALUE;
  if (mmap(toPointer(Address), Size, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  CUmemHandle Handle = I->second.Handle;
  M.Mappings.erase(I);
  --M.Handles[Handle].Mappings;
  dropUnused(M, Handle);
  return CUDA_SUCCESS;
}

CUresult emulated::allowAccess(CUdeviceptr Address, uint64_t Size,
                               CUdevice Device) {
  Memory &M = memory();
  std::lock_guard<std::mutex> Guard(M.Lock);
  for (uint64_t End = Address + Size; Address < End;) {
    auto I = M.Mappings.find(Address);
    if (I == M.Mappings.end() || I->second.Size > End - Address)
      return CUDA_ERROR_INVALID_VALUE;
    if (mprotect(toPointer(Address), I->second.Size, PROT_READ | PROT_WRITE))
      return CUDA_ERROR_INVALID_VALUE;
    if (!settings().HavePeers &&
        M.Handles[I->second.Handle].Device != Device)
      return CUDA_ERROR_INVALID_DEVICE;
    I->second.Accessible.insert(Device);
    Address += I->second.Size;
  }
  return CUDA_SUCCESS;
}
