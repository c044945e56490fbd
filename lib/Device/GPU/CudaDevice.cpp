//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Opening and closing a CUDA device, and its memory.
///
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "Cupti.h"
#include "OffloadBackend.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

static constexpr uint64_t StagingSlotSize = 4 << 20;
static constexpr uint64_t StagingAlignment = 256;
static_assert(StagingSlotSize % StagingAlignment == 0);

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<GPUDevice>>
CudaDevice::create(const CudaDriver &Driver, unsigned Ordinal,
                   std::string Name) {
  std::unique_ptr<CudaDevice> D(
      new CudaDevice(Driver, Ordinal, std::move(Name)));
  if (Error E = D->open())
    return createStringError("device '" + D->Name +
                             "' cannot be used: " + toString(std::move(E)));
  return D;
}

Error CudaDevice::open() {
  constexpr int VirtualMemoryManagementSupported = 102;
  constexpr unsigned ScheduleSpin = 1; // a waiting thread spins
  Expected<GPUInfo> Described = queryGPU(Driver, Ordinal);
  if (!Described)
    return Described.takeError();
  Info = std::move(*Described);
  if (CUresult R = Driver.DeviceGet(&Handle, Ordinal))
    return createStringError(Driver.describe(R));
  // Not reported by releases of HIP before 5.5: 100 MHz since gfx90a.
  constexpr int WallClockRate = 100000;
  int ClockKHz = 0;
  if (Driver.IsHip &&
      (Driver.DeviceGetAttribute(&ClockKHz, WallClockRate, Handle) ||
       ClockKHz <= 0))
    ClockKHz = 100000;
  if (ClockKHz)
    TicksPerNanosecond = ClockKHz * 1e-6;
  int HasVirtualMemory = 0;
  if (Driver.DeviceGetAttribute(&HasVirtualMemory,
                                VirtualMemoryManagementSupported, Handle) ||
      !HasVirtualMemory)
    return createStringError(Info.Name +
                             " cannot map memory at chosen addresses");

  // The flags of the first opener of the primary context apply; liboffload
  // would let waiting threads sleep.
  if (Driver.DevicePrimaryCtxSetFlags)
    Driver.DevicePrimaryCtxSetFlags(Handle, ScheduleSpin);
  CUcontext Primary = nullptr;
  if (CUresult R = Driver.DevicePrimaryCtxRetain(&Primary, Handle))
    return createStringError("cannot open its context: " + Driver.describe(R));
  Context = Primary;
  if (Error E = enter())
    return E;
  Expected<std::unique_ptr<GPUBackend>> B =
      StringRef(Name).starts_with("offload")
          ? createOffloadBackend(Driver, Ordinal)
          : createDriverBackend(Driver);
  if (!B)
    return B.takeError();
  Backend = std::move(*B);
  if (Error E = openEvents(1))
    return E;
  return loadMemoryKernels();
}

CudaDevice::~CudaDevice() {
  if (!Context)
    return;
  // Wait for all work: nothing may be freed while it is in use.
  if (enterToFree() && Backend && Backend->synchronize(0))
    lose("a failure that was not waited for");
  if (!enterToFree()) {
    (void)Backend.release();
    (void)Mapping.release();
    (void)Profiler.release();
    for (auto &Range : Outside)
      (void)Range.second.release();
    return;
  }
  if (Timer == GPUTimer::CUPTI)
    disableCupti();
  Profiler.reset();
  freeObjects();
  for (StagingSlot &S : Staging) {
    if (S.Done)
      Driver.EventDestroy(S.Done);
    if (S.Memory)
      Driver.MemFreeHost(S.Memory);
  }
  for (uint64_t Memory : {Scratch, FlushArea, CleanArea, ClockSamples})
    if (Memory)
      Driver.MemFree(Memory);
  if (MemoryKernels)
    Driver.ModuleUnload(MemoryKernels);
  for (const EventPair &E : Events)
    for (CUevent Event : {E.Start, E.Stop})
      if (Event)
        Driver.EventDestroy(Event);
  Outside.clear();
  Mapping.reset();
  Backend.reset();
  Driver.DevicePrimaryCtxRelease(Handle);
}

