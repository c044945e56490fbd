//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <algorithm>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

using namespace mneme;

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

const CudaDriver *CudaDriver::load(std::string &Error) {
  static std::mutex Lock;
  static CudaDriver *Loaded = nullptr;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Loaded)
    return Loaded;
  // Never closed, because the driver has threads.
  void *Library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!Library) {
    Error = "no CUDA driver: cannot load libcuda.so.1";
    return nullptr;
  }
  auto *D = new CudaDriver();
  const char *Missing = nullptr;
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  D->Name = reinterpret_cast<decltype(D->Name)>(dlsym(Library, #Symbol));      \
  if (!D->Name && !Missing)                                                    \
    Missing = #Symbol;
#define CUDA_DRIVER_OPTIONAL(Name, Symbol, Kind, HipSymbol, Parameters)        \
  D->Name = reinterpret_cast<decltype(D->Name)>(dlsym(Library, #Symbol));
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
  if (Missing) {
    Error = std::string("the CUDA driver is too old: it has no ") + Missing;
    delete D;
    return nullptr;
  }
  return Loaded = D;
}

std::string CudaDriver::describe(CUresult R) const {
  const char *Name = nullptr, *Text = nullptr;
  if (GetErrorName(R, &Name) != CUDA_SUCCESS || !Name)
    return (IsHip ? "HIP error " : "CUDA error ") + std::to_string(R);
  if (GetErrorString(R, &Text) != CUDA_SUCCESS || !Text)
    return Name;
  return std::string(Text) + " (" + Name + ")";
}

std::string CudaDriver::describeVersion(int V) const {
  // HIP has major * 10^7 + minor * 10^5 + patch, CUDA major * 1000 + minor
  // * 10.
  if (IsHip)
    return std::to_string(V / 10000000) + "." +
           std::to_string(V / 100000 % 100) + "." + std::to_string(V % 100000);
  return std::to_string(V / 1000) + "." + std::to_string(V % 1000 / 10);
}

std::string CudaDriver::archOf(CUdevice Device) const {
  constexpr int Major = 75, Minor = 76; // CU_DEVICE_ATTRIBUTE_*
  if (IsHip)
    return readHipArch(Device);
  int First = 0, Second = 0;
  if (DeviceGetAttribute(&First, Major, Device) ||
      DeviceGetAttribute(&Second, Minor, Device) || First <= 0)
    return "";
  return "sm_" + std::to_string(First * 10 + Second);
}

//===----------------------------------------------------------------------===//
// Memory at fixed addresses
//===----------------------------------------------------------------------===//

static std::string rangeText(uint64_t Address, uint64_t Size) {
  char Text[64];
  snprintf(Text, sizeof(Text), "[0x%llx, 0x%llx)",
           static_cast<unsigned long long>(Address),
           static_cast<unsigned long long>(Address + Size));
  return Text;
}

static CUmemAllocationProp describeMemory(CUdevice Device) {
  CUmemAllocationProp P = {};
  P.Type = 1;
  P.Location = {1, Device};
  return P;
}

CudaMapping::~CudaMapping() {
  while (!Chunks.empty())
    dropChunk(Chunks.begin());
  if (Size)
    Driver.MemAddressFree(Base, Size);
}

std::string CudaMapping::reserve(uint64_t NewBase, uint64_t NewSize) {
  if (Size)
    return "addresses are already reserved";
  CUmemAllocationProp P = describeMemory(Device);
  size_t Granule = 0;
  if (CUresult R = Driver.MemGetAllocationGranularity(&Granule, &P, 0))
    return "cannot ask for the granularity of device memory: " +
           Driver.describe(R);
  std::string Range = rangeText(NewBase, NewSize);
  if (!Granule || NewBase % Granule || NewSize % Granule || !NewSize ||
      NewBase + NewSize < NewBase)
    return "invalid device address range " + Range;
  CUdeviceptr Got = 0;
  if (CUresult R = Driver.MemAddressReserve(&Got, NewSize, Granule, NewBase, 0))
    return "cannot reserve device addresses " + Range + ": " +
           Driver.describe(R);
  // The driver treats the address as a hint.
  if (Got != NewBase) {
    Driver.MemAddressFree(Got, NewSize);
    return "cannot reserve device addresses " + Range + ": in use";
  }
  Base = NewBase;
  Size = NewSize;
  Granularity = Granule;
  return "";
}

CUresult CudaMapping::allow(CUdevice Who, uint64_t Address, uint64_t Bytes) {
  CUmemAccessDesc Access = {{1, Who}, 3};
  return Driver.MemSetAccess(Address, Bytes, &Access, 1);
}

void CudaMapping::share(CUdevice Peer) {
  Peers.push_back(Peer);
  for (const auto &[Address, C] : Chunks)
    allow(Peer, Address, C.Size);
}

CUresult CudaMapping::createMemory(Chunk &C) {
  CUmemAllocationProp P = describeMemory(Device);
  P.RequestedHandleTypes = HandleTypes;
  CUresult R = Driver.MemCreate(&C.Handle, C.Size, &P, 0);
  if (R == CUDA_ERROR_OUT_OF_MEMORY && trim())
    R = Driver.MemCreate(&C.Handle, C.Size, &P, 0);
  if (!R || R == CUDA_ERROR_OUT_OF_MEMORY || !HandleTypes)
    return R;
  // Not every system can export memory.
  HandleTypes = 0;
  return createMemory(C);
}

std::string
CudaMapping::exportRange(uint64_t Address, uint64_t Bytes,
                         std::vector<ExportedChunk> &Exported) const {
  CUresult R = CUDA_ERROR_NOT_FOUND;
  size_t First = Exported.size();
  auto I = Chunks.upper_bound(Address);
  if (I != Chunks.begin())
    --I;
  for (; I != Chunks.end() && I->first < Address + Bytes; ++I) {
    Exported.push_back({I->first, I->second.Size, -1});
    R = Driver.MemExportToShareableHandle
            ? Driver.MemExportToShareableHandle(&Exported.back().File,
                                                I->second.Handle, PosixFile, 0)
            : CUDA_ERROR_NOT_FOUND;
    if (R)
      break;
  }
  if (!R)
    return "";
  for (; Exported.size() != First; Exported.pop_back())
    if (Exported.back().File >= 0)
      close(Exported.back().File);
  return "cannot export device memory: " + Driver.describe(R);
}

CUresult CudaMapping::mapChunk(uint64_t Address, Chunk &C) {
  CUresult R = createMemory(C);
  if (R)
    return R;
  R = Driver.MemMap(Address, C.Size, 0, C.Handle, 0);
  if (!R) {
    R = allow(Device, Address, C.Size);
    if (R)
      Driver.MemUnmap(Address, C.Size);
  }
  if (R)
    Driver.MemRelease(C.Handle);
  return R;
}

std::string CudaMapping::createChunk(uint64_t Address, uint64_t Bytes) {
  // Count it as used, so that trim() does not remove it.
  auto I = Chunks.insert({Address, {Bytes, 0, 1}}).first;
  if (CUresult R = mapChunk(Address, I->second)) {
    Chunks.erase(I);
    return "cannot map device memory at " + rangeText(Address, Bytes) + ": " +
           Driver.describe(R);
  }
  I->second.Uses = 0;
  for (CUdevice Peer : Peers)
    allow(Peer, Address, Bytes);
  Unused += Bytes;
  return "";
}

void CudaMapping::dropChunk(std::map<uint64_t, Chunk>::iterator I) {
  Driver.MemUnmap(I->first, I->second.Size);
  Driver.MemRelease(I->second.Handle);
  if (!I->second.Uses)
    Unused -= I->second.Size;
  Chunks.erase(I);
}

std::string CudaMapping::map(uint64_t Address, uint64_t Bytes, Ranges *Fresh) {
  if (!Bytes)
    return "";
  if (Address < Base || Address - Base > Size ||
      Bytes > Size - (Address - Base))
    return "device addresses " + rangeText(Address, Bytes) +
           " are outside the reserved range " + rangeText(Base, Size);
  uint64_t Begin = Address / Granularity * Granularity;
  uint64_t End =
      (Address + Bytes + Granularity - 1) / Granularity * Granularity;

  // Memory counted as used here is protected from trim() in later steps.
  uint64_t At = Begin;
  std::string Error;
  try {
    while (At < End && Error.empty())
      Error = mapNext(At, End, Fresh);
  } catch (...) {
    unmap(Begin, At - Begin);
    throw;
  }
  if (!Error.empty())
    unmap(Begin, At - Begin);
  return Error;
}

/// Maps memory at the beginning of [At, End), and advances \p At past it.
std::string CudaMapping::mapNext(uint64_t &At, uint64_t End, Ranges *Fresh) {
  auto Next = Chunks.upper_bound(At);
  auto Here = Next == Chunks.begin() ? Chunks.end() : std::prev(Next);
  if (Here == Chunks.end() || At - Here->first >= Here->second.Size) {
    uint64_t Stop = Next == Chunks.end() ? End : std::min(End, Next->first);
    std::string Error = createChunk(At, Stop - At);
    if (!Error.empty())
      return Error;
    Here = Chunks.find(At);
    if (Fresh)
      Fresh->emplace_back(At, Stop - At);
  }
  if (!Here->second.Uses++)
    Unused -= Here->second.Size;
  At = Here->first + Here->second.Size;
  return "";
}

void CudaMapping::unmap(uint64_t Address, uint64_t Bytes) {
  if (!Bytes)
    return;
  uint64_t Begin = Address / Granularity * Granularity;
  auto I = Chunks.upper_bound(Begin);
  if (I == Chunks.begin())
    return;
  for (--I; I != Chunks.end() && I->first < Address + Bytes; ++I)
    if (I->second.Uses && I->first + I->second.Size > Begin &&
        !--I->second.Uses)
      Unused += I->second.Size;
}

uint64_t CudaMapping::trim() {
  uint64_t Freed = Unused;
  for (auto I = Chunks.begin(); I != Chunks.end();) {
    auto Next = std::next(I);
    if (!I->second.Uses)
      dropChunk(I);
    I = Next;
  }
  return Freed;
}
