//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundImage.h"
#include "RelaxedCapture.h"
#include "Vendor.h"

#include <algorithm>
#include <utility>

using namespace mneme;

BoundImage *BoundImage::find(const TunedVariant &V, const TunedStub &Stub) {
  auto *I = static_cast<BoundImage *>(V.Bound.load(std::memory_order_acquire));
  while (I && I->Module.Copy != Stub.Module.Copy)
    I = I->Next;
  return I;
}

void BoundImage::add(TunedVariant &V, std::unique_ptr<BoundImage> New) {
  New->Next = static_cast<BoundImage *>(V.Bound.load());
  V.Bound.store(New.release(), std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

std::vector<ImageVariable> BoundImage::listVariables(const TunedVariant &V) {
  std::vector<ImageVariable> List;
  for (const MnemePackageGuard &G : V.Tables.Guards)
    if (G.What == MNEME_GUARD_VARIABLE)
      List.push_back({V.Tables.From->text(G.Offset), G.Low, G.High});
  return List;
}

std::string BoundImage::prepare(const CudaDriver &Driver, int Device) {
  auto State = std::make_unique<DeviceState>();
  std::vector<WrittenVariable *> NewCopied;
  CUdeviceptr Slots = 0;
  size_t SlotsSize = 0;
  auto FindOwn = [&](const char *Name, CUdeviceptr &Own, size_t &Size) {
    CUresult E = Driver.LibraryGetGlobal(&Own, &Size, Library, Name);
    return E == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : E;
  };
  if (CUresult E = FindOwn(MNEME_VARIABLE_SLOTS, Slots, SlotsSize))
    return "its variables cannot be found: " + Driver.describe(E);
  for (const ImageVariable &V : Variables) {
    auto Fail = [&](const std::string &Why) {
      return "variable '" + V.Name + "' " + Why;
    };
    IndexEntry Entry;
    const void *Shadow = Program::get().findShadow(Module, V.Name, Entry);
    if (!Shadow || (Entry.Flags & MNEME_VARIABLE_MANAGED))
      return Fail("is not in the application");
    if (Entry.Size != V.Size)
      return Fail("has " + std::to_string(Entry.Size) + " bytes instead of " +
                  std::to_string(V.Size));
    void *Apps = findVariable(Entry.Object, Shadow);
    if (!Apps)
      return Fail(std::string("is unknown to the ") + VendorName + " runtime");
    Part New = {0, reinterpret_cast<CUdeviceptr>(Apps), V.Size, V.Name};
    State->Apps.push_back({New.Apps, V.Size});
    if (V.Slot == MNEME_VARIABLE_COPY) {
      size_t Size = 0;
      if (CUresult E = FindOwn(V.Name.c_str(), New.Own, Size))
        return Fail("cannot be found in the image: " + Driver.describe(E));
      // The optimized code may not use it.
      if (!New.Own)
        continue;
      if (Size != V.Size)
        return Fail("has another size in the image");
      NewCopied.push_back(&VariableWrites::get().find(Shadow));
      State->Copies.push_back(std::move(New));
    } else if (Slots) {
      constexpr size_t SlotSize = 8;
      if (V.Slot >= SlotsSize / SlotSize)
        return Fail("has no slot in the image");
      New.Own = Slots + V.Slot * SlotSize;
      State->Slots.push_back(std::move(New));
    }
  }
  constexpr unsigned DisableTiming = 2; // CU_EVENT_DISABLE_TIMING
  if (CUresult E = Driver.EventCreate(&State->Done, DisableTiming))
    return "an event cannot be created: " + Driver.describe(E);
  // They are the same on all devices, which other threads may use.
  if (!std::exchange(IsBound, true))
    Copied = std::move(NewCopied);
  On[Device].store(State.release(), std::memory_order_release);
  return "";
}

/// The state of all copied variables as one number, never 0; 0 if writes are
/// not known.
uint64_t BoundImage::generation() const {
  uint64_t Sum = 1;
  for (const WrittenVariable *V : Copied) {
    uint64_t G = V->generation();
    if (!G)
      return 0;
    Sum += G;
  }
  return Sum;
}

CUresult BoundImage::update(const CudaDriver &Driver, const DeviceState &State,
                            CUstream S) const {
  // Immediate values: copies from the host may wait for the device.
  for (const Part &P : State.Slots)
    for (unsigned Word = 0; Word != 2; ++Word)
      if (CUresult E = Driver.MemsetD32Async(
              P.Own + 4 * Word, unsigned(P.Apps >> (32 * Word)), 1, S))
        return E;
  for (const Part &P : State.Copies)
    if (CUresult E = Driver.MemcpyDtoDAsync(P.Own, P.Apps, P.Size, S))
      return E;
  return CUDA_SUCCESS;
}

bool BoundImage::isFresh(int Device) const {
  const DeviceState *State = On[Device].load(std::memory_order_acquire);
  uint64_t Now = generation();
  return State && Now && State->FreshAt.load(std::memory_order_acquire) == Now;
}

/// Each stream repeats the updates until one is known to have ended that began
/// after all writes had ended. A launch thus waits for no other stream than the
/// application's own kernel does. A copy that overlaps a write belongs to a
/// launch that overlaps it, too, whose own kernel could read either contents.
CUresult BoundImage::refresh(const CudaDriver &Driver, int Device, CUstream S,
                             bool IsCaptured) {
  if (!IsCaptured && isFresh(Device))
    return CUDA_SUCCESS;
  DeviceState &State = *On[Device].load(std::memory_order_acquire);
  if (IsCaptured)
    return update(Driver, State, S);
  RelaxedCapture Relaxed(Driver);
  uint64_t Now = generation();
  std::lock_guard<std::mutex> Guard(State.Lock);
  if (State.IsPending && !Driver.EventQuery(State.Done)) {
    State.IsPending = false;
    State.FreshAt.store(State.DoneAt, std::memory_order_release);
    if (isFresh(Device))
      return CUDA_SUCCESS;
  }
  bool IsQuiet = Now != 0;
  for (WrittenVariable *V : Copied)
    IsQuiet &= V->isQuiet(Driver);
  if (CUresult E = update(Driver, State, S))
    return E;
  if (IsQuiet && !(State.IsPending && State.DoneAt == Now)) {
    State.DoneAt = Now;
    State.IsPending = !Driver.EventRecord(State.Done, S);
  }
  return CUDA_SUCCESS;
}

bool BoundImage::hasVariableAt(CUdeviceptr Address, int Device) const {
  const DeviceState &State = *On[Device].load(std::memory_order_acquire);
  return std::any_of(State.Apps.begin(), State.Apps.end(),
                     [&](const std::pair<CUdeviceptr, uint64_t> &A) {
                       return Address - A.first < A.second;
                     });
}

void BoundImage::addMemory(int Device, std::vector<MemoryRange> &Memory) const {
  for (const Part &P : On[Device].load(std::memory_order_acquire)->Slots)
    Memory.push_back({P.Apps, P.Size, "variable '" + P.Name + "'"});
}