Error CudaDevice::enter() {
  if (!Lost.empty())
    return createStringError("device '" + Name + "' is lost: " + Lost);
  return check(Driver.CtxSetCurrent(Context), "make the context current");
}

bool CudaDevice::enterToFree() {
  return Lost.empty() && Driver.CtxSetCurrent(Context) == CUDA_SUCCESS;
}

bool llvm::mneme::isFatal(CUresult R) {
  return isDeviceFault(R) || R == CUDA_ERROR_DEINITIALIZED ||
         R == CUDA_ERROR_ECC_UNCORRECTABLE ||
         R == CUDA_ERROR_NVLINK_UNCORRECTABLE ||
         R == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

Error CudaDevice::failure(const GPUResult &R, const Twine &What) {
  std::string Text = describe(R);
  if (isFatal(R.Code))
    lose(Text);
  return createStringError("cannot " + What + ": " + Text);
}

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

Error CudaDevice::reserveArena(uint64_t Base, uint64_t Size) {
  if (Error E = enter())
    return E;
  if (Mapping)
    return createStringError("device '" + Name + "' has an arena already");
  auto M = std::make_unique<CudaMapping>(Driver, Handle);
  std::string Text = M->reserve(Base, Size);
  if (!Text.empty())
    return createStringError(Text);
  Mapping = std::move(M);
  return Error::success();
}

Error CudaDevice::mapMemory(uint64_t Address, uint64_t Size) {
  if (Size == 0)
    return Error::success();
  if (Error E = enter())
    return E;
  if (!Mapping)
    return createStringError("device '" + Name + "' has no arena");
  return mapIn(*Mapping, Address, Size);
}

Error CudaDevice::mapOutside(uint64_t Address, uint64_t Size) {
  if (Error E = enter())
    return E;
  if (!Mapping)
    return createStringError("device '" + Name + "' has no arena");
  uint64_t Granule = std::max<uint64_t>(Mapping->granularity(), OutsideGranule);
  for (uint64_t At = Address, End = Address + Size; At < End;) {
    auto Next = Outside.upper_bound(At);
    CudaMapping *M = Next == Outside.begin() ? nullptr
                                             : std::prev(Next)->second.get();
    if (!M || At - M->base() >= M->size()) {
      uint64_t Begin = alignDown(At, Granule), Stop = alignTo(End, Granule);
      if (Next != Outside.end())
        Stop = std::min(Stop, Next->first);
      auto New = std::make_unique<CudaMapping>(Driver, Handle);
      std::string Text = New->reserve(Begin, Stop - Begin);
      if (!Text.empty())
        return createStringError(Text);
      M = (Outside[Begin] = std::move(New)).get();
    }
    uint64_t Bytes = std::min(End, M->base() + M->size()) - At;
    if (Error E = mapIn(*M, At, Bytes))
      return E;
    At += Bytes;
  }
  return Error::success();
}

Error CudaDevice::mapIn(CudaMapping &M, uint64_t Address, uint64_t Size) {
  CudaMapping::Ranges Fresh;
  std::string Text = M.map(Address, Size, &Fresh);
  if (!Text.empty())
    return createStringError(Text);
  // The rest of the new granules is zeroed, too, for kernels that read beyond
  // the ends of the range.
  for (auto [Begin, Bytes] : Fresh)
    if (Error E = fill(Begin, 0, Bytes))
      return E;
  return fill(Address, 0, Size);
}

//===----------------------------------------------------------------------===//
// From and to the host
//===----------------------------------------------------------------------===//

static std::string describeRange(uint64_t Address, uint64_t Size) {
  return (Twine(Size) + " bytes at 0x" + utohexstr(Address)).str();
}

Error CudaDevice::openStaging() {
  constexpr unsigned DisableTiming = 2;
  for (StagingSlot &S : Staging) {
    if (S.Memory)
      continue;
    if (!S.Done)
      if (Error E = check(Driver.EventCreate(&S.Done, DisableTiming),
                          "create an event"))
        return E;
    void *Memory = nullptr;
    if (Error E = check(Driver.MemHostAlloc(&Memory, StagingSlotSize, 0),
                        "allocate pinned memory"))
      return E;
    S.Memory = static_cast<char *>(Memory);
  }
  return Error::success();
}

/// Cached, because every result asks for the state. The library is slow to
/// answer, and temperatures change slowly.
GPUState CudaDevice::readState() {
  constexpr std::chrono::seconds Validity(1);
  auto Now = std::chrono::steady_clock::now();
  if (!StateTime || Now - *StateTime >= Validity) {
    State = readNvmlState(Info.UUID);
    StateTime = Now;
  }
  return State;
}

// Does not wait: data in pinned memory is copied while the next write fills
// more of it.
Error CudaDevice::write(uint64_t Address, ArrayRef<char> Data) {
  if (Data.empty())
    return Error::success();
  if (Error E = enter())
    return E;
  if (Error E = openStaging())
    return E;
  std::string What = "write " + describeRange(Address, Data.size());
  while (!Data.empty()) {
    if (Error E = check(nextStagingSlot(), What))
      return E;
    char *Memory = Staging[FillingSlot].Memory + FilledBytes;
    uint64_t Size =
        std::min<uint64_t>(Data.size(), StagingSlotSize - FilledBytes);
    std::memcpy(Memory, Data.data(), Size);
    if (Error E = check(Backend->upload(Address, Memory, Size), What))
      return E;
    FilledBytes = alignTo(FilledBytes + Size, StagingAlignment);
    Address += Size;
    Data = Data.drop_front(Size);
  }
  return Error::success();
}

/// Moves on to the next slot if the current one is full.
CUresult CudaDevice::nextStagingSlot() {
  if (FilledBytes < StagingSlotSize)
    return CUDA_SUCCESS;
  if (CUresult R =
          Driver.EventRecord(Staging[FillingSlot].Done, Backend->getStream()))
    return R;
  FillingSlot = (FillingSlot + 1) % NumStagingSlots;
  FilledBytes = 0;
  return Driver.EventSynchronize(Staging[FillingSlot].Done);
}

Error CudaDevice::read(uint64_t Address, MutableArrayRef<char> Data) {
  if (Data.empty())
    return Error::success();
  if (Error E = enter())
    return E;
  if (Error E = openStaging())
    return E;
  if (Data.size() > StagingSlotSize - FilledBytes)
    return readStaged(Address, Data);
  // The data goes to the slot behind uploads that may be in progress. One wait
  // is then sufficient; the driver would wait twice for pageable memory.
  char *Memory = Staging[FillingSlot].Memory + FilledBytes;
  if (Error E = check(Backend->download(Memory, Address, Data.size()),
                      "read " + describeRange(Address, Data.size())))
    return E;
  if (Error E = synchronize())
    return E;
  FilledBytes = 0;
  std::memcpy(Data.data(), Memory, Data.size());
  return Error::success();
}

Error CudaDevice::readStaged(uint64_t Address, MutableArrayRef<char> Data) {
  // Writes from these slots may still be in progress.
  if (Error E = synchronize())
    return E;
  FilledBytes = 0;
  std::string What = "read " + describeRange(Address, Data.size());
  uint64_t NumPieces = divideCeil(Data.size(), StagingSlotSize);
  auto Piece = [&](uint64_t I) {
    return Data.drop_front(I * StagingSlotSize).take_front(StagingSlotSize);
  };
  auto Request = [&](uint64_t I) -> Error {
    if (I >= NumPieces)
      return Error::success();
    StagingSlot &S = Staging[I % NumStagingSlots];
    if (Error E = check(Backend->download(S.Memory,
                                          Address + I * StagingSlotSize,
                                          Piece(I).size()),
                        What))
      return E;
    return check(Driver.EventRecord(S.Done, Backend->getStream()), What);
  };
  for (unsigned I = 0; I != NumStagingSlots; ++I)
    if (Error E = Request(I))
      return E;
  for (uint64_t I = 0; I != NumPieces; ++I) {
    StagingSlot &S = Staging[I % NumStagingSlots];
    if (Error E = check(Driver.EventSynchronize(S.Done), What))
      return E;
    std::memcpy(Piece(I).data(), S.Memory, Piece(I).size());
    if (Error E = Request(I + NumStagingSlots))
      return E;
  }
  return synchronize();
}

//===----------------------------------------------------------------------===//
// On the device
//===----------------------------------------------------------------------===//

Expected<uint64_t> CudaDevice::availableMemory() {
  if (Error E = enter())
    return E;
  size_t Free = 0, Total = 0;
  if (Error E = check(Driver.MemGetInfo(&Free, &Total), "ask for free memory"))
    return E;
  return Free;
}

Expected<uint64_t> CudaDevice::allocate(uint64_t Size) {
  if (Error E = enter())
    return E;
  CUdeviceptr Address = 0;
  if (Error E = check(Driver.MemAlloc(&Address, Size),
                      "allocate " + Twine(Size) + " bytes on the device"))
    return E;
  return Address;
}

Error CudaDevice::release(uint64_t Address) {
  if (Error E = enter())
    return E;
  return check(Driver.MemFree(Address),
               "free device memory at 0x" + utohexstr(Address));
}

Error CudaDevice::fill(uint64_t Address, uint8_t Byte, uint64_t Size) {
  if (Size == 0)
    return Error::success();
  if (Error E = enter())
    return E;
  return check(Backend->fill(Address, Byte, Size),
               "fill " + describeRange(Address, Size));
}

Error CudaDevice::copy(uint64_t To, uint64_t From, uint64_t Size) {
  if (Size == 0)
    return Error::success();
  if (Error E = enter())
    return E;
  return check(Backend->copy(To, From, Size),
               "copy " + describeRange(From, Size) + " to 0x" + utohexstr(To));
}

/// Returns the bytes to access for a flush: 64 MiB are sufficient for a GPU
/// that does not report its cache size.
static uint64_t getFlushBytes(const GPUInfo &Info) {
  return Info.CacheBytes ? Info.CacheBytes : 64 << 20;
}

Error CudaDevice::cleanCache() {
  uint64_t Size = getFlushBytes(Info);
  if (!CleanArea) {
    if (Error E = allocate(2 * Size).moveInto(CleanArea))
      return E;
    if (Error E = fill(CleanArea, 0, 2 * Size))
      return E;
  }
  if (Error E = flushCache())
    return E;
  MnemeComparePart Both = {};
  Both.Actual = CleanArea;
  Both.Expected = CleanArea + Size;
  Both.Size = Size;
  return compare(Both).takeError();
}

Error CudaDevice::flushCache() {
  uint64_t Size = getFlushBytes(Info);
  if (!FlushArea) {
    Expected<uint64_t> Area = allocate(Size);
    if (!Area)
      return Area.takeError();
    FlushArea = *Area;
  }
  Occupied = true;
  return fill(FlushArea, 0, Size);
}

Error CudaDevice::synchronize() {
  if (Error E = enter())
    return E;
  GPUResult R = Backend->synchronize(0);
  if (!R)
    return Error::success();
  // Any error is a failure of work that was accepted before.
  lose(describe(R));
  return failure(R, "finish the work of device '" + Name + "'");
}

Expected<uint64_t> CudaDevice::getScratch(uint64_t Size) {
  if (Size <= ScratchSize)
    return Scratch;
  if (Scratch) {
    uint64_t Old = Scratch;
    Scratch = ScratchSize = 0;
    if (Error E = release(Old))
      return E;
  }
  Size = PowerOf2Ceil(std::max<uint64_t>(Size, 1 << 16));
  Expected<uint64_t> Memory = allocate(Size);
  if (!Memory)
    return Memory.takeError();
  Scratch = *Memory;
  ScratchSize = Size;
  return Scratch;
}
